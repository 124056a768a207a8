# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes of any AIX devices, such as maxuproc of sys0."""

from .._engine.tuning import InputError
from ._aix_devices import DeviceTuning, check_name, texts


class AixDeviceAttributes(DeviceTuning):
    """params: the module's, see plugins/modules/aix_device_attributes.py."""

    name = "aix_device_attributes"
    restart = "device"
    sources = ("AIX commands reference: lsattr, chdev",)
    options = dict(
        devices=dict(type="dict", default={}), when_busy=dict(type="str", choices=["fail", "defer"], default="fail")
    )

    def names(self):
        return sorted(self.params["devices"]) or ["devices"]

    def requests(self):
        if not self.params["devices"]:
            raise InputError("devices: nothing to set, give devices with their attributes, as {sys0: {maxuproc: 4096}}")
        found = {}
        for name, attributes in self.params["devices"].items():
            check_name(name, "devices")
            found[name] = texts(attributes, "devices: %s" % name)
            if not found[name]:
                raise InputError("devices: nothing to set on %s, give attributes with their values" % name)
        return found

    def selects(self, name):
        return not self.params["devices"] or name in self.params["devices"]
