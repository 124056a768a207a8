# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster of a host: whether Pacemaker runs, which SAP instances it manages, and what is in maintenance.

Only files tell: corosync.conf, systemd's units, the processes, cib.xml (for root) and service/halib in the profiles,
SAP's cluster connector. Pacemaker takes a stop that it did not order for a failure: it starts the instance again, moves
it, or fences the node.

Pacemaker Explained: in maintenance-mode the cluster, with maintenance a node or resource, and with is-managed false a
resource is left alone. A resource inherits the meta attributes of its group or clone, and all of them rsc_defaults.
"""

import re
from collections import deque, namedtuple
from xml.etree import ElementTree

from .._host.host import HostError
from .._sap.instances import instances, profile_folder, short_name
from .._sap.profile import Profile, shown
from .services import CIB, INACTIVE, UNKNOWN, pacemaker

_CONNECTOR = ("service/halib", "service/halib_cluster_connector")
_ON = {True: "on", False: "off", None: UNKNOWN}

# member, pacemaker: see services.pacemaker(). cib: a Cib, None if it cannot be read; why: the reason.
Cluster = namedtuple("Cluster", "member pacemaker cib why")

# cluster: whether all is in maintenance. nodes: {name: whether the node is}. resources: [Resource].
Cib = namedtuple("Cib", "cluster nodes resources")
# A resource that manages an instance. name: D00, or None; number: 00. host: that of its profile's name, or None.
Resource = namedtuple("Resource", "id sid name number host maintenance")

LARGEST = 4 * 1024 * 1024
# elements that are read in sets, again for each reference to them
MOST_READ = 1000 * 1000
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
    return Cib(cluster, nodes, _all_resources(configuration, sets))


class _Sets:
    """The sets of name-value pairs of a document; a set may stand elsewhere, and be named by id-ref."""

    def __init__(self, root):
        self._by_id = {one.get("id"): one for one in root.iter() if one.get("id")}
        self._left = MOST_READ

    def values(self, element, tag, name):
        """The values of a name in all sets of an element; one that a rule makes conditional is None."""
        sets = [self._by_id.get(one.get("id-ref"), one) for one in element.findall(tag)]
        self._left -= len(element) + sum(map(len, sets))
        if self._left < 0:
            raise ValueError("too many of its elements refer to the same sets")
        ruled = [one.find("rule") is not None for one in sets]
        pairs = [(rule, pair) for rule, one in zip(ruled, sets) for pair in one.findall("nvpair")]
        return [None if rule else pair.get("value", "") for rule, pair in pairs if pair.get("name") == name]

    def are(self, element, tag, name, words=("true", "on", "yes", "y", "1")):
        """Whether all values of a name are one of these words; None if there is no value."""
        values = self.values(element, tag, name)
        return all((value or "").lower() in words for value in values) if values else None

    def left_alone(self, element, inherited):
        """(maintenance, is-managed false) of an element; what it does not say is inherited."""
        unmanaged = self.are(element, "meta_attributes", "is-managed", ("false", "off", "no", "n", "0"))
        own = (self.are(element, "meta_attributes", "maintenance"), unmanaged)
        return tuple(above if here is None else here for here, above in zip(own, inherited))


def _all_resources(configuration, sets):
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


# what a host shows


def look(host):
    """The Cluster of a Linux host."""
    member, state = pacemaker(host)
    if not member:
        return Cluster(False, state, None, "")
    try:
        data = host.data(CIB)
        cib = None if data is None else parse_cib(data)
        why = "" if cib else "%s is not there, or only root may see it" % CIB
    except (HostError, ValueError) as error:
        cib, why = None, str(error) if isinstance(error, HostError) else "%s: %s" % (CIB, error)
    return Cluster(True, state, cib, why)


def fact(host):
    """The fact cluster of a node. What cannot be read is UNKNOWN."""
    found = look(host)
    whole, node = (found.cib.cluster, _node(host, found.cib)) if found.cib else (None, None)
    return {
        "member": found.member,
        "pacemaker": found.pacemaker,
        "maintenance": {"cluster": _ON[whole], "node": _ON[node]},
        "instances": [_of_instance(host, found, one) for one in instances(host)],
        "why_unknown": found.why,
    }


def _of_instance(host, found, instance):
    resources = _resources(found.cib, instance)
    left = _ON[all(one.maintenance for one in resources)] if resources else None
    return {
        "sid": instance.sid,
        "name": instance.name,
        "resources": [one.id for one in resources] if found.cib else UNKNOWN,
        "maintenance": left if found.cib else UNKNOWN,
        "connector": _connector(host, instance),
    }


def describe(fact):
    """The fact of a node in one sentence."""
    parts = ["a node of a cluster, Pacemaker is %s" % fact["pacemaker"]]
    parts += ["%s in maintenance: %s" % (what, state) for what, state in sorted(fact["maintenance"].items())]
    for one in fact["instances"]:
        resources = one["resources"]
        names = resources if resources == UNKNOWN else ", ".join(resources) or "none"
        parts.append("%(sid)s %(name)s: resource %%s" % one % names)
        parts[-1] += " (in maintenance: %s)" % one["maintenance"] if resources and resources != UNKNOWN else ""
    return "; ".join(parts)


def _node(host, cib):
    """Whether this node is in maintenance; None if the cluster does not know its name."""
    names = {name.partition(".")[0].lower(): left for name, left in cib.nodes.items()}
    return bool(names[short_name(host).lower()]) if short_name(host).lower() in names else None


def _resources(cib, instance):
    """The Resources that manage an instance; of several with its name, those with its virtual host."""
    of_name = [
        one
        for one in (cib.resources if cib else ())
        if one.sid == instance.sid and one.number == instance.number and one.name in (None, instance.name)
    ]
    return [one for one in of_name if one.host is None or one.host == instance.host] or of_name


def _connector(host, instance):
    """The value of service/halib, by which sapstartsrv hands a stop to the cluster; None without it."""
    folder, found = profile_folder(host, instance.sid), None
    for path in [folder + "/DEFAULT.PFL" if folder else None, instance.profile]:
        try:
            profile = Profile((host.data(path) if path else None) or b"")
        except HostError:
            # a shared folder that does not answer
            continue
        found = next((shown(profile.value(name)) for name in _CONNECTOR if profile.value(name)), found)
    return found


# restarts


def refusal(host, instance, tuning):
    """The sentence why an instance must not be restarted behind its cluster's back; empty if it may be."""
    found = look(host)
    if not found.member or found.pacemaker == INACTIVE:
        return ""
    resources = _resources(found.cib, instance)
    managing = [one.id for one in resources if not one.maintenance]
    connector = None if resources else _connector(host, instance)
    if found.cib is None:
        why = "whether Pacemaker manages it is unknown: %s" % found.why
        first = "run this as root, or put the cluster into maintenance and restart the instance by hand"
    elif found.cib.cluster or _node(host, found.cib) or not (managing or connector):
        return ""
    elif managing:
        why = "Pacemaker manages it (%s), and takes a stop for a failure" % ", ".join(managing)
        command = "crm_resource --resource %s --meta --set-parameter maintenance --parameter-value true"
        first = "put that into maintenance first (%s)" % "; ".join(command % one for one in managing)
    else:
        why = "its service/halib (%s) hands a stop to the cluster, in which no resource has its name" % connector
        first = "put the cluster into maintenance first (crm_attribute --name maintenance-mode --update true)"
    return "%s_%s is not restarted, because %s. Either %s, or set %s_restart_in_cluster: true%s" % (
        (instance.sid, instance.number, why, first, tuning, "".join(". " + one for one in lost_locks(host, instance)))
    )


def lost_locks(host, instance):
    """[a sentence] if a restart of central services loses the locks of the system.

    Under ENSA2 the enqueue replicator of an ERS gives them back; under ENSA1 only to a server on its own host.
    """
    if instance.role != "ascs" or (_has_replication(host, instance.sid) and instance.enqueue != "ENSA1"):
        return []
    why = "it runs ENSA1" if instance.enqueue == "ENSA1" else ""
    if not _has_replication(host, instance.sid):
        why = (why + " without an ERS") if why else "no ERS is known"
    return ["A restart of %s_%s loses its locks: %s" % (instance.sid, instance.number, why)]


def _has_replication(host, sid):
    """Whether a system has an ERS: by the profiles, which the hosts share, or by the folders of this host."""
    folder = profile_folder(host, sid)
    return any(
        host.glob(top, pattern) for top, pattern in ((folder or "/", sid + "_ERS*"), ("/usr/sap/" + sid, "ERS*"))
    )
