"""CuTe DSL source for the parts of a copy, as a user would write it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout, compact_col_major
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.copies.atom import Atom, VectorAtom
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import CLASSES, DType, class_name

WIDTH = 72  # columns of a line of code: `explain` sets it in 80, indented


def folded(text: str, width: int = WIDTH) -> str:
    """Code with every call that is too long for a line broken up: its arguments on a line, or on one each."""
    return "\n".join(part for line in text.split("\n") for part in _fold(line, width))


def _fold(line: str, width: int) -> list[str]:
    """One line, or the outermost call that ends it spread over several; comments and strings stay as they are."""
    body = line.rstrip(",")
    tail = line[len(body) :]
    if len(line) <= width or not {"#", "'", '"'}.isdisjoint(line) or not body.endswith(")"):
        return [line]
    opening, arguments = _last_call(body)
    made, dot, method = body[:opening].rpartition(").")
    if dot and len(made) > width:  # a method of what a long call returns
        *first, last = _fold(f"{made})", width)
        return [*first, f"{last}.{method}{body[opening:]}{tail}"]
    if not arguments:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    comma = "," if body[:-1].endswith(",") else ""  # of a tuple of one
    inner = [f"{indent}    {', '.join(arguments)}{comma}"]
    if len(inner[0]) > width:
        inner = [part for argument in arguments for part in _fold(f"{indent}    {argument},", width)]
    return [body[: opening + 1], *inner, f"{indent}){tail}"]


def _last_call(body: str) -> tuple[int, list[str]]:
    """Where the parenthesis that the last character closes opens, and what is between its commas."""
    depth, end = 0, len(body) - 1
    arguments: list[str] = []
    for at in range(len(body) - 1, -1, -1):
        depth += (body[at] in ")]}") - (body[at] in "([{")
        if depth == 0:
            arguments.insert(0, body[at + 1 : end].strip())
            return at, [argument for argument in arguments if argument]
        if depth == 1 and body[at] == ",":
            arguments.insert(0, body[at + 1 : end].strip())
            end = at
    return len(body), []


def dtype_code(dtype: DType) -> str:
    """`cutlass.BFloat16`. Raises InputError for a type that the DSL has no name for."""
    if dtype.name not in CLASSES or dtype.name.startswith("si"):  # cutlass.Int8 is i8
        raise InputError(f"the DSL has no name for the element type {dtype.name}")
    return f"cutlass.{class_name(dtype)}"


def as_bits_code(held: str, dtype: DType) -> str:
    """A tensor seen as integers of its elements' width (of bytes for narrower ones).

    The DSL has no constants of some types, and cannot store single elements of them: `fill` and `x[i] = y[i]`
    raise for f8E4M3, f8E4M3B11FNUZ and the types of 4 and 6 bits, and `fill` crashes on tf32 (measured).
    """
    return f"cute.recast_tensor({held}, cutlass.Int{max(8, dtype.bits)})"


def tree_code(tree: Any, values: Iterable[str] = ()) -> str:
    """A shape or stride as a Python literal; its run-time leaves, left to right, are `values`.

    Raises InputError where it has more of them than there are values.
    """
    return _tree(tree, iter(values))


def _tree(tree: Any, values: Iterator[str]) -> str:
    if type(tree) is tuple:
        inner = ", ".join(_tree(part, values) for part in tree)
        return f"({inner},)" if len(tree) == 1 else f"({inner})"
    if isinstance(tree, Dynamic):
        value = next(values, None)
        if value is None:
            raise InputError(f"nothing names the run-time value {tree}")
        return value if tree.divisor == 1 else f"cute.assume({value}, divby={tree.divisor})"
    return str(tree)


def layout_code(layout: Layout, values: Iterable[str] = ()) -> str:
    """`cute.make_layout((128, 64), stride=(1, 128))`; the stride of a vector is left out where it is 1.

    `values` are its run-time strides, as `run_time` finds them. Raises InputError where there are not enough.
    """
    if len(layout) == 1 and layout.stride == compact_col_major(layout.shape):
        return f"cute.make_layout({tree_code(layout.shape)})"
    return f"cute.make_layout({tree_code(layout.shape)}, stride={tree_code(layout.stride, values)})"


def run_time(new: Layout, old: Layout, name: str) -> list[str]:
    """What the run-time strides of `new` are in `old`, the layout of the tensor `name`: `src.stride[1]`.

    Each in its place where the two have as many strides, else in their order; none where that is no answer.
    """
    news, olds = inttuple.flatten((new.stride,)), list(_leaves(old.stride, f"{name}.stride"))
    if len(news) == len(olds):
        return [at for stride, (_, at) in zip(news, olds, strict=True) if isinstance(stride, Dynamic)]
    found = [at for stride, at in olds if isinstance(stride, Dynamic)]
    return found if sum(isinstance(stride, Dynamic) for stride in news) == len(found) else []


def _leaves(tree: Any, at: str) -> Iterator[tuple[Any, str]]:
    if type(tree) is not tuple:
        yield tree, at
        return
    for i, part in enumerate(tree):
        yield from _leaves(part, f"{at}[{i}]")


def allocation_code(memref: Memref, layout: str) -> str:
    """`allocator.allocate_tensor(...)` of a tensor in shared memory; `layout` is a plain layout's code."""
    swizzle = "" if memref.swizzle is None else f", swizzle={swizzle_code(memref.swizzle)}"
    return (
        f"allocator.allocate_tensor({dtype_code(memref.dtype)}, {layout}, "
        f"byte_alignment={memref.proved_align_bytes}{swizzle})"
    )


def fragment_code(view: str, dtype: DType, name: str = "fragment") -> str:
    """The register tensor of a thread's view, compact from its first mode on, so that V is contiguous.

    `make_rmem_tensor_like` orders by the view's strides instead, a run-time one last (measured): of
    (8,4):(?,64) it makes (8,4):(4,1), which no wide copy takes.
    """
    return f"{name} = cute.make_rmem_tensor({view}.shape, {dtype_code(dtype)})"


def swizzle_code(swizzle: Swizzle) -> str:
    """`cute.make_swizzle(3, 4, 3)`."""
    return f"cute.make_swizzle({swizzle.bits}, {swizzle.base}, {swizzle.shift})"


def atom_code(atom: Atom) -> str:
    """`cute.make_copy_atom(op, dtype, num_bits_per_copy=128)`; the printed atom where there is no such call."""
    if not atom.constructor:
        return str(atom)
    bits = atom.width_bits if isinstance(atom, VectorAtom) else 0
    width = f", num_bits_per_copy={bits}" if bits else ""
    return f"cute.make_copy_atom({atom.constructor}, {dtype_code(atom.dtype)}{width}{atom.call_options})"
