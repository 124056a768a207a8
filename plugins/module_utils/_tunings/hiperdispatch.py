# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HiperDispatch: whether Linux keeps work away from vertical:low CPUs whose time other LPARs take.

Kernel: arch/s390/kernel/hiperdispatch.c and topology.c, from 6.12. It never switches the polarization; it changes the
capacity that the scheduler sees on vertical:low CPUs, and only while the CPUs are vertical.
"""

import operator
import re

from .._engine.tuning import RUNNING, STORED, InputError, Knob
from .._host import cpu_lists, kernel
from .._host.drop_ins import DropIn
from .._machine import hardware
from .._machine.other_settings import SystemKnob, at_boot, of_system
from . import cpu_polarization
from ._about import SOURCES
from ._system import SystemTuning, sysctl_knob, sysctl_path

KEY = "s390.hiperdispatch"
FILE = sysctl_path(KEY)
FOLDER = hardware.CPUS + "/hiperdispatch"
SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-hiperdispatch.conf"
TMPFILES = "/etc/tmpfiles.d/91-zpower-sap-tuning-hiperdispatch.conf"
HEADER = "# HiperDispatch, kept by zpower.sap_tuning.hiperdispatch: change it there, not here.\n"
# {option: (lowest, highest)}; hd_<option> is the kernel's file. It reads an unsigned int.
THRESHOLDS = {"steal_threshold": (0, 100), "delay_factor": (1, 2**32 - 1)}
PATHS = {KEY: FILE}
PATHS.update(("hd_" + option, "%s/hd_%s" % (FOLDER, option)) for option in THRESHOLDS)
_ONLY_VERTICAL = "HiperDispatch acts on vertical CPUs only: apply cpu_polarization with mode vertical before"


class Hiperdispatch(SystemTuning):
    """s390.hiperdispatch and its thresholds. params: the module's, see plugins/modules/hiperdispatch.py."""

    name = "hiperdispatch"
    subject = KEY
    sources = SOURCES["hiperdispatch"]
    options = dict(
        enabled=dict(type="bool", default=True),
        steal_threshold=dict(type="int"),
        delay_factor=dict(type="int"),
    )

    def __init__(self, host, params):
        drop_ins = {KEY: DropIn(host, SYSCTL, HEADER)}
        thresholds = DropIn(host, TMPFILES, HEADER)
        super().__init__(host, params, {item: (drop_ins.get(item, thresholds), item) for item in PATHS})
        # _horizontal_at_boot(), as it was when the conflicts were looked for
        self._at_boot = (False, None)
        # {item: value}
        self.wanted = {KEY: str(int(params["enabled"]))}
        for option, (lowest, highest) in THRESHOLDS.items():
            value = params[option]
            if value is None:
                continue
            if not lowest <= value <= highest:
                raise InputError("%s: %d is out of range; use %d to %d" % (option, value, lowest, highest))
            self.wanted["hd_" + option] = str(value)

    # observe

    def refusal(self):
        if not self.host.exists("/proc/sysinfo"):
            return "not_applicable", "HiperDispatch exists on Linux on Z only"
        if not hardware.has_topology_facility(self.host):
            # a write of 1 would succeed and leave 0
            return "unsupported", cpu_polarization.no_facility(self.host)
        missing = [item for item in self.wanted if not self.host.exists(PATHS[item])]
        if missing:
            release = kernel.release(self.host) or "of this host"
            return "unsupported", "the kernel %s has no %s; Linux has it from 6.12 on" % (release, ", ".join(missing))
        return None, ""

    def running_knobs(self):
        paths = [(item, path) for item, path in PATHS.items() if self.host.exists(path)]
        return [Knob(path, RUNNING, item, path, self.host.value(path)) for item, path in paths]

    def observe(self, name):
        subject = super().observe(name)
        if not self.restoring:
            subject.knobs = [knob for knob in subject.knobs if knob.item in self.wanted]
        return subject

    def legible(self, key, text):
        return key.startswith("/etc/") or bool(text and text.isdigit())

    def find_conflicts(self):
        found = [dict(other, item=item) for item in self.wanted for other in self.others(self._knob(item))]
        self._at_boot = self._horizontal_at_boot() if self._is_on() else (False, None)
        horizontal, setting = self._at_boot
        if horizontal and setting:
            effect = "makes the CPUs horizontal, and HiperDispatch acts on vertical ones only"
            found.append(dict(setting, value="horizontal", wins="yes", effect=effect))
        return found

    @staticmethod
    def _knob(item):
        if item == KEY:
            return sysctl_knob(KEY, SYSCTL)
        name = "hiperdispatch/" + item
        pattern = r"""echo\s+["']?(\d+)["']?\s*>\s*\S*%s\b|%s\b["'}]*(?:\s*=+\s*["']?(\d+)\b)?""" % (name, name)
        return SystemKnob(None, PATHS[item], re.compile(pattern), TMPFILES)

    def _is_on(self):
        return self.wanted[KEY] == "1" and not self.restoring

    def _horizontal_at_boot(self):
        """(whether the CPUs are horizontal after the next boot, the conflict() that sets it, None for the kernel)."""
        knob = SystemKnob(cpu_polarization.KEY, cpu_polarization.DISPATCHING, cpu_polarization.SETS_IT, SYSCTL)
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
        if mode == "vertical":
            low = sorted(cpu for cpu, text in states.items() if text == "vertical:low")
            subject.remarks.append(
                "it acts on the vertical:low CPUs %s" % cpu_lists.format_list(low)
                if low
                else "no online CPU is vertical:low, so it has nothing to do now"
            )

    # plan

    def want(self, subject):
        subject.wanted = dict(state="present", **self.wanted)
        for knob in subject.knobs:
            value = self.wanted[knob.item]
            if knob.place == RUNNING:
                knob.wanted = value
            elif knob.item != KEY:
                knob.wanted = "w %s - - - - %s" % (PATHS[knob.item], value)
            elif knob.now is not None or self._contradicted(subject, value) or self._kernel_default() != value:
                knob.wanted = "%s = %s" % (KEY, value)
                self._doubt(subject, knob, value)

    @staticmethod
    def _contradicted(subject, value):
        others = [other for other in subject.conflicts if other.get("item") == KEY]
        return any(other["value"] not in (None, value) for other in others)

    def _doubt(self, subject, knob, value):
        """The stored value is unknown if it may be needless, which only the kernel's configuration tells."""
        right = self.host.value(FILE) == value and not self._contradicted(subject, value)
        if self.host.capture and knob.now is None and right and self._kernel_default() is None:
            knob.wanted = None
            subject.unknown[knob.key] = "the capture has no configuration of the kernel, so its own value is not known"

    def _kernel_default(self):
        """The kernel's own value at boot; None if its configuration cannot be read."""
        option = kernel.kernel_option(self.host, "CONFIG_HIPERDISPATCH_ON")
        return None if option is None else str(int(option == "y"))

    def boot(self, subject, stored):
        values, lost = {}, []
        for item in sorted(stored):
            others = [other for other in subject.conflicts if other.get("item") == item]
            text = self.value(None, stored[item]) if stored[item] else None
            value, why = at_boot(subject.name, item, text, others, operator.eq)
            if value is None and item == KEY:
                value = self._kernel_default()
            if value is not None:
                values[item] = value
            lost += why
        return values, lost

    # words

    def value(self, knob, text):
        return re.split(r"[\s=]+", text)[-1]

    def show(self, knob, text):
        if text is None and knob.place == STORED:
            return "not stored"
        value = super().show(knob, text)
        return {"0": "0 (off)", "1": "1 (on)"}.get(value, value) if knob.item == KEY else value

    def explain(self, knob, now):
        return "the kernel's file is gone" if now is None else "someone else wrote it"
