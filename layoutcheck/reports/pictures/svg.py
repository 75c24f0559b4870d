"""SVG written as text: elements, escaping, the style sheet that every picture shares, and `Picture`.

Colours are classes, so that a page, a notebook and a picture on its own follow light and dark alike. The
eight hues keep their differences for the common colour-blindnesses (after Okabe and Ito, lightened for text);
whatever a colour says is also said in words or in data.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HUES = 8
SHADES = 4
WIDTH = 900.0  # of every picture, in user units; pages scale it

_ILLEGAL = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def legal_text(value: Any) -> str:
    """Text without the characters that XML has no way to write."""
    return _ILLEGAL.sub("\ufffd", str(value))


def escape(value: Any) -> str:
    """Text that is safe between tags and within quotes of HTML and XML."""
    return html.escape(legal_text(value), quote=True)


def number(value: float) -> str:
    """At most two decimals, none where they are zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def element(name: str, *body: str, **attributes: Any) -> str:
    """`<name key="value">body</name>`; `data_bank` is `data-bank`, `class_` is `class`, None is left out."""
    words = [name]
    for key, value in attributes.items():
        if value is not None:
            shown = number(value) if isinstance(value, (int, float)) else escape(value)
            words.append(f'{key.rstrip("_").replace("_", "-")}="{shown}"')
    head = " ".join(words)
    return f"<{head}>{''.join(body)}</{name}>" if body else f"<{head}/>"


def text(x: float, y: float, content: Any, class_: str = "", **attributes: Any) -> str:
    """A line of text, as text."""
    return element("text", escape(content), x=x, y=y, class_=f"lc-x {class_}".strip(), **attributes)


def rect(x: float, y: float, width: float, height: float, class_: str, *body: str, **attributes: Any) -> str:
    """A rectangle whose top left corner is at (x, y)."""
    return element("rect", *body, x=x, y=y, width=width, height=height, class_=class_, **attributes)


def at(x: float, y: float) -> str:
    """The `transform` that moves an element to (x, y)."""
    return f"translate({number(x)} {number(y)})"


def title(content: str) -> str:
    """What a pointer that rests on the element is told."""
    return f"<title>{escape(content)}</title>"


def shade(index: int) -> str:
    """The classes of thread (or colour) `index`: a hue that differs from its neighbours', and a shade."""
    return f"lc-c{index % HUES} lc-o{index // HUES % SHADES}"


@dataclass(frozen=True, slots=True)
class Picture:
    """One drawing: `body` is SVG in a box of `WIDTH` x `height`; `caption` says what it shows."""

    name: str
    title: str
    caption: str
    height: float
    body: str
    data: dict[str, Any] = field(default_factory=dict)  # data-* of the picture as a whole

    def svg(self, alone: bool = True) -> str:
        """The picture; `alone` with its style sheet, heading and caption, else for a page that has them."""
        if alone:
            return document([self])
        return element(
            "svg",
            title(f"{self.title}. {self.caption}"),
            self.body,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {number(WIDTH)} {number(float(self.height))}",
            class_="lc-picture",
            role="img",
            data_picture=self.name,
            **{f"data_{key}": value for key, value in self.data.items()},
        )


_MARGIN, _LINE = 16.0, 15.0


def document(pictures: Iterable[Picture]) -> str:
    """One SVG file: the pictures below each other, each with its heading and caption."""
    body: list[str] = []
    y = _MARGIN
    for picture in pictures:
        y += 14
        body.append(text(_MARGIN, y, picture.title, "lc-h"))
        for line in wrapped(picture.caption):
            y += _LINE
            body.append(text(_MARGIN, y, line, "lc-q"))
        y += 10
        body.append(
            element(
                "g",
                picture.body,
                transform=at(_MARGIN, y),
                data_picture=picture.name,
                **{f"data_{key}": value for key, value in picture.data.items()},
            )
        )
        y += picture.height + 14
    wide, high = WIDTH + 2 * _MARGIN, y + 2
    return element(
        "svg",
        element("style", stylesheet()),
        element("rect", width=wide, height=high, class_="lc-paper"),
        *body,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(wide)} {number(high)}",
        width=wide,
        height=high,
        class_="lc-alone",
    )


def wrapped(words: str) -> list[str]:
    """A caption in lines of 132 columns."""
    import textwrap

    return textwrap.wrap(words, 132) if words else []


def stylesheet() -> str:
    """The style of all pictures, light and dark."""
    return Path(__file__).with_name("pictures.css").read_text(encoding="utf-8")
