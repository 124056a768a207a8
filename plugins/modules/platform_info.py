#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts on the machine: options, documentation and wiring of module_utils/_machine/facts.py."""

DOCUMENTATION = r"""
---
module: platform_info
short_description: What kind of IBM Z or Power machine a host is, for the tunings of this collection
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Returns the facts on which the tunings decide as RV(ansible_facts.zpower_platform) - machine, hypervisor, CPUs and
    their polarization, topology, interfaces, services that set the same knobs, SAP instances.
  - Reads C(/proc), C(/sys), a few files below C(/etc), and the names below C(/usr/sap), and changes nothing.
    No command is run, except C(cpuplugd --version) if cpuplugd is enabled or running, C(cpacfstats) on
    IBM Z, C(oslevel -s) and C(lparstat -i) on AIX, and C(sapcontrol) of every SAP instance (C(ParameterValue
    SAPSYSTEMNAME), C(GetProcessList) and C(GetVersionInfo), as C(<sid>adm), which takes root).
  - Unknown values are V(null), never 0. A file that exists but cannot be read is a warning.
  - The page C(docs/platform.md) of the collection explains how to read the facts.
attributes:
  check_mode:
    description: Changes nothing in any mode.
    support: full
  diff_mode:
    description: Nothing changes, so there is no difference to show.
    support: none
  facts:
    description: Returns facts, which are cached like all facts.
    support: full
  platform:
    description: On AIX only RV(ansible_facts.zpower_platform.system), RV(ansible_facts.zpower_platform.aix_level),
      RV(ansible_facts.zpower_platform.capacity) and RV(ansible_facts.zpower_platform.sap_instances) are known.
    support: full
    platforms: posix
options:
  root:
    description:
      - Read from this capture instead of from the running machine, as O(zpower.sap_tuning.rps#module:root) does.
      - Facts whose files are missing in it are V(null). Links in it lead to the files of that machine, never to files
        of this one, and no command is run.
    type: path
    default: /
notes:
  - Needs Python 3.6 or later on the host.
  - In a container, the facts are those of the container's host, except the interfaces.
"""

