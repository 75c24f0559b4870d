"""What a notebook shows of a `Layout`, a `ComposedLayout`, a `TiledCopy` or a `Report`."""

from __future__ import annotations

from typing import Any

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.check import Report
from layoutcheck.copies.tiled import TiledCopy
from layoutcheck.errors import InputError
from layoutcheck.reports.html import fragment
from layoutcheck.reports.pictures.grid import grid_picture
from layoutcheck.reports.pictures.svg import document
from layoutcheck.reports.pictures.tile import tile_picture


def show(value: Any) -> str | None:
    """HTML for a report, SVG for the others; None for what cannot be drawn, such as a run-time extent."""
    try:
        if isinstance(value, Report):
            return fragment(value)
        if isinstance(value, TiledCopy):
            return document([tile_picture(value)])
        if isinstance(value, (Layout, ComposedLayout)):
            return document([grid_picture(value)])
    except InputError:
        return None
    return None
