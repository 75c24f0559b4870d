"""What a synthesis returns: plans that work, in order, with programs that compile; errors for bad input."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.algebra.layout import Layout
from layoutcheck.cli import run
from layoutcheck.errors import InputError
from layoutcheck.reports.style import Style
from layoutcheck.reports.synthesis import render
from layoutcheck.synthesis.compiled import arguments
from layoutcheck.synthesis.copies import keeps_elements
from layoutcheck.synthesis.plans import NOT_JUDGED, Plan, Synthesis, synthesize
from layoutcheck.synthesis.program import blocks_of
from layoutcheck.synthesis.reading import read
from layoutcheck.synthesis.request import TileRequest
from layoutcheck.synthesis.search import Deadline
from tests.synthesis.compiling import compiled_by_dsl

MN = "gmem (?{div=8},?):(1,?{div=8})"
K = "gmem (?,?{div=8}):(?{div=8},1)"

ODD = [(96, 48), (112, 192), (80, 112)]


@pytest.fixture(scope="module")
def transposed() -> Synthesis:
    return lc.synthesize("(128,64)", MN, "ldmatrix.trans", stages=3)


def job(plan: Plan) -> dict[str, Any]:
    """What `compile_programs` takes."""
    return {"code": plan.code, "arguments": arguments(plan.wanted)}


def refused(plans: list[Plan], arch: str = "sm_90a") -> list[tuple[str, str]]:
    """The programs that the installed DSL does not compile, with what it says."""
    pytest.importorskip("cutlass")
    answers = compiled_by_dsl([job(plan) for plan in plans], arch)
    return [(plan.kind, answer) for plan, answer in zip(plans, answers, strict=True) if answer is not None]


def test_the_report_s_tile_goes_by_wide_asynchronous_copies_and_no_conflict(transposed: Synthesis) -> None:
    """NVIDIA/cutlass#2320: the tile stays in the source's order, and ldmatrix transposes it."""
    best = next(plan for plan in transposed.plans if plan.kind.startswith("cp.async"))
    assert best.kind == "cp.async, MN-contiguous, swizzled, ldmatrix"
    assert (best.verdict, best.shared_bytes, best.counts.instructions) == ("legal", 3 * 128 * 64 * 2, 64)
    # 128 lines written and 128 matrices read, one wavefront each; 16 KiB in sectors of 32 bytes.
    assert (best.counts.wavefronts, best.counts.sectors) == (256, 512)
    assert [step.copy.needed_atom.instruction_bits for move in best.steps for step in move] == [128, 128]


def test_plans_are_in_order_and_pareto_has_the_best_of_each(transposed: Synthesis) -> None:
    costs = [plan.costs for plan in transposed.plans]
    assert [round(cost[0], 1) for cost in costs] == sorted(round(cost[0], 1) for cost in costs)
    assert transposed.plans[0] in transposed.pareto
    least = min(costs, key=lambda one: one[2])
    assert least in [plan.costs for plan in transposed.pareto]
    for one in transposed.plans:
        beaten = any(all(a <= b for a, b in zip(c, one.costs, strict=True)) and c != one.costs for c in costs)
        assert not (beaten and one in transposed.pareto)


def test_every_copy_is_judged(transposed: Synthesis) -> None:
    for plan in transposed.plans:
        assert len(plan.reports) == sum(map(len, plan.steps))
        assert {report.verdict for report in plan.reports} <= {"legal", "slow"}


def test_one_layout_serves_a_tile_that_is_read_straight_and_transposed() -> None:
    found = lc.synthesize((64, 32), K, "ldmatrix,ldmatrix.trans^T")
    atoms = [step.copy.atom for move in found.best.steps[1:] for step in move]
    assert [getattr(atom, "transpose", None) for atom in atoms] == [False, True]
    assert found.best.verdict == "legal"


