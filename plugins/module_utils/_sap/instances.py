# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SAP instances of a host and their profiles, running or not, by folders, /usr/sap/sapservices and units.

No command is run, so this also works for a captured root, without the host agent, and while all instances are stopped.
"""

import platform
import posixpath
import re
from collections import namedtuple

from .._engine.tuning import InputError
from .._host.host import HostError

# One instance. name: D00, number: 00, type: D. primary: True if its name shows the primary application server, else
# None, because a D instance may be one too. host: the (virtual) host at the end of the profile's name. home: the
# instance's folder. exe: the folder of the SAP kernel with sapcontrol. enqueue: ENSA1 or ENSA2, only for central
# services and their replication. Unknown values are None.
Instance = namedtuple("Instance", "sid name number type role primary host profile user home exe enqueue unit")

# As much of an instance as its processes tell.
Named = namedtuple("Named", "sid name")

# A line that starts an instance, with its profile. active: not commented out, as clusters do.
_Started = namedtuple("_Started", "sid name profile active")

SERVICES = "/usr/sap/sapservices"
_UNITS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
_SID = re.compile(r"[A-Z][A-Z0-9]{2}\Z")
_NAME = re.compile(r"([A-Z]+)([0-9]{2})\Z")
_PF = re.compile(r"\spf=[\"']?([^\s\"';]+)")
# a name with a dot is a copy
_PROFILE = re.compile(r"([A-Z][A-Z0-9]{2}|START)_([A-Z]+[0-9]{2})_([^.]+)\Z")
_ROLES = {
    "D": "application_server",
    "DVEBMGS": "application_server",
    "ASCS": "ascs",
    "SCS": "ascs",
    "ERS": "ers",
    "J": "java",
    "JC": "java",
    "W": "web_dispatcher",
    "HDB": "hana",
    "SMDA": "diagnostics",
}
# the lines of a profile that start programs, and the variables in these lines
_DIRECTIVE = re.compile(r"^[ \t]*((?:Re)?[Ss]tart_Program_[0-9]+|_[A-Za-z0-9_]+)[ \t]*=(.*)$", re.M)
_VARIABLE = re.compile(r"\$\((_[A-Za-z0-9_]+)\)")
# no profile has more characters, see Profile
_LARGEST = 256 * 1024
_ENSA1 = re.compile(r"\b(enserver|enrepserver)\b|\be[nr]\.sap")
_ENSA2 = re.compile(r"\b(enq_server|enq_replicator)\b|\benqr?\.sap")


def instances(host):
    """The sorted Instances of this host, by folders and by active lines of sapservices."""
    started = parse_services(host.read(SERVICES) or "")
    return [_instance(host, one.sid, one.name, started) for one in names(host, started)]


def names(host, started=None):
    """The sorted Named of this host, without a look at profiles. started: what sapservices starts, if that is known."""
    started = parse_services(host.read(SERVICES) or "") if started is None else started
    found = {Named(one.sid, one.name) for one in started if one.active}
    for sid in host.listdir("/usr/sap"):
        if _SID.match(sid):
            found.update(Named(sid, name) for name in host.listdir("/usr/sap/" + sid) if _NAME.match(name))
    return sorted(found)


def parse_services(text):
    """[_Started] of the instances in sapservices or in a systemd unit, in both layouts; the host agent is left out.

    Layouts: ``.../sapstartsrv pf=PROFILE -D -u USER`` and ``systemctl start UNIT # sapstartsrv pf=PROFILE``.
    """
    found = []
    for line in text.splitlines():
        # no path contains a NUL
        if "\0" in line:
            continue
        match = _PF.search(line.partition("sapstartsrv")[2])
        one = _parse_start(match.group(1), not line.lstrip().startswith("#")) if match else None
        if one and one not in found:
            found.append(one)
    return found


def _parse_start(path, active):
    """The _Started for the path of a profile; for an old start profile, that of the instance profile beside it."""
    match = _PROFILE.match(posixpath.basename(path))
    folder = posixpath.dirname(path)
    system = re.match(r"^/(?:usr/sap|sapmnt)/([A-Z][A-Z0-9]{2})/", path)
    if match is None or (match.group(1) == "START" and system is None):
        return None
    if match.group(1) != "START":
        return _Started(match.group(1), match.group(2), path, active)
    sid = system.group(1)
    return _Started(sid, match.group(2), "%s/%s_%s_%s" % (folder, sid, match.group(2), match.group(3)), active)


def _instance(host, sid, name, started):
    kind, number = _NAME.match(name).groups()
    home = "/usr/sap/%s/%s" % (sid, name)
    role = _ROLES.get(kind, "other")
    try:
        profile = _find_profile(host, sid, name, started)[0]
        text = host.read(profile) if profile and role in ("ascs", "ers") else None
    except HostError:
        # if a shared folder does not answer, the profile is unknown, but the instance exists
        profile = text = None
    match = _PROFILE.match(posixpath.basename(profile)) if profile else None
    return Instance(
        sid=sid,
        name=name,
        number=number,
        type=kind,
        role=role,
        primary=True if kind == "DVEBMGS" else None,
        host=match.group(3) if match else None,
        profile=profile,
        user=sid.lower() + "adm",
        home=home,
        exe=kernel_folder(host, sid, home, "sapcontrol"),
        enqueue=parse_enqueue(text or ""),
        unit=_unit(host, sid, number)[0],
    )


def kernel_folder(host, sid, home, program):
    """The folder of the instance's own SAP kernel, else of the system's, that contains the program, or None."""
    return _first_with(host, (home + "/exe", "/usr/sap/%s/SYS/exe/run" % sid), program)


def _first_with(host, folders, name):
    """The first of the folders that contains name, or None."""
    return next((folder for folder in folders if host.exists("%s/%s" % (folder, name))), None)


def _unit(host, sid, number):
    """(name, path) of the systemd unit of an instance; both None without a unit."""
    unit = "SAP%s_%s.service" % (sid, number)
    folder = _first_with(host, _UNITS, unit)
    return (unit, "%s/%s" % (folder, unit)) if folder else (None, None)


def parse_enqueue(text):
    """ENSA1 or ENSA2 by the lock server or its replication that a profile starts; None if it starts neither."""
    values = dict(_DIRECTIVE.findall(text[:_LARGEST]))
    # of each value alone: many lines can use one long variable
    kinds = {name: _enqueue_in(value) for name, value in values.items()}
    for name, value in values.items():
        if not name.startswith("_"):
            found = {kinds[name]}.union(map(kinds.get, _VARIABLE.findall(value)))
            if found != {None}:
                return "ENSA2" if "ENSA2" in found else "ENSA1"
    return None


def _enqueue_in(command):
    return "ENSA2" if _ENSA2.search(command) else "ENSA1" if _ENSA1.search(command) else None


def enqueue_beside(host, path):
    """ENSA1 or ENSA2 by a profile, else by those of central services beside it; None if they tell nothing, or both."""
    beside = [one for one in host.glob(posixpath.dirname(path), "*SCS*") if _PROFILE.match(posixpath.basename(one))]
    own = parse_enqueue(host.read(path) or "")
    found = {own} if own else {parse_enqueue(host.read(one) or "") for one in beside} - {None}
    return found.pop() if len(found) == 1 else None


# profiles


def profile_folder(host, sid):
    """The folder of the profiles of a system, or None."""
    return next((folder for folder in profile_folders(sid) if host.exists(folder)), None)


def profile_folders(sid):
    """The possible folders of the profiles of a system; one is mostly a link to the other."""
    return "/usr/sap/%s/SYS/profile" % sid, "/sapmnt/%s/profile" % sid


def default_profile(host, sid):
    """The path of DEFAULT.PFL of a system. Raises InputError without one."""
    path = _folder(host, sid) + "/DEFAULT.PFL"
    if not host.exists(path):
        raise InputError("instance: %s has no default profile: %s does not exist" % (sid, path))
    return path


def profile_of(host, sid, name):
    """The path of the profile of one instance. Raises InputError without one, or if several fit."""
    folder = _folder(host, sid)
    if not _NAME.match(name):
        raise InputError("instance: %s is not the name of an instance, such as D00 or ASCS01" % name)
    path, candidates = _find_profile(host, sid, name, parse_services(host.read(SERVICES) or ""))
    if path:
        return path
    if not candidates:
        raise InputError("instance: %s has no profile of %s in %s" % (sid, name, folder))
    raise InputError(
        "instance: %s has several profiles of %s in %s (%s), and neither %s nor a systemd unit nor this host's name"
        " shows which one it uses: set profile"
        % (sid, name, folder, ", ".join(posixpath.basename(path) for path in candidates), SERVICES)
    )


def _folder(host, sid):
    if not _SID.match(sid):
        raise InputError("sid: %s is not a system ID, such as PRD" % sid)
    folder = profile_folder(host, sid)
    if folder is None:
        raise InputError("sid: this host has no system %s: neither %s nor %s exists" % ((sid,) + profile_folders(sid)))
    return folder


def _find_profile(host, sid, name, started):
    """(path or None, all candidates).

    In this order: the profile that sapservices starts, the profile that the unit starts, the profile that is commented
    out in sapservices, the candidate with this host's name, the only candidate.
    """
    folder = profile_folder(host, sid)
    candidates = [path for path in (host.glob(folder, "*") if folder else []) if _is_profile_of(path, sid, name)]
    own = ("%s_%s_%s" % (sid, name, short_name(host))).lower()
    unit = _unit(host, sid, name[-2:])[1]
    sources = [
        [one.profile for one in started if one.active],
        [one.profile for one in parse_services(host.read(unit) or "")] if unit else [],
        [one.profile for one in started if not one.active],
    ]
    named = [[path for path in paths if _is_profile_of(path, sid, name) and host.exists(path)] for paths in sources]
    for paths in named + [candidates]:
        best = [path for path in paths if posixpath.basename(path).lower() == own] or paths
        if len(best) == 1:
            return best[0], candidates
    return None, candidates


def _is_profile_of(path, sid, name):
    match = _PROFILE.match(posixpath.basename(path))
    return match is not None and match.groups()[:2] == (sid, name)


def short_name(host):
    """The host's name up to the first dot; for a captured tree, only from its files."""
    name = host.value("/proc/sys/kernel/hostname") or host.value("/etc/hostname")
    return (name or (platform.node() if host.root == "/" else "")).partition(".")[0]
