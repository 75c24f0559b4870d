"""Stores of registers that nothing has written (LC610), their right twins, and what is not known of them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import NamedTuple

import pytest

from layoutcheck.dsl.lowered import argument_types
from layoutcheck.dsl.lowered.arguments import Numbers
from layoutcheck.dsl.lowered.evaluate import KERNELS, name_of
from layoutcheck.dsl.lowered.grid import Grid
from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order.budget import Budget
from layoutcheck.provenance import check_products
from layoutcheck.provenance.bare import IN_CLUSTER, Bare
from layoutcheck.provenance.gaps import of_shared
from layoutcheck.provenance.handed import UNSURE
from layoutcheck.provenance.suspects import Suspects
from layoutcheck.provenance.tell import told_beyond
from layoutcheck.provenance.unset import BRANCHES, Found, neutral, unset_values
from layoutcheck.reports.order import operand_counts
from layoutcheck.reports.style import Style
from layoutcheck.sources.mlir import Operation, parse, without_locations
from layoutcheck.sources.traced import OperandReport
from layoutcheck.sources.traced_module import TracedModule
from tests.lowering import SharedLowering

PROGRAM = Path(__file__).with_name("unset_values.py")
ROOT = str(PROGRAM.parents[2])
needs_dsl = pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="needs nvidia-cutlass-dsl")
LAST = (7, 0, 0)


class Seen(NamedTuple):
    """A module of the program: its kernels by name, the types of its functions, its report."""

    kernels: dict[str, Operation]
    types: dict[str, list[str]]
    report: OperandReport


@pytest.fixture(scope="module")
def modules() -> list[Seen]:
    """All kernels in one module, and the one of dynamic extents."""
    found: list[Seen] = []

    def look(module: TracedModule, lowered: str, problem: str) -> OperandReport:
        report = check_products(module, lowered, problem)
        every = [op for op in parse(lowered).walk() if op.name in KERNELS and op.regions]
        types = argument_types(without_locations(module.text))
        found.append(Seen({name_of(op): op for op in every}, types, report))
        return report

    with SharedLowering(copies=False, products=look) as lowering:
        trace_script(str(PROGRAM), [], launch=False, arch="sm_90", cwd=ROOT, lowering=lowering)
    assert len(found) == 2
    return found


# What each variant stores of what nothing has written: first and last thread of the last block, all bytes.
STORED = {
    ("row_sum", 0): (), ("row_sum", 1): (0, 0, 4), ("soft_max", 0): (), ("soft_max", 1): (0, 49, 400),
    ("add", 0): (), ("add", 1): (0, 24, 400), ("add", 2): (22, 24, 40), ("add", 3): (),
    ("epilogue", 0): (), ("epilogue", 1): (20, 31, 192), ("epilogue", 2): (),
    ("transpose", 0): (), ("transpose", 1): (4, 31, 112), ("transpose", 2): (),
    ("choice", 0): (), ("choice", 1): (25, 31, 112), ("choice", 2): (),
    ("turns", 0): (), ("turns", 1): (0, 31, 256), ("turns", 2): (),
    ("halves", 0): (), ("halves", 1): (0, 31, 64), ("halves", 2): (),
    ("online", 0): (), ("online", 1): (0, 31, 256), ("residue", 0): (), ("residue", 1): (18, 31, 56),
    ("stages", 0): (), ("stages", 1): (0, 31, 128), ("elected", 0): (), ("elected", 1): (1, 31, 124),
    ("roles", 0): (), ("roles", 1): (16, 31, 64), ("rounded", 0): (), ("rounded", 1): (0, 31, 128),
    ("pairs", 0): (), ("pairs", 1): (0, 31, 128), ("scaled", 0): (), ("scaled", 1): (25, 31, 112),
    ("long_loops", 0): (), ("long_loops", 1): (0, 31, 256),
    ("overwritten", 0): (), ("overwritten", 1): (24, 24, 4), ("overwritten", 2): (24, 24, 8),
    ("padded", 0): (), ("padded", 1): (24, 24, 4), ("counts", 0): (), ("counts", 1): (20, 31, 48),
    ("row_sums", 0): (), ("row_sums", 1): (0, 31, 128),
}  # fmt: skip


def _found(seen: Seen, name: str, number: int = 0, calls: tuple[Numbers, ...] = ()) -> list[Found]:
    (kernel,) = (op for one, op in seen.kernels.items() if f"_{name}_" in one and one.endswith(f"_{number}"))
    return list(unset_values(Grid(kernel, seen.types), calls, Budget(20)).found)


@needs_dsl
@pytest.mark.parametrize("number", range(len(STORED)))
def test_what_is_stored_of_what_nothing_has_written(modules: list[Seen], number: int) -> None:
    (name, _), expected = list(STORED.items())[number]
    found = _found(modules[0], name, number)
    if not expected:
        assert found == _found(modules[0], name, number, (Numbers((None,) * 3, (), ""),)) == []
        return
    threads = [one.threads for one in found]
    assert (
        min(a for a, _ in threads),
        max(b for _, b in threads),
        sum(one.bytes for one in found),
    ) == expected
    assert {one.block for one in found} == {LAST} and not any(one.letter or one.called for one in found)


def test_what_a_gpu_found_wrong_is_told() -> None:
    """It compared each variant with the right one, after a kernel that left other numbers in registers."""
    rows = json.loads((Path(ROOT) / "docs/evidence/values_unset.json").read_text())["rows"]
    wrong = {(row["kernel"], row["how"]) for row in rows if any(row["wrong"])}
    told = {key for key, expected in STORED.items() if expected}
    assert {(row["kernel"], row["how"]) for row in rows} | {("choice", 2), ("transpose", 2)} == STORED.keys()
    assert wrong < told and len(wrong) > 2 * len(told - wrong)


@needs_dsl
def test_a_tail_is_told_for_the_call_that_has_it(modules: list[Seen]) -> None:
    """Else it is a condition: extents that are multiples of 128 have no tail here."""
    seen = modules[1]

    def call(columns: int, sums: int = 5) -> Numbers:
        return Numbers(((5, columns, columns), (sums,)), (5, columns, sums), f"(5,{columns}), ({sums})")

    (one,) = _found(seen, "tail")
    assert (one.extent, one.multiple, one.block, one.bytes) == (65, 128, (64, 0, 0), 4)
    assert _found(seen, "tail", 0, (call(128),)) == [one]
    (one,) = _found(seen, "tail", 0, (call(128), call(100)))
    assert (one.block, one.threads, one.bytes, one.extent) == ((4, 0, 0), (0, 0), 4, 0)
    assert one.called == "(5,100), (5)"
    (one,) = _found(seen, "tail", 0, (call(100, 4),))
    assert one.block == (0, 0, 0)  # the last block's is outside of the tensor


@needs_dsl
def test_a_kernel_may_have_tiles_that_are_larger_than_the_extents_that_are_tried(modules: list[Seen]) -> None:
    assert _found(modules[1], "far", 1) == []


@needs_dsl
def test_the_line_that_stores_is_told_with_its_repair(modules: list[Seen]) -> None:
    lines = PROGRAM.read_text().splitlines()
    findings = modules[0].report.findings
    mine = [one for one in findings if one.places[0].where.file == str(PROGRAM)]
    assert {(one.code, one.severity) for one in findings} == {("LC610", "wrong")}
    told = {lines[one.places[0].where.line - 1].strip(): one for one in mine}
    assert len({one.places[0].where.line for one in mine}) == len(mine) == 12  # two of `add`
    total = told["y[row, 0] = total"]
    assert [one.what for one in total.places] == [
        "they are stored",
        "the registers are read",
        "they are written",
    ]
    assert lines[total.places[2].where.line - 1].strip() == "held[i] = x[row, thread * 4 + i]"
    assert "Thread 0 stores 4 B in block (7,0,0)" in total.message and "`fragment.fill(0.0)`" in total.message
    bare = told["cute.copy(atom, a, target, pred=narrow if how == 3 else usual)"]
    assert "No line writes them. Copy into the fragment first." in bare.message
    left = [
        one.removeprefix("registers that nothing may have written: ") for one in modules[0].report.unchecked
    ]
    assert sorted(left) == ["what arith.muli makes of them", "what inline PTX makes of them", UNSURE]
    head, *rest = operand_counts([modules[0].report], Style(width=200))
    assert head.strip() == "registers: 23 wrong" and rest[0].strip().startswith("not checked: registers that")
    (tail,) = modules[1].report.findings
    assert (tail.code, tail.severity, tail.evidence["extent"]) == ("LC610", "note", 65)
    assert "if all dynamic extents are 65; it is not so if they are multiples of 128." in tail.message


def _kernel(*lines: str, array: str = "f32") -> Operation:
    """A kernel that is given a tensor, a flag, and an array of one register at %array."""
    body = "\n  ".join(lines)
    text = f"""
