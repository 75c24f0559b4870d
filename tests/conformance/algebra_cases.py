"""Random questions to the layout algebra, from a seed: an operation, its operands, and how to ask the DSL.

Operands are made to be admissible often: strides compact in some order, padded, or drawn from the divisors
that matter; now and then anything at all, a 0, a negative or a run-time value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from layoutcheck import algebra
from layoutcheck.algebra import Dynamic, Layout
from layoutcheck.algebra.inttuple import flatten, product, unflatten
from layoutcheck.algebra.layout import text
from tests.conformance.dsl_types import Question

EXTENTS = (1, 2, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16)


@dataclass(frozen=True)
class Case:
    """`ask(strict)` is our answer, `question` gets the DSL's."""

    question: Question
    operands: tuple[Any, ...]
    ask: Callable[[bool], Any]

    def __str__(self) -> str:
        attributes = " ".join(f"{k}={v}" for k, v in self.question.attributes)
        return f"{self.op} {' | '.join(map(shown, self.operands))} {attributes}".strip()

    @property
    def op(self) -> str:
        return self.question.op.removeprefix("cute.")


def shown(a: Any) -> str:
    """An operand as the DSL writes it."""
    if isinstance(a, tuple) and any(isinstance(m, Layout) for m in a):
        return algebra.print_tiler(a)
    return text(a) if isinstance(a, tuple) else str(a)


def layout_type(a: Layout) -> str:
    return f'!cute.layout<"{a}">'


def shape_type(a: Any) -> str:
    return f'!cute.shape<"{text(a)}">'


def tile_type(a: tuple[Layout, ...]) -> str:
    return f'!cute.tile<"{algebra.print_tiler(a)}">'


def random_shape(rng: Random, leaves: int = 4) -> Any:
    """One to `leaves` extents, nested at random."""
    extents: list[Any] = [rng.choice(EXTENTS) for _ in range(rng.randint(1, leaves))]
    if len(extents) == 1 and rng.random() < 0.7:
        return extents[0]
    while len(extents) > 2 and rng.random() < 0.4:
        at = rng.randrange(len(extents) - 1)
        extents[at : at + 2] = [(extents[at], extents[at + 1])]
    return tuple(extents)


def random_layout(rng: Random, leaves: int = 4, dynamic: float = 0.0, negative: float = 0.02) -> Layout:
    """A layout that is compact in some order, padded, broken or random."""
    shape = random_shape(rng, leaves)
    extents = flatten(shape)
    kind = rng.random()
    strides: list[Any] = [0] * len(extents)
    order = list(range(len(extents)))
    if kind < 0.7:
        rng.shuffle(order)
    step = rng.choice((1, 1, 1, 1, 2, 3, 4))
    for i in order:
        strides[i] = step
        step = step * extents[i]
        if rng.random() < 0.15:
            step = step * rng.choice((2, 3)) if rng.random() < 0.7 else step + rng.choice((1, 2, 4))
    if kind > 0.9:
        strides = [rng.choice((0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 48)) for _ in extents]
    strides = [0 if rng.random() < 0.05 else -d if rng.random() < negative else d for d in strides]
    strides = [dynamic_leaf(rng, d) if rng.random() < dynamic else d for d in strides]
    if dynamic and rng.random() < 0.3:
        extents = tuple(dynamic_leaf(rng, s) if rng.random() < dynamic else s for s in extents)
    return Layout(unflatten(iter(extents), shape), unflatten(iter(strides), shape))


def dynamic_leaf(rng: Random, value: int) -> Dynamic:
    """A run-time value that may be `value`: its divisor divides it."""
    divisors = [k for k in (1, 1, 2, 4, 8, 16) if value % k == 0]
    return Dynamic(rng.choice(divisors), rng.choice((32, 32, 32, 64)))


def divisors(n: int) -> list[int]:
    return [k for k in range(1, n + 1) if n % k == 0]


