# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""fio: its JSON (captured from version 3.33 of Debian 12), command lines, the real program."""

import json
import os
import pwd
import re
import shutil
import signal

import pytest
from action_options import names_of
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import temporary
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.host import fio
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import rounds
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs
from measuring import ALONE, errors, plan, script
from places import FIXTURES
from waiting import until

OPTIONS = {
    "directory": "/data",
    "patterns": ["randread"],
    "modes": ["direct"],
    "jobs": [1],
    "size_mib": 1,
    "iodepth": 16,
}
CAPTURED = "randwrite_async.txt"
needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="no fio on this machine")


def text_of(name):
    return (FIXTURES / "fio" / name).read_text("utf-8")


def options(**changed):
    return dict(OPTIONS, **changed)


def shape(pattern, mode, jobs=1, **changed):
    return fio.Fio("/usr/bin/fio", "3.33", options(**changed), jobs, mode, pattern)


def test_figures_of_reading():
    # both sides have the same members
    text = re.sub('"(read|write)"', lambda side: '"write"' if side[1] == "read" else '"read"', text_of(CAPTURED))
    metrics, job = fio.parse(text, writes=False)
    assert metrics == {
        "units": 58022,
        "kib_per_s": 926499.002,
        "iops": 115812.375,
        "lat_mean_us": 137.665,
        "max_us": 4078.515,
    }
    assert metrics["units"] / (job["read"]["runtime"] / 1000.0) == pytest.approx(metrics["iops"], rel=1e-4)
    with pytest.raises(MeasureError, match="no I/O at all"):
        fio.parse(text, writes=True)


def test_figures_of_writing_and_the_text_that_fits_a_record_of_six_runs():
    text = text_of(CAPTURED)
    metrics, job = fio.parse(text, writes=True)
    assert metrics["units"] == 58022
    assert metrics["kib_per_s"] == pytest.approx(metrics["iops"] * 8, rel=1e-4)
    assert fio.parse("note: both iodepth >= 1 and ...\n" + text + "\n", True) == (metrics, job)
    short = fio.shortened(text, job, True)
    assert len(short.encode("utf-8")) <= 2048
    assert json.loads(short)["jobs"][0]["write"]["total_ios"] == 58022
    assert fio.parse(short, True)[0] == metrics


def test_an_error_of_a_job_is_its_sentence():
    text = text_of(CAPTURED).replace('"error" : 0', '"error" : 28', 1)
    with pytest.raises(MeasureError, match=r"error 28 \(No space left on device\): fio: io_u error on file"):
        fio.parse("fio: io_u error on file job.0.0: No space left\n" + text, True)


@pytest.mark.parametrize(
    "text, words",
    [
        ("fio: engine nosuch not loadable\n", "no result: fio: engine nosuch not loadable"),
        ("", "nothing was printed"),
        ('{"jobs": []}', "cannot be read .*fio 3.0 or later"),
        ('{"jobs": [{"error": 0, "read": {"lat": {}}}]}', "cannot be read .*lat_ns"),
        ('{"jobs": [{"error"', "cannot be read"),
    ],
)
def test_what_is_not_a_result_is_never_a_figure(text, words):
    with pytest.raises(MeasureError, match=words):
        fio.parse(text, writes=False)


def test_names_of_the_shapes():
    given = {"directory": "/data", "patterns": "seqread,randwrite", "jobs": ["1", 8]}
    names = names_of("measure_workload", workload="fio", fio=given)
    assert names[:3] == ["fio-seqread-direct", "fio-randwrite-direct", "fio-seqread-async"]
    assert names[4:] == [name + "-x8" for name in names[:4]]
    assert len(names_of("measure_workload", workload="fio", fio={"directory": "/data"})) == 8


@pytest.mark.parametrize(
    "pattern, mode, there, missing",
    [
        ("seqread", "buffered", {"--bs=131072", "--rw=read", "--direct=0", "--readonly"}, {"--overwrite=1"}),
        ("randread", "direct", {"--bs=8192", "--rw=randread", "--direct=1", "--ioengine=psync"}, {"--end_fsync=1"}),
        ("randwrite", "async", {"--rw=randwrite", "--iodepth=16", "--ioengine=libaio"}, {"--readonly"}),
        ("seqwrite", "buffered", {"--rw=write", "--end_fsync=1", "--overwrite=1", "--iodepth=1"}, {"--readonly"}),
    ],
)
def test_commands(pattern, mode, there, missing):
    argv = shape(pattern, mode).argv
    assert there <= set(argv) and not missing & set(argv)
    # Killed, nothing of it goes on.
    assert "--thread" in argv


