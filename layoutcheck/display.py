"""How values show themselves in a notebook: they ask here; the package's `__init__` says who draws.

So a layout can be drawn although nothing in the algebra knows of pictures. Without an artist, and where
a value cannot be drawn, a notebook gets None and falls back to the plain text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_artists: list[Callable[[Any], str | None]] = []


def drawn_by(artist: Callable[[Any], str | None]) -> None:
    """Let `artist` draw: it is given a value and returns SVG or HTML, or None."""
    _artists[:] = [artist]


def drawing(value: Any) -> str | None:
    """What the artist makes of a value."""
    return _artists[0](value) if _artists else None


class Drawable:
    """A value whose notebook form is an SVG picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        return drawing(self)


class Page:
    """A value whose notebook form is HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        return drawing(self)
