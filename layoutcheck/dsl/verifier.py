"""`verify`: what the installed DSL says of copies, the judge of `layoutcheck.atoms.compiler.predict`."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

from layoutcheck.algebra.inttuple import product, wrap
from layoutcheck.analysis.instantiation import instantiations
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.tma import MadeTma, make_tma
from layoutcheck.sources.traced import VERIFIER_PREFIX


def verify(
    copies: Sequence[Copy], timeout: float | None = None, session: Session | None = None, bare: bool = False
) -> list[Prediction]:
    """The DSL's verdict on each copy, through the Python function that `copy.op` names (5 ms a copy).

    `bare` asks the MLIR verifier alone about the operands as they stand, without what the Python layer
    checks and regroups first (0.1 ms a copy). `kind` and `operand` are left empty: the DSL names neither.
    Raises DslUnavailable where the DSL cannot be asked, or `timeout` seconds have passed.
    """
    if session is None:
        with Session() as session:
            return verify(copies, timeout, session, bare)
    whole = [copy.tma is not None for copy in copies]
    plain = [item(copy) for copy, tma in zip(copies, whole, strict=True) if not tma]
    answers = iter(session.ask("verify" if bare else "build", plain, timeout) if plain else ())
    tensors = [(copy, instantiations(copy)[0], 0) for copy, tma in zip(copies, whole, strict=True) if tma]
    made = iter(make_tma(tensors, lower=False, timeout=timeout, session=session) if tensors else ())
    return [_made(next(made)) if tma else verdict(next(answers)) for tma in whole]


def _made(answer: MadeTma) -> Prediction:
    """The DSL's word on a TMA copy between whole tensors."""
    if answer.died:
        return verdict({"died": answer.died})
    return verdict({"error": answer.error, "stage": "tma"} if answer.error else {})


def item(copy: Copy) -> dict[str, Any]:
    """The copy as the worker takes it: the printed types of its operands and the function to call."""
    atom = copy.tiled if copy.tiled is not None else copy.atom
    rest = product(wrap(copy.src.layout.shape)[1:])
    return {
        "call": copy.op,
        "atom": str(atom),
        "src": str(copy.src),
        "dst": str(copy.dst),
        "pred": None if copy.pred is None else str(copy.pred),
        "index": None if copy.index is None else str(copy.index),
        "aux": None if copy.aux is None else str(copy.aux),
        "evict": copy.evict_priority,
        "rest": rest if isinstance(rest, int) else 1,
    }


def verdict(answer: dict[str, Any]) -> Prediction:
    """The worker's answer as a prediction."""
    if "died" in answer:
        name = signal.Signals(answer["died"]).name
        return Prediction("aborts", f"the compiler dies of {name}", evidence={"signal": name})
    if "error" in answer:
        message = VERIFIER_PREFIX.sub("", answer["error"], count=1)
        return Prediction("rejected", message, evidence={"stage": answer["stage"]})
    return Prediction("accepted", evidence={k: v for k, v in answer.items() if k == "ops"})
