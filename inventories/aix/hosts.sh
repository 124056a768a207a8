#!/bin/sh
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The hosts of a running lab that molecule/aix/prepare.yml has given stand-ins for AIX commands (tests/standins/aix):
# app1 and app2 in the group sap_app_servers. They are no AIX. LAB_NAME names another lab than `aix`.
exec "$(dirname "$0")/../../molecule/shared/lab" inventory --name "${LAB_NAME:-aix}"
