# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads the table of tunings in the playbooks of this collection, without the user's doing."""

from ansible_collections.zpower.sap_tuning.plugins.callback.tunings import DOCUMENTATION as _DOCUMENTATION
from ansible_collections.zpower.sap_tuning.plugins.callback.tunings import CallbackModule as _Tunings

DOCUMENTATION = _DOCUMENTATION


class CallbackModule(_Tunings):
    CALLBACK_NAME = "zpower_tunings"
    CALLBACK_NEEDS_ENABLED = False
