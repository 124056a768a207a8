# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for SAP's niping, for tests on machines without an SAP kernel. It is not SAP's program.

It really exchanges TCP messages and prints times and errors in the documented layouts; between two stand-ins only, the
bytes on the wire are not SAP's. NIPING_STANDIN_LAYOUT=ms (default) or usecs chooses the layout,
NIPING_STANDIN_VERBOSE=1 adds a line for each message.
"""

import getopt
import os
import socket
import struct
import sys
import threading
import time

USAGE = """niping stand-in of zpower.sap_tuning (not SAP's niping)
  niping -s [-I idle_seconds] [-S port]                          serve
  niping -c [-H host] [-S port] [-B bytes] [-L loops] [-D ms]    measure
  niping -t                                                      tell what this is
"""
DEFAULT_PORT = 3298
CONNECT_TIMEOUT = 5.0


def now():
    return time.strftime("%a %b %e %H:%M:%S %Y")


def fail(text, code, detail, error):
    """Print the error block of SAP's network interface layer and end with 1."""
    lines = (
        ("LOCATION", "NiPing stand-in on host " + socket.gethostname()),
        ("ERROR", text),
        ("TIME", now()),
        ("RELEASE", "stand-in"),
        ("COMPONENT", "NI (network interface)"),
        ("VERSION", "40"),
        ("RC", str(code)),
        ("MODULE", "niping"),
        ("LINE", "1"),
        ("DETAIL", detail),
        ("SYSTEM CALL", "connect" if code != -4 else "bind"),
        ("ERRNO", str(error.errno or 0)),
        ("ERRNO TEXT", error.strerror or str(error)),
        ("COUNTER", "1"),
    )
    stars = "*" * 79
    print("\n" + stars + "\n*")
    for key, value in lines:
        print("*  %-11s %s" % (key, value))
    print("*\n" + stars)
    sys.exit(1)


def receive(sock, view):
    """Fill the whole buffer; False when the other end has closed."""
    got = 0
    while got < len(view):
        more = sock.recv_into(view[got:])
        if more == 0:
            return False
        got += more
    return True


def answer(sock, number):
    with sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = bytearray(4)
        if receive(sock, memoryview(head)):
            view = memoryview(bytearray(struct.unpack("!I", head)[0]))
            while receive(sock, view):
                sock.sendall(view)
    print("client hdl %d disconnected ..." % number, flush=True)


def serve(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("0.0.0.0", port))
    except OSError as error:
        fail("service '%d' in use" % port, -4, "NiIBindSocket: 0.0.0.0:%d" % port, error)
    listener.listen(64)
    print("\n%s\nready for connect from client ..." % now(), flush=True)
    number = 0
    while True:
        sock, peer = listener.accept()
        number += 1
        print("\n%s\nconnect from host '%s', client hdl %d o.k." % (now(), peer[0], number), flush=True)
        threading.Thread(target=answer, args=(sock, number), daemon=True).start()


def connect(host, port):
    try:
        return socket.create_connection((host, port), CONNECT_TIMEOUT)
    except socket.gaierror as error:
        fail("hostname '%s' unknown" % host, -2, "NiHLGetNodeAddr: hostname cached as unknown", error)
    except socket.timeout as error:
        fail("timeout occurred", -5, "NiPConnect2: %s:%d" % (host, port), error)
    except OSError as error:
        fail("partner '%s:%d' not reached" % (host, port), -10, "NiPConnect2: %s:%d" % (host, port), error)


def exchange(sock, size, loops, delay_ms):
    """Round trips in seconds."""
    view = memoryview(bytearray(size))
    samples = []
    for number in range(loops):
        begin = time.perf_counter()
        sock.sendall(view)
        if not receive(sock, view):
            error = ConnectionResetError(104, "Connection reset by peer")
            fail("connection to partner broken", -6, "NiIRead: hdl 0", error)
        samples.append(time.perf_counter() - begin)
        if os.environ.get("NIPING_STANDIN_VERBOSE") == "1":
            print("%d: %.3f ms" % (number, samples[-1] * 1e3))
        if delay_ms:
            time.sleep(delay_ms / 1e3)
    return samples


def report(samples, size):
    """Print the figures; av2 leaves out every sample that equals the largest or the smallest."""
    inner = [value for value in samples if value not in (max(samples), min(samples))] or [0.0]
    average, inner_average = sum(samples) / len(samples), sum(inner) / len(inner)
    usecs = os.environ.get("NIPING_STANDIN_LAYOUT", "ms") == "usecs"
    factor, unit, rate = (1e6, "usecs", "bw") if usecs else (1e3, "ms", "tr")

    def throughput(seconds):
        return 2.0 * size / seconds / 1024.0 if seconds else 0.0

    print("\n------- times -----")
    for key, value in (("avg", average), ("max", max(samples)), ("min", min(samples))):
        print("%-4s %8.3f %s" % (key, value * factor, unit))
    print("%-4s %8.3f kB/s" % (rate, throughput(average)))
    print("excluding max and min:")
    print("av2  %8.3f %s" % (inner_average * factor, unit))
    print("%-4s %8.3f kB/s\n" % (rate + "2", throughput(inner_average)))


def main():
    try:
        options = dict(getopt.getopt(sys.argv[1:], "sctH:S:B:L:I:D:Ph")[0])
    except getopt.GetoptError as error:
        sys.exit("%s\n%s" % (error, USAGE))
    port = int(options.get("-S", DEFAULT_PORT))
    if "-t" in options:
        print("niping stand-in of zpower.sap_tuning, version 1 (not SAP's niping)")
    elif "-s" in options:
        serve(port)
    elif "-c" in options:
        size, loops = int(options.get("-B", 1000)), int(options.get("-L", 10))
        print("\n" + now(), flush=True)
        with connect(options.get("-H", "localhost"), port) as sock:
            sock.settimeout(None)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(struct.pack("!I", size))
            print("connect to server o.k.\n\n%s\nsend and receive %d messages (len %d)" % (now(), loops, size))
            report(exchange(sock, size, loops, int(options.get("-D", 0))), size)
    else:
        print(USAGE)


if __name__ == "__main__":
    main()
