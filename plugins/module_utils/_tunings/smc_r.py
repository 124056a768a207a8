# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMC-R on AIX: attributes of the device that lets TCP connections use RDMA."""

import re

from .._aix import system
from .._aix.devices import ADDRESSES, ENABLED, PORTS, UnknownAttributeError, empty_lists, is_smc_r
from .._engine.records import SMC_R
from .._engine.tuning import InputError
from ._aix_devices import DeviceTuning, check_name, texts

DEVICE = "smcr0"
_ROCE = re.compile(r"\broce|\brdma", re.I)
# AIX 7.2 TL 2
_FIRST_LEVEL = (7200, 2)

_ON = {
    "conns_per_lg": "16",
    ENABLED: "1",
    "init_snd_pools": "2",
    ADDRESSES: "any",
    "max_memory": "512",
    PORTS: "any",
    "rx_intr_packets": "128",
    "tx_intr_cnt": "128",
    "tx_intr_time": "10000",
}
PRESETS = {
    "disabled": {ENABLED: "0"},
    "enabled": _ON,
    "optimized": dict(_ON, conns_per_lg="64", init_snd_pools="16", rx_intr_packets="256"),
}
# SAP's ports of instance nn: dispatcher and enqueue server 32nn, gateway 33nn and with SNC 48nn, message server 36nn,
# for the system's own instances 39nn and over HTTP 81nn, ICM 80nn and 443nn, start service 5nn13 and 5nn14.
_SAP_PORTS = ("32%02d", "33%02d", "48%02d", "36%02d", "39%02d", "81%02d", "80%02d", "443%02d", "5%02d13", "5%02d14")
_PORT_RANGE = re.compile(r"^([1-9][0-9]{0,4})(?:-([1-9][0-9]{0,4}))?\Z")


def port_range(instances, others):
    """port_range for these instance numbers and other ports. Raises InputError.

    YAML turns an instance number without quotes into a number: 0 is 00. Neighbours are joined, as 3200-3201.
    """
    numbers, found = set(), set()
    for one in instances:
        if not re.match(r"^[0-9]{1,2}\Z", one):
            raise InputError("sap_ports: '%s' is not an instance number; write two digits in quotes: '00'" % one)
        numbers.add(int(one))
    for one in others:
        match = _PORT_RANGE.match(one)
        low, high = (int(match.group(1)), int(match.group(2) or match.group(1))) if match else (1, 0)
        if not low <= high <= 65535:
            raise InputError("database_ports: '%s' is not a port or a range of ports, such as 30013-30015" % one)
        found.update(range(low, high + 1))
    found.update(int(port % number) for port in _SAP_PORTS for number in numbers)
    ranges = []
    for port in sorted(found):
        if ranges and ranges[-1][1] == port - 1:
            ranges[-1][1] = port
        else:
            ranges.append([port, port])
    return ",".join("%d" % low if low == high else "%d-%d" % (low, high) for low, high in ranges)


_NOT_INSTALLED = (
    "there is no device of SMC-R, such as %s: install the SMC-R support of AIX 7200-02 or later, give this partition a "
    "RoCE adapter, and run cfgmgr"
)
_NO_ADAPTER = (
    "lsdev lists no adapter with RoCE or RDMA in its description: give this partition a RoCE adapter and run cfgmgr; "
    "if there is one with another name, aix_device_attributes sets the same attributes"
)
_ALL_TCP = (
    "ip_addr_list and port_range are any, so all TCP of this partition goes over RoCE if its peer offers SMC-R, also "
    "SSH, NFS and PowerHA; sap_ports and database_ports name the ports of SAP"
)
_PORT_LIST = "how port_range takes several ports is not published: make sure that connections use SMC-R"
_NO_DATABASE = (
    "the port of the database is not among those of sap_ports, so connections of work processes to it stay plain TCP; "
    "database_ports adds it"
)


