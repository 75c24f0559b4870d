"""LC202 misaligned-access: an instruction's address is not a multiple of its width, and the kernel faults."""

from __future__ import annotations

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.modes import dotted, leaves
from layoutcheck.analysis.vector import NAMES, atom_v, elements
from layoutcheck.rules.effects import evidence, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule

SYMPTOMS = ("misaligned_src", "misaligned_dst")


@make_rule("wrong", symptoms=SYMPTOMS)
def rule(analysis: Analysis) -> Findings:
    """Each side on which an access is not aligned to its width."""
    for kind, side in (("misaligned_src", "src"), ("misaligned_dst", "dst")):
        if kind not in occurred(analysis):
            continue
        path, cause = _cause(analysis, side)
        yield rule.finding(
            f"an access of {_width(analysis, side)} B to the {NAMES[side]} is not aligned: the kernel faults",
            f"{cause} {sentence(analysis, kind)}",
            where(analysis, kind, side, path),
            {"stride_path": list(path) if path else None, **evidence(analysis, kind)},
        )


def _width(analysis: Analysis, side: str) -> int:
    assert analysis.worst is not None
    done = analysis.worst.execution
    return max(a.width_bytes for a in (done.src_accesses if side == "src" else done.dst_accesses))


def _cause(analysis: Analysis, side: str) -> tuple[tuple[int, ...] | None, str]:
    """The first stride that is not a multiple of the access, in the tensor the user wrote."""
    memref, width = analysis.copy.whole(side), _width(analysis, side)
    resolved = analysis.resolved
    n = max(1, width * 8 // memref.dtype.bits)
    size = atom_v(resolved, side)
    if size is not None and size < elements(resolved):
        return (0,), (
            f"Mode 0 of the {NAMES[side]} gives the atom {size} elements at a time and the atom moves "
            f"{elements(resolved)}: it advances by {size * memref.dtype.bits // 8} B and moves {width} B."
        )
    for path, extent, stride in leaves(memref.layout):
        step = stride.divisor if isinstance(stride, Dynamic) else abs(stride)
        if (
            extent == 1
            or step % n == 0
            or (stride == 1 and path == min(p for p, *_ in leaves(memref.layout)))
        ):
            continue
        name = f"mode {dotted(path)} of the {NAMES[side]} {memref.layout}"
        if isinstance(stride, Dynamic):
            return path, (
                f"The stride of {name} is known only at run time and is promised to be a multiple of {step}; "
                f"{width} B accesses need multiples of {n} elements."
            )
        return path, (
            f"{name[0].upper() + name[1:]} has stride {stride}, {step * memref.dtype.bits // 8} B: "
            f"not a multiple of {width} B."
        )
    if memref.proved_align_bytes % width:
        return None, (
            f"{memref} is only known to be {memref.proved_align_bytes} B aligned, and nothing checks it "
            f"({analysis.copy.op})."
        )
    return None, f"The addresses in the {NAMES[side]} are not multiples of {width} B."
