"""`Analysis`: everything that is known about one copy, each part worked out once and only when asked."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from layoutcheck.analysis import vector
from layoutcheck.analysis.comparison import Comparison, compare
from layoutcheck.analysis.instantiation import bases, instantiations, same_everywhere
from layoutcheck.atoms.autovec import resolve
from layoutcheck.atoms.compiler import predict
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.intent import intent
from layoutcheck.atoms.other import OtherAtom
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import Execution, Intent
from layoutcheck.copies.tails import guarded
from layoutcheck.errors import InputError


class Run(NamedTuple):
    """One run of the copy in the model: run-time values, base addresses, what was asked and what was done."""

    instance: Copy
    src_base: int
    dst_base: int
    intent: Intent
    execution: Execution
    comparison: Comparison


class Analysis:
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
    def _run(self) -> tuple[tuple[Run, ...], InputError | None]:
        if not self.accepted or isinstance(self.copy.atom, OtherAtom):
            return (), None
        runs: list[Run] = []
        try:
            for instance in instantiations(self.copy):
                *hostile, comfortable = bases(instance)
                last = self._one_run(instance, *comfortable)
                alike = same_everywhere(instance, last.execution)
                for run in (*(self._one_run(instance, *pair) for pair in hostile if not alike), last):
                    runs.append(run)
                    if not run.comparison.clean:
                        return tuple(runs), None  # one counterexample is enough
        except InputError as error:
            return tuple(runs), error
        return tuple(runs), None

    def _one_run(self, instance: Copy, src_base: int, dst_base: int) -> Run:
        asked = intent(instance, src_base, dst_base)
        done = execution(self.copy, src_base, dst_base, instance)
        asked, done = guarded(asked, done, instance)
        comparison = compare(asked, done, instance, src_base, dst_base)
        return Run(instance, src_base, dst_base, asked, done, comparison)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs made, up to and including the first that went wrong; none for a refused copy."""
        return self._run[0]

    @property
    def obstacle(self) -> InputError | None:
        """Why the runs could not be made, where they could not."""
        return self._run[1]

    @cached_property
    def worst(self) -> Run | None:
        """The run that went wrong, if one did."""
        return self.runs[-1] if self.runs and not self.runs[-1].comparison.clean else None

    @property
    def effect(self) -> Comparison | None:
        """What went wrong in it."""
        return self.worst.comparison if self.worst else None

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
