"""`layoutcheck explain`: one copy, a named case, or a pasted error."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.cases import list_cases, outcomes_of_case
from layoutcheck.cli.compiler import asked
from layoutcheck.cli.input import read_text
from layoutcheck.cli.options import Compiler, Format, Output, Strict
from layoutcheck.cli.output import Sink
from layoutcheck.errors import InputError

if TYPE_CHECKING:
    from layoutcheck.reports.outcome import Outcome


def explain(
    src: Annotated[str | None, Option("layout or tensor; or a file, '-'", positional=True)] = None,
    dst: Annotated[str | None, Option("layout or tensor", positional=True)] = None,
    atom: Annotated[str | None, Option("cp.async, universal, ldmatrix.x4, autovec, or as printed")] = None,
    bits: Annotated[int | None, Option("width of an atom given by name")] = None,
    dtype: Annotated[str | None, Option("element type, such as bf16")] = None,
    thr: Annotated[str | None, Option("thread layout: SRC and DST are whole tiles")] = None,
    val: Annotated[str | None, Option("value layout")] = None,
    tiled: Annotated[str | None, Option("a printed tiled copy: SRC and DST are whole tiles")] = None,
    pred: Annotated[str | None, Option("predicate tensor")] = None,
    arch: Annotated[
        str | None, Option("sm_80, sm_90a, ... (default sm_90a, or the first with the atom)")
    ] = None,
    src_space: Annotated[str | None, Option("gmem, smem or rmem, if SRC is a bare layout")] = None,
    dst_space: Annotated[str | None, Option("gmem, smem or rmem, if DST is a bare layout")] = None,
    src_align: Annotated[int | None, Option("alignment in bytes, if SRC is a bare layout")] = None,
    dst_align: Annotated[int | None, Option("alignment in bytes, if DST is a bare layout")] = None,
    swizzle: Annotated[str | None, Option("pointer swizzle in shared memory: 'S<3,4,3>'")] = None,
    block: Annotated[int | None, Option("threads launched; of a bulk copy: that issue it")] = None,
    expect_bytes: Annotated[int | None, Option("bytes a bulk or TMA copy's barrier is told of")] = None,
    cluster: Annotated[int | None, Option("blocks of the cluster, of a copy between them")] = None,
    mcast_mask: Annotated[str | None, Option("the blocks of a multicast: '0b11'")] = None,
    cta_rank: Annotated[int | None, Option("the block that bulk.s2s or st.async writes to")] = None,
    waits_rank: Annotated[int | None, Option("the block whose barrier waits, if another")] = None,
    tiler: Annotated[str | None, Option("TMA: extents of the tile, '(64,64)'")] = None,
    coord: Annotated[str | None, Option("TMA: which tile, '(0,1)'; default: the first")] = None,
    described: Annotated[str | None, Option("TMA: smem layout the map was made of, if another")] = None,
    internal_type: Annotated[str | None, Option("TMA: internal_type of make_tiled_tma_atom")] = None,
    im2col: Annotated[str | None, Option("TMA im2col: 'filter=(3,3) padding=(1,1) ...', W first")] = None,
    index: Annotated[str | None, Option("tma_gather4, tma_scatter4: the tensor of row numbers")] = None,
    op: Annotated[str, Option("copy, autovec_copy, basic_copy, copy_atom_call")] = "copy",
    case: Annotated[str | None, Option("a named case; '--case' alone lists them")] = None,
    format_: Format = "text",
    output: Output = None,
    strict: Strict = False,
    compiler: Compiler = False,
    everything: Annotated[bool, Option("the code of every fix, every finding in full", "--all")] = False,
) -> int:
    """Explain one copy, a named case, or a pasted error ('-' or a file)."""
    from layoutcheck.reports import renderer
    from layoutcheck.reports.outcome import exit_status

    if case == "":
        return list_cases()
    render = renderer(format_)
    sink = Sink(output, everything)
    if case is not None:
        if src is not None:
            raise InputError("a case has its own operands", expected="either --case or SRC and DST")
        outcomes = outcomes_of_case(case)
    elif src is None:
        raise InputError(
            "nothing to explain", expected="SRC and DST, --case NAME, or '-' for compiler output"
        )
    elif dst is None:
        if src.endswith(".py"):
            raise InputError(
                f"'{src[:200]}' is a program, not what a compiler printed",
                expected=f"layoutcheck trace --no-launch {src[:200]}, which runs it without a GPU",
            )
        outcomes = _pasted(read_text(src), arch or "sm_90a")
    else:
        from layoutcheck.api import check

        outcomes = [
            check(
                src, dst, atom, bits=bits, dtype=dtype, thr=thr, val=val, tiled=tiled, pred=pred, arch=arch,
                src_space=src_space, dst_space=dst_space, src_align=src_align, dst_align=dst_align,
                swizzle=swizzle, block=block, expect_bytes=expect_bytes, op=op, cluster=cluster,
                mcast_mask=mcast_mask, cta_rank=cta_rank, waits_rank=waits_rank,
                tiler=tiler, coord=coord, described=described, internal_type=internal_type, im2col=im2col,
                index=index,
            )
        ]  # fmt: skip
    if compiler:
        outcomes = asked(outcomes)
    sink.put(render(outcomes, sink.style))
    return exit_status(outcomes, strict)


def _pasted(text: str, arch: str) -> list[Outcome]:
    """The outcome of every error in a pasted text, and of the copy whose types C++ prints."""
    from layoutcheck.api import check, check_copy
    from layoutcheck.catalogue import Answer
    from layoutcheck.catalogue.cpp_types import operands
    from layoutcheck.reports.outcome import Explained, Message
    from layoutcheck.sources.diagnostics import read_errors

    outcomes: list[Outcome] = []
    for found in read_errors(text, arch):
        if isinstance(found, Answer):
            outcomes.append(Explained(found))
        elif found.copy is None:
            outcomes.append(Message(found))
        else:
            outcomes.append(check_copy(found.copy, subject=found.location))
    copy = operands(text) if any(isinstance(outcome, Explained) for outcome in outcomes) else None
    if copy is not None:
        report = check(
            copy.src, copy.dst, copy.atom, bits=copy.bits, dtype=copy.dtype, arch=arch,
            src_space=copy.src_space, dst_space=copy.dst_space,
        )  # fmt: skip
        read = "the copy is read from C++ template arguments, and judged as CuTe DSL would judge it"
        outcomes.append(replace(report, assumptions=(read, *report.assumptions)))
    return outcomes
