"""The algebra beside the real compiler's: equal answers, or a reason found by evaluating both sides.

Where we refuse and the DSL answers, either its answer is wrong, or (products and left inverses only) it
happens to be usable although the operation it is made of has no answer: then we are stricter.
"""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

from layoutcheck import algebra
from layoutcheck.algebra import Layout
from layoutcheck.algebra.layout import text
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.errors import InputError
from tests.algebra.reference import (
    count,
    is_complement,
    is_composition,
    is_left_inverse,
    leaves,
    offset,
    offsets,
)
from tests.algebra.test_differences import ROWS, Row
from tests.conformance.algebra_cases import Case, layout_type, random_case, regrouping_case, shape_type
from tests.conformance.dsl_types import Aborts, Question, Refuses, answers

pytest.importorskip("cutlass", reason="the DSL is not installed: pip install nvidia-cutlass-dsl")

# Refusals that a proof stands behind; anything else would be a bug.
REASONS = ("inadmissible composition", "no complement", "no left inverse", "does not tile")


def ours(case: Case, strict: bool) -> str | InputError:
    try:
        answer = case.ask(strict)
    except InputError as error:
        return error
    return str(answer) if hasattr(answer, "shape") else text(answer)


def read(answer: str | Refuses | Aborts) -> str | None:
    """The DSL's answer, None where it gives none (`x:x` is how it prints an invalid layout)."""
    return answer if isinstance(answer, str) and "x" not in answer else None


def static(*operands: Any) -> bool:
    return all("?" not in str(a) for a in operands)


def walk(parts: list[Any]) -> Any:
    """The sums of one value of each part, the first part fastest."""
    total = np.zeros(1, dtype=np.int64)
    for part in parts:
        total = (np.asarray(part)[:, None] + total[None, :]).reshape(-1)
    return total


def disproved(case: Case, answer: str) -> bool:
    """Whether the DSL's answer breaks the law of the operation, found by evaluating both sides."""
    extents = leaves(algebra.parse_tree(answer.partition(":")[0]))
    if min(extents) < 1:
        return True  # not a layout
    result = algebra.parse_layout(answer)
    a = case.operands[0]
    b = case.operands[1] if len(case.operands) > 1 else None
    if case.op == "composition" and isinstance(b, Layout):
        return not is_composition(result, a, b)
    if case.op == "composition":
        expected = walk([offset(m, offsets(t)) for m, t in zip(a.modes, b, strict=False)])
        return not np.array_equal(offsets(result), expected)
    if case.op == "complement":
        return not is_complement(result, a, algebra.size(b))  # type: ignore[arg-type]
    if case.op == "left_inverse":
        return not is_left_inverse(result, a)
    if case.op.endswith("divide"):
        pairs = [(a, b)] if isinstance(b, Layout) else list(zip(a.modes, b, strict=False))
        return any(not division_holds(m, t if isinstance(t, Layout) else Layout(t)) for m, t in pairs)
    assert case.op == "tile_to_shape" or case.op.endswith("product")
    if case.op == "tile_to_shape" and [algebra.size(m) for m in result.modes] != list(b):
        return True
    return overlaps(result) and not overlaps(a)


def overlaps(a: Layout) -> bool:
    """Whether two coordinates, strides of 0 aside, share an offset."""
    moving = algebra.filter_zeros(a)
    return len(np.unique(offsets(moving))) < count(moving)


