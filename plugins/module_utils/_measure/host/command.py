# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any program of the user's as a workload: one run of the program is one run of the measurement.

Its elapsed time, a figure that it prints, or its units of work per second decide. No shell is involved.
"""

import base64
import binascii
import contextlib
import hashlib
import json
import os
import re
from collections import namedtuple

from ..._host.commands import folders_of
from ..._host.errors import HostError
from ..._host.identities import Identity, owner_of_program, uid_of
from ..errors import MeasureError
from ..workloads import programs, releasing
from ..workloads.options import check_options
from ..workloads.workload import Metric, Outcome, Workload
from . import figures

TOOL = "command"
ELAPSED, UNITS, RATE = "elapsed_s", "units", "units_per_s"
# The options of the module, documented in plugins/modules/measure_workload.py.
FIGURE = {
    "name": {"type": "str", "required": True},
    "unit": {"type": "str"},
    "better": {"type": "str", "choices": ["lower", "higher"]},
    "pointer": {"type": "str"},
    "pattern": {"type": "str"},
    "output": {"type": "str", "choices": ["stdout", "stderr"], "default": "stdout"},
}
OPTIONS = {
    "name": {"type": "str", "required": True},
    "argv": {"type": "list", "elements": "str", "required": True},
    "user": {"type": "str"},
    "directory": {"type": "path"},
    "environment": {"type": "json", "no_log": True},
    "timeout": {"type": "float", "default": 3600.0},
    "exit_codes": {"type": "list", "elements": "int", "default": [0]},
    "figures": {"type": "list", "elements": "dict", "options": FIGURE, "default": []},
    "metric": {"type": "str"},
    "units": {"type": "float"},
    "unit": {"type": "str", "default": "run"},
}
for _step in ("prepare", "cleanup", "prepare_run", "cleanup_run"):
    OPTIONS[_step] = {"type": "list", "elements": "str", "default": []}
STEPS = ("prepare", "prepare_run", "argv", "cleanup_run", "cleanup")
LIMITS = {"timeout": (1, 86400), "exit_codes": (0, 255)}
MOST_FIGURES = 20
# The version of a program is a digest of its file, up to this size.
_MOST_DIGESTED = 256 * 1024 * 1024
# Shorter values of the environment are not secret, and hiding them would spoil other text.
_SHORTEST_SECRET = 4
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}\Z")
_FIGURE_NAME = re.compile(r"[a-z][a-z0-9_]{0,47}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

# A step that can be run: its command line with an absolute program, and its Identity.
Step = namedtuple("Step", "argv identity")


def check(commands):
    """MeasureError for the first option of these commands, as the module gets them, that cannot be used."""
    names_given = [command["name"] for command in commands]
    if not commands or len(set(names_given)) != len(names_given):
        raise MeasureError("command has %s; name at least one program, and each only once" % (names_given or "nothing"))
    for command in commands:
        try:
            _check(command)
        except MeasureError as error:
            raise MeasureError("command %s: %s" % (command["name"], error)) from error


def _check(command):
    if not _NAME.match(command["name"]):
        raise MeasureError("the name must have up to 48 letters, digits, points, underscores and hyphens")
    if not command["argv"]:
        raise MeasureError("argv is empty; it must be the program and its arguments, as separate texts")
    for step in STEPS:
        if command[step] and not command[step][0] or any("\0" in word for word in command[step]):
            raise MeasureError("%s has no program, or a zero byte" % step)
    if command["directory"] is not None and not os.path.isabs(command["directory"]):
        raise MeasureError("directory is %s; it must be an absolute path" % command["directory"])
    check_options(command, LIMITS)
    if not command["exit_codes"]:
        raise MeasureError("exit_codes is empty; it must list the exit codes of a good run")
    variables(command["environment"])
    _check_figures(command)


def _check_figures(command):
    found = command["figures"]
    known = [figure["name"] for figure in found]
    if len(found) > MOST_FIGURES or len(set(known)) != len(known):
        raise MeasureError("figures has %s; at most %d, and each only once" % (", ".join(known), MOST_FIGURES))
    for figure in found:
        name = figure["name"]
        if not _FIGURE_NAME.match(name) or name in (ELAPSED, RATE):
            raise MeasureError(
                "a figure is called %s; the name must be small letters, digits and underscores, and neither %s nor %s"
                % (name, ELAPSED, RATE)
            )
        figures.check(figure)
        if name != UNITS and not (figure["unit"] and figure["better"]):
            raise MeasureError("figure %s needs unit and better (lower or higher)" % name)
    if command["units"] is not None and (UNITS in known or not 0 < command["units"] < figures.LARGEST):
        raise MeasureError("units is %g; it must be a number above 0, or a figure of that name" % command["units"])
    decisive = [ELAPSED, RATE] + [name for name in known if name != UNITS]
    if command["metric"] is not None and command["metric"] not in decisive:
        raise MeasureError("metric is %s; it must be %s" % (command["metric"], ", ".join(decisive)))


def variables(given):
    """The variables of the option environment: a dictionary, its JSON, or the base64 of that, as the action sends it.

    MeasureError if they are anything else; it names no value, which may be a secret.
    """
    if not given:
        return {}
    try:
        if not isinstance(given, dict):
            text = given if given.lstrip().startswith("{") else base64.b64decode(given).decode("utf-8")
            given = json.loads(text)
        wrong = [
            name
            for name, value in given.items()
            if not isinstance(value, str) or "\0" in value or not _VARIABLE.match(name)
        ]
    except (ValueError, AttributeError, RecursionError, binascii.Error):
        raise MeasureError("environment is not a dictionary of names and values") from None
    if wrong:
        raise MeasureError(
            "environment has %s; a name has letters, digits and underscores, a value is text" % json.dumps(wrong[0])
        )
    return given


def names(options, _tool):
    return [_name(command) for command in options]


def _name(command):
    return "%s-%s" % (TOOL, command["name"])


def server(_options, _params, _search_path):
    """As in round/tools.py; this server only samples the CPU time of its host."""
    return TOOL, {"version": "unknown"}, {}


def workloads(options, _params, search_path):
    """The Command workloads of checked options, with the programs of this host."""
    check(options)
    made = []
    for command in options:
        try:
            made.append(Command(command, search_path))
        except HostError as error:
            raise MeasureError("command %s: %s" % (command["name"], error)) from error
    return made


def _program(word, directory, search_path):
    """The absolute path of a program; MeasureError if there is none."""
    if os.path.basename(word) != word:
        path = os.path.join(directory, word)
        if not programs.is_program(path):
            raise MeasureError("%s is not an executable file" % path)
        return path
    found = programs.find(word, None, search_path)
    if found is None:
        raise MeasureError(
            "%s was not found in %s: install it, or name its path"
            % (word, ", ".join(folders_of(search_path)) or "PATH")
        )
    return os.path.abspath(found)


def identity_of(argv, user, directory):
    """The Identity that runs a program; None for this process's own.

    As root it is the user of the option, or else the user who may replace the program. Nothing that another user may
    change runs as root: MeasureError or HostError for such a program, directory or argument (a script, or a file to
    write, which need not exist: --log=FILE, of=FILE).
    """
    if os.geteuid() != 0:
        if user is not None and uid_of(user) != os.geteuid():
            raise MeasureError("user is %s, but only root may run a program as another user: set become" % user)
        return None
    if user is not None and Identity.of_name(user).uid != 0:
        return Identity.of_name(user)
    owner = owner_of_program(argv[0])
    if owner is not None and user is None:
        return Identity.of_uid(owner)
    for word in argv + [directory]:
        for path in (os.path.join(directory, part) for part in (word, word.partition("=")[2]) if part):
            # devices, such as /dev/null, are for all
            is_device = os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
            owner = None if is_device else owner_of_program(path)
            if owner is not None:
                raise MeasureError(
                    "%s belongs to %s, who may change what runs there: it is not run as root, set user to %s"
                    % (path, Identity.of_uid(owner).name, Identity.of_uid(owner).name)
                )
    return None


def digest(path):
    """The version of a program: its name and the beginning of its file's SHA-256; None if it cannot be read."""
    hashed = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            for _piece in range(_MOST_DIGESTED // (1024 * 1024)):
                hashed.update(stream.read(1024 * 1024))
    except OSError:
        return None
    return "%s sha256 %s" % (os.path.basename(path), hashed.hexdigest()[:12])


class Command(Workload):
    """One program."""

    tool, family = TOOL, "command"

    def __init__(self, command, search_path):
        self._variables = variables(command["environment"])
        search_path = self._variables.get("PATH", search_path)
        self._directory = command["directory"] or "/"
        self._steps = {}
        for name in STEPS:
            if command[name]:
                argv = [_program(command[name][0], self._directory, search_path)] + command[name][1:]
                self._steps[name] = Step(argv, identity_of(argv, command["user"], self._directory))
        self._timeout, self._exit_codes = command["timeout"], command["exit_codes"]
        self._figures, self._units = command["figures"], command["units"]
        self._guardian, self._begun = None, False
        self.name, self.unit = _name(command), command["unit"]
        self.version = digest(self._steps["argv"].argv[0])
        self.metric = self._metric(command)
        self.params = self._params()

    def _metric(self, command):
        decisive = [figure for figure in self._figures if figure["name"] != UNITS]
        name = command["metric"] or (decisive[0]["name"] if decisive else ELAPSED)
        if name == ELAPSED:
            return Metric(ELAPSED, "s", "lower")
        if name == RATE:
            return Metric(RATE, "%s/s" % self.unit, "higher")
        (figure,) = [figure for figure in decisive if figure["name"] == name]
        return Metric(name, figure["unit"], figure["better"])

    def _params(self):
        """What has to be equal in both states; of the environment the names only."""
        identity = self._steps["argv"].identity
        found = {
            "directory": self._directory,
            "environment": " ".join(sorted(self._variables)),
            "exit_codes": " ".join(str(code) for code in sorted(self._exit_codes)),
            "figures": json.dumps(self._figures, sort_keys=True) if self._figures else "",
            "user": identity.name if identity else Identity.of_uid(os.geteuid()).name,
        }
        found.update((name, json.dumps(step.argv)) for name, step in self._steps.items())
        if self._units is not None:
            found[UNITS] = self._units
        return {name: self._hidden(value) if isinstance(value, str) else value for name, value in found.items()}

    @property
    def argv(self):
        return [self._hidden(word) for word in self._steps["argv"].argv]

    def _hidden(self, text):
        """A text without the values of the environment."""
        for name, value in sorted(self._variables.items(), key=lambda item: (-len(item[1]), item[0])):
            if len(value) >= _SHORTEST_SECRET:
                text = text.replace(value, "<%s>" % name).replace(json.dumps(value)[1:-1], "<%s>" % name)
        return text

    def _call(self, name, guardian, window=None):
        """Run a step, if it was given, to its end: programs.Done.

        MeasureError if it cannot be run or its exit code means failure.
        """
        step = self._steps.get(name)
        if step is None:
            return None
        try:
            done = programs.run(
                step.argv,
                self._timeout,
                guardian,
                window,
                env=dict(os.environ, LC_ALL="C"),
                identity=step.identity,
                variables=self._variables,
                directory=self._directory,
            )
            good = self._exit_codes if name == "argv" else [0]
            if done.code not in good:
                said = programs.first_lines(done.err.text + "\n" + done.out.text)
                raise MeasureError("%s ended with exit code %d: %s" % (step.argv[0], done.code, said))
        except MeasureError as error:
            raise MeasureError(self._hidden("%s%s" % ("" if name == "argv" else name + ": ", error))) from None
        return done

    def prepare(self, setting):
        cleans = "cleanup" in self._steps or "cleanup_run" in self._steps
        self._guardian = releasing.Guardian(self._clean_up_alone if cleans else None)
        self._guardian.owes(cleans)
        self._call("prepare", self._guardian)

    def run(self, setting, window):
        self._begun = True
        try:
            self._call("prepare_run", self._guardian)
            done = self._call("argv", self._guardian, window)
            outcome = self._outcome(done)
        except (MeasureError, OSError):
            # the first problem is the one to report
            with contextlib.suppress(MeasureError, OSError):
                self._end_run()
            raise
        self._end_run()
        return outcome

    def _end_run(self):
        self._begun = False
        self._call("cleanup_run", self._guardian)

    def _outcome(self, done):
        texts = {"stdout": done.out.text, "stderr": done.err.text}
        for figure in self._figures:
            if figure["pointer"] is not None and (done.out, done.err)[figure["output"] == "stderr"].is_cut:
                raise MeasureError(
                    "figure %s: the output is longer than %d bytes" % (figure["name"], 2 * programs.HALF)
                )
        try:
            found = figures.read(self._figures, texts)
        except MeasureError as error:
            raise MeasureError(self._hidden(str(error))) from None
        metrics = dict({UNITS: 1 if self._units is None else self._units, ELAPSED: round(done.elapsed, 6)}, **found)
        # to digits, not decimals: one unit in hours is a small rate, and it may decide
        metrics[RATE] = float("%.9g" % (metrics[UNITS] / done.elapsed))
        if metrics[self.metric.name] <= 0:
            raise MeasureError("%s is 0, and this figure decides" % self.metric.name)
        raw = texts["stdout"] + ("\n[stderr]\n" + texts["stderr"] if texts["stderr"] else "")
        return Outcome(metrics, self._hidden(raw), done.elapsed, None)

    def finish(self):
        if self._guardian is None:
            return
        try:
            if self._begun:
                self._end_run()
        finally:
            try:
                if self._guardian.owed:
                    self._call("cleanup", self._guardian)
            finally:
                self._guardian.owes(False)
                self._guardian.close()
                self._guardian = None

    def _clean_up_alone(self):
        """In the guardian, after this process was killed: both ways of cleaning up."""
        try:
            self._call("cleanup_run", None)
        finally:
            self._call("cleanup", None)
