#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kind of machine a host is: face of module_utils/_platform_facts.py."""

DOCUMENTATION = r"""
---
module: platform_info
short_description: What kind of IBM Z or Power machine a host is, for the tunings of this collection
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Returns as RV(ansible_facts.zpower_platform) what the tunings decide on, and what a person asks first - machine,
    hypervisor, CPUs and their polarization, topology, interfaces, services that set the same knobs, SAP instances.
  - Reads C(/proc), C(/sys), a few files below C(/etc), and the names below C(/usr/sap), and changes nothing. No command
    is run, except C(cpuplugd --version) where cpuplugd is enabled or running, C(oslevel -s) on AIX, and C(sapcontrol)
    of every SAP instance (C(ParameterValue SAPSYSTEMNAME) and C(GetProcessList), as C(<sid>adm), which takes root).
  - What is not known is V(null), never 0. A file that exists and cannot be read is a warning.
  - The page C(docs/platform.md) of the collection explains how to read the facts.
attributes:
  check_mode:
    description: Changes nothing in any mode.
    support: full
  diff_mode:
    description: There is nothing to show.
    support: none
  facts:
    description: Returns facts, which are cached as any.
    support: full
  platform:
    description: On AIX only RV(ansible_facts.zpower_platform.system), RV(ansible_facts.zpower_platform.aix_level) and
      RV(ansible_facts.zpower_platform.sap_instances) are known.
    support: full
    platforms: posix
options:
  root:
    description:
      - Read from this folder instead of from the running machine. It holds the C(proc) and C(sys) of another machine,
        as an unpacked sosreport does, or an unpacked dbginfo archive in which C(sysfs.tgz) has been unpacked as well.
      - The same facts come out, as far as the folder holds the files. Links in it lead as they did on that machine,
        never to files of this one, and no command is run.
    type: path
    default: /
notes:
  - The facts are those of the host itself. In a container they are those of the host of the container, except the
    interfaces.
"""

EXAMPLES = r"""
- name: What is this machine?
  zpower.sap_tuning.platform_info:

- name: Only LPARs have a polarization to set
  ansible.builtin.include_role:
    name: zpower.sap_tuning.cpu_polarization
  when: zpower_platform.virtualization == 'lpar'

- name: Look at a capture that support has sent
  zpower.sap_tuning.platform_info:
    root: /srv/cases/4711/sosreport-sapapp1
  register: captured
  delegate_to: localhost

- name: How does PR/SM treat that LPAR's CPUs?
  ansible.builtin.debug:
    var: captured.ansible_facts.zpower_platform.polarization
"""

