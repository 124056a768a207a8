# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""--tags and --skip-tags for an action that does the work of several tasks."""

from collections.abc import Iterable


def runs(tags: Iterable[str], run: Iterable[str], skip: Iterable[str]) -> bool:
    """Whether Ansible would run a task with these tags, at least one and not "always".

    run, skip: the task's ansible_run_tags and ansible_skip_tags.
    """
    own, asked = set(tags), set(run)
    chosen = own & asked or ("never" not in own and asked & {"all", "tagged"})
    return bool(chosen) and not (own | {"all", "tagged"}) & set(skip)


def check_tags(tags: list[str]) -> None:
    """ValueError if tags would leave tasks of the measurement out."""
    if "all" not in tags:
        raise ValueError(
            f"--tags {','.join(tags)} would leave the measurement out: tags choose tunings in verify, site "
            "and rollback only; leave --tags out, and choose tunings with zpower_tunings"
        )
