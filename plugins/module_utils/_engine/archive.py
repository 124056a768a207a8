# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program for ``python3 -I``: the collection's files that this process has imported, in one zip file.

It runs when Ansible's own archive is gone, also after a reboot, and needs neither Ansible nor the collection.
"""

import io
import sys
import zipfile

PACKAGE = __name__.rpartition("._engine.")[0]
_MAIN = """\
# takes back values on probation, see zpower.sap_tuning
from %(package)s._engine.entry_point import watch
from %(module)s import %(name)s as tuning

watch(tuning, %(params)s, %(root)s)
"""


def program(tuning_class, params, root):
    """The bytes of the archive whose main program calls watch() with these arguments."""
    names = dict(package=PACKAGE, module=tuning_class.__module__, name=tuning_class.__name__)
    return packed(_MAIN % dict(names, params=ascii(params), root=ascii(root)))


def packed(main, names=None):
    """The bytes of an archive with this main program. names: the files beside it, as PACKAGE names them; default: all.

    With equal files the bytes are equal on every Python: they are not compressed.
    """
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, content in sorted(_sources(names).items()):
            archive.writestr(zipfile.ZipInfo(path), content)
        archive.writestr(zipfile.ZipInfo("__main__.py"), main)
    return data.getvalue()


def _sources(names):
    """{path in the archive: bytes} of the collection's imported files for targets, and an empty file per package."""
    found = {}
    for name, module in list(sys.modules.items()):
        if not name.startswith(PACKAGE + ".") or hasattr(module, "__path__"):
            continue
        if names is not None and name[len(PACKAGE) + 1 :] not in names:
            continue
        parts = name.split(".")
        # text of the loaders of Python, bytes of the one of Ansible's collections
        text = module.__spec__.loader.get_source(name)
        found["/".join(parts) + ".py"] = text.encode("utf-8") if isinstance(text, str) else text
        for number in range(1, len(parts)):
            found["/".join(parts[:number]) + "/__init__.py"] = b""
    return found
