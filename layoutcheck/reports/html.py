"""The report page: one HTML file that needs nothing else, with pictures that answer to pointer and keys.

Everything is in the markup; `page.js` only connects it (a thread shows its instructions and addresses, a byte
shows who writes it), so the page says the same without scripts, printed, or in a notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from layoutcheck.atoms.tma.summary import lines as of_tma
from layoutcheck.check import Fix, Report
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.findings import Finding, Where
from layoutcheck.reports.outcome import Explained, Failure, Message, Outcome
from layoutcheck.reports.pictures import copy_pictures
from layoutcheck.reports.pictures.svg import Picture, element, escape, stylesheet
from layoutcheck.reports.style import Style
from layoutcheck.reports.told import (
    answers,
    facts,
    headline,
    instructions,
    main_finding,
    mode_spans,
    operands,
)

_LONGEST_FACT = 200
_MARGIN_BYTES = 2_000  # of markup around the pictures of a fragment
_OPERANDS = {
    "src": "source", "dst": "destination", "pred": "predicate", "aux": "second destination",
    "index": "row numbers",
}  # fmt: skip
_TMA_ROWS = {"tile": "tile", "conv": "convolution", "map": "tensor map"}


def render(outcomes: Sequence[Outcome], style: Style) -> str:
    """The page of these outcomes."""
    body = [_article(outcome) for outcome in outcomes]
    name = "layoutcheck"
    if outcomes and isinstance(outcomes[0], Report):
        name = f"{outcomes[0].verdict}: {outcomes[0].subject or headline(outcomes[0])}"
    hint = (
        "Point at a cell, or focus a picture and use the arrow keys: who moves it, from where to where. "
        "Enter keeps it, Escape lets go."
    )
    return document(name, element("span", hint, class_="hint"), body)


def document(
    name: str, controls: str, body: Sequence[str], css: str | None = None, script: str | None = None
) -> str:
    """A whole page: its title, what stands in its bar, its parts; `css` and `script` are further files."""
    styles = stylesheet() + _file("page.css") + (_file(css) if css else "")
    scripts = _file("page.js") + (_file(script) if script else "")
    kind = ' class="run"' if css else ""
    return "".join(
        (
            '<!doctype html>\n<html lang="en" class="lc-root"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            element("title", escape(name)),
            f"<style>{styles}</style></head><body>",
            f'<header class="bar"><strong>layoutcheck</strong>{controls}',
            '<button type="button" id="theme" aria-label="switch between light and dark">'
            "light / dark</button>",
            f"</header><main{kind}>",
            *body,
            '</main><aside id="inspector" aria-live="polite" hidden></aside>',
            f"<script>{scripts}</script></body></html>\n",
        )
    )


def fragment(report: Report, most: int) -> str:
    """The report for a page that is not ours, such as a notebook: no script, its own styles.

    Pictures that do not fit into `most` bytes are left out, and the fragment says so.
    """
    styles = element("style", stylesheet() + _file("page.css"))
    room = most - len((styles + report_article(report, ())).encode()) - _MARGIN_BYTES
    kept: list[Picture] = []
    pictures = copy_pictures(report.analysis)
    for picture in pictures:
        room -= len(str(picture).encode())
        if room < 0:
            break
        kept.append(picture)
    left_out = len(pictures) - len(kept)
    more = f"{left_out} larger pictures are on the page that report.html() makes." if left_out else ""
    return element(
        "div",
        styles,
        report_article(report, kept),
        element("p", more, class_="hint") if more else "",
        class_="lc-root lc-fragment",
    )


def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _article(outcome: Outcome) -> str:
    if isinstance(outcome, Report):
        return report_article(outcome, copy_pictures(outcome.analysis))
    if isinstance(outcome, Message):
        return _message(outcome)
    if isinstance(outcome, Explained):
        return _explained(outcome)
    assert isinstance(outcome, Failure)
    return element(
        "article", element("h1", "error"), element("pre", escape(f"{outcome.subject}: {outcome.error}"))
    )


def _message(message: Message) -> str:
    main = message.findings[0] if message.findings else None
    return element(
        "article",
        _heading(message.verdict, main, "the compiler refuses this copy", message.diagnostic.location),
        element("pre", escape(message.diagnostic.message)),
        element("p", escape(main.message)) if main else "",
        element("p", element("strong", "To know more: "), escape(message.missing)),
    )


def _explained(outcome: Explained) -> str:
    answer = outcome.answer
    facts = [element("li", element("code", escape(fact))) for fact in answer.facts]
    return element(
        "article",
        _heading(outcome.verdict, None, answer.title, answer.place, outcome.called),
        element("pre", escape(answer.quote)) if answer.quote else "",
        element("p", escape(answer.cause)),
        element("ul", *facts) if facts else "",
        element("p", element("strong", "What helps: "), escape(f"{answer.remedy}.")) if answer.remedy else "",
    )


def report_article(
    report: Report,
    pictures: Sequence[Picture],
    subject: str | None = None,
    share: Callable[[Sequence[str]], str] = "".join,
) -> str:
    """A report with these pictures, under the `subject` in place of its own; `share` joins its parts."""
    main = main_finding(report)
    others = [finding for finding in report.findings if finding is not main]
    parts = (
        element("section", _why(main), _copy(report, main), class_="top"),
        _pictures(pictures[:1]),
        _fixes(report),
        _pictures(pictures[1:]),
        _others(others),
        _answers(report),
    )
    return element(
        "article",
        _heading(report.verdict, main, headline(report), subject or report.subject),
        share(parts),
        class_="report",
        data_verdict=report.verdict,
    )


def _heading(
    verdict: str, main: Finding | None, otherwise: str, subject: str | None, called: str = ""
) -> str:
    code = element("code", escape(main.code), class_="code") if main else ""
    return element(
        "header",
        element("h1", badge(verdict, called=called), code,
                element("span", escape(main.title if main else otherwise))),
        element("p", escape(subject), class_="subject") if subject else "",
    )  # fmt: skip


def _why(main: Finding | None) -> str:
    if main is None:
        return ""
    rows = [_row(key, escape(value)) for key, value in facts(main, _LONGEST_FACT)]
    table = element("table", *rows, class_="facts") if rows else ""
    shown = element("details", element("summary", "the numbers"), table) if table else ""
    return element("div", element("p", escape(main.message), class_="message"), shown, class_="why")


def _copy(report: Report, main: Finding | None) -> str:
    """The copy as it was understood, the mode that the finding is about marked."""
    copy = report.copy
    name = copy.atom.phrase if copy.atom is not None else f"cute.{copy.op}"
    rows = [_row("instruction", escape(name)), _row("for", escape(copy.arch))]
    where = main.where if main else Where()
    if copy.tiling is not None:
        threads = copy.tiling.block_threads
        rows += [
            _row("source tile", _operand(copy.tiling.src, None)),
            _row("destination tile", _operand(copy.tiling.dst, None)),
            _row("thread, value", escape(copy.tiling.tiled.layout_tv)),
        ]
        rows += [_row("launched", f"{threads} threads")] if threads is not None else []
    whose = "a thread's " if copy.tiling is not None else ""
    for side, memref in operands(copy):
        word = f"{whose}{_OPERANDS[side]}" if side in ("src", "dst") else _OPERANDS[side]
        rows.append(_row(word, _operand(memref, where if where.operand == side else None)))
    if copy.tma is not None:
        rows += [_row(_TMA_ROWS[word], escape(text)) for word, text in of_tma(copy)]
    if copy.cluster is not None:
        rows.append(_row("cluster", escape(str(copy.cluster).removeprefix("cluster "))))
    rows += [_row("assumed", escape("; ".join(report.assumptions)))] if report.assumptions else []
    return element("table", *rows, class_="copy")


def badge(verdict: str, *kind: str, called: str = "") -> str:
    """A verdict in its colour, or what it is `called`; of the `kind` "small" beside other words."""
    return element("span", escape(called or verdict), class_=" ".join(("badge", *kind, verdict)))


def table(rows: Iterable[Iterable[str]], head: Sequence[str] = (), **attributes: Any) -> str:
    """A table of cells that are markup, below the names of its columns, if they have any."""
    top = [element("tr", *(element("th", name, scope="col") for name in head))] if head else []
    below = (element("tr", *(element("td", cell) for cell in row)) for row in rows)
    return element("table", *top, *below, **attributes)


def _row(name: str, value: str) -> str:
    return element("tr", element("th", escape(name), scope="row"), element("td", value))


def _operand(memref: Memref, where: Where | None) -> str:
    if isinstance(memref, OtherOperand):
        return escape(memref.text)
    swizzle = f" {memref.swizzle}" if memref.swizzle is not None else ""
    shown = str(memref.layout)
    spans = mode_spans(memref.layout, where.mode) if where is not None and where.mode is not None else []
    parts, at = [], 0
    for start, end in sorted(spans):
        parts += [escape(shown[at:start]), element("mark", escape(shown[start:end]))]
        at = end
    parts.append(escape(shown[at:]))
    facts = escape(f"{memref.dtype} {memref.space} align {memref.proved_align_bytes}{swizzle}")
    return element("code", *parts) + " " + element("span", facts, class_="quiet")


def _pictures(pictures: Sequence[Picture]) -> str:
    figures = [
        element(
            "figure",
            element(
                "figcaption", element("h2", escape(picture.title)), element("p", escape(picture.caption))
            ),
            picture.svg(alone=False),
            class_="picture",
        )
        for picture in pictures
    ]
    return element("section", *figures, class_="pictures") if figures else ""


def _fixes(report: Report) -> str:
    if not report.fixes:
        why = element("p", escape(report.obstacle)) if report.obstacle else ""
        return element("section", element("h2", "No fix"), why) if why else ""
    found = [_fix(number, fix) for number, fix in enumerate(report.fixes, start=1)]
    return element("section", element("h2", "Fixes, best first"), *found, class_="fixes")


def _fix(number: int, fix: Fix) -> str:
    cost = f" {instructions(fix)}" if instructions(fix) else ""
    by = f"confirmed by {' and '.join(fix.confirmed_by)}" if fix.confirmed_by else ""
    said = fix.title + (f"; {fix.note}" if fix.note else "")
    return element(
        "details",
        element("summary", element("strong", f"{number}. {escape(fix.strategy)}"), " ",
                badge(fix.verdict, "small"), element("span", escape(cost), class_="quiet")),
        element("p", escape(said)),
        element("p", escape(by), class_="quiet") if by else "",
        element("p", escape(f"a sketch: {fix.sketch}")) if fix.sketch else "",
        element("ul", *(element("li", escape(f"{change.argument}: {change.before} -> {change.after}"))
                        for change in fix.changes), class_="quiet"),
        element("div", element("button", "copy", type="button", class_="copy-code"),
                element("pre", element("code", escape(fix.code.strip(chr(10))))), class_="codebox"),
        class_="fix",
        open="" if number == 1 else None,
    )  # fmt: skip


def _others(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    shown = [
        element("details", element("summary", element("code", escape(finding.code), class_="code"), " ",
                                   escape(finding.title), " ",
                                   element("span", escape(finding.severity), class_="quiet")),
                element("p", escape(finding.message)))
        for finding in findings
    ]  # fmt: skip
    return element("section", element("h2", "Also found"), *shown, class_="others")


def _answers(report: Report) -> str:
    rows = [_row(name, escape(said)) for name, said in answers(report)]
    return element("section", element("h2", "The three answers"), element("table", *rows, class_="copy"))
