"""Long pastes are cut down, and tiles of fewer modes completed: how far, exactly."""

from __future__ import annotations

import pytest

from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.pasted import _MAX_WINDOW, _MAX_WINDOWS, _WINDOW_LINES, LONG, _interesting, _window
from layoutcheck.sources.tma import every_mode
from layoutcheck.sources.types import parse_memref


def test_a_window_has_its_lines_on_each_side() -> None:
    lines = [f"line {n}" for n in range(1000)]
    text = "\n".join(lines)
    start, end = _window(text, 0, text.index("line 500"))
    assert text[start:end].split("\n")[1:] == lines[500 - _WINDOW_LINES + 1 : 500 + _WINDOW_LINES]
    start, end = _window(text, 0, text.index("line 3"))
    assert start == 0
    floor = text.index("line 490")
    assert _window(text, floor, text.index("line 500"))[0] == floor


def test_no_more_windows_are_kept_than_there_is_room_for() -> None:
    wide = ("x" * _MAX_WINDOW + " cute.copy\n") * 60
    kept = _interesting(wide)
    assert LONG <= len(kept) <= LONG + 2 * _MAX_WINDOW + 60


def test_no_more_windows_are_kept_than_are_read() -> None:
    far = ("cute.copy\n" + "x\n" * (2 * _WINDOW_LINES + 2000)) * 150
    assert _interesting(far).count("cute.copy") == _MAX_WINDOWS


@pytest.mark.parametrize(("name", "completed"), [("tma_load", True), ("im2col_tma_load", False)])
def test_only_a_tiled_copy_s_tile_is_completed(name: str, completed: bool) -> None:
    src = parse_memref('!cute.memref<bf16, gmem, align<16>, "(64,64,4):(64,1,4096)">')
    dst = parse_memref('!cute.memref<bf16, smem, align<128>, "(64,64):(64,1)">')
    assumed: list[str] = []
    found = every_mode(parse_atom(name, src.dtype), src, dst, (64, 64), (0, 0), None, assumed)
    assert (found[2] == (64, 64, 1)) == completed == bool(assumed)
    assert completed or found == (src, dst, (64, 64), (0, 0), None)
