# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""After rollback, every host is as it was before the first rollout, and no file is left."""

import json

FILES = "find /etc /var /run /usr/local -name '*zpower[_-]sap[_-]tuning*'"


def test_every_host_is_as_found_and_no_file_is_left(site, kept):
    assert site.look() == json.loads(kept.read_text())
    found = {host: site.at(host, FILES) for host in site.hosts}
    assert found == dict.fromkeys(site.hosts, "")
