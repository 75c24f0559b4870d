"""One notation, one meaning: a swizzle of elements and its twin of bytes, the same input by every door."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import layoutcheck as lc
from layoutcheck.algebra.image import image
from layoutcheck.cli import run
from layoutcheck.machine.dtypes import dtype as read_dtype
from layoutcheck.reports.banks import analyse

MMAS = {"i8": "wgmma.m64n64k32.s32.s8", "bf16": "wgmma.m64n64k16.f32.bf16", "f32": "wgmma.m64n64k8.f32.tf32"}
TYPES = {"i8": "si8", "bf16": "bf16", "f32": "tf32"}  # as an operand of the MMA


@st.composite
def swizzled_tiles(draw: st.DrawFn) -> tuple[str, lc.Layout, lc.Swizzle]:
    """An element type, a tile of 64 rows, and a swizzle that counts its elements."""
    element = draw(st.sampled_from(sorted(MMAS)))
    row = 128 // (read_dtype(element).bits // 8)
    pad = draw(st.sampled_from([0, 0, row // 8]))
    tile = draw(st.sampled_from([lc.Layout((64, row), (row + pad, 1)), lc.Layout((64, row), (1, 64))]))
    bits = draw(st.integers(1, 3))
    return element, tile, lc.Swizzle(bits, draw(st.integers(0, 4)), draw(st.integers(bits, 4)))


@settings(max_examples=25)
@given(swizzled_tiles())
def test_elements_and_bytes_are_told_apart_alike_everywhere(given: tuple[str, lc.Layout, lc.Swizzle]) -> None:
    element, tile, inner = given
    size = read_dtype(element).bits // 8
    pointer = lc.Swizzle(inner.bits, inner.base + size.bit_length() - 1, inner.shift)
    composed = lc.ComposedLayout(inner, 0, tile)
    assert np.array_equal(image(composed) * size, pointer(image(tile) * size))  # the one meaning

    access = f"st {8 * size} (8,4):(4,1) (1,1)"
    ours = analyse(str(composed), access, element)[0]
    assert ours == analyse(str(tile), access, element, str(pointer))[0]
    report = lc.check(
        f'!cute.memref<{element}, gmem, align<16>, "{tile}">',
        f'!cute.memref<{element}, smem, align<4096>, {pointer}, "{tile}">',
        "universal", bits=8 * size, thr="(8,4):(4,1)", val="(1,1)",
    )  # fmt: skip
    assert report.execution["smem_wavefronts"] == ours[0].wavefronts

    kind = TYPES[element]
    a, b = lc.canonical(composed, kind), lc.canonical(tile, kind, swizzle=pointer)
    assert (a.verdict, a.name, a.swizzle, a.evidence) == (b.verdict, b.name, str(pointer), b.evidence)
    memref = f'!cute.memref<{kind}, smem, align<1024>, {pointer}, "{tile}">'
    (of_elements,) = lc.check_mma(MMAS[element], str(composed)).answers
    (of_bytes,) = lc.check_mma(MMAS[element], memref).answers
    assert of_elements.verdict == of_bytes.verdict
    assert (of_elements.verdict == "legal") == (a.verdict == "legal")
    assert of_elements.canonical is not None and "counts elements" in of_elements.canonical.read_as


@st.composite
def copies(draw: st.DrawFn) -> dict[str, Any]:
    """The arguments of one copy into shared memory, many of which are wrong, or rejected."""
    rows, row = draw(st.sampled_from([(32, 64), (64, 32), (64, 64)]))
    flat = st.sampled_from([f"({rows},{row}):({row},1)", f"({rows},{row}):(1,{rows})"])
    copy: dict[str, Any] = {
        "src": draw(flat), "dst": draw(flat), "dtype": draw(st.sampled_from(["bf16", "f32"])),
        "atom": draw(st.sampled_from(["cp.async", "universal"])),
        "bits": draw(st.sampled_from([32, 64, 128])),
        "thr": draw(st.sampled_from(["(8,8):(8,1)", "(16,4):(1,16)"])),
        "val": draw(st.sampled_from(["(1,4)", "(1,8)", "(4,1)"])),
    }  # fmt: skip
    for name, values in (("swizzle", ["S<3,4,3>", "S<2,3,3>"]), ("block", [32, 64]), ("src_align", [4, 16])):
        if draw(st.booleans()):
            copy[name] = draw(st.sampled_from(values))
    return copy


@settings(max_examples=15)
@given(copies())
def test_one_copy_gets_one_answer_by_every_door(tmp_path_factory: Any, copy: dict[str, Any]) -> None:
    """Python, `explain`, `explain` of what the report prints, and a line of `check`."""
    expected = lc.check(**copy).to_dict()
    options = [
        f"--{name.replace('_', '-')}={value}" for name, value in copy.items() if name not in ("src", "dst")
    ]
    explained = printed(["explain", copy["src"], copy["dst"], *options, "--format", "json"])
    assert explained == expected

    file: Path = tmp_path_factory.mktemp("copies") / "copies.jsonl"
    file.write_text(json.dumps({"id": "this", **copy}))
    line = printed(["check", "--jsonl", str(file)])
    assert line == {**expected, "subject": "this"}

    tiling = expected["copy"]["tiling"]
    again = lc.check(
        tiling["src"]["text"], tiling["dst"]["text"], tiled=tiling["tiled"], block=tiling["block_threads"]
    )
    assert {**again.to_dict(), "assumptions": expected["assumptions"]} == expected


def printed(words: list[str]) -> dict[str, Any]:
    """The one object that a command prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        run(words)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found
