# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A systemd of the tests: systemctl, and a boot, for the units below a host's root. Its services are real processes.

Its answers are those of systemd 252. It knows what was in the folders at the last daemon-reload or boot.
"""

import os
import re
import shlex
import subprocess

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Result

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
