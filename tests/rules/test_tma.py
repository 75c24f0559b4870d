"""TMA copies: every hole named by its field, value, demand and source; every twin legal; boxes counted."""

from __future__ import annotations

from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.atoms.execution import execution
from layoutcheck.check import Report, check
from layoutcheck.errors import InputError
from layoutcheck.sources.request import build
from tests.tma_miscompiles import TMA_MISCOMPILES, g, load, s


@pytest.mark.parametrize("name", TMA_MISCOMPILES)
def test_a_hole_is_wrong_and_its_cause_named(name: str) -> None:
    broken, _, code, field, _ = TMA_MISCOMPILES[name]
    report = check(build(**broken)[0])
    assert report.compiler.accepted
    assert report.verdict == "wrong"
    found = [finding for finding in report.findings if finding.code == code]
    assert found, [finding.code for finding in report.findings]
    assert not {"LC200", "LC203", "LC204"} & {finding.code for finding in report.findings}
    if field:
        evidence = found[0].evidence
        assert evidence["field"] == field
        assert evidence["value"] is not None
        assert evidence["demand"]
        assert evidence["source"]


@pytest.mark.parametrize("name", TMA_MISCOMPILES)
def test_its_twin_is_legal(name: str) -> None:
    fixed = TMA_MISCOMPILES[name][1]
    report = check(build(**fixed)[0])
    assert report.verdict == "legal", [finding.title for finding in report.findings]


def four_bits(align: int = 32, smem: str = "i8", columns: int = 128, **more: Any) -> Report:
    there = f'!cute.memref<f4E2M1FN, gmem, align<{align}>, "(128,{columns}):({columns},1)">'
    here = f'!cute.memref<{smem}, smem, align<1024>, "(64,128):(128,1)">'
    return check(build(**{**load(there, here), "dtype": "f4E2M1FN", "arch": "sm_100a", **more})[0])


@pytest.mark.parametrize(
    ("more", "code", "field"),
    [
        ({"smem": "f4E2M1FN"}, "", ""),
        ({"internal_type": "u8"}, "", ""),
        ({"internal_type": "u8", "align": 16}, "LC244", "globalAddress"),
        ({"internal_type": "u8", "columns": 192}, "LC244", "globalDim[0]"),
        ({"internal_type": "u8", "smem": "f4E2M1FN"}, "LC245", "tensorDataType"),
        ({}, "LC245", "tensorDataType"),
        ({"smem": "f4E2M1FN", "arch": "sm_90a"}, "LC242", "tensorDataType"),
    ],
)
def test_elements_of_four_bits(more: dict[str, Any], code: str, field: str) -> None:
    report = four_bits(**more)
    assert [found.code for found in report.findings] == ([code] if code else [])
    assert not code or report.findings[0].evidence["field"] == field


def test_every_nibble_of_a_gapped_box() -> None:
    """Element i of a row lies in nibble i % 16 of the row's 16-byte group i // 16 (CUDA Driver API)."""
    there = '!cute.memref<f4E2M1FN, gmem, align<32>, "(4,128):(128,1)">'
    here = '!cute.memref<i8, smem, align<1024>, "(4,128):(128,1)">'
    copy = build(there, here, "tma_load", dtype="f4E2M1FN", internal_type="u8", arch="sm_100a")[0]
    done = execution(copy, 0, 0)
    assert done.unit_bits == 4
    for source, target in zip(done.src[:, 0, 0], done.dst[:, 0, 0], strict=True):
        row, column = divmod(int(source), 128)
        assert target == 256 * row + column // 16 * 32 + column % 16


def test_a_store_ignores_its_internal_type() -> None:
    there = '!cute.memref<f64, gmem, align<16>, "(128,128):(128,1)">'
    here = '!cute.memref<f64, smem, align<1024>, "(8,8):(8,1)">'
    wide = check(build(here, there, "tma_store", internal_type="i32", coord="(0,1)")[0])
    assert [found.code for found in wide.findings] == ["LC245"]
    assert check(build(here, there, "tma_store", internal_type="i64", coord="(0,1)")[0]).verdict == "legal"
    loaded = check(build(there, here, "tma_load", internal_type="i32", coord="(0,1)")[0])
    assert loaded.verdict == "legal"


