"""Inline PTX: what orders or reaches memory is read, or said to be unknown."""

from __future__ import annotations

from typing import Any

import pytest

from layoutcheck.dsl.lowered.inline_ptx import unescaped
from layoutcheck.order.describe import WGMMA, describe
from layoutcheck.order.inline import read_inline
from layoutcheck.order.inline_mma import Descriptor, Multiplication, Sum, multiplications
from layoutcheck.order.linear import Inline, Linear, operand
from layoutcheck.sources.mlir import parse

SEND = "st.async.shared::cluster.mbarrier::complete_tx::bytes"
COPY = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
LOAD = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32"
BOX = "cp.async.bulk.tensor"


def brief(text: str, results: int = 0) -> list[tuple[Any, ...]]:
    """(kind, operands, bytes, the operand that is a predicate) of each; an operand as it is by its number."""
    return [
        (
            one.kind,
            tuple(
                n.terms[0][0] if n == operand(n.terms[0][0] if n.terms else 0) else n for n in one.operands
            ),
            one.size,
            one.guard,
        )
        for one in read_inline(text, results)
    ]


@pytest.mark.parametrize(
    ("text", "results", "expected"),
    [
        (f"{SEND}.b32 [$0], $1, [$2];", 0, ("st_async", (0, 2), 4)),
        (f"{SEND}.v4.f32 [$0], {{$1, $2, $3, $4}}, [$5];", 0, ("st_async", (0, 5), 16)),
        (f".reg .v4 .s32 v; {SEND}.v4.s32 [$0], v, [$1];", 0, ("st_async", (0, 1), 16)),
        (f"{SEND}.u64 [$1], $2, [$3];", 1, ("st_async", (0, 2), 8)),
        (f"{COPY} [$0], [$1], $3, [$2];", 0, ("bulk_peer", (0, 2, 3, 1))),
        (f"{LOAD} [$1], [$0], $3, [$2];", 0, ("bulk_load", (1, 2, 3, 0))),
        (f"{LOAD}.L2::cache_hint [$0], [$1], $2, [$3], $4;", 0, ("bulk_load", (0, 3, 2, 1))),
        (f"{REDUCE} [{{$r0}}], [{{$r1}}], {{$r2}};", 0, ("bulk_store", (1, 2, 0))),
        ("cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], 256;", 0,
         ("bulk_store", (1, Linear((), 256), 0))),
        ("{ .reg .u32 s; cvt.u32.u64 s, $0; cp.async.cg.shared.global.L2::128B [s], [$1], 16; }", 0,
         ("cp_async", (0, 1), 16)),
        ("{ .reg .u64 a; mad.wide.u32 a, $3, 2, $2; cp.async.ca.shared.global [$1], [a], 16; mov $0, 0;", 1,
         ("cp_async", (0, Linear(((2, 2), (1, 1)))), 16)),
        ("cp.async.cg.shared.global [$0], [$1], 16, $2;", 0, ("cp_async", (0, 1, 2), 16)),
        ("{ .reg .pred p; .reg .u32 s; setp.ne.s32 p, $2, 0; cvt.u32.u64 s, $0; "
         "@p cp.async.ca.shared.global [s], [$1], 8; }", 0, ("cp_async", (0, 1), 8, 2)),
        ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4];", 4,
         ("matrix_read", (0,), 16)),
        ("st.shared.v2.b32 [$0], {$1, $2};", 0, ("write", (0,), 8)),
        ("st.shared.b32 [$0+8], $1;", 0, ("write", (Linear(((0, 1),), 8),), 4)),
        ("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
         "[$0], [$1], 128;", 0, ("read", (1,), 128)),
        ("ld.shared.u8 $0, [$1];", 1, ("read", (0,), 1)),
        ("ld.v4.u32 {$0, $1, $2, $3}, [$4];", 4, ("read", (0,), 16)),
        ("atom.global.add.s32 $0, [$1], $2;", 1, ("atomic", (0,), 4)),
        ("red.shared.max.s32 [$0], $1;", 0, ("atomic", (0,), 4)),
        ("mbarrier.arrive.release.cta.shared::cta.b64 _, [$0], $1;", 0, ("mbar_arrive", (0, 1))),
        ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", 0, ("mbar_arrive", (0, 1))),
        ("{ mbarrier.init.shared.b64 [$0], 3; }", 0, ("mbar_init", (0, Linear((), 3)))),
        ("{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra D; bra L; D: }", 0,
         ("mbar_wait", (0, 1))),
        ("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }", 1,
         ("mbar_token", (0, 1))),
        ("{{ .reg .u32 to; .reg .u32 bar; mapa.shared::cluster.u32 to, $0, $3; "
         f"mapa.shared::cluster.u32 bar, $2, $3; {SEND}.u32 [to], $1, [bar]; }}}}", 0,
         ("st_async", (Linear(((0, 1),), 0, ((3, 1),)), Linear(((2, 1),), 0, ((3, 1),))), 4)),
        ("tcgen05.wait::ld.sync.aligned;", 0, ("tmem_wait", (), 1)),
        ("{ cp.async.wait_group 2; mov.u32 $0, 0; }", 1, ("cp_wait", (), 2)),
        ("cp.async.bulk.wait_group.read 1;", 0, ("bulk_wait", (), 1)),
        ("{ bar.sync 1, 64; mov.u32 $0, 0; }", 1, ("barrier", (Linear((), 1), Linear((), 64)))),
        ("barrier.cluster.arrive.release.aligned;", 0, ("cluster_arrive", ())),
        ("bar.warp.sync 0xffffffff;", 0, ("warp_sync", (Linear((), 0xFFFFFFFF),))),
        ("membar.gl;", 0, ("fence", ())),
        (f"{BOX}.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
         "[$0], [$1, {$2, $3, $4, $5, $6}], [$7];", 0, ("bulk_load", (0, 7, 1))),
        (f"{BOX}.2d.global.shared::cta.bulk_group [$0, {{$2, $3}}], [$1];", 0, ("bulk_store", (1, 0))),
        ("elect.sync _|p, -1; @p tcgen05.mma.cta_group::1.kind::f16 [t], a, b, c, p;", 0, ("tc_mma", ())),
        ("fence.proxy.async.shared::cta;", 0, ("fence_proxy", ())),
    ],
)  # fmt: skip
def test_what_is_known(text: str, results: int, expected: tuple[Any, ...]) -> None:
    kind, operands, *rest = expected
    size, guard = (*rest, *(0, -1)[len(rest) :])
    assert brief(text, results) == [(kind, operands, size, guard)]


