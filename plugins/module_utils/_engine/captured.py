# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a capture does not hold is unknown: never absent, never compliant.

The programs that make captures copy a choice of files. A CapturedHost knows, for an absent file, whether its capture
could hold it, and notes the files that it could not hold in ``missed``.
"""

import os

from .places import folder_of
from .records import observed, only
from .tuning import STORED

_KERNEL = ("/proc/", "/sys/")
_SAP = ("/usr/sap", "/sapmnt")
# files of the kernel, and the journals of this collection, which no capture holds
_OTHER = _KERNEL + (folder_of("Linux"),)
_NAMED = 6
_WITHOUT = "%s; judged without it: %s"


def set_apart(host, subjects):
    """Make the values of planned subjects unknown that the capture does not hold.

    A subject without values, because its tuning is not applicable or not supported, is unknown as well if a file
    that decides on that was missed.
    """
    missed = of_request(host)
    for subject in subjects:
        for knob in subject.knobs:
            why = _why(host, knob) if knob.now is None else ""
            if why:
                subject.unknown.setdefault(knob.key, why)
                knob.wanted = knob.now
        if missed and subject.verdict in ("not_applicable", "unsupported"):
            subject.verdict, subject.reason = "unknown", _WITHOUT % (missed, subject.reason)
    lacks = places(host)
    if lacks and any(subject.knobs for subject in subjects):
        subjects[0].remarks.append("not in this capture, so settings there are unknown: %s" % lacks)


def places(host):
    """The places with settings that were asked for and that the capture does not hold, a few by name."""
    return _places(host, [path for path in host.missed if not path.startswith(_OTHER)])


def _places(host, paths):
    """The names of a few of these paths, or of the highest folders above them that the capture cannot hold either."""
    places = sorted({_highest(host, path) for path in paths})
    more = " and %d more" % (len(places) - _NAMED) if len(places) > _NAMED else ""
    return ", ".join(places[:_NAMED]) + more


def _why(host, knob):
    """Why the capture does not hold the value of a knob; empty if it could, so that the value is absent."""
    path = knob.key.split(" ")[0]
    if knob.place == STORED and host.capture.format == "supportconfig" and host.exists(path):
        return "a supportconfig has no comments, so the values of this collection in %s cannot be told apart" % path
    return host.lacking(path)


def _highest(host, path):
    """The path, or the highest folder above it that the capture cannot hold either."""
    above = os.path.dirname(path)
    while above != "/" and host.lacking(above):
        path, above = above, os.path.dirname(above)
    return path


def of_request(host):
    """Which files of the kernel, and of those that tell which instances a host has, the capture does not hold, and why;
    empty if none was missed."""
    missed = [path for path in host.missed if path.startswith(_KERNEL + _SAP)]
    return "not in this capture: %s (%s)" % (_places(host, missed), host.lacking(missed[-1])) if missed else ""


def unreadable(host, tuning_class, error):
    """The result of a tuning that cannot be checked with this capture at all."""
    missed = of_request(host)
    reason = _WITHOUT % (missed, error) if missed else str(error)
    more = {"sources": list(tuning_class.sources), "restart": tuning_class.restart}
    return only(observed(tuning_class.name, "all", {}, "unknown", reason, **more))
