# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection to hosts that do not exist: each answers what this machine answered first. See many_hosts.py."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: canned
short_description: Answers from a file
description: The first call of a module runs on this machine, and its answer is kept in the file that CANNED names.
options: {}
"""


class Connection(ConnectionBase):
    transport = "canned"
    has_pipelining = True

    def _connect(self) -> Connection:
        self._connected = True
        return self

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        if in_data is None:
            raise ValueError(f"only modules over pipelining have an answer: {cmd}")
        answer = Path(os.environ["CANNED"])
        if not answer.exists():
            done = subprocess.run(["/bin/sh", "-c", cmd], input=in_data, check=False, capture_output=True)
            answer.write_bytes(done.stdout)
        return 0, answer.read_bytes(), b""

    def put_file(self, in_path: str, out_path: str) -> None:
        raise ValueError(f"nothing can be copied to {out_path}")

    def fetch_file(self, in_path: str, out_path: str) -> None:
        raise ValueError(f"nothing can be fetched from {in_path}")

    def close(self) -> None:
        self._connected = False