@pytest.mark.parametrize(
    "text",
    [
        "add.s32 $0, $1, $2;", "st.global.v4.b32 [$0], {$1, $2, $3, $4};", "griddepcontrol.wait;",
        "ld.weak.global.v4.u32 {$0, $1, $2, $3}, [$4];", "multimem.st.weak.global.f32 [$0], {$1};",
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [$0, {$1, $2}];",
        "tcgen05.fence::after_thread_sync;",
        "setp.eq.u32 p, lane, 0; @p atom.global.add.u32 r, [$1], 1;",
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [s], 0, $1;",
    ],
)  # fmt: skip
def test_what_needs_no_order_within_a_block(text: str) -> None:
    assert brief(text) == []


def test_facts_and_several_instructions_of_one_text() -> None:
    (wait,) = read_inline("cp.async.bulk.wait_group.read 1;")
    (everything,) = read_inline("cp.async.wait_all;")
    (load,) = read_inline("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {$0, $1}, [$2];", 2)
    (fence,) = read_inline("fence.proxy.async.shared::cta;")
    assert wait.facts == (("read", "yes"),) and everything.facts == (("all", "yes"),)
    assert load.facts == (("space", "smem"), ("rows", "16")) and fence.facts == (("proxy", "async.shared"),)
    loads = (
        "{ .reg .b32 a<4>; ldmatrix.sync.aligned.x4.m8n8.shared.b16 {a0,a1,a2,a3}, [$4]; mma.sync $0, a0; "
    )
    assert brief(loads + "ldmatrix.sync.aligned.x1.m8n8.shared.b16 {a0}, [$4+32]; }", 4) == [
        ("matrix_read", (0,), 16, -1),
        ("matrix_read", (Linear(((0, 1),), 32),), 16, -1),
    ]
    assert [
        kind for kind, *_ in brief("mbarrier.init.shared.b64 [$0], 1; fence.proxy.async.shared::cta;")
    ] == ["mbar_init", "fence_proxy"]