class SmcR(DeviceTuning):
    """params: the module's, see plugins/modules/smc_r.py."""

    name = "smc_r"
    restart = "device"
    sources = (SMC_R, "AIX 7.2 documentation: Shared Memory Communications over RDMA (SMC-R)", "SAP Note 2699513")
    options = dict(
        device=dict(type="str"),
        preset=dict(type="str", choices=["disabled", "enabled", "optimized"]),
        attributes=dict(type="dict", default={}),
        sap_ports=dict(type="list", elements="str", default=[]),
        database_ports=dict(type="list", elements="str", default=[]),
        when_busy=dict(type="str", choices=["fail", "defer"], default="fail"),
    )

    def __init__(self, host, params):
        super().__init__(host, params)
        # values that decide whether SMC-R is used and are not in the request
        self._beside = {}

    def names(self):
        return [self.params["device"] or DEVICE]

    def selects(self, name):
        return self.params["device"] in (None, name)

    def requests(self):
        own = texts(self.params["attributes"], "attributes")
        wanted = dict(PRESETS[self.params["preset"]]) if self.params["preset"] else {}
        instances, others = self.params["sap_ports"], self.params["database_ports"]
        if instances or others:
            if PORTS in own:
                name = "sap_ports" if instances else "database_ports"
                raise InputError("%s and attributes both give %s: leave one of them out" % (name, PORTS))
            wanted[PORTS] = port_range(instances, others)
        wanted.update(own)
        if not wanted:
            raise InputError("nothing to set: give a preset, attributes, sap_ports or database_ports")
        return {self._device(): wanted}

    def _device(self):
        """The device of the request: the named one, else smcr0, else the only one of the host."""
        if self.params["device"]:
            check_name(self.params["device"], "device")
            return self.params["device"]
        found = self._present()
        if DEVICE in found or not found:
            return DEVICE
        if len(found) > 1:
            raise InputError("device: there is no %s; choose one of %s" % (DEVICE, ", ".join(found)))
        return found[0]

    def _present(self):
        return [one.name for one in self.devices.devices() if is_smc_r(one.name)]

    def refusal(self, name):
        level, device, reason = system.level(self.host), self.devices.device(name), ""
        if level is not None and (level.release, level.technology) < _FIRST_LEVEL:
            reason = "SMC-R needs AIX 7200-02 or later (with VLANs 7200-03), this is %s: update AIX" % level.text
        elif device is None and self._present():
            reason = "there is no device %s; lsdev lists %s" % (name, ", ".join(self._present()))
        elif device is None:
            reason = _NOT_INSTALLED % name
        elif device.state != "Available":
            reason = "%s is %s and not Available: mkdev -l %s configures it" % (name, device.state, name)
        else:
            others = [one for one in self.devices.devices() if not is_smc_r(one.name)]
            if not any(one.name.startswith("roce") or _ROCE.search(one.text) for one in others):
                reason = _NO_ADAPTER
        return ("unsupported", reason) if reason else (None, "")

    def missing(self, name, error):
        if error.attribute not in _ON:
            return super().missing(name, error)
        return "SMC-R of this AIX has no attribute %s (%s)" % (error.attribute, error)

    # SMC-R is used only if both lists have entries, also if enabled is 1

    def observe(self, name):
        subject = super().observe(name)
        if self.restoring:
            return subject
        asked = self._asked[name]
        self._beside = {item: self._look(name, item) for item in (ENABLED, ADDRESSES, PORTS) if item not in asked}
        values = dict(self._beside, **asked)
        instances, others = self.params["sap_ports"], self.params["database_ports"]
        remarks = (
            (values[ENABLED] == "1" and values[ADDRESSES] == values[PORTS] == "any", _ALL_TCP),
            (instances or others, _PORT_LIST),
            (instances and not others, _NO_DATABASE),
        )
        subject.remarks += [sentence for applies, sentence in remarks if applies]
        return subject

    def _look(self, device, attribute):
        try:
            return self.devices.stored(device, attribute)
        except UnknownAttributeError:
            return None

    def _empty(self, wanted):
        """Those of both lists that would be empty although SMC-R is on."""
        return empty_lists(dict(self._beside, **wanted))

    def check(self, subject):
        wanted = self._asked[subject.name]
        empty = self._empty(wanted)
        if empty and {ENABLED, ADDRESSES, PORTS} & set(wanted):
            raise InputError(
                "attributes: %s of %s would be empty, and SMC-R is used only where both %s and %s are set: give "
                "'any' or values" % (" and ".join(empty), subject.name, ADDRESSES, PORTS)
            )

    def want(self, subject):
        super().want(subject)
        empty = self._empty(self._asked[subject.name])
        if empty:
            subject.notes.append("SMC-R is not used, because %s is empty" % subject.title(*empty))
