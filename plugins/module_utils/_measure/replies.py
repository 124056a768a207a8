# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one door for what a peer says, in requests, replies and its session: named fields within limits, no others.

Text is printable. No number is infinite or NaN. A null field and a missing one are the same.
"""

from .errors import MeasureError

_LONGEST = 255
# Six years of a machine with 2,000 CPUs; figures that are calculated from it stay below those that a record may have.
_MOST_SECONDS = 5e11
_MOST_CPUS = 65536
_MOST_FIELDS = 64
# A mask of this many CPUs has nine characters per 32 of them.
_LONGEST_MASK = _MOST_CPUS // 32 * 9


def _wrong(value, name, wanted):
    shown = {type(None): "missing", dict: "an object", list: "a list"}.get(type(value)) or ascii(value)[:60]
    return MeasureError("%s is %s; it must be %s" % (name, shown, wanted))


def read(value, spec, name):
    """A value as it has to be. Raises MeasureError.

    spec: (low, high) of a number, a whole one if low is; the length of a text; bool; {name: spec} of an object;
    (None, spec) if it may be missing; or a function of the value and its name.
    """
    if callable(spec) and spec is not bool:
        return spec(value, name)
    if isinstance(spec, dict):
        given, prefix = _object(value, name), name + "." if name else ""
        return {key: read(given.get(key), spec[key], prefix + key) for key in spec}
    if isinstance(spec, tuple) and spec[0] is None:
        return None if value is None else read(value, spec[1], name)
    if spec is bool:
        holds, wanted = isinstance(value, bool), "true or false"
    elif isinstance(spec, tuple):
        kinds, whole = ((int, float), "") if isinstance(spec[0], float) else (int, "whole ")
        holds = isinstance(value, kinds) and not isinstance(value, bool) and spec[0] <= value <= spec[1]
        wanted = "a %snumber from %g to %g" % ((whole,) + spec)
    else:
        holds = isinstance(value, str) and len(value) <= spec and value.isprintable()
        wanted = "printable text of at most %d characters" % spec
    if not holds:
        raise _wrong(value, name, wanted)
    return value


def _object(value, name):
    if isinstance(value, dict) and len(value) <= _MOST_FIELDS:
        return value
    raise _wrong(value, name, "an object of at most %d fields" % _MOST_FIELDS)


def _counters(value, name):
    """One of 32 bits per CPU."""
    # A line has no room for too many.
    if not isinstance(value, list):
        raise _wrong(value, name, "a list")
    return [read(item, (0, 2**32 - 1), "%s[%d]" % (name, index)) for index, item in enumerate(value)]


def _masks(value, name):
    """The CPUs of each queue."""
    queues = [read(queue, _LONGEST, "a key of %s" % name) for queue in _object(value, name)]
    return {queue: read(value[queue], _LONGEST_MASK, "%s.%s" % (name, queue)) for queue in queues}


def _cpu(value, name):
    return read(value, dict(_CPU, **_METERED) if isinstance(value, dict) and "meter" in value else _CPU, name)


def _hello(value, name):
    """What a host without AIX, IBM Z or SAP does not send is left out."""
    extra = {key: _NAME for key in ("smc_r", "entitlement", "sap_kernel") if key in _object(value, name)}
    return read(value, dict(_FINGERPRINT, **extra), name)


_SECONDS, _NAME, _CPUS = (0.0, _MOST_SECONDS), (None, _LONGEST), (None, (0.0, _MOST_CPUS))
_FINGERPRINT = dict.fromkeys(("hostname", "system", "arch", "kernel", "machine", "python", "boot_id"), _NAME)
_FINGERPRINT.update(cpus_online=(None, (0, _MOST_CPUS)), mtu=(None, (0, 2**31)), rps_cpus=(None, _masks))
_FINGERPRINT.update(interface=_NAME, address=_NAME, clock_step_s=(None, (-_MOST_SECONDS, _MOST_SECONDS)))
_CPU = {"user_s": _SECONDS, "system_s": _SECONDS, "idle_s": _SECONDS, "ncpu": _CPUS}
_CPU.update(softirq_s=(None, _SECONDS), steal_s=(None, _SECONDS))
_METERED = {"meter": _LONGEST, "counted_s": _SECONDS, "physc_s": (None, _SECONDS), "entitlement": _CPUS}
_SAMPLE = {"mono_s": _SECONDS, "wall_s": _SECONDS, "cpu": (None, _cpu), "cpu_source": _NAME}
_SAMPLE.update(process_s=(None, _SECONDS), retransmits=(None, (0, 2**64 - 1)), received_rps=(None, _counters))
# by operation; the other replies say no more than ok
_REPLIES = {"hello": {"fingerprint": _hello}, "sample": {"sample": _SAMPLE}}
_SESSION = dict.fromkeys(("tool", "version", "token"), _LONGEST)
_SESSION.update(dict.fromkeys(("address", "start_time", "started"), _NAME))
_SESSION.update(dict.fromkeys(("port", "control_port"), (0, 65535)))
_SESSION.update(dict.fromkeys(("pid", "lifetime"), (None, (1, 2**31 - 1))))


def heard(reply, operation, peer):
    """The fields of a reply, an object, to an operation.

    peer: who sent it, for MeasureError with the first field that is wrong, or with the server's sentence if it refuses.
    """
    try:
        if read(reply.get("ok"), bool, "ok"):
            return read(reply, dict(_REPLIES.get(operation, {}), ok=bool), "")
        reason = read(reply.get("error"), _NAME, "error") or "no reason given"
    except MeasureError as error:
        raise MeasureError("%s sent a wrong reply to %s: %s" % (peer, operation, error)) from error
    raise MeasureError("the server refused: %s" % reason)


def check_session(session, address):
    """MeasureError for the first field of a session that is wrong. address: of its server."""
    try:
        read(session, _SESSION, "")
    except MeasureError as error:
        raise MeasureError("the session of the server at %s is wrong: %s" % (address or "this host", error)) from error


def check_order(before, after, address):
    """MeasureError if a clock of two samples of the server at this address ran backwards. before: may be None."""
    for first, last, name in ((before, after, "mono_s"), ((before or {}).get("cpu"), after["cpu"], "counted_s")):
        same = first and last and name in first and first.get("meter") == last.get("meter")
        if same and last[name] < first[name]:
            raise MeasureError("the server at %s sent a wrong sample: its %s ran backwards" % (address, name))
