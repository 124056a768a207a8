# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Access control lists: whether one lets users write who do not appear in the mode.

Linux: the attribute system.posix_acl_access (kernel: include/uapi/linux/posix_acl_xattr.h). AIX: the output of aclget,
for lists of type AIXC; any other list counts as one that lets others write.
"""

import errno
import os
import re
import stat
import struct
import subprocess

from . import commands
from .errors import HostError

_ATTRIBUTE = "system.posix_acl_access"
_VERSION, _USER, _GROUP, _MASK = 2, 0x02, 0x08, 0x10
_ENTRY, _WRITE = struct.Struct("<HHI"), 2
# sys/mode.h of AIX, S_IXACL: there is a list beside the mode, and it is enabled
_AIX_LISTED = 0x02000000
_ACLGET_S = 10
_EXTENDED = re.compile(r"\s+(permit|deny|specify)\s+([r-][w-][x-])\s+(\S.*)\Z")


def lets_others_write(path, mode, users, groups):
    """Whether the list of a file or folder lets others than these users and groups (ids) write.

    path: without links. mode: its st_mode. What cannot be read or understood counts as such a list.
    """
    if hasattr(os, "getxattr"):
        # with a list, the group bits of the mode are its mask: without this bit nobody in the list may write
        if not mode & stat.S_IWGRP:
            return False
        try:
            data = os.getxattr(path, _ATTRIBUTE, follow_symlinks=False)
        except OSError as error:
            return error.errno not in (errno.ENODATA, errno.ENOTSUP)
        return parse_posix(data, users, groups)
    if not mode & _AIX_LISTED:
        return False
    try:
        process = commands.start(["/usr/bin/aclget", path], stdout=subprocess.PIPE, env={"LC_ALL": "C"})
        text = commands.finish(process, _ACLGET_S)[0].decode("utf-8", "replace")
    except (HostError, OSError):
        return True
    return process.returncode != 0 or parse_aixc(text)


def parse_posix(data, users, groups):
    """Whether an attribute has a named user or group, other than these ids, with the right to write under the mask."""
    size = _ENTRY.size
    if len(data) % size != 4 or struct.unpack("<I", data[:4])[0] != _VERSION:
        return True
    entries = [_ENTRY.unpack(data[at : at + size]) for at in range(4, len(data), size)]
    mask = next((right for tag, right, _id in entries if tag == _MASK), _WRITE)
    known = {_USER: users, _GROUP: groups}
    return any(right & mask & _WRITE and number not in known.get(tag, (number,)) for tag, right, number in entries)


def parse_aixc(text):
    """Whether the extended permissions in the output of aclget let anybody but root and the group system write.

    An entry with several names holds only for processes with all of them.
    """
    _base, title, extended = text.lower().partition("extended permissions")
    entries = [line for line in extended.splitlines() if line.strip(" \t:") not in ("", "enabled")]
    # lists of type NFS4 have no such title
    return not title or any(_writes(_EXTENDED.match(entry.rstrip())) for entry in entries)


def _writes(entry):
    if entry is None:
        return True
    kind, rights, names = entry.groups()
    return kind != "deny" and "w" in rights and not {"u:root", "g:system"} & set(re.split(r",\s*", names))