EXAMPLES = r"""
- name: What is this machine?
  zpower.sap_tuning.platform_info:

- name: Set the polarization on LPARs only
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
      description:
        - What kind of machine this is. Every key is always there; unknown values are V(null).
        - The page C(docs/platform.md) of the collection explains each field of the nested facts.
      type: dict
      contains:
        system: {description: 'The operating system, V(Linux) or V(AIX).', type: str, sample: Linux}
        architecture: {description: The instruction set., type: str, sample: s390x}
        machine_type: {description: The type of an IBM Z machine., type: str, sample: '8561'}
        machine_model: {description: The hardware model of an IBM Z machine., type: str, sample: T01}
        generation: {description: 'The generation of the machine type, V(z196) to V(z17).', type: str, sample: z15}
        virtualization:
          description:
            - V(lpar), V(zvm), V(kvm), V(other) (an unknown hypervisor), or V(none) if the host is not IBM Z.
            - V(null) if unknown.
          type: str
          sample: lpar
        hypervisors:
          description: The hypervisors below the LPAR's own, the innermost first.
          type: list
          elements: dict
          sample: [{name: LNX1, program: z/VM 7.3.0}]
        lpar:
          description: The LPAR. For a guest, the LPAR in which its hypervisor runs.
          type: dict
          sample: {name: SAPAPP1, number: 17, processors: shared, ifls: 12, ifls_dedicated: 0, ifls_shared: 12,
                   ifls_standby: 4, capped: false}
        threads_per_core:
          description: The highest number of threads that a core runs now; 2 with SMT.
          type: int
          sample: 2
        threads_per_core_possible: {description: How many threads a core could run here., type: int, sample: 2}
        smt_control: {description: The kernel's C(smt/control)., type: str, sample: 'on'}
        cpus:
          description: CPUs that are online, offline (configured, but not running), and deconfigured.
          type: dict
          sample: {online: {count: 22, list: '0-21'}, offline: {count: 2, list: '22-23'},
                   deconfigured: {count: 0, list: ''}}
        dispatching: {description: V(horizontal) or V(vertical)., type: str, sample: vertical}
        polarization:
          description: How many of the present CPUs have each polarization.
          type: dict
          sample: {vertical_high: 4, vertical_medium: 2, vertical_low: 16, horizontal: 0, unknown: 2}
        topology:
          description: How the CPUs lie in the machine.
          type: dict
          sample: {facility: true, s390_topology: 1, drawers: 4, books: 2, sockets: 2, cores: 12,
                   scheduler: {drawers: 1, books: 1, sockets: 2, cores: 12}}
        hiperdispatch:
          description: Whether the kernel leaves vertical-low CPUs idle while others steal their time.
          type: dict
          sample: {enabled: true, steal_threshold: 30, delay_factor: 4}
        cpacf:
          description: Whether the CPUs of IBM Z encrypt (CPACF), and how often they did since C(cpacfstats) counts.
          type: dict
          sample: {available: true, used: true, counters: {aes: 192384, sha: 7411}}
        kernel: {description: The kernel release., type: str, sample: 6.4.0-150600.23.25-default}
        kernel_parameters:
          description: Those of C(nosmt), C(possible_cpus), C(smt) and C(topology) that the kernel was started with.
          type: dict
          sample: {smt: '1'}
        distribution:
          description: The distribution.
          type: dict
          sample: {id: sles, version: '15.6', name: SUSE Linux Enterprise Server 15 SP6}
        aix_level: {description: The output of C(oslevel -s) on AIX., type: str, sample: 7300-02-01-2346}
        interfaces:
          description: Every network interface by its name.
          type: dict
          sample:
            hsi0: {driver: qeth, card_type: HiperSockets, card: HiperSockets, buffer_count: 128, inbuf_size: 64k,
                   mtu: 57344, operstate: up, receive_queues: 1, rps_cpus: {rx-0: 0000ffff},
                   xps_cpus: {tx-0: 000000ff, tx-1: 0000ff00}, lower: []}
        transparent_hugepages: {description: 'V(always), V(madvise) or V(never).', type: str, sample: madvise}
        conflicts:
          description: Services that set the same knobs as this collection and are enabled or running.
          type: list
          elements: dict
          sample: [{service: tuned, enabled: true, running: true, version: null, detail: its active profile is
                    sap-netweaver}]
        smc:
          description: SMC-R and SMC-D on Linux, as C(smcss), C(smcd) and C(smcr) show them; V(null) if the module
            C(smc) is not loaded.
          type: dict
          sample:
            devices: [{type: SMCR, name: mlx5_0, pci_id: '0001:00:00.0', port: 1, interface: eno1, active: true,
                       pnet_id: SAPNET, pnet_id_by_user: true, in_use: 2}]
            ueids: [SAP.PRD]
            sockets: [{peer: 192.0.2.21, mode: TCP, fallback: 0x03010000 (the peer does not support SMC), count: 2}]
            stats:
              SMCR: {client_v1: 0, client_v2: 4, server_v1: 0, server_v2: 0, bytes_received: 4096, bytes_sent: 4096}
              SMCD: {client_v1: 0, client_v2: 0, server_v1: 0, server_v2: 0, bytes_received: 0, bytes_sent: 0}
              handshake_errors: 0
              fallbacks: 2
              fallback_reasons: [{end: client, reason: 0x03010000 (the peer does not support SMC), count: 2}]
        capacity:
          description: How many cores the LPAR is entitled to; V(null) on other machines. On IBM Z, root sees more.
          type: dict
          sample: {source: diag_204, global_data: true, type: IFL, online_cores: 8, weight: 100, weight_sum: 500,
                   shared_physical: 16, entitled_cores: 3.2, entitled_range: [3.0, 3.5], capped: false,
                   absolute_cap: null, group: {name: null, cap: null}, vertical: {high: 2, medium: 2, low: 4},
                   smt: null, mode: null, virtual_cpus: {online: null, minimum: null, maximum: null},
                   pool: {id: null, cores: null, entitled: null}, why: null, sentence: '...'}
        cluster:
          description:
            - Whether Linux is a node of a Pacemaker cluster, which resources manage the SAP instances, and what is in
              maintenance.
            - Only files are read. What they do not tell, such as C(cib.xml) to others than root, is V(unknown).
          type: dict
          sample: {member: true, pacemaker: active, maintenance: {cluster: 'off', node: 'off'}, why_unknown: '',
                   instances: [{sid: C11, name: ASCS01, resources: [rsc_sap_C11_ASCS01], maintenance: 'off',
                   connector: /usr/sap/C11/ASCS01/exe/saphascriptco.so}]}
        sap_instances:
          description: The SAP instances, running or not.
          type: list
          elements: dict
          sample: [{sid: C11, name: D00, number: '00', type: D, role: application_server, primary: null, host: sapapp1,
                    profile: /usr/sap/C11/SYS/profile/C11_D00_sapapp1, user: c11adm, enqueue: null,
                    unit: SAPC11_00.service, status: running, status_reason: '', kernel: disp+work 753 patch 900}]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._machine.facts import facts
from ..module_utils._machine.reading import HostError, host_and_system


def main():
    module = AnsibleModule(argument_spec=dict(root=dict(type="path", default="/")), supports_check_mode=True)
    try:
        host, system = host_and_system(module.params["root"])
    except HostError as error:
        module.fail_json(msg="root: %s" % error)
    found = facts(host, system)
    for remark in (host.capture.notes if host.capture else []) + host.summary():
        module.warn(remark)
    module.exit_json(changed=False, ansible_facts={"zpower_platform": found})


if __name__ == "__main__":
    main()
