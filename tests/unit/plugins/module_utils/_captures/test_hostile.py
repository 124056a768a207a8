# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives that nobody should open end in one sentence that names them, within the limits."""

import bz2
import gzip
import lzma
import os
import re
import tarfile

import captured
import captures
import pytest
import runs
from ansible_collections.zpower.sap_tuning.plugins.module_utils._captures import limits, opening
from ansible_collections.zpower.sap_tuning.plugins.module_utils._captures.opening import open_capture
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import boot_sources
from captures import header, raw

GOOD = {"proc/cmdline": "x\n", "proc/cpuinfo": "x\n", "sys/devices/system/cpu/online": "0-3\n"}
MIB = 1 << 20


def pax(**records):
    """A pax header of these records and its data."""
    data = b""
    for key, value in records.items():
        text = b" %s=%s\n" % (key.replace("_", ".").encode("ascii"), value)
        size = len(text) + len(str(len(text) + 2))
        data += str(size).encode("ascii") + text
    return [header(b"pax", b"x", len(data)), data]


def zeros(name, size=64 * MIB):
    return header(name, size=size) + b"\0" * size


def good(*more):
    """A tree that would be read, with more names."""
    return captures.tar(list(GOOD.items()) + list(more))


def refusal(tmp_path, data):
    """The sentence with which an archive of these bytes is refused."""
    path = tmp_path / "evil.tgz"
    path.write_bytes(data)
    before = sorted(os.listdir(str(tmp_path)))
    sentence = runs.refusal(open_capture, str(path))
    assert sorted(os.listdir(str(tmp_path))) == before
    assert sentence.isprintable() and len(sentence) < 500 and "evil.tgz" in sentence
    return sentence


def opened(tmp_path, data):
    path = tmp_path / "capture"
    path.write_bytes(data)
    return open_capture(str(path))


NAMES = {
    "/etc/passwd": "the absolute name /etc/passwd",
    "/sysx/y": "the absolute name /sysx/y",
    "../../etc/cron.d/x": "a capture has no .. in its names",
    "/sys/../etc/x": "a capture has no .. in its names",
    "proc/a\nb": "a name that no capture has: proc/a\\nb",
    "proc/" + "x/" * 2100: "a name that no capture has",
    "proc/cmdline": "/proc/cmdline twice",
    "proc/cmdline/x": "names below /proc/cmdline, which is not a folder",
    "proc": "/proc twice",
}
LINKS = [
    ({"hard": "proc/later"}, "a hard link to proc/later, which is not an earlier file"),
    ({"hard": "proc"}, "which is not an earlier file"),
    ({"hard": "../x"}, "no .. in its names"),
    ({"link": ""}, "a link without a target"),
]
HEADERS = [
    ([header(b"proc/x", b"S", 0)], "type S"),
    (pax(GNU_sparse_major=b"1") + [header(b"proc/x")], "a sparse file"),
    (pax(size=b"-1") + [header(b"proc/x")], "a malformed size"),
    (pax(path=b"/etc/shadow") + [header(b"proc/x")], "the absolute name /etc/shadow"),
    ([header(b"x", b"x", 10), b"9999999 a="], "a pax header cannot be read"),
    # on which tarfile of old Pythons hangs, also where the zeros after the header should be
    ([header(b"x", b"x", 5), b"5 a=\n0 a="], "a pax header cannot be read"),
    (pax(path=b"1" * 60000) + [header(b"proc/x")], "a pax header cannot be read"),
    ([header(b"x", b"L", 4), b"abc\0"] * 5000, "no member after it"),
    ([header(b"proc/x", claimed=b"\xff" * 12)], "negative number"),
    ([header(b"proc/x", claimed=b"99999999999\0")], "a malformed number"),
    ([header(b"proc/x", b"L", 4), b"../a", header(b"x")], "no .. in its names"),
    ([b"\x01" * 512], "not a tar archive"),
]
HEADERS += [
    ([header(b"././@LongLink", kind, 300 * MIB), b"\0" * MIB], "claims 314572800 bytes: a name needs 4096")
    for kind in (b"L", b"K", b"x", b"g")
]
TAR = gzip.decompress(good())
REFUSED = [(good((name, "x")), sentence) for name, sentence in sorted(NAMES.items())]
REFUSED += [(good(("proc/link", entry), ("proc/later", "x")), sentence) for entry, sentence in LINKS]
REFUSED += [(gzip.compress(raw(*parts)), sentence) for parts, sentence in HEADERS]
REFUSED += [
    (good(("proc/out", {"link": "/etc"}), ("proc/out/cron.d", "x")), "below /proc/out, which is not a folder"),
    # a member that claims 8 GiB
    (gzip.compress(header(b"proc/cmdline", size=8 << 30) + b"x" * 512), "is cut off before anything of a capture"),
    (b"", "is empty"),
    (b"hello\n", "is not an archive"),
    (b"\x28\xb5\x2f\xfd" + b"x" * 600, "packed with zstd: pack it as tar"),
    (b"PK\x03\x04" + b"x" * 600, "packed with zip"),
    (b"-----BEGIN PGP MESSAGE-----\n", "encrypted (OpenPGP): decrypt it first"),
    (gzip.compress(b""), "is empty"),
    (gzip.compress(b"hello\n" * 1000), "not a tar archive"),
    (b"\x1f\x8b\x08", "is cut off"),
    (b"\x1f\x8b\x08\0\0\0\0\0\0\0" + b"\xff" * 600, "is damaged"),
    (b"\xfd7zXZ\x00" + b"\xff" * 600, "is damaged"),
    (b"BZh9" + b"\xff" * 600, "is damaged"),
    (good()[:-8] + b"\0" * 8, "is damaged"),
    (gzip.compress(TAR[:1024] + b"\xff" + TAR[1025:]), "damaged: copy it again"),
    (captures.tar({"etc/x": "x"}), "holds nothing that is known: a capture is"),
    (
        captures.tar({"%s/%s" % (top, name): GOOD[name] for top in ("app1", "app2") for name in GOOD}),
        "holds 2 captures (app1, app2): unpack it and name one",
    ),
]


