# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The distribution of round trips as counts in bins, which are the same everywhere, so that distributions add up.

Bin n holds the round trips from 1.01**n to 1.01**(n + 1) microseconds; each bin is 1 % wide. In the text form
``340:1,5,12 412:1`` bin 340 holds one round trip, bin 341 five, bin 342 twelve and bin 412 one.
"""

import math
import re
from collections import Counter

WIDTH = 1.01
# Ten hours. Longer round trips are counted in this bin, and those below one microsecond in bin 0.
_LAST_BIN = 2450
# The text form of at most 20,000 characters, which no distribution of round trips needs.
FORMAT = re.compile("(?!.{20001})[0-9]{1,4}:[0-9]{1,12}(?:,[0-9]{1,12}| [0-9]{1,4}:[0-9]{1,12})*")


def histogram(samples, to_us):
    """The text form of samples; to_us: the microseconds of one unit of theirs."""
    log, scale = math.log, 1.0 / math.log(WIDTH)
    found = Counter(int(log(sample * to_us or 1.0) * scale) for sample in samples)
    counts = Counter()
    for number, count in found.items():
        counts[min(max(number, 0), _LAST_BIN)] += count
    return _text(counts)


def bins(texts):
    """All texts together as {bin: number of round trips}, in the order of the bins."""
    counts = {}
    for text in texts:
        for part in text.split(" "):
            first, _colon, numbers = part.partition(":")
            for number, count in enumerate(map(int, numbers.split(",")), int(first)):
                counts[number] = counts.get(number, 0) + count
    return dict(sorted(counts.items()))


def merge(texts):
    """The text form of all texts together; None if there are none."""
    return _text(bins(texts)) if texts else None


def _text(counts):
    parts = []
    last = None
    for number, count in sorted(counts.items()):
        parts.append("%s%d" % ("," if number - 1 == last else " %d:" % number, count))
        last = number
    return "".join(parts).lstrip()
