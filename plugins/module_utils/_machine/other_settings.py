# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other places that set a knob: kernel command line, sysctl.d, tmpfiles.d, udev, tuned, saptune, units, scripts.

Each finder yields Settings. The tuning decides whether a setting wins over a stored value; of_system() decides it for
knobs of the whole system.
"""

import fnmatch
import os
import re
from collections import namedtuple

from .._host.drop_ins import assignments, effective_files, numbered_lines
from .._host.host import HostError
from .boot_sources import real, runs_systemd, scripts

# file, line: its place. text: the line. value: the value that it sets, None if that is not plain text.
Setting = namedtuple("Setting", "file line text value")

# key{attribute} operator "value", see udev(7)
UdevToken = namedtuple("UdevToken", "key attribute operator value")
# a key begins where no other could, and no brace is within braces: so each character of a line is looked at once
_TOKEN = re.compile(r'(?<![A-Z_])([A-Z_]+)(?:\{([^{}]*)\})?\s*(==|!=|\+=|-=|:=|=)\s*e?"((?:[^"\\]|\\.)*)"')

_EXEC = re.compile(r"^Exec(?:Start|StartPre|StartPost)\s*=\s*[-+!:@|]*(.*)$")
# programs that a site's own unit may call. Programs of the distribution, paths that are too long for the kernel, and
# files too large for a script are not read.
_LARGEST_SCRIPT = 256 * 1024
_OWN_PROGRAM = re.compile(r"/(?:usr/local|opt|root|etc|srv|home)/[^\s;\"']{1,4000}")
# those that a script may call: its configuration in /etc is read by it, and not run
_CALLED_PROGRAM = re.compile(r"/(?:usr/local|opt|root|srv|home)/[^\s;\"')]{1,4000}")
_SYSCTL_CONF = "/etc/sysctl.conf"
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


def sysctls(host, key):
    """The settings of one sysctl (dotted) at boot, in the order in which they are applied; the last one counts.

    /etc/sysctl.conf is one of them if a link in sysctl.d leads to it, or if procps applies it (sysctl --system, in the
    boot scripts of systems without systemd): systemd-sysctl itself does not read it since version 207 (NEWS).
    """
    files = effective_files(host, "sysctl.d", ".conf")
    if not _sysctl_conf_is_linked(host, files) and not runs_systemd(host):
        files.append(_SYSCTL_CONF)
    for file in files:
        yield from _sysctls_in(host, file, key)


def _sysctls_in(host, file, key):
    for line, text, name, value in assignments(host, file):
        if name.lstrip("-").strip().replace("/", ".") == key:
            yield Setting(file, line, text, value)


def _sysctl_conf_is_linked(host, files):
    target = host.real(_SYSCTL_CONF)
    return any(host.real(file) == target for file in files)


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


def tuned(host, pattern):
    """(enabled, Setting) of each matching line in tuned's active profile, its included profiles, and their scripts."""
    runs = enabled(host, "tuned.service")
    for folder in _tuned_folders(host):
        for file in [folder + "/tuned.conf"] + host.glob(folder, "*.sh"):
            for setting in lines_with(host, file, pattern):
                yield runs, setting


def _tuned_folders(host):
    """The folders of tuned's active profile and its included profiles."""
    waiting = (host.value("/etc/tuned/active_profile") or "").split()
    seen = set()
    while waiting:
        profile = waiting.pop()
        folder = next((folder for folder in _profile_folders(profile) if host.exists(folder + "/tuned.conf")), None)
        if folder is None or profile in seen:
            continue
        seen.add(profile)
        for _line, _text, name, value in assignments(host, folder + "/tuned.conf"):
            if name == "include":
                waiting += re.split(r"[\s,;]+", value)
        yield folder


def _profile_folders(profile):
    tops = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
    return [os.path.join(top, profile) for top in tops]


def tuned_reapplies_sysctls(host):
    """Whether tuned applies sysctl.d again after its own sysctls: its default, unless tuned-main.conf changes it."""
    for _line, _text, name, value in assignments(host, "/etc/tuned/tuned-main.conf"):
        if name == "reapply_sysctl":
            return value.lower() in ("1", "true", "yes")
    return True


def saptune_notes(host):
    """The SAP notes that saptune applies, in order. Its configuration is in the second file from SLES 16 on."""
    notes = []
    for file in ("/etc/sysconfig/saptune", "/var/lib/saptune/config/saptune"):
        for _line, _text, name, value in assignments(host, file):
            if name == "NOTE_APPLY_ORDER":
                notes = value.strip("\"' ").split()
    return notes


def saptune(host, pattern):
    """(enabled, Setting) of each matching line in the notes that saptune applies and in the file of sapconf."""
    runs = enabled(host, "saptune.service")
    for note in saptune_notes(host):
        # the site's own note, then the site's changes of a note, then the note as delivered
        for file in ("/etc/saptune/extra/%s.conf", "/etc/saptune/override/%s", "/var/lib/saptune/working/notes/%s"):
            for setting in lines_with(host, file % note, pattern):
                yield runs, setting
    for setting in lines_with(host, "/etc/sysconfig/sapconf", pattern):
        yield enabled(host, "sapconf.service"), setting


