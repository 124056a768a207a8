# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SAP instances whose TCP connections use SMC: a line SETENV_nn = LD_PRELOAD=libsmc-preload.so in their profiles.

The profile acts however the instance is started: by systemd, by sapinit, by sapcontrol of an administrator or a
cluster. A drop-in of the unit is lost where sapinit starts the instance, and login files act on no start by sapcontrol.
/etc/ld.so.preload or DefaultEnvironment of systemd would change every program of the machine.

smc-tools, smc-preload.c: the library replaces socket() alone, and has no fallback: without SMC in the kernel each
TCP socket fails with EAFNOSUPPORT. ld.so(8): a setuid program loads only libraries that are named without a slash.
"""

import posixpath
import re
import stat

from ..._engine.tuning import InputError, Subject
from ..._host.host import HostError
from ..._machine import smc_sockets
from ..._sap import environment, processes
from ..._sap.profile import Profile, name_of, shown, value_of
from .._profiles.requests import target
from .._profiles.subjects import RunningParameter, StoredParameter, title
from .._profiles.values import read_profile

LIBRARY = "libsmc-preload.so"
VARIABLE = "LD_PRELOAD"
NOT_LOADED = "not loaded"
_SET = VARIABLE + "="
_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
# the folders of an architecture in Debian and Ubuntu
_MULTIARCH = ("/lib", "/usr/lib")
_MAPPED = re.compile(r"/%s(?: \(deleted\))?$" % re.escape(LIBRARY), re.MULTILINE)
_NAME = re.compile(r"[A-Z][A-Z0-9]{2}_[0-9]{2}\Z")
_MOST = 5


def library(host):
    """The path of the library in a folder in which the dynamic linker looks for a name without a slash, or None."""
    folders = list(_FOLDERS) + [path for top in _MULTIARCH for path in host.glob(top, "*-linux-gnu")]
    paths = [posixpath.join(folder, LIBRARY) for folder in folders]
    return next((path for path in paths if host.exists(path)), None)


def is_missing(host):
    """Whether no folder has the library; not if a capture lacks one of the folders."""
    return library(host) is None and not any(host.lacking(folder) for folder in _FOLDERS)


def not_for_setuid(host):
    """[a sentence] if the library lacks the set-user-ID bit. ld.so(8): programs that change users then ignore it."""
    path = library(host)
    mode = host.mode(path) if path else None
    if mode is None or mode & stat.S_ISUID:
        return []
    return [
        "%s lacks the set-user-ID bit, so programs that change their user, such as icmbnd, ignore it and use TCP; set "
        "it as smc-tools does: chmod 4755 %s" % (path, path)
    ]


def chosen(host, names, known, users):
    """{real path of a profile: Instance} of the named instances, PRD_00 or the path of a profile. Raises InputError."""
    found = {}
    for name in names:
        path = target(host, _profile_of(name, known))
        readers = [] if users.is_default(path) else users.of(path)
        if not readers:
            raise InputError(
                "instances: %s is not the profile of an instance of this host; give one such as PRD_00, or the path of "
                "its instance profile (SAP HANA and default profiles are left alone)" % name
            )
        if path in found:
            raise InputError("instances: %s is named twice" % title(readers[0]))
        found[path] = readers[0]
    return found


def _profile_of(name, known):
    if name.startswith("/"):
        return name
    if not _NAME.match(name):
        said = "instances: '%s' is not an instance; write system and number, such as PRD_00, or the path of its profile"
        raise InputError(said % name)
    meant = [one for one in known if title(one) == name]
    if not meant:
        names = ", ".join(title(one) for one in known) or "no instance"
        raise InputError("instances: this host has no instance %s; it has %s" % (name, names))
    if meant[0].profile is None:
        raise InputError("instances: the profile of %s is unknown; give its path" % name)
    return meant[0].profile


def has_library(value):
    """Whether a value of LD_PRELOAD names the library."""
    parts = re.split(r"[:\s]+", value or "")
    return any(posixpath.basename(part) == LIBRARY for part in parts)


class InstanceSubject(Subject):
    """The profile of an instance, and the library in its processes.

    lines: the environment.Settings of profile and default profile. told: sentences on processes and connections.
    ignored: whether processes were started with the variable, and none has loaded the library.
    """

    def __init__(self, path, instance, profile, lines):
        super().__init__(path)
        self.instance = instance
        self.profile = profile
        self.lines = lines
        self.told = []
        self.ignored = False

    def effective(self):
        """Whether the next start loads the library, as the profiles are now."""
        return has_library(environment.effective(self.lines, VARIABLE))

    def loads(self, knob):
        """Whether the next start loads the library with the wanted text; the default profile can name it too."""
        own = None if knob.now is None else name_of(knob.now)
        others = [one for one in self.lines if one.directive != own]
        try:
            return knob.wanted is not None or has_library(environment.effective(others, VARIABLE))
        except InputError:
            # too long for any program; the rollback of everything else goes on
            return False


def preload_knob(path, profile, lines):
    """The knob of the last line SETENV_nn of a profile with the library."""
    own = [one for one in lines if one.variable == VARIABLE and has_library(one.value)]
    return StoredParameter(path, VARIABLE, profile.text(own[-1].directive) if own else None)


def wanted_text(subject):
    """The journal text of a new line, above all used numbers; libraries that are preloaded already are kept."""
    before = environment.effective(subject.lines, VARIABLE)
    value = LIBRARY if not before else "%s:%%(%s)" % (LIBRARY, VARIABLE)
    return subject.profile.wanted(environment.next_free(subject.lines), "%s=%s" % (VARIABLE, value))


def changes(now, wanted):
    """The changes of a profile, as Profile.changed() takes them, from one journal text to the other."""
    found = {} if now is None else {name_of(now): None}
    if wanted is not None:
        found[name_of(wanted)] = wanted
    return found


def preloaded(text):
    """The value of LD_PRELOAD in a journal text, None for None."""
    return None if text is None else shown(value_of(text)).partition("=")[2].strip()


def observe(host, path, instance, default):
    """The InstanceSubject of a profile. default: the path of the default profile, or None. Raises HostError."""
    profile = Profile(read_profile(host, path))
    own = environment.settings(profile)
    shared = []
    if default and host.exists(default):
        shared = environment.settings(Profile(read_profile(host, default)))
    subject = InstanceSubject(path, instance, profile, environment.together(shared, own))
    subject.knobs = [preload_knob(path, profile, own)]
    if instance is not None:
        subject.knobs += _loaded(host, subject)
    return subject


def _loaded(host, subject):
    """[knob] of a running instance: whether its processes have the library, as the library's name or NOT_LOADED.

    What else is known of its processes goes to subject.told.
    """
    instance, found = subject.instance, processes.of_instance(host, subject.instance)
    name, knob = title(instance), RunningParameter(subject.name, VARIABLE, VARIABLE, instance, None)
    if host.capture and not (found and all(host.exists("/proc/%d/maps" % one.pid) for one in found)):
        subject.unknown[knob.key] = "the capture does not tell which libraries the processes have loaded"
        return [knob]
    if not found:
        subject.told.append("%s has no running process, and reads its profile when it starts" % name)
        return []
    try:
        loaded = {one.pid: _MAPPED.search(host.read("/proc/%d/maps" % one.pid) or "") is not None for one in found}
        texts = [(host.read("/proc/%d/environ" % one.pid) or "").split("\0") for one in found]
        started = any(has_library(entry[len(_SET) :]) for text in texts for entry in text if entry.startswith(_SET))
    except HostError as error:
        subject.told.append("whether %s has loaded %s is not known (%s)" % (name, LIBRARY, error))
        return []
    used = [one for one in found if loaded[one.pid]]
    others = [one for one in found if not loaded[one.pid]]
    subject.ignored = started and not used
    if used and others:
        words = ", ".join("%s (%d)" % (one.program, one.pid) for one in others[:_MOST])
        more = " and %d more" % (len(others) - _MOST) if len(others) > _MOST else ""
        sentence = "%d of %d processes of %s have loaded %s; without it: %s%s"
        subject.told.append(sentence % (len(used), len(found), name, LIBRARY, words, more))
    if not host.capture:
        subject.told += _connections(host, name, [one.pid for one in found])
    knob.now = knob.wanted = LIBRARY if used else NOT_LOADED
    return [knob]


def _connections(host, name, pids):
    """[a sentence]: how the connections of an instance travel, with the kernel's reasons for fallbacks."""
    try:
        counts = smc_sockets.ways(host, pids)
    except (HostError, OSError) as error:
        return ["how the connections of %s travel is not known (%s)" % (name, error)]
    return ["connections of %s now: %s" % (name, smc_sockets.counts_text(counts) or "none")]
