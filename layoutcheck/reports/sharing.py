"""Parts of a page that many of its reports have: given once, and referred to from then on.

`run_page.js` puts a copy in place of each reference when its card is opened. Without scripts the reference
is a link to the part. Pictures behind the first `PLAIN_PICTURES` bytes are packed; the script
unpacks them.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence

from layoutcheck.reports.pictures.svg import element

PLAIN_PICTURES = 400_000  # bytes of pictures that a page shows without scripts
_SHORT = 300  # bytes: a reference would not be much shorter


class Shared:
    """The parts that a page has already."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._plain = PLAIN_PICTURES

    def __call__(self, parts: Sequence[str]) -> str:
        """The parts of a report, joined; what the page has already, as a whole or in part, is a reference."""
        return self._once("".join(parts), parts)

    def _once(self, whole: str, parts: Sequence[str] = ()) -> str:
        if len(whole) < _SHORT:
            return whole
        name = self._known.get(whole)
        if name is not None:
            return element("div", element("a", "as above", href=f"#{name}"), class_="part", data_part=name)
        self._known[whole] = name = f"p{len(self._known)}"
        body = "".join(map(self._once, parts)) if parts else self._packed(whole)
        return element("div", body, class_="part", id=name)

    def _packed(self, part: str) -> str:
        size = len(part.encode()) if "<svg" in part else 0
        if size <= self._plain:
            self._plain -= size
            return part
        packed = base64.b64encode(gzip.compress(part.encode(), 9, mtime=0)).decode()
        said = element("p", "These pictures are drawn by the page's script.", class_="quiet")
        return element("div", said, class_="packed", data_packed=packed)
