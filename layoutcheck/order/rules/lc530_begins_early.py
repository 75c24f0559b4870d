"""LC530 begins-early: a kernel may begin before the kernel in front of it has ended, and does not wait for it in time.

## What it means

The kernel is launched with `use_pdl=True` (programmatic stream serialization), and no thread of it executes
`griddepcontrol.wait`. It reads global memory, which the kernel in front of it may still write. Or it waits, and accesses a
tensor before the wait that a kernel in front of it, launched by the same function, writes; or stores to one that this kernel
reads. A warp that does not wait itself must meet one that has: at a barrier, or by an mbarrier. Of kernels that other
functions launch nothing is known: the summary says so if there are accesses before the wait. It also says so if the kernel
has a wait to which block 0 does not come.

## Why

With that attribute a kernel begins as soon as all blocks of the kernel in front of it have executed
`griddepcontrol.launch_dependents` or have ended. Only `griddepcontrol.wait` makes it wait until they have ended and what they
wrote can be read (PTX ISA, griddepcontrol). FlashAttention 4460ebbc mended a backward pass whose block-sparse path had
lost that wait: it read the sums that the kernel in front of it makes. It is a note, because such a kernel may read only what
is older.

## How to fix it

`cute.arch.griddepcontrol_wait()` before the first read of what another kernel writes, on every path, or a launch without
`use_pdl`.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The first read, or the accesses of both kernels."""
    early = places[-1]
    if problem.kind == "reads-early":
        return (
            f"{line(early)} {early.what} before griddepcontrol_wait() what the kernel in front {places[0].what}",
            f"{does(early)}, and {does(places[0])}, in a kernel that is launched before: both access one tensor. "
            f"The launch allows this kernel to begin early (use_pdl). Missing: griddepcontrol_wait() before {line(early)}.",
        )
    return (
        f"{line(early)} {early.what} what the kernel before this one may still write",
        f"{does(early)}. The launch allows this kernel to begin early (use_pdl), and no thread of it waits. "
        "Missing: griddepcontrol_wait() before it.",
    )


FLAGGED = """
kernel(a).launch(grid=grid, block=block, use_pdl=True)  # it reads a at once
"""
CLEAN = """
kernel(a).launch(grid=grid, block=block, use_pdl=True)  # it begins with cute.arch.griddepcontrol_wait()
"""

RULE = make_rule(__doc__, "note", ("begins-early", "reads-early"), tell, FLAGGED, CLEAN)
