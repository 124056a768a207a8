# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab of network namespaces: it starts, it can be started again, and it leaves nothing behind."""

import json
import os
import shlex
import signal
import stat
import subprocess
import time
from pathlib import Path

import hosts
import pytest

NAME = "labtest"


def run(*command, check=True):
    return hosts.run(*command, check=check).stdout


def lab(action, *arguments, check=True):
    return run(hosts.PROGRAM, action, "--name", NAME, *arguments, check=check)


def namespaces():
    return {line.split()[0] for line in run("ip", "netns", "list").splitlines() if f"-{NAME}-" in line}


def machine():
    """Return what the lab must not change, fact by fact: interfaces of others, settings, files."""
    links = json.loads(run("ip", "-json", "address", "show"))
    own = [link for link in links if not link["ifname"].startswith("zps")]
    facts = {link["ifname"]: [address["local"] for address in link["addr_info"]] for link in own}
    facts.update({name: Path("/proc/sys", name).read_text() for name in ("net/ipv4/ip_forward", "kernel/hostname")})
    facts.update({name: Path(name).stat().st_mtime_ns for name in ("/etc", "/etc/ssh", "/etc/shadow", "/var/lib")})
    masks = [path for link in own for path in Path("/sys/class/net", link["ifname"]).glob("queues/rx-*/rps_cpus")]
    facts.update({str(path): path.read_text() for path in masks})
    return facts


def processes():
    """Return the processes in the network namespaces of this lab, without those of connections, which come and go."""
    found = {name: run("ip", "netns", "pids", name).split() for name in namespaces()}
    return {name: {pid for pid in pids if not is_of_a_connection(pid)} for name, pids in found.items()}


def is_of_a_connection(pid):
    try:
        parent = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[1]
        return Path("/proc", parent, "comm").read_text().startswith("sshd")
    except OSError:  # it has ended
        return True


def on(host, command):
    """Run a shell command on a lab host over SSH, with the variables of its inventory."""
    return hosts.Hosts(NAME).on(host, command)


@pytest.fixture(autouse=True)
def nothing_left():
    lab("down")
    before = machine()
    yield
    folder = str(Path(json.loads(lab("inventory"))["sap_app_servers"]["vars"]["ansible_control_path_dir"]).parent)
    lab("down")
    lab("down")
    after = machine()
    # an interface that appears or disappears meanwhile belongs to someone else
    assert {fact: after[fact] for fact in before if fact in after} == {f: v for f, v in before.items() if f in after}
    assert namespaces() == set()
    assert not Path(folder).exists()
    assert folder not in run("mount") + run("ps", "-eo", "args")
    assert f"-{NAME}-" not in "".join(path.read_text() for path in Path("/sys/class/net").glob("zps*/ifalias"))


def test_the_life_of_a_lab():
    """Start it with any umask, start it twice, shrink it; a host that died is replaced."""
    run("sh", "-c", f"umask 077 && {shlex.quote(str(hosts.PROGRAM))} up --name {NAME} --hosts 3")
    folder = Path(hosts.Hosts(NAME).connection["ansible_ssh_private_key_file"]).parent
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "state.json")] == [0o755, 0o644]
    assert on("app1", "stat -c %a /etc /var").split() == ["755", "755"]
    # each host has its own queues, folders and processor
    assert on("app1", "ls /sys/class/net").split() == ["hsi0", "lo"]
    queues, files = "/sys/class/net/hsi0/queues", "/etc/udev/rules.d/99-lab.rules /var/lib/lab-was-here"
    on("app1", f"echo 1 > {queues}/rx-3/rps_cpus; touch {files}")
    look = f"cat {queues}/rx-*/rps_cpus; ls {files} 2>/dev/null | wc -l"
    assert [int(number, 16) for number in on("app1", look).split()] == [0, 0, 0, 1, 2]
    assert [int(number, 16) for number in on("app2", look).split()] == [0, 0, 0, 0, 0]
    assert not any(Path(file).exists() for file in files.split())
    own = [on(host, "taskset -cp $$").rpartition(":")[2].strip() for host in ("app1", "app2")]
    assert all(cpu.isdigit() for cpu in own)
    assert len(set(own)) == min(2, len(os.sched_getaffinity(0)))

    first = processes()
    lab("up", "--hosts", "3")
    assert processes() == first
    lab("up", "--hosts", "2")
    first = {name: pids for name, pids in first.items() if not name.endswith("app3")}
    assert processes() == first

    dead = next(name for name in first if name.endswith("app2"))
    for pid in first[dead]:
        os.kill(int(pid), 9)
    while processes()[dead]:
        time.sleep(0.05)
    assert "1 of 2 hosts up" in lab("status", check=False)
    lab("up")
    assert "2 of 2 hosts up" in lab("status")
    assert {**processes(), dead: None} == {**first, dead: None}


def test_sap_hosts_have_their_own_usr_sap_and_share_sapmnt():
    lab("up", "--sap")
    on("app1", "echo mine > /usr/sap/own; echo ours > /sapmnt/shared")
    assert on("app2", "ls /usr/sap; cat /sapmnt/shared").split() == ["ours"]
    on("app1", "mount -o remount,bind,ro /sapmnt")
    assert "Read-only" in on("app1", "touch /sapmnt/more 2>&1 || true")
    on("app2", "touch /sapmnt/more")
    beside = {name for name in os.listdir("/") if not name.startswith(".")}
    assert set(on("app1", "ls /").split()) - beside <= {"sapmnt"}
    assert not any(Path(path).exists() for path in ("/usr/sap/own", "/sapmnt/shared", "/machine"))


def killed_with(made):
    """Kill a start as soon as this many namespaces exist; return False if it ended before."""
    with subprocess.Popen([hosts.PROGRAM, "up", "--name", NAME, "--hosts", "40"], stdout=subprocess.DEVNULL) as started:
        while len(namespaces()) < made and started.poll() is None:
            time.sleep(0.01)
        started.kill()
        return started.wait() == -signal.SIGKILL


@pytest.mark.parametrize("made", [1, 20, 41])
def test_an_incomplete_lab_can_be_started_again(made):
    """The start is killed as soon as this many of the 41 namespaces of 40 hosts and their switch exist."""
    for _try in range(10):
        if killed_with(made):
            break
        lab("down")
    else:
        pytest.fail("the start always ended before it was killed")
    assert "3 hosts up" in lab("up", "--hosts", "3")
    assert "3 of 3 hosts up" in lab("status")
