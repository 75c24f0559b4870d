"""A synthesis in words: why the best plan is the best, what was not planned, why, and what was searched."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from layoutcheck.synthesis.candidates import ASYNC_BYTES, ROW_BYTES, proved_bytes, widest_bytes
from layoutcheck.synthesis.matrix import ROW_BYTES as MATRIX_BYTES
from layoutcheck.synthesis.pace import pipes
from layoutcheck.synthesis.search import Space
from layoutcheck.synthesis.shared import layouts, pattern_bytes
from layoutcheck.synthesis.threads import WIDEST_BYTES
from layoutcheck.synthesis.wanted import LOADS_ONLY, MAJORS, MOST_EXTENT, PROBE_PITCH, Wanted, fast_mode

if TYPE_CHECKING:
    from layoutcheck.synthesis.plans import Plan, Synthesis

NEAR = 1.02
"""Of two predicted times: those that are closer came nearly as often in the other order (measured)."""
PIPES = {
    "issue": "instructions",
    "data": "wavefronts in shared memory and L1",
    "fill": "sectors from L2",
    "memory": "share of the memory bandwidth",
    "engine": "boxes in the copy engine",
    "chain": "waiting that is not hidden",
    "lines": "lines of L1 for loads in flight",
}
COUNTED = {
    "instructions": "instructions",
    "wavefronts": "wavefronts",
    "sectors": "sectors",
    "read_runs": "runs read",
    "write_runs": "runs written",
}


def why(found: Synthesis) -> str:
    """Two sentences: what the best plan is bound by, and what the next one asks more."""
    best = found.best
    slow = [r.findings[0].title for r in best.reports if r.verdict == "slow"]
    wide = " and as wide as it can be" if best.as_wide else ""
    left = f"what is left: {slow[0]}" if slow else f"every copy is conflict-free{wide}"
    took = f"takes {best.cycles:,.0f} predicted cycles a tile, bound by its {PIPES[best.bound]}"
    if len(found.plans) > 1:
        other = _compared(best, found.plans[1])
    elif found.cut:
        other = "The time was up before others were found."
    else:
        other = "No plan of another kind works."
    return f"The best plan ({best.kind}) {took}; {left}. {other}"


def _compared(best: Plan, other: Plan) -> str:
    """What the second plan asks more, in a sentence."""
    more = {
        words: getattr(other.counts, name) - getattr(best.counts, name) for name, words in COUNTED.items()
    }
    more["shared bytes"] = other.shared_bytes - best.shared_bytes
    asked = [f"{count:+,} {words}" for words, count in more.items() if count]
    if other.demand.blocks != best.demand.blocks:
        asked.append(f"{other.demand.blocks} blocks on an SM in place of {best.demand.blocks}")
    longer = f"{other.cycles / best.cycles - 1:.1%}"
    takes = "takes as long"
    if longer != "0.0%":
        busy, before = pipes(other.demand), pipes(best.demand)
        pipe = max(busy, key=lambda name: busy[name] - before[name])
        more_cycles = busy[pipe] - before[pipe]
        takes = f"takes {longer} longer ({PIPES[pipe]}: {more_cycles:,.0f} cycles more)"
    if other.cycles < NEAR * best.cycles:
        takes += " (too close for the prediction to tell)"
    asks = ", ".join(asked) or "the same counts, and is less simple"
    return f"The next plan ({other.kind}) {takes}: {asks}."


def notes(found: Synthesis) -> tuple[str, ...]:
    """What an operand leaves over, kinds of plan that are not shown, and engines that none has: why."""
    told = {plan.kind for plan in found.plans} | {kind for kind, _ in found.dropped}
    hidden = [kind for kind in found.kinds if kind not in told]
    said = found.wanted.parts
    if hidden:
        more = f"{len(hidden)} more kind{'s' * (len(hidden) > 1)} of plan"
        said.append(f"{more}, slower by the counts, not judged: {'; '.join(hidden)}")
    if found.cut:
        return tuple(said)
    names = {name for kind in (*told, *hidden) for name in kind.split(", ")}
    if "direct" in names:
        names.add("universal")
    said += [
        f"no plan by {engine}: {unserved(engine, found.searched, found.wanted)}"
        for engine in found.wanted.engines
        if engine not in names
    ]
    return tuple(said)


def space(found: Synthesis) -> tuple[str, ...]:
    """What was searched, in words: the best plan is the best of these."""
    searched, wanted = found.searched, found.wanted
    dealt = sum(len(slot) for slot in (searched.writers, *searched.readers)) + len(searched.direct)
    edges = "edges by predicates, which are not counted, and by TMA" if wanted.tails else "full tiles"
    cut = f"{found.looked_at} of " if found.looked_at < len(searched.layouts) else ""
    made = "by the DSL" if found.best.made else "guessed (--compiled asks the DSL)"
    return (
        f"{cut}{len(searched.layouts)} layouts in shared memory: {_layouts(searched, wanted)}",
        f"{dealt} moves: {_engines(wanted)}; blocks of powers of two up to {WIDEST_BYTES} bytes either way "
        f"({_proved(wanted)} are proved to be aligned), by as many threads as divide the tile; if these take "
        f"less than {ROW_BYTES} bytes of a row, also whole rows; all of ldmatrix.x1 to x4, all warps",
        f"{edges}; strides of the run counted as {PROBE_PITCH} elements, SMs as full; each kind's best by "
        f"machine.cost, kinds by synthesis.pace (H200); registers and instructions {made}",
    )


def _layouts(searched: Space, wanted: Wanted) -> str:
    if any(one.kind for one in searched.layouts):
        return "the canonical layouts of the operand's descriptor"
    most = pattern_bytes(wanted.element_bytes).bit_length() - 1
    return (
        "contiguous along either mode, whole or in runs of 16 to 128 bytes; plain, padded by 4 to 128 bytes, "
        f"or under S<b,m,s> with m >= 2, m+b <= 7, 7 <= m+s <= {most}-b; rows of 128 bytes under S<3,4,3> "
        "also dealt apart"
    )


def _engines(wanted: Wanted) -> str:
    """Those that may be used; threads store what an engine that only loads has brought."""
    stores = wanted.dst is not None and LOADS_ONLY in wanted.engines and "universal" not in wanted.engines
    more = f", and universal stores, which {LOADS_ONLY} does not have" if stores else ""
    return ", ".join(wanted.engines) + more


def _proved(wanted: Wanted) -> str:
    """Bytes of the widest accesses of global tensors."""
    sides = {"src": None if wanted.accumulator else wanted.src, "dst": wanted.dst}
    return ", ".join(
        f"{widest_bytes(wanted, tensor)} of {side}" for side, tensor in sides.items() if tensor is not None
    )


ROUNDED = (1, 4, 8, 16, 32)
"""Elements that the extents of canonical layouts are multiples of, of any type and major."""


class Lack(NamedTuple):
    """What is missing, and what was expected instead."""

    said: str
    expected: str


def lack(space: Space, wanted: Wanted) -> Lack:
    """Of a space in which no plan can be put together."""
    if not space.layouts:
        units = " and ".join(str(one) for one in wanted.consumers if one.unit in ("wgmma", "tcgen05"))
        larger = _larger(wanted)
        other = "another --major, or a tile for each reader"
        return Lack(
            f"no canonical layout of {units} divides the tile",
            other if larger is None else f"a tile such as {larger.title}",
        )
    if not space.writers:
        return _no_writer(wanted)
    for consumer, slot in zip(wanted.consumers, space.readers, strict=True):
        if slot:
            continue
        if consumer.unit == "ldmatrix":
            row = MATRIX_BYTES // wanted.element_bytes
            return Lack(
                f"the tile is not made of whole matrices for {consumer}", f"extents that 8 and {row} divide"
            )
        assert wanted.dst is not None
        return Lack(
            f"{' and '.join(wanted.engines)} cannot store to dst {wanted.dst.layout}", "another --engine"
        )
    return _no_layout(space, wanted)


def _larger(wanted: Wanted) -> Wanted | None:
    """The request with the smallest tile around its own that a canonical layout divides."""
    mn, k = ({-(-n // unit) * unit for unit in ROUNDED} for n in wanted.tile)
    made = (replace(wanted, tile=tile) for tile in sorted(product(mn, k), key=math.prod))
    made = (one for one in made if max(one.tile) <= MOST_EXTENT)
    return next((one for one in made if layouts(one.tile, one.dtype, one.consumers, one.major)), None)


def _no_writer(wanted: Wanted) -> Lack:
    if wanted.accumulator:
        return Lack("the tile is not made of whole matrices for stmatrix", "extents that 8 divides")
    found = [f"{engine}: {_cannot(engine, wanted, 'src')}" for engine in wanted.engines]
    return Lack("; ".join(found), "--engine universal, or what the engine needs")


def unserved(engine: str, space: Space, wanted: Wanted) -> str:
    """Why no plan of a space has an engine that it may have."""
    if wanted.accumulator:
        some = [move for move in space.readers[0] if move.kind == engine]
        return lack(space._replace(readers=[some]), wanted).said if some else _cannot(engine, wanted, "dst")
    some = [move for move in space.writers if move.kind == engine]
    return lack(space._replace(writers=some), wanted).said if some else _cannot(engine, wanted, "src")


def _cannot(engine: str, wanted: Wanted, side: str) -> str:
    """Why an engine does not copy from or to that tensor."""
    first = {"tma": 90, "cp.async": 80}.get(engine, 0)
    tensor = wanted.src if side == "src" or wanted.dst is None else wanted.dst
    if wanted.arch.number < first:
        return f"{wanted.arch} does not have it (sm_{first} and later)"
    if tensor.dtype != wanted.dtype:
        kinds = [str(tensor.dtype), str(wanted.dtype)]
        return f"it does not convert {' to '.join(kinds if side == 'src' else reversed(kinds))}"
    fast = fast_mode(tensor)
    if fast is None:
        return f"no mode of {side} {tensor.layout} has stride 1"
    least = WIDEST_BYTES if engine == "tma" else ASYNC_BYTES[-1]
    tails = wanted.tails and engine != "tma"  # TMA clips at an extent, accesses lie inside
    known = proved_bytes(tensor, fast, tails)
    what = "base, pitch and extent" if tails else "base and pitch"
    return (
        f"it needs multiples of {least} bytes, and {what} of {side} {tensor.layout} are multiples of {known}"
    )


def _no_layout(space: Space, wanted: Wanted) -> Lack:
    """No layout suits every move, or those that do are too large."""
    writers = " and ".join(dict.fromkeys(move.kind for move in space.writers))
    slots = {f"written by {writers}": space.writers} | {
        f"read by {consumer}": slot for consumer, slot in zip(wanted.consumers, space.readers, strict=True)
    }
    fitting = {
        name: {one for one in space.layouts if any(move.fits(one) for move in slot)}
        for name, slot in slots.items()
    }
    both = set.intersection(*fitting.values())
    most = wanted.arch.smem_per_block_bytes
    if both:
        size = min(one.size for one in both)
        return Lack(
            f"{wanted.stages} stage{'s' * (wanted.stages > 1)} of {size:,} bytes at least are more than the "
            f"{most:,} that a block has on {wanted.arch}",
            f"a smaller tile, or --stages {most // size}" if most >= size else "a smaller tile",
        )
    turns = "" if "universal" in wanted.engines else "--engine universal, which turns blocks in registers; "
    modes = {name: {one.fast for one in some} for name, some in fitting.items()}
    other = turns + "another --major or --to, other extents"
    alone = next((name for name, some in fitting.items() if not some), None)
    if alone is not None:
        kept = " or ".join(MAJORS[mode] for mode in sorted({one.fast for one in space.layouts}))
        return Lack(f"no layout with {kept} contiguous is {alone}", other)
    if not set.intersection(*modes.values()):
        said = [
            f"{name} with {MAJORS[min(some)]} contiguous" for name, some in modes.items() if len(some) == 1
        ]
        return Lack(f"the tile is {' and '.join(said)}", other)
    return Lack(f"no one layout is {' and '.join(fitting)}", other)
