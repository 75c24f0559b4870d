"""The simulator: what the compiler emits does what `execution` predicts; altered predictions are caught."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.copies.copy import Copy
from layoutcheck.gpu import simulate as simulator
from layoutcheck.gpu.confirm import _judged, run
from layoutcheck.gpu.images import POISON
from layoutcheck.gpu.job import Job
from layoutcheck.gpu.make_job import make_job
from layoutcheck.gpu.outcome import Confirmation
from layoutcheck.gpu.prepare import Prepared, prepare
from tests.gpu.sweep import random_tail, sample
from tests.miscompiles import MISCOMPILES

pytest.importorskip("cutlass", reason="the simulator runs what nvidia-cutlass-dsl emits")

COPIES = {
    f"{name}-{kind}": one[i]
    for name, one in MISCOMPILES.items()
    for i, kind in enumerate(("broken", "fixed"))
}
SIMULATED = sorted(name for name, copy in COPIES.items() if not isinstance(copy.atom, (LdMatrix, StMatrix)))


@pytest.fixture(scope="module")
def prepared() -> dict[str, Prepared]:
    return {one.name: one for one in prepare(list(COPIES.items()))}


def judged(one: Prepared) -> Confirmation:
    assert one.task is not None
    outcome = simulator.simulate(one.task)
    assert not outcome.error, outcome.error
    return _judged(one, outcome, "simulator")


def test_every_hole_does_what_is_predicted(prepared: dict[str, Prepared]) -> None:
    for name in SIMULATED:
        found = judged(prepared[name])
        assert found.agrees and found.compiler_agrees, found
        assert (found.verdict == "wrong") == name.endswith("broken"), found


def test_predicates_and_tails_do_what_is_predicted() -> None:
    for one in prepare(sample(24, 4, random_tail)):
        found = judged(one)
        assert found.agrees and found.compiler_agrees, (found, one.copy)


def test_matrix_copies_are_not_claimed_to_have_run(prepared: dict[str, Prepared]) -> None:
    for name in COPIES.keys() - SIMULATED:
        task = prepared[name].task
        assert task is not None
        outcome = simulator.simulate(task)
        assert "need a GPU" in outcome.error and outcome.as_predicted is None


def _moved(job: Job) -> Job:
    """The prediction with its first written unit coming from one unit further."""
    predicted = job.predicted.copy()
    predicted[np.flatnonzero(predicted >= 0)[0]] += 1
    return replace(job, predicted=predicted)


def _spilled(job: Job) -> Job:
    """The prediction with one unit of the guard written."""
    predicted = job.predicted.copy()
    predicted[np.flatnonzero(predicted == POISON)[0]] = 0
    return replace(job, predicted=predicted)


def _faulting(job: Job) -> Job:
    return replace(job, fault="misaligned")


def _clean(job: Job) -> Job:
    return replace(job, fault="")


@pytest.mark.parametrize(
    ("name", "alter"),
    [("h01-fixed", _moved), ("h01-broken", _moved), ("h01-fixed", _spilled), ("h01-fixed", _faulting),
     ("h02-broken", _clean)],
)  # fmt: skip
def test_an_altered_prediction_disagrees(
    name: str, alter: object, prepared: dict[str, Prepared], monkeypatch: pytest.MonkeyPatch
) -> None:
    def altered(copy: Copy) -> Job:
        return alter(make_job(copy))  # type: ignore[operator,no-any-return]

    assert judged(prepared[name]).agrees
    monkeypatch.setattr(simulator, "make_job", altered)
    found = judged(prepared[name])
    assert found.agrees is False and found.disagrees
    if not found.fault and not found.expected_fault:
        assert found.first["differing"] == 1


def test_an_altered_verdict_disagrees(prepared: dict[str, Prepared]) -> None:
    assert replace(judged(prepared["h01-broken"]), verdict="legal", codes=()).agrees is False
    assert replace(judged(prepared["h01-fixed"]), verdict="wrong", codes=("LC201",)).agrees is False
    assert replace(judged(prepared["h01-fixed"]), verdict="rejected").disagrees


def test_without_a_gpu_the_run_says_so(
    prepared: dict[str, Prepared], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # none, where there are some
    reported: list[tuple[str, int, int]] = []
    found, machine = run(
        [prepared["h01-broken"], prepared["h18-broken"]], progress=lambda *step: reported.append(step)
    )
    assert machine["name"] == "simulator" and "no GPU can be used" in machine["why"]
    assert [one.ran for one in found] == ["simulator", "nothing"]
    assert reported == [("run", 0, 2), ("run", 1, 2), ("run", 2, 2)]
