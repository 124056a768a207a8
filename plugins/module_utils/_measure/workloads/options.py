# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of a tool whose lists span its workloads: every value of each with every value of the others."""

from ..errors import MeasureError


def whole(name, value):
    """A number as a playbook may have given it, also as text; ValueError for what is none."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("%s has %s; it takes whole numbers" % (name, value)) from error


def filled(specification, given):
    """The options of a specification (as for AnsibleModule), with its defaults, from what a playbook has given.

    ValueError for what is no number where one has to be.
    """
    result = {}
    for name, rule in specification.items():
        value = given.get(name)
        if value is None:
            value = rule.get("default")
        elif rule["type"] == "list":
            values = value.split(",") if isinstance(value, str) else value
            values = values if isinstance(values, (list, tuple)) else [values]
            value = [whole(name, part) if rule["elements"] == "int" else str(part).strip() for part in values]
        result[name] = value
    return result


def check_lists(tool, options, names):
    """MeasureError for the first of these options that is empty or has a value twice."""
    for name in names:
        if not options[name] or len(set(options[name])) != len(options[name]):
            raise MeasureError("%s.%s is %s; name at least one, and each only once" % (tool, name, options[name]))


def check_limits(tool, options, limits):
    """MeasureError for the first number, in a list or alone, that is not from 1 to the most of it: {name: most}."""
    for name in sorted(limits):
        values = options[name] if isinstance(options[name], list) else [options[name]]
        for value in values:
            if not 1 <= value <= limits[name]:
                raise MeasureError("%s.%s has %s; it has to be from 1 to %d" % (tool, name, value, limits[name]))


def within(params, limits):
    """MeasureError for the first option that is out of its limits: (name, lowest, highest)."""
    for name, low, high in limits:
        if not low <= params[name] <= high:
            raise MeasureError("%s is %s; it has to be from %s to %s" % (name, params[name], low, high))
