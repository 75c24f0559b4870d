"""The one family of random copies of threads that both judges are asked about: PTX (ptx_sweep.py), and a GPU.

A copy of one of the generators, changed as users' views differ from textbook ones: modes of extent 1 put in,
modes nested otherwise, negative, zero and run-time strides, any swizzle at any base, predicates of all types,
shapes and places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, product, unflatten, wrap
from layoutcheck.algebra.layout import Layout, compact_col_major
from layoutcheck.atoms.compiler import predict
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from tests.conformance import emitted, generate, generate_bulk, tilings

Draw = Callable[[Random], Copy]


def auto_width(rng: Random) -> Copy:
    """A copy whose width the compiler chooses, of a V that is often not in the order of its strides."""
    element = dtype(rng.choice((*emitted.TYPES, "f8E4M3FN", "f4E2M1FN", "i4", "i1", "i1")))
    v = tuple(rng.choice((1, 2, 2, 3, 4, 4, 8, 16)) for _ in range(rng.choice((1, 2, 2, 3))))
    if product(v) > 64:  # the compiler takes the longer the more there are
        v = (4, 4)
    shape = (rng.choice((v, v, (v,), (v, 1), v[0])), *rng.choices((1, 2, 3), k=rng.choice((0, 1, 1, 2))))
    layouts = [_ordered(rng, shape), _ordered(rng, shape)]
    if rng.random() < 0.4:
        layouts[1] = layouts[0]
    elif rng.random() < 0.4:  # V in one mode on one side, and in several on the other
        layouts[rng.randrange(2)] = _ordered(rng, (product(shape[0]), *shape[1:]))
    spaces = rng.choice(tilings.SPACES)
    src, dst = (
        Memref(element, space, layout, rng.choice((16, 16, 16, 32, 8, 4, 2, 128)))
        for space, layout in zip(spaces, layouts, strict=True)
    )
    if rng.random() < 0.25:
        return Copy(None, src, dst, op=rng.choice(("autovec_copy", "basic_copy")))
    return Copy(UniversalCopy(element, 0), src, dst)


def _ordered(rng: Random, shape: Any) -> Layout:
    """Compact, or nearly so, with the flat modes in any order."""
    extents = flatten(shape)
    steps, reach = [0] * len(extents), rng.choice((1, 1, 1, 1, 2, 16))
    order = list(range(len(extents)))
    if rng.random() < 0.7:
        rng.shuffle(order)
    for at in order:
        steps[at], reach = reach, reach * extents[at] + rng.choice((0, 0, 0, 0, 8, 4, 1))
    return Layout(shape, unflatten(iter(steps), shape))


FIRST: dict[Draw, int] = {
    emitted.random_copy: 6, generate.random_copy: 4, emitted.narrow_vectors: 1, emitted.sub_byte_copy: 1,
    auto_width: 3, tilings.tiled: 4, tilings.sliced: 2,
}  # fmt: skip
BULK: dict[Draw, int] = {generate_bulk.random_copy: 1}
PREDICATES = (
    "i8", "i8", "i8", "i1", "i32", "bf16", "ui8", "i16", "i64", "f32", "f8E4M3FN", "i4", "si8", "f64", "tf32",
)  # fmt: skip


def first(rng: Random) -> Copy:
    """A copy of loads, stores, cp.async or matrices that the compiler takes."""
    return accepted(rng, FIRST)


def bulk(rng: Random) -> Copy:
    """A bulk copy or st.async that the compiler takes."""
    return accepted(rng, BULK)


def accepted(rng: Random, families: dict[Draw, int]) -> Copy:
    """The first copy that the compiler takes."""
    while True:
        try:
            copy = changed(rng.choices(tuple(families), tuple(families.values()))[0](rng), rng)
            if predict(copy).accepted:
                return copy
        except InputError:  # noqa: PERF203
            continue


def changed(copy: Copy, rng: Random) -> Copy:
    """The copy, changed in several ways or in none; views of tiles stay the tiles' partitions."""
    if copy.tiling is None:
        copy = replace(copy, tiled=None)
        copy = _nested_otherwise(copy, rng) if rng.random() < 0.5 else copy
        for side in ("src", "dst"):
            copy = copy.on_side(side, lambda m: _stepped(m, rng)) if rng.random() < 0.3 else copy
            copy = copy.on_side(side, lambda m: _placed(m, rng))
    if rng.random() < 0.2 and copy.op in ("copy", "copy_atom_call"):
        copy = _predicated(copy, rng)
    if copy.dst.space == "smem" and copy.tiling is None and rng.random() < 0.03:
        copy = replace(copy, dst=replace(copy.dst, space="dsmem"))
    return copy


# Layouts.


