#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters in SAP profiles: face of module_utils/_tunings/sap_profile.py."""

DOCUMENTATION = r"""
---
module: sap_profile
short_description: Set parameters in SAP profiles, and prove them against the running instance
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Changes, adds or takes out parameters of instance profiles and of the default profile, and leaves every other byte
    as it is, comments, order, spacing, line ends and encoding. Directives (C(_NAME), C(SETENV_00), C(Execute_00),
    C(Start_Program_00)) and lines that are commented out are never touched.
  - Of several lines of one parameter the last one counts and is the one that is changed; the others are reported.
  - A parameter that is not there yet goes to the end, below a comment with the date and O(change).
  - The new profile is checked with C(sappfpar) where the SAP kernel is there, and takes the place of the old one in one
    step. Owner, mode, access control list and SELinux context stay. A link is followed.
  - The running value is what C(sapcontrol) says (over the local socket, as C(<sid>adm)); the value of the next start is
    what C(sappfpar) reads in the profile. If they differ the verdict is V(pending_restart). An instance is restarted
    only if O(restart) names it.
  - C(sapcontrol) is answered by C(sapstartsrv), from the profiles as they were when C(sapstartsrv) started. If it was
    restarted alone (C(RestartService)) and a profile has changed since the start of the instance, the running value is
    V(not proved) and the verdict V(pending_restart). A stopped instance has no running values.
  - Parameters that the published studies changed are checked; others are allowed, with a remark.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  profile:
    description: Absolute path of a profile, instead of O(sid) and O(instance).
    type: str
  sid:
    description: The system, such as V(PRD).
    type: str
  instance:
    description:
      - An instance of the system on this host, such as V(D00) or V(ASCS01); V(DEFAULT) for the default profile.
      - A pattern such as V(D*) means every such instance of the host. Where there is none, the record says
        V(not_applicable).
      - SAP HANA is left alone.
    type: str
  presets:
    description:
      - Parameters of a published study, which O(parameters) can override.
      - V(realtime_scheduler) is SCHED_RR with priority 99, 6 % faster on 64 IFLs with SMT and a loss on 128 (IBM,
        Performance Evaluation of SAP Application Servers on Z, v1.02, 5.7). It needs more than the profile, which the
        reason names where it is missing.
      - V(update_local) keeps updates on the instance that asked for them (IBM, SAP CRM 7.0 on IBM Z, v1.00, 2.2.3).
      - V(memory_std) and V(memory_map) choose how extended memory is mapped, on Linux only (Red Hat, Performance &
        Scalability of Virtualized SAP Servers on RHEL, 2008, 6.2).
      - V(enqueue_table) is a lock table of 640000 KB (IBM, SMC-R on AIX for SAP, v1.0, creation of locks).
    type: list
    elements: str
    choices: [realtime_scheduler, update_local, memory_std, memory_map, enqueue_table]
    default: []
  parameters:
    description:
      - Names and values, exactly as the profile shall have them; C($(...)) stays text. Null takes the parameter out.
      - Write what YAML would take for a truth value or a number with a fraction in quotes.
    type: dict
    default: {}
  profiles:
    description: Several profiles in one call, instead of the options above.
    type: list
    elements: dict
    default: []
    suboptions:
      profile:
        description: As O(profile).
        type: str
      sid:
        description: As O(sid).
        type: str
      instance:
        description: As O(instance).
        type: str
      presets:
        description: As O(presets).
        type: list
        elements: str
        choices: [realtime_scheduler, update_local, memory_std, memory_map, enqueue_table]
        default: []
      parameters:
        description: As O(parameters).
        type: dict
        default: {}
      left_to:
        description:
          - The host that changes this profile, which both share. Here it is only looked at.
        type: str
  change:
    description: The name of the change, for the comment above new lines.
    type: str
    default: ""
  manage_rtprio:
    description:
      - If a profile asks for a real-time scheduler, allow it to the ABAP instances of this host that read the profile,
        on Linux. This writes a drop-in with C(LimitRTPRIO=99) if the instance has a systemd unit, and a file for
        C(<sid>adm) if there is the folder C(/etc/security/limits.d).
      - Each file is a subject of its own. Both act from the next start of C(sapstartsrv) on, which O(restart) does too.
      - Where systemd runs it reads the drop-in at once (C(systemctl daemon-reload)).
      - Without this option such files are not looked at. O(state=restored) takes them back in any case.
    type: bool
    default: false
  restart:
    description:
      - Instances, as system and number such as V(PRD_00), that may be stopped and started where they run with other
        values than stored ones. They are restarted one after another.
      - If one does not come back, the values before are stored again, it is started once more, and the module fails.
        The instances after it are not touched.
      - An instance that is stopped stays so. Names of instances that are not on this host are ignored.
    type: list
    elements: str
    default: []
  restart_timeout:
    description: Seconds that one stop may take, and one start.
    type: int
    default: 600
attributes:
  platform:
    platforms: linux, aix
notes:
  - Needs root, or the user that owns the profile and may write to the journal's folder.
  - A profile on a file system that several hosts share is locked against a second writer by a file beside it.
  - What lies under C(rdisp/linux/), and C(es/implementation), is left out on AIX.
"""

