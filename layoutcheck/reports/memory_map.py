"""The map of a kernel's shared and tensor memory: as a table with time beside it, as a picture, as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from layoutcheck.digits import many
from layoutcheck.findings import json_lines
from layoutcheck.order.memory_map import DYNAMIC, MemoryMap, Region, Use
from layoutcheck.reports.pictures import svg
from layoutcheck.reports.pictures.svg import WIDTH, Picture
from layoutcheck.reports.style import Style, aligned, kernel_name
from layoutcheck.sources.callers import shown

_TICKS = 32  # columns of the bar that shows when
_LEFT = 90.0
_HIGH = 360.0  # of a picture's time axis
_COLUMNS = (32, 64, 128, 256, 512)  # that tcgen05.alloc takes (PTX ISA, tcgen05.alloc)


def render(maps: Sequence[MemoryMap], format_: str, style: Style) -> str:
    """All maps."""
    if format_ == "json":
        return json_lines(map(to_dict, maps), ascii_=style.ascii)
    if format_ == "svg":
        return svg.document([picture(one) for one in maps if not one.problem and one.regions])
    return "\n".join("\n".join(_text(one, style)) + "\n" for one in maps) or "no kernel was traced\n"


def to_dict(one: MemoryMap) -> dict[str, object]:
    """A map as JSON has it, with the partial overlaps of its uses."""
    pairs = [[one.uses.index(use) for use in pair] for pair in one.aliases]
    return {**asdict(one), "aliases": pairs}


def _text(one: MemoryMap, style: Style) -> Iterator[str]:
    yield from style.wrap(kernel_name(one.kernel), "  ")
    if one.problem:
        yield from style.wrap(f"not mapped: {one.problem}", "    ", "  ")
        return
    allocated = [region for region in one.regions if region.name != DYNAMIC]
    static = sum(region.size for region in allocated)
    end = max((region.start + region.size for region in allocated), default=0)
    ends = f", which end at byte {end:,}" if end > static else ""
    asked = "an unknown number of" if one.asked is None else f"{one.asked:,}"
    dynamic = any(region.name == DYNAMIC for region in one.regions)
    parts = many(len(allocated), "allocation")
    used = ""
    if dynamic:
        used = f"; {one.used(DYNAMIC):,} B of the dynamic part are used, the launch asks for {asked} B"
    yield from style.wrap(
        f"shared memory: {static:,} B in {parts}{ends}{used}; a block of "
        f"{one.arch} can have {one.most:,} B", "    ", "  ",
    )  # fmt: skip
    for region in one.regions:
        end = region.start + region.size
        name = "dynamic" if region.name == DYNAMIC else f"allocation {region.name}"
        span = f"bytes {region.start:,} to {end:,}, {region.size:,} B, aligned to {region.align}"
        yield f"  {name}: {span}; the bars are time"
        mine = [use for use in one.uses if use.region == region.name]
        rows = [_row(use, region, one.events) for use in mine]
        yield from (f"    {line}" for line in aligned(rows))
        if not rows:
            yield "    not touched by block 0"
    for a, b in one.aliases:
        low, high = max(a.low, b.low), min(a.high, b.high)
        yield from style.wrap(
            f"overlap: {_place(a)} and {_place(b)} both write bytes {low:,} to {high:,}; neither range holds "
            "the other", "    ", "  ",
        )  # fmt: skip
    yield from (f"  tensor memory: {line}" for line in _tensor(one))
    if not one.complete:
        yield "  some loops were followed in part: later bytes may be missing"


def _row(use: Use, region: Region, events: int) -> tuple[str, str, str, str, str]:
    what = "mbarrier" if use.barrier else " and ".join(
        word for word, count in (("reads", use.reads), ("writes", use.writes)) if count
    )  # fmt: skip
    first, last = (n * _TICKS // max(1, events) for n in (use.first, use.last))
    bar = "".join("#" if first <= i <= last else "." for i in range(_TICKS))
    return (
        f"{use.low - region.start:,} to {use.high - region.start:,}", f"{use.high - use.low:,} B", what,
        _place(use), f"|{bar}|",
    )  # fmt: skip


def _place(use: Use) -> str:
    return f"{shown(use.where.file)}:{use.where.line}" if use.where.file else "place unknown"


def _tensor(one: MemoryMap) -> Iterator[str]:
    tensor = one.tensor
    for where, columns in tensor.allocated:
        said = "a number of columns known at run time" if columns is None else many(columns, "column")
        odd = "" if columns is None or columns in _COLUMNS else " (the machine has 32, 64, 128, 256 or 512)"
        yield f"{shown(where.file)}:{where.line} allocates {said}{odd}"
    if tensor.allocated:
        frees = many(len(tensor.freed), "place frees", "places free")
        gives = many(len(tensor.relinquished), "gives", "give")
        yield f"{frees} it, {gives} up the right to allocate"


def picture(one: MemoryMap) -> Picture:
    """Addresses from left to right, time from top to bottom; a box is a line's use, from first to last."""
    end = max((region.start + region.size for region in one.regions), default=1)
    end = max(end, *(use.high for use in one.uses), 1) if one.uses else max(end, 1)
    wide = (WIDTH - _LEFT - 10) / end
    body = []
    for region in one.regions:
        x, w = _LEFT + region.start * wide, max(1.0, region.size * wide)
        body.append(svg.rect(x, 0.0, w, _HIGH + 20, "lc-cell"))
        body.append(svg.text(x + 3, 12, f"{region.name}: {region.size:,} B", "lc-s lc-u"))
    each = _HIGH / max(1, one.events)
    for number, use in enumerate(one.uses):
        x, y = _LEFT + use.low * wide, 20 + use.first * each
        w, h = max(2.0, (use.high - use.low) * wide), max(3.0, (use.last - use.first + 1) * each)
        what = "mbarrier" if use.barrier else f"{use.reads} reads, {use.writes} writes"
        said = f"{_place(use)}: bytes {use.low} to {use.high}, {what}"
        span = {"data_low": use.low, "data_high": use.high}
        body.append(svg.rect(x, y, w, h, svg.shade(number), svg.title(said), fill_opacity=0.55, **span))
    body += [svg.text(0, 30, "first event", "lc-s lc-u"), svg.text(0, 20 + _HIGH, "last event", "lc-s lc-u")]
    caption = (
        f"{one.kernel}. Bytes of shared memory from left to right (0 to {end:,}), time from top to bottom "
        f"({one.events:,} events of block 0). A box is what one line touches; boxes that overlap share bytes."
    )
    return Picture("memory", "shared memory", caption, _HIGH + 30, "".join(body))
