# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the stand-ins for an SAP kernel share: parameters, instances, and how a test orders misbehaviour.

They are not SAP's programs. They lie together in the exe folder of an instance, keep what they know below its work
folder, and read profiles with code of their own, not with that of the collection they are to test.
"""

import json
import os
import re
import socket
import sys

# The parameters of this kernel, with their defaults; those that are a number are checked by sappfpar.
DEFAULTS = {
    "DIR_CT_RUN": "$(DIR_EXE_ROOT)/run",
    "DIR_EXECUTABLE": "$(DIR_INSTANCE)/exe",
    "DIR_EXE_ROOT": "$(DIR_INSTALL)/exe",
    "DIR_INSTALL": "/usr/sap/$(SAPSYSTEMNAME)/SYS",
    "DIR_INSTANCE": "/usr/sap/$(SAPSYSTEMNAME)/$(INSTANCE_NAME)",
    "DIR_LIBRARY": "$(DIR_EXECUTABLE)",
    "DIR_PROFILE": "$(DIR_INSTALL)/profile",
    "FT_EXE": "",
    "INSTANCE_NAME": "",
    "SAPGLOBALHOST": "$(SAPLOCALHOST)",
    "SAPSYSTEM": "00",
    "SAPSYSTEMNAME": "XXX",
    "abap/heap_area_total": "2000000000",
    "dynp/luw_id_format": "1",
    "em/initial_size_MB": "4092",
    "enque/process_location": "OPERATIONSYSTEM",
    "enque/serverhost": "",
    "enque/serverinst": "",
    "enque/table_size": "32768",
    "es/implementation": "std",
    "gw/logging": "",
    "icm/server_port_0": "",
    "ipc/shm_psize_40": "0",
    "login/system_client": "000",
    "ms/server_port_0": "",
    "rdisp/linux/os_priority": "0",
    "rdisp/linux/os_scheduler": "SCHED_OTHER",
    "rdisp/mshost": "",
    "rdisp/myname": "$(SAPLOCALHOST)_$(SAPSYSTEMNAME)_$(SAPSYSTEM)",
    "rdisp/vb_dispatching": "1",
    "rdisp/vb_key_comp": "",
    "rdisp/vbname": "",
    "rdisp/wp_no_btc": "0",
    "rdisp/wp_no_dia": "2",
    "rdisp/wp_no_vb": "0",
    "rsdb/ntab/entrycount": "20000",
    "zcsa/installed_languages": "DE",
}
SYSTEMD = "/etc/systemd/system"


def lines_of(path):
    """[(name, value)] of the lines of a profile that set something; text is Latin-1, so that no byte is lost."""
    with open(path, encoding="latin-1", newline="") as stream:
        text = stream.read()
    pairs = [line.partition("=") for line in re.split("\r?\n", text) if not line.lstrip().startswith("#")]
    return [(name.strip(" \t"), value.strip(" \t")) for name, equals, value in pairs if equals and name.strip(" \t")]


class Parameters:
    """The parameters with which an instance starts: its profile over DEFAULT.PFL over the kernel's own."""

    def __init__(self, values):
        self.values = dict(DEFAULTS, SAPLOCALHOST=socket.gethostname())
        self.values.update(values)

    @classmethod
    def read(cls, path):
        """Those of a profile, and of the DEFAULT.PFL in its folder."""
        default = os.path.join(os.path.dirname(path), "DEFAULT.PFL")
        lines = lines_of(default) if os.path.exists(default) else []
        return cls(dict(lines + lines_of(path)))

    def get(self, name):
        """The value with $(other parameters), %(environment) and $$ replaced; None for a name that nobody set."""
        return self.expanded(self.values[name]) if name in self.values else None

    def expanded(self, text, environment=None):
        environment = os.environ if environment is None else environment
        for _round in range(10):
            before = text
            text = re.sub(r"\$\(([^)]*)\)", lambda found: self.values.get(found.group(1), ""), text)
            if text == before:
                break
        text = re.sub(r"%\(([^)]*)\)", lambda found: environment.get(found.group(1), ""), text)
        return text.replace("$$", self.values["SAPSYSTEM"])

    def environment(self, lines):
        """The environment of the programs that an instance starts: SETENV_nn of its profile, later ones see earlier."""
        found = dict(os.environ)
        for name, value in sorted(lines):
            if re.match(r"SETENV_[0-9]{2}\Z", name):
                variable, _equals, text = value.partition("=")
                found[variable] = self.expanded(text, found)
        return found

    def number(self, name):
        """A parameter that is a number; 0 where it is not one."""
        text = self.get(name) or ""
        return int(text) if text.isdigit() else 0


class Place:
    """The folders of the instance whose profile this is."""

    def __init__(self, parameters):
        self.sid, self.name, self.number = (
            parameters.get(name) for name in ("SAPSYSTEMNAME", "INSTANCE_NAME", "SAPSYSTEM")
        )
        self.work = "/usr/sap/%s/%s/work" % (self.sid, self.name)
        self.state = os.path.join(self.work, "standin")

    def orders(self):
        """What should go wrong in a test: orders.json in the state folder, {} where there is none.

        {"dies": {"name": parameter, "value": the value with which disp+work ends soon after its start},
        "stop_hangs": true where disp+work does not end when it is told to,
        "talks_to": [address, port] of a server that sends back what it gets: each work process is connected to it}
        """
        try:
            with open(os.path.join(self.state, "orders.json")) as stream:
                return json.load(stream)
        except FileNotFoundError:
            return {}

    def remember(self, name, text):
        """Replace a file of the state folder as a whole."""
        path = os.path.join(self.state, name)
        with open(path + ".new", "w") as stream:
            stream.write(text)
        os.rename(path + ".new", path)


def socket_of(number):
    """Where sapstartsrv of an instance number listens."""
    return "/tmp/.sapstream5%s13" % number


def profile_argument(arguments):
    """The path of pf=..., None if absent."""
    return next((word[3:] for word in arguments if word.startswith("pf=")), None)


def need_libraries(program):
    """End as the dynamic linker would, unless the caller's environment names the folder of the kernel's libraries."""
    folders = [os.path.realpath(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    if os.path.dirname(os.path.realpath(__file__)) not in folders:
        message = "error while loading shared libraries: libsapu16.so: cannot open shared object file: No such file"
        sys.stderr.write("%s: %s or directory\n" % (program, message))
        sys.exit(127)
