# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that are not as requested and fail nothing: no format counts them as compliant."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files, table
from evidence_samples import build, result, row, run, waiver
from pages import Page

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


VERDICTS = ["observed", "unsupported"]
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


@pytest.mark.parametrize("verdict", VERDICTS)
def test_people_and_programs_find_the_verdict_in_every_format(verdict: str) -> None:
    made = site(verdict)
    lines = [text for text, _tone in table.lines(made)]
    assert sum(MAPS in line and line.endswith(verdict) and "65530" in line for line in lines)
    assert sum(reason_of(verdict) in line for line in lines) == 1
    assert lines[-1] == f"10 hosts: 10 ok. 20 rows: 10 {verdict}, 10 compliant."
    assert table.lines(made)[-1][1] == "observed", "not the green of a compliant run"
    rows = json.loads(render(made, "json"))["hosts"][0]["rows"]
    assert [one["verdict"] for one in rows] == ["compliant", verdict]
    cells = list(csv.DictReader(io.StringIO(render(made, "csv"))))
    assert [line["verdict"] for line in cells[:2]] == ["compliant", verdict]
    assert "at least 2147483647" in cells[1]["wanted"] and cells[1]["reason"] == reason_of(verdict)
    prom = render(made, "prom")
    for known in (verdict, "compliant"):
        assert f'zpower_rows{{kind="verify",verdict="{known}"}} 10\n' in prom
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


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_site_may_ask_that_it_fails(verdict: str) -> None:
    made = site(verdict, strict=(verdict,))
    assert made["result"] == "drift" and made["headline"] == "10 of 10 hosts are not compliant."
    assert made["hosts"][0]["rows"][1]["reason"] == f"{reason_of(verdict)} (zpower_{verdict} is fail)"
    case = ET.fromstring(render(made, "xml")).find(f".//testcase[@name='system_base: {MAPS}']/failure")
    assert case is not None and case.get("type") == "drifted"
    assert 'zpower_host_failing_rows{kind="verify",host="app1"} 1\n' in render(made, "prom")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("verdict", VERDICTS)
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