RETURN = r"""
ansible_facts:
  description: The facts.
  returned: success
  type: dict
  contains:
    zpower_platform:
      description: What kind of machine this is. Every key is always there.
      returned: success
      type: dict
      contains:
        system:
          description: The operating system, C(Linux) or C(AIX).
          returned: success
          type: str
          sample: Linux
        architecture:
          description: The instruction set.
          returned: success
          type: str
          sample: s390x
        machine_type:
          description: The type of an IBM Z machine, by C(/proc/sysinfo).
          returned: success
          type: str
          sample: '8561'
        machine_model:
          description: The hardware model of an IBM Z machine.
          returned: success
          type: str
          sample: T01
        generation:
          description: The generation of the machine type, C(z196) to C(z17).
          returned: success
          type: str
          sample: z15
        virtualization:
          description: V(lpar), V(zvm) or V(kvm) by the innermost hypervisor, V(other) for one that is not known here,
            V(none) where the host is not IBM Z, V(null) where an s390x kernel does not tell.
          returned: success
          type: str
          sample: lpar
        hypervisors:
          description: The hypervisors below the LPAR's own, the innermost first; more than one is a nested guest.
          returned: success
          type: list
          elements: dict
          sample: [{name: LNX1, program: z/VM 7.3.0}]
          contains:
            name:
              description: The name of the guest.
              returned: success
              type: str
              sample: LNX1
            program:
              description: The hypervisor and its version as it names itself.
              returned: success
              type: str
              sample: z/VM 7.3.0
        lpar:
          description: The LPAR, for guests the one in which their hypervisor runs.
          returned: success
          type: dict
          sample: {name: SAPAPP1, number: 17, processors: shared, ifls: 12, ifls_dedicated: 0, ifls_shared: 12,
                   ifls_standby: 4, capped: false}
          contains:
            name:
              description: Its name.
              returned: success
              type: str
              sample: SAPAPP1
            number:
              description: Its number.
              returned: success
              type: int
              sample: 17
            processors:
              description: V(shared), V(dedicated) or V(mixed).
              returned: success
              type: str
              sample: shared
            ifls:
              description: Configured cores. They are IFLs, or general purpose processors in an LPAR that has those.
              returned: success
              type: int
              sample: 12
            ifls_dedicated:
              description: How many of them belong to this LPAR alone.
              returned: success
              type: int
              sample: 0
            ifls_shared:
              description: How many of them are shared with other LPARs.
              returned: success
              type: int
              sample: 12
            ifls_standby:
              description: Cores that can be configured while the LPAR runs.
              returned: success
              type: int
              sample: 4
            capped:
              description: Whether its share of the processors has a hard limit.
              returned: success
              type: bool
              sample: false
        threads_per_core:
          description: The most threads that a core runs now; 2 with SMT.
          returned: success
          type: int
          sample: 2
        threads_per_core_possible:
          description: How many threads a core could run here. Hypervisors give their guests one.
          returned: success
          type: int
          sample: 2
        smt_control:
          description: The kernel's C(smt/control). Before 6.15 it is V(notimplemented) on IBM Z, with SMT and without.
          returned: success
          type: str
          sample: 'on'
        cpus:
          description: CPUs that are online, offline (configured, but not running), and deconfigured.
          returned: success
          type: dict
          sample: {online: {count: 22, list: '0-21'}, offline: {count: 2, list: '22-23'},
                   deconfigured: {count: 0, list: ''}}
          contains:
            online:
              description: Their number RV(ignore:count), and RV(ignore:list) as the kernel writes it.
              returned: success
              type: dict
              sample: {count: 22, list: '0-21'}
            offline:
              description: The same.
              returned: success
              type: dict
              sample: {count: 2, list: '22-23'}
            deconfigured:
              description: The same; V(null) where CPUs cannot be deconfigured.
              returned: success
              type: dict
              sample: {count: 0, list: ''}
        dispatching:
          description: V(horizontal) or V(vertical), as the CPUs themselves are. Kernels before 6.14 may show 0 in
            C(dispatching) on a machine that has been vertical since before they booted.
          returned: success
          type: str
          sample: vertical
        polarization:
          description: How many of the present CPUs have which polarization.
          returned: success
          type: dict
          sample: {vertical_high: 4, vertical_medium: 2, vertical_low: 16, horizontal: 0, unknown: 2}
          contains:
            vertical_high:
              description: CPUs with a whole real processor.
              returned: success
              type: int
              sample: 4
            vertical_medium:
              description: CPUs with part of a real processor.
              returned: success
              type: int
              sample: 2
            vertical_low:
              description: CPUs that get what other LPARs leave.
              returned: success
              type: int
              sample: 16
            horizontal:
              description: CPUs that all have the same share.
              returned: success
              type: int
              sample: 0
            unknown:
              description: CPUs that are deconfigured, or that the machine has not reported yet.
              returned: success
              type: int
              sample: 2
        topology:
          description: How the CPUs lie in the machine.
          returned: success
          type: dict
          sample: {facility: true, s390_topology: 1, drawers: 4, books: 2, sockets: 2, cores: 12,
                   scheduler: {drawers: 1, books: 1, sockets: 2, cores: 12}}
          contains:
            facility:
              description: Whether the machine tells Linux its topology. Without it there is no polarization to set.
              returned: success
              type: bool
              sample: true
            s390_topology:
              description: The sysctl C(s390.topology).
              returned: success
              type: int
              sample: 1
            drawers:
              description: The most drawers that the machine can have; V(null) where it has no such level.
              returned: success
              type: int
              sample: 4
            books:
              description: The most books of a drawer.
              returned: success
              type: int
              sample: 2
            sockets:
              description: The most sockets of a book.
              returned: success
              type: int
              sample: 2
            cores:
              description: The most cores of a socket.
              returned: success
              type: int
              sample: 12
            scheduler:
              description: How many drawers, books, sockets and cores the scheduler sees among the online CPUs.
              returned: success
              type: dict
              sample: {drawers: 1, books: 1, sockets: 2, cores: 12}
        hiperdispatch:
          description: Whether the kernel leaves vertical-low CPUs idle while others steal their time (6.12 on).
          returned: success
          type: dict
          sample: {enabled: true, steal_threshold: 30, delay_factor: 4}
          contains:
            enabled:
              description: The sysctl C(s390.hiperdispatch).
              returned: success
              type: bool
              sample: true
            steal_threshold:
              description: Per cent of stolen time from which it acts.
              returned: success
              type: int
              sample: 30
            delay_factor:
              description: How often it looks, in units of 250 ms.
              returned: success
              type: int
              sample: 4
        kernel:
          description: The kernel release.
          returned: success
          type: str
          sample: 6.4.0-150600.23.25-default
        kernel_parameters:
          description: Those of C(nosmt), C(possible_cpus), C(smt) and C(topology) that the kernel was started with.
          returned: success
          type: dict
          sample: {smt: '1'}
        distribution:
          description: The distribution by C(/etc/os-release).
          returned: success
          type: dict
          sample: {id: sles, version: '15.6', name: SUSE Linux Enterprise Server 15 SP6}
          contains:
            id:
              description: Its short name.
              returned: success
              type: str
              sample: sles
            version:
              description: Its version.
              returned: success
              type: str
              sample: '15.6'
            name:
              description: Its name for people.
              returned: success
              type: str
              sample: SUSE Linux Enterprise Server 15 SP6
        aix_level:
          description: What C(oslevel -s) says on AIX.
          returned: success
          type: str
          sample: 7300-02-01-2346
        interfaces:
          description: Every network interface by its name.
          returned: success
          type: dict
          sample:
            hsi0: {driver: qeth, card_type: HiperSockets, card: HiperSockets, buffer_count: 128, inbuf_size: 64k,
                   mtu: 57344, operstate: up, receive_queues: 1, rps_cpus: {rx-0: 0000ffff}, lower: []}
          contains:
            driver:
              description: Its driver; V(null) where there is no device, as for a VLAN.
              returned: success
              type: str
              sample: qeth
            card_type:
              description: V(HiperSockets), V(OSA), V(RoCE), V(virtio), or V(null) for anything else. Names say nothing,
                because distributions name HiperSockets and OSA interfaces alike.
              returned: success
              type: str
              sample: HiperSockets
            card:
              description: The words of the driver C(qeth) for its card, such as V(OSD_25GIG) or V(Virt.NIC QDIO).
              returned: success
              type: str
              sample: HiperSockets
            buffer_count:
              description: Its input buffers (C(qeth)).
              returned: success
              type: int
              sample: 128
            inbuf_size:
              description: The size of one (C(qeth)).
              returned: success
              type: str
              sample: 64k
            mtu:
              description: Its largest packet.
              returned: success
              type: int
              sample: 57344
            operstate:
              description: Whether it is V(up).
              returned: success
              type: str
              sample: up
            receive_queues:
              description: Its receive queues. C(qeth) has exactly one.
              returned: success
              type: int
              sample: 1
            rps_cpus:
              description: The mask of Receive Packet Steering of each receive queue.
              returned: success
              type: dict
              sample: {rx-0: 0000ffff}
            lower:
              description: The interfaces through which a VLAN, bond or bridge sends and receives.
              returned: success
              type: list
              elements: str
              sample: []
        transparent_hugepages:
          description: V(always), V(madvise) or V(never).
          returned: success
          type: str
          sample: madvise
        conflicts:
          description: Services that set the same knobs as this collection and are enabled or running, of C(cpuplugd),
            C(irqbalance), C(sapconf), C(saptune) and C(tuned).
          returned: success
          type: list
          elements: dict
          sample: [{service: tuned, enabled: true, running: true, version: null, detail: its active profile is
                    sap-netweaver}]
          contains:
            service:
              description: The service.
              returned: success
              type: str
              sample: tuned
            enabled:
              description: Whether it starts at boot.
              returned: success
              type: bool
              sample: true
            running:
              description: Whether it runs now; V(null) where that cannot be told, as of a service that leaves no
                process.
              returned: success
              type: bool
              sample: true
            version:
              description: Its version, where it matters (C(cpuplugd)).
              returned: success
              type: str
              sample: 2.35.0
            detail:
              description: What it does that is worth knowing.
              returned: success
              type: str
              sample: its active profile is sap-netweaver
        smc:
          description:
            - What Linux tells of SMC-R and SMC-D, as C(smcss), C(smcd) and C(smcr) show it, asked of the kernel itself.
            - V(null) where the kernel has no SMC now (its module C(smc) is not loaded; nothing is loaded for a look),
              on AIX, and below another root. A part that the kernel does not tell is V(null), too.
          returned: success
          type: dict
          contains:
            devices:
              description: RoCE devices (V(SMCR)), one entry a port, and ISM devices (V(SMCD)), with the PNET id that
                ties them to network interfaces. RV(ignore:in_use) counts links or connections.
              returned: success
              type: list
              elements: dict
              sample: [{type: SMCR, name: mlx5_0, pci_id: '0001:00:00.0', port: 1, interface: eno1, active: true,
                        pnet_id: SAPNET, pnet_id_by_user: true, in_use: 2}]
            ueids:
              description: The user-defined EIDs, of which SMC version 2 wants a common one on both ends.
              returned: success
              type: list
              elements: str
              sample: [SAP.PRD]
            sockets:
              description: How many SMC sockets with a connection there are to each peer, by what they became, V(SMCR),
                V(SMCD), or V(TCP) with the reason why they fell back.
              returned: success
              type: list
              elements: dict
              sample: [{peer: 192.0.2.21, mode: TCP, fallback: 0x03010000 (the peer does not support SMC), count: 2}]
            stats:
              description: Counters since the module C(smc) was loaded, of SMC-R and SMC-D the connections by end and by
                version of SMC, and the bytes; handshake errors; fallbacks with their reasons.
              returned: success
              type: dict
              sample: {SMCR: {client_v1: 0, client_v2: 4, server_v1: 0, server_v2: 0, bytes_received: 4096,
                       bytes_sent: 4096}, SMCD: {client_v1: 0, client_v2: 0, server_v1: 0, server_v2: 0,
                       bytes_received: 0, bytes_sent: 0}, handshake_errors: 0, fallbacks: 2, fallback_reasons: [
                       {end: client, reason: 0x03010000 (the peer does not support SMC), count: 2}]}
        sap_instances:
          description: The SAP instances by folder and by C(/usr/sap/sapservices), whether they run or not.
          returned: success
          type: list
          elements: dict
          sample: [{sid: C11, name: D00, number: '00', type: D, role: application_server, primary: null, host: sapapp1,
                    profile: /usr/sap/C11/SYS/profile/C11_D00_sapapp1, user: c11adm, enqueue: null,
                    unit: SAPC11_00.service, status: running, status_reason: ''}]
          contains:
            sid:
              description: The system.
              returned: success
              type: str
              sample: C11
            name:
              description: The name of the instance, which is that of its folder.
              returned: success
              type: str
              sample: D00
            number:
              description: The instance number.
              returned: success
              type: str
              sample: '00'
            type:
              description: The type in the name of the instance, such as V(D), V(ASCS), V(ERS) or V(HDB).
              returned: success
              type: str
              sample: D
            role:
              description: What the type stands for, V(application_server), V(ascs) (central services, also those of
                Java), V(ers) (their replication), V(java), V(web_dispatcher), V(hana), V(diagnostics) or V(other).
              returned: success
              type: str
              sample: application_server
            primary:
              description: V(true) for the primary application server where the name says so (C(DVEBMGS)). Never
                V(false), because a C(D) instance may be the primary one, too.
              returned: success
              type: bool
              sample: true
            host:
              description: The host that the name of the profile ends in, which may be a virtual one.
              returned: success
              type: str
              sample: sapapp1
            profile:
              description: The instance profile; V(null) where there are several and nothing tells which one is its own.
              returned: success
              type: str
              sample: /usr/sap/C11/SYS/profile/C11_D00_sapapp1
            user:
              description: The operating system user of the system.
              returned: success
              type: str
              sample: c11adm
            enqueue:
              description: Of central services and their replication the lock server that the profile starts, V(ENSA1)
                or V(ENSA2).
              returned: success
              type: str
              sample: ENSA2
            unit:
              description: The systemd unit; V(null) where C(sapinit) starts the instance.
              returned: success
              type: str
              sample: SAPC11_00.service
            status:
              description: V(running) (every process is), V(stopped) (every process is), V(partial), or V(unknown) where
                nothing answers. V(null) below another root, where nothing runs.
              returned: success
              type: str
              sample: running
            status_reason:
              description: Why the status is V(partial) or V(unknown).
              returned: success
              type: str
              sample: disp+work is YELLOW (Starting)
"""

import os
import platform

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._machine.facts import facts
from ..module_utils._machine.reading import ReadingHost


def main():
    module = AnsibleModule(
        argument_spec=dict(root=dict(type="path", default="/")),
        supports_check_mode=True,
    )
    host = ReadingHost(os.path.normpath(module.params["root"]))
    # what was captured is Linux, whatever looks at it
    system = platform.system() if host.root == "/" else "Linux"
    if system == "Linux" and not host.exists("/proc"):
        module.fail_json(msg="root: %s holds no folder proc; name the folder that holds proc and sys" % host.root)
    if system == "Linux" and not host.exists("/sys"):
        module.warn("root: %s holds no folder sys, so nothing is known of CPUs and interfaces" % host.root)
    found = facts(host, system)
    for remark in host.summary():
        module.warn(remark)
    module.exit_json(changed=False, ansible_facts={"zpower_platform": found})


if __name__ == "__main__":
    main()
