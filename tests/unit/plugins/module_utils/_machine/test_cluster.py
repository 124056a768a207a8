# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster of a host: what cib.xml, units, processes and profiles tell, and which restarts they forbid."""

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import checks, cluster
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.cluster import parse_cib
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.instances import instances
from clusters import ASCS, CONNECTOR, cib, joined, meta, of_node, property_set
from sapsystem import ASCS01, PROFILES, SapHost

RULE = '<rule id="r"><date_expression id="d" operation="gt" start="2026-01-01"/></rule>'
TEMPLATED = '<template id="t" class="ocf" type="SAPInstance">%s</template><primitive id="x" template="t">%s</primitive>'
NAME = '<instance_attributes id="i"><nvpair id="n" name="InstanceName" value="PRD_ASCS01_%s"/></instance_attributes>'
ENSA1 = b"Start_Program_01 = local $(_EN) pf=$(_PF)\n"
UNIT = '<primitive id="x" class="systemd" type="SAPPRD_01"/>'


@pytest.mark.parametrize(
    "resources, maintenance, more",
    [
        (ASCS % "", False, ""),
        (ASCS % meta("maintenance", "true"), True, ""),
        (ASCS % meta("is-managed", "OFF"), True, ""),
        (ASCS % meta("is-managed", "true"), False, ""),
        # a rule may be false, and two sets may contradict each other
        (ASCS % meta("maintenance", "true", RULE), False, ""),
        (ASCS % (meta("maintenance", "true") + meta("maintenance", "false")), False, ""),
        ("<group id='g'>%s%s</group>" % (ASCS % "", meta("is-managed", "false")), True, ""),
        ("<clone id='c'><group id='g'>%s</group>%s</clone>" % (ASCS % "", meta("maintenance", "yes")), True, ""),
        ("<group id='g'>%s%s</group>" % (ASCS % meta("maintenance", "no"), meta("maintenance", "1")), False, ""),
        (ASCS % "", True, "<rsc_defaults>%s</rsc_defaults>" % meta("is-managed", "false")),
        (
            ASCS % '<meta_attributes id-ref="m2"/>',
            True,
            "<rsc_defaults/><z>%s</z>" % meta("maintenance", "on", "", "m2"),
        ),
        (TEMPLATED % (meta("maintenance", "true"), NAME % "vascs"), True, ""),
        (TEMPLATED % (NAME % "vascs", ""), False, ""),
        (UNIT, False, ""),
    ],
)
def test_the_resources_of_an_instance(resources, maintenance, more):
    (found,) = parse_cib(cib(resources, more))[2]
    assert (found.sid, found.number, found.maintenance) == ("PRD", "01", maintenance)


