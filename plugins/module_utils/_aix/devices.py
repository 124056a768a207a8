# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device commands of AIX: lsdev, lsattr and chdev, with the parsers of their output.

lsattr -E shows the values in the customized database (ODM). chdev -P changes only the database: the device keeps the
values of its last configuration, which lsattr -P shows.
"""

import re
from collections import namedtuple

from .._host.host import HostError

# One line of lsdev -C. text: location and description, which the line does not separate.
Device = namedtuple("Device", "name state text")

# in use; a child device is in the wrong state, such as the interface of an adapter that is Available
_BUSY = ("0514-062", "0514-029")
_NO_SUCH_ATTRIBUTE = "0514-528"
# for an attribute that the device does not have
_UNKNOWN_RC = 255
_SETTABLE = {"True": True, "True+": True, "False": False}
_RANGE = re.compile(r"^(-?[0-9]+)\.\.\.(-?[0-9]+)(?:\s*\(\+([0-9]+)\))?$")
_NUMBER = re.compile(r"(?:(0[xX])[0-9a-fA-F]{1,32}|0|[1-9][0-9]{0,30})\Z")
# SMC-R: its devices, and the attributes that enable it
ENABLED, ADDRESSES, PORTS = "enabled", "ip_addr_list", "port_range"
_SMC_R = re.compile(r"^smcr[0-9]+\Z")
_LOOK_S = 60
# stopping chdev can damage the database, so it gets as much time as a device's methods may need
_CHANGE_S = 900


def is_smc_r(name):
    return _SMC_R.match(name) is not None


def empty_lists(values):
    """The lists that are empty although SMC-R is on, so that AIX does not use it; values: {attribute: text or None}."""
    return [item for item in (ADDRESSES, PORTS) if values[ENABLED] != "0" and values[item] == ""]


class UnknownAttributeError(HostError):
    """The device does not have this attribute."""

    def __init__(self, message, attribute):
        super().__init__(message)
        self.attribute = attribute


class DeviceBusyError(HostError):
    """The device is in use, so chdev can change only the database."""


# parsers


def error_text(result):
    """All output of a command on one line, because AIX splits an error into several ("Method error" and more)."""
    return " ".join((result.err + " " + result.out).split()) or "exit code %d without a message" % result.rc


def parse_devices(out):
    """[Device] of lsdev -C, which prints nothing for a device that does not exist."""
    lines = [line.split(None, 2) for line in out.splitlines()]
    return [Device(fields[0], fields[1], " ".join(fields[2:]).rstrip()) for fields in lines if len(fields) > 1]


def parse_listing(out):
    """{attribute: whether chdev may change it, None if that is not said} of lsattr -El.

    Only the ends of a line are used: the value and the description between them may be empty or contain blanks.
    """
    lines = [line.split() for line in out.splitlines()]
    return {words[0]: _SETTABLE.get(words[-1]) for words in lines if words}


def parse_legal(out):
    """The lines of lsattr -R, each a legal value or a range of numbers, 1...256 (+1)."""
    return [line.strip() for line in out.splitlines() if line.strip()]


def allows(legal, value):
    """Whether lines of lsattr -R allow a value; None if unclear, so that chdev decides."""
    if value in legal:
        return True
    ranges = [match for match in map(_RANGE.match, legal) if match]
    words = [line for line in legal if not _RANGE.match(line)]
    # a single word may be an example for free text
    if any(" " in word or "..." in word for word in words) or (not ranges and len(words) < 2):
        return None
    if not re.match(r"^-?[0-9]+\Z", value):
        return False
    for low, high, step in (match.groups() for match in ranges):
        if int(low) <= int(value) <= int(high) and (int(value) - int(low)) % max(int(step or 1), 1) == 0:
            return True
    return False


def spelled(value, texts):
    """The one of these texts that is the same number as a value, or the value: 0x10 for 16, as YAML reads it."""
    number = _number(value)
    same = [text for text in texts if number is not None and _number(text) == number]
    return same[0] if same and value not in same else value


def _number(text):
    match = _NUMBER.match(text or "")
    return int(text, 16 if match.group(1) else 10) if match else None


def second_pair(value):
    """The part of a value that chdev would read as another attribute, because one -a may contain several; or None."""
    match = re.search(r"\s(\S+?=)", value)
    return match.group(1) if match else None


# commands


def _output(host, argv):
    """The output of a command. Raises HostError with all its output if it failed."""
    result = host.run(argv, timeout=_LOOK_S)
    if result.rc != 0:
        raise HostError("%s: %s" % (" ".join(argv), error_text(result)))
    return result.out


class Devices:
    """The devices that the customized database of a host knows, and their attributes."""

    def __init__(self, host):
        self.host = host

    def device(self, name):
        """The Device of this name; None if there is none."""
        found = [one for one in parse_devices(_output(self.host, ["lsdev", "-Cl", name])) if one.name == name]
        return found[0] if found else None

    def devices(self):
        """All devices: [Device]."""
        return parse_devices(_output(self.host, ["lsdev", "-C"]))

    def stored(self, device, attribute):
        """The value in the database; it may be empty or contain blanks. Raises UnknownAttributeError."""
        result = self.host.run(["lsattr", "-El", device, "-a", attribute, "-F", "value"], timeout=_LOOK_S)
        if result.rc == 0:
            return result.out.strip()
        said = "lsattr fails for %s of %s: %s" % (attribute, device, error_text(result))
        if result.rc == _UNKNOWN_RC or _NO_SUCH_ATTRIBUTE in said:
            raise UnknownAttributeError(said, attribute)
        raise HostError(said)

    def in_force(self, device, attribute):
        """The value with which the device was last configured; None if this AIX does not show it."""
        result = self.host.run(["lsattr", "-Pl", device, "-a", attribute, "-F", "value"], timeout=_LOOK_S)
        return result.out.strip() if result.rc == 0 else None

    def attributes(self, device):
        """{attribute: whether it can be set} that the device shows."""
        return parse_listing(_output(self.host, ["lsattr", "-El", device]))

    def legal(self, device, attribute):
        """The lines of lsattr -R; empty if it has none for this attribute."""
        result = self.host.run(["lsattr", "-Rl", device, "-a", attribute], timeout=_LOOK_S)
        return parse_legal(result.out) if result.rc == 0 else []

    def change(self, device, values, database_only=False):
        """Set {attribute: value} in the database and in the device, with one call. Raises DeviceBusyError, HostError.

        database_only: do not change the device until it is configured again.
        """
        argv = ["chdev", "-l", device] + (["-P"] if database_only else [])
        for name, value in sorted(values.items()):
            further = second_pair(value)
            if further:
                raise HostError("%s of %s: chdev would take '%s' for another attribute" % (name, device, further))
            argv += ["-a", "%s=%s" % (name, value)]
        result = self.host.run(argv, timeout=_CHANGE_S)
        if result.rc != 0:
            said = "chdev did not change %s: %s" % (device, error_text(result))
            raise DeviceBusyError(said) if any(number in said for number in _BUSY) else HostError(said)
