# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each tuning that is a table of sysctls: set, kept and taken back; what wins at boot; mistakes."""

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._sysctls import SysctlTuning
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system import sysctl_path
from kernel import KernelHost
from runs import everything, only, runner
from sysctls import TABLES, fill, first_value, request


class Scheduler(SysctlTuning):
    name = "scheduler"
    subject = "kernel"
    header = "# Scheduler, kept by a test.\n"
    table = {"sched_autogroup_enabled": (0, 1), "sched.backlog": (-1, 100)}


KINDS = [*TABLES, Scheduler]
EVERY = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])


@pytest.fixture
def host(tmp_path, kind):
    found = KernelHost(tmp_path)
    fill(found, kind)
    return found


@EVERY
def test_values_are_set_kept_and_taken_back(host, kind):
    run, asked = runner(kind, settings=None), request(kind)
    wanted = {"%s.%s" % (kind.subject, name): str(value) for name, value in asked["settings"].items()}
    before = everything(host)
    predicted = run(host, check=True, **asked)
    assert predicted["changed"] and everything(host) == before
    result = run(host, **asked)
    assert result["diff"] == predicted["diff"]
    found = only(result)
    assert found["verdict"] == "changed" and found["after"]["running"] == found["after"]["next_boot"] == wanted
    assert found["after"]["stored"].items() >= wanted.items()
    text = host.read(kind.file("sysctl.d"))
    assert text.startswith(kind.header) and all("\n%s = %s\n" % one in text for one in wanted.items())
    assert not run(host, **asked)["changed"]
    assert only(run(host, state="restored"))["verdict"] == "changed"
    assert everything(host) == before


@EVERY
def test_the_value_of_the_kernel_needs_no_file_unless_another_setting_differs(host, kind):
    run = runner(kind, settings={name: first_value(kind, name) for name in kind.table})
    known = {name for name in kind.table if "%s.%s" % (kind.subject, name) in kind.defaults}
    found = only(run(host))
    stored = found["after"]["stored"] or {}
    assert {name for name in kind.table if "%s.%s" % (kind.subject, name) not in stored} == known
    for name in known:
        host.fill("/etc/sysctl.d/10-site.conf", "%s.%s = %d" % (kind.subject, name, kind.table[name][0]))
        assert only(run(host))["verdict"] == "changed" and host.exists(kind.file("sysctl.d"))


@EVERY
@pytest.mark.parametrize("file, wins", [("99-site", "yes"), ("10-site", "no")])
def test_another_setting_is_named(host, kind, file, wins):
    name = sorted(kind.table)[0]
    path = "/etc/sysctl.d/%s.conf" % file
    host.fill(path, "%s.%s = %s" % (kind.subject, name, first_value(kind, name)))
    found = only(runner(kind, **request(kind))(host))
    (other,) = found["conflicts"]
    assert (other["file"], other["value"], other["wins"]) == (path, first_value(kind, name), wins)
    assert found["verdict"] == ("drifted" if wins == "yes" else "changed")


@EVERY
def test_nothing_is_set_where_nothing_can_be(host, kind):
    run, values = runner(kind, **request(kind)), list(everything(host))
    assert only(run(host, settings={}))["reason"] == "no value is asked for"
    name = sorted(kind.table)[-1]
    host.remove(sysctl_path("%s.%s" % (kind.subject, name)))
    found = only(run(host))
    assert found["verdict"] == "unsupported" and found["reason"].endswith("has no %s.%s" % (kind.subject, name))
    for name in sorted(kind.table)[:-1]:
        host.remove(sysctl_path("%s.%s" % (kind.subject, name)))
    before = everything(host)
    assert set(before) < set(values)
    found = only(run(host))
    assert found["verdict"] in ("not_applicable", "unsupported") and found["reason"]
    assert only(run(host, state="restored"))["verdict"] == "compliant"
    assert everything(host) == before


def test_another_system_is_not_applicable(tmp_path):
    record = only(runner(Scheduler, **request(Scheduler))(KernelHost(tmp_path)))
    assert (record["verdict"], record["reason"]) == ("not_applicable", "these sysctls exist on Linux only")


@EVERY
@pytest.mark.parametrize("state", ["present", "restored"])
def test_a_value_out_of_range_changes_nothing(host, kind, state):
    before = everything(host)
    for name, (lowest, highest) in kind.table.items():
        for value in (lowest - 1, highest + 1):
            with pytest.raises(InputError, match="settings: %s: %d is out of range; use %d to" % (name, value, lowest)):
                runner(kind, settings={name: value})(host, state=state)
    assert everything(host) == before
