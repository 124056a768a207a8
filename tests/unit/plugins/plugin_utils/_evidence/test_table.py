# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table at the end of a run, as text."""

from __future__ import annotations

from typing import Any

import evidence_samples as samples
import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import document, table, values
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.checks import VERDICTS
from evidence_samples import build, result, row, run, waiver


def texts(made: dict[str, Any], verbose: bool = False) -> list[str]:
    return [text for text, _tone in table.lines(made, verbose)]


def test_every_verdict_has_its_place() -> None:
    assert sorted(table.ORDER) == sorted(VERDICTS)
    assert table.ORDER[:3] == document.failing("verify", True)


def test_failing_rows_first_reasons_once_totals_last() -> None:
    lines = table.lines(samples.site())
    assert [tone for _text, tone in lines[:12]] == [
        "",
        *("failed", "unreachable", "unreachable", "not_reached", "drifted", "drifted", "drifted", "drifted"),
        *("pending_restart", "unsupported", "waived"),
    ]
    words = [text for text, _tone in lines]
    assert words.count(f"app9, app11: {samples.LOST}") == 1
    reason = "rx-0: off (mask 0), wanted CPUs 0-15 (mask ffff)"
    assert words.count(f"app1, app2, app3: hsi0 {reason}") == 1
    assert f"app4: eth0 {reason}; waived by Ada Byron until 2026-12-10: replaced in January" in words
    assert words[-2].startswith("30 compliant and 8 not applicable rows are not shown")
    hosts = "12 hosts: 8 ok, 1 failed, 2 unreachable, 1 not reached. "
    rows = "45 rows: 4 drifted, 1 pending restart, 1 unsupported, 1 waived, 30 compliant, 8 not applicable."
    assert words[-1] == hosts + rows


def test_columns_are_aligned() -> None:
    made = build(run(), ["app1", "a"], {"app1": result("ok", "", [row(verdict="drifted")]), "a": result("skipped")})
    assert texts(made)[:3] == [
        "host  tuning  subject  running   stored         next boot  verdict",
        "a     -       -        -         -              -          skipped",
        "app1  rps     hsi0     0 → ffff  rps_cpus=ffff  ffff       drifted",
    ]


@pytest.mark.parametrize("count", [6, 7, 300])
def test_equal_rows_of_many_hosts_stand_once_and_of_few_hosts_each_by_itself(count: int) -> None:
    results = {f"app{n}": result("ok", "", [row(verdict="drifted")]) for n in range(1, count + 1)}
    results |= {f"lost{n}": result("unreachable", "gone") for n in range(1, count + 1)}
    lines = table.lines(build(run(), results, results))
    rows = [text for text, tone in lines if tone in ("drifted", "unreachable") and ":" not in text]
    if count == 6:
        assert len(rows) == 12 and rows[6].startswith("app1   rps")
    else:
        first = [text.partition("  ")[0] for text in rows]
        assert first == [f"{host}1, {host}2, {host}3 and {count - 3} more" for host in ("lost", "app")]


def test_verbose_shows_every_row_and_its_remarks() -> None:
    made = build(run(), ["app1"], {"app1": result("ok", "", [row(remarks=["be careful"])])})
    assert texts(made) == ["1 compliant row is not shown; -v shows them", "1 host: 1 ok. 1 row: 1 compliant."]
    assert texts(made, verbose=True)[1:] == [
        "app1  rps     hsi0     ffff     rps_cpus=ffff  ffff       compliant",
        "app1: rps hsi0: be careful",
        "1 host: 1 ok. 1 row: 1 compliant.",
    ]


def test_a_failed_row_tells_why_its_host_failed_and_says_so_once() -> None:
    rows = [row(verdict="failed", reason="no such interface"), row(subject="eth0")]
    made = build(run("site"), ["app1"], {"app1": result("failed", "rps: no such interface; smc: no SMC", rows)})
    said = texts(made)
    assert [text.split()[:3] for text in said[1:2]] == [["app1", "rps", "hsi0"]]
    assert said[2:4] == ["app1: rps: no such interface; smc: no SMC", "1 compliant row is not shown; -v shows them"]


@pytest.mark.parametrize(("kind", "words"), [("rollback", "nothing to take back"), ("verify", "no tuning was checked")])
def test_hosts_without_rows_are_named(kind: str, words: str) -> None:
    made = build(run(kind), ["app1", "app2"], {name: result("ok") for name in ("app1", "app2")})
    assert texts(made) == [f"app1, app2: {words}", "2 hosts: 2 ok. 0 rows."]
    assert texts(build(run(kind), [], {})) == ["0 hosts. 0 rows."]
    assert texts(build(run(kind, ended=None), ["app1"], {}))[-1] == "Unfinished. 1 host: 1 not reached. 0 rows."


def test_tunings_that_were_never_used_are_named_once_with_their_hosts() -> None:
    rows = [row("smc_r", "all", reason="nothing to take back: the journal is empty"), row("rps", "all")]
    results = {name: result("ok", "", rows) for name in ("app1", "app2")}
    results["app3"] = result("ok", "", [row("rps", "hsi0", "changed")])
    words = texts(build(run("site"), results, results))
    assert "app1, app2: nothing to take back of rps, smc_r" in words
    assert words[-1] == "3 hosts: 3 ok. 5 rows: 1 changed, 4 compliant."
    words = texts(build(run("rollback"), results, results))
    assert "app1, app2: nothing to take back" in words
    assert words[-1] == "3 hosts: 3 ok. 1 row: 1 changed.", "nothing was done for the others"


def test_mistakes_and_expired_waivers_have_a_tone() -> None:
    known = [waiver(hosts="*", until="2026-11-01"), waiver(owner=None)]
    rows = [row(subject="eth0", verdict="drifted")]
    made = build(run(), ["app1"], {"app1": result("ok", "", rows, accepted=known)})
    tones = [(tone, text[:30]) for text, tone in table.lines(made)][-4:-1]
    assert tones == [
        ("", "app1: eth0 rx-0: off (mask 0),"),
        ("failed", "zpower_waivers, entry 2: owner"),
        ("drifted", "waiver of Ada Byron for rps et"),
    ]


@pytest.mark.parametrize("verbose", [True, False])
def test_hostile_texts_stay_on_their_line(verbose: bool) -> None:
    for text in texts(samples.hostile(), verbose):
        assert text.isprintable() and len(text) <= table.LONGEST_NOTE


@pytest.mark.parametrize(
    ("before", "after", "cell"),
    [
        (None, None, "-"),
        ({}, {}, "-"),
        ("", "", "empty"),
        ({"rx-0": "3", "rx-1": "3"}, {"rx-0": "3", "rx-1": "3"}, "3"),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, "a=1, b=2"),
        ({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "c": 3}, "3 values"),
        ("0", "3", "0 → 3"),
        (None, {"a": 0}, "- → 0"),
        ({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 4, "c": 3}, "b: 2 → 4"),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, {}, "a: 1 → -, b: 2 → -, 2 more"),
        (True, False, "yes → no"),
    ],
)
def test_cells(before: object, after: object, cell: str) -> None:
    assert values.arrow(before, after) == cell
