#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workloads of the published evaluations, and any program as a workload; the code is in module_utils/_measure."""

DOCUMENTATION = r"""
---
module: measure_workload
short_description: Measure network, disk and cryptography workloads of published evaluations, or any program
version_added: 0.1.0
description:
  - Measures one round of a set of workloads and records every run with the CPU time it cost.
  - With O(workload=network), transactions and streams between two hosts, over one or many connections. They are run
    by C(pingpong), which comes with this collection, or by the program of O(network.tool) if both hosts have it.
  - With O(workload=fio) reads and writes of files, with O(workload=openssl) encryption, both on this host
    alone and with O(side=client).
  - With O(workload=command) programs of the user's on this host. With the O(session) of a server on another host,
    the records also hold the CPU time of that host.
  - Every record names its tool. Figures of different tools are not comparable.
  - The order of the workloads rotates with O(round).
extends_documentation_fragment:
  - zpower.sap_tuning.measuring
options:
  workload:
    description: The set of workloads.
    type: str
    choices: [network, fio, openssl, command]
    required: true
  network:
    description: Options of O(workload=network).
    type: dict
    suboptions:
      tool:
        description:
          - The tool that sends the messages. By default a server uses V(pingpong). A client always uses the
            tool of its O(session).
          - V(sockperf) and V(qperf) do V(latency) and V(strWrite) only, over one connection. sockperf's smallest
            message has 14 bytes.
          - V(netperf) and V(qperf) open further ports, which the system chooses.
          - Runs of all but pingpong last whole seconds.
        type: str
        choices: [pingpong, netperf, qperf, sockperf]
      kinds:
        description:
          - V(latency) sends 1 byte and waits for 1 byte, V(onlTrans) sends 200 bytes and waits for 1000, V(database)
            sends 200 bytes and waits for 30 KiB.
          - V(strRead) and V(strWrite) are streams of messages of 30 KiB to the client and from it.
        type: list
        elements: str
        choices: [latency, onlTrans, database, strRead, strWrite]
        default: [latency, onlTrans, database, strRead, strWrite]
      connections:
        description:
          - Numbers of connections that work at the same time, at most 250. Each number is one workload
            per entry of O(network.kinds).
          - pingpong takes one process per connection on both ends.
        type: list
        elements: int
        default: [1, 10, 50, 250]
      transport:
        description:
          - The kind of sockets that pingpong opens on this host, as O(zpower.sap_tuning.niping#module:transport).
        type: str
        choices: [tcp, smc]
        default: tcp
  fio:
    description:
      - Options of O(workload=fio), which needs them.
      - The files lie in a new folder below O(fio.directory), one per job. They are written before the warm-up run,
        take at most half of the free space, and are removed after the last run, also after a failure or if the module
        is killed. An existing file is never overwritten.
      - O(timeout) does not limit the time for writing the files.
    type: dict
    suboptions:
      directory:
        description:
          - An existing directory on the file system to measure, as an absolute path.
          - The directory, and type and device of its file system, must be the same in both states.
        type: path
        required: true
      patterns:
        description:
          - V(seqread) and V(seqwrite) go through the file in requests of 128 KiB, V(randread) and V(randwrite) send
            requests of 8 KiB at random places.
          - The first two are decided by KiB per second, the other two by requests per second.
        type: list
        elements: str
        choices: [seqread, seqwrite, randread, randwrite]
        default: [seqread, seqwrite, randread, randwrite]
      modes:
        description:
          - V(buffered) goes through the page cache, V(direct) past it with one request at a time per job, V(async)
            past it with up to O(fio.iodepth) requests at a time per job (C(libaio)).
          - Before each run fio drops the pages of its own files from the cache. Data written with V(buffered) are on
            the disk at the end of the run.
        type: list
        elements: str
        choices: [buffered, direct, async]
        default: [direct, async]
      jobs:
        description:
          - Numbers of jobs that work at the same time, at most 64. Each number is one workload per pattern and mode.
        type: list
        elements: int
        default: [1]
      size_mib:
        description:
          - Size of the file of one job in MiB.
          - With V(buffered), files that fit into memory soon measure the memory.
        type: int
        default: 256
      iodepth:
        description: Requests at a time per job with V(async), at most 1024.
        type: int
        default: 16
  openssl:
    description:
      - Options of O(workload=openssl), with C(openssl speed). OpenSSL 1.1.1 or later is needed.
      - Runs last whole seconds, at least one.
    type: dict
    suboptions:
      ciphers:
        description: The ciphers and hashes, for which KiB per second of wall-clock time decide, and asymmetric
          algorithms, for which signatures or keys per second do, whatever O(openssl.bytes).
        type: list
        elements: str
        choices: [aes-128-gcm, aes-256-gcm, aes-128-xts, aes-256-xts, aes-128-cbc, aes-256-cbc, sha256, sha512,
          sha3-256, sha3-512, rsa2048, rsa4096, ecdsap256, ecdsap384, ecdhp256, ecdhp384]
        default: [aes-128-gcm, aes-256-gcm, aes-128-xts, aes-256-xts, aes-128-cbc, aes-256-cbc]
      bytes:
        description: Sizes of the messages, at most 16777216. Each size is one workload per cipher.
        type: list
        elements: int
        default: [256, 1024, 8192]
      processes:
        description: Numbers of processes that work at the same time, at most 250.
        type: list
        elements: int
        default: [1]
  command:
    description:
      - Programs to measure with O(workload=command), each one workload. Required there with O(side=client).
      - A run is one execution of the program, without a shell and without input. O(run_seconds), O(timeout) and
        O(path) have no meaning for it.
      - A program that a user other than root could replace runs as that user. As root, the module also refuses a
        O(command[].directory) or an argument (a script) that another user could replace.
    type: list
    version_added: 0.9.0
    elements: dict
    suboptions:
      name:
        description: The workload is called C(command-<name>). Up to 48 letters, digits, C(.), C(_) and C(-).
        type: str
        required: true
      argv:
        description:
          - The program, by its path or by its name in C(PATH), and its arguments. Quote numbers.
          - It is part of the record, and of the list of processes, so it must not hold secrets.
        type: list
        elements: str
        required: true
      user:
        description: The user that runs the programs. The module must run as root for another user than its own.
        type: str
      directory:
        description: Where the programs work, an absolute path; C(/) by default.
        type: path
      environment:
        description:
          - Variables of the programs. They also get C(PATH), C(TZ) and C(LC_ALL=C), and as another user
            C(HOME), C(USER) and C(LOGNAME). No profile of a login shell is read.
          - Values are kept out of records, logs and messages, also where the program prints a value of 4 or more
            characters. Records hold the names.
        type: json
      timeout:
        description: The time limit of each program in seconds, at most 86400. Then its process group is ended.
        type: float
        default: 3600
      exit_codes:
        description: The exit codes of a good run. With any other one the run has failed.
        type: list
        elements: int
        default: [0]
      figures:
        description:
          - Figures in the output of the program, at most 20. The record of a run has them. A run without one of
            them has failed.
          - The first 512 KiB and the last 512 KiB of each output are searched, for at most 10 seconds.
        type: list
        elements: dict
        default: []
        suboptions:
          name:
            description:
              - Small letters, digits and underscores, with the unit at the end, such as C(rows_per_s).
              - A figure called V(units) is the number of units of work of the run.
            type: str
            required: true
          unit:
            description: The unit in words, such as V(rows/s). Required, except for V(units).
            type: str
          better:
            description: Whether a lower or a higher figure is better. Required, except for V(units).
            type: str
            choices: [lower, higher]
          pointer:
            description: A JSON pointer such as C(/jobs/0/rate) into an output that is one JSON document.
            type: str
          pattern:
            description:
              - A regular expression of Python whose group C(value) is the number, see the examples. The last match
                counts. C(^) and C($) are the ends of each line.
              - The number has digits and may have a decimal point and an exponent.
            type: str
          output:
            description: The output with the figure.
            type: str
            choices: [stdout, stderr]
            default: stdout
      metric:
        description:
          - The metric that decides, V(elapsed_s), V(units_per_s) or the name of a figure.
          - By default the first of O(command[].figures), or V(elapsed_s) without figures.
        type: str
      units:
        description:
          - The units of work of each run, if they are always the same; V(1) by default.
          - Elapsed times of different amounts of work are not comparable. CPU time is reported per unit.
        type: float
      unit:
        description: One unit of work in words.
        type: str
        default: run
      prepare:
        description: A program with its arguments that runs once per round, before the first run.
        type: list
        elements: str
        default: []
      cleanup:
        description:
          - A program with its arguments that runs once per round, after the last run, also after a failure.
          - If it fails, record and result say so.
          - If the module is killed, O(command[].cleanup_run) and O(command[].cleanup) run anyway, even if no run
            has begun.
        type: list
        elements: str
        default: []
      prepare_run:
        description: A program with its arguments that runs before each run, outside of the measured time.
        type: list
        elements: str
        default: []
      cleanup_run:
        description: Like O(command[].prepare_run), but after each run, also if the run failed.
        type: list
        elements: str
        default: []
"""

