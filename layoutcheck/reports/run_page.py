"""One page for a whole run: its kernels, its source with a verdict at every line, and each copy's report.

The page is one HTML file and needs no network. `run_page.js` filters, puts shared parts in place and unpacks
pictures (`Shared`). Without scripts a shared part is a link to where it stands first, and of many
pictures the first are shown.
"""

from __future__ import annotations

import base64
import gzip
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from layoutcheck.analysis.summary import issued
from layoutcheck.check import Report
from layoutcheck.copies.copy import Copy
from layoutcheck.digits import many
from layoutcheck.findings import VERDICTS
from layoutcheck.gate import NO_GATE, Gate
from layoutcheck.regular import regular_lines
from layoutcheck.reports import html, order
from layoutcheck.reports.pictures import copy_pictures
from layoutcheck.reports.pictures.order import order_picture
from layoutcheck.reports.pictures.scene import scene
from layoutcheck.reports.pictures.svg import Picture, element, escape
from layoutcheck.reports.style import Style
from layoutcheck.reports.told import headline, main_finding
from layoutcheck.reports.trace import JudgedTrace, counted, refusal
from layoutcheck.sources.callers import shown
from layoutcheck.sources.traced import Distinct, Frame

PLAIN_PICTURES = 400_000  # bytes of pictures that a page shows without scripts
_SHORT = 300  # bytes: a reference would not be much shorter


class Shared:
    """The parts that a page has already: each is given once, and referred to from then on.

    `run_page.js` puts a copy in place of each reference when its card is opened. Without scripts the
    reference is a link to the part. Pictures behind the first `PLAIN_PICTURES` bytes are packed; the script
    unpacks them.
    """

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


MOST_PICTURES = 6_000_000  # bytes of pictures on one page; what is left out is said
_MOST_OPEN = 60  # failing cards that are open at first; of more, none: the page would be slow
_AROUND = 6  # lines of source before and behind a line with a copy
_UNWRAPPED = 1_000_000  # columns: the browser breaks lines
_FAILING = ("rejected", "wrong")
_NO_SCRIPTS = (
    "This viewer runs no scripts: search and filters do nothing, what the page has shown already is a link "
    "to it, and only the first pictures are drawn. A browser that opens the file itself shows all of it."
)
_ORDER = "LC5"  # findings on the order of accesses


class Entry(NamedTuple):
    """Something that the page says of a line: a copy, or a finding about elements or order.

    `text` is what the search looks through, `cost` a few words beside the line ("" where none is known).
    """

    file: str
    line: int
    verdict: str
    title: str
    cost: str
    kernels: tuple[str, ...]
    text: str
    body: str
    also: tuple[Frame, ...] = ()  # other lines of which the same is said


def render(judged: JudgedTrace, style: Style, gate: Gate = NO_GATE) -> str:
    """The page of a run."""
    entries = [*_refusals(judged), *_orders(judged), *_copies(judged)]
    open_ = sum(entry.verdict in _FAILING for entry in entries) <= _MOST_OPEN
    worst = max((entry.verdict for entry in entries), key=_rank, default="legal")
    counts = ", ".join(f"{count} {name}" for name, count in _by_verdict(entries)) or "no copies"
    told = "\n".join(counted(judged, Style(width=_UNWRAPPED)))
    missed = [element("p", escape(f"not seen: {reason}"), class_="quiet") for reason in judged.unseen(gate)]
    return html.document(
        f"{worst}: {counts}",
        _controls(entries),
        [
            element("h1", html.badge(worst), element("span", escape(counts))),
            element("pre", escape(told), class_="counts quiet"),
            element("noscript", element("p", _NO_SCRIPTS, class_="quiet")),
            *missed,
            _kernels(judged, entries),
            *(_file(name, found, f"f{at}", open_) for at, (name, found) in enumerate(_by_file(entries))),
            element("p", "Nothing here has what is searched for.", id="nothing", hidden="hidden"),
        ],
        "run_page.css",
        "run_page.js",
    )  # fmt: skip


def _by_verdict(entries: Sequence[Entry]) -> list[tuple[str, int]]:
    """The entries of each verdict that occurs, the worst first."""
    counts = Counter(entry.verdict for entry in entries)
    return sorted(counts.items(), key=lambda one: -_rank(one[0]))


