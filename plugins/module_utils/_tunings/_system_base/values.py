# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values that SAP asks of an application server on Linux, each with its source and the releases it is for.

SAP Notes are not public. Their values here are those that SUSE (saptune 3.2: ospackage/usr/share/saptune/notes; sapconf
5.0.8: sysconfig/sapconf) and Red Hat (tuned 2.28: profiles/sap-netweaver; community.sap_install 1.9.0:
roles/sap_general_preconfigure/vars) quote. What they set for SAP HANA only is not here.
"""

import re
from collections import namedtuple

from ..._host.kernel import RELEASES, distribution

# before the number of a dirty limit while the ratio is in force
RATIO = "ratio "
_NUMBERS = re.compile(r"^[0-9]{1,20}( [0-9]{1,20})*\Z")


class Asked(namedtuple("Asked", "name value least default")):
    """What is asked of one sysctl.

    value: what to write. least: what is enough, field by field; None if only value itself is right. default: the
    kernel's own value, None if it differs between kernels.
    """

    def met(self, text):
        """Whether the sysctl's text is right."""
        if self.least is None or text is None or not _NUMBERS.match(text):
            return text == self.value
        now, least = _numbers(text), _numbers(self.least)
        return len(now) == len(least) and all(one >= other for one, other in zip(now, least))

    def raised(self, text):
        """The value to write where the sysctl has this text: no field of it gets smaller."""
        if self.least is None or not _NUMBERS.match(text or "") or len(text.split()) != len(self.value.split()):
            return self.value
        pairs = zip(_numbers(text), _numbers(self.value), _numbers(self.least))
        return " ".join(str(now if now >= least else value) for now, value, least in pairs)

    def words(self):
        """In the user's terms."""
        return self.value if self.least is None else "at least %s" % self.least


def _numbers(text):
    return [int(word) for word in text.split()]


# Values of one subject. releases: beginnings of "SLES 15"; an empty text is every Linux. source: of the values.
class Row(namedtuple("Row", "subject releases source asked")):
    def is_for(self, release):
        return any(not one or (release + " ").startswith(one + " ") for one in self.releases)


def _at_least(name, value, default=None, least=None):
    return Asked(name, value, least or value, default)


def _exactly(name, value, default=None):
    return Asked(name, value, None, default)


# include/uapi/linux/shm.h: ULONG_MAX - (1 << 24)
_SHM_DEFAULT = "18446744073692774399"
_MAPS = "vm.max_map_count"
_SHARED = (
    _at_least("kernel.shmmax", "18446744073709551615", _SHM_DEFAULT, _SHM_DEFAULT),
    # in pages: this many of 4 KiB hold any shmmax
    _at_least("kernel.shmall", "1152921504606846720", _SHM_DEFAULT, str(1 << 52)),
)
# mm/page-writeback.c
_DIRTY = (
    _exactly("vm.dirty_bytes", "629145600", RATIO + "20"),
    _exactly("vm.dirty_background_bytes", "314572800", RATIO + "10"),
)
_KEEPALIVE = (
    _exactly("net.ipv4.tcp_keepalive_time", "300"),
    _exactly("net.ipv4.tcp_keepalive_intvl", "75"),
    _exactly("net.ipv4.tcp_keepalive_probes", "9"),
)
DIRTY = "vm.dirty"
_SHMMNI = _at_least("kernel.shmmni", "32768", "4096")
_SEM_7 = _at_least("kernel.sem", "1250 256000 100 1024")
_SEM = _at_least("kernel.sem", "32000 1024000000 500 32000", "32000 1024000000 500 32000")
_PIDS = _at_least("kernel.pid_max", "4194304")
_EVERYBODY = "saptune, sapconf, tuned and community.sap_install"
ROWS = (
    Row(_MAPS, ("",), "SAP Note 900929, quoted by " + _EVERYBODY, (_at_least(_MAPS, "2147483647", "65530"),)),
    Row("kernel.shm", ("SLES",), "SAP Notes 941735 and 1275776, quoted by saptune and sapconf", (*_SHARED, _SHMMNI)),
    Row("kernel.shm", ("",), "SAP Note 941735, quoted by saptune", _SHARED),
    Row("kernel.sem", ("RHEL 7",), "community.sap_install for RHEL 7", (_SEM_7,)),
    Row("kernel.sem", ("RHEL 8", "RHEL 9", "RHEL 10"), "the profile sap-netweaver of tuned", (_SEM,)),
    Row("kernel.pid_max", ("SLES 15",), "SAP Note 2578899, quoted by saptune", (_PIDS,)),
    Row(DIRTY, ("SLES 12",), "SAP Note 1984787, quoted by saptune", _DIRTY),
    Row(DIRTY, ("SLES 15",), "SAP Note 2578899, quoted by saptune", _DIRTY),
    Row(DIRTY, ("SLES 16",), "SAP Note 3565382, quoted by saptune", _DIRTY),
    Row("net.ipv4.tcp_keepalive", ("",), "SAP Note 1410736, quoted by saptune", _KEEPALIVE),
)
SUBJECTS = tuple(dict.fromkeys(row.subject for row in ROWS))


def release(host):
    """The release such as "SLES 15" or "RHEL 9"; for others the name that the system gives itself."""
    found = distribution(host) or {}
    name = RELEASES.get(found.get("id"))
    major = (found.get("version") or "").partition(".")[0]
    return "%s %s" % (name, major) if name else found.get("name") or "this Linux"