def test_an_epilogue_leaves_by_stmatrix_and_tma() -> None:
    found = lc.synthesize((64, 64), "accumulator", "gmem", dst=K, engine="tma")
    store, send = (step for move in found.best.steps for step in move)
    assert (store.role, send.role, found.best.verdict) == ("matrix store", "tma store", "legal")
    assert store.copy.needed_atom.phrase == "stmatrix.m8n8.x4 (bf16)"
    # 64 x 64 are 64 matrices, four an instruction; the whole tile is one box.
    assert found.best.counts.instructions == 16 + 1
    columns = lc.synthesize((64, 64), "accumulator", "gmem", dst=MN, engine="tma").best.steps[0][0]
    assert columns.copy.needed_atom.phrase == "stmatrix.m8n8.x4.trans (bf16)"


def test_an_operand_lies_as_its_descriptor_says() -> None:
    found = lc.synthesize((64, 128), K, "wgmma.A", major="K", engine="tma")
    shared = found.best.shared
    assert shared is not None and shared.kind == "K_SW128"
    assert lc.canonical(shared.layout, "bf16", "K", shared.swizzle).verdict == "legal"


@pytest.mark.parametrize("tile", [(48, 80), *(pytest.param(t, marks=pytest.mark.sweep) for t in ODD)])
def test_extents_are_no_powers_of_two(tile: tuple[int, int]) -> None:
    found = lc.synthesize(tile, K, "ldmatrix", threads=32, engine="cp.async")
    conflicts = [f.code for r in found.best.reports for f in r.findings if f.code == "LC301"]
    assert conflicts == []


def test_what_check_refuses_is_named_and_the_next_best_is_taken() -> None:
    """TMA stores whole multiples of 16 bytes; nothing says that the rows of this tensor end at one."""
    unknown = lc.synthesize((64, 64), MN, "gmem", dst="(?,?):(?{div=8},1)", engine="tma,universal")
    assert all(step.role != "tma store" for plan in unknown.plans for move in plan.steps for step in move)
    assert unknown.dropped and "past the end of each row" in unknown.dropped[0][1]
    known = lc.synthesize((64, 64), MN, "gmem", dst=K, engine="tma,universal")
    assert any(plan.kind.endswith("tma") for plan in known.plans)


def test_rounds_that_do_not_end_where_runs_do_are_not_proposed() -> None:
    """Four rounds of 48 in runs of 64: the DSL composes them, to other elements. Other deals serve."""
    found = lc.synthesize(
        (144, 192), "(?{div=8},?):(1,?{div=8})", "tcgen05.A", dtype="i8", major="K",
        engine="universal", arch="sm_100a",
    )  # fmt: skip
    assert found.dropped == ()
    assert [plan.kind.split(", ")[2] for plan in found.plans] == ["swizzled", "plain"]


def test_engines_without_a_plan_and_kinds_that_are_not_judged_are_noted() -> None:
    found = lc.synthesize((64, 64), MN, "ldmatrix", arch="sm_80")
    assert found.notes == (
        "no plan by tma: sm_80 does not have it (sm_90 and later)",
        "no plan by cp.async: the tile is written by cp.async with MN contiguous and read by ldmatrix with K "
        "contiguous",
    )
    many = lc.synthesize((48, 32), K, "registers")
    (more,) = many.notes
    hidden = more.partition(": ")[2].split("; ")
    assert (
        more.startswith(f"{len(hidden)} more kinds of plan")
        and "tma, K-contiguous, plain, registers" in hidden
    )
    assert not {plan.kind for plan in many.plans} & {*hidden} and len(many.plans) == 8
    assert f"note     {more[:30]}" in render(many, Style(False, 200), shown=0)
    epilogue = lc.synthesize((64, 64), "accumulator", "gmem", dst=K, align=4)
    assert epilogue.notes[0].startswith(
        "no plan by tma: it needs multiples of 16 bytes, and base and pitch of dst"
    )
    assert "4 of dst are proved" in epilogue.space[1] and "cp.async" not in epilogue.space[1]


@pytest.mark.parametrize(
    ("tile", "to", "dtype", "said"),
    [
        ((48, 64), "wgmma.A", "bf16", "rows by 64"),
        ((64, 80), "wgmma.A", "f8E4M3FN", "K by 32"),
        ((24, 80), "wgmma.B", "f8E4M3FN", "K by 32"),
        ((32, 40), "tcgen05.A", "bf16", "rows by 64 and K by 16"),
        ((40, 24), "tcgen05.B^T", "bf16", "K by 16"),
        ((24, 64), "wgmma.B", "bf16", ""),
        ((64, 48), "wgmma.A", "bf16", ""),
    ],
)  # fmt: skip
def test_operands_that_no_instruction_reads_whole_are_noted(
    tile: tuple[int, int], to: str, dtype: str, said: str
) -> None:
    arch = "sm_90a" if to.startswith("wgmma") else "sm_100a"
    wanted = read(TileRequest(tile, "(?,?{div=16}):(?{div=16},1)", to, dtype=dtype, arch=arch))
    assert [one.partition(" takes ")[2].partition(",")[0] for one in wanted.parts] == [said] * bool(said)


