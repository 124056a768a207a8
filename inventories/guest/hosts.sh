#!/bin/sh
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The running guest (`make lab-guest`): guest in the group sap_app_servers.
# LAB_NAME names another lab than the one `make lab-guest` starts.
exec "$(dirname "$0")/../../molecule/shared/guest" --name "${LAB_NAME:-guest}" inventory
