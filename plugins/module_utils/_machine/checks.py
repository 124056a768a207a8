# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of settings that this collection does not change: SMT, z/VM, cluster, HiperSockets, use of SMC.

Also reports tunings that are applied but not chosen. Each check returns one record, as a tuning does.
"""

import socket

from .._engine.places import journals, own_files
from .._engine.records import STUDY, observed
from .._host import kernel
from . import facts, hardware
from .note_checks import of_notes

GUESTS = {"zvm": "z/VM gives its guests one thread of a core", "kvm": "KVM gives its guests one thread of a core"}
# logical processors of z/VM 6.3 and 6.4, with SMT 32 cores (IBM z13s Technical Guide, SG24-8294, "Simultaneous
# Multithreading")
ZVM_THREADS = 64
# the MTU that each input buffer size of HiperSockets allows (IBM, Device Drivers, Features, and Commands: qeth)
LARGEST_MTU = {"16k": 8192, "24k": 16384, "40k": 32768, "64k": 57344}
# the driver's default of buffer_count (IBM, Device Drivers, Features, and Commands: qeth, "Inbound buffer count")
BUFFERS = {"HiperSockets": 128, "OSA": 64}
# the argument spec of the module platform_settings_info
OPTIONS = dict(
    threads_per_core=dict(type="int", choices=[1, 2]),
    database_host=dict(type="list", elements="str"),
    smc_peers=dict(type="list", elements="str", default=[]),
    tunings=dict(type="list", elements="str"),
    root=dict(type="path"),
)
CAPACITY = ("IBM Documentation, z/VM HiperDispatch and PR/SM concepts", "AIX commands reference: lparstat")
CLUSTER = ("Pacemaker Explained", "SAP cluster connector, service/halib")
GAIN = (
    "published for HiperSockets instead of four 10 Gb OSA ports: 2 to 4 % less batch elapsed time, and perhaps more "
    "CPU time, because the processors move the data"
)


def _record(subject, wanted, running, verdict, reason, sources, restart="none", remarks=()):
    more = {"restart": restart, "remarks": list(remarks), "sources": list(sources)}
    return observed("platform", subject, wanted, verdict, reason, running, **more)


def records(host, system, threads_per_core, database_host, smc_peers=(), tunings=None):
    """The records of one host: SMT, z/VM on its guests, the cluster of a node, HiperSockets to each named host, SMC if
    requested or in use, and one per tuning that is applied but not chosen.

    system: from platform.system(). threads_per_core, database_host: the requested ones, or None. smc_peers: the hosts
    to which connections should use SMC. tunings: the names of the chosen tunings, None if unknown.
    """
    if host.capture:
        return of_capture(host, threads_per_core, database_host, smc_peers)
    found = [smt(host, system, threads_per_core)]
    found += zvm(host, system) + capacity(host, system) + cluster(host, system)
    found += [hipersockets(host, system, *one) for one in _ends(database_host)]
    with_smc = system == "Linux" and kernel.has_smc(host)
    if smc_peers or with_smc:
        # many hosts have no SMC, and compiling this takes time
        from .smc_checks import check  # noqa: PLC0415

        found.append(check(host, system, with_smc, smc_peers))
    found += of_notes(host, system)
    return found + ([] if tunings is None else orphans(host, system, tunings))


# a capture in the place of the host


def of_capture(host, threads_per_core, database_host, smc_peers):
    """The records of a capture: what it is, SMT, and what only a running machine can tell."""
    from .._engine import captured  # noqa: PLC0415

    about = host.capture
    reason = "%s of %s" % (about.format, about.hostname or "an unknown host")
    reason += ", taken %s" % about.taken if about.taken else ""
    found = [_record("capture", {}, {"file": about.path}, "compliant", reason, (), remarks=about.notes)]
    record = smt(host, "Linux", threads_per_core)
    why = captured.of_request(host)
    if why and (record["verdict"] != "compliant" or threads_per_core is not None):
        record.update(verdict="unknown", reason="%s (%s)" % (why, record["reason"]))
    found += [record] + capacity(host, "Linux") + cluster(host, "Linux")
    asked = [(subject, "database_host", name) for name, subject in _ends(database_host)]
    asked += [("SMC", "smc_peers", list(smc_peers))] if smc_peers else []
    live = "only the running machine tells the route and the use of connections"
    found += [_record(subject, {option: value}, None, "unknown", live, ()) for subject, option, value in asked]
    return found + of_notes(host, "Linux")


# tunings that are applied but not chosen


def orphans(host, system, chosen):
    """One record per tuning that has a journal or drop-in files on this host but is not chosen."""
    files = journals(host, system)
    for name, paths in own_files(host).items():
        files.setdefault(name, []).extend(paths)
    return [_orphan(name, files[name]) for name in sorted(set(files) - set(chosen))]


def _orphan(name, paths):
    command = "ansible-playbook zpower.sap_tuning.rollback --limit HOST --tags %s" % name
    reason = "%s was applied on this host and is not chosen for it (zpower_tunings), see %s; %s takes it back"
    reason %= (name, ", ".join(paths), command)
    return dict(_record(name, {"state": "restored"}, None, "drifted", reason, ()), undo=command)


# SMT


def smt(host, system, wanted):
    """The record of simultaneous multithreading; wanted: threads per core, None for any number."""
    sources = (STUDY % "5.1, 5.4 and 5.5", "Linux on IBM Z, kernel parameters smt= and nosmt")
    asked = {} if wanted is None else {"threads_per_core": wanted}
    kind = hardware.virtualization(host) if system == "Linux" else "none"
    if kind != "lpar":
        reason = "Linux chooses SMT only in an LPAR of IBM Z"
        if kind not in (None, "none"):
            reason += "; %s" % GUESTS.get(kind, "a hypervisor gives its guests one thread of a core")
        return _record("SMT", asked, None, "not_applicable", reason, sources)
    now = facts.threads_per_core(host, facts.online_cpus(host) or [])
    possible = facts.threads_possible(host, hardware.sysinfo(host), kind)
    counts = tuple("an unknown number" if count is None else count for count in (now, possible))
    verdict, reason, more = "compliant", "%s of %s possible threads per core" % counts, ()
    if wanted not in (None, now) and possible is not None and wanted > possible:
        verdict, reason = "unsupported", "%s, wanted %d: the machine does not have more" % (reason, wanted)
    elif wanted not in (None, now):
        reason += ", wanted %d: %s" % (wanted, steps(kernel.distribution(host) or {}, wanted))
        verdict, more = "drifted", ("reboot", _at_once(host, wanted))
    return _record("SMT", asked, {"threads per core": now}, verdict, reason, sources, *more)


def steps(distribution, wanted):
    """The steps to boot with this number of threads per core; distribution: {id, version}."""
    name, version = distribution.get("id") or "", distribution.get("version") or ""
    what = "put smt=1 into" if wanted == 1 else "take smt= and nosmt out of"
    if name.startswith(("sle", "suse", "opensuse")):
        return (
            "%s GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, run grub2-mkconfig -o /boot/grub2/grub.cfg and "
            "grub2-install, and reboot" % what
        )
    if name in ("rhel", "centos", "rocky", "almalinux", "fedora") and version.split(".")[0] != "7":
        change = "--args=smt=1" if wanted == 1 else '--remove-args="smt nosmt"'
        # grubby writes the boot entries; without zipl, the old ones are booted
        return "run grubby --update-kernel=ALL %s and then zipl, and reboot" % change
    return "%s the parameters in /etc/zipl.conf, run zipl, and reboot" % what


def _at_once(host, wanted):
    """The remark for kernels from 6.15 on, which can also switch while they run."""
    path = hardware.CPUS + "/smt/control"
    state = {"on": 2, "off": 1}.get(host.value(path))
    if state is None or state == wanted:
        return []
    word = "off" if wanted == 1 else "on"
    return ["this kernel can also switch at once, until the next boot: echo %s > %s" % (word, path)]


# z/VM


def zvm(host, system):
    """[the record of a guest of z/VM]: how many of the cores of its LPAR z/VM can use."""
    if system != "Linux" or hardware.virtualization(host) != "zvm":
        return []
    sysinfo = hardware.sysinfo(host)
    program, cores = sysinfo.hypervisors[0]["program"], sysinfo.lpar and sysinfo.lpar.cpus.get("Configured")
    running = {"control program": program, "cores of its LPAR": cores}
    sources = (STUDY % "5.3", "IBM z13s Technical Guide (SG24-8294)")
    newer = not program.startswith("z/VM 6.")
    limit = "z/VM %suses at most %d threads, which is %d cores with SMT%s; "
    limit %= ("6 " if newer else "", ZVM_THREADS, ZVM_THREADS // 2, "; a newer one may use more" if newer else "")
    advice = limit + "two z/VM systems with half of the cores each performed alike (published for 64 IFLs)"
    state = "z/VM runs on %s core%s of its LPAR" % (cores, "" if cores == 1 else "s")
    verdict, remarks = "compliant", ()
    if cores is None:
        state = "the cores of z/VM's LPAR are not known; " + limit[:-2]
    elif cores <= ZVM_THREADS // 2:
        state += ", which is within its limit"
    elif cores > ZVM_THREADS and not newer:
        verdict, state = "drifted", "%s; %s" % (state, advice)
    else:
        remarks = [advice]
    return [_record("z/VM", {}, running, verdict, state, sources, remarks=remarks)]


# capacity


def capacity(host, system):
    """[the record of how many cores an LPAR is entitled to]; empty on other machines, and if nothing tells it.

    No value is requested, so none is wrong; a remark tells of cores beyond the entitlement.
    """
    if system != "AIX" and hardware.virtualization(host) != "lpar":
        return []
    # few machines have it, and compiling this takes time
    from . import capacity as facts_of  # noqa: PLC0415

    found = facts_of.capacity(host, system)
    if found["source"] is None:
        return []
    low = found["vertical"]["low"]
    remarks = ["while other LPARs need their cores, work on the %d vertical:low ones waits" % low] if low else []
    running = {"source": found["source"]}
    return [_record("capacity", {}, running, "compliant", found["sentence"], CAPACITY, remarks=remarks)]


# cluster


def cluster(host, system):
    """[the record of a node of a cluster]: which instances Pacemaker manages, and what is in maintenance."""
    found = facts.cluster(host) if system == "Linux" else None
    if not found or not found["member"]:
        return []
    from .cluster import describe  # noqa: PLC0415

    running = {"Pacemaker": found["pacemaker"]}
    unknown = [found["why_unknown"]] if found["why_unknown"] else []
    return [_record("cluster", {}, running, "compliant", describe(found), CLUSTER, remarks=unknown)]


# HiperSockets


def _ends(hosts):
    """[(host, subject of its record)] for the hosts to be reached through HiperSockets."""
    names = sorted(set(filter(None, hosts or ())))
    return [(name, "HiperSockets to %s" % name if len(names) > 1 else "HiperSockets") for name in names]


def hipersockets(host, system, database_host, subject="HiperSockets"):
    """The record of the interface that leads to a host."""
    sources = (STUDY % "5.1", "Linux on IBM Z, qeth device driver (HiperSockets and OSA)")
    asked = {"database_host": database_host, "card_type": "HiperSockets"}
    verdict, reason = "not_applicable", "HiperSockets connect the LPARs and guests of one IBM Z machine"
    if system == "Linux" and hardware.virtualization(host) != "none":
        try:
            interface = interface_to(database_host)
            reason = "%s is this host itself" % database_host if interface == "lo" else ""
        except OSError as error:
            verdict, reason = "failed", "database_host: cannot reach %s: %s" % (database_host, error.strerror or error)
    if reason:
        return _record(subject, asked, None, verdict, reason, sources)
    found = hardware.interfaces(host)
    ends = hardware.lowest_interfaces(found, interface)
    running = {"route": interface}
    running.update((name, _interface_text(found.get(name, {}))) for name in ends)
    others = [name for name in ends if found.get(name, {}).get("card_type") != "HiperSockets"]
    remarks = [sentence for name in ends if name in found for sentence in _too_small(name, found[name])]
    if others:
        words = ", ".join("%s (%s)" % (name, running[name]) for name in others)
        reason = "packets to %s leave through %s, which is not a HiperSockets interface; %s"
        reason %= (database_host, words, GAIN)
        return _record(subject, asked, running, "drifted", reason, sources, "device", remarks)
    reason = "packets to %s leave through HiperSockets; %s" % (database_host, GAIN)
    return _record(subject, asked, running, "compliant", reason, sources, remarks=remarks)


def interface_to(name):
    """The interface by which this machine reaches a host (name or address). Raises OSError."""
    try:
        found = socket.getaddrinfo(name, 9, 0, socket.SOCK_DGRAM)
    except UnicodeError as error:
        raise OSError("this is not a host name") from error
    from .routes import route_interface  # noqa: PLC0415

    problem = OSError("no route leads there")
    for family, kind, protocol, _canonical, address in found:
        try:
            with socket.socket(family, kind, protocol) as sock:
                # sends nothing: the kernel only chooses its own address
                sock.connect(address)
                interface = route_interface(sock.getsockname()[0], address[0])
        except OSError as error:
            problem = error
            continue
        if interface is not None:
            return interface
    raise problem


def _interface_text(interface):
    """HiperSockets, MTU 57344, 128 buffers"""
    words = [interface.get("card") or interface.get("card_type") or interface.get("driver") or "unknown"]
    words += ["MTU %d" % interface["mtu"]] if interface.get("mtu") else []
    words += ["%d buffers" % interface["buffer_count"]] if interface.get("buffer_count") else []
    return ", ".join(words)


def _too_small(name, interface):
    """Sentences on the MTU and buffers of an interface that could be larger."""
    largest = LARGEST_MTU.get(interface["inbuf_size"]) if interface["card_type"] == "HiperSockets" else None
    if largest and interface["mtu"] and interface["mtu"] < largest:
        yield "%s: its buffers of %s allow an MTU of %d" % (name, interface["inbuf_size"], largest)
    default = BUFFERS.get(interface["card_type"])
    if default and interface["buffer_count"] and interface["buffer_count"] < default:
        yield (
            "%s: buffer_count is %d, lowered from the driver's default of %d for %s; its device must be offline for "
            "the change" % (name, interface["buffer_count"], default, interface["card_type"])
        )