def _rank(verdict: str) -> int:
    return VERDICTS.index(verdict) if verdict in VERDICTS else -1  # a note


def _refusals(judged: JudgedTrace) -> Iterator[Entry]:
    """Kernels that do not compile."""
    for failure in judged.uncompiled:
        found = refusal(failure)
        body = element("article", element("p", escape(found.message)), class_="report")
        name = failure.where.file if failure.where is not None else ""
        yield Entry(name, found.line, "rejected", f"{found.code} {found.title}", "", (), found.message, body)


def _orders(judged: JudgedTrace) -> Iterator[Entry]:
    """What element accesses do wrong, and what nothing orders, at the later of its two places."""
    for told in order.caused(judged.trace.told):
        finding, said = told.finding, f"{told.finding.message} {told.elsewhere}".rstrip()
        place = order.main(finding)
        places = [
            element(
                "li",
                escape(one.what),
                " ",
                element("code", escape(f"{shown(one.where.file)}:{one.where.line}")),
            )
            for one in finding.places
        ]
        drawn = element("figure", order_picture(finding)) if finding.code.startswith(_ORDER) else ""
        body = element(
            "article", element("p", escape(said), class_="message"), element("ul", *places), drawn,
            class_="report", data_verdict=finding.severity,
        )  # fmt: skip
        title = f"{finding.code} {finding.title}"
        yield Entry(
            place.where.file, place.where.line, finding.severity, title, "", tuple(told.kernels), said, body,
            tuple(order.main(one).where for one in told.others),
        )  # fmt: skip


def _copies(judged: JudgedTrace) -> Iterator[Entry]:
    """Every different copy; those that fail get their pictures first."""
    room, share = MOST_PICTURES, Shared()
    drawn: dict[Copy, Sequence[Picture]] = {}
    ranked = sorted(
        judged.groups(), key=lambda group: -_rank(group.report.verdict if group.report else "unknown")
    )
    for group in ranked:
        one, report = group.one, group.report
        first = one.first
        where = first.where
        if report is None:
            why = first.missing or "its types cannot be read"
            body = element("article", element("p", escape(why)), element("pre", escape(first.operation)))
            yield Entry(where.file, where.line, "unknown", why, "", one.kernels, first.operation, body)
            continue
        if room > 0 and report.copy not in drawn:
            drawn[report.copy] = copy_pictures(report.analysis)
        pictures = drawn.get(report.copy, ())
        size = sum(len(picture.body.encode()) for picture in pictures)
        left_out = size > room or (room == 0 and scene(report.analysis) is not None)
        room = 0 if left_out else room - size  # a page that is full stays so: nothing more is drawn
        body = html.report_article(report, () if left_out else pictures, group.subject, share)
        if left_out:
            body += element("p", "Its pictures are left out: the page would be too large.", class_="quiet")
        main = main_finding(report)
        cost = cost_of(one, report)
        title = headline(report) if main is None else f"{main.code} {main.title}"
        if main is None and "ideal" in cost:  # at its addresses in this kernel, which its types do not say
            title = "accepted, and does what the layouts say"
        words = " ".join(finding.message for finding in report.findings)
        at = where.file, where.line
        yield Entry(*at, report.verdict, title, cost, one.kernels, words, body, group.others)


def cost_of(one: Distinct, report: Report) -> str:
    """What the copy costs a block, in a few words; "" where its addresses are not known."""
    if one.first.addresses is not None:
        sides = one.first.addresses.sides
        numbers = {
            "smem_wavefronts": sum(side.wavefronts for side in sides),
            "ideal_smem_wavefronts": sum(side.ideal_wavefronts for side in sides),
            "gmem_sectors": sum(side.sectors for side in sides),
            "ideal_gmem_sectors": sum(side.ideal_sectors for side in sides),
        }
    else:
        numbers = issued(report.analysis)
    words = []
    for key, unit in (("smem_wavefronts", "wavefronts"), ("gmem_sectors", "sectors")):
        spent, ideal = numbers.get(key, 0), numbers.get(f"ideal_{key}", 0)
        if spent:
            words.append(f"{spent} {unit}" + (f", ideal {ideal}" if ideal != spent else ""))
    return "; ".join(words)


