"""What DSL 4.3 to 4.5 lower: named through attributes, put as later versions put it, judged as theirs.

`lowered_4_5.mlir` is what the passes of DSL 4.5.2 made of a kernel of 64 threads that copies 64 x 32 f32 by
cp.async, and then has 32 threads read the first column in a loop. With such a DSL installed the tests of this
folder run with it; what it counts is in docs/versions.md.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from layoutcheck.dsl.lowered import read
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.lowered.shared_access import in_shared
from layoutcheck.dsl.lowered.shared_turns import SharedAccesses
from layoutcheck.dsl.tasks import earlier
from layoutcheck.operands import check_operands
from layoutcheck.order import OrderReport, check_module
from layoutcheck.sources.traced import OperandReport
from layoutcheck.sources.traced_module import TracedModule

DATA = Path(__file__).parents[2] / "data"
LOWERED = (DATA / "lowered_4_5.mlir").read_text()
TID = np.arange(64)
DEFINED = {"kern": "cuda.kernel", "host": "func.func"}


def test_what_dsl_4_5_lowers_is_evaluated() -> None:
    found = read(earlier.as_later(LOWERED, DEFINED))
    assert found.problem == ""
    (kernel,) = found.kernels
    assert (kernel.name, kernel.launch.block, kernel.launch.grid) == ("kern", (64, 1, 1), (3, 1, 1))
    copies = kernel.lowered_ops["cute.copy#0"].accesses
    linear = (TID // 8 * 32 + TID % 8 * 4) * 4
    assert [(one.op, one.size) for one in copies] == [("cp.async.ca", 16)] * 8
    for turn, one in enumerate(copies):
        assert (np.asarray(one.address) - linear == np.asarray(one.address)[0]).all()
        assert ((one.second - one.second[0]) == linear).all()  # type: ignore[index]
        assert np.asarray(one.address)[0] - np.asarray(copies[0].address)[0] == turn * 1024
    loads = kernel.lowered_ops["cute.memref.load#0"].accesses
    assert len(loads) == 2
    for turn, one in enumerate(loads):
        assert one.active is not None and (one.active == (TID < 32)).all()
        start = np.asarray(copies[0].address)[0] + turn * 32 * 128
        assert (np.asarray(one.address)[:32] == start + TID[:32] * 128).all()


def test_a_type_that_holds_nothing_is_cast_from_nothing() -> None:
    """As a TMA atom's layout, which the host gives to a kernel."""
    cast = re.compile(r'"builtin\.unrealized_conversion_cast"\([^()]+\) : \(.*\) -> (!cute\.tiled_copy)')
    text, number = cast.subn(r'"builtin.unrealized_conversion_cast"() : () -> \1', LOWERED)
    assert number == 1
    (kernel,) = read(earlier.as_later(text, DEFINED)).kernels
    assert kernel.launch.grid == (3, 1, 1)


def test_without_its_functions_names_there_is_no_kernel() -> None:
    assert read(earlier.as_later(LOWERED, {})).kernels == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('%3 = "llvm.sdiv"(%1, %2) : (i32, i32)', '%3 = "arith.divsi"(%1, %2) : (i32, i32)'),
        ('    "llvm.store"(%1, %2) : (f32, !llvm.ptr)', '    "llvm.store"(%1, %2) : (f32, !llvm.ptr)'),
        ('%3 = "llvm.intr.smax"(%1, %2) : (i32, i32)', '%3 = "arith.maxsi"(%1, %2) : (i32, i32)'),
        ('"llvm.inline_asm"(%1) <{asm_string = "\\22llvm.add\\22("}>',) * 2,
        ('"nvvm.mbarrier.try_wait.parity.shared"(%1)', '"nvvm.mbarrier.try_wait.parity"(%1)'),
        ('"nvvm.mapa.shared.cluster"(%1, %2)', '"nvvm.mapa"(%1, %2)'),
        ('%1 = "layoutcheck.launch_cfg.create"(%0)', '%1 = "cuda.launch_cfg.create"(%0)'),
    ],
)
def test_names_are_those_of_later_versions(before: str, after: str) -> None:
    assert earlier.as_later(before, {}) == after


@pytest.mark.parametrize("kind", ["arrive", "arrive_expect_tx", "expect_tx", "complete_tx"])
def test_transactions_of_the_blocks_own_mbarriers_are_named_by_kind(kind: str) -> None:
    given = f"<{{kind = #nvvm.mbar_txn_kind<{kind}>, space = #nvvm.mbar_space<cta>}}>"
    named = kind.replace("arrive_", "arrive.")
    before, after = f'"nvvm.mbarrier.txn"(%1) {given}', f'"nvvm.mbarrier.{named}"(%1) {given}'
    assert earlier.as_later(before, {}) == after and not earlier.unfit(after)["unordered"]
    remote = before.replace("<cta>", "<cluster>")
    assert earlier.as_later(f"{remote}\n{before}", {}) == f"{remote}\n{after}"
    assert earlier.unfit(remote)["unordered"]


