# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster of a host: whether Pacemaker runs, which SAP instances it manages, and what is in maintenance.

Only files tell: corosync.conf, systemd's units, the processes, cib.xml (for root) and service/halib in the profiles,
SAP's cluster connector. Pacemaker takes a stop that it did not order for a failure: it starts the instance again, moves
it, or fences the node.
"""

from collections import namedtuple

from .._host.host import HostError
from .._sap.instances import instances, profile_folder, short_name
from .._sap.profile import Profile, shown
from .cib import parse_cib
from .services import CIB, INACTIVE, UNKNOWN, pacemaker

_CONNECTOR = ("service/halib", "service/halib_cluster_connector")
_ON = {True: "on", False: "off", None: UNKNOWN}

# member, pacemaker: see services.pacemaker(). cib: a Cib, None if it cannot be read; why: the reason.
Cluster = namedtuple("Cluster", "member pacemaker cib why")


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
