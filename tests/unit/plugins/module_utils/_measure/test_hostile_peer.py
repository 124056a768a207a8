# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A peer that answers anything: each field of each reply with wrong types and extreme values ends in one sentence."""

import contextlib
import copy
import itertools
import json
import os
import resource
import signal
import socket
import threading
import time

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import wire
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import clients
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import entry_point
from measuring import OPTIONS, PATIENCE, errors, round_of

CPU = {"user_s": 12.5, "system_s": 3.25, "idle_s": 900.0, "softirq_s": 0.5, "steal_s": 0.25, "ncpu": 4}
METER = {"meter": "0123456789abcdef", "counted_s": 8.0, "physc_s": 1.5, "entitlement": 2.0}
SAMPLE = {
    "mono_s": 1000.5,
    "wall_s": 1795618872.25,
    "cpu": CPU,
    "cpu_source": "procfs",
    "process_s": 0.5,
    "retransmits": 7,
    "received_rps": [1, 2, 3, 4],
}
FINGERPRINT = {
    "hostname": "sapapp2",
    "system": "Linux",
    "arch": "s390x",
    "kernel": "6.4.0-150600.23.47-default",
    "machine": "3931",
    "cpus_online": 4,
    "python": "3.6.15",
    "boot_id": "0d7ebb2c-7f0e-4a2b-9a64-6a1d4c1b9b5e",
    "interface": "enc1000",
    "mtu": 1500,
    "address": "10.0.0.2",
    "clock_step_s": None,
    "rps_cpus": {"rx-0": "00000000,0000000f"},
    "smc_r": "off",
    "entitlement": "3.2 cores (diag_204)",
}
HELLO = {"ok": True, "protocol": 1, "version": "1", "fingerprint": FINGERPRINT}
HONEST = {
    "hello": HELLO,
    "sample": {"ok": True, "sample": SAMPLE},
    "exchange": {"ok": True},
    "stream": {"ok": True},
    "stop": {"ok": True},
}
ON_AIX = {"ok": True, "sample": dict(SAMPLE, cpu=dict(CPU, softirq_s=None, steal_s=None, tool="lparstat", **METER))}
# What is allowed where. A trailing ? stands for null or missing.
FIELDS = {
    ("", "flag"): "ok",
    ("", "text?"): "error",
    ("", "fingerprint"): "fingerprint",
    ("", "object"): "sample",
    ("fingerprint.", "text?"): "hostname system arch kernel machine python boot_id interface address smc_r entitlement",
    ("fingerprint.", "whole?"): "cpus_online mtu",
    ("fingerprint.", "signed?"): "clock_step_s",
    ("fingerprint.", "masks?"): "rps_cpus",
    ("fingerprint.", "text"): "rps_cpus.rx-0",
    ("sample.", "text?"): "cpu_source",
    ("sample.", "whole?"): "retransmits",
    ("sample.", "whole"): "received_rps[0]",
    ("sample.", "list?"): "received_rps",
    ("sample.", "object?"): "cpu",
    ("sample.", "number"): "mono_s wall_s cpu.user_s cpu.system_s cpu.idle_s cpu.counted_s",
    ("sample.", "number?"): "process_s cpu.softirq_s cpu.steal_s cpu.physc_s cpu.ncpu cpu.entitlement",
    ("sample.", "text"): "cpu.meter",
}
KINDS = {top + name: kind for (top, kind), names in FIELDS.items() for name in names.split()}
# as JSON, because Python refuses to write some of them
EXTREMES = ["null", "true", "[]", "{}", "0", "-1", "0.5", "1e400", "-1e400", "NaN", "Infinity", "1e300"]
EXTREMES += ["[-1]", "[4294967296]", "[1.5]"]
EXTREMES += ['""', '"x"', '"1"', '"\\u001b[31mred"', '"a\\nb"', '"\\u202e"', '"\\ud800"', json.dumps("x" * 20000)]
EXTREMES += ["9" * 4000, "[" * 900 + "]" * 900, '{"get": {"a": 1}}', '["x"]', '{"rx-0": 1}']
EXTREMES += ["[%s]" % ",".join(["{}"] * 9000), "{%s}" % ",".join('"q%d": ""' % number for number in range(4000))]


