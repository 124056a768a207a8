# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which profiles a call of sap_profile means, and what each of them is to hold."""

import fnmatch
import posixpath
import re
from collections import namedtuple

from .._engine.tuning import InputError
from .._sap import instances
from .._sap.parameters import merge

DEFAULT = "DEFAULT"
# what keeps its parameters elsewhere, or is no part of a SAP system
_LEFT_ALONE = ("hana", "diagnostics")

# One entry of a call. parameters: {name: value or None} of its presets and its own. left_to: the host that changes it.
Request = namedtuple("Request", "profile sid instance presets parameters left_to")


def requests(params):
    """The [Request] of the module's parameters. Raises InputError."""
    single = {key: params.get(key) for key in ("profile", "sid", "instance", "presets", "parameters")}
    several = params.get("profiles") or []
    if several and any(single.values()):
        raise InputError(
            "profiles is given, and so are other options that name a profile or its parameters: put all of them into "
            "profiles"
        )
    return [_request(entry, params["state"] == "present") for entry in several or [single]]


def _request(entry, setting):
    profile, sid, instance = entry.get("profile"), entry.get("sid"), entry.get("instance")
    if bool(profile) == bool(sid or instance) or bool(sid) != bool(instance):
        raise InputError(
            "which profile is meant is not clear: give either profile, the path of one, or both sid and instance, "
            "such as PRD and D00 (DEFAULT for the default profile)"
        )
    if profile and not profile.startswith("/"):
        raise InputError("profile: '%s' is no absolute path" % profile)
    parameters = merge(entry.get("presets") or [], entry.get("parameters") or {})
    if setting and not parameters:
        raise InputError("%s: nothing to set, give presets or parameters" % (profile or "%s %s" % (sid, instance)))
    return Request(profile, sid, instance, entry.get("presets") or [], parameters, entry.get("left_to"))


def paths(host, request, known):
    """The paths of the profiles that a request means; known: the instances of the host. Raises InputError.

    Empty only where the instance is a pattern and no instance of the system on this host has such a name.
    """
    if request.profile:
        if host.size(request.profile) is None:
            raise InputError("profile: %s is no file of this host" % request.profile)
        return [request.profile]
    default = instances.default_profile(host, request.sid)
    here = [one for one in known if one.sid == request.sid]
    if re.search(r"[*?[]", request.instance):
        meant = [one for one in here if fnmatch.fnmatchcase(one.name, request.instance) and one.role not in _LEFT_ALONE]
    else:
        meant = [one for one in here if request.instance in (one.name, DEFAULT)]
        if meant and all(one.role == "hana" for one in meant):
            raise InputError(
                "instance: %s %s is SAP HANA, which keeps its parameters in its own configuration: this tuning leaves "
                "it alone" % (request.sid, request.instance)
            )
    if request.instance == DEFAULT:
        return [default]
    if not meant and request.instance == re.sub(r"[*?[]", "", request.instance):
        names = ", ".join(one.name for one in here) or "no instance"
        raise InputError(
            "instance: %s has no instance %s on this host; it has %s" % (request.sid, request.instance, names)
        )
    return [instances.profile_of(host, one.sid, one.name) for one in meant]


def target(host, path):
    """The real path of a profile. InputError if a link leads out of its folder and its system's profile folder."""
    real, folder = host.real(path), host.real(posixpath.dirname(path))
    system = re.match(r"^/(?:usr/sap|sapmnt)/([A-Z][A-Z0-9]{2})/", path)
    allowed = [folder] + ([host.real(one) for one in instances.profile_folders(system.group(1))] if system else [])
    if not any(real.startswith(one + "/") for one in allowed):
        raise InputError(
            "profile: %s is a link to %s, outside of the profile folder %s: name that file itself, or put the profile "
            "in the place of the link" % (path, real, folder)
        )
    return real


class Users:
    """Which instances of a host start with which profile; paths are real ones."""

    def __init__(self, host, known):
        self._own, self._default = {}, {}
        for one in known:
            if one.role in _LEFT_ALONE or one.profile is None:
                continue
            self._own.setdefault(host.real(one.profile), []).append(one)
            folder = instances.profile_folder(host, one.sid)
            self._default.setdefault(host.real(folder + "/DEFAULT.PFL"), []).append(one)

    def of(self, path):
        """The instances that read the profile, as their own or as the default one."""
        return self._own.get(path) or self._default.get(path) or []

    def is_default(self, path):
        return path not in self._own and path in self._default

    def default_of(self, path):
        """The path of the default profile beside an instance profile, or None."""
        own = self._own.get(path)
        for default, readers in self._default.items():
            if own and own[0] in readers:
                return default
        return None
