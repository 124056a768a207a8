# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the checkout importable as ansible_collections.zpower.sap_tuning, from any folder."""

import contextlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(HERE))
COLLECTIONS = os.path.join(CHECKOUT, ".cache", "collections")
LINK = os.path.join(COLLECTIONS, "ansible_collections", "zpower", "sap_tuning")


def _link():
    os.makedirs(os.path.dirname(LINK), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.symlink(os.path.join("..", "..", "..", ".."), LINK)


_link()
for folder in (COLLECTIONS, os.path.join(HERE, "support")):
    if folder not in sys.path:
        sys.path.insert(0, folder)
