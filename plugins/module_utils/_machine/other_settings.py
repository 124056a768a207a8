# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other places that set a knob: kernel command line, sysctl.d, tmpfiles.d, udev, tuned, saptune, units, scripts.

Each finder yields Settings. The tuning decides whether a setting wins over a stored value; of_system() decides it for
knobs of the whole system. How other tools merge their files is in tools.py, and sysctl.d in boot_sources.py.
"""

import fnmatch
import os
import re
from collections import namedtuple

from .._host.drop_ins import Setting, effective_files, numbered_lines
from .._host.host import HostError
from . import boot_sources, tools, tuned
from .boot_sources import path_of, real, runs_systemd, scripts

# key{attribute} operator "value", see udev(7)
UdevToken = namedtuple("UdevToken", "key attribute operator value")
# a key begins where no other could, and no brace is within braces: so each character of a line is looked at once
_TOKEN = re.compile(r'(?<![A-Z_])([A-Z_]+)(?:\{([^{}]*)\})?\s*(==|!=|\+=|-=|:=|=)\s*e?"((?:[^"\\]|\\.)*)"')

_EXEC = re.compile(r"^Exec(?:Start|StartPre|StartPost)\s*=\s*[-+!:@|]*(.*)$")
# programs that a site's own unit may call. Programs of the distribution, paths that are too long for the kernel, and
# files too large for a script are not read.
LARGEST_SCRIPT = 256 * 1024
_OWN_PROGRAM = re.compile(r"/(?:usr/local|opt|root|etc|srv|home)/[^\s;\"']{1,4000}")
# those that a script may call: its configuration in /etc is read by it, and not run
_CALLED_PROGRAM = re.compile(r"/(?:usr/local|opt|root|srv|home)/[^\s;\"')]{1,4000}")
_NOT_READ = "is not read at boot: systemd reads only sysctl.d, and no link there leads to this file"


def udev_tokens(text):
    """The tokens of one udev rule."""
    return [UdevToken(*match.groups()) for match in _TOKEN.finditer(text)]


def udev_rules(host, word):
    """(file, line, tokens) of every effective udev rule that contains word, in the order in which they run."""
    for path in effective_files(host, "udev/rules.d", ".rules"):
        if word in (host.read(path) or ""):
            for line, text in numbered_lines(host, path):
                if word in text:
                    yield path, line, udev_tokens(text)


def udev_match(pattern, value, between="|"):
    """Whether one of the shell globs in a udev match value fits; between: what separates them, None for blanks."""
    return any(fnmatch.fnmatchcase(value, part) for part in pattern.split(between))


def tmpfiles(host):
    """(glob of paths, Setting) of every tmpfiles.d line that writes a value to files of /sys or /proc."""
    for file in effective_files(host, "tmpfiles.d", ".conf"):
        for line, text in numbered_lines(host, file):
            fields = text.split(None, 6)
            if len(fields) == 7 and fields[0].rstrip("!+-=~^") == "w":
                yield fields[1], Setting(file, line, text, fields[6])


def ini_files(host, kind, suffix):
    """{section: {key: [Setting]}} of each effective file of one kind, in systemd's format, with its own drop-in files.

    An empty file, or a link to /dev/null, switches the file of this name off, with its drop-in files.
    """
    for file in effective_files(host, kind, suffix):
        sections = {}
        if (host.read(file) or "").strip():
            drop_ins = effective_files(host, "%s/%s.d" % (kind, os.path.basename(file)), ".conf")
            for one in [file] + drop_ins:
                _read_sections(host, one, sections)
        yield sections


def _read_sections(host, file, sections):
    section = {}
    for line, text in numbered_lines(host, file):
        key, equals, value = text.partition("=")
        if text.startswith("["):
            section = sections.setdefault(text.strip("[]"), {})
        elif equals:
            section.setdefault(key.strip(), []).append(Setting(file, line, text, value.strip()))


def command_line(host, name):
    """The last Setting of a parameter on the running kernel's command line; None if absent."""
    found = None
    for word in (host.value("/proc/cmdline") or "").split():
        key, equals, value = word.partition("=")
        # for the kernel, - and _ are the same
        if equals and key.replace("-", "_") == name.replace("-", "_"):
            found = Setting("/proc/cmdline", 1, word, value.strip('"'))
    return found


