"""Random copies of tensor memory near the border between accepted and rejected, from a seed.

`random_tmem_copy(rng)` starts from a copy as `make_tmem_copy` partitions it and spoils it in zero to three
ways, with the spoilers of `generate` and with repetitions, lanes, columns and fragments of its own.
"""

from __future__ import annotations

import math
from random import Random

from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms import s2t, tmem
from layoutcheck.atoms.s2t import S2TCopy
from layoutcheck.atoms.tmem import TmemCopy, TmemLoad, TmemStore
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import DescriptorView, descriptor_view
from layoutcheck.machine.dtypes import DType, dtype
from tests.conformance.generate import COMMON, RARE, Draft, spoil

ELEMENTS = [dtype(t) for t in ("f32", "f32", "bf16", "f16", "i8", "f8E8M0FNU")]


def random_tmem_copy(rng: Random) -> Copy:
    """One copy to or from tensor memory, written as a user writes it."""
    draft = _s2t(rng) if rng.random() < 0.25 else _tmem(rng)
    source = draft.src
    spoil(draft, rng, (0, 0, 1, 1, 1, 2, 3))
    if isinstance(source, DescriptorView):
        draft.src = descriptor_view(draft.src.layout) if rng.random() < 0.95 else _memref(draft.src)
    elif rng.random() < 0.03:
        draft.dst = descriptor_view(draft.dst.layout)
    elif rng.random() < 0.03:
        draft.src = descriptor_view(draft.src.layout)
    return Copy(draft.atom, draft.src, draft.dst, draft.pred, draft.tiled, arch="sm_100a")


def _memref(view: Memref) -> Memref:
    return Memref(dtype("f32"), "smem", view.layout, 16)


def sound_tmem(rng: Random, element: DType) -> tuple[TmemCopy, Memref, Memref]:
    """An atom with the tensor-memory rectangle and the fragment that it takes."""
    (lanes, bits), (per_repeat, most) = rng.choice(list(tmem.FORMS.items()))
    repeat = rng.choice([x for x in tmem.REPEATS if x <= min(most, 32)])
    packed = rng.random() < 0.1 and element.bits == 16
    atom = rng.choice((TmemLoad, TmemStore))(element, lanes, bits, repeat, packed)
    lane = tmem.LANE_STEP * 32 // element.bits
    row = tmem.columns(atom) * 32 // element.bits // (2 if packed else 1)
    step = 2 if packed else 1  # an element in each column
    count = per_repeat * repeat * 32 // element.bits
    room = tmem.COLUMNS // tmem.columns(atom)
    rest = rng.choice([r for r in ((), (1,), (2,), (1, 2), (2, 2)) if math.prod(r) <= room])
    far: list[int] = []
    near: list[int] = []
    across, along = row * step, count
    for extent in rest:
        halves = lanes == 16 and extent == 2 and 16 * lane not in far and rng.random() < 0.4
        far.append(0 if extent == 1 else 16 * lane if halves else across)
        near.append(0 if extent == 1 else along)
        across, along = across * (1 if halves else extent), along * extent
    view = Memref(
        element, "tmem", Layout((((row, lanes), 1), *rest), (((step, lane), 0), *far)), rng.choice((1, 16))
    )
    fragment = Memref(element, "rmem", Layout(((count, 1), *rest), ((1, 0), *near)), 32)
    return atom, view, fragment


def _tmem(rng: Random) -> Draft:
    element = rng.choice(ELEMENTS) if rng.random() < 0.85 else rng.choice(COMMON + RARE)
    while element.bits > 32 or 32 % element.bits:
        element = rng.choice(ELEMENTS)
    atom, view, fragment = sound_tmem(rng, element)
    if rng.random() < 0.05:
        shape = rng.choice((8, 16, 32, 128)), rng.choice((16, 32, 64, 128, 256, 512))
        atom = type(atom)(element, *shape, rng.choice((0, 1, 3, 64, 128, 256)))
    if isinstance(atom, TmemLoad):
        return Draft(atom, element, view, fragment)
    return Draft(atom, element, fragment, view)


def _s2t(rng: Random) -> Draft:
    element = rng.choice(ELEMENTS[3:]) if rng.random() < 0.8 else rng.choice(COMMON)
    while element.bits > 32:
        element = rng.choice(COMMON)
    lanes, bits, broadcast = rng.choice(list(s2t.FORMS))
    atom = S2TCopy(element, lanes, bits, rng.choice((1, 2)), broadcast)
    if rng.random() < 0.04:
        atom = S2TCopy(element, rng.choice((64, 32)), 128, rng.choice((1, 2, 3)), rng.choice(s2t.BROADCASTS))
    row = bits // element.bits
    v = (min(lanes, 32), row, 4) if lanes == 32 else (128, row)
    lane = tmem.LANE_STEP * 32 // element.bits
    strides = (lane, 1, 32 * lane) if lanes == 32 else (lane, 1)
    n = rng.choice((1, 3, 4))
    src = Layout((((1, 1), 1), n), (((1, 0), 0), 32))
    dst = Layout(((v, 1), n), ((strides, 0), row))
    return Draft(atom, element, descriptor_view(src), Memref(element, "tmem", dst, 16))