# gzip notes the time, and all processes of pytest-xdist have to find the same tests
@pytest.mark.parametrize("data, sentence", REFUSED, ids=[sentence for _data, sentence in REFUSED])
def test_what_is_refused(tmp_path, data, sentence):
    assert sentence in refusal(tmp_path, data)


@pytest.fixture
def unpacked(monkeypatch):
    """How many bytes have been unpacked; the ratio counts from the first of them."""
    sizes, unpack = [], limits.Budget.unpack
    monkeypatch.setattr(limits, "RATIO_FROM", 0)
    monkeypatch.setattr(limits.Budget, "unpack", lambda self, size: (sizes.append(size), unpack(self, size)))
    return sizes


@pytest.mark.gate
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_bomb_ends_at_a_ratio_of_its_size_and_at_the_limit(tmp_path, monkeypatch, unpacked, pack):
    data = pack(zeros(b"proc/zeros"))
    assert len(data) < 100 * 1024
    assert "unpacks to more than 200 times its size: no capture does" in refusal(tmp_path, data)
    assert sum(unpacked) <= 200 * len(data) + MIB < 32 * MIB
    # within an archive, the ratio is that of the whole, and within a folder that of its archives
    del unpacked[:]
    assert "evil.tgz unpacks to more than 200 times its size" in refusal(tmp_path, captures.tar({"a.tar.gz": data}, ""))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "large.txt").write_bytes(b"x" * MIB)
    (tmp_path / "folder" / "a.tgz").write_bytes(data)
    assert "unpacks to more than 200 times its size" in runs.refusal(open_capture, str(tmp_path / "folder"))
    assert sum(unpacked) < 2 * 32 * MIB
    monkeypatch.setattr(limits, "RATIO_FROM", 128 * MIB)
    monkeypatch.setattr(limits, "MOST_UNPACKED", 8 * MIB)
    bomb = captures.dbginfo({}, sysfs=pack(zeros(b"/sys/zeros")))
    for data in (pack(zeros(b"proc/zeros")), bomb):
        assert "unpacks to more than 8 MiB" in refusal(tmp_path, data)