def undefined(case: Case) -> bool:
    """Whether the operation has no answer by definition: an overlap to invert, a block to complement."""
    a = case.operands[0]
    if case.op == "left_inverse":
        return overlaps(a)
    if case.op != "tile_to_shape":
        return case.op.endswith("product") and not product_holds(a, case.operands[1])
    _, shape, order = case.operands
    a = algebra.append(a, up_to_rank=len(shape))
    copies = tuple(-(-n // count(m)) for n, m in zip(shape, a.modes, strict=True))
    return not product_holds(a, algebra.make_ordered_layout(copies, order))


def corrected(case: Case, mine: str, dsl: str) -> bool:
    """Whether ours is A(B(c)) and the DSL's is not, with a number for each run-time value."""
    if case.op != "composition":
        return False
    a, b, ours_, theirs = (with_numbers(text) for text in (*map(str, case.operands), mine, dsl))
    return is_composition(ours_, a, b) and not is_composition(theirs, a, b)


def with_numbers(text: str) -> Layout:
    return parse_layout(re.sub(r"\?(?:{[^}]*?(?:div=([0-9]+))?})?", lambda m: str(8 * int(m[1] or 1)), text))


def division_holds(a: Layout, tiler: Layout) -> bool:
    """A o (T, T*), T* being the DSL's, and T* being a complement."""
    try:
        target = algebra.coalesce(a).shape
        rest = algebra.complement(tiler, target, strict=False)
        both = algebra.make_layout(tiler, rest)
        result = algebra.composition(a, both, strict=False)
    except InputError:
        return False
    return is_complement(rest, tiler, count(a)) and is_composition(result, a, both)


def product_holds(block: Layout, tiler: Layout) -> bool:
    """(A, A* o B), A* being the DSL's, and A* being a complement."""
    room = count(block) * algebra.cosize(tiler)  # type: ignore[operator]
    try:
        rest = algebra.complement(block, room, strict=False)
        moved = algebra.composition(rest, tiler, strict=False)
    except InputError:
        return False
    return is_complement(rest, block, room) and is_composition(moved, rest, tiler)


def compare(cases: list[Case]) -> Counter[str]:
    """Every case beside the DSL; what may happen is counted, all else fails."""
    tally: Counter[str] = Counter()
    for case, answer in zip(cases, answers([c.question for c in cases]), strict=True):
        dsl = read(answer)
        mine, theirs = ours(case, strict=True), ours(case, strict=False)
        if isinstance(mine, InputError):
            fits = any(reason in mine.message for reason in REASONS)
            fits = fits or case.op in ("right_inverse", "crd2idx", "slice", "recast_layout", "coalesce")
            assert fits, f"{case}: {mine.message}"
        if dsl is None:
            tally["neither" if isinstance(mine, InputError) else f"ours alone: {case.op}"] += 1
        elif isinstance(mine, str) and mine != dsl:
            assert corrected(case, mine, dsl), f"{case}: ours {mine}, the DSL's {dsl}"
            tally["the DSL's is wrong"] += 1
        elif isinstance(mine, str):
            tally["equal"] += 1
            tally["equal, of two operands"] += len(case.operands) > 1
        elif static(*case.operands):
            if disproved(case, dsl):
                tally["the DSL's is wrong"] += 1
            else:
                assert undefined(case), f"{case}: refused ({mine.message}), but the DSL's {dsl} is right"
                tally[f"we are stricter: {case.op}"] += 1
        else:
            tally["refused, with run-time values"] += 1
        if dsl is not None and isinstance(theirs, str):
            assert theirs == dsl, f"{case}, strict=False: ours {theirs}, the DSL's {dsl}"
    return tally


def sample(seed: int, number: int, dynamic: float) -> list[Case]:
    rng = Random(seed)
    return [random_case(rng, dynamic) for _ in range(number)]


@pytest.mark.parametrize(("seed", "dynamic"), [(1, 0.0), (2, 0.2)])
def test_random_questions(seed: int, dynamic: float) -> None:
    tally = compare(sample(seed, 150, dynamic))
    assert tally["equal"] > 85


@pytest.mark.parametrize("seed", [5, pytest.param(6, marks=pytest.mark.sweep)])
def test_modes_are_grouped_ordered_and_left_as_the_dsl_has_them(seed: int) -> None:
    """Equal results and equal refusals; without strict only where a composition would be inadmissible."""
    rng = Random(seed)
    cases = [regrouping_case(rng) for _ in range(600 if seed == 5 else 20_000)]
    tally: Counter[str] = Counter()
    for case, answer in zip(cases, answers([case.question for case in cases]), strict=True):
        mine, dsl = ours(case, strict=False), read(answer)
        assert (mine if isinstance(mine, str) else None) == dsl, f"{case}: ours {mine}, the DSL's {answer}"
        tally[f"{case.op} {'refused' if dsl is None else 'answered'}"] += 1
    for op in ("group_modes", "make_ordered_layout", "zipped_divide", "slice"):
        assert tally[f"{op} answered"] > 10, tally
        assert op == "slice" or tally[f"{op} refused"] > 3, tally


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 106))
def test_sweep_static(seed: int) -> None:
    tally = compare(sample(seed, 5000, 0.0))
    print(seed, dict(tally))
    assert tally["equal"] > 4000


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(200, 203))
def test_sweep_with_run_time_values(seed: int) -> None:
    tally = compare(sample(seed, 5000, 0.2))
    print(seed, dict(tally))
    assert tally["equal"] > 3000


def question(row: Row) -> Question:
    types = [layout_type(row.left)]
    if row.right is not None:
        types.append(layout_type(row.right) if isinstance(row.right, Layout) else shape_type(row.right))
    if row.operation == "tile_to_shape":
        types.append(f'!cute.int_tuple<"{text(tuple(range(len(row.right))))}">')
    return Question(f"cute.{row.operation}", tuple(types))


def test_the_recorded_differences_are_the_dsls_answers() -> None:
    for row, answer in zip(ROWS, answers([question(r) for r in ROWS]), strict=True):
        assert (read(answer) or "") == row.dsl, f"{row.operation} {row.left} {row.right}: {answer}"
        if row.operation in ("composition", "logical_divide", "left_inverse", "tile_to_shape") and row.dsl:
            assert row.ask(strict=False) == row.dsl


def test_a_product_that_ends_the_dsls_process() -> None:
    block, tiler = algebra.parse_layout("(4,2):(1,1)"), algebra.parse_layout("12:1")
    asked = Question("cute.logical_product", (layout_type(block), layout_type(tiler)))
    fine = Question("cute.coalesce", (layout_type(block),))
    assert answers([asked, fine]) == [Aborts(8), "(4,2):(1,1)"]  # SIGFPE; the next question is answered
    with pytest.raises(InputError, match="no complement"):
        algebra.logical_product(block, tiler)


def test_identity_layouts_print_as_the_dsls() -> None:
    shapes: list[Any] = [4, (4,), (4, 8), (2, (3, 4), 5), ((2, (3, 4)), 5), (4, (2, (3, 5), 6))]
    questions = [Question("cute.make_identity_layout", (shape_type(s),)) for s in shapes]
    assert answers(questions) == [str(algebra.make_identity_layout(s)) for s in shapes]


@pytest.mark.parametrize("seed", [1])
def test_max_alignment_is_the_dsls(seed: int) -> None:
    from cutlass._mlir import ir

    rng = Random(seed)
    with ir.Context():
        for case in (random_case(rng, 0.1) for _ in range(400)):
            a = case.operands[0]
            if isinstance(a, Layout) and a.is_static and min(leaves(a.stride)) >= 0:
                assert algebra.max_alignment(a) == ir.Type.parse(layout_type(a)).max_alignment, str(a)