# Which of them an honest peer can send, by the kind of the field.
GOOD = {
    "flag": ["true"],
    "text": ['""', '"x"', '"1"'],
    "number": ["0", "0.5"],
    "signed": ["0", "-1", "0.5"],
    "whole": ["0"],
    "list": ["[]"],
    "object": [],
    "fingerprint": ["{}", '{"get": {"a": 1}}', '{"rx-0": 1}'],
    "masks": ["{}"],
}


def allowed(kind, text):
    return text in GOOD[kind.rstrip("?")] or (text == "null" and kind.endswith("?"))


def fields(value, name=""):
    """(name, function that puts JSON text in its place) of every field inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        one = "%s[%d]" % (name, key) if isinstance(value, list) else (name + "." + key if name else key)
        yield one
        yield from fields(inner, one)


def changed(reply, name, text=None):
    """The line of a reply with text in the place of one field, or without that field."""
    copied = copy.deepcopy(reply)
    at, keys = copied, name.replace("[", ".[").split(".")
    for key in keys[:-1]:
        at = at[key]
    last = int(keys[-1][1:-1]) if keys[-1].startswith("[") else keys[-1]
    if text is None:
        del at[last]
        return line(copied)
    at[last] = "@@"
    return line(copied).replace(b'"@@"', text.encode("ascii"))


@contextlib.contextmanager
def peer(answer, apart=False):
    """A session of a server that sends answer(operation), bytes or an iterator of them, in the place of replies.

    None: it closes. apart: in a process of its own, for tests that fork.
    """
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(50)
    port, pid, opened = listener.getsockname()[1], None, []
    if apart:
        pid = os.fork()
        if pid == 0:
            try:
                accept(listener, answer, opened)
            finally:
                os._exit(0)
    else:
        in_thread(accept, listener, answer, opened)
    try:
        yield {"tool": "pingpong", "version": "1", "port": port, "control_port": port, "token": "x", "lifetime": 60}
    finally:
        if apart:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        else:
            for sock in [listener] + opened:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        listener.close()


def in_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.daemon = True
    thread.start()


def accept(listener, answer, opened):
    with contextlib.suppress(OSError):
        while True:
            opened.append(listener.accept()[0])
            in_thread(serve, opened[-1], answer)


def serve(sock, answer):
    with sock, contextlib.suppress(OSError), sock.makefile("rb") as lines:
        lines.readline()
        for text in lines:
            data = answer(json.loads(text.decode("ascii"))["op"])
            if data is None:
                return
            for piece in [data] if isinstance(data, bytes) else data:
                sock.sendall(piece)


def line(value):
    return json.dumps(value).encode("ascii") + b"\n"


def target(session):
    return wire.Target("127.0.0.1", session["port"], session["token"])


def sentence(error, session):
    """The text of an error, which is one short sentence that names the peer."""
    text = str(error)
    assert text.isprintable() and len(text) < 500
    assert "127.0.0.1" in text and str(session["port"]) in text
    return text


@pytest.mark.parametrize("reply", [HONEST[name] for name in sorted(HONEST)] + [ON_AIX], ids=sorted(HONEST) + ["AIX"])
def test_every_field_of_every_reply(reply):
    operation = next((name for name, honest in HONEST.items() if honest is reply), "sample")
    replies, tried = [line(reply)], 0
    with peer(lambda _operation: replies[0]) as session:
        channel = wire.Channel(target(session))
        assert channel.request(operation) == HEARD[operation, "meter" in str(reply)]
        for name in [name for name in fields(reply) if name not in DROPPED]:
            kind = KINDS[base(name)]
            for text in [None] + EXTREMES:
                replies[0] = changed(reply, name, text)
                if len(replies[0]) > wire.MAX_LINE:
                    continue
                tried += 1
                if (text is None and (kind.endswith("?") or name in PARTS)) or (text and allowed(kind, text)):
                    channel.request(operation)
                    continue
                with pytest.raises(MeasureError) as refused:
                    channel.request(operation)
                found = sentence(refused.value, session)
                words = ("%s is missing",) if text is None else (" %s", "key of %s", "%s[")
                assert any(word % name in found for word in words), (name, text, found)
        channel.close()
    assert tried > 20


DROPPED = {"protocol", "version", "sample.cpu.tool"}
# Of these there may be any number; without a meter, the other end has no AIX.
PARTS = {"fingerprint.rps_cpus.rx-0", "sample.cpu.meter"} | {"sample.received_rps[%d]" % number for number in range(4)}
HEARD = {(name, False): {key: value for key, value in HONEST[name].items() if key not in DROPPED} for name in HONEST}
HEARD["sample", True] = {
    "ok": True,
    "sample": dict(SAMPLE, cpu={key: value for key, value in ON_AIX["sample"]["cpu"].items() if key != "tool"}),
}


def base(name):
    """The name in KINDS of a field: all items of a list are alike."""
    return name.partition("[")[0] + "[0]" if "[" in name else name


def test_what_an_honest_peer_does_not_send_is_dropped():
    reply = dict(HELLO, ansible_facts={"x": 1}, fingerprint=dict(FINGERPRINT, evil="{{ lookup('pipe', 'id') }}"))
    with peer(lambda _operation: line(reply)) as session:
        channel = wire.Channel(target(session))
        found = channel.request("hello")
        channel.close()
    assert found == HEARD["hello", False]


@pytest.mark.parametrize("text", ["", "null", "[]", "7", '"get"', "{", '{"ok": ', "\x00", "[" * 60000, '{"a":' * 12000])
def test_a_reply_that_is_not_an_object(text):
    found = refusal(text.encode("ascii") + b"\n")
    assert "does not speak the control protocol" in found


def test_a_number_that_python_does_not_read_and_a_peer_that_closes():
    found = refusal(b'{"ok": %s}\n' % (b"9" * 60000))
    assert "does not speak the control protocol" in found or " ok is " in found
    assert refusal(None)


def refusal(reply):
    with peer(lambda _operation: reply) as session, pytest.raises(MeasureError) as refused:
        wire.Channel(target(session)).request("hello")
    return sentence(refused.value, session)


def test_a_reply_of_gigabytes_costs_no_memory():
    with peer(lambda _operation: itertools.repeat(b"x" * 65536, 1 << 16)) as session:
        lines = wire.open_lines(target(session))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(MeasureError, match="a line of more than 65536 bytes") as refused:
            wire.ask(lines, "hello")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024
        sentence(refused.value, session)
        lines.sock.close()


def test_one_byte_after_the_other_does_not_stretch_the_time():
    """Each byte comes within the time limit; the whole line does not."""
    with peer(lambda _operation: iter(drop, None)) as session:
        lines = wire.open_lines(target(session), 0.5)
        with pytest.raises(socket.timeout):
            wire.ask(lines, "hello")
        assert lines.sock.gettimeout() == 0.5
        lines.sock.close()


def drop():
    time.sleep(0.05)
    return b" "


SMALL = {"runs": 2, "warmup": 0}
ROUNDS = {
    "no fingerprint": ({"hello": {"ok": True}}, "fingerprint is missing"),
    "text": ({"hello": {"ok": True, "fingerprint": "x"}}, "fingerprint is 'x'; it must be an object"),
    "a sample of text": ({"sample": {"ok": True, "sample": "x"}}, "sample is 'x'"),
    "no CPU time": ({"sample": {"ok": True, "sample": dict(SAMPLE, cpu={"user_s": 1})}}, "cpu.system_s is missing"),
    "an exchange of text": ({"exchange": {"ok": "yes"}}, "reply to exchange: ok is 'yes'"),
    "escapes": ({"exchange": {"ok": False, "error": "\x1b]0;x"}}, "error is '\\x1b]0;x'"),
    "a refusal that is an object": ({"exchange": {"ok": False, "error": {"get": 1}}}, "error is an object"),
}


@pytest.mark.parametrize("changed, expected", ROUNDS.values(), ids=ROUNDS.keys())
def test_a_round_against_it_has_failed_runs_with_that_sentence(changed, expected):
    with peer(lambda operation: line(dict(HONEST, **changed)[operation]), apart=True) as session:
        (record,) = round_of(session, **SMALL)
        assert len(errors(record)) == SMALL["runs"]
        for text in errors(record):
            assert expected in sentence(text, session)
    assert not any(run["ok"] for run in record["runs"])
    # by this the role measure recognizes a round that had no server
    assert (record["fingerprint"]["server"] is None) is ("exchange" not in changed)


def backwards(name, sample):
    """The answers of a peer whose clock of this name goes back by a second at each request."""
    clock = [500.0]

    def answer(operation):
        clock[0] -= 1
        (sample["cpu"] if name == "counted_s" else sample)[name] = clock[0]
        return line(dict(HONEST, sample={"ok": True, "sample": sample})[operation])

    return answer


def test_a_clock_that_runs_backwards_gives_no_negative_duration():
    for name, sample in (("mono_s", dict(SAMPLE)), ("counted_s", copy.deepcopy(ON_AIX["sample"]))):
        with peer(backwards(name, sample), apart=True) as session:
            (record,) = round_of(session, **SMALL)
        assert [text for text in errors(record) if "its %s ran backwards" % name in text] == errors(record)


def test_a_connection_that_measures_gets_no_more_than_ok():
    with peer(lambda _operation: line({"ok": True, "x": "y" * 1000})) as session:
        clients.open_exchange(clients.Job(target(session), 10, 10, PATIENCE)).close()
    answer = {"ok": 1}
    with pytest.raises(MeasureError, match="ok is 1; it must be"), peer(lambda _operation: line(answer)) as session:
        clients.open_exchange(clients.Job(target(session), 10, 10, PATIENCE))


SESSION = {"tool": "pingpong", "version": "1", "address": "::", "port": 3298, "control_port": 3299, "token": "0f" * 16}
SESSION.update(pid=77, start_time="ticks 7", lifetime=3600, started="2026-01-01T00:00:00.000000Z")
# The kinds of the fields; those that are wrong as 0 take null only.
SESSION_KINDS = dict.fromkeys(SESSION, "text?")
SESSION_KINDS.update(tool="text", version="text", token="text", port="whole", control_port="whole")
SESSION_KINDS.update(pid="object?", lifetime="object?")


def checked(session):
    entry_point.check(dict(OPTIONS, session=session, address="app2"))


@pytest.mark.parametrize("name", sorted(SESSION))
def test_every_field_of_a_session(name):
    checked(SESSION)
    checked({key: value for key, value in SESSION.items() if key != name or not SESSION_KINDS[name].endswith("?")})
    limit = {"port": 65535, "control_port": 65535, "pid": 2**31 - 1, "lifetime": 2**31 - 1}.get(name, 0)
    checked(dict(SESSION, **({name: limit} if limit else {})))
    for text in EXTREMES + [str(limit + 1)] * bool(limit):
        with contextlib.suppress(ValueError):  # Python refuses the many digits
            value = json.loads(text)
            if allowed(SESSION_KINDS[name], text):
                checked(dict(SESSION, **{name: value}))
                continue
            words = "the session of the server at app2 is wrong: %s is " % name
            with pytest.raises(MeasureError, match=words) as found:
                checked(dict(SESSION, **{name: value}))
            assert str(found.value).isprintable() and len(str(found.value)) < 300
