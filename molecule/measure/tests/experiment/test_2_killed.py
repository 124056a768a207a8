# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller dies in the middle of an experiment: the hosts go back by themselves, and the same command goes on."""

import json
import os
import signal
import subprocess
from pathlib import Path

CHECKOUT = Path(os.environ["MOLECULE_PROJECT_DIRECTORY"])
FOLDER = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])
LOOK = (
    "grep -r . --include=rps_cpus /sys/class/net/hsi0/queues | sort;"
    " find /etc/udev/rules.d /var/lib/zpower_sap_tuning -type f ! -name '*.lock' | sort | xargs -r sha256sum"
)
HOW = {"app1": signal.SIGKILL, "app2": signal.SIGINT}
LEASE = 60  # longer than a step of one host under load, and short enough to wait for


def arguments(change, name, short):
    return ["--limit", name, "-e", json.dumps({**short, "experiment_lease": LEASE, "zpower_change": change})]


def test_a_run_that_is_gone_leaves_the_host_as_it_was_and_can_go_on(host, name, play, short, eventually):
    results = Path(short["zpower_results"])
    how = HOW[name]
    change = f"gone-{name}"
    folder = results / change / name
    found = host.check_output(LOOK)

    def steps():
        return len(list(folder.glob("tunings-*")))

    def as_found():
        # while the host goes back, files vanish between find and sha256sum, which then fails
        return host.run(LOOK).stdout.strip() == found.strip()

    # what is started in the background ignores SIGINT, and so would all that it starts
    listening = ["env", "--default-signal=INT"]
    command = [*listening, "ansible-playbook", "zpower.sap_tuning.experiment", *arguments(change, name, short)]
    with (FOLDER / f"{change}.log").open("w") as log:
        gone = subprocess.Popen(command, cwd=CHECKOUT, stdout=log, stderr=log, start_new_session=True)
        try:
            # In the second of four steps, whose level is another one than what was found. A look at the host would take
            # too long on a busy machine: the other steps may be over then.
            assert eventually(lambda: gone.poll() is not None or steps() > 1)
            assert gone.poll() is None, "it ended by itself, its log tells why"
            os.killpg(gone.pid, how)
            # Python loses an interrupt that arrives while it forks (an exception in a hook of os.fork is only printed).
            # A user would press Ctrl-C again.
            assert eventually(lambda: gone.poll() is not None or steps() > 2)
        finally:
            if gone.poll() is None:
                os.killpg(gone.pid, how)
            gone.wait()
    verdicts = [json.loads(path.read_text())["tunings"][0]["verdict"] for path in folder.glob("tunings-*")]
    assert "changed" in verdicts
    assert eventually(as_found)
    status, text, _changed = play("report", "-e", json.dumps({"zpower_results": str(results), "zpower_change": change}))
    assert status == 0 and "is not complete" in text, text
    status, text, _changed = play("experiment", *arguments(change, name, short))
    assert status == 0, text
    outcome = json.loads((results / change / "report.json").read_text())["experiment"]
    assert outcome["progress"]["complete"] and outcome["progress"]["done"] == 4
    assert [session["ended"] is None for session in outcome["progress"]["sessions"]] == [True, False]
    assert host.check_output(LOOK) == found
