"""Copies read out of printed IR: where they stand, what partitioned them, and which threads run them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layoutcheck.algebra.notation import parse_layout
from layoutcheck.copies.tiled import partition
from layoutcheck.copies.tiling import tile
from layoutcheck.errors import InputError
from layoutcheck.judge import judge_traced
from layoutcheck.sources.chains import NoOrigin, Origin, whole
from layoutcheck.sources.mlir import Value
from layoutcheck.sources.printed import made_in_library, read_module, where_of
from layoutcheck.sources.traced import Frame
from layoutcheck.sources.types import parse_memref, parse_tiled_copy

TILED = (
    "!cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<bf16, cache = always, 128 b>, "
    'layout_copy_tv = <"((8,16),8):((128,1),16)">, tiler_mn = <"[16:1;64:1]">>'
)
SRC = '!cute.memref<bf16, gmem, align<16>, "(64,64,2):(128,1,64)">'
DST = '!cute.memref<bf16, smem, align<1024>, S<3,4,3>, "(64,64,3):(64,1,4096)">'
SRC_PART = '!cute.memref<bf16, gmem, align<16>, "((8,1),4,1,2):((1,0),2048,0,64)">'
DST_PART = '!cute.memref<bf16, smem, align<16>, S<3,4,3>, "((8,1),4,1,3):((1,0),1024,0,4096)">'
SRC_CUT = '!cute.memref<bf16, gmem, align<16>, "((8,1),4,1):((1,0),2048,0)">'
DST_CUT = '!cute.memref<bf16, smem, align<16>, S<3,4,3>, "((8,1),4,1):((1,0),1024,0)">'
SRC_VIEW = '!cute.memref<bf16, gmem, align<16>, "((8,1),(4,1)):((1,0),(2048,0))">'
DST_VIEW = '!cute.memref<bf16, smem, align<16>, S<3,4,3>, "((8,1),(4,1)):((1,0),(1024,0))">'


def module(
    *,
    block: int = 128,
    index: str = "%t",
    around: str = "",
    src: str = SRC,
    dst: str = DST,
    dst_parts: tuple[str, str, str] = (DST_PART, DST_CUT, DST_VIEW),
) -> str:
    """A kernel as the DSL prints one: partition both sides, slice a stage of each, copy."""
    part, cut, view = dst_parts
    body = f"""
  %p = "cute.tiled.copy.partition_S"(%tiled, %src, %at) : ({TILED}, {src}, !cute.coord<"?">) -> {SRC_PART}
  %q = "cute.tiled.copy.partition_D"(%tiled, %dst, %at) : ({TILED}, {dst}, !cute.coord<"?">) -> {part}
  %c = "cute.make_coord"(%t) : (i32) -> !cute.coord<"(_,_,_,?)">
  %ps = "cute.slice"(%p, %c) : ({SRC_PART}, !cute.coord<"(_,_,_,?)">) -> {SRC_CUT}
  %qs = "cute.slice"(%q, %c) : ({part}, !cute.coord<"(_,_,_,?)">) -> {cut}
  %pg = "cute.group_modes"(%ps) <{{begin = 1 : i32, end = 3 : i32}}> : ({SRC_CUT}) -> {SRC_VIEW}
  %qg = "cute.group_modes"(%qs) <{{begin = 1 : i32, end = 3 : i32}}> : ({cut}) -> {view}
