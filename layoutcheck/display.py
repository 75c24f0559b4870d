"""How values show themselves: in a notebook, as text, as a page. They ask here; `__init__` says who draws.

So a layout can be drawn although nothing in the algebra knows of pictures. Without an artist, and where
a value cannot be drawn, a notebook gets None and falls back to the plain text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Artist = Callable[[Any, str], "str | None"]
_artists: list[Artist] = []


def drawn_by(artist: Artist) -> None:
    """Let `artist` draw: it is given a value and a form ("notebook", "text" or "page")."""
    _artists[:] = [artist]


def drawing(value: Any, form: str = "notebook") -> str | None:
    """What the artist makes of a value."""
    return _artists[0](value, form) if _artists else None


class Drawable:
    """A value whose notebook form is an SVG picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        return drawing(self)


class Text:
    """A value that is read as text, in a line of its own where it is only shown."""

    __slots__ = ()

    def text(self) -> str:
        """The report that a terminal prints, without colours."""
        return drawing(self, "text") or ""

    def __str__(self) -> str:
        return self.text()


class Page(Text):
    """A value that is read as text, as an HTML page, or in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        return drawing(self)

    def html(self) -> str:
        """The report as one HTML page that needs nothing else."""
        return drawing(self, "page") or ""
