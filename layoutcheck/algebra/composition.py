"""Composition: R(c) = A(B(c)).

The left layout A is coalesced to flat modes (S0,S1,..):(D0,D1,..), its last one taken to go on forever.
Mode r begins at index P_r = S0 * .. * S_(r-1). A mode s:d of B walks the indices 0, d, 2d, .., (s-1)d of A,
and the result is a layout if that walk bends only where modes of A end:

    stride divisibility   P_r divides d for the mode r in which d lands (P_r <= d < P_(r+1)),
                          and k = d / P_r divides S_r;
    shape divisibility    the walk fills every mode that it leaves: S_r / k divides s, and so on for r+1, ..

(CuTe paper, equations 20 and 21.) *Truncation*: a walk that ends inside mode r, (s-1) k < S_r, needs no
more than P_r | d:  (8,8):(3,97) o 3:3 = 3:9 although 3 does not divide 8.

Modes of B compose one by one, so together they must not carry: where the largest steps of several modes
into mode r of A add up to S_r or more, A(B(c)) is no sum of one term a mode and no layout in B's shape.
These conditions are exact: what passes them satisfies R(c) = A(B(c)) at every c, what fails them does not.

A run-time extent or stride cannot be checked; it is taken to be divisible, as the DSL takes it.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.integers import Dynamic, ceil_div, floor_div, minimum, mul
from layoutcheck.algebra.inttuple import Composed, Tiler, flatten
from layoutcheck.algebra.layout import Layout, text, times
from layoutcheck.algebra.modes import get, make_layout
from layoutcheck.algebra.simplify import continues, merged
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.digits import many
from layoutcheck.errors import InputError


def composition(a: Composed, b: Tiler, *, strict: bool = True) -> Any:
    """R(c) = A(B(c)): `b` is a layout, or a tiler (a shape or a tuple of layouts, applied mode by mode).

    In a tiler an integer n is n:1, None keeps the mode, and modes of `a` beyond it are dropped. A Swizzle or
    ComposedLayout on the left gives a ComposedLayout.

    Raises InputError where the composition is not admissible, naming the mode and the divisibility that
    fails. With `strict=False` the DSL's own weaker conditions apply, and the answer is the DSL's: it may
    not be A(B(c)).

    >>> print(composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))))
    ((2,2),3):((24,2),8)
    """
    if type(a) is Layout:
        if type(b) is Layout:
            return Layout.trusted(*compose(a, b.shape, b.stride, strict))
        return _tile(a, b, strict)
    if isinstance(a, ComposedLayout):
        return ComposedLayout(a.inner, a.offset, composition(a.outer, b, strict=strict))
    if isinstance(a, Swizzle) and isinstance(b, Layout):
        return ComposedLayout(a, 0, b)
    raise InputError(f"{a} o {b}: no composition of a {type(a).__name__} and a {type(b).__name__}")


def _tile(a: Layout, b: Any, strict: bool) -> Any:
    """A o tiler, mode by mode."""
    if type(b) is tuple:
        if len(b) > len(a):
            raise InputError(f"the tiler has {many(len(b), 'mode')}, more than the {len(a)} of {a}")
        return make_layout(*(composition(a[i], t, strict=strict) for i, t in enumerate(b)))
    if b is None:
        return a
    if isinstance(b, (int, Dynamic)):
        return Layout.trusted(*compose(a, b, 1 if b != 1 else 0, strict))
    if isinstance(b, ComposedLayout) and isinstance(b.inner, Layout):
        return ComposedLayout(composition(a, b.inner, strict=strict), b.offset, b.outer)
    raise InputError(f"{a} o {b}: no composition of a Layout and a {type(b).__name__}")


def compose(a: Layout, shape: Any, stride: Any, strict: bool = True) -> tuple[Any, Any]:
    """Shape and stride of A o (shape:stride)."""
    if type(a.shape) is int and type(stride) is int and type(a.stride) is int:
        return shape, stride * a.stride  # the commonest case: one mode each
    left = _Left(a, shape, stride, strict)
    if type(shape) is tuple:
        result = left.tree(shape, stride)
        left.check_carries()
        return result
    return left.mode(shape, stride)


class _Left:
    """A, coalesced, as what modes of B walk through; remembers the steps, to see carries.

    Where B has basis strides, each picks a mode of A: that mode is a `_Left` of its own.
    """

    __slots__ = ("a", "at", "b", "begins", "shape", "steps", "strict", "stride", "unmerged")

    def __init__(self, a: Layout, b_shape: Any, b_stride: Any, strict: bool) -> None:
        self.a = a
        self.b = (b_shape, b_stride)  # for messages
        self.strict = strict
        self.at: dict[tuple[int, ...], _Left] = {}
        if type(a.shape) is tuple:
            self.shape, self.stride = merged(flatten(a.shape), flatten(a.stride))
        else:
            self.shape, self.stride = [a.shape], [a.stride]
        self.unmerged = self.shape, self.stride
        if strict and len(self.shape) > 1 and isinstance(self.shape[-1], Dynamic):
            self.absorb()
        self.steps: list[int] = []
        self.begins: list[int] | None = None  # P_r; None where A has run-time extents before its last
        if len(self.shape) > 1:
            begin, begins = 1, [1]
            for s in self.shape[:-1]:
                if type(s) is not int:
                    return
                begin *= s
                begins.append(begin)
            self.begins = begins
            self.steps = [0] * (2 * len(begins))  # largest total step into each mode: forward, then backward

    def absorb(self) -> None:
        """Merge a static mode into a last one of run-time extent: no step meets an end between them."""
        s, d = self.shape[-2], self.stride[-2]
        if type(s) is int and continues(s, d, self.stride[-1]):
            self.shape = [*self.shape[:-2], self.shape[-1]]
            self.stride = [*self.stride[:-2], d]

    def tree(self, shape: Any, stride: Any) -> tuple[Any, Any]:
        """A o (B0, B1, ..) = (A o B0, A o B1, ..)."""
        shapes, strides = [], []
        for s, d in zip(shape, stride, strict=True):
            rs, rd = self.tree(s, d) if type(s) is tuple else self.mode(s, d)
            shapes.append(rs)
            strides.append(rd)
        return tuple(shapes), tuple(strides)

    def mode(self, s: Any, d: Any) -> tuple[Any, Any]:
        """A o s:d."""
        if type(d) is Basis:
            if d.path not in self.at:
                self.at[d.path] = _Left(get(self.a, d.path), *self.b, self.strict)
            return self.at[d.path].mode(s, d.value)
        if d == 0:
            return s, 0
        if len(self.shape) == 1 and s != 1:
            return s, times(d, self.stride[0])
        if s == 1 or self.begins is None or not self.strict or type(s) is not int or type(d) is not int:
            return self.trusting(s, d)
        if d < 0:  # A(-i) = -A(i)
            shapes, strides = self.exact(s, -d, len(self.begins))
            strides = [times(-1, e) for e in strides]
        else:
            shapes, strides = self.exact(s, d, 0)
        if len(shapes) == 1:
            return shapes[0], strides[0]
        return tuple(shapes), tuple(strides)

    def exact(self, s: int, d: int, direction: int) -> tuple[list[Any], list[Any]]:
        """The modes of A o s:d for static s > 1 and d > 0; `direction` is where its steps are added up."""
        begins = self.begins
        assert begins is not None
        last = len(begins) - 1
        r = bisect_right(begins, d) - 1
        k, off = divmod(d, begins[r])
        if off:
            raise self.refuse(
                s, d, f"stride divisibility fails: the stride {d} is not a multiple of {begins[r]}, "
                f"where mode {r} {self.of_a()} begins",
            )  # fmt: skip
        shapes: list[Any] = []
        strides: list[Any] = []
        while r < last:
            extent, step = self.shape[r], self.stride[r]
            if (s - 1) * k < extent:  # ends here: truncation
                break
            n, off = divmod(extent, k)
            if off:
                raise self.refuse(
                    s, d, f"stride divisibility fails in mode {r} {self.of_a()}: steps of {k} do not divide "
                    f"its extent {extent}, and {s} of them do not end within it",
                )  # fmt: skip
            rest, off = divmod(s, n)
            if off:
                raise self.refuse(
                    s, d, f"shape divisibility fails in mode {r} {self.of_a()}: its {n} steps of {k} do not "
                    f"divide the {s} to be made",
                )  # fmt: skip
            shapes.append(n)
            strides.append(times(k, step))
            self.steps[direction + r] += (n - 1) * k
            s, k, r = rest, 1, r + 1
            if s == 1:
                return shapes, strides
        shapes.append(s)
        strides.append(times(k, self.stride[r]))
        self.steps[direction + r] += (s - 1) * k
        return shapes, strides

    def trusting(self, s: Any, d: Any) -> tuple[Any, Any]:
        """A o s:d by the DSL's rule: what is not static is taken to be divisible, and so is d < S_r."""
        whole = (s, d)
        sign = -1 if type(d) is int and d < 0 else 1
        d = mul(d, sign)
        shapes: list[Any] = []
        strides: list[Any] = []
        lengths, steps = self.unmerged
        last = len(lengths) - 1
        for r in range(last):
            extent = lengths[r]
            if type(extent) is int and type(d) is int and extent % d and d % extent:
                fits = type(s) is int and (s - 1) * d < extent if self.strict else sign * d < extent
                if not fits:
                    raise self.refuse(
                        *whole, f"stride divisibility fails in mode {r} {self.of_a()}: its extent {extent} "
                        f"and the stride {d} that reaches it do not divide one another",
                    )  # fmt: skip
            n, after = ceil_div(extent, d), ceil_div(d, extent)
            if not (n == 1 or s == 1):
                n = minimum(n, s)
                if type(n) is int and type(s) is int and (n == 0 or s % n):
                    raise self.refuse(
                        *whole, f"shape divisibility fails in mode {r} {self.of_a()}: its {n} steps of {d} "
                        f"do not divide the {s} to be made",
                    )  # fmt: skip
                shapes.append(n)
                strides.append(times(mul(sign, d), steps[r]))
                s = floor_div(s, n)
            d = after
        if s != 1 or not shapes:
            shapes.append(s)
            strides.append(times(mul(sign, d), steps[last]))
            shapes, strides = merged(tuple(shapes), tuple(strides))
        if len(shapes) == 1:
            return shapes[0], strides[0]
        return tuple(shapes), tuple(strides)

    def check_carries(self) -> None:
        """Refuse modes of B whose steps add up beyond a mode of A, or that walk it in both directions."""
        for left in self.at.values():
            left.check_carries()
        begins = self.begins
        if begins is None or not self.strict:
            return
        count = len(begins)
        forward, backward = self.steps[:count], self.steps[count:]
        for r in range(count - 1):
            total = max(forward[r], backward[r])
            if total >= self.shape[r]:
                raise self.refuse(
                    *self.b, f"its modes carry: their largest steps into mode {r} {self.of_a()} add up "
                    f"to {total}, beyond its extent {self.shape[r]}",
                )  # fmt: skip
        if any(backward) and any(
            f and b for r, f in enumerate(forward) for q, b in enumerate(backward) if r != q
        ):
            raise self.refuse(*self.b, f"its modes walk several modes {self.of_a()} in both directions")

    def of_a(self) -> str:
        flat = f"{text(tuple(self.shape))}:{text(tuple(self.stride))}"
        return f"of {flat}" if flat == str(self.a) else f"of {flat} (which is {_short(self.a)}, coalesced)"

    def refuse(self, shape: Any, stride: Any, why: str) -> InputError:
        """The error: which composition, which mode of B, and why."""
        b_shape, b_stride = self.b
        mode = "" if type(b_shape) is not tuple or type(shape) is tuple else f", in its mode {shape}:{stride}"
        b = _short(f"{text(b_shape)}:{text(b_stride)}")
        return InputError(f"inadmissible composition {_short(self.a)} o {b}{mode}: {why}")


def _short(a: object) -> str:
    """Enough of a layout to recognize it."""
    whole = str(a)
    return whole if len(whole) <= 120 else f"{whole[:80]}...{whole[-30:]}"
