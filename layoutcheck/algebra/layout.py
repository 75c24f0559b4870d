"""`Layout`: a function from coordinates to offsets, given by a shape and a congruent stride.

    (4,8):(1,4)      coordinate (i, j) -> 1*i + 4*j

Coordinates count colexicographically: index 5 of shape (4,8) is (1, 1). Shapes are positive; strides may
be negative, zero, dynamic (`integers.Dynamic`) or basis elements (`basis.Basis`). Values are immutable
and hashable; equality is of shape and stride as written, nesting included.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.integers import Dynamic, Int, add, floor_div, mod, mul
from layoutcheck.algebra.inttuple import Coord, Shape, Sized, Stride
from layoutcheck.display import Drawable
from layoutcheck.errors import InputError


class Layout(Drawable):
    """`shape:stride`, a function from coordinates to offsets in elements. Immutable and hashable.

    Without a stride: the compact column-major one (first mode fastest). Extents and strides are ints,
    `Dynamic` (known at run time only) or, as strides, `Basis`; both are nested in the same way. Call it with
    an index, a tuple or one argument a mode; `layout[i]` is mode i. Raises InputError where an extent is not
    positive and where shape and stride do not match.

    >>> a = Layout((4, 8), (8, 1))
    >>> a(1, 2), a(9)
    (10, 10)
    """

    __slots__ = ("shape", "stride")

    shape: Any
    stride: Any

    def __init__(self, shape: Shape, stride: Stride = None) -> None:
        """Raises InputError where an extent is not positive, and where shape and stride do not match."""
        shape = _tree(shape, "a shape is", Dynamic)
        for leaf in inttuple.flatten(shape):
            if type(leaf) is int and leaf < 1:
                raise InputError(f"every extent of a shape is at least 1, not {leaf}")
        if stride is None:
            stride = compact_col_major(shape)
        else:
            stride = _tree(stride, "a stride is", Dynamic, Basis)
            if not inttuple.congruent(shape, stride):
                raise InputError(
                    f"shape {text(shape)} and stride {text(stride)} do not match",
                    expected="the same nesting in both",
                )
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "stride", stride)

    @classmethod
    def trusted(cls, shape: Any, stride: Any) -> Layout:
        """A layout from parts already known to be valid (results of the algebra); nothing is checked."""
        self: Layout = _new(cls)
        _set_shape(self, shape)
        _set_stride(self, stride)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Layout is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return (Layout, (self.shape, self.stride))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.shape == other.shape and self.stride == other.stride

    def __hash__(self) -> int:
        return hash((self.shape, self.stride))

    def __str__(self) -> str:
        return f"{text(self.shape)}:{text(self.stride)}"

    def __repr__(self) -> str:
        return f"Layout('{self}')"

    def __len__(self) -> int:
        return inttuple.rank(self.shape)

    def __getitem__(self, i: int) -> Layout:
        """Mode `i` as a layout of its own: ((4,8):(1,4))[1] is 8:4."""
        return Layout.trusted(inttuple.mode(self.shape, i), inttuple.mode(self.stride, i))

    def __call__(self, *coord: Any) -> Any:
        """The offset of a coordinate: an index, a tuple, or one argument a mode."""
        at = coord[0] if len(coord) == 1 else coord
        if type(at) is not int:
            try:
                at = inttuple.as_tree(at, (Dynamic, type(None)), arrays=True)
            except inttuple.Unlike as other:
                raise InputError(f"a coordinate is made of integers, not {other}") from None
        return _offset(at, self.shape, self.stride)

    @property
    def modes(self) -> tuple[Layout, ...]:
        """The top-level modes as layouts."""
        return tuple(self[i] for i in range(len(self)))

    @property
    def is_static(self) -> bool:
        """Whether no extent and no stride is a run-time value."""
        leaves = inttuple.flatten((self.shape, self.stride))
        return not any(isinstance(one.value if isinstance(one, Basis) else one, Dynamic) for one in leaves)


def _tree(value: Any, what: str, *leaves: type) -> Any:
    """The value as a tree of integers. Raises InputError for anything else."""
    try:
        return inttuple.as_tree(value, leaves)
    except inttuple.Unlike as other:
        reader = "parse_layout, which reads text" if isinstance(value, str) else None
        raise InputError(f"{what} made of integers, not {other}", expected=reader) from None


# The slots' own setters: they pass by the __setattr__ that keeps layouts immutable, and are the fastest way.
_new: Any = object.__new__
_set_shape: Any = vars(Layout)["shape"].__set__
_set_stride: Any = vars(Layout)["stride"].__set__


def text(t: Any) -> str:
    """A tree as CuTe prints it: (4,(2,?)), and (8) for a tuple of one."""
    return f"({','.join(map(text, t))})" if type(t) is tuple else str(t)


def compact_col_major(shape: Shape, start: Int = 1) -> Any:
    """The strides that make `shape` compact with its first leaf fastest; an extent of 1 gets stride 0."""
    strides: list[Int] = []
    step: Int = start
    for extent in inttuple.flatten(shape):
        strides.append(step if extent != 1 else 0)
        step = mul(step, extent)
    return inttuple.unflatten(iter(strides), shape)


def compact_row_major(shape: Shape) -> Any:
    """The strides that make `shape` compact with its last leaf fastest; an extent of 1 gets stride 0."""
    strides: list[Int] = []
    step: Int = 1
    for extent in reversed(inttuple.flatten(shape)):
        strides.append(step if extent != 1 else 0)
        step = mul(step, extent)
    return inttuple.unflatten(reversed(strides), shape)


def idx2crd(index: Coord, shape: Shape) -> Any:
    """The coordinate of a linear index: idx2crd(5, (4,8)) = (1, 1). The last mode takes the excess.

    A tuple is taken apart mode by mode; a negative index counts as the negated coordinate of its negation.
    """
    if type(index) is tuple:
        if type(shape) is not tuple or len(index) != len(shape):
            raise InputError(f"coordinate {text(index)} does not fit shape {text(shape)}")
        return tuple(map(idx2crd, index, shape))
    if index is None:
        raise InputError(f"a slice has no coordinate in {text(shape)}")
    if type(shape) is not tuple:
        return index
    if type(index) is int and index < 0:
        return _negated(idx2crd(-index, shape))
    out = []
    for s in shape[:-1]:
        extent = s if type(s) is int else inttuple.product(s)
        out.append(idx2crd(mod(index, extent), s))
        index = floor_div(index, extent)
    if shape:
        out.append(idx2crd(index, shape[-1]))
    return tuple(out)


def _negated(coord: Any) -> Any:
    return tuple(map(_negated, coord)) if type(coord) is tuple else mul(-1, coord)


def crd2idx(coord: Coord, shape: Sized, stride: Stride = None) -> Any:
    """The offset of a coordinate (an index into a mode is taken apart colexicographically).

    `shape` may be a Layout; without a stride it is compact. None counts as 0, as in a slice. Raises
    InputError where the coordinate does not fit.
    """
    if stride is None:
        stride = shape.stride if isinstance(shape, Layout) else compact_col_major(shape)
    if isinstance(shape, Layout):
        shape = shape.shape
    if not inttuple.congruent(shape, stride):
        raise InputError(
            f"shape {text(shape)} and stride {text(stride)} do not match", expected="the same nesting in both"
        )
    return _offset(coord, shape, stride)


def _offset(coord: Any, shape: Any, stride: Any) -> Any:
    if type(shape) is tuple:
        if type(coord) is not tuple:
            if coord is None:
                return 0
            coord = idx2crd(coord, shape)
        if len(coord) != len(shape):
            raise InputError(f"coordinate {text(coord)} does not fit shape {text(shape)}")
        out: Any = 0
        for c, s, d in zip(coord, shape, stride, strict=True):
            out = plus(out, _offset(c, s, d))
        return out
    if type(coord) is tuple:
        raise InputError(f"coordinate {text(coord)} does not fit shape {text(shape)}")
    return 0 if coord is None else times(coord, stride)


def times(k: Int, stride: Any) -> Any:
    """k * stride, where the stride may be a basis element."""
    return stride.scaled(k) if isinstance(stride, Basis) else mul(k, stride)


def plus(a: Any, b: Any) -> Any:
    """a + b of offsets; offsets of basis strides are coordinates and add mode by mode."""
    if isinstance(a, (Basis, tuple)) or isinstance(b, (Basis, tuple)):
        return _add_coords(_as_coord(a), _as_coord(b))
    return add(a, b)


def _as_coord(a: Any) -> Any:
    if isinstance(a, Basis):
        out: Any = a.value
        for i in reversed(a.path):
            out = (*([0] * i), out)
        return out
    return a


def _add_coords(a: Any, b: Any) -> Any:
    if type(a) is not tuple and type(b) is not tuple:
        return add(a, b)
    if a == 0:
        return b
    if b == 0:
        return a
    a, b = inttuple.wrap(a), inttuple.wrap(b)
    width = max(len(a), len(b))
    a, b = a + (0,) * (width - len(a)), b + (0,) * (width - len(b))
    return tuple(_add_coords(x, y) for x, y in zip(a, b, strict=True))
