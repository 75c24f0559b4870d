"""The tensor that a traced TMA copy's tensor map was made of, and what becomes of strides and address."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layoutcheck.judge import judge_traced
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import render, summary
from layoutcheck.sources.printed import read_module
from layoutcheck.sources.trace_lines import from_lines, to_lines
from layoutcheck.sources.traced import Addresses, Trace
from layoutcheck.tracing import judge

BASIS = 'tma_gbasis = <"(64,64):(1@1,1@0)">'
MADE = (
    f"!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, bf16, copy_bits = 65536, {BASIS}, tma_format = BF16_RN>"
)
EXEC = (
    "!cute_nvgpu.atom.tma_load<bf16, copy_bits = 65536, mode = tiled, num_cta = 1, "
    f'g_stride = <"()"> {BASIS}>'
)
COORD = '!cute.coord_tensor<"(0,0)", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">'
SMEM = '!cute.memref<bf16, smem, align<1024>, "((4096,1),(1)):((1,0),(0))">'


def module(gmem: str, callee: str = "@kernels::@k", made: str = MADE) -> str:
    """A kernel with one TMA load, and the host function that makes its tensor map and launches it."""
    return f"""
"builtin.module"() ({{
  "gpu.module"() <{{sym_name = "kernels"}}> ({{
    "cuda.kernel"() <{{function_type = ({MADE}, {COORD}, {SMEM}) -> (), sym_name = "k"}}> ({{
    ^bb0(%a: {MADE}, %c: {COORD}, %s: {SMEM}):
      %e = "cute_nvgpu.atom.make_exec_tma"(%a) : ({MADE}) -> {EXEC}
      %f = "cute_nvgpu.atom.set_value"(%e, %e) : ({EXEC}, {EXEC}) -> {EXEC}
      "cute.copy"(%f, %c, %s) : ({EXEC}, {COORD}, {SMEM}) -> () loc("k"("/me/k.py":3:4))
      "cuda.return"() : () -> ()
    }}) : () -> ()
  }}) : () -> ()
  "func.func"() <{{function_type = ({gmem}) -> (), sym_name = "host"}}> ({{
  ^bb0(%g: {gmem}):
    %cfg = "cuda.launch_cfg.create"() : () -> !cuda.launch_cfg
    %t = "test.coordinates"() : () -> {COORD}
    %u = "test.shared"() : () -> {SMEM}
    %m = "cute_nvgpu.atom.make_non_exec_tiled_tma_load"(%g) : ({gmem}) -> {made}
    %r = "cuda.launch_ex"(%cfg, %m, %t, %u) <{{callee = {callee}}}> :
      (!cuda.launch_cfg, {made}, {COORD}, {SMEM}) -> !cuda.result
    "func.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""


SHARED = '!cute.memref<bf16, smem, align<1024>, {}"((4096,1),(1)):((1,0),(0))">'
PIECES = "!cute.ptr<bf16, gmem, align<16>>"


def swizzled(tile: str, mapped: str, user: str = "", more: str = "") -> str:
    """The same of a shared tensor with the swizzle `tile`, of a map made with `mapped`, and another user."""
    gmem, smem = tensor("(256,256):(256,1)"), SHARED.format(tile and f"{tile}, ")
    layout = f'!cute.composed_layout<"{mapped} o 0 o (64,64):(64,1)">' if mapped else '!cute.layout<"64:1">'
    text = module(gmem).replace(SMEM, smem)
    text = text.replace(f'tma_load"(%g) : ({gmem})', f'tma_load"(%g, %h) : ({gmem}, {layout})')
    text = text.replace("%m =", f'%h = "test.layout"() : () -> {layout}\n    %m =')
    seen, value, used = smem, "%s", more
    if user not in ("", "view"):
        seen, value = SHARED.format("" if user == "plain" else f"{user}, "), "%v"
        used += f'%v = "cute.recast_iter"(%s) : ({smem}) -> {seen}\n'
    used += f'%w = "cute.memref.load"({value}) : ({seen}) -> bf16\n' if user else ""
    return text.replace('      "cuda.return"', f'{used}      "cuda.return"')


@pytest.mark.parametrize(
    ("tile", "mapped", "user", "wrong"),
    [
        ("S<3,4,3>", "", "view", True),
        ("", "S<3,4,3>", "view", True),
        ("S<3,4,3>", "S<2,4,3>", "view", True),
        ("S<3,4,3>", "", "S<2,4,3>", True),
        ("S<3,4,3>", "S<3,4,3>", "view", False),
        ("", "S<0,4,3>", "view", False),  # the identity
        ("S<3,4,3>", "", "plain", False),  # who reads it follows the map
        ("", "S<3,4,3>", "S<3,4,3>", False),
        ("S<3,4,3>", "", "", False),  # nobody is known to read it
    ],
)
def test_a_maps_swizzle_is_held_against_those_who_use_the_memory(
    tile: str, mapped: str, user: str, wrong: bool
) -> None:
    (traced,) = read_module(swizzled(tile, mapped, user), "k", "sm_90a")
    report = judge_traced(traced)
    assert report is not None and report.verdict == ("wrong" if wrong else "legal")
    assert [one.code for one in report.findings] == ["LC234"] * wrong
    assert bool(traced.unbounded) == (not user)
    assert list(from_lines(to_lines(Trace((traced,)))).copies) == [traced]


def test_a_kernel_may_apply_the_maps_swizzle_itself() -> None:
    xor = '%x = "arith.xori"(%s, %s) : (i32, i32) -> i32\n'
    for tile, mapped, wrong in (("", "S<3,4,3>", False), ("S<3,4,3>", "", True)):
        (traced,) = read_module(swizzled(tile, mapped, "view", xor), "k", "sm_90a")
        assert traced.copy is not None and (traced.copy.map_swizzle is not None) == wrong
        assert bool(traced.unbounded) != wrong


@pytest.mark.parametrize(("steps", "past"), [((1,), 2), ((8,), 0), ((3, 5), 0), ((-1,), 14), (("?",), 0)])
def test_the_base_of_a_map_by_the_hosts_steps(steps: tuple[int | str, ...], past: int) -> None:
    plain = tensor("(256,256):(256,1)", "")
    text = module(plain).replace(f"({plain}) -> (), sym_name", "() -> (), sym_name")
    moves, at = f'%p0 = "test.base"() : () -> {PIECES}\n', PIECES
    for i, step in enumerate(steps):
        of = f'!cute.int_tuple<"{step}">'
        moves += f'%n{i} = "test.step"() : () -> {of}\n'
        to = "!cute.ptr<bf16, gmem>"
        moves += f'%p{i + 1} = "cute.add_offset"(%p{i}, %n{i}) : ({at}, {of}) -> {to}\n'
        at = to
    moves += f'%q = "cute.make_view"(%p{len(steps)}) : ({at}) -> {plain}\n'
    text = text.replace("%cfg =", f"{moves}%cfg =").replace('tma_load"(%g)', 'tma_load"(%q)')
    (traced,) = read_module(text, "k", "sm_90a")
    assert traced.copy is not None and traced.copy.map_past == past
    report = judge_traced(traced)
    assert report is not None
    assert [(one.code, one.severity) for one in report.findings] == [("LC230", "wrong" if past else "note")]


def tensor(layout: str, align: str = "align<16>, ") -> str:
    return f'!cute.memref<bf16, gmem, {align.removesuffix(", ")}{", " if align else ""}"{layout}">'


@pytest.mark.parametrize(
    ("layout", "align", "verdict", "found"),
    [
        ("(256,256):(256,1)", "align<16>, ", "legal", []),
        ("(256,250):(250,1)", "align<16>, ", "wrong", [("LC231", "wrong")]),
        ("(1,250):(250,1)", "align<16>, ", "legal", []),  # a mode of one row has no pitch
        ("(?,?):(?,1)", "align<16>, ", "legal", [("LC231", "note")]),
        ("(?,?):(?{div=8},1)", "align<16>, ", "legal", []),
        ("(256,256):(256,1)", "", "legal", [("LC230", "note")]),
        ("(256,256):(1,250)", "align<16>, ", "legal", []),  # not the dimension that the atom has first
    ],
)
def test_what_the_tensor_map_makes_of_the_tensor(
    layout: str, align: str, verdict: str, found: list[tuple[str, str]]
) -> None:
    (traced,) = read_module(module(tensor(layout, align)), "k", "sm_90a")
    assert traced.copy is not None and traced.copy.mapped is not None
    assert traced.unbounded == "the shared layout of its tensor map cannot be read"
    report = judge_traced(traced)
    assert report is not None and report.verdict == verdict
    assert [(one.code, one.severity) for one in report.findings] == found
    counted = summary(judge(Trace((traced,))))["weak_bases"]
    assert list(counted.values()) == [1] * (("LC230", "note") in found)
    assert list(from_lines(to_lines(Trace((traced,)))).copies) == [traced]


def test_a_cost_that_is_not_told_is_said() -> None:
    """`legal` speaks of what was looked at."""
    (traced,) = read_module(module(tensor("(256,256):(256,1)", "align<16>, ")), "k", "sm_90a")
    one = replace(traced, addresses=Addresses(128, untold="nobody knows"))
    judged = judge(Trace((one, traced)))
    assert summary(judged)["untold"] == {"nobody knows": 1}
    assert "not checked: cost in global memory of 1 copy: nobody knows" in render(judged, Style(width=100))
    assert list(from_lines(to_lines(Trace((one,)))).copies) == [one]


@pytest.mark.parametrize(
    "options", [{"callee": "@kernels::@other"}, {"made": MADE.replace("sm_90", "sm_100")}]
)
def test_a_tensor_that_is_not_found_is_not_guessed(options: dict[str, str]) -> None:
    (traced,) = read_module(module(tensor("(256,250):(250,1)"), **options), "k", "sm_90a")
    assert traced.copy is not None and traced.copy.mapped is None
    assert traced.unbounded == "its tensor map is not found in the host's code"
    report = judge_traced(traced)
    assert report is not None and report.verdict == "legal"
