# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence for programs: CSV for spreadsheets, JUnit XML for pipelines, Prometheus text for node exporters."""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from .._answers.rows import PLACES
from .._pages.cells import cells
from .._pages.text import one_line, opaque
from .._records.checks import microseconds
from . import waiving
from .document import RESULTS, failing, looked
from .shapes import Document, Host, WaivedRow
from .table import row_notes, word
from .values import conflicts, current

HEADER = (
    *("kind", "begun", "host", "outcome", "tuning", "subject", "verdict"),  # begun: UTC, ISO 8601
    *PLACES,  # the values that the host has; those of a check are not predictions
    *("wanted", "reason", "waived_by", "waived_until", "waived_because", "conflicts", "remarks"),
    "message",  # of the host
)
COUNTED = (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
SKIPPED = ("observed", "waived", "not_applicable", "unsupported", "unknown")


def csv(document: Document) -> Iterator[str]:
    """The header, a row for each row of the evidence, and one for each host without rows; one host per piece."""
    yield cells(HEADER)
    run = document["run"]
    for host in document["hosts"]:
        head = [run["kind"], run["begun"], host["host"], host["outcome"]]
        rows = [_csv_row(row, looked(run)) for row in host["rows"]] or [[None] * (len(HEADER) - len(head) - 1)]
        yield "".join(cells([*head, *row, host["message"]]) for row in rows)


def _csv_row(row: WaivedRow, check: bool) -> list[object]:
    values = current(row, check)
    shown = [*(values.get(place) for place in PLACES), row["wanted"]]
    waiver = row.get("waiver")
    return [
        *(row["name"], row["subject"], row["verdict"]),
        *(None if value is None else "; ".join(opaque(value)) for value in shown),
        row["reason"],
        *((waiver["owner"], waiver["until"], waiver["reason"]) if waiver else (None, None, None)),
        *("; ".join(conflicts(row)), "; ".join(row["remarks"])),
    ]


Case = tuple[str, str, str, str, str]
"""The name of a test case, its outcome (failure, error, skipped; "" if it passed), message, type and text."""


def junit(document: Document) -> Iterator[str]:
    """The declaration, then a suite for each host and one for the run; a case for each row of the evidence.

    A row that is not as requested is a failure. What could not be checked is an error: a value that could not be read
    or set, a host that was lost, a run without an end. Rows that are only observed, waived, not applicable, not
    supported or unknown are skipped. There are no times: a test case took none.
    """
    run = document["run"]
    bad, stamp = failing(run["kind"], run["check"]), one_line(run["begun"]).removesuffix("Z")
    suites = [_suite(host["host"], stamp, _cases_of_host(host, bad)) for host in document["hosts"]]
    suites.append(_suite("run", stamp, _cases_of_run(document)))
    counts = {key: str(sum(int(suite.attrib[key]) for suite in suites)) for key, _tag in COUNTED}
    named = ET.Element("testsuites", {"name": one_line(f"{run['kind']} {run['begun']}"), **counts})
    head = ET.tostring(named, encoding="unicode").removesuffix(" />")
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n{head}>\n'
    yield from (f" {ET.tostring(suite, encoding='unicode')}\n" for suite in suites)
    yield "</testsuites>\n"


def _cases_of_host(host: Host, bad: tuple[str, ...]) -> Iterator[Case]:
    outcome = host["outcome"]
    if outcome != "ok":
        message = ": ".join(filter(None, (word(outcome), host["message"])))
        yield "host", "skipped" if outcome == "skipped" else "error", message, outcome, ""
    for row in host["rows"]:
        name, verdict = f"{row['name']}: {row['subject']}", row["verdict"]
        said = "\n".join(row_notes(row)) or one_line(row["reason"])
        if verdict in bad:
            yield name, "error" if verdict == "failed" else "failure", row["reason"], verdict, said
        elif verdict in SKIPPED:
            yield name, "skipped", waiving.words(row) or f"{word(verdict)}: {row['reason']}", "", ""
        else:
            yield name, "", "", "", said


def _cases_of_run(document: Document) -> Iterator[Case]:
    """Whether the run ended, and its waivers that are expired or unused."""
    result = document["result"]
    how = ("error", document["headline"], result) if result in ("unfinished", "nothing") else ("", "", "")
    yield "the run ended", *how, ""
    if stopped := document["run"].get("stopped"):
        yield "the rollout was completed", "error", stopped, "stopped", ""
    yield from ((sentence, "failure", sentence, "problem", "") for sentence in document["problems"])
    yield from ((said, "", "", "", one_line(said)) for said in map(waiving.sentence, document["waivers"]) if said)


def _suite(title: str, stamp: str, cases: Iterable[Case]) -> ET.Element:
    suite = ET.Element("testsuite", name=one_line(title), timestamp=stamp)
    names: set[str] = set()
    for called, outcome, message, kind, text in cases:
        # unique, because some readers keep only one case of each name
        name, number = one_line(called), 1
        while name in names:
            number += 1
            name = f"{one_line(called)} ({number})"
        names.add(name)
        element = ET.SubElement(suite, "testcase", classname=one_line(title), name=name)
        if outcome:
            more = {"type": kind} if kind else {}
            element = ET.SubElement(element, outcome, {**more, "message": one_line(message)})
        elif text:
            element = ET.SubElement(element, "system-out")
        element.text = text or None
    tags = Counter(part.tag for part in suite.iter())
    suite.attrib.update({key: str(tags[tag]) for key, tag in COUNTED})
    ET.indent(suite, " ", 1)
    return suite


ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"'})
Samples = Iterable[tuple[Mapping[str, object], float | None]]


def prometheus(document: Document) -> Iterator[str]:
    """One family of gauges per piece, in the text format 0.0.4, for the textfile collector of the node exporter.

    Without timestamps and with ``# EOF`` at the end, the file is valid OpenMetrics, too.
    """
    run, hosts = document["run"], document["hosts"]
    outcomes, verdicts = document["totals"]["outcomes"], document["totals"]["verdicts"]
    kind, bad = {"kind": run["kind"]}, failing(run["kind"], run["check"])
    failed = {host["host"]: Counter(row["name"] for row in host["rows"] if row["verdict"] in bad) for host in hosts}
    tunings = sorted({row["name"] for host in hosts for row in host["rows"]})
    about = {"collection": run["collection"], "ansible_core": run["ansible_core"], "inventory": run["inventory"]}

    def by(label: str, figures: Mapping[str, float]) -> Samples:
        return [({**kind, label: name}, value) for name, value in figures.items()]

    waivers = [
        ({**{key: item[key] for key in ("tuning", "subject", "owner")}, "hosts": ",".join(item["hosts"])}, item)  # type: ignore[literal-required]
        for item in sorted(document["waivers"], key=lambda item: item["days_left"])
    ]
    families: dict[str, tuple[str, Samples]] = {
        "run": ("The run that these figures describe.", [({**kind, **about, "limit": run["limit"]}, 1)]),
        "run_begun_timestamp_seconds": ("When the run began.", [(kind, _seconds(run["begun"]))]),
        "run_ended_timestamp_seconds": ("When the run ended; absent until then.", [(kind, _seconds(run["ended"]))]),
        "run_result": (
            "1 for the result of the run, 0 for the others.",
            by("result", {name: int(name == document["result"]) for name in RESULTS}),
        ),
        "hosts": ("Hosts of the play by outcome.", by("outcome", outcomes)),
        "rows": ("Subjects of tunings by verdict.", by("verdict", verdicts)),
        "host_checked": (
            "1 for a host that was checked to the end.",
            by("host", {host["host"]: int(host["outcome"] == "ok") for host in hosts}),
        ),
        "host_failing_rows": (
            "Subjects of a host that are not as requested.",
            by("host", {host["host"]: failed[host["host"]].total() for host in hosts if host["rows"]}),
        ),
        "tuning_failing_hosts": (
            "Hosts on which a tuning is not as requested.",
            by("tuning", {name: sum(name in found for found in failed.values()) for name in tunings}),
        ),
        "waiver_days_left": (
            "Days until the last day of a waiver; below 0 it has expired.",
            [(labels, item["days_left"]) for labels, item in waivers],
        ),
    }
    yield from (_gauge(f"zpower_{name}", *family) for name, family in families.items())
    yield "# EOF\n"


def _gauge(name: str, words: str, samples: Samples) -> str:
    """The lines of one family; an unknown figure has no sample.

    Two samples with equal labels would spoil the whole file; of such, only the first is written.
    """
    unique: dict[str, float] = {}
    for labels, value in samples:
        if value is not None:
            known = (f'{key}="{one_line(text).translate(ESCAPES)}"' for key, text in labels.items() if text is not None)
            unique.setdefault(",".join(known), value)
    lines = [f"{name}{{{labels}}} {value!r}\n" for labels, value in unique.items()]
    return "".join([f"# TYPE {name} gauge\n", f"# HELP {name} {words}\n", *lines]) if lines else ""


def _seconds(stamp: object) -> float | None:
    """UTC as evidence writes it, in seconds since 1970; None for anything else."""
    moment = microseconds(stamp)
    return None if moment is None else moment / 1e6
