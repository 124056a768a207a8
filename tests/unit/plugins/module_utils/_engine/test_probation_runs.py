# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values on probation belong to the run of a rollout that has set them; another run is refused, a person is not."""

import json

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.modules import rps
from guardians import everything, watched
from kernel import masks
from modules import caller
from runs import FOLDER, SteppedHost, only, refusal

JOURNAL = FOLDER + "/checkpoint-probation/rps.json"
FIRST, SECOND = ["r1"], ["r1", "r2"]
STRANGER = ["r0", "r9"]
REFUSED = (
    "nothing was changed: the values of rps on probation were set by the run r1 of another rollout, or of a controller "
    "that took this one over; if that run is over, zpower.sap_tuning.confirm keeps them, and "
    "zpower.sap_tuning.rollback -e zpower_probation=only takes them back"
)


def run_of(host):
    return json.loads(host.read(JOURNAL)).get("run")


@pytest.fixture
def host(tmp_path, monkeypatch):
    yield from watched(SteppedHost(tmp_path).interface("hsi0", queues=2), monkeypatch)


@pytest.fixture
def call(host, monkeypatch, capsys):
    module = caller(rps.main, monkeypatch, capsys)
    return lambda **options: module(**dict({"interfaces": ["hsi0"], "cpus": "0-1"}, **options))


CALLS = {
    "set": {"confirm_within": "0", "cpus": "0"},
    "renew": {"confirm_within": "10m"},
    "confirm": {"state": "confirmed"},
    "take back": {"state": "restored", "confirm_within": "10m"},
}


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("options", CALLS.values(), ids=CALLS)
def test_another_run_can_neither_set_nor_keep_nor_roll_back(host, call, options, check):
    call(confirm_within="0", confirm_runs=FIRST)
    assert masks(host) == ["3", "3"] and run_of(host) == "r1"
    before = everything(host)
    result = call(confirm_runs=STRANGER, _ansible_check_mode=check, **options)
    assert result["failed"] and result["msg"] == REFUSED
    assert everything(host) == before


def test_a_run_that_took_over_goes_on_and_the_one_before_is_a_stranger(host, call):
    untouched = everything(host)
    call(confirm_within="0", confirm_runs=FIRST)
    assert call(state="restored", confirm_within="0", confirm_runs=SECOND)["changed"]
    assert everything(host) == untouched
    call(confirm_within="0", confirm_runs=SECOND)
    assert run_of(host) == "r2"
    late = call(state="confirmed", confirm_runs=FIRST)
    assert late["failed"] and "by the run r2 of another rollout" in late["msg"]
    assert call(state="confirmed", confirm_runs=SECOND)["changed"]
    assert only(call(complete=True))["verdict"] == "compliant" and not host.exists(JOURNAL)
    assert "run" not in json.loads(host.read(FOLDER + "/rps.json")), "confirmed values are like those of site"
    assert call(state="restored", confirm_runs=STRANGER)["changed"] and everything(host) == untouched


def test_values_that_are_set_over_those_of_another_run_are_those_of_the_later_one(host, call):
    call(confirm_within="0", confirm_runs=FIRST)
    call(confirm_within="0", confirm_runs=SECOND)
    assert run_of(host) == "r2", "also if no value changes"
    assert call(confirm_within="0", confirm_runs=FIRST)["failed"]
    assert not call(confirm_within="0", cpus="0").get("failed") and not run_of(host)
    assert not call(confirm_within="0", confirm_runs=STRANGER).get("failed")


@pytest.mark.parametrize(
    "began, then, options",
    # an administrator ends the probation of any run
    [(FIRST, [], options) for options in (CALLS["confirm"], CALLS["take back"], {"state": "restored"})]
    # one by hand or of 0.9.0 has no run, and goes on
    + [([], SECOND, options) for options in (CALLS["set"], CALLS["confirm"], CALLS["take back"])],
)
def test_where_one_side_has_no_run_nobody_is_refused(host, call, began, then, options):
    call(confirm_within="0", confirm_runs=began)
    assert run_of(host) == (began[0] if began else None)
    assert call(confirm_runs=then, **options)["changed"]
    assert host.exists(JOURNAL) is (options == CALLS["set"])


@pytest.mark.parametrize("run", [7, None, ["r1"], "\0"])
def test_a_journal_with_an_invalid_run_is_not_understood(host, call, run):
    call(confirm_within="0", confirm_runs=FIRST)
    journal = json.loads(host.read(JOURNAL))
    host.write(JOURNAL, json.dumps(dict(journal, run=run)))
    result = call(state="confirmed", confirm_runs=FIRST)
    assert result["failed"] and "cannot be understood (run " in result["msg"]
    assert masks(host) == ["3", "3"]


def test_the_host_takes_back_by_itself_whatever_run_it_was(host, call):
    call(confirm_within="0", confirm_runs=FIRST)
    params = dict.fromkeys(entry_point.argument_spec(rps.Rps))
    params.update(interfaces=["hsi0"], cpus="0-1", confirm_runs=STRANGER, force=False, complete=False)
    result = entry_point.take_back(host, params, rps.Rps, "probation", lambda: True)
    assert not result["failed"] and masks(host) == ["0", "0"]


def test_a_run_that_is_refused_under_the_lock_does_not_keep_it(host, call):
    journal = Journal(host, "rps", FOLDER, "probation", runs=STRANGER)
    call(confirm_within="0", confirm_runs=FIRST)
    assert "were set by the run r1" in refusal(journal.lock)
    assert not call(confirm_within="0", confirm_runs=FIRST).get("failed")