"""
    copy = (
        f'"cute.copy"(%tiled, %pg, %qg) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> : '
        f"({TILED}, {SRC_VIEW}, {view}) -> () "
        'loc(callsite("move"("/me/help.py":3:4 to 5:8) at "k"("/me/k.py":20:8 to :30)))'
    )
    if around:
        copy = f'"scf.if"({around}) ({{\n{copy}\n"scf.yield"() : () -> ()\n}}, {{\n}}) : (i1) -> ()'
    return f""""builtin.module"() ({{
"cuda.kernel"() <{{sym_name = "k"}}> ({{
^bb0(%src: {src}, %dst: {dst}, %tiled: {TILED}, %other: i32):
  %t = "nvvm.read.ptx.sreg.tid.x"() : () -> i32
  %lane = "nvvm.read.ptx.sreg.laneid"() : () -> i32
  %k128 = "arith.constant"() <{{value = 128 : i32}}> : () -> i32
  %k2 = "arith.constant"() <{{value = 2 : i32}}> : () -> i32
  %less = "arith.cmpi"(%t, %k128) <{{predicate = 2 : i64}}> : (i32, i32) -> i1
  %rest = "arith.remsi"(%t, %k128) : (i32, i32) -> i32
  %twice = "arith.muli"(%t, %k2) : (i32, i32) -> i32
  %at = "cute.make_coord"({index}) : (i32) -> !cute.coord<"?">
  {body}
  {copy}
  "cuda.return"() : () -> ()
}}) {{nvvm.reqntid = array<i32: {block}, 1, 1>}} : () -> ()
}}) : () -> ()
"""


def test_a_slice_of_a_partition_is_the_partition_of_a_part() -> None:
    (found,) = read_module(module(), "k", "sm_90a")
    assert (found.where, found.stack) == (
        Frame("/me/help.py", 3, 5, "move"),
        (Frame("/me/k.py", 20, 9, "k"),),
    )
    assert (found.address_source, found.missing, found.kernel, found.arch) == ("threads", "", "k", "sm_90a")
    assert found.copy is not None and found.copy.tiling is not None
    tiling = found.copy.tiling
    assert str(tiling.src.layout) == "(64,64):(128,1)" and str(tiling.dst.layout) == "(64,64):(64,1)"
    assert tiling.block_threads == 128
    whole = tile(parse_tiled_copy(TILED), tiling.src, tiling.dst, block_threads=128)
    assert whole.tiling == tiling
    report = judge_traced(found)
    assert report is not None and report.verdict == "legal" and report.execution["gmem_sectors"]


@pytest.mark.parametrize(
    ("options", "threads", "missing"),
    [
        ({"block": 256, "index": "%rest"}, None, ""),  # two groups of 128 threads, each on its own
        ({"block": 256, "around": "%less"}, 128, ""),
        ({"block": 256}, 256, ""),
        ({"index": "%twice"}, None, "the lanes of a warp are not adjacent threads of its tiled copy"),
        ({"index": "%other"}, None, "its thread index is not worked out from threadIdx alone"),
    ],
)
def test_threads_are_those_that_reach_the_copy(
    options: dict[str, object], threads: int | None, missing: str
) -> None:
    (found,) = read_module(module(**options), "k", "sm_90a")  # type: ignore[arg-type]
    assert found.missing == missing and found.copy is not None
    if missing:
        assert found.copy.tiling is None and found.address_source == "types"
    else:
        assert found.copy.tiling is not None and found.copy.tiling.block_threads == threads


def test_a_composed_layout_is_a_swizzled_pointer() -> None:
    composed = '!cute.memref<bf16, smem, align<16>, "S<3,3,3> o 0 o (64,64,3):(64,1,4096)">'
    plain = tuple(t.replace(", S<3,4,3>", "") for t in (DST_PART, DST_CUT, DST_VIEW))
    (found,) = read_module(module(dst=composed, dst_parts=plain), "k", "sm_90a")  # type: ignore[arg-type]
    assert found.copy is not None and found.copy.tiling is not None
    assert str(found.copy.tiling.dst.swizzle) == "S<3,4,3>" == str(found.copy.dst.swizzle)


def test_a_view_that_the_partition_does_not_give_is_not_believed() -> None:
    other = '!cute.memref<bf16, gmem, align<16>, "(64,64,2):(256,1,64)">'
    (found,) = read_module(module(src=other), "k", "sm_90a")
    assert "is not the partition" in found.missing and found.copy is not None and found.copy.tiling is None


def test_places_are_the_users() -> None:
    library = '"wrapper"("/x/nvidia_cutlass_dsl/cute/core.py":9:4 to :8)'
    named = '"cute.copy(atom, a)"("/me/k.py":7:4)'  # how 4.6 and LINEINFO write them
    assert where_of(f"loc(callsite({library} at {named}))") == [Frame("/me/k.py", 7, 5, "")]
    assert where_of("loc(unknown)") == []
    assert where_of(r'loc("d\C3\A9cale"("/me/\C3\BC\0Ax/a \22b\22.py":3:0))') == [
        Frame('/me/ü\nx/a "b".py', 3, 1, "décale")
    ]


def test_a_copy_made_by_library_code_is_told_from_the_users(tmp_path: Path) -> None:
    source = tmp_path / "k.py"
    source.write_text("cute.copy(a, b)\nscheduler.get_current_work()\nx.load()\n")
    lines = [made_in_library(Frame(str(source), line, 1)) for line in (1, 2, 3)]
    assert lines == [False, True, False]
    assert not made_in_library(Frame(str(tmp_path / "none.py"), 1, 1))
    for hostile in (b"\xff\xfe\x00", b"def f(:", b"(" * 100_000):
        source = tmp_path / f"h{len(hostile)}.py"
        source.write_bytes(hostile)
        assert not made_in_library(Frame(str(source), 1, 1))


def test_text_that_is_no_module_is_an_input_error() -> None:
    assert read_module("anything else", "k", "sm_90a") == []
    with pytest.raises(InputError):
        read_module('"cute.copy"(', "k", "sm_90a")
    (found,) = read_module(module(dst_parts=(DST_PART, DST_CUT, "!cute.what<1>")), "k", "sm_90a")
    assert found.copy is None or found.missing
    assert parse_memref(SRC).space == "gmem"


def test_one_tile_of_a_mode_keeps_the_modes_order() -> None:
    """A tiler that permutes its mode does so once: the part of the tensor is not permuted before."""
    tiled = parse_tiled_copy(
        "!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f16>, "
        'layout_copy_tv = <"((32,4),(16,1)):((4,1),(128,0))">, tiler_mn = <"[(4,32):(32,1);16:1]">>'
    )
    tensor = parse_memref('!cute.memref<f16, smem, align<128>, "(256,16,2):(16,1,4096)">')
    whole_partition = partition(tiled, "dst", tensor)
    found = Origin(tiled, "dst", tensor, Value("%t"), kept=(0, 2))  # one tile of mode 0, one stage
    view = replace(whole_partition.view, layout=parse_layout("((16,1),(1)):((1,0),(0))"))
    part, _ = whole(found, view, "dst")
    assert str(part.layout) == "(128,16):(16,1)"
    assert partition(tiled, "dst", part).thread == whole_partition.thread
    gaps = parse_tiled_copy(str(tiled).replace("(4,32):(32,1)", "(4,32):(64,1)"))
    with pytest.raises(NoOrigin, match="not adjacent"):
        whole(replace(found, tiled=gaps), view, "dst")


@pytest.mark.parametrize("loads", [True, False])
def test_one_side_in_registers_is_partitioned_by_the_other(loads: bool) -> None:
    """Registers have no origin: the side in memory says the tile, the fragment its own part of it."""
    wide = "!cute_nvgpu.atom.universal_copy<bf16, 128 b>"
    fragment = '!cute.memref<bf16, rmem, align<32>, "((8,1),(4,1)):((1,0),(8,0))">'
    text = module().replace("!cute_nvgpu.atom.simt_async_copy<bf16, cache = always, 128 b>", wide)
    value, view = ("%qg", DST_VIEW) if loads else ("%pg", SRC_VIEW)
    head, _, tail = text.partition('"cute.copy"')
    tail = tail.replace(value, "%frag", 1).replace(view, fragment, 1)
    text = head.replace("%other: i32", f"%other: i32, %frag: {fragment}") + '"cute.copy"' + tail
    (found,) = read_module(text, "k", "sm_90a")
    assert found.missing == "" and found.copy is not None and found.copy.tiling is not None
    tiling = found.copy.tiling
    memory, registers = (tiling.src, tiling.dst) if loads else (tiling.dst, tiling.src)
    assert str(memory.layout) == ("(64,64):(128,1)" if loads else "(64,64):(64,1)")
    assert memory.space == ("gmem" if loads else "smem") and registers.space == "rmem"
    assert tiling.block_threads == 128


@pytest.mark.parametrize("least", [64, 128])
def test_threads_that_are_left_out_leave_their_own_elements_out(least: int) -> None:
    """No two threads share an element: whichever of them run, each moves what is its own."""
    text = module(around="%less").replace("value = 128 : i32", f"value = {least} : i32")
    (found,) = read_module(text, "k", "sm_90a")
    assert found.missing == "" and found.copy is not None and found.copy.tiling is not None
