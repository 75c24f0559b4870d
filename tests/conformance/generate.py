"""Random copies near the border between accepted and rejected, from a seed.

`random_copy(rng)` starts from a copy that its atom takes (V one vector, both sides alike, true alignments)
and then spoils it in zero to three ways: another alignment, a stride made dynamic, another factorisation
of a mode, a wrong space, a mismatched type, a predicate of another shape... Every family of atoms that is
modelled occurs, in every width, cache mode and form, valid or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, product, unflatten, wrap
from layoutcheck.algebra.layout import Layout, compact_col_major
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.cp_async import CACHE_MODES, CpAsync
from layoutcheck.atoms.matrix import LDMATRIX_FORMS, STMATRIX_FORMS, LdMatrix, StMatrix
from layoutcheck.atoms.register import KINDS, RegisterCopy
from layoutcheck.atoms.register.attributes import ATTRIBUTES, known
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import SPACES, Memref
from layoutcheck.copies.tiled import TiledCopy
from layoutcheck.machine.dtypes import DType, dtype

COMMON = [dtype(t) for t in ("bf16", "f16", "f32", "i8", "f8E4M3FN", "i32", "f64", "i64", "i16", "tf32")]
RARE = [
    dtype(t) for t in ("i128", "i4", "f4E2M1FN", "f6E2M3FN", "f8E5M2", "i1", "ui8", "si8", "i2", "i12", "i24")
]
ALIGNS = (1, 2, 4, 8, 16, 32, 64, 128, 3, 6, 12, 24, 48)
SWIZZLES = [
    Swizzle(*s) for s in ((3, 4, 3), (2, 4, 3), (1, 4, 3), (3, 3, 3), (3, 2, 3), (2, 3, 3), (0, 4, 3))
]
DIVISORS = (1, 1, 2, 4, 8, 16)


@dataclass
class Draft:
    """A copy being made up."""

    atom: Atom
    element: DType
    src: Memref
    dst: Memref
    pred: Memref | None = None
    tiled: TiledCopy | None = None


def random_copy(rng: Random) -> Copy:
    """One copy, written as a user writes it: V, then rest modes side by side."""
    return spoiled(sound(rng), rng)


def spoiled(draft: Draft, rng: Random) -> Copy:
    """The copy, spoiled in zero to three ways."""
    spoil(draft, rng, (0, 0, 1, 1, 1, 2, 2, 3))
    return Copy(draft.atom, draft.src, draft.dst, draft.pred, draft.tiled)


def spoil(draft: Draft, rng: Random, times: tuple[int, ...]) -> None:
    """As often as one of `times`; and now and then an extent that is known at run time only."""
    for _ in range(rng.choice(times)):
        rng.choice(SPOILERS)(draft, rng)
    if rng.random() < 0.03:
        dynamic_shape(draft, rng)


def sound(rng: Random) -> Draft:
    """A copy its atom takes: whole contiguous vectors, both sides alike, aligned as the width needs."""
    element = rng.choice(COMMON[:4]) if rng.random() < 0.85 else rng.choice(COMMON + RARE)
    atom, spaces = random_atom(rng, element)
    width = getattr(atom, "width_bits", 128) or element.bits * rng.choice((1, 2, 4, 8))
    n = max(1, width // element.bits)
    shape = (random_v(rng, n), *(random_rest(rng) for _ in range(rng.choice((0, 1, 1, 1, 2)))))
    align = rng.choice((16, 16, 32, 128, max(1, width // 8)))
    src = Memref(element, spaces[0], random_layout(rng, shape, n), align)
    other = refactored(rng, shape) if rng.random() < 0.2 else shape
    dst = Memref(element, spaces[1], random_layout(rng, other, n), align)
    if rng.random() < 0.3:
        dst = dst.with_layout(src.layout)
    draft = Draft(atom, element, src, dst)
    if rng.random() < 0.15:
        add_predicate(draft, rng)
    return draft


def random_atom(rng: Random, element: DType) -> tuple[Atom, tuple[str, str]]:
    """An atom of any family, and spaces it works between."""
    named = element if rng.random() < 0.9 else rng.choice(COMMON + RARE)
    family = rng.choice(
        ("universal", "universal", "cp.async", "cp.async", "register", "register", "ld", "st")
    )
    if family == "universal":
        width = rng.choice((0, 8, 16, 32, 64, 128, 128, 128, 256, 512, element.bits))
        if rng.random() < 0.02:
            width = rng.choice((4, 12, 24, 96, 2048, 1))
        return UniversalCopy(named, width), rng.choice(UNIVERSAL_SPACES)
    if family == "cp.async":
        width = (
            rng.choice((32, 64, 128, 128, 128, 16, 8, 256)) if rng.random() < 0.97 else rng.choice((0, 96))
        )
        return CpAsync(named, width, rng.choice(CACHE_MODES)), ("gmem", "smem")
    if family == "register":
        kind = rng.choice(KINDS)
        width = rng.choice((8, 16, 32, 64, 128, 128, 128, 256, element.bits))
        if rng.random() < 0.03:
            width = rng.choice((0, 4, 24, 96))
        names = {"g": "gmem", "r": "rmem", "s": "smem"}
        return RegisterCopy(kind, named, width, random_options(rng, kind)), (names[kind[0]], names[kind[2]])
    transpose = rng.random() < 0.5
    if family == "ld":
        (mode, pattern, transpose), counts = rng.choice(list(LDMATRIX_FORMS.items()))
        count = rng.choice(counts) if rng.random() < 0.97 else rng.choice((1, 2, 3, 4, 8))
        if rng.random() < 0.02:
            transpose = not transpose
        return LdMatrix(named, count, transpose, mode, pattern), ("smem", "rmem")
    (mode, transpose), counts = rng.choice(list(STMATRIX_FORMS.items()))
    count = rng.choice(counts) if rng.random() < 0.97 else rng.choice((1, 2, 3, 4, 8))
    return StMatrix(named, count, transpose, mode), ("rmem", "smem")


UNIVERSAL_SPACES = [
    ("gmem", "rmem"), ("rmem", "gmem"), ("smem", "rmem"), ("rmem", "smem"), ("gmem", "smem"),
    ("smem", "gmem"), ("gmem", "gmem"), ("rmem", "rmem"), ("generic", "rmem"), ("gmem", "dsmem"),
]  # fmt: skip


def random_options(rng: Random, kind: str) -> tuple[tuple[str, str], ...]:
    """Memory attributes, in the order the DSL prints them, mostly few."""
    if rng.random() < 0.85:
        return ()
    often = rng.choice((0.2, 0.4))
    drawn = ((name, rng.choice(values[1:])) for name, (_, _, values) in ATTRIBUTES.items())
    return tuple(one for one in drawn if rng.random() < often and known(kind, *one))


def random_v(rng: Random, n: int) -> Any:
    """A V mode around n elements: one vector, several, a piece of one, flat or (atom, rest)."""
    half = max(1, n // 2)
    return rng.choice(
        (n, n, (n, 1), (n, 1), (n, 2), (n, 4), 2 * n, (half, 2), (2, half), ((half, 2), 1), ((2, half), 2),
         (n,), half, (n, (2, 2)), (2, 2, half), (1, n), ((n, 1), 1), 3 * n, n + half, 12, 3, 5, 6, (3, n),
         (n, 3), 1, (half, half), (1, n, 1))
    )  # fmt: skip


def random_rest(rng: Random) -> Any:
    """A rest mode."""
    return rng.choice((1, 2, 3, 4, 4, 5, 8, (2, 2), (2, 3), (1, 4), (4,), ((2, 2), 2)))


def random_layout(rng: Random, shape: Any, n: int) -> Layout:
    """Mostly compact, mode 0 fastest; sometimes padded, permuted or arbitrary."""
    style = rng.random()
    flat = flatten(shape)
    if style < 0.4:
        strides = list(flatten(compact_col_major(shape)))
    elif style < 0.7:  # V compact, rest at pitches of their own
        v = flatten(wrap(shape)[0])
        strides = list(flatten(compact_col_major(wrap(shape)[0])))
        strides += [rng.choice((n, 8, 16, 24, 64, 72, 9, 60, 12, 1, 0, 128)) for _ in flat[len(v) :]]
    elif style < 0.85:
        order = list(range(len(flat)))
        rng.shuffle(order)
        strides, step = [0] * len(flat), 1
        for i in order:
            strides[i] = step
            step *= flat[i]
    else:
        strides = [rng.choice((0, 1, 1, 1, -1, 2, 4, 8, 9, 16, 64)) for _ in flat]
    if rng.random() < 0.15:
        i = rng.randrange(len(strides))
        strides[i] = Dynamic(rng.choice(DIVISORS), rng.choice((32, 32, 64)))
    if rng.random() < 0.3:  # extents of 1 mostly carry stride 0
        strides = [0 if extent == 1 else stride for extent, stride in zip(flat, strides, strict=True)]
    return Layout(shape, unflatten(iter(strides), shape))


def refactored(rng: Random, shape: Any) -> Any:
    """The same sizes mode by mode, otherwise nested."""
    return tuple(_refactored_mode(rng, mode) if rng.random() < 0.7 else mode for mode in wrap(shape))


def _refactored_mode(rng: Random, mode: Any) -> Any:
    size = product(mode)
    assert isinstance(size, int)
    divisors = [d for d in range(1, size + 1) if size % d == 0]
    d = rng.choice(divisors)
    return rng.choice((size, (size,), (d, size // d), (size, 1), ((d, size // d), 1)))


# ---- spoilers ----


def both(draft: Draft, rng: Random, change: Callable[[Memref], Memref]) -> None:
    """Apply to one side, or to both."""
    which = rng.choice(("src", "dst", "both"))
    if which != "dst":
        draft.src = change(draft.src)
    if which != "src":
        draft.dst = change(draft.dst)


def other_align(draft: Draft, rng: Random) -> None:
    align = rng.choice((*ALIGNS, None))
    both(draft, rng, lambda m: replace(m, align_bytes=align))


def make_dynamic(draft: Draft, rng: Random) -> None:
    both(draft, rng, lambda m: m.with_layout(_with_dynamic_stride(rng, m.layout)))


def _with_dynamic_stride(rng: Random, layout: Layout) -> Layout:
    strides = list(flatten(layout.stride))
    i = rng.randrange(len(strides))
    strides[i] = Dynamic(rng.choice(DIVISORS), rng.choice((32, 64)))
    return Layout(layout.shape, unflatten(iter(strides), layout.shape))


def dynamic_shape(draft: Draft, rng: Random) -> None:
    def change(m: Memref) -> Memref:
        extents = list(flatten(m.layout.shape))
        extents[rng.randrange(len(extents))] = Dynamic(rng.choice(DIVISORS))
        return m.with_layout(Layout(unflatten(iter(extents), m.layout.shape), m.layout.stride))

    both(draft, rng, change)


def other_stride(draft: Draft, rng: Random) -> None:
    def change(m: Memref) -> Memref:
        strides = list(flatten(m.layout.stride))
        strides[rng.randrange(len(strides))] = rng.choice((0, 1, -1, 2, 3, 4, 8, 9, 16, 64))
        return m.with_layout(Layout(m.layout.shape, unflatten(iter(strides), m.layout.shape)))

    both(draft, rng, change)


def other_shape(draft: Draft, rng: Random) -> None:
    shape = refactored(rng, draft.src.layout.shape)
    both(draft, rng, lambda m: m.with_layout(random_layout(rng, shape, 8)))


def other_size(draft: Draft, rng: Random) -> None:
    def change(m: Memref) -> Memref:
        modes = list(wrap(m.layout.shape))
        modes[rng.randrange(len(modes))] = rng.choice((1, 2, 4, 8, 16, (8, 1), (4, 2), (8, 3)))
        return m.with_layout(random_layout(rng, tuple(modes), 8))

    both(draft, rng, change)


def scalar_modes(draft: Draft, rng: Random) -> None:
    """One mode, without a tuple around it."""
    size = rng.choice((1, 3, 4, 8, 8, 16))
    both(draft, rng, lambda m: m.with_layout(Layout(size, rng.choice((1, 1, 2, Dynamic())))))


def other_rank(draft: Draft, rng: Random) -> None:
    def change(m: Memref) -> Memref:
        return m.with_layout(random_layout(rng, (*wrap(m.layout.shape), rng.choice((1, 2))), 8))

    if rng.random() < 0.5:
        both(draft, rng, change)


def other_space(draft: Draft, rng: Random) -> None:
    space = rng.choice(SPACES)
    both(draft, rng, lambda m: replace(m, space=space))


def other_type(draft: Draft, rng: Random) -> None:
    """An element of another type, often of the same width."""
    same = [t for t in COMMON + RARE if t.bits == draft.element.bits]
    element = rng.choice(same) if rng.random() < 0.4 else rng.choice(COMMON + RARE)
    both(draft, rng, lambda m: replace(m, dtype=element))


def no_align(draft: Draft, rng: Random) -> None:
    both(draft, rng, lambda m: replace(m, align_bytes=None))


def add_swizzle(draft: Draft, rng: Random) -> None:
    swizzle = rng.choice(SWIZZLES)
    if "smem" in (draft.src.space, draft.dst.space):
        for name in ("src", "dst"):
            m = getattr(draft, name)
            if m.space == "smem":
                setattr(draft, name, replace(m, swizzle=swizzle))
    else:
        both(draft, rng, lambda m: replace(m, swizzle=swizzle))


def add_predicate(draft: Draft, rng: Random) -> None:
    """One entry an atom or an element, or nearly so."""
    shape = wrap(draft.src.layout.shape)
    v = shape[0]
    choices: list[Any] = [shape, (product(v), *shape[1:])]
    if type(v) is tuple and len(v) == 2:
        choices += [(v[1], *shape[1:])] * 4
    want = rng.choice(choices)
    if rng.random() < 0.2:
        want = refactored(rng, want)
    if rng.random() < 0.1:
        want = (*want[:-1], rng.choice((1, 2, 3, Dynamic())))
    if rng.random() < 0.05:
        want = (*want, 1)
    stride = rng.choice((compact_col_major(want), unflatten(iter([0] * len(flatten(want))), want)))
    space = "rmem" if rng.random() < 0.85 else rng.choice(SPACES)
    element = dtype("i8") if rng.random() < 0.8 else rng.choice(COMMON + RARE)
    draft.pred = Memref(element, space, Layout(want, stride), rng.choice((None, 1, 4, 32)))


def through_tiled_copy(draft: Draft, rng: Random) -> None:
    """The same atom inside a tiled copy."""
    threads, values = rng.choice((32, 128, 256)), rng.choice((1, 2, 8, 16))
    layout_tv = Layout(((threads // 8, 8), values), ((values * 8, 1), 8))
    tiler = (Layout(8, 1), Layout(threads // 8 * values, 1))
    draft.tiled = TiledCopy(draft.atom, layout_tv, tiler)


SPOILERS: tuple[Callable[[Draft, Random], None], ...] = (
    other_align, other_align, other_align, make_dynamic, make_dynamic, other_stride, other_stride,
    other_shape, other_size, scalar_modes, other_rank, other_space, other_type, no_align, add_swizzle,
    add_predicate, add_predicate, through_tiled_copy,
)  # fmt: skip
