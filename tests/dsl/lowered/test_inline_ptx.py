"""Loads and stores written in PTX: read from the text, and judged like others."""

from __future__ import annotations

import pytest

from layoutcheck.dsl.lowered.inline_ptx import NOT_HELD, UNREAD, PtxAccess, accesses_of, reaches_shared
from tests.dsl.lowered.conftest import Traced

GUARDED = "{\n\t.reg .pred P1;\n\tsetp.ne.b32 P1, $3, 0;\n\t@!P1 st.global.v2.b32 [$0+8], {$1, $2};\n}"
# ptxas makes LDG.E.64 of it: attention-gym's chunk_kda_bwd_intra.py:366, at multiples of 8 bytes.
HALF = (
    "{\n\t.reg .pred p;\n\t.reg .b32 a, b;\n\tmov.b32 $0, 0;\n\tsetp.ne.b32 p, $3, 0;\n\t"
    "@p ld.global.v4.b32 {$0, $1, a, b}, [$2];\n}"
)


@pytest.mark.parametrize(
    ("text", "results", "found"),
    [
        ("ld.global.nc.b32 $0, [$1];", 1, (PtxAccess("load.ext", "gmem", 4, 0),)),
        (
            "ld.global.L1::no_allocate.v4.f32 {$0, $1, $2, $3}, [$4];",
            4,
            (PtxAccess("load.ext", "gmem", 16, 0),),
        ),
        ("mov.u64 a, $1; ld.acquire.gpu.global.b64 $0, [a];", 1, (PtxAccess("load.ext", "gmem", 8, 0),)),
        ("red.global.add.noftz.bf16x2 [$0], $1;", 0, (PtxAccess("red", "gmem", 4, 0),)),
        ("st.b16 [$0], $1;", 0, (PtxAccess("store.ext", "generic", 2, 0),)),
        (HALF, 2, (PtxAccess("load.ext", "gmem", 8, 0, guard=1),)),
        (HALF.replace("b}", "$1}"), 2, (PtxAccess("load.ext", "gmem", 16, 0, guard=1),)),
        (GUARDED, 0, (PtxAccess("store.ext", "gmem", 8, 0, 8, 3, True),)),
        ("@p ld.global.b32 $0, [$1];", 1, UNREAD),
        ("ld.global.b32 $0, [%rd4];", 1, UNREAD),
        ("cp.async.cg.shared.global [$0], [$1], 16;", 0, UNREAD),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0], [$1], $2;", 0, UNREAD),
        ("cp.async.bulk.commit_group;", 0, ()),
        ("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [$0, {$1, $2}], [$3];", 0, ()),
        ("ld.shared.b32 $0, [$1];", 1, ()),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [$0], $1, [$2];", 0, ()),
        ("fma.rn.f32 $0, $1, $2, $3;", 1, ()),
    ],
)
def test_what_is_read(text: str, results: int, found: object) -> None:
    assert accesses_of(text, results) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("st.shared.f32 [$0], $1;", True),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [$0], $1, [$2];", True),
        ("cp.async.cg.shared.global [$0], [$1], 16;", True),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];", True),
        ("mbarrier.arrive.shared::cta.b64 _, [$0];", False),
        ("cvta.to.shared.u64 $0, $1;", False),
        ("ld.global.b32 $0, [$1];", False),
    ],
)
def test_what_reaches_shared_memory(text: str, found: bool) -> None:
    assert reaches_shared(text) is found


PROGRAM = """
import cutlass
from cutlass import Int32, cute
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_tensor
from cutlass.cutlass_dsl import T, dsl_user_op

TEXTS = {
    "plain": "ld.global.nc.b32 $0, [$1];",
    "guarded": "{ .reg .pred p; setp.ne.b32 p, $2, 0; mov.b32 $0, 0; @p ld.global.b32 $0, [$1]; }",
    "shared": "{ .reg .b32 a; cvt.u32.u64 a, $1; ld.shared.b32 $0, [a]; }",
    "hidden": "{ .reg .b64 a; add.s64 a, $1, 4; ld.global.b32 $0, [a]; }",
}

@dsl_user_op
def loaded(at, ok, case, *, loc=None, ip=None):
    given = [at.toint(loc=loc, ip=ip).ir_value(loc=loc, ip=ip)]
    more = [Int32(ok).ir_value(loc=loc, ip=ip)] if case == "guarded" else []
    kinds = "=r,l,r" if more else "=r,l"
    text, more_of = TEXTS[case], {"has_side_effects": True, "loc": loc, "ip": ip}
    return Int32(llvm.inline_asm(T.i32(), given + more, text, kinds, **more_of))

@cute.kernel
def k(x: cute.Tensor, y: cute.Tensor, case: cutlass.Constexpr, limit: cutlass.Constexpr):
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    if i < limit or cutlass.const_expr(case == "guarded"):
        y[i] = loaded(x.iterator + i, i < limit, case)

@cute.jit
def host(x: cute.Tensor, y: cute.Tensor, case: cutlass.Constexpr, limit: cutlass.Constexpr):
    k(x, y, case, limit).launch(grid=(8, 1, 1), block=(128, 1, 1))

if __name__ == "__main__":
    x, y = (make_fake_tensor(Int32, (n,), stride=(1,), assumed_align=16) for n in (1000, 1024))
    for case in TEXTS:
        for limit in (1000, 1001):
            cute.compile(host, x, y, case, limit)
"""


def test_what_is_told(traced: Traced) -> None:
    """Element 1000 of 1000 is loaded by thread 104 of the last block, where its predicate allows it."""
    found = traced(PROGRAM)
    assert not found.failures, found.failures
    told = []
    for kernel in found.kernels:
        (module,) = (one for one in found.elements if one.kernel == kernel.name)
        beyond = [one.evidence for one in module.findings if one.code == "LC204"]
        said = [why for why, _ in module.unchecked]
        assert [UNREAD in why for why in said] == [[], [], [], [], [False], [False], [True], [True]][
            len(told)
        ]
        assert [NOT_HELD in why for why in said] == [len(told) < 6] * (len(told) > 3)
        told.append([(one["block"], one["thread"], one["address"]) for one in beyond])
    wrong = [("(7,0,0)", 104, 4000)]
    assert told == [[], wrong, [], wrong, [], [], [], []]
