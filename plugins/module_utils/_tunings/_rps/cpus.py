# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CPUs of an RPS request: all, entitled or a list, and of these every n-th CPU or core."""

from ..._engine.tuning import InputError
from ..._host import cpu_lists
from ..._host.host import HostError
from ..._machine import entitlement, hardware

UNITS = ("cpu", "core")
_ENTITLED = ("high", "medium")
_HELD = (
    "the mask holds the vertical:low CPUs %s, which get only the time that other LPARs leave; cpus: entitled leaves "
    "them out"
)
_OFFLINE = (
    "cpus: CPU %s is offline, and the kernel would silently leave it out of the mask; bring it online first or leave "
    "it out (online: %s)"
)


class Cpus:
    """The CPUs of one host. params: those of the module; it uses cpus, every and unit."""

    def __init__(self, host, params):
        self._host = host
        self._params = params
        self.online = cpu_lists.online(host)
        self._states = hardware.online_polarizations(host)
        self._levels = entitlement.by_level(self._states)

    def wanted_mask(self):
        """The mask of the request.

        Raises InputError for CPUs that are missing or offline, HostError if their entitlement is not known yet.
        CPUs and cores are taken by number, not by rank: if one CPU goes offline, the rest of the mask stays the same.
        """
        cpus, every, unit = (self._params[name] for name in ("cpus", "every", "unit"))
        chosen = {"all": lambda: self.online, "entitled": self._entitled}.get(cpus, self._listed)()
        numbers = core_numbers(self._host, self.online) if unit == "core" else {}
        mask = cpu_lists.mask_of(cpu for cpu in chosen if numbers.get(cpu, cpu) % every == 0)
        if not mask:
            said = "cpus: '%s' with every: %d leaves no CPU (online: %s); state: off switches RPS off"
            raise InputError(said % (cpus, every, cpu_lists.format_list(self.online)))
        return mask

    def remarks(self, mask):
        """Sentences on the entitlement of the CPUs of a mask, and on what cpus: entitled means on this host now."""
        low = [cpu for cpu in self._levels.get("low", ()) if mask >> cpu & 1]
        sentences = [_HELD % cpu_lists.format_list(low)] if low else []
        if self._params["cpus"] != "entitled" or self._params["state"] != "present":
            return sentences
        levels = [level for level in entitlement.LEVELS if level in self._levels]
        split = ", ".join("%s %s" % (level, cpu_lists.format_list(self._levels[level])) for level in levels)
        if not split:
            return sentences + ["no CPU is polarized vertically, so entitled takes all online ones"]
        text = entitlement.entitled_text(self._host, self._states)
        return sentences + ["entitlement now: %s%s; PR/SM can move it: verify regularly" % (split, text)]

    def _entitled(self):
        unknown = self._levels.get("unknown")
        if unknown:
            said = "cpus: entitled: CPU %s does not show its polarization yet, as after a switch; run again in a minute"
            raise HostError(said % cpu_lists.format_list(unknown))
        chosen = sorted(cpu for level in _ENTITLED for cpu in self._levels.get(level, ()))
        if self._levels and not chosen:
            raise InputError(
                "cpus: entitled: all online CPUs (%s) are vertical:low; give the LPAR more weight, bring others "
                "online, or name CPUs" % cpu_lists.format_list(self.online)
            )
        # without vertical polarization all have the same share
        return chosen or self.online

    def _listed(self):
        try:
            chosen = cpu_lists.parse_cpus(self._params["cpus"])
        except ValueError as error:
            raise InputError("cpus: %s; or a mask with 0x, such as 0xff; or all or entitled" % error) from error
        possible = cpu_lists.present(self._host) or self.online
        missing = [cpu for cpu in chosen if cpu not in possible]
        if missing:
            text = self._params["cpus"]
            # YAML makes 255 of 0xff
            hint = "; if that was a mask, write '0x%x' in quotes" % int(text) if text.isdigit() else ""
            numbers = (cpu_lists.format_list(missing), cpu_lists.format_list(possible))
            raise InputError("cpus: this machine has no CPU %s; it has %s%s" % (numbers + (hint,)))
        offline = [cpu for cpu in chosen if cpu not in self.online]
        if offline:
            raise InputError(_OFFLINE % (cpu_lists.format_list(offline), cpu_lists.format_list(self.online)))
        return chosen


def core_numbers(host, online):
    """{online CPU: number of its core}.

    On IBM Z the threads of core n have the neighbouring numbers from n * threads on, also while some of them are
    offline. Elsewhere they may be far apart (0 and 8); there a core has the number of its first thread.
    """
    lists = {cpu: "%s/cpu%d/topology/thread_siblings_list" % (hardware.CPUS, cpu) for cpu in online}
    siblings = {cpu: cpu_lists.list_or_none(host.value(path)) or [cpu] for cpu, path in lists.items()}
    # with nosmt, only the first thread of each core is online
    threads = max([len(cpus) for cpus in siblings.values()] + [hardware.threads_by_cpuinfo(host) or 1])
    return {cpu: cpus[0] // threads if cpus[-1] - cpus[0] < threads else cpus[0] for cpu, cpus in siblings.items()}