@pytest.mark.gate
@pytest.mark.parametrize("pack", ["gz", "xz"])
def test_the_names_of_sys_which_pack_best_stay_below_the_ratio(tmp_path, monkeypatch, unpacked, pack):
    cpus = "/sys/devices/system/cpu/cpu%d/cache/index%d/%s"
    names = ("level", "type", "size", "shared_cpu_map", "shared_cpu_list", "ways_of_associativity", "number_of_sets")
    sysfs = [
        (cpus % (cpu, cache, name), "%d\n" % (cpu % 7)) for cpu in range(400) for cache in range(4) for name in names
    ]
    data = captures.tar(sysfs, pack)
    assert opened(tmp_path, data).capture.format == "sysfs"
    assert sum(unpacked) > 100 * len(data)
    monkeypatch.setattr(limits, "RATIO_FROM", 128 * MIB)
    assert opened(tmp_path, good(("proc/zeros", b"\0" * 32 * MIB))).value("/proc/cmdline") == "x"


VERSIONS = {"b/version.txt": {"hard": "a/version.txt"}}
VALUES = "".join("net.x%d = 1\n" % number for number in range(1000))


@pytest.mark.parametrize(
    "limit, value, data, sentence",
    [
        ("MOST_ENTRIES", 1000, good(*(("proc/%d" % number, "") for number in range(1000))), "more than 1000 names"),
        # folders that no entry names count too
        ("MOST_ENTRIES", 1000, good(("proc/" + "x/" * 1000 + "y", "")), "more than 1000 names"),
        ("MOST_ENTRIES", 1000, captures.dbginfo({}, commands=[("sysctl -a", VALUES)]), "more than 1000 names"),
        ("MOST_KEPT", MIB, good(("proc/x", "x" * MIB)), "more than 1 MiB besides logs"),
        # what is read to recognise a capture counts too
        ("MOST_READ", MIB, captures.tar({"a/version.txt": "x" * MIB, **VERSIONS}), "more than 1 MiB of"),
        ("MOST_SECONDS", -1, good(), "could not be unpacked within"),
        ("MOST_XZ_MEMORY", 4 * MIB, lzma.compress(TAR, preset=9), "more than 4 MiB of memory"),
    ],
    ids=["names", "folders", "sysctls", "kept", "read", "seconds", "memory"],
)
def test_too_much_of_anything(tmp_path, monkeypatch, limit, value, data, sentence):
    monkeypatch.setattr(limits, limit, value)
    assert sentence in refusal(tmp_path, data)


