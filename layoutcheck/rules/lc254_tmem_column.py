"""LC254 tmem-column: an instruction begins in the middle of a column, or at an odd one.

## What it means

Tensor memory is addressed by columns of 32 bits. A step of one 16-bit element is half a column, and
the half ends up in the uppermost bits of the address: lane 32768. The shapes 16x64b, 16x128b,
16x256b and the packing forms also need an even column; the compiler checks it for the base only,
not for the addresses that the copy steps to.

## Why

Measured on the DSL: an offset of 3 bf16 elements is emitted as address + 0x80000001. The verifier: "require tmem
memref aligned at 2 cols (8B) at least", checked for the base pointer only. PTX ISA, Tensor Memory Addressing: bits
31-16 are the lane. Compiler-verified only: no Blackwell GPU ran it.

## How to fix it

Make the strides of rest modes whole columns (32 bits divided by the element's width), and even
columns for the wide shapes.
"""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.tmem import COLUMN_BITS
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule
from layoutcheck.rules.tensor_memory import EVERYTHING, steps, tmem_atom


def find(analysis: Analysis) -> Findings:
    """The first instruction whose offset is no whole, or no even, column."""
    atom, at = tmem_atom(analysis), steps(analysis)
    if atom is None or at is None:
        return
    side = atom.memory_side
    view = analysis.copy.side(side)
    torn = at % COLUMN_BITS != 0
    odd = at % (2 * COLUMN_BITS) != 0
    if torn.any():
        i = int(np.argmax(torn))
        title = "an instruction begins in the middle of a column"
        text = (
            f"{int(at[i])} bits from the base: {int(at[i]) % COLUMN_BITS} bits into a column of {COLUMN_BITS}"
        )
    elif odd.any() and atom.wants_even_columns:
        i = int(np.argmax(odd))
        title = "an instruction begins at an odd column"
        text = f"{int(at[i]) // COLUMN_BITS} columns from the base, and {atom.title} needs an even column"
    else:
        return
    yield RULE.finding(
        title,
        f"Instruction {i} of {view.layout} lies {text}.",
        Where(side, None, 0, None, i),
        {"offset_bits": int(at[i]), "instruction": i},
    )


_SRC = '!cute.memref<bf16, tmem, align<16>, "(((8,32),1),2):(((1,131072),0),{})">'
_DST = '!cute.memref<bf16, rmem, align<32>, "((8,1),2):((1,0),8)">'

RULE = make_rule(
    "wrong",
    find,
    flagged={
        "src": _SRC.format(9),
        "dst": _DST,
        "atom": "tcgen05.ld.32x32b.x4",
        "dtype": "bf16",
        "arch": "sm_100a",
    },
    twin={"src": _SRC.format(8)},
    explains=EVERYTHING,
)
