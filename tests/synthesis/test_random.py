"""Programs of random requests, compiled by the installed DSL and run on the CPU: every byte is right."""

from __future__ import annotations

import random
from typing import Any

import pytest

from layoutcheck.dsl.session import Session
from layoutcheck.errors import InputError
from layoutcheck.synthesis.compiled import arguments
from layoutcheck.synthesis.plans import Plan, synthesize
from layoutcheck.synthesis.reading import read
from layoutcheck.synthesis.request import TileRequest
from tests.synthesis.simulated import wrong

REQUESTS, MOST_SECONDS = 120, 120.0
TARGETS = (
    "ldmatrix", "ldmatrix.trans", "wgmma.A", "wgmma.B", "registers", "gmem", "gmem", "gmem", "ldmatrix,gmem",
    "ldmatrix,ldmatrix.trans^T", "registers,gmem", "wgmma.B,gmem", "wgmma.A,ldmatrix", "ldmatrix.trans,gmem",
    "ldmatrix,ldmatrix", "wgmma.A,wgmma.B^T",
)  # fmt: skip
TYPES = (
    "bf16", "bf16", "f16", "f16", "f32", "tf32", "f64", "i64", "i32", "i16", "i8", "ui8", "f8E4M3FN", "i4",
    "f4E2M1FN",
)  # fmt: skip


def request(rng: random.Random, divisor: int) -> TileRequest:
    """Of any kind that there is; not all can be served."""
    tensors = [
        f"(?{{div={divisor}}},?{{div={divisor}}}):(1,?{{div={divisor}}})",
        f"(?{{div={divisor}}},?{{div={divisor}}}):(?{{div={divisor}}},1)",
    ]
    arch = rng.choice(["sm_90a", "sm_90a", "sm_90a", "sm_80", "sm_89", "sm_100a", "sm_120a"])
    to, element = rng.choice(TARGETS), rng.choice(TYPES)
    if arch == "sm_100a":
        to = to.replace("wgmma", "tcgen05")
    given: dict[str, Any] = {"dst": rng.choice(tensors)} if "gmem" in to else {}
    source = rng.choice(tensors)
    if to == "gmem" and rng.random() < 0.3:
        source, element = "accumulator", rng.choice(["bf16", "f16"])
    half = element in ("bf16", "f16")
    if half and source != "accumulator" and rng.random() < 0.3:
        given["src_dtype"] = "f32"
    if half and "gmem" in to and rng.random() < 0.3:
        given["dst_dtype"] = "f32"
    return TileRequest(
        (rng.choice([8, 16, 24, 32, 48, 64, 80, 96, 112]), rng.choice([16, 32, 48, 64, 80, 96])),
        source,
        to,
        dtype=element,
        threads=rng.choice([32, 64, 96, 128, 256]),
        stages=rng.choice([1, 1, 2, 3, 4]),
        tails=rng.random() < 0.5,
        arch=arch,
        engine=rng.choice([None, "tma", "cp.async", "universal", "cp.async,universal"]),
        **given,
    )


def ptx_of(dsl: Session, plan: Plan) -> str:
    """Of its program as it is printed."""
    item = {"code": plan.code, "arch": str(plan.wanted.arch), "arguments": arguments(plan.wanted)}
    [answer] = dsl.ask("program", [{**item, "scalars": 0, "looks": False}], MOST_SECONDS)
    assert "ptx" in answer, f"{answer}\n{plan.code}"
    return str(answer["ptx"])


def tried(dsl: Session, seed: int) -> str:
    """Of a request one plan without TMA is run, one with it compiled alone: "right", or why neither was."""
    rng = random.Random(f"programs {seed}")
    divisor = rng.choice([1, 2, 4, 8, 16, 32])
    try:
        plans = synthesize(read(request(rng, divisor))).plans
    except InputError:
        return "no plan"
    bulk = [plan for plan in plans if "tma" in plan.kind]
    others = [plan for plan in plans if plan not in bulk]
    if bulk and (not others or rng.random() < 0.3):
        ptx_of(dsl, rng.choice(bulk))
    if not others:
        return "compiled"
    plan = rng.choice(others)
    ptx = ptx_of(dsl, plan)
    said = wrong(plan, ptx, rng, max(1, divisor // (2 if plan.wanted.packed else 1)))
    assert not said, f"seed {seed}, {plan.kind}: {said}\n{plan.code}"
    return "large" if said is None else "right"


@pytest.mark.sweep
@pytest.mark.dsl
def test_random_programs_move_every_byte() -> None:
    found: dict[str, int] = {}
    with Session() as dsl:
        for seed in range(REQUESTS):
            said = tried(dsl, seed)
            found[said] = found.get(said, 0) + 1
    print(found)
    assert found["right"] > REQUESTS // 5


@pytest.mark.sweep
@pytest.mark.dsl
def test_a_program_whose_threads_all_copy_the_first_one_s_elements_is_told() -> None:
    made = synthesize(read(TileRequest((32, 64), "(?,?):(?{div=8},1)", "ldmatrix", engine="cp.async")))
    with Session() as dsl:
        ptx = ptx_of(dsl, made.best)
    assert wrong(made.best, ptx, random.Random(1), 8) == ""
    assert "bytes of" in (wrong(made.best, ptx.replace("%tid.x", "%ctaid.x"), random.Random(1), 8) or "")
