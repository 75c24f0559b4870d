"""The strategies of the original report, by name, and what every fix must be."""

from __future__ import annotations

import ast
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import layoutcheck as lc
from layoutcheck.algebra.measure import size
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.analysis import Analysis
from layoutcheck.check import check, quality
from layoutcheck.fixes import propose
from layoutcheck.fixes.code import WIDTH, folded, layout_code
from layoutcheck.rules import rules
from layoutcheck.sources.request import build
from tests.conformance.generate import random_copy
from tests.fixes.tiles import random_tile
from tests.miscompiles import MISCOMPILES
from tests.rules.examples import example

REPORT = {
    "src": "(128,64):(1,128)",
    "dst": "(128,64):(64,1)",
    "atom": "cp.async",
    "bits": 128,
    "dtype": "bf16",
    "thr": "(16,16):(16,1)",
    "val": "(8,1)",
}


CALLS = st.recursive(
    st.sampled_from(["x", "cutlass.BFloat16", "(128, 64)", "'a, (b'", "{1: (2, 3)}", "[1, 2]", "()"]),
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: f"cute.nvgpu.function({', '.join(parts)})"),
    max_leaves=20,
)


@given(CALLS)
def test_folding_changes_lines_only(call: str) -> None:
    text = f"# a comment longer than a line, (with a bracket, or two) ({'x' * 30})\ntile = {call}"
    shown = folded(text)
    assert ast.dump(ast.parse(shown)) == ast.dump(ast.parse(text))
    if "'" not in call:
        assert all(len(line) <= WIDTH or line.count("(") <= 1 for line in shown.split("\n")[1:])


def test_the_report_gets_its_three_strategies_and_the_one_that_beats_them() -> None:
    report = lc.check(**REPORT)
    by_name = {fix.strategy: fix for fix in report.fixes}
    assert {"match-layout", "narrow-copy", "stage-through-registers", "transpose-in-ldmatrix"} <= set(by_name)
    assert report.fixes[0].strategy == "match-layout"
    narrow = by_name["narrow-copy"].copies[0]
    assert (str(narrow.atom.dtype), narrow.atom.width_bits) == ("f32", 32)
    load, store = by_name["stage-through-registers"].copies
    assert (load.atom.width_bits, store.atom.width_bits) == (128, 16)
    turned = by_name["transpose-in-ldmatrix"]
    assert turned.copies[1].atom.transpose
    assert (turned.predicted["instructions_per_thread"], turned.predicted["width_bits"]) == (
        4,
        128,
    )  # the load


@pytest.mark.parametrize("cache", ["always", "global"])
@pytest.mark.parametrize(("pitch", "width"), [(66, 32), (68, 64)])
def test_a_narrower_cp_async_goes_through_l1(cache: str, pitch: int, width: int) -> None:
    """`.cg` exists for 16 bytes only (PTX ISA, cp.async); rows at 4 or 8 bytes bear 32 or 64 bits."""
    report = lc.check(
        f'!cute.memref<bf16, gmem, align<16>, "(128,64):({pitch},1)">',
        "(128,64):(64,1)",
        f"!cute_nvgpu.atom.simt_async_copy<bf16, cache = {cache}, 128 b>",
        thr="(16,8):(8,1)",
        val="(1,8)",
    )
    assert report.verdict == "rejected"
    [fix] = [fix for fix in report.fixes if fix.strategy == "narrow-copy"]
    [copy] = fix.copies
    assert str(copy.atom) == f"!cute_nvgpu.atom.simt_async_copy<bf16, cache = always, {width} b>"
    assert copy.tiling is not None and size(copy.tiling.tiled.layout_tv[1]) == width // 16
    assert f"num_bits_per_copy={width}" in fix.code and "GLOBAL" not in fix.code
    # 128 threads move 128 x 64 elements.
    assert fix.predicted["instructions_per_thread"] == 128 * 64 // (width // 16) // 128


def test_the_missing_promise_is_named_exactly() -> None:
    report = lc.check(
        '!cute.memref<f32, gmem, "((4,1),4):((1,0),?)">',
        '!cute.memref<f32, smem, align<16>, "((4,1),4):((1,0),4)">',
        "universal",
        bits=128,
    )
    [promise] = [fix for fix in report.fixes if fix.strategy == "promise-alignment"]
    assert "assumed_align=16" in promise.code
    assert "divby=4" in promise.code
    assert "src.stride[1]" in promise.code
    assert "stride 1 of the source" in promise.title


@pytest.mark.parametrize("name", MISCOMPILES)
def test_a_fix_is_right_has_code_and_a_cost(name: str) -> None:
    report = check(MISCOMPILES[name][0])
    fixes, obstacle = propose(report)
    assert bool(fixes) != bool(obstacle)
    for fix in fixes:
        assert fix.verdict in ("legal", "slow")
        assert all(check(copy).verdict in ("legal", "slow") for copy in fix.copies)
        assert fix.predicted["instructions_per_thread"] >= 1
        ast.parse(fix.code)


def test_a_legal_copy_needs_none() -> None:
    report = check(MISCOMPILES["h01"][1])
    assert propose(report) == ((), None)


COLUMNS = {  # every warp writes one 16-byte column of 32 rows
    "src": "(64,64):(64,1)",
    "dst": '!cute.memref<bf16, smem, align<1024>, "(64,64):(64,1)">',
    "atom": "cp.async",
    "bits": 128,
    "dtype": "bf16",
    "thr": "(64,2):(1,64)",
    "val": "(1,8)",
}


