# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any program as a workload, its figures, and outputs that are meant to hurt."""

import contextlib
import json
import os
import pwd
import signal
import sys

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.errors import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.host import command, figures
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import rounds
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs
from measuring import ALONE, PATIENCE, errors, plan, script
from waiting import until

PATH = os.environ["PATH"]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
FIGURE = {"name": "rate", "unit": "1/s", "better": "higher", "pointer": "/rate", "pattern": None, "output": "stdout"}


def options(*argv, **given):
    found = {name: rule.get("default") for name, rule in command.OPTIONS.items()}
    return dict(found, **dict({"name": "x", "argv": list(argv), "timeout": PATIENCE}, **given))


def python(text, **given):
    return options(sys.executable, "-c", text, **given)


def made(given):
    (workload,) = command.workloads([given], None, PATH)
    return workload


def measured(given, **setting):
    return rounds.measure_workload(made(given), plan(**dict({"runs": 2, "warmup": 0}, **setting)), ALONE)


def figures_of(record):
    return [run["metrics"] for run in record["runs"]]


def test_elapsed_time_decides_by_default():
    record = measured(python("import time; time.sleep(0.2)"))
    assert record["workload"]["metric"] == {"name": "elapsed_s", "unit": "s", "better": "lower"}
    for run in record["runs"]:
        assert run["ok"] and run["metrics"]["units"] == 1
        # the time limit of a wait in Python would round it up to a twentieth of a second
        assert 0.2 <= run["metrics"]["elapsed_s"] == run["elapsed_s"]
        assert run["cpu"]["client"]["elapsed_s"] >= run["elapsed_s"]


def test_a_figure_that_it_prints_decides():
    other = dict(FIGURE, name="peak", pointer=None, pattern=r"peak (?P<value>\d+)", output="stderr")
    text = "import sys; print('{\"rate\": 12.5}'); print('peak 7', file=sys.stderr)"
    record = measured(python(text, figures=[FIGURE, other]))
    assert record["workload"]["metric"] == {"name": "rate", "unit": "1/s", "better": "higher"}
    assert all(found["rate"] == 12.5 and found["peak"] == 7 for found in figures_of(record))
    assert "12.5" in record["runs"][0]["raw"] and "[stderr]\npeak 7" in record["runs"][0]["raw"]
    second = made(python(text, figures=[FIGURE, other], metric="peak"))
    assert second.metric.name == "peak"


def test_a_small_rate_keeps_its_digits(monkeypatch):
    """A job of 20,000 s: six decimals would be steps of 2 %."""
    run = programs.run

    def long(*given, **how):
        return run(*given, **how)._replace(elapsed=20000.0 + 3)

    monkeypatch.setattr(command.programs, "run", long)
    record = measured(options("true", metric="units_per_s"))
    assert [found["units_per_s"] for found in figures_of(record)] == [pytest.approx(1 / 20003, rel=1e-8)] * 2


def test_units_of_work_are_counted_per_second():
    record = measured(options("true", units=500, unit="document", metric="units_per_s"))
    assert record["workload"]["metric"] == {"name": "units_per_s", "unit": "document/s", "better": "higher"}
    assert record["workload"]["unit"] == "document" and record["workload"]["params"]["units"] == 500
    for found in figures_of(record):
        assert found["units"] == 500
        assert found["units_per_s"] == pytest.approx(500 / found["elapsed_s"], rel=0.01)
    # the program tells its units of work, and has a good exit code of its own
    units = dict(FIGURE, name="units", unit=None, better=None, pointer="/rows")
    record = measured(options("sh", "-c", "echo '{\"rows\": 42}'; exit 2", figures=[units], exit_codes=[0, 2]))
    assert record["workload"]["metric"]["name"] == "elapsed_s" and figures_of(record)[0]["units"] == 42
    assert all(run["ok"] for run in record["runs"]) and record["workload"]["params"]["exit_codes"] == "0 2"


@pytest.mark.parametrize(
    "text, words",
    [
        ("print('{}')", "figure rate: the output has nothing at /rate"),
        ("print('{\"rate\": 0}')", "rate is 0, and this figure decides"),
        ("print(' ' * 2000000)", "figure rate: the output is longer than 1048576 bytes"),
        ("import sys; print('{\"rate\": 1}'); sys.exit(4)", "ended with exit code 4: "),
        ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9"),
    ],
)
def test_a_run_without_its_figure_has_failed(text, words):
    record = measured(python(text, figures=[FIGURE]))
    assert [run["ok"] for run in record["runs"]] == [False, False]
    assert all(words in error for error in errors(record)) and figures_of(record) == [{}, {}]


