"""`Deed`: what an event of a block does with data; `Followed`: a block with all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.record import Mask, Number
from layoutcheck.order.watched import Watched
from layoutcheck.provenance.refs import Array
from layoutcheck.sources.mlir import Operation


@dataclass(eq=False, slots=True)
class Deed:
    """What an event does with data.

    `kind` is load, ldmatrix, store, stmatrix, atomic, copy, tma_load, tma_store, bulk, mma, wgmma,
    tcgen05, tensor_load or tensor_store.
    `at` and `second` are addresses, `refs` what is stored or multiplied, `base` the first reference of what
    comes into registers, `width` bytes a thread. `mask` are the threads that take part. `lost` says why it
    cannot be followed.
    """

    kind: str
    op: Operation
    mask: Mask | None
    at: Number = 0
    second: Number = 0
    width: int = 0
    base: int = 0
    refs: tuple[Array, ...] = ()
    numbers: tuple[Number, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    lost: str = ""


@dataclass(slots=True)
class Followed:
    """A block: its events, deeds by the number of their event, and how many references there are.

    `met` are pairs of references that were multiplied: (2, pairs). `pairs` are references of elements that
    two others met in, ascending, these two, and whether they were multiplied: (4, references). `taken` are
    references that something computes with or rests on, ascending. `touched` are the numbers of global
    objects that plain loads take elements from, `rests` has the bits of what the places of elements that are
    loaded rest on. `beside` are elements of products with those of memory that came to them: (2, pairs).
    `opaque` says that something may write shared memory in a way
    that is not followed, `begun` that something may write tensor memory so.
    """

    watched: Watched
    deeds: dict[int, Deed]
    references: int
    met: Array
    pairs: Array
    taken: Array
    problem: str = ""
    touched: frozenset[int] = frozenset()
    opaque: bool = False
    begun: bool = False
    rests: int = 0
    beside: Array = field(default_factory=lambda: np.zeros((2, 0), np.int64))
