"""What a synthesis returns: plans that work, in order, with programs that compile; errors for bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.cli import run
from layoutcheck.errors import InputError
from layoutcheck.fixes.code import dtype_code
from layoutcheck.reports.synthesis import render
from layoutcheck.synthesis import Plan, Synthesis

MN = "gmem (?{div=8},?):(1,?{div=8})"
K = "gmem (?,?{div=8}):(?{div=8},1)"

ODD = [(96, 48), (112, 192), (80, 112)]


@pytest.fixture(scope="module")
def transposed() -> Synthesis:
    return lc.synthesize("(128,64)", MN, "ldmatrix.trans", stages=3)


def job(plan: Plan) -> dict[str, Any]:
    """What `compile_programs` takes."""
    wanted = plan.wanted
    outs = [wanted.src for one in wanted.consumers if one.target != "gmem"]
    tensors = [wanted.src, *outs, *([wanted.dst] if wanted.dst is not None else [])]
    strides = [
        [one if isinstance(one, int) else ["?", one.divisor] for one in tensor.layout.stride]  # type: ignore[union-attr]
        for tensor in tensors
    ]
    return {"code": plan.code, "dtype": dtype_code(wanted.dtype).split(".")[1], "arguments": strides}


def refused(plans: list[Plan], arch: str = "sm_90a") -> list[tuple[str, str]]:
    """The programs that the installed DSL does not compile, with what it says."""
    pytest.importorskip("cutlass")
    text = "\n".join(json.dumps(job(plan)) for plan in plans)
    done = subprocess.run(
        [sys.executable, "-m", "tests.synthesis.compile_programs", arch],
        input=text, capture_output=True, text=True, check=True,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(plans), done.stderr[-2000:]
    return [(plan.kind, answer) for plan, answer in zip(plans, answers, strict=True) if answer is not None]


def test_the_report_s_tile_goes_by_wide_asynchronous_copies_and_no_conflict(transposed: Synthesis) -> None:
    """NVIDIA/cutlass#2320: the tile stays in the source's order, and ldmatrix transposes it."""
    best = transposed.best
    assert best.kind == "cp.async, MN-contiguous, swizzled, ldmatrix"
    assert (best.verdict, best.shared_bytes, best.counts.instructions) == ("legal", 3 * 128 * 64 * 2, 64)
    # 128 lines written and 128 matrices read, one wavefront each; 16 KiB in sectors of 32 bytes.
    assert (best.counts.wavefronts, best.counts.sectors) == (256, 512)
    assert [step.copy.needed_atom.instruction_bits for move in best.steps for step in move] == [128, 128]


def test_plans_are_in_order_and_pareto_has_the_best_of_each(transposed: Synthesis) -> None:
    costs = [plan.costs for plan in transposed.plans]
    assert costs == sorted(costs)
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
    out = capsys.readouterr().out
    for words in ("cycles", "1*", "predicted cycles a tile", "best within it", "def launch("):
        assert words in out
    assert run([*SYNTH, "--engine", "cp.async", "--plan", "0"]) == 0
    assert "def launch(" not in capsys.readouterr().out


def test_json_has_every_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SYNTH, "--engine", "tma,cp.async", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["plans"]) > 3
    assert all(plan["code"].startswith("import cutlass") and plan["steps"] for plan in found["plans"])
    assert found["plans"][0]["pareto"] and found["why"] and len(found["space"]) == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tile": None, "to": None}, "not told --tile and --to"),
        ({"tile": "(128"}, "')'"),
        ({"tile": "(128,64,2)"}, "two extents"),
        ({"tile": "(0,64)"}, "two extents"),
        ({"to": "ldmatrx"}, "unknown consumer 'ldmatrx' (did you mean"),
        ({"to": "gmem"}, "needs the destination"),
        ({"dst": K}, "is for --to gmem"),
        ({"major": "K"}, "--major is not used"),
        ({"engine": "tmaa"}, "unknown engine"),
        ({"threads": "100"}, "whole warps"),
        ({"stages": "0"}, "whole number from 1"),
        ({"dtype": "f4E2M1FN"}, "4 bits"),
        ({"arch": "sm_12"}, "unknown architecture"),
        ({"src": "(?,?,?):(1,?,?)"}, "two plain modes"),
        ({"src": "smem (64,32):(32,1)"}, "src"),
        ({"src": "(100,32):(32,1)"}, "does not divide"),
        ({"align": "3"}, "power of two"),
        ({"to": "ldmatrix.trans", "dtype": "f32"}, "16-bit elements"),
        ({"to": "tcgen05"}, "not on sm_90a"),
        ({"src": "accumulator"}, "accumulators go to global memory"),
        ({"src": "accumulator", "to": "gmem", "dst": K, "dtype": "f32"}, "stmatrix stores 16-bit"),
        ({"src": "accumulator", "to": "gmem", "dst": K, "arch": "sm_80"}, "stmatrix is not on"),
        ({"format": "html"}, "unknown format"),
        ({"plan": "99", "engine": "tma"}, "no plan 99"),
        ({"stages": "32", "tile": "(1024,64)"}, "no layout suits"),
    ],
)
def test_bad_input_is_one_clear_error(
    given: dict[str, str | None], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"tile": "(64,32)", "src": K, "to": "ldmatrix"} | given
    assert run(["synth", *(w for name, value in words.items() if value for w in (f"--{name}", value))]) == 2
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err and err.count("error:") == 1


def test_errors_of_the_function_name_its_arguments() -> None:
    with pytest.raises(InputError, match="dst="):
        lc.synthesize((64, 32), K, "gmem")
    with pytest.raises(InputError, match=re.escape("'threads' is a whole number")):
        lc.synthesize((64, 32), K, "ldmatrix", threads=True)
    with pytest.raises(InputError, match=re.escape("threads= is a whole number from 1")):
        lc.synthesize((64, 32), K, "ldmatrix", threads=0)


def test_what_is_cut_says_what_was_searched_and_calls_nothing_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still for a while, then it is past the end."""
    ticks = iter(range(10**9))
    monkeypatch.setattr("layoutcheck.synthesis.search.time.process_time", lambda: next(ticks) * 0.05)
    found = lc.synthesize((64, 32), K, "ldmatrix")
    assert found.cut and 0 < found.looked_at < len(found.searched.layouts)
    text = render(found, shown=0)
    assert "Cut after 8 s of the processor: there may be better plans" in text and "best within" not in text
    assert f"{found.looked_at} of {len(found.searched.layouts)} layouts" in text
