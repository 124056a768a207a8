# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel of a guest has of SMC, and how its SAP instance travels, read from the guest itself."""

import json
import re

import pytest

PROFILE = "/usr/sap/PRD/SYS/profile/PRD_D00_smc1"
# {process id of each process of the instance: whether it has loaded the library}
LOADED = """
import glob, json
found = {}
for folder in glob.glob("/proc/[0-9]*"):
    try:
        if open(folder + "/cmdline").read().startswith("dw.sapPRD_D00"):
            found[folder[6:]] = "libsmc-preload.so" in open(folder + "/maps").read()
    except OSError:
        pass
print(json.dumps(found))
"""


@pytest.fixture
def loaded(host):
    """Whether the module smc is loaded."""
    return host.run("grep -q '^smc ' /proc/modules").rc == 0


@pytest.fixture
def sysctls(host):
    """{name: value} of net.smc; empty without the module."""
    text = host.run("cd /proc/sys/net/smc && grep . *").stdout
    return dict(line.split(":") for line in text.splitlines())


@pytest.fixture
def profile(host):
    """The profile of the instance when asked."""
    return lambda: host.check_output("cat %s", PROFILE)


@pytest.fixture
def preloaded(host):
    """Whether the processes of the instance have loaded the library, all in one set."""
    return set(json.loads(host.check_output("python3 -c %s", LOADED)).values())


@pytest.fixture
def record(play):
    """The lines of verify about the instance, and the status of the playbook."""

    def look():
        status, text, _changed = play("verify", "--limit", "smc1", "--tags", "smc")
        return status, "\n".join(re.findall(rf"^.*{PROFILE}.*$", text, re.MULTILINE)) or text

    return look


@pytest.fixture
def modules_at_boot(host):
    """The files of modules-load.d that the tunings wrote."""
    return host.run("cat /etc/modules-load.d/*zpower*").stdout
