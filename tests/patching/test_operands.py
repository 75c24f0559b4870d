"""Edits for operands of products: what is proposed, and what counts as proof."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from layoutcheck.patching.operands import unrepaired, ways
from layoutcheck.patching.program import Program
from layoutcheck.patching.repair import repair
from layoutcheck.patching.repaired import Repaired
from layoutcheck.patching.whole import near
from layoutcheck.sources.traced import (
    Frame,
    KernelFinding,
    KernelPlace,
    OperandReport,
    OrderReport,
    Trace,
    TraceFailure,
)

COPIES = """copy_a = cute.make_tiled_copy_B(atom, mma)
copy_b = cute.make_tiled_copy_B(atom, other)
cute.gemm(mma, total, a, b, total)
"""
TILES = """op = warp.LdMatrix8x8x16bOp(False, 4)
same = warp.LdMatrix8x8x16bOp(num_matrices=4)
kind = warpgroup.SmemLayoutAtomKind.K_SW128
major = OperandMajorMode.MN
"""


def finding(path: Path, code: str = "LC601", letter: str = "A") -> KernelFinding:
    place = KernelPlace("the copy", Frame(str(path), 1))
    return KernelFinding(code, "wrong", "title", "message", (place,), {"operand": letter})


def trace(*findings: KernelFinding, followed: int = 4, unchecked: tuple[str, ...] = ()) -> Trace:
    return Trace(operands=(OperandReport("k", "sm_90a", findings, unchecked, 4, followed),))


def proposed(path: Path, text: str, code: str, letter: str = "A") -> list[tuple[str, str]]:
    path.write_text(text)
    found = []
    for title, edits in ways({str(path): text}, finding(path, code, letter)):
        (one,) = edits
        line = text[: one.start] + one.new + text[one.end :]
        changed = [a for a, b in zip(line.splitlines(), text.splitlines(), strict=True) if a != b]
        found.append((title, changed[0]))
    return found


def test_copies_of_the_operand_and_of_the_mma_that_multiplies(tmp_path: Path) -> None:
    assert proposed(tmp_path / "p.py", COPIES, "LC601") == [
        ("make_tiled_copy_A for make_tiled_copy_B", "copy_a = cute.make_tiled_copy_A(atom, mma)"),
        ("make_tiled_copy_A for make_tiled_copy_B", "copy_b = cute.make_tiled_copy_A(atom, other)"),
        ("make_tiled_copy_B of mma, which multiplies", "copy_b = cute.make_tiled_copy_B(atom, mma)"),
    ]


def test_transposes_and_majors(tmp_path: Path) -> None:
    lines = [line for _, line in proposed(tmp_path / "p.py", TILES, "LC602")]
    assert lines == [
        "op = warp.LdMatrix8x8x16bOp(True, 4)",
        "same = warp.LdMatrix8x8x16bOp(num_matrices=4, transpose=True)",
        "kind = warpgroup.SmemLayoutAtomKind.MN_SW128",
        "major = OperandMajorMode.K",
    ]
    assert [line for _, line in proposed(tmp_path / "p.py", TILES, "LC607")] == lines[2:]


VIEWS = """def kernel(smem, storage, copy, layout):
    raw = smem.allocate_tensor(dtype, layout.outer, 1024)
    swizzled = cute.recast_ptr(raw.iterator, cute.make_swizzle(3, 4, 3))
    one = copy.partition_D(raw)
    view = cute.make_tensor(swizzled, raw.layout)
    other = copy.partition_S(view)
    plain = copy.partition_S(bare(raw))
    pitch = cute.make_swizzle(2, 4, 3)
"""


def test_one_view_of_a_tile_for_another(tmp_path: Path) -> None:
    found = proposed(tmp_path / "p.py", VIEWS, "LC605")
    assert found == [
        ("partition_S of raw itself", "    other = copy.partition_S(raw)"),
        ("partition_S of raw itself", "    plain = copy.partition_S(raw)"),
        ("the swizzle layout.inner",
         "    raw = smem.allocate_tensor(dtype, layout.outer, 1024, swizzle=layout.inner)"),
        ("raw.iterator for swizzled", "    view = cute.make_tensor(raw.iterator, raw.layout)"),
        ("swizzle 3, 4, 3 for 2, 4, 3", "    pitch = cute.make_swizzle(3, 4, 3)"),
        ("swizzle 2, 4, 3 for 3, 4, 3",
         "    swizzled = cute.recast_ptr(raw.iterator, cute.make_swizzle(2, 4, 3))"),
    ]  # fmt: skip
    assert proposed(tmp_path / "p.py", VIEWS, "LC602")[: len(found)] == found
    assert proposed(tmp_path / "p.py", VIEWS, "LC601") == []


@pytest.mark.parametrize(("arrived", "kept"), [(512, True), (0, False)])
def test_a_tile_that_is_no_longer_followed_is_not_repaired(tmp_path: Path, arrived: int, kept: bool) -> None:
    path = tmp_path / "p.py"
    path.write_text(VIEWS)
    moved = Trace(operands=(OperandReport("k", "sm_90a", in_order=arrived),))
    before = Trace(operands=(OperandReport("k", "sm_90a", (finding(path, "LC605", ""),)),))

    def retrace(script: str, cwd: str | None, **_: bool) -> Trace:
        return moved if "other = copy.partition_S(raw)" in Path(script).read_text() else before

    found = repair(str(path), before, retrace)
    assert [one.title for one in found.repairs] == ["partition_S of raw itself"] * kept
    if not kept:
        assert "not seen to arrive in order" in found.sketches[0].reason


RETILED = """def kernel(mma, copy, tile, other):
    fragment = mma.make_fragment_A(mma.partition_A(tile))
    reader = copy.get_slice(tidx)
    view = fragment
    source = reader.partition_S(tile)
    stage = source[None, None, None, 0]
    cute.copy(copy, stage[None, None, 0], view[None, None, 0])
    stage = source[None, None, None, 1]
    cute.copy(copy, stage[None, None, 0], view[None, None, 1])
    cute.copy(copy, source, reader.retile(fragment))
