# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether evidence is what its runs wrote: checksums, signatures, the chain of runs, verdicts and formats."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from .._pages.text import natural
from .._pages.writing import write_formats
from . import files, signing, waiving
from .document import assemble, check
from .shapes import KINDS, Document, WaivedRow

PROVED, WRONG, SKIPPED = "proved", "WRONG", "SKIPPED"


class Rules(NamedTuple):
    """``version``: that of the collection. With ``signers``, a file of ssh-keygen, every run that ended is signed."""

    version: str
    signers: str = ""
    identity: str = ""


class Note(NamedTuple):
    """A sentence on a run, such as ``verify/20261120T100000Z``; that of PROVED is empty."""

    run: str
    result: str
    sentence: str


def prove(results: Path, rules: Rules) -> list[Note]:
    """At least one note for each run of a results folder, in the order of their ends, then for those that it does not
    list. ValueError if there is none, or if the list is damaged."""
    sums = files.read_sums(results / files.SUMS)
    folders = [path for kind in KINDS for path in (results / kind).glob("*") if path.is_dir()]
    there = {f"{path.parent.name}/{path.name}": path for path in sorted(folders, key=lambda path: natural(path.name))}
    notes = []
    for run in dict.fromkeys([*(path.rpartition("/")[0] for path in sums), *there]):
        found = [(WRONG, f"it is missing, and {files.SUMS} of the results folder lists it")]
        try:
            found = list(_notes(there[run], sums, rules)) if run in there else found
        except (OSError, ValueError) as error:
            found = [(WRONG, str(error))]
        notes += [Note(run, *one) for one in found or [(PROVED, "")]]
    if not notes:
        raise ValueError(f"{results} holds no evidence; the results folder of verify, site or rollback belongs there")
    return notes


def _notes(folder: Path, sums: Mapping[str, str], rules: Rules) -> Iterator[tuple[str, str]]:
    """What is wrong with a run, and what was not checked. OSError, ValueError for files that cannot be read."""
    run, place = f"{folder.parent.name}/{folder.name}", folder / files.SUMS
    document = files.read(folder / f"{folder.parent.name}.json")
    ended, version = document["run"]["ended"] is not None, document["run"]["collection"]
    mine = {path: digest for path, digest in sums.items() if path.startswith(f"{run}/")}
    wrong: list[str] = []
    if mine or place.exists():
        wrong += _changes(mine, files.main_sums(folder))
        wrong += _changes(files.read_sums(place), files.sums(folder))
        if document["run"].get("previous") != files.previous_run(sums, run):
            wrong.append("the run before it is not the one that it names")
        if version == rules.version:
            wrong += _derived(document, folder)
        else:
            yield SKIPPED, f"verdicts and formats are those of version {version}, and this is {rules.version}"
    else:
        yield SKIPPED, "it has no checksums, as evidence of 0.9.0" if ended else "the run did not end"
    if rules.signers and ended and (sentence := signing.problem(place, rules.signers, rules.identity)):
        wrong.append(sentence)
    yield from ((WRONG, sentence) for sentence in dict.fromkeys(wrong))


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for path in sorted(path for path in {*before, *after} if before.get(path) != after.get(path)):
        how = "is missing" if path not in after else "was changed" if path in before else "was added"
        yield f"{path.rpartition('/')[2]} {how}"


def _derived(document: Document, folder: Path) -> Iterator[str]:
    """What does not follow from the rows of the hosts: verdicts of waived rows, totals, result, headline, formats."""
    for host in document["hosts"]:
        for row in host["rows"]:
            if not _follows(row, document):
                yield f"{host['host']}: {row['name']} {row['subject']} is {row['verdict']}, unlike its waiver"
    again = assemble(document["run"], document["hosts"], document["waivers"], document["problems"])
    yield from (f"{key} does not follow from the rows" for key, value in again.items() if document.get(key) != value)
    stem = document["run"]["kind"]
    for form in (form for form in files.FORMATS if (folder / f"{stem}.{form}").exists()):
        if write_formats(files.FORMATS, (document,), (folder, stem), [form], check=True).changed:
            yield f"{stem}.{form} does not show what the JSON holds"


def _follows(row: WaivedRow, document: Document) -> bool:
    """Whether the verdict of a row follows from its waiver, and that from the waivers of the run."""
    waiver = row.get("waiver")
    if waiver is None:
        return row["verdict"] != "waived"
    known = (waiver["owner"], waiver["reason"], waiver["until"], row["name"])
    fits = any(
        (one["owner"], one["reason"], one["until"], one["tuning"]) == known
        and fnmatchcase(row["subject"], one["subject"])
        for one in document["waivers"]
    )
    before: WaivedRow = {**row, "verdict": waiver["verdict"]}
    # Ansible may have started on the day before
    first, last = str(check(document["run"]) - timedelta(1)), str(document["run"]["ended"])[:10]
    in_time = waiver["until"] < last if waiver["expired"] else waiver["until"] >= first
    waivable = waiver["verdict"] in waiving.WAIVABLE or waiving.reported(before)
    return fits and in_time and waivable and row["verdict"] == (waiver["verdict"] if waiver["expired"] else "waived")
