# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What saptune, sapconf and tuned write, with their files merged as they merge them.

Sources: SUSE/saptune 3.2, txtparser/{ini,tags}.go and sap/note/{note,ini,sectMem}.go; sapconf 5.0.8;
redhat-performance/tuned 2.28, tuned/profiles/{locator,loader,merger,unit,variables}.py, units/manager.py and
plugins/plugin_{sysctl,vm,sysfs,script}.py.
"""

import configparser
import fnmatch
import functools
import io
import os
import re
from collections import OrderedDict, namedtuple

from .._host import kernel
from .._host.drop_ins import Setting, assignments, numbered_lines
from .boot_sources import path_of, sysctl_lines
from .hardware import architecture

HUGE_FILE = "/sys/kernel/mm/transparent_hugepage/enabled"
SAPCONF = "/etc/sysconfig/sapconf"
# {the key of sapconf's file without the _MIN or _DEF of older versions: the file that it sets}
_SAPCONF_KEYS = {
    "DIRTY_BG_BYTES": "/proc/sys/vm/dirty_background_bytes",
    "DIRTY_BYTES": "/proc/sys/vm/dirty_bytes",
    "MAX_MAP_COUNT": "/proc/sys/vm/max_map_count",
    "SHMALL": "/proc/sys/kernel/shmall",
    "SHMMAX": "/proc/sys/kernel/shmmax",
    "SHMMNI": "/proc/sys/kernel/shmmni",
    "THP": HUGE_FILE,
}
_SIZE, _PERCENT = "ShmFileSystemSizeMB", "VSZ_TMPFS_PERCENT"
_WORD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-"
_COMMENT = re.compile(r'"?\s#(?!#).')


# A value that a tool writes. path: the file, which may have wildcards, or None if only the text tells what is set.
# setting: with the text name=value; sure: whether it is known that the tool does so.
Write = namedtuple("Write", "path setting sure")
Write.__new__.__defaults__ = (True,)


def saptune_notes(host):
    """The SAP notes that saptune applies, in order. Its configuration is in the second file from SLES 16 on."""
    found = []
    for file in ("/etc/sysconfig/saptune", "/var/lib/saptune/config/saptune"):
        for _line, _text, name, value in assignments(host, file):
            if name == "NOTE_APPLY_ORDER":
                found = _COMMENT.split(value)[0].strip("\"' ").split()
    return [note for note in found if "/" not in note]


def saptune_writes(host):
    """[Write] of saptune in its order; of a file that several notes set, the last one counts."""
    return [write for note in saptune_notes(host) for write in _note(host, note).values()]


def saptune_size(host):
    """The Setting of the note that sets the size of /dev/shm last, or None: a percentage, or MB.

    Without a size in MB, or with an override that leaves it alone, a note sets nothing. 0 means the percentage of the
    same note, and 0 % means 75 %.
    """
    found = None
    for note in saptune_notes(host):
        keys = _note(host, note)
        size, percent = (keys.get(("mem", key)) for key in (_SIZE, _PERCENT))
        size = size.setting if size else None
        if size and size.value == "0":
            size = percent.setting if percent else None
            size = size._replace(value="75") if size and size.value == "0" else size
        found = size or found
    return found


def _note(host, note):
    """{(section, key): Write} of a note. An empty value in its override leaves a key alone, and so does one here."""
    # a note of the site does not replace one as delivered
    files = ["/var/lib/saptune/working/notes/%s" % note, "/etc/saptune/extra/%s.conf" % note]
    found, changed = OrderedDict(), {}
    for section, fits, lines in _saptune_sections(host, next(filter(host.exists, files), files[0])):
        for key, setting in lines.items():
            found.pop((section, key), None)
            found[section, key] = Write(_saptune_path(section, key), setting, fits)
    for section, fits, lines in _saptune_sections(host, "/etc/saptune/override/%s" % note):
        # a second section of this name replaces the first one
        changed[section] = fits, lines
    for section, key in list(found):
        fits, lines = changed.get(section, (True, {}))
        if key in lines and (lines[key].value or key != _PERCENT):
            write = found[section, key]
            found[section, key] = write._replace(setting=lines[key], sure=write.sure and fits)
    return OrderedDict((key, write) for key, write in found.items() if write.setting.value)


def _saptune_path(section, key):
    if section == "sysctl":
        return "/proc/sys/" + key.replace(".", "/")
    if section == "sys":
        return "/sys/" + key.replace(".", "/")
    return HUGE_FILE if (section, key) == ("vm", "THP") else None


def _saptune_sections(host, file):
    """[(name, whether its tags fit, {key: Setting})] of the sections that may count on this host."""
    found, lines = [], {}
    for number, line in enumerate((host.read(file) or "").split("\n"), 1):
        text = "" if line.strip().startswith("#") else _COMMENT.split(line.strip())[0].rstrip()
        if text.startswith("["):
            name, *tags = text[1:-1].split(":")
            fits, lines = _section_fits(host, tags), OrderedDict()
            if name and fits is not False:
                found.append((name, bool(fits), lines))
        else:
            _add_setting(lines, file, number, text)
    return found


def _add_setting(lines, file, number, text):
    """Add the Setting of a line such as key = value or key >= value."""
    operator = re.search(r"[<=>]+", text)
    # the parser refuses a slash in all that is before the last operator
    if not operator or "/" in text[: max(map(text.rfind, "<=>"))]:
        return
    name, value = text[: operator.start()].rstrip(), text[operator.end() :].strip().lstrip("\"'").rstrip("\"'")
    key = name[len(name.rstrip(_WORD)) :]
    lines.pop(key, None)
    lines[key] = Setting(file, number, "%s=%s" % (key, value), value)


def _section_fits(host, tags):
    """Whether a section is for this host: True, False, or None for a tag that is not judged here."""
    found = []
    for tag in filter(None, tags):
        key, equals, value = tag.partition("=")
        if not equals or "=" in value:
            found.append(False)
        elif key == "os":
            found.append(_is_os((kernel.distribution(host) or {}).get("version"), value))
        elif key == "arch":
            machine = architecture(host)
            found.append(value == machine if machine else None)
        elif key == "kernel" and re.match(r"[\w-]+\Z", value):
            found.append(value in (kernel.release(host) or ""))
        else:
            found.append(None)
    return False if False in found else None if None in found else True


def _is_os(version, wanted):
    """Whether a version such as 15.6 is meant by 15-SP6, 15-*, 15-[2,4-6] or 15-[5-]."""
    major, _dot, minor = (version or "").partition(".")
    many = re.match(r"([0-9]+)[-.](?:S?P?(\*)|\[([0-9,-]*)\])\Z", wanted)
    if not many:
        return wanted.replace("-SP", ".") == version
    if many.group(1) != major or many.group(2):
        return many.group(1) == major
    now = int(minor or 0)
    for low, dash, high in re.findall(r"(?:\A|,)([0-9]*)(-?)([0-9]*)(?=,|\Z)", many.group(3)):
        if (low or high) and int(low or 0) <= now <= (int(high or now) if dash else int(low)):
            return True
    return False


def sapconf_writes(host):
    """[Write] of sapconf. A shell reads its file: the last assignment counts, and an empty value sets nothing."""
    found = OrderedDict()
    for line, _text, name, text in assignments(host, SAPCONF):
        key, value = re.sub(r"_(?:MIN|DEF)$", "", name), text.partition("#")[0].strip().strip("\"'")
        found[key] = Setting(SAPCONF, line, "%s=%s" % (key, value), value)
    return [Write(_SAPCONF_KEYS.get(key), setting) for key, setting in found.items() if setting.value]


# tuned

# the first folder with a profile has it; those without profiles/ are of releases before 2.23
_FOLDERS = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
# profiles of one load, and characters of a variable: more are a mistake
_MOST, _LONGEST = 100, 1000
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
    for unit in sorted(units.values(), key=lambda unit: _number(unit.about.get("priority"))):
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


def _number(text):
    return int(text) if re.match(r"-?[0-9]{1,9}\Z", text or "") else 0


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
    for section, options in _sections(host.read(file) or ""):
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
    # the parser itself forgets where a name stands
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
            # variables of variables can grow without end
            known[key] = _expand(value, known)[:_LONGEST]
    return known


def _expand(text, known):
    return _VARIABLE.sub(lambda match: known.get(match.group(1), match.group()), text)


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
