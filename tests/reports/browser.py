"""A headless Chromium for the page's tests, and its screenshots as pixels."""

from __future__ import annotations

import shutil
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser; a test that needs it is skipped, with the reason, where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def pixels(png: bytes) -> list[bytes]:
    """The rows of an 8-bit RGB or RGBA screenshot, three bytes a pixel."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, header = 8, b"", b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        header = body if kind == b"IHDR" else header
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", header[:10])
    assert depth == 8 and colour in (2, 6)
    each = 3 if colour == 2 else 4
    raw = zlib.decompress(data)
    before = bytearray(width * each)
    rows = []
    for y in range(height):
        start = y * (width * each + 1)
        line = bytearray(raw[start + 1 : start + 1 + width * each])
        _unfilter(raw[start], line, before, each)
        before = line
        rows.append(
            bytes(line) if each == 3 else b"".join(bytes(line[i : i + 3]) for i in range(0, len(line), 4))
        )
    return rows


def _unfilter(kind: int, line: bytearray, before: bytearray, each: int) -> None:
    for i in range(len(line)):
        left = line[i - each] if i >= each else 0
        up, corner = before[i], before[i - each] if i >= each else 0
        if kind == 1:
            line[i] = (line[i] + left) & 255
        elif kind == 2:
            line[i] = (line[i] + up) & 255
        elif kind == 3:
            line[i] = (line[i] + (left + up) // 2) & 255
        elif kind == 4:
            guess = left + up - corner
            near = min(
                (abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner)
            )
            line[i] = (line[i] + near[2]) & 255