@pytest.mark.parametrize(
    "data, words",
    [
        (b"", "not XML"),
        (b"<cib>", "not XML"),
        (b"<html/>", "not a configuration"),
        (b"<?xml version='1.0' encoding='klingon'?><cib/>", "not XML"),
        (b'<!DOCTYPE cib [<!ENTITY a "aaaa">]><cib>&a;</cib>', "document type"),
        ('<?xml version="1.0" encoding="utf-16"?><!DOCTYPE cib><cib/>'.encode("utf-16"), "document type"),
        (b" " * (5 << 20), "4 MiB"),
    ],
)
def test_an_invalid_configuration_is_refused(data, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        parse_cib(data)
    # an active node whose configuration tells nothing
    host = joined(SapHost(tmp_path), data)
    ascs = next(one for one in instances(host) if one.name == "ASCS01")
    assert "is unknown" in cluster.refusal(host, ascs, "smc") and "smc_restart_in_cluster" in cluster.refusal(
        host, ascs, "smc"
    )
    assert cluster.fact(host)["instances"][0]["resources"] == cluster.fact(host)["maintenance"]["node"] == "unknown"


IN_MAINTENANCE = property_set("maintenance-mode", "true")


@pytest.mark.parametrize(
    "change, resource",
    [
        (lambda host: joined(host, cib(ASCS % "")), "rsc_sap_PRD_ASCS01"),
        (lambda host: joined(host, cib(ASCS % "", IN_MAINTENANCE)), None),
        (lambda host: joined(host, cib(ASCS % "", of_node("maintenance", "true"))), None),
        (lambda host: joined(host, cib(ASCS % "", of_node("standby", "true"))), "rsc_sap_PRD_ASCS01"),
        (lambda host: joined(host, cib(ASCS % meta("maintenance", "true"))), None),
        (lambda host: joined(host, cib(ASCS % meta("maintenance", "true") + UNIT)), "x"),
        # that of the other node
        (lambda host: joined(host, cib(ASCS.replace("ASCS01", "ASCS11") % "")), None),
        (lambda host: joined(host, cib(""), halib=True), CONNECTOR),
        (lambda host: joined(host, cib("", IN_MAINTENANCE), halib=True), None),
        (lambda host: joined(host, None), "only root may see it"),
        (lambda host: joined(host, None, daemon=b"pacemaker-remot\n"), "only root may see it"),
        # Pacemaker does not run, which a control group or its absence tells too
        (lambda host: joined(host, cib(ASCS % ""), daemon=b"sshd\n"), None),
        (lambda host: host.fill("/sys/fs/cgroup/system.slice/sshd.service/x", b""), None),
        (lambda host: host.fill("/sys/fs/cgroup/system.slice/pacemaker.service/x", b""), "only root may see it"),
        (lambda host: None, None),
    ],
)
def test_restarts_that_the_cluster_would_take_for_failures(tmp_path, change, resource):
    host = SapHost(tmp_path)
    host.fill(ASCS01, host.data(ASCS01) + ENSA1)
    change(host)
    ascs = next(one for one in instances(host) if one.name == "ASCS01")
    sentence = cluster.refusal(host, ascs, "sap_profile")
    assert (resource or "") in sentence and bool(sentence) is bool(resource)
    if resource:
        assert "maintenance" in sentence and "sap_profile_restart_in_cluster: true" in sentence
        assert "loses its locks: it runs ENSA1 without an ERS" in sentence


def test_locks_survive_only_with_enqueue_2_and_an_ers(tmp_path):
    host = SapHost(tmp_path)

    def told():
        return [sentence for one in instances(host) for sentence in cluster.lost_locks(host, one)]

    host.fill(ASCS01, host.data(ASCS01) + ENSA1)
    host.fill(PROFILES + "PRD_ERS10_app2", b"")
    assert told() == ["A restart of PRD_01 loses its locks: it runs ENSA1"]
    host.fill(ASCS01, host.data(ASCS01).replace(b"$(_EN)", b"enq.sapPRD_ASCS01"))
    assert told() == []
    host.remove(PROFILES + "PRD_ERS10_app2")
    assert told() == ["A restart of PRD_01 loses its locks: no ERS is known"]


def test_a_node_has_a_fact_and_a_row(tmp_path):
    host = SapHost(tmp_path)
    assert checks.facts.cluster(host) is None and checks.cluster(host, "Linux") == []
    host.fill("/proc/1/comm", b"systemd\n")
    assert checks.facts.cluster(host)["member"] is False and checks.cluster(host, "Linux") == []
    joined(host, cib(ASCS % "", of_node("maintenance", "false")), halib=True)
    found = cluster.fact(host)
    assert (found["pacemaker"], found["maintenance"]) == ("active", {"cluster": "off", "node": "off"})
    expected = {"sid": "PRD", "name": "ASCS01", "resources": ["rsc_sap_PRD_ASCS01"], "maintenance": "off"}
    assert found["instances"][0] == dict(expected, connector=CONNECTOR)
    assert found["instances"][1]["resources"] == [] and found["instances"][1]["maintenance"] is None
    (row,) = checks.cluster(host, "Linux")
    assert row["verdict"] == "compliant" and "PRD ASCS01: resource rsc_sap_PRD_ASCS01" in row["reason"]
    assert checks.cluster(host, "AIX") == []
