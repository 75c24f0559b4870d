from __future__ import annotations

import json

import pytest

from layoutcheck.algebra.layout import Layout
from layoutcheck.errors import InputError
from layoutcheck.reports.banks import analyse, read_accesses, render

ROWS = "cp.async 128 (16,8):(8,1) (1,8)"


def test_one_table_for_all_accesses() -> None:
    rows, best = analyse("(64,64):(64,1)", f"{ROWS}; ldmatrix.x4")
    text = render(rows, best)
    assert text.splitlines()[0].split() == ["access", "instructions", "wavefronts", "ideal", "ways"]
    assert [(row.wavefronts, row.ideal, row.ways) for row in rows] == [(64, 64, 1), (512, 64, 8)]
    assert "S<3,4,3> on the pointer (bytes), or S<3,3,3> in a layout (elements), takes 128" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "the minimum" in text


@pytest.mark.parametrize("tile", ["S<3,3,3> o 0 o (64,64):(64,1)", "(64,64):(64,1)"])
def test_both_spellings_of_a_swizzle(tile: str) -> None:
    rows, best = analyse(tile, "ldmatrix.x4", swizzle=None if tile.startswith("S") else "S<3,4,3>")
    assert rows[0].ways == 1
    assert render(rows, best).endswith("conflict-free\n")


def test_the_fp8_tile_of_cutlass_2810() -> None:
    rows, best = analyse("(128,64):(64,1)", "ldmatrix.x4", "f8E4M3FN", "S<2,4,4>")
    assert rows[0].ways == 2
    assert str(best.swizzle) == "S<2,4,3>"


def test_the_half_tile_of_cutlass_3172() -> None:
    """M-major, Swizzle<3,3,4> of elements: ldmatrix.trans goes from 8-way to conflict-free."""
    assert analyse("(128,8):(1,128)", "ldmatrix.x1.trans", "f16")[0][0].ways == 8
    assert analyse("S<3,3,4> o 0 o (128,8):(1,128)", "ldmatrix.x1.trans", "f16")[0][0].ways == 1


def test_a_tiled_copy_repeats_over_the_tile() -> None:
    access = read_accesses("st 64 (8,4):(4,1) (1,4)", Layout((32, 32), (32, 1)), 16)[0]
    assert access.index.shape == (4 * 2, 32)
    assert sorted((access.index.ravel()[:, None] + [0, 32, 64, 96]).ravel()) == list(range(1024))


@pytest.mark.parametrize(
    ("said", "ops"),
    [
        ("ld.shared 128 (16,8):(8,1) (1,8)", ["ld"]),
        ("st.shared.v4.b32 (16,8):(8,1) (1,8)", ["st"]),
        ("r2s 128 (16,8):(8,1) (1,8)", ["st"]),
        ("universal 128 (16,8):(8,1) (1,8)", ["ld", "st"]),
        ("SM80_CP_ASYNC_CACHEALWAYS<uint128_t> (16,8):(8,1) (1,8)", ["cp.async"]),
        ("SM75_U32x4_LDSM_N", ["matrix"]),
    ],
)
def test_ordinary_loads_and_stores_by_any_name(said: str, ops: list[str]) -> None:
    rows, _ = analyse("(64,64):(64,1)", said)
    assert [(row.op, row.width_bits) for row in rows] == [(op, 128) for op in ops]


def test_json() -> None:
    found = json.loads(render(*analyse("(64,64):(64,1)", "ldmatrix.x4"), "json"))
    assert found["accesses"][0]["ways"] == 8
    assert found["best"]["swizzle"] == "S<3,4,3>" and found["best"]["conflict_free"]


@pytest.mark.parametrize(
    ("accesses", "message"),
    [
        ("", "no access is given"),
        ("ldmatrix.x3", "cannot read the access"),
        ("cp.async 128", "cannot read the access"),
        ("cp.async 128 (8,8):(8,1) (8,1)", "are not one access of 128 bits"),
        ("cp.async 128 (5,8):(8,1) (1,8)", "does not divide"),
        ("st 48 (16,8):(8,1) (1,3)", "does not divide"),
        ("st 48 (16,8):(8,1) (1,8)", "no access is 48 bits wide"),
        ("ldmatrix.x4; what 3", "cannot read the access 'what 3'"),
        ("st 32 (16,8):(8,1 (1,8)", "unbalanced"),
    ],
)
def test_bad_accesses_say_what_is_wrong(accesses: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        analyse("(64,64):(64,1)", accesses)
    assert message in str(error.value)


def test_bad_format_and_two_swizzles() -> None:
    with pytest.raises(InputError, match="has no format"):
        render(*analyse("(64,64):(64,1)", "ldmatrix.x4"), "svg")
    with pytest.raises(InputError, match="one swizzle"):
        analyse("S<3,3,3> o 0 o (64,64):(64,1)", "ldmatrix.x4", swizzle="S<3,4,3>")


@pytest.mark.parametrize("tile", ["(1000000,1000000)", "(?,64)", "(64,64):(?,1)"])
def test_what_is_no_tile_of_shared_memory(tile: str) -> None:
    with pytest.raises(InputError):
        analyse(tile, "ldmatrix.x4")
