# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records from figures that were measured elsewhere; documented in plugins/modules/measurement_import.py."""

from pathlib import Path

from ..modules.measurement_import import DOCUMENTATION
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._actions.measuring import collector
from ..plugin_utils._actions.reporting import PROBLEMS_SHOWN
from ..plugin_utils._imports.fields import Values
from ..plugin_utils._imports.records import TOOL, Imported, records_of, states_of
from ..plugin_utils._imports.rows import RowsError, from_file, from_list
from ..plugin_utils._pages.text import listed, plural
from ..plugin_utils._records import record_files
from ..plugin_utils._records.checks import plain_json, sentence


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION)
    RULES = {"mutually_exclusive": [("src", "rows")], "required_one_of": [("src", "rows")]}

    def act(self, options: Values, variables: Values) -> Values:
        if len(options["delimiter"]) != 1 or options["delimiter"] in '"\r\n':
            raise ValueError(
                f"delimiter is {options['delimiter']!r}; it must be one character, but not a quotation mark or"
                ' an end of line (a tab is "\\t" in double quotes)'
            )
        imported = _imported_from(options)
        records = imported.records
        results = Path(options["results"])
        store = _compared(records, results, options["replace"])
        _check_left_over(imported, results)
        wanted = store["created"] + store["replaced"]
        if not self._task.check_mode:
            for record in wanted:
                record_files.write_record(results, record, replace_old=True)
        return {
            "changed": bool(wanted),
            **{fate: len(found) for fate, found in store.items()},
            "paths": [str(record_files.record_path(results, record)) for record in records],
            "states": states_of(records),
        }


def _imported_from(options: Values) -> Imported:
    """The records of all rows; ValueError with a sentence for each row that cannot be used."""
    src, writer = options["src"], collector()
    file = {} if src is None else {"source": {"file": Path(src).name}}
    change = {} if options["change"] is None else {"change": options["change"]}
    try:
        table = (
            from_file(Path(src), options["format"], options["delimiter"])
            if src is not None
            else from_list(options["rows"])
        )
        imported = records_of(table, file, change, options["defaults"])
    except RowsError as error:
        raise ValueError(f"{src}: {error}" if src else str(error)) from None
    if imported.problems:
        refused = f"{src or 'rows'}: nothing was imported, {plural(len(imported.problems), 'row')} cannot be used."
        raise ValueError(" ".join([refused, *imported.problems[:PROBLEMS_SHOWN]]))
    return imported._replace(records=plain_json([{**record, "collector": writer} for record in imported.records]))


def _compared(records: list[Values], results: Path, replace: bool) -> dict[str, list[Values]]:
    """The records by their fate. ValueError if an existing record differs and may not be replaced."""
    store: dict[str, list[Values]] = {"created": [], "replaced": [], "unchanged": []}
    places: set[Path] = set()
    for record in records:
        wrong = record_files.validate(record)
        if wrong:
            raise ValueError(f"the record of {record['workload']['name']} cannot be stored: {wrong}")
        path = record_files.record_path(results, record)
        if path in places:
            raise ValueError(
                f"{path} would hold two records: in file names all but letters, digits, points and hyphens become _;"
                " hosts, peers and workloads must differ in more than that"
            )
        places.add(path)
        try:
            known = record_files.read_json(path)
        except FileNotFoundError:
            store["created"].append(record)
            continue
        except (OSError, ValueError, RecursionError) as error:
            reason = sentence(error)
            raise ValueError(f"{path} exists and cannot be read as a record: {reason}") from None
        known = known if isinstance(known, dict) else {}
        # another version of the collection makes the same records of the same rows
        names = sorted({*known, *record} - {"collector"})
        differing = [name for name in names if known.get(name) != record.get(name)]
        if not differing:
            store["unchanged"].append(record)
            continue
        workload = known.get("workload")
        if not isinstance(workload, dict) or workload.get("tool") != TOOL:
            raise ValueError(f"{path} was not imported; name another change or workload")
        if not replace:
            raise ValueError(
                f"{path} was imported before and differs in {listed(differing, PROBLEMS_SHOWN)}; import it with"
                " replace: true, or name another change"
            )
        store["replaced"].append(record)
    return store


def _check_left_over(imported: Imported, results: Path) -> None:
    """ValueError if an earlier import had more rows, because its last ones would count as well."""
    for last in imported.last_in_order:
        left = record_files.record_path(results, {**last, "round": last["round"] + 1})
        if left.exists():
            raise ValueError(
                f"{left} is from an earlier import with more rows of this state, and would count as well: remove it,"
                " and the rounds after it, or give each row its round"
            )
