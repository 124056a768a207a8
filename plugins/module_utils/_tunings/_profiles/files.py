# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tuning that writes SAP profiles and restarts instances: what sap_profile and smc have in common.

The folders of profiles belong to another user; killed runs may have left files in them.
"""

import posixpath
import time

from ..._engine.tuning import Tuning
from ..._host.host import HostError
from ..._sap import instances
from ..._sap.profile import marker
from ..._sap.sapcontrol import SapPfPar
from ..._sap.writing import clean, leftovers, write
from .requests import Users
from .restarts import Restarts, check_names
from .subjects import title


class ProfileTuning(Tuning):
    """The base class of tunings whose subjects are profiles, beside others."""

    def __init__(self, host, params):
        super().__init__(host, params)
        check_names(params)
        self.known = instances.instances(host)
        self.users = Users(host, self.known)
        self.restarts = Restarts(host, self.name, params)
        # on the way back, the subjects that the request names; empty for all
        self._meant = set()

    def selects(self, name):
        return not self._meant or name in self._meant

    def permit(self, subject):
        for instance in self._restarting(subject):
            refused = self.restarts.refusal(instance)
            if refused:
                raise HostError("%s was left alone: %s" % (subject.name, refused))
            subject.costs += self.restarts.lost_locks(instance)

    def _restarting(self, subject):
        """The instances that this run would restart for a subject."""
        found = {title(knob.instance): knob.instance for knob in self.changes(subject) if knob.due}
        return [found[name] for name in sorted(found)]

    def profiles(self):
        """The paths of the profiles in this call and in the journal."""
        raise NotImplementedError

    def store(self, subject, changes, readers):
        """Replace the profile of a subject; changes: see Profile.changed(). Raises HostError.

        readers: one of them checks the new profile with sappfpar, if it has a SAP kernel.
        """
        comment = marker(time.strftime("%Y-%m-%d", time.gmtime()), self.params.get("change") or "")
        new = subject.profile.changed(changes, comment)
        checkers = [one for one in readers if SapPfPar(self.host, one).available()][:1]
        write(self.host, subject.name, subject.profile.data(), new.data(), checkers)
        subject.profile = new

    def littered(self):
        return super().littered() or any(leftovers(self.host, folder) for folder in self._folders())

    def clean(self):
        super().clean()
        for folder in self._folders():
            if leftovers(self.host, folder):
                clean(self.host, folder)

    def _folders(self):
        return sorted({posixpath.dirname(path) for path in self.profiles()})