def units(host, pattern):
    """(enabled, Setting) of each matching line in a systemd unit or in a program of the site that the unit starts."""
    for file in effective_files(host, "systemd/system", ".service"):
        found = list(lines_with(host, file, pattern))
        for _line, text in numbered_lines(host, file):
            start = _EXEC.match(text)
            for program in _OWN_PROGRAM.findall(start.group(1)) if start else ():
                found += _lines_of_script(host, program, pattern)
        for setting in found:
            yield enabled(host, os.path.basename(file)), setting


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
        return numbered_lines(host, file) if size is not None and size <= _LARGEST_SCRIPT else []
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


def _of_sysctl(host, key, own):
    """The other sysctl.d files that set key; those that are read after our own file win."""
    found = []
    for setting in sysctls(host, key):
        if setting.file != own:
            later = setting.file == _SYSCTL_CONF or os.path.basename(setting.file) > os.path.basename(own)
            found.append(conflict("sysctl.d", setting, "yes" if later else "no"))
    return found


def _of_sysctl_conf(host, key):
    """The lines of /etc/sysctl.conf that systemd-sysctl does not read.

    tuned reads them after sysctl.d if its active profile has sysctls (plugins/plugin_sysctl.py, reapply_sysctl).
    """
    files = effective_files(host, "sysctl.d", ".conf")
    if not runs_systemd(host) or _sysctl_conf_is_linked(host, files):
        return []
    tuned_reads = enabled(host, "tuned.service") and tuned_reapplies_sysctls(host) and _tuned_has_sysctls(host)
    found = list(_sysctls_in(host, _SYSCTL_CONF, key))
    if tuned_reads:
        return [conflict("sysctl.conf (tuned)", setting, "yes") for setting in found]
    return [conflict("sysctl.conf", setting, "no", effect=_NOT_READ) for setting in found]


def _tuned_has_sysctls(host):
    texts = [host.read(folder + "/tuned.conf") or "" for folder in _tuned_folders(host)]
    return any(re.search(r"(?m)^\s*\[sysctl\]|^\s*type\s*=\s*sysctl\b", text) for text in texts)


# A knob that exists once per system. sysctl: its dotted name or None. path: its file in /sys or None. pattern: the
# lines of a unit, script or profile that set it; its first group is the value. own: the file of this collection for it.
SystemKnob = namedtuple("SystemKnob", "sysctl path pattern own")


def of_system(host, knob):
    """The conflicts of a SystemKnob, in the order in which they act at boot.

    systemd starts systemd-sysctl, systemd-tmpfiles-setup and udev in no fixed order, so any of them may win; units,
    tuned and saptune come after all three. A line without a value may only read the knob.
    """
    found = []
    if knob.sysctl:
        setting = command_line(host, "sysctl." + knob.sysctl)
        found += [conflict("kernel command line", setting, "no")] if setting else []
        found += _of_sysctl(host, knob.sysctl, knob.own)
    if knob.path:
        found += _of_tmpfiles(host, knob)
    found += [conflict("udev rule", setting, "possible") for setting in _udev_lines(host, knob.pattern)]
    again = tuned_reapplies_sysctls(host) and "/sysctl.d/" in knob.own
    for runs, setting in tuned(host, knob.pattern):
        as_sysctl = knob.sysctl is not None and setting.text.replace("/", ".").startswith(knob.sysctl)
        found.append(conflict("tuned", setting, "no" if as_sysctl and again else _late(runs, setting)))
    found += _of_sysctl_conf(host, knob.sysctl) if knob.sysctl else []
    for what, finder in (("saptune", saptune), ("unit", units)):
        found += [conflict(what, setting, _late(runs, setting)) for runs, setting in finder(host, knob.pattern)]
    return found + [conflict("boot script", setting, "possible") for setting in boot_scripts(host, knob.pattern)]


def _late(runs, setting):
    return "yes" if runs and setting.value is not None else "possible"


def _of_tmpfiles(host, knob):
    """Of two lines for one path, systemd-tmpfiles uses the one in the file whose name sorts first."""
    found, own = [], os.path.basename(knob.own) if "/tmpfiles.d/" in knob.own else None
    for paths, setting in tmpfiles(host):
        if setting.file == knob.own or not fnmatch.fnmatchcase(knob.path, paths):
            continue
        if own is None or paths != knob.path:
            found.append(conflict("tmpfiles.d", setting, "possible"))
        elif not any(other["wins"] in ("yes", "no") for other in found):
            found.append(conflict("tmpfiles.d", setting, "yes" if os.path.basename(setting.file) < own else "no"))
    return found


def _udev_lines(host, pattern):
    for file in effective_files(host, "udev/rules.d", ".rules"):
        yield from lines_with(host, file, pattern)


def at_boot(subject, name, stored, conflicts, same):
    """(value of name after the next boot, [sentence if it differs from the stored value]).

    stored: the stored value or None. conflicts: in the order in which they act. same(one, other) compares two values.
    The value is None if nothing sets it.
    """
    value, last = stored, None
    for other in conflicts:
        if not other.get("effect") and (other["wins"] == "yes" or (other["wins"] == "no" and stored is None)):
            value, last = other["value"] or "set by %s" % other["file"], other
    if stored is None or last is None or same(value, stored):
        return value, []
    return value, [
        "%s: at the next boot %s line %s sets %s to %s after the stored value %s"
        % (subject, last["file"], last["line"], name, last["value"] or "its own", stored)
    ]