def test_what_must_be_equal_in_both_states():
    made = shape("randread", "async", 4)
    assert made.params == {
        "directory": "/data",
        "file_system": "unknown",
        "iodepth": 16,
        "ioengine": "libaio",
        "mode": "async",
        "pattern": "randread",
        "size_mib": 1,
    }
    assert (made.name, made.bytes, made.connections, made.unit) == ("fio-randread-async-x4", 8192, 4, "read of 8 KiB")
    assert shape("seqread", "direct").metric.name == "kib_per_s" and made.metric == ("iops", "requests/s", "higher")


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"directory": "data"}, 'fio.directory is "data"; it must be an absolute path'),
        ({"directory": "/data:/dev/dasda"}, "absolute path without :"),
        ({"directory": "/data/$jobname"}, "absolute path without :"),
        ({"patterns": []}, "fio.patterns is .*at least one"),
        ({"modes": ["direct", "direct"]}, "fio.modes is .*only once"),
        ({"jobs": [0]}, "fio.jobs has 0; it must be from 1 to 64"),
        ({"jobs": [1, 65]}, "fio.jobs has 65"),
        ({"size_mib": 0}, "fio.size_mib is 0"),
        ({"iodepth": 1025}, "fio.iodepth is 1025"),
    ],
)
def test_options_outside_their_limits(changed, words):
    with pytest.raises(MeasureError, match=words):
        fio.workloads(options(**changed), {"path": None}, "")


def test_without_fio_or_with_another_program():
    with pytest.raises(MeasureError, match="fio was not found in /nowhere, /neither: install it"):
        fio.workloads(options(), {"path": None}, "/nowhere:/neither")
    with pytest.raises(MeasureError, match="/bin/echo is not fio, it said: "):
        programs.version("/bin/echo", *fio.VERSION)


def measured(directory, **changed):
    workloads = fio.workloads(options(directory=str(directory), **changed), {"path": None}, os.environ["PATH"])
    return [rounds.measure_workload(workload, plan(run_seconds=0.1, timeout=600.0), ALONE) for workload in workloads]


@pytest.mark.nightly
@needs_fio
def test_the_real_fio_in_every_shape(tmp_path):
    (tmp_path / "job.0.0").write_text("the user's own")
    records = measured(
        tmp_path,
        patterns=["seqread", "seqwrite", "randread", "randwrite"],
        modes=["buffered", "direct", "async"],
        jobs=[2],
    )
    assert [errors(record) for record in records] == [[None] * 3] * 12
    for record in records:
        for run in record["runs"]:
            assert run["metrics"]["units"] > 0 and run["metrics"]["max_us"] >= run["metrics"]["lat_mean_us"] > 0
            assert run["cpu"]["client"]["ncpu"] > 0 and run["elapsed_s"] >= 0.09
        assert record["workload"]["params"]["file_system"] != "unknown"
        assert "left_behind" not in record
    assert os.listdir(str(tmp_path)) == ["job.0.0"] and (tmp_path / "job.0.0").read_text() == "the user's own"


@pytest.mark.gate
@needs_fio
def test_a_failure_of_the_real_fio_is_its_sentence_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(fio._ENGINES, "direct", "nosuch")
    record = measured(tmp_path)[0]
    assert all("could not write its files: " in error and "nosuch" in error for error in errors(record))
    assert os.listdir(str(tmp_path)) == []


@pytest.mark.gate
@needs_fio
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ended_while_fio_works_its_files_go(tmp_path, number):
    pid = os.fork()
    if pid == 0:
        try:
            workloads = fio.workloads(options(directory=str(tmp_path)), {"path": None}, os.environ["PATH"])
            rounds.measure_round(plan(run_seconds=1.0, timeout=600.0), workloads)
        finally:
            os._exit(1)
    until(lambda: any(files for _path, _folders, files in os.walk(str(tmp_path))), "fio has a file")
    os.kill(pid, number)
    os.waitpid(pid, 0)
    until(lambda: os.listdir(str(tmp_path)) == [], "the files of fio are gone")


THEM = pwd.getpwnam("nobody")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
# In the place of fio: writes a file, and says who it is.
WRITER = """for word; do case $word in --directory=*) folder=${word#*=};; esac; done
id -un
echo overwritten >"$folder/job.0.0"
"""
MOUNTS = """\
22 1 94:1 / / rw,relatime shared:1 - btrfs /dev/dasda1 rw,ssd
31 22 94:5 / /data rw,relatime shared:4 master:2 - ext4 /dev/dasdb1 rw
40 22 0:41 / /dev/shm rw - tmpfs tmpfs rw,size=1024k
broken line
"""


def write(path, text="mine"):
    with open(str(path), "w") as stream:
        stream.write(text)


def names(folder):
    return sorted(os.listdir(str(folder)))


def test_the_folder_is_new_and_goes_with_all_that_is_in_it(tmp_path):
    write(tmp_path / "work-mine")
    (tmp_path / "work-left").mkdir()
    made = fio.scratch(str(tmp_path), "work-", 1000)
    assert os.path.dirname(made.path) == str(tmp_path) and os.listdir(made.path) == []
    assert os.stat(made.path).st_mode & 0o077 == 0
    os.mkdir(os.path.join(made.path, "deep"))
    write(os.path.join(made.path, "deep", "file"))
    assert names(tmp_path) == sorted(["work-mine", os.path.basename(made.path)])
    made.remove()
    assert names(tmp_path) == ["work-mine"]


