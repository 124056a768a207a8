# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values on probation where the network is cut: the hosts take them back by themselves, and the confirmed ones stay.

One story, told once; each test reads a part of it.
"""

import time

import pytest
from hosts import CHOSEN, FILES, ROOT, Hosts, evidence, play, run, standing

NAME = "labtrial"
# cut off: one without and one with values of an earlier run; reached all the time: one of each
UNTUNED, TUNED, REACHED, LATER = "app1", "app2", "app3", "app4"
HOSTS = (UNTUNED, TUNED, REACHED, LATER)
CUT = [UNTUNED, TUNED]
SHORT, LONG = "60s", "1h"
OLD, NEW = {"rps_cpus": "0", "rps_flow_cnt": 4096}, {"rps_cpus": "all"}
PATIENCE_S = 1800
LOOK = (
    "cat /sys/class/net/hsi0/queues/rx-*/rps_cpus /sys/class/net/hsi0/queues/rx-*/rps_flow_cnt; "
    "cat /etc/udev/rules.d/91-zpower-sap-tuning-rps.rules 2>/dev/null; true"
)


class Run:
    """What a playbook said and its exit code, and the rows of its evidence if there is any."""

    def __init__(self, done, folders):
        self.code, self.said = done.returncode, done.stdout + done.stderr
        self._folders = folders

    def row(self, host):
        [folder] = self._folders
        [found] = [one for one in evidence(folder)["hosts"] if one["host"] == host]
        [row] = [row for row in found["rows"] if (row["name"], row["subject"]) == ("rps", "hsi0")]
        return row


class Site(Hosts):
    """The hosts, and an empty folder to work in."""

    def __init__(self, folder):
        super().__init__(NAME)
        self.folder = folder
        spaces = [line.split()[0] for line in run("ip", "netns", "list").stdout.splitlines() if f"zps-{NAME}-" in line]
        self.spaces = {name.rpartition("-")[2]: name for name in spaces}

    def at(self, host, command):
        """What a shell command prints on a host, as if on its console."""
        pids = run(*ROOT, "ip", "netns", "pids", self.spaces[host]).stdout.split()
        inside = ["nsenter", "--target", min(pids, key=int), "--mount", "--uts", "--ipc", "--net", "--pid"]
        return run(*ROOT, *inside, "/bin/sh", "-c", command).stdout

    def look(self, hosts=HOSTS):
        return {host: self.at(host, LOOK) for host in hosts}

    def network(self, host, state):
        run(*ROOT, "ip", "-netns", self.spaces["switch"], "link", "set", host, state)

    def play(self, playbook, *options, hosts=HOSTS, within=None, **variables):
        """Run a playbook of the collection. within: {host: its zpower_confirm_within}."""
        chosen = {"zpower_tunings": ["rps"], **CHOSEN, **NEW, **variables}
        named = {
            name: {**given, **({"zpower_confirm_within": within[name]} if within else {})}
            for name, given in self.hosts.items()
        }
        # without it, a connection that is kept waits for a host without network as long as TCP does
        ssh = {"ansible_ssh_extra_args": "-o ServerAliveInterval=5"}
        group = {"hosts": named, "vars": {**self.connection, **chosen, **ssh}}
        before = set(self.folder.glob("results/*/*"))
        done = play(self.folder, {"erp": group}, playbook, "--limit", ",".join(hosts), *options)
        return Run(done, sorted(set(self.folder.glob("results/*/*")) - before))


@pytest.fixture(scope="module", name="story")
def fixture_story(tmp_path_factory):
    """The whole story, run by run."""
    with standing(NAME, len(HOSTS)):
        yield dict(told(Site(tmp_path_factory.mktemp("trial"))))


def told(site):
    yield "first", site.look()
    yield "tuned", site.play("site", hosts=[TUNED, LATER], **OLD)
    before = site.look()
    yield "before", before
    within = {host: SHORT if host in CUT else LONG for host in HOSTS}
    yield "trial", site.play("site", within=within)
    for host in CUT:
        site.network(host, "down")
    yield "set", site.look([host for host in HOSTS if host not in CUT])
    yield "meanwhile", site.play("verify", hosts=[REACHED], within=within)
    yield "in the way", site.play("site", hosts=[REACHED])
    yield "taken back", site.play("rollback", "-e", "zpower_probation=only", hosts=[LATER])
    yield "confirmed", site.play("confirm")
    until = time.monotonic() + PATIENCE_S
    while any(site.look(CUT)[host] != before[host] for host in CUT) and time.monotonic() < until:
        time.sleep(1)
    yield "alone", site.look()
    for host in CUT:
        site.network(host, "up")
    yield "looked at", site.play("verify")
    yield "too late", site.play("confirm")
    yield "way back", site.play("rollback")
    yield "last", site.look()
    yield "files", {host: site.on(host, FILES) for host in HOSTS}


def test_the_values_are_set_on_probation(story):
    assert story["tuned"].code == story["trial"].code == 0, story["trial"].said
    for host in HOSTS:
        assert story["trial"].row(host)["verdict"] == "changed"
        assert any("on probation until" in remark for remark in story["trial"].row(host)["remarks"])
    for host in (REACHED, LATER):
        assert story["set"][host] != story["before"][host]


def test_verify_says_what_is_on_probation(story):
    assert story["meanwhile"].code == 0, story["meanwhile"].said
    row = story["meanwhile"].row(REACHED)
    assert row["verdict"] == "compliant" and "on probation until" in row["remarks"][0]


def test_nothing_else_is_set_meanwhile(story):
    assert story["in the way"].code == 2
    assert "nothing was changed: rps has values on probation since" in story["in the way"].said


def test_a_host_that_is_cut_off_takes_its_values_back_alone(story):
    assert {host: story["alone"][host] for host in CUT} == {host: story["before"][host] for host in CUT}
    assert story["before"][UNTUNED] == story["first"][UNTUNED] and story["before"][TUNED] != story["first"][TUNED]


def test_the_values_can_be_taken_back_before_their_time(story):
    assert story["taken back"].code == 0, story["taken back"].said
    assert story["alone"][LATER] == story["before"][LATER] != story["first"][LATER]


def test_the_confirmed_values_stay(story):
    assert story["confirmed"].code == 4, "two hosts cannot be reached"
    assert story["alone"][REACHED] == story["set"][REACHED]
    assert story["confirmed"].row(REACHED)["verdict"] == "compliant"
    row = story["looked at"].row(REACHED)
    assert (row["verdict"], row["remarks"]) == ("compliant", [])


def test_verify_and_a_late_confirmation_name_the_hosts_that_went_back(story):
    for name in ("looked at", "too late"):
        assert story[name].code == 2, story[name].said
    assert {host: story["looked at"].row(host)["verdict"] for host in HOSTS} == {
        **dict.fromkeys(HOSTS, "drifted"),
        REACHED: "compliant",
    }
    assert story["looked at"].row(UNTUNED)["remarks"] == []
    assert "hsi0" in story["too late"].said and "wanted CPUs" in story["too late"].said


def test_a_rollback_leads_to_the_first_values_and_leaves_nothing(story):
    assert story["way back"].code == 0, story["way back"].said
    assert story["last"] == story["first"]
    assert story["files"] == dict.fromkeys(HOSTS, "")