def test_the_reason_says_wide_only_of_what_is() -> None:
    """Rows 16,400 bytes apart begin 16 bytes further in a line each: 8 bytes at once cross fewer lines."""
    whole = {"dtype": "f32", "engine": "cp.async", "threads": 512}
    narrow = lc.synthesize((256, 32), "(?,?):(4100,1)", "ldmatrix", **whole)  # type: ignore[arg-type]
    wide = lc.synthesize((256, 32), "(?,?):(4096,1)", "ldmatrix", **whole)  # type: ignore[arg-type]
    bits = [found.best.steps[0][0].copy.needed_atom.instruction_bits for found in (narrow, wide)]
    assert bits == [64, 128]
    assert "conflict-free and as wide as it can be" in wide.why
    assert "conflict-free." in narrow.why and "as wide" not in narrow.why


def test_bytes_are_turned_without_a_conflict_by_a_longer_swizzle() -> None:
    """Lanes have rows 16 apart, of 16 bytes each: bits 8 to 10 tell them apart, S<3,4,3> has no bit 10."""
    src = "(?{div=16},?):(1,?{div=16})"
    found = lc.synthesize((128, 64), src, "ldmatrix", dtype="f8E4M3FN", engine="universal")
    best = next(plan for plan in found.plans if "swizzled" in plan.kind)
    assert best.shared is not None and str(best.shared.swizzle) == "S<3,4,4>" and best.shared.align == 1024
    # 8 KiB: 64 lines of 128 bytes to load, to store and to read.
    assert (best.counts.wavefronts, best.counts.instructions) == (3 * 64, 16 + 16 + 16)
    assert "7 <= m+s <= 11-b" in found.space[0] and refused([best]) == []


def test_blocks_that_start_together_write_side_by_side_where_no_reader_adds_up_tiles() -> None:
    """A block has a tile for each stage, or lines of src; all its tensors start at the first of them."""
    turned = "gmem (?{div=8},?):(1,?{div=8})"
    [plan, *_] = lc.synthesize((64, 32), K, "gmem", dst=turned, tails=True, engine="universal").plans
    assert blocks_of(plan.wanted, (8192, 8192)) == 128 * 128 and "row, part = block % rows" in plan.code
    assert plan.code.count("cute.domain_offset((0, 0, first), ") == 3  # tiles, dst_tiles, places
    assert "EACH = 2 " in plan.code
    [ahead, *_] = lc.synthesize((64, 32), K, "gmem", dst=K, stages=3, engine="cp.async").plans
    assert blocks_of(ahead.wanted, (8192, 33 * 32)) == 128 * 11 and "row, part = block // parts" in ahead.code
    [both, *_] = lc.synthesize((64, 32), K, "ldmatrix,gmem", dst=turned, engine="universal").plans
    assert blocks_of(both.wanted, (8192, 8192)) == 128 and "domain_offset" not in both.code


