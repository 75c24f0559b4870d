"""What the judges of a product share: breaches of its contract, and coordinates of addresses."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.provenance.refs import GLOBAL, PRODUCT, Array
from layoutcheck.provenance.sides import CONSTANT, NO_COMMON
from layoutcheck.provenance.tensors import Tensor
from layoutcheck.sources.mlir import Operation

NOT_MET = "they are not executed by the blocks that are followed"
# Reasons that another block, or another size, may not have.
NEUTRAL = frozenset((NOT_MET, CONSTANT, NO_COMMON))


@dataclass(frozen=True, slots=True)
class Breach:
    """What breaks the contract, with its numbers; `kind` says which part of it.

    That is "scrambled", "depth", "place", "unset", "dropped", "short" or "tensor". Of tensor memory: "bare"
    (nothing wrote what is loaded) and "lanes" (of another warp). Of a copy without a product, `moved`:
    "swizzle" or "blocks"; `op` reads what `writer` wrote.
    """

    kind: str
    op: Operation
    letter: str = ""
    facts: tuple[tuple[str, object], ...] = ()
    store: Operation | None = None
    writer: Operation | None = None

    def __getitem__(self, key: str) -> object:
        return dict(self.facts)[key]

    @property
    def steps(self) -> bool:
        """Whether a sum goes on along one operand: a running sum, if the kernel alone decides how far."""
        return "step" in dict(self.facts)

    def as_many(self, other: Breach) -> bool:
        """Whether as many k are left at the same end of another extent."""
        ends = [(one["count"], one["left"][0] > 0) for one in (self, other)]  # type: ignore[index]
        return self.op is other.op and ends[0] == ends[1]

    def like(self, other: Breach) -> bool:
        """Whether the other one is of the same instructions."""
        ours, theirs = ((b.kind, b.op, b.letter, b.store, b.writer) for b in (self, other))
        return ours == theirs


@dataclass(slots=True)
class Judged:
    """`breaches`, the instructions that were fully followed, and why the others were not.

    Of `stored` bytes of results `placed` were compared; `unplaced` says why others were not. `broadcast` says
    of operands of instructions that have elements whether their rows are all one row. `one_tensor` are the
    instructions whose A and B are elements of one tensor, with its number. `sources` are the tensors of A and
    of B, 0 for one that is computed or of several; `halves` those of each sum with one
    computed operand, and their instructions; `serving` are the instructions of a product that shares
    a tensor with another product. `left` are the tensors of its type, then, that nothing is used of. `short`
    are breaches only if all blocks have them: k that no sum of this one takes. `idle` are statements none of
    whose sums is used.
    """

    breaches: list[Breach] = field(default_factory=list)
    followed: dict[Operation, None] = field(default_factory=dict)
    reasons: dict[Operation, str] = field(default_factory=dict)
    placed: int = 0
    stored: int = 0
    unplaced: dict[str, None] = field(default_factory=dict)
    met: bool = False
    broadcast: dict[tuple[Operation, str], bool] = field(default_factory=dict)
    one_tensor: dict[Operation, int] = field(default_factory=dict)
    sources: dict[Operation, tuple[int, int]] = field(default_factory=dict)
    halves: dict[int, dict[tuple[int, int], Operation]] = field(default_factory=dict)
    serving: dict[Operation, int] = field(default_factory=dict)
    left: dict[Operation, frozenset[int]] = field(default_factory=dict)
    short: list[Breach] = field(default_factory=list)
    idle: dict[Operation, Breach] = field(default_factory=dict)
    beside: set[int] = field(default_factory=set)

    def knows(self, op: Operation) -> bool:
        """Whether a block that was followed executes an instruction."""
        return op in self.followed or op in self.reasons

    def of(self, ops: Collection[Operation]) -> Judged:
        """What is said of the operands of these instructions alone."""
        return Judged(
            [one for one in self.breaches if one.op in ops and one.kind != "place"],
            {op: None for op in self.followed if op in ops},
            {op: why for op, why in self.reasons.items() if op in ops},
            met=self.met,
            broadcast={key: one_row for key, one_row in self.broadcast.items() if key[0] in ops},
            one_tensor={op: one for op, one in self.one_tensor.items() if op in ops},
            serving={op: one for op, one in self.serving.items() if op in ops},
            left={op: one for op, one in self.left.items() if op in ops},
        )

    def add(self, other: Judged) -> None:
        """Put what another block, or another size, says beside this.

        A product that any of them executes in a way that is not followed is not followed.
        """
        idle = {**self.idle, **other.idle}.items()
        self.idle = {
            op: one for op, one in idle if all(op in x.idle or not x.knows(op) for x in (self, other))
        }
        why = dict(other.reasons)
        for op, reason in self.reasons.items():
            if why.get(op, NOT_MET) in NEUTRAL:
                why[op] = reason
        followed = {**self.followed, **other.followed}
        self.followed = {op: None for op in followed if why.get(op, NOT_MET) in NEUTRAL}
        self.reasons = {op: reason for op, reason in why.items() if op not in self.followed}
        self.breaches, self.short = self.breaches + other.breaches, self.short + other.short
        self.placed, self.stored = self.placed + other.placed, self.stored + other.stored
        self.unplaced |= other.unplaced
        self.met, self.beside = self.met or other.met, self.beside | other.beside
        self.one_tensor |= other.one_tensor
        self.serving |= other.serving
        for op, left in other.left.items():
            self.left[op] = left & self.left.get(op, left)
        for key, one_row in other.broadcast.items():
            self.broadcast[key] = one_row and self.broadcast.get(key, True)


class Names:
    """Coordinates of addresses; `guesses` are extents that only a run knows."""

    def __init__(self, known: dict[int, list[Tensor]], guesses: frozenset[int] = frozenset()) -> None:
        self.known, self.guesses = known, guesses

    def guessed(self) -> frozenset[int]:
        """The tensors in which a made-up extent says where the next mode begins."""
        return frozenset(n for n, every in self.known.items() if any(one.guessed for one in every))

    def without(self, numbers: Collection[int]) -> Names:
        """Those of the other tensors."""
        kept = {number: one for number, one in self.known.items() if number not in numbers}
        return Names(kept, self.guesses)

    def tensor(self, at: Array) -> Tensor | None:
        """The one tensor that all addresses lie in."""
        if not at.size or int(at.min()) < GLOBAL or int(at.max()) >= PRODUCT:
            return None
        first, last = int(at.min()) // GLOBAL_STEP, int(at.max()) // GLOBAL_STEP
        if first != last:
            return None
        return next((one for one in self.known.get(first, []) if one.coordinates(at) is not None), None)

    def along_one_mode(self, at: Array) -> Array | None:
        """The coordinates of addresses along the one mode that they vary along; None for several."""
        tensor = self.tensor(at)
        coordinates = None if tensor is None else tensor.coordinates(at)
        if coordinates is None:
            return None
        varying = np.flatnonzero((coordinates != coordinates[:1]).any(0))
        return coordinates[:, int(varying[0])] if len(varying) == 1 else None