def test_endless_output_is_bounded():
    text = "import sys\nsys.stdout.write('begin\\n')\nfor n in range(200): sys.stdout.write('x' * 50000)\nprint('end')"
    raw = measured(python(text), runs=1)["runs"][0]["raw"]
    assert len(raw) <= 4096 and raw.startswith("begin") and raw.rstrip().endswith("end")
    output = programs.Output(4)
    for piece in (b"ab", b"cdef", b"gh"):
        output.add(piece)
    assert not output.is_cut and output.text == "abcdefgh"
    output.add(b"i" * 20 + b"jk")
    assert output.is_cut and output.text == "abcd\n[...]\niijk"


def test_it_ends_with_a_child_that_holds_its_output():
    text = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid)"
    record = measured(python(text), runs=1)
    assert record["runs"][0]["ok"]
    os.kill(int(record["runs"][0]["raw"]), signal.SIGKILL)


def note(path, word, code=0):
    return [sys.executable, "-c", "import sys; open(%r, 'a').write(%r); sys.exit(%d)" % (str(path), word + " ", code)]


def steps(path, **codes):
    words = {"prepare": "prepare", "prepare_run": "before", "argv": "run", "cleanup_run": "after", "cleanup": "cleanup"}
    return {name: note(path, word, codes.get(name, 0)) for name, word in words.items()}


ONE = "before run after "


@pytest.mark.parametrize(
    "codes, story, words",
    [
        ({}, "prepare " + ONE * 2 + "cleanup ", None),
        ({"argv": 1}, "prepare " + ONE * 2 + "cleanup ", "ended with exit code 1"),
        ({"prepare_run": 1}, "prepare " + "before after " * 2 + "cleanup ", "prepare_run: "),
        ({"cleanup_run": 1}, "prepare " + ONE * 2 + "cleanup ", "cleanup_run: "),
        ({"argv": 1, "cleanup_run": 2}, "prepare " + ONE * 2 + "cleanup ", "ended with exit code 1"),
        ({"prepare": 1}, "prepare cleanup ", "not begun: prepare: "),
        ({"cleanup": 5}, "prepare " + ONE * 2 + "cleanup ", None),
    ],
)
def test_what_is_around_runs_and_rounds(tmp_path, codes, story, words):
    path = tmp_path / "story"
    record = measured(options(**dict(steps(path, **codes))))
    assert path.read_text() == story
    assert all((error is None) if words is None else (words in error) for error in errors(record))
    left = "cleanup: %s ended with exit code 5: nothing was printed" % sys.executable if "cleanup" in codes else None
    assert record.get("left_behind") == left


@pytest.mark.gate
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_measurement_that_is_ended_ends_the_program_and_cleans_up(tmp_path, number):
    path, mark = tmp_path / "story", tmp_path / "pid"
    text = "import os, time; open(%r, 'w').write(str(os.getpid())); time.sleep(600)" % str(mark)
    workload = made(python(text, cleanup=note(path, "cleanup"), cleanup_run=note(path, "after"), timeout=600.0))
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            rounds.measure_round(plan(runs=2, warmup=0), [workload])
        os._exit(0)
    until(lambda: mark.exists() and mark.read_text(), "the program has begun")
    os.kill(pid, number)
    os.waitpid(pid, 0)
    if number == signal.SIGKILL:
        until(lambda: path.exists() and path.read_text() == "after cleanup ", "the round has cleaned up")
    assert path.read_text() == "after cleanup "
    until(lambda: processes.start_time(int(mark.read_text())) is None, "the process has ended")


def test_environment_and_directory(tmp_path):
    script(tmp_path / "tool", "pwd\necho $ANSWER $LC_ALL\nread line || echo no input\n")
    given = options("./tool", directory=str(tmp_path), environment=json.dumps({"ANSWER": "42", "LC_ALL": "C.UTF-8"}))
    record = measured(given, runs=1)
    assert record["runs"][0]["raw"].split("\n")[:3] == [str(tmp_path), "42 <LC_ALL>", "no input"]
    assert record["workload"]["params"]["environment"] == "ANSWER LC_ALL"
    assert record["workload"]["argv"] == ["%s/./tool" % tmp_path]


