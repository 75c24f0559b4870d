"""Threads that write one byte in one copy: with other values it is a race, with the same it is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from layoutcheck.dsl.lowered.contents import bytes_at, mixed
from layoutcheck.dsl.lowered.lowered_op import LoweredOp
from layoutcheck.dsl.lowered.matrices import matrix_register, transposed_register
from layoutcheck.dsl.lowered.races import race
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.judge import judge_traced
from layoutcheck.rules.lowered import findings
from layoutcheck.sources.traced import Addresses, LoweredFault, Trace
from tests.dsl.lowered.conftest import Traced

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

# 128 threads each write a column of four values to shared memory, by default two threads the same one.
RACES = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
CASES = (
    "plain arith tid loop halfway fill reduced redux one_lane shared loop_same subword clean named lanes"
).split()
def warp_sum(x):
    for i in range(5):
        x = x + cute.arch.shuffle_sync_bfly(x, offset=1 << i)
    return x
@cute.kernel
def k(a: cute.Tensor, o: cute.Tensor, case: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    s = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((4, 256)), 128)
    f = cute.make_rmem_tensor(cute.make_layout(4), cutlass.Float32)
    cute.autovec_copy(a[None, t], f)
    at = t % 16 if cutlass.const_expr(case == "lanes") else t % 64
    if cutlass.const_expr(case in ("named", "lanes")):
        cute.arch.barrier(barrier_id=1, number_of_threads=128)
    if cutlass.const_expr(case == "arith"):
        f.store(f.load() * 2.0 + 1.0)
    if cutlass.const_expr(case == "tid"):
        f.store(f.load() * 0.0 + cutlass.Float32(t))
    if cutlass.const_expr(case == "fill"):
        f.fill(0.0)
    if cutlass.const_expr(case == "reduced"):
        for i in cutlass.range_constexpr(4):
            f[i] = warp_sum(f[i])
        at = t // 32
    if cutlass.const_expr(case == "redux"):
        f.fill(cute.arch.warp_redux_sync(t, kind="add").to(cutlass.Float32))
        at = t // 32
    if cutlass.const_expr(case == "halfway"):
        for i in cutlass.range_constexpr(4):
            f[i] = f[i] + cute.arch.shuffle_sync_bfly(f[i], offset=1)
        at = t // 4
    if cutlass.const_expr(case == "shared"):
        cute.autovec_copy(a[None, t % 64], f)
    if cutlass.const_expr(case == "clean"):
        at = t
    if cutlass.const_expr(case in ("loop", "loop_same")):
        from_ = t if cutlass.const_expr(case == "loop") else t % 64
        acc = f.load() * 0.0
        for i in range(16):
            cute.autovec_copy(a[None, from_ + 128 * i], f)
            acc = acc + f.load()
        f.store(acc)
    if cutlass.const_expr(case == "one_lane"):
        at = t // 32
        if t % 32 == 0:
            cute.autovec_copy(f, s[None, at])
    elif cutlass.const_expr(case == "subword"):
        h = cute.make_rmem_tensor(cute.make_layout(1), cutlass.Float8E4M3FN)
        h[0] = cutlass.Float8E4M3FN(1.0)
        p = cute.recast_ptr(s.iterator, dtype=cutlass.Float8E4M3FN)
        cute.autovec_copy(h, cute.make_tensor(p + t, cute.make_layout(1)))
    else:
        cute.autovec_copy(f, s[None, at])
    cute.arch.sync_threads()
    cute.autovec_copy(s[None, t], o[None, t])
@cute.jit
def host(a: cute.Tensor, o: cute.Tensor, case: cutlass.Constexpr):
    k(a, o, case).launch(grid=[1, 1, 1], block=[128, 1, 1])
if __name__ == "__main__":
    a = make_fake_tensor(cutlass.Float32, (4, 4096), stride=(1, 4), assumed_align=16)
    for case in CASES:
        cute.compile(host, a, a, case)
"""
RACING = {
    "plain": 64,
    "arith": 64,
    "tid": 64,
    "loop": 64,
    "halfway": 2,
    "lanes": 16,
}  # the other thread of thread 0's, or 1's
SAME = ("fill", "reduced", "redux", "one_lane", "shared", "loop_same", "subword", "clean", "named")


@pytest.fixture(scope="module")
def trace(traced: Traced) -> Trace:
    found = traced(RACES)
    assert not found.failures and len(found.kernels) == len(RACING) + len(SAME), found.failures
    return found


