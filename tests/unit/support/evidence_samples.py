# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of verify and site as the modules return them, for the tests of the evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import Any, cast

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._answers.rows import plain, rows_of
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import document, waivers, waiving
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.document import Found
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.shapes import Document, Host, RunFields
from report_samples import HOSTILE, HOSTILE_INVISIBLE

NASTY = (
    *HOSTILE,
    HOSTILE_INVISIBLE[0],
    "a\nb\x1b[31m\x00\ud800\uffff",
    '"\\\n',
    "`x` | <b> ]]> -->",
    "@team #1 \u2028",
)
LOST = "Failed to connect to the host via ssh: connect to host port 22: No route to host"
TUNINGS = ("rps", "smc_r", "cpu_polarization", "cpu_topology", "smc_sysctls", "sap_profile", "aix_device_attributes")


def run(kind: str = "verify", **more: Any) -> RunFields:
    fields: Any = {
        "kind": kind,
        "check": False,
        "limit": None,
        "tags": [],
        "skip_tags": [],
        "begun": "2026-11-20T10:00:00Z",
        "ended": "2026-11-20T10:02:13Z",
        "collection": "0.1.0",
        "ansible_core": "2.21.5",
        "inventory": "inventories/site",
    }
    return cast(RunFields, fields | more)


def row(name: str = "rps", subject: str = "hsi0", verdict: str = "compliant", **more: Any) -> dict[str, Any]:
    """Return a record as a module returns it in check mode."""
    now, wanted = {"rx-0": "0"}, {"rx-0": "ffff"}
    found = wanted if verdict in ("compliant", "waived") else now
    boot = {"rps_cpus": "ffff"}
    return {
        "name": name,
        "subject": subject,
        "wanted": {"state": "present", "rps_cpus": "ffff"},
        "before": {"running": found, "stored": {"udev rule": "rps_cpus=ffff"}, "next_boot": boot},
        "after": {"running": wanted, "stored": {"udev rule": "rps_cpus=ffff"}, "next_boot": boot},
        "verdict": verdict,
        "reason": "" if verdict == "compliant" else f"{subject} rx-0: off (mask 0), wanted CPUs 0-15 (mask ffff)",
        "remarks": [],
        "restart": "none",
        "conflicts": [],
        "sources": ["Linux kernel, Documentation/networking/scaling.rst"],
        "undo": f"ansible-playbook zpower.sap_tuning.rollback, or state: restored of {name}",
        **more,
    }


def platform(cpus: int = 22, mtu: int = 57344, **more: Any) -> dict[str, Any]:
    hsi0 = {"driver": "qeth", "mtu": mtu, "rps_cpus": {"rx-0": "ffff"}, "lower": []}
    return {
        "system": "Linux",
        "generation": "z15",
        "lpar": {"name": "SAPAPP1", "number": 17, "ifls": 12},
        "cpus": {"online": {"count": cpus, "list": f"0-{cpus - 1}"}},
        "interfaces": {"hsi0": hsi0, "eth0": {"driver": "qeth", "mtu": 1500, "rps_cpus": {}, "lower": ["a"]}},
        "smc": {"sockets": [{"peer": "192.0.2.21", "count": 2}], "stats": {"SMCR": {"client_v2": 4}}},
        **more,
    }


def waiver(**more: Any) -> dict[str, Any]:
    fields = {"tuning": "rps", "subject": "eth*", "hosts": "db", "reason": "replaced in January", "owner": "Ada Byron"}
    return {**fields, "until": "2026-12-10", **more}


def result(
    outcome: str = "ok",
    message: str = "",
    rows: object = None,
    platform: object = None,
    *,
    accepted: object = None,
    names: Collection[str] = ("app1",),
    strict: Collection[str] = (),
) -> Found:
    """Return what the callback gets about a host from the action tunings. ``names``: the host and its groups."""
    found, mistakes = waivers.parse(accepted, (*TUNINGS, "system_base"), today=date(2026, 11, 20))
    judged, uses, _demanded = waiving.judge(rows_of(rows), found, names, strict)
    facts = plain(platform, document.MOST_FACTS) if platform else None
    host: Host = {"host": "", "outcome": outcome, "message": message, "rows": judged, "platform": facts}
    return host, uses, mistakes


def build(about: RunFields, planned: Iterable[str], results: Mapping[str, Found]) -> Document:
    """The document of a run; a planned host without a result was not reached."""
    found = {**dict.fromkeys(planned, result("not_reached")), **results}
    return document.build(about, [({**host, "host": name}, *more) for name, (host, *more) in found.items()])


