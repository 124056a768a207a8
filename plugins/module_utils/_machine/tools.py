# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What saptune and sapconf write, with their files merged as they merge them.

Sources: SUSE/saptune 3.2, txtparser/{ini,tags}.go and sap/note/{note,ini,sectMem}.go; sapconf 5.0.8.
"""

import re
from collections import OrderedDict, namedtuple

from .._host import kernel
from .._host.drop_ins import Setting, assignments, text_of
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
    for number, line in enumerate(text_of(host, file).split("\n"), 1):
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
    now = kernel.int_or_none(minor) or 0
    for low, dash, high in re.findall(r"(?:\A|,)([0-9]{0,9})(-?)([0-9]{0,9})(?=,|\Z)", many.group(3)):
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
