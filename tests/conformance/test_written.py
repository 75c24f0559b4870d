"""Kernels as users write them, compiled: what a trace says of their copies against what their PTX does.

The kernels come from `written.kernels`, drawn from Python code and not from types; the truth from the DSL,
and from a machine that runs whole blocks (`written.machine`), of the copy and of a reference that moves one
element after another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")

from tests.conformance.written.judge import judge
from tests.conformance.written.kernels import FRAGMENTS, MIDDLE, Draft, Written, kernel, module
from tests.conformance.written.sweep import Child, compiler, one
from tests.lowering import SharedLowering
from tests.thinned import thinned

SEEDS = (4, 83, 129, 268, 306, 2051, 5003, 5005)
FILL = "support.move_words(s_raw, gI.iterator, 2048, 128)"
END = ("cute.arch.cp_async_commit_group()", "cute.arch.cp_async_wait_group(0)", "cute.arch.sync_threads()")
SMEM = "s_raw = alloc.allocate(8192, byte_alignment=1024)"


def written(*lines: str, dtype: str = "Int32") -> Written:
    draft = Draft(Random(0), dtype)
    draft.lines = list(lines)
    return module(draft, "kept")


def reads(view: str, *copy: str, frag: str = "cute.make_fragment_like(mine)") -> Written:
    """A thread's view of swizzled shared memory, copied into registers."""
    return written(
        SMEM,
        view,
        f"frag = {frag}",
        FILL,
        "cute.arch.sync_threads()",
        "if cutlass.const_expr(REF):",
        "    support.elements(mine, frag)",
        "else:",
        *(f"    {line}" for line in copy),
        *END,
        "support.dump(frag, gD.iterator, 128)",
    )


def swizzled(layout: str, index: str = "[None, tid]") -> str:
    """A slice of a tensor under S<3,4,3>."""
    pointer = "cute.recast_ptr(s_raw, cute.make_swizzle(3, 4, 3), dtype=T)"
    return f"mine = cute.make_tensor({pointer}, cute.make_layout({layout})){index}"


