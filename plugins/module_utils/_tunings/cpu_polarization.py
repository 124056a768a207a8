# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU polarization of an LPAR: horizontal or vertical dispatching mode.

Kernel: arch/s390/kernel/topology.c (dispatching, s390.polarization), hiperdispatch.c. After a switch every CPU shows
"unknown" until the machine has reported its new topology.
"""

import errno
import re
import time

from .._engine.tuning import RUNNING, STORED, InputError, Knob, Subject
from .._host import cpu_lists, kernel
from .._host.drop_ins import DropIn
from .._host.host import HostError
from .._machine import hardware
from .._machine.other_settings import SystemKnob
from ._cpuplugd import LEAVES_VERTICAL_ALONE, hotplug_conflicts
from ._system import SystemTuning

SUBJECT = "dispatching"
DISPATCHING = "/sys/devices/system/cpu/dispatching"
KEY = "s390.polarization"
FILE = "/proc/sys/s390/polarization"
SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-cpu-polarization.conf"
TMPFILES = "/etc/tmpfiles.d/91-zpower-sap-tuning-cpu-polarization.conf"
HEADER = "# CPU polarization, kept by zpower.sap_tuning.cpu_polarization: change it there, not here.\n"
SETS_IT = re.compile(
    r"""echo\s+["']?([01])["']?\s*>\s*\S*(?:cpu/dispatching|s390/polarization)"""
    r"""|chcpu\b.*?(?:-p|--dispatching)[\s=]*["']?(vertical|horizontal)"""
    r"""|(?:s390[./]polarization|cpu/dispatching|ATTR\{dispatching\})\b["']?(?:\s*[=:]\s*["']?([01])\b)?"""
)
NO_FACILITY = "no CPU topology facility: %s, and only an LPAR can be polarized vertically"
GUESTS = {"zvm": "this is a guest of z/VM", "kvm": "this is a guest of KVM", "other": "this is a guest"}
LEVELS = ("high", "medium", "low")
_POLL_S = 0.1


