"""Loops in which a block only loads: each place is an event once, in whatever order the loops stand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from layoutcheck.order.events import kernels

ONE = '%1 = "arith.constant"() <{value = 1 : i32}> : () -> i32'
INDEX = "rawConstantIndices = array<i32: -2147483648>"
WIDTHS = {"%row": 1, "%a": 4, "%b": 5, "%d": 5}  # of what each index runs through, beside k
BARRIER = '"nvvm.barrier"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> ()\n'


def _load(name: str, at: str) -> str:
    """A load of f32 at an index of shared memory."""
    return f"""
      %p{name} = "llvm.getelementptr"(%base, {at}) <{{elem_type = f32, {INDEX}}}> :
        (!llvm.ptr<3>, i32) -> !llvm.ptr<3>
      %v{name} = "llvm.load"(%p{name}) <{{ordering = 0 : i64}}> :
        (!llvm.ptr<3>) -> f32"""


def _loops(inner: str, after: str = "") -> str:
    """3, 4 and 5 turns around what reads at 100 k + n, at 100 k + m and at 100 k."""
    return f""""builtin.module"() ({{
  "gpu.module"() <{{sym_name = "kernels"}}> ({{
    "cuda.kernel"() <{{function_type = () -> (), sym_name = "loads"}}> ({{
      %0 = "arith.constant"() <{{value = 0 : i32}}> : () -> i32
      {ONE}
      %3 = "arith.constant"() <{{value = 3 : i32}}> : () -> i32
      %4 = "arith.constant"() <{{value = 4 : i32}}> : () -> i32
      %5 = "arith.constant"() <{{value = 5 : i32}}> : () -> i32
      %100 = "arith.constant"() <{{value = 100 : i32}}> : () -> i32
      %base = "llvm.inttoptr"(%0) : (i32) -> !llvm.ptr<3>
      "scf.for"(%0, %3, %1) ({{
      ^bb0(%k: i32):
        "scf.for"(%0, %4, %1) ({{
        ^bb0(%n: i32):
          %last = "scf.for"(%0, %5, %1, %0) ({{
          ^bb0(%m: i32, %c: i32):
            %row = "arith.muli"(%k, %100) : (i32, i32) -> i32
            %a = "arith.addi"(%row, %n) : (i32, i32) -> i32
            %b = "arith.addi"(%row, %m) : (i32, i32) -> i32
            %next = "arith.addi"(%c, %1) : (i32, i32) -> i32
            %d = "arith.addi"(%row, %c) : (i32, i32) -> i32
            {inner}
            "scf.yield"({"%far" if "%far" in inner else "%next"}) : (i32) -> ()
          }}) : (i32, i32, i32, i32) -> i32
          {after}
          "scf.yield"() : () -> ()
        }}) : (i32, i32, i32) -> ()
        "scf.yield"() : () -> ()
      }}) : (i32, i32, i32) -> ()
      "cuda.return"() : () -> ()
    }}) : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""


IF = f"""%on = "arith.cmpi"(%n, %3) <{{predicate = 0 : i64}}> : (i32, i32) -> i1
            "scf.if"(%on) ({{{_load("I", "%b")}
              "scf.yield"() : () -> ()
            }}, {{
            }}) : (i1) -> ()"""


@pytest.mark.parametrize(
    ("inner", "after", "counts"),
    [
        (_load("A", "%a"), "", [12]),
        (_load("B", "%b"), "", [15]),
        (_load("C", "%row"), "", [3]),
        (_load("A", "%a") + _load("B", "%b") + _load("C", "%row"), "", [3, 12, 15]),
        (_load("D", "%d"), "", [15]),  # an address that a loop carries
        ('%far = "arith.addi"(%c, %n) : (i32, i32) -> i32' + _load("F", "%d"), "", [60]),  # by n and m
        (IF, "", [15]),  # in the last turn of n alone
        (_load("A", "%a") + "\n" + BARRIER, "", [60, 60]),  # what is ordered comes anew
        (_load("A", "%a"), BARRIER, [12, 12]),  # the inner loop orders nothing
        (_load("B", "%b"), BARRIER, [12, 60]),
        (_load("B", "%b"), _load("E", "%last"), [1, 15]),  # what a loop ends with
    ],
)
def test_places_are_loaded_once(inner: str, after: str, counts: list[int]) -> None:
    (kernel,) = kernels(_loops(inner, after))
    events = kernel.watch().events
    assert sorted(Counter(event.meaning.op for event in events).values()) == counts
    loads = [event for event in events if event.meaning.kind == "read"]
    places = Counter(int(np.asarray(event.values[0])) & 0xFFFF for event in loads)
    many = max(width for name, width in WIDTHS.items() if f", {name})" in inner)
    offsets = {100 * k + i for k in range(3) for i in range(many)}
    if "%far" in inner:  # n m
        offsets = {100 * k + n * m for k in range(3) for n in range(4) for m in range(5)}
    assert {place // 4 for place in places} == offsets | ({5} if "%last" in after else set())
