# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tuning that writes SAP profiles, whose folders belong to another user: what killed runs left in them."""

import posixpath

from .._engine.tuning import Tuning
from .._sap.writing import clean, leftovers


class ProfileTuning(Tuning):
    """The base class of tunings whose subjects are profiles, beside others."""

    def profiles(self):
        """The paths of the profiles in this call and in the journal."""
        raise NotImplementedError

    def littered(self):
        return super().littered() or any(leftovers(self.host, folder) for folder in self._folders())

    def clean(self):
        super().clean()
        for folder in self._folders():
            if leftovers(self.host, folder):
                clean(self.host, folder)

    def _folders(self):
        return sorted({posixpath.dirname(path) for path in self.profiles()})
