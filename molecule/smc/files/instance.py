# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""instance.py ARCHIVE ADDRESS PORT: make the SAP instance D00 of PRD and start it with systemd.

Its SAP kernel consists of stand-ins from a tar archive; its work processes connect to ADDRESS and PORT.
"""

import json
import os
import subprocess
import sys
import tarfile

UID, GID = 5100, 5079
HOST = os.uname()[1]
HOME = "/usr/sap/PRD/D00"
FOLDER = "/usr/sap/PRD/SYS/profile"
NAME = "PRD_D00_" + HOST
PROFILE = f"""\
SAPSYSTEMNAME = PRD
SAPSYSTEM = 00
INSTANCE_NAME = D00
DIR_PROFILE = $(DIR_INSTALL)/profile
_PF = $(DIR_PROFILE)/{NAME}
SETENV_00 = DIR_LIBRARY=$(DIR_LIBRARY)
SETENV_01 = LD_LIBRARY_PATH=$(DIR_LIBRARY):%(LD_LIBRARY_PATH)
_DW = dw.sap$(SAPSYSTEMNAME)_$(INSTANCE_NAME)
Restart_Program_00 = local $(_DW) pf=$(_PF)
rdisp/wp_no_dia = 2
# last line
"""
UNIT = f"""\
[Unit]
Description=SAP Instance SAPPRD_00
[Service]
User=prdadm
KillMode=process
Environment=LD_LIBRARY_PATH={HOME}/exe
ExecStart={HOME}/exe/sapstartsrv pf={FOLDER}/{NAME}
Restart=always
[Install]
WantedBy=multi-user.target
"""


def owned(path, text=None):
    """Make a folder that <sid>adm owns, or a file with this text."""
    if text is None:
        os.makedirs(path)
    else:
        with open(path, "w") as stream:
            stream.write(text)
    os.chown(path, UID, GID)


def main():
    archive, address, port = sys.argv[1:]
    for file, line in (("passwd", f"prdadm:x:{UID}:{GID}::/usr/sap/PRD:/bin/sh"), ("group", f"sapsys:x:{GID}:")):
        with open("/etc/" + file, "a") as stream:
            stream.write(line + "\n")
    for folder in (FOLDER, HOME + "/work", HOME + "/work/standin"):
        owned(folder)
    owned(f"{FOLDER}/{NAME}", PROFILE)
    owned(HOME + "/work/standin/orders.json", json.dumps({"talks_to": [address, int(port)]}))
    with tarfile.open(archive) as packed:
        packed.extractall(HOME + "/exe", filter="tar")
    with open("/usr/sap/sapservices", "w") as stream:
        stream.write(f"systemctl --no-ask-password start SAPPRD_00 # sapstartsrv pf={FOLDER}/{NAME}\n")
    with open("/etc/systemd/system/SAPPRD_00.service", "w") as stream:
        stream.write(UNIT)
    subprocess.run(["systemctl", "daemon-reload"], check=True)
    subprocess.run(["systemctl", "enable", "--now", "--quiet", "SAPPRD_00"], check=True)


main()
