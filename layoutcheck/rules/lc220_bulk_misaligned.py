"""LC220 bulk-misaligned: the address of a bulk copy is not a multiple of 16 bytes."""

from __future__ import annotations

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.modes import leaves
from layoutcheck.analysis.vector import NAMES
from layoutcheck.atoms.bulk import GRAIN_BYTES
from layoutcheck.rules.bulk import SOURCE, bulk_atom, instruction_bytes
from layoutcheck.rules.effects import evidence, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, demanded, make_rule

EXPLAINS = ("misaligned_src", "misaligned_dst")


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """A bulk copy one of whose addresses is not a multiple of 16."""
    if bulk_atom(analysis) is None or instruction_bytes(analysis) % GRAIN_BYTES:  # an odd size: LC221
        return
    for side in ("src", "dst"):
        kind = f"misaligned_{side}"
        if kind not in occurred(analysis):
            continue
        field, value, cause = _cause(analysis, side)
        yield rule.finding(
            f"the {NAMES[side]} address of a bulk copy is not a multiple of {GRAIN_BYTES} B",
            f"{cause} {sentence(analysis, kind)}",
            where(analysis, kind),
            demanded(field, value, f"a multiple of {GRAIN_BYTES} B", SOURCE, **evidence(analysis, kind)),
        )


def _cause(analysis: Analysis, side: str) -> tuple[str, str, str]:
    """The field at fault, its value, and a sentence: the base's alignment, or the first stride."""
    memref = analysis.copy.side(side)
    if memref.proved_align_bytes % GRAIN_BYTES:
        value = f"align<{memref.proved_align_bytes}>"
        return f"{side} pointer", value, f"The {NAMES[side]} is only known to be {value} (in bytes)."
    for path, extent, stride in leaves(memref.layout):
        step = stride.divisor if isinstance(stride, Dynamic) else abs(stride)
        bits = step * memref.dtype.bits
        if extent == 1 or stride == 1 or bits % (8 * GRAIN_BYTES) == 0:
            continue
        name = f"{side} stride {'.'.join(map(str, path))}"
        size = f"{bits // 8} B" if bits % 8 == 0 else f"{bits} bits"
        known = ", known only at run time" if isinstance(stride, Dynamic) else ""
        return (
            name,
            f"{stride} ({size})",
            f"Mode {'.'.join(map(str, path))} of the {NAMES[side]} {memref.layout} has stride {stride}{known}, "
            f"{size} a step.",
        )
    return f"{side} address", str(memref.layout), f"Runs of the {NAMES[side]} begin between 16 B boundaries."