def enabled(host, unit):
    """Whether systemd starts a unit at boot: a target has a link to it in its .wants or .requires folder.

    A dangling link counts, because a captured root may lack its target.
    """
    for top in ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"):
        for folder in host.glob(top, "*.wants") + host.glob(top, "*.requires"):
            if unit in host.listdir(folder):
                return True
    return False


def of_tuned(host, pattern):
    """(whether tuned surely sets it, Setting) of what its merged profile and its scripts set by a matching line."""
    runs = enabled(host, "tuned.service")
    for write in tuned.tuned_profile(host).writes:
        for setting in _matching(write.setting.file, [(write.setting.line, write.setting.text)], pattern):
            yield runs and write.sure, setting


def units(host, pattern):
    """(enabled, Setting) of each matching line in a systemd unit or in a program of the site that the unit starts."""
    files = [(file, os.path.basename(file)) for file in effective_files(host, "systemd/system", ".service")]
    for folder in sorted({os.path.basename(path) for path in effective_files(host, "systemd/system", ".service.d")}):
        files += [(file, folder[:-2]) for file in effective_files(host, "systemd/system/" + folder, ".conf")]
    for file, unit in files:
        found = list(lines_with(host, file, pattern))
        for _line, text in numbered_lines(host, file):
            start = _EXEC.match(text)
            for program in _OWN_PROGRAM.findall(start.group(1)) if start else ():
                found += _lines_of_script(host, program, pattern)
        for setting in found:
            yield enabled(host, unit), setting


def _lines_of_script(host, file, pattern):
    return list(_matching(file, _numbered_lines_of_script(host, file), pattern))


def boot_scripts(host, pattern):
    """The matching lines of this machine's own scripts, and of the programs of the site that they call."""
    files = {}
    for script in scripts(host):
        files[real(host, script)] = script
        for _line, text in _numbered_lines_of_script(host, script):
            for program in _CALLED_PROGRAM.findall(text):
                files.setdefault(real(host, program), program)
    for file in files.values():
        yield from _lines_of_script(host, file, pattern)


def _numbered_lines_of_script(host, file):
    """numbered_lines(); empty if the file is not a script, or cannot be read, as on a network file system."""
    try:
        size = host.size(file)
        return numbered_lines(host, file) if size is not None and size <= LARGEST_SCRIPT else []
    except HostError:
        return []


def lines_with(host, file, pattern):
    """The matching lines of a file without comments. value: the first group of the pattern that matched."""
    return _matching(file, numbered_lines(host, file), pattern)


def _matching(file, lines, pattern):
    for line, text in lines:
        match = pattern.search(text)
        if match:
            yield Setting(file, line, text, next((group for group in match.groups() if group), None))


# the conflicts of a tuning record


def conflict(what, setting, wins, **more):
    """One entry of the tuning record's conflicts; more: effect, what it does if it does not simply set the knob.

    A comment behind the value is not shown: it may hold anything, and the kernel ignores it.
    """
    value = setting.value and re.split(r"(?<!\s)\s+[#;]", setting.value)[0]
    return dict(what=what, file=setting.file, line=setting.line, value=value, wins=wins, **more)


# A knob that exists once per system. sysctl: its dotted name or None. path: its file in /proc/sys or /sys, or None.
# pattern: the lines of a unit, script or profile that set it; its first group is the value. own: the file of this
# collection for it. prefix: of the values, where two sysctls are one knob.
SystemKnob = namedtuple("SystemKnob", "sysctl path pattern own prefix")
SystemKnob.__new__.__defaults__ = ("",)