def test_a_register_that_changes_under_a_predicate_or_in_a_loop_is_not_known() -> None:
    assert brief("mov.u32 s, $0; @p mov.u32 s, $1; st.shared.b32 [s], $2;")[0][0] == "unknown"
    assert brief("mov.u32 s, $0; L: st.shared.b32 [s], $2; add.u32 s, s, 4; @p bra L;")[0][0] == "unknown"
    assert brief("mov.u32 s, $0; add.u32 s, s, 4; st.shared.b32 [s], $2;") == [
        ("write", (Linear(((0, 1),), 4),), 4, -1)
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("st.shared.b32 [s], $1;", "st.shared.b32"),
        ("@!p st.shared.b32 [$0], $1;", "st.shared.b32"),
        ("ld.acquire.cta.shared.b32 $0, [$1];", "ld.acquire.cta.shared.b32"),
        ("bar.red.or.pred $0, $1, 1, $2;", "bar.red.or.pred"),
        ("elect.sync _|p, -1; @p mbarrier.arrive.shared.b64 _, [$0];", "mbarrier.arrive.shared.b64"),
        ("tcgen05.mma.kind::f16 [x]; mbarrier.arrive.shared.b64 _, [$0];", "mbarrier.arrive.shared.b64"),
        (f"{SEND}.b32 [$0], $1, [$2]; bar.red.popc.u32 r, 0, p;", "bar.red.popc.u32"),
        ("elect.sync _|p, -1;", "elect.sync"),
        ("cp.reduce.async.bulk.shared::cluster.shared::cta.add.u32 [$0], [$1], $2, [$3];",
         "cp.reduce.async.bulk.shared::cluster.shared::cta.add.u32"),
    ],
)  # fmt: skip
def test_what_is_not_known_says_its_name(text: str, name: str) -> None:
    (found,) = read_inline(text)
    assert (found.kind, dict(found.facts)["name"]) == ("unknown", name)


@pytest.mark.parametrize(
    ("name", "count", "facts"),
    [
        ("barrier.cta.sync", 1, ("yes", "")), ("barrier.cta.sync", 2, ("yes", "yes")),
        ("barrier.cta.arrive", 2, ("yes", "yes")), ("barrier.cta.red", 3, ("yes", "yes")),
        ("barrier.cta.red", 2, ("yes", "")), ("barrier.arrive", 1, ("", "yes")),
    ],
)  # fmt: skip
def test_operands_of_barriers(name: str, count: int, facts: tuple[str, str]) -> None:
    types = ["i1" if name.endswith("red") and i == 0 else "i32" for i in range(count)]
    values = ", ".join(f"%{i}" for i in range(count))
    made = "".join(f'%{i} = "llvm.mlir.undef"() : () -> {kind}\n' for i, kind in enumerate(types))
    text = f'{made}"nvvm.{name}"({values}) : ({", ".join(types)}) -> ()\n'
    *_, op = parse('"builtin.module"() ({\n' + text + "}) : () -> ()").walk()
    found = describe(op)
    assert found is not None and (found.facts["id"], found.facts["threads"]) == facts
    assert [v.type for v in found.operands] == ["i32"] * len([one for one in facts if one])


MMA = "tcgen05.mma.cta_group::2.kind::f16 [d], [a + 0x8], b, idesc, 1;"
MOVES = (
    "{ .reg .b32 d, a; mov.b32 idesc, 0x10210490; mov.b32 d, $3; mov.b32 a, $0; mov.b32 lo, $1; "
    "mov.b32 hi, 0x40004040; add.u32 low, lo, 0x80; mov.b64 b, {low, hi}; @leader "
)


def test_a_product_in_inline_ptx_has_sums_as_operands() -> None:
    wanted = Multiplication(
        True, "f16", Sum(3, 0), Sum(0, 8), Descriptor(Sum(1, 0x80), Sum(None, 0x40004040)), 0x10210490
    )
    assert multiplications(MOVES + MMA + " }") == [wanted]
    both = multiplications(MOVES + MMA + MMA.replace("[a + 0x8]", "b") + " }")
    assert both is not None and both[1].a == both[1].b == wanted.b
    assert multiplications(MOVES + MMA.replace("idesc", "elsewhere")) is None
    assert multiplications(MOVES + MMA.replace("[d]", "[elsewhere]")) is None
    assert multiplications(MOVES + MMA.replace(" b,", " elsewhere,")) is None


def test_a_wait_between_products_is_one_and_tabs_hide_nothing() -> None:
    wait = "mbarrier.try_wait.parity.shared::cta.b64 P1, [$4], $5, 10000000;"
    (found,) = read_inline(unescaped(f"{MMA}\\0A\\09LAB: {wait}\\0A\\09@P1 bra DONE;"))
    assert found == Inline("tc_mma", facts=(("bar", "4"), ("parity", "5")))
    (twice,) = read_inline(MMA + wait + wait)
    assert twice.kind == "unknown"
    assert brief(unescaped(f"{{\\0A\\09{SEND}.b32 [$0], $1, [$2];\\0A}}")) == [("st_async", (0, 2), 4, -1)]


@pytest.mark.parametrize("clamped", ["", ".satfinite"])
def test_a_wgmma_of_integers_has_its_types(clamped: str) -> None:
    """The DSL's MmaI8Op prints `.satfinite` before the types."""
    found = WGMMA.search(f"wgmma.mma_async.sync.aligned.m64n16k32{clamped}.s32.s8.u8 {{%r1}}, %rd1, %rd2, p;")
    assert found is not None and found.groups() == ("64", "16", "32", "s32", "s8", "u8")
