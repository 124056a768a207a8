# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a tuning on a host of the tests, with a journal in that host's tree."""

import errno
import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import lease as _lease
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.run import Run
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, refused
from guardians import alive
from kernel import KernelHost
from waiting import until

FOLDER = "/var/lib/zpower_sap_tuning"
PROBATION = FOLDER + "/checkpoint-probation"
# the options that every tuning has
DEFAULTS = {name: option.get("default") for name, option in entry_point.STATE_ARGUMENTS.items()}


def runner(tuning, **defaults):
    """Return run(host, check=False, **changes): one call of the tuning's module with these parameters."""

    def run(host, check=False, **changes):
        params = dict({"state": "present", "force": False}, **defaults)
        params.update(changes)
        journal = Journal(host, tuning.name, FOLDER, params.get("checkpoint"))
        return Run(tuning(host, params), journal, params["state"], check, params["force"]).run()

    return run


def only(result):
    assert len(result["tuning"]) == 1
    return result["tuning"][0]


def recorded(run):
    """record(host, check=False, **changes): the one record of such a call."""
    return lambda *host, **changes: only(run(*host, **changes))


def records(result):
    return {record["subject"]: record for record in result["tuning"]}


def verdicts(result):
    return {subject: record["verdict"] for subject, record in records(result).items()}


def refusal(act, *arguments, **options):
    with pytest.raises(HostError) as error:
        act(*arguments, **options)
    return str(error.value)


def ended(pid):
    until(lambda: not alive(pid), "process %d has ended" % pid)


class Dead(BaseException):
    """The run is killed here."""


class SteppedHost(KernelHost):
    """Call at(step, path) before each write and removal of this process."""

    at = None
    checkpoint = PROBATION

    def _step(self, *step):
        if self.at:
            self.at(*step)

    def replace(self, path, data, mode=0o644, check=None):
        self._step("write", path)
        super().replace(path, data, mode, check)

    def remove(self, path):
        self._step("remove", path)
        super().remove(path)

    def steps(self, act):
        found = []
        self.at = lambda *step: found.append(step)
        act()
        self.at = None
        return found

    def killed(self, number, act):
        """Call act() and kill it at this step (from 0); return whether it reached that step."""
        left = iter(range(number))

        def die(*_step):
            if next(left, None) is None:
                raise Dead

        self.at = die
        try:
            act()
        except Dead:
            return True
        finally:
            self.at = None
        return False

    def without_room(self, act, where=""):
        """Return the result of act() while no path that contains this text can be written."""

        def full(step, path):
            if step in ("write", "link") and where in path:
                raise refused("cannot write %s" % path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

        self.at = full
        result = act()
        self.at = None
        return result

    def guardian(self):
        """Return the process id of the guardian of rps, None if there is none."""
        text = self.read(self.checkpoint + "/rps.guardian")
        return int(text) if text else None


def syslog(monkeypatch, tmp_path):
    """Return, for a fixture, the file that gets the syslog lines of a guardian, each with its level."""
    told = tmp_path / "syslog"

    def say(level, text):
        # Ansible itself logs each call
        if not text.startswith("Invoked"):
            with told.open("a") as stream:
                stream.write("%d %s\n" % (level, text))

    monkeypatch.setattr(_lease.syslog, "syslog", say)
    return told


def everything(host):
    """Return {path: content} of all files that a run can write or read."""
    return host.tree("/etc", "/proc", "/sys", "/var")
