# ruff: noqa: E501 (texts as programs print them)
"""What the modes, extents and threads that a text prints decide together."""

import pytest

from layoutcheck.catalogue import context, machines, pitches, snippets, stages, tiles


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        (
            "3 stages of (128,64) and (256,64) bf16 plus epilogue (128,256) float32 on H100",
            "3 x 16,384 + 3 x 32,768 + 131,072 = 278,528 B",
        ),
        (
            "5-stage pipeline of 128x128 fp16 tiles and 128x128 fp16 tiles on sm_90",
            "5 x 32,768 + 5 x 32,768 = 327,680 B",
        ),
    ],
)
def test_tiles_times_stages_that_do_not_fit(text: str, bytes_: str) -> None:
    (said,) = stages.told(text)
    assert bytes_ in said
    assert f"{int(bytes_[-9:-2].replace(',', '')) - 232448:,} above the 232,448 B" in said


@pytest.mark.parametrize(
    "text",
    [
        "3 stages of (128,64) and (128,64) bf16 on H100",  # fits
        "2 stages of (227,256) half on H100",  # fits to the byte
        "9 stages of (128,64) and (256,64) bf16",  # of no GPU
        "2 stages or 3 stages of (256,256) and (256,256) bf16 on H100",
    ],
)
def test_nothing_is_said_of_tiles_that_fit_or_whose_room_is_not_known(text: str) -> None:
    assert stages.told(text) == ()


@pytest.mark.parametrize(
    ("threads", "told"),
    [(256, "a block of 256 has 128 more"), (64, "a block of 64 lacks 64 of them"), (128, "")],
)
@pytest.mark.parametrize("block", ["launched with {} threads", "block=({}, 1, 1)"])
def test_threads_of_the_block_beside_those_of_the_tiled_copy(threads: int, told: str, block: str) -> None:
    (said,) = snippets.facts(
        f"The kernel is {block.format(threads)}; make_tiled_copy_tv(atom, thr (16,8), val (1,8))"
    )
    assert said.startswith("the tiled copy has 128 threads x 8 values: it covers (16,64)")
    assert (told in said) if told else ("a block of" not in said)


