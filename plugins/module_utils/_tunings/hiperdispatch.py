# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HiperDispatch: whether Linux keeps work away from vertical:low CPUs whose time other LPARs take.

Kernel: arch/s390/kernel/hiperdispatch.c and topology.c, from 6.12. It never switches the polarization; it changes the
capacity that the scheduler sees on vertical:low CPUs, and only while the CPUs are vertical.
"""

import re

from .._engine.tuning import STORED
from .._host import cpu_lists, kernel
from .._machine import hardware
from .._machine.other_settings import SystemKnob, of_system
from . import cpu_polarization
from ._sysctls import SysctlTuning, number_in
from ._system import sysctl_path

KEY = "s390.hiperdispatch"
FILE = sysctl_path(KEY)
FOLDER = hardware.CPUS + "/hiperdispatch"
_NO_CONFIGURATION = "the capture has no configuration of the kernel, so its own value is not known"
_ONLY_VERTICAL = "HiperDispatch acts on vertical CPUs only: apply cpu_polarization with mode vertical first"


class Hiperdispatch(SysctlTuning):
    """s390.hiperdispatch and its thresholds. params: the module's, see plugins/modules/hiperdispatch.py."""

    name = "hiperdispatch"
    subject = KEY
    sources = ("Linux kernel, arch/s390/kernel/hiperdispatch.c",)
    header = "# HiperDispatch, kept by zpower.sap_tuning.hiperdispatch: change it there, not here.\n"
    # by the options; hd_<option> is the kernel's file, which takes an unsigned int
    table = {"steal_threshold": (0, 100), "delay_factor": (1, 2**32 - 1)}
    paths = dict([(KEY, FILE)] + [("hd_" + option, "%s/hd_%s" % (FOLDER, option)) for option in table])
    options = dict(
        enabled=dict(type="bool", default=True), steal_threshold=dict(type="int"), delay_factor=dict(type="int")
    )

    def __init__(self, host, params):
        super().__init__(host, params)
        # _horizontal_at_boot(), as it was when the conflicts were looked for
        self._at_boot = (False, None)

    def requested(self):
        found = {KEY: str(int(self.params["enabled"]))}
        given = [(option, self.params[option]) for option in self.table if self.params[option] is not None]
        return dict(found, **{"hd_" + option: number_in(option, one, self.table[option]) for option, one in given})

    # observe

    def refusal(self):
        if not self.host.exists("/proc/sysinfo"):
            return "not_applicable", "HiperDispatch exists on Linux on Z only"
        if not hardware.has_topology_facility(self.host):
            # a write of 1 would succeed and leave 0
            return "unsupported", cpu_polarization.no_facility(self.host)
        lacks = self.lacks({item: self.paths[item] for item in self.wanted})
        return ("unsupported", lacks + "; Linux has it from 6.12 on") if lacks else (None, "")

    def find_conflicts(self):
        found = super().find_conflicts()
        self._at_boot = self._horizontal_at_boot() if self._is_on() else (False, None)
        horizontal, setting = self._at_boot
        if horizontal and setting:
            effect = "makes the CPUs horizontal, and HiperDispatch acts on vertical ones only"
            found.append(dict(setting, value="horizontal", wins="yes", effect=effect))
        return found

    def system_knob(self, item):
        if item == KEY:
            return super().system_knob(item)
        name = "hiperdispatch/" + item
        pattern = r"""echo\s+["']?(\d+)["']?\s*>\s*\S*%s\b|%s\b["'}]*(?:\s*=+\s*["']?(\d+)\b)?""" % (name, name)
        return SystemKnob(None, self.paths[item], re.compile(pattern), self.file("tmpfiles.d"))

    def _is_on(self):
        return self.wanted[KEY] == "1" and not self.restoring

    def _horizontal_at_boot(self):
        """(whether the CPUs are horizontal after the next boot, the conflict() that sets it, None for the kernel)."""
        knob = SystemKnob(
            cpu_polarization.KEY, cpu_polarization.DISPATCHING, cpu_polarization.SETS_IT, self.file("sysctl.d")
        )
        deciding = [other for other in of_system(self.once, knob) if other["wins"] != "possible"]
        if deciding:
            return deciding[-1]["value"] in ("0", "horizontal"), deciding[-1]
        return kernel.kernel_option(self.host, "CONFIG_SCHED_TOPOLOGY_VERTICAL") not in (None, "y"), None

    def remark(self, subject):
        if not self._is_on():
            return
        states = hardware.online_polarizations(self.host)
        mode = hardware.dispatching(self.host, states.values())
        horizontal, setting = self._at_boot
        if mode == "horizontal":
            subject.notes.append("the CPUs are horizontal now, and %s" % _ONLY_VERTICAL)
        elif horizontal:
            place = "by %s line %s" % (setting["file"], setting["line"]) if setting else "as this kernel boots"
            subject.notes.append("at the next boot the CPUs are horizontal, %s, and %s" % (place, _ONLY_VERTICAL))
        if mode == "vertical" and not {"vertical:high", "vertical:medium"} & set(states.values()):
            subject.remarks.append("no online CPU is entitled (vertical:high, vertical:medium), so it does nothing now")
        elif mode == "vertical":
            low = sorted(cpu for cpu, text in states.items() if text == "vertical:low")
            nothing = "no online CPU is vertical:low, so it has nothing to do now"
            subject.remarks.append("it acts on the vertical:low CPUs " + cpu_lists.format_list(low) if low else nothing)

    # plan

    def want(self, subject):
        super().want(subject)
        for knob in subject.at(STORED):
            right = knob.item == KEY and knob.now is None and self.host.value(FILE) == self.wanted[KEY]
            right = right and not self.contradicted(subject, KEY, self.wanted[KEY])
            if self.host.capture and right and self.default(KEY) is None:
                # the stored value may be needless, which only the kernel's configuration tells
                knob.wanted, subject.unknown[knob.key] = None, _NO_CONFIGURATION

    def contradicted(self, subject, item, value):
        # by a setting of its own, not by one that makes the CPUs horizontal
        return any(other["value"] not in (None, value) for other in subject.conflicts if other.get("item") == item)

    def default(self, item):
        option = kernel.kernel_option(self.host, "CONFIG_HIPERDISPATCH_ON") if item == KEY else None
        return None if option is None else str(int(option == "y"))

    # words

    def show(self, knob, text):
        if text is None and knob.place == STORED:
            return "not stored"
        value = super().show(knob, text)
        return {"0": "0 (off)", "1": "1 (on)"}.get(value, value) if knob.item == KEY else value
