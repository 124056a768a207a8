# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives as dump2tar, dbginfo.sh, sos report and supportconfig make them, and archives that nobody should open.

entries: {path: text, bytes, {"link": target}, {"folder": True} or {"device": (1, 3)}}, as in synthetic.py.
"""

import bz2
import gzip
import io
import json
import lzma
import tarfile

from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.entry_point import argument_spec, outcome

PACK = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "": bytes}
SYSCTLS = {
    "fs.file-max": "9223372036854775807",
    "kernel.hostname": "prdapp1",
    "kernel.ostype": "Linux",
    "net.core.rps_sock_flow_entries": "32768",
    "net.ipv4.conf.enc600/100.rp_filter": "2",
    "net.ipv4.tcp_rmem": "4096\t131072\t6291456",
    "s390.hiperdispatch": "0",
    "s390.topology": "1",
    "vm.swappiness": "10",
}


def _data(entry):
    return entry if isinstance(entry, bytes) else entry.encode("utf-8", "surrogateescape")


def member(archive, name, entry, mode=0o444):
    """Add one entry to an open tarfile."""
    info = tarfile.TarInfo(name)
    info.mode = mode
    if isinstance(entry, dict):
        if "link" in entry:
            info.type, info.linkname = tarfile.SYMTYPE, entry["link"]
        elif "hard" in entry:
            info.type, info.linkname = tarfile.LNKTYPE, entry["hard"]
        elif "device" in entry:
            info.type, (info.devmajor, info.devminor) = tarfile.CHRTYPE, entry["device"]
        else:
            info.type = tarfile.DIRTYPE
        archive.addfile(info)
    else:
        info.size = len(_data(entry))
        archive.addfile(info, io.BytesIO(_data(entry)))


def tar(entries, pack="gz", format=tarfile.GNU_FORMAT, modes=None):
    """Return the bytes of an archive with these names, in this order. entries: a dict or a list of pairs."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=format) as archive:
        for name, entry in entries.items() if isinstance(entries, dict) else entries:
            member(archive, name, entry, (modes or {}).get(name, 0o644))
    return PACK[pack](stream.getvalue())


def plain(entries, top="", pack="xz"):
    return tar({top + path.lstrip("/"): entries[path] for path in sorted(entries)}, pack)


def dump2tar(entries):
    """Make a sysfs.tgz: absolute names, folders with a slash and sometimes after their files, relative links."""
    found = []
    folders = {}
    for path in sorted(entries):
        if path.startswith("/sys/"):
            found.append((path, entries[path]))
            parts = path.split("/")
            folders.update({"/".join(parts[:length]): {"folder": True} for length in range(2, len(parts))})
    return tar(found + [item for item in sorted(folders.items()) if item[0] not in entries])


def out(commands, user="root", host="prdapp1"):
    """Make an .out file of dbginfo.sh: [(command, output)]. user: None as from 2.39 on."""
    prompt = "%s> " % host if user is None else "%s@%s> " % (user, host)
    return "".join("%s\n%s%s\n%s\n" % ("#" * 55, prompt, command, output) for command, output in commands)


def sysctl(values):
    return "".join("%s = %s\n" % item for item in sorted(values.items()))


DBGINFO = "DBGINFO-2026-11-20-10-11-12-prdapp1-0123AB"


def dbginfo(entries, version="2.35.0", values=None, extra=None, top=DBGINFO, user="root", sysfs=None, commands=None):
    """Make an archive of dbginfo.sh. sysfs: bytes of its sysfs.tgz; False for none. extra: {name below top: entry}."""
    found = {
        "%s/" % top: {"folder": True},
        top + "/dbginfo.log": "dbginfo.sh: Debug information script version %s-build-20260101\n" % version,
        top + "/dbginfo.sh": "#!/bin/sh\n",
    }
    for path in sorted(entries):
        if not path.startswith("/sys/"):
            found[top + path] = entries[path]
    if sysfs is not False:
        found[top + "/sysfs.tgz"] = dump2tar(entries) if sysfs is None else sysfs
    commands = commands or [
        ("uname -a", "Linux prdapp1 6.4.0 s390x\n"),
        ("rpm -qa | sort >> '/tmp/%s/installed_sw.out'" % top, ""),
        ("sysctl -a", sysctl(SYSCTLS if values is None else values)),
    ]
    found[top + "/runtime.out"] = out(commands, user)
    found.update({"%s/%s" % (top, name): entry for name, entry in (extra or {}).items()})
    return tar(found)


SOS = "sosreport-prdapp1-2026-11-20-abcdefg"


def sos(entries, version="4.12.0", plugins=None, top=SOS, pack="xz", modes=None):
    """Make a sos report: version.txt comes first and the folder itself last; links are relative."""
    plugins = (
        {name: {} for name in ("kernel", "networking", "processor", "s390", "system", "systemd", "udev")}
        if (plugins is None)
        else plugins
    )
    found = [
        (top + "/version.txt", "sos report: %s" % version),
        (top + "/sos_reports/manifest.json", json.dumps({"components": {"report": {"plugins": plugins}}})),
        (top + "/sos_logs/sos.log", "log\n"),
        (top + "/sos_commands/host/hostname", "prdapp1\n"),
    ]
    found += [(top + path, entries[path]) for path in sorted(entries)]
    modes = {top + path: mode for path, mode in (modes or {}).items()}
    return tar(found + [(top, {"folder": True})], pack, tarfile.PAX_FORMAT, modes)


SUPPORTCONFIG = "scc_prdapp1_261120_1011"


def section(kind, what, body=""):
    """Make one section of a supportconfig text; its header has 53 characters."""
    head = "#==[ %s ]" % kind
    return "%s#\n# %s\n%s\n\n" % (head.ljust(52, "="), what, body)


def supportconfig(texts, top=SUPPORTCONFIG, pack="xz"):
    """Make a supportconfig of {name: text}, without an entry for its folder."""
    found = {
        "basic-environment.txt": section("Command", "/usr/bin/date", "Fri Nov 20 10:11:12 UTC 2026\n"),
        "supportconfig.txt": "Support Utilities\n",
    }
    found.update(texts)
    return tar({"%s/%s" % (top, name): text for name, text in found.items()}, pack)


def header(name, kind=b"0", size=0, claimed=None):
    """Make one raw header of a tar archive, for archives that no program writes. claimed: the field of the size."""
    fields = bytearray(512)
    fields[0 : len(name)] = name
    fields[100:108] = b"0000644\0"
    fields[124:136] = claimed or b"%011o\0" % size
    fields[136:148] = b"00000000000\0"
    fields[148:156] = b" " * 8
    fields[156:157] = kind
    fields[257:265] = b"ustar  \0"
    fields[148:156] = b"%06o\0 " % sum(fields)
    return bytes(fields)


def raw(*parts):
    """Return headers and contents with the end of an archive."""
    return b"".join(part + b"\0" * (-len(part) % 512) for part in parts) + b"\0" * 1024


def written(folder, data):
    """The path of a capture with these bytes."""
    path = folder / "capture.tgz"
    path.write_bytes(data)
    return str(path)


def look(kind, root, check=True, **given):
    """What a tuning's module returns for a capture."""
    params = {name: option.get("default") for name, option in argument_spec(kind).items()}
    return outcome(kind, dict(params, root=str(root), **given), check)


def looked(kind, root, **given):
    """{subject: record} of such a look, which has to succeed."""
    result = look(kind, root, **given)
    assert not result["failed"], result
    return {record["subject"]: record for record in result["tuning"]}
