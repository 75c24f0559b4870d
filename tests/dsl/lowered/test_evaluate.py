"""Lowered text evaluated: loops, branches, lanes, registers, what is assumed. No DSL is needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.analysis.cost import accesses_cost
from layoutcheck.copies.moves import Access
from layoutcheck.dsl.lowered import faults, read
from layoutcheck.dsl.lowered.lowered_op import LoweredOp
from layoutcheck.dsl.lowered.machine import Launch, Machine
from layoutcheck.errors import InputError
from layoutcheck.sources.mlir import without_locations

THREADS = 64
CONSTANTS = (0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 32, 100, 1000, 3000)

DYNAMIC = "rawConstantIndices = array<i32: -2147483648>"


def kernel(body: str, arguments: str = "%g: !llvm.ptr<1>, %n: i32") -> str:
    """A kernel of 64 threads around `body`, with the names of constants (%c4), %tid, %smem and %regs."""
    types = ", ".join(part.split(": ")[1] for part in arguments.split(", "))
    constants = "\n".join(
        f'%c{n} = "arith.constant"() <{{value = {n} : i32}}> : () -> i32' for n in CONSTANTS
    )
    return f"""
"builtin.module"() ({{
  "gpu.module"() <{{sym_name = "m"}}> ({{
    "cuda.kernel"() <{{function_type = ({types}) -> (), sym_name = "k"}}> ({{
    ^bb0({arguments}):
      {constants}
      %cm1 = "arith.constant"() <{{value = -1 : i32}}> : () -> i32
      %smem = "llvm.alloca"(%c3000) <{{alignment = 128 : i64, elem_type = f32}}> : (i32) -> !llvm.ptr<3>
      %regs = "llvm.alloca"(%c8) <{{alignment = 32 : i64, elem_type = i32}}> : (i32) -> !llvm.ptr
      %tid = "nvvm.read.ptx.sreg.tid.x"() : () -> i32
      {body}
      "cuda.return"() : () -> ()
    }}) {{nvvm.reqntid = array<i32: {THREADS}, 1, 1>}} : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""


def load(index: str, tag: str = "cute.copy#0", name: str = "%x") -> str:
    """Load one f32 of shared memory at element `index`."""
    return f"""
      {name}p = "llvm.getelementptr"(%smem, {index}) <{{elem_type = f32, {DYNAMIC}}}> :
        (!llvm.ptr<3>, i32) -> !llvm.ptr<3>
      {name} = "llvm.load"({name}p) <{{alignment = 4 : i64}}> : (!llvm.ptr<3>) -> f32 loc("{tag}")"""


def binary(name: str, op: str, a: str, b: str) -> str:
    return f'{name} = "arith.{op}"({a}, {b}) : (i32, i32) -> i32'


def op(text: str, tag: str = "cute.copy#0") -> LoweredOp:
    found = read(text)
    assert not found.problem, found.problem
    (one,) = found.kernels
    return one.lowered_ops[tag]


def elements(one: LoweredOp) -> list[list[int]]:
    """The element that each thread loads, execution by execution."""
    return [(np.broadcast_to(a.address, (THREADS,)) // 4).tolist() for a in one.accesses]


tid = np.arange(THREADS)


def test_addresses_are_arithmetic_on_the_thread() -> None:
    one = op(kernel(binary("%a", "xori", "%tid", "%c7") + binary("\n%i", "muli", "%a", "%c4") + load("%i")))
    assert elements(one) == [((tid ^ 7) * 4).tolist()]
    assert (one.kind, one.reached, one.reasons) == ("static", True, ())


@given(st.sampled_from(["c0", "c1", "c2", "c5", "c12", "c100", "c1000"]), st.sampled_from(["c1", "c2", "c3"]))
def test_a_loop_shows_its_first_second_and_last_iteration(stop: str, stage: str) -> None:
    """The carried stage (wrapping at `stage`) is the one that every iteration in between leaves."""
    body = f"""
      %z:2 = "scf.for"(%c0, %{stop}, %c1, %c0, %c0) ({{
      ^bb0(%k: i32, %s: i32, %sum: i32):
        {load("%s")}
        {load("%sum", "cute.copy#1", "%y")}
        {binary("%t", "addi", "%s", "%c1")}
        %w = "arith.cmpi"(%t, %{stage}) <{{predicate = 0 : i64}}> : (i32, i32) -> i1
        %u = "arith.select"(%w, %c0, %t) : (i1, i32, i32) -> i32
        {binary("%v", "addi", "%sum", "%k")}
        "scf.yield"(%u, %v) : (i32, i32) -> ()
      }}) : (i32, i32, i32, i32, i32) -> (i32, i32)
      {load("%z#1", "cute.copy#2", "%q")}"""
    count, wrap = int(stop[1:]), int(stage[1:])
    shown = range(count) if count <= 8 else (0, 1, count - 1)
    one, two, after = (op(kernel(body), f"cute.copy#{i}") for i in range(3))
    assert elements(after) == [[sum(range(count))] * THREADS]
    if count == 0:
        assert not one.reached
        return
    assert elements(one) == [[k % wrap] * THREADS for k in shown]
    assert elements(two) == [[sum(range(k))] * THREADS for k in shown]
    assert [a.iterations for a in one.accesses] == [(k,) for k in shown]
    assert len(one.once) == 1


def test_threads_part_and_meet_again() -> None:
    """Each branch has its threads; values come together by thread."""
    body = f"""
      %less = "arith.cmpi"(%tid, %c12) <{{predicate = 2 : i64}}> : (i32, i32) -> i1
      %r = "scf.if"(%less) ({{
        {load("%tid")}
        {binary("%a", "muli", "%tid", "%c2")}
        "scf.yield"(%a) : (i32) -> ()
      }}, {{
        {load("%c5", "cute.copy#1", "%y")}
        "scf.yield"(%c100) : (i32) -> ()
      }}) : (i1) -> i32
      {load("%r", "cute.copy#2", "%z")}"""
    text = kernel(body)
    first, second = op(text).accesses[0], op(text, "cute.copy#1").accesses[0]
    assert first.active is not None and first.active.tolist() == (tid < 12).tolist()
    assert second.active is not None and second.active.tolist() == (tid >= 12).tolist()
    assert elements(op(text, "cute.copy#2")) == [np.where(tid < 12, tid * 2, 100).tolist()]


def test_loops_of_different_length() -> None:
    """Thread t makes t % 4 + 1 rounds; each leaves with its own sum."""
    body = f"""
      {binary("%m", "remsi", "%tid", "%c4")}
      {binary("%stop", "addi", "%m", "%c1")}
      %z = "scf.for"(%c0, %stop, %c1, %c0) ({{
      ^bb0(%k: i32, %s: i32):
        {load("%k")}
        {binary("%t", "addi", "%s", "%c3")}
        "scf.yield"(%t) : (i32) -> ()
      }}) : (i32, i32, i32, i32) -> i32
      {load("%z", "cute.copy#1", "%y")}"""
    text = kernel(body)
    one = op(text)
    assert [a.active is not None and a.active.tolist() for a in one.accesses] == [
        (tid % 4 >= k).tolist() for k in range(4)
    ]
    assert elements(op(text, "cute.copy#1")) == [((tid % 4 + 1) * 3).tolist()]


def test_a_while_loop_runs_until_its_condition_fails() -> None:
    body = f"""
      %z = "scf.while"(%c1) ({{
      ^bb0(%a: i32):
        %go = "arith.cmpi"(%a, %c100) <{{predicate = 2 : i64}}> : (i32, i32) -> i1
        "scf.condition"(%go, %a) : (i1, i32) -> ()
      }}, {{
      ^bb0(%b: i32):
        {load("%b")}
        {binary("%d", "muli", "%b", "%c3")}
        "scf.yield"(%d) : (i32) -> ()
      }}) : (i32) -> i32
      {load("%z", "cute.copy#1", "%y")}"""
    text = kernel(body)
    assert elements(op(text)) == [[3**k] * THREADS for k in range(5)]
    assert elements(op(text, "cute.copy#1")) == [[243] * THREADS]


def test_a_branch_that_is_not_taken_is_tried_and_undone() -> None:
    body = f"""
      "llvm.store"(%c5, %regs) <{{alignment = 4 : i64}}> : (i32, !llvm.ptr) -> ()
      %no = "arith.cmpi"(%c1, %c2) <{{predicate = 4 : i64}}> : (i32, i32) -> i1
      "scf.if"(%no) ({{
        "llvm.store"(%c8, %regs) <{{alignment = 4 : i64}}> : (i32, !llvm.ptr) -> ()
        {load("%tid")}
        "scf.yield"() : () -> ()
      }}, {{
      }}) : (i1) -> ()
      %i = "llvm.load"(%regs) <{{alignment = 4 : i64}}> : (!llvm.ptr) -> i32
      {load("%i", "cute.copy#1", "%y")}"""
    text = kernel(body)
    assert not op(text).reached
    assert elements(op(text)) == [tid.tolist()]
    assert elements(op(text, "cute.copy#1")) == [[5] * THREADS]


def test_offsets_kept_in_registers_are_followed() -> None:
    """A vector of offsets stored whole, read element by element."""
    body = f"""
      {binary("%a", "muli", "%tid", "%c4")}
      %v = "vector.from_elements"(%a, %tid) : (i32, i32) -> vector<2xi32>
      "llvm.store"(%v, %regs) <{{alignment = 8 : i64}}> : (vector<2xi32>, !llvm.ptr) -> ()
      %p = "llvm.getelementptr"(%regs) <{{elem_type = i32, rawConstantIndices = array<i32: 1>}}> :
        (!llvm.ptr) -> !llvm.ptr
      %i = "llvm.load"(%p) <{{alignment = 4 : i64}}> : (!llvm.ptr) -> i32
      %j = "llvm.load"(%regs) <{{alignment = 4 : i64}}> : (!llvm.ptr) -> i32
      {load("%i")}
      {load("%j", "cute.copy#1", "%y")}"""
    text = kernel(body)
    assert elements(op(text)) == [tid.tolist()]
    assert elements(op(text, "cute.copy#1")) == [(tid * 4).tolist()]


def test_lanes_talk() -> None:
    body = f"""
      %s = "nvvm.shfl.sync"(%cm1, %tid, %c5, %c31) <{{kind = #nvvm<shfl_kind idx>}}> :
        (i32, i32, i32, i32) -> i32
      %b = "nvvm.shfl.sync"(%cm1, %tid, %c3, %c31) <{{kind = #nvvm<shfl_kind bfly>}}> :
        (i32, i32, i32, i32) -> i32
      %e = "nvvm.elect.sync"() : () -> i1
      "scf.if"(%e) ({{
        {load("%s")}
        "scf.yield"() : () -> ()
      }}, {{
      }}) : (i1) -> ()
      {load("%b", "cute.copy#1", "%y")}"""
    text = kernel(body)
    one = op(text).accesses[0]
    assert one.active is not None and np.flatnonzero(one.active).tolist() == [0, 32]
    assert elements(op(text)) == [(tid // 32 * 32 + 5).tolist()]
    assert elements(op(text, "cute.copy#1")) == [(tid ^ 3).tolist()]


def test_funnel_shifts() -> None:
    """A rotation of the thread index, and a window of two words."""
    body = f"""
      %r = "llvm.intr.fshr"(%tid, %tid, %c4) : (i32, i32, i32) -> i32
      {binary("%m", "shrui", "%r", "%c12")}
      %w = "llvm.intr.fshl"(%c1, %tid, %c4) : (i32, i32, i32) -> i32
      {load("%m")}
      {load("%w", "cute.copy#1", "%y")}"""
    text = kernel(body)
    rotated = ((tid >> 4) | (tid << 28)) & 0xFFFFFFFF
    assert elements(op(text)) == [(rotated >> 12).tolist()]
    assert elements(op(text, "cute.copy#1")) == [[16] * THREADS]


UPPER = (
    '"llvm.inline_asm"({a}, {b}) <{{asm_dialect = 0 : i64, asm_string = "mul.hi.{sign}32 $0, $1, $2;", '
    'constraints = "=r,r,r"}}> : (i32, i32) -> i32'
)


@pytest.mark.parametrize("segment", [0, 1])
def test_descriptors_of_the_tensor_cores_with_a_version(segment: int) -> None:
    """Every field at its bits (PTX ISA); with segments of K, whose bits are not told, nothing is known."""
    fields = {"version": (3, 46), "base": (5, 49), "mode": (1, 52), "swizzle": (2, 61)}
    body = [f'%{name}8 = "arith.trunci"(%c{value}) : (i32) -> {"i1" if name == "mode" else "i8"}'
            for name, (value, _) in fields.items()]  # fmt: skip
    body.append(f'%segment8 = "arith.trunci"(%c{segment}) : (i32) -> i1')
    body.append(
        '%d = "nvvm.tcgen05_mma_smem_desc_v2"'
        "(%tid, %c16, %c31, %version8, %base8, %mode8, %segment8, %swizzle8)"
        " : (i32, i32, i32, i8, i8, i1, i1, i8) -> i64"
    )
    wanted = {"start": (tid, 0), "leading": (16, 16), "stride": (31, 32), **fields}
    for number, (name, (_, shift)) in enumerate(wanted.items()):
        mask = 63 if shift < 46 else 1 if name == "mode" else 7
        body.append(f"""%by{name} = "arith.constant"() <{{value = {shift} : i64}}> : () -> i64
          %only{name} = "arith.constant"() <{{value = {mask} : i64}}> : () -> i64
          %s{name} = "arith.shrui"(%d, %by{name}) : (i64, i64) -> i64
          %m{name} = "arith.andi"(%s{name}, %only{name}) : (i64, i64) -> i64
          %t{name} = "arith.trunci"(%m{name}) : (i64) -> i32
          {load(f"%t{name}", f"cute.copy#{number}", f"%x{name}")}""")
    text = kernel("\n".join(body))
    found = [op(text, f"cute.copy#{number}") for number in range(len(wanted))]
    if segment:
        assert {one.kind for one in found} == {"blocked"}
        assert found[0].reasons == ("a descriptor with segments of K is not evaluated",)
        return
    assert [one.kind for one in found] == ["static"] * len(found)
    assert [elements(one)[0] for one in found] == [
        np.broadcast_to(value, THREADS).tolist() for value, _ in wanted.values()
    ]


def test_the_upper_half_of_a_product_written_in_ptx() -> None:
    """`mul.hi` of quack's division by a number that is not known before the launch."""
    body = f"""{binary("%a", "shli", "%tid", "%c12")}
      {binary("%b", "shli", "%a", "%c12")}
      {binary("%s", "subi", "%c0", "%b")}
      %u = {UPPER.format(sign="u", a="%s", b="%c31")}
      %w = {UPPER.format(sign="s", a="%s", b="%c31")}
      {binary("%v", "addi", "%w", "%c31")}
      {load("%u")}
      {load("%v", "cute.copy#1", "%y")}"""
    text = kernel(body)
    shifted = -(np.arange(THREADS, dtype=np.int64) << 24)
    assert elements(op(text)) == [((shifted & 0xFFFFFFFF) * 31 >> 32).tolist()]
    assert elements(op(text, "cute.copy#1")) == [((shifted * 31 >> 32) + 31).tolist()]


def test_shifts_written_in_ptx() -> None:
    """Bit masks of FlashAttention: an amount beyond the width leaves nothing."""
    asm = UPPER.replace("mul.hi.{sign}32", "{name}32")
    body = f"""{binary("%b", "addi", "%tid", "%c12")}
      %u = {asm.format(name="shr.u", a="%cm1", b="%b")}
      %v = {asm.format(name="shl.b", a="%c5", b="%tid")}
      {load("%u")}
      {load("%v", "cute.copy#1", "%y")}"""
    text = kernel(body)
    right = [0xFFFFFFFF >> (t + 12) if t + 12 < 32 else 0 for t in range(THREADS)]
    left = [(5 << t) & 0xFFFFFFFF if t < 32 else 0 for t in range(THREADS)]
    assert elements(op(text)) == [right]
    assert [x & 0xFFFFFFFF for x in elements(op(text, "cute.copy#1"))[0]] == left


WARP = '%warp = "arith.shrui"(%tid, %c5) : (i32, i32) -> i32\n'
SHUFFLE = (
    '%b = "nvvm.shfl.sync"(%cm1, %w, {by}, %c31) <{{kind = #nvvm<shfl_kind idx>}}> : '
    "(i32, i32, i32, i32) -> i32"
)
GLOBAL = (
    '%gp = "llvm.getelementptr"(%g, {index}) <{{elem_type = i32, '
    "rawConstantIndices = array<i32: -2147483648>}}> : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>\n"
    '%w = "llvm.load"(%gp) <{{alignment = 4 : i64}}> : (!llvm.ptr<1>) -> i32\n'
)


@pytest.mark.parametrize(
    ("prelude", "index", "kind"),
    [
        ("", "%tid", "static"),
        ("", "%n", "arguments"),
        (GLOBAL.format(index="%c5"), "%w", "uniform"),
        (GLOBAL.format(index="%tid"), "%w", "data"),
        (WARP + GLOBAL.format(index="%warp"), "%w", "uniform"),
        (WARP + GLOBAL.format(index="%tid") + SHUFFLE.format(by="%warp"), "%b", "uniform"),
        (GLOBAL.format(index="%tid") + SHUFFLE.format(by="%tid"), "%b", "data"),
        (GLOBAL.format(index="%tid") + SHUFFLE.format(by="%c5"), "%b", "uniform"),
        ('%f = "arith.fptosi"(%c5) : (i32) -> i32', "%f", "uniform"),
        ('%f = "arith.fptosi"(%tid) : (i32) -> i32', "%f", "blocked"),
        (GLOBAL.format(index="%tid") + '%f = "arith.fptosi"(%w) : (i32) -> i32', "%f", "blocked"),
        (
            '%f = "llvm.call_intrinsic"(%c5) <{intrin = "llvm.nvvm.sqrt.approx.f"}> : (i32) -> i32',
            "%f",
            "uniform",
        ),
        ('%f = "llvm.call_intrinsic"(%c5) <{intrin = "llvm.nvvm.mystery"}> : (i32) -> i32', "%f", "blocked"),
        (f"%f = {UPPER.format(sign='u', a='%tid', b='%c5')}", "%f", "static"),
        ('%f = "llvm.inline_asm"(%tid) <{asm_string = "mystery $0, $1;"}> : (i32) -> i32', "%f", "blocked"),
    ],
)
def test_what_an_address_rests_on(prelude: str, index: str, kind: str) -> None:
    one = op(kernel(prelude + load(index)))
    assert one.kind == kind
    assert bool(one.reasons) == (kind != "static")


def test_each_warp_loads_a_value_of_its_own() -> None:
    one = op(kernel(WARP + GLOBAL.format(index="%warp") + load("%w")))
    assert elements(one) == [[1024 * (t // 32) for t in range(THREADS)]]


@pytest.mark.parametrize("text", ["", "nonsense", '"cuda.kernel"() : () -> ()', '"builtin.module"() ({'])
def test_what_is_no_kernel_is_a_problem_or_nothing(text: str) -> None:
    found = read(text)
    assert not found.kernels or text == '"cuda.kernel"() : () -> ()'


def test_locations_are_left_out() -> None:
    start, end = '"a"() ({\n^bb0(%x: i32', '"b"(%x) : (i32) -> ()'
    first, last = 'loc("f(.py":1:2)', 'loc("d"("e.py":1:1))'
    text = f'{start} {first}, %y: i32 loc(unknown)):\n{end} loc("c")\n}}) : () -> () {last}'
    assert without_locations(text) == f"{start}, %y: i32):\n{end}\n}}) : () -> ()"
    with pytest.raises(InputError):
        without_locations('^bb0(%x: i32 loc("a":\n')


@pytest.mark.parametrize(("kind", "sectors"), [("static", 16), ("uniform", 4)])
def test_that_rows_are_one_is_no_cost_where_a_number_of_ours_says_so(
    kind: str, sectors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gather beyond the length that was taken: four rows of shared memory are copied from row 0."""
    lanes = np.arange(32, dtype=np.int64)
    src = Access("cp.async", "gmem", 16, 16 * (lanes % 8)[None])
    dst = Access("cp.async", "smem", 16, 16 * lanes[None])
    side = accesses_cost((src,), (dst,), bypass_l1=True).sides[0]
    assert (side.sectors, side.ideal_sectors) == (16, 4)
    monkeypatch.setattr(faults, "side_costs", lambda *_: iter([side]))
    monkeypatch.setattr(faults, "_kind", lambda *_: kind)
    monkeypatch.setattr(faults, "_faults", lambda *_: ())
    kernel: Any = SimpleNamespace(launch=SimpleNamespace(tensors={}))
    one: Any = SimpleNamespace(reached=True, once=(), threads=32, tag="")
    assert [each.sectors for each in faults.addresses(None, kernel, one, "sm_90a").sides] == [sectors]


@pytest.mark.parametrize(
    ("odd", "mask", "same"),
    [
        (40, None, False),
        (None, None, True),
        (40, 40, True),
        (40, 41, False),
        (79, None, False),
        (64, 65, True),
    ],
)
def test_lanes_are_compared_with_those_of_their_warp_that_run(
    odd: int | None, mask: int | None, same: bool
) -> None:
    """Each warp has its number, thread `odd` another; those before `mask` run; the last warp is half one."""
    machine = Machine(Launch((1, 1, 1), (80, 1, 1)), [], [])
    machine.mask = None if mask is None else np.arange(80) < mask
    value = np.arange(80) // 32
    value[odd if odd is not None else 0] += 0 if odd is None else 7
    assert machine.same_by_warp(value) is same
