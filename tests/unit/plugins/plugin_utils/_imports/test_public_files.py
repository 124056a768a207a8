# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of public projects through the parsers: what fixtures/public/index.yml says a reader finds."""

import os
import re

import pytest
import yaml
from ansible_collections.zpower.sap_tuning.plugins.module_utils._aix import devices
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import kernel
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import reading
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.facts import facts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.cpu.aix_cpu import count_processors
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import instances, sapcontrol
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.profile import Profile
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_polarization import CpuPolarization
from places import FIXTURES
from runs import only, runner

FOLDER = str(FIXTURES / "public")
with open(os.path.join(FOLDER, "index.yml"), encoding="utf-8") as stream:
    INDEX = yaml.safe_load(stream)
FILES = [(kind, file) for kind, files in INDEX["files"].items() for file in files]

look = runner(CpuPolarization, wait_timeout=1, mode="vertical")


def path_of(file):
    return os.path.join(FOLDER, file)


def text_of(file):
    with open(path_of(file), encoding="utf-8") as stream:
        return stream.read()


def planted(tmp_path, file, path):
    """A capture that holds nothing but this file, at its place."""
    target = tmp_path / path
    target.parent.mkdir(parents=True)
    (tmp_path / "sys").mkdir(exist_ok=True)
    target.write_text(text_of(file), "utf-8")
    return reading.opened(str(tmp_path))


def flat(found):
    """The facts of a machine by the words of the index."""
    lpar, first = found["lpar"] or {}, (found["hypervisors"] or [None])[0]
    levels = {level: found["topology"][level] for level in ("drawers", "books", "sockets", "cores")}
    said = dict(found, **levels)
    said.update(
        online=found["cpus"]["online"]["list"],
        offline=found["cpus"]["offline"]["list"],
        horizontal=found["polarization"]["horizontal"],
        facility=found["topology"]["facility"],
        hypervisor=first and f"{first['name']}: {first['program']}",
        lpar=lpar.get("name"),
        lpar_number=lpar.get("number"),
        **{key: lpar.get(key) for key in ("processors", "ifls", "ifls_standby", "capped")},
    )
    return said


def of_tree(file, tmp_path):
    host = reading.opened(path_of(file))
    found = facts(host, "Linux")
    # what nobody can know of such a tree is never judged
    record = only(look(host, check=True))
    assert record["verdict"] in ("unknown", "not_applicable", "unsupported")
    return dict(flat(found), **found["topology"]["scheduler"])


def of_cpuinfo(file, tmp_path):
    return flat(facts(planted(tmp_path, file, "proc/cpuinfo"), "Linux"))


def of_sysinfo(file, tmp_path):
    return flat(facts(planted(tmp_path, file, "proc/sysinfo"), "Linux"))


def of_os_release(file, tmp_path):
    return kernel.parse_os_release(text_of(file))


def of_profile(file, tmp_path):
    profile = Profile(text_of(file).encode("utf-8"))
    said = {name: profile.value(name) for name in INDEX["files"]["profile"][file]}
    return dict(said, **{"lock server": instances.parse_enqueue(text_of(file))})


def of_sapservices(file, tmp_path):
    return {f"{one.sid} {one.name}": one.profile for one in instances.parse_services(text_of(file))}


def of_sapcontrol(file, tmp_path):
    answer = sapcontrol.parse_answer(text_of(file))
    if not answer.ok:
        raise HostError(answer.failure)
    said = {"function": answer.function, "rows": len(answer.rows)}
    if answer.function == "GetProcessList":
        listed = sapcontrol.parse_processes(answer)
        dispatcher = [one for one in listed if one.name == "disp+work"][0]
        said["processes"] = [f"{one.name} {one.dispstatus} {one.pid}" for one in listed]
        said["text of disp+work"], said["start of disp+work"] = dispatcher.textstatus, dispatcher.starttime
    return said


def of_devices(file, tmp_path):
    text = text_of(file)
    if "lsattr" in file:
        return devices.parse_listing(text)
    found = [f"{one[0]} {one[1]}" for one in devices.parse_devices(text)]
    return {"devices": len(found), "first": found[0], "last": found[-1], "processors": count_processors(text)}


READERS = {
    "tree": of_tree,
    "cpuinfo": of_cpuinfo,
    "sysinfo": of_sysinfo,
    "os-release": of_os_release,
    "profile": of_profile,
    "sapservices": of_sapservices,
    "sapcontrol": of_sapcontrol,
    "lsdev, lsattr": of_devices,
}


@pytest.mark.parametrize("kind, file", FILES)
def test_what_is_said_is_what_a_reader_finds(kind, file, tmp_path):
    wanted = INDEX["files"][kind][file]
    if "refused" in wanted:
        with pytest.raises(HostError, match=re.escape(wanted["refused"])):
            READERS[kind](file, tmp_path)
        return
    said = READERS[kind](file, tmp_path)
    if kind in ("sapservices", "lsdev, lsattr"):
        assert said == wanted
    assert {key: said[key] for key in wanted} == wanted


def test_the_index_names_every_file_and_its_source():
    found = {
        os.path.relpath(os.path.join(folder, name), FOLDER).replace(os.sep, "/")
        for folder, _folders, names in os.walk(FOLDER)
        for name in names
    }
    assert found - {"index.yml"} == {file for _kind, file in FILES}
    assert {file.split("/")[0] for _kind, file in FILES} == set(INDEX["sources"])
