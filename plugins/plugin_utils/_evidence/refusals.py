# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that prove nothing, although no host failed: each is one sentence and the exit code of a failure."""

import os
from collections.abc import Collection, Iterable

from .._answers.text import one_line
from .._pages.text import listed
from .shapes import Document

EXIT_CODE, UNREACHABLE = 2, 4
"""Those of Ansible for a failed host, and for one that could not be reached."""
LOCAL, NO_HOST = "localhost", "!all"
"""Hosts of plays that need no inventory, and of the play of a rollout whose batches are all good."""


def of_inventory(patterns: Collection[str], sources: Iterable[str], read: Iterable[str]) -> str:
    """Why the hosts of a play may be incomplete: a source of the inventory that Ansible only warns of; empty if none.

    ``patterns``: the hosts of the play. ``sources``: the values of -i or of ansible.cfg, ``read``: the files that
    Ansible could read.
    """
    if LOCAL in patterns:
        return ""
    found = [os.path.realpath(path) for path in read]
    for source in map(str, sources):
        path = os.path.realpath(os.path.expanduser(source))
        if "," in source or any(name == path or name.startswith(path + os.sep) for name in found):
            continue
        what = "cannot be read as an inventory" if os.path.lexists(path) else "does not exist"
        return f"the inventory {one_line(source)} {what}, so hosts may be missing: correct -i or ansible.cfg"
    return ""


def of_pattern(patterns: Collection[str]) -> str:
    """Why a play without hosts is an error; empty if it may have none."""
    if {LOCAL, NO_HOST} & {*patterns}:
        return ""
    return f"no host matches {one_line(','.join(patterns))}: check -i, the inventory and zpower_hosts"


def of_selection(processed: Collection[str], tags: Iterable[str]) -> str:
    """Why a run that called no task is an error; ``processed``: the hosts on which a task was called or skipped."""
    if processed:
        return ""
    chosen = [tag for tag in tags if tag != "all"]
    told = f"--tags {','.join(chosen)} selects no task" if chosen else "no task was selected"
    return f"nothing was done: {told}; leave tags out, or see the page of playbooks for those that a playbook knows"


def of_document(document: Document) -> list[str]:
    """Why a run without a failed host is an error: mistakes in waivers, or no host had anything to check or to set."""
    found = [*document["problems"]]
    hosts = [host["host"] for host in document["hosts"] if host["outcome"] in ("ok", "skipped") and not host["rows"]]
    # nothing to take back or to confirm is not a failure
    if document["run"]["kind"] in ("verify", "site") and hosts and len(hosts) == len(document["hosts"]):
        chosen = f"no tuning is chosen for {listed(hosts, 5)}, or the tags match none"
        found.append(f"nothing was done: {chosen}; check zpower_tunings")
    return found
