# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives that nobody should open end in one sentence that names them, within the limits."""

import bz2
import gzip
import lzma
import os
import signal
import subprocess
import sys
import tarfile
import zipfile

import captured
import captures
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._captures import limits
from ansible_collections.zpower.sap_tuning.plugins.module_utils._captures.opening import open_capture
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import other_settings
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


def refusal(tmp_path, data):
    """The sentence with which an archive of these bytes is refused."""
    path = tmp_path / "evil.tgz"
    path.write_bytes(data)
    before = sorted(os.listdir(str(tmp_path)))
    with pytest.raises(HostError) as refused:
        open_capture(str(path))
    assert sorted(os.listdir(str(tmp_path))) == before
    sentence = str(refused.value)
    assert sentence.isprintable()
    assert len(sentence) < 500
    assert "evil.tgz" in sentence
    return sentence


def good(*more):
    """A tree that would be read, with more names."""
    return captures.tar(list(GOOD.items()) + list(more))


NAMES = {
    "/etc/passwd": "the absolute name /etc/passwd",
    "/sysx/y": "the absolute name /sysx/y",
    "../../etc/cron.d/x": "a capture has no .. in its names",
    "proc/../../x": "a capture has no .. in its names",
    "/sys/../etc/x": "a capture has no .. in its names",
    "proc/a\nb": "a name that no capture has: proc/a\\nb",
    "proc/\x1b[31mred": "a name that no capture has",
    "proc/" + "x/" * 2100: "a name that no capture has",
    "proc/cmdline": "/proc/cmdline twice",
    "proc/cmdline/x": "names below /proc/cmdline, which is not a folder",
    "proc": "/proc twice",
}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_names(tmp_path, name):
    assert NAMES[name] in refusal(tmp_path, good((name, "x")))


@pytest.mark.parametrize(
    "entry,sentence",
    [
        ({"hard": "proc/later"}, "a hard link to proc/later, which is no earlier file"),
        ({"hard": "proc"}, "which is no earlier file"),
        ({"hard": "/etc/shadow"}, "the absolute name /etc/shadow"),
        ({"hard": "../x"}, "no .. in its names"),
        ({"link": ""}, "a link without a target"),
    ],
)
def test_links(tmp_path, entry, sentence):
    assert sentence in refusal(tmp_path, good(("proc/link", entry), ("proc/later", "x")))


def test_a_link_and_then_a_file_through_it(tmp_path):
    found = refusal(tmp_path, good(("proc/out", {"link": "/etc"}), ("proc/out/cron.d", "x")))
    assert "names below /proc/out, which is not a folder" in found


def test_links_out_lead_to_nothing(tmp_path):
    path = tmp_path / "capture"
    path.write_bytes(
        good(
            ("proc/absolute", {"link": "/etc/passwd"}),
            ("proc/up", {"link": "../" * 30 + "etc/passwd"}),
            ("proc/loop", {"link": "../proc/loop"}),
            ("proc/disk", {"device": (8, 0)}),
            ("etc/hostname", "inside\n"),
        )
    )
    host = open_capture(str(path))
    assert host.read("/proc/absolute") is None
    assert host.read("/proc/up") is None
    assert host.read("/proc/../../../etc/hostname") == "inside\n"
    assert host.read("/proc/loop") is None
    with pytest.raises(HostError):
        host.read("/proc/disk")


@pytest.mark.parametrize("kind", [b"L", b"K", b"x", b"g"])
def test_a_header_of_300_mib_is_not_read(tmp_path, kind):
    size = 300 * MIB
    data = gzip.compress(header(b"././@LongLink", kind, size) + b"\0" * MIB)
    assert "claims 314572800 bytes: a name needs 4096" in refusal(tmp_path, data)


