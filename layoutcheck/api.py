"""The library: check a copy given as text or as live objects.

import layoutcheck as lc
report = lc.check("(8):(1)", "(8):(64)", "cp.async", dtype="bf16", bits=128)
report.verdict, report.findings, report.fixes, report.to_dict()
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from layoutcheck.algebra.inttuple import must_be
from layoutcheck.check import Report, repairs
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.judge import judge
from layoutcheck.machine.arch import parse_arch
from layoutcheck.request import Request, asked, takes_request
from layoutcheck.sources.request import read
from layoutcheck.synthesis.request import TileRequest

if TYPE_CHECKING:
    from layoutcheck.synthesis.plans import Synthesis


@takes_request(Request)
def check(*given: Any, **options: Any) -> Report:
    """Whether one copy is accepted, right and fast, and how to repair it.

    - `src`, `dst`, `pred`: anything the DSL prints for a tensor, a bare layout such as `"(128,64):(1,128)"`,
      a `Layout` or `Memref`, a DSL tensor, a torch tensor or a numpy array
    - `atom`: a printed atom or tiled copy, a short name ("cp.async", "universal", "ldmatrix.x4", "autovec"),
      or a DSL atom; None is `cute.autovec_copy`
    - `thr`, `val`: thread and value layouts; `src` and `dst` are then whole tiles, which the tiled copy made
      of them partitions, as `tiled` (a printed or live tiled copy) does
    - `dtype`, `bits`: element type of what does not state its own; width of an atom given by name
    - `src_space`, `src_align`, `dst_space`, `dst_align`: memory space ("gmem", "smem", "rmem") and alignment
      in bytes of a bare layout; `swizzle`: its pointer's swizzle (of bytes), where it is in shared memory
    - `block`: threads launched (of a bulk copy: that issue it)
    - `expect_bytes`: what the barrier of a bulk copy, a TMA load or `st.async` is told to expect
    - `cluster`: blocks of the cluster of a copy between them; the first issues it. `mcast_mask` or
      `cta_rank` says where to, `waits_rank` which block's barrier is waited on, if not the receiving one's
    - `tiler`, `coord`, `described`: of a TMA copy of whole tensors, the tile's extents (default: the shared
      tensor's), which tile it is, and the shared layout that the tensor map was made of, if another (the
      swizzle that it is composed with counts bytes here, as `make_tiled_tma_atom` reads it);
      `internal_type` as given to `make_tiled_tma_atom`; `im2col`, of the atoms `im2col_tma_load` and
      `im2col_tma_store`, the convolution, such as "filter=(3,3) padding=(1,1)" (W first); `index`, of
      `tma_gather4` and `tma_scatter4`, the tensor of row numbers (`gmem_coord_tensor`)
    - `aux`: of `tcgen05.ld.red`, the second destination, for the reduced values
    - `arch`: the target, such as "sm_100a"; None is sm_90a, or the first that has the atom
    - `op`: "copy", "autovec_copy", "basic_copy", "basic_copy_if" or "copy_atom_call"
    - `evict_priority`: whether `autovec_copy` is given an `l1c_evict_priority`

    What is taken for granted is listed in `report.assumptions`. Raises InputError for unusable input.
    """
    __tracebackhide__ = True
    copy, assumptions = copy_of(*given, **options)
    return judge(copy, assumptions=assumptions)


def copy_of(*given: Any, **options: Any) -> tuple[Copy, tuple[str, ...]]:
    """The copy that `check` would look at, and what it assumes. Raises InputError, in Python's terms."""
    __tracebackhide__ = True
    try:
        return read(asked(Request, *given, **options))
    except InputError as error:
        raise error.in_python() from None


