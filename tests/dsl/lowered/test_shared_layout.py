"""Where shared allocations begin and what they take: what the lowering says against the compiler's PTX."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from layoutcheck.dsl.lowered import argument_types, read
from layoutcheck.dsl.lowered.allocations import allocations
from layoutcheck.dsl.lowered.capacity import too_large
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.tagged import SHARED_SIZE
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order.events import kernels
from layoutcheck.sources.mlir import Operation, Value, integer, without_locations
from layoutcheck.sources.traced import OrderReport
from layoutcheck.sources.traced_module import TracedModule
from tests.lowering import SharedLowering

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

# A kernel for each list of (bytes, alignment, partition, where it stands), of which number n stores n there.
PROGRAM = """
import cutlass
from cutlass import cute
from cutlass.memory.smem import SmemAllocator, SmemPartition
from cutlass.cute.runtime import make_fake_tensor
KERNELS = {kernels}
def put(memory, t, number, kind):
    size, align, part, _ = kind
    dtype = cutlass.Int16 if number >= 64 else cutlass.Int8  # or the stores of two arms become one
    place = memory.allocate_array(dtype, size, byte_alignment=align, partition=SmemPartition(part))
    if cutlass.const_expr(number):
        cute.make_tensor(place, cute.make_layout(1))[t * 0] = dtype(number)
@cute.kernel
def k(a: cute.Tensor, given: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    memory = SmemAllocator()
    for number, kind in enumerate(given):
        if cutlass.const_expr(kind[3] == "then"):
            if a[number] > 0:
                put(memory, t, number, kind)
        elif cutlass.const_expr(kind[3] == "either"):
            if a[number] > 0:
                put(memory, t, number, kind)
            else:
                put(memory, t, number + 64, kind)
        elif cutlass.const_expr(kind[3] == "loop"):
            for _ in range(a[number]):
                put(memory, t, number, kind)
        else:
            put(memory, t, number, kind)
@cute.jit
def host(a: cute.Tensor, given: cutlass.Constexpr, merged: cutlass.Constexpr):
    k(a, given).launch(grid=(1, 1, 1), block=(32, 1, 1), smem_merge_branch_allocs=merged)
if __name__ == "__main__":
    a = make_fake_tensor(cutlass.Int32, (256,), stride=(1,), assumed_align=4)
    for given, merged in KERNELS:
        cute.compile(host, a, given, merged)
"""
MOST = 232448  # bytes of a block of sm_90a
Program: TypeAlias = "tuple[list[tuple[int, int, int, str]], bool]"
_STORE = re.compile(r"st\.shared\.b(?:8|16) \t\[(%r[0-9]+|__dynamic_shmem__0)(?:\+([0-9]+))?\], ([0-9]+);")


def modules(text: str, folder: Path) -> list[tuple[TracedModule, str]]:
    """What a program compiles for sm_90a, traced and lowered."""
    (folder / "program.py").write_text(text)
    found: list[tuple[TracedModule, str]] = []

    def look(module: TracedModule, lowered: str, problem: str) -> OrderReport:
        assert not problem, problem
        found.append((module, lowered))
        return OrderReport(module.kernel, module.arch)

    with SharedLowering(copies=False, order=look) as lowering:
        trace = trace_script(
            str(folder / "program.py"), launch=False, arch="sm_90a", timeout_s=200, lowering=lowering
        )
    assert not trace.failures, trace.failures
    return found


def in_ptx(ptx: str) -> dict[int, int]:
    """Where each number is stored. The address is the begin of all plus a constant (and 0 * threadIdx)."""
    return {int(value): int(offset or 0) for _, offset, value in _STORE.findall(ptx)}


def lowered_places(module: TracedModule, lowered: str) -> tuple[dict[int, int], int]:
    """Where each number is stored, as the order check evaluates it; and the bytes of all allocations."""
    (kernel,) = kernels(lowered, argument_types(without_locations(module.text)))
    placed = allocations(kernel.operation)
    found = {}
    for op, meaning in kernel.meanings.items():
        if meaning.kind == "write" and meaning.space == "smem":
            found[stored(op)] = placed[root(op.operands[1])].start
    for event in kernel.watch().events:
        if event.meaning.kind == "write" and event.meaning.space == "smem":
            assert event.meaning.op is not None
            assert set(event.numbers(0, 32).tolist()) == {found[stored(event.meaning.op)]}
    said = integer(kernel.operation.attributes[SHARED_SIZE].partition(" : ")[0])
    assert said is not None
    return found, said


def stored(store: Operation) -> int:
    """The constant that a store stores."""
    made = store.operands[0].definition
    number = integer(made.attributes["value"].partition(" : ")[0]) if made is not None else None
    assert number is not None
    return number


def root(pointer: Value) -> Operation:
    """The allocation that a pointer is made of."""
    made = pointer.definition
    assert made is not None
    return made if made.name == "llvm.alloca" else root(made.operands[0])


def compare(seed: int, count: int, dsl: Session, folder: Path, more: Sequence[Program] = ()) -> int:
    """Of so many random kernels, and `more`; the number of allocations compared.

    A kernel is refused if it takes more than a block of sm_90a has, with the gaps between its allocations.
    """
    rng = random.Random(seed)
    where = ("top", "top", "top", "then", "either", "loop")
    programs = [
        (
            [
                (rng.randint(1, 3000), 1 << rng.randint(0, 10), int(rng.random() < 0.7), rng.choice(where))
                for _ in range(rng.randint(2, 9))
            ],
            rng.random() < 0.5,
        )
        for _ in range(count)
    ] + [*more]
    compared = 0
    found = modules(PROGRAM.replace("{kernels}", repr(programs)), folder)
    assert len(found) == len(programs)
    for (module, lowered), (given, merged) in zip(found, programs, strict=True):
        answer = dsl.ask("compile", [{"module": without_locations(module.text), "arch": "sm_90a"}])[0]
        assert answer["error"] == "", answer
        real = in_ptx(answer["ptx"])
        places, total = lowered_places(module, lowered)
        assert places == real, (given, merged)
        numbers = {n: size for n, (size, *_) in enumerate(given) if n}
        numbers |= {n + 64: 2 * size for n, (size, _, _, how) in enumerate(given) if how == "either"}
        assert total >= max(at + numbers[n] for n, at in real.items()), (given, merged)
        compared += len(real)
        refused = [one.message for one in too_large(read(lowered, without_locations(module.text)), "sm_90a")]
        assert len(refused) == (total > MOST) and all(f"it allocates {total} B" in one for one in refused)
    return compared


def test_random_allocations_begin_where_the_compiler_puts_them(dsl: Session, tmp_path: Path) -> None:
    """The last two take all of a block's memory, and 24 B more: less than that without the gap of 1016 B."""
    full, over = ([(8, 8, 1, "top"), (MOST - 1024 + more, 1024, 1, "top")] for more in (0, 24))
    assert compare(1, 4, dsl, tmp_path, [(full, False), (over, False)]) > 20


@pytest.mark.sweep
def test_many_random_allocations_begin_where_the_compiler_puts_them(dsl: Session, tmp_path: Path) -> None:
    for seed in range(2, 8):
        (tmp_path / str(seed)).mkdir()
        print(seed, compare(seed, 50, dsl, tmp_path / str(seed)), "allocations")
