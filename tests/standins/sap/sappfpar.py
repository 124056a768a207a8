# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for SAP's sappfpar, for tests on machines without an SAP kernel. It is not SAP's program.

    sappfpar <parameter> [<parameter> ...] | check | help [pf=<absolute path>] [nr=<NN>] [name=<SID>]

Parameters: one value a line. A profile that is not named by its absolute path, or that the caller may not read, is not
read, as the first line then says.
check: a line for each error (an invalid number) or warning (a parameter that this kernel does not know).
"""

import os
import sys

import sap_kernel


def is_directive(name):
    return name.startswith(("_", "SETENV_", "Execute_", "Start_Program_", "Restart_Program_", "Stop_Program_"))


def check(path, parameters):
    """[line] of what is wrong with a profile."""
    said, counts = [], {"ERROR": 0, "WARNING": 0}
    for name, value in sap_kernel.lines_of(path) if path else []:
        default = sap_kernel.DEFAULTS.get(name)
        if default is None and not is_directive(name) and name != "SAPLOCALHOST":
            counts["WARNING"] += 1
            said.append("***WARNING: Unexpected parameter: %s =%s" % (name, value))
        elif default is not None and default.isdigit() and not parameters.expanded(value).isdigit():
            counts["ERROR"] += 1
            said.append("***ERROR: Parameter %s: invalid value %s" % (name, value))
    said.append("")
    said.append("Errors detected..................: %4d" % counts["ERROR"])
    said.append("Warnings detected................: %4d" % counts["WARNING"])
    return said


def main():
    sap_kernel.need_libraries("sappfpar")
    words = [word for word in sys.argv[1:] if "=" not in word]
    if not words or words == ["help"]:
        print(__doc__)
        return
    path = sap_kernel.profile_argument(sys.argv[1:])
    if path is not None and not (path.startswith("/") and os.access(path, os.R_OK)):
        path = None
    parameters = sap_kernel.Parameters.read(path) if path else sap_kernel.Parameters({})
    said = []
    if path is None or words == ["check"]:
        said += ["== Checking profile: %s" % (path or "<no_profile>"), ""]
    if words == ["check"]:
        said += check(path, parameters)
    else:
        said += [parameters.get(name) or "" for name in words]
    sys.stdout.buffer.write(("\n".join(said) + "\n").encode("latin-1"))


if __name__ == "__main__":
    main()
