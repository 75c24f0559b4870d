"""What went wrong in the model's run of a copy, as text and as evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from layoutcheck.analysis import Analysis
from layoutcheck.analysis.vector import NAMES, atom_v, elements, width_bits
from layoutcheck.copies.addresses import PRIVATE
from layoutcheck.findings import Finding, Where
from layoutcheck.rules.rule import Rule

# What a thread-value layout, tiler or stride that does not fit can lead to: kinds of difference.
MISPLACED = (
    "wrong", "missing", "outside_src", "outside_dst", "misaligned_src", "misaligned_dst", "race", "overlap",
)  # fmt: skip

# Kinds of difference (analysis/comparison) whose addresses belong to one operand.
_SIDE = {"misaligned_src": "src", "misaligned_dst": "dst", "outside_src": "src", "outside_dst": "dst"}


def occurred(analysis: Analysis) -> frozenset[str]:
    """The kinds of difference that the worst run shows; empty for a copy that does what the layouts say."""
    return frozenset(analysis.effect.kinds) if analysis.effect else frozenset()


def first_of(analysis: Analysis, kinds: Iterable[str]) -> str | None:
    """The first of these kinds that occurs; None where none does."""
    return next((kind for kind in kinds if kind in occurred(analysis)), None)


def misplaced(analysis: Analysis) -> str:
    """The first of `MISPLACED` that occurs; "wrong" where none does."""
    return first_of(analysis, MISPLACED) or "wrong"


def where(
    analysis: Analysis, kind: str, operand: str | None = None, mode: tuple[int, ...] | None = None
) -> Where:
    """The first offender of a kind."""
    first = analysis.effect.first.get(kind) if analysis.effect else None
    operand = operand or _SIDE.get(kind, "dst")
    if first is None:
        return Where(operand, mode)
    return Where(operand, mode, first.thread, first.value, first.instruction)


def evidence(analysis: Analysis, *kinds: str) -> dict[str, Any]:
    """Counts of the kinds that occur, and the first offender of each: offsets in bytes from the operands' bases."""
    if analysis.effect is None or analysis.worst is None:
        return {}
    out: dict[str, Any] = {}
    for kind in kinds:
        if not analysis.effect[kind]:
            continue
        out[kind] = analysis.effect[kind]
        first = analysis.effect.first.get(kind)
        if first is not None:
            for name, value in _places(analysis, kind).items():
                out[f"first_{kind}_{name}"] = value
    layouts = [(copy.src.layout, copy.dst.layout) for copy in (analysis.copy, analysis.worst.instance)]
    if layouts[0] != layouts[1]:
        out["with"] = " -> ".join(map(str, layouts[1]))
    return out


def sentence(analysis: Analysis, *kinds: str) -> str:
    """One sentence about the first offender of the first of these kinds that occurs; empty where none does."""
    return next((text for kind in kinds if (text := _sentence(analysis, kind))), "")


def _sentence(analysis: Analysis, kind: str) -> str:
    effect = analysis.effect
    if effect is None or not effect[kind]:
        return ""
    first = effect.first.get(kind)
    unit = "bytes" if effect.unit_bits == 8 else "4-bit elements"
    if kind == "unmatched":
        return f"{effect[kind]} elements of one side have no partner on the other."
    if first is None:
        return f"{effect[kind]} {unit} ({kind})."
    places = _places(analysis, kind)
    who = _who(first.thread, first.instruction)
    if kind in ("misaligned_src", "misaligned_dst"):
        side = _SIDE[kind]
        return (
            f"{who} accesses the {NAMES[side]} at base{places['used']:+} B, "
            f"{places['off_by']} B past a multiple of {places['width']} B: a fault."
        )
    if kind in ("outside_src", "outside_dst"):
        verb = "reads" if kind == "outside_src" else "writes"
        return f"{who} {verb} the {NAMES[_SIDE[kind]]} at base{places['used']:+} B, outside it; {effect[kind]} {unit} in all."
    if kind == "wrong":
        return (
            f"Element {first.value}: {_destination(places)} should get the source's byte "
            f"{places['asked']:+} and gets {places['used']}; {effect[kind]} of {effect.asked} {unit} are wrong."
        )
    if kind == "missing":
        return f"Element {first.value} ({_destination(places)}) is never written; in all, {effect[kind]} of {effect.asked} {unit} are not written."
    if kind == "race":
        return f"{who} writes the destination at base{places['at']:+} B, where another thread writes other data; {effect[kind]} {unit} in all."
    if kind == "overlap":
        return f"The destination's byte {places['at']:+} is named by several elements with different contents; {effect[kind]} {unit} in all."
    return f"{effect[kind]} {unit} ({kind})."


