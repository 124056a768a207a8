# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium, controlled with the DevTools protocol over two pipes; standard library only."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 300.0  # seconds for one answer, even on a busy machine
FLAGS = (
    "--headless",
    "--no-sandbox",  # it shows only our own page, and root has no alternative
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Chromium reads commands from file 3 and answers on file 4."""


def find_browser() -> str | None:
    """Return the path of a Chromium or Chrome, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser with one page; a context manager that leaves no process or folder behind."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.events: list[dict[str, Any]] = []
        self.count = 0
        self.session: str | None = None
        self.buffer = b""

    def __enter__(self) -> Browser:
        self.folder = tempfile.mkdtemp(prefix="report-browser-")
        to_child, self.writer = os.pipe()
        self.reader, from_child = os.pipe()
        # the ends of the child must not be 3 or 4 before they are moved there
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_child, from_child)]
        os.close(to_child)
        os.close(from_child)
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *map(str, high), self.path, *FLAGS, f"--user-data-dir={self.folder}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=high,
        )
        for end in high:
            os.close(end)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_error: object) -> None:
        self.session = None
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.reader)
        os.close(self.writer)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; keep events that arrive earlier."""
        self.count += 1
        message: dict[str, Any] = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def wait_for(self, method: str) -> None:
        """Wait for an event that has not occurred since the last :meth:`open`."""
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._receive())

    def _receive(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            ready, _writable, _failed = select.select([self.reader], [], [], max(0.0, until - time.monotonic()))
            piece = os.read(self.reader, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("the browser has ended" if ready else f"no answer in {PATIENCE:.0f} s")
            self.buffer += piece
        line, _end, self.buffer = self.buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def open(self, url: str) -> None:
        """Load a page completely; forget events of earlier pages."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def value(self, expression: str, wait: bool = False) -> Any:
        """Return the value of a JavaScript expression in the page; the page's own policy does not apply to it.

        ``wait``: return the result of a promise.
        """
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=wait)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']['text']}")
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Return what the browser has logged since the page opened: policy violations, failed loads, script errors."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Log.entryAdded":
                found.append(params["entry"]["text"])
            elif event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
                found.append(json.dumps(params))
        return found

    def show(
        self, width: int = 1280, height: int = 900, scheme: str = "light", media: str = "", zoom: float = 1
    ) -> None:
        """Set the size of the window, the colour scheme, ``print`` or screen, and the zoom."""
        size = {"width": round(width / zoom), "height": round(height / zoom)}
        self.call("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=zoom, mobile=False)
        self.call(
            "Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def picture(self, height: int | None = None, first: str = "") -> bytes:
        """Return a PNG of the whole page, or of ``height`` pixels from its top or from the element ``first``."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        left, top, right = 0, 0, size["width"]
        if first:
            box = f"document.querySelector('{first}').getBoundingClientRect()"
            left, top, right = self.value(f"[{box}.left - 16, {box}.top + scrollY, {box}.right]")
        shown = min(size["height"] - top, height or size["height"])
        clip = {"x": left, "y": top, "width": right - left, "height": shown, "scale": 1}
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(answer["data"])
