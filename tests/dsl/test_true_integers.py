"""Which tensors of a run without a GPU hold the integers that a run with one has there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from layoutcheck.dsl.called import Called, Calls
from layoutcheck.dsl.true_integers import (
    GIVEN,
    MOST,
    Escaped,
    addressed,
    integers,
    launched,
    made,
    writes_integers,
)
from tests.dsl.test_fake_torch import printed


class Storage:
    """What tensors share; it takes attributes."""

    def __init__(self, size: int) -> None:
        self.size = size

    def nbytes(self) -> int:
        return self.size


class Tensor:
    """As torch's: some of the 4-byte elements of a storage."""

    def __init__(
        self, elements: list[int], dtype: str = "torch.int32", storage: Storage | None = None
    ) -> None:
        self.elements, self.dtype = elements, dtype
        self.storage = storage or Storage(4 * len(elements))
        self.shape, self.stride = (len(elements),), (1,)

    def untyped_storage(self) -> Storage:
        return self.storage

    def numel(self) -> int:
        return len(self.elements)

    def element_size(self) -> int:
        return 4

    def is_contiguous(self) -> bool:
        return True

    def is_floating_point(self) -> bool:
        return "float" in self.dtype

    def detach(self) -> Tensor:
        return self

    def reshape(self, _size: int) -> Tensor:
        return self

    def tolist(self) -> list[int]:
        return self.elements


@pytest.fixture(autouse=True)
def _every_test_begins_anew() -> Any:
    Escaped.forget()
    yield
    Escaped.forget()


def true(*elements: int, dtype: str = "torch.int32") -> Tensor:
    tensor = Tensor(list(elements), dtype)
    made("tensor", [list(elements)], tensor)
    return tensor


def test_what_torch_makes_of_true_integers_is_true() -> None:
    ends, unset = true(0, 3, 7), Tensor([0, 0, 0])
    made("empty", [3], unset)
    assert integers(ends) == (0, 3, 7)
    assert integers(unset) is None and integers(Tensor([1])) is None and integers((0, 3)) is None
    of_both, of_one = Tensor([4]), Tensor([5])
    made("add", [ends, unset], of_both)
    made("cat", [[ends, ends]], of_one)
    assert integers(of_both) is None and integers(of_one) == (5,)
    given = type("Given", (), {GIVEN: ends})()  # as the DSL's tensor keeps it
    assert integers(given) == (0, 3, 7)


def test_a_left_out_result_and_what_is_large_or_no_integer_are_not_told() -> None:
    left_out = Tensor([1])
    made("cumsum", [true(1)], left_out, sure=False)
    assert integers(left_out) is None
    assert integers(true(*range(MOST))) == tuple(range(MOST)) and integers(true(*range(MOST + 1))) is None
    assert integers(true(1, dtype="torch.float32")) is None and integers(true()) is None
    assert integers(true(1, dtype="torch.uint8")) == (1,)


def test_writing_makes_a_tensor_what_is_written() -> None:
    unset, ends = Tensor([7, 8]), true(0, 3)
    made("empty", [2], unset)
    made("__setitem__", [unset, 0, 5], None)  # a part of it
    assert integers(unset) is None
    made("copy_", [unset, ends], unset)
    assert integers(unset) == (7, 8)
    made("__setitem__", [ends, 0, Tensor([9])], None)
    assert integers(ends) is None
    part = Tensor([1], storage=Storage(64))
    made("empty", [16], part)
    made("fill_", [part, 3], part)
    assert integers(part) is None
    view = Tensor([2], storage=unset.storage)
    made("add_", [view, Tensor([1])], view)
    assert integers(unset) is None


def test_after_a_launch_what_the_kernel_may_write_is_not_true() -> None:
    ends, sums, counts = true(0, 3), true(1, dtype="torch.float32"), true(5)
    of_sums = Tensor([1], storage=sums.storage)
    assert integers(of_sums) == (1,)
    launched([ends, sums], writes_integers=False)
    assert integers(ends) == (0, 3) and integers(of_sums) is None
    launched([[ends], counts])
    assert integers(ends) is None and integers(counts) is None


def test_a_call_tells_them_once_and_forgets_what_it_may_write() -> None:
    told: list[Called] = []
    ends = true(0, 3)
    Calls(1, told.append, writes=False).take([ends], {})
    Calls(2, told.append).take([], {"ends": ends})
    Calls(3, told.append).take([ends], {})
    Calls(None, told.append).take([ends], {})
    assert [one.given for one in told] == [
        (((2,), (1,), (0, 3)),),
        (((2,), (1,), (0, 3)),),
        (((2,), (1,), None),),
    ]


