"""What reports, syntheses, layouts and tiled copies show of themselves in Python."""

from __future__ import annotations

from typing import Any

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.check import Report
from layoutcheck.copies.tiled import TiledCopy
from layoutcheck.errors import InputError
from layoutcheck.machine.canonical import Canonical
from layoutcheck.reports import html, text
from layoutcheck.reports.pictures.grid import grid_picture
from layoutcheck.reports.pictures.svg import document
from layoutcheck.reports.pictures.tile import tile_picture
from layoutcheck.reports.style import Style

MOST_BYTES = 100_000  # of a report in a notebook, which keeps every output in its file


def show(value: Any, form: str) -> str | None:
    """The value as "text", as a "page", or for a "notebook"; None where it cannot be drawn.

    In a notebook a report is HTML of at most `MOST_BYTES`, with the pictures that fit; the others are SVG.
    """
    try:
        if isinstance(value, Report):
            return _report(value, form)
        if isinstance(value, TiledCopy):
            return document([tile_picture(value)])
        if isinstance(value, (Layout, ComposedLayout)):
            return document([grid_picture(value)])
    except InputError:
        return None
    return _text(value).rstrip("\n") if form == "text" else None


def _text(value: Any) -> str:
    """Of the other answers, which are text alone."""
    plain = Style(python=True)
    if isinstance(value, Canonical):
        from layoutcheck.reports import canonical

        return canonical.render(value, "text", plain)
    if type(value).__name__ == "MmaReport":
        from layoutcheck.reports import mma  # who has one has loaded it

        return mma.render(value, "text", plain)
    from layoutcheck.reports import synthesis

    return synthesis.render(value, plain)


def _report(report: Report, form: str) -> str:
    plain = Style(python=True)
    if form == "text":
        return text.render([report], plain).rstrip("\n")
    return html.render([report], plain) if form == "page" else html.fragment(report, MOST_BYTES)
