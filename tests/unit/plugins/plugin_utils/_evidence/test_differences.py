# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What changed since Monday, and why app7 is not like app3."""

from __future__ import annotations

import copy
import json
from typing import Any

import evidence_samples as samples
import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import differences, files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.document import Found
from evidence_samples import build, platform, result, row, run

TITLE = "verify of 2026-11-20 10:00:00 UTC → verify of 2026-11-20 10:00:00 UTC"


def of(results: dict[str, Found], **more: Any) -> dict[str, Any]:
    return build(run(**more), results, results)


def host(*records: dict[str, Any], facts: object = None, outcome: str = "ok", message: str = "") -> Found:
    return result(outcome, message, list(records), facts)


def lines(one: dict[str, Any], other: dict[str, Any], only: str | None = None) -> list[str]:
    """The text on two documents, without its title."""
    title, *rest = differences.lines(differences.of_runs(one, other, only))
    assert title == TITLE
    return rest


def said(one: Found, other: Found) -> list[str]:
    """The lines on app1, without its name and the summary."""
    *found, _summary = lines(of({"app1": one}), of({"app1": other}))
    return [line.removesuffix(" (app1)") for line in found]


def test_values_verdict_request_and_conflicts() -> None:
    other = row(verdict="drifted", wanted={"state": "off"}, conflicts=[{"what": "udev rule", "wins": "no"}])
    other["before"] = {"running": {"rx-0": "ffff", "rx-1": "1"}, "stored": None, "next_boot": {"rps_cpus": "0"}}
    assert said(host(row()), host(other)) == [
        "rps hsi0",
        "  verdict: compliant → drifted",
        "  wanted rps_cpus: ffff → -",
        "  wanted state: present → off",
        "  running rx-1: - → 1",
        "  stored udev rule: rps_cpus=ffff → -",
        "  next boot rps_cpus: ffff → 0",
        "  conflicts: - → udev rule, wins: no",
    ]


def test_queues_that_changed_alike_are_shown_once() -> None:
    def queues(mask: str) -> dict[str, Any]:
        masks = {**{f"rx-{number}": mask for number in range(12)}, "rx-12": f"{mask}0"}
        return row(before={"running": masks, "stored": None, "next_boot": None})

    assert said(host(queues("0")), host(queues("f"))) == [
        "rps hsi0",
        "  running rx-0, rx-1, rx-2 and 9 more: 0 → f",
        "  running rx-12: 00 → f0",
    ]


def test_predictions_of_a_check_are_not_values() -> None:
    predicted = row(after={"running": {"rx-0": "ff"}, "stored": None, "next_boot": None})
    assert said(host(row()), host(predicted)) == []
    text = list(differences.lines(differences.of_runs(of({"a": host(row())}), of({"a": host(predicted)}, kind="site"))))
    assert "  running rx-0: ffff → ff (a)" in text and text[0].endswith("→ site of 2026-11-20 10:00:00 UTC")
    checked = differences.of_runs(of({"a": host(row())}), of({"a": host(predicted)}, kind="site", check=True))
    assert checked["hosts"] == [] and checked["title"].endswith("→ site in check mode of 2026-11-20 10:00:00 UTC")


def test_platform_and_interfaces() -> None:
    other = platform(cpus=20, mtu=8192)
    other["interfaces"]["eth1"] = other["interfaces"].pop("eth0")
    other["smc"] = {"sockets": [], "stats": {"SMCR": {"client_v2": 900}}}
    assert said(host(row(), facts=platform()), host(row(), facts=other)) == [
        "platform",
        "  cpus online count: 22 → 20",
        "  cpus online list: 0-21 → 0-19",
        "interface eth0",
        "  present → absent",
        "interface eth1",
        "  absent → present",
        "interface hsi0",
        "  mtu: 57344 → 8192",
    ]


def test_instances_devices_and_services_are_parts_of_their_own() -> None:
    def facts(status: str, in_use: int, *services: str) -> dict[str, Any]:
        return platform(
            sap_instances=[{"sid": "C11", "name": "D00", "status": status}, {"sid": "C11", "name": "ASCS01"}],
            smc={"devices": [{"type": "SMCR", "name": "mlx5_0", "port": 1, "active": bool(in_use), "in_use": in_use}]},
            conflicts=[{"service": name, "enabled": True} for name in services],
        )

    assert said(host(facts=facts("running", 2, "tuned")), host(facts=facts("stopped", 0, "tuned", "saptune"))) == [
        "SAP instance C11 D00",
        "  status: running → stopped",
        "SMC device SMCR mlx5_0 1",
        "  active: yes → no",
        "service saptune",
        "  absent → present",
    ]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (
            host(row(), row(subject="eth0", verdict="not_applicable"), facts=platform()),
            ["rps eth0", "  not checked → not applicable"],
        ),
        (
            host(outcome="unreachable", message="no route\nto host"),
            ["host", "  outcome: ok → unreachable: no route to host"],
        ),
        (
            host(row(verdict="failed", reason="no answer", before=row()["before"]), facts=platform()),
            ["rps hsi0", "  verdict: compliant → failed: no answer"],
        ),
        (host(row()), ["platform facts are not compared, because only one side has them: app1"]),
    ],
)
def test_what_came_went_or_was_lost_is_one_change(other: Found, told: list[str]) -> None:
    assert said(host(row(), facts=platform()), other) == told


