"""Inline PTX: what orders or reaches memory is read, or said to be unknown."""

from __future__ import annotations

import pytest

from layoutcheck.dsl.lowered.inline_ptx import unescaped
from layoutcheck.order.inline import Inline, read_inline
from layoutcheck.order.inline_mma import Descriptor, Multiplication, Sum, multiplications
from layoutcheck.order.meaning import WGMMA, describe
from layoutcheck.sources.mlir import parse

SEND = "st.async.shared::cluster.mbarrier::complete_tx::bytes"
COPY = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
LOAD = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32"


@pytest.mark.parametrize(
    ("text", "results", "expected"),
    [
        (f"{SEND}.b32 [$0], $1, [$2];", 0, Inline("st_async", (0, 2), 4)),
        (f"{SEND}.v4.f32 [$0], {{$1, $2, $3, $4}}, [$5];", 0, Inline("st_async", (0, 5), 16)),
        (f".reg .v4 .s32 v; {SEND}.v4.s32 [$0], v, [$1];", 0, Inline("st_async", (0, 1), 16)),
        (f"{SEND}.u64 [$1], $2, [$3];", 1, Inline("st_async", (0, 2), 8)),
        (f"{COPY} [$0], [$1], $3, [$2];", 0, Inline("bulk_peer", (0, 2, 3, 1))),
        (f"{LOAD} [$1], [$0], $3, [$2];", 0, Inline("bulk_load", (1, 2, 3, 0))),
        (f"{REDUCE} [{{$r0}}], [{{$r1}}], {{$r2}};", 0, Inline("bulk_store", (1, 2, 0))),
        (
            "{ .reg .u32 s; cvt.u32.u64 s, $0; cp.async.cg.shared.global.L2::128B [s], [$1], 16; }",
            0,
            Inline("cp_async", (0, 1), 16, (("space", "smem"),)),
        ),
        (
            "{ .reg .pred p; .reg .u32 s; setp.ne.s32 p, $2, 0; cvt.u32.u64 s, $0; "
            "@p cp.async.ca.shared.global [s], [$1], 8; }",
            0,
            Inline("cp_async", (0, 1, 2), 8, (("space", "smem"), ("guard", "yes"))),
        ),
        (
            "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4];",
            4,
            Inline("matrix_read", (0,), 16, (("space", "smem"), ("rows", "32"))),
        ),
        ("st.shared.v2.b32 [$0], {$1, $2};", 0, Inline("write", (0,), 8, (("space", "smem"),))),
        (
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
            "[$0], [$1], 128;",
            0,
            Inline("read", (1,), 128, (("space", "smem"),)),
        ),
        ("ld.shared.u8 $0, [$1];", 1, Inline("read", (0,), 1, (("space", "smem"),))),
        (
            "mbarrier.arrive.release.cta.shared::cta.b64 _, [$0], $1;",
            0,
            Inline("mbar_arrive", (0, 1), facts=(("form", ""),)),
        ),
        (
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
            0,
            Inline("mbar_arrive", (0, 1), facts=(("form", "tx"),)),
        ),
        (
            "{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra D; bra L; D: }",
            0,
            Inline("mbar_wait", (0, 1)),
        ),
        (
            "{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }",
            1,
            Inline("mbar_token", (0, 1)),
        ),
        ("tcgen05.wait::ld.sync.aligned;", 0, Inline("tmem_wait", size=1)),
        ("add.s32 $0, $1, $2;", 1, None),
        ("st.global.v4.b32 [$0], {$1, $2, $3, $4};", 0, None),
        ("elect.sync _|p, -1; @p tcgen05.mma.cta_group::1.kind::f16 [t], a, b, c, p;", 0, Inline("tc_mma")),
        ("fence.proxy.async.shared::cta;", 0, Inline("fence_proxy", facts=(("proxy", "async.shared"),))),
    ],
)
def test_what_is_known(text: str, results: int, expected: Inline | None) -> None:
    assert read_inline(text, results) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("st.shared.b32 [s], $1;", "st.shared.b32"),
        ("@!p st.shared.b32 [$0], $1;", "st.shared.b32"),
        ("elect.sync _|p, -1; @p mbarrier.arrive.shared.b64 _, [$0];", "mbarrier.arrive.shared.b64"),
        ("tcgen05.mma.kind::f16 [x]; mbarrier.arrive.shared.b64 _, [$0];", "mbarrier.arrive.shared.b64"),
        (f"{SEND}.b32 [$0], $1, [$2]; bar.sync 0;", f"{SEND}.b32"),
        ("elect.sync _|p, -1;", "elect.sync"),
        ("cp.reduce.async.bulk.shared::cluster.shared::cta.add.u32 [$0], [$1], $2, [$3];",
         "cp.reduce.async.bulk.shared::cluster.shared::cta.add.u32"),
    ],
)  # fmt: skip
def test_what_is_not_known_says_its_name(text: str, name: str) -> None:
    found = read_inline(text)
    assert found is not None and (found.kind, dict(found.facts)["name"]) == ("unknown", name)


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
    found = read_inline(unescaped(f"{MMA}\\0A\\09LAB: {wait}\\0A\\09@P1 bra DONE;"))
    assert found == Inline("tc_mma", facts=(("bar", "4"), ("parity", "5")))
    twice = read_inline(MMA + wait + wait)
    assert twice is not None and twice.kind == "unknown"
    hidden = read_inline(unescaped(f"{{\\0A\\09{SEND}.b32 [$0], $1, [$2];\\0A}}"))
    assert hidden == Inline("st_async", (0, 2), 4)


@pytest.mark.parametrize("clamped", ["", ".satfinite"])
def test_a_wgmma_of_integers_has_its_types(clamped: str) -> None:
    """The DSL's MmaI8Op prints `.satfinite` before the types."""
    found = WGMMA.search(f"wgmma.mma_async.sync.aligned.m64n16k32{clamped}.s32.s8.u8 {{%r1}}, %rd1, %rd2, p;")
    assert found is not None and found.groups() == ("64", "16", "32", "s32", "s8", "u8")
