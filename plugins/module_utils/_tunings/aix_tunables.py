# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel tunables of AIX (no, vmo and others): running and next boot in two steps, and nothing that needs bosboot.

Stored values are the lines of /etc/tunables/nextboot. Types and ranges are those of the host.
"""

import contextlib
import errno
import re

from .._aix import devices, startup, system, tunables
from .._aix.tunables import DEFAULT, LIVE_UPDATE, NEXT_BOOT, number
from .._engine.tuning import RUNNING, STORED, InputError, Knob, Subject, Tuning
from .._host.drop_ins import temporaries
from .._host.host import HostError

_KEY = re.compile(r"^(?:%s)\.[A-Za-z0-9_%%]+ (running|stored|live update)\Z" % "|".join(tunables.COMMANDS))
_VALUE = re.compile(r"^[A-Za-z0-9_.,{}:+-]{1,128}\Z")
_SIZE = re.compile(r"^(-?[0-9]{1,20})([KMGTPE])\Z")
_FIELDS = {"value": None, "reason": "", "restricted": False, "risky": False, "running": True, "stored": True}
# from here on, some tunables have a value for the next Live Update
_LIVE_UPDATE_RELEASE = 7300
# {command: tunables that can harm a running system}
_RISKY = {
    "ioo": re.compile(r"^(aio_.*|lvm_bufcnt|pd_npages|j2_inodeCacheSize)\Z"),
    "no": re.compile(
        r"^(ipforwarding|(tcp|udp)_ephemeral_(low|high)|subnetsarelocal|clean_partial_conns"
        r"|bcastping|directed_broadcast|ipsrcroute\w+|nonlocsrcroute)\Z"
    ),
    "schedo": re.compile(r"^(vpm_fold_policy|vpm_xvcpus|vpm_throughput_mode|timeslice|maxspin|fixed_pri_global)\Z"),
    "vmo": re.compile(
        r"^(minfree|maxfree|minperm%|maxpin%|v_pinshm|lgpg_regions|lgpg_size|npskill|npswarn|nokilluid"
        r"|low_ps_handling|vmm_default_pspa)\Z"
    ),
}
# (lower, higher, the least difference)
_PAIRS = (
    ("ioo.aio_minservers", "ioo.aio_maxservers", 0),
    ("no.tcp_ephemeral_low", "no.tcp_ephemeral_high", 1),
    ("no.tcp_recvspace", "no.sb_max", 0),
    ("no.tcp_sendspace", "no.sb_max", 0),
    ("no.udp_ephemeral_low", "no.udp_ephemeral_high", 1),
    ("no.udp_recvspace", "no.sb_max", 0),
    ("no.udp_sendspace", "no.sb_max", 0),
    ("vmo.maxclient%", "vmo.maxperm%", 0),
    ("vmo.minfree", "vmo.maxfree", 1),
    ("vmo.minperm%", "vmo.maxclient%", 0),
    ("vmo.minperm%", "vmo.maxperm%", 0),
)
_OF_TYPES = {
    "C": "type C: open connections keep the value they began with, and a change restarts inetd",
    "M": "type M: mounted file systems keep the value they began with",
}
_TRUTH = ("false", "true", "no", "yes", "off", "on")


def parse_value(where, given):
    """The text of a value; 64K is 65536. Raises InputError."""
    text = str(given).strip() if isinstance(given, (int, str)) and not isinstance(given, bool) else ""
    size = _SIZE.match(text)
    if size:
        return str(int(size.group(1)) << 10 * (1 + "KMGTPE".index(size.group(2))))
    if not _VALUE.match(text):
        raise InputError("values: %s: %r is not a value: give a whole number, such as 16384 or 16K" % (where, given))
    return str(number(text)) if number(text) is not None else text


def parse_entry(key, given):
    """The entry of a tunable, with all fields. Raises InputError."""
    command = str(key).partition(".")[0]
    if str(key).lower() in _TRUTH:
        raise InputError("values: YAML reads the word no as false: write each tunable as one key, no.tcp_nodelayack")
    names = ", ".join(tunables.COMMANDS)
    if command not in tunables.COMMANDS or not _KEY.match("%s stored" % key):
        raise InputError("values: '%s' is not a tunable: write one of %s, and its name: no.NAME" % (key, names))
    if not isinstance(given, dict) or set(given) - set(_FIELDS) or not str(given.get("reason") or "").strip():
        raise InputError("values: %s: give value and reason, and nothing but %s" % (key, ", ".join(sorted(_FIELDS))))
    entry = dict(_FIELDS, **given)
    wrong = [field for field in ("restricted", "risky", "running", "stored") if not isinstance(entry[field], bool)]
    if wrong:
        raise InputError("values: %s: %s is true or false" % (key, wrong[0]))
    if not entry["running"] and not entry["stored"]:
        raise InputError("values: %s: with running and stored false, nothing is set" % key)
    return dict(entry, value=parse_value(key, entry["value"]))


class AixTunables(Tuning):
    """params: the module's, see plugins/modules/aix_tunables.py. A subject is a tunable, such as no.tcp_nodelayack."""

    name = "aix_tunables"
    sources = (
        "AIX commands reference: no, vmo, schedo, ioo, raso, nfso",
        "AIX documentation: tunables file format; interface-specific network options",
    )
    options = dict(values=dict(type="dict", default={}))

    def __init__(self, host, params):
        super().__init__(host, params)
        self.tunables = tunables.Tunables(host)
        self._asked = {}
        self._rows = {}
        # {subject name: why it is only observed}
        self._left = {}
        self._held = False
        self._of_interfaces = {}

    # which tunables

    def select(self):
        self._left, names = {}, sorted(map(str, self.params["values"])) or ["tunables"]
        self._asked = {key: parse_entry(key, given) for key, given in self.params["values"].items()}
        reason = "" if system.is_aix() else "the tunables of no, vmo, schedo, ioo, raso and nfso exist on AIX only"
        if not reason:
            if not self._asked:
                raise InputError("values: nothing to set, give tunables as {no.NAME: {value: 1, reason: TEXT}}")
            if self.tunables.in_wpar():
                reason = "this is a workload partition: its tunables are those of the global environment"
        if reason:
            return [Subject(name, verdict="not_applicable", reason=reason) for name in names]
        with contextlib.suppress(devices.UnknownAttributeError):
            self._held = devices.Devices(self.host).stored("sys0", "pre520tune") == "enable"
        if any(key.partition(".")[2] in tunables.OF_INTERFACES for key in self._asked):
            self._of_interfaces = self.tunables.interfaces()
        subjects = [self._ask(name) for name in names]
        for low, high, least in _PAIRS:
            self._check_pair(low, high, least)
        return subjects

    def _ask(self, name):
        command, tunable = name.split(".")
        try:
            known = self.tunables.open_names(command)
        except HostError as error:
            if error.errno != errno.ENOENT:
                raise
            known = ()
        if not known:
            reason = "this AIX has no command %s, or it shows none" % command
            return Subject(name, verdict="not_applicable", reason=reason)
        row = self.tunables.row(command, tunable)
        if row is None and tunable in known:
            raise HostError("%s -x lists %s, and does not tell its values" % (command, tunable))
        if row is None:
            others = [one for one in tunables.COMMANDS if one != command and self._knows(one, tunable)]
            if others:
                raise InputError("values: %s: %s has no such tunable, but %s has" % (name, command, others[0]))
            reason = "%s of this level of AIX has no tunable %s" % (command, tunable)
        elif row.current == "n/a":
            reason = "n/a: the kernel or the platform does not support it"
        elif row.kind in ("S", "d"):
            reason = "type %s: it can never be set" % row.kind
        else:
            self._check(name, row)
            return self.observe(name)
        return Subject(name, verdict="unsupported", reason=reason)

    def _knows(self, command, tunable):
        try:
            return self.tunables.row(command, tunable) is not None
        except HostError:
            return False

    def _check(self, name, row):
        entry, low, high = self._asked[name], number(row.low), number(row.high)
        value = number(entry["value"])
        if row.unit != "string" and None not in (low, high) and (value is None or not low <= value <= high):
            wrong = "not a number like 16K" if value is None else "out of range"
            raise InputError("values: %s: %s is %s, %s to %s" % (name, entry["value"], wrong, row.low, row.high))
        upward_only = row.kind == "I" and None not in (value, number(row.current)) and value < number(row.current)
        if not entry["stored"] and (row.kind == "R" or upward_only):
            raise InputError("values: %s: type %s takes it at boot only: leave out stored" % (name, row.kind))

    def _check_pair(self, low, high, least):
        """A rule must hold for the running values and for those of the next boot."""
        if low not in self._rows and high not in self._rows:
            return
        for place, field in (("running", "current"), ("stored", "boot")):
            found = []
            for name in (low, high):
                row = self._rows.get(name) or self.tunables.row(*name.split("."))
                asked = name in self._rows and self._asked[name][place] and self._asked[name]["value"]
                found.append(number(asked or getattr(row, field, None)))
            if None not in found and found[0] + least > found[1]:
                said = "values: %s would be %d and %s %d: the first has to be %s than the other (%s)"
                raise InputError(said % (low, found[0], high, found[1], "less" if least else "not more", place))

    def selects(self, name):
        return not self.params["values"] or name in self.params["values"]

    def observe(self, name):
        command, tunable = name.split(".")
        row, subject = self.tunables.row(command, tunable), Subject(name)
        if row is None:
            subject.gone = "this level of AIX no longer has it"
            return subject
        self._rows[name], entry = row, self._asked.get(name, _FIELDS)
        keys = ["%s %s" % (name, place) for place in ("running", "stored", "live update")]
        # that of a restricted one may be this word
        stored = self.tunables.stored(NEXT_BOOT, command, tunable)
        stored = row.boot if stored == "RESTRICTED" else stored
        waits = row.kind == "R" or not entry["running"] or (self.restoring and keys[0] not in self.remembered)
        running = Knob(keys[0], RUNNING, name, keys[waits], row.current, follows=waits)
        subject.knobs = [Knob(keys[1], STORED, name, keys[1], stored), running]
        if keys[2] in self.remembered if self.restoring else row.kind == "R" and self._has_live_update():
            live = self.tunables.stored(LIVE_UPDATE, command, tunable)
            subject.knobs.append(Knob(keys[2], STORED, "live update", keys[2], live))
        if waits or row.kind == "I":
            subject.restart = "reboot"
        subject.conflicts = startup.other_tunables(self.once, command, tunable)
        subject.remarks = self._remarks(name, row, entry) + self.tunables.noticed.get((command, tunable), [])
        return subject

    def _has_live_update(self):
        level = system.level(self.host)
        return level is None or level.release >= _LIVE_UPDATE_RELEASE

    def _remarks(self, name, row, entry):
        if self.restoring:
            return []
        found = [_OF_TYPES[row.kind]] if row.kind in _OF_TYPES else []
        if not entry["stored"] and self._plain(row.boot) != entry["value"]:
            found.append("only the running value is asked for: it is lost at the next boot")
        command, tunable = name.split(".")
        if command == "no" and tunable in tunables.OF_INTERFACES:
            found += [
                "%s has %s %s of its own, which counts there" % (one, tunable, values[tunable])
                if tunable in values
                else "no value is overridden on %s" % one
                for one, values in sorted(self._of_interfaces.items())
            ]
        return found

    # plan

    def want(self, subject):
        entry = self._asked[subject.name]
        subject.wanted = {"state": "present", "value": entry["value"], "reason": entry["reason"]}
        if not subject.knobs:
            return
        row, value = self._rows[subject.name], entry["value"]
        (stored, running), live = subject.knobs[:2], subject.knobs[2:]
        default, absent = self.same(stored, value, row.default), self._plain(stored.now) is None
        kept = default and absent or self.same(stored, stored.now, value)
        why = self._why_left(subject.name, row, entry)
        texts, numbers = {row.current, stored.now} - {None, DEFAULT}, number(row.default) is not None
        if any(not _VALUE.match(text) or (numbers and number(text) is None) for text in texts):
            why = "its current value is not understood"
        if why:
            self._left[subject.name] = why
            if not kept or not self.same(running, running.now, value):
                subject.observed = True
                subject.reason = "only observed: %s is %s, and %s for the next boot; %s is asked for: %s" % (
                    (subject.name, row.current, row.boot, value, why)
                )
            return
        file, boot = number(row.default if absent else stored.now), number(row.boot)
        if entry["stored"] and None not in (file, boot) and file != boot and not self.params["force"]:
            subject.notes.append(
                "%s has %d for the next boot, and %s -x says %d: nothing is set (force: true does)"
                % (NEXT_BOOT, file, subject.name.split(".")[0], boot)
            )
            return
        if entry["stored"] and not kept:
            # a default is not a line, for defaults change with the level
            stored.wanted = None if default else value
            for knob in live:
                knob.wanted = stored.wanted
        if entry["running"] and not running.follows:
            running.wanted = value

    def _why_left(self, name, row, entry):
        """Why a tunable is only observed; empty if it may be set."""
        command, tunable = name.split(".")
        closed = tunable not in self.tunables.open_names(command)
        lower = name == "no.sb_max" and (number(entry["value"]) or 0) < (number(row.current) or 0)
        reasons = (
            (self._held, "pre520tune of sys0 is enable, so scripts such as /etc/rc.net hold the values"),
            (row.kind == "B", "it needs bosboot -ad /dev/ipldevice and a reboot, which are never run here"),
            (row.kind not in ("B", "C", "D", "I", "M", "R"), "its type %s is not known here" % row.kind),
            (name == "no.use_isno", "it decides whether values of interfaces count"),
            (closed and not entry["restricted"], "it is restricted: restricted: true in its entry sets it"),
            (
                (lower or (command in _RISKY and _RISKY[command].match(tunable))) and not entry["risky"],
                "it can harm a running system: risky: true in its entry sets it",
            ),
        )
        return next((reason for applies, reason in reasons if applies), "")

    def follow(self, subject):
        """Running values that only a boot brings: of type R, and lower ones of type I."""
        for running in subject.at(RUNNING):
            row, stored = self._rows[subject.name], subject.at(STORED)[:1]
            if subject.name in self._left or not stored:
                continue
            boot = stored[0].wanted if running.wanted == running.now else running.wanted
            boot = row.default if boot in (None, DEFAULT) else boot
            now, then = number(running.now), number(boot)
            if row.kind == "I" and None not in (now, then) and then < now:
                running.follows = True
            # a negative default leaves the value to the system
            if running.follows and then is not None and (then >= 0 or boot != row.default):
                running.wanted = boot

    def boot(self, subject, stored):
        default, text = self._rows[subject.name].default, stored.get(subject.name)
        return {subject.name: default if self._plain(text) is None else text}, []

    # act

    def in_order(self, subjects, stored):
        """So that the rule of a pair holds after each step: a higher one that rises goes first, one that falls last."""

        def place(subject):
            level = sum(1 for _low, high, _least in _PAIRS if high == subject.name)
            for knob in subject.at(STORED if stored else RUNNING)[:1] if level else ():
                default = self._rows[subject.name].default
                texts = [default if self._plain(text) is None else text for text in (knob.now, knob.wanted)]
                now, then = map(number, texts)
                return -level if None not in (now, then) and then > now else level
            return level

        return sorted(subjects, key=place)

    def clean(self):
        super().clean()
        self.tunables.forget()  # it was seen before the lock

    def steps(self, subject, knobs):
        return [knobs]

    def set_together(self, subject, knobs):
        command, tunable = subject.name.split(".")
        if knobs[0].place == RUNNING:
            said = self.tunables.set_running(command, tunable, knobs[0].wanted)
        elif knobs[0].item != subject.name:
            raise HostError("%s: only with that of the next boot, which is left alone" % subject.title(knobs[0].item))
        else:
            live, said = self.tunables.store(command, tunable, knobs[0].wanted)
            for knob in subject.knobs:
                # planned in case, and not asked for by this AIX
                if knob.place == STORED and knob.item != subject.name and not live and not self.restoring:
                    knob.wanted = knob.now
        found = self.observe(subject.name).values()
        self.tunables.forget()
        for knob in knobs:
            if not self.same(knob, found.get(knob.key), knob.wanted):
                if not self.same(knob, found.get(knob.key), knob.now):
                    # one that AIX has rounded would look like somebody else's
                    put_back = self.tunables.set_running if knob.place == RUNNING else self.tunables.store
                    with contextlib.suppress(HostError):
                        put_back(command, tunable, knob.now)
                values = tuple(self.show(knob, text) for text in (found.get(knob.key), knob.wanted))
                raise HostError("%s (%s) is %s, and not %s, after %s" % (subject.name, knob.place, *values, said))

    # texts

    @staticmethod
    def _plain(text):
        """A value as it is compared; DEFAULT in a file acts like a missing line."""
        return None if text in (None, DEFAULT) else str(int(text)) if number(text) is not None else text

    def same(self, knob, one, other):
        # no line for DEFAULT is right, but not DEFAULT for no line
        return self._plain(one) == self._plain(other) and (other is not None or one is None)

    def halfway(self, knob, text, texts):
        """-r -d may leave a line with the default, which means the same as no line."""
        default = self._rows[knob.item].default if knob.item in self._rows else DEFAULT
        return knob.place == STORED and None in texts and self._plain(text) in (None, self._plain(default))

    def current(self, entries):
        """A boot makes a stored value the running one, which then is a value of this collection too."""
        found = dict(entries)
        for key, entry in entries.items():
            stored = entries.get(re.sub(" running$", " stored", key))
            if stored is not None and stored is not entry:
                brought = [text for text in stored["ours"] if number(text) is not None and text not in entry["ours"]]
                found[key] = dict(entry, ours=entry["ours"] + brought)
        return found

    def legible(self, key, text):
        match = _KEY.match(key)
        return bool(match) and (_VALUE.match(text) is not None if text is not None else match.group(1) != "running")

    def _temporaries(self):
        return [path for file in (NEXT_BOOT, LIVE_UPDATE) for path in temporaries(self.host, file)]
