# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tuned writes, with its profiles merged as it merges them.

Source: redhat-performance/tuned 2.28, tuned/profiles/{locator,loader,merger,unit,variables}.py, units/manager.py and
plugins/plugin_{sysctl,vm,sysfs,script}.py.
"""

import configparser
import fnmatch
import functools
import io
import os
import re
from collections import OrderedDict, namedtuple

from .._host.drop_ins import Setting, assignments, numbered_lines, text_of
from .._host.kernel import int_or_none
from .boot_sources import path_of, sysctl_lines
from .hardware import architecture
from .tools import HUGE_FILE, Write

# the first folder that has the profile counts; those without profiles/ are of releases before 2.23
_FOLDERS = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
# profiles of one load, and characters of a value with variables (kernel command lines are the longest): more are a
# mistake
_MOST, _LONGEST = 100, 4096
_TRUE = ("1", "true", "True")
# the options of a unit that are not for its plugin
_ABOUT = "type cpuinfo_regex devices devices_udev_regex drop enabled prepend priority replace script_post script_pre"
_ABOUT = [*_ABOUT.split(), "uname_regex"]
_VARIABLE = re.compile(r"(?<!\\)\$\{(\w+)\}")

# writes: [Write] in their order. again: how many come before tuned applies sysctl.d again, None if it does not.
# problem: why tuned cannot load its profile, and so writes nothing.
Profile = namedtuple("Profile", "writes again problem")


class _Unit:
    """One section of a profile. options: {name: [Setting]} of its plugin; scripts of several profiles all run."""

    def __init__(self, name, options):
        self.name = name
        self.about = {key: one.value for key, one in options.items() if key in _ABOUT}
        self.kind = self.about.get("type", name)
        self.options = OrderedDict((key, [one]) for key, one in options.items() if key not in _ABOUT)
        self.replaces = self.about.get("replace") in _TRUE

    def update(self, later):
        """Merge the section of the same name in a later profile."""
        scripts = self.options.get("script", []) if self.name == "script" else []
        for name in _words(later.about.pop("drop", "")):
            self.options.pop(name, None)
        self.options.update(later.options)
        if "script" in later.options:
            self.options["script"] = scripts + later.options["script"]
        self.kind = later.kind
        self.about.pop("enabled", None)
        self.about.update(later.about)


def tuned_profile(host):
    """The merged Profile that tuned loads when it starts."""
    names = (host.read("/etc/tuned/active_profile") or "").split()
    names += (host.read("/etc/tuned/post_loaded_profile") or "").split()
    units, variables = OrderedDict(), OrderedDict()
    try:
        for sections in _load(host, [name for name in names if re.match(r"[a-zA-Z0-9_.-]+\Z", name)], []):
            _merge(units, variables, sections)
    except configparser.Error as error:
        return Profile([], None, " ".join(str(error).split()))
    known, writes, again = _values(host, variables), [], None
    for unit in sorted(units.values(), key=lambda unit: int_or_none(unit.about.get("priority")) or 0):
        fits = unit.about.get("enabled", "1") in _TRUE and _unit_fits(host, unit, known)
        if fits is not False:
            writes += [write._replace(sure=bool(fits)) for write in _writes(host, unit, known)]
            if unit.kind == "sysctl" and _main(host, "reapply_sysctl", "1").lower() in ("1", "true", "yes", "on"):
                again = len(writes)
    return Profile(writes, again, "")


def _main(host, name, default=""):
    """The value of an option of tuned-main.conf."""
    found = [value for _line, _text, key, value in assignments(host, "/etc/tuned/tuned-main.conf") if key == name]
    return re.split(r"\s#", found[-1])[0].strip() if found else default


def applied_again(host, paths):
    """[(path, Setting)] of the lines in sysctl.d for these files in /proc/sys that tuned applies again, in its order.

    Unlike systemd-sysctl, it prefers /run to /etc, reads nothing below /usr, and /etc/sysctl.conf last. It takes a name
    as it stands. One that is repeated keeps its place and gets the last value; replaced lines come first.
    """
    excluded = _words(_main(host, "reapply_sysctl_exclude"))
    files = {}
    for folder in ("/etc/sysctl.d", "/run/sysctl.d"):
        files.update((os.path.basename(path), path) for path in host.glob(folder, "*.conf"))
    replaced, table = [], OrderedDict()
    for file in [files[name] for name in sorted(files)] + ["/etc/sysctl.conf"]:
        for name, setting in sysctl_lines(host, file):
            path = path_of(name)
            skipped = setting.value is None or any(fnmatch.fnmatchcase(name, glob) for glob in excluded)
            if path in paths and not skipped:
                replaced += [(path, table[path])] if path in table else []
                table[path] = setting
    return replaced + list(table.items())


def _words(text):
    return [word.strip() for word in text.replace(";", ",").split(",")]


def _load(host, names, loaded):
    """The sections of each profile, those that it includes first. Raises configparser.Error if tuned gives up."""
    for name in names:
        if "${" in name:
            continue  # only a function of tuned tells which one
        file = _find(host, os.path.basename(name[name.startswith("-") :]), loaded)
        # a capture may lack those of the distribution
        complete = host.exists("/usr/lib/tuned") and not host.lacking("/usr/lib/tuned")
        if file is None and not name.startswith("-") and complete:
            raise configparser.Error("there is no profile %s" % name)
        if len(loaded) > _MOST:
            raise configparser.Error("it includes more than %d profiles" % _MOST)
        if file:
            loaded.append(file)
            sections = _parsed(host, file)
            include = sections.get("main", {}).get("include")
            if include:
                yield from _load(host, _words(include.value), loaded)
            yield sections


def _find(host, name, loaded):
    """The file of a profile; empty if all of this name are loaded already, None if there is none."""
    folders = _words(_main(host, "profile_dirs"))[::-1]
    files = [os.path.join(folder, name, "tuned.conf") for folder in (_FOLDERS if folders == [""] else folders)]
    there = [file for file in files if host.exists(file)]
    return next((file for file in there if file not in loaded), "" if there else None)


def _parsed(host, file):
    """{section: {name: Setting}} of a profile. Raises configparser.Error."""
    found, folder = OrderedDict(), os.path.dirname(file)
    for section, options in _sections(text_of(host, file)):
        found[section] = OrderedDict()
        for line, name, value in options:
            text = value.replace("${i:PROFILE_DIR}", folder)
            if name == "script":
                text = os.path.normpath(os.path.join(folder, text))
            found[section][name] = Setting(file, line, "", text)
    return found


@functools.lru_cache(maxsize=None)
def _sections(text):
    """[(section, [(line, name, value)])] as tuned's parser reads a profile. Raises configparser.Error."""
    at = [0]

    def lines():
        for at[0], line in enumerate(io.StringIO(text, newline=None), 1):
            # the time of its regular expression grows with the square of a row of blanks
            yield line[: len(line) - len(line.lstrip())] + " ".join(line.split()) + "\n"

    parser = configparser.RawConfigParser(delimiters="=", inline_comment_prefixes="#", strict=False)
    # the parser itself does not keep the line of a name
    parser.optionxform = lambda name: "%d %s" % (at[0], name)
    parser.read_file(lines(), "tuned.conf")
    found = []
    for section in parser.sections():
        options = [name.split(" ", 1) + [value] for name, value in parser.items(section)]
        found.append((section, [(int(line), name, value) for line, name, value in options]))
    return found