def of_system(host, *knobs):
    """The conflicts of a SystemKnob, in the order in which they act at boot. knobs: one, or its forms.

    systemd starts systemd-sysctl, systemd-tmpfiles-setup and udev in no fixed order, so any of them may win; units,
    tuned and saptune come after all three, saptune last. A line without a value may only read the knob. tuned applies
    sysctl.d again after the first writes of its profile, so that a value of ours there is in force again.
    """
    boot = _Boot(host, knobs)
    found = boot.command_line() + boot.sysctls()
    for knob in knobs:
        found += _of_tmpfiles(host, knob, boot) if knob.path else []
        lines = _udev_lines(host, knob.pattern)
        found += [conflict("udev rule", boot.told(knob, setting), "possible") for setting in lines]
    found += boot.tuned()
    runs = enabled(host, "saptune.service")
    found += boot.written("saptune", runs, tools.saptune_writes(host))
    if enabled(host, "sapconf.service") or host.exists("/run/sapconf/active"):
        found += boot.written("sapconf", True, tools.sapconf_writes(host))
    for knob in knobs:
        lines = units(host, knob.pattern)
        found += [conflict("unit", boot.told(knob, setting), _late(runs, setting)) for runs, setting in lines]
        lines = boot_scripts(host, knob.pattern)
        found += [conflict("boot script", boot.told(knob, setting), "possible") for setting in lines]
    return found


class _Boot:
    """What sets the forms of one knob."""

    def __init__(self, host, knobs):
        self._host, self._knobs = host, knobs
        self._own = knobs[0].own
        self._paths = {path_of(knob.sysctl): knob for knob in knobs if knob.sysctl}
        self._profile = tuned.tuned_profile(host)
        again = self._profile.again is not None and enabled(host, "tuned.service")
        # [(path, Setting)] of the lines in sysctl.d that tuned applies again, None if it does not
        self._again = tuned.applied_again(host, self._paths) if again and self._paths else None

    def _value(self, path, text):
        """A value in the user's terms: of a sysctl the number that the kernel reads."""
        knob = self._paths.get(path)
        if knob is None or text is None:
            return text
        if not text:
            return "the kernel's own value"
        sign = text[0] if text[0] in "<>" else ""
        read = self._number(path, text[len(sign) :]) or text + " (not a number, which the kernel refuses)"
        return sign + knob.prefix + read

    def _number(self, path, text):
        return boot_sources.number(text, len((self._host.value(path) or "").split()) or None)

    def told(self, knob, setting):
        """The Setting of a line that matches a knob's pattern, with its value in the user's terms."""
        value = setting.value
        if value:
            value = knob.prefix + (knob.sysctl and self._number(path_of(knob.sysctl), value) or value)
        return setting._replace(value=value)

    def command_line(self):
        settings = [(path, command_line(self._host, "sysctl." + knob.sysctl)) for path, knob in self._paths.items()]
        return [self._conflict("kernel command line", path, one, "no") for path, one in settings if one]

    def _conflict(self, what, path, setting, wins):
        return conflict(what, setting._replace(value=self._value(path, setting.value)), wins)

    def sysctls(self):
        """The lines of sysctl.d before tuned."""
        again = set(setting[:2] for _path, setting in self._again or ())
        lines, found = boot_sources.sysctls(self._host, *self._paths), []
        for (path, setting), later in zip(lines, self._wins(lines)):
            if setting.file != self._own and setting[:2] not in again:
                wins = "no" if self._again is not None else later
                # without a value: a name with a dash, which switches the others off
                found.append(self._conflict("sysctl.d", path, setting._replace(value=setting.value or ""), wins))
        if self._again is None and runs_systemd(self._host) and not boot_sources.conf_is_linked(self._host):
            for name, setting in boot_sources.sysctl_lines(self._host, boot_sources.SYSCTL_CONF):
                path = path_of(name)
                if path in self._paths:
                    found.append(dict(self._conflict("sysctl.conf", path, setting, "no"), effect=_NOT_READ))
        return found

    def _wins(self, lines):
        """Whether each of these lines, in the order in which they act, acts after our own one.

        Ours is not always in the place of its file: a line may act where an earlier one of its name stands. A line with
        our value in a later file would act after ours if that changed.
        """
        own = [(path, setting.value) for path, setting in lines if setting.file == self._own]
        places = [place for place, (path, setting) in enumerate(lines) if (path, setting.value) in own]
        if not places:
            return [self._later(setting) for _path, setting in lines]
        later = [place in places and self._later(setting) == "yes" for place, (_path, setting) in enumerate(lines)]
        return ["yes" if place > max(places) or later[place] else "no" for place in range(len(lines))]

    def _later(self, setting):
        """Whether a line of sysctl.d is read after our own file. A wildcard gives way to a name anywhere."""
        if setting.file == boot_sources.SYSCTL_CONF:
            return "yes"
        later = os.path.basename(setting.file) > os.path.basename(self._own)
        return "yes" if later and not boot_sources.is_glob(setting.text.partition("=")[0]) else "no"

    def tuned(self):
        again = self._profile.again if "/sysctl.d/" in self._own else None
        runs = enabled(self._host, "tuned.service")
        found = self.written("tuned", runs, self._profile.writes[:again], again is not None)
        lines = self._again or []
        for (path, setting), wins in zip(lines, self._wins(lines)):
            if setting.file != self._own:
                what = "sysctl.conf (tuned)" if setting.file == boot_sources.SYSCTL_CONF else "sysctl.d"
                found.append(self._conflict(what, path, setting, wins))
        return found + (self.written("tuned", runs, self._profile.writes[again:]) if again is not None else [])

    def written(self, what, runs, writes, ours_follows=False):
        """The conflicts of a tool's writes; the last one wins.

        ours_follows: whether our own value is set again after them.
        """
        found = []
        for write in writes:
            for setting in self._settings(write):
                wins = _late(runs and write.sure, setting)
                if wins == "yes" and setting.value[:1] not in ("<", ">"):
                    # such as a value of an earlier note
                    found = [dict(one, wins="no" if one["wins"] == "yes" else one["wins"]) for one in found]
                found.append(conflict(what, setting, "no" if ours_follows and wins == "yes" else wins))
        return found

    def _settings(self, write):
        for knob in self._knobs:
            paths = [path for path in (knob.sysctl and path_of(knob.sysctl), knob.path) if path]
            if write.path is None or not paths:
                line = (write.setting.line, write.setting.text)
                for setting in _matching(write.setting.file, [line], knob.pattern):
                    yield self.told(knob, setting)
            elif any(fnmatch.fnmatchcase(path, write.path) for path in paths):
                yield write.setting._replace(value=self._value(paths[0], write.setting.value))


