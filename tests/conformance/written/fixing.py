"""Fixes of the copies that random kernels get wrong, held against the compiler.

`tried(report, session, compiling)` checks every fix of a report: the DSL takes each of its copies, `check`
gives each the verdict that the fix claims, and the code, pasted into a kernel, compiles to copies of that
verdict, with the number of instructions that was predicted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from layoutcheck.check import Fix, Report, check
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.dsl.collect import Collector
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.verifier import verify
from layoutcheck.fixes import code
from layoutcheck.judge import judge_traced
from tests.conformance.written.sweep import Child

TEMPLATE = """import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def kernel(m: cute.Tensor, ld: cutlass.Int32):
    tidx = cute.arch.thread_idx()[0]
    allocator = cutlass.memory.SmemAllocator()
    src = {src}
    dst = {dst}
{body}


@cute.jit
def host(m: cute.Tensor, ld: cutlass.Int32):
    kernel(m, ld).launch(grid=(1, 1, 1), block=({threads}, 1, 1))


def build(reference):
    if reference:
        return None
    m = make_fake_compact_tensor(cutlass.Uint8, (1 << 22,), assumed_align=128)
    return cute.compile(host, m, cutlass.Int32(64))
"""


def operand(memref: Memref) -> str:
    """The tensor that the user has."""
    element, layout = code.dtype_code(memref.dtype), code.layout_code(memref.layout, repeat("ld"))
    swizzle = f", swizzle={code.swizzle_code(memref.swizzle)}" if memref.swizzle else ""
    align = max(memref.proved_align_bytes, 128) if memref.swizzle else memref.proved_align_bytes
    if memref.space == "smem" and not memref.layout.is_static:
        pointer = f"cute.recast_ptr(allocator.allocate(32768, byte_alignment={align}), None, dtype={element})"
        return f"cute.make_tensor({pointer}, {layout})"
    if memref.space == "smem":
        return f"allocator.allocate_tensor({element}, {layout}, byte_alignment={align}{swizzle})"
    if memref.space == "rmem":
        return f"cute.make_rmem_tensor({layout}, {element})"
    place = f"{element}, m.iterator.toint(), cute.AddressSpace.gmem, assumed_align={align}"
    return f"cute.make_tensor(cute.make_ptr({place}), {layout})"


def pasted(copy: Copy, fix: Fix) -> str | None:
    """A kernel around the fix's code, and the copy with the names that it sets; None where there is none."""
    if copy.pred is not None or fix.strategy == "tma" or "FP32" in fix.title:
        return None
    whole = {s: copy.tiling.side(s) if copy.tiling else copy.side(s) for s in ("src", "dst")}
    if any(isinstance(m, OtherOperand) or m.space == "generic" for m in whole.values()):
        return None
    if copy.atom is None:
        return None
    lines = [f"atom = {code.atom_code(copy.atom)}", "src_tile, dst_tile = src, dst", fix.code]
    if "cute.copy(" not in fix.code and "_copy(" not in fix.code.replace("make_tiled_copy", ""):
        if "tiled_copy = " in fix.code:
            lines.append("own = tiled_copy.get_slice(tidx)")
            views = {"src": "own.partition_S(src)", "dst": "own.partition_D(dst)"}
            views |= {side: side for side in views if whole[side].space == "rmem"}
            lines.append(f"cute.copy(atom, {views['src']}, {views['dst']})")
        elif copy.tiling is None and fix.strategy != "transpose-in-ldmatrix":
            lines.append("cute.copy(atom, src, dst)")
        else:
            return None
    elif copy.tiling is not None and "tSrc" in fix.code:
        return None
    body = "\n".join("    " + line for part in lines for line in part.split("\n"))
    fixed = fix.copies[0].tiling
    threads = (fixed.block_threads or 128) if fixed else 128
    return TEMPLATE.format(src=operand(whole["src"]), dst=operand(whole["dst"]), body=body, threads=threads)


def tried(report: Report, session: Session, compiling: Child | None) -> Iterator[tuple[str, str, str]]:
    """(strategy, what was tried, "" or what is wrong)."""
    for fix in report.fixes:
        said = verify(fix.copies, session=session)
        for copy, answer in zip(fix.copies, said, strict=True):
            yield fix.strategy, "accepted", "" if answer.accepted else f"{answer.message}: {copy}"
        ranks = ("legal", "slow")
        worst = max(
            (check(copy).verdict for copy in fix.copies), key=lambda v: ranks.index(v) if v in ranks else 9
        )
        yield (
            fix.strategy,
            "verdict",
            "" if worst == fix.verdict else f"{worst}, not {fix.verdict}: {fix.copies}",
        )
        source = pasted(report.copy, fix) if compiling is not None else None
        if source is None:
            continue
        answer = compiling.ask([["fix", source]])
        if answer is None or "died" in answer:
            yield fix.strategy, "compiles", f"died: {source}"
            continue
        if "copy_error" in answer or "broken" in answer:
            error = " ".join((answer.get("copy_error") or answer["broken"]).split())
            yield fix.strategy, "compiles", f"{error[-300:]}\n{source}"
            continue
        yield fix.strategy, "compiles", ""
        collector = Collector()
        collector.take(answer["built"])
        reports = [judge_traced(one, fixes_for=()) for one in collector.trace().copies]
        bad = [r for r in reports if r is None or r.verdict not in ("legal", "slow", "unknown")]
        what = f"{bad[0].verdict} {[f.code for f in bad[0].findings]}\n{source}" if bad and bad[0] else ""
        yield fix.strategy, "legal once pasted", what
        count = sum((r.execution.get("instructions_per_thread") or 0) for r in reports if r is not None)
        claimed = fix.predicted.get("instructions_per_thread")
        if (
            claimed is not None and count and fix.strategy != "transpose-in-ldmatrix"
        ):  # claims its reader as well
            yield (
                fix.strategy,
                "instructions",
                "" if count == claimed else f"{count}, not {claimed}\n{source}",
            )
