# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who else would set a knob: udev rules, tmpfiles.d, sysctl.d, tuned, scripts that run at boot.

Each finder yields what it found as Setting; whether a setting wins over a stored value is decided by the tuning.
"""

import fnmatch
import os
import re
from collections import namedtuple

from ansible_collections.zpower.sap_tuning.plugins.module_utils._persist import effective_files, numbered_lines

# file, line: where it stands. text: the line. value: what it sets, None where that is not plain text.
Setting = namedtuple("Setting", "file line text value")

# key{attribute} operator "value", as udev(7) has them
UdevToken = namedtuple("UdevToken", "key attribute operator value")
_TOKEN = re.compile(r'([A-Z_]+)(?:\{([^}]*)\})?\s*(==|!=|\+=|-=|:=|=)\s*e?"((?:[^"\\]|\\.)*)"')

_BOOT_SCRIPTS = (
    ("/etc", "rc.local"),
    ("/etc/rc.d", "rc.local"),
    ("/etc/init.d", "boot.local"),
    ("/etc/init.d", "after.local"),
    ("/etc/systemd/system", "*.service"),
    ("/etc/NetworkManager/dispatcher.d", "*"),
    ("/etc/cron.d", "*"),
)


def udev_tokens(text):
    """The tokens of one udev rule."""
    return [UdevToken(*match.groups()) for match in _TOKEN.finditer(text)]


def udev_rules(host, word):
    """(file, line, tokens) of every effective udev rule that names word, in the order in which they run."""
    for path in effective_files(host, "udev/rules.d", ".rules"):
        if word in (host.read(path) or ""):
            for line, text in numbered_lines(host, path):
                if word in text:
                    yield path, line, udev_tokens(text)


def udev_match(pattern, value):
    """Whether a udev match value (alternatives with |, shell globs) matches."""
    return any(fnmatch.fnmatchcase(value, part) for part in pattern.split("|"))


def tmpfiles(host):
    """(glob of paths, Setting) of every tmpfiles.d line that writes a value to files of /sys or /proc."""
    for file in effective_files(host, "tmpfiles.d", ".conf"):
        for line, text in numbered_lines(host, file):
            fields = text.split(None, 6)
            if len(fields) == 7 and fields[0].rstrip("!+-=~^") == "w":
                yield fields[1], Setting(file, line, text, fields[6])


def sysctls(host, key):
    """The sysctl.d settings of one key (dotted), in the order in which they are applied; the last one counts."""
    files = effective_files(host, "sysctl.d", ".conf")
    if host.exists("/etc/sysctl.conf") and "/etc/sysctl.d/99-sysctl.conf" not in files:
        files.append("/etc/sysctl.conf")
    for file in files:
        for line, text in numbered_lines(host, file):
            name, equals, value = text.lstrip("-").partition("=")
            if equals and name.strip().replace("/", ".") == key:
                yield Setting(file, line, text, value.strip())


def ini_files(host, kind, suffix):
    """{section: {key: [Setting]}} of each effective drop-in file of one kind that is written as systemd's are."""
    for file in effective_files(host, kind, suffix):
        sections, section = {}, {}
        for line, text in numbered_lines(host, file):
            key, equals, value = text.partition("=")
            if text.startswith("["):
                section = sections.setdefault(text.strip("[]"), {})
            elif equals:
                section.setdefault(key.strip(), []).append(Setting(file, line, text, value.strip()))
        yield sections


def glob_words(words, name):
    """Whether one of the blank-separated globs matches."""
    return any(fnmatch.fnmatchcase(name, word) for word in words.split())


def tuned(host, word):
    """(enabled, Setting) of each line that names word in tuned's active profile, those it includes, their scripts."""
    # a link that points nowhere below a captured root still says that the unit is enabled
    enabled = bool(host.glob("/etc/systemd/system/multi-user.target.wants", "tuned.service"))
    waiting = (host.value("/etc/tuned/active_profile") or "").split()
    seen = set()
    while waiting:
        profile = waiting.pop()
        folder = next((folder for folder in _profile_folders(profile) if host.exists(folder + "/tuned.conf")), None)
        if folder is None or profile in seen:
            continue
        seen.add(profile)
        files = [folder + "/tuned.conf"] + host.glob(folder, "*.sh")
        for _line, text in numbered_lines(host, files[0]):
            name, equals, value = text.partition("=")
            if equals and name.strip() == "include":
                waiting += re.split(r"[\s,;]+", value.strip())
        for file in files:
            for line, text in numbered_lines(host, file):
                if word in text:
                    yield enabled, Setting(file, line, text, None)


def _profile_folders(profile):
    tops = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
    return [os.path.join(top, profile) for top in tops]


def boot_scripts(host, word):
    """The lines of scripts and units of this machine's own that name word."""
    for folder, pattern in _BOOT_SCRIPTS:
        for file in host.glob(folder, pattern):
            for line, text in numbered_lines(host, file):
                if word in text:
                    yield Setting(file, line, text, None)