class CpuPolarization(SystemTuning):
    """The dispatching mode of one host. params: the module's, see plugins/modules/cpu_polarization.py."""

    name = "cpu_polarization"
    subject = SUBJECT
    words = ("horizontal", "vertical")
    sources = (
        "Performance Evaluation of SAP Application Servers on Z (IBM, v1.02, 2018-07-16), 5.6",
        "SAP CRM 7.0 on IBM Z (IBM, v1.00, 2019-03-01), 4.2.1",
        "Linux kernel, arch/s390/kernel/topology.c",
    )

    def __init__(self, host, params):
        super().__init__(host, params)
        if not 1 <= params["wait_timeout"] <= 3600:
            raise InputError("wait_timeout: %d is out of range; use 1 to 3600 seconds" % params["wait_timeout"])
        self.sysctl = DropIn(host, SYSCTL, HEADER)
        self.tmpfiles = DropIn(host, TMPFILES, HEADER)
        self.drop_ins = (self.sysctl, self.tmpfiles)
        self.has_sysctl = host.exists(FILE)

    # observe

    def select(self):
        if self._cannot()[0] is None:
            self._wait(lambda text: text != "unknown")
        return super().select()

    def observe(self, name):
        verdict, reason = self._cannot()
        if verdict is not None and not self.restoring:
            return Subject(SUBJECT, verdict=verdict, reason=reason)
        knobs = [] if verdict else [Knob(DISPATCHING, RUNNING, SUBJECT, DISPATCHING, self._running())]
        for item, drop_in, active in (
            ("sysctl.d", self.sysctl, self.has_sysctl),
            ("tmpfiles.d", self.tmpfiles, not self.has_sysctl),
        ):
            stored = self._stored(item, drop_in)
            # one that an earlier kernel needed is taken away
            if active or stored.now is not None:
                knobs.append(stored)
        subject = Subject(SUBJECT, knobs, conflicts=self.conflicts())
        if verdict is None:
            self._remark(subject)
        return subject

    @staticmethod
    def _stored(item, drop_in):
        return Knob(drop_in.path, STORED, item, drop_in.path, drop_in.block(SUBJECT))

    def legible(self, key, text):
        return key != DISPATCHING or text in self.words

    def marked(self):
        found = [self._stored("sysctl.d", self.sysctl), self._stored("tmpfiles.d", self.tmpfiles)]
        return [(SUBJECT, knob) for knob in found if knob.now is not None]

    def find_conflicts(self):
        own = SYSCTL if self.has_sysctl else TMPFILES
        found = self.others(SystemKnob(KEY if self.has_sysctl else None, DISPATCHING, SETS_IT, own))
        effect = "takes CPUs offline, also vertical ones"
        return found + hotplug_conflicts(self.host, effect, LEAVES_VERTICAL_ALONE)

    def _cannot(self):
        if not self.host.exists("/proc/sysinfo"):
            return "not_applicable", "CPU polarization exists on Linux on Z only"
        if not self.host.exists(DISPATCHING):
            return "unsupported", "this kernel was built without CPU topology (CONFIG_SCHED_TOPOLOGY)"
        if not hardware.has_topology_facility(self.host):
            return "unsupported", self._no_facility()
        return None, ""

    def _no_facility(self):
        return NO_FACILITY % GUESTS.get(hardware.virtualization(self.host), "the machine does not offer it")

    def _online(self):
        """{online CPU: polarization}."""
        online = set(cpu_lists.online(self.host))
        return {cpu: text for cpu, text in hardware.polarizations(self.host).items() if cpu in online}

    def _running(self):
        return hardware.dispatching(self.host, self._online().values())

    def _remark(self, subject):
        states = self._online()
        unknown = sorted(cpu for cpu, text in states.items() if text == "unknown")
        if unknown:
            subject.notes.append("CPU %s does not show its polarization yet" % cpu_lists.format_list(unknown))
        counts = [(level, sum(1 for text in states.values() if text == "vertical:" + level)) for level in LEVELS]
        split = ", ".join("%d %s" % (count, level) for level, count in counts if count)
        if not split:
            return
        subject.remarks.append("entitlement of the %d online CPUs: %s" % (len(states), split))
        found = hardware.sysinfo(self.host)
        shared = bool(found and found.lpar and found.lpar.cpus.get("Shared"))
        if shared and dict(counts)["low"]:
            subject.remarks.append(
                "this LPAR has shared CPUs: vertical:low ones get only the time that other LPARs leave; give the LPAR "
                "more weight or fewer CPUs where they are needed"
            )
        subject.remarks += self._hiperdispatch()

    def _hiperdispatch(self):
        """What its settings mean while the CPUs are vertical."""
        if self.host.value("/proc/sys/s390/hiperdispatch") == "0":
            return ["s390.hiperdispatch is 0: the scheduler does not keep work away from vertical:low CPUs"]
        folder = hardware.CPUS + "/hiperdispatch"
        found = []
        for name, default in (("hd_steal_threshold", "30"), ("hd_delay_factor", "4")):
            value = self.host.value("%s/%s" % (folder, name))
            if value not in (None, default):
                found.append("%s is %s (the kernel's default is %s)" % (name, value, default))
        return found

    # plan

    def want(self, subject):
        mode = self.params["mode"]
        subject.wanted = {"state": "present", "mode": mode}
        for knob in subject.knobs:
            if knob.place == RUNNING:
                knob.wanted = mode
            elif knob.item != ("sysctl.d" if self.has_sysctl else "tmpfiles.d"):
                knob.wanted = None
            elif not self.needless(subject, knob, mode, self._kernel_default()):
                knob.wanted = self._line(mode)

    def _line(self, mode):
        digit = self.words.index(mode)
        return "%s = %d" % (KEY, digit) if self.has_sysctl else "w %s - - - - %d" % (DISPATCHING, digit)

    def _kernel_default(self):
        """The mode in which the kernel boots by itself; None if its configuration cannot be read."""
        if not self.has_sysctl:
            return "horizontal"  # CONFIG_SCHED_TOPOLOGY_VERTICAL came with the sysctl
        option = kernel.kernel_option(self.host, "CONFIG_SCHED_TOPOLOGY_VERTICAL")
        return None if option is None else "vertical" if option == "y" else "horizontal"

    def boot(self, subject, stored):
        text = stored.get("sysctl.d" if self.has_sysctl else "tmpfiles.d")
        return self.boots(subject, self.value(None, text) if text else None, self._kernel_default())

    # act

    def set(self, subject, knob):
        if knob.place == STORED:
            (self.sysctl if knob.item == "sysctl.d" else self.tmpfiles).put(SUBJECT, knob.wanted)
            return
        told = self.word(self.host.value(DISPATCHING))
        if told == knob.wanted and self._running() != knob.wanted:
            # the kernel would answer a write with success and do nothing
            raise HostError(
                "this kernel takes the LPAR for %s already, although its CPUs show %s, and will not switch it: kernels "
                "before 6.14 do not notice the mode that they were started in; load the LPAR anew, or use a newer "
                "kernel" % (knob.wanted, self._running())
            )
        self._write(knob.wanted)
        odd = self._wait(lambda text: text.split(":")[0] == knob.wanted)
        if odd:
            error = "%d s after the switch to %s CPU %s still shows %s; a longer wait_timeout may help" % (
                self.params["wait_timeout"],
                knob.wanted,
                cpu_lists.format_list(odd),
                self._online().get(odd[0]),
            )
            try:
                self._write(knob.now)
            except HostError as refused:
                error += "; it could not be switched back: %s" % refused
            raise HostError(error)

    def _write(self, mode):
        try:
            self.host.put(FILE if self.has_sysctl else DISPATCHING, str(self.words.index(mode)))
        except HostError as error:
            # old kernels answer so where the machine is in this mode already
            if error.errno != errno.EBUSY or self._running() != mode:
                self.refuse(error, self._no_facility())

    def _wait(self, fits):
        """Wait until fits(polarization) of every online CPU; the CPUs of which it was not so within wait_timeout."""
        deadline = time.monotonic() + self.params["wait_timeout"]
        while True:
            odd = sorted(cpu for cpu, text in self._online().items() if not fits(text))
            if not odd or time.monotonic() > deadline:
                return odd
            time.sleep(_POLL_S)

    # words

    def value(self, knob, text):
        return self.word(re.split(r"[\s=]+", text)[-1])

    def show(self, knob, text):
        return "absent" if text is None else self.value(knob, text)

    def explain(self, knob, now):
        return "the kernel switched back" if knob.place == RUNNING else ""
