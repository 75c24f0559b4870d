"""Whatever is thrown at the parsers and at `check`, no exception but InputError comes back."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import layoutcheck as lc
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from layoutcheck.reports.json import to_dict
from layoutcheck.reports.style import Style
from layoutcheck.reports.text import render
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.cases import case
from layoutcheck.sources.diagnostics import read_diagnostics
from layoutcheck.sources.pointers import Defaults
from layoutcheck.sources.records import read_record
from layoutcheck.sources.types import parse_memref, parse_tiled_copy

DATA = Path(__file__).parent / "data"
PRINTED = (DATA / "types.txt").read_text(encoding="utf-8").splitlines()
PASTES = [path.read_text(encoding="utf-8") for path in sorted((DATA / "errors").glob("*.txt"))]
FAR = 1 << 41  # bytes; below every region that tensors are put into
BARE = Defaults(dtype("bf16"))

usual = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])

# Pieces that the grammars are made of, so that random strings come close to being right.
TOKENS = st.sampled_from(
    [
        "(",
        ")",
        "((",
        "))",
        ":",
        ",",
        "@",
        "?",
        "?{div=8}",
        "?{i64}",
        "{",
        "}",
        "<",
        ">",
        '"',
        "[",
        "]",
        ";",
        "S<3,4,3>",
        "o",
        "0",
        "1",
        "8",
        "64",
        "-1",
        "9999999999999999999999999",
        "bf16",
        "!cute.memref<",
        "!cute.tiled_copy<",
        "!cute.coord_tensor<",
        "!cute_nvgpu.atom.",
        "universal_copy<",
        "simt_async_copy<",
        "ldsm<",
        "stsm<",
        "g2r<",
        "tma_load<",
        "f4E2M1FN",
        ",gmem",
        ",smem",
        ",align<16>",
        ",128b",
        "cache=global",
        "copy_bits=128",
        'mode=<"(8,8)">',
        "num_matrices=4",
        "sz_pattern=u16",
        "val_type=",
        "tensor<ptr<",
        "raw_ptr(0x10:",
        "FakeTensor<",
        "recast<f32>(",
        'tiler_mn=<"[',
        'layout_copy_tv=<"',
        "f32",
        "cute.copy(%a",
        "'cute.copy'",
        "op",
        "error:",
        "note:",
        ":(",
        ")->()",
        " ",
        "\n",
        " o ",
    ]
)
soup = st.one_of(st.text(max_size=80), st.lists(TOKENS, max_size=30).map("".join))


@st.composite
def mutated(draw: st.DrawFn, texts: list[str]) -> str:
    """A real text with a few places cut, doubled or overwritten."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        to = draw(st.integers(at, min(len(text), at + 40)))
        text = draw(
            st.sampled_from(
                [text[:at] + text[to:], text[:to] + text[at:], text[:at] + draw(soup) + text[to:]]
            )
        )
    return text


def parse_bare(text: str) -> object:
    return parse_memref(text, BARE)


@pytest.mark.parametrize("parse", [parse_memref, parse_atom, parse_tiled_copy, parse_bare, case])
@usual
@given(text=st.one_of(soup, mutated(PRINTED)))
def test_parsers(parse: Callable[[str], object], text: str) -> None:
    with contextlib.suppress(InputError):
        parsed = parse(text)
        if parse in (parse_memref, parse_atom, parse_tiled_copy) and text.lstrip().startswith("!"):
            assert parse(str(parsed)) == parsed


@usual
@given(text=st.one_of(soup, mutated(PASTES)))
def test_pasted_output(text: str) -> None:
    with contextlib.suppress(InputError):
        read_diagnostics(text)


@usual
@given(
    record=st.one_of(
        soup,
        st.binary(max_size=60).map(lambda raw: raw.decode("utf-8", "replace")),
        st.dictionaries(
            st.sampled_from(
                ["src", "dst", "atom", "bits", "thr", "val", "dtype", "op", "block", "swizzle", "arch"]
            ),
            st.one_of(soup, st.integers(), st.none(), st.booleans(), st.lists(st.integers())),
        ).map(json.dumps),
    )
)
def test_records(record: str) -> None:
    with contextlib.suppress(InputError):
        read_record(record)


# Copies that parse, near and far from what an atom takes.

extents = st.sampled_from([1, 2, 3, 4, 8, 16])
strides = st.one_of(st.sampled_from(["0", "1", "2", "8", "9", "64", "128", "-1", "?", "?{div=8}"]))


@st.composite
def layouts(draw: st.DrawFn) -> str:
    def tree(depth: int) -> tuple[str, str]:
        if depth == 0 or draw(st.booleans()):
            extent = "?" if draw(st.integers(0, 40)) == 0 else str(draw(extents))
            return extent, draw(strides)
        parts = [tree(depth - 1) for _ in range(draw(st.integers(1, 3)))]
        return f"({','.join(s for s, _ in parts)})", f"({','.join(d for _, d in parts)})"

    shape, stride = tree(2)
    return f"{shape}:{stride}"


dtypes = st.sampled_from(["bf16", "f32", "i8", "f4E2M1FN", "f64", "i128", "f6E2M3FN", "i1"])


