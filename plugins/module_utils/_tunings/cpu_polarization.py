# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU polarization of an LPAR: horizontal or vertical dispatching mode.

Kernel: arch/s390/kernel/topology.c (dispatching, s390.polarization), hiperdispatch.c. After a switch every CPU shows
"unknown" until the machine has reported its new topology.
"""

import errno
import re
import time

from .._engine.records import CRM, STUDY
from .._engine.tuning import RUNNING, InputError, Knob
from .._host import cpu_lists, kernel
from .._host.drop_ins import DropIn
from .._host.host import HostError
from .._machine import entitlement, hardware
from .._machine.other_settings import SystemKnob
from .._machine.services import LEAVES_VERTICAL_ALONE, hotplug_conflicts
from ._system import SystemTuning, stored_line

SUBJECT = "dispatching"
DISPATCHING = "/sys/devices/system/cpu/dispatching"
KEY = "s390.polarization"
FILE = "/proc/sys/s390/polarization"
SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-cpu-polarization.conf"
TMPFILES = "/etc/tmpfiles.d/91-zpower-sap-tuning-cpu-polarization.conf"
HEADER = "# CPU polarization, kept by zpower.sap_tuning.cpu_polarization: change it there, not here.\n"
SETS_IT = re.compile(
    r"""echo\s+["']?([01])["']?\s*>\s*\S*(?:cpu/dispatching|s390/polarization)"""
    r"""|chcpu\b(?:(?!chcpu).)*?(?:-p|--dispatching)[\s=]*["']?(vertical|horizontal)"""
    r"""|(?:s390[./]polarization|cpu/dispatching|ATTR\{dispatching\})\b["']?(?:\s*[=:]\s*["']?([01])\b)?"""
)
NO_FACILITY = "no CPU topology facility: %s"
# QEMU, docs/system/s390x/cpu-topology.rst
GUESTS = {
    "zvm": "this is a guest of z/VM, which offers none",
    "kvm": "this is a guest of KVM without it: QEMU from 8.2 gives it to CPU model host, to others with ctop=on",
    "other": "this is a guest",
}
HIPERDISPATCH = "/proc/sys/s390/hiperdispatch"
# IBM Documentation, Linux on Z and LinuxONE, CPU polarization, edition for Linux 6.10
MIXED = (
    "this kernel has no HiperDispatch and this LPAR shares CPUs: IBM says that a mix of vertical:high, medium and low "
    'ones "can result in significant performance degradation" there; use CPUs of one type only, set the others offline '
    "and deconfigure them (chcpu -d, then chcpu -g), or stay horizontal"
)
# The kernel's default of hd_steal_threshold by release: arch/s390/kernel/hiperdispatch.c of 6.12.117, 7.2.13 and 7.3.4.
STEAL_THRESHOLDS = {"6.12": "30", "7.2": "10", "7.3": "10"}
_LOW = (
    "this LPAR has shared CPUs: vertical:low ones get only the time that other LPARs leave; if they are needed, give "
    "the LPAR more weight or fewer CPUs"
)
_POLL_S = 0.1


def no_facility(host):
    """The reason on a machine that cannot be polarized vertically."""
    return NO_FACILITY % GUESTS.get(hardware.virtualization(host), "the machine does not offer it")