def test_tails_are_guarded_access_by_access() -> None:
    """An access lies inside the tensor or outside: it is no wider than what divides the extent."""
    [plan, *_] = lc.synthesize((64, 32), K, "ldmatrix", tails=True, engine="cp.async").plans
    [fill], [read] = plan.steps
    assert (fill.copy.needed_atom.instruction_bits, read.copy.pred) == (128, None)
    assert fill.copy.pred is not None and fill.copy.pred.layout.shape == (1, 2, 1)
    assert "cute.elem_less(fill_at[i], src.shape)" in plan.code and "cute.ceil_div(" in plan.code
    unknown = lc.synthesize((16, 32), "(?,?):(?{div=8},1)", "ldmatrix", tails=True, threads=32).plans
    loads = [s.copy for p in unknown for s in p.steps[0] if s.role in ("load", "async")]
    assert {copy.needed_atom.instruction_bits for copy in loads} == {16}
    with pytest.raises(InputError, match=r"base, pitch and extent of src .* multiples of 2; expected"):
        lc.synthesize((16, 32), "(?,?):(?{div=8},1)", "ldmatrix", tails=True, engine="cp.async")
    with pytest.raises(InputError, match="or tails="):
        lc.synthesize((64, 32), "(100,32):(32,1)", "ldmatrix")
    assert lc.synthesize((64, 32), "(100,32):(32,1)", "ldmatrix", tails=True, engine="cp.async").plans
    [whole, *_] = lc.synthesize((64, 32), K, "ldmatrix", engine="cp.async").plans
    assert "\nTILE = (64, 32)  # the extents are multiples of it\n" in whole.code
    assert "\nTILE = (64, 32)\n" in plan.code


def test_programs_with_tails_compile_for_each_width() -> None:
    """The DSL crashes where it fills a tensor of tf32 with 0, and stores no single element of f8E4M3."""
    found = [
        lc.synthesize((16, 32), K, "registers", dtype=dtype, threads=32, tails=True, engine="universal").best
        for dtype in ("tf32", "f8E4M3", "bf16", "f64")
    ]
    assert all(".fill(0)" in plan.code for plan in found)
    assert refused(found) == []


def test_values_are_converted_between_load_and_store() -> None:
    best = lc.synthesize((64, 32), K, "wgmma.A", src_dtype="f32", major="K").best
    load, store = best.steps[0]
    assert [str(step.copy.src.dtype) for step in (load, store)] == ["f32", "bf16"]
    assert [step.copy.needed_atom.instruction_bits for step in (load, store)] == [128, 64]
    assert "held.load().to(cutlass.BFloat16)" in best.code
    assert all(
        "universal" in plan.kind for plan in lc.synthesize((64, 32), K, "ldmatrix", src_dtype="f32").plans
    )


def test_pairs_of_four_bit_elements_are_bytes() -> None:
    found = lc.synthesize((64, 128), "(?,?{div=32}):(?{div=32},1)", "ldmatrix", dtype="i4", engine="cp.async")
    same = lc.synthesize((64, 64), "(?,?{div=16}):(?{div=16},1)", "ldmatrix", dtype="ui8", engine="cp.async")
    assert [plan.counts for plan in found.plans] == [plan.counts for plan in same.plans]
    assert found.wanted.title == "(64,128) i4, two in a byte"
    assert "cute.recast_ptr(src.iterator, dtype=cutlass.Uint8)" in found.best.code


@pytest.mark.parametrize("major", [None, "K"])
def test_an_operand_of_pairs_lies_along_k(major: str | None) -> None:
    """A canonical layout of bytes along MN is none of pairs; a transposed reader has its own K."""
    given: dict[str, Any] = {"dtype": "f4E2M1FN", "arch": "sm_100a", "engine": "universal", "major": major}
    for to, src, fast in (
        ("tcgen05.A", "(?,?{div=32}):(?{div=32},1)", 1),
        ("tcgen05.B^T", "(?{div=32},?):(1,?{div=32})", 0),
    ):
        plans = lc.synthesize((128, 128), src, to, **given).plans
        assert {plan.shared.fast for plan in plans if plan.shared} == {fast}
    with pytest.raises(InputError, match="nothing turns them"):
        lc.synthesize((128, 128), K.replace("8", "32"), "tcgen05.A", **{**given, "major": "MN"})


def test_a_value_is_stored_where_it_was_loaded_from() -> None:
    """Both partitions say which element a value is; a turn that mixes up two values is seen."""
    plans = lc.synthesize((16, 16), MN, "registers", major="K", threads=32, engine="universal").plans
    steps = next(s for p in plans for s in p.steps if [one.role for one in s] == ["load", "turn", "store"])
    assert keeps_elements(steps)
    turned = steps[1].copy.src
    strides: Any = turned.layout.stride
    wrong = Layout(turned.layout.shape, (tuple(reversed(strides[0])), *strides[1:]))
    mixed = steps[1]._replace(copy=replace(steps[1].copy, src=turned.with_layout(wrong)))
    assert wrong != turned.layout and not keeps_elements([steps[0], mixed, steps[2]])


