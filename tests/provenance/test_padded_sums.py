"""Sums that count what was filled in beyond the end of a row (LC611), and right kernels of the same kinds."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from layoutcheck.dsl.lowered import argument_types
from layoutcheck.dsl.lowered.arguments import Numbers
from layoutcheck.dsl.lowered.evaluate import KERNELS, name_of
from layoutcheck.dsl.lowered.grid import Grid
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.provenance import check_products
from layoutcheck.provenance.fills import (
    ANOTHER,
    BAD,
    CONST,
    FILL,
    KNOWN,
    LOADED,
    MIXED,
    NUMBER,
    STAT,
    computed,
    filled,
    label,
    word_of,
)
from layoutcheck.provenance.padded import may_pad
from layoutcheck.provenance.unset import Found, Unset, odd_sums, unset_values
from layoutcheck.sources.mlir import Operation, parse, without_locations
from layoutcheck.sources.traced import OperandReport
from layoutcheck.sources.traced_module import TracedModule
from tests.lowering import SharedLowering

PROGRAM = Path(__file__).with_name("padded_sums.py")
ROOT = str(PROGRAM.parents[2])
needs_dsl = pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="needs nvidia-cutlass-dsl")
ELEMENT = KNOWN


class Seen(NamedTuple):
    """A module: its kernels, the types of its functions, its report."""

    kernels: list[Operation]
    types: dict[str, list[str]]
    report: OperandReport
    again: Callable[[], OperandReport]


@pytest.fixture(scope="module")
def modules() -> list[Seen]:
    found: list[Seen] = []

    def look(module: TracedModule, lowered: str, problem: str) -> OperandReport:
        every = [op for op in parse(lowered).walk() if op.name in KERNELS and op.regions]
        types = argument_types(without_locations(module.text))
        again = partial(check_products, module, lowered, problem)
        found.append(Seen(every, types, again(), again))
        return found[-1].report

    with SharedLowering(copies=False, products=look) as lowering:
        trace_script(str(PROGRAM), [], launch=False, arch="sm_90", cwd=ROOT, lowering=lowering)
    assert len(found) == 3
    return found


# The variants that count the fills: the line that stores the sum or what is made of it, that of the load.
PUT, FIRST = "y[row, thread * EACH + i] = held[i]", "held[i] = x[row, thread * EACH + i]"
COPY = "cute.copy(tiled, mine.partition_S(source), shared, pred=pred)"
COUNTED = {
    ("layer_norm", 2): (PUT, FIRST),
    ("layer_norm", 5): ("y[row, 0] = cute.math.rsqrt(variance / COLUMNS + 1e-5)", COPY),
    ("copied_norm", 2): ("y[row, 0] = cute.math.sqrt(sums / COLUMNS)", COPY),
    ("soft_max", 2): (PUT, FIRST), ("log_sum", 1): ("y[row, 0] = found", FIRST),
    ("log_sum", 3): ("y[row, 0] = found", COPY), ("powers", 1): ("y[row, 0] = found", FIRST),
    ("welford", 1): ("y[row, 0] = found", FIRST),
    ("warps", 1): ("y[row, 0] = (sums[0, 1] + sums[1, 1] + sums[2, 1] + sums[3, 1]) / COLUMNS",
                   "value = x[row, thread] if thread < COLUMNS else Float32(0.0)"),
    ("online", 1): ("y[row, 0] = found", "held[i] = x[row, tile * 64 + thread * 2 + i]"),
}  # fmt: skip
# Those that store what nothing has written to shared memory: the store and the load.
UNWRITTEN = {
    ("stencil", 1): ("y[line, column] = found", "found += tile[at + 1, line]"),
    ("stencil", 3): (
        "y[line, column] = found",
        "found = tile[at, line + 1] + tile[at + 2, line + 1] + tile[at + 1, line + 2]",
    ),
    ("partials", 1): ("y[row, 0] = mine", "mine = sums[thread]"),
    ("partials", 3): ("y[row, 0] = mine", "mine = sums[thread]"),
    ("counts", 1): ("y[row, thread] = Float32(bins[thread])",) * 2,
    ("counts", 2): ("arch.atomic_add(y.iterator + row * 128 + thread, Float32(bins[thread]))",) * 2,
    **dict.fromkeys(
        (("ring", 1), ("ring", 2)), ("y[row, column] = other", "other = tile[(column + 1) % 128, row % 3]")
    ),
}  # fmt: skip
VARIANTS = {"layer_norm": 6, "copied_norm": 3, "soft_max": 4, "log_sum": 4, "powers": 2, "welford": 2,
            "quantised": 3, "distances": 2, "warps": 3, "online": 2,
            "stencil": 4, "partials": 4, "counts": 4, "ring": 6}  # fmt: skip


def _sums(seen: Seen, number: int, calls: tuple[Numbers, ...] = ()) -> list[Found]:
    (kernel,) = (op for op in seen.kernels if name_of(op).endswith(f"_{number}"))
    return list(odd_sums(Grid(kernel, seen.types), calls, Budget(20), left=False).found)


@needs_dsl
def test_what_counts_fills_is_told_and_no_right_kernel(modules: list[Seen]) -> None:
    keys = [(name, how) for name, count in VARIANTS.items() for how in range(count)]
    told = {key for number, key in enumerate(keys) if _sums(modules[0], number)}
    assert told == COUNTED.keys() and len(keys) == len(modules[0].kernels) == 49
    assert [
        name_of(op)
        for op in modules[0].kernels
        if may_pad(op) == any(f"_{one}_" in name_of(op) for one in ("stencil", "partials", "counts", "ring"))
    ] == []


@needs_dsl
def test_shared_memory_that_nothing_writes_is_told_where_it_reaches_a_tensor(modules: list[Seen]) -> None:
    lines = ["", *PROGRAM.read_text().splitlines()]
    keys = [(name, how) for name, count in VARIANTS.items() for how in range(count)]
    found = {}
    for number, key in enumerate(keys):
        (kernel,) = (op for op in modules[0].kernels if name_of(op).endswith(f"_{number}"))
        if stores := unset_values(Grid(kernel, modules[0].types), (), Budget(20)).found:
            found[key] = stores
    assert found.keys() == UNWRITTEN.keys()
    (halo,), (sums,) = found["stencil", 1], found["partials", 1]
    assert (halo.threads, halo.bytes, halo.block) == (
        (0, 15),
        64,
        (0, 0, 0),
    )  # block 7 is outside of the tensor
    assert (sums.threads, sums.bytes, sums.block) == ((0, 0), 4, (7, 0, 0))
    for how in (1, 2):  # of eight turns the first alone reads a stage that nothing has written
        (first,) = found["ring", how]
        assert (first.threads, first.bytes, first.block) == ((0, 99), 400, (7, 0, 0))
    told = [one for one in modules[0].report.findings if one.code == "LC610"]
    assert {one.severity for one in told} == {"wrong"}
    assert {tuple(lines[place.where.line].strip() for place in one.places) for one in told} == {
        *(UNWRITTEN[key] for key in (("stencil", 1), ("partials", 1), ("ring", 1))),
        *(UNWRITTEN[key][:1] for key in (("counts", 1), ("counts", 2))),
    }  # one finding for each line that stores
    assert [one.what for one in told[0].places] == ["they are stored", "shared memory is read"]
    assert ["adds to what is there" in one.message for one in told] == [False, False, True, True, False]
    assert (
        "are computed from, shared memory that nothing has written. No line writes them before."
        in told[0].message
    )


@needs_dsl
@pytest.mark.parametrize(
    ("late", "kept", "said"),
    [
        ("odd_sums", "LC610", "sums that may count what was filled in"),
        ("unset_values", "LC611", "registers that nothing may have written"),
    ],
)
def test_a_check_that_ends_early_is_said_and_leaves_what_the_other_finds(
    modules: list[Seen], late: str, kept: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*_given: object, **_named: object) -> None:
        raise OutOfTime

    seen = modules[0]
    keys = [(name, how) for name, count in VARIANTS.items() for how in range(count)]
    few = [seen.kernels[keys.index(key)] for key in (("powers", 1), ("partials", 1))]  # LC611, LC610
    monkeypatch.setattr("layoutcheck.provenance.parse_once", lambda _: SimpleNamespace(walk=lambda: few))
    monkeypatch.setattr("layoutcheck.provenance._products_of", lambda *_: OperandReport("", ""))
    monkeypatch.setattr(f"layoutcheck.provenance.{late}", ends)
    report = seen.again()
    assert [one.code for one in report.findings] == [kept]
    assert report.unchecked == (f"{said}: the time budget of 10 s was used up",)


@needs_dsl
def test_what_registers_hold_is_told_if_no_time_is_left_for_shared_memory(
    modules: list[Seen], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = modules[0]
    whole = unset_values_of(seen)

    class Late:
        def __init__(self, *_given: object) -> None:
            raise OutOfTime

    monkeypatch.setattr("layoutcheck.provenance.unset.Gaps", Late)
    later = unset_values_of(seen)
    for before, after in zip(whole, later, strict=True):
        assert {one.op for one in after.found} <= {one.op for one in before.found}
        assert before.left == () and set(after.left) <= {
            "shared memory that nothing writes: the time budget was used up"
        }
    assert any(one.left for one in later)


def unset_values_of(seen: Seen) -> list[Unset]:
    """Of each kernel."""
    calls = [None] * len(seen.kernels)
    return [unset_values(Grid(op, seen.types), calls, Budget()) for op in seen.kernels]


@needs_dsl
def test_the_store_the_sum_and_the_load_are_named(modules: list[Seen]) -> None:
    lines = ["", *PROGRAM.read_text().splitlines()]
    findings = modules[0].report.findings
    assert {(one.code, one.severity) for one in findings} == {("LC611", "wrong"), ("LC610", "wrong")}
    findings = tuple(one for one in findings if one.code == "LC611")
    places = {
        tuple(lines[place.where.line].strip() for place in (one.places[0], one.places[-1]))
        for one in findings if one.places[0].where.file == str(PROGRAM)
    }  # fmt: skip
    assert places == set(COUNTED.values()) - {COUNTED["log_sum", 3]}  # one finding for each line that stores
    norm = next(one for one in findings if lines[one.places[0].where.line].strip() == PUT)
    assert [one.what for one in norm.places] == [
        "it is stored", "the lanes are added up", "lanes beyond the end load nothing",
    ]  # fmt: skip
    assert "Threads 0 to 24 store it in block (7,0,0)." in norm.message
    assert [one.code for one in modules[2].report.findings] == ["LC611"]
    (tail,) = modules[1].report.findings
    assert (tail.code, tail.severity, tail.evidence["extent"]) == ("LC611", "note", 65)
    assert "if all dynamic extents are 65; it is not so if they are multiples of 128." in tail.message


@needs_dsl
def test_rows_of_whole_tiles_have_no_fills(modules: list[Seen]) -> None:
    def call(columns: int) -> Numbers:
        return Numbers(((5, columns, columns), (5,)), (5, columns, 5), f"(5,{columns}), (5)")

    (other,) = _sums(modules[1], 0, (call(128),))
    assert other.extent == 65
    (found,) = _sums(modules[1], 0, (call(128), call(100)))
    assert (found.called, found.block, found.extent) == ("(5,100), (5)", (4, 0, 0), 0)


def _one(value: float, bits: int, number: int = 0) -> np.ndarray:
    return label(np.full((1, 1), value), KNOWN | bits | number << NUMBER)


ZERO, LEAST = _one(0.0, FILL, 3), _one(-np.inf, FILL, 3)
ROW, ONE, OWN = _one(7.0, STAT), _one(1.5, 0), 9


# An operation, its operands, and what is known of the result: its sample and bits; None if nothing is.
@pytest.mark.parametrize(("word", "given", "expected"), [
    ("sub", (ZERO, ROW), (-7.0, FILL)), ("sub", (ZERO, ONE), None), ("sub", (ONE, ZERO), (1.5, 0)),
    ("sub", (ZERO, ZERO), (0.0, FILL)), ("mul", (ZERO, ONE), (0.0, FILL)),
    ("mul", (_one(2.0, FILL), ONE), None),
    ("exp", (ZERO,), (1.0, FILL)), ("exp", (LEAST,), (0.0, FILL)), ("sub", (LEAST, LEAST), None),
    ("sub", (LEAST, ROW), (-np.inf, FILL)), ("mul", (ROW, _one(2.0, CONST)), (14.0, STAT)),
    ("mul", (ROW, ONE), (10.5, 0)), ("mul", (_one(3.0, CONST), _one(2.0, CONST)), (6.0, CONST)),
    ("fma", (ZERO, _one(2.0, CONST), _one(-7.0, STAT)), (-7.0, FILL)),
    ("fma", (ZERO, ONE, _one(5.0, 0)), (5.0, 0)), ("fma", (ONE, ONE, ONE), (3.75, 0)),
    # a step of a sum, within a lane and over lanes
    ("add", (ZERO, ONE), (1.5, 0)), ("add", (ZERO, _one(0.0, CONST)), (0.0, FILL)),
    ("add", (_one(2.0, FILL), ONE), (3.5, MIXED)), ("add", (_one(2.0, FILL), ZERO), (2.0, FILL)),
    ("add", (_one(2.0, FILL), _one(1.5, ANOTHER)), (3.5, BAD | STAT)),
    ("add", (_one(2.0, FILL | ANOTHER), ONE), (3.5, BAD | STAT)),
    ("add", (_one(2.0, FILL | ANOTHER), ZERO), (2.0, FILL)),
    ("add", (_one(2.0, MIXED), ONE), (3.5, MIXED)),
    ("add", (_one(2.0, MIXED | ANOTHER), ONE), (3.5, BAD | STAT)),
    ("add", (ONE, _one(2.0, ANOTHER)), (3.5, STAT)), ("add", (ONE, ROW), (8.5, 0)),
    ("add", (_one(0.0, FILL | ANOTHER), ONE), (1.5, STAT)),
    ("max", (LEAST, ONE), (1.5, 0)), ("max", (_one(2.0, FILL), ONE), (2.0, 0)),
    ("max", (ONE, _one(2.0, ANOTHER)), (2.0, STAT)), ("min", (ONE, _one(2.0, ANOTHER)), (1.5, STAT)),
    # what is made of a bad sum; what is taken off from it may be what the fills have added
    ("mul", (_one(4.0, BAD | STAT), ONE), (6.0, BAD)), ("sub", (ONE, _one(4.0, BAD | STAT)), (-2.5, BAD)),
    ("sub", (_one(4.0, BAD | STAT), ROW), None), ("sub", (_one(4.0, MIXED), ROW), None),
    ("sub", (_one(4.0, BAD | STAT), ONE), (2.5, BAD)),
    ("add", (_one(4.0, BAD | STAT), _one(-7.0, STAT)), None),
    ("add", (_one(-7.0, STAT), _one(4.0, BAD | STAT)), None),
    ("add", (_one(4.0, BAD | STAT), ROW), (11.0, BAD | STAT)),
    ("sub", (_one(4.0, BAD | STAT), _one(2.0, CONST)), None),  # a power of 0 for each lane beyond the end
    ("add", (_one(4.0, MIXED), _one(-2.0, CONST)), None),
    ("mul", (_one(4.0, BAD), _one(0.0, CONST)), (0.0, 0)),
    # a fill that is lost in the rounding of the sum
    ("add", (_one(1e-22, FILL | ANOTHER), ONE), (1.5, STAT)), ("add", (_one(1e-22, FILL), ONE), (1.5, 0)),
    ("max", (LEAST, ONE, _one(2.0, 0)), (2.0, 0)), ("add", (ONE, ONE, _one(2.0, FILL)), (5.0, MIXED)),
    ("add", (np.zeros((1, 1), np.int64), ONE), None), ("log", (_one(-1.0, 0),), None),
])  # fmt: skip
def test_what_arithmetic_makes_of_fills(word: str, given: tuple[np.ndarray, ...], expected: object) -> None:
    at = int(computed(word, given, OWN)[0, 0])
    value = float(np.uint32(at & 0xFFFFFFFF).view(np.float32))
    bits = at & (1 << NUMBER) - (1 << 32)
    assert ((value, bits & ~KNOWN) if at else None) == expected
    assert bool(bits & KNOWN) == (at != 0)


def test_a_bad_sum_has_the_number_of_its_sum_and_a_fill_that_of_its_load() -> None:
    begun = computed("add", (_one(2.0, FILL, 3), _one(1.5, ANOTHER)), OWN)
    assert begun[0, 0] >> NUMBER == OWN and computed("mul", (begun, ONE), 11)[0, 0] >> NUMBER == OWN
    assert computed("sub", (ZERO, ROW), OWN)[0, 0] >> NUMBER == 3
    assert computed("add", (_one(2.0, FILL, 3), ONE), OWN)[0, 0] >> NUMBER == 3


def test_a_constant_is_a_fill_only_where_others_have_loaded() -> None:
    rows = np.concatenate([_one(0.0, CONST), _one(1.25, LOADED, 5), _one(1.0, 0)])
    assert [int(one) >> NUMBER for one in filled(rows)[:, 0]] == [5, 5, 0]
    assert [bool(one & FILL) for one in filled(rows)[:, 0]] == [True, False, False]
    assert not (filled(rows[[0, 2]]) & FILL).any()


@pytest.mark.parametrize(("value", "fill"), [(0.0, True), (-np.inf, True), (-3e4, True), (1.0, False)])
def test_a_default_that_may_be_meant_is_no_fill(value: float, fill: bool) -> None:
    assert bool(filled(np.concatenate([_one(value, CONST), _one(1.25, LOADED, 5)]))[0, 0] & FILL) == fill


@pytest.mark.parametrize(("text", "word"), [
    ('%a = "arith.addf"(%x) : (f32) -> f32', "add"), ('%a = "math.exp2"(%x) : (f32) -> f32', "exp2"),
    ('%a = "nvvm.fma.packed.f32x2"(%x) : (f32) -> f32', "fma"),
    ('%a = "nvvm.fmax"(%x) : (f32) -> f32', "max"),
    ('%a = "arith.maximumf"(%x) : (f32) -> f32', "max"), ('%a = "arith.truncf"(%x) : (f32) -> bf16', "move"),
    ('%a = "math.trunc"(%x) : (f32) -> f32', ""), ('%a = "math.absf"(%x) : (f32) -> f32', "abs"),
    ('%a = "vector.reduction"(%x) <{kind = #vector.kind<maxnumf>}> : (f32) -> f32', "max"),
    ('%a = "vector.reduction"(%x) <{kind = #vector.kind<mul>}> : (f32) -> f32', ""),
    ('%a = "llvm.inline_asm"(%x) <{asm_string = "ex2.approx.ftz.f32 $0, $1;"}> : (f32) -> f32', "exp2"),
    ('%a = "llvm.inline_asm"(%x, %x) <{asm_string = "max.f32 $0, $1, $2;"}> : (f32, f32) -> f32', "max"),
    *((f'%a = "llvm.inline_asm"(%x) <{{asm_string = "{ptx}"}}> : (f32) -> f32', "") for ptx in (
        "mul.f32 $0, $1, 0f3FB8AA3B;", "sub.f32 $0, $1, $1;", "{ex2.approx.f32 $0, $1; add.f32 $0, $0, $0;}",
    )),
])  # fmt: skip
def test_what_an_operation_computes(text: str, word: str) -> None:
    (kernel,) = parse(f'"gpu.func"() ({{\n^bb0(%x: f32):\n  {text}\n}}) : () -> ()').operations
    assert word_of(kernel.regions[0].blocks[0].operations[0]) == word
