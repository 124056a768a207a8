# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What actions need around a measurement: programs to send, folders, calibration, and what is said about records."""

import base64
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.release import __version__ as ansible_core_version

from ...module_utils._measure.round import rounds
from .._pages.text import one_line
from .._records import record_files
from .._records.grouping import by_key
from .._records.round import ROUND_TRIP
from .._statistics.ranks import median
from .variables import COLLECTION, collection_version

HIDDEN = "zpower-token-"
"""A handle of a token: the name of a file of this run of Ansible, which removes its folder at its end."""


def hidden(token: str) -> str:
    """A handle with which only this run gets the token of a server: what is shown and kept as a fact has no secret."""
    descriptor, path = tempfile.mkstemp(prefix=HIDDEN, dir=constants.DEFAULT_LOCAL_TMP)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(token)
    return os.path.basename(path)


def revealed(token: str) -> str:
    """The token of a handle, which any other token is itself; ValueError for one of another run."""
    if not token.startswith(HIDDEN):
        return token
    try:
        return Path(constants.DEFAULT_LOCAL_TMP, os.path.basename(token)).read_text("ascii")
    except FileNotFoundError:
        raise ValueError("the session of the measuring server is of another run: start a server in this one") from None


def collector() -> dict[str, str]:
    """The item ``collector`` of a record: what wrote it."""
    return {"collection": collection_version(COLLECTION), "ansible_core": ansible_core_version}


def encoded(command: Any) -> Any:
    """A program's options with its environment as one text, in base64.

    Ansible removes each secret value from logs and results, also from numbers. Single values, such as the 4 of a number
    of threads, would take figures with them.
    """
    given = command.get("environment") if isinstance(command, Mapping) else None
    if not isinstance(given, Mapping):
        return command
    # str() also decrypts a vaulted value of ansible-core 2.16
    kept = (Mapping, list, type(None))
    values = {str(name): value if isinstance(value, kept) else str(value) for name, value in given.items()}
    text = json.dumps(values, default=str).encode("utf-8")
    return {**command, "environment": base64.b64encode(text).decode("ascii")}


def calibrated_loops(folder: Path, peer: str) -> dict[str, int]:
    """Loops by workload name, from the oldest record of each workload with this peer (or loopback) below ``folder``.

    The oldest, so that every later round of the change repeats the first. Invalid records do not count.
    """
    oldest: dict[str, tuple[str, int]] = {}
    for path in sorted(folder.glob("*.json")):
        if path.name.startswith(record_files.TUNINGS_PREFIX):
            continue
        try:
            record = record_files.read_json(path)
        except (OSError, ValueError, RecursionError):
            continue
        if record_files.validate(record) is not None or record["peer"] not in (peer, rounds.CONTROL_PEER):
            continue
        workload, started = record["workload"], str(record.get("started"))
        # A round whose calibration failed has 0 loops.
        if workload["loops"] and (workload["name"] not in oldest or started < oldest[workload["name"]][0]):
            oldest[workload["name"]] = (started, workload["loops"])
    return {name: loops for name, (_started, loops) in oldest.items()}


def summarize(record: Mapping[str, Any]) -> dict[str, Any]:
    """One line of the result: medians over the runs that count, how many succeeded, the first error."""
    counted = [run for run in record["runs"] if not run["warmup"]]
    good = [run["metrics"] for run in counted if run["ok"]]
    errors = [run["error"] for run in record["runs"] if run.get("error")]
    line: dict[str, object] = {"workload": record["workload"]["name"], "peer": record["peer"]}
    primary = (record["workload"].get("metric") or {}).get("name") or ROUND_TRIP[0]
    # the metric that decides, and tr2 beside av2
    for name in [primary, *(["tr2_kib_per_s"] if primary == "av2_us" else [])]:
        values = [metrics[name] for metrics in good if metrics.get(name) is not None]
        line[name] = median(values) if values else None
    links = sorted({link.get("mode") or "unknown" for run in counted for link in run.get("links") or ()})
    line.update({"links": links} if links else {})
    line.update(control=record["workload"]["control"], runs_ok=len(good), runs_failed=len(counted) - len(good))
    line.update(error=errors[0] if errors else None)
    return line


def lost(lines: list[dict[str, Any]]) -> list[str]:
    """One sentence for each reason why workloads have no result: a cause that they share is given once."""
    without = (line for line in lines if not line["control"] and not line["runs_ok"])
    found = by_key(((line["peer"], str(line["error"])), line["workload"]) for line in without)
    return [
        f"every run of {', '.join(names)}{'' if peer == rounds.LOCAL_PEER else f' with {peer}'} failed: {error}"
        for (peer, error), names in found.items()
    ]


def without_server(records: list[dict[str, Any]]) -> str | None:
    """The error of a round that did not begin because its server was gone; None for any other round."""
    ours = [record for record in records if record["peer"] not in (rounds.CONTROL_PEER, rounds.LOCAL_PEER)]
    if not ours or any(record["fingerprint"]["server"] or run["ok"] for record in ours for run in record["runs"]):
        return None
    return one_line(str(ours[0]["runs"][0]["error"])).removeprefix("not begun: ")


def check_writable(folder: Path) -> None:
    """ValueError where no record could be written into ``folder``, which need not be there yet."""
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    if not there.is_dir():
        raise ValueError(f"no record can be written below {folder}: {there} is not a directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"no record can be written below {folder}: {there} is not writable")


def without_raw(record: Mapping[str, Any]) -> dict[str, object]:
    """A record for the result of a task, where the raw output of every run would be too much."""
    runs = [{name: value for name, value in run.items() if name != "raw"} for run in record["runs"]]
    return {**record, "runs": runs}