def random_request(seed: int) -> TileRequest:
    """Of every kind: types, tails, conversions, 4-bit elements, epilogues, several readers."""
    rng = random.Random(seed)
    div = rng.choice([1, 2, 8, 16, 32])
    tensors = [f"(?{{div={div}}},?):(1,?{{div={div}}})", f"(?,?{{div={div}}}):(?{{div={div}}},1)"]
    to = rng.choice([
        "ldmatrix", "ldmatrix.trans", "wgmma.A", "wgmma.B", "registers", "gmem", "ldmatrix,gmem",
        "ldmatrix,ldmatrix.trans^T",
    ])  # fmt: skip
    dtype = rng.choice(["bf16", "f16", "f32", "f8E4M3FN", "i4", "f4E2M1FN"])
    src = rng.choice([*tensors, "accumulator"]) if to == "gmem" else rng.choice(tensors)
    given: dict[str, Any] = {"dst": rng.choice(tensors)} if "gmem" in to else {}
    wide = dtype in ("bf16", "f16")
    if wide and src != "accumulator" and rng.random() < 0.3:
        given["src_dtype"] = "f32"
    if wide and "gmem" in to and rng.random() < 0.3:
        given["dst_dtype"] = "f32"
    return TileRequest(
        (rng.choice([32, 48, 64, 80, 96, 112, 128, 192]), rng.choice([16, 32, 48, 64, 80, 96, 128])), src, to,
        dtype=dtype, threads=rng.choice([32, 64, 128, 256]), stages=rng.choice([1, 2, 3]),
        tails=rng.random() < 0.5, **given,
    )  # fmt: skip


@pytest.mark.sweep
def test_random_requests_are_legal_and_compile() -> None:
    plans: list[Plan] = []
    asked = served = 0
    while len(plans) < 120:
        asked += 1
        try:
            found = synthesize(read(random_request(asked)))
        except InputError:
            continue
        served += 1
        plans += random.Random(asked).sample(found.plans, min(2, len(found.plans)))
    assert {report.verdict for plan in plans for report in plan.reports} <= {"legal", "slow"}
    print(f"{len(plans)} plans of {served} requests, {asked} asked")
    assert refused(plans) == []


def test_programs_compile(transposed: Synthesis) -> None:
    tma = next(plan for plan in transposed.plans if plan.kind.startswith("tma"))
    assert refused([transposed.best, tma]) == []


@pytest.mark.sweep
@pytest.mark.parametrize("to", ["ldmatrix", "ldmatrix.trans", "wgmma.A", "wgmma.B", "registers", "gmem"])
def test_all_programs_compile(to: str) -> None:
    plans: list[Plan] = []
    for tile in ((64, 32), (128, 64), (96, 48), (48, 80)):
        for element in ("bf16", "f32", "f8E4M3FN"):
            for src in (MN, K):
                div = "16" if element.startswith("f8") else "8"
                given = {"dst": K.replace("=8", f"={div}")} if to == "gmem" else {}
                for stages in (1, 2):
                    try:
                        found = lc.synthesize(
                            tile, src.replace("=8", f"={div}"), to, dtype=element, stages=stages, **given
                        )
                    except InputError:
                        continue
                    plans += found.plans
    assert len(plans) > 20
    print(len(plans), to)
    assert refused(plans) == []


# The command.

SYNTH = ["synth", "--tile", "(64,32)", "--src", K, "--to", "ldmatrix"]


def test_the_command_prints_the_table_the_reason_the_space_and_the_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*SYNTH, "--engine", "cp.async"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for words in ("cycles", "1*", "predicted cycles a tile, bound by", "What was searched:", "def launch("):
        assert words in out
    assert run([*SYNTH, "--engine", "cp.async", "--plan", "0"]) == 0
    assert "def launch(" not in capsys.readouterr().out