def test_boxes_are_counted() -> None:
    report = check(build(**load(g(), s("(64,128):(128,1)", swizzle="S<3,4,3>")))[0])
    assert report.verdict == "slow"
    assert [f.code for f in report.findings] == ["LC309"]
    assert report.findings[0].evidence["instructions"] == 128
    assert report.findings[0].evidence["ideal"] == 2


@pytest.mark.parametrize(
    "more",
    [{"tiler": "(64)"}, {"tiler": "(64,0)"}, {"coord": "(1,2,3)"}, {"coord": "(-1,0)"}, {"tiler": "(?,1)"}],
)
def test_what_makes_no_tile_is_refused(more: dict[str, str]) -> None:
    with pytest.raises(InputError):
        build(**load(g(), s(), **more))


def test_a_tiler_belongs_to_tma() -> None:
    with pytest.raises(InputError):
        build(g(), s(), "cp.async", tiler="(64,64)")


@pytest.mark.parametrize("tiler", [None, "(64,64)"])
@pytest.mark.parametrize("coord", [None, "(1,2)", "(1,2,3)"])
def test_a_tile_of_the_first_modes_of_a_batch_of_matrices(tiler: str | None, coord: str | None) -> None:
    arguments = {"tiler": tiler, "coord": coord}
    report = lc.check(g("(256,256,4):(256,1,65536)"), s(), "tma_load", **arguments)
    assert report.verdict == "legal"
    assert any("extent 1 along the last mode" in line for line in report.assumptions)
    assert report.copy.tma is not None and report.copy.tma.tiler == (64, 64, 1)
    other = lc.check(g("(256,256,4):(256,1,65540)"), s(), "tma_load", **arguments)
    met = coord != "(1,2)"  # that tile is one of the first matrix
    assert [finding.code for finding in other.findings] == ["LC231"] * met


def test_without_an_architecture_narrow_elements_are_those_of_blackwell() -> None:
    tensors = [
        f'!cute.memref<f4E2M1FN, {analysis}, "(256,128):(128,1)">'
        for analysis in ("gmem, align<32>", "smem, align<1024>")
    ]
    report = lc.check(*tensors, "tma_load", dtype="f4E2M1FN")
    assert report.copy.arch == "sm_100a" and "LC242" not in [finding.code for finding in report.findings]
    assert any("tensor maps of f4E2M1FN" in line for line in report.assumptions)
    assert "LC242" in [
        f.code for f in lc.check(*tensors, "tma_load", dtype="f4E2M1FN", arch="sm_90a").findings
    ]


@pytest.mark.parametrize(
    ("swizzle", "described", "align", "code"),
    [
        ("S<3,2,3>", "S<3,4,3> o 0 o (8,32):(32,1)", 1024, None),  # elements of 4 bytes here, bytes there
        ("S<3,4,3>", None, 1024, "LC234"),  # the same composed layout for both
        ("S<3,2,3>", None, 1024, "LC233"),
        ("S<3,2,3>", "S<3,4,3> o 0 o (8,32):(32,1)", 16, "LC235"),
    ],
)
def test_a_composed_layout_counts_elements_and_the_tensor_map_bytes(
    swizzle: str, described: str | None, align: int, code: str | None
) -> None:
    smem = f'!cute.memref<f32, smem, align<{align}>, "{swizzle} o 0 o (8,32):(32,1)">'
    report = lc.check(g("(64,64):(64,1)", name="f32"), smem, "tma_load", described=described)
    assert [finding.code for finding in report.findings][:1] == ([code] if code else [])
    assert report.verdict == ("wrong" if code else "legal")


def test_beside_coordinates_a_composed_layout_is_not_judged() -> None:
    atom = (
        '!cute_nvgpu.atom.tma_load<f32, copy_bits = 8192, mode = tiled, num_cta = 1, g_stride = <"()"> '
        'tma_gbasis = <"(32,8):(1@1,1@0)">>'
    )
    there = '!cute.coord_tensor<"(0,0)", "(((32,8),1)):(((1@0,1@1),0))">'
    here = '!cute.memref<f32, smem, align<1024>, "S<3,4,3> o 0 o ((256,1)):((1,0))">'
    assert lc.check(there, here, atom).verdict == "unknown"