@pytest.mark.parametrize(
    ("columns", "dtype", "padded", "bits"),
    [
        (1001, "bf16", 1008, 16),
        (1004, "bfloat16", 1008, 64),
        (1002, "float32", 1004, 64),
        (1008, "half", 0, 0),
    ],
)
def test_rows_that_no_promise_aligns(columns: int, dtype: str, padded: int, bits: int) -> None:
    found = pitches.told(
        f"from_dlpack(torch.randn(1000, {columns}, dtype=torch.{dtype})); 128-bit loads fail"
    )
    assert len(found) == bool(padded)
    assert all(f"copy {bits} bits at a time" in one and one.endswith(f"fits is {padded}") for one in found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("scales are uint8 with 44 columns: cuTensorMapEncodeTiled fails", "44 columns of uint8 is 44 B, a multiple of 4"),
        ("gemm_grouped --m=36 --n=64: misaligned address", "m=36 elements are 36 B of 8 bits and 72 B of 16"),
        ("gemm_grouped --m=48 --n=64: misaligned address", ""),
        ("my kernel with K = 36 is slow, its loads are not coalesced", ""),  # of no type
        ("a tensor map is refused for TMA: N=1076, K=1152", "N=1076 elements are 1,076 B of 8 bits and 2,152 B"),
        ("K = 36 in half, its loads are not coalesced", "K = 36 of half is 72 B, a multiple of 8"),
    ],
)  # fmt: skip
def test_a_pitch_is_read_however_it_is_said(text: str, told: str) -> None:
    assert [one[: len(told)] for one in pitches.told(text)] == [told] * bool(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("How many stages with 128x128x64 bf16 on H100?", ["7 fit the 232,448 B of a block, 6 beside"]),
        ("maximum number of stages of a 256x128x32 fp8 tile on sm_86", ["8 fit the 101,376 B"]),
        ("how many stages fit with 128x128x32 fp16 on Ampere?", ["10 fit the 166,912 B of a block of sm_80", "6 fit the 101,376 B of a block of sm_86"]),
        ("stages of a 128x128x64 bf16 tile on H100", []),  # asks for none
        ("How many stages with 128x128x64 on H100?", []),  # of no type
    ],
)  # fmt: skip
def test_how_many_stages_fit(text: str, told: list[str]) -> None:
    said = " ".join(stages.told(text))
    assert all(part in said for part in told) and bool(said) == bool(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("too many resources requested for launch: 162 registers, BLOCK_SIZE is 512", "162 registers a thread x 512 threads are 82,944, above the 65,536 of a multiprocessor; 162 registers a thread let a block have 384 threads"),
        ("too many resources requested for launch. Grid [316x1x1] | Block [512x1x1]", "a block of 512 threads fits with 128 registers a thread or fewer"),
        ("too many resources requested for launch", ""),
        ("162 registers, BLOCK_SIZE is 512", ""),
    ],
)  # fmt: skip
def test_registers_of_a_launch_that_is_refused(text: str, told: str) -> None:
    assert [one[: len(told)] for one in machines.told(text)] == [told] * bool(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("by thread (37,0,0) in block (4,0,0)", "thread 37 of block (4,0,0) does it: lane 5 of warp 1"),
        ("by thread (0,3,0) in block (4,0,0)", ""),  # of a block whose extents are not told
        ("block (0,0,0), thread (0,6,0), k<<<(80,64,1),(16,16,1)>>>", "thread 96 of block (0,0,0) does it: lane 0 of warp 3"),
        ("Write Thread (24, 0, 0) at a. Read Thread (23, 0, 0) at b", "thread 24 (write) and thread 23 (read) are lanes 24 and 23 of one warp, 0: __syncwarp()"),
        ("Write Thread (24, 0, 0) at a. Read Thread (32, 0, 0) at b", "thread 24 (write) and thread 32 (read) are of two warps, 0 and 1: __syncwarp() does not"),
        ("by thread (30,0,0) in block (4,0,0) by thread (33,0,0) in block (4,0,0)", "the text names threads 30 to 33 (warps 0 to 1), of block (4,0,0); more may do it"),
        ("by thread (30,0,0) in block (4,0,0) by thread (30,0,0) in block (5,0,0)", "thread 30 of 2 blocks does it"),
    ],
)  # fmt: skip
def test_the_threads_that_a_tool_names(text: str, told: str) -> None:
    assert [one[: len(told)] for one in context.threads(text)] == [told] * bool(told)


def test_tiles_of_names_that_share_extents_are_each_counted() -> None:
    text = (
        "On sm_89 sQ is 128x256 bf16, sK and sV are each 64x256 bf16, one stage; it fails on this tile config"
    )
    assert tiles.summed(tiles.find(text)) == "65,536 (128x256 bf16) + 65,536 (2 x 64x256 bf16) = 131,072 B"
    (said,) = stages.told(text)
    assert (
        "29,696 above the 101,376 B" in said
        and "32 rows in place of the 64 of 64x256 bf16 it is 98,304 B" in said
    )
    assert stages.told(text.replace("64x256", "32x256")) == ()


@pytest.mark.parametrize(("columns", "padded"), [(770, 776), (776, 0)])
def test_rows_of_a_matrix_for_a_tensor_map(columns: int, padded: int) -> None:
    text = (
        f"My matrix is 4096 x {columns} bf16 row major: cuTensorMapEncodeTiled for TMA fails, INVALID_VALUE"
    )
    found = pitches.told(text)
    assert [one.endswith(f"fits is {padded}") for one in found] == [True] * bool(padded)
    printed = pitches.told(f"make_tma_copy fails: gmem_ptr[16b](0x7f) o (128,4):({4 if padded else 8},_1)")
    assert [one.startswith("the stride 4 of (128,4):(4,1)") for one in printed] == [True] * bool(padded)
