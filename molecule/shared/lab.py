# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab of N Linux hosts on this machine: one network namespace each, joined by a bridge, reached over SSH.

    lab up [--hosts N] [--sap]   start it, or bring a running one to N hosts
    lab down                     remove everything; does nothing if there is no lab
    lab status                   which hosts answer
    lab inventory                the hosts as an Ansible inventory (JSON)

A host (app1, app2, ...) has its own interface hsi0 with four receive queues, /sys, /proc, host name, sshd, and its own
/etc, /var, /root, /run and /tmp: it reads the machine's files and writes to a layer that vanishes with the lab.
It sees no journal and no drop-in file that this collection keeps on the machine, and nothing of the machine's /usr/sap
and /sapmnt. Hosts that are started with --sap each have their own /usr/sap and share one /sapmnt; both start empty.
Root can log in to each host, and so can the ordinary user `ansible`, which has no sudo rule.
The hosts use the machine's kernel; each one runs on one of its CPUs, the next host on the next CPU. The machine itself
gets one interface (zpsN) and the folder /run/zps-lab, which a reboot removes like the namespaces. All of them
carry the lab's name, and nothing else is touched.
"""

import argparse
import contextlib
import ipaddress
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zlib

from machine import TIMEOUT, LabError, answers, become_root, check_tools, locked, processes_in, run, write

ROOT = "/run/zps-lab"
NETWORKS = list(ipaddress.ip_network("10.213.0.0/16").subnets(new_prefix=22))
FIRST_HOST = 11  # addresses below it: the controller (.1) and some for manual experiments
MOST_HOSTS = 1000
INTERFACE = "hsi0"
QUEUES = 4
USER, UID = "ansible", 7001
HOST_PROGRAM = os.path.join(os.path.dirname(os.path.realpath(__file__)), "lab-host")
TOOLS = {
    "ip": "iproute2",
    "unshare": "util-linux",
    "taskset": "util-linux",
    "sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
}

SSHD_CONFIG = """\
HostKey {host_key}
AuthorizedKeysFile {authorized}
ListenAddress {address}
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
UseDNS no
PrintMotd no
PidFile none
LogLevel ERROR
MaxStartups 200
MaxSessions 200
Subsystem sftp internal-sftp
"""


class Lab:
    """One lab: its name, folder, network, start and end. Subclasses have other kinds of hosts."""

    TOOLS = TOOLS
    STARTED_BY = "make lab-up"
    PATIENCE = 180  # seconds within which a started host must answer
    GREETING = 1  # seconds within which a running host must answer

    def __init__(self, name, sap=False):
        # Labs of two checkouts on one machine differ even if they have the same name.
        checkout = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
        self.name = f"{name}-{zlib.crc32(checkout.encode()) & 0xFFFF:04x}"
        self.folder = os.path.join(ROOT, self.name)
        self.prefix = f"zps-{self.name}-"
        self.switch = self.prefix + "switch"
        self.key = os.path.join(self.folder, "id_ed25519")
        self.known_hosts = os.path.join(self.folder, "known_hosts")
        self.control = os.path.join(self.folder, "control")
        self.sapmnt = os.path.join(self.folder, "sapmnt") if sap else None

    def state(self):
        """Return {"slot": n, "hosts": n} as the last `up` saved it, or None."""
        try:
            with open(os.path.join(self.folder, "state.json")) as handle:
                return json.load(handle)
        except (OSError, ValueError):
            return None

    def names(self, count):
        return [f"app{number}" for number in range(1, count + 1)]

    def addresses(self, state):
        """Return name and address of every host of a state."""
        network = NETWORKS[state["slot"]]
        return {name: str(network[FIRST_HOST + n]) for n, name in enumerate(self.names(state["hosts"]))}

    def namespaces(self):
        """Return the names of the network namespaces with this lab's prefix."""
        with contextlib.suppress(FileNotFoundError):
            return [name for name in os.listdir("/run/netns") if name.startswith(self.prefix)]
        return []

    def running(self):
        """Return the state of a lab that is up; raise LabError otherwise."""
        state = self.state()
        if state is None:
            raise LabError(f"The lab '{self.name}' is not up: '{self.STARTED_BY}' starts it.")
        return state

    def connection(self):
        """Return the variables with which Ansible reaches the hosts of this lab."""
        arguments = f"-o UserKnownHostsFile={self.known_hosts} -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes"
        return {
            "ansible_user": "root",
            "ansible_ssh_private_key_file": self.key,
            "ansible_ssh_common_args": arguments,
            "ansible_control_path_dir": self.control,
            "ansible_python_interpreter": os.environ.get("LAB_PYTHON", "/usr/bin/python3"),
        }

    def inventory(self):
        """Return the running lab as an Ansible inventory: a ring, in which each host measures against the next one."""
        addresses = self.addresses(self.running())
        peers = [*addresses, *addresses][1:]
        hosts = {
            name: {"ansible_host": address, "measure_address": address, "measure_peer": peer}
            for (name, address), peer in zip(addresses.items(), peers, strict=False)
        }
        return {"_meta": {"hostvars": hosts}, "sap_app_servers": {"hosts": list(hosts), "vars": self.connection()}}

    def prepare(self, action):
        """Check the requirements of an action before the lab is touched."""
        check_tools(self.TOOLS)

    def up(self, count):
        """Bring the lab to `count` hosts, and replace a broken lab or host; wait() waits until they answer."""
        state = self.state()
        if state is None or not self.switch_is_well(state["slot"]):
            self.down()
            state = {"slot": self.free_slot(), "hosts": 0}
            self.make_switch(state)
        state["hosts"] = count
        have = {name[len(self.prefix) :] for name in self.namespaces()} - {"switch"}
        addresses = self.addresses(state)
        greeted = answers([addresses[name] for name in have & set(addresses) if self.processes(name)], self.GREETING)
        well = {name for name in have if addresses.get(name) in greeted}
        self.remove_namespaces([self.prefix + name for name in have - well])
        self.make_hosts({name: address for name, address in addresses.items() if name not in well})
        self.save(state)

    def wait(self):
        """Wait until every host answers; fail at once if one has ended."""
        addresses = self.addresses(self.running())
        until = time.monotonic() + self.PATIENCE
        while True:
            greeted = answers(list(addresses.values()), 5)
            silent = sorted(name for name, address in addresses.items() if address not in greeted)
            if not silent:
                return
            if time.monotonic() > until or not all(self.processes(name) for name in silent):
                raise LabError(
                    f"{len(silent)} of {len(addresses)} lab hosts do not answer over SSH ({', '.join(silent[:5])}); "
                    f"their logs: {self.folder}/*.log"
                )

    def processes(self, name):
        with contextlib.suppress(OSError):
            return processes_in({os.stat(f"/run/netns/{self.prefix}{name}").st_ino})
        return []

    def save(self, state):
        write(os.path.join(self.folder, "state.json"), json.dumps(state) + "\n")

    def switch_is_well(self, slot):
        """Return whether make_switch() completed its last step, which brings the cable up."""
        bridge = run(["ip", "-netns", self.switch, "link", "show", "switch"], check=False)
        with contextlib.suppress(FileNotFoundError), open(f"/sys/class/net/zps{slot}/flags") as flags:
            return bool(bridge) and bool(int(flags.read(), 16) & 1)
        return False

    @staticmethod
    def free_slot():
        """Return the number of the first network that neither this machine nor another lab uses."""
        routes = json.loads(run(["ip", "-json", "-4", "route", "show", "table", "all"]) or "[]")
        used = [ipaddress.ip_network(r["dst"], strict=False) for r in routes if r.get("dst", "default") != "default"]
        for slot, network in enumerate(NETWORKS):
            taken = any(network.overlaps(other) for other in used if other.prefixlen)
            if not taken and not os.path.exists(f"/sys/class/net/zps{slot}"):
                return slot
        raise LabError("No free network for the lab: every /22 of 10.213.0.0/16 is in use on this machine.")

    def make_switch(self, state):
        """Make folder, keys, and the bridge in a namespace of its own with one cable to the machine."""
        owner = (int(os.environ.get("SUDO_UID", "0")), int(os.environ.get("SUDO_GID", "0")))
        slot, network = state["slot"], NETWORKS[state["slot"]]
        os.makedirs(self.control, exist_ok=True)
        self.save(state)
        host_key = os.path.join(self.folder, "host_key")
        for path in (self.key, host_key):
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", path])
        with open(host_key + ".pub") as handle:
            public = " ".join(handle.read().split()[:2])
        names = ["{}.*".format(str(part.network_address).rsplit(".", 1)[0]) for part in network.subnets(new_prefix=24)]
        write(self.known_hosts, "{} {}\n".format(",".join(names), public))
        for path in (self.key, self.control, self.known_hosts):
            os.chown(path, *owner)
        os.chmod(self.control, 0o700)
        cable = f"zps{slot}"
        run(["ip", "netns", "add", self.switch])
        bridge = "link set lo up\nlink add switch type bridge\nlink set switch up\n"
        run(["ip", "-netns", self.switch, "-batch", "-"], bridge)
        run(["ip", "link", "add", cable, "type", "veth", "peer", "name", "controller", "netns", self.switch])
        run(["ip", "link", "set", cable, "alias", self.prefix + "controller"])
        run(["ip", "-netns", self.switch, "link", "set", "controller", "master", "switch", "up"])
        run(["ip", "address", "add", f"{network[1]}/{network.prefixlen}", "dev", cable])
        run(["ip", "link", "set", cable, "up"])

    def make_hosts(self, addresses):
        """Make namespaces, cables and sshd of the named hosts."""
        cables = []
        for name, address in addresses.items():
            run(["ip", "netns", "add", self.prefix + name])
            queues = f"numrxqueues {QUEUES} numtxqueues {QUEUES}"
            # A replaced host keeps its hardware address: the others cache it for up to a minute.
            hardware = "02:7a:" + ":".join(f"{part:02x}" for part in ipaddress.ip_address(address).packed)
            peer = f"name {INTERFACE} address {hardware} netns {self.prefix + name}"
            cables.append(f"link add {name} {queues} type veth peer {peer} {queues}")
            cables.append(f"link set {name} master switch up")
        run(["ip", "-netns", self.switch, "-batch", "-"], "\n".join(cables) + "\n")
        for name, address in addresses.items():
            run(["ip", "-netns", self.prefix + name, "-batch", "-"], f"link set lo up\nlink set {INTERFACE} up\n")
            self.start_host(name, address)

    def layer(self, name, address):
        """Write the host's own files (sshd, host name) into its layer; return that folder."""
        folder = os.path.join(self.folder, "hosts", name)
        ssh = "/etc/ssh/zps_"
        for source, target, mode in (("host_key", "host_key", 0o600), ("id_ed25519.pub", "authorized", 0o644)):
            with open(os.path.join(self.folder, source)) as handle:
                write(folder + ssh + target, handle.read(), mode)
        config = SSHD_CONFIG.format(host_key=ssh + "host_key", authorized=ssh + "authorized", address=address)
        write(folder + ssh + "sshd_config", config)
        write(folder + "/etc/hostname", name + "\n")
        return folder

    def start_host(self, name, address):
        """Write the files that differ from the machine's into the host's layer, and start its process 1."""
        run(["ip", "-netns", self.prefix + name, "address", "add", f"{address}/22", "dev", INTERFACE])
        folder = self.layer(name, address)
        # The login files of the machine's root are not part of the lab, and are slow on some machines.
        write(folder + "/root/.bashrc", "")
        with open("/etc/shadow") as handle:
            shadow = handle.read()
        # sshd without PAM refuses a locked root account ("!" in front), even with a key.
        lines = ["root:*:::::::" if line.startswith("root:!") else line for line in shadow.splitlines()]
        write(folder + "/etc/shadow", "\n".join([*lines, f"{USER}:*:::::::"]) + "\n", 0o640)
        self.add_user(folder)
        # One CPU per host, as if it had its own processor: otherwise the scheduler moves the ends of a connection all
        # the time.
        cpus = sorted(os.sched_getaffinity(0))
        place = ["taskset", "--cpu-list", str(cpus[int(ipaddress.ip_address(address)) % len(cpus)])]
        own = ["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
        shared = [self.sapmnt] if self.sapmnt else []
        for path in shared:
            os.makedirs(path, exist_ok=True)
        self.start(name, [*place, *own, HOST_PROGRAM, name, folder, *shared])

    @staticmethod
    def add_user(folder):
        """Add an ordinary user with a home to the layer of a host."""
        home, group = f"/var/lib/{USER}", f"{USER}:x:{UID}:"
        for path, line in (("/etc/passwd", f"{group}{UID}::{home}:/bin/sh"), ("/etc/group", group)):
            with open(path) as handle:
                write(folder + path, handle.read() + line + "\n")
        os.makedirs(folder + home)
        os.chown(folder + home, UID, UID)

    def start(self, name, argv, **environment):
        """Run a program in a host's network namespace until the namespace is removed."""
        environment["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        with open(os.path.join(self.folder, name + ".log"), "w") as log:
            subprocess.Popen(
                ["ip", "netns", "exec", self.prefix + name, *argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env={"LC_ALL": "C", **environment},
                start_new_session=True,
            )

    def down(self):
        """Remove every process, namespace, interface and file of this lab, even if it is incomplete."""
        # The hosts end before the cable, so that their clients notice at once.
        self.remove_namespaces(self.namespaces())
        for link in json.loads(run(["ip", "-json", "link", "show"]) or "[]"):
            if link.get("ifalias") == self.prefix + "controller":
                run(["ip", "link", "delete", link["ifname"]], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.rmdir(ROOT)

    def remove_namespaces(self, names):
        """End what runs inside the namespaces, then remove them and what they left in the lab's folder."""
        inodes = set()
        for name in names:
            with contextlib.suppress(OSError):
                inodes.add(os.stat("/run/netns/" + name).st_ino)
        until = time.monotonic() + 10
        while time.monotonic() < until:
            inside = processes_in(inodes)
            if not inside:
                break
            for pid in inside:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        for name in names:
            host = name[len(self.prefix) :]
            if host != "switch":
                # Delete the cable now; the kernel would do so only some time after the namespace.
                run(["ip", "-netns", self.switch, "link", "delete", host], check=False)
        for name in names:
            run(["ip", "netns", "delete", name], check=False)
            host = name[len(self.prefix) :]
            shutil.rmtree(os.path.join(self.folder, "hosts", host), ignore_errors=True)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, host + ".log"))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["up", "down", "status", "inventory"])
    parser.add_argument("--name", default="lab", help="several labs can stand at once (default: %(default)s)")
    parser.add_argument("--hosts", type=int, default=2, metavar="N", help=f"1 to {MOST_HOSTS} (default: 2)")
    parser.add_argument("--sap", action="store_true", help="new hosts have a /usr/sap of their own and share a /sapmnt")
    chosen = parser.parse_args()
    if not 1 <= chosen.hosts <= MOST_HOSTS:
        parser.error(f"--hosts {chosen.hosts}: a lab has 1 to {MOST_HOSTS} hosts")
    if not chosen.name.isalnum() or len(chosen.name) > 20:
        parser.error(f"--name {chosen.name}: up to 20 letters and digits")
    return chosen


def serve(lab, action, count):
    """Carry out an action on a lab; return the exit status."""
    if action == "inventory":
        may_be_down = lab.state() is None and os.environ.get("LAB_MAY_BE_DOWN")
        hosts = {"_meta": {"hostvars": {}}} if may_be_down else lab.inventory()
        print(json.dumps(hosts, indent=1))
        return 0
    if action == "status":
        addresses = lab.addresses(lab.state() or {"slot": 0, "hosts": 0})
        greeted = answers(list(addresses.values()), lab.GREETING)
        for name, address in addresses.items():
            print("{} {} {}".format(name, address, "up" if address in greeted else "does not answer"))
        print(f"lab {lab.name}: {len(greeted)} of {len(addresses)} hosts up")
        return 0 if addresses and len(greeted) == len(addresses) else 3
    become_root()
    # Ansible's user must be able to read the lab's files, and each host has its own /etc.
    os.umask(0o022)
    lab.prepare(action)
    with locked(f"zps-lab-{lab.name}", lab.PATIENCE + TIMEOUT):
        # One lab at a time chooses networks and interface names.
        with locked("zps-lab"):
            if action == "up":
                lab.up(count)
            else:
                lab.down()
        if action == "up":
            lab.wait()
    print(f"lab {lab.name}: {f'{count} hosts up' if action == 'up' else 'down'}")
    return 0


def main():
    chosen = arguments()
    return serve(Lab(chosen.name, chosen.sap), chosen.action, chosen.hosts)


def program(main_program):
    """Run a lab's main program; report an error as one sentence."""
    try:
        sys.exit(main_program())
    except (LabError, subprocess.TimeoutExpired) as problem:
        sys.exit(f"lab: {problem}")


if __name__ == "__main__":
    program(main)
