# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site of eight hosts as its administrators see it: codes, tables and evidence of a rollout, of drift and of the way
back. One story, told once; each test reads a part of it. The collection is the one in ANSIBLE_COLLECTIONS_PATH: in the
session `installed`, the installed archive and nothing else.
"""

import datetime
import json
import re

import pytest
from hosts import CHOSEN, FILES, HERE, Hosts, evidence, play, standing
from jsonschema import Draft202012Validator

NAME = "site"
HOSTS = [f"app{number}" for number in range(1, 9)]
SCHEMA = json.loads((HERE / "docs" / "schemas" / "evidence-1.schema.json").read_text())
TODAY = datetime.datetime.now(datetime.timezone.utc).date()
REFUSED = 9  # a port on which no host listens
DRIFTED, WAIVED, EXPIRED, LOST = "app2", "app3", "app4", "app5"


def waiver(hosts, days, owner):
    until = (TODAY + datetime.timedelta(days)).isoformat()
    return {"tuning": "rps", "subject": "hsi*", "hosts": hosts, "reason": "on trial", "owner": owner, "until": until}


WAIVERS = [waiver(WAIVED, 20, "Ada Byron"), waiver(EXPIRED, -1, "Carl Gauss"), waiver("elsewhere", 400, "Emmy Noether")]


class Run:
    """What a playbook said, its exit code, and the one folder of evidence that it wrote."""

    def __init__(self, done, folders):
        self.code, self.said = done.returncode, done.stdout + done.stderr
        assert len(folders) <= 1, folders
        self.folder = folders[0] if folders else None

    @property
    def evidence(self):
        return evidence(self.folder)

    @property
    def hosts(self):
        return {host["host"]: host for host in self.evidence["hosts"]}

    def verdicts(self, tuning="rps"):
        """The verdicts of a tuning by host, without the hosts that have none."""
        found = {name: [r["verdict"] for r in host["rows"] if r["name"] == tuning] for name, host in self.hosts.items()}
        return {name: verdicts for name, verdicts in found.items() if verdicts}

    def lines(self, pattern):
        """The lines of the table that begin so."""
        return [line for line in self.said.partition("\nTUNINGS ")[2].splitlines() if re.match(pattern, line)]


class Site(Hosts):
    """The hosts and an empty folder to work in, with an inventory and nothing else."""

    def __init__(self, folder):
        super().__init__(NAME)
        self.folder = folder
        self.lost = {}

    def folders(self):
        return sorted(self.folder.glob("results/*/*"))

    def play(self, playbook, *options, **environment):
        """Run a playbook of the collection in the folder."""
        before = self.folders()
        hosts = {name: {**given, **self.lost.get(name, {})} for name, given in self.hosts.items()}
        chosen = {"zpower_tunings": ["cpu_topology", "rps"], **CHOSEN, "zpower_waivers": WAIVERS}
        group = {"hosts": hosts, "vars": {**self.connection, **chosen}}
        done = play(self.folder, {"erp": group}, playbook, *options, **environment)
        return Run(done, [folder for folder in self.folders() if folder not in before])


@pytest.fixture(scope="module", name="story")
def fixture_story(tmp_path_factory):
    """The whole story, run by run."""
    with standing(NAME, len(HOSTS)):
        yield dict(told(Site(tmp_path_factory.mktemp("site"))))


def told(site):
    yield "rollout", site.play("site", ANSIBLE_FORKS="20")
    for host in (DRIFTED, WAIVED, EXPIRED):
        site.on(host, "for mask in /sys/class/net/hsi0/queues/rx-*/rps_cpus; do echo 0 >$mask; done")
    site.lost = {LOST: {"ansible_port": REFUSED}}
    drift = site.play("verify")
    yield "drift", drift
    yield "limited", site.play("verify", "--limit", DRIFTED, "--tags", "rps")
    site.lost = {}
    yield "way back", site.play("rollback")
    back = site.play("verify", "-e", "zpower_rollback=true")
    yield "back", back
    yield "what changed", site.play("diff", "-e", f"zpower_from={drift.folder.name}", "-e", f"zpower_to={back.folder}")
    yield "files", [site.on(host, FILES) for host in ("app1", LOST)]


RUNS = {
    "rollout": (0, "compliant"),
    "drift": (4, "error"),
    "limited": (2, "drift"),
    "way back": (0, "compliant"),
    "back": (0, "compliant"),
}


@pytest.mark.parametrize("name", RUNS)
def test_code_and_evidence_agree(story, name):
    made = story[name]
    assert (made.code, made.evidence["result"]) == RUNS[name], made.said
    assert not list(Draft202012Validator(SCHEMA).iter_errors(made.evidence))
    assert made.evidence["run"]["ended"]
    assert "[WARNING]" not in made.said


def test_a_rollout_reaches_every_host(story):
    made = story["rollout"]
    assert made.verdicts() == dict.fromkeys(HOSTS, ["changed"])
    assert made.evidence["totals"]["outcomes"]["ok"] == 8
    assert made.evidence["run"]["collection"] and not made.evidence["run"]["check"]


def test_drift_is_told_host_by_host(story):
    made = story["drift"]
    states = {WAIVED: ["waived"], DRIFTED: ["drifted"], EXPIRED: ["drifted"]}
    assert made.verdicts() == {h: states.get(h, ["compliant"]) for h in HOSTS if h != LOST}
    assert {name for name, host in made.hosts.items() if host["outcome"] != "ok"} == {LOST}
    assert made.hosts[LOST]["outcome"] == "unreachable" and "refused" in made.hosts[LOST]["message"]
    assert (made.evidence["totals"]["hosts"], made.evidence["totals"]["drifting_hosts"]) == (8, 2)
    assert made.evidence["totals"]["outcomes"] == {
        "ok": 7, "unreachable": 1, "failed": 0, "skipped": 0, "not_reached": 0
    }  # fmt: skip


def test_waivers_are_told_with_their_owners(story):
    states = {waiver["owner"]: (waiver["state"], waiver["soon"]) for waiver in story["drift"].evidence["waivers"]}
    assert states["Ada Byron"] == ("applied", True)
    assert states["Carl Gauss"][0] == "expired"
    assert states["Emmy Noether"] == ("unused", False)
    (row,) = [row for row in story["drift"].hosts[WAIVED]["rows"] if row["verdict"] == "waived"]
    assert row["waiver"]["owner"] == "Ada Byron" and row["waiver"]["reason"] == "on trial"


def test_a_part_of_the_site(story):
    limited = story["limited"]
    assert limited.verdicts() == {DRIFTED: ["drifted"]} and limited.verdicts("cpu_topology") == {}
    assert (limited.evidence["run"]["limit"], limited.evidence["run"]["tags"]) == (DRIFTED, ["rps"])
    assert {waiver["state"] for waiver in limited.evidence["waivers"]} == {"not_checked"}


def test_everything_is_taken_back(story):
    assert set(story["way back"].verdicts()) == set(HOSTS)
    assert not story["back"].evidence["waivers"] and not story["back"].lines(".*waiver")
    assert story["files"] == ["", ""]
    since = story["what changed"]
    assert (since.code, since.folder) == (0, None)
    for words in (
        f"outcome: unreachable → ok ({LOST})",
        f"drifted → not checked ({DRIFTED}, {EXPIRED})",
        "8 hosts with differences, 0 without",
    ):
        assert words in since.said