def test_what_all_plans_have_is_said_once(transposed: Synthesis) -> None:
    """The column of sectors goes, and of a legal plan the verdict of each copy."""
    text = render(transposed, Style(), shown=1)
    heads = text.partition("cycles  ")[2].splitlines()[0].split()
    assert heads == ["smem", "B", "instr", "wavefr", "plan"] and "of all:\n  sectors 512" in text
    assert text.count("legal") == 1 and text.count("plan 1") == 1
    alone = render(replace(transposed, plans=transposed.plans[:1]), Style(), shown=0)
    assert "sectors  plan" in alone and "of all" not in alone


def test_lines_of_a_program_end_before_column_97(transposed: Synthesis) -> None:
    """What a call returns has its method where the call's parentheses close."""
    lines = [line for plan in transposed.plans for line in plan.code.splitlines()]
    assert max(map(len, lines)) in range(90, 97)
    assert ").get_slice(tidx)" in {line.strip() for line in lines}


def test_json_has_every_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SYNTH, "--engine", "tma,cp.async", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["plans"]) > 3
    assert all(plan["code"].startswith("import cutlass") and plan["steps"] for plan in found["plans"])
    assert found["plans"][0]["pareto"] and found["why"] and len(found["space"]) == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tile": None, "to": None}, "synth needs --tile and --to"),
        ({"tile": "(128"}, "')'"),
        ({"tile": "(128,64,2)"}, "two extents"),
        ({"tile": "(0,64)"}, "two extents"),
        ({"to": "ldmatrx"}, "unknown consumer 'ldmatrx' (did you mean"),
        ({"to": "gmem"}, "needs the destination"),
        ({"to": "ldmatrix,ldmatrix.trans"}, "along K and along MN: ldmatrix and ldmatrix.trans"),
        ({"to": "ldmatrix.trans,ldmatrix.trans^T"}, "expected 'ldmatrix,ldmatrix.trans^T'"),
        ({"dst": K}, "is for --to gmem"),
        ({"major": "K"}, "--major is not used"),
        ({"engine": "tmaa"}, "unknown engine"),
        ({"threads": "100"}, "whole warps"),
        ({"stages": "0"}, "whole number from 1"),
        ({"to": "tcgen05.A", "arch": "sm_120a"}, "tcgen05 is not on sm_120a"),
        ({"to": "tcgen05.A", "arch": "sm_100"}, "tcgen05 is not on sm_100"),
        ({"to": "wgmma.A", "dtype": "f32"}, "wgmma does not multiply f32"),
        ({"arch": "sm_70"}, "ldmatrix is not on sm_70 (PTX ISA); expected --arch sm_75 or later"),
        ({"to": "registers", "dtype": "index"}, "no name for the element type index"),
        ({"to": "gmem,ldmatrix,gmem", "dst": K}, "one dst; expected gmem once"),
        ({"dtype": "f6E2M3FN"}, "6 bits"),
        ({"dtype": "i4", "src": MN}, "nothing turns them"),
        ({"dtype": "i4", "src": "(?,?{div=2}):(?{div=3},1)"}, "not whole bytes"),
        ({"dtype": "i4", "to": "ldmatrix.trans"}, "16-bit elements"),
        ({"dtype": "i4", "src-dtype": "i8"}, "does not convert i8 to i4"),
        ({"dst-dtype": "f32"}, "no tensor to be of"),
        ({"arch": "sm_12"}, "unknown architecture"),
        ({"src": "(?,?,?):(1,?,?)"}, "two plain modes"),
        ({"src": "smem (64,32):(32,1)"}, "src"),
        ({"src": "(100,32):(32,1)"}, "does not divide"),
        ({"src": "(?,?):(?,?)"}, "two strides that only the run knows"),
        ({"align": "3"}, "power of two"),
        ({"to": "ldmatrix.trans", "dtype": "f32"}, "16-bit elements"),
        ({"to": "tcgen05"}, "not on sm_90a"),
        ({"src": "accumulator"}, "accumulators go to global memory"),
        (
            {"src": "accumulator", "to": "gmem", "dst": K, "engine": "tma,cp.async"},
            "--engine cp.async only loads",
        ),
        ({"src": "accumulator", "to": "gmem", "dst": K, "dtype": "f32"}, "stmatrix stores 16-bit"),
        ({"src": "accumulator", "to": "gmem", "dst": K, "arch": "sm_80"}, "stmatrix is not on"),
        ({"format": "html"}, "has no format"),
        ({"plan": "99", "engine": "tma"}, "no plan 99"),
        ({"stages": "32", "tile": "(1024,64)"}, "131,072 bytes at least are more than the 232,448"),
        ({"stages": "2", "tile": "(1024,64)"}, "expected a smaller tile, or --stages 1"),
        (
            {"tile": "(36,32)"},
            "not made of whole matrices for ldmatrix; expected extents that 8 and 8 divide",
        ),
        (
            {"tile": "(100,16)", "to": "wgmma.A"},
            "no canonical layout of wgmma.A divides the tile; expected a tile such as (104,16) bf16",
        ),
        (
            {"tile": "(60,80)", "to": "wgmma.B", "dtype": "e4m3", "src": K.replace("8", "16")},
            "expected a tile such as (64,80) f8E4M3FN",
        ),
        ({"engine": "tma", "arch": "sm_80"}, "tma: sm_80 does not have it (sm_90 and later)"),
        ({"engine": "cp.async", "src-dtype": "f32"}, "cp.async: it does not convert f32 to bf16"),
        ({"engine": "tma", "src": "(?,?):(4104,2)"}, "tma: no mode of src (?,?):(4104,2) has stride 1"),
        (
            {"engine": "cp.async", "src": "(?,?):(?{div=3},1)"},
            "needs multiples of 4 bytes, and base and pitch",
        ),
        (
            {"engine": "cp.async", "src": MN},
            "written by cp.async with MN contiguous and read by ldmatrix with K",
        ),
        ({"to": "wgmma.A,ldmatrix", "major": "MN"}, "no layout with MN contiguous is read by ldmatrix"),
        ({"to": "wgmma.A", "dtype": "i16"}, "wgmma does not multiply i16"),
        ({"to": "wgmma.B", "dtype": "f8E4M3"}, "wgmma does not multiply f8E4M3"),
        ({"to": "tcgen05.A", "dtype": "f8E8M0FNU", "arch": "sm_100a"}, "tcgen05 does not multiply f8E8M0FNU"),
        ({"to": "tcgen05.A", "dtype": "i4", "arch": "sm_100a"}, "tcgen05 does not multiply i4"),
        ({"to": "wgmma.B", "dtype": "e4m3", "major": "MN"}, "wgmma.B reads f8E4M3FN along K alone"),
        (
            {"to": "wgmma.A,wgmma.B^T", "dtype": "ui8"},
            "read ui8 along K alone, which are two modes of the tile",
        ),
        (
            {"src-dtype": "e4m3", "arch": "sm_80"},
            "does not convert f8E4M3FN to bf16 on sm_80; expected --arch sm_89",
        ),
        (
            {"src-dtype": "e8m0"},
            "does not convert f8E8M0FNU to bf16 on sm_90a; expected --arch sm_100a or later",
        ),
        ({"src-dtype": "f8E4M3"}, "does not convert f8E4M3 to bf16; expected no --src-dtype"),
        ({"src-dtype": "i32", "dtype": "e5m2"}, "does not convert i32 to f8E5M2; expected no --src-dtype"),
        ({"src-dtype": "fp4"}, "does not convert f4E2M1FN to bf16; expected no --src-dtype"),
        ({"align": "2", "dtype": "tf32"}, "--align 2 is less than an element of src, 4 bytes"),
    ],
)
def test_bad_input_is_one_clear_error(
    given: dict[str, str | None], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"tile": "(64,32)", "src": K, "to": "ldmatrix"} | given
    assert run(["synth", *(w for name, value in words.items() if value for w in (f"--{name}", value))]) == 2
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err and err.count("error:") == 1


