# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decisions of an enqueue server, for its stand-in.

Modes: E exclusive, which its owner may ask for again; X exclusive, once; S shared; O optimistic, which turns into E for
the first of its owners who asks, and is then lost to the others.
"""


class Table:
    """Locks by name and owner."""

    def __init__(self, most):
        self._most = most
        self._holders = {}  # {name: {owner: [mode, count]}}
        self.count = 0

    def lock(self, mode, owner, name):
        """Ask for a lock: "granted", "full" or "held".

        It is held by another owner, or by the same one in a mode that cannot be combined with the new one.
        """
        holders = self._holders.get(name)
        if holders is None:
            if self.count >= self._most:
                return "full"
            self._holders[name] = {owner: [mode, 1]}
            self.count += 1
            return "granted"
        if mode == "X" or any(held[0] == "X" for held in holders.values()):
            return "held"
        others = [held[0] for who, held in holders.items() if who != owner]
        mine = holders.get(owner)
        if "E" in others:
            return "held"
        if mode == "E" and others and (mine is None or mine[0] != "O" or set(others) != {"O"}):
            return "held"
        return self._add(holders, mine, mode, owner)

    def _add(self, holders, mine, mode, owner):
        if mode == "E" and mine is not None and mine[0] == "O":
            # The first owner who changes the object: the others lose their optimistic locks and have to read again.
            self.count -= len(holders) - 1
            holders.clear()
            holders[owner] = ["E", mine[1]]
            return "granted"
        if mine is None:
            if self.count >= self._most:
                return "full"
            holders[owner] = [mode, 1]
            self.count += 1
            return "granted"
        mine[0] = "E" if "E" in (mine[0], mode) else mine[0]
        mine[1] += 1
        return "granted"

    def unlock(self, owner, name):
        """Release a lock once; False if the owner does not hold it."""
        holders = self._holders.get(name)
        mine = holders.get(owner) if holders else None
        if mine is None:
            return False
        mine[1] -= 1
        if mine[1] == 0:
            self.drop(owner, name)
        return True

    def drop(self, owner, name):
        """Remove a lock, however often it was granted."""
        holders = self._holders.get(name)
        if holders and owner in holders:
            del holders[owner]
            self.count -= 1
            if not holders:
                del self._holders[name]

    def held(self, owner, name):
        """(mode, count) of an owner's lock, or None."""
        mine = self._holders.get(name, {}).get(owner)
        return tuple(mine) if mine else None

    def entries(self):
        """(mode, owner, name, count) of every lock."""
        for name, holders in self._holders.items():
            for owner, (mode, count) in holders.items():
                yield mode, owner, name, count
