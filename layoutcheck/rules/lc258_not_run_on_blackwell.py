"""LC258 not-run-on-blackwell: no GPU ran this instruction; the verdict is based on the compiler and the PTX ISA only.

## What it means

The verdict about this copy was not checked on a GPU: its instruction exists on Blackwell only (tensor memory, bulk
stores with a byte mask, some forms of TMA, ldmatrix and stmatrix), and layoutcheck's GPU evidence is from an H200.

A byte mask is not known before the kernel runs: layoutcheck assumes that all its bytes are written.

## Why

What the compiler accepts, refuses and emits was measured (`tests/conformance/test_tmem.py`,
`tests/conformance/test_byte_mask.py`, `tests/conformance/test_tma_rows.py`), and ptxas assembles it.
What the emitted instructions do is taken from the PTX ISA.

## How to fix it

Nothing is known to be wrong.

## How to silence it

It is a note and does not change the verdict.
"""

from __future__ import annotations

from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule
from layoutcheck.rules.tensor_memory import tmem_atom
from layoutcheck.versions import MODELLED


def find(analysis: Analysis) -> Findings:
    """Every copy that reaches the machine with an instruction that begins with Blackwell."""
    atom = analysis.copy.atom
    if atom is None or not analysis.accepted or atom.needs.first.number < BLACKWELL:
        return
    memory = tmem_atom(analysis)
    name = "this instruction" if memory is None else memory.title
    masked = isinstance(atom, BulkCopy) and atom.byte_mask
    yield RULE.finding(
        "compiler-verified only",
        f"No Blackwell GPU ran {name}: this verdict is based on DSL {MODELLED} and the PTX ISA."
        + " It assumes that all bytes of the mask are written." * masked,
        Where("atom"),
    )


BLACKWELL = 100  # sm_100
_DST = '!cute.memref<f32, rmem, align<32>, "((32,1),1):((1,0),0)">'

RULE = make_rule(
    "note",
    find,
    flagged={
        "src": '!cute.memref<f32, tmem, align<16>, "(((32,32),1),1):(((1,65536),0),0)">',
        "dst": _DST,
        "atom": "tcgen05.ld.32x32b.x32",
        "dtype": "f32",
        "arch": "sm_100a",
    },
    twin={
        "src": '!cute.memref<f32, gmem, align<16>, "((32,1),1):((1,0),0)">',
        "atom": "universal",
        "bits": 128,
        "arch": None,
    },
)
