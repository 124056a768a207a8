#!/bin/sh
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The running guest whose kernel speaks SMC-D (`make lab-smcd`): guest in the group sap_app_servers.
# LAB_NAME names another lab than the one `make lab-smcd` starts.
exec "$(dirname "$0")/../../molecule/shared/smcd" --name "${LAB_NAME:-smcd}" inventory