def _by_file(entries: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    """The entries of each file by line; files with the worst first."""
    found: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[entry.file].append(entry)
    for one in found.values():
        one.sort(key=lambda entry: (entry.line, -_rank(entry.verdict)))
    return sorted(found.items(), key=lambda one: (-max(_rank(e.verdict) for e in one[1]), one[0]))


def _controls(entries: Sequence[Entry]) -> str:
    """The search, a button for each verdict that occurs, and the kernels."""
    buttons = [
        element("button", escape(f"{name} {count}"), type="button",
                class_="filter", data_filter=name, aria_pressed="true")
        for name, count in _by_verdict(entries)
    ]  # fmt: skip
    names = sorted({kernel for entry in entries for kernel in entry.kernels})
    options = [element("option", "all kernels", value="")] + [
        element("option", escape(name), value=name) for name in names
    ]
    return "".join(
        (
            element(
                "input", type="search", id="search", placeholder="search", aria_label="search in findings"
            ),
            element("span", *buttons, class_="filters"),
            element("select", *options, id="kernel", aria_label="kernel") if len(names) > 1 else "",
        )
    )


def _kernels(judged: JudgedTrace, entries: Sequence[Entry]) -> str:
    """A row for each kernel: its architecture, its copies, the worst that is said of it."""
    worst_of: dict[str, str] = {}
    for entry in entries:
        for name in entry.kernels:
            worst_of[name] = max(worst_of.get(name, "legal"), entry.verdict, key=_rank)
    rows = []
    for kernel in judged.trace.kernels:
        worst = html.badge(worst_of.get(kernel.name, "legal"), "small")
        again = f", built {kernel.built} times" if kernel.built > 1 else ""
        copies = f"{many(kernel.copies, 'copy', 'copies')}{again}"
        rows.append((worst, element("code", escape(kernel.name)), escape(kernel.arch), copies))
    return element("section", element("h2", "Kernels"), html.table(rows), class_="kernels") if rows else ""


def _file(name: str, entries: Sequence[Entry], number: str, open_: bool) -> str:
    """One file: its source, with a mark at every line of a card, and the cards beside it."""
    label = os.path.relpath(name) if name else "place unknown"
    cards = [_card(entry, f"{number}-{at}", open_) for at, entry in enumerate(entries)]
    listing = _source(name, entries, number)
    return element(
        "section",
        element("h2", element("code", escape(label))),
        element("div", listing, element("div", *cards, class_="cards"), class_="split"),
        class_="file",
    )


def _card(entry: Entry, name: str, open_: bool) -> str:
    cost = element("span", escape(entry.cost), class_="cost") if entry.cost else ""
    head = element(
        "summary",
        html.badge(entry.verdict, "small"),
        element("span", f"line {entry.line}", class_="at"),
        element("span", escape(entry.title), class_="title"),
        cost,
    )
    attributes = {
        "class_": "card", "id": name, "data_verdict": entry.verdict,
        "data_kernels": "\n".join(entry.kernels),
        "data_text": entry.text.lower(),
    }  # fmt: skip
    if open_ and entry.verdict in _FAILING:
        attributes["open"] = "open"
    return element("details", head, entry.body, **attributes)


def _source(name: str, entries: Sequence[Entry], number: str) -> str:
    """The lines around everything that is said; a mark links to the first card of its line."""
    lines = regular_lines(name) if name else []
    if not lines:
        return element("p", "The source is not there any more.", class_="quiet source")
    marked: dict[int, tuple[str, Entry]] = {}
    for at, entry in enumerate(entries):
        for line in (entry.line, *(one.line for one in entry.also if one.file == name)):
            if line not in marked or _rank(entry.verdict) > _rank(marked[line][1].verdict):
                marked[line] = (f"{number}-{at}", entry)
    wanted = sorted({near for line in marked for near in range(line - _AROUND, line + _AROUND + 1)
                     if 1 <= near <= len(lines)})  # fmt: skip
    rows, before = [], 0
    for line in wanted:
        if line != before + 1:
            rows.append('<span class="gap">⋯</span>')
        before = line
        text = element("span", escape(lines[line - 1]) or " ", class_="text")
        if line not in marked:
            rows.append(element("span", element("span", str(line), class_="no"), text, class_="line"))
        else:
            link, entry = marked[line]
            rows.append(
                element("a", element("span", str(line), class_="no"), text, href=f"#{link}",
                        class_=f"line mark {entry.verdict}", title=entry.title)
            )  # fmt: skip
    return element("pre", *rows, class_="source", tabindex="0")
