"""Canonical operand layouts against the DSL: what `make_gmma_smem_desc` and `make_umma_smem_desc` refuse,
and why."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

cutlass = pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")

from layoutcheck.algebra.layout import Layout  # noqa: E402
from layoutcheck.algebra.notation import parse_layout, parse_swizzle  # noqa: E402
from layoutcheck.dsl.session import Session  # noqa: E402
from layoutcheck.machine.canonical import canonical  # noqa: E402
from layoutcheck.machine.canonical.decide import decide, first_step  # noqa: E402
from layoutcheck.machine.canonical.modes import NONE  # noqa: E402
from layoutcheck.machine.dtypes import dtype  # noqa: E402

OPS = {"wgmma": "make_gmma_smem_desc", "tcgen05": "make_umma_smem_desc"}
TYPES = ("f16", "bf16", "tf32", "f8E4M3FN", "f8E5M2", "si8", "f32")
SWIZZLES = (None, "S<1,4,3>", "S<2,4,3>", "S<3,4,3>", "S<2,5,2>", "S<3,3,3>")
WIDTHS = {None: 1, "S<1,4,3>": 2, "S<2,4,3>": 4, "S<3,4,3>": 8, "S<2,5,2>": 8, "S<3,3,3>": 8}

Question = tuple[Layout, str, str, str | None, str]  # layout, element, major, swizzle, unit


def question(rng: Random) -> Question:
    """A layout near a canonical one: sound, or with one stride or extent spoiled."""
    unit, name, major, swizzle = (
        rng.choice(list(OPS)), rng.choice(TYPES), rng.choice(("K", "MN")), rng.choice(SWIZZLES)
    )  # fmt: skip
    bits = dtype(name).bits
    per, width = 128 // bits, WIDTHS[swizzle]
    run = per * width

    def spoil(x: int) -> int:
        if rng.random() < 0.9:
            return x
        return rng.choice((2 * x, x // 2 or 1, x + 1, x + per, 1, 0, 64, 128, 60, 2, 4, 8))

    mn: tuple[object, object]
    k: tuple[object, object]
    if major == "K":
        n = rng.choice((8, 8, 16, 64, 128, 24, 12, 4))
        extent = rng.choice((2 * per, 2 * per, 2 * per, 4 * per, per, 8 * per, max(1, per // 2)))
        row = spoil(run)
        mn = (n, row)
        if rng.random() < 0.65:
            mn = ((8, max(1, n // 8)), (row, spoil(rng.choice((8 * row, 16 * row, 1024)))))
        if rng.random() < 0.1:
            mn = (((2, 4), max(1, n // 8)), ((row, 2 * row + rng.choice((0, 0, 8))), 8 * row))
        k = (extent, spoil(1))
        if width == 1 or rng.random() < 0.3:
            k = ((per, max(1, extent // per)), (spoil(1), spoil(rng.choice((per, 8 * per, n * per, 64)))))
    else:
        n = rng.choice((run, run, 2 * run, 4 * run, per, 64, 128, max(1, per // 2)))
        extent = rng.choice((*(256 // bits,) * 5, 512 // bits, 8, 4))
        column = spoil(run)
        mn = (n, spoil(1))
        if n > run and rng.random() < 0.6:
            mn = ((run, n // run), (spoil(1), spoil(rng.choice((8 * run, run * extent, 1024)))))
        k = (extent, column)
        if rng.random() < 0.5:
            k = ((8, max(1, extent // 8)), (column, spoil(rng.choice((8 * column, 1024, 64)))))
        if rng.random() < 0.1:
            k = (((2, 4), max(1, extent // 8)), ((column, 2 * column + rng.choice((0, 8))), 8 * column))
    return Layout((mn[0], k[0]), (mn[1], k[1])), name, major, swizzle, unit


def item(asked: Question) -> dict[str, str]:
    layout, name, major, swizzle, unit = asked
    pointer = f"!cute.ptr<{name}, smem, align<128>{f', {swizzle}' if swizzle else ''}>"
    vector = f"(({layout[0].shape},{layout[1].shape}),1):(({layout[0].stride},{layout[1].stride}),0)"
    return {
        "arguments": f"%p: {pointer}",
        "body": f'%d = "cute_nvgpu.{OPS[unit]}"(%p) {{layout = #cute.layout<"{vector.replace(" ", "")}">, '
        f"major = #cute_nvgpu.major<{major.lower()}>}} : ({pointer}) -> !cute_nvgpu.smem_desc",
    }


def said(answer: dict[str, object]) -> str:
    """The DSL's answer as `Decision` has it: the message, "aborts", or nothing."""
    if "died" in answer:
        return "aborts"
    message = str(answer.get("error", "")).split(" op ", 1)[-1].split(" logicalBitWidth")[0]
    return message.split(" in spaces (smem)")[0]


def agree(dsl: Session, questions: list[Question]) -> Counter[str]:
    seen: Counter[str] = Counter()
    wrong = []
    for asked, answer in zip(questions, dsl.ask("parse", [item(q) for q in questions]), strict=True):
        layout, name, major, swizzle, unit = asked
        ours = decide(layout, dtype(name), major, parse_swizzle(swizzle) if swizzle else NONE, unit)
        mine = "aborts" if ours.aborts else ours.message
        seen[mine.split(": ")[-1]] += 1
        if mine != said(answer):
            wrong.append(f"{asked}: {mine!r}, DSL {said(answer)!r}")
    assert not wrong, f"{len(wrong)} of {len(questions)}:\n" + "\n".join(sorted(wrong, key=len)[:6])
    return seen


def test_every_decision_and_reason(dsl: Session) -> None:
    rng = Random(1)
    seen = agree(dsl, [question(rng) for _ in range(600)])
    assert seen[""] > 100
    assert len(seen) >= 7


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(2, 4))
def test_sweep(dsl: Session, seed: int) -> None:
    rng = Random(seed)
    print(dict(agree(dsl, [question(rng) for _ in range(20_000)])))


def test_the_nearest_layout_is_accepted(dsl: Session) -> None:
    """What is proposed makes a descriptor for the first K step, and is legal by our own element-wise test."""
    rng = Random(5)
    proposed: list[Question] = []
    while len(proposed) < 60:
        layout, name, major, swizzle, unit = question(rng)
        found = canonical(layout, name, major, swizzle, unit)
        if not found.nearest:
            continue
        kind = found.nearest_name.split("_")[0]
        assert canonical(found.nearest, name, kind, found.nearest_swizzle, unit).verdict == "legal"
        pointer, outer = found.nearest_swizzle, found.nearest
        one = first_step(parse_layout(outer), dtype(name).bits)
        proposed.append((one, name, kind, None if pointer == "S<0,4,3>" else pointer, unit))
    answers = dsl.ask("parse", [item(q) for q in proposed])
    assert [(q, said(a)) for q, a in zip(proposed, answers, strict=True) if said(a)] == []
