# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing goes on for ever: programs behind a script, the server of the control, an end that only drips."""

import os
import signal

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.descriptors import keep_only
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import agent
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs
from measuring import STANDIN, listens, script, server, with_a_limit
from waiting import until


class Sleeper:
    def __init__(self, folder):
        self._pid, self._over = folder / "pid", folder / "over"
        text = 'sleep 600 & echo $! > "%s"\nwait $! && touch "%s"\n' % (self._pid, self._over)
        self.program = script(folder / "tool", text)

    def begun(self, *_nothing):
        return self._pid.exists() and self._pid.read_text()

    def is_ended(self):
        until(lambda: processes.start_time(int(self._pid.read_text())) is None, "the program has ended")
        assert not self._over.exists()


@pytest.fixture
def sleeper(tmp_path):
    return Sleeper(tmp_path)


@pytest.mark.gate
@pytest.mark.parametrize("together", [True, False])
def test_the_client_behind_a_script_ends_at_the_time_limit(sleeper, together):
    def attempt(seconds):
        if together:
            with pytest.raises(MeasureError, match="did not end within the time limit of %d s" % seconds):
                programs.run_together([[sleeper.program]], seconds)
        else:
            assert programs.ask([sleeper.program], seconds) == ""

    with_a_limit(attempt, sleeper.begun)
    sleeper.is_ended()


@pytest.mark.parametrize("kill", [False, True])
def test_the_server_behind_a_script_ends_with_its_agent(tmp_path, kill):
    program = script(tmp_path / "niping", '"%s" "$@"\nexit $?\n' % STANDIN)
    with server("niping", binary=program) as session:
        if kill:
            os.kill(session["pid"], signal.SIGKILL)
        else:
            assert agent.stop(session)
        until(lambda: not listens(session["port"]), "the server no longer listens")


def test_programs_that_print_more_than_a_pipe_holds_end_by_themselves(tmp_path):
    program = script(tmp_path / "talker", "echo begin $1\nhead -c 300000 /dev/zero | tr '\\0' x\necho end $1 >&2\n")
    ran = programs.run_together([[program, "1"], [program, "2"]], 600, half=1000)
    assert ran.codes == [0, 0]
    for number, text in enumerate(ran.texts, 1):
        assert text.startswith("begin %d\nxxx" % number) and text.endswith("xxxend %d\n" % number)
        assert len(text) < 2100


@pytest.mark.gate
@pytest.mark.parametrize("at_once", [False, True])
def test_the_client_behind_a_script_ends_with_a_module_that_was_killed(sleeper, monkeypatch, at_once):
    start = processes.start

    def killed(argv, **options):
        start(argv, **options)
        until(sleeper.begun, "the script has started its program")
        os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if pid == 0:
        try:
            if at_once:
                monkeypatch.setattr(processes, "start", killed)
            programs.run_together([[sleeper.program]], 600)
        finally:
            os._exit(0)
    if not at_once:
        until(sleeper.begun, "the script has started its program")
        os.kill(pid, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    sleeper.is_ended()


def test_ending_a_process_that_leads_no_group_leaves_its_group_alone():
    child = os.fork()
    if child == 0:
        try:
            signal.pause()
        finally:
            os._exit(0)
    assert processes.end(child, processes.start_time(child))
    os.waitpid(child, 0)


@pytest.mark.gate
def test_the_server_of_the_control_ends_with_a_module_that_was_killed():
    """It would hold the output of the module open, and Ansible waits for the end of that."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            keep_only({write_end})
            with agent.local_server(600) as local:
                os.write(write_end, b"%d\n" % local.port)
                signal.pause()
        finally:
            os._exit(0)
    os.close(write_end)
    port = int(os.read(read_end, 100))
    assert listens(port)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until(lambda: not listens(port), "the server no longer listens")
    assert os.read(read_end, 1) == b""
    os.close(read_end)