def test_secrets_are_hidden_wherever_they_come_out():
    environment = json.dumps({"KEY": 'geheim"\\1', "LONGER": 'geheim"\\1 und mehr', "N": "7"})
    text = "import os, json, sys; print(os.environ['KEY'], json.dumps(os.environ['LONGER']), 7); sys.exit(%d)"
    record = measured(python(text % 0, environment=environment), runs=1)
    assert record["runs"][0]["raw"] == '<KEY> "<LONGER>" 7\n'
    record = measured(python(text % 1, environment=environment, prepare=["echo", 'geheim"\\1']), runs=1)
    assert errors(record)[0].endswith('ended with exit code 1: <KEY> "<LONGER>" 7')
    assert "geheim" not in json.dumps(record)
    text = "$HOME; echo *|cat `id`"
    assert measured(options("printf", "%s", text), runs=1)["runs"][0]["raw"].startswith(text)


def test_the_version_is_the_files(tmp_path):
    path = tmp_path / "tool"
    script(path)
    first = made(options(str(path))).version
    assert first.startswith("tool sha256 ") and first == made(options(str(path))).version
    path.write_text("#!/bin/sh\n# rebuilt\n")
    assert made(options(str(path))).version != first
    assert command.digest(str(tmp_path / "missing")) is None


def test_a_directory_that_cannot_be_entered(tmp_path):
    record = measured(options("true", directory=str(tmp_path / "missing")), runs=1)
    words = "ended with exit code 126: the directory %s cannot be entered: No such file or directory"
    assert errors(record) == [made(options("true")).argv[0] + " " + words % (tmp_path / "missing")]


# whose rights

THEM = pwd.getpwnam("nobody")


@pytest.fixture
def theirs(reachable):
    """A folder of another user with a program that tells who runs it."""
    folder = reachable / "theirs"
    folder.mkdir()
    script(folder / "tool", "id -un\necho $HOME $EXTRA\n")
    for path in (folder, folder / "tool"):
        os.chown(str(path), THEM.pw_uid, THEM.pw_gid)
    return folder


@needs_root
def test_a_program_that_another_user_may_replace_runs_as_that_user(theirs):
    record = measured(options(str(theirs / "tool"), environment='{"EXTRA": "e"}'), runs=1)
    assert record["runs"][0]["raw"] == "nobody\n%s e\n" % THEM.pw_dir
    assert record["workload"]["params"]["user"] == "nobody"


@needs_root
def test_a_program_of_root_runs_as_the_named_user(theirs):
    record = measured(options("id", "-un", user="nobody", directory=str(theirs)), runs=1)
    assert record["runs"][0]["raw"] == "nobody\n" and record["runs"][0]["cpu"]["client"]["process_s"] is not None
    assert measured(options("id", "-un", user="root"), runs=1)["runs"][0]["raw"] == "root\n"
    secret = theirs.parent / "secret"
    secret.mkdir()
    secret.chmod(0o700)
    record = measured(options("true", user="nobody", directory=str(secret)), runs=1)
    assert errors(record)[0].endswith("the directory %s cannot be entered: Permission denied" % secret)


@needs_root
@pytest.mark.parametrize("user", [None, "root"])
@pytest.mark.parametrize(
    "argv, directory",
    [
        (("sh", "{}/tool"), "/"),
        (("sh", "tool"), "{}"),
        (("true",), "{}"),
        (("ls", "{}"), "/"),
        (("{}/tool",), "/"),
        (("dd", "if=/dev/zero", "of={}/new"), "/"),
        (("tee", "{}/new"), "/"),
    ],
)
def test_what_another_user_may_change_does_not_run_as_root(theirs, argv, directory, user):
    argv = [word.format(theirs) for word in argv]
    if user is None and argv[0].startswith("/"):
        argv = ["sh"] + argv
    with pytest.raises(MeasureError, match="belongs to nobody, who may change what runs there: it is not run as root"):
        made(options(*argv, directory=directory.format(theirs), user=user))


