# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""state: confirmed: values on probation become values of the main journal. Sets nothing."""

import errno

from .._host.host import HostError
from .run import Run


class Confirmation:
    """One call with state: confirmed. state: in which the values should be then; journal: the main one."""

    def __init__(self, tuning, journal, state="present", check_mode=False, force=False, complete=False):
        self.journal = journal
        self.check_mode = check_mode
        self.force = force
        self._run = Run(tuning, journal, state, check_mode=True, force=force, complete=complete)

    def run(self):
        """Returns {changed, failed, msg, tuning: [record], diff}. Raises InputError and HostError before any change."""
        probation = self.journal.probation()
        changed = False
        if self.check_mode:
            changed = self._merge(probation)
        elif probation.entries or self.journal.littered():
            self.journal.lock()
            try:
                changed = self._keep()
            finally:
                self.journal.close()
        return dict(self._run.verified(), changed=changed)

    def _keep(self):
        """Merge, then drop the checkpoint, then end its lease: killed in between, the next call does the rest.

        Returns whether there was anything to merge.
        """
        self._run.clean()
        probation = self.journal.probation()
        merged = self._merge(probation)
        if merged:
            self.journal.keep()
            probation.hand_over()
            probation.lease.end()
        return merged

    def _merge(self, probation):
        """Add the first values of the probation to those of the main journal; whether there are any."""
        for journal in (probation, self.journal):
            foreign = journal.foreign()
            if foreign and not self.force:
                raise HostError("nothing was changed: %s" % foreign, errno.EPERM)
        self._run.bring_up_to_date([probation, self.journal])
        return self.journal.merge(probation)
