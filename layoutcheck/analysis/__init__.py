"""What a copy is asked to do, what it does, and where the two differ: `Analysis`. Start reading here.

A CuTe copy has two meanings. Its **intent** is in the layouts: element i of the source view goes to element
i of the destination view. Its **execution** is in the instructions: instruction k of thread t moves w
adjacent bytes from one address to another. The compiler checks shapes, widths and alignments; it never asks
whether the two meanings agree. This package does, and everything else in layoutcheck reads the answer.

NVIDIA/cutlass#2320 shows it in one thread. A tile of bf16 is column-major in global memory and row-major in
shared memory, 64 elements a row. One 16-byte `cp.async` is to take 8 elements down a column:

    >>> from layoutcheck.sources.request import build
    >>> copy, _ = build("(8):(1)", "(8):(64)", "cp.async", bits=128, dtype="bf16")
    >>> analysis = Analysis(copy)
    >>> analysis.prediction.outcome
    'accepted'

Both meanings are arrays of byte addresses; here they are, counted from the bases of the two tensors:

    element                    0     1     2     3     4     5     6     7
    read, asked and done      +0    +2    +4    +6    +8   +10   +12   +14
    written, asked            +0  +128  +256  +384  +512  +640  +768  +896
    written, done             +0    +2    +4    +6    +8   +10   +12   +14

    >>> run = analysis.worst
    >>> (run.intent.dst[:, 0, 0] - run.dst_base).tolist()  # [element, thread, byte]
    [0, 128, 256, 384, 512, 640, 768, 896]
    >>> (run.execution.dst[0, 0, ::2] - run.dst_base).tolist()  # [instruction, thread, byte]
    [0, 2, 4, 6, 8, 10, 12, 14]

The comparison is of memory *after* the copy. Every address that the layouts name must hold the contents of
the address that they name for it, whoever brought them and in whatever order. Seven elements are missing, and
as many are written where nobody asked for them:

    >>> run.comparison.counts
    {'missing': 14, 'outside_dst': 14}

The issue's whole tile is refused, so nothing runs. What it would do explains why: the second thread's 16
bytes begin at byte 2, and threads overwrite each other.

    >>> from layoutcheck.sources.cases import case
    >>> tile = Analysis(build(**case("issue-2320").copies[0])[0])
    >>> tile.accepted, tile.worst, tile.would_run.comparison.kinds
    (False, None, ('misaligned_dst', 'wrong', 'race', 'missing'))

Two things are decided before addresses can be counted. Run-time values: every `?` gets a number that is as
unhelpful as its type allows (`instantiation`). Bases: as aligned as `align<>` promises, and no more. A copy
that differs for one choice is wrong; one that differs for none is not thereby proved right. What differs
beside bytes, such as a barrier's count, is in `comparison.observables`.

Other ways were considered:

- Comparing layouts symbolically, by composition and inverse, says nothing of alignment, races and predicates,
  and a swizzle acts on byte addresses, which a layout does not have.
- Linear maps over bits (Triton's LinearLayout) are exact and quick, for extents that are powers of two. They
  are used where that holds, to search for swizzles (`machine.f2`).
- Running the copy on random data needs a GPU, sees one set of addresses, and calls equal values equal places.
  Here contents are told apart by address. The GPU is the judge of this model instead (`layoutcheck confirm`).
- Asking the compiler answers another question: it accepted the copy above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from layoutcheck.analysis import summary, vector
from layoutcheck.analysis.agreement import agrees
from layoutcheck.analysis.comparison import Comparison, compare
from layoutcheck.analysis.comparison.kinds import Observable
from layoutcheck.analysis.cost import CopyCost, copy_cost
from layoutcheck.analysis.instantiation import bases, instantiations, is_static, same_everywhere
from layoutcheck.analysis.memory import MEMORY
from layoutcheck.analysis.period import of_the_whole, one_period
from layoutcheck.atoms.autovec import resolve
from layoutcheck.atoms.compiler import predict
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.intent import intent
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import Execution, Intent
from layoutcheck.copies.offsets import TooLarge
from layoutcheck.copies.tails import guarded
from layoutcheck.errors import InputError

# Families whose refused copies have an execution all the same: what the compiler refuses of them is a proof.
_WOULD_RUN = ("universal", "cp_async", "register", "matrix")
# What is small and kept where an analysis is pickled or kept for long; the addresses of runs are not.
_SMALL = ("predicted", "prediction", "resolved", "inference", "issued", "drawing")

T = TypeVar("T")


class Run(NamedTuple):
    """One run of the copy in the model.

    `instance` is the copy with values for all that is known only at run time; `src_base` and `dst_base` are
    the byte addresses of its tensors; `intent` is what was asked, `execution` what was done, `comparison`
    how they differ. Of a copy that is too large to follow it is one period; the whole has `times` as many
    iterations (`analysis.period`).
    """

    instance: Copy
    src_base: int
    dst_base: int
    intent: Intent
    execution: Execution
    comparison: Comparison
    times: int = 1


@dataclass(frozen=True)
class Analysis:
    """The copy, the compiler's answer, and the machine's.

    `observed` is what a real compiler said of this very copy, where one was asked before: it counts, whatever
    the model predicts. Nothing here changes once it is made, so that rules, fixes, reports and the GPU
    harness share one object; a `Report` carries it. Pickled, it leaves the addresses of its runs behind.
    """

    copy: Copy
    observed: Prediction | None = None

    def __getstate__(self) -> dict[str, Any]:
        kept = ("copy", "observed", *_SMALL)
        return {name: self.__dict__[name] for name in kept if name in self.__dict__}

    def lean(self) -> Analysis:
        """The same without the addresses of its runs, which are made again if they are asked for."""
        _ = self.inference, self.issued, self.drawing
        made = object.__new__(Analysis)
        made.__dict__.update(self.__getstate__())
        return made

    @cached_property
    def _derived(self) -> dict[Any, Any]:
        return {}

    def derive(self, make: Callable[..., T], *arguments: Any) -> T:
        """`make(analysis, *arguments)`, made once."""
        key = make, arguments
        if key not in self._derived:
            self._derived[key] = make(self, *arguments)
        return self._derived[key]

    # The compiler.

    @cached_property
    def predicted(self) -> Prediction:
        """What the model of the compiler says."""
        return predict(self.copy)

    @cached_property
    def prediction(self) -> Prediction:
        """What the compiler says: as observed, else as the model predicts.

        Where both refuse the copy, the words are the compiler's and the cause is the model's. Where only the
        model refuses it, the evidence has the model's message.
        """
        model, observed = self.predicted, self.observed
        if observed is None or (observed.accepted and model.outcome != "rejected"):
            return model
        if observed.accepted:
            return replace(observed, evidence={"model": model.message})
        return replace(model, message=observed.message) if model.outcome == "rejected" else observed

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

    # The machine.

    def _run(self, brief: bool = False) -> tuple[tuple[Run, ...], InputError | None]:
        """The runs; `brief` ones stop at the first that goes wrong, and do not count what does."""
        atom = self.copy.atom
        if not self.accepted or (atom is not None and not atom.modelled):
            return (), None
        runs: list[Run] = []
        try:
            for instance in instantiations(self.copy):
                *hostile, comfortable = bases(instance)
                last = self._one_run(instance, *comfortable, brief)
                if brief and not last.comparison.clean:
                    return (last,), None
                alike = same_everywhere(instance, last.execution, clean=last.comparison.clean)
                for run in (*(self._one_run(instance, *pair, brief) for pair in hostile if not alike), last):
                    runs.append(run)
                    if not run.comparison.clean:
                        return tuple(runs), None  # one counterexample is enough
        except InputError as error:
            return tuple(runs), error
        return tuple(runs), None

    def _one_run(self, instance: Copy, src_base: int, dst_base: int, brief: bool = False) -> Run:
        copy, times = self.copy, 1
        try:
            asked = intent(instance, src_base, dst_base)
            done = execution(copy, src_base, dst_base, instance)
        except TooLarge:
            part = one_period(copy, instance)
            if part is None:
                raise
            copy, instance, times = part
            asked = intent(instance, src_base, dst_base)
            done = execution(copy, src_base, dst_base, instance)
        asked, done = guarded(asked, done, instance)
        comparison = compare(asked, done, instance, src_base, dst_base, brief=brief)
        if times > 1:
            comparison = of_the_whole(comparison)
        return Run(instance, src_base, dst_base, asked, done, comparison, times)

    def works(self) -> bool:
        """Whether the compiler takes the copy and no run goes wrong; quicker than `worst`, which counts."""
        if self.agrees or not self.accepted:
            return self.accepted
        if "_runs" not in self.__dict__:
            made = self._run(brief=True)
            if made[0] and not made[0][-1].comparison.clean:
                return False
            self.__dict__["_runs"] = made
            MEMORY.hold(made[0], self._forget)
        return self.worst is None

    @cached_property
    def agrees(self) -> bool:
        """Whether it is right by its layouts alone, whatever a run would show (`analysis.agreement`)."""
        return self.accepted and agrees(self.copy)

    @property
    def right(self) -> bool:
        """Whether it reaches the machine and goes wrong in no run; not so where no run could be made."""
        return self.agrees or (bool(self.runs) and self.worst is None)

    @cached_property
    def _runs(self) -> tuple[tuple[Run, ...], InputError | None]:
        made = self._run()
        MEMORY.hold(made[0], self._forget)
        return made

    def _forget(self) -> None:
        self.__dict__.pop("_runs", None)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs made, up to and including the first that went wrong; none for a refused copy."""
        return self._runs[0]

    @property
    def obstacle(self) -> InputError | None:
        """Why the runs could not be made, where they could not."""
        return None if self.agrees else self._runs[1]

    @property
    def worst(self) -> Run | None:
        """The run that went wrong, if one did."""
        if self.agrees:
            return None
        return self.runs[-1] if self.runs and not self.runs[-1].comparison.clean else None

    @property
    def effect(self) -> Comparison | None:
        """What went wrong in it."""
        return self.worst.comparison if self.worst else None

    @property
    def observables(self) -> Mapping[str, Observable]:
        """What differs beside bytes, in the last run; nothing where none was made."""
        return {} if self.agrees or not self.runs else self.runs[-1].comparison.observables

    @cached_property
    def would_run(self) -> Run | None:
        """What a refused copy would do if it were accepted; None where that has no meaning."""
        atom = self.resolved.atom
        if self.accepted or atom is None or atom.family not in _WOULD_RUN:
            return None
        try:
            instance = instantiations(self.copy)[0]
            at = (instance, *bases(instance)[-1])
            asked, done = intent(*at), execution(self.copy, at[1], at[2], instance)
            if any(one.source.shape != one.target.shape for one in (asked, done)):
                return None
            return Run(*at, asked, done, compare(asked, done, *at))
        except InputError:
            return None

    @cached_property
    def cost(self) -> CopyCost | None:
        """The cost of all warps; None for a copy that is refused or goes wrong, and for what is not known.

        That is the case without a tiling, where only one thread's addresses are known, with run-time strides,
        and for the copy engine's accesses, which are no warp's. Of a copy that is too large: of one period.
        """
        atom = self.copy.atom
        if self.copy.tiling is None or (atom is not None and atom.family == "bulk"):
            return None
        if self.worst is not None or not self.runs or not is_static(self.copy):
            return None
        return copy_cost(self.copy if self.runs[-1].times == 1 else self.runs[-1].instance)

    # What reports print of both.

    @cached_property
    def inference(self) -> dict[str, Any]:
        """The JSON schema's `inference`: proved alignment of both sides, the widest vector, its limit."""
        return summary.inference(self)

    @cached_property
    def issued(self) -> dict[str, Any]:
        """The JSON schema's `execution`: what one thread issues. Empty for a copy that never runs."""
        return summary.issued(self)

    @cached_property
    def drawing(self) -> dict[str, Any]:
        """The one vector that a report draws (`summary.drawing`)."""
        return summary.drawing(self)

    # The operands.

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


def analysed(copy: Copy | Analysis) -> Analysis:
    """The analysis of a copy; what is one already is taken as it is."""
    return copy if isinstance(copy, Analysis) else Analysis(copy)
