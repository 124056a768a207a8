# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the byte code of modules that Python imports from an archive and would otherwise compile in each process.

Ansible sends a module and 80 files of module_utils as an archive; compiling them takes half of a task's CPU time, and
most of it in an emulated LPAR (molecule/shared/lpar.py). The name of a cached file contains the hash of its source. For
Python 3.8 and newer.
"""

import _imp
import contextlib
import marshal
import os
import sys
import zipimport

UP = [os.pardir] * 4  # from this file to the checkout; in an LPAR, to the root
FOLDER = os.path.join(os.path.abspath(os.path.join(os.path.dirname(__file__), *UP)), ".cache", "code")
FOLDER = os.path.join(FOLDER, "%s-%x" % (sys.implementation.cache_tag, sys.hexversion))
SEED = 0x5EED


def keeping(compile_source):
    """Return the same function with its results in files."""

    def code_of(path, source):
        kept = os.path.join(FOLDER, "%s-%s" % (os.path.basename(path), _imp.source_hash(SEED, source).hex()))
        with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
            with open(kept, "rb") as stream:
                code = marshal.loads(stream.read())
            _imp._fix_co_filename(code, path)
            return code
        code = compile_source(path, source)
        with contextlib.suppress(
            OSError
        ):  # the folder belongs to another user, or the disk is full: the code is compiled again
            os.makedirs(FOLDER, exist_ok=True)
            new = "%s.%d" % (kept, os.getpid())
            with open(new, "wb") as stream:
                stream.write(marshal.dumps(code))
            os.rename(new, kept)
        return code

    return code_of


if hasattr(zipimport, "_compile_source"):
    zipimport._compile_source = keeping(zipimport._compile_source)
