"""Bytes that a barrier is told beside those of the tiles that a text loads."""

import pytest

from layoutcheck.catalogue import figures

BEGINS = "my TMA load hangs, the kernel waits on the full barrier forever; "


def told(text: str) -> list[str]:
    return [one for one in figures.told(BEGINS + text) if one.startswith("the barrier is told")]


@pytest.mark.parametrize(
    ("text", "all_"),
    [
        ("tx count is 128*64*2 and I load A (128x64 bf16) and B (128x64 bf16)", "= 32,768 B"),
        ("expect_tx 8192 for a tile of 64 x 128 half", "16,384 (64 x 128 half) B"),
        ("tx count = 24576 and I load A (128x64 bf16) and B (256x64 bf16)", "= 49,152 B"),
        ("tx_bytes = 16,384; A is 128x64 fp16 and B is 256x64 fp16", "= 49,152 B"),
    ],
)
def test_bytes_of_one_tile_or_elements_are_not_those_of_all(text: str, all_: str) -> None:
    (said,) = told(text)
    assert all_ in said


@pytest.mark.parametrize(
    "text",
    [
        "tx count is 2*128*64*2 and I load A (128x64 bf16) and B (128x64 bf16)",  # right
        "tx count is 16384 and I load A (128x64 bf16)",
        "tx count is 100 and I load A (128x64 bf16)",  # of something else
        "I load A (128x64 bf16) and B (128x64 bf16)",
        "tx count is 16384",
    ],
)
def test_nothing_is_said_where_the_numbers_agree_or_are_not_there(text: str) -> None:
    assert told(text) == []
