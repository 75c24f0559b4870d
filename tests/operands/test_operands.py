"""Fragments against the DSL's own layouts; products whose fragments are filled in several orders."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from layoutcheck.algebra.notation import parse_layout
from layoutcheck.copies.offsets import offsets_at, size
from layoutcheck.dsl.trace import trace_script
from layoutcheck.errors import InputError
from layoutcheck.operands import check_operands
from layoutcheck.operands.fragments import TiledMma, tiled_mma
from layoutcheck.reports.order import operand_counts
from layoutcheck.reports.style import Style
from layoutcheck.rulebook import rule
from layoutcheck.sources.trace_lines import from_lines, to_lines
from layoutcheck.sources.traced import OperandReport, Trace
from layoutcheck.sources.traced_module import TracedModule
from tests.operands import CASES

TRACED: list[Trace] = []  # by the fixture, as are
TEXTS: list[str] = []  # all modules

PROGRAM = Path(__file__).with_name("program.py")
MMA = (
    "!cute.tiled_mma<!cute_nvgpu.sm80.mma<16x8x16, elem_type = (bf16, bf16, f32) >, "
    'atom_layout_MNK = <"{}">, permutation_MNK = <"[{}]">>'
)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[str], list[dict[str, str]]]]:
    """The text of each case's kernel, and the DSL's layouts."""
    if importlib.util.find_spec("cutlass") is None:
        pytest.skip("needs nvidia-cutlass-dsl")
    texts: list[str] = []
    TRACED.clear()
    file = tmp_path_factory.mktemp("operands") / "layouts.jsonl"
    trace = trace_script(
        str(PROGRAM), [str(file)], launch=False, arch="sm_90a",
        observe=lambda text, _arch, _copies: texts.append(text),
    )  # fmt: skip
    TRACED.append(trace)
    TEXTS[:] = texts
    yield (
        [text for text in texts if "cute.gemm" in text],
        [json.loads(x) for x in file.read_text().splitlines()],
    )


def test_fragments_are_the_dsls(traced: tuple[list[str], list[dict[str, str]]]) -> None:
    equal = refused = 0
    for line in traced[1]:
        theirs = parse_layout(line["layout"])
        try:
            mma = tiled_mma(line["type"])
            mine = tile_order(mma, line["operand"])
        except InputError:
            refused += 1
            continue
        threads = size(theirs.modes[0])
        assert mma.threads == threads
        if line["operand"] == "C" and size(mma.warps.modes[2]) > 1:
            # The DSL's own layout leaves the tile there; partition_C does not use it.
            assert offsets_at(theirs, np.arange(size(theirs))).max() >= mma.extent(0) * mma.extent(1)
            continue
        assert mine == offsets_at(theirs, np.arange(size(theirs))).tolist(), line
        equal += 1
    assert equal >= 380 and refused <= 4, (equal, refused)


def tile_order(mma: TiledMma, operand: str) -> list[int]:
    """The index of each register's element in one tile, threads fastest, then values."""
    taken = mma.taken(operand)
    index: list[int] = (taken[:, :, 0] + mma.extents(operand)[0] * taken[:, :, 1]).T.reshape(-1).tolist()
    return index


def test_a_lanes_registers_are_those_of_the_ptx_isa() -> None:
    """mma.m16n8k16, lane 5: row 1 (and 9) of A, k 2, 3, 10, 11; column 1 of B, the same k."""
    mma = tiled_mma(MMA.format("(1,1,1):(0,0,0)", "_;_;_"))
    rows, depth = (x[5, :, 0, 0].tolist() for x in mma.coordinates("A", 8, (1, 1)))
    assert list(zip(rows, depth, strict=True)) == [
        (1, 2), (1, 3), (9, 2), (9, 3), (1, 10), (1, 11), (9, 10), (9, 11)
    ]  # fmt: skip
    columns, depth = (x[5, :, 0, 0].tolist() for x in mma.coordinates("B", 4, (1, 1)))
    assert list(zip(columns, depth, strict=True)) == [(1, 2), (1, 3), (1, 10), (1, 11)]


@pytest.mark.parametrize(
    "warps", ["(1,1,1):(0,0,0)", "(2,2,1):(1,2,0)", "(2,2,1):(2,1,0)", "(4,1,1):(1,0,0)"]
)
def test_every_element_is_taken_by_as_many_threads_as_there_are_warps_beside(warps: str) -> None:
    mma = tiled_mma(MMA.format(warps, "64:1;(8,2,2):(1,16,8);16:1"))
    for operand, mode in (("A", 0), ("B", 1)):
        first, second = mma.coordinates(operand, 8 if mode == 0 else 4, mma.tiles(operand))
        counts = np.bincount((first * 16 + second).reshape(-1), minlength=mma.extent(mode) * 16)
        assert set(counts.tolist()) == {size(mma.warps.modes[1 - mode])}


