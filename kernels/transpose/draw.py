"""Write the kernels that `layoutcheck.synthesize` draws for a transpose: python -m kernels.transpose.draw"""

from __future__ import annotations

from pathlib import Path

import layoutcheck as lc
from layoutcheck.synthesis import Synthesis

TILES = {(128, 128): 256, (64, 64): 128}
"""Tiles along (N, M), and the threads that move one."""


def plans(tile: tuple[int, int]) -> Synthesis:
    """What is found for `tile`, best first."""
    return lc.synthesize(
        tile=tile,
        dtype="bf16",
        src="gmem (?,?):(1,?{div=8})",
        dst="gmem (?,?):(?{div=8},1)",
        to="gmem",
        threads=TILES[tile],
        arch="sm_90a",
        engine="cp.async,universal",
    )


def module(tile: tuple[int, int], code: str) -> str:
    """The text of the module of a plan for `tile`."""
    size = f"{tile[0]} x {tile[1]}"
    return f'"""Drawn by layoutcheck.synthesize for a tile of {size}: see draw.py."""\n\n{code}'


def path(tile: tuple[int, int]) -> Path:
    return Path(__file__).with_name(f"drawn_{tile[0]}x{tile[1]}.py")


if __name__ == "__main__":
    for tile in TILES:
        path(tile).write_text(module(tile, plans(tile).best.code))
