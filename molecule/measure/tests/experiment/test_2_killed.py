# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller is interrupted, and then killed, in the middle of an experiment.

The host takes its values back by itself each time, and the same command continues.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

HOST = "app1"
CHECKOUT = Path(os.environ["MOLECULE_PROJECT_DIRECTORY"])
FOLDER = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])
CHANGE = "gone"
LOOK = (
    "grep -r . --include=rps_cpus /sys/class/net/hsi0/queues | sort;"
    " find /etc/udev/rules.d /var/lib/zpower_sap_tuning -type f ! -name '*.lock' | sort | xargs -r sha256sum"
)
LEASE = 60  # longer than a step of one host under load, and short enough to wait for


def test_a_run_that_is_gone_leaves_the_host_as_found_and_can_be_continued(host, play, short, eventually):
    arguments = ["--limit", HOST, "-e", json.dumps({**short, "experiment_lease": LEASE, "zpower_change": CHANGE})]
    folder = Path(short["zpower_results"], CHANGE, HOST)
    found = host.check_output(LOOK)

    def as_found():
        # while the host takes its values back, files vanish between find and sha256sum, which then fails
        return host.run(LOOK).stdout.strip() == found.strip()

    for how in (signal.SIGINT, signal.SIGKILL):
        run = Run(how, folder, arguments)
        # A level that differs from the original values is set. Reading the host would take too long on a busy machine:
        # the other steps may be over by then.
        assert eventually(lambda run=run: run.ended() or run.steps() > 0)
        assert not run.ended(), f"it ended by itself; see {FOLDER}/gone-{how.name}.log"
        run.end(eventually)
        assert "changed" in run.verdicts()
        assert eventually(as_found)
    report = {"zpower_results": short["zpower_results"], "zpower_change": CHANGE}
    status, text, _changed = play("report", "-e", json.dumps(report))
    assert status == 0 and "is not complete" in text, text
    status, text, _changed = play("experiment", *arguments)
    assert status == 0, text
    outcome = json.loads((folder.parent / "report.json").read_text())["experiment"]
    assert outcome["progress"]["complete"] and outcome["progress"]["done"] == 4
    assert [session["ended"] is None for session in outcome["progress"]["sessions"]] == [True, True, False]
    assert host.check_output(LOOK) == found


class Run:
    """A running experiment, and the steps that it has begun."""

    def __init__(self, how, folder, arguments):
        self._how, self._folder = how, folder
        self._began = time.time()
        # programs started in the background ignore SIGINT, and so do their children
        command = ["env", "--default-signal=INT", "ansible-playbook", "zpower.sap_tuning.experiment", *arguments]
        with (FOLDER / f"gone-{how.name}.log").open("w") as log:
            self._process = subprocess.Popen(command, cwd=CHECKOUT, stdout=log, stderr=log, start_new_session=True)

    def ended(self):
        return self._process.poll() is not None

    def steps(self):
        return len(self._files())

    def verdicts(self):
        return [json.loads(path.read_text())["tunings"][0]["verdict"] for path in self._files()]

    def _files(self):
        return [path for path in self._folder.glob("tunings-*") if path.stat().st_mtime > self._began]

    def end(self, eventually):
        """Send the signal. Python loses an interrupt that arrives during a fork; a user would press Ctrl-C again."""
        try:
            begun = self.steps()
            os.killpg(self._process.pid, self._how)
            assert eventually(lambda: self.ended() or self.steps() > begun)
        finally:
            if not self.ended():
                os.killpg(self._process.pid, self._how)
            self._process.wait()
