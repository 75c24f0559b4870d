"""LC610 value-unset: a kernel stores to a tensor what it made of bytes that nothing has written.

## What it means

layoutcheck followed the bytes of registers that nothing had written: through copies, sums, maxima, shuffles and shared
memory. The line stores them, or what was computed from them, to elements of a tensor and under its own predicate; no later
store of the block overwrites them. Typical: a fragment is loaded under a predicate, because a row ends before its tile
does, and is then added up, or stored, without it.

Bytes of shared memory that nothing in the kernel writes, in any turn, are followed in the same way: the row of a
stencil's halo that is not loaded, the last four of eight sums where four warps have stored theirs, or the counts of a
histogram that is not cleared. So are columns of tensor memory that no product and no store has written, where all products
of the kernel are followed: those of another stage, or behind the accumulators.

## Why

A fragment in registers is a variable. What is read of a variable before it is written is undefined (LLVM Language
Reference, "Undefined Values"): the register holds what the thread computed before, or the compiler drops the store. Most
kernels of this kind wrote wrong numbers in every run on an H200, also where they were multiplied by 0; in others the
compiler chose a value that happened to be right, which its next version need not (`docs/evidence/values_unset.json`).

It is told for a call that the program makes, or, if it makes none, for all dynamic extents that are tried. What only
other extents show is a note, as the caller may never give them: those that are not multiples of a tile, say. The
message has the extents, and of which multiples it is not so.

The first and the last block of the grid are followed. A `while` loop is followed for two turns; if it goes on, or if only
a run knows when it ends, what it writes counts as written. `elect_one` is taken for the lowest active lane of each warp.
These end what is followed, and the report has a line for each that is met ("not checked: registers that nothing may have
written: ..."):

- a branch or loop that a value in memory, or a floating-point argument, decides
- bit operations, comparisons, products of integers (0 times any of them is 0), parts of a byte, and inline PTX other than
  lane-wise arithmetic
- `stmatrix`, masked and asynchronous stores. In a kernel in which anything but loads, stores and atomic sums reaches
  shared memory (`ldmatrix`, TMA, `cp.async`, other atomics), what is stored there
- in shared memory, if other atomics than sums and maxima, TMA, mbarriers or inline PTX reach it, or if only a run knows
  what is written there
- extents or a grid that the host computes from its arguments, if no call gives them

Of what a product of the tensor cores multiplies, LC609 says what no thread has written at all: rows beyond a tensor's end
may be left unset. A store to elements that neither a later kernel nor the host reads (a padded workspace) is told, too.

## How to fix it

Fill the fragment before it is loaded: `fragment.fill(0.0)` for a sum, `fragment.fill(-cutlass.Float32.inf)` for a maximum.
Or store under the predicate of the load. If no line writes the fragment, copy into it. `layoutcheck trace --fix` fills a
fragment that a predicate leaves unset in some threads, if only sums or only maxima follow.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import page_rule


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """Who stores how much; `written` says whether something writes others of these registers."""
    first, last = facts["threads"]
    who = f"Thread {first} stores" if first == last else f"Threads {first} to {last} store"
    block = "".join(str(tuple(facts["block"])).split())
    held = "tensor memory" if "tensor" in facts else "shared memory" if facts["shared"] else "registers"
    some = "The line that writes them does so in other threads, or for other elements." if facts["written"] else (
        "No line writes them." + " An atomic operation adds to what is there." * facts.get("adds", False)
    )  # fmt: skip
    fill = (
        f"`fragment.fill({facts['fill']})`" if facts["fill"] else "with what its sum or maximum begins with"
    )
    repair = f"Fill the fragment first ({fill}), or store under the predicate of the load."
    if not facts["written"]:
        repair = (
            "Write them first, or leave them out." if facts["shared"] else
            "Load the columns of the accumulators, of the stage that was multiplied." if "tensor" in facts else
            "Copy into the fragment first."
        )  # fmt: skip
    return f"what is stored comes from {held} that nothing has written", (
        f"{who} {facts['bytes']} B in block {block} that are, or are computed from, {held} that nothing has written. "
        f"{some}{conditions(facts)} {repair}"
    )


def conditions(facts: dict[str, Any]) -> str:
    """With which extents it is so, as a sentence; "" for any."""
    if not facts["extent"]:
        return f" This is so in the program's call with {facts['called']}." if facts["called"] else ""
    return f" This is so if all dynamic extents are {facts['extent']:,}; " + (
        f"it is not so if they are multiples of {facts['multiple']:,}." if facts["multiple"]
        else "it is not so in the program's calls."
    )  # fmt: skip


FLAGGED = """
for i in cutlass.range_constexpr(4):
    if column + i < n:
        fragment[i] = row[column + i]
total = fragment.load().reduce(cute.ReductionOp.ADD, cutlass.Float32(0.0), 0)
sums[block] = cute.arch.warp_reduction_sum(total)
"""
CLEAN = """
fragment.fill(0.0)
for i in cutlass.range_constexpr(4):
    if column + i < n:
        fragment[i] = row[column + i]
total = fragment.load().reduce(cute.ReductionOp.ADD, cutlass.Float32(0.0), 0)
sums[block] = cute.arch.warp_reduction_sum(total)
"""

RULE = page_rule(__doc__, "wrong", FLAGGED, CLEAN)
