# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests share: programs, the lab, and the output of a program beside that of a page of the docs."""

import os
import re
import subprocess
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "molecule" / "shared" / "lab"


def run(*command, check=True, text=None, **environment):
    """The finished program; it must end with 0 unless ``check`` is false. ``text``: its input."""
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, input=text or "", env={**os.environ, **environment}
    )
    assert done.returncode == 0 or not check, f"{command}: {done.stdout}{done.stderr}"
    return done


def told(line):
    """A line without what differs from machine to machine: times, masks and lists of CPUs, widths of columns."""
    line = re.sub(r"\d{8}T\d{6}Z", "TIME", line)
    line = re.sub(r"^(Messages explained: /)\S+(/docs/)", r"\1COLLECTION\2", line)
    line = re.sub(r"(mask |rps_cpus=|→ |CPUs )[0-9a-f,-]*[0-9a-f]\b", r"\1N", line)
    return " ".join(re.sub(r"\b[0-9a-f,]+ →", "N →", line).split())


def lab(name, verb, *options):
    """What the program of the lab prints."""
    return subprocess.check_output([str(PROGRAM), verb, "--name", name, *options], text=True)
