/* SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A stand-in for libsmc-preload.so of smc-tools, which Debian does not have. It is not that library, but as strict:
 * each new TCP socket becomes an SMC socket, and where the kernel has no SMC, the call fails. No header is needed.
 */

enum { INET = 2, INET6 = 10, SMC = 43, STREAM = 1, TYPE = 0xf, TCP = 6, CALL = 359 /* __NR_socket of s390x */ };

extern long syscall(long number, ...);

int socket(int domain, int type, int protocol)
{
	if ((domain == INET || domain == INET6) && (type & TYPE) == STREAM && (protocol == 0 || protocol == TCP)) {
		protocol = domain == INET6;
		domain = SMC;
	}
	return syscall(CALL, (long)domain, (long)type, (long)protocol);
}
