"""What a text's layouts and pitches make of a warp's accesses, beside the counts of the banks' own model."""

import re

import pytest

import layoutcheck as lc
from layoutcheck.catalogue import accesses, pitches
from layoutcheck.machine.banks import shared_wavefronts
from layoutcheck.machine.tiles import analyse_tile, matrix_access

_TOLD = re.compile(r"(\d+) lanes along mode (\d+) \(stride \d+\) take (\d+) wavefront")


@pytest.mark.parametrize(("type_", "bits"), [("float32", 32), ("half", 16), ("bf16", 16), ("e4m3", 8)])
@pytest.mark.parametrize("layout", ["(32,32):(32,1)", "(32,64):(1,33)", "(16,8):(40,2)", "(8,8,4):(64,1,8)"])
def test_each_mode_takes_the_wavefronts_of_its_lanes(layout: str, type_: str, bits: int) -> None:
    (said,) = accesses.told(f"Do I have a bank conflict in {layout} of {type_}?")
    told = _TOLD.findall(said)
    read = lc.parse_layout(layout)
    assert len(told) == len(read.shape)
    for lanes, mode, count in told:
        extent = min(32, read.shape[int(mode)])
        places = [
            lc.crd2idx(tuple(lane if at == int(mode) else 0 for at in range(len(read.shape))), read)
            for lane in range(extent)
        ]
        addresses = [place * bits // 8 for place in places] + [None] * (32 - extent)
        assert int(lanes) == extent
        assert int(count) == shared_wavefronts(addresses, bits).wavefronts


def test_lanes_lie_along_no_mode_of_one_element_and_two_layouts_are_told() -> None:
    one, *more = accesses.told("bank conflicts of half: (32,1):(1,5), (8,4):(4,1), (4,8):(8,1)")
    assert "mode 0" in one and "mode 1" not in one
    assert [said.partition(" ")[0] for said in more] == ["(8,4):(4,1)"]


def test_a_stride_that_is_told_to_be_free_is() -> None:
    (said,) = accesses.told("bank conflict: (32,32):(32,1) of float")
    assert "1 with a stride of 33" in said
    assert shared_wavefronts([4 * 33 * lane for lane in range(32)], 32).wavefronts == 1


@pytest.mark.parametrize(
    "text",
    [
        "the layout (32,32):(32,1) of float32",  # nothing of banks
        "bank conflicts in (32,32):(32,1)",  # no type
        "bank conflicts in (32,32):(32,1) of half or float",
        "bank conflicts in (32,32):(?,1) of half",
        "bank conflicts in (32,32):(32,1) of fp4",  # no access of its own
    ],
)
def test_nothing_is_counted_where_the_text_lacks_a_part(text: str) -> None:
    assert accesses.told(text) == ()


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
    assert f"is {row} B, a multiple of {shared} alone" in said
    assert said.endswith(f"fits is {fits}")


@pytest.mark.parametrize(
    "text", ["padded to 72 halfs, ldmatrix", "padded to 68 halfs", "a pitch of 68 and ldmatrix"]
)
def test_a_pitch_that_fits_or_is_of_no_vectors(text: str) -> None:
    assert pitches.told(text) == ()


@pytest.mark.parametrize(
    ("declared", "stride", "ways"),
    [("float", 4, 4), ("float", 33, 1), ("half", 2, 1), ("half", 64, 32), ("char", 4, 1)],
)
def test_lanes_that_index_a_shared_array_by_a_stride(declared: str, stride: int, ways: int) -> None:
    (said,) = accesses.told(f"__shared__ {declared} shm[4096]; out[i] = shm[tid*{stride}]; bank conflicts?")
    assert f"32 lanes take {ways} wavefronts" in said
    bits = {"float": 32, "half": 16, "char": 8}[declared]
    places = [lane * stride * bits // 8 for lane in range(32)]
    assert shared_wavefronts(places, bits).wavefronts == ways


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
    assert (f"with {swizzle} on the pointer, in bytes, {cost.ideal}" in said) == bool(swizzle)


@pytest.mark.parametrize("layout", ["(256,64):(64,1)", "(64,64):(1,64)", "(64,32):(32,1)", "(64,64):(72,1)"])
@pytest.mark.parametrize(("unit", "named"), [("wgmma", "wgmma"), ("tcgen05", "tcgen05.mma")])
def test_operands_are_told_with_the_swizzles_that_are_canonical(layout: str, unit: str, named: str) -> None:
    (said,) = accesses.told(f"{named}: the tile of bf16 is {layout}")
    for major in ("K", "MN"):
        for swizzle in ("S<1,4,3>", "S<2,4,3>", "S<3,4,3>"):
            legal = lc.canonical(layout, "bf16", major, swizzle, unit).verdict == "legal"
            assert (f"{major}-major with {swizzle}" in said) == legal


@pytest.mark.parametrize("swizzle", ["S<3,3,3>", "Sw<3,3,3>", "S<2,3,3>"])
@pytest.mark.parametrize("offset", ["0 o ", "_0 o ", ""])
def test_a_composed_layout_is_counted_with_its_swizzle(swizzle: str, offset: str) -> None:
    tile = lc.parse_layout("(64,64):(64,1)")
    composed = lc.parse_any_layout(f"{swizzle.replace('Sw', 'S')} o 0 o {tile}")
    (cost,) = analyse_tile(composed, 16, [matrix_access(tile, 16, 4)])
    (said,) = accesses.told(f"bank conflict with ldmatrix.x4 of half: {swizzle} o {offset}(64,64):(64,1)")
    assert f"takes {cost.wavefronts} wavefronts, {cost.ideal} at the least: {cost.ways}-way" in said
    (along,) = accesses.told(f"bank conflict of half: {swizzle} o {offset}(64,64):(64,1)")
    addresses = [2 * composed((lane, 0)) for lane in range(32)]
    count = shared_wavefronts(addresses, 16).wavefronts
    assert f"32 lanes along mode 0 take {count} wavefront" in along
    assert "without a swizzle" not in along
