# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interfaces of an RPS request: by name, glob, card type, or auto."""

import fnmatch
import os
import re

from ..._engine.tuning import InputError
from ..._machine import hardware

NET = hardware.NET
CARDS = {"hipersockets": "HiperSockets", "osa": "OSA"}


def queue_path(interface, queue, attribute):
    return os.path.join(NET, interface, "queues", queue, attribute)


def is_plain(text):
    """Whether a text in quotes means itself in a udev rule. The kernel allows quotes in a name of an interface."""
    return bool(re.match(r"[\w.,@:+-]+\Z", text))


class Interfaces:
    """The interfaces of one host. cpus: the number of online CPUs."""

    def __init__(self, host, cpus):
        self._host = host
        self._cpus = cpus

    def choose(self, patterns, is_off=None):
        """([name], [why another is left out]). Raises InputError.

        is_off: a function, whether RPS of an interface is off already, if auto is to switch it off; else None.
        """
        chosen, reasons = {}, []
        for pattern in patterns:
            found, why = self._matching(pattern, is_off)
            chosen.update(dict.fromkeys(found))
            reasons += why
        return list(chosen), reasons

    def means(self, patterns, name):
        """Whether a request means the interface of this name, which may no longer exist."""
        return (
            "auto" in patterns
            or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
            or any(pattern in CARDS and self.card(name) == CARDS[pattern] for pattern in patterns)
        )

    def queues(self, name):
        """The interface's receive queues in the order of their numbers."""
        return hardware.receive_queues(self._host, name)

    def card(self, name):
        """The type of the interface, such as HiperSockets or OSA; "" for a qeth interface without data of users."""
        driver = hardware.driver_of(self._host, name)
        card = self._host.value(os.path.join(NET, name, "device/card_type"))
        kind = hardware.card_type(driver, card)
        return "" if driver == "qeth" and (kind is None or re.search(r"OS[MN]", card)) else kind

    def identity(self, name):
        """The identity of an interface under any name: the bus id of its device, else its permanent address.

        None if it has neither, like virtual interfaces. A VLAN has the address of the interface below it.
        """
        base = os.path.join(NET, name)
        bus_id = hardware.bus_id(self._host, name)
        if bus_id is not None:
            port = self._host.value(base + "/dev_port")
            return bus_id if port in (None, "", "0") else "%s port %s" % (bus_id, port)
        address = self._host.value(base + "/address") or ""
        # 0: permanent, as include/uapi/linux/netdevice.h has it
        permanent = self._host.value(base + "/addr_assign_type") == "0" and address.strip("0:") != ""
        return address if permanent and not self._host.glob(base, "lower_*") else None

    def by_identity(self):
        """{identity: name} of the present interfaces; without those that share an identity."""
        found = {}
        for name in self._host.listdir(NET):
            found.setdefault(self.identity(name), []).append(name)
        return {identity: names[0] for identity, names in found.items() if identity and len(names) == 1}

    def missing(self, name):
        """The error for a missing interface."""
        names = ", ".join(self._host.listdir(NET))
        return InputError("interfaces: this host has no interface %s with receive queues; it has %s" % (name, names))

    def _matching(self, pattern, is_off):
        names = self._host.listdir(NET)
        if pattern == "auto":
            verdicts = [(name, self._unfit(name, is_off)) for name in names]
            return [name for name, why in verdicts if not why], ["%s: %s" % pair for pair in verdicts if pair[1]]
        if pattern in CARDS:
            return [name for name in names if self.card(name) == CARDS[pattern]], ["no %s interface" % CARDS[pattern]]
        if pattern == "lo":
            raise InputError("interfaces: lo is the loopback interface, which this tuning leaves alone; name another")
        found = [name for name in names if fnmatch.fnmatchcase(name, pattern) and self.queues(name)]
        if not found and not re.search(r"[*?\[]", pattern):
            raise self.missing(pattern)
        return [name for name in found if name != "lo"], ["no interface matches %s" % pattern]

    def _unfit(self, name, is_off):
        """Why auto leaves an interface out, or "" if it does not."""
        base = os.path.join(NET, name)
        queues = self.queues(name)
        reasons = [
            ("loopback", name == "lo"),
            ("no receive queues", not queues),
            ("its name cannot be written into a udev rule", not is_plain(name)),
            ("it receives through the one below", self._host.glob(base, "lower_*")),
        ]
        if is_off is not None:
            reasons.append(("RPS is off", is_off(name)))
        else:
            reached = "its %d receive queues reach all %d CPUs" % (len(queues), self._cpus)
            received = self._host.value(base + "/statistics/rx_packets") or "0"
            card = self.card(name)
            reasons += [
                ("it is down", self._host.value(base + "/operstate") == "down"),
                ("its card type is for management only, or unknown", card == ""),
                ("it has received nothing", received == "0" and card not in CARDS.values()),
                (reached, len(queues) >= self._cpus),
            ]
        return next((why for why, unfit in reasons if unfit), "")