@pytest.mark.parametrize("names", [("i8", "si8", "int8"), ("ui8",)])
def test_wgmma_reads_bytes_of_integers_along_k(names: tuple[str, ...]) -> None:
    """PTX ISA, wgmma.mma_async: only 16-bit operands are transposed."""
    src = "(?,?{div=16}):(?{div=16},1)"
    asked, *others = (read(TileRequest((64, 64), src, "wgmma.B", dtype=name)) for name in names)
    found = synthesize(asked)
    assert all(other == asked for other in others)
    assert {plan.shared.fast for plan in found.plans if plan.shared} == {1}
    assert found.best.kind.startswith("tma, K-contiguous, swizzled")
    assert f"cutlass.{'Uint8' if names == ('ui8',) else 'Int8'}" in found.best.code


def test_wgmma_reads_bytes_of_floats_along_k() -> None:
    turned = lc.synthesize((64, 64), MN.replace("8", "16"), "wgmma.B", dtype="f8E5M2")
    assert {plan.shared.fast for plan in turned.plans if plan.shared} == {1}


def test_bytes_without_sign_are_converted_as_such() -> None:
    """`held.load().to(...)` of Int8 would make -56 of 200."""
    names = ["ui8", "u8", "uint8", "Uint8", "cutlass.Uint8", "torch.uint8"]
    asked = [
        read(TileRequest((64, 64), K.replace("8", "16"), "registers", dtype="f32", src_dtype=one))
        for one in names
    ]
    best = synthesize(asked[0]).best
    assert all(one == asked[0] for one in asked) and refused([best]) == []
    assert "held.load().to(" in best.code
    assert "cutlass.Uint8" in best.code and "cutlass.Int8" not in best.code


