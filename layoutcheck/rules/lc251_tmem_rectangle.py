"""LC251 tmem-rectangle: the view of tensor memory is not the rectangle that the instruction moves.

## What it means

`tcgen05.ld` and `tcgen05.st` move a fixed rectangle of lanes and columns at one address, that of
V's first element. They ignore the strides of V. If V names other lanes or columns, another order,
or another number of them, the instruction moves other data.

## Why

PTX ISA, tcgen05.ld, Data Movement Shape: 32x32b.xN is 32 lanes x N columns, 16x64b.xN 16 lanes x 2N, 16x128b
4N, 16x256b 8N. In a layout of 32-bit elements a column is stride 1 and a lane stride 65536 (of 16-bit elements
1 and 131072). Measured on the DSL: one instruction at the address of V's first element, whatever V is.
Compiler-verified only: no Blackwell GPU ran it.

## How to fix it

Let `tcgen05.make_tmem_copy(atom, tensor)` partition the tensor, or write V as the report says.

## How to silence it

Silence the line only if the elements that the instruction moves are the ones that you want.
"""

from __future__ import annotations

from layoutcheck.rules.effects import evidence, first_of, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule
from layoutcheck.rules.tensor_memory import EVERYTHING, fragment_trouble, steps, warp_atom


def find(analysis: Analysis) -> Findings:
    """A difference that neither the fragment nor the address nor packing accounts for."""
    atom, kind = warp_atom(analysis), first_of(analysis, EVERYTHING)
    if atom is None or atom.packed or kind is None:
        return
    at = steps(analysis)
    if fragment_trouble(analysis, atom) or (at is not None and (at % 32).any()):
        return
    side = atom.memory_side
    view = analysis.copy.side(side)
    yield RULE.finding(
        "the view of tensor memory is not what the instruction moves",
        f"{atom.rectangle_phrase(view.dtype)}. V of {view.layout} names something else. {sentence(analysis, kind)}",
        where(analysis, kind, side, (0,)),
        {"view": str(view.layout), **evidence(analysis, *EVERYTHING)},
    )


_DST = '!cute.memref<f32, rmem, align<32>, "((32,1),1):((1,0),0)">'

RULE = make_rule(
    "wrong",
    find,
    flagged={
        "src": '!cute.memref<f32, tmem, align<16>, "(((32,32),1),1):(((2,65536),0),0)">',
        "dst": _DST,
        "atom": "tcgen05.ld.32x32b.x32",
        "dtype": "f32",
        "arch": "sm_100a",
    },
    twin={"src": '!cute.memref<f32, tmem, align<16>, "(((32,32),1),1):(((1,65536),0),0)">'},
    explains=EVERYTHING,
)
