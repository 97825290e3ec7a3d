"""Drives headless Chromium over its DevTools pipe: pages, scripts, logs and requests."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--mute-audio",
    "--password-store=basic",
    "--remote-debugging-pipe",
)
PATIENCE_S = 60.0

# Chromium reads commands from fd 3 and writes answers to fd 4; first move both to free numbers.
LAUNCH = """
import os, sys
read, write = (os.dup2(int(file), place) for file, place in zip(sys.argv[1:3], (100, 101)))
os.dup2(read, 3)
os.dup2(write, 4)
os.closerange(5, 256)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One browser with one page; a context manager that ends it."""

    def __init__(self, profile: Path):
        program = next(filter(None, map(shutil.which, BROWSERS)))
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                LAUNCH,
                str(to_browser),
                str(from_browser),
                program,
                *FLAGS,
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        page = next(
            target
            for target in self.call("Target.getTargets")["targetInfos"]
            if target["type"] == "page"
        )
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def _receive(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise ConnectionError("the browser ended")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One DevTools command and its result; events that arrive meanwhile are stored."""
        self._number += 1
        request: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            request["sessionId"] = self._session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        until = time.monotonic() + PATIENCE_S
        while True:
            message = self._receive(until)
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return dict(message["result"])
            self.events.append(message)

    def open(self, path: Path) -> None:
        """Opens a file and waits until the report is drawn."""
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        ready = (
            "document.readyState === 'complete' && "
            "performance.getEntriesByName('report-ready').length > 0"
        )
        self.wait(ready, "the page was not drawn")

    def wait(self, condition: str, otherwise: str) -> None:
        """Waits until a condition holds in the page, which may be replaced meanwhile."""
        until = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(RuntimeError):
                if self.run(condition):
                    return
            if time.monotonic() > until:
                raise TimeoutError(f"{otherwise}; the page logged {self.complaints()}")
            time.sleep(0.02)

    def run(self, script: str) -> Any:
        """The value of an expression in the page; an exception there is raised here."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(
                answer["exceptionDetails"]["exception"].get("description", "exception")
            )
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Errors and warnings that the page caused, refused sources included."""
        found = []
        for event in self.events:
            if event["method"] == "Runtime.exceptionThrown":
                details = event["params"]["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Log.entryAdded":
                found.append(event["params"]["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled":
                found.append(str(event["params"]["args"]))
        return found

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """Sets the window and the preferred colours, and waits for the page, which may lag."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        has = f"matchMedia('(prefers-color-scheme: dark)').matches === {str(dark).lower()}"
        self.wait(f"innerWidth === {width} && innerHeight === {height} && {has}", "no such window")

    def press(self, key: str) -> None:
        """A key press of a user."""
        code = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "Tab": 9}.get(key, 0)
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        self.call(
            "Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text
        )
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """A picture of the window, or of the whole page."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self) -> bytes:
        """The print output."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