@pytest.mark.parametrize(
    "parts,sentence",
    [
        ([header(b"proc/x", b"S", 0)], "type S"),
        ([header(b"proc/x", b"D", 0)], "type D"),
        (pax(GNU_sparse_major=b"1") + [header(b"proc/x")], "a sparse file"),
        (pax(size=b"-1") + [header(b"proc/x")], "no size where one belongs"),
        (pax(path=b"/etc/shadow") + [header(b"proc/x")], "the absolute name /etc/shadow"),
        ([header(b"x", b"x", 10), b"9999999 a="], "a pax header cannot be read"),
        ([header(b"proc/x", claimed=b"\xff" * 12)], "negative number"),
        ([header(b"proc/x", claimed=b"99999999999\0")], "no number where one belongs"),
        ([header(b"proc/x", b"L", 4), b"../a", header(b"x")], "no .. in its names"),
        ([b"\x01" * 512], "no tar archive"),
    ],
)
def test_headers(tmp_path, parts, sentence):
    assert sentence in refusal(tmp_path, gzip.compress(raw(*parts)))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_bombs_end_at_the_limit(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(limits, "MOST_UNPACKED", 8 * MIB)
    data = pack(header(b"proc/zeros", size=64 * MIB) + b"\0" * (64 * MIB))
    assert len(data) < 100 * 1024
    assert "unpacks to more than 8 MiB" in refusal(tmp_path, data)


def test_a_bomb_in_sysfs_ends_at_the_same_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_UNPACKED", 8 * MIB)
    bomb = gzip.compress(header(b"/sys/zeros", size=64 * MIB) + b"\0" * (64 * MIB))
    assert "unpacks to more than" in refusal(tmp_path, captures.dbginfo({}, sysfs=bomb))


@pytest.fixture
def unpacked(monkeypatch):
    """How many bytes have been unpacked; the ratio counts from the first of them."""
    sizes, unpack = [], limits.Budget.unpack
    monkeypatch.setattr(limits, "RATIO_FROM", 0)
    monkeypatch.setattr(limits.Budget, "unpack", lambda self, size: (sizes.append(size), unpack(self, size)))
    return sizes


def zeros(name, size=64 * MIB):
    return header(name, size=size) + b"\0" * size


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_bomb_ends_at_a_ratio_of_its_size(tmp_path, unpacked, pack):
    data = pack(zeros(b"proc/zeros"))
    assert "unpacks to more than 200 times its size: no capture does" in refusal(tmp_path, data)
    assert sum(unpacked) <= 200 * len(data) + MIB < 32 * MIB


def test_a_bomb_in_an_archive_ends_at_the_ratio_of_the_whole(tmp_path, unpacked):
    data = captures.tar({"a.tar.gz": gzip.compress(zeros(b"proc/x"))}, "")
    assert "evil.tgz unpacks to more than 200 times its size" in refusal(tmp_path, data)
    assert sum(unpacked) < 32 * MIB


def test_a_bomb_in_a_folder_ends_at_the_ratio_of_its_archives(tmp_path, unpacked):
    folder = tmp_path / "capture"
    folder.mkdir()
    (folder / "large.txt").write_bytes(b"x" * MIB)
    (folder / "a.tgz").write_bytes(gzip.compress(zeros(b"proc/x")))
    with pytest.raises(HostError, match="capture unpacks to more than 200 times its size"):
        open_capture(str(folder))
    assert sum(unpacked) < 32 * MIB


def test_a_small_capture_may_have_any_ratio(tmp_path):
    path = tmp_path / "capture"
    path.write_bytes(good(("proc/zeros", b"\0" * 32 * MIB)))
    assert open_capture(str(path)).value("/proc/cmdline") == "x"


@pytest.mark.parametrize("pack", ["gz", "xz"])
def test_the_names_of_sys_which_pack_best_stay_below_the_ratio(tmp_path, unpacked, pack):
    cpus = "/sys/devices/system/cpu/cpu%d/cache/index%d/%s"
    names = ("level", "type", "size", "shared_cpu_map", "shared_cpu_list", "ways_of_associativity", "number_of_sets")
    sysfs = [
        (cpus % (cpu, cache, name), "%d\n" % (cpu % 7)) for cpu in range(400) for cache in range(4) for name in names
    ]
    path = tmp_path / "capture"
    path.write_bytes(captures.tar(sysfs, pack))
    assert open_capture(str(path)).capture.format == "sysfs"
    assert sum(unpacked) > 100 * path.stat().st_size


def test_too_many_names(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_ENTRIES", 1000)
    names = [("proc/%d" % number, "") for number in range(1000)]
    assert "more than 1000 names" in refusal(tmp_path, good(*names))
    # folders that no entry names count too
    assert "more than 1000 names" in refusal(tmp_path, good(("proc/" + "x/" * 1000 + "y", "")))
    values = "".join("net.x%d = 1\n" % number for number in range(1000))
    assert "more than 1000 names" in refusal(tmp_path, captures.dbginfo({}, commands=[("sysctl -a", values)]))


def test_too_much_to_keep(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_KEPT", MIB)
    assert "more than 1 MiB besides logs" in refusal(tmp_path, good(("proc/x", "x" * MIB)))


@pytest.mark.parametrize("kind", ["hard", "link", "folder"])
def test_many_names_of_one_large_file_end_at_a_limit(tmp_path, monkeypatch, kind):
    """An archive of 100 kB can have 100,000 names of a file of 60 MiB, and each takes seconds to read."""
    monkeypatch.setattr(limits, "MOST_READ", 4 * MIB)
    path, name, text = tmp_path / "capture", "etc/sysctl.d/%s.conf", "a = 1\n" * (MIB // 6)
    if kind == "folder":
        captured.grow(path, {"/" + key: value for key, value in dict(GOOD, **{name % "a": text}).items()})
        for one in range(5):
            os.link(str(path / (name % "a")), str(path / (name % one)))
    else:
        entry = {"hard": {"hard": name % "a"}, "link": {"link": "a.conf"}}[kind]
        path.write_bytes(good((name % "a", text), *((name % one, entry) for one in range(5))))
    host = open_capture(str(path))
    assert host.read("/" + name % 4) == text
    with pytest.raises(HostError, match="more than 4 MiB of .* were read"):
        list(other_settings.sysctls(host, "net.core.somaxconn"))


def test_too_much_time(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_SECONDS", -1)
    assert "could not be unpacked within" in refusal(tmp_path, good())


def test_an_xz_that_wants_much_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_XZ_MEMORY", 4 * MIB)
    data = lzma.compress(gzip.decompress(good()), preset=9)
    assert "more than 4 MiB of memory" in refusal(tmp_path, data)


@pytest.mark.parametrize(
    "data,sentence",
    [
        (b"", "is empty"),
        (b"hello\n", "is no archive"),
        (b"\0" * 2048, "is no archive"),
        (b"\x28\xb5\x2f\xfd" + b"x" * 600, "packed with zstd: pack it as tar"),
        (b"PK\x03\x04" + b"x" * 600, "packed with zip"),
        (b"-----BEGIN PGP MESSAGE-----\n", "encrypted (OpenPGP): decrypt it first"),
        (gzip.compress(b""), "is empty"),
        (gzip.compress(b"hello\n" * 1000), "no tar archive"),
        (b"\x1f\x8b\x08", "is cut off"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\0" + b"\xff" * 600, "is damaged"),
        (b"\xfd7zXZ\x00" + b"\xff" * 600, "is damaged"),
        (b"BZh9" + b"\xff" * 600, "is damaged"),
        (captures.tar({"etc/x": "x"}), "holds nothing that is known: a capture is"),
        (captures.tar({"a/sys/x": "x"}), "holds nothing that is known"),
    ],
    # gzip notes the time, and all processes of pytest-xdist have to find the same tests
    ids=lambda value: None if isinstance(value, str) else "%d bytes" % len(value),
)
def test_no_capture(tmp_path, data, sentence):
    assert sentence in refusal(tmp_path, data)


def test_a_damaged_archive_is_refused(tmp_path):
    data = bytearray(good(("proc/x", os.urandom(4096))))
    data[-6] ^= 0xFF
    assert "is damaged" in refusal(tmp_path, bytes(data))
    tarball = bytearray(gzip.decompress(good()))
    tarball[1024] ^= 0xFF
    assert "damaged: copy it again" in refusal(tmp_path, gzip.compress(bytes(tarball)))


@pytest.mark.parametrize("pack", ["", "gz", "xz", "bz2"])
def test_cut_off_at_every_length(tmp_path, pack):
    data = captures.tar(GOOD, pack)
    path = tmp_path / "evil.tgz"
    read = noted = 0
    for length in range(0, len(data), max(len(data) // 60, 1)):
        path.write_bytes(data[:length])
        try:
            host = open_capture(str(path))
        except HostError as refused:
            assert "evil.tgz" in str(refused)
        else:
            read += 1
            noted += bool(host.capture.notes)
    # an unpacked archive ends with blocks of zeros, all of which but the first may be missing
    assert noted == read or pack == ""


def test_a_member_that_claims_8_gib(tmp_path):
    data = gzip.compress(captures.header(b"proc/cmdline", size=8 << 30) + b"x" * 512)
    assert "is cut off before anything of a capture" in refusal(tmp_path, data)


def test_nested_archives(tmp_path):
    report = captures.sos({"/proc/cmdline": "x\n"})
    path = tmp_path / "sos-collect.tar"
    path.write_bytes(captures.tar({"sos-collect/%s.tar.xz" % captures.SOS: report}, ""))
    host = open_capture(str(path))
    assert host.value("/proc/cmdline") == "x"
    assert host.capture.notes == ["the capture is %s.tar.xz inside the archive" % captures.SOS]
    both = captures.tar({"c/a.tar.xz": report, "c/b.tar.xz": report})
    assert "holds 2 archives (a.tar.xz, b.tar.xz): unpack it" in refusal(tmp_path, both)
    deeper = captures.tar({"a.tar": captures.tar({"b.tar.xz": report}, "")})
    assert "an archive in an archive in an archive" in refusal(tmp_path, deeper)


def test_several_captures_in_one_archive(tmp_path):
    both = {"%s/%s" % (top, name): GOOD[name] for top in ("app1", "app2") for name in GOOD}
    assert "holds 2 captures (app1, app2): unpack it and name one" in refusal(tmp_path, captures.tar(both))


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_of_each_format(tmp_path, format):
    folder = "proc/" + "long" * 22
    longer = {} if format == tarfile.USTAR_FORMAT else {"proc/" + "y" * 200: "2", "proc/link": {"link": "z" * 150}}
    found = dict(GOOD, **{folder + "/" + "name" * 20: "1"})
    found.update(longer)
    path = tmp_path / "capture"
    path.write_bytes(captures.tar(found, "gz", format))
    host = open_capture(str(path))
    assert host.read("/" + folder + "/" + "name" * 20) == "1"
    if longer:
        assert host.read("/proc/" + "y" * 200) == "2"
        assert host.target("/proc/link") == "z" * 150


def test_several_compressed_parts(tmp_path):
    whole = gzip.decompress(good())
    path = tmp_path / "capture"
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        path.write_bytes(b"".join(pack(whole[start : start + 700]) for start in range(0, len(whole), 700)))
        assert open_capture(str(path)).value("/proc/cmdline") == "x"


def test_paths_that_are_no_capture(tmp_path):
    with pytest.raises(HostError, match="cannot read the capture .*absent: No such file"):
        open_capture(str(tmp_path / "absent"))
    with pytest.raises(HostError, match="holds nothing that is known"):
        open_capture(str(tmp_path))
    with pytest.raises(HostError, match="/dev/null is neither a folder nor a file"):
        open_capture("/dev/null")
    with pytest.raises(HostError, match="/ is the running machine"):
        open_capture("/..")


def test_long_lines_in_texts_take_no_long_time(tmp_path):
    long = 4 * MIB
    texts = {
        "sysfs.out": captures.out(
            [("find", "l x " + " /sys/" * (long // 6) + "\n" + "l x" + 300 * (" /sys/a" * 1400 + "\nl x"))]
        ),
        "sysfs.err": "dump2tar: /sys/" + ": x" * (long // 3) + "\n",
        "sys/a": "1\n",
    }
    commands = [
        ("a" * 100, "#" * 55 + "\n" + "@" * long),
        ("sysctl -a", "a" + "." * long + " = 1\n" + "a." * (long // 2) + "b = 1\nsysctl: " + "'" * long + "\n"),
    ]
    path = tmp_path / "capture"
    path.write_bytes(captures.dbginfo({}, sysfs=False, extra=texts, commands=commands))
    assert open_capture(str(path)).value("/sys/a") == "1"
    deep = captures.section("Configuration File", "/etc/" + "a/" * (long // 2) + "b", "x\n")
    manifest = '{"a": %s}' % ("1" * MIB)
    path.write_bytes(captures.supportconfig({"etc.txt": deep, "env.txt": "#==[ " + " ]=" * (long // 3)}))
    assert not open_capture(str(path)).exists("/etc/a")
    path.write_bytes(captures.tar({"a/version.txt": "sos report: 4.8", "a/sos_reports/manifest.json": manifest}))
    assert open_capture(str(path)).capture.format == "sos"


# As Ansible runs a module: its code is in an archive in a temporary folder, which is removed at its end.
OPENS = """\
import os, shutil, signal, sys
folder, capture, ends = sys.argv[1:]
sys.path.insert(0, os.path.join(folder, os.path.basename(folder).rpartition("_")[0] + ".zip"))
from ansible_collections.zpower.sap_tuning.plugins.module_utils._captures import limits, opening
def unpack(self, size):
    print("unpacking", flush=True)
    os.kill(os.getpid(), signal.SIGKILL if ends == "killed" else signal.SIGSTOP)
if ends != "well":
    limits.Budget.unpack = unpack
opening.open_capture(capture)
shutil.rmtree(folder)
"""
UTILS = os.path.dirname(os.path.dirname(os.path.abspath(limits.__file__)))


@pytest.fixture
def module(tmp_path):
    """A function that begins to open a capture as a module of this collection does: (its folder, the process)."""
    capture = tmp_path / "capture.tgz"
    capture.write_bytes(good())
    (tmp_path / "tmp").mkdir()
    begun = []

    def begin(number, ends, name="zpower.sap_tuning.tunings"):
        folder = tmp_path / "tmp" / ("ansible_%s_payload_%d" % (name, number))
        folder.mkdir()
        with zipfile.ZipFile(str(folder / ("ansible_%s_payload.zip" % name)), "w") as archive:
            packages = ["ansible_collections", "zpower", "sap_tuning", "plugins", "module_utils"]
            for depth in range(1, len(packages)):
                archive.writestr("/".join(packages[:depth] + ["__init__.py"]), "")
            for top, _folders, files in os.walk(UTILS):
                inside = "/".join(packages + os.path.relpath(top, UTILS).replace(".", "").split("/")).rstrip("/")
                archive.writestr(inside + "/__init__.py", "")
                for file in [file for file in files if file.endswith(".py")]:
                    archive.write(os.path.join(top, file), inside + "/" + file)
        argv = [sys.executable, "-c", OPENS, str(folder), str(capture), ends]
        begun.append(subprocess.Popen(argv, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}))
        return folder, begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_folder_of_a_killed_unpacking_goes_with_the_next_one(tmp_path, module):
    left, killed = module(1, "killed")
    assert killed.wait() == -signal.SIGKILL and left.exists()
    used, stopped = module(2, "stopped")
    assert stopped.stdout.readline() == b"unpacking\n"
    not_ours = tmp_path / "tmp" / "ansible_other.collection.module_payload_3"
    not_marked = tmp_path / "tmp" / "ansible_zpower.sap_tuning.rps_payload_4"
    for folder in (not_ours, not_marked):
        folder.mkdir()
    (not_ours / "zpower-in-use").write_text("")
    own, process = module(5, "well")
    assert process.wait() == 0
    assert set((tmp_path / "tmp").iterdir()) == {used, not_ours, not_marked}
    assert not own.exists()
