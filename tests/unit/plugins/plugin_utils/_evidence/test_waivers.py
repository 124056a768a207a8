# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waivers: one sentence for each mistake, and what they do to rows."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files, waivers, waiving
from documents import schema_errors
from evidence_samples import TUNINGS, build, result, row, run, waiver

TODAY = datetime.date(2026, 11, 20)


def mistakes(value: object) -> list[str]:
    return waivers.parse(value, TUNINGS)[1]


def applied(records: list[dict[str, Any]], value: object, **more: Any) -> dict[str, Any]:
    """The evidence of app4, a member of the group db."""
    results = {"app4": result(more.pop("outcome", "ok"), "", records, accepted=value, names=["app4", "db"])}
    return build(run(**more), ["app4"], results)


def the_row(made: dict[str, Any]) -> dict[str, Any]:
    (found,) = made["hosts"][0]["rows"]
    return found


def state(made: dict[str, Any]) -> str:
    (found,) = made["waivers"]
    return found["state"]


class TestLimits:
    @pytest.mark.parametrize(
        ("given", "limits", "sentence"),
        [
            (waiver(until="2027-02-19"), ("2027-02-18",), "until is 2027-02-19; zpower_waiver_days allows 2027-02-18"),
            (waiver(subject="*"), ("", False), "it fits every subject, and zpower_broad_waivers is fail; name what"),
            (waiver(hosts=["db", "**"]), ("", False), "it fits every host, and zpower_broad_waivers is fail"),
            (waiver(subject="*", hosts="all"), ("", False), "it fits every subject and every host, and"),
            *(
                (waiver(subject=one), ("", False), "it fits every subject, and")
                for one in ("?*", "*?", "[!x]*", "[a-z]*")
            ),
            (waiver(subject="/*", tuning="sap_profile"), ("", False), "it fits every subject, and"),
            *((waiver(hosts=["db", one]), ("", False), "it fits every host, and") for one in ("?*", "a*", "[!x]*")),
            (waiver(hosts=["d?"]), ("", False, {"all": ["d1", "d2"]}), "it fits every host, and"),
        ],
    )
    def test_what_is_beyond_them_is_a_mistake_and_waives_nothing(
        self, given: dict[str, Any], limits: tuple[Any, ...], sentence: str
    ) -> None:
        found, wrong = waivers.parse([given, waiver(owner="Grace")], TUNINGS, *limits)
        assert [one["owner"] for one in found] == ["Grace"]
        assert len(wrong) == 1 and wrong[0].startswith(f"zpower_waivers, entry 1: {sentence}")
        assert waivers.parse([given], TUNINGS)[1] == []
        within = [waiver(until="2027-02-18", subject="e*", hosts=["app*", "allhosts", "?"])]
        assert waivers.parse(within, TUNINGS, "2027-02-18", False)[1] == []

    @pytest.mark.parametrize(
        ("hosts", "broad"),
        [("s*", True), ("sap", True), (["app?", "db"], True), ("app*", False), (["app1", "app2", "db"], False)],
    )
    def test_patterns_and_groups_that_fit_the_whole_inventory_are_broad(self, hosts: object, broad: bool) -> None:
        groups = {"all": ["app1", "app2", "db"], "sap": ["app1", "app2", "db"], "ungrouped": []}
        given = [waiver(hosts=hosts, until="2027-12-31")]
        (found,), wrong = waivers.parse(given, TUNINGS, groups=groups)
        assert (found.get("everyone", False), wrong) == (broad, [])
        made = applied([row(subject="eth0", verdict="drifted")], given)
        assert schema_errors("evidence", made) == []
        assert bool(waivers.parse(given, TUNINGS, "", False, groups)[1]) is broad
        (found,), _wrong = waivers.parse(given, TUNINGS, groups={"all": ["db"]})
        assert "everyone" not in found, "the only host of an inventory"

    @pytest.mark.parametrize(
        ("more", "words"),
        [({"subject": "?*"}, "every subject"), ({"hosts": ["db", "all"]}, "every host"), ({"hosts": "db"}, "")],
    )
    def test_a_broad_one_is_named_in_the_evidence(self, more: dict[str, Any], words: str) -> None:
        made = applied([row(subject="eth0", verdict="drifted")], [waiver(until="2027-12-31", **more)])
        said = waiving.sentence(made["waivers"][0])
        assert (f", which fits {words}: its last day is 2027-12-31" in said) if words else said == ""
        for form in ("html", "md", "xml"):
            assert ("which fits " in "".join(files.FORMATS[form](made))) is bool(words)


