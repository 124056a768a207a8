# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU lists (``0-3,8``) and CPU masks (``ff,ffffffff``) in the kernel's own formats.

Formats: the kernel's lib/bitmap-str.c (bitmap_parselist, bitmap_parse, ``%*pb``).
Here a mask is an int with bit n for CPU n; only the kernel's files have it as a string.
"""

import re

from .host import HostError

# more digits than a CPU number needs, but a limit for int()
_RANGE = re.compile(r"^([0-9]{1,18})(?:-([0-9]{1,18}))?\Z")
# as users write masks: with 0x, as in /sys, and what may be one; Linux has at most 8192 CPUs
_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,2048}(,[0-9a-fA-F]{8}){0,255}\Z")
_GROUPS = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{8}){1,255}\Z")
_DIGITS = re.compile(r"[0-9]{1,8}(,[0-9]{8})*\Z")
_GROUP = re.compile(r"^[0-9a-fA-F]{1,8}\Z")
MOST_CPUS = 8192  # of the largest Linux kernels
# the numbers of this many CPUs, one by one, have fewer characters
_LONGEST = 8 * MOST_CPUS


def parse_list(text):
    """The sorted CPU numbers of a list such as ``0-3,8``; empty text is an empty list.

    Raises ValueError with one sentence for anything else.
    """
    cpus = set()
    if len(text) > _LONGEST:
        raise ValueError("'%.100s' is longer than a CPU list of %d CPUs" % (text, MOST_CPUS))
    for part in text.strip().split(",") if text.strip() else []:
        match = _RANGE.match(part.strip())
        if not match:
            raise ValueError("'%.100s' is not a CPU list: write numbers and ranges, such as 0-3,8" % text)
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        if last < first:
            raise ValueError("'%.100s' is not a CPU list: the range %s ends before it begins" % (text, part.strip()))
        if last >= MOST_CPUS:
            raise ValueError("'%.100s' names CPU %d: the largest Linux kernels have %d CPUs" % (text, last, MOST_CPUS))
        cpus.update(range(first, last + 1))
    return sorted(cpus)


def parse_cpus(text):
    """The sorted CPU numbers that a user wrote as a list (``0-3,8``) or as a mask (``0xff``, ``ff,ffffffff``).

    Raises ValueError with one sentence, also for a text of digits that could be either.
    """
    text = text.strip()
    if _HEX.match(text) or (_GROUPS.match(text) and re.search("[a-fA-F]", text)):
        return cpus_of(int(text.replace(",", ""), 16))
    if not re.search(r"(^|[,-])\s*0[0-9]", text):
        return parse_list(text)
    listed, mask = parse_list(text), int(text.replace(",", ""), 16) if _DIGITS.match(text) else 0
    other = ", as a mask CPU %s (write 0x%x)" % (format_list(cpus_of(mask)), mask) if mask else ""
    one = format_list(listed)
    raise ValueError("'%.100s' has leading zeros: as a list it means CPU %s (write %s)%s" % (text, one, one, other))


def list_or_none(text):
    """parse_list(); None without a text, and for one that is not a list."""
    try:
        return parse_list(text) if text else None
    except ValueError:
        return None


def format_list(cpus):
    """``0-3,8`` for [0, 1, 2, 3, 8]."""
    ranges = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else "%d-%d" % (first, last) for first, last in ranges)


def parse_mask(text):
    """The number for a mask such as ``ff,ffffffff``.

    Raises ValueError if the text is not a mask in the kernel's format.
    """
    mask, groups = 0, text.strip().split(",")
    if len(groups) > MOST_CPUS // 32:
        raise ValueError("'%.100s' is longer than a CPU mask of %d CPUs" % (text, MOST_CPUS))
    for group in groups:
        if not _GROUP.match(group):
            raise ValueError("'%.100s' is not a CPU mask: the kernel writes groups of 8 hexadecimal digits" % text)
        mask = mask << 32 | int(group, 16)
    return mask


def format_mask(mask, width):
    """A mask in the kernel's format. width: the number of possible CPUs (nr_cpu_ids).

    The first group has as many digits as its bits need, the others 8: ``00000003`` for width 32, ``3`` for width 2.
    """
    groups = []
    for low in range(0, max(width, 1), 32):
        digits = (min(width - low, 32) + 3) // 4
        groups.append("%0*x" % (max(digits, 1), mask >> low & 0xFFFFFFFF))
    return ",".join(reversed(groups))


def mask_of(cpus):
    """The mask with the bits of these CPUs."""
    mask = 0
    for cpu in cpus:
        mask |= 1 << cpu
    return mask


def cpus_of(mask):
    """The sorted CPU numbers of a mask."""
    return [cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1]


def read_list(host, path):
    """The CPU numbers of a list in a file of the kernel; empty if the file is absent. Raises HostError."""
    try:
        return parse_list(host.value(path) or "")
    except ValueError as error:
        raise HostError("%s: %s" % (path, error)) from error


def online(host):
    """The numbers of the running CPUs, from /sys/devices/system/cpu/online."""
    return read_list(host, "/sys/devices/system/cpu/online")


def present(host):
    """The numbers of the present CPUs, running or not."""
    return read_list(host, "/sys/devices/system/cpu/present")


def width(host):
    """nr_cpu_ids: one more than the highest possible CPU."""
    possible = read_list(host, "/sys/devices/system/cpu/possible")
    return possible[-1] + 1 if possible else 1
