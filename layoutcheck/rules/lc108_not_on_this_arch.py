"""LC108 not-on-this-arch: the target architecture does not have this instruction.

## What it means

`cp.async` needs sm_80, `ldmatrix` sm_75, `stmatrix` sm_90, bulk and tensor (TMA) copies sm_90. The 8-, 6- and 4-bit
forms of `ldmatrix` and `stmatrix` need a Blackwell target with a suffix: sm_100a, sm_103a, sm_110a, sm_120a or
their `f` targets. `tcgen05` exists in the sm_100 and sm_110 families, not in sm_120, and under suffixed targets only.

## Why

PTX ISA, "Target ISA Notes" of each instruction; ptxas 13.0 asked for each instruction and target says the same
(`docs/evidence/arch.json`). The DSL checks some operations when they are made ("expects arch to be one of
...") and others never, so that ptxas is the first to reject them.

## How to fix it

Choose an atom that the target has; the report names the first architecture that has this one.

## How to silence it

Check for the architecture you build for: `--arch sm_90a`.
"""

from __future__ import annotations

from layoutcheck.machine.arch import TARGETS, Arch, has, parse_arch
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


def find(analysis: Analysis) -> Findings:
    """An atom that is younger than the target, or needs its architecture-specific form."""
    atom = analysis.resolved.atom
    if atom is None or not atom.modelled:
        return
    arch = parse_arch(analysis.copy.arch)
    if has(arch, atom.needs):
        return
    need = atom.needs
    where = [name for name in TARGETS if has(parse_arch(name), need)]
    bare = not arch.suffix and has(Arch(arch.number, "a"), need)  # a suffix is all that is missing
    yield RULE.finding(
        f"{arch} does not have this instruction",
        f"{atom} needs {need.first} or later; of the usual targets, {', '.join(where)} have it."
        + " A target without a suffix has no architecture-specific instructions." * bare,
        Where("atom"),
        {"arch": str(arch), "first_arch": str(need.first), "targets": where},
    )


_SRC = '!cute.memref<bf16, rmem, align<32>, "((8,1),1):((1,0),0)">'
_DST = '!cute.memref<bf16, smem, align<128>, "((8,1),1):((1,0),0)">'

RULE = make_rule(
    "rejected",
    find,
    flagged={"src": _SRC, "dst": _DST, "atom": "stmatrix.x4", "arch": "sm_80"},
    twin={"arch": "sm_90a"},
)
