# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of tunings that are a table of sysctls and other files of the kernel with whole numbers."""

import os
import re

from .._engine.tuning import RUNNING, InputError
from .._host import kernel
from .._host.drop_ins import DropIn, effective_files, numbered_lines, own_path
from .._machine.other_settings import command_line
from ._system import SystemTuning, stored_line, sysctl_knob, sysctl_path

_MODULE = "module"


def number_in(where, value, limits):
    """The text of a number within (lowest, highest); where: its option. Raises InputError."""
    try:
        number = int(str(value))
    except ValueError as error:
        raise InputError("%s is '%s'; give a whole number" % (where, value)) from error
    if not limits[0] <= number <= limits[1]:
        raise InputError("%s: %d is out of range; use %d to %d" % ((where, number) + limits))
    return str(number)


class SysctlTuning(SystemTuning):
    """Values of the kernel with whole numbers.

    subject: the part that the names of the sysctls have in common, such as net.smc. table: {rest of the name: (lowest,
    highest)} of those in all kernels. header: the first line of the drop-in files. elsewhere: the reason on systems
    other than Linux. A value of defaults needs no file, unless something else on the host sets another one.

    A class with other options than settings has requested(), and paths for values that are not sysctls of the subject.
    stored_as: the name of the stored value in records if there is only one, instead of that of its sysctl.

    module: the kernel module that brings the sysctls, or "". It must be loaded before sysctl.d is read, once at boot.
    module_header: the first line of the file in modules-load.d.
    """

    options = dict(settings=dict(type="dict", default={}))
    table = {}
    header = ""
    elsewhere = "these sysctls exist on Linux only"
    stored_as = ""
    module = ""
    module_header = ""

    def __init__(self, host, params):
        self.paths = self.paths or {name: sysctl_path(name) for name in map(self.full, sorted(self.table))}
        drop_ins = {folder: DropIn(host, self.file(folder), self.header) for folder in ("sysctl.d", "tmpfiles.d")}
        files = {
            self.stored_as or item: (drop_ins["sysctl.d" if path.startswith("/proc/sys/") else "tmpfiles.d"], item)
            for item, path in self.paths.items()
        }
        if self.module:
            files[_MODULE] = (DropIn(host, self.file("modules-load.d"), self.module_header), self.module)
        super().__init__(host, params, files)
        # {item: value}
        self.wanted = self.requested()

    def requested(self):
        """{item: text} of the request, without values that are not asked for. Raises InputError."""
        settings = self.params["settings"] or {}
        for name in settings:
            if name not in self.table:
                import difflib  # noqa: PLC0415

                nearest = sorted(self.table, key=lambda known: -difflib.SequenceMatcher(None, str(name), known).ratio())
                raise InputError("settings: there is no setting '%s'; use %s" % (name, ", ".join(nearest)))
        given = [(name, settings[name]) for name in sorted(settings) if settings[name] is not None]
        return {self.full(name): number_in("settings: %s" % name, value, self.table[name]) for name, value in given}

    @classmethod
    def file(cls, folder):
        """The path of the drop-in file in a folder such as sysctl.d."""
        return own_path(folder, cls.name)

    def full(self, name):
        return "%s.%s" % (self.subject, name)

    def _item(self, knob):
        """The item of paths, or the module, that a running or stored knob is of."""
        return next(iter(self.paths)) if self.stored_as else self.files.get(knob.item, (None, knob.item))[1]

    # observe

    def refusal(self):
        path = sysctl_path(self.subject)
        if self.restoring:
            return None, ""
        if not self.wanted:
            return "not_applicable", "no value is asked for"
        if not self.host.exists(os.path.dirname(path)):
            return "not_applicable", self.elsewhere
        if self.module and not self.host.exists(path):
            return "unsupported", (
                "there is no %s: the module %s is not loaded (modprobe %s), or the kernel %s does not have its settings"
                % (self.subject, self.module, self.module, kernel.release(self.host) or "of this host")
            )
        lacks = self.lacks({name: self.paths[name] for name in self.wanted})
        return ("unsupported", lacks) if lacks else (None, "")

    def observe(self, name):
        subject = super().observe(name)
        if not self.restoring and not self.stored_as:
            subject.knobs = [knob for knob in subject.knobs if self._item(knob) in (*self.wanted, self.module)]
        if self.module:
            subject.knobs.sort(key=lambda knob: (knob.item == _MODULE, knob.item))
        return subject

    def legible(self, key, text):
        return key.startswith("/etc/") or bool(re.match(r"-?[0-9]+\Z", text or ""))

    def find_conflicts(self):
        if self.stored_as:
            return [other for item in self.paths for other in self.others(self.system_knob(item))]
        return [dict(other, item=item) for item in self.wanted for other in self.others(self.system_knob(item))]

    def system_knob(self, item):
        """The SystemKnob of an item, with which other settings of it are found."""
        return sysctl_knob(item, self.file("sysctl.d"))

    # plan

    def want(self, subject):
        subject.wanted = dict(state="present", **self.wanted)
        for knob in subject.knobs:
            item = self._item(knob)
            if knob.item == _MODULE:
                if knob.now is None and not self._module_is_loaded_at_boot():
                    knob.wanted = self.module
            elif knob.place == RUNNING:
                knob.wanted = self.wanted[item]
            elif not self.needless(subject, knob, item, self.wanted[item]):
                knob.wanted = stored_line(item, self.paths[item], self.wanted[item])

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
        values = {self.files[item][1]: stored[item] for item in sorted(stored)}
        if self.module and values.pop(self.module, None) is None and not self._module_is_loaded_at_boot():
            unloaded = "%s: nothing loads the module %s before sysctl.d is read"
            return {}, [unloaded % (item, self.module) for item in values if values[item]]
        return self.boots(subject, values)

    def explain(self, knob, now):
        if now is not None:
            return "someone else wrote it"
        return "the module %s was unloaded" % self.module if self.module else "the kernel's file is gone"
