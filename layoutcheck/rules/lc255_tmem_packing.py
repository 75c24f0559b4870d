"""LC255 tmem-packing: a packing copy of tensor memory does not have one element in each column.

## What it means

`.pack::16b` puts the lower halves of two adjacent columns into one register; `.unpack::16b` does
the reverse. They are for 16-bit elements with one element in each 32-bit column (stride 2 in a
16-bit layout), as in accumulators of 16 bits. If a column already holds two elements, or the
elements are not 16 bits wide, the copy drops every other half.

## Why

PTX ISA, tcgen05.ld: "pack two 16-bit elements from adjacent columns into a single 32-bit element". The DSL shows
the same thread-value layouts with and without packing and compares no stride (measured).
Compiler-verified only: no Blackwell GPU ran it.

## How to fix it

Leave packing out where two elements share a column; give V stride 2 where they do not.
"""

from __future__ import annotations

from layoutcheck.rules.effects import evidence, first_of, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule
from layoutcheck.rules.tensor_memory import EVERYTHING, fragment_trouble, warp_atom


def find(analysis: Analysis) -> Findings:
    """A difference of a packing copy that its fragment does not account for."""
    atom, kind = warp_atom(analysis), first_of(analysis, EVERYTHING)
    if atom is None or not atom.packed or kind is None or fragment_trouble(analysis, atom):
        return
    side = atom.memory_side
    view = analysis.copy.side(side)
    word = "pack" if side == "src" else "unpack"
    reason = (
        f"{atom.title}.{word}::16b moves the lower 16 bits of each column, {view.dtype} has {view.dtype.bits}"
        if view.dtype.bits != 16
        else f"{atom.rectangle_phrase(view.dtype)}, the lower 16 bits of each. V of {view.layout} names something else"
    )
    yield RULE.finding(
        "packing takes one 16-bit element from each column",
        f"{reason}. {sentence(analysis, kind)}",
        where(analysis, kind, side, (0,)),
        evidence(analysis, *EVERYTHING),
    )


_SRC = '!cute.memref<f16, tmem, align<16>, "(((16,32),1),1):((({},131072),0),0)">'
_DST = '!cute.memref<f16, rmem, align<32>, "((16,1),1):((1,0),0)">'

RULE = make_rule(
    "wrong",
    find,
    flagged={
        "src": _SRC.format(1),
        "dst": _DST,
        "atom": "tcgen05.ld.32x32b.x8.pack16b",
        "dtype": "f16",
        "arch": "sm_100a",
    },
    twin={"src": _SRC.format(2)},
    explains=EVERYTHING,
)
