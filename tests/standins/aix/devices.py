# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-ins of lsdev, lsattr, chdev, mkdev and rmdev over the state file of machine.py. They are not AIX's programs.

Each takes the words behind its name and returns what it prints, or raises Refusal.
"""

import getopt
import re

import machine
from machine import Refusal

# README.md says which of these texts no source confirms.
NO_DEVICE = "%s: 0514-519 The following device was not found in the customized device configuration database: %s\n"
NO_ATTRIBUTE = '%s: 0514-528 The "%s" attribute does not exist in the predefined device configuration database.\n'
NO_LEGAL = "lsattr: 0514-521 Cannot find information in the predefined device configuration database.\n"
METHOD = "Method error (/usr/lib/methods/%s):\n        %s\n\t%s\n"
BUSY = ("0514-062", "Cannot perform the requested function because the\n\tspecified device is busy.")
NOT_VALID = "0514-018", "The values specified for the following attributes are\n\tnot valid:\n     %s"
NOT_THERE = "0514-017", "The following attributes are not valid for the given device:\n     %s"


def method_error(method, message, *words):
    number, text = message
    return Refusal(1, METHOD % (method, number, text % words if words else text))


def options(name, letters, words):
    """({letter: last value or True}, values of all -a)."""
    try:
        given, rest = getopt.getopt(words, letters)
    except getopt.GetoptError as error:
        raise Refusal(1, "%s: %s\n" % (name, error)) from error
    if rest:
        raise Refusal(1, "%s: unexpected %s\n" % (name, rest[0]))
    return {letter[1:]: value or True for letter, value in given}, [value for letter, value in given if letter == "-a"]


def device(state, command, given):
    """The device that -l names."""
    if given.get("l") not in state["devices"]:
        raise Refusal(255, NO_DEVICE % (command, given.get("l", "")))
    return state["devices"][given["l"]]


def aligned(rows):
    """Rows as left-aligned columns, each as wide as its longest cell and one blank; nothing behind the last."""
    widths = [max(len(cell) for cell in column) + 1 for column in zip(*rows, strict=True)]
    lines = ["".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "".join(line.rstrip() + "\n" for line in lines)


# lsdev


def lsdev(words):
    """lsdev [-C] [-c class] [-l name]: an absent device is an empty answer."""
    given, _values = options("lsdev", "Cc:l:", words)
    return aligned(
        [
            [name, found["state"], found["location"], found["description"]]
            for name, found in sorted(machine.read()["devices"].items())
            if given.get("l", name) == name and given.get("c", found["class"]) == found["class"]
        ]
    )


# lsattr


def lsattr(words):
    """lsattr -E|-P|-R -l name [-a attribute] [-F value]."""
    given, names = options("lsattr", "EPRl:a:F:", words)
    attributes = device(machine.read(), "lsattr", given)["attributes"]
    names = names or sorted(attributes)
    for name in names:
        if name not in attributes:
            raise Refusal(255, NO_ATTRIBUTE % ("lsattr", name))
    if "R" in given:
        if attributes[names[0]]["legal"] is None:
            raise Refusal(255, NO_LEGAL)
        return "".join(value + "\n" for value in attributes[names[0]]["legal"])
    chosen = [(name, attributes[name], attributes[name]["in_force" if "P" in given else "odm"]) for name in names]
    if given.get("F", "value") != "value":
        raise Refusal(1, "lsattr: the stand-in has no format %s\n" % given["F"])
    if "F" in given:
        return "".join(value + "\n" for _name, _one, value in chosen)
    return aligned([(name, value, one["description"], one["settable"]) for name, one, value in chosen])


# chdev


def pairs(texts):
    """{attribute: value} of the arguments of -a: one pair each, or several with blanks between them."""
    found = {}
    for text in texts:
        for pair in re.split(r"\s+(?=\w+=)", text.strip()):
            name, _equals, value = pair.partition("=")
            found[name] = value
    return found


def legal(attribute, value):
    """Whether the attribute can have this value; one without legal values takes any."""
    for line in attribute["legal"] or ():
        span = re.match(r"^(\d+)\.\.\.(\d+) \(\+\d+\)$", line)
        if line == value or (span and re.match(r"^\d+$", value) and int(span[1]) <= int(value) <= int(span[2])):
            return True
    return not attribute["legal"]


def chdev(words):
    """chdev -l name -a attribute=value ... [-P]: all of it or nothing."""
    machine.note(["chdev", *words])
    given, values = options("chdev", "l:a:P", words)
    wanted = pairs(values)
    with machine.changed() as state:
        found = device(state, "chdev", given)
        check(found, given, wanted)
        for name, value in wanted.items():
            found["attributes"][name]["odm"] = value
            if "P" not in given and found["state"] == "Available":
                found["attributes"][name]["in_force"] = value
    return given["l"] + " changed\n"


def check(found, given, wanted):
    """Raises Refusal where chdev does."""
    method = "chg" + given["l"].rstrip("0123456789")
    attributes = found["attributes"]
    for name, value in wanted.items():
        if name not in attributes:
            raise method_error(method, NOT_THERE, name)
        if attributes[name]["settable"] == "False" or not legal(attributes[name], value):
            raise method_error(method, NOT_VALID, "%s=%s" % (name, value))
    if found["busy"] and found["state"] == "Available" and "P" not in given:
        raise method_error(method, BUSY)


# mkdev, rmdev


def mkdev(words):
    """mkdev -l name: a Defined device becomes Available, with what the ODM holds."""
    machine.note(["mkdev", *words])
    given, _values = options("mkdev", "l:", words)
    with machine.changed() as state:
        found = device(state, "mkdev", given)
        if found["state"] != "Available":
            machine.configure(found)
            found["state"] = "Available"
    return given["l"] + " Available\n"


def rmdev(words):
    """rmdev [-d] -l name: the device becomes Defined, or with -d is gone."""
    machine.note(["rmdev", *words])
    given, _values = options("rmdev", "dl:", words)
    with machine.changed() as state:
        found = device(state, "rmdev", given)
        if found["busy"] and found["state"] == "Available":
            raise method_error("ucfgdevice", BUSY)
        found["state"] = "Defined"
        if "d" in given:
            del state["devices"][given["l"]]
    return given["l"] + (" deleted\n" if "d" in given else " Defined\n")