@pytest.mark.parametrize(("space", "sides"), [("cta", [1, 0]), ("cluster", [])])
def test_an_arrival_at_another_blocks_mbarrier_is_none_in_this_ones_memory(
    space: str, sides: list[int]
) -> None:
    """Both pointers have one type there: thread t arrives at the mbarrier of block t, at t 2^24."""
    kind = f"kind = #nvvm.mbar_txn_kind<arrive>, space = #nvvm.mbar_space<{space}>"
    to = (
        f'"nvvm.mbarrier.txn"(%99, %21) <{{{kind}}}> : (!llvm.ptr<3>, i32) -> () loc("nvvm.mbarrier.txn#0")\n'
    )
    peer = '%99 = "nvvm.mapa.shared.cluster"(%18, %25) : (!llvm.ptr<3>, i32) -> !llvm.ptr<3> loc(unknown)\n'
    text = LOWERED.replace('"nvvm.barrier"', f'{peer}{to}"nvvm.barrier"')
    (kernel,) = read(earlier.as_later(text, DEFINED)).kernels
    (met,) = SharedAccesses(kernel, mbarriers=True).evaluated({})[0].accesses["nvvm.mbarrier.txn#0"]
    assert np.asarray(met.address)[63] == 63 << 24
    assert [side for side, *_ in in_shared(met, 0, 0)] == sides


def test_launches_keep_their_description_through_the_passes() -> None:
    text = '%1 = "cuda.launch_cfg.create"(%0)'
    assert "cuda." not in earlier.held(text) and earlier.as_later(earlier.held(text), {}) == text


_BOTH = """
import json, pathlib, sys
from layoutcheck.dsl.tasks import passes
module = pathlib.Path(sys.argv[1]).read_text()
usual = passes.lower_traced({"module": module})["lowered"]
passes._sets_locations = lambda _: False
print(json.dumps([usual, passes.lower_traced({"module": module})["lowered"]]), flush=True)
"""


def test_names_pass_through_attributes_where_locations_are_fixed() -> None:
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    command = [sys.executable, "-c", _BOTH, str(DATA / "traced.mlir")]
    done = subprocess.run(command, capture_output=True, text=True)  # passes may corrupt the heap
    usual, again = json.loads(done.stdout)
    assert usual.count('loc("cute.copy#') > 20 and usual.count('loc("smem@') > 1
    assert again == usual


def _order(lowered: str, monkeypatch: pytest.MonkeyPatch) -> OrderReport:
    text = earlier.as_later(lowered, DEFINED)
    answer = {"lowered": text, **earlier.unfit(text)}
    monkeypatch.setattr(Lowering, "_passes", lambda *_: answer)
    report = Lowering(order=check_module).check_order(TracedModule("", "kern", "sm_90a", {}, ()))
    assert report is not None
    return report


def test_the_order_of_accesses_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = _order(LOWERED, monkeypatch)
    assert (right.problem, right.findings) == ("", ()) and right.events > 8
    unwaited = re.sub(r'\n.*"nvvm\.cp\.async\.wait\.group".*', "", LOWERED)
    assert [one.code for one in _order(unwaited, monkeypatch).findings] == ["LC501"]
    unordered = re.sub(r'\n.*"nvvm\.barrier".*', "", LOWERED)
    assert [one.code for one in _order(unordered, monkeypatch).findings] == ["LC501"]


@pytest.mark.parametrize("name", ["tcgen05.commit.arrive", "mbarrier.txn", "clusterlaunchcontrol.try_cancel"])
def test_the_order_of_what_is_told_otherwise_is_not_followed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = LOWERED.replace('"nvvm.barrier"', f'"nvvm.{name}"() : () -> ()\n      "nvvm.barrier"')
    report = _order(text, monkeypatch)
    assert (report.findings, report.events) == ((), 0)
    known = name if name == "mbarrier.txn" else name.partition(".")[0]
    assert report.problem == earlier.UNORDERED.format(f"nvvm.{known}")


def test_elements_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = earlier.as_later(LOWERED, DEFINED)
    monkeypatch.setattr(Lowering, "_passes", lambda *_: {"lowered": text, **earlier.unfit(text)})
    told: list[str] = []

    def check(module: TracedModule, _lowered: str, problem: str) -> OperandReport:
        told.append(problem)
        return check_operands(module)

    product = TracedModule('"cute.gemm"()', "kern", "sm_90a", {}, ())
    Lowering(products=check).check_products(product)
    assert told == [earlier.UNFOLLOWED]


@pytest.mark.parametrize(("position", "known"), [("%90", True), ("%25", False)])
def test_an_element_of_a_vector_is_followed_at_a_constant_position(position: str, known: bool) -> None:
    """Descriptors of shared memory are put together so."""
    there, *_ = _column(LOWERED)
    made = f"""%90 = "llvm.mlir.constant"() <{{value = 1 : i32}}> : () -> i32
          %91 = "llvm.mlir.undef"() : () -> vector<2xi32>
          %92 = "llvm.insertelement"(%91, %38, %90) : (vector<2xi32>, i32, i32) -> vector<2xi32>
          %93 = "llvm.extractelement"(%92, {position}) : (vector<2xi32>, i32) -> i32
          """
    load = '%39 = "llvm.getelementptr"(%18, %38)'
    assert LOWERED.count(load) == 1
    here, *_ = _column(LOWERED.replace(load, made + load.replace("%38", "%93")))
    assert bool(here.provenance) is not known
    assert (np.asarray(here.address) == np.asarray(there.address)).all() == known


def _column(lowered: str) -> tuple[Recorded, ...]:
    (kernel,) = read(earlier.as_later(lowered, DEFINED)).kernels
    return kernel.lowered_ops["cute.memref.load#0"].accesses
