"""`likeness(blocks)`: what a replay goes by, as a digest. Runs that are alike find the same.

Problems of other sizes often do the same within a block, as a loop is cut or ends by the same number.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.record import Number
from layoutcheck.order.crowded import crowded
from layoutcheck.order.watched import Event, Watched

_ORDINARY = ("read", "write", "atomic")


def likeness(blocks: list[Watched]) -> bytes:
    """Of the blocks of a cluster; where no warps meet in global memory, without ordinary accesses of it."""
    found = blake2b(digest_size=16)
    for block in blocks:
        crowd = crowded(block)
        apart = not crowd.cells.size and not crowd.unsure and all(one.bulk is None for one in block.events)
        launch, arrays = block.launch, dict[int, bytes]()
        ends = sorted((op.start, turns) for op, turns in block.cut)
        how = launch.threads, launch.rank, block.token, block.shared_bytes, block.complete, block.guessed
        found.update(repr((how, block.notes, ends)).encode())
        for event in block.events:
            far = apart and event.meaning.space == "gmem" and event.meaning.kind in _ORDINARY
            if not far or _more(event):
                values = () if far else event.values
                found.update(marshal.dumps(tuple(_marks(event, values, block, arrays)), 2))
    return found.digest()


def _more(event: Event) -> bool:
    """Whether an event is more than an access."""
    meaning = event.meaning
    return bool(meaning.reads or meaning.sets or meaning.after or event.words)


def _marks(event: Event, values: Sequence[Number], block: Watched, arrays: dict[int, bytes]) -> Iterator[Any]:
    """What the replay knows of an event with these operands, as numbers; not a cp.async's source."""
    meaning = event.meaning
    yield id(meaning.op), meaning.kind, meaning.size, meaning.count, event.turns
    yield event.doubt, event.guarded, event.gathers, event.guess
    yield block.box_bytes(event) if not meaning.size else 0
    values = values[:1] if meaning.kind == "cp_async" else values
    for value in (*values, *event.words, event.mask):
        if isinstance(value, np.ndarray):
            if id(value) not in arrays:  # the events of a block share many
                arrays[id(value)] = blake2b(value.tobytes(), digest_size=16).digest()
            yield arrays[id(value)]
        else:
            yield None if value is None else int(value)  # True is 1