class CpuPolarization(SystemTuning):
    """The dispatching mode of one host. params: the module's, see plugins/modules/cpu_polarization.py."""

    name = "cpu_polarization"
    subject = SUBJECT
    words = ("horizontal", "vertical")
    sources = (STUDY % "5.6", CRM % "4.2.1", "Linux kernel, arch/s390/kernel/topology.c")
    options = dict(
        mode=dict(type="str", choices=["vertical", "horizontal"], default="vertical"),
        wait_timeout=dict(type="int", default=75),
    )

    def __init__(self, host, params):
        paths = (("sysctl.d", SYSCTL), ("tmpfiles.d", TMPFILES))
        super().__init__(host, params, {item: (DropIn(host, path, HEADER), SUBJECT) for item, path in paths})
        if not 1 <= params["wait_timeout"] <= 3600:
            raise InputError("wait_timeout: %d is out of range; use 1 to 3600 seconds" % params["wait_timeout"])
        self.has_sysctl = host.exists(FILE)
        self.place = "sysctl.d" if self.has_sysctl else "tmpfiles.d"

    # observe

    def select(self):
        if self.refusal()[0] is None:
            self._wait(lambda text: text != "unknown")
        return super().select()

    def running_knobs(self):
        return [Knob(DISPATCHING, RUNNING, SUBJECT, DISPATCHING, self._running())]

    def stored_knobs(self):
        # a file that an earlier kernel needed is removed
        return [knob for knob in super().stored_knobs() if knob.item == self.place or knob.now is not None]

    def legible(self, key, text):
        return key != DISPATCHING or text in self.words

    def find_conflicts(self):
        own = SYSCTL if self.has_sysctl else TMPFILES
        found = self.others(SystemKnob(KEY if self.has_sysctl else None, DISPATCHING, SETS_IT, own))
        effect = "takes CPUs offline, also vertical ones"
        return found + hotplug_conflicts(self.once, effect, LEAVES_VERTICAL_ALONE)

    def refusal(self):
        if not self.host.exists("/proc/sysinfo"):
            return "not_applicable", "CPU polarization exists on Linux on Z only"
        if not hardware.has_topology_facility(self.host):
            return "unsupported", no_facility(self.host)
        if not self.host.exists(DISPATCHING):
            return "unsupported", "this kernel was built without CPU topology (CONFIG_SCHED_TOPOLOGY)"
        return None, ""

    def _online(self):
        return hardware.online_polarizations(self.host)

    def _running(self):
        return hardware.dispatching(self.host, self._online().values())

    def remark(self, subject):
        states, shared = self._online(), hardware.shares_cores(self.host)
        levels, mode = entitlement.by_level(states), hardware.dispatching(self.host, states.values())
        low = levels.get("low", [])
        if self.params["mode"] == "vertical":
            # dedicated CPUs all become high
            subject.remarks += entitlement.steering_remarks(self.host, low, mode == "horizontal" and shared)
            known = self.host.exists(HIPERDISPATCH) or (self.host.capture and self.host.lacking(HIPERDISPATCH))
            if not known and shared and (mode == "horizontal" or len(levels) > 1):
                subject.remarks.append(MIXED)
        if "unknown" in levels:
            unknown = cpu_lists.format_list(levels["unknown"])
            subject.notes.append("CPU %s does not show its polarization yet" % unknown)
        split = ", ".join("%d %s" % (len(levels[level]), level) for level in entitlement.LEVELS if level in levels)
        if not split:
            on = self.host.value(HIPERDISPATCH) == "1"
            if on and set(states.values()) == {"horizontal"}:
                subject.remarks.append("s390.hiperdispatch is 1, and does nothing while the CPUs are horizontal")
            return
        text = entitlement.entitled_text(self.host, states)
        subject.remarks.append("entitlement of the %d online CPUs: %s%s" % (len(states), split, text))
        subject.remarks += ([_LOW] if shared and low else []) + self._hiperdispatch()

    def _hiperdispatch(self):
        """Remarks on its settings while the CPUs are vertical."""
        if self.host.value(HIPERDISPATCH) == "0":
            return ["s390.hiperdispatch is 0: the scheduler does not keep work away from vertical:low CPUs"]
        threshold = STEAL_THRESHOLDS.get(".".join((kernel.release(self.host) or "").split(".")[:2]))
        known = [("hd_steal_threshold", threshold)] if threshold else []
        found = [
            (one, self.host.value(hardware.CPUS + "/hiperdispatch/" + one), default)
            for one, default in known + [("hd_delay_factor", "4")]
        ]
        said = "%s is %s (the kernel's default is %s)"
        return [said % told for told in found if told[1] not in (None, told[2])]

    # plan

    def want(self, subject):
        mode = self.params["mode"]
        subject.wanted = {"state": "present", "mode": mode}
        for knob in subject.knobs:
            if knob.place == RUNNING:
                knob.wanted = mode
            elif knob.item != self.place:
                knob.wanted = None
            elif not self.needless(subject, knob, SUBJECT, mode):
                path = FILE if self.has_sysctl else DISPATCHING
                knob.wanted = stored_line(KEY, path, self.words.index(mode))

    def default(self, item):
        if not self.has_sysctl:
            return "horizontal"  # CONFIG_SCHED_TOPOLOGY_VERTICAL came with the sysctl
        option = kernel.kernel_option(self.host, "CONFIG_SCHED_TOPOLOGY_VERTICAL")
        return None if option is None else "vertical" if option == "y" else "horizontal"

    def boot(self, subject, stored):
        return self.boots(subject, {SUBJECT: stored.get(self.place)})

    # act

    def set_running(self, knob):
        mode = self.word(self.host.value(DISPATCHING))
        if mode == knob.wanted and self._running() != knob.wanted:
            # a write would succeed and do nothing
            raise HostError(
                "this kernel takes the LPAR for %s already, although its CPUs show %s, and will not switch it: kernels "
                "before 6.14 do not notice the mode in which they were started; load the LPAR again, or use a newer "
                "kernel" % (knob.wanted, self._running())
            )
        self._switch(knob.wanted)
        odd = self._wait(lambda text: text.split(":")[0] == knob.wanted)
        if odd:
            error = "%d s after the switch to %s CPU %s still shows %s; a longer wait_timeout may help"
            error %= (self.params["wait_timeout"], knob.wanted, cpu_lists.format_list(odd), self._online().get(odd[0]))
            try:
                self._switch(knob.now)
            except HostError as refused:
                error += "; it could not be switched back: %s" % refused
            raise HostError(error)

    def _switch(self, mode):
        try:
            self.write(FILE if self.has_sysctl else DISPATCHING, str(self.words.index(mode)), no_facility(self.host))
        except HostError as error:
            # old kernels answer EBUSY if the machine is in this mode already
            if error.errno != errno.EBUSY or self._running() != mode:
                raise

    def _wait(self, fits):
        """Wait until fits(polarization) of every online CPU; returns the CPUs for which wait_timeout was too short."""
        deadline = time.monotonic() + self.params["wait_timeout"]
        while True:
            odd = sorted(cpu for cpu, text in self._online().items() if not fits(text))
            if not odd or time.monotonic() > deadline:
                return odd
            time.sleep(_POLL_S)

    # words

    def value(self, knob, text):
        return self.word(super().value(knob, text))

    def explain(self, knob, now):
        return "the kernel switched back" if knob.place == RUNNING else ""
