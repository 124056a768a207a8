# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is closed where too many connections have not shown the token."""

import selectors
import socket

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import admission


class Visitors:
    """A listener in whose place connections come from any address, and the far ends of them."""

    def __init__(self, strangers):
        self._strangers = strangers
        self._next = None
        self.ends = []

    def accept(self):
        return self._next

    def come(self, address):
        near, far = socket.socketpair()
        far.settimeout(5)
        self._next = (near, (address, 1))
        self._strangers.accept(self)
        self.ends.append(far)
        return near

    def open(self):
        """The numbers of the connections that are not closed."""
        found = []
        for number, far in enumerate(self.ends):
            far.setblocking(False)
            try:
                assert far.recv(1) == b""
            except BlockingIOError:
                found.append(number)
        return found


@pytest.fixture
def strangers(monkeypatch):
    monkeypatch.setattr(admission, "MOST_OF_ADDRESS", 3)
    monkeypatch.setattr(admission, "MOST", 5)
    found = admission.Admission("secret", selectors.PollSelector())
    yield found
    found.close()


@pytest.fixture
def visitors(strangers):
    found = Visitors(strangers)
    yield found
    for far in found.ends:
        far.close()


@pytest.mark.parametrize(
    "addresses, stay",
    [("11111", [2, 3, 4]), ("211134", [0, 2, 3, 4, 5])],
    ids=["of one address the oldest", "of all the oldest of the busiest address"],
)
def test_who_goes(visitors, addresses, stay):
    for number in addresses:
        visitors.come("10.0.0." + number)
    assert visitors.open() == stay


@pytest.mark.parametrize(
    "sent, rest, stays",
    [
        ([b"secret\n"], b"", False),
        ([b"secret\n{}\n"], b"{}\n", False),
        ([b"sec", b"ret\n"], b"", False),
        ([b"sec"], None, True),
        ([b"Secret\n"], None, False),
        ([b"x" * 2000], None, False),
        ([b""], None, False),
    ],
)
def test_the_token(strangers, visitors, sent, rest, stays):
    near = visitors.come("10.0.0.1")
    for part in sent:
        if part:
            visitors.ends[0].sendall(part)
        else:
            visitors.ends[0].shutdown(socket.SHUT_WR)
        found = strangers.read(near)
    assert found == rest
    assert (near in strangers) is stays
    if rest is not None:
        near.close()
    elif not stays:
        assert near.fileno() == -1


def test_their_time(strangers, visitors, monkeypatch):
    assert strangers.expire() is None
    assert strangers.read(visitors.come("10.0.0.1")) is None and visitors.open() == [0]
    assert 0 < strangers.expire() <= admission.TOKEN_TIMEOUT
    monkeypatch.setattr(admission, "TOKEN_TIMEOUT", 0.0)
    visitors.come("10.0.0.2")
    assert strangers.expire() is not None
    assert visitors.open() == [0]
