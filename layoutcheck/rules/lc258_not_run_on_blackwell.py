"""LC258 not-run-on-blackwell: what is said of tensor memory stands on the compiler and the PTX ISA alone.

## What it means

The verdict about this copy was not checked on a GPU: `tcgen05` exists on Blackwell only, and layoutcheck's
GPU evidence is from an H200.

## Why

What the compiler accepts, refuses and emits was measured (DSL 4.8.1, `tests/conformance/test_tmem.py`); what the emitted
instructions then do is the PTX ISA's word.

## How to fix it

Nothing is known to be wrong.

## How to silence it

It is a note: it decides no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.findings import Finding, Where
from layoutcheck.rules.facts import Facts
from layoutcheck.rules.rule import Example, make_rule
from layoutcheck.rules.tensor_memory import name_of, tmem_atom


def find(facts: Facts) -> Iterator[Finding]:
    """Every copy of tensor memory that reaches the machine."""
    atom = tmem_atom(facts)
    if atom is not None and facts.accepted:
        yield Finding(
            RULE.code,
            RULE.severity,
            "compiler-verified only",
            f"No Blackwell GPU ran {name_of(atom)}: DSL 4.8.1 and the PTX ISA stand behind this verdict.",
            Where("atom"),
        )


_DST = '!cute.memref<f32, rmem, align<32>, "((32,1),1):((1,0),0)">'

RULE = make_rule(
    __doc__,
    "note",
    find,
    Example(
        flagged={
            "src": '!cute.memref<f32, tmem, align<16>, "(((32,32),1),1):(((1,65536),0),0)">',
            "dst": _DST,
            "atom": "tcgen05.ld.32x32b.x32",
            "dtype": "f32",
            "arch": "sm_100a",
        },
        clean={
            "src": '!cute.memref<f32, gmem, align<16>, "((32,1),1):((1,0),0)">',
            "dst": _DST,
            "atom": "universal",
            "bits": 128,
            "dtype": "f32",
        },
    ),
    follows=True,
)