EXAMPLES = r"""
- name: Real-time scheduling of the work processes of every dialog instance of this host
  zpower.sap_tuning.sap_profile:
    sid: PRD
    instance: D*
    presets: [realtime_scheduler]
    parameters:
      rdisp/linux/os_priority: 40

- name: A larger lock table, and a parameter that goes
  zpower.sap_tuning.sap_profile:
    sid: PRD
    instance: DEFAULT
    presets: [enqueue_table]
    parameters:
      enque/deque_wait_answer:
    change: CHG0042

- name: Two profiles in one call, and the instance restarted at once
  zpower.sap_tuning.sap_profile:
    profiles:
      - sid: PRD
        instance: D00
        presets: [update_local]
      - profile: /sapmnt/PRD/profile/PRD_ASCS01_prdascs
        parameters:
          enque/table_size: 640000
    restart: [PRD_00]

- name: Every profile back to what it was
  zpower.sap_tuning.sap_profile:
    state: restored
"""

RETURN = r"""
tuning:
  description: One record for each profile, and for each file of O(manage_rtprio).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  contains:
    name:
      description: The tuning.
      returned: always
      type: str
      sample: sap_profile
    subject:
      description: The path of the profile, links followed, or of the file of O(manage_rtprio).
      returned: always
      type: str
      sample: /sapmnt/PRD/profile/PRD_D00_sapapp1
    wanted:
      description: What was asked for.
      returned: always
      type: dict
      sample: {state: present, presets: [], parameters: {rdisp/wp_no_btc: '8'}}
    before:
      description:
        - The values found, RV(ignore:running), RV(ignore:stored), and those of the next start in RV(ignore:next_boot),
          by the name of the parameter; in the record of a default profile the running and next ones with the instance.
          A running value is V(not proved) if start times do not prove what C(sapcontrol) says.
      returned: always
      type: dict
      sample: {running: {rdisp/wp_no_btc: '6'}, stored: {rdisp/wp_no_btc: '6'}, next_boot: {rdisp/wp_no_btc: '6'}}
    after:
      description: The same after the run; in check mode what it would be.
      returned: always
      type: dict
      sample: {running: {rdisp/wp_no_btc: '6'}, stored: {rdisp/wp_no_btc: '8'}, next_boot: {rdisp/wp_no_btc: '8'}}
    verdict:
      description:
        - V(compliant) and V(changed) are as wanted. V(pending_restart) is stored, and in force after a restart, for
          which the reason may name something that the machine lacks, such as the right to real-time priorities.
        - V(drifted) is not as wanted, found in check mode, or overruled by another profile, or left alone by
          O(state=restored) because someone else has changed it since.
        - V(not_applicable) says why and is no failure.
      returned: always
      type: str
      sample: pending_restart
    reason:
      description: Why the verdict is what it is.
      returned: always
      type: str
      sample: >-
        /sapmnt/PRD/profile/PRD_D00_sapapp1 rdisp/wp_no_btc: 6 is in force, 8 after a restart of the instance
    remarks:
      description: What is worth knowing although nothing is wrong.
      returned: always
      type: list
      elements: str
      sample: ['rdisp/wp_no_dia stands in lines 12 and 40; the last one counts']
    restart:
      description: What must be restarted for the values to act.
      returned: always
      type: str
      sample: instance
    conflicts:
      description:
        - Where another profile sets the same, with RV(ignore:file), RV(ignore:line), its value, its effect, and whether
          it wins (V(yes), V(no)).
      returned: always
      type: list
      elements: dict
      sample:
        - what: default profile
          file: /sapmnt/PRD/profile/DEFAULT.PFL
          line: 12
          value: '4'
          wins: 'no'
          effect: sets rdisp/wp_no_btc to 4 and loses to /sapmnt/PRD/profile/PRD_D00_sapapp1
    sources:
      description: Where the tuning is published.
      returned: always
      type: list
      elements: str
      sample: ['Performance Evaluation of SAP Application Servers on Z (IBM, v1.02, 2018-07-16), 5.7']
    undo:
      description: How it is taken back.
      returned: always
      type: str
      sample: 'ansible-playbook zpower.sap_tuning.rollback, or state: restored of sap_profile'
instances:
  description: The instances of this host that read the profiles.
  returned: with O(state=present), when the input was accepted
  type: list
  elements: dict
  contains:
    sid:
      description: The system.
      returned: always
      type: str
      sample: PRD
    name:
      description: The instance.
      returned: always
      type: str
      sample: D00
    number:
      description: Its number.
      returned: always
      type: str
      sample: '00'
    user:
      description: Its administrator.
      returned: always
      type: str
      sample: prdadm
    unit:
      description: The systemd unit that starts it, or null.
      returned: always
      type: str
      sample: SAPPRD_00.service
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._engine.entry_point import STATE_ARGUMENTS, run_tuning
from ..module_utils._tunings.sap_profile import SapProfile

PRESETS = ["realtime_scheduler", "update_local", "memory_std", "memory_map", "enqueue_table"]


def main():
    entry = dict(
        profile=dict(type="str"),
        sid=dict(type="str"),
        instance=dict(type="str"),
        presets=dict(type="list", elements="str", choices=PRESETS, default=[]),
        parameters=dict(type="dict", default={}),
    )
    module = AnsibleModule(
        argument_spec=dict(
            STATE_ARGUMENTS,
            profiles=dict(type="list", elements="dict", default=[], options=dict(entry, left_to=dict(type="str"))),
            manage_rtprio=dict(type="bool", default=False),
            change=dict(type="str", default=""),
            restart=dict(type="list", elements="str", default=[]),
            restart_timeout=dict(type="int", default=600),
            **entry,
        ),
        supports_check_mode=True,
    )
    run_tuning(module, SapProfile)


if __name__ == "__main__":
    main()
