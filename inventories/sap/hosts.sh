#!/bin/sh
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The hosts of a running lab with a /usr/sap of their own (`molecule/shared/lab up --sap --name sap`): app1, app2, ...
# in the group sap_app_servers. LAB_NAME names another lab than `sap`.
exec "$(dirname "$0")/../../molecule/shared/lab" inventory --name "${LAB_NAME:-sap}"
