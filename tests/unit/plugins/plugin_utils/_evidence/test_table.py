# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table at the end of a run, and values that are not as requested and only reported."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from typing import Any

import evidence_samples as samples
import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import document, files, table, values
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.checks import VERDICTS
from evidence_samples import build, result, row, run, waiver
from pages import Page


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
def test_equal_rows_of_many_hosts_are_shown_once_and_of_few_hosts_each_by_itself(count: int) -> None:
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


MAPS = "vm.max_map_count"
OBSERVED = "only observed: vm.max_map_count is 65530, SAP asks for at least 2147483647 (SAP Note 900929)"
Made = dict[str, Any]


def value(now: str) -> dict[str, Any]:
    return {"running": {MAPS: now}, "stored": None, "next_boot": {MAPS: now}}


def of_verdict(verdict: str) -> dict[str, Any]:
    """The row of a value that is not as requested."""
    texts = {"observed": OBSERVED, "unsupported": "the module is not loaded (modprobe smc): SAP Note 900929"}
    wanted = {"state": "observe" if verdict == "observed" else "present", MAPS: "at least 2147483647"}
    place = {"before": value("65530"), "after": value("65530")}
    return row("system_base", MAPS, verdict, wanted=wanted, reason=texts[verdict], **place)


def site(verdict: str, kind: str = "verify", strict: tuple[str, ...] = (), waivers: object = None) -> Made:
    """Ten hosts, on each a compliant value and one that is not as requested."""
    hosts = [f"app{number}" for number in range(1, 11)]
    rows = [row(), of_verdict(verdict)]
    results = {name: result("ok", "", rows, accepted=waivers, names=[name], strict=strict) for name in hosts}
    return build(run(kind), hosts, results)


def render(made: Made, form: str) -> str:
    return "".join(files.FORMATS[form](made))


def reason_of(verdict: str) -> str:
    return str(of_verdict(verdict)["reason"])


BOTH = ["observed", "unsupported"]
WORDS = {"observed": "10 only observed", "unsupported": "10 not supported by the machine"}


REPORTED = "values that are not as requested and only reported. "


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [("observed", "verify"), ("observed", "site"), ("unsupported", "rollout"), ("unsupported", "confirm")],
)
def test_no_headline_calls_such_hosts_compliant(verdict: str, kind: str) -> None:
    made = site(verdict, kind)
    assert made["result"] == "partial"
    assert made["headline"] == f"10 of 10 hosts have {REPORTED}Of 20 rows, {WORDS[verdict]}."
    assert made["totals"]["verdicts"]["compliant"] == 10 and made["totals"]["verdicts"][verdict] == 10
    assert made["totals"]["drifting_hosts"] == 0
    # one host is named in the singular, and unknown values weigh more
    rows = {"app1": [of_verdict(verdict)], "app2": [row(verdict="unknown")]}
    results = {name: result("ok", "", found) for name, found in rows.items()}
    made = build(run(), results, results)
    assert made["result"] == "unknown"
    assert made["headline"].startswith(f"1 of 2 hosts has {REPORTED}Of 2 rows, 1 ")


@pytest.mark.parametrize("verdict", BOTH)
def test_people_and_programs_find_the_verdict_in_every_format(verdict: str) -> None:
    made = site(verdict)
    lines = [text for text, _tone in table.lines(made)]
    assert sum(MAPS in line and line.endswith(verdict) and "65530" in line for line in lines)
    assert sum(reason_of(verdict) in line for line in lines) == 1
    assert lines[-1] == f"10 hosts: 10 ok. 20 rows: 10 {verdict}, 10 compliant."
    assert table.lines(made)[-1][1] == "observed", "not the green of a compliant run"
    cells = list(csv.DictReader(io.StringIO(render(made, "csv"))))
    assert [line["verdict"] for line in cells[:2]] == ["compliant", verdict]
    assert "at least 2147483647" in cells[1]["wanted"] and cells[1]["reason"] == reason_of(verdict)
    prom = render(made, "prom")
    assert f'zpower_rows{{kind="verify",verdict="{verdict}"}} 10\n' in prom
    for known, count in (("partial", 1), ("compliant", 0)):
        assert f'zpower_run_result{{kind="verify",result="{known}"}} {count}\n' in prom
    suite = ET.fromstring(render(made, "xml")).find("testsuite")
    assert suite is not None and suite.get("skipped") == "1"
    case = suite.find(f"testcase[@name='system_base: {MAPS}']")
    assert case is not None and case.find("failure") is None
    assert [item.get("message") for item in case.iter("skipped")] == [f"{verdict}: {reason_of(verdict)}"]
    html = render(made, "html")
    Page(html).check_references()
    assert "Values that are not as requested and only reported" in html and "SAP Note 900929" in html
    assert "Every other value that was checked is compliant" in html
    assert f'id="show-{verdict}"' in html and html.count(f"m-{verdict} ") >= 10
    text = render(made, "md")
    assert "**Values that are not as requested and only reported" in text and "**Values that are not c" not in text
    assert f" {verdict} |" in text and "900929" in text


@pytest.mark.parametrize("verdict", BOTH)
def test_a_site_may_make_it_fail(verdict: str) -> None:
    made = site(verdict, strict=(verdict,))
    assert made["result"] == "drift" and made["headline"] == "10 of 10 hosts are not compliant."
    assert made["hosts"][0]["rows"][1]["reason"] == f"{reason_of(verdict)} (zpower_{verdict} is fail)"
    case = ET.fromstring(render(made, "xml")).find(f".//testcase[@name='system_base: {MAPS}']/failure")
    assert case is not None and case.get("type") == "drifted"
    assert 'zpower_host_failing_rows{kind="verify",host="app1"} 1\n' in render(made, "prom")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("verdict", BOTH)
def test_a_waiver_accepts_it(verdict: str, strict: bool) -> None:
    waivers = [waiver(tuning="system_base", subject="vm.*", hosts="app*")]
    made = site(verdict, strict=(verdict,) if strict else (), waivers=waivers)
    assert made["result"] == "compliant" and made["totals"]["verdicts"]["waived"] == 10
    assert made["headline"] == "All 10 hosts are compliant. Of 20 rows, 10 waived."
    [use] = made["waivers"]
    assert (use["state"], use["rows"]) == ("applied", 10)
    assert made["hosts"][0]["rows"][1]["waiver"]["verdict"] == ("drifted" if strict else verdict)


@pytest.mark.parametrize("wanted", [{}, None, {"state": "observe", MAPS: "1"}])
def test_what_was_not_asked_for_is_not_a_difference(wanted: object) -> None:
    rows = [row("system_base", MAPS, "unsupported", wanted=wanted)]
    made = build(run(), ["app1"], {"app1": result("ok", "", rows, strict=("unsupported", "observed"))})
    assert made["result"] == "compliant"
    assert made["headline"] == "1 host is compliant. Of 1 row, 1 not supported by the machine."
    assert "only reported: nothing" not in render(made, "md") + render(made, "html")
    assert "What is unknown, not supported or does not apply" in render(made, "html")
