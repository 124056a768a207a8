#!/bin/sh
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The hosts of the running lab (`make lab-up`): app1, app2, ... in the group sap_app_servers.
# LAB_NAME names another lab than the one `make lab-up` starts.
exec "$(dirname "$0")/../../molecule/shared/lab" inventory --name "${LAB_NAME:-lab}"