def _late(runs, setting):
    return "yes" if runs and setting.value is not None else "possible"


def _of_tmpfiles(host, knob, boot):
    """Of two lines for one path, systemd-tmpfiles uses the one in the file whose name sorts first."""
    found, own = [], os.path.basename(knob.own) if "/tmpfiles.d/" in knob.own else None
    for paths, one in tmpfiles(host):
        if one.file == knob.own or not fnmatch.fnmatchcase(knob.path, paths):
            continue
        setting = boot.told(knob, one)
        if own is None or paths != knob.path:
            found.append(conflict("tmpfiles.d", setting, "possible"))
        elif not any(other["wins"] in ("yes", "no") for other in found):
            found.append(conflict("tmpfiles.d", setting, "yes" if os.path.basename(setting.file) < own else "no"))
    return found


def _udev_lines(host, pattern):
    for file in effective_files(host, "udev/rules.d", ".rules"):
        yield from lines_with(host, file, pattern)


def at_boot(subject, name, stored, conflicts, same, default=None):
    """(value of name after the next boot, [sentence if it differs from the stored value]).

    stored: the stored value or None. conflicts: in the order in which they act. same(one, other) compares two values.
    default: the value before all of them, or None. A value with < or > is set only if it is lower or higher than that
    before, see tuned.conf. The value is None if nothing sets it.
    """
    value, last = stored, None
    for other in conflicts:
        if not other.get("effect") and (other["wins"] == "yes" or (other["wins"] == "no" and stored is None)):
            new = other["value"] or "set by %s" % other["file"]
            if new[0] in "<>":
                before, new, sign = value or default or "", new[1:], new[0]
                if before.isdigit() and new.isdigit() and (int(new) > int(before)) != (sign == ">"):
                    continue
            value, last = new, other
    if stored is None or last is None or same(value, stored):
        return value, []
    return value, [
        "%s: at the next boot %s line %s sets %s to %s after the stored value %s"
        % (subject, last["file"], last["line"], name, last["value"] or "its own", stored)
    ]
