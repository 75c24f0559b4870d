"""Which tensors of a run without a GPU hold the integers that they would hold in a run with one.

Offsets of sequences, lists of blocks, pages and gather indices decide what a kernel accesses, and a program
mostly makes them by torch before its call. There they are real: `fake_torch` computes what is small. They
are not where memory was never set, where a result was left out, or where a kernel would have written them
that was not launched; nor is what torch makes of these.

So a tensor's storage is true if torch's functions made it of true ones, and no longer once a kernel was
given it that may write it. Integers that Python has read of one that is not true may come back in any tensor
that is made of Python's numbers: from there to the next test none of these is true.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

MOST = 4096  # elements that are told of a tensor
_MARK = "_layoutcheck_true"
GIVEN = "_layoutcheck_given"  # of a tensor of the DSL: what it was made of
_AT: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # tensors, by their addresses
_UNSET = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_",
}  # fmt: skip
_SET = {"fill_", "zero_", "copy_", "random_"}  # all of what they are given
_READ = {"item", "tolist", "numpy", "__int__", "__index__", "__array__", "__reduce_ex__"}
_WRITES = re.compile(
    r'^.*"(?:cute\.(?:copy|memref\.store|atomic|tma|.*store)|llvm\.(?:store|atomicrmw|cmpxchg)|nvvm\.(?:st|red|'
    r'atomic|cp\.async\.bulk|store)|llvm\.inline_asm)[^"]*"\(.*$',
    re.MULTILINE,
)
_POINTER = re.compile(r"!llvm\.ptr(?:<1>)?[,)]")
_OPERAND = re.compile(r"!cute\.(?:memref|ptr|coord_tensor)<")
_INTEGERS = re.compile(r"[us]?i[0-9]+, (?:gmem|generic)")
_NUMBERS = re.compile(r"(?<![\w<])i[0-9]+\b")


class Escaped:
    """Whether Python has read integers that are not true; `forget` is for the next test."""

    happened = False

    @classmethod
    def forget(cls) -> None:
        """What was read is not used any more."""
        cls.happened = False


def made(name: str, given: Iterable[Any], result: Any, sure: bool = True) -> None:
    """torch's function of that name made a result of what it was given; `sure` that it really did."""
    results = list(_tensors((result,)))
    inplace = name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
    if not results and not inplace and name not in _READ:
        return
    tensors = list(_tensors(given))
    every = all(map(_true, tensors)) if tensors else not Escaped.happened
    true = sure and name not in _UNSET and every
    if name in _READ and not every and tensors and not tensors[0].is_floating_point():
        Escaped.happened = True
    if name in _SET and tensors and sure:
        first, *others = tensors
        true = (_whole(first) or _true(first)) and all(map(_true, others))
    for tensor in (*results, *(tensors[:1] if inplace else ())):
        _mark(tensor, true)


def addressed(tensor: Any, address: int) -> None:
    """A program asked for a tensor's address, of which it may make a pointer of the DSL."""
    _AT[address] = tensor


def address_of(value: Any) -> int | None:
    """The address that a pointer of the DSL holds on the host; None for any other value."""
    address = getattr(value, "_pointer", None)
    return address if isinstance(address, int) else None


def integers(value: Any) -> tuple[int, ...] | None:
    """The elements of a small tensor of true integers, the last mode fastest; None for any other value.

    So for a pointer to its first element, where they lie in order.
    """
    tensor = _given(value)
    if tensor is not value and address_of(value) is not None:
        width = getattr(getattr(value, "dtype", None), "width", 0)
        if not tensor.is_contiguous() or 8 * tensor.element_size() != width:
            return None
    if not _is_tensor(tensor) or not 0 < tensor.numel() <= MOST or not _true(tensor):
        return None
    kind = str(tensor.dtype)
    if not kind.startswith(("torch.int", "torch.uint")):
        return None
    return tuple(map(int, tensor.detach().reshape(-1).tolist()))


def launched(given: Iterable[Any], writes_integers: bool = True) -> None:
    """A kernel was given these, and not run: what it may have written is not true any more."""
    for tensor in _tensors(map(_given, given)):
        if writes_integers or not str(tensor.dtype).startswith(("torch.int", "torch.uint")):
            _mark(tensor, False)


def writes_integers(module: str) -> bool:
    """Whether a traced module may write integers to global memory."""
    for match in _WRITES.finditer(module):
        line = match[0]
        if '"cute.' in line:
            operands = _OPERAND.split(line.rpartition(") : (")[2])[1:]
            operands = operands[1:2] if '"cute.copy' in line else operands  # from the first to the second
            if any(map(_INTEGERS.match, operands)):
                return True
        elif _POINTER.search(line) and _NUMBERS.search(line.rpartition(") : (")[2]):
            return True
    return False


def _given(value: Any) -> Any:
    """The tensor that a value of the DSL was made of, or points to; the value itself where there is none."""
    address = address_of(value)
    return getattr(value, GIVEN, value) if address is None else _AT.get(address, value)


def _tensors(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _tensors(value)
        elif isinstance(value, dict):
            yield from _tensors(value.values())
        elif _is_tensor(value):
            yield value


def _is_tensor(value: Any) -> bool:
    return hasattr(type(value), "untyped_storage")


def _true(tensor: Any) -> bool:
    try:
        return getattr(tensor.untyped_storage(), _MARK, False) is True
    except RuntimeError:  # no storage: sparse tensors, functional ones
        return False


def _mark(tensor: Any, true: bool) -> None:
    try:
        setattr(tensor.untyped_storage(), _MARK, true)
    except (RuntimeError, AttributeError):
        return


def _whole(tensor: Any) -> bool:
    """Whether a tensor is all of its storage."""
    try:
        size = tensor.untyped_storage().nbytes()
    except RuntimeError:
        return False
    return bool(tensor.is_contiguous() and tensor.numel() * tensor.element_size() == size)