class TestParsing:
    def test_a_waiver(self) -> None:
        given = [waiver(until=datetime.date(2026, 12, 10)), waiver(hosts=["db", "app[0-9]"])]
        found, wrong = waivers.parse(given, TUNINGS, today=TODAY)
        assert wrong == []
        used = {"days_left": 20, "soon": True, "state": "unused", "rows": 0}
        assert found[0] == {**waiver(), "hosts": ["db"], **used}
        assert found[1]["hosts"] == ["db", "app[0-9]"]
        assert waivers.parse(None) == waivers.parse([]) == ([], [])

    @pytest.mark.parametrize(
        ("value", "entry", "words"),
        [
            ("rps", 0, "is 'rps'; it must be a list of waivers"),
            (waiver(), 0, "is an object; it must be a list of waivers"),
            (["rps"], 1, "it is 'rps'; it must be an object with tuning, subject, hosts, reason, owner, until"),
            ([waiver(owner=None)], 1, "owner is missing"),
            ([waiver(owner=None, until=None)], 1, "owner, until are missing"),
            ([waiver(reason=" ")], 1, "reason is ' '; it must be a text of 1 to 500 characters"),
            ([waiver(subject=7)], 1, "subject is 7; it must be a text of 1 to 500 characters"),
            ([waiver(), waiver(tuning="rsp")], 2, "tuning is 'rsp'; is rps meant? known: aix_device_attributes, "),
            ([waiver(untill="x")], 1, "'untill' is not a field of a waiver; is until meant?"),
            ([waiver(ticket="x")], 1, "'ticket' is not a field of a waiver; known: tuning, subject, "),
            ([waiver(hosts=[])], 1, "hosts is a list; it must be a name or pattern of hosts or groups"),
            ([waiver(hosts="!db")], 1, "hosts has '!db'; only names and shell patterns (*, ?, [0-9])"),
            ([waiver(until="soon")], 1, "until is 'soon'; it must be the last day of the waiver, such as 2027-01-31"),
            ([waiver(until="2026-02-30")], 1, "until is '2026-02-30'; it must be the last day"),
            ([waiver(until=20270131)], 1, "the last day"),
            ([waiver(until=True)], 1, "the last day"),
            ([waiver(until=datetime.datetime(2027, 1, 31, 12))], 1, "the last day"),
            ([waiver(until="2027-01-31T12:00:00")], 1, "the last day"),
            ([waiver(until="20270131")], 1, "the last day"),
            ([waiver(), waiver()], 2, "is the same as entry 1"),
        ],
    )
    def test_each_mistake_gets_one_sentence(self, value: object, entry: int, words: str) -> None:
        (sentence,) = mistakes(value)
        assert sentence.startswith(f"zpower_waivers, entry {entry}" if entry else "zpower_waivers is ")
        assert words in sentence

    def test_the_rest_of_a_list_holds_and_a_mistake_on_many_hosts_is_told_once(self) -> None:
        results = {name: result(accepted=[waiver(owner=None), waiver()]) for name in ("app1", "app2")}
        made = build(run(), results, results)
        assert made["problems"] == ["zpower_waivers, entry 1: owner is missing"] and len(made["waivers"]) == 1