EXAMPLES = r"""
- name: A server on the peer, of netperf, at a port that the firewall lets through
  zpower.sap_tuning.measure_workload:
    workload: network
    side: server
    address: 10.0.0.2
    network:
      tool: netperf
    port: 12865
    control_port: 12866
  delegate_to: db1
  register: server

- name: The whole published matrix, one round, stored on the controller
  zpower.sap_tuning.measure_workload:
    workload: network
    side: client
    session: "{{ server.session }}"
    address: 10.0.0.2
    peer: db1
    change: rps-2026-11
    phase: before
    round: 1

- name: Transactions over 50 connections, runs of ten seconds, only registered
  zpower.sap_tuning.measure_workload:
    workload: network
    side: client
    session: "{{ server.session }}"
    address: 10.0.0.2
    network:
      kinds: [onlTrans]
      connections: [50]
    run_seconds: 10
  register: quick

- name: Random requests of 8 KiB from 1 and from 8 jobs on the disk of the data, one round
  zpower.sap_tuning.measure_workload:
    workload: fio
    side: client
    fio:
      directory: /sapdata/scratch
      patterns: [randread, randwrite]
      jobs: [1, 8]
      size_mib: 4096
    run_seconds: 10
    change: disk-2026-11
    phase: before
    round: 1

- name: AES-GCM with the published sizes
  zpower.sap_tuning.measure_workload:
    workload: openssl
    side: client
    openssl:
      ciphers: [aes-128-gcm, aes-256-gcm]
    change: crypto-2026-11
    phase: before
    round: 1

- name: The scheduler benchmark hackbench, whose own time decides
  zpower.sap_tuning.measure_workload:
    workload: command
    side: client
    command:
      - name: hackbench
        argv: [hackbench, --groups, "20", --loops, "1000"]
        figures:
          - name: time_s
            unit: s
            better: lower
            pattern: "^Time: (?P<value>[0-9.]+)"
    change: sched-2026-11
    phase: before
    round: 1

- name: A batch job that the site's program starts and awaits; 50,000 accounts are its units of work
  zpower.sap_tuning.measure_workload:
    workload: command
    side: client
    session: "{{ agent.session }}"
    address: 10.0.0.2
    peer: db1
    command:
      - name: settlement
        argv: [/usr/local/bin/run_settlement, --wait]
        user: s4padm
        units: 50000
        unit: account
        metric: units_per_s
        timeout: 7200
        cleanup_run: [/usr/local/bin/reset_settlement]
    change: batch-2026-11
    phase: before
    round: 1
"""

