# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine that the stand-ins for AIX commands show: one state file, and what it says at first.

    machine.py set <path>=<JSON> ...    change the state, for example devices.smcr0.busy=true
    machine.py reboot                   what the ODM holds comes into force, in every device that is Available; and
                                        the tunables of /etc/tunables/nextboot

An attribute has two values: `odm`, which lsattr -E shows, and `in_force`, which lsattr -P shows.
"""

import contextlib
import fcntl
import json
import os
import sys

import tunables

FOLDER = os.path.dirname(os.path.realpath(__file__))
STATE = os.path.join(FOLDER, "state.json")
CALLS = os.path.join(FOLDER, "calls")

# Names and descriptions are what the published report prints. Everything else about these attributes is the stand-in's
# own: the values as found, the legal ones, and that all of them can be set.
SMC_R = [
    ("conns_per_lg", "8", "Number of connections per link group", ["1...255 (+1)"], "True"),
    ("enabled", "0", "SMCR Enabled (1 on, 0 off)", ["0", "1"], "True"),
    ("init_snd_pools", "1", "Number of send buffer pools to allocate quickly", ["1...64 (+1)"], "True"),
    ("ip_addr_list", "", "IP Address List", None, "True"),
    ("max_memory", "256", "Max Memory in MB", ["64...65536 (+1)"], "True"),
    ("port_range", "", "TCP Port Range", None, "True"),
    ("rx_intr_packets", "64", "Number of packets to process in interrupt context", ["1...1024 (+1)"], "True"),
    ("tx_intr_cnt", "64", "Tx Interrupt event coalesce counter", ["1...1024 (+1)"], "True"),
    ("tx_intr_time", "5000", "Tx Interrupt event coalesce timer (microseconds)", ["0...1000000 (+1)"], "True"),
]
# A value with blanks, an empty one, one that nobody can set, a description N/A, a name that begins another's.
SYS0 = [
    ("fwversion", "IBM,FW860.60 (SV860_180)", "Firmware version and revision levels", None, "False"),
    ("maxpout", "8193", "HIGH water mark for pending write I/Os per file", ["0...9007199254740992 (+1)"], "True"),
    ("maxuproc", "128", "Maximum number of PROCESSES allowed per user", ["16...131072 (+1)"], "True"),
    ("ncargs", "256", "ARG/ENV list size in 4K byte blocks", ["256...1024 (+1)"], "True"),
    ("os_uuid", "6c4b2a10-55d1-4b1e-9a6f-0d5b1f2c7e88", "N/A", None, "False"),
    ("restrictlog", "", "Log restricted", ["true", "false"], "True"),
]
EN0 = [
    ("alias4", "", "IPv4 Alias including Subnet Mask", None, "True"),
    ("mtu", "1500", "Maximum IP Packet Size for This Device", ["60...65390 (+1)"], "True"),
    ("netaddr", "", "Internet Address", None, "True"),
    ("remmtu", "576", "Maximum IP Packet Size for REMOTE Networks", ["60...65390 (+1)"], "True"),
    ("state", "up", "Current Interface Status", ["up", "down", "detach"], "True"),
]
ENT0 = [
    ("jumbo_frames", "no", "Request jumbo frames", ["no", "yes"], "True"),
    ("media_speed", "Auto_Negotiation", "Requested media speed", ["Auto_Negotiation"], "True"),
]
HDISK0 = [
    ("clr_q", "no", "Device CLEARS its Queue on error", ["no", "yes"], "True"),
    ("queue_depth", "20", "Queue DEPTH", ["1...256 (+1)"], "True"),
]
PROC0 = [
    ("frequency", "3525000000", "Processor Speed", None, "False"),
    ("smt_threads", "8", "Processor SMT threads", None, "False"),
    ("type", "PowerPC_POWER8", "Processor type", None, "False"),
]
ROCE = "PCIe3 2-port 10GbE SFP+ RoCE (b31507101410eb04)"


def device(kind, description, attributes=(), location=""):
    """A device that is Available, with the ODM's values in force."""
    return {
        "class": kind,
        "state": "Available",
        "location": location,
        "description": description,
        "busy": False,
        "attributes": {
            name: {"odm": value, "in_force": value, "description": text, "legal": legal, "settable": settable}
            for name, value, text, legal, settable in attributes
        },
    }


def found(name, address):
    """The state of a host as it is found: app1 has what SMC-R needs; app2 is older and has no RoCE adapter."""
    devices = {
        "sys0": device("sys", "System Object", SYS0),
        "proc0": device("processor", "Processor", PROC0, "00-00"),
        "proc4": device("processor", "Processor", PROC0, "00-04"),
        "hdisk0": device("disk", "Virtual SCSI Disk Drive", HDISK0),
        "ent0": device("adapter", "Virtual I/O Ethernet Adapter (l-lan)", ENT0),
        "en0": device("if", "Standard Ethernet Network Interface", EN0),
        "lo0": device("if", "Loopback Network Interface"),
        "rmt0": dict(device("tape", "Other SCSI Tape Drive", (), "01-00-00"), state="Defined"),
    }
    level = "7100-05-09-2148"
    if name == "app1":
        level = "7200-05-03-2148"
        devices["roce0"] = device("adapter", ROCE, (), "01-00")
        devices["smcr0"] = device("smcr", "SMC-R", SMC_R)
    return {
        "host": name,
        "address": address,
        "oslevel": level,
        "shared": name == "app1",
        "devices": devices,
        "tunables": dict(tunables.found(), after_d="DEFAULT" if name == "app1" else "number"),
    }


class Refusal(Exception):
    """Why a command does nothing: (exit code, what it says on standard error)."""


@contextlib.contextmanager
def changed():
    """The state, kept when the block ends well; only one at a time changes it."""
    with open(STATE + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = read()
        yield state
        write(state)


def read():
    with open(STATE) as stream:
        return json.load(stream)


def write(state):
    with open(STATE + ".new", "w") as stream:
        json.dump(state, stream, indent=1)
        stream.write("\n")
    os.rename(STATE + ".new", STATE)


def note(argv):
    """Keep the words with which a command that changes devices was called, a JSON list a line."""
    with open(CALLS, "a") as stream:
        stream.write(json.dumps(argv) + "\n")


def configure(found):
    """The device gets the values of the ODM."""
    for attribute in found["attributes"].values():
        attribute["in_force"] = attribute["odm"]


def put(state, words):
    """path=JSON: change one value of the state."""
    path, _equals, value = words.partition("=")
    names = path.split(".")
    for key in names[:-1]:
        state = state[key]
    state[names[-1]] = json.loads(value)


def main(verb, *words):
    with changed() as state:
        if verb == "set":
            for word in words:
                put(state, word)
        elif verb == "reboot":
            for one in state["devices"].values():
                if one["state"] == "Available":
                    configure(one)
            tunables.Aix(state["tunables"], "/etc/tunables", None, None).reboot()
        else:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
