# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder for files of a measurement: nothing of the user is touched, and nothing of it stays."""

import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import temporary
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.host import fio
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs

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
    # an earlier one has gone
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
    with pytest.raises(MeasureError, match="more than half"):
        fio.scratch(str(tmp_path), "work-", 500)
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_no_directory_no_folder(tmp_path, name):
    write(tmp_path / "file")
    with pytest.raises(MeasureError, match="%s is no directory" % name):
        fio.scratch(str(tmp_path / name), "work-", 1)


def test_what_is_mounted(tmp_path):
    found = [fio.parse_mount(MOUNTS, device) for device in ("94:5", "0:41", "94:1", "8:1")]
    assert found == ["ext4 /dev/dasdb1", "tmpfs tmpfs", "btrfs /dev/dasda1", "unknown"]
    if os.path.exists("/proc/self/mountinfo"):
        assert fio.file_system("/proc").startswith("proc ")
    assert fio.file_system(str(tmp_path / "nowhere")) == "unknown"
