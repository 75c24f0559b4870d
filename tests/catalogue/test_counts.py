"""What the modes, extents and threads that a text prints decide together."""

import pytest

from layoutcheck.catalogue import answers, counts, snippets

TENSOR = "tCrA: tensor<ptr<f16, rmem, align<32>> o ((2,2,2),4):((1,2,4),8)>"


@pytest.mark.parametrize("mode", [0, 1, 2, 5])
def test_a_mode_that_the_printed_tensor_lacks_is_named(mode: int) -> None:
    found = list(counts.lacking(f"cute.size(tCrA, mode=[{mode}]) fails; {TENSOR}"))
    expected = f"tCrA is printed as ((2,2,2),4): 2 modes, 0 to 1, and no mode {mode}"
    assert found == ([expected] if mode > 1 else [])


def test_it_is_the_answer_and_no_other_tools_error() -> None:
    (answer,) = answers(
        f"I get IndexError: mode 2 out of range when calling cute.size(tCrA, mode=[2]) {TENSOR}"
    )
    assert answer.entry.level == "rejected"
    assert "no mode 2" in answer.title


@pytest.mark.parametrize(
    ("shapes", "told"),
    [
        ("A ((4,2),2,8), B ((2,2),4,4)", ["K is 8 in A ((4,2),2,8) and 4 in B ((2,2),4,4)"]),
        ("A ((4,2),2,8), B ((2,2),4,8), C ((2,2),2,3)", ["N is 4 in B ((2,2),4,8) and 3 in C ((2,2),2,3)"]),
        ("tCrA: ((4,2),1,8), tCrC: ((2,2),2,3)", ["M is 1 in A ((4,2),1,8) and 2 in C ((2,2),2,3)"]),
        ("A ((4,2),2,8), B ((2,2),4,8), D ((2,2),2,4)", []),
        ("A ((4,2),2,8,3), B ((2,2),4,4)", []),  # with a stage
    ],
)
def test_fragments_pair_by_their_modes(shapes: str, told: list[str]) -> None:
    found = counts.told(f"cute.gemm fails with {shapes}")
    assert [one.partition(":")[0] for one in found] == told


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        (
            "3 stages of (128,64) and (256,64) bf16 plus epilogue (128,256) float32 on H100",
            "3 x 49,152 + 131,072 = 278,528 B",
        ),
        (
            "5-stage pipeline of 128x128 fp16 tiles and 128x128 fp16 tiles on sm_90",
            "5 x 32,768 + 5 x 32,768 = 327,680 B",
        ),
    ],
)
def test_tiles_times_stages_that_do_not_fit(text: str, bytes_: str) -> None:
    (said,) = counts.told(text)
    assert bytes_ in said
    assert "above the 232,448 B" in said


@pytest.mark.parametrize(
    "text",
    [
        "3 stages of (128,64) and (128,64) bf16 on H100",  # fits
        "9 stages of (128,64) and (256,64) bf16",  # of no GPU
        "2 stages or 3 stages of (256,256) and (256,256) bf16 on H100",
    ],
)
def test_nothing_is_said_of_tiles_that_fit_or_whose_room_is_not_known(text: str) -> None:
    assert counts.told(text) == ()


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
