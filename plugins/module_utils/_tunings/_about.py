# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a record says of its tuning. It is here, because a tuning that was never used on a host is not imported."""

_STUDY = "Performance Evaluation of SAP Application Servers on Z (IBM, v1.02, 2018-07-16), %s"
_CRM = "SAP CRM 7.0 on IBM Z (IBM, v1.00, 2019-03-01), %s"
_SMC_R = "SMC-R on AIX for SAP, Experience report (IBM, v1.0, 2019-01-14)"

# {tuning: Tuning.sources}
SOURCES = {
    "aix_device_attributes": ("AIX commands reference: lsattr, chdev",),
    "aix_tunables": (
        "AIX commands reference: no, vmo, schedo, ioo, raso, nfso",
        "AIX documentation: tunables file format; interface-specific network options",
    ),
    "cpu_polarization": (_STUDY % "5.6", _CRM % "4.2.1", "Linux kernel, arch/s390/kernel/topology.c"),
    "cpu_topology": (
        _STUDY % "5.4",
        "Linux kernel, commit 1b25fda05334 (s390/topology: alternative topology for topology-less machines)",
    ),
    "hiperdispatch": ("Linux kernel, arch/s390/kernel/hiperdispatch.c",),
    "qeth": (
        "IBM support document swg21299070 (HiperSockets)",
        "IBM Documentation, Linux on IBM Z, qeth device driver: inbound buffer count",
        "Linux kernel, drivers/s390/net/qeth_core_sys.c",
        "s390-tools: chzdev",
    ),
    "rps": (_STUDY % "5.8", _CRM % "4.2.2", "Linux kernel, Documentation/networking/scaling.rst"),
    "sap_profile": (
        _STUDY % "5.7",
        _CRM % "2.2.3",
        "Performance & Scalability of Virtualized SAP Servers on RHEL (Red Hat, March 2008), 6.2",
        _SMC_R,
    ),
    "smc": (
        "Linux kernel, net/smc",
        "smc-tools: smc_run, smc_pnet, smcr, smcd",
        "RFC 7609 (SMC-R version 1)",
        "IBM Documentation, Linux on IBM Z: setting up SMC",
    ),
    "smc_r": (
        _SMC_R,
        "AIX 7.2 documentation: Shared Memory Communications over RDMA (SMC-R)",
        "SAP Note 2699513",
    ),
    "smc_sysctls": ("Linux kernel, Documentation/networking/smc-sysctl.rst",),
    "system_base": (
        "saptune 3.2 (SUSE): SAP Notes 900929, 941735, 1275776, 1410736, 1771258, 1984787, 2578899, 3565382",
        "sapconf 5.0.8 (SUSE)",
        "tuned 2.28 (Red Hat), profile sap-netweaver",
        "community.sap_install 1.9.0, role sap_general_preconfigure",
    ),
}
# {tuning: Tuning.restart}, if it is not none
RESTART = {
    "aix_device_attributes": "device",
    "qeth": "device",
    "sap_profile": "instance",
    "smc": "instance",
    "smc_r": "device",
}
# (folder, pattern of names, tuning) of files whose names do not tell the tuning; a folder's name may be a pattern too
FILES = (
    ("/etc/security/limits.d", "zpower-sap-tuning-*adm.conf", "sap_profile"),
    ("/etc/systemd/system/SAP*.service.d", "zpower-sap-tuning.conf", "sap_profile"),
    ("/etc/security/limits.d", "zz-zpower-sap-tuning-*.conf", "system_base"),
    ("/etc/systemd/system/SAP*.service.d", "zz-zpower-sap-tuning-*.conf", "system_base"),
)
# the same for files of others in which a tuning replaces a line, or which it restores
REPLACED = (
    ("/etc", "fstab", "system_base"),
    ("/etc/tunables", "nextboot", "aix_tunables"),
    ("/etc/tunables", "nextliveupdate", "aix_tunables"),
    ("/etc/udev/rules.d", "41-qeth-*.rules", "qeth"),
)
# {tuning: the program of its service, beside the journals}
PROGRAMS = {"smc": "smc.pyz"}
# {tuning: what its module returns beside its records}, if it has nothing to take back
RESULTS = {"sap_profile": {"instances": []}}
