# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A collections folder with this collection, in which one module is replaced."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]


def linked_collection(folder: Path, module: str, text: str) -> Path:
    """Make the collections folder; everything except the text of this module is a link into the checkout."""
    collections = folder / "collections"
    collection = collections / "ansible_collections" / "zpower" / "sap_tuning"
    (collection / "plugins" / "modules").mkdir(parents=True)
    (collection / "plugins" / "modules" / f"{module}.py").write_text(text, encoding="utf-8")
    for place in (CHECKOUT, CHECKOUT / "plugins", CHECKOUT / "plugins" / "modules"):
        for there in place.iterdir():
            here = collection / there.relative_to(CHECKOUT)
            if not here.exists() and not there.name.startswith("."):
                here.symlink_to(there)
    return collections
