"""LC263 tma-under-one-thread: a TMA load runs in one thread, but its own election needs the whole warp.

## What it means

`cute.copy` of a TMA load is under `if tidx == 0:`, or inside `with cute.arch.elect_one():`. The
copy contains an election of its own, which waits for all 32 lanes, but only one arrives. The kernel
hangs.

## Why

`elect.sync` with a mask waits for every lane of the mask (PTX ISA, elect.sync). Seen in the PTX of the DSL:
`elect.sync _, -1` inside the branch that lane 0 alone takes, and twice, one inside the other, under
`elect_one`. Run on an H200 (docs/evidence/tma_election.json): in a whole warp the tile arrives; in the other
two cases the kernel hangs, because the other lanes wait for the bytes.

Two stores are not flagged. A TMA store (`CopyBulkTensorTileS2GOp`) contains no election, and may be started
by one thread. A store that reduces contains one, but does not wait for lanes that have exited (the same PTX
and H200). Non-tensor bulk copies (`CopyBulkG2SOp`) contain none and do need `elect_one`.

## How to fix it

Make the branch uniform in the warp: `if warp_idx == 0:` with
`warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())`, and no `elect_one` around the copy.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.lint import resolve
from layoutcheck.lint.rule import Hit, make_rule
from layoutcheck.lint.scopes import Scope
from layoutcheck.lint.source import Source


def find(source: Source) -> Iterator[Hit]:
    """TMA loads under a condition that one thread fulfils."""
    for call in source.called("copy"):
        one = next(
            (test.node for test in call.tests if test.holds and _one_thread(source, call.scope, test.node)),
            None,
        )
        if one is None or call.argument(None, "tma_bar_ptr") is None:  # which a TMA load has
            continue
        condition = source.in_one_line(one)[:60]
        yield Hit(
            call.node,
            f"a TMA load under '{condition}': its election waits for the whole warp",
            "cute.copy of a TMA load contains elect.sync for all 32 lanes. Run it in one whole warp (a condition on "
            "warp_idx), without elect_one.",
            {"condition": condition},
        )


def _one_thread(source: Source, scope: Scope, test: ast.expr) -> bool:
    """Whether a condition holds for one thread: `tidx == 0`, alone or in an `and`, or `elect_one()`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_one_thread(source, scope, part) for part in test.values)
    if isinstance(test, ast.Call):
        return resolve.last(source, test) == "elect_one"
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = (test.left, test.comparators[0])
    return any(_thread_index(source, scope, side) for side in sides)


def _thread_index(source: Source, scope: Scope, node: ast.expr) -> bool:
    found, index = resolve.follow(scope, node)
    if isinstance(found, ast.Subscript) and isinstance(found.slice, ast.Constant):
        index = 0 if found.slice.value == 0 else None
        found = found.value
    if not isinstance(found, ast.Call):
        return False
    name = resolve.last(source, found)
    return (name == "thread_idx" and index == 0) or (name == "lane_idx" and index is None)


_SOURCE = """
from cutlass import cute
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def load(atom: cute.CopyAtom, gA: cute.Tensor, sA: cute.Tensor, barrier: cute.Pointer):
    tidx, _, _ = cute.arch.thread_idx()
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    tAsA, tAgA = cpasync.tma_partition(atom, 0, cute.make_layout(1), sA, gA)
    if CONDITION:
        cute.copy(atom, tAgA, tAsA, tma_bar_ptr=barrier)
"""

RULE = make_rule(__doc__, "wrong", find, ("copy",), _SOURCE, "CONDITION", "tidx == 0", "warp_idx == 0")
