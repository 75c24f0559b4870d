"""`layoutcheck explain --mma`: whether what was copied is what the MMA reads, as text, JSON, HTML or SVG."""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.digits import many
from layoutcheck.errors import InputError
from layoutcheck.findings import json_lines
from layoutcheck.formats import check_format
from layoutcheck.operands import LETTERS, MmaReport, OperandAnswer
from layoutcheck.reports import blocks
from layoutcheck.reports.html import document as page
from layoutcheck.reports.pictures import svg
from layoutcheck.reports.pictures.fragment import fragment_block, fragment_picture
from layoutcheck.reports.pictures.grid import grid_picture
from layoutcheck.reports.style import Style


def render(found: MmaReport, format_: str, style: Style) -> str:
    """The answer. Raises InputError for another format, and where an SVG would be empty."""
    check_format("explain --mma", format_)
    if format_ == "json":
        return json_lines([found.to_dict()])
    if format_ == "svg":
        return svg.document(pictures(found)) + "\n"
    if format_ == "html":
        return _html(found)
    lines = style.behind("", f"{found.verdict}: {_head(found)}")
    for one in found.answers:
        lines += ["", *style.behind(f"{one.verdict}: ", one.title)]
        lines += style.behind("  ", one.message)
        lines += style.behind("  given  ", one.given)
        if one.canonical is not None and one.canonical.read_as:
            lines += style.behind("  read   ", f"as {one.canonical.read_as}")
        lines += style.behind("  fits   ", one.fits)
        lines += [f"    {line}" for line in one.code.splitlines()]
    return "\n".join(lines) + "\n"


def _head(found: MmaReport) -> str:
    atom = found.mma.atom
    where = ", ".join(f"{letter} in {atom.where(letter)}" for letter in LETTERS)
    return f"{atom.name}, {many(found.mma.threads, 'thread')}: {where}"


def pictures(found: MmaReport) -> list[svg.Picture]:
    """Of the operands that something was said of, or of all that are in registers."""
    out = []
    for letter, answer, layout in _shown(found):
        if layout is None:
            out.append(fragment_picture(found.mma, letter, answer))
        else:
            out.append(grid_picture(layout, None))
    if not out:
        what = f"nothing of {found.mma.atom.name} is in registers"
        raise InputError(what, expected="--a or --b: a layout in shared memory")
    return out


def _shown(found: MmaReport) -> Iterator[tuple[str, OperandAnswer | None, Layout | ComposedLayout | None]]:
    """The operands that are drawn, what was said of each, and its layout; None for registers."""
    said = {one.letter: one for one in found.answers}
    for letter in LETTERS:
        answer = said.get(letter)
        if said and answer is None:
            continue
        if found.mma.atom.where(letter) == "registers":
            yield letter, answer, None
        elif answer is not None and answer.layout is not None:
            yield letter, answer, answer.layout


def text_pictures(found: MmaReport, style: Style) -> str:
    """The same for a terminal."""
    made = []
    for letter, answer, layout in _shown(found):
        if layout is None:
            made.append(fragment_block(found.mma, letter, answer))
        else:
            made += blocks.layout_blocks(layout)
    if not made:
        pictures(found)  # says why
    return blocks.render(made, style)


def _html(found: MmaReport) -> str:
    parts = [svg.element("h1", svg.escape(f"{found.verdict}: {_head(found)}"))]
    parts += [_section(one) for one in found.answers]
    try:
        parts += [
            svg.element(
                "figure", svg.element("figcaption", svg.escape(f"{one.title}. {one.caption}")), one.svg(False)
            )
            for one in pictures(found)
        ]
    except InputError:
        parts.append("")
    hint = svg.element(
        "span", "An outlined cell is an element whose register holds another one.", class_="hint"
    )
    return page(f"{found.verdict}: {found.mma.atom.name}", hint, [svg.element("article", *parts)])


def _section(one: OperandAnswer) -> str:
    body = [svg.element("h2", svg.escape(f"{one.verdict}: {one.title}"))]
    for name, text in (
        ("", one.message),
        ("given: ", one.given),
        ("read as: ", one.canonical.read_as if one.canonical else ""),
        ("fits: ", one.fits),
    ):
        if text:
            body.append(svg.element("p", svg.escape(name + text)))
    if one.code:
        body.append(svg.element("pre", svg.element("code", svg.escape(one.code))))
    return svg.element("section", *body)
