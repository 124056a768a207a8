# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder for files of a measurement: nothing of the user is touched, and nothing of it stays."""

import os
import pwd
import signal

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import temporary
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.host import fio
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import rounds
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs
from measuring import ALONE, errors, plan, script
from waiting import until

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
    record = rounds.measure_workload(shape(tmp_path), plan(run_seconds=0.1), ALONE)
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


def shape(folder, owner=0):
    binary = script(folder.parent / "fio", WRITER)
    os.chown(binary, owner, owner)
    options = {"directory": str(folder), "size_mib": 1, "iodepth": 1}
    return fio.Fio(binary, "3.33", options, 1, "direct", "randwrite")


@needs_root
@pytest.mark.parametrize("swapped", ["the folder", "its directory"])
def test_in_the_folder_of_another_user_root_writes_nothing(theirs, monkeypatch, swapped):
    """Its owner exchanges it, or the new folder in it, for a link to a folder of root's."""
    made, ours, together = shape(theirs), theirs.parent / "ours", programs.run_together

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
    made = shape(theirs)
    made.prepare(plan())
    (path,) = theirs.iterdir()
    assert {os.stat(str(one)).st_uid for one in (path, path / "job.0.0")} == {THEM.pw_uid}
    made.finish()
    assert names(theirs) == []
    # nor of a measurement that is killed
    pid = os.fork()
    if pid == 0:
        try:
            shape(theirs).prepare(plan())
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    until(lambda: names(theirs) == [], "the folder is gone")
    made = shape(theirs, owner=48123)
    with pytest.raises(MeasureError, match="replaced by another user than nobody"):
        made.prepare(plan())
    made.finish()
    # what only root's folders are for is not made there, nor where everybody may exchange it
    os.chown(str(theirs), 0, 0)
    theirs.chmod(0o777)
    with pytest.raises(MeasureError, match="theirs belongs to root, but others may write to it"):
        shape(theirs).prepare(plan())
    theirs.chmod(0o755)
    os.chown(str(theirs), THEM.pw_uid, 0)
    with pytest.raises(OSError, match="is a folder of nobody"):
        temporary.TemporaryFolder(str(theirs), "work-")
