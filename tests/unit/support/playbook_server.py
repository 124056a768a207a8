# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forks ansible-playbook from a process that has already imported it, its plugins and this collection.

ansible-core reads its settings from the environment and the working directory when it is imported. A request that
differs in one that a fork cannot read again runs the program from its first line. See playing.py for the other side.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PLUGINS: dict[str, tuple[str, ...]] = {
    "action": ("normal", "debug", "fail", "set_fact", "include_vars"),
    "become": ("sudo", "su"),
    "cache": ("memory",),
    "callback": ("default", "junit", "minimal", "zpower.sap_tuning.tunings"),
    "connection": ("local", "ssh", "psrp", "winrm"),
    "inventory": ("host_list", "script", "auto", "yaml", "ini", "toml"),
    "shell": ("sh", "cmd", "powershell"),
    "strategy": ("linear",),
}
"""Each play loads these, with their documentation. Not every ansible-core has each of them."""
MODULES = (
    "ansible._internal._errors._task_timeout",
    "ansible.executor.process.worker",
    "ansible.module_utils.connection",
    "ansible.parsing.yaml.dumper",
    "ansible.playbook.included_file",
    "ansible.playbook.role_include",
    "ansible.plugins.callback.oneline",
    "ansible.plugins.callback.tree",
    "ansible.plugins.vars.host_group_vars",
    "ansible.utils.encrypt",
    "multiprocessing.popen_fork",
    "multiprocessing.synchronize",
    "urllib.request",
)
OWN = "ansible_collections.zpower.sap_tuning.plugins."
ROOMS = ("action.tunings", "lookup.tunings", "plugin_utils._rollout.keeping")
"""What of this collection a play imports later than the callback."""
READ_AT_START = ("PYTHON", "LC_", "LANG", "HOME", "TMPDIR", "ANSIBLE_")
READ_AGAIN = {
    "ANSIBLE_CALLBACKS_ENABLED": "CALLBACKS_ENABLED",
    "ANSIBLE_COLLECTIONS_PATH": "COLLECTIONS_PATHS",
    "ANSIBLE_LOCAL_TEMP": "DEFAULT_LOCAL_TMP",
    "ANSIBLE_STDOUT_CALLBACK": "DEFAULT_STDOUT_CALLBACK",
}
"""Settings of ansible-core that nothing but ansible.constants keeps, by their variables."""
STATUS = struct.Struct("!ii")
"""The answers to a request: (0, pid), and at the end (1, status of wait)."""


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


def warm() -> None:
    """Import what each play imports, as far as this ansible-core has it."""
    importlib.import_module("ansible.cli.playbook")
    loader = importlib.import_module("ansible.plugins.loader")
    for module in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    # ansible_collections as in a play: from sys.path, playbooks could not be called by their names
    loader.init_plugin_loader()
    for kind, names in PLUGINS.items():
        for name in names:
            getattr(loader, f"{kind}_loader").get(name, class_only=True)
    for kind in ("filter", "test"):
        list(getattr(loader, f"{kind}_loader").all())
    for room in ROOMS:
        importlib.import_module(OWN + room)
    pages = importlib.import_module(f"{OWN}plugin_utils._pages.pages")
    for form in pages.LONGEST:
        pages.load_writer(form)
    importlib.import_module("ansible.utils.collection_loader._collection_finder")._AnsibleCollectionFinder._remove()


def of_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that only a new program reads."""
    return {
        name: value for name, value in environment.items() if name.startswith(READ_AT_START) and name not in READ_AGAIN
    }


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
    if of_the_start(environment) != of_the_start(os.environ) or os.path.exists("ansible.cfg"):
        os.execve(command[0], command, environment)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    read_again()
    sys.argv = command
    sys.path[0] = os.path.dirname(command[0])
    sys.modules["ansible.cli.playbook"].main()


def read_again() -> None:
    """The settings of this environment, and a folder for temporary files of its own."""
    constants: Any = sys.modules["ansible.constants"]
    atexit.unregister(sys.modules["ansible.utils.path"].cleanup_tmp_file)  # type: ignore[attr-defined]
    collections, kept = constants.COLLECTIONS_PATHS, modules_in(constants)
    for name in READ_AGAIN.values():
        setattr(constants, name, constants.config.get_config_value(name, variables=vars(constants)))
    if collections == constants.COLLECTIONS_PATHS:
        share(kept, modules_in(constants))
        atexit.register(share, modules_in(constants), kept)
    else:
        for name in [name for name in sys.modules if name.split(".")[0] == "ansible_collections"]:
            del sys.modules[name]


def modules_in(constants: Any) -> Path:
    """Where ansible-core keeps the modules that it has packed for targets."""
    return Path(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache")


def share(of: Path, to: Path) -> None:
    """Packed modules of this collection: they are the same in each play, and packing takes half of a task's time."""
    to.mkdir(exist_ok=True)
    for packed in of.glob("ansible_collections.zpower.sap_tuning.*"):
        if packed.suffix != ".lock":
            with contextlib.suppress(FileExistsError):
                (to / packed.name).hardlink_to(packed)


if __name__ == "__main__":
    sys.path.pop(0)
    sys.path.insert(0, "")
    warm()
    gc.collect()
    gc.freeze()
    if found := serve(socket.socket(fileno=int(sys.argv[1]))):
        play(*found)
