"""Kernels in shapes that users give them (outside*.py): each fault is told with its lines."""

from __future__ import annotations

import importlib
import linecache
import re

import pytest

from layoutcheck.dsl.lowered.instructions import tma_transfers, transfers
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from layoutcheck.sources.traced import KernelFinding, KernelPlace
from tests.lowering import SharedLowering

ATOM = "!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90_multicast, i32, copy_bits = {bits}>"
EXEC = "!cute_nvgpu.atom.tma_load<i32, copy_bits = {bits}, mode = tiled, mcast = true>"
HOST = (
    '%0:2 = "cute_nvgpu.atom.make_non_exec_tiled_tma_load"(%1) <{{num_multicast = {n} : i32}}> : (!x)'
    ' -> ({atom}, !cute.coord_tensor<"0">)'
)
KERNEL = (
    '%8 = "cute_nvgpu.atom.make_exec_tma"(%2) : ({atom}) -> {exec}\n"cute.copy"(%8, %3) : ({exec}, !y) -> ()'
)


@pytest.mark.parametrize(
    ("made", "parts", "box"),
    [((1,), 1, 2048), ((2,), 2, 1024), ((2, 2), 2, 1024), ((2, 4), 0, 512), ((), 0, 16)],
)
def test_how_many_blocks_bring_a_part_of_a_tile(made: tuple[int, ...], parts: int, box: int) -> None:
    """`num_multicast` of the host's atom of that type; not told by atoms that differ in it."""
    atom, executable = ATOM.format(bits=16384), EXEC.format(bits=16384)
    other = HOST.format(n=8, atom=ATOM.format(bits=8192))
    text = [other, *(HOST.format(n=n, atom=atom) for n in made), KERNEL.format(atom=atom, exec=executable)]
    assert tma_transfers("\n".join(text)) == {"cute.copy#0": (2048, parts)}
    assert transfers("\n".join(text)) == {"cute.copy#0": box}
    alone = "\n".join(text).replace(", mcast = true", "")
    assert transfers(alone) == {"cute.copy#0": box if made else 2048}


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("module", "arch"), [("outside", "sm_90a"), ("outside_tma", "sm_90a"), ("outside_umma", "sm_100a")]
)
def test_each_fault_is_told_with_its_lines(module: str, arch: str) -> None:
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    told_of = importlib.import_module(f"tests.order.{module}").TOLD
    with SharedLowering(copies=False, order=check_module) as lowering:
        trace = trace_script(
            "-m", [f"tests.order.{module}"], launch=False, arch=arch, timeout_s=500, lowering=lowering
        )
    assert trace.failures == ()
    found = {order.kernel: order for order in trace.orders}
    assert len(found) == sum(len(variants) + 1 for variants, _, _ in told_of.values())
    missed, alarms = [], []
    for name, (variants, _, _) in told_of.items():
        for how, wanted in enumerate([None, *variants]):
            (order,) = (one for kernel, one in found.items() if kernel.endswith(f"_{name}_{how}"))
            assert order.problem == "" and order.events > 0, (name, how, order.problem)
            if wanted is None:
                alarms += [(name, f.title) for f in order.findings if f.severity == "wrong"]
            elif not any(_told(finding, *wanted) for finding in order.findings):
                missed.append((name, how, wanted, [f.title for f in order.findings]))
    assert not missed and not alarms


def _told(finding: KernelFinding, code: str, first: str, second: str) -> bool:
    """Whether a finding has this code, and these words at its first and its second place."""
    places = [*map(_lines, finding.places), "", ""]
    return bool(re.fullmatch(code, finding.code)) and first in places[0] and second in places[1]


def _lines(place: KernelPlace) -> str:
    """The line of a place, and those that called it."""
    frames = (place.where, *place.stack)
    return "".join(linecache.getline(frame.file, frame.line) for frame in frames)