"gpu.func"() ({{
^bb0(%given: !llvm.ptr<1>, %flag: i1):
  %n = "arith.constant"() <{{value = 1 : i32}}> : () -> i32
  %zero = "arith.constant"() <{{value = 0.000000e+00 : f32}}> : () -> f32
  %tid = "nvvm.read.ptx.sreg.tid.x"() : () -> i32
  %array = "llvm.alloca"(%n) <{{elem_type = {array}}}> : (i32) -> !llvm.ptr
  {body}
}}) : () -> ()
"""
    (kernel,) = parse(text).operations
    return kernel


BEYOND = (
    '%beyond = "llvm.getelementptr"(%array, %n) <{elem_type = f32, rawConstantIndices = '
    "array<i32: -2147483648>}> : (!llvm.ptr, i32) -> !llvm.ptr"
)
SUM = '%one = "arith.addf"(%value, %zero) : (f32, f32) -> f32'
MMA = (
    '%sums = "nvvm.mma.sync"(%zero, %zero, %value) <{operandSegmentSizes = array<i32: 1, 1, 1>}> '
    ": (f32, f32, f32) -> f32"
)
PRODUCT = SUM.replace("addf", "mulf")
CHOICE = '%one = "arith.select"(%few, %zero, %value) : (i1, f32, f32) -> f32'
LOAD = '%value = "llvm.load"(%array) : (!llvm.ptr) -> f32'
STORE = '"llvm.store"(%value, %given) : (f32, !llvm.ptr<1>) -> ()'
CLUSTER = '%peer = "llvm.inttoptr"(%n) : (i32) -> !llvm.ptr<7>'
FILL = '"llvm.store"(%zero, %array) : (f32, !llvm.ptr) -> ()'
FLAGGED = f'"scf.if"(%flag) ({{\n  {FILL}\n  "scf.yield"() : () -> ()\n}}, {{\n}}) : (i1) -> ()'
RED = '"nvvm.red"(%given, %value) : (!llvm.ptr<1>, f32) -> ()'
STMATRIX = '"nvvm.stmatrix"(%given, %value) : (!llvm.ptr<1>, f32) -> ()'
PTX = '"nvvm.inline_ptx"(%value) <{ptxCode = "st.async [{$r0}];"}> : (f32) -> ()'
PACK = '%pair = "llvm.inline_asm"(%value, %zero) <{asm_string = "mov.b64 $0, {$1, $2};"}> : (f32, f32) -> i64'
FIRST = '%few = "arith.cmpi"(%tid, %n) <{predicate = 2 : i64}> : (i32, i32) -> i1'
BY_FEW = FLAGGED.replace("%flag", "%few")


def _run(kernel: Operation) -> Bare:
    """Four threads of a kernel, of which only the flag is not to be relied on."""
    suspects = Suspects(kernel)
    run = Bare(kernel, suspects, Launch((4, 1, 1), (1, 1, 1)), lambda reasons, bits: not reasons.read(bits))
    run.go(None, ["!cute.ptr<f32, gmem>", "i1"])
    return run


@pytest.mark.parametrize(
    ("lines", "threads"),
    [
        ((LOAD, STORE), [0, 1, 2, 3]),
        ((FILL, LOAD, STORE), []),
        ((LOAD, FILL, STORE), [0, 1, 2, 3]),  # too late
        ((FIRST, BY_FEW, LOAD, STORE), [1, 2, 3]),
        ((FLAGGED, LOAD, STORE), []),  # only a run knows the flag
        ((LOAD, FLAGGED.replace(FILL, STORE)), []),
        (('"llvm.call"(%array) : (!llvm.ptr) -> ()', LOAD, STORE), []),
        (('"llvm.store"(%array, %given) : (!llvm.ptr, !llvm.ptr<1>) -> ()', LOAD, STORE), []),
        ((LOAD, SUM, STORE.replace("%value", "%one")), [0, 1, 2, 3]),
        ((FIRST, LOAD, CHOICE, STORE.replace("%value", "%one")), [1, 2, 3]),
        ((LOAD, CHOICE.replace("%few", "%flag"), STORE.replace("%value", "%one")), []),
        ((LOAD, PACK, STORE.replace("%value", "%pair").replace("f32", "i64")), []),  # no lanes of it
        ((BEYOND, LOAD.replace("%array", "%beyond"), STORE), []),  # LC204's
    ],
)  # fmt: skip
def test_bytes_are_followed_from_a_load_to_a_store(lines: tuple[str, ...], threads: list[int]) -> None:
    stores = _run(_kernel(*lines)).stores.values()
    assert list(dict.fromkeys(int(thread) for one in stores for thread in one.threads)) == threads


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ((FILL, LOAD, STMATRIX), []),
        ((LOAD, STMATRIX), ["what stmatrix makes of them"]),
        ((LOAD, PTX), ["what inline PTX makes of them"]),
        ((LOAD, CLUSTER, STORE.replace("%given", "%peer").replace("ptr<1>", "ptr<7>")), [IN_CLUSTER]),
        ((FIRST, BY_FEW, LOAD, STORE), []),  # told
        ((FLAGGED, LOAD, STORE), [UNSURE]),
        ((LOAD, FLAGGED.replace(FILL, STORE)), [UNSURE]),
        ((FIRST, LOAD, CHOICE.replace("%few", "%flag"), STORE.replace("%value", "%one")), [UNSURE]),
    ],
)  # fmt: skip
def test_what_is_not_followed_is_said(lines: tuple[str, ...], left: list[str]) -> None:
    run = _run(_kernel(*lines))
    assert list(run.left) == left


def test_a_product_is_told_unless_only_a_run_knows_what_it_is_given() -> None:
    assert [key[1] for key in _run(_kernel(LOAD, MMA)).products] == ["C"]
    assert not _run(_kernel(FILL, LOAD, MMA)).products
    chosen = CHOICE.replace("%few", "%flag").replace("%zero", "%value")
    run = _run(_kernel(LOAD, chosen, MMA.replace("%value", "%one")))
    assert not run.products and list(run.left) == [UNSURE]


def test_an_atomic_operation_adds_to_what_is_there() -> None:
    """It stores what nothing has written, and takes nothing away of it."""
    assert [len(one.threads) for one in _run(_kernel(LOAD, RED)).stores.values()] == [16]
    both = _run(_kernel(FIRST, BY_FEW, LOAD, STORE, RED))
    assert len(both.stores) == 2
    over = _run(_kernel(LOAD, RED, STORE.replace("%value", "%zero")))
    assert not over.stores


@pytest.mark.parametrize(
    ("lines", "fill"),
    [
        ((LOAD, STORE), "0.0"),
        ((LOAD, SUM, STORE.replace("%value", "%one")), "0.0"),
        ((LOAD, SUM.replace("addf", "maxnumf"), STORE.replace("%value", "%one")), 'float("-inf")'),
        ((LOAD, SUM, SUM.replace("addf", "maxnumf").replace("%one", "%two"), STORE), ""),
        ((LOAD, SUM.replace("addf", "subf"), STORE.replace("%value", "%one")), ""),
        ((LOAD, RED), ""),
        ((LOAD, PRODUCT, STORE.replace("%value", "%one")), "0.0"),
        ((LOAD, SUM, PRODUCT.replace("%one", "%two").replace("%zero", "%one"), STORE), ""),
    ],
)
def test_a_sum_begins_with_0_and_a_maximum_with_minus_infinity(lines: tuple[str, ...], fill: str) -> None:
    """Thread 0 fills the register; where no thread does, the program forgot it."""
    suspects = Suspects(kernel := _kernel(FIRST, BY_FEW, *lines))
    (load,) = suspects.loads
    assert neutral(*suspects.through(kernel, load)) == fill
    (partly,) = (one.elsewhere for one in _run(kernel).stores.values())
    none = _run(_kernel(*lines)).stores.values()
    assert partly and not any(one.elsewhere for one in none)


@pytest.mark.parametrize(("size", "outside"), [(4, []), (2, [8, 12])])
def test_a_load_in_a_loop_may_leave_its_registers(size: int, outside: list[int]) -> None:
    """The compiler drops these stores: of four that a DSL kernel makes of a fragment of two, two are left."""
    constant = '%{} = "arith.constant"() <{{value = {} : i32}}> : () -> i32'
    lines = [constant.format("a", 0), constant.format("b", 4)]
    body = "\n  ".join((BEYOND.replace("%n)", "%k)"), LOAD.replace("%array", "%beyond"), STORE))
    head, types = '"scf.for"(%a, %b, %n) ({\n^bb1(%k: i32):\n  ', "(i32, i32, i32) -> ()"
    loop = f'{head}{body}\n  "scf.yield"() : () -> ()\n}}) : {types}'
    run = _run(_kernel(*lines, loop, array=f"!llvm.array<{size} x f32>"))
    assert [sorted(one.at) for one in run.beyond.values()] == [outside] * bool(outside)
    for one in run.beyond.values():
        note = told_beyond(one, TracedModule("", "k", "sm_90a", {}, {}, ()))
        assert (note.code, note.severity) == ("LC204", "note")
        assert "reads 4 B at 2 offsets from 8 to 12 B of a fragment that has 8 B" in note.message


def test_a_kernel_that_fills_its_registers_is_not_evaluated_again() -> None:
    assert Suspects(_kernel(LOAD, STORE)).readers and Suspects(_kernel(FIRST, BY_FEW, LOAD, STORE)).readers
    assert not Suspects(_kernel(FILL, LOAD, STORE)).readers
    assert not Suspects(_kernel(LOAD)).readers
    jump = ('"llvm.br"()[^next] : () -> ()', "^next:", '"cuda.return"() : () -> ()')
    only_first = unset_values(Grid(_kernel(LOAD, STORE, *jump), {}), (), Budget(20))
    assert only_first.found == () and only_first.left == (BRANCHES,)


@pytest.mark.parametrize(("space", "looked_at"), [(3, 2), (7, 0)])
def test_what_another_block_may_write_is_not_looked_at(space: int, looked_at: int) -> None:
    """Partial sums that blocks of a cluster send to the first one: it reads more than it writes itself."""
    shared = '%near = "llvm.inttoptr"(%n) : (i32) -> !llvm.ptr<3>'
    load = LOAD.replace("%array", "%near").replace("llvm.ptr)", "llvm.ptr<3>)")
    pointer = CLUSTER.replace("ptr<7>", f"ptr<{space}>")
    send = f'"llvm.store"(%zero, %peer) : (f32, !llvm.ptr<{space}>) -> ()'
    assert len(of_shared(_kernel(shared, pointer, load, send))) == looked_at


@pytest.mark.parametrize("second", [0, 1])
def test_a_branch_writes_what_both_of_its_sides_write(second: int) -> None:
    """An array of two numbers of 16 bits, which is read as a whole."""
    at = (
        '%at{0} = "llvm.getelementptr"(%array) <{{elem_type = i16, rawConstantIndices = array<i32: {0}>}}> : '
        "(!llvm.ptr) -> !llvm.ptr"
    )
    half = '%half = "arith.constant"() <{value = 7 : i16}> : () -> i16'
    fill = '"llvm.store"(%half, %at{}) : (i16, !llvm.ptr) -> ()\n  '
    end = '"scf.yield"() : () -> ()\n'
    both = fill.format(0) + fill.format(1)
    sides = both + end + "}, {\n  " + (both if second == 0 else fill.format(1)) + end
    branch = '"scf.if"(%flag) ({\n  ' + sides + "}) : (i1) -> ()"
    kernel = _kernel(at.format(0), at.format(1), half, branch, LOAD, STORE)
    assert bool(Suspects(kernel).readers) == bool(second)