def test_as_many_warps_as_have_whole_matrices_read() -> None:
    """40 x 72 are 5 x 9 matrices: 9 of 12 warps have the same number of them, and the others wait."""
    found = lc.synthesize((40, 72), K, "ldmatrix", threads=384, engine="cp.async", stages=2)
    [read] = found.best.steps[1]
    assert (read.threads, found.best.verdict) == (9 * 32, "legal")
    assert "if tidx < 288:" in found.best.code and refused([found.best]) == []


def test_errors_of_the_function_name_its_arguments() -> None:
    with pytest.raises(InputError, match="dst="):
        lc.synthesize((64, 32), K, "gmem")
    with pytest.raises(InputError, match=re.escape("'threads' is a whole number")):
        lc.synthesize((64, 32), K, "ldmatrix", threads=True)
    with pytest.raises(InputError, match="threads is a whole number from 1"):
        lc.synthesize((64, 32), K, "ldmatrix", threads=0)


def test_a_deadline_is_up_by_the_clock_or_by_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks that go in steps may not have gone on since it was set."""
    for clock in "process_time", "monotonic":
        monkeypatch.setattr(f"layoutcheck.synthesis.search.time.{clock}", lambda: 1.0)
    for up in Deadline(0.0, 100.0), Deadline(100.0, 0.0):
        assert up.passed and up.passed
    until = Deadline(100.0, 100.0)
    assert not until.passed and not until.passed


def test_what_is_cut_says_what_was_searched_and_calls_nothing_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still for a while, then it is past the end."""
    ticks = iter(range(10**9))
    monkeypatch.setattr("layoutcheck.synthesis.search.time.process_time", lambda: next(ticks) * 0.05)
    monkeypatch.setattr("layoutcheck.synthesis.search._GLANCE", 0.0)
    found = lc.synthesize((64, 32), K, "ldmatrix")
    assert found.cut and 0 < found.looked_at < len(found.searched.layouts)
    text = render(found, Style(), shown=0)
    assert "Cut after 6 s of the processor: there may be better plans" in text and "best within" not in text
    assert f"{found.looked_at} of {len(found.searched.layouts)} layouts" in text


def test_plans_that_no_time_was_left_to_judge_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """One is judged in any case; of the others nobody says that they do not work."""
    whole = lc.synthesize((64, 32), K, "ldmatrix")
    monkeypatch.setattr("layoutcheck.synthesis.plans.MOST_SECONDS", -1.0)
    found = lc.synthesize((64, 32), K, "ldmatrix")
    assert len(found.plans) == 1 < len(whole.plans) and found.cut and not whole.cut
    judged_late = {kind for kind, reason in found.dropped if reason == NOT_JUDGED}
    assert judged_late == {plan.kind for plan in whole.plans} - {found.best.kind}
    assert "The time was up before others were found" in found.why


def test_without_time_it_is_the_time_that_the_error_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("layoutcheck.synthesis.plans.SEARCH_SECONDS", -1.0)
    with pytest.raises(InputError, match=r"the time was up after 0 of \d+ layouts"):
        lc.synthesize((64, 32), K, "ldmatrix")
