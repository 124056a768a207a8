# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that allow real-time priorities: a drop-in of an instance's systemd unit, and a limits.d file of <sid>adm.

Each file is a subject with one knob, its text. Both take effect when sapstartsrv starts next.
"""

import re

from ..._engine.tuning import STORED, Knob, Subject

# of version 0.1.0, and if nobody asks for a number
HIGHEST = 99
UNITS = "/etc/systemd/system"
LIMITS = "/etc/security/limits.d"
# version 0.1.0 wrote the same note and kept no journal of them
_NOTE = (
    "# Written by the role zpower.sap_tuning.sap_profile and taken back by the playbook zpower.sap_tuning.rollback.\n"
)
_DROP_IN = re.compile(UNITS + r"/SAP[A-Z][A-Z0-9]{2}_[0-9]{2}\.service\.d/zpower-sap-tuning\.conf\Z")
_USER = re.compile(LIMITS + r"/zpower-sap-tuning-([a-z][a-z0-9]{2}adm)\.conf\Z")


class LimitFile(Subject):
    """One of these files as it is now; for lacks and unproved see ProfileSubject."""

    lacks, unproved = [], []

    def __init__(self, host, path):
        super().__init__(path, [_knob(path, host.read(path))])

    def want(self, priority):
        self.wanted = {"state": "present", "rtprio": priority}
        for knob in self.knobs:
            knob.wanted = limit_text(self.name, priority)


def is_limit_file(path):
    """Whether a path is one of those that limit_files() gives."""
    return bool(_DROP_IN.match(path) or _USER.match(path))


def limit_files(host, instance):
    """The paths of the files for an instance: one if it has a unit, one if pam has a folder for limits."""
    paths = [drop_in(instance)] if instance.unit else []
    return paths + (["%s/zpower-sap-tuning-%s.conf" % (LIMITS, instance.user)] if host.exists(LIMITS) else [])


def drop_in(instance):
    """The path of the drop-in of an instance's unit."""
    return "%s/%s.d/zpower-sap-tuning.conf" % (UNITS, instance.unit)


def limit_text(path, priority=HIGHEST):
    """The wanted text of one of these files."""
    user = _USER.match(path)
    return _NOTE + (
        "%s - rtprio %d\n" % (user.group(1), priority) if user else "[Service]\nLimitRTPRIO=%d\n" % priority
    )


def marked(host):
    """[(path, Knob)] of the files on a host that begin with this collection's note."""
    paths = ["%s/zpower-sap-tuning.conf" % folder for folder in host.glob(UNITS, "SAP*.service.d")]
    paths += host.glob(LIMITS, "zpower-sap-tuning-*adm.conf")
    found = [path for path in paths if is_limit_file(path) and (host.read(path) or "").startswith(_NOTE)]
    return [(path, _knob(path, limit_text(path))) for path in found]


def _knob(path, text):
    return Knob(path, STORED, path, path, text)


def shown_limit(text):
    """The lines of a file, without comments and sections."""
    return "; ".join(line for line in text.splitlines() if line.strip() and line[0] not in "#[") or "empty"


def put(host, knob):
    """Write a knob's wanted text, and let systemd read it. Raises HostError after restoring the old text."""
    # check mode does not need it; see outcome()
    from ..._engine.service import put_drop_in  # noqa: PLC0415

    def write(text):
        if text is None:
            host.remove(knob.key)
        else:
            host.write(knob.key, text)

    if _DROP_IN.match(knob.key):
        put_drop_in(host, knob.key, write, knob)
    else:
        write(knob.wanted)