def check_copy(copy: Copy, *, assumptions: tuple[str, ...] = (), subject: str | None = None) -> Report:
    """The report on a `Copy`, with fixes proposed and each of them checked again.

    `assumptions` and `subject` are carried into the report: what the caller took for granted, and a name or
    place to print. Never raises for a valid Copy; raises InputError for anything else.
    """
    must_be(Copy, "a Copy; check takes text and tensors", copy=copy)
    must_be((str, type(None)), "text or None", subject=subject)
    must_be((tuple, list), "a tuple of texts", assumptions=assumptions)
    for number, each in enumerate(assumptions):
        must_be(str, "text", **{f"assumptions[{number}]": each})
    return judge(copy, assumptions=assumptions, subject=subject)


def check_error(text: str, arch: str = "sm_90a") -> list[Report]:
    """The reports on every copy whose operand types are in pasted compiler output of DSL 4.0 to 4.8.

    `arch` is the architecture that was compiled for, which the output does not say. An error without types
    gives no report (set `CUTE_DSL_SHOW_STACKTRACE=1`, and they are printed). Raises InputError where the text
    holds no error about a copy.
    """
    from layoutcheck.sources.diagnostics import read_diagnostics

    must_be(str, "text", text=text, arch=arch)
    return [
        check_copy(found.copy, subject=found.location)
        for found in read_diagnostics(text, str(parse_arch(arch)))
        if found.copy is not None
    ]


@takes_request(TileRequest)
def synthesize(*given: Any, **options: Any) -> Synthesis:
    """The best copies for a tile: from global memory through shared memory to who reads it.

    - `tile`: two extents, (MN,K), as text or as a tuple
    - `src`: the whole global tensor, modes (MN,K): a `Memref` or text, `"gmem (?{div=8},?):(1,?{div=8})"`;
      "accumulator" for the registers of m16n8 MMAs, which `stmatrix` stores
    - `to`: who reads the tile: "ldmatrix", "ldmatrix.trans", "wgmma.A", "wgmma.B", "tcgen05.A", "tcgen05.B",
      "gmem" (with `dst`, a tensor like `src`) or "registers"; several separated by commas. "^T" after an
      operand: the transposed tile is read
    - `major`: "K" or "MN", the mode along which an operand, or a thread's registers, are contiguous
    - `threads` of the block, `stages` in shared memory; `engine`: "tma", "cp.async", "universal", or several
    - `align`: bytes that `src` and `dst` are aligned to (16)
    - `compiled`: the installed DSL compiles the plans, and their order is that of what it makes of them

    Returns a `Synthesis`: `.best.code` is a program, `.plans` are best first, `.space` says among what they
    are the best, `.why` why the first is first. Raises InputError for unusable input, and where no plan
    works; DslUnavailable where the DSL is to compile and cannot.
    """
    from layoutcheck.synthesis.plans import synthesize as synthesized
    from layoutcheck.synthesis.reading import read as read_wanted

    try:
        request = asked(TileRequest, *given, **options)
        wanted = read_wanted(request)
        if not request.compiled:
            return synthesized(wanted)
        from layoutcheck.dsl.programs import compiled

        return synthesized(wanted, compiler=compiled)
    except InputError as error:
        raise error.in_python() from None


def ask_compiler(reports: list[Report]) -> list[Report]:
    """The reports with the installed DSL's own verdict beside ours, and its confirmation of every fix.

    One child process answers for all of them. Where the DSL cannot be asked, `asked.message` says why.
    """
    from layoutcheck.dsl.session import DslUnavailable
    from layoutcheck.dsl.verifier import verify

    copies = [
        copy for report in reports for copy in (report.copy, *(c for fix in report.fixes for c in fix.copies))
    ]
    try:
        answers = iter(verify(copies) if copies else [])
    except DslUnavailable as error:
        return [replace(report, asked=Prediction("unknown", str(error))) for report in reports]
    out = []
    for report in reports:
        asked = next(answers)
        fixes = []
        for fix in report.fixes:
            accepted = [next(answers).accepted for _ in fix.copies]
            confirmed = (*fix.confirmed_by, "compiler") if all(accepted) else fix.confirmed_by
            fixes.append(replace(fix, confirmed_by=confirmed))
        out.append(replace(report, asked=asked, repairs=repairs(tuple(fixes), report.obstacle)))
    return out