def pointer(address: int, width: int = 32) -> object:
    """As `make_ptr` of the DSL makes one."""
    return type("Pointer", (), {"_pointer": address, "dtype": SimpleNamespace(width=width)})()


def test_a_pointer_has_the_integers_of_the_tensor_whose_address_it_is() -> None:
    ends, told = true(0, 3, 7), list[Called]()
    addressed(ends, 4096)
    assert integers(pointer(4096)) == (0, 3, 7)
    assert integers(pointer(4096, 64)) is None and integers(pointer(8192)) is None
    Calls(1, told.append, writes=False).take([pointer(4096), 5, pointer(8192)], {})
    launched([pointer(4096)])
    Calls(2, told.append).take([pointer(4096)], {})
    assert [one.given for one in told] == [(((0, 3, 7),), 5, (None,)), ((None,),)]
    other = true(9)
    addressed(other, 4096)
    assert integers(pointer(4096)) == (9,)
    del other
    assert integers(pointer(4096)) is None


def test_integers_that_python_read_of_others_may_come_back() -> None:
    unset = Tensor([7])
    made("empty", [1], unset)
    made("item", [true(1)], 1)
    made("item", [Tensor([1], "torch.float32")], 1.0)
    assert integers(true(1)) == (1,)
    before = true(2)
    made("tolist", [unset], [7])
    assert integers(true(7)) is None and integers(before) == (2,)
    Escaped.forget()
    assert integers(true(7)) == (7,)


_STORE = '"cute.memref.store"(%1, %2, %3) : (!cute.memref<{}, {}, "(3):(1)">, !cute.coord<"?">, {}) -> ()'
_COPY = (
    '"cute.copy"(%1, %2, %3) : (!cute.atom, !cute.memref<{}, {}, "4:1">, !cute.memref<{}, {}, "4:1">) -> ()'
)
_ATOMIC = '%4 = "llvm.atomicrmw"(%1, %2) <{{bin_op = 1}}> : (!llvm.ptr<{}>, {}) -> {}'


@pytest.mark.parametrize(
    ("line", "writes"),
    [
        (_STORE.format("i32", "gmem", "i32"), True),
        (_STORE.format("bf16", "gmem", "bf16"), False),
        (_STORE.format("i32", "rmem", "i32"), False),
        ('%4 = "cute.memref.load"(%1, %2) : (!cute.memref<i32, gmem, "3:1">, !cute.coord<"?">)', False),
        (_COPY.format("i32", "gmem", "i32", "smem"), False),
        (_COPY.format("i32", "gmem", "i32", "rmem"), False),
        (_COPY.format("i32", "rmem", "i32", "gmem"), True),
        (_COPY.format("f32", "rmem", "f32", "gmem"), False),
        (_ATOMIC.format(1, "i32", "i32"), True),
        (_ATOMIC.format(1, "f32", "f32"), False),
        (_ATOMIC.format(3, "i32", "i32"), False),
        ('"llvm.inline_asm"(%1, %2) <{asm_string = "red.global.add.s32"}> : (!llvm.ptr<1>, i32) -> ()', True),
    ],
)  # fmt: skip
def test_a_module_that_may_write_integers(line: str, writes: bool) -> None:
    assert writes_integers(f"  {line}\n") is writes


TORCH = """
import torch
from layoutcheck.dsl.fake_torch import pretend
from layoutcheck.dsl.torch_work import BIG
from layoutcheck.dsl.true_integers import integers, launched
pretend(torch, (9, 0), 132)
lengths = torch.tensor([3, 4], device="cuda", dtype=torch.int32)
ends = torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
print(integers(ends), integers(ends.cuda()[1:]), integers(torch.arange(3) * 2))
print(integers(torch.empty(2).int()))
counts = torch.zeros(4, dtype=torch.int32)
counts[1:3] = lengths
print(integers(counts), integers(torch.randn(BIG + 1).topk(2).indices))
launched([counts])
print(integers(counts.clone()), integers(ends))
"""


def test_torch_itself() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    out, errors = printed(TORCH)
    assert out.split("\n")[:4] == [
        "(0, 3, 7) (3, 7) (0, 2, 4)", "None", "(0, 3, 4, 0) None", "None (0, 3, 7)",
    ], errors  # fmt: skip
