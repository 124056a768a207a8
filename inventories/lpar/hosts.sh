#!/bin/sh
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The running LPARs (`make lab-lpar`): lpar61 and lpar612 in the group lpars, and the host peer.
# LAB_NAME names another lab than the one `make lab-lpar` starts.
exec "$(dirname "$0")/../../molecule/shared/lpar" --name "${LAB_NAME:-lpar}" inventory
