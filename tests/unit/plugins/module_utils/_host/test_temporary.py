# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary folders: what a killed process left goes, and nothing else does."""

import os
import signal

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import temporary
from waiting import until


def names(folder):
    return sorted(os.listdir(str(folder)))


@pytest.fixture
def left(tmp_path):
    (tmp_path / "work-left").mkdir()
    (tmp_path / "work-left" / "file").write_text("x")
    return tmp_path


def remove(folder, **how):
    temporary.remove_leftovers(str(folder), "work-", **how)
    return names(folder)


def killed(act):
    pid = os.fork()
    if pid == 0:
        try:
            act()
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def test_a_leftover_goes_and_a_folder_in_use_stays(left):
    used = temporary.TemporaryFolder(str(left), "work-")
    assert remove(left) == [os.path.basename(used.path)]
    assert used.remove() and names(left) == []


def test_a_killed_process_leaves_nothing(tmp_path, monkeypatch):
    killed(lambda: temporary.TemporaryFolder(str(tmp_path), "work-"))
    until(lambda: names(tmp_path) == [], "no folder is left")
    # without its guard, the next use removes it
    monkeypatch.setattr(temporary.daemon, "guard", lambda act, keep: (0, 0))
    killed(lambda: temporary.TemporaryFolder(str(tmp_path), "work-"))
    assert len(names(tmp_path)) == 1 and remove(tmp_path) == []


def test_links_files_and_folders_of_others_stay(left, monkeypatch):
    (left / "elsewhere").mkdir()
    (left / "elsewhere" / "file").write_text("x")
    (left / "work-link").symlink_to(left / "elsewhere")
    (left / "work-file").write_text("x")
    (left / "work-left" / "inside").symlink_to(left / "elsewhere")
    assert remove(left) == ["elsewhere", "work-file", "work-link"]
    assert names(left / "elsewhere") == ["file"]
    (left / "work-foreign").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    (left / "work-link").unlink()
    assert remove(left) == ["elsewhere", "work-file", "work-foreign"]


def test_in_a_directory_where_others_can_rename_folders_nothing_is_removed(left):
    """Another user could give the name of a leftover to any folder of root there, which root would then remove."""
    left.chmod(0o777)
    assert remove(left) == ["work-left"]
    left.chmod(0o1777)
    assert remove(left) == []


def test_a_new_folder_that_another_process_took_for_a_leftover_is_made_again(tmp_path, monkeypatch):
    real, made = temporary.tempfile.mkdtemp, []

    def mkdtemp(**how):
        made.append(real(**how))
        if len(made) == 1:
            remove(tmp_path)
        return made[-1]

    monkeypatch.setattr(temporary.tempfile, "mkdtemp", mkdtemp)
    folder = temporary.TemporaryFolder(str(tmp_path), "work-")
    assert len(made) == 2 and folder.path == made[1] and os.path.isdir(folder.path)
    assert folder.remove()


def test_a_folder_of_another_program_goes_only_if_a_process_held_it(tmp_path):
    payload = tmp_path / "ansible_zpower.sap_tuning.rps_payload_x"
    payload.mkdir()

    def removed():
        temporary.remove_leftovers(str(tmp_path), "ansible_", marked=True)
        return not payload.exists()

    assert not removed()
    holder = os.fork()
    if holder == 0:
        try:
            temporary.hold_payload(str(payload / "code.zip" / "x.py"))
            signal.pause()
        finally:
            os._exit(1)
    try:
        until(lambda: names(payload) == ["zpower-in-use"], "the payload is held")
        assert not removed()
    finally:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
    assert removed()


def test_folders_in_folders_deeper_than_python_goes_raise_nothing(tmp_path, monkeypatch):
    def rmtree(path, ignore_errors):
        raise RecursionError()

    monkeypatch.setattr(temporary.shutil, "rmtree", rmtree)
    monkeypatch.setattr(temporary, "_REMOVE_SECONDS", 0)
    assert not temporary.TemporaryFolder(str(tmp_path), "work-").remove()


def test_the_code_of_no_module_of_this_collection_holds_nothing(left):
    """Neither an installed collection nor a module of another one has such a folder."""
    for folder in ("work-left", "ansible_other.collection.module_payload_x", "ansible_zpower.sap_tuning.rps_payload_x"):
        (left / folder).mkdir(exist_ok=True)
        archive = "code.zip" if folder == "work-left" else folder + ".zip"
        temporary.hold_payload(str(left / folder / archive / "ansible_collections" / "x.py"))
        assert ("zpower-in-use" in names(left / folder)) == ("zpower" in folder)
