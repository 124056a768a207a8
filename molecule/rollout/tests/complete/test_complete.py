# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rollout that converge continued and idempotence started once more."""

import pytest

CHANGE = "site"


@pytest.fixture(scope="module", name="state")
def fixture_state(site):
    return site.state(CHANGE)


def test_the_rollout_is_complete_and_its_summary_is_written(state, site):
    assert state["result"] == "complete"
    assert state["headline"] == "All 12 hosts in 3 batches are confirmed."
    # the killed batch had a second attempt
    found = [(batch["state"], batch["stage"], batch["attempt"]) for batch in state["batches"]]
    assert found == [("good", "", 1), ("good", "", 2), ("good", "", 1)]
    for suffix in ("html", "md"):
        assert "All 12 hosts in 3 batches are confirmed." in site.file(CHANGE).with_suffix(f".{suffix}").read_text()


def test_every_host_is_confirmed(state, site):
    hosts = {name: host for batch in state["batches"] for name, host in batch["hosts"].items()}
    assert set(hosts) == set(site.hosts)
    assert {(host["outcome"], host["values"], host["changed"]) for host in hosts.values()} == {("ok", "confirmed", 1)}


def test_starting_a_complete_rollout_adds_no_run(state):
    """One run was killed and one continued; the one that found nothing to do is not recorded."""
    assert len(state["runs"]) == 2


def test_the_values_are_set_and_stored_and_no_longer_on_probation(site):
    for host in site.hosts:
        masks = set(site.at(host, "cat /sys/class/net/hsi0/queues/rx-*/rps_cpus").split())
        assert len(masks) == 1 and int(masks.pop().replace(",", ""), 16) > 1, host
        assert "zpower" in site.at(host, "ls /etc/udev/rules.d"), host
        left = site.at(host, "ls /var/lib/zpower_sap_tuning").split()
        assert left and not [name for name in left if "probation" in name], host