# Scale factors of blockscaled kernels with `internal_type=Uint64` and `Int16`, as the DSL prints them.
FRACTIONS = {
    "u64": (16384, "((2,32,4),1,1):((1@1@0@0,1@0@0@0,1@1@1),1@1@0,1@1@2)",
            "(((1,512),1),(1)):(((0,1/2@0),0),(0))", 2048),
    "u64, two of N": (32768, "((2,32,4),2,1):((1@1@0@0,1@0@0@0,1@1@1),1@1@0,1@1@2)",
            "(((1,512,2),1),(1)):(((0,1/2@0,1@1),0),(0))", 4096),
    "i16": (16384, "((2,4,32),4,1,1):((1@1@0@1,1@1@0@0,1@0@0@0),1@1@1,1@1@0,1@1@2)",
            "(((512,4),1),(1)):(((1/2@0,1@1),0),(0))", 2048),
    "boxes": (16384, "((2,32,4),1,1):((1@1@0@0,1@0@0@0,1@1@1),1@1@0,1@1@2)",
            "(((1,512,2),1),(1)):(((0,1/2@0,1@1),0),(0))", 4096),
}  # fmt: skip


@pytest.mark.parametrize("name", FRACTIONS)
@pytest.mark.parametrize("times", [1, 2])
def test_half_a_coordinate_is_as_many_elements_as_the_box_says(name: str, times: int) -> None:
    bits, basis, layout, elements = FRACTIONS[name]
    atom = (
        f"!cute_nvgpu.atom.tma_load<f8E4M3FN, copy_bits = {bits}, mode = tiled, num_cta = 1, "
        f'g_stride = <"()"> tma_gbasis = <"{basis}">>'
    )
    there = f'!cute.coord_tensor<"(?{{div=256}},?,?)", "{layout}">'
    here = f'!cute.memref<f8E4M3FN, smem, align<1024>, "(({elements * times},1),(1)):((1,0),(0))">'
    report = lc.check(there, here, atom, arch="sm_100a")
    assert report.verdict == ("legal" if times == 1 else "wrong")
    if times == 2:
        assert report.findings[0].code == "LC216" and report.findings[0].evidence["unmatched"] == elements
    assert report.execution is not None
    assert report.execution["instructions_per_thread"] * bits == elements * 8


@pytest.mark.parametrize(
    "layout", ["(((1,511),1),(1)):(((0,1/2@0),0),(0))", "((512,1),(2)):((1@0,0),(1/2@0))"]
)
def test_coordinates_shared_in_part_are_not_modelled(layout: str) -> None:
    bits, basis, _, _ = FRACTIONS["u64"]
    atom = (
        f"!cute_nvgpu.atom.tma_load<f8E4M3FN, copy_bits = {bits}, mode = tiled, num_cta = 1, "
        f'g_stride = <"()"> tma_gbasis = <"{basis}">>'
    )
    here = '!cute.memref<f8E4M3FN, smem, align<1024>, "((2048,1),(1)):((1,0),(0))">'
    if "(2)" in layout:
        here = here.replace("(1))", "(2))")
    there = f'!cute.coord_tensor<"(?{{div=256}},?,?)", "{layout}">'
    report = lc.check(there, here, atom, arch="sm_100a")
    assert report.verdict == "unknown", report.findings


@pytest.mark.parametrize("gmem", ["(256,256):(256,1)", "(?,256):(256,1)"])
def test_a_tile_of_more_modes_than_the_tensor_is_refused(gmem: str) -> None:
    report = lc.check(g(gmem), s("(64,64,1):(64,1,0)"), "tma_load")
    assert report.verdict == "rejected" and report.findings[0].code == "LC113"
    assert report.compiler.message.endswith("o '!cute.tile<\"[64:1;64:1;1:0]\">'")


@pytest.mark.parametrize("atom", ["tma_load", "tma_store"])
def test_internal_types_of_run_time_layouts_and_of_other_widths_end_in_a_report(atom: str) -> None:
    """A layout of run-time strides and a store whose map has fewer dimensions than its copy once raised."""
    for there, here, internal, verdicts in (
        (g("(?,?):(?{div=16},1)"), s(), "i8", {"unknown"}),
        (g("(256,256):(1,256)"), s("(64,64):(1,64)"), "i8", {"legal", "wrong"}),
        (
            g("(64,16):(16,1)", name="f64"),
            s("(16,16):(16,1)", name="f64"),
            "i8",
            {"legal", "unknown", "wrong"},
        ),
    ):
        src, dst = (there, here) if atom == "tma_load" else (here, there)
        assert check(build(src, dst, atom, internal_type=internal)[0]).verdict in verdicts
