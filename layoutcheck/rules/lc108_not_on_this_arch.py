"""LC108 not-on-this-arch: the target has no such instruction.

## What it means

`cp.async` needs sm_80, `ldmatrix` sm_75, `stmatrix` sm_90; the 8- and 4-bit forms of `ldmatrix` and
`stmatrix` need Blackwell.

## Why

PTX ISA, "Target ISA Notes" of each instruction; the notes in `layoutcheck/machine/arch.py` give the
section.

## How to fix it

Choose an atom that the target has; the report names the first architecture that has this one.

## How to silence it

Check for the architecture you build for: `--arch sm_90a`.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.machine.arch import first_arch, has_atom, parse_arch
from layoutcheck.machine.atoms import OtherAtom
from layoutcheck.rules.facts import Facts
from layoutcheck.rules.finding import Finding, Where
from layoutcheck.rules.rule import Example, make_rule


def find(facts: Facts) -> Iterator[Finding]:
    """An atom that is younger than the target, or needs its architecture-specific form."""
    atom = facts.resolved.atom
    if atom is None or isinstance(atom, OtherAtom):
        return
    arch = parse_arch(facts.copy.arch)
    if has_atom(arch, atom):
        return
    first = first_arch(atom)
    yield Finding(
        RULE.code,
        RULE.severity,
        f"{arch} does not have this instruction",
        f"{atom} begins with {first}.",
        Where("atom"),
        {"arch": str(arch), "first_arch": str(first)},
    )


_SRC = '!cute.memref<bf16, rmem, align<32>, "((8,1),1):((1,0),0)">'
_DST = '!cute.memref<bf16, smem, align<128>, "((8,1),1):((1,0),0)">'

RULE = make_rule(
    __doc__,
    "rejected",
    find,
    Example(
        flagged={"src": _SRC, "dst": _DST, "atom": "stmatrix.x4", "arch": "sm_80"},
        clean={"src": _SRC, "dst": _DST, "atom": "stmatrix.x4", "arch": "sm_90a"},
    ),
)
