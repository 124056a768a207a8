# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMC for SAP on Linux: the named instances open SMC sockets, and the kernel has the tables for SMC-R and SMC-D.

Subjects: the profile of each named instance (_smc/instances.py), and the kernel's module, PNET ids and user-defined
EIDs (_smc/network.py).
"""

import contextlib
import platform

from .._engine.tuning import RUNNING, STORED, Subject
from .._host.host import HostError
from .._sap.profile import legible, value_of
from ._profiles.files import RESTART_OPTIONS, ProfileTuning
from ._profiles.subjects import title
from ._smc import instances as preload
from ._smc.network import Network, kernel_ready
from ._smc.requests import OPTIONS

_NO_FALLBACK = "%s, and %s has no fallback: every TCP socket of %s"
_WILL_FAIL = " fails from its next start on; boot a kernel with SMC, or take the tuning smc back"
_GONE = "%s is gone from the folders of the dynamic linker, so %s uses TCP from its next start on: install smc-tools"
_HOW_TO_RESTART = "to restart %s, as %s: %s Stop, then %s RestartService, then %s Start; or smc_restart: [%s]"
_IGNORED = (
    "%s was started with %s=%s, and no process of it has loaded the library: see what the dynamic linker says in the "
    "files sapstart.log and dev_* of its work folder"
)


class Smc(ProfileTuning):
    """SMC of one host. params: the module's, see plugins/modules/smc.py."""

    name = "smc"
    restart = "instance"
    sources = (
        "Linux kernel, net/smc",
        "smc-tools: smc_run, smc_pnet, smcr, smcd",
        "RFC 7609 (SMC-R version 1)",
        "IBM Documentation, Linux on IBM Z: setting up SMC",
    )
    options = dict(OPTIONS, instances=dict(type="list", elements="str", default=[]), **RESTART_OPTIONS)

    def __init__(self, host, params):
        # first: a mistake in the request needs no look at the host
        self.network = Network(host, params)
        super().__init__(host, params)
        self.drop_ins = tuple(self.network.drop_ins)
        self._profiles = {}
        if self.restoring:
            self._meant = set(preload.chosen(host, params["instances"], self.known, self.users))

    @classmethod
    def unattended(cls, params):
        # an instance in the request may no longer exist then
        return dict(super().unattended(params), instances=[], restart=[])

    # which subjects

    def select(self):
        reason = ""
        if not any(self.params[option] for option in ("instances", "pnet_ids", "ueids")):
            reason = "no instance, PNET ID or UEID is asked for"
        if not self.host.capture and platform.system() != "Linux":
            reason = "SMC sockets are a facility of Linux; AIX has the tuning smc_r"
        if reason:
            return [Subject("all", verdict="not_applicable", reason=reason)]
        self._profiles = preload.chosen(self.host, self.params["instances"], self.known, self.users)
        subjects = [self.observe(path) for path in self._profiles]
        self._refuse(subjects)
        return self.network.subjects() + subjects

    def _refuse(self, subjects):
        """Raise HostError if the profile of an instance would get a line with which it could not work."""
        new = [subject for subject in subjects if subject.at(STORED)[0].now is None]
        names, without = ", ".join(title(subject.instance) for subject in new), kernel_ready(self.host) if new else ""
        if without:
            raise HostError("nothing was changed: " + _NO_FALLBACK % (without, preload.LIBRARY, names) + " would fail")
        if new and preload.is_missing(self.host):
            raise HostError(
                "nothing was changed: %s is in none of the folders in which the dynamic linker looks (/lib64, "
                "/usr/lib64, /usr/lib and so on), so %s would not use SMC: install smc-tools" % (preload.LIBRARY, names)
            )

    def selects(self, name):
        return self.network.owns(name) or super().selects(name)

    def observe(self, name):
        if self.network.owns(name):
            self.network.remembered = self.remembered
            return self.network.subject(name)
        if self.restoring and self.params["force"] and not self.host.exists(name):
            return Subject(name)
        readers = [] if self.users.is_default(name) else self.users.of(name)
        return preload.observe(self.host, name, (readers + [None])[0], self.users.default_of(name))

    def marked(self):
        return self.network.marked()

    def legible(self, key, text):
        return self.network.legible(key, text) if self.network.owns_key(key) else legible(text)

    # files of killed runs

    def _temporaries(self):
        return sorted(set(super()._temporaries()) | set(self.network.temporaries()))

    def littered(self):
        return super().littered() or self.network.interrupted()

    def clean(self):
        super().clean()
        # if that is refused, the next run tries again
        with contextlib.suppress(OSError, HostError):
            self.network.recover()

    def profiles(self):
        return set(self._profiles) | {key.split(" ")[0] for key in self.remembered if not self.network.owns_key(key)}

    # plan

    def want(self, subject):
        if self.network.owns(subject.name):
            self.network.want(subject)
            return
        subject.wanted = {"state": "present", preload.VARIABLE: preload.LIBRARY}
        for knob in subject.at(STORED):
            if knob.now is None:
                knob.wanted = preload.wanted_text(subject)
            else:
                subject.notes += self._dangers(subject)

    def _dangers(self, subject):
        """What is wrong although the profile has the line."""
        name, without, found = title(subject.instance), kernel_ready(self.host), []
        if without:
            found = ["DANGER: " + _NO_FALLBACK % (without, preload.LIBRARY, name) + _WILL_FAIL]
        elif preload.is_missing(self.host):
            found = [_GONE % (preload.LIBRARY, name)]
        if not subject.effective():
            last = [one for one in subject.lines if one.variable == preload.VARIABLE][-1]
            words = (last.directive, last.line, preload.VARIABLE, preload.VARIABLE, name, preload.LIBRARY)
            found.append("%s (line %d) sets %s again without %%(%s), so %s starts without %s" % words)
        return found

    def follow(self, subject):
        if self.network.owns(subject.name) or subject.verdict is not None or not subject.knobs:
            return
        planned = subject.at(STORED)
        for knob in subject.at(RUNNING):
            if knob.key in subject.unknown:
                continue
            wanted, name = planned and subject.loads(planned[0]), title(knob.instance)
            knob.wanted = preload.LIBRARY if wanted else preload.NOT_LOADED
            # with the variable and without the library, another restart does not help
            knob.due = name in self.params["restart"] and not (wanted and subject.ignored)
            if not self.same(knob, knob.now, knob.wanted) and not knob.due:
                call = "sapcontrol -nr %s -function" % knob.instance.number
                how = _HOW_TO_RESTART % (name, knob.instance.user, call, call, call, name)
                subject.remarks.append(self.restarts.refusal(knob.instance) or how)
        subject.remarks += subject.told + ([] if self.restoring else preload.not_for_setuid(self.host))

    def lacking(self, subject):
        words = (preload.VARIABLE, preload.LIBRARY)
        return [_IGNORED % ((title(subject.instance),) + words)] if getattr(subject, "ignored", False) else []

    def boot(self, subject, stored):
        if self.network.owns(subject.name):
            return self.network.boot(subject, stored)
        values = {item: preload.preloaded(text) for item, text in stored.items() if text is not None}
        return values, []

    # act

    def set(self, subject, knob):
        self.network.set(subject, knob)

    def set_together(self, subject, knobs):
        if self.network.owns(subject.name):
            super().set_together(subject, knobs)
        elif knobs[0].place == RUNNING:
            if knobs[0].wanted == preload.LIBRARY:
                self.network.load()
            self.restarts.restart(knobs[0].instance, undo=knobs[0].wanted == knobs[0].now)
        else:
            self._store(subject, knobs[0])

    def _store(self, subject, knob):
        if knob.wanted is not None:
            # without the kernel's module no process of the instance gets a socket
            try:
                self.network.load()
            except HostError as error:
                raise HostError("%s was not changed: %s" % (subject.name, error), error.errno) from error
        readers = [subject.instance] if subject.instance else []
        self.store(subject, preload.changes(self._present(subject), knob.wanted), readers)

    @staticmethod
    def _present(subject):
        """The journal text of the line in the profile as this run left it."""
        return preload.preload_knob(subject.name, subject.profile, preload.environment.settings(subject.profile)).now

    # texts

    def same(self, knob, one, other):
        if self.network.owns_key(knob.key):
            return self.network.same(knob, one, other)
        return value_of(one) == value_of(other) if knob.place == STORED else one == other

    def value(self, knob, text):
        if self.network.owns_key(knob.key):
            return self.network.value(knob, text)
        return preload.preloaded(text) if knob.place == STORED else text

    def explain(self, knob, now):
        if self.network.owns_key(knob.key):
            return self.network.explain(knob, now)
        if knob.place == RUNNING and knob.wanted == preload.LIBRARY:
            return "the processes were started without the variable %s" % preload.VARIABLE
        return ""