RETURN = r"""
session:
  description: As M(zpower.sap_tuning.niping) returns it.
  returned: when a server was started
  type: dict
records:
  description: As M(zpower.sap_tuning.niping) returns them, one per workload.
  returned: when something was measured and O(change) is not set
  type: list
  elements: dict
paths:
  description: As M(zpower.sap_tuning.niping) returns them, one file per record.
  returned: when something was measured and O(change) is set
  type: list
  elements: str
summary:
  description: As M(zpower.sap_tuning.niping) returns it, with the metric that decides.
  returned: when something was measured
  type: list
  elements: dict
  sample: [{workload: pingpong-strWrite, peer: db1, control: false, kib_per_s: 1143217.5, runs_ok: 5, runs_failed: 0,
    error: null, record: results/rps-2026-11/app1/before-1-pingpong-strWrite-db1.json}]
"""

from ..module_utils._measure.round import entry_point
from ..module_utils._measure.round.tools import SETS as TOOLS

ARGUMENTS = dict(
    workload=dict(type="str", choices=list(TOOLS), required=True),
    network=dict(type="dict", options=TOOLS["network"].OPTIONS, apply_defaults=True),
    fio=dict(type="dict", options=TOOLS["fio"].OPTIONS),
    openssl=dict(type="dict", options=TOOLS["openssl"].OPTIONS, apply_defaults=True),
    command=dict(type="list", elements="dict", options=TOOLS["command"].OPTIONS),
)


def main():
    rules = [("state", "stopped", ("session",)), ("workload", "fio", ("fio",))]
    entry_point.run_module(ARGUMENTS, TOOLS, required_if=rules)


if __name__ == "__main__":
    main()