@st.composite
def memrefs(draw: st.DrawFn, element: str) -> str:
    facts = [element, draw(st.sampled_from(["gmem", "smem", "rmem", "generic", "tmem"]))]
    align = draw(st.sampled_from([None, 1, 2, 3, 4, 8, 12, 16, 128]))
    if align:
        facts.append(f"align<{align}>")
    if draw(st.integers(0, 4)) == 0:
        facts.append(draw(st.sampled_from(["S<3,4,3>", "S<2,3,3>", "S<0,4,3>", "S<1,2,3>"])))
    return f'!cute.memref<{", ".join(facts)}, "{draw(layouts())}">'


names = st.sampled_from(
    [
        "cp.async",
        "cp.async.cg",
        "universal",
        "auto",
        "g2r",
        "r2s",
        "s2r",
        "r2g",
        "ldmatrix.x4",
        "ldmatrix.x2.trans",
        "stmatrix.x1",
        "autovec",
        "basic",
        "!cute_nvgpu.atom.tma_load<bf16>",
    ]
)


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    element = draw(dtypes)
    other = element if draw(st.integers(0, 5)) else draw(dtypes)
    request: dict[str, Any] = {"atom": draw(names), "dtype": element}
    for side, its in (("src", element), ("dst", other)):
        request[side] = draw(st.one_of(memrefs(its), layouts()))
    optional: dict[str, st.SearchStrategy[Any]] = {
        "bits": st.sampled_from([8, 16, 32, 48, 64, 96, 128, 256]),
        "pred": memrefs("i8"),
        "block": st.sampled_from([1, 32, 256]),
        "arch": st.sampled_from(["sm_80", "sm_90a", "sm_100a"]),
        "swizzle": st.just("S<3,4,3>"),
        "op": st.sampled_from(["copy", "autovec_copy", "basic_copy", "copy_atom_call", "basic_copy_if"]),
    }
    for key, values in optional.items():
        if draw(st.integers(0, 3)) == 0:
            request[key] = draw(values)
    if draw(st.integers(0, 2)) == 0:
        request["thr"], request["val"] = draw(layouts()), draw(layouts())
    return request


def check_never_breaks(request: dict[str, Any]) -> None:
    try:
        report = lc.check(**request)
    except InputError:
        return
    json.dumps(to_dict(report))
    text = render([report], Style())
    assert text.startswith(report.verdict)
    # `analysis/instantiation.py` puts tensors far apart; no report shows these places.
    if not re.search(r"[0-9]{11,}", str(request)):
        offsets = [int(found) for found in re.findall(r"([0-9]{11,}) B\b", text)]
        assert all(offset < FAR for offset in offsets), text


@settings(usual, max_examples=80)
@given(requests())
def test_check(request: dict[str, Any]) -> None:
    check_never_breaks(request)


@pytest.mark.sweep
@settings(usual, max_examples=20_000)
@given(requests())
def test_check_at_length(request: dict[str, Any]) -> None:
    check_never_breaks(request)


FOUND = {
    "a layout of one integer": {
        "src": "?:?{div=8}", "dst": "?:0", "atom": "basic", "dtype": "i1", "bits": 8, "arch": "sm_80",
    },
    "tiles of different rank": {
        "src": "1:0", "dst": "((1),(2),1):((0),(1),0)", "atom": "cp.async", "dtype": "bf16", "thr": "1:0",
        "val": "1:0", "swizzle": "S<3,4,3>",
    },
    "a warp's atom by one thread": {
        "atom": "ldmatrix.x4", "dtype": "bf16", "src": "1:0", "dst": "((1)):((0))", "swizzle": "S<3,4,3>",
        "pred": '!cute.memref<i8, gmem, "((?)):((0))">', "op": "autovec_copy", "thr": "1:0", "val": "1:0",
    },
    "a warp's atom by one thread, with a tail": {
        "atom": "ldmatrix.x4", "dtype": "bf16", "src": "1:0", "dst": "((1)):((0))", "swizzle": "S<3,4,3>",
        "pred": '!cute.memref<i8, gmem, "((?)):((0))">', "op": "autovec_copy", "thr": "1:0",
        "val": "((2)):((1))",
    },
    "a warp's atom of wide elements, transposed": {
        "atom": "ldmatrix.x4", "dtype": "f32", "src": "1:0",
        "dst": '!cute.memref<f32, rmem, S<3,4,3>, "1:0">', "block": 1, "arch": "sm_80",
        "swizzle": "S<3,4,3>", "op": "autovec_copy", "thr": "1:0", "val": "1:0",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_the_long_run_found(name: str) -> None:
    check_never_breaks(FOUND[name])


BIG = "((8,1),(1000,1000,1000)):((1,0),(8,8000,8000000))"


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("(1000000000,1000000000):(1,1000000000)", "(1000000000,1000000000):(1000000000,1)"),
        ("(8,1000000000):(1,8)", "(8,1000000000):(1,8)"),
        ("(9223372036854775807):(1)", "(9223372036854775807):(1)"),
        (BIG, BIG),
        ("(8,8):(9223372036854775807,9223372036854775807)", "(8,8):(-9223372036854775807,1)"),
    ],
)
@pytest.mark.parametrize("thr_val", [(), ("(16,16):(16,1)", "(8,1)"), ("(1024,1024)", "(8,8)")])
@pytest.mark.parametrize("atom", ["cp.async", "universal", "auto"])
def test_absurd_sizes_are_answered_or_refused_at_once(
    src: str, dst: str, thr_val: tuple[str, ...], atom: str
) -> None:
    tiles = dict(zip(("thr", "val"), thr_val, strict=False))
    start = time.process_time()
    check_never_breaks({"src": src, "dst": dst, "atom": atom, "dtype": "bf16", **tiles})
    assert time.process_time() - start < 2
