# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-ins of AIX commands that tell about the system over the state file of machine.py. They are not AIX's programs.

Each takes the words behind its name and returns what it prints, or raises Refusal. The percentages of lparstat are
always the same: no load is simulated.
"""

import getopt
import itertools
import os
import re
import stat
import time

import machine

SHARED = """
System configuration: type=Shared mode=Uncapped smt=8 lcpu=16 mem=16384MB psize=16 ent=0.50

%user  %sys  %wait  %idle physc %entc  lbusy  vcsw phint
----- ----- ------ ------ ----- ----- ------ ----- -----
"""
SHARED_ROW = " 31.4  12.6    0.2   55.8  0.25  50.0    6.3   412     1"
DEDICATED = """
System configuration: type=Dedicated mode=Capped smt=4 lcpu=8 mem=16384MB

%user  %sys  %wait  %idle
----- ----- ------ ------
"""
DEDICATED_ROW = " 31.4  12.6    0.2   55.8"
ENTITLEMENT = """\
Node Name                                  : {host}
Partition Name                             : {host}
Partition Number                           : 2
Type                                       : {type}
Mode                                       : {mode}
Entitled Capacity                          : {entitled}
Partition Group-ID                         : 32770
Shared Pool ID                             : {pool}
Online Virtual CPUs                        : 2
Maximum Virtual CPUs                       : 8
Minimum Virtual CPUs                       : 1
Online Memory                              : 16384 MB
Active CPUs in Pool                        : {physical}
Memory Mode                                : Dedicated
Unallocated Variable Memory Capacity Weight: -
"""
MOUNT = """\
  node       mounted        mounted over    vfs       date        options
-------- ---------------  ---------------  ------ ------------ ---------------
         /dev/hd4         /                jfs2   Nov 20 06:15 rw,log=/dev/hd8
"""
IFCONFIG = """\
en0: flags=1e084863,814c0<UP,BROADCAST,NOTRAILERS,RUNNING,SIMPLEX,MULTICAST,GROUPRT,64BIT,CHECKSUM_OFFLOAD(ACTIVE)>
\tinet {address} netmask 0xfffffc00 broadcast 255.255.255.255
\t tcp_sendspace 262144 tcp_recvspace 262144 rfc1323 1
lo0: flags=e08084b,c0<UP,BROADCAST,LOOPBACK,RUNNING,SIMPLEX,MULTICAST,GROUPRT,64BIT,LARGESEND,CHAIN>
\tinet 127.0.0.1 netmask 0xff000000 broadcast 127.255.255.255
"""
RIGHTS = (
    "attributes:\nbase permissions\n    owner(root):  %s\n    group(system):  %s\n    others:  %s\n"
    "extended permissions\n    disabled\n"
)


def level():
    """The four parts of what oslevel -s says: 7200, 05, 03, 2148."""
    return machine.read()["oslevel"].split("-")


def uname(words):
    """uname [-asnrvmpMLW]: version and release are the parts of 7.2."""
    version, release = level()[0][:2]
    name = machine.read()["host"]
    told = {"s": "AIX", "n": name, "r": release, "v": version, "m": "00F6A1C24C00", "p": "powerpc"}
    told.update({"M": "IBM,8286-42A", "L": "2 " + name, "W": "0"})
    asked = "".join(word.lstrip("-") for word in words).replace("a", "snrvm") or "s"
    return " ".join(told[letter] for letter in "snrvmpMLW" if letter in asked) + "\n"


def oslevel(words):
    """oslevel [-s|-r]."""
    parts = level()
    if words == ["-s"]:
        return "-".join(parts) + "\n"
    return "-".join(parts[:2]) + "\n" if words == ["-r"] else ".".join(parts[0]) + "\n"


def lparstat(words):
    """lparstat -i, or lparstat [interval [count]] in the layout of this partition's kind."""
    state = machine.read()
    shared = state["shared"]
    if words == ["-i"]:
        said = {
            "host": state["host"],
            "type": "Shared-SMT-8" if shared else "Dedicated-SMT-4",
            "mode": "Uncapped" if shared else "Capped",
            "entitled": "0.50" if shared else "2.00",
            "pool": "0" if shared else "-",
            "physical": "16" if shared else "-",
        }
        return ENTITLEMENT.format(**said)
    head, row = (SHARED, SHARED_ROW) if shared else (DEDICATED, DEDICATED_ROW)
    return repeated(head, row, words)


def repeated(head, row, words):
    """The header at once, and a row after each interval: this many, or without a count until somebody ends it."""
    if len(words) > 2 or not all(re.match(r"^[1-9][0-9]*$", word) for word in words):
        raise machine.Refusal(1, "usage: [interval [count]]\n")
    if not words:
        return "%s%s\n" % (head, row)
    print(head, end="", flush=True)
    for _count in range(int(words[1])) if words[1:] else itertools.count():
        time.sleep(int(words[0]))
        print(row, flush=True)
    return ""


def mount(_words):
    """mount without arguments."""
    return MOUNT


def ifconfig(_words):
    """ifconfig -a."""
    return IFCONFIG.format(address=machine.read()["address"])


def aclget(words):
    """aclget [-o file] path: the base permissions of a file."""
    given, paths = getopt.getopt(words, "o:")
    mode = os.stat(paths[0]).st_mode
    letters = stat.filemode(mode)[1:]
    text = RIGHTS % (letters[:3], letters[3:6], letters[6:])
    if not given:
        return text
    with open(given[0][1], "w") as stream:
        stream.write(text)
    return ""


def aclput(words):
    """aclput [-i file] path: give a file the base permissions that aclget told."""
    given, paths = getopt.getopt(words, "i:")
    with open(given[0][1]) as stream:
        parts = re.findall(r"^    [^:]*:  ([r-][w-][x-])$", stream.read(), re.MULTILINE)
    bits = "".join("0" if letter == "-" else "1" for letter in "".join(parts))
    os.chmod(paths[0], int(bits, 2))
    return ""
