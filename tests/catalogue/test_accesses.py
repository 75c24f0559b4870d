"""What a text's layouts and pitches make of a warp's accesses, beside the counts of the banks' own model."""

import re

import pytest

import layoutcheck as lc
from layoutcheck.catalogue import accesses, pitches
from layoutcheck.machine.tiles import analyse_tile, matrix_access

_TOLD = re.compile(r"(\d+) lanes along mode (\d+) \(stride \d+\) take (\d+) wavefront")


@pytest.mark.parametrize(
    ("text", "row", "shared", "fits"),
    [
        ("I changed the padding from 64 to 68 halfs, ldmatrix x4 faults", 136, 8, 72),
        ("a pitch of 33 floats, and 128-bit loads", 132, 4, 36),
        ("rows padded to 100 bytes, float4 stores", 100, 4, 112),
    ],
)
def test_a_pitch_of_no_whole_vectors(text: str, row: int, shared: int, fits: int) -> None:
    (said,) = pitches.told(text)
    assert f"is {row} B, a multiple of {shared} B and not of 16 B" in said
    assert said.endswith(f"fits is {fits}")


@pytest.mark.parametrize(
    "text", ["padded to 72 halfs, ldmatrix", "padded to 68 halfs", "a pitch of 68 and ldmatrix"]
)
def test_a_pitch_that_fits_or_is_of_no_vectors(text: str) -> None:
    assert pitches.told(text) == ()


@pytest.mark.parametrize(
    ("layout", "swizzle", "name"),
    [
        ("(64,64):(64,1)", "S<3,4,3>", "ldmatrix.x4"),
        ("(64,64):(72,1)", "", "ldmatrix"),
        ("(64,64):(1,72)", "", "ldmatrix.x2.trans"),
    ],
)
def test_ldmatrix_is_counted_as_the_banks_command_does(layout: str, swizzle: str, name: str) -> None:
    (said,) = accesses.told(f"an 8-way bank conflict, loading with {name} from {layout} half")
    read = lc.parse_layout(layout)
    count, trans = (2, True) if name.endswith(".trans") else (4, False)
    access = matrix_access(read, 16, count, trans=trans)
    (cost,) = analyse_tile(read, 16, [access])
    assert said.startswith(f"{access.name} over ")
    assert f"takes {cost.wavefronts} wavefronts, {cost.ideal} at the least: {cost.ways}-way" in said
    assert (f"with {swizzle} on the pointer, in bytes" in said) == bool(swizzle)
    assert said.endswith(f"it takes {cost.ideal} (LC301)") == bool(swizzle)


def test_a_tile_in_words_is_a_layout_row_by_row() -> None:
    (said,) = accesses.told("does ldmatrix.x4 on a plain 64x64 half tile in smem have bank conflicts?")
    (layout,) = accesses.told("bank conflicts of ldmatrix.x4 on (64,64):(64,1) half, no swizzle")
    assert said.partition(" takes ")[2] == layout.partition(" takes ")[2]
    padded = analyse_tile(
        lc.parse_layout("(64,64):(72,1)"), 16, [matrix_access(lc.parse_layout("(64,64):(72,1)"), 16)]
    )
    assert "takes 512 wavefronts, 64 at the least: 8-way" in said
    assert "rows padded by 8 elements" in said and padded[0].wavefronts == 64
    assert accesses.told("ldmatrix on 64x64 half tiles, swizzled, has bank conflicts") == ()
    assert accesses.told("ldmatrix on column-major 64x64 half tiles has bank conflicts") == ()


@pytest.mark.parametrize(
    ("rows", "typed", "swizzle"),
    [
        ("64x64", "fp8", "S<2,4,3>"),
        ("128x32", "half", "S<2,4,3>"),
        ("64x64", "bf16", "S<3,4,3>"),
        ("64x32", "e4m3", "S<1,4,3>"),
        ("64x128", "half", "S<3,4,3>"),
    ],
)
def test_the_swizzle_of_an_operand_is_that_of_its_rows(rows: str, typed: str, swizzle: str) -> None:
    (said,) = accesses.told(f"which swizzle do I use for a {rows} {typed} K-major tile in smem for wgmma?")
    extents, name = tuple(map(int, rows.split("x"))), {"fp8": "f8E4M3FN", "half": "f16"}.get(typed, typed)
    tile = lc.Layout(extents, (extents[1], 1))
    assert swizzle in said
    assert ("pieces" in said) == (extents[1] == 128)
    if "pieces" not in said:
        assert (
            lc.canonical(tile, {"e4m3": "f8E4M3FN"}.get(name, name), "K", swizzle, "wgmma").verdict == "legal"
        )