def test_hosts_that_were_lost_are_not_called_equal_and_those_that_came_and_went_are_named() -> None:
    both = of({"app1": host(outcome="unreachable"), "app2": host(row())})
    found = differences.of_runs(both, both)
    assert (found["hosts"], found["same"], found["unknown"]) == ([], 1, ["app1"])
    (line,) = lines(both, both)
    assert line.startswith("0 hosts with differences, 1 without, not checked to the end") and line.endswith(": app1")
    one, other = of({"app1": host(row()), "app2": host(row())}), of({"app2": host(row()), "app10": host()})
    found = differences.of_runs(one, other)
    assert (found["only_before"], found["only_after"], found["same"]) == (["app1"], ["app10"], 1)
    assert lines(one, other)[:2] == ["only in the first: app1", "only in the second: app10"]


def test_a_limit_and_tags_explain_what_is_missing() -> None:
    one, other = of({"app1": host(row()), "app2": host(row())}), of({"app2": host(row())}, limit="app2")
    note = "run was limited to app2, which left hosts out"
    assert lines(one, other)[0] == f"the second {note}"
    assert lines(other, one)[0] == f"the first {note}"
    assert lines(other, other) == ["0 hosts with differences, 1 without"]
    one = of({"app1": host(row(), row("smc_r", "smc"))})
    other = of({"app1": host(row())}, tags=["rps"])
    note = "not compared, because the tags of the {} run left this out: smc_r"
    assert lines(one, other) == [note.format("second"), "0 hosts with differences, 1 without"]
    assert lines(other, one)[0] == note.format("first")
    untagged = of({"app1": host(row())}, collection="0.2.0", ansible_core="2.22.0")
    assert lines(one, untagged)[:4] == [
        "collection 0.1.0 → 0.2.0",
        "ansible-core 2.21.5 → 2.22.0",
        "smc_r smc",
        "  compliant → not checked (app1)",
    ]


def test_the_same_change_of_many_hosts_is_shown_once() -> None:
    before = of({f"app{number}": host(row()) for number in range(1, 12)})
    after = of({f"app{number}": host(row(verdict="drifted") if number < 10 else row()) for number in range(1, 12)})
    names = "app1, app2, app3, app4, app5, app6, app7, app8, app9"
    assert lines(before, after) == [
        "rps hsi0",
        f"  verdict: compliant → drifted ({names})",
        f"  running rx-0: ffff → 0 ({names})",
        "9 hosts with differences, 2 without",
    ]
    assert lines(before, after, only="app9") == [
        "rps hsi0",
        "  verdict: compliant → drifted (app9)",
        "  running rx-0: ffff → 0 (app9)",
        "1 host with differences, 0 without",
    ]
    with pytest.raises(ValueError, match="^neither run has a host app99; known: app1, app2, .*app11$"):
        differences.of_runs(before, after, "app99")


def test_a_fleet_with_many_different_changes_is_cut_on_the_terminal_only() -> None:
    def masks(factor: int) -> dict[str, Any]:
        return of({name: host(row(before={"running": {"rx-0": int(name[3:]) * factor}})) for name in names})

    names = [f"app{number}" for number in range(1, 999)]
    found = differences.of_runs(masks(1), masks(2))
    text = list(differences.lines(found))
    assert len(text) == differences.MOST_LINES + 3 and len(found["hosts"]) == 998
    assert text[-2].startswith("699 more lines are left out") and text[-2].endswith(": " + ", ".join(names))
    assert text[-1] == "998 hosts with differences, 0 without"


