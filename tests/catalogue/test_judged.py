"""Texts that an independent judge ran, and what their answers must and must not say."""

from __future__ import annotations

import pytest

from layoutcheck.catalogue import Answer, answers


def said(text: str) -> str:
    """Everything that the first answer says."""
    found: Answer = answers(text)[0]
    return " ".join((found.title, found.cause, *found.facts, found.remedy))


def named(text: str) -> str:
    return answers(text)[0].entry.name


@pytest.mark.parametrize("number", [2, 201, 801, 999])
def test_a_code_beside_a_tensor_map_that_is_not_1_is_no_fault_of_the_map(number: int) -> None:
    text = f"Using FlashInfer GDN prefill kernel\nFailed to initialize the TMA descriptor {number}"
    assert named(text) == "driver.tensor-map-code"
    assert f"error {number}" in said(text) and "multiples of 16" not in said(text)


@pytest.mark.parametrize("number", [700, 702, 710, 714, 715, 716, 717, 718, 719])
def test_a_fault_beside_a_tensor_map_is_an_earlier_kernels(number: int) -> None:
    assert named(f"Failed to initialize the TMA descriptor {number}") == "cuda.earlier-fault"


@pytest.mark.parametrize(
    "text",
    ["Failed to initialize the TMA descriptor 1", "cuTensorMapEncodeTiled failed: boxDim[0] 128 bytes"],
)
def test_a_tensor_map_that_is_refused_is_at_fault(text: str) -> None:
    assert named(text) == "driver.tensor-map"


def test_a_packed_shape_is_told_where_the_elements_have_4_bits() -> None:
    shapes = "AssertionError: Shape mismatch: torch.Size([64, {}]) vs torch.Size([64, {}])"
    four = f"assert_close(out_fp4, ref_fp4)\n{shapes.format(256, 128)}"
    assert "the text names out_fp4" in said(four) and "256 elements are 128 of storage" in said(four)
    assert "Where the elements have 4 bits" in said(shapes.format(128, 256))
    assert "4 bits" not in said(shapes.format(256, 192))
    assert "pytorch" not in said(four).lower()


def test_a_check_of_the_program_is_not_sent_to_pytorch() -> None:
    told = said("AssertionError: torch.Size([3]) is wrong here")
    assert "pytorch/pytorch" not in told and "whose check it is" in told


def test_a_failed_validation_of_results_is_a_wrong_result() -> None:
    text = "RuntimeError: validation failed: full_abs=8.928038, sample_abs=2.592082"
    assert named(text) == "results-differ"
    assert named("RuntimeError: validation failed: the licence has no name") != "results-differ"


def test_the_n_of_an_mma_is_told_without_a_number_that_the_text_does_not_hold() -> None:
    text = "tile_M=128, tile_N=512\nOpError: expects the N-mode to satisfy 8 <= N <= 256"
    told = said(text)
    assert "N is ," not in told and ", and not" not in told and "(128, 256, 16)" not in told
    assert "tile_N=512 is the tile's extent: 2 instructions" in told and "wgmma" in told
    assert "in steps of 16, and not 24" in said(
        "expects the N-mode to satisfy 16 <= N <= 256 and N % 16 == 0, but got 24"
    )
    assert "and not 520" in said("expects the N-mode to satisfy 8 <= N <= 256 and N % 8 == 0. but got 520")
    assert "M must be 64 or 128, and not 96" in said(
        "OpError: expects the M-mode to be 64 or 128, but got 96"
    )