class TestApplying:
    @pytest.mark.parametrize(
        ("verdict", "hosts"),
        [("drifted", "db"), ("drifted", "app*"), ("pending_restart", "app4"), ("pending_restart", ["other", "d?"])],
    )
    def test_a_waived_row_says_by_whom_and_is_not_drift(self, verdict: str, hosts: object) -> None:
        made = applied([row(subject="eth0", verdict=verdict)], [waiver(hosts=hosts)])
        assert the_row(made)["verdict"] == "waived"
        known = {key: waiver()[key] for key in ("owner", "reason", "until")}
        assert the_row(made)["waiver"] == {**known, "expired": False, "verdict": verdict}
        assert waiving.words(the_row(made)) == "waived by Ada Byron until 2026-12-10: replaced in January"
        assert made["result"] == "compliant" and made["totals"]["verdicts"]["waived"] == 1
        assert state(made) == "applied" and made["waivers"][0]["rows"] == 1

    @pytest.mark.parametrize(
        "more", [{"subject": "hsi*"}, {"tuning": "smc_r"}, {"hosts": "web"}, {"hosts": "app"}, {"subject": "eth"}]
    )
    def test_what_it_does_not_fit_is_drift(self, more: dict[str, Any]) -> None:
        made = applied([row(subject="eth0", verdict="drifted")], [waiver(**more)])
        assert the_row(made)["verdict"] == "drifted" and "waiver" not in the_row(made)
        assert made["result"] == "drift" and state(made) == "unused"
        assert "fits nothing on the checked hosts" in waiving.sentence(made["waivers"][0])

    @pytest.mark.parametrize(
        ("until", "left", "verdict", "soon"),
        [
            ("2026-11-19", -1, "drifted", False),
            ("2026-11-20", 0, "waived", True),
            ("2026-12-20", 30, "waived", True),
            ("2026-12-21", 31, "waived", False),
        ],
    )
    def test_it_holds_on_its_last_day_and_not_after_it(self, until: str, left: int, verdict: str, soon: bool) -> None:
        made = applied([row(subject="eth0", verdict="drifted")], [waiver(until=until)])
        assert the_row(made)["verdict"] == verdict
        told = made["waivers"][0]
        assert (told["days_left"], told["soon"]) == (left, soon)
        assert bool(waiving.sentence(told)) == (soon or left < 0)

    def test_an_expired_one_is_drift_and_is_named(self) -> None:
        drift = row(subject="eth0", verdict="drifted")
        made = applied([drift], [waiver(until="2026-11-01")])
        assert made["result"] == "drift" and state(made) == "expired"
        assert waiving.words(the_row(made)) == "the waiver of Ada Byron expired after 2026-11-01"
        assert the_row(made)["waiver"]["expired"]
        told = "waiver of Ada Byron for rps eth* on db: expired, its last day was 2026-11-01"
        assert told in waiving.sentence(made["waivers"][0])
        # a valid one beside it counts
        made = applied([drift], [waiver(until="2026-11-01"), waiver(owner="Grace Hopper")])
        assert the_row(made)["waiver"]["owner"] == "Grace Hopper"
        assert [told["state"] for told in made["waivers"]] == ["needless", "applied"]

    def test_an_error_is_never_waived_and_one_that_no_row_needs_is_named(self) -> None:
        made = applied([row(subject="eth0", verdict="failed")], [waiver()])
        assert the_row(made)["verdict"] == "failed" and made["result"] == "error"
        assert state(made) == "not_checked"
        made = applied([row(subject="eth0")], [waiver(until="2027-12-31")])
        assert state(made) == "needless" and "no row needs it" in waiving.sentence(made["waivers"][0])

    @pytest.mark.parametrize(
        "more",
        # site does not check the platform
        [{"limit": "app4"}, {"tags": ["smc_r"]}, {"skip_tags": ["rps"]}, {"outcome": "unreachable"}, {"kind": "site"}],
    )
    def test_a_run_over_a_part_does_not_call_it_unused(self, more: dict[str, Any]) -> None:
        made = applied([], [waiver(until="2027-12-31")], **more)
        assert state(made) == "not_checked" and waiving.sentence(made["waivers"][0]) == ""

    def test_a_waiver_in_the_variables_of_one_host_holds_for_it_alone(self) -> None:
        drift = [row(subject="eth0", verdict="drifted")]
        given = {"app1": [waiver(hosts="*")], "app2": []}
        results = {name: result("ok", "", drift, accepted=value, names=[name]) for name, value in given.items()}
        made = build(run(), results, results)
        assert [host["rows"][0]["verdict"] for host in made["hosts"]] == ["waived", "drifted"]