def random_right(rng: Random, a: Layout, leaves: int = 3) -> Layout:
    """A layout that is likely to be admissible on the right of `a`."""
    if rng.random() < 0.15:
        return random_layout(rng, leaves)
    ends = [1]
    for s in flatten(a.shape):
        ends.append(ends[-1] * (s if type(s) is int else 8))
    total = min(ends[-1], 1 << 12)
    shape: list[int] = []
    stride: list[int] = []
    step = rng.choice([e * k for e in ends[:-1] for k in (1, 1, 2, 3)])
    for _ in range(rng.randint(1, leaves)):
        extent = rng.choice(divisors(max(1, total // step))) if rng.random() < 0.8 else rng.choice(EXTENTS)
        shape.append(extent)
        stride.append(step)
        step *= extent
        if rng.random() < 0.2:
            step *= rng.choice((1, 2, 3))
        if step > total:
            step = 1 if rng.random() < 0.5 else rng.choice(ends)
    both = list(zip(shape, stride, strict=True))
    if rng.random() < 0.5:
        rng.shuffle(both)
    profile: Any = tuple(s for s, _ in both)
    if len(both) == 1 and rng.random() < 0.7:
        return Layout(*both[0])
    if len(both) == 3 and rng.random() < 0.5:
        (s0, d0), (s1, d1), (s2, d2) = both
        return Layout(((s0, s1), s2), ((d0, d1), d2))
    return Layout(profile, tuple(d for _, d in both))


def random_tiler(rng: Random, a: Layout) -> tuple[Layout, ...]:
    """A tiler of one layout a mode."""
    modes = a.modes[: rng.randint(1, len(a))]
    return tuple(random_right(rng, algebra.make_layout(Layout(static_size(m))), 2) for m in modes)


def static_size(a: Layout) -> int:
    return product(tuple(s if type(s) is int else 16 for s in flatten(a.shape)))  # type: ignore[return-value]


def random_coord(rng: Random, shape: Any, none: float = 0.4) -> Any:
    """A coordinate of `shape`, in part slices."""
    if rng.random() < none:
        return None
    if type(shape) is tuple and rng.random() < 0.8:
        return tuple(random_coord(rng, s, none) for s in shape)
    extent = product(shape)
    if rng.random() < 0.15:
        return dynamic_leaf(rng, rng.choice((0, 4, 6)))
    return rng.randrange(extent) if type(extent) is int else rng.randrange(8)


def coord_text(coord: Any) -> str:
    if type(coord) is tuple:
        return f"({','.join(map(coord_text, coord))})"
    return "_" if coord is None else str(coord)


def binary(op: str, f: Any, a: Layout, b: Layout) -> Case:
    return Case(Question(op, (layout_type(a), layout_type(b))), (a, b), lambda strict: f(a, b, strict=strict))


def by_mode(op: str, f: Any, a: Layout, tiler: Any) -> Case:
    kind = tile_type(tiler) if isinstance(tiler[0], Layout) else shape_type(tiler)
    return Case(Question(op, (layout_type(a), kind)), (a, tiler), lambda strict: f(a, tiler, strict=strict))


def unary(op: str, f: Any, a: Layout, *others: tuple[str, Any]) -> Case:
    """`f(a, *others)`, each of them with its type for the DSL."""
    values = tuple(v for _, v in others)
    types = (layout_type(a), *(t for t, _ in others))
    return Case(Question(op, types), (a, *values), lambda _: f(a, *values))


DIVIDES = {
    "cute.logical_divide": algebra.logical_divide,
    "cute.zipped_divide": algebra.zipped_divide,
    "cute.tiled_divide": algebra.tiled_divide,
    "cute.flat_divide": algebra.flat_divide,
}
PRODUCTS = {
    "cute.logical_product": algebra.logical_product,
    "cute.zipped_product": algebra.zipped_product,
    "cute.tiled_product": algebra.tiled_product,
    "cute.flat_product": algebra.flat_product,
    "cute.blocked_product": algebra.blocked_product,
    "cute.raked_product": algebra.raked_product,
}


def random_case(rng: Random, dynamic: float = 0.0) -> Case:
    """One question; `dynamic` is the share of leaves that are run-time values."""
    pick = rng.random()
    a = random_layout(rng, dynamic=dynamic)
    if pick < 0.26:
        return binary("cute.composition", algebra.composition, a, random_right(rng, a))
    if pick < 0.30:
        return by_mode("cute.composition", algebra.composition, a, random_tiler(rng, a))
    if pick < 0.42:
        target = rng.choice(
            (static_size(a) * rng.choice((1, 1, 2, 3)), random_shape(rng), rng.randint(1, 100))
        )
        question = Question("cute.complement", (layout_type(a), shape_type(target)))
        return Case(question, (a, target), lambda strict: algebra.complement(a, target, strict=strict))
    if pick < 0.52:
        op = rng.choice(list(DIVIDES))
        return binary(op, DIVIDES[op], a, random_right(rng, a, 2))
    if pick < 0.60:
        op = rng.choice(list(DIVIDES))
        tiler: Any = random_tiler(rng, a)
        if rng.random() < 0.4:
            tiler = tuple(rng.choice(EXTENTS) for _ in tiler)
        return by_mode(op, DIVIDES[op], a, tiler)
    if pick < 0.72:
        op = rng.choice(list(PRODUCTS))
        block = random_layout(rng, 3, dynamic)
        return binary(op, PRODUCTS[op], block, random_layout(rng, 2, negative=0))
    if pick < 0.75:
        block = random_layout(rng, 2, dynamic)
        shape = tuple(
            static_size(m) * rng.choice((1, 1, 2, 3)) + (rng.random() < 0.05)
            for m in (*block.modes, *([Layout(1)] * rng.randint(0, 1)))
        )
        order = list(range(len(shape)))
        rng.shuffle(order)
        ranks = tuple(order)
        types = (layout_type(block), shape_type(shape), f'!cute.int_tuple<"{text(ranks)}">')
        return Case(
            Question("cute.tile_to_shape", types),
            (block, shape, ranks),
            lambda strict: algebra.tile_to_shape(block, shape, ranks, strict=strict),
        )
    if pick < 0.79:
        return unary("cute.coalesce", algebra.coalesce, a)
    if pick < 0.81:
        profile = tuple(
            (1,) * rng.randint(1, len(m)) if type(m.shape) is tuple and rng.random() < 0.5 else 1
            for m in a.modes
        )
        return unary("cute.coalesce", algebra.coalesce, a, (f'!cute.coord<"{text(profile)}">', profile))
    if pick < 0.83:
        return unary("cute.filter", algebra.filter, a)
    if pick < 0.84:
        return unary("cute.filter_zeros", algebra.filter_zeros, a)
    if pick < 0.88:
        return unary("cute.right_inverse", algebra.right_inverse, a)
    if pick < 0.92:
        question = Question("cute.left_inverse", (layout_type(a),))
        return Case(question, (a,), lambda strict: algebra.left_inverse(a, strict=strict))
    if pick < 0.96:
        new, old = rng.choice(((32, 16), (16, 32), (128, 16), (8, 16), (64, 8), (24, 16), (6, 8), (16, 16)))
        bits = (("new_type_bits", f"{new} : i32"), ("old_type_bits", f"{old} : i32"))
        question = Question("cute.recast_layout", (layout_type(a),), bits)
        return Case(question, (a,), lambda _: algebra.recast_layout(new, old, a))
    coord = random_coord(rng, a.shape)
    kind = f'!cute.coord<"{coord_text(coord)}">'
    if coord is None or (type(coord) is tuple and None in flatten(coord)):
        question = Question("cute.slice", (layout_type(a), kind))
        return Case(question, (a, coord_text(coord)), lambda _: algebra.slice_(a, coord))
    question = Question("cute.crd2idx", (kind, layout_type(a)))
    return Case(question, (coord_text(coord), a), lambda _: algebra.crd2idx(coord, a))


def random_order(rng: Random, shape: Any) -> Any:
    """Numbers for the modes of `shape`, or for the modes within them; now and then too many or too few."""
    if type(shape) is not tuple or rng.random() < 0.3:
        return rng.randrange(-1, 4) if rng.random() < 0.97 else (0, 1)
    order = tuple(random_order(rng, s) for s in shape)
    return order if rng.random() < 0.97 else order[:-1] or 0


def undivided_tiler(rng: Random, a: Layout) -> tuple[str, Any]:
    """A tiler that leaves some modes alone, as the DSL writes it and as we take it."""
    tiler: list[Any] = [
        None if rng.random() < 0.5 else Layout(rng.choice(EXTENTS)) for _ in range(rng.randint(1, len(a)))
    ]
    return f'!cute.tile<"[{";".join("_" if t is None else str(t) for t in tiler)}]">', tuple(tiler)


def regrouping_case(rng: Random) -> Case:
    """A question about modes: groups, orders, modes left undivided, slices of every mode."""
    a = random_layout(rng)
    pick = rng.randrange(4)
    if pick == 0:
        begin, end = rng.randint(-3, 3), rng.randint(-3, 4)
        bounds = (("begin", f"{begin} : i32"), ("end", f"{end} : i32"))
        question = Question("cute.group_modes", (layout_type(a),), bounds)
        return Case(question, (a,), lambda _: algebra.group_modes(a, begin, end))
    if pick == 1:
        shape = random_shape(rng)
        order = random_order(rng, shape)
        types = (shape_type(shape), f'!cute.int_tuple<"{text(order)}">')
        question = Question("cute.make_ordered_layout", types)
        return Case(question, (shape, order), lambda _: algebra.make_ordered_layout(shape, order))
    if pick == 2:
        op = rng.choice(list(DIVIDES))
        kind, tiler = undivided_tiler(rng, a)
        question = Question(op, (layout_type(a), kind))
        return Case(question, (a, kind), lambda strict: DIVIDES[op](a, tiler, strict=strict))
    coord = random_coord(rng, a.shape, 0.1)
    question = Question("cute.slice", (layout_type(a), f'!cute.coord<"{coord_text(coord)}">'))
    return Case(question, (a, coord_text(coord)), lambda _: algebra.slice_(a, coord))