def _merge(units, variables, sections):
    for name in sections:
        unit = _Unit(name, sections[name])
        if unit.kind == "variables":
            if unit.replaces:
                variables.clear()
            variables.update(unit.options)
        elif unit.replaces or name not in units:
            units[name] = unit
        else:
            units[name].update(unit)
    units.pop("main", None)


def _values(host, variables):
    """{variable: its value}"""
    known = {}
    for name, (setting,) in variables.items():
        pairs = [(name, setting.value)]
        if name == "include":
            file = os.path.normpath("/" + setting.value)
            pairs = [(key, value) for _line, _text, key, value in assignments(host, file)]
        for key, value in pairs:
            known[key] = _expand(value, known)
    return known


def _expand(text, known):
    # variables of variables, and many in one value, can grow without end
    return _VARIABLE.sub(lambda match: known.get(match.group(1), match.group()), text[:_LONGEST])[:_LONGEST]


def _unit_fits(host, unit, known):
    """Whether the conditions of a unit hold; None if unknown. A regular expression from a file is not run here."""
    uname = [host.value("/proc/sys/kernel/" + name) or "" for name in ("ostype", "hostname", "osrelease", "version")]
    machine = architecture(host)
    texts = {"uname_regex": machine and " ".join(uname + [machine]), "cpuinfo_regex": host.read("/proc/cpuinfo")}
    found = []
    for key in set(texts).intersection(unit.about):
        words = _expand(unit.about[key], known)
        found.append(words in texts[key] if texts[key] and re.match(r"[\w -]+\Z", words) else None)
    return False if False in found else None if None in found else True


def _writes(host, unit, known):
    for name, settings in unit.options.items():
        for setting in settings:
            value = re.sub(r'^"(.*)"$', r"\1", _expand(setting.value, known))
            if unit.kind == "script" and name == "script":
                for line, text in numbered_lines(host, value):
                    yield Write(None, Setting(value, line, text, None))
            elif value:
                path, value = _target(unit.kind, name, value)
                text, value = "%s=%s" % (name, value), None if "${" in value else value
                # the plugin vm gives way to the kernel command line
                given = "transparent_hugepage=" in (host.read("/proc/cmdline") or "")
                if (unit.kind, path, given) != ("vm", HUGE_FILE, True):
                    yield Write(path, setting._replace(text=text, value=value))


def _target(kind, name, value):
    """(file that an option writes or None, value)"""
    if kind == "sysctl":
        return path_of(name), value
    if kind == "sysfs":
        return os.path.normpath(name), value
    if kind == "vm" and name.startswith("transparent_hugepage") and "." not in name:
        return HUGE_FILE, value
    if kind == "vm" and name.startswith("dirty_"):
        if value.endswith("%"):
            # of tuned from 2.26 on; earlier ones have dirty_ratio, which may have it too
            name, value = name.replace("_bytes", "_ratio"), value.rstrip("% ")
        return "/proc/sys/vm/" + name, value
    return None, value
