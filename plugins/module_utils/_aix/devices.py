# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device commands of AIX, lsdev, lsattr and chdev: how they are called, and what their output means.

lsattr -E shows the customized database (ODM), which chdev -P changes while the device goes on with its old values.
These are what lsattr -P shows, the values of the device's last configuration.
"""

import re
from collections import namedtuple

from .._host.host import HostError

# One line of lsdev -C. text: location and description, which the line does not tell apart.
Device = namedtuple("Device", "name state text")
# What a line of lsattr -El tells for certain. settable: whether chdev may change it, None if the line does not say.
Attribute = namedtuple("Attribute", "name settable")

_BUSY = "0514-062"
_NO_SUCH_ATTRIBUTE = "0514-528"
# of an attribute that the device does not have
_UNKNOWN_RC = 255
_SETTABLE = {"True": True, "True+": True, "False": False}
_RANGE = re.compile(r"^(-?[0-9]+)\.\.\.(-?[0-9]+)(?:\s*\(\+([0-9]+)\))?$")
_LOOK_S = 60
# a stopped chdev can leave the database damaged, so it gets all the time that a device's methods may need
_CHANGE_S = 900


class UnknownAttributeError(HostError):
    """The device does not have this attribute."""

    def __init__(self, message, attribute):
        super().__init__(message)
        self.attribute = attribute


class DeviceBusyError(HostError):
    """The device is in use, so that only the database could be changed."""


# parsers


def complaint(result):
    """All that a command said, on one line: AIX spreads an error over several ("Method error" and what follows)."""
    return " ".join((result.err + " " + result.out).split()) or "exit code %d without a word" % result.rc


def parse_devices(out):
    """[Device] of lsdev -C, which prints nothing for a device that is not there."""
    lines = [line.split(None, 2) for line in out.splitlines()]
    return [Device(fields[0], fields[1], " ".join(fields[2:]).rstrip()) for fields in lines if len(fields) > 1]


def parse_value(out):
    """The value that lsattr -F value printed: empty, or with blanks inside, as it is."""
    return out.strip()


def parse_listing(out):
    """[Attribute] of lsattr -El.

    The middle of a line is left alone: a value may be empty or hold blanks, and so may a description.
    """
    lines = [line.split() for line in out.splitlines()]
    return [Attribute(words[0], _SETTABLE.get(words[-1])) for words in lines if words]


def parse_legal(out):
    """The lines of lsattr -R: a legal value each, or a range of numbers, 1...256 (+1)."""
    return [line.strip() for line in out.splitlines() if line.strip()]


def allows(legal, value):
    """Whether lines of lsattr -R allow a value; None if they are not understood, and so chdev has to say."""
    if value in legal:
        return True
    ranges = [match for match in map(_RANGE.match, legal) if match]
    words = [line for line in legal if not _RANGE.match(line)]
    # a single word may be an example of what is free text
    if any(" " in word or "..." in word for word in words) or (not ranges and len(words) < 2):
        return None
    if not re.match(r"^-?[0-9]+\Z", value):
        return False
    for low, high, step in (match.groups() for match in ranges):
        if int(low) <= int(value) <= int(high) and (int(value) - int(low)) % max(int(step or 1), 1) == 0:
            return True
    return False


def second_pair(value):
    """What chdev would read in a value as a further attribute: one -a may hold several, with blanks between them."""
    match = re.search(r"\s(\S+?=)", value)
    return match.group(1) if match else None


# commands


def _answer(host, argv):
    """What a command printed; raises HostError with all that it said where it failed."""
    result = host.run(argv, timeout=_LOOK_S)
    if result.rc != 0:
        raise HostError("%s: %s" % (" ".join(argv), complaint(result)))
    return result.out


class Lsdev:
    """The devices that the customized database knows."""

    def __init__(self, host):
        self.host = host

    def device(self, name):
        """The Device of this name, or None."""
        found = [one for one in parse_devices(_answer(self.host, ["lsdev", "-Cl", name])) if one.name == name]
        return found[0] if found else None

    def devices(self):
        """[Device], all of them."""
        return parse_devices(_answer(self.host, ["lsdev", "-C"]))


class Lsattr:
    """Attributes of devices."""

    def __init__(self, host):
        self.host = host

    def stored(self, device, attribute):
        """The value in the database. Raises UnknownAttributeError."""
        result = self.host.run(["lsattr", "-El", device, "-a", attribute, "-F", "value"], timeout=_LOOK_S)
        if result.rc == 0:
            return parse_value(result.out)
        said = "lsattr says of %s of %s: %s" % (attribute, device, complaint(result))
        if result.rc == _UNKNOWN_RC or _NO_SUCH_ATTRIBUTE in said:
            raise UnknownAttributeError(said, attribute)
        raise HostError(said)

    def in_force(self, device, attribute):
        """The value with which the device was last configured, or None if this AIX does not say."""
        result = self.host.run(["lsattr", "-Pl", device, "-a", attribute, "-F", "value"], timeout=_LOOK_S)
        return parse_value(result.out) if result.rc == 0 else None

    def attributes(self, device):
        """[Attribute] that the device shows."""
        return parse_listing(_answer(self.host, ["lsattr", "-El", device]))

    def legal(self, device, attribute):
        """The lines of lsattr -R, none where it has no answer for this attribute."""
        result = self.host.run(["lsattr", "-Rl", device, "-a", attribute], timeout=_LOOK_S)
        return parse_legal(result.out) if result.rc == 0 else []


class Chdev:
    """Changes attributes of a device, all with one call."""

    def __init__(self, host):
        self.host = host

    def change(self, device, values, database_only=False):
        """Set {attribute: value} in the database and in the device. Raises DeviceBusyError, HostError.

        database_only: leave the device as it is until it is configured anew.
        """
        argv = ["chdev", "-l", device] + (["-P"] if database_only else [])
        for name, value in sorted(values.items()):
            further = second_pair(value)
            if further:
                raise HostError("%s of %s: chdev would take '%s' for an attribute of its own" % (name, device, further))
            argv += ["-a", "%s=%s" % (name, value)]
        result = self.host.run(argv, timeout=_CHANGE_S)
        if result.rc != 0:
            said = "chdev did not change %s: %s" % (device, complaint(result))
            raise DeviceBusyError(said) if _BUSY in said else HostError(said)
