# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of every parser grows with the length of its text, not with the square: the parsers of the fuzzer.

The work of Python code is counted in bytecodes. That of regular expressions and of C code cannot be counted, so they
get a text with which they would not end within hours if their work grew with the square.
"""

import contextlib
import re
import sys
from collections.abc import Iterator

import parsers
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._aix import startup
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import access_lists, drop_ins
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import other_settings
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.cpu import aix_cpu
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import cpu_polarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._rps import stored
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system_base import requests
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports import rows

LONG, LONGEST = 1 << 16, 1 << 20
UNITS = [
    "A",
    "a ",
    "9",
    "1,",
    "a=1 ",
    'A{"',
    "a: ",
    "- ",
    ";",
    "/a",
    " ",
    "\t\\",
    "\n",
    "- a: 1\n",
    "a;b;\n",
    "# a\\\n",
]


def of_file(read, path, folder):
    """Return the parser of a file as a parser of text."""
    target = folder / path.lstrip("/")
    target.parent.mkdir(parents=True)

    def parse(text):
        target.write_text(text)
        found = read(Host(str(folder)))
        return list(found) if isinstance(found, Iterator) else found

    return parse


@pytest.fixture(params=[*parsers.OF_TEXT, *parsers.OF_BYTES, *parsers.OF_FILES])
def parser(request, tmp_path):
    """Return (a parser of text, texts for it); whether it refuses them is irrelevant here."""
    parse, corpus, more = {**parsers.OF_TEXT, **parsers.OF_BYTES, **parsers.OF_FILES}[request.param]
    if request.param in parsers.OF_FILES:
        parse = of_file(parse, more, tmp_path)
    refusals = (*parsers.OWN, ValueError, OSError, EOFError, ArithmeticError, parsers.CpuFileError)

    def parsed(text):
        drop_ins.numbered.cache_clear()
        with contextlib.suppress(*refusals):
            parse(text.encode("utf-8", "surrogateescape") if request.param in parsers.OF_BYTES else text)

    return parsed, [data.decode("utf-8", "surrogateescape") for data in corpus]


def work(parse, text):
    """Return the number of bytecodes that run while a text is parsed."""
    count = 0

    def trace(frame, event, _argument):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    parse(text)
    sys.settrace(before)
    return count


@pytest.mark.gate
def test_twice_the_text_is_twice_the_work(parser):
    parse, corpus = parser
    for text in {text[:1000].rstrip("\n") + "\n" for text in sorted(corpus, key=len)[-200::20]}:
        parse(text * 4)  # what is made only once is made now
        one, two, four = (work(parse, text * times) for times in (4, 8, 16))
        assert four - two <= 2.5 * (two - one) + 1000, text


@pytest.mark.nightly
def test_a_long_text_of_any_kind_is_parsed(parser):
    parse, _corpus = parser
    for unit in UNITS:
        parse(unit * (LONG // len(unit)))


def blocks(text, folder):
    return of_file(lambda host: drop_ins.DropIn(host, "/etc/x", "").blocks(), "/etc/x", folder)(text)


def boot_scripts(text, folder):
    path = "/etc/sysconfig/network/if-up.d/a"
    return of_file(lambda host: other_settings.boot_scripts(host, re.compile("x")), path, folder)(text)


HEADER = ",".join(f"n{number}" for number in range(400_000))
# many lines that use one long variable
STARTS = "_V = %s\n" % ("x" * (LONGEST // 2)) + "".join(f"Start_Program_{one} = $(_V)\n" for one in range(20_000))
BLOCKS = "".join(f"# zpower.sap_tuning begin {one}\n# zpower.sap_tuning end {one}\n" for one in range(20_000))


# each of these took hours, or would have
@pytest.mark.parametrize(
    "parse, text",
    [
        (rows.from_csv, HEADER + "\n"),
        (other_settings.udev_tokens, "A" * LONGEST),
        (other_settings.udev_tokens, "A{" * LONGEST),
        (other_settings.udev_tokens, 'A="\\"' * (LONGEST // 8)),
        (stored._INTERFACE.search, "/sys/class/net/a/queues/" * (LONGEST // 8)),
        (parsers.niping.parse_error, "* ERROR " + " " * LONGEST),
        (parsers.niping.parse_error, "*** ERROR " + " " * LONGEST),
        (parsers.enq_admin.parse_info, "2026-01-01 00:00:00;" + " " * LONGEST + ";x"),
        (parsers.NETWORK_TOOLS["sockperf"]._TOTAL.search, "[Total Run] RunTime=1 sec;" * (LONGEST // 4)),
        (startup.parse_chdev, "chdev -l en0 -a " + "x" * LONGEST),
        (parsers.instances.parse_enqueue, STARTS),
        (parsers.tools._is_os, "15-[" + "0" * LONGEST + "--]"),
        (requests.Socket._SETS.search, "systemctl enable " * (LONG // 4)),
        (cpu_polarization.SETS_IT.search, "chcpu " * (LONGEST // 8)),
        (aix_cpu._SETTING.findall, "0" * LONGEST),
        (access_lists.parse_aixc, "extended permissions\n permit rw- a" + " " * LONGEST + "b"),
        (blocks, BLOCKS),
        (boot_scripts, "/home/site/tune" * 17000),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_texts_that_once_took_hours_are_parsed(parse, text, tmp_path):
    with contextlib.suppress(rows.RowsError):
        if parse == parsers.tools._is_os:
            parse("15.6", text)
        else:
            parse(text, tmp_path) if parse in (blocks, boot_scripts) else parse(text)