def _nested_otherwise(copy: Copy, rng: Random) -> Copy:
    """The same elements in the same order, by other modes; mostly the same ones on both sides."""
    layouts = [copy.src.layout, copy.dst.layout]
    often = rng.choice((0.1, 0.2, 0.4))
    if layouts[0].shape == layouts[1].shape and rng.random() < 0.7:
        made = regrouped(rng, layouts, often)
    else:
        made = [regrouped(rng, [layout], often)[0] for layout in layouts]
    src, dst = (
        layout if isinstance(layout.shape, tuple) else Layout((layout.shape,), (layout.stride,))
        for layout in made
    )
    return replace(copy, src=copy.src.with_layout(src), dst=copy.dst.with_layout(dst))


def regrouped(rng: Random, layouts: list[Layout], often: float) -> list[Layout]:
    """Layouts of one shape with modes of extent 1 put in, and modes split, at the same places."""
    parts = _regrouped(rng, [(layout.shape, layout.stride) for layout in layouts], often)
    return [Layout(*part) for part in parts]


def _regrouped(rng: Random, sides: list[tuple[Any, Any]], often: float) -> list[tuple[Any, Any]]:
    extent = sides[0][0]
    if isinstance(extent, tuple):
        modes = [_regrouped(rng, [(s[k], d[k]) for s, d in sides], often) for k in range(len(extent))]
        if rng.random() < often:
            modes.insert(rng.randrange(len(modes) + 1), [(1, _idle(rng)) for _ in sides])
        return [tuple(zip(*(mode[k] for mode in modes), strict=True)) for k in range(len(sides))]  # type: ignore[misc]
    if rng.random() < often:
        wrapped: Callable[[Any, Any], tuple[Any, Any]] = rng.choice(
            (
                lambda s, d: ((1, s), (_idle(rng), d)),
                lambda s, d: ((s, 1), (d, _idle(rng))),
                lambda s, d: ((s,), (d,)),
                lambda s, d: (((1, 1), s), ((_idle(rng), _idle(rng)), d)),
            )
        )
        return [wrapped(s, d) for s, d in sides]
    if isinstance(extent, int) and extent > 1 and rng.random() < often / 2:
        inner = rng.choice([d for d in range(1, extent + 1) if extent % d == 0])
        if all(isinstance(d, int) for _, d in sides):
            return [((inner, s // inner), (d, d * inner)) for s, d in sides]
    return sides


def _idle(rng: Random) -> int:
    """The stride of a mode of extent 1."""
    return rng.choice((0, 0, 0, 1, 1, 16, -1, 64, 8))


def _stepped(memref: Memref, rng: Random) -> Memref:
    """Some strides negative, zero, or known at run time only."""
    steps = list(flatten(memref.layout.stride))
    for i, step in enumerate(steps):
        drawn = rng.random()
        if drawn < 0.15 and isinstance(step, int):
            steps[i] = -step
        elif drawn < 0.2:
            steps[i] = 0
        elif drawn < 0.27:
            steps[i] = Dynamic(rng.choice((1, 2, 4, 8, 16)), rng.choice((32, 64)))
    return memref.with_layout(Layout(memref.layout.shape, unflatten(iter(steps), memref.layout.shape)))


def _placed(memref: Memref, rng: Random) -> Memref:
    """Under any swizzle, at any alignment."""
    if rng.random() < (0.5 if memref.space in ("smem", "dsmem") else 0.15):
        memref = replace(memref, swizzle=rng.choice(tilings.SWIZZLES))
    if memref.align_bytes and rng.random() < 0.2:
        memref = replace(memref, align_bytes=rng.choice((1, 2, 4, 8, 16, 16, 32, 64, 128, 1024)))
    return memref


# Predicates.


def _predicated(copy: Copy, rng: Random) -> Copy:
    """Under a predicate of one entry an instruction, or an element, or nearly so, that may be broadcast."""
    shape = wrap(copy.src.layout.shape)
    v = shape[0]
    firsts: list[Any] = [product(v), v, 1]
    if isinstance(v, tuple):
        firsts += [v[1:] if len(v) > 2 else v[-1]] * 4 + [product(v[1:])] * 2 + [v[-1]]
    want = (rng.choice(firsts), *shape[1:])
    if any(not isinstance(extent, int) for extent in flatten(want)):
        return copy
    (layout,) = regrouped(rng, [Layout(want, compact_col_major(want))], rng.choice((0, 0, 0.2)))
    steps = [_broadcast(step, rng) for step in flatten(layout.stride)]
    if rng.random() < 0.1:
        steps = [0] * len(steps)
    layout = Layout(layout.shape, unflatten(iter(steps), layout.shape))
    space = rng.choice(("rmem", "rmem", "rmem", "gmem", "smem", "generic"))
    pred = Memref(dtype(rng.choice(PREDICATES)), space, layout, rng.choice((None, 1, 4, 32, 16)))
    return replace(copy, pred=pred)


def _broadcast(step: Any, rng: Random) -> Any:
    drawn = rng.random()
    if drawn < 0.2:
        return 0
    if drawn < 0.3:
        return step * rng.choice((2, 3, 64))
    return Dynamic(rng.choice((1, 2))) if drawn < 0.35 else step
