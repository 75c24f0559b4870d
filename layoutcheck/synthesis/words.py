"""A synthesis in words: why the best plan is the best, what was not planned, and what was searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutcheck.synthesis.candidates import ROW_BYTES, widest_bytes
from layoutcheck.synthesis.pace import H200, pipes
from layoutcheck.synthesis.refusal import unserved
from layoutcheck.synthesis.search import Space
from layoutcheck.synthesis.shared import pattern_bytes
from layoutcheck.synthesis.threads import WIDEST_BYTES
from layoutcheck.synthesis.wanted import LOADS_ONLY, PROBE_PITCH, Wanted

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
    first = f"{best.kind} takes {best.cycles:,.0f} predicted cycles a tile, bound by its {PIPES[best.bound]}"
    if len(found.plans) > 1:
        other = _compared(best, found.plans[1])
    elif found.cut:
        other = "The time was up before others were found."
    else:
        other = "No plan of another kind works."
    return f"{first}; {left}. {other}"


def _compared(best: Plan, other: Plan) -> str:
    """What the second plan asks more, in a sentence."""
    more = {
        words: getattr(other.counts, name) - getattr(best.counts, name) for name, words in COUNTED.items()
    }
    more["shared bytes"] = other.shared_bytes - best.shared_bytes
    asked = [f"{count:+,} {words}" for words, count in more.items() if count]
    if other.demand.blocks != best.demand.blocks:
        asked.append(f"{other.demand.blocks} blocks on an SM in place of {best.demand.blocks}")
    if other.demand.streams != best.demand.streams and other.demand.streams > H200.rows.pages:
        rows = f"{other.demand.streams:,.0f} rows in place of {best.demand.streams:,.0f}"
        asked.append(f"{rows} that all blocks write at once")
    longer = f"{other.cycles / best.cycles - 1:.1%}"
    takes = "takes as long"
    if longer != "0.0%":
        busy, before = pipes(other.demand), pipes(best.demand)
        pipe = max(busy, key=lambda name: busy[name] - before[name])
        more_cycles = busy[pipe] - before[pipe]
        takes = f"takes {longer} longer ({PIPES[pipe]}: {more_cycles:,.0f} cycles more)"
    if other.cycles < NEAR * best.cycles:
        takes += ", by a prediction that does not tell them apart"
    asks = ", ".join(asked) or "the same counts, and is less simple"
    return f"The next, {other.kind}, {takes}: {asks}."


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
