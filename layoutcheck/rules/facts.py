"""`Facts`: everything the rules ask about one copy, each worked out once and only when asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from layoutcheck.copies.autovec import resolve
from layoutcheck.copies.compiler import Prediction, predict
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.difference import Difference, compare
from layoutcheck.copies.execution import Execution, execution
from layoutcheck.copies.intent import intent
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import Intent
from layoutcheck.copies.tails import guarded
from layoutcheck.copies.witness import bases, same_everywhere, witnesses
from layoutcheck.errors import InputError
from layoutcheck.machine.atoms import OtherAtom
from layoutcheck.rules import vector


class Trial(NamedTuple):
    """One run of the copy in the model: run-time values, base addresses, what was asked and what was done."""

    witness: Copy
    src_base: int
    dst_base: int
    intent: Intent
    execution: Execution
    difference: Difference


class Facts:
    """The copy, the compiler's answer, and the machine's."""

    def __init__(self, copy: Copy) -> None:
        self.copy = copy

    @cached_property
    def prediction(self) -> Prediction:
        """What the compiler says."""
        return predict(self.copy)

    @property
    def accepted(self) -> bool:
        """Whether the copy reaches the machine at all."""
        return self.prediction.accepted

    @cached_property
    def resolved(self) -> Copy:
        """The copy that the compiler really builds (autovec_copy and its kin choose an atom).

        The copy as it is where it gets that far with none: of layouts whose composition it refuses.
        """
        if self.copy.atom is None or self.copy.op in ("autovec_copy", "basic_copy", "basic_copy_if"):
            try:
                return resolve(self.copy)
            except InputError:
                return self.copy
        return self.copy

    @cached_property
    def _run(self) -> tuple[tuple[Trial, ...], InputError | None]:
        if not self.accepted or isinstance(self.copy.atom, OtherAtom):
            return (), None
        trials: list[Trial] = []
        try:
            for witness in witnesses(self.copy):
                *hostile, comfortable = bases(witness)
                last = self._trial(witness, *comfortable)
                alike = same_everywhere(witness, last.execution)
                for trial in (*(self._trial(witness, *pair) for pair in hostile if not alike), last):
                    trials.append(trial)
                    if not trial.difference.clean:
                        return tuple(trials), None  # one counterexample is enough
        except InputError as error:
            return tuple(trials), error
        return tuple(trials), None

    def _trial(self, witness: Copy, src_base: int, dst_base: int) -> Trial:
        asked = intent(witness, src_base, dst_base)
        done = execution(self.copy, src_base, dst_base, witness)
        asked, done = guarded(asked, done, witness)
        difference = compare(asked, done, witness, src_base, dst_base)
        return Trial(witness, src_base, dst_base, asked, done, difference)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The runs made, up to and including the first that went wrong; none for a refused copy."""
        return self._run[0]

    @property
    def obstacle(self) -> InputError | None:
        """Why the runs could not be made, where they could not."""
        return self._run[1]

    @cached_property
    def worst(self) -> Trial | None:
        """The run that went wrong, if one did."""
        return self.trials[-1] if self.trials and not self.trials[-1].difference.clean else None

    @property
    def effect(self) -> Difference | None:
        """What went wrong in it."""
        return self.worst.difference if self.worst else None

    @property
    def width_bits(self) -> int:
        """Bits of one instruction of the atom; 0 where the compiler chooses."""
        return vector.width_bits(self.resolved)

    @property
    def width_bytes(self) -> int:
        """Bytes of one instruction of the atom; 0 where the compiler chooses."""
        return self.width_bits // 8

    @property
    def per_instruction(self) -> int:
        """Elements of one instruction of the atom."""
        return vector.elements(self.resolved)

    def view(self, side: str) -> Memref:
        """The operand as `cute.copy` sees it."""
        return self.copy.side(side)

    def whole(self, side: str) -> Memref:
        """The tensor that the view was partitioned from; the view itself where it was not."""
        return self.copy.side(side) if self.copy.tiling is None else self.copy.tiling.side(side)


def plain(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Evidence as JSON has it: integers, strings, booleans, lists of them; anything else as text."""
    return {key: _plain(value) for key, value in evidence.items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return str(value)
