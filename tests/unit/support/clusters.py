# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node of a Pacemaker cluster, represented by its files."""

from sapsystem import ASCS01

CIB = "/var/lib/pacemaker/cib/cib.xml"
CONNECTOR = "/usr/sap/hostctrl/exe/saphascriptco.so"
# the primitive of PRD_01; %s: its meta attributes
ASCS = (
    '<primitive id="rsc_sap_PRD_ASCS01" class="ocf" provider="heartbeat" type="SAPInstance">'
    '<instance_attributes id="i"><nvpair id="n" name="InstanceName" value="PRD_ASCS01_app1"/></instance_attributes>'
    "%s</primitive>"
)


def meta(name, value, rule="", key="m"):
    pair = '<nvpair id="p" name="%s" value="%s"/>' % (name, value)
    return '<meta_attributes id="%s">%s%s</meta_attributes>' % (key, rule, pair)


def property_set(name, value):
    pair = '<nvpair id="o" name="%s" value="%s"/>' % (name, value)
    return '<crm_config><cluster_property_set id="s">%s</cluster_property_set></crm_config>' % pair


def of_node(name, value, node="APP1.example.com"):
    pair = '<instance_attributes id="a"><nvpair id="b" name="%s" value="%s"/></instance_attributes>' % (name, value)
    return '<nodes><node id="1" uname="%s">%s</node></nodes>' % (node, pair)


def cib(resources, more=""):
    text = "<cib><configuration>%s<resources>%s</resources></configuration></cib>" % (more, resources)
    return text.encode()


def joined(host, data, daemon=b"pacemakerd\n", halib=False):
    """Make the host a node. data: its cib.xml; daemon: the process; halib: whether PRD_01 has SAP's connector."""
    host.fill("/etc/corosync/corosync.conf", b"totem {}\n")
    host.fill("/proc/4711/comm", daemon)
    if data is not None:
        host.fill(CIB, data)
    if halib:
        host.fill(ASCS01, host.data(ASCS01) + b"service/halib = " + CONNECTOR.encode() + b"\n")
    return host
