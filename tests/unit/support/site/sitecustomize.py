# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the compiled code of modules that Python imports from a zip, which it would compile in every process.

A task of a play sends its module and 80 files of module_utils as a zip: half of its CPU time was their compilation. The
name of a kept file is the hash of the source, so that changed source is compiled. For Python 3.8 and newer.
"""

import os
import sys
import zipimport

FOLDER = os.path.join(
    os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4)),
    ".cache",
    "code",
    "%s-%x" % (sys.implementation.cache_tag, sys.hexversion),
)


def kept(compile_source):
    """The same function, with its results in files."""

    def code_of(path, source):
        import _imp  # noqa: PLC0415  (most programs import nothing from a zip)
        import hashlib  # noqa: PLC0415
        import marshal  # noqa: PLC0415

        name = os.path.join(FOLDER, hashlib.sha256(source).hexdigest())
        try:
            with open(name, "rb") as stream:
                code = marshal.loads(stream.read())
            _imp._fix_co_filename(code, path)
            return code
        except OSError:
            code = compile_source(path, source)
        new = "%s.%d" % (name, os.getpid())
        try:
            os.makedirs(FOLDER, exist_ok=True)
            with open(new, "wb") as stream:
                stream.write(marshal.dumps(code))
            os.rename(new, name)
        except OSError:
            pass  # another user, or a full disk: the code is compiled again
        return code

    return code_of


if hasattr(zipimport, "_compile_source"):
    zipimport._compile_source = kept(zipimport._compile_source)
