# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pacemaker's configuration, cib.xml: what is in maintenance, and which resources manage SAP instances.

Pacemaker Explained: in maintenance-mode the cluster, with maintenance a node or resource, and with is-managed false a
resource is left alone. A resource inherits the meta attributes of its group or clone, and all of them rsc_defaults.
"""

import re
from collections import deque, namedtuple
from xml.etree import ElementTree

# cluster: whether all is in maintenance. nodes: {name: whether the node is}. resources: [Resource].
Cib = namedtuple("Cib", "cluster nodes resources")
# A resource that manages an instance. name: D00, or None; number: 00. host: that of its profile's name, or None.
Resource = namedtuple("Resource", "id sid name number host maintenance")

LARGEST = 4 * 1024 * 1024
_AGENTS = ("SAPInstance", "SAPStartSrv")
_INSTANCE = re.compile(r"([A-Z][A-Z0-9]{2})_([A-Z]+([0-9]{2}))_(\S+)\Z")
_UNIT = re.compile(r"SAP([A-Z][A-Z0-9]{2})_([0-9]{2})(?:\.service)?\Z")
_CONTAINERS = ("group", "clone", "master", "bundle")


class _Builder(ElementTree.TreeBuilder):
    """Refuses what cib.xml never has, and what makes parsing unsafe: a document type with entities."""

    def doctype(self, name, pubid, system):
        raise ValueError("it has a document type")


def parse_cib(data):
    """The Cib in the bytes of cib.xml. Raises ValueError if they are none."""
    if len(data) > LARGEST:
        raise ValueError("it has more than %d MiB" % (LARGEST // 1024 // 1024))
    try:
        root = ElementTree.fromstring(data, ElementTree.XMLParser(target=_Builder()))
    except (ElementTree.ParseError, LookupError) as error:
        raise ValueError("it is not XML: %s" % error) from error
    configuration = root.find("configuration") if root.tag == "cib" else None
    if configuration is None:
        raise ValueError("it is not a configuration of Pacemaker")
    sets = _Sets(root)
    nodes = {
        node.get("uname"): sets.are(node, "instance_attributes", "maintenance")
        for node in configuration.iterfind("nodes/node")
        if node.get("uname")
    }
    properties = configuration.find("crm_config")
    cluster = properties is not None and sets.are(properties, "cluster_property_set", "maintenance-mode") is True
    return Cib(cluster, nodes, _resources(configuration, sets))


class _Sets:
    """The sets of name-value pairs of a document; a set may stand elsewhere, and be named by id-ref."""

    def __init__(self, root):
        self._by_id = {one.get("id"): one for one in root.iter() if one.get("id")}

    def values(self, element, tag, name):
        """The values of a name in all sets of an element; one that a rule makes conditional is None."""
        found = []
        for reference in element.findall(tag):
            one = self._by_id.get(reference.get("id-ref"), reference)
            ruled = one.find("rule") is not None
            pairs = [pair for pair in one.findall("nvpair") if pair.get("name") == name]
            found += [None if ruled else pair.get("value", "") for pair in pairs]
        return found

    def are(self, element, tag, name, wanted=True):
        """Whether all values of a name are this truth value; None if there is no value."""
        words = ("true", "on", "yes", "y", "1") if wanted else ("false", "off", "no", "n", "0")
        values = self.values(element, tag, name)
        return all((value or "").lower() in words for value in values) if values else None

    def left_alone(self, element, inherited):
        """(maintenance, is-managed false) of an element; what it does not say is inherited."""
        own = (
            self.are(element, "meta_attributes", "maintenance"),
            self.are(element, "meta_attributes", "is-managed", False),
        )
        return tuple(above if here is None else here for here, above in zip(own, inherited))


def _resources(configuration, sets):
    defaults = configuration.find("rsc_defaults")
    first = sets.left_alone(defaults, (False, False)) if defaults is not None else (False, False)
    top = configuration.find("resources")
    waiting = deque((one, first) for one in (top if top is not None else ()))
    templates = {one.get("id"): one for one, _first in waiting if one.tag == "template"}
    found = []
    while waiting:
        element, inherited = waiting.popleft()
        template = templates.get(element.get("template"), element)
        flags = sets.left_alone(element, sets.left_alone(template, inherited))
        if element.tag in _CONTAINERS:
            waiting += [(one, flags) for one in element]
        elif element.tag == "primitive":
            found += _managing(element, template, any(flags), sets)
    return found


def _managing(element, template, maintenance, sets):
    """[Resource] of a primitive that manages an instance: by SAP's agents, or by its systemd unit."""
    name, kind = element.get("id", "?"), element.get("type") or template.get("type") or ""
    if kind in _AGENTS:
        values = [sets.values(one, "instance_attributes", "InstanceName") for one in (element, template)]
        match = _INSTANCE.match((values[0] or values[1] or [""])[0] or "")
        return [Resource(name, *match.groups(), maintenance)] if match else []
    match = _UNIT.match(kind) if (element.get("class") or template.get("class")) == "systemd" else None
    return [Resource(name, match.group(1), None, match.group(2), None, maintenance)] if match else []
