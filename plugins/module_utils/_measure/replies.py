# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one door for what a peer says, in replies and in its session: named fields within limits; all else is dropped.

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


def _checked(holds, wanted):
    """A function of a value and its name: the value if it holds, else MeasureError."""

    def read(value, name):
        if holds(value):
            return value
        shown = {type(None): "missing", dict: "an object", list: "a list"}.get(type(value)) or ascii(value)[:60]
        raise MeasureError("%s is %s; it must be %s" % (name, shown, wanted))

    return read


def _number(low, high, kinds=(int, float)):
    return _checked(
        lambda value: isinstance(value, kinds) and not isinstance(value, bool) and low <= value <= high,
        "a %snumber from %g to %g" % ("" if float in kinds else "whole ", low, high),
    )


def _count(high, low=0):
    return _number(low, high, (int,))


def _text(longest):
    return _checked(
        lambda value: isinstance(value, str) and len(value) <= longest and value.isprintable(),
        "printable text of at most %d characters" % longest,
    )


def _optional(read):
    return lambda value, name: None if value is None else read(value, name)


_FLAG = _checked(lambda value: isinstance(value, bool), "true or false")
_OBJECT = _checked(
    lambda value: isinstance(value, dict) and len(value) <= _MOST_FIELDS,
    "an object of at most %d fields" % _MOST_FIELDS,
)
# A line has no room for too many.
_LIST = _checked(lambda value: isinstance(value, list), "a list")


def _object(fields, extra=None):
    """fields: {name: how it is read}; extra: those that are left out if they are missing."""

    def read(value, name):
        given = _OBJECT(value, name)
        found = dict(fields, **{key: extra[key] for key in extra or () if key in given})
        return {key: found[key](given.get(key), "%s.%s" % (name, key) if name else key) for key in found}

    return read


def _counters(value, name):
    """One of 32 bits per CPU."""
    return [_count(2**32 - 1)(item, "%s[%d]" % (name, index)) for index, item in enumerate(_LIST(value, name))]


def _masks(value, name):
    """The CPUs of each queue."""
    queues = [_text(_LONGEST)(queue, "a key of %s" % name) for queue in _OBJECT(value, name)]
    return {queue: _text(_LONGEST_MASK)(value[queue], "%s.%s" % (name, queue)) for queue in queues}


_SECONDS = _number(0, _MOST_SECONDS)
_NAME = _optional(_text(_LONGEST))
_CPUS = _optional(_number(0, _MOST_CPUS))
_FINGERPRINT = dict.fromkeys(("hostname", "system", "arch", "kernel", "machine", "python", "boot_id"), _NAME)
_FINGERPRINT.update(cpus_online=_optional(_count(_MOST_CPUS)), mtu=_optional(_count(2**31)), rps_cpus=_optional(_masks))
_FINGERPRINT.update(interface=_NAME, address=_NAME, clock_step_s=_optional(_number(-_MOST_SECONDS, _MOST_SECONDS)))
_CPU = {"user_s": _SECONDS, "system_s": _SECONDS, "idle_s": _SECONDS, "ncpu": _CPUS}
_CPU.update(softirq_s=_optional(_SECONDS), steal_s=_optional(_SECONDS))
# of a meter
_METERED = {"meter": _text(_LONGEST), "counted_s": _SECONDS, "physc_s": _optional(_SECONDS), "entitlement": _CPUS}


def _cpu(value, name):
    metered = isinstance(value, dict) and "meter" in value
    return _object(dict(_CPU, **_METERED) if metered else _CPU)(value, name)


_SAMPLE = {"mono_s": _SECONDS, "wall_s": _SECONDS, "cpu": _optional(_cpu), "cpu_source": _NAME}
_SAMPLE.update(
    process_s=_optional(_SECONDS), retransmits=_optional(_count(2**64 - 1)), received_rps=_optional(_counters)
)
# by operation; the other replies say no more than ok
_HELLO = _object(_FINGERPRINT, dict.fromkeys(("smc_r", "entitlement", "sap_kernel"), _NAME))
_REPLIES = {"hello": {"fingerprint": _HELLO}, "sample": {"sample": _object(_SAMPLE)}}
_SESSION = dict.fromkeys(("tool", "version", "token"), _text(_LONGEST))
_SESSION.update(dict.fromkeys(("address", "start_time", "started"), _NAME))
_SESSION.update(dict.fromkeys(("port", "control_port"), _count(65535)))
_SESSION.update(dict.fromkeys(("pid", "lifetime"), _optional(_count(2**31 - 1, 1))))


def heard(reply, operation, peer):
    """The fields of a reply, an object, to an operation.

    peer: who sent it, for MeasureError with the first field that is wrong, or with the server's sentence if it refuses.
    """
    try:
        if _FLAG(reply.get("ok"), "ok"):
            return _object(dict(_REPLIES.get(operation, {}), ok=_FLAG))(reply, "")
        reason = _NAME(reply.get("error"), "error") or "no reason given"
    except MeasureError as error:
        raise MeasureError("%s sent a wrong reply to %s: %s" % (peer, operation, error)) from error
    raise MeasureError("the server refused: %s" % reason)


def check_session(session, address):
    """MeasureError for the first field of a session that is wrong. address: of its server."""
    try:
        _object(_SESSION)(session, "")
    except MeasureError as error:
        raise MeasureError("the session of the server at %s is wrong: %s" % (address or "this host", error)) from error


def check_order(before, after, address):
    """MeasureError if a clock of two samples of the server at this address ran backwards. before: may be None."""
    for first, last, name in ((before, after, "mono_s"), ((before or {}).get("cpu"), after["cpu"], "counted_s")):
        same = first and last and name in first and first.get("meter") == last.get("meter")
        if same and last[name] < first[name]:
            raise MeasureError("the server at %s sent a wrong sample: its %s ran backwards" % (address, name))
