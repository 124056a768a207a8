# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loaded by every Python of an emulated LPAR: keeps the byte code of what is imported from archives.

Python never does that, and Ansible sends its modules as archives: compiling them takes most of a module's run here.
"""

import _imp
import contextlib
import marshal
import os
import zipimport

CACHE = "/var/cache/byte-code"
SEED = 0x5EED
compile_source = zipimport._compile_source


def cached(pathname, source):
    """As zipimport._compile_source, from the cache where the same text was compiled before."""
    kept = "{}/{}-{}".format(CACHE, pathname.rpartition("/")[2], _imp.source_hash(SEED, source).hex())
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
        with open(kept, "rb") as handle:
            code = marshal.loads(handle.read())
        _imp._fix_co_filename(code, pathname)
        return code
    code = compile_source(pathname, source)
    with contextlib.suppress(OSError):
        beside = f"{kept}.{os.getpid()}"
        with open(beside, "wb") as handle:
            handle.write(marshal.dumps(code))
        os.rename(beside, kept)
    return code


zipimport._compile_source = cached
