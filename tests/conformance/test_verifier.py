"""`predict` against the installed DSL: every verdict and every message, on random copies of all families.

By default 8,000 copies go to the MLIR verifier and some hundreds through the DSL's own Python functions;
`-m sweep` takes 200,000 and 6,000. A disagreement is shrunk, mended and kept in
tests/copies/test_compiler.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

cutlass = pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from layoutcheck.atoms.autovec import resolve  # noqa: E402
from layoutcheck.atoms.compiler import predict, predict_verifier  # noqa: E402
from layoutcheck.copies.compiler.prediction import Prediction  # noqa: E402
from layoutcheck.copies.copy import Copy  # noqa: E402
from layoutcheck.copies.memref import Memref  # noqa: E402
from layoutcheck.dsl.session import Session  # noqa: E402
from layoutcheck.dsl.verifier import verify  # noqa: E402
from layoutcheck.sources.request import build  # noqa: E402
from tests.conformance.generate import random_copy  # noqa: E402
from tests.copies.test_compiler import ABORTS, ACCEPTED, REJECTED, THROUGH_PYTHON  # noqa: E402
from tests.miscompiles import MISCOMPILES  # noqa: E402

# Every way a copy can fail in the verifier; all of them must occur among the 8,000.
KINDS = {
    "", "atom_form", "atom_options", "atom_width", "dst_alignment", "dynamic_shape", "dynamic_strides",
    "element_width", "inadmissible_vector", "mode_size", "npow2_sub_byte", "pointer_type",
    "pred_dynamic_shape", "pred_rank", "pred_shape", "pred_space", "pred_width", "rank", "rest_v_size",
    "space", "src_alignment", "static_strides_match", "static_strides_one", "unaligned_sub_byte", "width",
}  # fmt: skip

# Element types that the DSL has no Python class for: no tensor of them can be made in Python.
WITHOUT_CLASS = ("i2", "i12", "i24", "index", "ui8", "si8")


def disagreements(
    copies: Sequence[Copy], ours: Sequence[Prediction], theirs: Sequence[Prediction]
) -> list[str]:
    """Copies whose outcome or message differs, the shortest first; our words for an abort are our own."""
    found = [
        f"{c.op} {c.tiled or c.atom}, {c.src}, {c.dst}, {c.pred}\n  predicted {p}\n  DSL       {v}"
        for c, p, v in zip(copies, ours, theirs, strict=True)
        if p.outcome != v.outcome or (p.outcome == "rejected" and p.message != v.message)
    ]
    return sorted(found, key=len)[:5]


def against_the_verifier(dsl: Session, seed: int, count: int) -> Counter[str]:
    """Compare `count` copies and return how often each kind occurred."""
    rng = Random(seed)
    copies = [random_copy(rng) for _ in range(count)]
    ours = [predict_verifier(copy) for copy in copies]
    theirs = verify(copies, session=dsl, bare=True)
    assert not disagreements(copies, ours, theirs)
    return Counter(prediction.kind for prediction in ours)


def test_every_verdict_and_message_of_2_000_random_copies(dsl: Session) -> None:
    kinds = against_the_verifier(dsl, seed=4, count=2_000)
    assert set(kinds) == KINDS
    assert 0.2 < kinds[""] / 2_000 < 0.8  # near the border, on both sides of it


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 110))
def test_sweep_verifier(dsl: Session, seed: int) -> None:
    against_the_verifier(dsl, seed, 20_000)


@settings(max_examples=50, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_verifier_by_hypothesis(dsl: Session, rng: Random) -> None:
    copy = random_copy(rng)
    assert not disagreements([copy], [predict_verifier(copy)], verify([copy], session=dsl, bare=True))


# ---- through Python ----


def pythonic(rng: Random, op: str) -> Copy:
    """A random copy that Python can write, as `op`."""
    while True:
        copy = replace(random_copy(rng), op=op, evict_priority=op == "autovec_copy" and rng.random() < 0.15)
        views = [view for view in (copy.src, copy.dst, copy.pred) if view is not None]
        if any(view.dtype.name in WITHOUT_CLASS for view in views):
            continue
        if op == "basic_copy_if":
            if copy.pred is None or not _loopable(copy):
                continue
        elif op in ("autovec_copy", "basic_copy"):
            copy = replace(copy, pred=None, tiled=None)
        return copy


def _loopable(copy: Copy) -> bool:
    """Few elements (the loop is unrolled), and no i1, whose loads and stores convert."""
    size = 1
    for leaf in re.findall(r"\d+", str(copy.src.layout).split(":")[0]):
        size *= int(leaf)
    return size <= 64 and "i1" not in (copy.src.dtype.name, copy.dst.dtype.name, copy.pred.dtype.name)  # type: ignore[union-attr]


def test_single_elements_are_stored_to_any_other_type_as_the_dsl_says(dsl: Session) -> None:
    names = ("i1", "i4", "i8", "si8", "ui8", "i16", "ui32", "i64", "f16", "bf16", "f32", "f8E4M3FN", "f8E5M2")
    views = [f'!cute.memref<{name}, rmem, align<16>, "(?):(1)">' for name in names]
    copies = [build(src=src, dst=dst, op="basic_copy")[0] for src in views for dst in views]
    ours = [predict(copy) for copy in copies]
    assert not disagreements(copies, ours, verify(copies, session=dsl))
    kinds = Counter(prediction.kind for prediction in ours)
    assert {"", "element_type", "element_width", "sub_byte_element"} == set(kinds)


OPS = ("copy", "copy_atom_call", "autovec_copy", "basic_copy", "basic_copy_if")


def against_python(dsl: Session, op: str, seed: int, count: int) -> None:
    rng = Random(seed)
    copies = [pythonic(rng, op) for _ in range(count)]
    ours = [predict(copy) for copy in copies]
    theirs = verify(copies, session=dsl)
    assert not disagreements(copies, ours, theirs)
    if op in ("autovec_copy", "basic_copy"):
        for copy, answer in zip(copies, theirs, strict=True):
            if answer.accepted:
                assert built(resolve(copy)) == [without_align(op) for op in answer.evidence["ops"]]


def built(copy: Copy) -> list[str]:
    """The operand types of the copy operation that a resolved copy is; none where it is a loop."""
    if copy.op != "copy":
        return []
    return [without_align(f"({copy.atom}, {copy.src}, {copy.dst})")]


def without_align(operation: str) -> str:
    """The operand types without alignment (default ones are not printed) and identity swizzles."""
    types = operation[operation.index("(!cute") :]
    return re.sub(r", align<\d+>|, S<0,\d+,-?\d+>", "", types)


@pytest.mark.parametrize("op", OPS)
def test_every_verdict_through_the_python_functions(dsl: Session, op: str) -> None:
    against_python(dsl, op, seed=11, count=40 if op == "basic_copy_if" else 80)


@pytest.mark.sweep
@pytest.mark.parametrize("op", OPS)
def test_sweep_python_functions(dsl: Session, op: str) -> None:
    against_python(dsl, op, seed=12, count=1200)


def test_the_tables_of_the_unit_tests_are_what_the_dsl_says(dsl: Session) -> None:
    tables = [*(row[0] for row in REJECTED), *ACCEPTED, *(row[0] for row in ABORTS)]
    ours = [predict_verifier(copy) for copy in tables]
    assert not disagreements(tables, ours, verify(tables, session=dsl, bare=True))
    through = [row[0] for row in THROUGH_PYTHON]
    assert not disagreements(through, [predict(copy) for copy in through], verify(through, session=dsl))


@pytest.mark.parametrize("name", MISCOMPILES)
def test_every_hole_is_accepted_by_both(dsl: Session, name: str) -> None:
    """The compiler's silence is what makes them holes."""
    broken, fixed, _ = MISCOMPILES[name]
    ours = [predict(broken), predict(fixed)]
    assert not disagreements([broken, fixed], ours, verify([broken, fixed], session=dsl))
    assert ours[0].accepted


def test_the_predicate_of_a_copy_may_be_any_memref(dsl: Session) -> None:
    """A predicate's own alignment and swizzle matter to nobody."""
    rng = Random(5)
    copies = []
    while len(copies) < 50:
        copy = random_copy(rng)
        if copy.pred is not None and copy.pred.space == "smem":
            copies.append(replace(copy, pred=Memref(copy.pred.dtype, "smem", copy.pred.layout, 3)))
    ours = [predict_verifier(copy) for copy in copies]
    assert not disagreements(copies, ours, verify(copies, session=dsl, bare=True))