def test_a_folder_that_stays_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(temporary.shutil, "rmtree", lambda path, ignore_errors: None)
    monkeypatch.setattr(temporary, "_REMOVE_SECONDS", 0)
    made = fio.scratch(str(tmp_path), "work-", 1000)
    with pytest.raises(MeasureError, match="%s could not be removed" % made.path):
        programs.remove(made)


def test_half_of_what_is_free_is_the_most(tmp_path, monkeypatch):
    fio.check_room("/data", 500, 1000)
    with pytest.raises(MeasureError, match="512 MiB of files in /data .*half of the 1023 MiB"):
        fio.check_room("/data", 512 * fio.MIB, 1023 * fio.MIB)
    # it is said before anything is made
    monkeypatch.setattr(fio, "free_bytes", lambda directory: 999)
    record = rounds.measure_workload(written(tmp_path), plan(run_seconds=0.1), ALONE)
    assert all(error.startswith("not begun: 1 MiB of files in ") for error in errors(record))
    assert names(tmp_path) == [] and all(run["metrics"] == {} for run in record["runs"])


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_no_directory_no_folder(tmp_path, name):
    write(tmp_path / "file")
    with pytest.raises(MeasureError, match="%s is not a directory" % name):
        fio.scratch(str(tmp_path / name), "work-", 1)


def test_what_is_mounted(tmp_path):
    found = [fio.parse_mount(MOUNTS, device) for device in ("94:5", "0:41", "94:1", "8:1")]
    assert found == ["ext4 /dev/dasdb1", "tmpfs tmpfs", "btrfs /dev/dasda1", "unknown"]
    if os.path.exists("/proc/self/mountinfo"):
        assert fio.file_system("/proc").startswith("proc ")
    assert fio.file_system(str(tmp_path / "nowhere")) == "unknown"


@pytest.fixture
def theirs(reachable):
    """A folder of another user, beside one of root's with a file that only root may write."""
    for name in ("theirs", "ours"):
        (reachable / name).mkdir(mode=0o755)
    os.chown(str(reachable / "theirs"), THEM.pw_uid, THEM.pw_gid)
    write(reachable / "ours" / "job.0.0", "of root")
    (reachable / "ours" / "job.0.0").chmod(0o600)
    return reachable / "theirs"


def written(folder, owner=0):
    binary = script(folder.parent / "fio", WRITER)
    os.chown(binary, owner, owner)
    options = {"directory": str(folder), "size_mib": 1, "iodepth": 1}
    return fio.Fio(binary, "3.33", options, 1, "direct", "randwrite")


@needs_root
@pytest.mark.parametrize("swapped", ["the folder", "its directory"])
def test_in_the_folder_of_another_user_root_writes_nothing(theirs, monkeypatch, swapped):
    """Its owner exchanges it, or the new folder in it, for a link to a folder of root's."""
    made, ours, together = written(theirs), theirs.parent / "ours", programs.run_together

    def late(*arguments, **how):
        path = str(theirs) if swapped == "its directory" else made._scratch.path
        os.rename(path, path + "-away")
        if swapped == "its directory":
            os.mkdir(path)
            path = made._scratch.path
        os.symlink(str(ours), path)
        os.lchown(path, THEM.pw_uid, THEM.pw_gid)
        return together(*arguments, **how)

    monkeypatch.setattr(programs, "run_together", late)
    with pytest.raises(MeasureError, match=r"could not write its files: nobody \|"):
        made.prepare(plan())
    assert names(ours) == ["job.0.0"] and (ours / "job.0.0").read_text() == "of root"
    os.unlink(made._scratch.path)
    made.finish()


@needs_root
def test_in_the_folder_of_another_user_that_user_writes_and_nothing_stays(theirs):
    made = written(theirs)
    made.prepare(plan())
    (path,) = theirs.iterdir()
    assert {os.stat(str(one)).st_uid for one in (path, path / "job.0.0")} == {THEM.pw_uid}
    made.finish()
    assert names(theirs) == []
    # nor of a measurement that is killed
    pid = os.fork()
    if pid == 0:
        try:
            written(theirs).prepare(plan())
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    until(lambda: names(theirs) == [], "the folder is gone")
    made = written(theirs, owner=48123)
    with pytest.raises(MeasureError, match="replaced by another user than nobody"):
        made.prepare(plan())
    made.finish()
    # what only root's folders are for is not made there, nor where everybody may exchange it
    os.chown(str(theirs), 0, 0)
    theirs.chmod(0o777)
    with pytest.raises(MeasureError, match="theirs belongs to root, but others may write to it"):
        written(theirs).prepare(plan())
    theirs.chmod(0o755)
    os.chown(str(theirs), THEM.pw_uid, 0)
    with pytest.raises(OSError, match="is a folder of nobody"):
        temporary.TemporaryFolder(str(theirs), "work-")
