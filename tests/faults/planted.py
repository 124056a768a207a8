# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine of the campaign: a tree with one tuning's knobs, and calls of the tuning's module on it."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import struct
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import injection
import trees
from ansible.module_utils import basic
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, refused

OWNER = 1  # an ordinary user that every Debian has
# acl(5) as an attribute: a user with read permission beside the owner
ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHi", *one) for one in [(1, 6, -1), (2, 4, 4711), (4, 4, -1), (16, 4, -1), (32, 0, -1)]
)
MACHINE_ID = "0123456789abcdef0123456789abcdef\n"


class Answered(BaseException):
    """A module has ended. Not an Exception, so that modules do not catch it."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__()
        self.result = result


class Module:
    """Replaces AnsibleModule: the real argument spec, and the result instead of an exit."""

    arguments: dict[str, Any] = {}
    check = False

    def __init__(self, argument_spec: dict[str, Any], supports_check_mode: bool = False, **rules: Any) -> None:
        try:
            validated = ArgumentSpecValidator(argument_spec, **rules).validate(dict(self.arguments))
        except OverflowError as error:  # raised by ansible-core itself for an infinite number
            self.fail_json(msg=str(error))
        self.params = validated.validated_parameters
        self.check_mode = self.check
        if validated.error_messages:
            self.fail_json(msg="; ".join(validated.error_messages))

    def exit_json(self, **result: Any) -> None:
        raise Answered(result)

    def fail_json(self, **result: Any) -> None:
        raise Answered({**result, "failed": True})

    def warn(self, text: str) -> None:
        pass


def call(module: ModuleType, host: Host, arguments: dict[str, Any], check: bool = False) -> dict[str, Any]:
    """Run a module's main() in this process on this host. Raise the exceptions that the module does not handle."""
    entry_point.Host = lambda: host
    # state modules take it from there at each call, the others when they are imported
    basic.AnsibleModule = module.AnsibleModule = type("Call", (Module,), {"arguments": arguments, "check": check})
    try:
        module.main()
    except Answered as answer:
        return answer.result
    raise AssertionError("the module ended without a result")


class Machine:
    """One tuning on one tree. name: of the machine; tuning(): its column in the table.

    requests: two requests for different values. places: the folders below which a run writes. fixed: mounted top
    folders, which are not part of the tree. lasting: folders with changes that no rollback takes back, such as a loaded
    kernel module.
    """

    name = ""
    module: ModuleType
    system = "Linux"
    requests: tuple[dict[str, Any], dict[str, Any]]
    places: tuple[str, ...] = ("/etc", "/var")
    fixed: tuple[str, ...] = ()
    lasting: tuple[str, ...] = ()

    def __init__(self, root: Path) -> None:
        self.root = root
        self.memory = root.with_name(root.name + ".memory")
        self.host = self.plant()

    @classmethod
    def tuning(cls) -> str:
        return cls.module.__name__.rpartition(".")[2]

    def plant(self) -> Host:
        """Create the tree and return its host."""
        raise NotImplementedError

    def call(self, arguments: dict[str, Any], check: bool = False) -> dict[str, Any]:
        platform.system = lambda: self.system
        return call(self.module, self.host, arguments, check)

    def reset(self) -> None:
        """Make a new tree in the same folder."""
        for path in self.root.iterdir():
            if "/" + path.name not in self.fixed:
                clear(path)
        self.memory.unlink(missing_ok=True)
        self.host = self.plant()

    def state(self) -> trees.State:
        found = trees.state(self.root, (*self.fixed, *self.lasting))
        if self.memory.exists():
            found["memory"] = json.loads(self.memory.read_text())
        return found

    def journals(self) -> Path:
        """Return the folder of the journals."""
        return self.root / ("var/adm" if self.system == "AIX" else "var/lib") / "zpower_sap_tuning"

    def add(self, path: str, text: str, mode: int = 0o644, owner: int = 0, marked: bool = False) -> None:
        """Add a file of the site; marked: with an access control list and an attribute."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        mark(target, mode, owner, marked)


def clear(path: Path) -> None:
    """Remove a file or a folder; empty a mounted folder."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    elif path.is_mount():
        for inside in path.iterdir():
            clear(inside)
    else:
        for inside in path.iterdir():
            clear(inside)
        path.rmdir()


def mark(path: Path, mode: int, owner: int, marked: bool) -> None:
    # the fuzzer creates such trees too, and need not be root
    if os.geteuid() == 0:
        os.chown(path, owner, owner)
    path.chmod(mode)
    if marked:
        # on a file system without attributes, a run cannot damage any
        for name, value in (("system.posix_acl_access", ACL), ("user.note", b"keep me")):
            with contextlib.suppress(OSError):
                os.setxattr(path, name, value)


class OnKernel:
    """Count writes to a tree's kernel and commands that change the machine, but not the reactions to them."""

    commands = ("modprobe", "mount", "systemctl")

    def fill(self, path: str, content: str | bytes) -> None:
        """Change a file atomically, as the kernel does."""
        target = Path(self.path(path))  # type: ignore[attr-defined]
        with injection.paused():
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor, new = tempfile.mkstemp(dir=target.parent, prefix=".")
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    stream.write(content if isinstance(content, bytes) else f"{content}\n".encode())
                os.chmod(new, 0o644)
                os.replace(new, target)
            except OSError:  # a program on a full disk leaves nothing
                os.unlink(new)
                raise

    def put(self, path: str, value: str) -> None:
        try:
            injection.step("put", path)
        except OSError as error:
            raise refused(f"cannot write {value} to {path}", error) from error
        with injection.paused():
            super().put(path, value)  # type: ignore[misc]

    def run(self, argv: list[str], timeout: float = 30, user: Any = None, env: Any = None) -> Any:
        if argv[0] in self.commands:
            try:
                injection.step(argv[0], *argv[1:])
            except OSError as error:
                raise refused(f"cannot run {argv[0]}", error) from error
        with injection.paused():
            return super().run(argv, timeout, user, env)  # type: ignore[misc]
