# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values for a SAP profile: presets, the parameters that this collection knows, and rules for values.

Names and meanings come from SAP's help pages and the studies that the presets name. SAP publishes nothing on
rdisp/linux/*; its values come from the study and from sched(7).
"""

import difflib
import re

from .._engine.tuning import InputError
from .profile import is_directive

SCHEDULER = "rdisp/linux/os_scheduler"
PRIORITY = "rdisp/linux/os_priority"
TABLE = "enque/table_size"
REALTIME = ("SCHED_RR", "SCHED_FIFO")

# {preset: {parameter: value}}
PRESETS = {
    # work processes run before everything that is not real-time: 6 % faster at 64 IFL with SMT, slower at 128
    # (Performance Evaluation of SAP Application Servers on Z, IBM, v1.02, 2018-07-16, 5.7). The study has 99, at which
    # they also run before threads of the kernel
    "realtime_scheduler": {SCHEDULER: "SCHED_RR", PRIORITY: "40"},
    # updates stay on the instance that asked for them, in partitioned tables VBHDR, VBMOD and VBDATA; it needs
    # rdisp/wp_no_vb of its own (SAP CRM 7.0 on IBM Z, IBM, v1.00, 2019-03-01, 2.2.3)
    "update_local": {
        "dynp/luw_id_format": "2",
        "rdisp/vb_dispatching": "0",
        "rdisp/vb_key_comp": "SYNR/WPNR/HOST/DATE/TIME/STMP",
        "rdisp/vbname": "$(rdisp/myname)",
    },
    # extended memory in System V shared memory or mapped through /dev/shm, Linux only; SAP's default on 64-bit Linux is
    # std from kernel 7.10 (Performance & Scalability of Virtualized SAP Servers on RHEL, Red Hat, March 2008, 6.2)
    "memory_std": {"es/implementation": "std"},
    "memory_map": {"es/implementation": "map"},
    # the lock table of ENSA1 in which ten users created 550,000 locks
    # (SMC-R on AIX for SAP - Experience report, IBM, v1.0, 2019-01-14, creation of locks)
    "enqueue_table": {"enque/table_size": "640000"},
}

_LINUX_ONLY = re.compile(r"^(?:rdisp/linux/.*|es/implementation)$")
# {misprinted name of a parameter in a study: its name in the SAP kernel}
_MISPRINTS = {"enqueue/table_size": "enque/table_size"}
# the parameters whose names and meanings are known
KNOWN = (
    SCHEDULER,  # scheduling policy of the work processes
    PRIORITY,  # their real-time priority
    "dynp/luw_id_format",  # form of the keys of update requests; 2: by rdisp/vb_key_comp
    "rdisp/vb_key_comp",  # parts of the keys of update requests
    "rdisp/vb_dispatching",  # 1: updates are spread over servers, 0: to rdisp/vbname
    "rdisp/vbname",  # server of the updates with rdisp/vb_dispatching 0
    "rdisp/wp_no_dia",  # work processes for dialogs
    "rdisp/wp_no_btc",  # for batch jobs
    "rdisp/wp_no_vb",  # for updates (V1)
    "rdisp/wp_no_vb2",  # for updates that are not urgent (V2)
    "rdisp/wp_no_spo",  # for spool requests
    "rdisp/wp_no_enq",  # for locks, without an enqueue server
    "rdisp/vb_factor",  # weight of update servers
    "rdisp/max_vb_server",  # maximum number of update servers
    "rdisp/vb_included_server",  # update servers that are used
    "rdisp/vb_refresh_info",  # how often the list of update servers is read
    "rdisp/vb_context",  # groups of update servers
    "es/implementation",  # place of extended memory
    "ES/TABLE",  # extended memory on AIX: SHM_SEGS
    "PHYS_MEMSIZE",  # share of the machine's memory
    "ipc/shm_psize_34",  # pool of the shared memory of the lock table
    "enque/table_size",  # size of the lock table (ENSA1)
    "enque/serverhost",  # host of the enqueue server (ENSA1)
    "enque/serverinst",  # instance number of the enqueue server (ENSA1)
    "enque/process_location",  # where locks are served: REMOTESA for a standalone server
    "enque/deque_wait_answer",  # whether a release of locks waits for its answer
    "enque/con_timeout",  # time for a connection to the enqueue server, in ms
    "enque/server/threadcount",  # threads that serve connections (ENSA1)
    "enque/server/max_requests",  # maximum of requests in work (ENSA1)
    "enque/server/max_query_requests",  # maximum of queries in work (ENSA1)
    "enque/server/replication",  # whether the lock table is replicated (ENSA1)
    "enque/snapshot_pck_ids",  # packages of a snapshot of the lock table
    "enque/encni/set_so_keepalive",  # keepalive on connections to the enqueue server
    "enq/enable",  # whether the standalone server is used (ENSA2)
    "enq/serverhost",  # host of the enqueue server (ENSA2)
    "enq/serverinst",  # instance number of the enqueue server (ENSA2)
    "enq/replicatorhost",  # host of the enqueue replicator (ENSA2)
    "enq/replicatorinst",  # instance number of the enqueue replicator (ENSA2)
    "enq/client/max_async_requests",  # maximum of requests without waiting (ENSA2)
    "enq/server/replication/enable",  # whether the lock table is replicated (ENSA2)
    "enq/server/schema_0",  # layout of the lock table (ENSA2)
)
# {parameter: (its possible values, the same in words)}; others can have any value
_VALUES = {
    SCHEDULER: ("SCHED_(?:OTHER|RR|FIFO)", "SCHED_OTHER, SCHED_RR or SCHED_FIFO"),
    PRIORITY: ("[1-9][0-9]?", "a number from 1 to 99"),
    "rdisp/vb_dispatching": ("[01]", "0 or 1"),
    "es/implementation": ("std|map", "std or map"),
    "enque/table_size": ("[1-9][0-9]*", "a number of KB, digits only"),
}
_VALUES.update((name, ("[0-9]{1,3}", "a number not below 0")) for name in KNOWN if name.startswith("rdisp/wp_no_"))
# SAP Help, rdisp/vb_dispatching; SAP CRM 7.0 on IBM Z, 2.2.3
_UPDATES = (
    'SAP says of rdisp/vb_dispatching: "Do not change this value unless instructed to do so by SAP". Updates of each '
    "instance gain only if the database has partitioned the tables VBHDR, VBMOD and VBDATA, which no profile does"
)


def merge(presets, parameters):
    """{name: text or None} of the presets and, over them, of the parameters. Raises InputError."""
    merged, setter = {}, {}
    for preset in presets or ():
        for name, value in PRESETS[preset].items():
            if merged.setdefault(name, value) != value:
                said = "the presets %s and %s set %s differently: choose one of them"
                raise InputError(said % (setter[name], preset, name))
            setter[name] = preset
    for name, value in (parameters or {}).items():
        _check_name(name)
        merged[name] = _text(name, value)
    return merged


def check(parameters, linux, current=None, enqueue=None):
    """({name: text or None} that can be written on this system, [remarks for the user]). Raises InputError.

    parameters: from merge(). current: {name: value} of the profile, if known. enqueue: ENSA1, ENSA2, or None.
    """
    usable, remarks = {}, []
    for name, value in parameters.items():
        _check_name(name)
        remarks += _check_spelling(name, value)
        if value is not None:
            remarks += _check_value(name, value)
        if value is not None and not linux and _LINUX_ONLY.match(name):
            remarks.append("%s is left out: only SAP kernels for Linux have it" % name)
        elif value is not None and name == TABLE and enqueue == "ENSA2":
            remarks.append("%s is left out: it acts on ENSA1 only, and this system has ENSA2" % name)
        else:
            usable[name] = value
    both = dict(current or {}, **usable)
    if usable.get(TABLE) and both.get("ipc/shm_psize_34") != "0":
        remarks.append("%s acts on ENSA1 only, for which SAP also asks ipc/shm_psize_34 = 0" % TABLE)
    if usable.get("rdisp/vb_dispatching") == "0":
        remarks.append(_UPDATES)
    return usable, remarks + _check_priority(usable, current or {})


def _check_name(name):
    """Raise InputError unless this is a name of a parameter that a profile can contain."""
    if not isinstance(name, str) or not re.match(r"^[!-~]+\Z", name) or "=" in name or name.startswith("#"):
        said = "%r is not a parameter name: write one word of ASCII characters without '=' that does not begin with '#'"
        raise InputError(said % (name,))
    if is_directive(name):
        said = "%s is not a parameter but a directive of the profile, which is never changed: name only parameters"
        raise InputError(said % name)


def _text(name, value):
    """A value from YAML as text; None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    said = "the value of %s is %r, which is not text in YAML: write it in quotes, exactly as in the profile"
    raise InputError(said % (name, value))


def _check_spelling(name, value):
    """Remarks on an unknown name. Raises InputError for a misspelt name, unless its lines are to be removed."""
    if name in KNOWN:
        return []
    if value is not None and name in _MISPRINTS:
        said = "%s is a misprint in a published study; the SAP kernel's name is %s: use that"
        raise InputError(said % (name, _MISPRINTS[name]))
    meant = _similar_name(name, 0.9)
    if value is not None and meant:
        raise InputError("the parameter %s is unknown: did you mean %s?" % (name, meant))
    similar = _MISPRINTS.get(name) or _similar_name(name, 0.75)
    if value is None:
        return ["%s is removed; %s is another parameter and stays" % (name, similar)] if similar else []
    hint = " (similar: %s)" % similar if similar else ""
    return ["%s is not a known parameter, so its value is not checked%s" % (name, hint)]


def _similar_name(name, cutoff):
    """The known parameter with almost this name, or None; names that differ only in digits are different parameters."""
    names = {other.lower(): other for other in KNOWN}
    lower = name.lower()
    for found in difflib.get_close_matches(lower, names, 1, cutoff):
        if found == lower or re.sub("[0-9]", "", found) != re.sub("[0-9]", "", lower):
            return names[found]
    return None


def _check_value(name, value):
    """Remarks on a value. Raises InputError if it cannot be written or is not a value of the parameter."""
    if re.search("[\\x00-\\x1f\\x7f-\\x9f]", value):
        raise InputError("the value of %s contains a line break or another control character: remove it" % name)
    if value != value.strip(" "):
        said = "the value '%s' of %s begins or ends with a blank, which a profile cannot keep: remove it"
        raise InputError(said % (value, name))
    pattern, words = _VALUES.get(name, (None, ""))
    if pattern is None or re.fullmatch(pattern, value):
        return []
    if "$(" in value:
        return ["%s is written as %s, and its substituted value is not checked" % (name, value)]
    raise InputError("'%s' is not a value of %s: write %s" % (value, name, words))


def _check_priority(usable, current):
    """Remarks on a priority in the profile that has no effect. Raises InputError for a requested one without effect."""
    scheduler = usable.get(SCHEDULER, current.get(SCHEDULER))
    priority = usable.get(PRIORITY, current.get(PRIORITY))
    if priority is None or scheduler in REALTIME or "$(" in (scheduler or ""):
        return []
    state = "is %s" % scheduler if scheduler else "is not set"
    if usable.get(PRIORITY) is not None:
        said = "%s = %s has an effect only with SCHED_RR or SCHED_FIFO, and %s %s: set both or neither"
        raise InputError(said % (PRIORITY, priority, SCHEDULER, state))
    if SCHEDULER not in usable:
        return []
    return ["%s = %s stays in the profile without effect, because %s %s" % (PRIORITY, priority, SCHEDULER, state)]
