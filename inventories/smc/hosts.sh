#!/bin/sh
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The running guests with a cable (`make lab-smc`): smc1 and smc2 in the group sap_app_servers.
# LAB_NAME names another lab than the one `make lab-smc` starts.
exec "$(dirname "$0")/../../molecule/shared/smc" --name "${LAB_NAME:-smc}" inventory