@needs_root
def test_a_folder_that_others_may_write_to(tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    script(folder / "tool")
    folder.chmod(0o777)
    with pytest.raises(MeasureError, match="does not run as root: .*/open belongs to root, but others may write to it"):
        made(options(str(folder / "tool")))
    for argv, directory in ((["./tool"], str(folder)), (["of=%s/new" % folder], "/")):
        with pytest.raises(HostError):
            command.identity_of(["/bin/sh"] + argv, None, directory)
    assert command.identity_of(["/bin/dd", "of=/dev/null", "if=%s" % (tmp_path / "new")], None, "/") is None


def test_only_root_runs_programs_as_others(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 4711)
    with pytest.raises(MeasureError, match="user is root, but only root may run a program as another user: set become"):
        made(options("true", user="root"))
    assert made(options("true")).params["user"] == "user id %d" % (os.getuid() + 4711)


@pytest.mark.parametrize(
    "given, words",
    [
        ({"name": "a b"}, "the name must have up to 48"),
        ({"argv": [""]}, "argv has no program"),
        ({"argv": ["true", "a\0b"]}, "argv has no program, or a zero byte"),
        ({"prepare": [""]}, "prepare has no program"),
        ({"directory": "tmp"}, "directory is tmp; it must be an absolute path"),
        ({"timeout": 0.5}, "timeout is 0.5; it must be from 1 to 86400"),
        ({"exit_codes": [300]}, "exit_codes has 300"),
        ({"exit_codes": []}, "exit_codes is empty"),
        ({"environment": "[1]"}, "environment is not a dictionary"),
        ({"environment": '{"A B": "secret"}'}, 'environment has "A B"; a name has'),
        ({"environment": '{"A": 1}'}, 'environment has "A"; a name has .* a value is text'),
        ({"units": 0.0}, "units is 0; it must be a number above 0"),
        ({"units": 1.0, "figures": [dict(FIGURE, name="units")]}, "or a figure of that name"),
        ({"figures": [FIGURE, FIGURE]}, "figures has rate, rate; at most 20"),
        ({"figures": [dict(FIGURE, name="Rate")]}, "a figure is called Rate; the name must be small letters"),
        ({"figures": [dict(FIGURE, name="elapsed_s")]}, "neither elapsed_s nor units_per_s"),
        ({"figures": [dict(FIGURE, unit=None)]}, "figure rate needs unit and better"),
        ({"figures": [dict(FIGURE, pattern="x")]}, "figure rate needs either pointer or pattern"),
        ({"metric": "rate"}, "metric is rate; it must be elapsed_s, units_per_s"),
        ({"figures": [FIGURE], "metric": "units"}, "metric is units; it must be elapsed_s, units_per_s, rate"),
    ],
)
def test_options_that_cannot_be_used(given, words):
    with pytest.raises(MeasureError, match="^command %s: .*%s" % (given.get("name", "x"), words)) as caught:
        command.check([options("true", **given)])
    assert "secret" not in str(caught.value)


def test_names_are_given_once():
    with pytest.raises(MeasureError, match="each only once"):
        command.check([options("true"), options("false")])
    assert command.names([{"name": "a"}, {"name": "b"}], "") == ["command-a", "command-b"]


# RFC 6901, section 5
DOCUMENT = {"foo": ["bar", 2.5], "": 0, "a/b": 1, "m~n": 8, 'k"l': 6, "deep": {"list": [{"rate": "12.5"}, True, None]}}


def figure(name="rate", pointer=None, pattern=None, output="stdout"):
    return {"name": name, "unit": "1/s", "better": "higher", "pointer": pointer, "pattern": pattern, "output": output}


@pytest.mark.parametrize(
    "pointer, value", [("/foo/1", 2.5), ("/", 0), ("/a~1b", 1), ("/m~0n", 8), ('/k"l', 6), ("/deep/list/0/rate", 12.5)]
)
def test_a_pointer_finds_its_number(pointer, value):
    assert figures.by_pointer(json.dumps(DOCUMENT), pointer) == value


@pytest.mark.parametrize(
    "document, pointer, words",
    [
        (DOCUMENT, "", '{"foo": .* is not a number'),
        (DOCUMENT, "/foo/0", '"bar" is not a number from 0'),
        (DOCUMENT, "/foo/2", "the output has nothing at /foo/2"),
        (DOCUMENT, "/foo/01", "nothing at /foo/01"),
        (DOCUMENT, "/foo/-1", "nothing at /foo/-1"),
        (DOCUMENT, "/a~1b/c", "nothing at"),
        (DOCUMENT, "/deep/list/1", "true is not a number from 0"),
        (DOCUMENT, "/deep/list/2", "null is not a number from 0"),
        ("[NaN]", "/0", "is not a number from 0"),
        ("[1e999]", "/0", "is not a number from 0"),
        ("[-1]", "/0", "is not a number from 0"),
        ("[1%s]" % ("0" * 30), "/0", "is not a number from 0"),
        ("", "/rate", "the output is not a JSON document"),
        ('{"rate": 5', "/rate", "the output is not a JSON document"),
        ('{"rate": 5} 6', "/rate", "the output is not a JSON document"),
        ("[" * 100000, "/rate", "the output is not a JSON document"),
        ("\0", "/rate", "the output is not a JSON document"),
    ],
)
def test_a_pointer_that_finds_none(document, pointer, words):
    with pytest.raises(MeasureError, match=words):
        figures.by_pointer(json.dumps(document) if document is DOCUMENT else document, pointer)


@pytest.mark.parametrize(
    "text, value",
    [
        ("Time: 0.890", 0.89),
        ("Time: 1\nTime: 2.50\n", 2.5),  # the last match
        ("no Time: 1\nTime: 3e3", 3000),
        ("Time: .5", 0.5),
    ],
)
def test_a_pattern_finds_the_number_of_its_last_match(text, value):
    assert figures.by_pattern(text, r"^Time: (?P<value>\S+)$") == value


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "the output has no match of .*, it began: nothing was printed"),
        ("Took: 1", "no match of .*, it began: Took: 1"),
        ("Time: 1,200", '"1,200" is not a number from 0'),
        ("Time: nan", '"nan" is not a number'),
        ("Time: \u0661", "is not a number"),  # a digit, but of another script
        ("Time: -3", '"-3" is not a number from 0'),
    ],
)
def test_a_pattern_that_finds_none(text, words):
    with pytest.raises(MeasureError, match=words):
        figures.by_pattern(text, r"^Time: (?P<value>\S+)$")
    with pytest.raises(MeasureError, match="no match"):
        figures.by_pattern("x", "x(?P<value>y)?")