# What made layoutcheck wrong once, shrunk: the kernel, what it says now, and the rule that says it.
KEPT: dict[str, tuple[Written, str, str]] = {
    "recast_tensor forgets the swizzle, of elements of the same width too": (
        reads(
            swizzled("(4, 128), stride=(128, 1)"),
            "autovec_copy(*(cute.recast_tensor(t, cutlass.Uint32) for t in (mine, frag)))",
        ),
        "unknown",
        "LC209",
    ),
    "recast_tensor to a narrower type sees the first part of scattered elements": (
        reads(
            swizzled("(4, 128), stride=(128, 1)"),
            "autovec_copy(cute.recast_tensor(mine, cutlass.Uint8), cute.recast_tensor(frag, cutlass.Uint8))",
            frag="cute.make_rmem_tensor(cute.make_layout((4,), stride=(2,)), T)",
        ),
        "wrong",
        "LC209",
    ),
    "the same view without a recast is right": (
        reads(swizzled("(4, 128), stride=(1, 4)"), "autovec_copy(mine, frag)"),
        "legal",
        "",
    ),
    "cp.async past L1 has no banks to meet in": (
        written(
            SMEM,
            "s_layout = cute.make_layout((4, 128), stride=(1, 4))",
            "s = cute.make_tensor(cute.recast_ptr(s_raw, None, dtype=T), s_layout)",
            f"g = cute.make_tensor(cute.recast_ptr(gI.iterator + {MIDDLE}, dtype=T), "
            "cute.make_layout((4, 128), stride=(1, 0)))",
            "src, dst = g[None, n2], s[None, tid]",
            "atom = cute.make_copy_atom("
            "cpasync.CopyG2SOp(cpasync.LoadCacheMode.GLOBAL), T, num_bits_per_copy=128)",
            FILL,
            "cute.arch.sync_threads()",
            "if cutlass.const_expr(REF):",
            "    support.elements(src, dst)",
            "else:",
            "    copy(atom, src, dst)",
            *END,
            "support.move_words(gD.iterator, s_raw, 2048, 128)",
        ),
        "slow",
        "LC302",
    ),
    "cp.async of 16 bits writes 4 bytes": (
        written(
            SMEM,
            "s_layout = cute.make_layout((1, 128), stride=(0, 1))",
            "s = cute.make_tensor(cute.recast_ptr(s_raw, None, dtype=T), s_layout)",
            f"g = cute.make_tensor(cute.recast_ptr(gI.iterator + {MIDDLE}, dtype=T), s_layout)",
            "src, dst = (cute.group_modes(t, 0, 1)[None, tid] for t in (g, s))",
            "atom = cute.make_copy_atom(cpasync.CopyG2SOp(), T, num_bits_per_copy=16)",
            FILL,
            "cute.arch.sync_threads()",
            "if cutlass.const_expr(REF):",
            "    support.elements(src, dst)",
            "else:",
            "    copy_atom_call(atom, src, dst)",
            *END,
            "support.move_words(gD.iterator, s_raw, 2048, 128)",
            dtype="Int16",
        ),
        "wrong",
        "LC202",
    ),
    "an auto-width copy of a nested V whose modes are not in the order of their strides": (
        reads(
            swizzled("(((2, 4), 2), 64), stride=(((16, 1), 8), 32)", "[None, tid % 64]"),
            "copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), T), mine, frag)",
        ),
        "wrong",
        "LC202",
    ),
    "a composed layout whose pitch steps past its swizzle": (
        written(
            "s_layout = cute.make_composed_layout("
            "cute.make_swizzle(3, 2, 3), 0, cute.make_layout((128, 2), stride=(3, 1)))",
            SMEM,
            "s = cute.make_tensor(cute.recast_ptr(s_raw, dtype=T), s_layout)",
            "atom = cute.make_copy_atom(cute.nvgpu.CopyR2SOp(), T)",
            "tc = cute.make_tiled_copy_tv(atom, cute.make_layout((128, 1)), cute.make_layout((1, 1)))",
            "mine = tc.get_slice(tid).partition_D(s)",
            "frag = cute.make_fragment_like(mine)",
            FILL,
            f"support.fill(frag, gI.iterator + {FRAGMENTS}, 128)",
            "cute.arch.sync_threads()",
            "if cutlass.const_expr(REF):",
            "    support.elements(frag, mine)",
            "else:",
            "    copy(tc, frag, mine)",
            *END,
            "support.move_words(gD.iterator, s_raw, 2048, 128)",
        ),
        "wrong",
        "LC210",
    ),
    "registers of threads that never run": (
        written(
            f"g = cute.make_tensor(cute.recast_ptr(gI.iterator + {MIDDLE}, dtype=T), "
            "cute.make_layout((256, 4), stride=(4, 1)))",
            "atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), T, num_bits_per_copy=128)",
            "tc = cute.make_tiled_copy_tv(atom, cute.make_layout((256, 1)), cute.make_layout((1, 4)))",
            "mine = tc.get_slice(tid).partition_S(g)",
            "frag = cute.make_fragment_like(mine)",
            f"support.fill(frag, gI.iterator + {FRAGMENTS}, 128)",
            "cute.arch.sync_threads()",
            "if cutlass.const_expr(REF):",
            "    support.elements(mine, frag)",
            "else:",
            "    copy(tc, mine, frag)",
            *END,
            "support.dump(frag, gD.iterator, 128)",
        ),
        "wrong",
        "LC212",
    ),
}


@pytest.fixture(scope="module")
def compiling() -> Iterator[Child]:
    child = compiler()
    yield child
    child.close()


@pytest.fixture(scope="module")
def lowering() -> Iterator[SharedLowering]:
    with SharedLowering() as found:
        yield found


@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str, compiling: Child, lowering: SharedLowering) -> None:
    kept, verdict, code = KEPT[name]
    answer = compiling.ask([["kept", kept.source]])
    found = judge(kept, answer, lowering)
    assert found.outcome == "compiled", answer.get("copy_error")
    assert not found.wrongs
    assert list(found.verdicts) == [verdict]
    codes = {finding.code for _, report in found.reports if report for finding in report.findings}
    assert code in codes or not code


@pytest.mark.parametrize("seed", thinned(SEEDS, 2))
def test_random_kernels(seed: int, compiling: Child, lowering: SharedLowering) -> None:
    found = one(seed, compiling, None, lowering)
    assert not found["wrongs"], kernel(seed).source


@pytest.mark.sweep
def test_many_random_kernels(compiling: Child, lowering: SharedLowering) -> None:
    wrong: list[Any] = []
    for seed in range(20_000, 20_600):
        found = one(seed, compiling, None, lowering)
        wrong += [(seed, *each) for each in found["wrongs"]]
    assert not wrong, json.dumps(wrong[:5], indent=1)
