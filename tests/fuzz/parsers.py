# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parsers that the fuzzer feeds, each with its corpus and the exceptions that are messages for the user."""

from __future__ import annotations

import ast
import re
import socket
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import captured
import pr_sm
import smckernel
from ansible_collections.zpower.sap_tuning.plugins.module_utils._aix import devices, startup, tunables
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import cpu_lists, drop_ins, netlink
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import kernel as running_kernel
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import (
    boot_sources,
    capacity,
    facts,
    hardware,
    other_settings,
    services,
    smc_facts,
    smc_sockets,
    tools,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes, wire
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.cpu import counters
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.host import command, figures, fio, openssl
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import enq_admin, enq_statistics, enqt
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import niping
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net.network import KINDS
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net.request import NETWORK_TOOLS
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import instances, profile, realtime, sapcontrol
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports import nmon, sysstat
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports import rows as _import_rows
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.cpu_window import CpuFileError

UNIT = Path(__file__).resolve().parents[1] / "unit"
FIXTURES = UNIT / "fixtures"
OWN = (InputError, HostError, MeasureError)


def strings(room: str) -> list[bytes]:
    """Return all longer texts in the unit tests of a room, as a corpus for its parsers."""
    found = set()
    for path in (UNIT / "plugins" / room).rglob("test_*.py"):
        texts = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
        found |= {text.encode() for text in texts if isinstance(text, str) and len(text) > 7}
    if not found:
        raise ValueError(f"no unit test in {room}")
    return sorted(found)


def files(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(FIXTURES.glob(pattern))]


def whole_profile(data: bytes) -> object:
    """Call all functions that the tuning calls with a profile's bytes."""
    one = profile.Profile(data)
    found = [(name, one.text(name), one.value(name), one.active(name)) for name in one.names()[:50]]
    for name, text, _value, _active in found:
        profile.value_of(text)
        wanted = one.wanted(name, "4711")
        if wanted is None:
            raise AssertionError(f"no line is wanted for {name!r}")
    return found


def values_of(text: str) -> object:
    return sapcontrol.parse_values(text, ["rdisp/wp_no_dia", "rdisp/wp_no_btc"])


def instances_of(host: Host) -> object:
    found = instances.instances(host)
    return [instances.profile_folder(host, one.sid) for one in found]


def netlink_attributes(data: bytes) -> object:
    return {kind: netlink.text(value) for kind, value in netlink.attributes(data).items()}


def smc_stats(data: bytes) -> object:
    found = smc_facts.stats([data], [data])
    return smc_facts.sentences({"devices": smc_facts.devices("SMCR", [data]), "stats": found})


def wire_object(data: bytes) -> object:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.setblocking(False)
        theirs.send(data[:100000].replace(b"\n", b" ") + b"\n")
        theirs.shutdown(socket.SHUT_WR)
        return wire.Lines(ours).read_object()


def network_tool(kind: type[Any], name: str) -> Callable[[str], object]:
    """Return the function that reads the output of a network tool in a workload of this name."""
    workload = kind("/usr/bin/tool", "1", ("10.0.0.2", 1), KINDS[name], 1)
    return lambda text: workload.read([text])


def nmon_snapshots(text: str) -> object:
    return list(nmon.Reader(text.splitlines(keepends=True)).samples())


def sysstat_samples(text: str) -> object:
    try:
        return list(sysstat.Reader(text).samples())
    except OverflowError as error:  # as in window_of()
        raise CpuFileError(str(error)) from error


NETLINK = [
    smckernel.smc_socket(),
    smckernel.roce_device(),
    smckernel.ism_device(),
    smckernel.counters(client_v1=1, errors=2),
    smckernel.fallback(0x03010000, 3, 4, 5, "server"),
    struct.pack("=IHHII", 20, 2, 0, 1, 0) + struct.pack("=i", -2),
    struct.pack("=IHHII", 16, 3, 0, 1, 0),
]
DIAG_204 = pr_sm.file_of([pr_sm.lpar("A", [pr_sm.core()] * 8)], physical=pr_sm.machine((pr_sm.IFL, 16, 2)))
SYSINFO = [
    text.encode()
    for name in captured.names()
    for path, text in captured.entries(name).items()
    if path == "/proc/sysinfo"
]
ROOMS = ("_aix", "_sap", "_tunings", "_machine", "_measure")
OF_AIX, SAP, TUNINGS, MACHINE, MEASURE = (strings(f"module_utils/{room}") for room in ROOMS)
IMPORTS = strings("plugin_utils/_imports")
AIX = [
    *OF_AIX,
    *TUNINGS,
    b"sb_max,1048576,1048576,1048576,4096,9223372036854775807,byte,D,\n",
    b'# x\nvmo:\n\nno:\n\tsb_max = "1"  # y\n\nno:\n\tsb_max = DEFAULT\n',
    b"en0: flags=1e084863,814c0<UP,RUNNING>\n\t tcp_sendspace 262144 rfc1323 1\n",
]
NETWORK, FIO, PROFILES = files("network/*.txt"), files("fio/*.txt"), files("profiles/*")
JSONS = [*files("sysstat/*.json"), *FIO, b"[]", b"{}"]
CPU_LISTS = [b"0-3,8", b"0", b"0-63,96-199", b"ff,ffffffff", b"00000003", b"0,2,4-8"]
OS_RELEASE = [b'NAME="SLES"\nVERSION="15-SP6"\nID="sles"\nPRETTY_NAME="SUSE Linux Enterprise Server 15 SP6"\n']
CPUPLUGD = [b"cpuplugd: Linux on System z CPU hotplug daemon version 2.35.0-build"]
COMMAND_LINE = [b"root=/dev/dasda1 topology=on smt=2"]
CHDEV = [b"chdev -l smcr0 -a enabled=1 -a 'port_range=3200 x'", *AIX]
OPENSSL = [b"OpenSSL 3.0.15 3 Sep 2024 (Library: OpenSSL 3.0.15)"]
Allowed = tuple[type[BaseException], ...]
NONE: Allowed = ()
NUMBERS: Allowed = (ValueError,)
SYSTEM: Allowed = (OSError,)
HOST: Allowed = (HostError,)
CPU_FILE: Allowed = (CpuFileError,)
ROWS: Allowed = (_import_rows.RowsError,)

# name: (parser, corpus, the exceptions that are messages for the user)
OF_TEXT: dict[str, tuple[Callable[[str], object], Sequence[bytes], Allowed]] = {
    "cpu_lists.parse_list": (cpu_lists.parse_list, CPU_LISTS, NUMBERS),
    "cpu_lists.parse_mask": (cpu_lists.parse_mask, CPU_LISTS, NUMBERS),
    "hardware.parse_sysinfo": (hardware.parse_sysinfo, SYSINFO, NONE),
    "kernel.parse_option": (lambda text: running_kernel.parse_option(text, "topology"), COMMAND_LINE, NONE),
    "kernel.parse_os_release": (running_kernel.parse_os_release, OS_RELEASE, NONE),
    "facts.kernel_parameters": (facts.kernel_parameters, COMMAND_LINE, NONE),
    "services.parse_cpuplugd_version": (services.parse_cpuplugd_version, CPUPLUGD, NONE),
    "_aix.devices.parse_level": (devices.parse_level, [b"7200-02-01-1731\n", b"7300-01\n", *AIX], NONE),
    "_aix.devices.parse_devices": (devices.parse_devices, AIX, NONE),
    "_aix.devices.parse_listing": (devices.parse_listing, AIX, NONE),
    "_aix.devices.parse_legal": (lambda text: devices.allows(devices.parse_legal(text), "12"), AIX, NONE),
    "_aix.devices.second_pair": (devices.second_pair, AIX, NONE),
    "_aix.startup.parse_chdev": (startup.parse_chdev, CHDEV, NONE),
    "_aix.startup.parse_tunables": (
        lambda text: startup.parse_tunables("no", text),
        [b"no -p -o 'a=1' -o b=2; vmo -o c=3", *AIX],
        NONE,
    ),
    "_aix.tunables.parse_row": (lambda text: tunables.parse_row(text, "sb_max"), AIX, HOST),
    "_aix.tunables.without_line": (lambda text: tunables.without_line(text, "no", "sb_max"), AIX, NONE),
    "_aix.tunables.parse_interfaces": (tunables.parse_interfaces, AIX, NONE),
    "_sap.sapcontrol.parse_answer": (lambda text: sapcontrol.parse_processes(sapcontrol.parse_answer(text)), SAP, OWN),
    "_sap.sapcontrol.parse_script_value": (sapcontrol.parse_script_value, SAP, NONE),
    "_sap.sapcontrol.parse_values": (values_of, [b"10\n12\n", *SAP], HOST),
    "_sap.sapcontrol.parse_check": (lambda text: sapcontrol.parse_check(1, text), SAP, NONE),
    "_sap.instances.parse_services": (instances.parse_services, SAP, NONE),
    "_sap.instances.parse_enqueue": (instances.parse_enqueue, PROFILES, NONE),
    "niping": (lambda text: niping.parse(text, 1000), files("niping/*.txt"), OWN),
    "niping version": (lambda text: re.search(niping.VERSION[1], text), files("niping/*.txt"), NONE),
    "enqt rates": (enqt.parse_rates, MEASURE, OWN),
    "enqt entries": (enqt.parse_entries, MEASURE, OWN),
    "enq_admin": (enq_admin.parse, MEASURE, OWN),
    "enq_admin info": (enq_admin.release_of, MEASURE, NONE),
    "enq_statistics": (enq_statistics.parse, MEASURE, OWN),
    "fio": (lambda text: fio.parse(text, False), FIO, OWN),
    "figure by pointer": (lambda text: figures.by_pointer(text, "/jobs/0/read/iops"), FIO, OWN),
    "figure by pattern": (lambda text: figures.by_pattern(text, r"^\+R:(?P<value>[^:]+)"), files("openssl/*.txt"), OWN),
    "environment": (command.variables, [b'{"A": "b"}', b"eyJBIjogImIifQ=="], OWN),
    "openssl": (lambda text: openssl.parse(text, "aes-128-gcm", 1024, 1), files("openssl/*.txt"), OWN),
    "openssl version": (lambda text: re.search(openssl.VERSION[1], text), OPENSSL, NONE),
    **{
        f"{name} {kind}": (network_tool(tool.Workload, kind), NETWORK, OWN)
        for name, tool in NETWORK_TOOLS.items()
        for kind in ("latency", "strWrite")
    },
    "counters cpu": (lambda text: counters.parse_cpu(text, 100), MEASURE, NONE),
    "counters retransmits": (counters.parse_retransmits, MEASURE, NONE),
    "counters rps": (counters.parse_received_rps, MEASURE, NONE),
    "counters process": (lambda text: counters.parse_process(text, 100), MEASURE, NONE),
    "mounts": (lambda text: fio.parse_mount(text, "8:1"), MEASURE, NONE),
    "ps etime": (processes.parse_etime, [b"1-02:03:04", b"03:04", b" 11:12:13 "], NONE),
    "nmon": (nmon_snapshots, files("nmon/*.nmon"), CPU_FILE),
    "sysstat": (sysstat_samples, JSONS, CPU_FILE),
    "rows of CSV": (_import_rows.from_csv, IMPORTS, ROWS),
    "rows of YAML": (_import_rows.from_yaml, [*IMPORTS, *JSONS[-2:]], ROWS),
}
OF_BYTES: dict[str, tuple[Callable[[bytes], object], Sequence[bytes], Allowed]] = {
    "diag_204.parse": (capacity.parse_diag_204, [pr_sm.HERCULES, DIAG_204], NUMBERS),
    "smc_sockets.parse": (smc_sockets.parse, NETLINK[:1], SYSTEM),
    "netlink.messages": (netlink.messages, NETLINK, SYSTEM),
    "netlink.attributes": (netlink_attributes, NETLINK, SYSTEM),
    "smc_facts.stats": (smc_stats, NETLINK, SYSTEM),
    "_sap.profile": (whole_profile, PROFILES, (InputError,)),
    "control protocol": (wire_object, [b'{"op": "start", "size": 1000}', b'{"ok": true}'], (*OWN, EOFError)),
}
# name: (reader of a host, corpus, the file)
OF_FILES: dict[str, tuple[Callable[[Host], object], Sequence[bytes], str]] = {
    "boot_sources.sysctls": (
        lambda host: boot_sources.sysctls(host, "/proc/sys/net/core/rps_default_mask"),
        TUNINGS,
        "/etc/sysctl.d/a.conf",
    ),
    "tools.sapconf_writes": (tools.sapconf_writes, SAP, "/etc/sysconfig/sapconf"),
    "other_settings.udev_rules": (
        lambda host: other_settings.udev_rules(host, "rps_cpus"),
        TUNINGS,
        "/etc/udev/rules.d/a.rules",
    ),
    "other_settings.tmpfiles": (other_settings.tmpfiles, TUNINGS, "/etc/tmpfiles.d/a.conf"),
    "other_settings.ini_files": (
        lambda host: other_settings.ini_files(host, "systemd/network", ".link"),
        TUNINGS,
        "/etc/systemd/network/a.link",
    ),
    "other_settings.boot_scripts": (
        lambda host: other_settings.boot_scripts(host, re.compile("rps_cpus")),
        MACHINE,
        "/etc/sysconfig/network/if-up.d/a",
    ),
    "drop_ins.assignments": (lambda host: drop_ins.assignments(host, "/etc/x.conf"), SAP, "/etc/x.conf"),
    "_sap.instances": (instances_of, SAP, "/usr/sap/sapservices"),
    "_sap.realtime.session_limit": (
        lambda host: realtime.session_limit(host, "prdadm"),
        SAP,
        "/etc/security/limits.conf",
    ),
    "_sap.realtime.unit_limit": (
        lambda host: realtime.unit_limit(host, "SAPPRD_00.service"),
        SAP,
        "/etc/systemd/system/SAPPRD_00.service",
    ),
}
