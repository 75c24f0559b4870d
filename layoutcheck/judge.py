"""`judge(copy)`: check a copy, propose fixes, and put both into one report. Every frontend calls this."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from layoutcheck.analysis import Analysis
from layoutcheck.atoms.bulk import GRAIN_BYTES
from layoutcheck.atoms.tma.landing import SMEM_ALIGN_BYTES
from layoutcheck.check import Fix, Repairs, Report, check, repairs, verdict_of, with_addresses
from layoutcheck.copies.copy import Copy
from layoutcheck.findings import Finding, rank
from layoutcheck.fixes import propose

if TYPE_CHECKING:
    from layoutcheck.sources.traced import TracedCopy

NEEDY = ("rejected", "wrong", "slow")  # verdicts that fixes are proposed for


def judge(copy: Copy | Analysis, *, assumptions: tuple[str, ...] = (), subject: str | None = None) -> Report:
    """The report on a copy, with fixes, each of them checked again. Never raises for a valid Copy."""
    report = check(copy)

    def fixes() -> tuple[tuple[Fix, ...], str | None]:
        if report.verdict not in NEEDY:
            return propose(report)
        from layoutcheck.synthesis.optimum import with_synthesized  # a search, whose import takes a while

        return with_synthesized(report, propose(report))

    return replace(report, repairs=Repairs(fixes), assumptions=assumptions, subject=subject)


def judge_traced(traced: TracedCopy, *, fixes_for: Collection[str] = NEEDY) -> Report | None:
    """The report on a traced copy, at its place; None where its types cannot be read.

    What the compiler's verifier said of the operation counts, whatever the model predicts. Fixes are proposed
    where the verdict is one of `fixes_for`. The report is lean: of traces many are kept.
    """
    if traced.copy is None:
        return None
    analysis = Analysis(traced.copy, traced.observed)
    seen = () if traced.addresses is None else traced.addresses.faults
    misaligned = {fault.side for fault in seen if fault.kind == "misaligned"}
    bare = _softened(check(analysis), traced.box_align, traced.shifted, misaligned)
    report = bare if traced.addresses is None else with_addresses(bare, traced.addresses)
    found = _honest(bare, traced) if report.verdict in fixes_for else repairs()
    asked = None if analysis.prediction is analysis.predicted else analysis.observed
    return replace(report, repairs=found, asked=asked, subject=str(traced.where)).lean()


def _honest(report: Report, traced: TracedCopy) -> Repairs:
    """The repairs without promises that the program itself makes untrue."""
    fixes, obstacle = propose(report)
    untrue = {f"{side} alignment" for side in traced.shifted}
    kept = tuple(
        fix
        for fix in fixes
        if fix.strategy not in ("promise-alignment", "tma")
        or not untrue & {change.argument for change in fix.changes}
    )
    if fixes and not kept:
        obstacle = "its address is a constant past an aligned one: no promise aligns it"
    if not fixes and traced.leaves_tensor:
        obstacle = "a predicate, an index or the grid has to keep it inside: `trace --fix` tries such edits"
    return repairs(kept, obstacle)


def _softened(
    report: Report, box_align: int, shifted: Collection[str] = (), misaligned: Collection[str] = ()
) -> Report:
    """The report without what the types alone say and the program need not mean.

    A swizzle that a recast dropped is `unknown` in a trace: other users of a tile may drop it too. A base
    that TMA needs at a multiple of 128 bytes is judged by its address in the compiler's lowering, and is
    `unknown` without one: its type says what was promised of an offset, which is often less. So is
    the address of a bulk copy in global memory, and of any other copy whose width the compiler does not hold
    against the type, unless its side is `shifted` by a constant past an aligned address, or in shared memory,
    where the lowering knows it. Sides that are seen to be `misaligned` there are left to its own finding.
    Where the model refuses what the compiler was seen to accept, the rest of what it says counts no more.
    """
    model = report.compiler.evidence.get("model")
    if model is not None:
        words = f"The model expects: {model}. Please report it."
        title = "our model refuses this copy, the compiler does not"
        return replace(report, findings=(Finding("LC901", "unknown", title, words),), verdict="unknown")
    findings = []
    for one in report.findings:
        by_base = one.code == "LC235" and _rests_on_base(one, report.analysis.copy)
        if by_base and box_align == SMEM_ALIGN_BYTES:
            continue
        in_bulk = one.code == "LC220" and _rests_on_pointer(one, report.analysis.copy)
        if in_bulk and box_align and box_align % GRAIN_BYTES == 0:
            continue
        width = _short_promise(one, report.analysis.copy, shifted) if one.code == "LC202" else 0
        known = box_align if width and _in_shared(one, report.analysis.copy) else 0
        if known and (known % width == 0 or one.where.operand in misaligned):
            continue
        by_type = width > 0 and not known
        if by_type:
            title = f"{one.title.partition(' is not ')[0]} may be misaligned: its type promises less"
            one = replace(one, title=title, message=one.message.partition(" Thread ")[0])
        unsure = by_type or ((by_base or in_bulk) and not box_align)
        if unsure or (one.code == "LC209" and "swizzle" in one.evidence):
            one = replace(one, severity="unknown")
        findings.append(one)
    if tuple(findings) == report.findings:
        return report
    order = tuple(sorted(findings, key=lambda one: rank(one.code, one.severity)))
    return replace(report, findings=order, verdict=verdict_of(report.analysis, order))


def _rests_on_pointer(found: Finding, copy: Copy) -> bool:
    """Whether LC220 speaks of what a type promises of a pointer to global memory."""
    side = found.where.operand or ""
    return found.evidence["field"] == f"{side} pointer" and copy.side(side).space == "gmem"


def _short_promise(found: Finding, copy: Copy, shifted: Collection[str]) -> int:
    """The bytes of an access that LC202 speaks of, if its base's type promises less; else 0."""
    name = found.where.operand or ""
    width = int(found.evidence[f"first_misaligned_{name}_width"])
    at_fault = found.evidence["stride_path"] is not None or name in shifted
    return width if not at_fault and copy.side(name).proved_align_bytes % width else 0


def _in_shared(found: Finding, copy: Copy) -> bool:
    """Whether a finding speaks of the side in shared memory."""
    return copy.side(found.where.operand or "").space == "smem"


def _rests_on_base(found: Finding, copy: Copy) -> bool:
    """Whether LC235 speaks of the base's alignment by its type, and not of where boxes lie from the base."""
    side = copy.side(found.where.operand or "")
    return bool(found.evidence["value"] == side.proved_align_bytes)