class TestTwoHosts:
    TITLE = "app3 → app7 in verify of 2026-11-20 10:00:00 UTC"

    def lines(self, app3: Found, app7: Found) -> list[str]:
        title, *rest = differences.lines(differences.of_hosts(of({"app3": app3, "app7": app7}), "app3", "app7"))
        assert title == self.TITLE
        return rest

    def test_why_is_app7_not_like_app3(self) -> None:
        other = platform(mtu=1500)
        other["lpar"] = {"name": "SAPAPP7", "number": 18, "ifls": 10}
        assert self.lines(host(row(), facts=platform()), host(row(), facts=other)) == [
            "platform",
            "  lpar ifls: 12 → 10",
            "interface hsi0",
            "  mtu: 57344 → 1500",
            "2 differences",
        ]
        assert self.lines(host(row(), facts=platform()), host(row(), facts=platform())) == ["0 differences"]
        lost = host(outcome="unreachable")
        (line,) = self.lines(lost, lost)
        assert line.startswith("not compared") and line.endswith(": app3 → app7")

    def test_profiles_with_the_name_of_their_host_are_one_subject(self) -> None:
        def own(name: str, virtual: str, **more: Any) -> Found:
            profile = f"/usr/sap/C11/SYS/profile/C11_D00_{virtual}"
            instance = {"sid": "C11", "name": "D00", "host": virtual, "profile": profile}
            return host(
                row("sap_profile", profile, **more), row("rps", f"hsi_{name}"), facts=platform(sap_instances=[instance])
            )

        assert self.lines(own("app3", "sapvirt3"), own("app7", "sapvirt7")) == ["0 differences"]
        assert self.lines(own("app3", "sapvirt3"), own("app7", "sapvirt7", verdict="waived")) == [
            "sap_profile /usr/sap/C11/SYS/profile/C11_D00_<host>",
            "  verdict: compliant → waived",
            "1 difference",
        ]

    def test_wrong_names(self) -> None:
        for name, message in (("app9", "no host app9; known: app3$"), ("app3", "app3 is compared with itself")):
            with pytest.raises(ValueError, match=message):
                differences.of_hosts(of({"app3": host()}), "app3", name)


def test_hostile_texts_stay_on_their_line() -> None:
    one = samples.hostile()
    other = of({item["host"]: host(facts={item["host"]: 7}) for item in one["hosts"]})
    text = list(differences.lines(differences.of_runs(one, other)))
    text += differences.lines(differences.of_hosts(one, one["hosts"][0]["host"], one["hosts"][-1]["host"]))
    assert len(text) > 20
    for line in text:
        assert line.isprintable() and len(line) < 3000


DEEP: Any = []
for _depth in range(200):
    DEEP = {"x": DEEP}


@pytest.mark.parametrize(
    "odd",
    [None, True, -1, 1e300, float("nan"), "x" * 100_000, "\x1b[2J\u202e", [], [[{}]], {}, {"": {"": None}}, DEEP],
    ids=lambda odd: f"{type(odd).__name__}",
)
def test_odd_values_that_the_reader_lets_pass_are_shown_in_few_characters(odd: Any) -> None:
    """Another version may write other types; a stranger anything."""
    plain = of({"app1": host(row(), facts=platform()), "app2": host(row(), facts=platform())})
    places = [(part, key) for part in ("before", "after") for key in ("running", "stored", "next_boot", "new")]
    for number in range(len(places) + 5):
        changed = copy.deepcopy(plain)
        one = changed["hosts"][0]
        if number < len(places):
            part, key = places[number]
            one["rows"][0][part][key] = odd
        elif number == len(places):
            one["rows"][0]["wanted"] = odd
        elif number == len(places) + 1:
            one["rows"][0]["conflicts"] = [odd]
        else:
            one["platform"][("interfaces", "sap_instances", "smc")[number - len(places) - 2]] = odd
        checked = files.check(json.loads(json.dumps(changed)))
        for found in (differences.of_runs(plain, checked), differences.of_hosts(checked, "app1", "app2")):
            assert len(json.dumps(found)) < 100_000
            assert all(line.isprintable() and len(line) < 1000 for line in differences.lines(found))


def test_fields_that_the_reader_does_not_demand_may_be_missing() -> None:
    plain = of({"app1": host(row(), facts=platform())})
    bare = copy.deepcopy(plain)
    for key in ("wanted", "before", "after", "conflicts", "remarks", "sources", "undo", "restart"):
        del bare["hosts"][0]["rows"][0][key]
    del bare["hosts"][0]["platform"]
    bare["run"] = {key: value for key, value in bare["run"].items() if value not in (None, [])}
    found = differences.of_runs(files.check(plain), files.check(bare))
    assert "  running rx-0: ffff → - (app1)" in list(differences.lines(found))
    del bare["hosts"][0]["rows"]
    assert differences.of_runs(files.check(plain), files.check(bare))["hosts"]
    del bare["hosts"]
    assert differences.of_runs(files.check(plain), files.check(bare))["only_before"] == ["app1"]
