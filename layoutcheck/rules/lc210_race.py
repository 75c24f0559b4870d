"""LC210 race: several threads write different data to the same bytes.

## What it means

Two threads' instructions write one destination byte from different source bytes; the last one wins, and
which is last differs from run to run. A destination layout that gives two elements one address (a pitch
smaller than the row) has the same effect.

In a trace, threads of two warps may execute one store in turns, ordered by mbarriers or named barriers. If the kernel
has such waits, they are a doubt (level `unknown`); the rules LC5xx judge the order.

With `pred`, such elements of a tensor in global memory are not reported: a tile may be wider than the tensor's rows,
and the predicate keeps off what lies past them. The predicate's values are not checked here.

## Why

CUDA C++ Programming Guide, memory model: unordered writes to one location from different threads.
The tiled copy determines which slices overlap: a value layout smaller than the atom makes V wider
than a thread's share.

## How to fix it

Give every thread at least one whole vector (`val` as large as the atom), and a thread-value layout that
is one to one onto the tile.

## How to silence it

If all writers store equal values by construction.
"""

from __future__ import annotations

from layoutcheck.rules.effects import seen
from layoutcheck.rules.rule import Analysis, Findings, make_rule

TITLES = {
    "race": "several threads write different data to the same bytes",
    "overlap": "the destination's layout gives several elements one address",
}


def find(analysis: Analysis) -> Findings:
    """Destination bytes that several threads write with different data."""
    return seen(RULE, analysis, TITLES)


RULE = make_rule(
    "wrong",
    find,
    flagged={
        "src": "(32,8):(8,1)",
        "dst": "(32,8):(4,1)",
        "dtype": "bf16",
        "atom": "universal",
        "bits": 16,
        "thr": "(32,1):(1,0)",
        "val": "(1,8)",
    },
    twin={"dst": "(32,8):(8,1)"},
    symptoms=TITLES,
)