def site(**more: Any) -> dict[str, Any]:
    """Return twelve hosts: drift on three, one unreachable, one failed, one never reached, a waiver, an expired one."""
    hosts = [f"app{number}" for number in range(1, 13)]
    accepted = [
        waiver(),
        waiver(tuning="sap_profile", subject="*", hosts=["app4"], until="2026-11-01", owner="Grace Hopper"),
        waiver(subject="hsi7", hosts="*", owner="nobody"),
    ]
    results = {}
    for number, name in enumerate(hosts[:11], 1):
        rows = [row(), row(subject="eth0"), row("smc_r", "smc", "not_applicable", reason="no RoCE device")]
        rows += [row("sap_profile", "PRD_D01"), row("platform", "SMT", reason="2 of 2 possible threads per core")]
        if number <= 3:
            other = {
                "what": "udev rule",
                "file": "/etc/udev/rules.d/95-net.rules",
                "line": 3,
                "value": "1",
                "wins": "no",
            }
            rows[0] = row(verdict="drifted", conflicts=[other])
        if number == 4:
            rows[1] = row(
                subject="eth0", verdict="drifted", reason="eth0 rx-0: off (mask 0), wanted CPUs 0-15 (mask ffff)"
            )
            rows[3] = row("sap_profile", "PRD_D01", "drifted", reason="rdisp/wp_no_dia: 10, wanted 20")
        if number == 5:
            rows[3] = row(
                "sap_profile",
                "PRD_D01",
                "pending_restart",
                reason="rdisp/wp_no_dia: 10 is in force, 20 after a restart",
            )
        if number == 6:
            rows[2] = row("smc_r", "smc", "unsupported", reason="the kernel was built without SMC")
        outcome, said, facts = "ok", "", platform()
        if number in (9, 11):
            outcome, said, facts, rows = "unreachable", LOST, None, []
        if number == 10:
            outcome, said, facts = "failed", "sap_profile: /usr/sap/PRD/SYS/profile does not answer", None
        known = [name, "db"] if number == 4 else [name]
        results[name] = result(outcome, said, rows, facts, accepted=accepted, names=known)
    return build(run(**more), hosts, results)


def hostile() -> dict[str, Any]:
    """Return a sample in which every text that a host or an inventory can choose is hostile."""
    accepted = [waiver(tuning="smc_r", subject="*", hosts="*", reason="|".join(HOSTILE), owner=HOSTILE[0])]
    accepted += [{HOSTILE[0]: 1, **waiver()}]
    results = {}
    for text in NASTY:
        place = {"running": {text: text}, "stored": text, "next_boot": {text: [text, {text: text}]}}
        more = {"before": place, "after": {**place, "running": text}, "wanted": text, "reason": text, "undo": text}
        more |= {"remarks": [text], "sources": [text], "conflicts": [text, {"what": text, "file": text, "line": text}]}
        rows = [row(text, text, verdict, **more) for verdict in ("drifted",)]
        rows += [row("rps", text, verdict, **more) for verdict in ("failed",)]
        rows += [row("smc_r", text, "drifted", **more), row("cpu_topology", text, "not_applicable", **more)]
        facts = {text: text, "interfaces": {text: {text: text}}}
        results[text] = result("ok", text, rows, facts, accepted=accepted, names=[text])
        results[text + "x"] = result("failed", text, accepted=accepted, names=[text + "x"])
    inventory = HOSTILE_INVISIBLE[0]
    more = {"inventory": inventory, "limit": HOSTILE[0], "tags": [HOSTILE[1]]}
    return build(run(**more), results, results)


def fleet(count: int) -> dict[str, Any]:
    """Return this many hosts with all tunings; each tenth has drifted in its own way, each twentieth is lost."""
    results = {}
    for number in range(count):
        rows = [row(name, f"subject{place}") for name in TUNINGS for place in range(2)]
        if number % 10 == 0:
            rows[3] = row(TUNINGS[1], "subject1", "drifted", reason=f"subject1: {number}, wanted 1")
        told: Any = ("unreachable", LOST) if number % 20 == 7 else ("ok", "", rows, platform())
        accepted = [waiver(hosts="app1*", subject="subject0")]
        results[f"app{number}"] = result(*told, accepted=accepted, names=[f"app{number}"])
    return build(run(), results, results)


def empty() -> dict[str, Any]:
    return build(run(), [], {})


def unfinished() -> dict[str, Any]:
    return build(run("site", ended=None), ["app1", "app2"], {})


def applied() -> dict[str, Any]:
    rows = [row(verdict="changed"), row(subject="eth0", verdict="pending_restart")]
    return build(run("site"), ["app1"], {"app1": result("ok", "", rows)})


def stopped() -> dict[str, Any]:
    results = {"app1": result("ok", "", [row(verdict="changed")])}
    return build(run("rollout", stopped=f"batch 2: {HOSTILE[0]}"), ["app1", "app2"], results)


def confirmed() -> dict[str, Any]:
    return build(run("confirm"), ["app1"], {"app1": result("ok", "", [row(), row("smc_r", "all", "drifted")])})


SAMPLES = {
    "site": site,
    "hostile": hostile,
    "fleet": lambda: fleet(40),
    "empty": empty,
    "unfinished": unfinished,
    "applied": applied,
    "stopped": stopped,
    "confirmed": confirmed,
}
