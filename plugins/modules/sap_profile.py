#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters in SAP profiles: options of module_utils/_tunings/sap_profile.py."""

DOCUMENTATION = r"""
---
module: sap_profile
short_description: Set parameters in SAP profiles and compare them with the running instance
version_added: 0.1.0
description:
  - Changes, adds or removes parameters of instance profiles and of the default profile, and keeps every other byte,
    that is comments, order, spacing, line ends and encoding. Directives (C(_NAME), C(SETENV_00), C(Execute_00),
    C(Start_Program_00)) and commented lines are never touched.
  - If a parameter has several lines, the last one counts and is changed; the others are reported.
  - A new parameter goes to the end, below a comment with the date and O(change).
  - The new profile is checked with C(sappfpar) if the SAP kernel is installed, and replaces the old one atomically.
    Owner, mode, access control list and SELinux context stay. A link is followed.
  - The running value comes from C(sapcontrol) (over the local socket, as C(<sid>adm)), the value of the next start
    from C(sappfpar), which reads the profile. If they differ, the verdict is V(pending_restart). An instance is
    restarted only if O(restart) names it.
  - C(sapcontrol) is answered by C(sapstartsrv), from the profiles as they were when C(sapstartsrv) started. If it was
    restarted alone (C(RestartService)) and a profile has changed since the start of the instance, the running value
    is V(not proved) and the verdict V(pending_restart). A stopped instance has no running values.
  - Parameters that the published studies changed are checked; others are allowed, with a remark.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
  - zpower.sap_tuning.restarting
options:
  profile: &profile
    description: Absolute path of a profile, instead of O(sid) and O(instance).
    type: str
  sid: &sid
    description: The SAP system, such as V(PRD).
    type: str
  instance: &instance
    description:
      - The instance of the system on this host (V(D00)), a shell pattern (V(D*)), or V(DEFAULT) for C(DEFAULT.PFL).
      - A pattern means every such instance of the host. If there is none, the record says V(not_applicable).
      - SAP HANA is left alone.
    type: str
  presets: &presets
    description:
      - Parameters of published studies; O(parameters) override them. V(memory_std) excludes V(memory_map).
      - V(realtime_scheduler) is SCHED_RR with priority 40. The study had 99 (C(rdisp/linux/os_priority) in
        O(parameters)), 6 % faster on 64 IFLs with SMT and a loss on 128 (IBM, Performance Evaluation of SAP
        Application Servers on Z, v1.02, 5.7). It has further requirements; the reason names missing ones. See
        O(accept_realtime).
      - V(update_local) keeps updates on the instance that requested them (IBM, SAP CRM 7.0 on IBM Z, v1.00, 2.2.3). An
        instance that would have no work process for them (C(rdisp/wp_no_vb)) is refused.
      - V(memory_std) and V(memory_map) choose how extended memory is mapped, on Linux only (Red Hat, Performance &
        Scalability of Virtualized SAP Servers on RHEL, 2008, 6.2). On 64-bit Linux C(std) is SAP's default from kernel
        7.10 on, and C(map) is not needed there (SAP Note 941735). With C(map) the record names the size of
        C(/dev/shm) and the size that SAP asks for.
      - V(enqueue_table) is a lock table of 640000 KB (IBM, SMC-R on AIX for SAP, v1.0, creation of locks). It acts on
        ENSA1 only, and is left out if the profiles start ENSA2.
    type: list
    elements: str
    choices: [realtime_scheduler, update_local, memory_std, memory_map, enqueue_table]
    default: []
  parameters: &parameters
    description:
      - Parameters by name, with values exactly as the profile should have them. Null removes the parameter.
      - C($(...)) is not replaced. Quote values that YAML reads as a truth value or a number with a fraction.
    type: dict
    default: {}
  profiles:
    description: Several profiles, each a dictionary with C(profile), or C(sid) and C(instance), and with C(presets) and
      C(parameters).
    type: list
    elements: dict
    default: []
    suboptions:
      profile: *profile
      sid: *sid
      instance: *instance
      presets: *presets
      parameters: *parameters
      left_to:
        description:
          - For the roles of this collection only; it may change in any version.
          - The host that changes this profile, which both share. This host only checks it.
        type: str
  manage_rtprio:
    description:
      - If a profile requests a real-time scheduler, allow it with a drop-in for the instance's systemd unit and
        a file in C(/etc/security/limits.d).
      - On Linux, for the ABAP instances of this host that read the profile. They may have the priority that the profile
        requests, and 99 if that is not a number. The drop-in with C(LimitRTPRIO=) is written if the instance has a
        systemd unit, the file for C(<sid>adm) if the folder C(/etc/security/limits.d) exists.
      - Each file is a subject of its own. Both act from the next start of C(sapstartsrv) on,
        which O(restart) does too.
      - If systemd runs, it reads the drop-in at once (C(systemctl daemon-reload)).
      - Without this option such files are not checked. O(state=restored) takes them back in any case.
    type: bool
    version_added: 0.9.0
    default: false
  accept_realtime:
    description:
      - Set a real-time scheduler, or C(rdisp/linux/os_priority) of 50 and more, also on a node of a cluster and on a
        host with SAP HANA, Db2 or another SAP system, whose processes then wait for work processes. A node may be
        fenced.
      - With V(false), the profile is left alone there, and the record is V(failed).
    type: bool
    version_added: 1.0.0
    default: false
attributes:
  platform:
    platforms: linux, aix
notes:
  - Needs root, or the user that owns the profile and may write to the journal's folder.
  - A file beside a profile locks it against a second writer on another host that shares the file system.
  - O(profiles) excludes O(profile), O(sid), O(instance), O(presets) and O(parameters).
  - Parameters below C(rdisp/linux/), and C(es/implementation), are left out on AIX.
"""

EXAMPLES = r"""
- name: Real-time scheduling of the work processes of every dialog instance of this host
  zpower.sap_tuning.sap_profile:
    sid: PRD
    instance: D*
    presets: [realtime_scheduler]
    parameters:
      # as in the study; the preset has 40
      rdisp/linux/os_priority: 99

- name: A larger lock table of ENSA1, and a parameter less
  zpower.sap_tuning.sap_profile:
    sid: PRD
    instance: ASCS01
    presets: [enqueue_table]
    parameters:
      ipc/shm_psize_34: 0
      enque/deque_wait_answer:
    change: CHG0042

- name: Two profiles in one call, and the instance restarted after its batch jobs and updates have had 8 minutes to end
  zpower.sap_tuning.sap_profile:
    profiles:
      - sid: PRD
        instance: D00
        presets: [update_local]
        parameters:
          rdisp/wp_no_vb: 4
      - profile: /sapmnt/PRD/profile/PRD_ASCS01_prdascs
        parameters:
          enque/table_size: 640000
    restart: [PRD_00]
    restart_soft_timeout: 480
"""

RETURN = r"""
tuning:
  description: One record per profile, and per file of O(manage_rtprio). Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - {name: sap_profile, subject: /sapmnt/PRD/profile/PRD_D00_sapapp1, verdict: pending_restart,
       reason: 'rdisp/wp_no_btc: 6 is in force, 8 after a restart of the instance'}
instances:
  description: The instances of this host that read the profiles, each with system, name, number, administrator, and
    the systemd unit that starts it, or null.
  returned: with O(state=present), when the input was accepted
  type: list
  elements: dict
  sample: [{sid: PRD, name: D00, number: '00', user: prdadm, unit: SAPPRD_00.service}]
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.sap_profile import SapProfile


def main():
    run_tuning(SapProfile)


if __name__ == "__main__":
    main()
