# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forks ansible-playbook from a process that has imported most of what it needs, but has read no configuration.

ansible-core reads its configuration from the environment and the working directory when ansible.constants is
imported. So only modules that do without it are imported ahead; a fork gets the environment, folder and descriptors
of a request and then runs the program from its first line. See playing.py for the other side.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import json
import os
import runpy
import socket
import struct
import sys
import time
from collections.abc import Mapping

AHEAD = (
    *("ansible.errors", "ansible.context", "ansible.utils.context_objects", "ansible.utils.multiprocessing"),
    *("ansible.module_utils.common.yaml", "ansible.module_utils.distro"),
    *("ansible.module_utils.json_utils", "ansible.module_utils.compat.version", "ansible.module_utils.compat.selinux"),
    *("ansible.module_utils.common.locale", "ansible.module_utils.common.sys_info", "ansible.parsing.splitter"),
    *("ansible.module_utils.embed", "ansible.executor", "ansible.utils.path"),
    *("ansible.parsing.utils.addresses", "ansible.utils.helpers", "ansible.utils.lock", "ansible.utils.fqcn"),
    *("ansible._internal._datatag._utils", "ansible._internal._datatag._wrappers", "ansible._internal._errors"),
    *("ansible._internal._worker._inventory_rpc", "ansible._internal._templating._jinja_patches"),
    *(
        "ansible._internal._templating._access",
        "ansible._internal._yaml._errors",
        "ansible._internal._collection_proxy",
    ),
    *("ansible._internal._powershell._clixml", "ansible._internal._powershell._script"),
    *("ansible._internal._ssh._ssh_agent", "ansible._internal._wrapt", "ansible._internal._locking"),
    *("ansible._internal._errors._alarm_timeout", "ansible._internal._errors._captured"),
    *("ansible.module_utils._internal._ansiballz._extensions._coverage", "ansible.module_utils.errors"),
    *(
        "argcomplete",
        "argparse",
        "configparser",
        "csv",
        "ctypes.util",
        "datetime",
        "fcntl",
        "getpass",
        "glob",
        "html",
        "inspect",
    ),
    *("ipaddress", "jinja2.nativetypes", "jinja2.sandbox", "jinja2.ext", "locale", "logging.handlers", "math"),
    *(
        "multiprocessing.managers",
        "multiprocessing.queues",
        "multiprocessing.popen_fork",
        "multiprocessing.shared_memory",
    ),
    *(
        "ntpath",
        "packaging.requirements",
        "packaging.specifiers",
        "pickle",
        "pkgutil",
        "platform",
        "pty",
        "pwd",
        "resource",
        "syslog",
    ),
    *("queue", "random", "resolvelib", "secrets", "shlex", "shutil", "statistics", "subprocess", "tarfile", "tempfile"),
    *(
        "termios",
        "textwrap",
        "tty",
        "unittest.mock",
        "uuid",
        "yaml",
        "zipfile",
        "concurrent.futures.thread",
        "html.parser",
    ),
    *("cryptography.exceptions", "cryptography.hazmat.backends", "cryptography.hazmat.primitives.ciphers"),
    *("cryptography.hazmat.primitives.hmac", "cryptography.hazmat.primitives.kdf.pbkdf2", "urllib.request"),
    *("cryptography.hazmat.primitives.padding", "importlib.resources", "importlib.metadata", "xml.etree.ElementTree"),
)
"""Modules that ansible-playbook imports and that read no configuration; not every ansible-core has each of them."""
AHEAD_WITH_INTERNAL = ("ansible.vars.hostvars",)
"""The same for ansible-core with ansible._internal, from 2.19 on. Before, they read it."""
STATUS = struct.Struct("!ii")
"""The answers to a request: (0, pid), and at the end (1, status of wait)."""


def of_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that Python itself reads when it starts."""
    known = ("PYTHON", "LC_", "LANG")
    return {name: value for name, value in environment.items() if name.startswith(known)}


def serve(control: socket.socket) -> list[int]:
    """Returns in a fork for each request, with its descriptors: request, stdin, stdout, stderr; [] at the end."""
    running: set[int] = set()
    while descriptors := socket.recv_fds(control, 1, 5)[1]:
        parent = os.fork()
        if parent == 0:
            control.close()
            status = descriptors.pop()
            program = os.fork()
            if program == 0:
                os.close(status)
                return descriptors
            report(program, status, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        running.add(parent)
        running = {pid for pid in running if os.waitpid(pid, os.WNOHANG)[0] == 0}
    # so that the CPU time of all programs counts as that of the tests
    for pid in running:
        os.waitpid(pid, 0)
    return []


def report(program: int, status: int, descriptors: list[int]) -> None:
    """Tell who asked the pid and the end of a program, whose parent this process is."""
    for descriptor in descriptors:
        os.close(descriptor)
    with contextlib.suppress(BrokenPipeError):  # who asked is gone
        os.write(status, STATUS.pack(0, program))
        os.write(status, STATUS.pack(1, os.waitpid(program, 0)[1]))
    os._exit(0)


def play(request: int, *streams: int) -> None:
    """Become the program of a request."""
    os.setsid()
    with os.fdopen(request, encoding="utf-8") as stream:
        stream.seek(0)
        asked = json.load(stream)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(asked["cwd"])
    command, environment = asked["command"], asked["environment"]
    if of_the_start(environment) != of_the_start(os.environ) or any(map(os.isatty, (0, 1, 2))):
        os.execve(command[0], command, environment)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = command
    sys.path[0] = os.path.dirname(command[0])
    runpy.run_path(command[0], run_name="__main__")


if __name__ == "__main__":
    with_internal = importlib.util.find_spec("ansible._internal") is not None
    for module in (*AHEAD, *(AHEAD_WITH_INTERNAL if with_internal else ())):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    assert "ansible.constants" not in sys.modules
    gc.collect()
    gc.freeze()
    if found := serve(socket.socket(fileno=int(sys.argv[1]))):
        play(*found)
