# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of public projects through the parsers: what fixtures/public/index.yml says a reader finds."""

import os

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
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.cpu_files import window_of
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.cpu_window import WindowOptions
from places import FIXTURES
from runs import only, runner

FOLDER = str(FIXTURES / "public")
with open(os.path.join(FOLDER, "index.yml"), encoding="utf-8") as stream:
    INDEX = yaml.safe_load(stream)
FILES = {entry["file"]: entry for entry in INDEX["files"]}

look = runner(CpuPolarization, wait_timeout=1, mode="vertical")


def path_of(entry):
    return os.path.join(FOLDER, entry["file"])


def text_of(entry):
    with open(path_of(entry), encoding="utf-8") as stream:
        return stream.read()


def planted(tmp_path, entry, path):
    """A capture that holds nothing but this file, at its place."""
    target = tmp_path / path
    target.parent.mkdir(parents=True)
    (tmp_path / "sys").mkdir(exist_ok=True)
    target.write_text(text_of(entry), "utf-8")
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


def of_tree(entry, tmp_path):
    host = reading.opened(path_of(entry))
    found = facts(host, "Linux")
    # what nobody can know of such a tree is never judged
    record = only(look(host, check=True))
    assert record["verdict"] in ("unknown", "not_applicable", "unsupported")
    return dict(flat(found), **found["topology"]["scheduler"])


def of_cpuinfo(entry, tmp_path):
    return flat(facts(planted(tmp_path, entry, "proc/cpuinfo"), "Linux"))


def of_sysinfo(entry, tmp_path):
    return flat(facts(planted(tmp_path, entry, "proc/sysinfo"), "Linux"))


def of_os_release(entry, tmp_path):
    return kernel.parse_os_release(text_of(entry))


def of_sysctls(entry, tmp_path):
    """As a part of a report of sos, which has the output at this place."""
    report = tmp_path / "sosreport-app1"
    for folder in ("sos_commands/kernel", "sos_reports"):
        (report / folder).mkdir(parents=True)
    (report / "version.txt").write_text("sosreport: 4.5.6\n")
    (report / "sos_commands/kernel/sysctl_-a").write_text(text_of(entry), "utf-8")
    host = reading.opened(str(report))
    said = {key: host.value("/proc/sys/" + key.replace(".", "/")) for key in entry["wanted"] if key != "kernel"}
    return dict(said, kernel=facts(host, "Linux")["kernel"])


def of_nmon(entry, tmp_path):
    return window_of(path_of(entry), "auto", WindowOptions("13:18:32", "13:18:34")).result()


def of_profile(entry, tmp_path):
    data = text_of(entry).encode("utf-8")
    profile = Profile(data)
    said = {name: profile.value(name) for name in entry["wanted"]}
    said["lock server"] = instances.parse_enqueue(text_of(entry))
    return said


def of_sapservices(entry, tmp_path):
    return {f"{one.sid} {one.name}": one.profile for one in instances.parse_services(text_of(entry))}


def of_sapcontrol(entry, tmp_path):
    answer = sapcontrol.parse_answer(text_of(entry))
    if not answer.ok:
        raise HostError(answer.failure)
    said = {"function": answer.function, "rows": len(answer.rows)}
    if answer.function == "GetProcessList":
        listed = sapcontrol.parse_processes(answer)
        dispatcher = [one for one in listed if one.name == "disp+work"][0]
        said["status"] = sapcontrol._status(0, listed).state
        said["processes"] = [f"{one.name} {one.dispstatus} {one.pid}" for one in listed]
        said["text of disp+work"], said["start of disp+work"] = dispatcher.textstatus, dispatcher.starttime
    return said


def of_devices(entry, tmp_path):
    text = text_of(entry)
    if "lsattr" in entry["file"]:
        return {one.name: one.settable for one in devices.parse_listing(text)}
    found = [f"{one[0]} {one[1]}" for one in devices.parse_devices(text)]
    return {"devices": len(found), "first": found[0], "last": found[-1], "processors": count_processors(text)}


READERS = {
    "tree": of_tree,
    "cpuinfo": of_cpuinfo,
    "sysinfo": of_sysinfo,
    "os-release": of_os_release,
    "sysctl -a": of_sysctls,
    "nmon": of_nmon,
    "profile": of_profile,
    "sapservices": of_sapservices,
    "sapcontrol": of_sapcontrol,
    "lsdev, lsattr": of_devices,
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_said_is_what_a_reader_finds(name, tmp_path):
    entry = FILES[name]
    reader = READERS[entry["kind"]]
    if "refused" in entry:
        with pytest.raises(HostError) as refused:
            reader(entry, tmp_path)
        assert entry["refused"] in str(refused.value)
        return
    said, unknown = reader(entry, tmp_path), entry.get("unknown", ())
    if entry["kind"] in ("sapservices", "lsdev, lsattr"):
        assert said == entry["wanted"]
    assert {key: said[key] for key in entry["wanted"] if key not in unknown} == {
        key: value for key, value in entry["wanted"].items() if key not in unknown
    }
    assert {key: said[key] for key in unknown} == dict.fromkeys(unknown)


def table():
    """The rows of docs/proof.md: kind, files, sources, figures wanted, said as wanted, left unknown, files refused."""
    rows = []
    for kind in READERS:
        entries = [entry for entry in FILES.values() if entry["kind"] == kind]
        sources = [key for key in INDEX["sources"] if any(one["file"].startswith(key + "/") for one in entries)]
        names = ", ".join(INDEX["sources"][key]["name"].split()[0] for key in sources)
        wanted = sum(len(one.get("wanted", ())) for one in entries)
        unknown, refused = sum(len(one.get("unknown", ())) for one in entries), sum("refused" in one for one in entries)
        figures = (len(entries), names, wanted, wanted - unknown, unknown, refused)
        rows.append(f"| {' | '.join(map(str, (kind, *figures)))} |")
    return rows


def test_the_page_has_the_table_of_the_index():
    with open(os.path.join(FOLDER, "..", "..", "..", "..", "docs", "proof.md"), encoding="utf-8") as stream:
        lines = stream.read().splitlines()
    sources = [
        f"| {one['name']} | {one['where']} | {one['licence']} | {one['how']} |" for one in INDEX["sources"].values()
    ]
    for row in table() + sources:
        assert row in lines
    assert f"{len(FILES)} public files" in " ".join(lines)


def test_the_index_names_every_file_and_its_source():
    found = {
        os.path.relpath(os.path.join(folder, name), FOLDER).replace(os.sep, "/")
        for folder, _folders, names in os.walk(FOLDER)
        for name in names
    }
    assert found - {"index.yml"} == set(FILES)
    assert len(FILES) == len(INDEX["files"]) >= 100
    assert {name.split("/")[0] for name in FILES} == set(INDEX["sources"])
