# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of tunings that are a table of sysctls, whose values the option settings gives."""

import difflib
import operator
import os

from .._engine.tuning import RUNNING, InputError, Knob
from .._host import kernel
from .._host.drop_ins import DropIn, effective_files, numbered_lines
from .._machine.other_settings import at_boot, command_line
from ._system import SystemTuning, sysctl_knob, sysctl_path

_MODULE = "module"


def parse_settings(settings, table):
    """{name: text} of the values that are not null; table: {name: (lowest, highest)}. Raises InputError."""
    found = {}
    for name, value in settings.items():
        if name not in table:
            nearest = sorted(table, key=lambda known: -difflib.SequenceMatcher(None, str(name), known).ratio())
            raise InputError("settings: there is no setting '%s'; use %s" % (name, ", ".join(nearest)))
        if value is None:
            continue
        try:
            number = int(str(value))
        except ValueError as error:
            raise InputError("settings: %s is '%s'; give a whole number" % (name, value)) from error
        lowest, highest = table[name]
        if not lowest <= number <= highest:
            raise InputError("settings: %s: %d is out of range; use %d to %d" % (name, number, lowest, highest))
        found[name] = str(number)
    return found


class SysctlTuning(SystemTuning):
    """Sysctls with whole numbers.

    subject: the part that their names have in common, such as net.smc. table: {rest of the name: (lowest, highest)} of
    the sysctls in all kernels. file: the name of the drop-in files. header: the first line of the one in sysctl.d.
    elsewhere: the reason on other systems than Linux.

    module: the kernel module that brings the sysctls, or "". It must be loaded before sysctl.d is read, once at boot.
    module_header: the first line of the file in modules-load.d.
    """

    table = {}
    header = ""
    elsewhere = "these sysctls exist on Linux only"
    module = ""
    module_header = ""

    def __init__(self, host, params):
        self.path = self._file("sysctl.d")
        sysctls = DropIn(host, self.path, self.header)
        files = {self.full(name): (sysctls, self.full(name)) for name in sorted(self.table)}
        if self.module:
            files[_MODULE] = (DropIn(host, self._file("modules-load.d"), self.module_header), self.module)
        super().__init__(host, params, files)
        settings = parse_settings(params["settings"] or {}, self.table)
        # {sysctl: value}
        self.wanted = {self.full(name): settings[name] for name in sorted(settings)}

    def _file(self, folder):
        return "/etc/%s/91-zpower-sap-tuning-%s.conf" % (folder, self.name.replace("_", "-"))

    def full(self, name):
        return "%s.%s" % (self.subject, name)

    # observe

    def refusal(self):
        path = sysctl_path(self.subject)
        if self.restoring:
            return None, ""
        if not self.wanted:
            return "not_applicable", "no value is asked for"
        if not self.host.exists(os.path.dirname(path)):
            return "not_applicable", self.elsewhere
        release = kernel.release(self.host) or "of this host"
        if self.module and not self.host.exists(path):
            return "unsupported", (
                "there is no %s: the module %s is not loaded (modprobe %s), or the kernel %s does not have its settings"
                % (self.subject, self.module, self.module, release)
            )
        missing = [name for name in self.wanted if not self.host.exists(sysctl_path(name))]
        return ("unsupported", "the kernel %s has no %s" % (release, ", ".join(missing))) if missing else (None, "")

    def running_knobs(self):
        names = [self.full(name) for name in self.table]
        paths = [(name, sysctl_path(name)) for name in names if self.host.exists(sysctl_path(name))]
        return [Knob(path, RUNNING, name, path, self.host.value(path)) for name, path in paths]

    def observe(self, name):
        subject = super().observe(name)
        if not self.restoring:
            subject.knobs = [knob for knob in subject.knobs if knob.item in self.wanted or knob.item == _MODULE]
        subject.knobs.sort(key=lambda knob: (knob.item == _MODULE, knob.item))
        return subject

    def legible(self, key, text):
        return key.startswith("/etc/") or text is not None

    def find_conflicts(self):
        knobs = [sysctl_knob(name, self.path) for name in self.wanted]
        return [dict(other, item=knob.sysctl) for knob in knobs for other in self.others(knob)]

    # plan

    def want(self, subject):
        subject.wanted = dict(state="present", **self.wanted)
        for knob in subject.knobs:
            if knob.place == RUNNING:
                knob.wanted = self.wanted[knob.item]
            elif knob.item in self.wanted:
                knob.wanted = "%s = %s" % (knob.item, self.wanted[knob.item])
            elif knob.now is None and not self._module_is_loaded_at_boot():
                knob.wanted = self.module

    def _module_is_loaded_at_boot(self):
        """Whether the kernel has the module before sysctl.d is read, even without our file."""
        if kernel.has_builtin(self.host, self.module):
            return True
        for name in ("modules_load", "modules-load", "rd.modules_load"):
            parameter = command_line(self.host, name)
            if parameter is not None and self.module in parameter.value.split(","):
                return True
        own = self.files[_MODULE][0].path
        files = [file for file in effective_files(self.host, "modules-load.d", ".conf") if file != own]
        return any(text == self.module for file in files for _line, text in numbered_lines(self.host, file))

    def boot(self, subject, stored):
        loaded = not self.module or stored.get(_MODULE) is not None or self._module_is_loaded_at_boot()
        values, lost = {}, []
        for item in sorted(set(stored) - {_MODULE}):
            text = stored[item]
            others = [other for other in subject.conflicts if other["item"] == item]
            value, why = at_boot(subject.name, item, self.value(None, text) if text else None, others, operator.eq)
            if value is not None and loaded:
                values[item] = value
            unloaded = "%s: nothing loads the module %s before sysctl.d is read" % (item, self.module)
            lost += why if loaded or not text else [unloaded]
        return values, lost

    def explain(self, knob, now):
        return "the module %s was unloaded" % self.module if now is None and self.module else "someone else wrote it"
