"""LC258 not-run-on-blackwell: no GPU ran this instruction; the verdict is based on the compiler and the PTX ISA only."""

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