@pytest.mark.parametrize("case", [*RACING, *SAME])
def test_a_race_is_two_threads_with_other_values(trace: Trace, case: str) -> None:
    stores = [
        one
        for one in trace.copies
        if one.kernel.endswith(f"_{case}") and one.copy is not None and one.copy.dst.space == "smem"
    ]
    (store,) = stores
    report = judge_traced(store, fixes_for=())
    assert report is not None and store.addresses is not None
    wrong = [finding.code for finding in report.findings if finding.severity == "wrong"]
    assert wrong == (["LC210"] if case in RACING else []), report.findings
    if case in RACING:
        (fault,) = store.addresses.faults
        assert fault.other == RACING[case] and fault.width_bytes == 4
    doubted = {one.code for one in report.findings if one.severity == "unknown"}
    assert ("LC210" in doubted) == (case == "named")  # warps may take turns, lanes do not


def stored(
    address: np.ndarray, value: object, known: bool = True, op: str = "st", layout: str = ""
) -> Recorded:
    size = 16 if op.startswith("stmatrix") else 4
    facts = {"layout": layout} if layout else {}
    return Recorded("t", op, size, address, "smem", 4, facts=facts, value=value, value_known=known)


def judged(*accesses: Recorded) -> str:
    found = race(None, LoweredOp("t", 32, accesses, "static"), accesses)
    return "" if found is None else found.kind


THREAD = np.arange(32, dtype=np.int64)


def test_what_is_not_known_is_no_race_and_is_told_apart() -> None:
    met = THREAD // 2 * 4
    assert judged(stored(met, THREAD)) == "race"
    assert judged(stored(met, THREAD // 2)) == ""
    assert judged(stored(met, THREAD << 24)) == "race"  # in the last byte alone
    assert judged(stored(THREAD * 2, THREAD * 0 + 0x1010101)) == ""  # halves of two words
    assert judged(stored(THREAD * 2, THREAD * 0 + 0x2020101)) == "race"
    assert judged(stored(met, 0, known=False)) == "contested"
    assert judged(stored(THREAD * 4, 0, known=False)) == ""


def test_a_doubt_is_unknown_and_no_error() -> None:
    fault = LoweredFault("contested", "dst", "st.shared", "smem", 1, 0, 4, 0)
    (finding,) = findings(Addresses(32, (), (fault,)))
    assert (finding.code, finding.severity) == ("LC210", "unknown")


@pytest.mark.parametrize(("layout", "place"), [("row", matrix_register), ("col", None)])
def test_rows_of_stmatrix(layout: str, place: Callable[[np.ndarray, int], np.ndarray] | None) -> None:
    half = transposed_register if place is None else (lambda r, i, _: place(r, i))
    apart = THREAD * 16
    turned = np.where(THREAD < 8, THREAD, (THREAD + 1) % 8) * 16  # rows 8 to 15 are 1 to 7 and 0

    def judged_with(rows: np.ndarray, *values: np.ndarray) -> str:
        return judged(stored(rows, values, op=f"stmatrix.x{len(values)}", layout=layout))

    assert judged_with(turned, THREAD) == judged_with(apart, THREAD, THREAD + 1) == ""
    assert judged_with(turned, THREAD, THREAD + 1) == "race"
    assert judged_with(THREAD * 0, THREAD) == "race"
    row = [half(turned, i, 0) // 16 | (half(turned, i, 1) // 16) << 16 for i in (0, 1)]
    assert judged_with(turned, *row) == ""


def test_random_bytes_follow_from_their_address_alone() -> None:
    places = THREAD * 4 + (1 << 45)
    word = np.asarray(bytes_at("gmem", places, 4))
    for k in range(4):
        assert (np.asarray(bytes_at("gmem", places + k, 1)) == (word >> (8 * k)) & 255).all()
    assert np.unique(word).size == 32 and (word != np.asarray(bytes_at("smem", THREAD * 4, 4))).any()
    assert mixed(1, 2) != mixed(2, 1) and mixed(3) == mixed(3)
    places = range(0, 256, 8)  # eight bytes of one place: the number that threads of many places have
    assert [bytes_at("smem", place, 8) for place in places] == bytes_at("smem", np.array(places), 8).tolist()
    assert any(bytes_at("smem", place, 8) < 0 for place in places)


def test_the_script_is_named(trace: Trace) -> None:
    assert {Path(one.where.file).name for one in trace.copies} == {"program.py"}