@pytest.mark.parametrize("kind", ["hard", "link", "folder"])
def test_many_names_of_one_large_file_end_at_a_limit(tmp_path, monkeypatch, kind):
    """An archive of 100 kB can have 100,000 names of a file of 60 MiB, and each takes seconds to read."""
    monkeypatch.setattr(limits, "MOST_READ", 4 * MIB)
    name, text = "etc/sysctl.d/%s.conf", "a = 1\n" * (MIB // 6)
    if kind == "folder":
        captured.grow(tmp_path, dict(GOOD, **{name % "a": text}))
        for one in range(5):
            os.link(str(tmp_path / (name % "a")), str(tmp_path / (name % one)))
        host = open_capture(str(tmp_path))
    else:
        entry = {"hard": {"hard": name % "a"}, "link": {"link": "a.conf"}}[kind]
        host = opened(tmp_path, good((name % "a", text), *((name % one, entry) for one in range(5))))
    assert host.read("/" + name % 4) == text
    with pytest.raises(HostError, match="more than 4 MiB of .* were read"):
        boot_sources.sysctls(host, "/proc/sys/net/core/somaxconn")


@pytest.mark.parametrize("pack", ["", "gz", "xz", "bz2"])
def test_cut_off_at_every_length_and_in_several_compressed_parts(tmp_path, pack):
    data = captures.tar(GOOD, pack)
    read = noted = 0
    for length in range(0, len(data), max(len(data) // 60, 1)):
        try:
            host = opened(tmp_path, data[:length])
        except HostError as refused:
            assert "capture" in str(refused)
        else:
            read += 1
            noted += bool(host.capture.notes)
    # an unpacked archive ends with blocks of zeros, all of which but the first may be missing
    assert noted == read or pack == ""
    parts = [captures.PACK[pack](TAR[start : start + 700]) for start in range(0, len(TAR), 700)]
    assert opened(tmp_path, b"".join(parts)).value("/proc/cmdline") == "x"


def test_nested_archives(tmp_path):
    report = captures.sos({"/proc/cmdline": "x\n"})
    host = opened(tmp_path, captures.tar({"sos-collect/%s.tar.xz" % captures.SOS: report}, ""))
    assert host.value("/proc/cmdline") == "x"
    assert host.capture.notes == ["the capture is %s.tar.xz inside the archive" % captures.SOS]
    both = captures.tar({"c/a.tar.xz": report, "c/b.tar.xz": report})
    assert "holds 2 archives (a.tar.xz, b.tar.xz): unpack it" in refusal(tmp_path, both)
    deeper = captures.tar({"a.tar": captures.tar({"b.tar.xz": report}, "")})
    assert "an archive in an archive in an archive" in refusal(tmp_path, deeper)


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_of_each_format(tmp_path, format):
    name = "proc/" + "long" * 22 + "/" + "name" * 20
    longer = {} if format == tarfile.USTAR_FORMAT else {"proc/" + "y" * 200: "2", "proc/link": {"link": "z" * 150}}
    host = opened(tmp_path, captures.tar(dict(GOOD, **{name: "1"}, **longer), "gz", format))
    assert host.read("/" + name) == "1"
    if longer:
        assert host.read("/proc/" + "y" * 200) == "2"
        assert host.target("/proc/link") == "z" * 150


@pytest.mark.parametrize(
    "path, sentence",
    [
        ("absent", "cannot read the capture .*absent: No such file"),
        (".", "holds nothing that is known"),
        ("/dev/null", "/dev/null is neither a folder nor a file"),
        ("/..", "/ is the running machine"),
    ],
)
def test_paths_that_are_not_captures(tmp_path, path, sentence):
    assert re.search(sentence, runs.refusal(open_capture, os.path.join(str(tmp_path), path)))


@pytest.mark.gate
def test_long_lines_in_texts_do_not_take_long(tmp_path):
    long = 4 * MIB
    listing = "l x " + " /sys/" * (long // 6) + "\n" + "l x" + 300 * (" /sys/a" * 1400 + "\nl x")
    texts = {
        "sysfs.out": captures.out([("find", listing)]),
        "sysfs.err": "dump2tar: /sys/" + ": x" * (long // 3) + "\n",
        "sys/a": "1\n",
    }
    values = "a" + "." * long + " = 1\n" + "a." * (long // 2) + "b = 1\nsysctl: " + "'" * long + "\n"
    commands = [("a" * 100, "#" * 55 + "\n" + "@" * long), ("sysctl -a", values)]
    host = opened(tmp_path, captures.dbginfo({}, sysfs=False, extra=texts, commands=commands))
    assert host.value("/sys/a") == "1"
    deep = captures.section("Configuration File", "/etc/" + "a/" * (long // 2) + "b", "x\n")
    data = captures.supportconfig({"etc.txt": deep, "env.txt": "#==[ " + " ]=" * (long // 3)})
    assert not opened(tmp_path, data).exists("/etc/a")
    manifest = '{"a": %s}' % ("1" * MIB)
    data = captures.tar({"a/version.txt": "sos report: 4.8", "a/sos_reports/manifest.json": manifest})
    assert opened(tmp_path, data).capture.format == "sos"


def test_the_folder_with_the_code_of_a_module_is_held(tmp_path, monkeypatch):
    """So that it goes with the next one if this module is killed."""
    held = []
    monkeypatch.setattr(opening.temporary, "hold_payload", lambda: held.append(True))
    assert opened(tmp_path, good()).value("/proc/cmdline") == "x" and held == [True]