"""


def test_a_fragment_is_retiled_once_where_its_copies_take_it_from(tmp_path: Path) -> None:
    path = str(tmp_path / "p.py")
    failed = TraceFailure("uncompiled", "the compiler dies of SIGABRT")
    ((_, (one,)),) = near(Program({path: RETILED}), failed)
    assert (RETILED[: one.start] + one.new + RETILED[one.end :]).splitlines()[3] == (
        "    view = reader.retile(fragment)"
    )
    failed = TraceFailure("raised", "other sizes", Frame(path, 7))  # what another copy moves is not meant
    assert [title for title, _ in near(Program({path: RETILED}), failed) if "argument" in title] == []


def tried(path: Path, after: dict[str, Trace], before: Trace) -> Repaired:
    """A repair whose traces are those of the texts that hold a word; of others the first one's."""
    path.write_text(COPIES)

    def retrace(script: str, cwd: str | None, **_: bool) -> Trace:
        text = Path(script).read_text()
        return next((made for word, made in after.items() if word in text), before)

    return repair(str(path), before, retrace)


def test_the_edit_that_ends_the_finding_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    found = tried(path, {"copy_a = cute.make_tiled_copy_A": trace()}, trace(finding(path), followed=3))
    (one,) = found.repairs
    assert one.title == "make_tiled_copy_A for make_tiled_copy_B" and one.places == (Frame(str(path), 1),)
    assert found.after[str(path)].startswith("copy_a = cute.make_tiled_copy_A(atom, mma)\n")
    assert found.sketches == []


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (trace(followed=3), "fewer products are followed"),
        (trace(unchecked=("elements of 1 products: unknown",)), "fewer products are followed"),
        (Trace(failures=(TraceFailure("", "it fails"),)), "fewer products are followed"),
    ],
)
def test_a_finding_that_is_no_longer_looked_for_is_not_repaired(
    tmp_path: Path, after: Trace, why: str
) -> None:
    path = tmp_path / "p.py"
    found = tried(path, {"copy_a = cute.make_tiled_copy_A": after}, trace(finding(path)))
    (one,) = found.sketches
    assert found.repairs == [] and found.after == found.before
    assert why in one.reason and one.where == Frame(str(path), 1)


def test_another_finding_is_no_repair(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    other = trace(finding(path, "LC603", ""))
    found = tried(path, {"copy_a = cute.make_tiled_copy_A": other}, trace(finding(path)))
    assert found.repairs == [] and "LC603 is found instead" in found.sketches[0].reason


@pytest.mark.sweep
def test_a_program_is_repaired_and_written(tmp_path: Path) -> None:
    """B's copy for A: the edited program is traced again, and its products are followed."""
    path = tmp_path / "product.py"
    text = (Path(__file__).parents[1] / "operands" / "one_product.py").read_text()
    path.write_text(text)
    command = [sys.executable, "-m", "layoutcheck", "trace", "--no-launch", "--arch", "sm_90a", "--fix"]
    run = subprocess.run(
        [*command, str(path)], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert "make_tiled_copy_A for make_tiled_copy_B" in run.stdout, run.stdout + run.stderr
    right = text.replace("copy_a = cute.make_tiled_copy_B", "copy_a = cute.make_tiled_copy_A")
    assert path.read_text() == right != text


def test_what_no_edit_repairs_is_said_once(tmp_path: Path) -> None:
    """A race stands in two kernels; notes, and operands that have edits, are told elsewhere."""
    script = tmp_path / "kernel.py"
    script.write_text("a = 1\nb = 2\n")

    def told(code: str, severity: str, lines: tuple[int, ...]) -> KernelFinding:
        places = tuple(KernelPlace("reads", Frame(str(script), line, 1)) for line in lines)
        return KernelFinding(code, severity, f"{code} at {lines}", "", places)

    race, note = told("LC503", "wrong", (2, 1)), told("LC521", "note", (1,))
    far, operand = told("LC503", "wrong", (2, 2)), told("LC601", "wrong", (1,))
    orders = OrderReport("k", "sm_90a", (race, note)), OrderReport("l", "sm_90a", (race, far))
    trace = Trace(orders=orders, operands=(OperandReport("k", "sm_90a", (operand,)),))
    assert unrepaired(trace) == [race, far]
    found = repair(str(script), trace, lambda path, cwd, **_: trace, by=None)
    reasons = [one.reason for one in found.sketches if "no edit repairs" in one.reason]
    assert reasons == [f"LC503: {one.title}; no edit repairs that" for one in (race, far)]