def test_figures_of_both_outputs():
    asked = [figure("a", pointer="/a"), figure("b", pattern=r"b=(?P<value>\d+)", output="stderr")]
    assert figures.read(asked, {"stdout": '{"a": 1}', "stderr": "b=2"}) == {"a": 1, "b": 2}
    assert figures.read([], {}) == {}
    with pytest.raises(MeasureError, match="^figure rate: the output has nothing at /rate$"):
        figures.read([figure(pointer="/rate")], {"stdout": "{}", "stderr": ""})
    assert figures.number("1200") == 1200 and isinstance(figures.number("1200"), int)
    assert figures.number(1e-9) == 1e-9


@pytest.mark.gate
def test_a_search_that_never_ends_is_ended():
    asked = [figure(pattern=r"^(a|aa)+(?P<value>\d)$")]
    with pytest.raises(MeasureError, match="the figures were not found within 1 s: simplify the pattern"):
        figures.read(asked, {"stdout": "a" * 5000, "stderr": ""}, seconds=1)


@pytest.mark.parametrize(
    "wrong, words",
    [
        (figure(), "figure rate needs either pointer or pattern"),
        (figure(pointer="/x", pattern="(?P<value>x)"), "needs either pointer or pattern"),
        (figure(pointer="x/y"), "the pointer of figure rate is x/y; a JSON pointer begins with /"),
        (figure(pattern="(?P<value>"), "the pattern of figure rate is not a regular expression"),
        (figure(pattern=r"Time: (\d+)"), r"the pattern of figure rate has no group value: put the number into \(\?P<"),
    ],
)
def test_a_figure_that_cannot_be_found(wrong, words):
    with pytest.raises(MeasureError, match=words):
        figures.check(wrong)
    for right in (figure(pointer=""), figure(pointer="/a/b"), figure(pattern=r"(?i)time (?P<value>\d+)")):
        figures.check(right)