@pytest.mark.parametrize(
    "text",
    [
        "!cute.tiled_mma<wgmma>",
        MMA.format("(2,2,1):(1,1,0)", "_;_;_"),
        MMA.format("(2,2,1):(1,2,0)", "_;_;_").replace("16x8x16", "8x8x4"),
        MMA.format("(2,2,1):(1,2,0)", "_;_;_").replace("(bf16, bf16,", "(f64, f64,"),
    ],
)
def test_other_mmas_are_input_errors(text: str) -> None:
    with pytest.raises(InputError):
        tiled_mma(text)


def judged(text: str) -> OperandReport:
    return check_operands(TracedModule(text, "product", "sm_90a", {}, ()))


def test_the_product_is_wrong_exactly_where_its_orders_part(
    traced: tuple[list[str], list[dict[str, str]]],
) -> None:
    found = dict(zip(CASES, map(judged, traced[0]), strict=True))
    assert all(one.products == 4 for one in found.values())
    assert {name for name, one in found.items() if one.findings} == {"n", "k_of_a", "b_for_a"}
    assert {name for name, one in found.items() if one.followed < 4} == {"n_in_c"}
    assert "not partitioned by the same MMA" in found["n_in_c"].unchecked[0]
    (n,), (k,), (b,) = (found[name].findings for name in ("n", "k_of_a", "b_for_a"))
    assert (n.code, n.severity, n.evidence["operand"]) == ("LC601", "wrong", "B")
    # Half of the columns change places: those of 8 and 16 in each 32.
    assert (n.evidence["held"], n.evidence["taken"], n.evidence["differ"]) == ([8, 0], [16, 0], 4096)
    assert "B[n = 8, k = 0], and the MMA takes it for B[n = 16, k = 0]" in n.message
    assert k.evidence["operand"] == "A" and "pair different k" in k.message
    assert b.evidence["operand"] == "A" and b.evidence["held"] != b.evidence["taken"]


def test_a_trace_has_them_whatever_else_is_checked(traced: tuple[list[str], list[dict[str, str]]]) -> None:
    (trace,) = TRACED
    assert trace.orders == ()
    assert [f.code for one in trace.operands for f in one.findings] == ["LC601"] * 3 + ["LC607"]
    assert from_lines(to_lines(trace)).operands == trace.operands
    line = next(iter(operand_counts(trace.operands, Style(width=200))))
    assert line == "  operands: 20 of 24 products followed: 2 wrong"


def test_a_shared_tile_that_no_descriptor_has_is_told_at_its_line(
    traced: tuple[list[str], list[dict[str, str]]],
) -> None:
    (one,) = judged(next(text for text in TEXTS if "smem_desc_view" in text)).findings
    assert (one.code, one.severity) == ("LC607", "rejected") and "K_SW128" in one.message
    told = [f for report in TRACED[0].operands for f in report.findings if f.code == "LC607"]
    lines = PROGRAM.read_text().splitlines()
    at = next(n for n, text in enumerate(lines, 1) if "make_fragment_A(thread.partition_A(tile" in text)
    assert [f.places[0].where.line for f in told] == [at]


def test_a_module_that_cannot_be_read_says_so() -> None:
    assert judged("module {}") == OperandReport("product", "sm_90a")
    bare = judged('"nvvm.tcgen05.mma"(%a) "nvvm.tcgen05_mma_smem_desc_v2"(%b) "nvvm.mma.sync"(%c)')
    assert bare.unchecked == ("operands of 2 products by wgmma, tcgen05 or MMAs that are not known",)
    assert judged('"cute.gemm"(%a) : !cute_nvgpu.sm90.mma').unchecked == (
        "operands of 1 product by wgmma, tcgen05 or MMAs that are not known",
    )
    broken = judged('"cute.gemm"(%a, %b) : cute_nvgpu.sm80.mma }{')
    assert not broken.findings and broken.unchecked[0].startswith("operands of products: the module")


def test_the_rule_has_its_page() -> None:
    page = rule("LC601").page()
    assert "make_tiled_copy_B" in page and "operand-order" in page
