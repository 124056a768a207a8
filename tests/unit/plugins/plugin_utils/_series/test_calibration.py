# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From rounds without a change to a calibration, and from there to what a planned measurement can show."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import of_calibration
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series import calibrating, calibration
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.calibrating import Planned, calibrate
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.calibration import forecast
from documents import places, put, schema_errors

Record = dict[str, Any]


def records(plan: factory.Plan | None = None, **changes: Any) -> list[Record]:
    """Rounds in which nothing changes."""
    plan = replace(plan or factory.Plan(rounds=12, design="blocks"), **changes)
    return [{**item, "phase": "calibration"} for item in factory.make_change(plan) if item["phase"] == "before"]


def calibrated(found: list[Record], rounds: int = 6, material_pct: float = 5.0) -> dict[str, Any]:
    return calibrate("calibration", factory.load(found).records, Planned(rounds, material_pct))


@pytest.fixture(autouse=True, scope="module")
def few_experiments() -> Iterator[None]:
    """The simulation has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrating, "EXPERIMENTS", 3)
        yield


@pytest.fixture(name="report", scope="module")
def fixture_report() -> dict[str, Any]:
    return calibrated(records(sizes=(1000, 10000), session_noise=0.03, run_noise=0.02))


class TestCalibrate:
    def test_noise_of_each_workload_of_the_host_and_of_the_site(self, report: dict[str, Any]) -> None:
        host = report["hosts"]["app1"]
        names = ["app1 → app2, pingpong-10000B", "app1 → app2, pingpong-1000B"]
        assert sorted(host["workloads"]) == names
        assert (host["rounds"], host["runs"], host["boots"]) == (12, 5, 1)
        for spreads in (*host["workloads"].values(), host["control"]):
            assert 1.0 < spreads["runs_pct"] < 3.5
            assert 1.0 < spreads["medians_pct"] < 6.0
            assert spreads["upper_pct"] == pytest.approx(1.27 * spreads["medians_pct"], rel=0.02)
        singles = [spreads["medians_pct"] for spreads in host["workloads"].values()]
        assert host["pooled"]["medians_pct"] < max(singles)
        assert report["site"]["medians_pct"] < host["pooled"]["medians_pct"]
        # each of two hosts measures two workloads and the control with six runs of a second
        assert (host["seconds_per_round"], host["seconds_per_run"]) == (36.0, 3.0)
        # runs without a start time have no length
        found = records()
        for item in found:
            for run in item["runs"][::2]:
                run["started"] = None
        assert calibrated(found)["hosts"]["app1"]["seconds_per_run"] is None
        # runs and rounds that find twice the material limit of 5 %
        assert host["split"]["change_pct"] == 10.0
        assert host["split"]["seconds"] > 0
        # fewer rounds have a higher bound
        pooled = calibrated(records(rounds=8))["hosts"]["app1"]["pooled"]
        assert pooled["upper_pct"] == pytest.approx(1.40 * pooled["medians_pct"], rel=0.02)

    def test_it_fits_its_schema(self, report: dict[str, Any]) -> None:
        for found in (report, calibrated([]), calibrated(records(hosts=("app1", "app2"), control=False))):
            made = json.loads("".join(of_calibration.FORMATS["json"](found)))
            assert schema_errors("calibration", made) == []

    def test_a_drift_is_not_noise_and_the_order_of_records_does_not_matter(self) -> None:
        found = records()
        still = calibrated(found)
        assert still == calibrated(found[::-1])
        drifting = calibrated(records(drift=0.005))
        still, drifting = (one["hosts"]["app1"]["pooled"]["medians_pct"] for one in (still, drifting))
        assert drifting < 1.5 * still

    def test_the_step_of_the_figures_is_found(self) -> None:
        whole = records(session_noise=0.03, run_noise=0.02)
        for record in whole:
            for run in record["runs"]:
                run["metrics"]["av2_us"] = 5.0 * round(run["metrics"]["av2_us"] / 5.0)
        host = calibrated(whole)["hosts"]["app1"]
        assert host["step_pct"] == pytest.approx(100.0 * 5.0 / 50.0, rel=0.1)
        assert any("finer clock" in sentence for sentence in host["sentences"])

    def test_too_few_rounds_are_left_out_with_a_sentence(self) -> None:
        report = calibrated(records(rounds=7))
        assert report["hosts"] == {}
        assert report["problems"][0].startswith("app1 is left out: 7 rounds say too little about noise; at least 8")
        assert report["headline"].startswith("There is no calibration")

    def test_a_round_without_one_of_the_workloads_and_workloads_of_an_earlier_session_do_not_count(self) -> None:
        found = records(sizes=(1000, 10000))
        found.remove(next(item for item in found if item["round"] == 4 and item["host"] == "app1"))
        report = calibrated(found)
        assert {name: host["rounds"] for name, host in report["hosts"].items()} == {"app1": 11, "app2": 12}
        assert report["site"]["rounds"] == 11
        first = records(rounds=8, sizes=(1, 500))
        report = calibrated(first + [_in_session(item, 2, 8) for item in records(rounds=9, sizes=(500, 1000))])
        host = report["hosts"]["app1"]
        assert host["rounds"] == 9
        assert sorted(host["workloads"]) == [f"app1 → app2, pingpong-{size}B" for size in (1000, 1, 500)]

    def test_shared_noise_does_not_average_out_over_hosts(self) -> None:
        found = records(hosts=("app1", "app2", "app3", "app4"), session_noise=0.0, run_noise=0.005)
        report = calibrated([_shaken(item, 0.05 * math.sin(7.0 * item["round"])) for item in found])
        host = report["hosts"]["app1"]["pooled"]
        assert report["site"]["medians_pct"] > 0.9 * host["medians_pct"]

    def test_two_sessions_add_up_and_their_levels_do_not_matter(self) -> None:
        later = [_shaken(_in_session(item, 2, 8), 0.3) for item in records(rounds=8, seed=2)]
        host = calibrated(records(rounds=8) + later)["hosts"]["app1"]
        assert host["rounds"] == 16
        assert host["pooled"]["medians_pct"] < 2.5
        assert host["seconds_per_round"] == 24.0
        assert host["pooled"]["boots_pct"] is None

    def test_noise_of_boots_from_three_boots_on(self) -> None:
        found: list[Record] = []
        for session, level in enumerate((0.0, 0.1, -0.1), 1):
            for item in records(rounds=8, seed=session):
                found.append(_shaken(_in_session(item, session, 8 * (session - 1)), level))
                for end in filter(None, found[-1]["fingerprint"].values()):
                    end["boot_id"] = str(session)
        host = calibrated(found)["hosts"]["app1"]
        assert host["boots"] == 3
        assert host["pooled"]["boots_pct"] == pytest.approx(10.5, abs=1.5)

    def test_rounds_before_a_new_kernel_do_not_count(self) -> None:
        first = records(rounds=8)
        second = [_in_session(item, 2, 8) for item in records(rounds=10, seed=2)]
        for item in second:
            item["fingerprint"]["client"]["kernel"] = "6.4.0-150700"
        report = calibrated(first + second)
        assert report["hosts"]["app1"]["rounds"] == 10
        assert report["hosts"]["app1"]["fingerprint"]["app1"]["kernel"] == "6.4.0-150700"
        assert "8 rounds of app1 are left out: measured before a change of kernel of app1." in report["problems"]

    def test_with_many_hosts_only_the_site_is_simulated(self) -> None:
        few, many = (calibrated(records(hosts=tuple(f"app{n}" for n in range(hosts)))) for hosts in (3, 11))
        assert few["hosts"]["app0"]["simulation"]["experiments"] == 3
        assert "simulation" not in many["hosts"]["app0"]
        assert many["site"]["simulation"] == {"experiments": 3, "wrong": 0, "unchanged": 3}


def _shaken(item: Record, by: float) -> Record:
    """The record with all of its round trips longer by a logarithm."""
    for run in item["runs"]:
        run["metrics"]["av2_us"] = round(run["metrics"]["av2_us"] * math.exp(by), 3)
    return item


def _in_session(item: Record, session: int, rounds: int) -> Record:
    """The record as one of a later session, hours later."""
    item = copy.deepcopy(item)
    item["protocol"]["session"] = session
    item["round"] += rounds
    for times in (item, *item["runs"]):
        for key in ("started", "finished"):
            if key in times:
                moment = factory.datetime.fromisoformat(times[key].replace("Z", "+00:00"))
                times[key] = factory.stamp(moment + timedelta(hours=5 * session))
    return item


class TestPointless:
    @staticmethod
    def told(change: Callable[[Record], None] = lambda item: None, **plan: Any) -> list[str]:
        found = records(**plan)
        for item in found:
            change(item)
        sentences: list[str] = calibrated(found)["hosts"]["app1"]["pointless"]
        return sentences

    def test_a_quiet_host_is_worth_a_measurement_also_without_a_control(self) -> None:
        assert self.told() == self.told(control=False) == []

    @pytest.mark.parametrize(("end", "host"), [("client", "app1"), ("server", "app2")])
    def test_the_hypervisor_takes_too_much(self, end: str, host: str) -> None:
        def steal(item: Record) -> None:
            for run in item["runs"]:
                if run["cpu"][end]:
                    run["cpu"][end]["steal_s"] = 0.08 * run["cpu"][end]["elapsed_s"] * 2

        (sentence,) = self.told(steal)
        assert sentence.startswith(f"the hypervisor takes 8.0 % of the CPU time of {host} (the limit is 5 %)")

    def test_rounds_or_runs_in_two_groups(self) -> None:
        def rounds(item: Record) -> None:
            if not item["workload"]["control"]:
                _shaken(item, 0.15 if item["round"] in (2, 3, 6, 8, 9, 11) else 0.0)

        def runs(item: Record) -> None:
            if not item["workload"]["control"]:
                for run in item["runs"]:
                    run["metrics"]["av2_us"] *= 1.3 if (item["round"] + run["run"]) % 2 else 1.0

        (sentence,) = self.told(rounds)
        assert sentence.startswith("its rounds fall into two groups")
        (sentence,) = self.told(runs, session_noise=0.001)
        assert "fall into two groups" in sentence

    def test_a_control_that_cannot_stand_still(self) -> None:
        def shake(item: Record) -> None:
            if item["workload"]["control"]:
                _shaken(item, 0.1 * math.sin(7.0 * item["round"]))

        (sentence,) = self.told(shake)
        assert sentence.startswith("its control workload varies by 7.")


def made(upper_pct: float = 3.0, seconds: float | None = 60.0, **hosts: float) -> dict[str, Any]:
    """A calibration of app1, and of the other hosts with their noise."""
    found = {
        name: {
            "pooled": {"upper_pct": pct},
            "seconds_per_round": seconds,
            "fingerprint": {name: {"kernel": "6.4", "mtu": "8192"}, "db1": {"machine": "8561", "kernel": None}},
        }
        for name, pct in {"app1": upper_pct, **hosts}.items()
    }
    return {"schema": calibration.SCHEMA, "change": "calibration", "hosts": found, "site": None}


def smallest(known: dict[str, Any], hosts: list[str], rounds: int) -> float:
    """The smallest change in percent that a forecast names."""
    return float(forecast(known, hosts, rounds, 5.0)[0].partition("a change of ")[2].partition(" ")[0])


class TestForecast:
    def test_the_sentences_of_a_plan(self) -> None:
        shown, never, unchanged = forecast(made(), ["app1"], 6, 5.0)
        first, *others = shown.split("; ")
        assert "6 rounds per state can show a change of 10 %, about 12 min" in first
        for words, change, rounds, minutes in zip(others, (3, 5, 10), (28, 12, 7), (56, 24, 14), strict=True):
            assert words.startswith(f"{change} % takes {rounds} rounds") and f"about {minutes} min" in words
        assert "material limit of 5 %" in never
        assert "14 rounds per state say so (UNCHANGED) in 2 of 3 measurements, about 28 min" in unchanged
        assert ", about 16 min; " in forecast(made(), ["app1"], 8, 5.0)[0], "both states take time"
        assert "about" not in " ".join(forecast(made(seconds=None), ["app1"], 6, 5.0))

    def test_figures_that_are_too_coarse_are_told_before_anything_is_measured(self) -> None:
        found = made()
        found["hosts"]["app1"]["step_pct"] = 2.6
        assert forecast(found, ["app1"], 6, 6.0) == forecast(made(), ["app1"], 6, 6.0)
        told = forecast(found, ["app1"], 6, 5.0)[0]
        assert "one step of the figures of app1 is 2.6 %, too coarse for a limit of 5 %" in told

    def test_more_rounds_show_smaller_changes_down_to_the_material_limit(self) -> None:
        shown = [smallest(made(), ["app1"], rounds) for rounds in (6, 8, 16, 200)]
        assert shown == sorted(shown, reverse=True)
        assert 5.0 < shown[-1] < 5.5
        # several hosts are judged by their mean
        both = made(3.0, app2=5.0)
        alone = smallest(both, ["app1"], 8)
        assert smallest(both, ["app1", "app2"], 8) == pytest.approx(smallest(made(4.0), ["app1"], 8), rel=0.01)
        both["site"] = {"upper_pct": 2.0}
        assert smallest(both, ["app1", "app2"], 8) < alone
        assert smallest(both, ["app1"], 8) == alone

    def test_noise_that_more_rounds_do_not_reduce_and_too_few_rounds_for_any_verdict(self) -> None:
        found = forecast(made(60.0), ["app1"], 6, 5.0)
        assert "% takes" not in found[0]
        assert "not even 32 rounds say so (UNCHANGED)" in found[-1]
        assert forecast(made(), ["app1"], 5, 5.0)[0].startswith("5 rounds per state cannot show any change")

    def test_a_host_that_was_not_calibrated(self) -> None:
        found = forecast(made(), ["app9"], 6, 5.0)
        assert found == ["app9 is not in the calibration calibration."]
        assert len(forecast(made(), ["app1", "app9"], 6, 5.0)) == 4


def test_durations() -> None:
    words = {0.2: "1 s", 45: "45 s", 720: "12 min", 3599: "1 h", 3600: "1 h", 7800: "2 h 10 min", 7830: "2 h 10 min"}
    assert {seconds: calibration.duration(seconds) for seconds in words} == words


class TestRead:
    @staticmethod
    def stored(folder: Path, found: Any) -> Path:
        path = folder / "calibration" / "calibration.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(found if isinstance(found, str) else json.dumps(found), encoding="utf-8")
        return path

    def test_what_was_written_is_read(self, tmp_path: Path, report: dict[str, Any]) -> None:
        assert calibration.read(tmp_path, "calibration") is None
        self.stored(tmp_path, "".join(of_calibration.FORMATS["json"](report)))
        found = calibration.read(tmp_path, "calibration")
        assert found == report
        assert forecast(found or {}, ["app1", "app2"], 6, 5.0) == report["sentences"]

    @pytest.mark.parametrize(
        ("way", "value", "said"),
        [
            (["schema"], "zpower.sap_tuning/calibration/2", "schema is 'zpower.sap_tuning/calibration/2'"),
            (["hosts"], [], "hosts is a list; it must be an object"),
            (["hosts", "app1"], 7, "hosts.app1 is 7"),
            (["hosts", "app1", "pooled"], None, "pooled is missing"),
            (["hosts", "app1", "pooled", "upper_pct"], "3", "upper_pct is '3'; it must be a number"),
            (["hosts", "app1", "pooled", "upper_pct"], None, "upper_pct is missing; it must be a number above 0"),
            (["hosts", "app1", "pooled", "upper_pct"], -1.0, "upper_pct is -1.0; it must be a number above 0"),
            (["hosts", "app1", "seconds_per_round"], "long", "seconds_per_round is 'long'"),
            (["hosts", "app1", "pointless"], [7], "pointless[0] is 7"),
            (["hosts", "app1", "fingerprint"], {"app1": []}, "fingerprint.app1 is a list"),
            (["hosts", "app1", "fingerprint"], {"app1": {"kernel": 6}}, "kernel is 6"),
            (["site"], {"upper_pct": "2"}, "site.upper_pct is '2'"),
        ],
    )
    def test_a_damaged_one_gets_one_sentence(self, tmp_path: Path, way: list[str], value: Any, said: str) -> None:
        path = self.stored(tmp_path, put(made(), way, value))
        with pytest.raises(ValueError) as caught:
            calibration.read(tmp_path, "calibration")
        assert str(caught.value).startswith(f"{path} cannot be used: ")
        assert said in str(caught.value)
        assert str(caught.value).endswith("; calibrate again, or move it away")

    @pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": NaN}', "[" * 100000])
    def test_what_is_not_a_calibration_gets_one_sentence(self, tmp_path: Path, text: str) -> None:
        self.stored(tmp_path, text)
        with pytest.raises(ValueError, match="cannot be used: "):
            calibration.read(tmp_path, "calibration")

    @pytest.mark.nightly
    def test_whatever_is_read_can_be_forecast_from(self, tmp_path: Path, report: dict[str, Any]) -> None:
        """Each value in turn is replaced by others."""
        used = 0
        for way in places({"hosts": {"app1": report["hosts"]["app1"]}, "site": report["site"], "change": "x"}):
            for value in (None, "x", -1, 1e300, 10**17, True, [], {}, {"app1": 7}):
                self.stored(tmp_path, put(copy.deepcopy(report), way, value))
                try:
                    read = calibration.read(tmp_path, "calibration")
                except ValueError:
                    continue
                assert forecast(read or {}, ["app1", "app2"], 6, 5.0)
                used += 1
        assert used > 100


class TestFormats:
    def test_the_terminal_gets_a_table_with_a_line_per_host(self, report: dict[str, Any]) -> None:
        lines = of_calibration.terminal(report)
        assert lines[0] == report["headline"]
        table = lines[1:7]
        assert len({len(line) for line in table}) == 1
        names = ["all hosts together", "app1", "app1, control", "app2", "app2, control"]
        assert [line.split("  ")[0] for line in table[1:]] == names
        assert any(line.startswith("app1: of 3 simulated measurements") for line in lines)

    def test_a_fleet_does_not_flood_the_terminal_and_an_empty_calibration_has_a_headline(self) -> None:
        report = calibrated(records(hosts=tuple(f"app{number}" for number in range(60)), rounds=8, control=False))
        lines = of_calibration.terminal(report)
        assert len(lines) < 70
        assert "and 41 more lines in calibration.md" in lines
        (line,) = of_calibration.terminal(calibrated([]))
        assert line.startswith("There is no calibration")
        assert "".join(of_calibration.FORMATS["md"](calibrated([]))).startswith("# Calibration calibration\n")

    def test_names_from_records_are_escaped(self) -> None:
        found = records(hosts=("app1", "x|<script>\x1b[31m"), rounds=8)
        report = calibrated(found)
        assert "\x1b" not in "".join(of_calibration.terminal(report))
        text = "".join(of_calibration.FORMATS["md"](report))
        assert "<script>" not in text
        assert "\x1b" not in text
