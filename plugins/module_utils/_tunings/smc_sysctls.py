# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of SMC-R and SMC-D of Linux: the sysctls net.smc.* of the kernel's module smc.

Kernel: Documentation/networking/smc-sysctl.rst, net/smc/smc_sysctl.c.
"""

import operator
import re

from .._engine.tuning import RUNNING, STORED, Knob, Subject
from .._host import kernel
from .._host.drop_ins import DropIn, effective_files, numbered_lines
from .._host.host import HostError
from .._machine.other_settings import SystemKnob, at_boot, command_line
from ._system import SystemTuning

SUBJECT = "net.smc"
FOLDER = "/proc/sys/net/smc"
# those that kernels have had so far; which of them a kernel has is seen in FOLDER
NAMES = (
    "autocorking_size",
    "limit_smc_hs",
    "rmem",
    "smcr_buf_type",
    "smcr_max_conns_per_lgr",
    "smcr_max_links_per_lgr",
    "smcr_max_recv_wr",
    "smcr_max_send_wr",
    "smcr_testlink_time",
    "wmem",
)
SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-smc-sysctls.conf"
SYSCTL_HEADER = "# Settings of SMC, kept by zpower.sap_tuning.smc_sysctls: change them there, not here.\n"
# sysctl.d is read once at boot, and net.smc is there only if the module is
MODULES = "/etc/modules-load.d/91-zpower-sap-tuning-smc-sysctls.conf"
MODULES_HEADER = "# Loaded before sysctl.d is read, kept by zpower.sap_tuning.smc_sysctls: see its file there.\n"
MODULE, MODULE_ITEM = "smc", "module"


def sysctl(name):
    return "%s.%s" % (SUBJECT, name)


def _sets(name):
    return re.compile(
        r"""echo\s+["']?(\d+)["']?\s*>\s*/proc/sys/net/smc/%s\b|net[./]smc[./]%s\b(?:\s*[=:]\s*["']?(\d+)\b)?"""
        % (name, name)
    )


class SmcSysctls(SystemTuning):
    """net.smc.* of one host. params: the module's, see plugins/modules/smc_sysctls.py."""

    name = "smc_sysctls"
    subject = SUBJECT
    sources = ("Linux kernel, Documentation/networking/smc-sysctl.rst",)

    def __init__(self, host, params):
        super().__init__(host, params)
        self.sysctl = DropIn(host, SYSCTL, SYSCTL_HEADER)
        self.modules = DropIn(host, MODULES, MODULES_HEADER)
        self.drop_ins = (self.sysctl, self.modules)
        self.wanted = {name: str(params[name]) for name in NAMES if params.get(name) is not None}

    def observe(self, name):
        verdict, reason = self._cannot()
        if verdict is not None and not self.restoring:
            return Subject(SUBJECT, verdict=verdict, reason=reason)
        knobs = []
        for key in NAMES if self.restoring else sorted(self.wanted):
            path = "%s/%s" % (FOLDER, key)
            if self.host.exists(path):
                knobs.append(Knob(path, RUNNING, sysctl(key), path, self.host.value(path)))
            knobs.append(self._stored(sysctl(key)))
        knobs.append(self._module())
        return Subject(SUBJECT, knobs, conflicts=self.conflicts())

    def _stored(self, item):
        key = "%s %s" % (SYSCTL, item)
        return Knob(key, STORED, item, key, self.sysctl.block(item))

    def _module(self):
        return Knob(MODULES, STORED, MODULE_ITEM, MODULES, self.modules.block(MODULE))

    def legible(self, key, text):
        return not key.startswith(FOLDER + "/") or text is not None

    def marked(self):
        names = {sysctl(name) for name in NAMES}
        found = [self._stored(item) for item in self.sysctl.blocks() if item in names] + [self._module()]
        return [(SUBJECT, knob) for knob in found if knob.now is not None]

    def _cannot(self):
        if not self.wanted:
            return "not_applicable", "no value is asked for"
        if not self.host.exists("/proc/sys/net"):
            return "not_applicable", "net.smc is of Linux; AIX has the tuning smc_r"
        release = kernel.release(self.host) or "of this host"
        if not self.host.exists(FOLDER):
            return "unsupported", (
                "there is no net.smc: the module smc is not loaded (modprobe smc), or the kernel %s does not have its "
                "settings" % release
            )
        missing = [sysctl(name) for name in sorted(self.wanted) if not self.host.exists("%s/%s" % (FOLDER, name))]
        if missing:
            return "unsupported", "the kernel %s has no %s" % (release, ", ".join(missing))
        return None, ""

    def find_conflicts(self):
        found = []
        for name in sorted(self.wanted):
            knob = SystemKnob(sysctl(name), "%s/%s" % (FOLDER, name), _sets(name), SYSCTL)
            found += [dict(other, item=sysctl(name)) for other in self.others(knob)]
        return found

    def want(self, subject):
        subject.wanted = {"state": "present"}
        subject.wanted.update((sysctl(name), value) for name, value in self.wanted.items())
        values = {sysctl(name): value for name, value in self.wanted.items()}
        for knob in subject.knobs:
            if knob.place == RUNNING:
                knob.wanted = values[knob.item]
            elif knob.item in values:
                knob.wanted = "%s = %s" % (knob.item, values[knob.item])
            elif knob.now is None and not self._loads():
                knob.wanted = MODULE

    def _loads(self):
        """Whether the kernel has SMC at boot also without our file."""
        release = kernel.release(self.host) or ""
        builtin = self.host.read("/lib/modules/%s/modules.builtin" % release) or ""
        if any(line.endswith("/smc.ko") for line in builtin.splitlines()):
            return True
        for name in ("modules_load", "modules-load", "rd.modules_load"):
            parameter = command_line(self.host, name)
            if parameter is not None and MODULE in parameter.value.split(","):
                return True
        files = [file for file in effective_files(self.host, "modules-load.d", ".conf") if file != MODULES]
        return any(text == MODULE for file in files for _line, text in numbered_lines(self.host, file))

    def boot(self, subject, stored):
        loads = stored.get(MODULE_ITEM) is not None or self._loads()
        values, lost = {}, []
        for item in sorted(stored):
            text = stored[item]
            if item == MODULE_ITEM:
                continue
            others = [other for other in subject.conflicts if other["item"] == item]
            value, why = at_boot(SUBJECT, item, self.value(None, text) if text else None, others, operator.eq)
            if value is not None and loads:
                values[item] = value
            lost += why if loads or not text else ["%s: nothing loads the module smc before sysctl.d is read" % item]
        return values, lost

    def set(self, subject, knob):
        if knob.place == STORED:
            kept, block = (self.modules, MODULE) if knob.item == MODULE_ITEM else (self.sysctl, knob.item)
            kept.put(block, knob.wanted)
            return
        try:
            self.host.put(knob.key, knob.wanted)
        except HostError as error:
            self.refuse(error)

    def value(self, knob, text):
        return text.split("=")[-1].strip()

    def show(self, knob, text):
        return "absent" if text is None else self.value(knob, text)

    def explain(self, knob, now):
        return "the module smc was unloaded" if now is None else "someone else wrote it"