def test_a_conflict_gets_the_swizzle_that_ends_it() -> None:
    report = lc.check(**COLUMNS)
    assert report.verdict == "slow"
    [fix] = [fix for fix in report.fixes if fix.strategy == "swizzle"]
    after = check(fix.copies[0])
    assert (report.execution["smem_wavefronts"], after.execution["smem_wavefronts"]) == (512, 64)
    assert "LC301" not in {finding.code for finding in after.findings}
    assert str(fix.copies[0].tiling.dst.swizzle) == "S<3,4,3>"


@pytest.mark.parametrize(
    ("dst", "val", "bits"), [("(64,64):(64,1)", "(1,4)", 128), ("(64,64):(1,64)", "(1,1)", 32)]
)
def test_a_tile_begins_where_the_allocator_can_begin_it(dst: str, val: str, bits: int) -> None:
    thr = "(8,16)" if bits == 128 else "(2,64):(64,1)"
    report = lc.check("(64,64):(64,1)", dst, "universal", bits=bits, dtype="f32", thr=thr, val=val)
    [fix] = [fix for fix in report.fixes if fix.strategy == "swizzle"]
    tile = fix.copies[0].tiling.dst
    assert tile.swizzle.period > 1024  # the pattern is longer than any alignment that SmemAllocator gives
    assert tile.align_bytes == 1024
    assert "byte_alignment=1024" in fix.code


def test_staged_registers_are_compact_from_the_values_on() -> None:
    # make_rmem_tensor_like orders by the view's strides: of (8,4):(?,64) it makes (8,4):(4,1).
    report = lc.check("(8,4):(?,64)", "(8,4):(1,8)", "cp.async", bits=128, dtype="f16")
    [fix] = [fix for fix in report.fixes if fix.strategy == "stage-through-registers"]
    assert "cute.make_rmem_tensor(src.shape, cutlass.Float16)" in fix.code
    assert str(fix.copies[0].dst.layout) == "(8,4):(1,8)"


def test_a_slow_copys_fixes_are_faster() -> None:
    narrow = lc.check(
        '!cute.memref<bf16, gmem, align<16>, "((8,1),4):((1,0),64)">',
        '!cute.memref<bf16, smem, align<16>, "((8,1),4):((1,0),64)">',
        "universal",
        bits=32,
    )
    assert [fix.strategy for fix in narrow.fixes] == ["widen-copy"]
    for report in (narrow, lc.check(**COLUMNS)):
        now = report.execution
        for fix in report.fixes:
            then = check(fix.copies[0]).execution
            keys = ("predicted_cycles", "smem_wavefronts", "instructions_per_thread")
            costs = [(now.get(key) or 0, then.get(key) or 0) for key in keys]
            assert next(before > after for before, after in costs if before != after)


def test_where_nothing_helps_the_report_says_what_stands_in_the_way() -> None:
    report = lc.check(
        '!cute.memref<f32, gmem, align<16>, "(4,3):(1,4)">',
        '!cute.memref<f32, smem, align<16>, "(2,3):(1,2)">',
        "universal",
        bits=128,
    )
    assert report.fixes == ()
    assert report.obstacle


def test_a_swizzle_that_only_harms_is_taken_away() -> None:
    """Rows of 36 words do not conflict by themselves: under S<2,5,2> they do."""
    tile = "(64,32):(36,1)"
    report = lc.check(
        tile, tile, "universal", dtype="f32", bits=128, thr="(16,8):(1,16)", val="(1,4)",
        src_space="smem", dst_space="rmem", swizzle="S<2,5,2>", src_align=1024,
    )  # fmt: skip
    fix = next(fix for fix in report.fixes if fix.strategy == "swizzle")
    assert fix.title.startswith("no pointer swizzle: ") and "swizzle=" not in fix.code
    assert fix.verdict == "legal"


@pytest.mark.parametrize(
    ("layout", "code"),
    [
        ("(4,8):(1,4)", "cute.make_layout((4, 8), stride=(1, 4))"),
        ("8:1", "cute.make_layout(8)"),
        ("8:2", "cute.make_layout(8, stride=2)"),
        ("(8):(1)", "cute.make_layout((8,))"),
        ("((2,4)):((1,2))", "cute.make_layout(((2, 4),))"),
    ],
)
def test_a_layout_in_code_has_its_strides(layout: str, code: str) -> None:
    assert layout_code(parse_layout(layout)) == code


def test_the_quality_of_a_copy_is_its_verdict() -> None:
    rng, seen = Random(6), Counter[str | None]()
    copies = [copy for hole in MISCOMPILES.values() for copy in hole[:2]]
    copies += [random_tile(rng) if n % 3 else random_copy(rng) for n in range(150)]
    copies += [
        build(**copy)[0]
        for rule in rules().values()
        if rule.severity == "slow"
        for copy in example(rule.code)
    ]
    for copy in copies:
        verdict = check(copy).verdict
        quick, whole = Analysis(copy), Analysis(copy)
        found = quality(quick)
        assert quick.works() == (whole.accepted and whole.worst is None)
        assert quick.effect == whole.effect  # what stopped early is counted when it is asked for
        assert found == (verdict if verdict in ("legal", "slow") else None), f"{copy}"
        seen[found] += 1
    assert min(seen[one] for one in ("legal", "slow", None)) > 20


def test_the_quality_of_a_copy_searches_for_no_swizzle(monkeypatch: pytest.MonkeyPatch) -> None:
    copy, _ = build(**example("LC301").flagged)
    monkeypatch.setattr("layoutcheck.rules.conflicts.best_swizzle", None)
    assert quality(Analysis(copy)) == "slow"
    with pytest.raises(TypeError):
        check(copy)
