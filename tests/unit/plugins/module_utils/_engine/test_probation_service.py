# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A probation where systemd runs: its guardian is a service, a Python of its own without this collection."""

import itertools
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import time
import types

import guardians
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import archive, entry_point, service
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import lease as _lease
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import _unused
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from kernel import QUEUE, masks, rps_params
from runs import DEFAULTS, FOLDER, PROBATION, SteppedHost, only
from waiting import until

UNITS = "/etc/systemd/system"
WANTS = UNITS + "/multi-user.target.wants"
_UNIT = re.compile(
    r"""# of .*
\[Unit\]
Description=.+
After=multi-user.target network-online.target
ConditionPathExists=(?P<condition>/\S+)

\[Service\]
ExecStart=(?P<argv>["/].+)
Restart=on-failure
RestartSec=15

\[Install\]
WantedBy=multi-user.target
\Z"""
)


class Systemd:
    """calls: the arguments of each systemctl; refuse: {command: its error}; processes: {unit: Popen}."""

    def __init__(self, host):
        self.host = host
        self.calls = []
        self.refuse = {}
        self.loaded = {}
        self.processes = {}
        os.makedirs(host.path("/run/systemd/system"))
        os.makedirs(host.path(UNITS))

    def run(self, argv, timeout=30, **_more):
        assert argv[0] == "systemctl" and timeout
        self.calls.append(argv[1:])
        command, options, units = argv[1], argv[2:-1], argv[-1:] if len(argv) > 2 else []
        if command in self.refuse:
            return Result(1, "", self.refuse[command])
        return getattr(self, command.replace("-", "_"))(options, *units)

    def daemon_reload(self, _options):
        found = {}
        for path in self.host.glob(UNITS, "*.service"):
            found[os.path.basename(path)] = _UNIT.match(self.host.read(path)).groupdict()
        # a unit whose service runs stays, also without a file
        self.loaded = dict({name: unit for name, unit in self.loaded.items() if self._runs(name)}, **found)
        return Result(0, "", "")

    def reset_failed(self, _options, unit):
        if unit not in self.loaded:
            return Result(1, "", "Failed to reset failed state of unit %s: Unit %s not loaded." % (unit, unit))
        if not self._runs(unit):
            self.processes.pop(unit, None)
        return Result(0, "", "")

    def start(self, options, unit):
        assert options == ["--no-block"]
        if unit not in self.loaded:
            return Result(5, "", "Failed to start %s: Unit %s not found." % (unit, unit))
        if not self._runs(unit) and self.host.exists(self.loaded[unit]["condition"]):
            argv = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(self.loaded[unit]["argv"])]
            assert argv[1] == "-I"
            argv[2] = self.host.path(argv[2])
            # a service has neither this environment nor this folder
            self.processes[unit] = subprocess.Popen(argv, cwd="/", env={"LANG": "C"}, stdin=subprocess.DEVNULL)
        return Result(0, "", "")

    def stop(self, _options, unit):
        if unit not in self.loaded:
            return Result(5, "", "Failed to stop %s: Unit %s not loaded." % (unit, unit))
        if self._runs(unit):
            self.processes[unit].terminate()
            self.processes[unit].wait()
        return Result(0, "", "")

    def show(self, options, unit):
        assert options == ["--property=Result"]
        process = self.processes.get(unit)
        rc = process.poll() if process else None
        return Result(0, "Result=%s\n" % ("exit-code" if rc and rc > 0 else "success"), "")

    def _runs(self, unit):
        return unit in self.processes and self.processes[unit].poll() is None

    def running(self):
        return [unit for unit in sorted(self.processes) if self._runs(unit)]

    def shutdown(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.processes = {}

    def boot(self, boot_id):
        self.host.fill("/proc/sys/kernel/random/boot_id", boot_id)
        self.loaded = {}
        self.daemon_reload([])
        for unit in self.host.listdir(WANTS):
            target = os.path.normpath(os.path.join(WANTS, os.readlink(self.host.path(os.path.join(WANTS, unit)))))
            assert target == "%s/%s" % (UNITS, unit)
            self.start(["--no-block"], unit)


NAME = "zpower-sap-tuning-probation-rps.service"
# longer than this machine runs: a boot of the tests does not set its monotonic clock back
LONG = "7d"
BOOT, ONE = "/proc/sys/kernel/random/boot_id", "0f1e2d3c-0000-4000-8000-000000000001"
NIGHTLY = pytest.mark.nightly
# what the module gives the engine, unless asked otherwise
PARAMS = dict(DEFAULTS, **rps_params())


class Machine(SteppedHost):
    """A machine with systemd. at(step, what) is called before everything that changes files or runs a command."""

    def __init__(self, root):
        super().__init__(root)
        self.interface("hsi0", queues=2)
        self.fill(BOOT, ONE)
        self.systemd = Systemd(self)

    def link(self, path, to):
        self._step("link", path)
        super().link(path, to)

    def run(self, argv, timeout=30, user=None, env=None):
        self._step("run", argv[1])
        return self.systemd.run(argv, timeout)

    def reboot(self, boot_id="0f1e2d3c-0000-4000-8000-000000000002"):
        self.systemd.shutdown()
        self.systemd.boot(boot_id)

    def take_back_by_hand(self):
        for number in range(2):
            self.fill(QUEUE % number, "0")
        shutil.rmtree(self.path("/etc/udev/rules.d"))


def everything(host):
    """All files but the lock, and the links of units; None while a guardian is just at work on them."""
    found = guardians.everything(host)
    return found and dict(found, links=host.listdir(WANTS))


@pytest.fixture
def machine(tmp_path):
    """machine(name) makes a machine."""
    made = []

    def make(name):
        made.append(Machine(tmp_path / name))
        return made[-1]

    yield make
    for host in made:
        host.systemd.shutdown()


@pytest.fixture
def host(machine):
    return machine("machine")


@pytest.fixture
def call(monkeypatch):
    def call(host, check=False, **changes):
        monkeypatch.setattr(entry_point, "Host", lambda root=None: host)
        return entry_point.outcome(Rps, dict(PARAMS, **changes), check)

    return call


@pytest.mark.gate
def test_it_takes_back_when_the_time_is_over(host, call):
    call(host, cpus="0-1")
    found = everything(host)
    result = call(host, every=2, confirm_within="3s")
    assert not result["failed"], result["msg"]
    assert "on probation until 20" in only(result)["remarks"][0]
    assert host.systemd.processes[NAME].wait() == 0 and everything(host) == found
    assert masks(host) == ["3", "3"] and not host.exists(PROBATION)


def test_its_files_lie_where_systemd_and_only_root_read_them(host, call):
    call(host, confirm_within=LONG)
    assert host.systemd.running() == [NAME] and host.listdir(WANTS) == [NAME]
    assert sorted(host.listdir(PROBATION)) == ["lease.json", "rps.guardian", "rps.json", "rps.zip"]
    assert stat.S_IMODE(os.stat(host.path(PROBATION + "/rps.zip")).st_mode) == 0o600
    assert int(host.value(PROBATION + "/rps.guardian")) == host.systemd.processes[NAME].pid
    assert host.systemd.calls == [
        ["daemon-reload"],
        ["reset-failed", NAME],
        ["start", "--no-block", NAME],
        *[["show", "--property=Result", NAME]] * (len(host.systemd.calls) - 3),
    ]
    call(host, confirm_within="6d")
    assert host.systemd.calls.count(["daemon-reload"]) == 1


@pytest.mark.parametrize("how", [{"state": "confirmed"}, {"state": "restored"}, {"confirm_within": "0"}])
def test_it_ends_with_the_probation(host, call, how):
    untouched = everything(host)
    call(host, confirm_within=LONG)
    service = host.systemd.processes[NAME]
    assert not call(host, **how)["failed"]
    assert service.wait() != 0 and host.listdir(UNITS) == ["multi-user.target.wants"] and host.listdir(WANTS) == []
    assert NAME not in host.systemd.loaded
    call(host, state="restored")
    assert everything(host) == untouched


def test_after_a_reboot_it_goes_on_and_only_the_clock_counts(host, call):
    call(host, cpus="0-1")
    found = everything(host)
    call(host, every=2, confirm_within=LONG)
    lease = json.loads(host.read(PROBATION + "/lease.json"))
    host.reboot()
    journal = Journal(host, "rps", FOLDER, "probation")
    # never later: the monotonic clock, which a boot of the tests does not set back, counts too
    assert until(journal.lease.ends, "the service has noted the end") <= lease["ends"]
    host.systemd.shutdown()
    host.write(PROBATION + "/lease.json", json.dumps(dict(lease, wall=time.time() - 1)))
    host.reboot()
    until(lambda: everything(host) == found, "everything is taken back")
    assert host.systemd.processes[NAME].wait() == 0


def test_a_reboot_in_the_middle_of_taking_back_is_followed_by_the_rest(host, call):
    found = everything(host)
    call(host, confirm_within=LONG)
    host.systemd.shutdown()
    # the values are back, and its journal is gone, but not the service
    host.remove(PROBATION + "/rps.json")
    host.take_back_by_hand()
    host.write(PROBATION + "/lease.json", json.dumps({"until": 0, "ends": "", "boot": ONE}))
    host.reboot()
    until(lambda: everything(host) == found, "everything is taken back")


def test_other_checkpoints_have_no_service(host, call):
    call(host, checkpoint="exp1", lease=3600)
    assert host.systemd.calls == [] and host.listdir(WANTS) == []
    call(host, state="restored")


@pytest.mark.parametrize("command", ["daemon-reload", "start"])
def test_if_systemd_refuses_nothing_is_changed(host, call, command):
    before = everything(host)
    host.systemd.refuse[command] = "Access denied"
    result = call(host, confirm_within=LONG)
    assert result["failed"] and "nothing was changed: the process that would take the checkpoint back" in result["msg"]
    assert "systemctl %s" % command in result["msg"] and result["msg"].endswith(": Access denied")
    assert everything(host) == before and not host.exists(FOLDER)


@pytest.mark.parametrize(
    "program, words",
    [
        ("raise SystemExit(3)\n", "%s has failed (Result=exit-code), see journalctl -u %s" % (NAME, NAME)),
        ("import time; time.sleep(3600)\n", "%s was not ready within 0.5 s" % NAME),
    ],
)
def test_if_the_service_fails_or_does_not_begin_nothing_is_changed(host, call, monkeypatch, program, words):
    before = everything(host)
    monkeypatch.setattr(_lease, "SERVICE_TIMEOUT_S", 0.5 if "sleep" in program else 60)
    monkeypatch.setattr(archive, "_MAIN", program)
    result = call(host, confirm_within=LONG)
    assert result["failed"] and words in result["msg"]
    assert everything(host) == before and not host.exists(FOLDER) and host.systemd.running() == []


@pytest.mark.parametrize("where", ["rps.zip", UNITS, "multi-user.target.wants"])
def test_without_room_for_its_files_nothing_is_changed(host, call, where):
    before = everything(host)
    result = host.without_room(lambda: call(host, confirm_within=LONG), where)
    assert result["failed"] and "nothing was changed" in result["msg"] and "No space left" in result["msg"]
    assert everything(host) == before and not host.exists(FOLDER)


def test_leftovers_elsewhere_are_not_an_unused_tuning_and_go_with_the_next_run(host, call, monkeypatch):
    before = everything(host)
    call(host, confirm_within=LONG)
    host.systemd.shutdown()
    monkeypatch.setattr(_unused, "Host", lambda: host)
    # someone has removed the folder of journals
    shutil.rmtree(host.path(PROBATION))
    host.take_back_by_hand()
    assert all(os.path.lexists(host.path(path)) for path in (UNITS + "/" + NAME, WANTS + "/" + NAME))
    assert _unused.unused(["rps"]) == []
    call(host, state="restored")
    assert everything(host) == before


@pytest.mark.parametrize(
    "then, what",
    [
        pytest.param(then, what, marks=pytest.mark.gate if then + what in ("nowset", "rebootrestored") else NIGHTLY)
        for then in ("now", "reboot")
        for what in ("set", "confirmed", "restored")
    ],
)
def test_killed_at_any_step_everything_can_be_taken_back(machine, call, what, then):
    for number in itertools.count():
        host = machine("killed-%d" % number)
        untouched = everything(host)
        call(host, cpus="0-1")
        if what != "set":
            call(host, every=2, confirm_within=LONG)
        changes = {"every": 2, "confirm_within": LONG} if what == "set" else {"state": what}
        came = host.killed(number, lambda host=host, changes=changes: call(host, **changes))
        if then == "reboot":
            host.reboot()
        result = call(host, state="restored")
        assert not result["failed"], result["msg"]
        assert everything(host) == untouched and host.systemd.running() == [], number
        host.systemd.shutdown()
        if not came:
            break
    assert number > 5


def test_the_archive_alone_takes_a_tree_back(host, call, tmp_path):
    call(host, cpus="0-1")
    found = everything(host)
    call(host, every=2, confirm_within="0")
    host.fill(PROBATION + "/lease.json", json.dumps({"until": 0.0, "ends": "2026-11-20T10:00:00Z"}))
    # parameters of any kind arrive
    params = dict(PARAMS, every=2, confirm_within="0", interfaces=["\xe4\udc80'\"\n"], flow_cnt=3)
    path = tmp_path / "program.zip"
    path.write_bytes(archive.program(Rps, Rps.unattended(params), host.root))
    subprocess.run([sys.executable, "-I", str(path)], cwd="/", env={}, check=True, timeout=300)
    assert everything(host) == found


@pytest.mark.parametrize("kind", ["text", "bytes"])
def test_the_source_may_be_text_or_bytes(monkeypatch, kind):
    """Ansible's own loader of collections gives bytes where those of Python give text: the archive is the same."""
    expected = archive.program(Rps, {}, "/")
    with open(archive.__file__, "rb") as file:
        source = file.read()
    given = source if kind == "bytes" else source.decode("utf-8")
    monkeypatch.setattr(archive.__spec__, "loader", types.SimpleNamespace(get_source=lambda name: given))
    assert archive.program(Rps, {}, "/") == expected


@pytest.fixture
def clock(monkeypatch):
    """now: the seconds of the monotonic clock and of the clock of the wall."""
    now = types.SimpleNamespace(monotonic=1000.0, wall=1.8e9)
    fake = types.SimpleNamespace(
        monotonic=lambda: now.monotonic, time=lambda: now.wall, strftime=time.strftime, gmtime=time.gmtime
    )
    monkeypatch.setattr(_lease, "time", fake)
    return now


@pytest.fixture
def lease(host, clock, monkeypatch):
    """A lease of 600 s, granted 1000 s after a boot, whose guardian lives."""
    journal = Journal(host, "rps", FOLDER, "probation")
    journal.lock()
    monkeypatch.setattr(journal.lease, "guardian", lambda: 1)
    journal.lease.grant(_lease.Terms(600, None, None))
    return journal.lease


@pytest.mark.parametrize(
    "boot, uptime, passed, left",
    [
        # within a boot the clock of the wall does not count
        (ONE, 1599, -1e8, 1),
        (ONE, 1600, 1e6, 0),
        ("two", 20, 100, 500),  # a boot of 80 s
        ("two", 20, 700, -100),  # it was off over the end
        ("two", 20, 1e8, None),  # a clock that was set forward ends it
        ("two", 20, -1e8, 580),  # one that was set back does not prolong it
        ("two", 600, -1e8, 0),
    ],
)
def test_only_after_a_reboot_the_clock_counts_and_never_more_than_was_granted(
    host, lease, clock, boot, uptime, passed, left
):
    host.fill(BOOT, boot)
    clock.monotonic, clock.wall = float(uptime), 1.8e9 + passed
    assert lease._due() is (left is None or left <= 0)
    assert left is None or lease._left() == left


def test_the_end_is_shown_by_the_clock_of_the_host_and_is_stable(lease, clock):
    ends = lease.ends()
    clock.wall += 0.4
    assert lease.ends() == ends
    # set back by an hour
    clock.wall -= 3600
    assert lease.ends() < ends


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 100000, '{"until": ', "null", "[]", "7", '{"until": 1}']
    + ['{"until": %s, "ends": "", "boot": "one"}' % value for value in ("NaN", "Infinity", "1" + "0" * 400, '"nan"')]
    + [
        '{"until": 9e9, "ends": "", "boot": "x", "wall": "soon"}',
        '{"until": 0, "ends": "", "boot": "x", "wall": NaN, "seconds": 9e9}',
        '{"until": 0, "ends": "", "boot": "x", "wall": 9e99, "seconds": 9e99}',
        # of a host that runs for more than a year, and has no id of its boot; also: edited to have no end
        '{"until": 4e7, "ends": "", "boot": null, "wall": 9e9, "seconds": 600}',
        # of another host, whose time is over
        '{"until": 4e7, "ends": "", "boot": "x", "wall": 1, "seconds": 600}',
    ],
    ids=len,
)
def test_a_lease_that_cannot_be_read_or_that_nobody_has_granted_is_over(host, lease, text):
    host.write(PROBATION + "/lease.json", text)
    assert lease._due()


@pytest.mark.parametrize(
    "path, written",
    [
        ("/usr/libexec/platform-python3.6", "/usr/libexec/platform-python3.6"),
        ("/opt/a b/100%/$x/python3", '"/opt/a b/100%%/$$x/python3"'),
        ('/opt/"a\\b"/python3', '"/opt/\\"a\\\\b\\"/python3"'),
    ],
)
def test_the_interpreter_is_written_as_systemd_reads_it(path, written):
    """Source: systemd.service(5), "Command lines": quotes, C escapes, %% and $$."""
    assert service.quoted(path) == written