def seen(
    rule: Rule, analysis: Analysis, titles: Mapping[str, str], lead: Callable[[Analysis], str] | None = None
) -> Iterator[Finding]:
    """What was seen, where no rule names the cause: a finding for each kind that occurs, under its title."""
    for kind, title in titles.items():
        if kind in occurred(analysis):
            text = (lead(analysis) if lead else "") + sentence(analysis, kind)
            yield rule.finding(title, text, where(analysis, kind), evidence(analysis, kind))


def vector_against_v(analysis: Analysis) -> str:
    """One sentence where the atom moves another number of elements than V gives it; else nothing."""
    copy = analysis.resolved
    sizes = [atom_v(copy, side) for side in ("src", "dst")]
    n = elements(copy)
    if width_bits(copy) and all(size is not None and size != n for size in sizes):
        return (
            f"Mode 0 gives the atom {sizes[0]} elements, one {width_bits(copy)}-bit instruction moves {n}. "
        )
    return ""


def _destination(places: dict[str, Any]) -> str:
    """Where a byte of the destination is; each thread's registers begin at 0."""
    if "registers_of" in places:
        return f"byte {places['at']} of thread {places['registers_of']}'s registers"
    return f"the destination at base{places['at']:+} B"


def _who(thread: int | None, instruction: int | None) -> str:
    if thread is None:
        return "The copy"
    return f"Thread {thread}, instruction {instruction},"


def _places(analysis: Analysis, kind: str) -> dict[str, Any]:
    """The first offender's addresses as byte offsets from the bases."""
    run, effect = analysis.worst, analysis.effect
    assert run is not None and effect is not None
    first = effect.first[kind]
    per_byte = 8 // effect.unit_bits
    src, dst = run.src_base, run.dst_base
    if kind in ("misaligned_src", "misaligned_dst"):
        base = src if kind == "misaligned_src" else dst
        assert first.used is not None and first.asked is not None
        return {
            "thread": first.thread,
            "used": first.used - base,
            "off_by": first.used % first.asked,
            "width": first.asked,
        }
    if kind in ("outside_src", "outside_dst"):
        base = src if kind == "outside_src" else dst
        side = analysis.copy.src if kind == "outside_src" else analysis.copy.dst
        return {"thread": first.thread, **_offset("used", first.used, base, per_byte, side.space)}
    places: dict[str, Any] = {"thread": first.thread, "value": first.value}
    places |= _offset("at", first.at, dst, per_byte, analysis.copy.dst.space)
    if kind in ("guard", "outside_pred"):  # elements of the predicate
        places |= {"asked": first.asked, "used": first.used}
    else:
        places |= _offset("asked", first.asked, src, per_byte, analysis.copy.src.space)
        zero = first.used == -1
        places |= (
            {"used": "zero"} if zero else _offset("used", first.used, src, per_byte, analysis.copy.src.space)
        )
    return {name: place for name, place in places.items() if place is not None}


def _offset(name: str, address: int | None, base: int, per_byte: int, space: str) -> dict[str, Any]:
    """An address in bytes from its operand's base; one in registers from their begin, and whose they are."""
    if address is None:
        return {}
    offset, owner = address - base * per_byte, None
    if space == "rmem":
        whole = PRIVATE * per_byte
        owner = (offset + whole // 2) // whole  # a negative stride reaches below a thread's begin
        offset -= owner * whole
    found = {name: offset // per_byte if offset % per_byte == 0 else offset / per_byte}
    whose = "registers_of" if name == "at" else f"{name}_registers_of"
    return found if owner is None else {**found, whose: owner}
