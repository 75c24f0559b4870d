"""LC101 unproved-alignment: the compiler cannot prove the alignment that the copy's width needs."""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.analysis.vector import NAMES, find_break
from layoutcheck.copies.vectors import Promise, missing_promises
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule

KINDS = ("src_alignment", "dst_alignment")


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """The compiler's own alignment complaint, with the facts that would satisfy it."""
    said = analysis.prediction
    if said.kind not in KINDS or said.outcome != "rejected":
        return
    side = said.operand or "src"
    have, need = int(said.evidence["have_bits"]), int(said.evidence["need_bits"])
    promises = missing_promises(analysis.copy.whole(side), need)
    yield rule.finding(
        f"the {NAMES[side]} is only known to be {have // 8} B aligned; the copy needs {need // 8} B",
        f"align<{have // 8}> is what the compiler proved about the address that it copies "
        f"{'from' if side == 'src' else 'to'}. {_cause(analysis, side, need, promises)}",
        Where(side),
        {
            "have_align_bytes": have // 8,
            "need_align_bytes": need // 8,
            "compiler": said.message,
            "missing": [str(promise) for promise in promises],
        },
    )


def _cause(analysis: Analysis, side: str, need: int, promises: Sequence[Promise]) -> str:
    """Why: the values are scattered (no promise helps), a thread's offset, or the tensor's own type."""
    if find_break(analysis.copy, side) is not None:
        return "An alignment promise cannot help: the values are not adjacent, so most of their addresses are not aligned."
    whole = analysis.copy.whole(side)
    if analysis.copy.tiling is not None and whole.proved_align_bytes * 8 % need == 0:
        return (
            f"The whole tile is aligned to {whole.proved_align_bytes} B, but a thread's offset into it is not a "
            f"multiple of {need // 8} B."
        )
    if promises and promises[0].kind == "impossible":
        return f"No promise helps: {promises[0].why}."
    promise = (
        f"If the address really is aligned, promise it: {', '.join(map(str, promises))}. " if promises else ""
    )
    return (
        f"{promise}If its allocation has that alignment already, the offset of this view is not proved to be a "
        f"multiple of {need // 8} B: its strides, a stage or an index."
    )
