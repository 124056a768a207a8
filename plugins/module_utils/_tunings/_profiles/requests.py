# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The request of a sap_profile call: its profiles and their wanted parameters."""

import fnmatch
import posixpath
import re
from collections import namedtuple

from ..._engine.tuning import InputError
from ..._sap import instances
from ..._sap.parameters import merge

DEFAULT = "DEFAULT"
# instances that keep their parameters elsewhere, or are not part of a SAP system
LEFT_ALONE = ("hana", "diagnostics")

# One entry of a call. parameters: {name: value or None}, presets included. left_to: the host that changes it.
Request = namedtuple("Request", "profile sid instance presets parameters left_to")


def requests(params):
    """The [Request] of the module's parameters. Raises InputError."""
    single = {key: params.get(key) for key in ("profile", "sid", "instance", "presets", "parameters")}
    several = params.get("profiles") or []
    if several and any(single.values()):
        raise InputError(
            "profiles excludes the other options that name a profile or its parameters: put all of them into profiles"
        )
    return [_request(entry, params["state"] == "present") for entry in several or [single]]


def _request(entry, setting):
    profile, sid, instance = entry.get("profile"), entry.get("sid"), entry.get("instance")
    if bool(profile) == bool(sid or instance) or bool(sid) != bool(instance):
        raise InputError(
            "the profile is not clear: give either profile, a path, or both sid and instance, such as PRD and D00 "
            "(DEFAULT for the default profile)"
        )
    if profile and not profile.startswith("/"):
        raise InputError("profile: '%s' is not an absolute path" % profile)
    parameters = merge(entry.get("presets") or [], entry.get("parameters") or {})
    if setting and not parameters:
        raise InputError("%s: nothing to set, give presets or parameters" % (profile or "%s %s" % (sid, instance)))
    return Request(profile, sid, instance, entry.get("presets") or [], parameters, entry.get("left_to"))


def paths(host, request, known):
    """The paths of the profiles that a request means; known: the instances of the host. Raises InputError.

    Empty only if the instance is a pattern that matches no instance of the system on this host.
    """
    if request.profile:
        if host.size(request.profile) is None:
            raise InputError("profile: this host has no file %s" % request.profile)
        return [request.profile]
    default = instances.default_profile(host, request.sid)
    here = [one for one in known if one.sid == request.sid]
    if re.search(r"[*?[]", request.instance):
        meant = [one for one in here if fnmatch.fnmatchcase(one.name, request.instance) and one.role not in LEFT_ALONE]
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
        said = "instance: %s has no instance %s on this host; it has %s"
        raise InputError(said % (request.sid, request.instance, names))
    return [instances.profile_of(host, one.sid, one.name) for one in meant]


def target(host, path):
    """The real path of a profile. InputError if a link leads out of its folder and its system's profile folder."""
    real, folder = host.real(path), host.real(posixpath.dirname(path))
    system = re.match(r"^/(?:usr/sap|sapmnt)/([A-Z][A-Z0-9]{2})/", path)
    allowed = [folder] + ([host.real(one) for one in instances.profile_folders(system.group(1))] if system else [])
    if not any(real.startswith(one + "/") for one in allowed):
        raise InputError(
            "profile: %s is a link to %s, outside of the profile folder %s: name that file itself, or replace the "
            "link by the profile" % (path, real, folder)
        )
    return real


class Users:
    """The instances of a host by the profiles that they read; paths are real ones."""

    def __init__(self, host, known):
        self._own, self._default = {}, {}
        for one in known:
            if one.role in LEFT_ALONE or one.profile is None:
                continue
            self._own.setdefault(host.real(one.profile), []).append(one)
            folder = instances.profile_folder(host, one.sid)
            self._default.setdefault(host.real(folder + "/DEFAULT.PFL"), []).append(one)

    def of(self, path):
        """The instances that read the profile, as their own or as their default profile."""
        return self._own.get(path) or self._default.get(path) or []

    def is_default(self, path):
        """Whether a profile is only the default profile of instances."""
        return path not in self._own and path in self._default

    def default_of(self, path):
        """The path of the default profile beside an instance profile, or None."""
        own = self._own.get(path)
        for default, readers in self._default.items():
            if own and own[0] in readers:
                return default
        return None
