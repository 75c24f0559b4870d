"""What surrounds the copy in every kernel of this folder: filling and dumping memory, and the reference.

The reference does what the layouts say, one element after another by the DSL's own indexing; no `cute.copy`.
Every call that copies goes through `spied`, which notes the operands' types before the DSL sees them.
"""

from __future__ import annotations

from typing import Any

import cutlass
from cutlass import cute

CALLS: list[dict[str, Any]] = []  # operand types of each call to a copying function, in order


EXTENTS: list[dict[str, Any]] = []  # bytes that each whole tensor of static layout spans


def extent(**tensors: Any) -> None:
    """Note what tensors span."""
    for side, tensor in tensors.items():
        size = cute.cosize(tensor.layout) if not hasattr(tensor.layout, "inner") else None
        if isinstance(size, int):
            EXTENTS.append(
                {
                    "side": side,
                    "bytes": size * tensor.element_type.width // 8,
                    "space": str(tensor.memspace).split(".")[-1],
                }
            )


@cute.jit
def move_words(dst: cute.Pointer, src: cute.Pointer, words: cutlass.Constexpr, threads: cutlass.Constexpr):
    """32-bit words, all threads together."""
    a = cute.make_tensor(cute.recast_ptr(src, dtype=cutlass.Int32), cute.make_layout(words))
    b = cute.make_tensor(cute.recast_ptr(dst, dtype=cutlass.Int32), cute.make_layout(words))
    tid = cute.arch.thread_idx()[0]
    for i in cutlass.range(tid, words, threads, unroll=1):
        b[i] = a[i]


def fill(fragment: Any, given: Any, threads: int) -> None:
    """A thread's registers: element i of thread t is number i * threads + t of `given`."""
    count = cute.size(fragment)
    values = cute.make_tensor(
        cute.recast_ptr(given, dtype=fragment.element_type), cute.make_layout(count * threads)
    )
    tid = cute.arch.thread_idx()[0]
    for i in range(count):
        fragment[i] = values[i * threads + tid]


def dump(fragment: Any, out: Any, threads: int) -> None:
    """The reverse."""
    count = cute.size(fragment)
    values = cute.make_tensor(
        cute.recast_ptr(out, dtype=fragment.element_type), cute.make_layout(count * threads)
    )
    tid = cute.arch.thread_idx()[0]
    for i in range(count):
        values[i * threads + tid] = fragment[i]


def elements(src: Any, dst: Any) -> None:
    """Element i of the source to element i of the destination."""
    for i in range(cute.size(dst)):
        dst[i] = src[i]


@cute.jit
def _if(pred: Any, src: Any, dst: Any, first: cutlass.Constexpr, count: cutlass.Constexpr, zero: Any):
    if pred:
        for e in cutlass.range_constexpr(count):
            dst[first + e] = src[first + e]
    else:
        if cutlass.const_expr(zero is not None):
            for e in cutlass.range_constexpr(count):
                dst[first + e] = zero


def elements_if(pred: Any, src: Any, dst: Any, *, zero_fill: bool) -> None:
    """The same, each run of elements where its predicate holds; zeros elsewhere if `zero_fill`."""
    count = cute.size(dst) // cute.size(pred)
    zero = dst.element_type(0) if zero_fill else None
    for i in range(cute.size(pred)):
        _if(pred[i], src, dst, i * count, count, zero)


def _type(value: Any) -> str | None:
    value = getattr(value, "value", value)
    return None if value is None else str(getattr(value, "type", type(value)))


def spied(name: str) -> Any:
    """`cute.<name>`, noting its operands' types."""
    function = getattr(cute, name)

    def call(*operands: Any, **named: Any) -> Any:
        seen: dict[str, Any] = {"op": name, "operands": [_type(o) for o in operands]}
        if named.get("pred") is not None:
            seen["pred"] = _type(named["pred"])
        seen["named"] = sorted(k for k, v in named.items() if v is not None)
        CALLS.append(seen)
        result = function(*operands, **named)
        seen["passed"] = True
        return result

    return call
