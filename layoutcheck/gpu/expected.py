"""What should come out of a run: the destination's contents, as executed and as asked for, or a fault."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layoutcheck.copies.moves import NOTHING, Execution, Intent, Places
from layoutcheck.copies.offsets import IntArray
from layoutcheck.gpu.images import ANY, OUTSIDE, POISON, ZERO, Arena
from layoutcheck.gpu.predicate import Predicate


def tma_fault(done: Execution, src: Arena, dst: Arena) -> str:
    """The fault of a TMA copy: of what is asked, of a box's place in shared memory, of global addresses."""
    for access in (*done.src_accesses, *done.dst_accesses):
        if (access.addresses % access.multiple_bytes).any():
            return "misaligned"
    for place, moves in ((src, done.src), (dst, done.dst)):
        if place.space != "smem" and (place.index(moves[moves != NOTHING]) == OUTSIDE).any():
            return "unmapped"
    return done.fault


def at_once(done: Execution) -> Execution:
    """All moves as one: boxes are not ordered among each other."""
    return replace(
        done, source=Places.of(done.src.reshape(1, 1, -1)), target=Places.of(done.dst.reshape(1, 1, -1))
    )


def expected_fault(done: Execution, src: Arena, dst: Arena, given: Predicate) -> str:
    """The fault that the model expects: "misaligned", "unmapped" or none.

    A `cp.async` whose predicate is false still writes (zeros): its destination has to be aligned all the
    same, its source, which is not read, has not (measured on an H200).
    """
    count = done.src.shape[0]
    reads = given.lets(done.pred, done.src, done.never)
    for accesses, place, allowed in (
        (done.src_accesses, src, reads),
        (done.dst_accesses, dst, reads | done.zero_fills),
    ):
        for access in accesses:
            per = max(1, count // max(1, access.addresses.shape[0]))
            lets = allowed[::per][: access.addresses.shape[0]]
            if lets.shape != access.addresses.shape:  # ldmatrix, whose lanes act together, guarded by nothing
                lets = np.broadcast_to(lets[:, :1], access.addresses.shape)
            live = access.addresses[lets]
            if (live % access.multiple_bytes).any():
                return "misaligned"
            if (place.index(live * (8 // place.unit_bits)) == OUTSIDE).any():
                return "unmapped"
    return ""


def after_execution(done: Execution, src: Arena, dst: Arena, given: Predicate) -> IntArray:
    """The destination's contents after the instructions, in program order; ANY where threads race.

    Two `cp.async` of one thread are not ordered either (measured on an H200: the first may land last).
    """
    asynchronous = bool(done.src_accesses) and done.src_accesses[0].op.startswith("cp.async")
    image = np.full(dst.units, POISON, dtype=np.int64)
    writer = np.full(dst.units, -1, dtype=np.int64)
    allowed = given.lets(done.pred, done.src, done.never)
    threads = np.repeat(np.arange(done.dst.shape[1]), done.dst.shape[2])
    for i in range(done.src.shape[0]):
        at = dst.index(done.dst[i]).reshape(-1)
        value = np.where(done.src[i] == NOTHING, ZERO, src.index(done.src[i])).reshape(-1)
        value = np.where(value == OUTSIDE, ANY, value)
        lets = np.repeat(allowed[i], done.dst.shape[2])
        keep = at != OUTSIDE
        if done.zero_fills:
            value = np.where(lets, value, ZERO)
        else:
            keep &= lets
        at, value, who = at[keep], value[keep], threads[keep]
        order = np.argsort(at, kind="stable")
        at, value, who = at[order], value[order], who[order]
        clash = (at[1:] == at[:-1]) & (value[1:] != value[:-1])
        raced = np.concatenate(
            [
                at[1:][clash],
                at[(writer[at] >= 0) & (asynchronous | (writer[at] != who)) & (image[at] != value)],
            ]
        )
        image[at], writer[at] = value, who
        image[raced] = ANY
    return image


def after_intent(asked: Intent, src: Arena, dst: Arena, given: Predicate, zero_fills: bool) -> IntArray:
    """The destination's contents that the layouts ask for; ANY where they ask for two things at once."""
    image = np.full(dst.units, POISON, dtype=np.int64)
    allowed = given.lets(asked.pred, asked.src)
    at = dst.index(asked.dst)
    value = np.where(asked.src == NOTHING, ZERO if asked.zeros else ANY, src.index(asked.src))
    if zero_fills:
        value[~allowed] = ZERO
    else:
        at = np.where(allowed[:, :, None], at, OUTSIDE)
    if given.beyond is not None:  # nobody asks for what is past the tile's edge
        at = np.where(given.beyond[:, :, None], OUTSIDE, at)
    at, value = at.reshape(-1), value.reshape(-1)
    keep = at != OUTSIDE
    at, value = at[keep], value[keep]
    order = np.argsort(at, kind="stable")
    at, value = at[order], value[order]
    image[at] = value
    torn = at[1:][(at[1:] == at[:-1]) & (value[1:] != value[:-1])]
    image[torn] = ANY
    return image
