"""`trace --fix`: broken programs, the edit that repairs each, and files that nobody may write."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.cli import run
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.gpu.outcome import Confirmation
from layoutcheck.patching.conflicts import FEWER
from layoutcheck.patching.overlay import overlaid, project_of, tracked
from layoutcheck.patching.repair import _stays, repair
from layoutcheck.patching.repaired import Repair, Repaired, Sketch
from layoutcheck.patching.search import Confirm, Proven, told
from layoutcheck.patching.state import Edited, State
from layoutcheck.patching.ways import moves_global, turned_over, ways
from layoutcheck.reports.repaired import render
from layoutcheck.reports.style import Style
from layoutcheck.sources.traced import (
    Distinct,
    Frame,
    KernelFinding,
    OrderReport,
    Trace,
    TracedCopy,
    TraceFailure,
)
from layoutcheck.tracing import Script, repaired, traced
from tests.on_gpu import ON_GPU
from tests.patching.broken import HEAD, PROGRAMS, RIGHT, staged
from tests.patching.simulated import DESTINATION, SOURCE, block, compiled, wrong

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")


def fixed(folder: Path, text: str) -> Repaired:
    script = folder / "kernel.py"
    script.write_text(text)
    return repaired(Script(str(script), launch=False))


def changed_lines(found: Repaired) -> list[str]:
    return [line[1:].strip() for line in found.diff().splitlines() if line[:1] == "+" and line[:3] != "+++"]


def test_a_repair_that_a_later_one_overwrites_is_told_no_more() -> None:
    """A member of a struct was made for a pitch that no vector is aligned at: padded, the tile leaves it."""
    texts = [{"k.py": f"a = f(1)\nb = make((32, 64), stride=({pitch}, 1))\n"} for pitch in (68, 72, 64)]
    empty = State(Trace())
    found = Repaired(texts[0], texts[0])

    def stays(line: int, copy: int, before: dict[str, str], after: dict[str, str]) -> None:
        at = Frame("k.py", line)
        made = Repair(at, f"{line} for {copy}", "legal", (Frame("k.py", copy),), (at,))
        _stays(found, Proven(Edited(before, empty, after, empty), made))

    stays(2, 7, texts[0], texts[1])
    other = {"k.py": texts[1]["k.py"].replace("f(1)", "f(2)")}
    stays(1, 8, texts[1], other)
    assert [one.title for one in found.repairs] == ["2 for 7", "1 for 8"]
    stays(2, 9, other, {"k.py": other["k.py"].replace("72", "64")})
    assert [one.title for one in found.repairs] == ["1 for 8", "2 for 9"]
    assert [frame.line for frame in found.repairs[1].repaired] == [7, 9]
    assert found.after["k.py"] == texts[2]["k.py"].replace("f(1)", "f(2)")


def test_a_repair_that_only_took_something_away_is_told_beside_a_later_one() -> None:
    given, without = {"k.py": "a = f(1, 2)\nb = g(3)\n"}, {"k.py": "a = f(1)\nb = g(3)\n"}
    found, empty = Repaired(given, given), State(Trace())
    for line, before, after in ((1, given, without), (2, without, {"k.py": "a = f(1)\nb = g(4)\n"})):
        at = Frame("k.py", line)
        _stays(
            found,
            Proven(Edited(before, empty, after, empty), Repair(at, f"line {line}", "legal", (at,), (at,))),
        )
    assert [one.title for one in found.repairs] == ["line 1", "line 2"]


def test_a_place_that_was_eased_still_has_its_conflicts() -> None:
    """A line is not said to be left as it is beside the edit that made it faster."""
    eased, other = Frame("k.py", 29), Frame("k.py", 31)
    made = Repair(eased, "swizzle: rows padded by 8 elements", FEWER, (eased,), (eased,))
    slow = [Sketch(eased, "no more"), Sketch(other, "no more")]
    said = render(Repaired({}, {}, [made], slow=slow), [], Style())
    assert "partly fixed: k.py:29 still has bank conflicts: no more\n" in said
    assert "left as it is: k.py:31 has bank conflicts: no more\n" in said


def test_one_cause_is_one_repair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pitch that no vector is aligned at spoils the copy into the tile and the one out of it."""
    monkeypatch.chdir(tmp_path)
    one_text = staged(16, 128, 64, "odd pitch")
    found = fixed(tmp_path, one_text)
    [one] = found.repairs
    assert found.sketches == []
    assert len(one.repaired) == 2 and one.verdict == "legal"
    assert changed_lines(found) == ["layout = cute.make_layout((128, 64), stride=(72, 1))"]
    said = render(found, [], Style())
    cause = next(n for n, text in enumerate(one_text.split("\n"), 1) if "layout = cute" in text)
    assert said.index(f"fixed: kernel.py:{cause}: ") < said.index("copies now legal: kernel.py:")
    assert "confirmed by: model, compiler (the edited" in said and "--- a/kernel.py" in said


MARKED = (
    HEAD
    + ON_GPU
    + """
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def kernel(m: cute.Tensor):
    tiled = cute.make_tiled_copy_tv(
        cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), m.element_type, num_bits_per_copy=128),
        cute.make_layout((4, 8), stride=(8, 1)),
        cute.make_layout((1, 8)),
    )
    own, tile = tiled.get_slice(cute.arch.thread_idx()[0]), cute.local_tile(m, (4, 64), (ROW, 0))
    part = own.partition_S(tile)
    held = cute.make_fragment_like(part)
    cute.copy(tiled, part, held)
    cute.copy(tiled, held, part)

@cute.jit
def host(m: cute.Tensor):
    kernel(m).launch(grid=(cute.ceil_div(m.shape[0], 4), 1, 1), block=(32, 1, 1))

host(from_dlpack(on_gpu(np.zeros((ROWS, 128), np.float16))).mark_layout_dynamic())
"""
)


def test_the_promise_of_a_dynamic_tensor_is_made_at_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Narrower copies would be legal, too, at eight times the instructions. Then its last tile is guarded."""
    monkeypatch.chdir(tmp_path)
    text = MARKED.replace("ROWS", "42").replace("ROW", "cute.arch.block_idx()[0]")
    found = fixed(tmp_path, text)
    marked = "mark_layout_dynamic().mark_compact_shape_dynamic(mode=1, divisibility=8)"
    tensor = "from_dlpack(on_gpu(np.zeros((42, 128), np.float16)), assumed_align=16)"
    assert f"host({tensor}.{marked})" in changed_lines(found)
    assert [one.title.split(":")[0] for one in found.repairs] == ["promise-alignment", "guard-tail"]
    assert "; then guard-tail: " in found.repairs[0].title and not found.sketches
    copies = [n for n, line in enumerate(text.split("\n"), 1) if "cute.copy(" in line]
    assert [[place.line for place in one.repaired] for one in found.repairs] == [copies[:1], copies[1:]]
    assert [line for line in changed_lines(found) if line.startswith("cute.copy(")] == [
        "cute.copy(tiled, part, held, pred=pred)",
        "cute.copy(tiled, held, part, pred=pred)",
    ]
    assert all(cycles > 0 for one in found.repairs for cycles in one.cycles)


def test_edits_share_a_process_until_one_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    def trace(script: Script) -> Trace:
        used.append(script.lowering)
        if len(used) == 2:
            script.lowering.problem = "the CuTe DSL's process ended unexpectedly"
        return Trace(())

    def edits(path: str, found: Trace, retrace: Any, *_: Any) -> Any:
        return [retrace(path, None) for _ in range(3)]

    monkeypatch.setattr("layoutcheck.tracing.run_traced", trace)
    monkeypatch.setattr("layoutcheck.tracing.repair", edits)
    fixed(tmp_path, "")
    first, second, third, fourth = used
    assert first is second and third is fourth and second is not third and not third.problem


def test_the_block_of_the_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = fixed(tmp_path, staged(32, 64, 32, "many threads"))
    assert len(found.repairs) == 1
    [line] = changed_lines(found)
    assert line.endswith("block=(128, 1, 1))")
    before = (tmp_path / "kernel.py").read_text()
    assert found.write() == [str(tmp_path / "kernel.py")]
    assert (tmp_path / "kernel.py").read_text() == before.replace("block=(256, 1, 1)", "block=(128, 1, 1)")


SHIFTED = (
    HEAD
    + """
@cute.kernel
def kernel(m: cute.Tensor):
    src = cute.make_tensor(m.iterator + 1, cute.make_layout((4, 8), stride=(1, 64)))
    held = cute.make_rmem_tensor(cute.make_layout((4, 8)), cutlass.Float32)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    cute.copy(atom, src, held)


@cute.jit
def host(m: cute.Tensor):
    kernel(m).launch(grid=(1, 1, 1), block=(32, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (64, 64), stride=(64, 1), assumed_align=16))
"""
)


@pytest.mark.parametrize("by_host", [False, True])
def test_no_promise_of_an_address_that_is_moved_on(
    by_host: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D5: the tensor is aligned, and the view begins one element later, by the kernel or the host."""
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "kernel.py"
    moved = "kernel(cute.make_tensor(m.iterator + 1, m.layout)).launch"
    text = SHIFTED.replace("m.iterator + 1", "m.iterator").replace("kernel(m).launch", moved)
    script.write_text(text if by_host else SHIFTED)
    [(one, report)] = traced(Script(str(script), launch=False)).reports
    assert one.first.shifted == ("src",) and report is not None and report.verdict == "rejected"
    assert "promise-alignment" not in {fix.strategy for fix in report.fixes}
    assert report.fixes[0].strategy == "narrow-copy"


@pytest.mark.sweep
def test_of_all_programs_nearly_all_are_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    left = []
    for name, text in PROGRAMS.items():
        found = fixed(tmp_path, text)
        if found.sketches or not found.repairs:
            left.append(name)
        else:  # what is shown is right
            assert wrong(found.after[str(tmp_path / "kernel.py")], RIGHT[name]) == "", name
    assert len(left) <= len(PROGRAMS) // 20, left


def test_the_simulation_of_a_kernel_sees_where_bytes_go() -> None:
    """The judge of repaired programs: only the working one moves every byte to its place."""
    right = staged(16, 16, 64, "none")
    moved = block(compiled(right))
    assert {to - DESTINATION: at - SOURCE for to, at in moved.written.items()} == {n: n for n in range(2048)}
    assert wrong(staged(16, 16, 64, "overlapping rows"), right).startswith("two threads write byte")
    assert wrong(staged(16, 16, 64, "few threads"), right) == "1024 bytes of memory differ"


# ---- what counts as better, with traces made up ----

LINES = """src = allocator.allocate_tensor(kind, layout, byte_alignment=8)
cute.copy(atom, src, dst)
cute.copy(other, one, two)
"""


def seen(line: int, path: Path, align: int) -> TracedCopy:
    """ldmatrix of rows at that alignment, at a line."""
    src = f'!cute.memref<f16, smem, align<{align}>, "((8,1),2):((1,0),64)">'
    copy = lc.check(src, '!cute.memref<f16, rmem, align<32>, "((8,1),2):((1,0),8)">', "ldmatrix.x4").copy
    refused = None if align >= 16 else "src ptr alignment"
    return TracedCopy(copy, "", Frame(str(path), line), (), "kernel", "sm_90a", refused=refused)


def columns(line: int, path: Path, stride: str) -> TracedCopy:
    """A 128-bit copy along mode 0 of a shared tile, at a line."""
    src = f'!cute.memref<f16, smem, align<16>, "(64,64):{stride}">'
    copy = lc.check(src, '!cute.memref<f16, rmem, align<16>, "(64,64):(1,64)">', "universal", bits=128).copy
    refused = "src ptr alignment" if stride == "(72,1)" else None
    return TracedCopy(copy, "", Frame(str(path), line), (), "kernel", "sm_90a", refused=refused)


def tried(
    tmp_path: Path, after: Callable[[Path], Trace], before: tuple[OrderReport, ...] = (),
    confirm: Confirm | None = None,
) -> Repaired:  # fmt: skip
    """The repair of a copy at line 2 that needs 16 bytes; every edited program traces as `after` says."""
    path = tmp_path / "kernel.py"
    path.write_text(LINES)
    given = Trace((seen(2, path, 8), seen(3, path, 16)), orders=before)
    return repair(str(path), given, lambda script, cwd, **_: after(path), confirm=confirm)


def test_an_edit_that_repairs_and_harms_none_stays(tmp_path: Path) -> None:
    found = tried(tmp_path, lambda path: Trace((seen(2, path, 16), seen(3, path, 16))))
    assert [repair.repaired[0].line for repair in found.repairs] == [2]
    assert found.after[str(tmp_path / "kernel.py")] == LINES.replace("=8", "=16")


@pytest.mark.parametrize(
    "after",
    [
        lambda path: Trace((seen(2, path, 16), seen(3, path, 8))),  # another copy is worse
        lambda path: Trace((seen(2, path, 8), seen(3, path, 16))),  # it did not help
        lambda path: Trace((seen(3, path, 16),)),  # the copy is gone
        lambda path: Trace((seen(2, path, 16), seen(3, path, 16)), (), (TraceFailure("raised", "x"),)),
    ],
)
def test_an_edit_that_is_not_better_is_a_sketch(tmp_path: Path, after: Callable[[Path], Trace]) -> None:
    found = tried(tmp_path, after)
    assert found.repairs == [] and found.diff() == ""
    [left] = found.sketches
    assert left.where.line == 2 and left.fix is not None and left.fix.strategy == "promise-alignment"
    assert (tmp_path / "kernel.py").read_text() == LINES


RACE = KernelFinding("LC501", "wrong", "a race", "two threads", ())
IN_ORDER, RACES = OrderReport("kernel", "sm_90a"), OrderReport("kernel", "sm_90a", (RACE,))
UNSEEN = OrderReport("kernel", "sm_90a", problem="it does not compile")


@pytest.mark.parametrize(
    ("before", "after", "repaired_lines"),
    [(IN_ORDER, IN_ORDER, [2]), (IN_ORDER, RACES, []), (RACES, RACES, [2]), (UNSEEN, RACES, [2])],
)
def test_an_edit_that_introduces_a_race_is_refused(
    tmp_path: Path, before: OrderReport, after: OrderReport, repaired_lines: list[int]
) -> None:
    found = tried(
        tmp_path, lambda path: Trace((seen(2, path, 16), seen(3, path, 16)), orders=(after,)), (before,)
    )
    assert [repair.repaired[0].line for repair in found.repairs] == repaired_lines
    told = [repair for repair in found.repairs if "LC501" in repair.title]
    assert len(told) == (before is UNSEEN)  # whether it is new is not known


def ran(**changed: object) -> Confirm:
    """A machine that runs every copy alike."""
    given = {"fault": "", "as_asked": True, **changed}
    return lambda named: [Confirmation(name, "legal", (), "accepted", "gpu", **given) for name, _ in named]  # type: ignore[arg-type]


def unrun(named: Sequence[tuple[str, Copy]]) -> list[Confirmation]:
    return [Confirmation(name, "legal", (), "accepted", "nothing", "no GPU of sm_90a") for name, _ in named]


@pytest.mark.parametrize(
    ("confirm", "by", "why"),
    [
        (None, ("model", "compiler"), ""),
        (ran(), ("model", "compiler", "gpu"), ""),
        (unrun, ("model", "compiler"), "not run: kernel.py:2: no GPU of sm_90a"),
        (ran(as_asked=False), None, "kernel.py:2 moved wrong bits"),
        (ran(fault="misaligned address"), None, "kernel.py:2 moved wrong bits: misaligned address"),
    ],
)
def test_the_bits_of_a_repaired_copy_decide(
    tmp_path: Path, confirm: Confirm | None, by: tuple[str, ...] | None, why: str
) -> None:
    found = tried(tmp_path, lambda path: Trace((seen(2, path, 16), seen(3, path, 16))), confirm=confirm)
    assert [repair.confirmed_by for repair in found.repairs] == ([] if by is None else [by])
    assert why in " ".join(render(found, [], Style()).split())
    assert (found.diff() == "") == (by is None)


SHARED = """def tile(layout, align=8):
    return allocator.allocate_tensor(kind, layout, byte_alignment=align)
src = tile(layout)
cute.copy(atom, src, dst)
cute.copy(other, one, two)
"""


def test_of_edits_that_cost_something_the_cheapest_stays(tmp_path: Path) -> None:
    """The first edit makes another copy of the program eight times as long, the second does not."""
    path = tmp_path / "kernel.py"
    path.write_text(SHARED)

    def traced_with(text: str) -> Trace:
        repaired_copy = seen(4, path, 16 if "16" in text else 8)
        layout = "((8,1),8):((1,0),8)" if "align=16" in text.splitlines()[2] else "((8,1),1):((1,0),8)"
        held = f'!cute.memref<f16, rmem, align<32>, "{layout}">'
        reader = lc.check(held.replace("rmem", "smem"), held, "universal", bits=128).copy
        return Trace((repaired_copy, TracedCopy(reader, "", Frame(str(path), 5), (), "kernel", "sm_90a")))

    retraced: list[str] = []

    def retrace(script: str, cwd: str | None, **_: bool) -> Trace:
        retraced.append(Path(script).read_text())
        return traced_with(retraced[-1])

    found = repair(str(path), traced_with(SHARED), retrace)
    assert "align=16" in retraced[0].splitlines()[2] and len(retraced) == 2
    assert found.after[str(path)] == SHARED.replace("byte_alignment=align", "byte_alignment=16")
    assert found.repairs[0].slowed == ()


def test_a_tile_turned_over_keeps_what_is_between_its_rows() -> None:
    tile = lc.check(
        '!cute.memref<f16, smem, align<16>, "(64,32):(1,72)">',
        '!cute.memref<f16, rmem, align<16>, "(64,32):(1,64)">', "universal", bits=16,
    ).copy.src  # fmt: skip
    over = turned_over(tile)
    assert over is not None and str(over.layout) == "(64,32):(40,1)"
    assert turned_over(over) == tile
    assert turned_over(replace(tile, space="gmem")) is None
    assert turned_over(tile.with_layout(lc.parse_layout("(64,32):(2,128)"))) is None
    assert turned_over(tile.with_layout(lc.parse_layout("((8,8),32):((1,8),72)"))) is None


COLUMNS = """layout = cute.make_layout((64, 64), stride=(72, 1))
tile = allocator.allocate_tensor(kind, layout, byte_alignment=16)
cute.copy(atom, tile, a)
cute.copy(atom, tile, b)
"""


@pytest.mark.parametrize("both", [True, False])
def test_one_edit_of_the_tile_that_all_failing_copies_share_comes_first(tmp_path: Path, both: bool) -> None:
    """It stays where every one of them works with it; else each is repaired by itself."""
    path = tmp_path / "kernel.py"
    path.write_text(COLUMNS)

    def traced_with(text: str) -> Trace:
        first, second = "(72,1)" in text.replace(" ", ""), "(72,1)" in text.replace(" ", "") or not both
        copies = (
            columns(3, path, "(72,1)" if first else "(1,72)"),
            columns(4, path, "(72,1)" if second else "(1,72)"),
        )
        return Trace(copies)

    retraced: list[str] = []

    def retrace(script: str, cwd: str | None, **_: bool) -> Trace:
        retraced.append(Path(script).read_text())
        return traced_with(retraced[-1])

    found = repair(str(path), traced_with(COLUMNS), retrace)
    turned = COLUMNS.replace("(72, 1)", "(1, 72)")
    assert retraced[0] == turned
    if both:
        assert found.after[str(path)] == turned and len(retraced) == 1 and not found.sketches
        assert [where.line for where in found.repairs[0].repaired] == [3, 4]
    else:
        assert found.after[str(path)] != turned or not found.repairs


def test_an_edit_that_only_makes_others_slow_stays_if_no_other_is_proven(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(LINES)
    held = '!cute.memref<f16, rmem, align<32>, "((8,1),1):((1,0),8)">'

    def traced_with(align: int) -> Trace:
        copies = (lc.check(held.replace("rmem", "smem"), held, "universal", bits=bits) for bits in (16, 128))
        verdicts = {report.verdict: report.copy for report in copies}
        reader = verdicts["slow" if align == 16 else "legal"]
        other = TracedCopy(reader, "", Frame(str(path), 3), (), "kernel", "sm_90a")
        return Trace((seen(2, path, align), other))

    found = repair(str(path), traced_with(8), lambda script, cwd, **_: traced_with(16))
    assert found.after[str(path)] == LINES.replace("=8", "=16") and not found.sketches
    [(where, before, after)] = found.repairs[0].slowed
    assert where.line == 3 and after > before


def test_a_global_tensor_is_laid_out_otherwise_only_by_name(tmp_path: Path) -> None:
    """What its memory holds is the caller's: another pitch reads other elements."""
    given = lc.check(
        '!cute.memref<f16, gmem, align<16>, "((8,1),4):((1,0),12)">',
        '!cute.memref<f16, smem, align<16>, "((8,1),4):((1,0),8)">', "cp.async", bits=128,
    )  # fmt: skip
    pads = next(fix for fix in given.fixes if fix.strategy == "pad-pitch")
    assert moves_global(given.copy, pads)
    assert not any(moves_global(given.copy, fix) for fix in given.fixes if fix.strategy == "narrow-copy")
    made = "src = cute.make_tensor(p, cute.make_layout(((8, 1), 4), stride=((1, 0), 12)))"
    texts = {"k.py": f"{made}\ncute.copy(a, src, b)\n"}
    one = Distinct(TracedCopy(given.copy, "", Frame("k.py", 2), (), "kernel", "sm_90a"), 1, ("kernel",))
    titles = {by: {way.title.split(":")[0] for way in ways(texts, one, given, by)}
              for by in (None, "pad-pitch")}  # fmt: skip
    assert "pad-pitch" not in titles[None] and titles["pad-pitch"] == {"pad-pitch"}


MAPPED = (
    HEAD
    + """
@cute.kernel
def kernel(atom: cute.CopyAtom, whole: cute.Tensor):
    allocator = cutlass.memory.SmemAllocator()
    bar = allocator.allocate_array(cutlass.Int64, 1)
    own = cute.make_layout((64, 64), stride=(64, 1))
    tile = allocator.allocate_tensor(cutlass.BFloat16, own, 1024, swizzle=cute.make_swizzle(3, 4, 3))
    part = cute.local_tile(whole, (64, 64), (0, 0))
    into, out = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), cute.group_modes(part, 0, 2)
    )
    cute.copy(atom, out, into, tma_bar_ptr=bar)


@cute.jit
def host(given: cute.Tensor):
    layout = cute.make_layout((64, 64), stride=(64, 1))
    shared = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, layout)
    load = cpasync.CopyBulkTensorTileG2SOp()
    atom, whole = cpasync.make_tiled_tma_atom(load, given, shared, (64, 64))
    kernel(atom, whole).launch(grid=(1, 1, 1), block=(32, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.BFloat16, (256, 256), stride=(256, 1), assumed_align=16))
"""
)
OTHER = [
    ("own = cute.make_layout((64, 64), stride=(64, 1))", "own = cute.make_layout((64, 64), stride=(1, 64))"),
    ("shared = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, layout)", "shared = layout"),
]


@pytest.mark.parametrize(
    ("bugs", "lines"),
    [
        pytest.param([("own, 1024,", "own, 16,")], ["own, 1024, swizzle"], marks=pytest.mark.sweep),
        ([("stride=(256, 1)", "stride=(1, 256)")], ["stride=(1, 64)", "stride=(1, 64)"]),
        pytest.param(
            [("make_swizzle(3, 4, 3)", "make_swizzle(3, 4, 4)")],
            ["make_swizzle(3, 4, 3)"] * 2,
            marks=pytest.mark.sweep,
        ),
        pytest.param(OTHER, ["stride=(64, 1)", "swizzle=None"], marks=pytest.mark.sweep),
    ],
    ids=["base", "major", "swizzle", "another layout than the map's"],
)
def test_a_tma_tile_is_laid_out_as_its_map_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bugs: list[tuple[str, str]], lines: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = MAPPED
    for right, broken in bugs:
        assert right in text
        text = text.replace(right, broken)
    found = fixed(tmp_path, text)
    assert len(found.repairs) == 1
    assert [one.reason[:5] for one in found.sketches] == ["LC506"]  # its barrier is never initialised
    made = changed_lines(found)
    assert len(made) == len(lines) and all(part in line for part, line in zip(lines, made, strict=True)), made


# ---- files ----


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--fix", "nowhere.py"], "no script 'nowhere.py'"),
        (["--diff", "nowhere.py"], "without --fix: --diff is not used"),
        (["--by", "pad-pitch", "nowhere.py"], "without --fix: --by is not used"),
        (["--confirm", "nowhere.py"], "without --fix: --confirm is not used"),
        (["--fix", "--by", "magic", __file__], "no fix is called 'magic'"),
        (["--fix", "--format", "json", "nowhere.py"], "--fix has no format 'json'; expected text"),
        (["--fix", "-m", "nowhere"], "--fix needs a script: -m is not used"),
        (["--fix", "--strict", "nowhere.py"], "--fix has a report of its own: --strict is not used"),
    ],
)
def test_options_are_used_or_refused(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["trace", *arguments]) == 2
    captured = capsys.readouterr()
    assert says in captured.err and captured.out == ""


def pending(path: Path, after: str) -> Repaired:
    before = path.read_text()
    return Repaired({str(path): before}, {str(path): after})


def test_a_file_changed_since_the_trace_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    found = pending(path, "x = 2\n")
    path.write_text("x = 3\n")
    with pytest.raises(InputError, match="changed since the trace: nothing was written"):
        found.write()
    assert path.read_text() == "x = 3\n"


def test_all_files_or_none(tmp_path: Path) -> None:
    first, second = tmp_path / "a.py", tmp_path / "b.py"
    first.write_text("x = 1\n")
    second.write_text("y = 1\n")
    found = Repaired(
        {str(first): "x = 1\n", str(second): "y = 0\n"}, {str(first): "x = 2\n", str(second): "y = 2\n"}
    )
    with pytest.raises(InputError, match=r"b\.py"):
        found.write()
    assert first.read_text() == "x = 1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py"]


def test_written_files_keep_their_mode_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\r\ny = 2\r\n")
    path.chmod(0o755)
    found = Repaired({str(path): "x = 1\r\ny = 2\r\n"}, {str(path): "x = 9\r\ny = 2\r\n"})
    found.write()
    assert path.read_bytes() == b"x = 9\r\ny = 2\r\n"
    assert path.stat().st_mode & 0o777 == 0o755


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    link = tmp_path / "b.py"
    link.symlink_to("a.py")
    pending(link, "x = 2\n").write()
    assert link.is_symlink() and (tmp_path / "a.py").read_text() == "x = 2\n"


def test_what_may_not_be_edited_is_named(tmp_path: Path) -> None:
    inside = tmp_path / "project"
    library = inside / "lib" / "site-packages"
    library.mkdir(parents=True)
    for path in (inside / "a.py", library / "b.py", tmp_path / "c.py"):
        path.write_text("x = 1\n")
    assert tracked(inside, str(inside / "a.py")) == ""
    assert "installed library" in tracked(inside, str(library / "b.py"))
    assert "outside of the project" in tracked(inside, str(tmp_path / "c.py"))
    assert "generated" in tracked(inside, "<string>")


def test_a_project_is_the_repository_around_the_script(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    deep = tmp_path / "kernels" / "gemm"
    deep.mkdir(parents=True)
    assert project_of(deep / "k.py") == tmp_path
    assert project_of(Path("/nowhere/at/all/k.py")) == Path("/nowhere/at/all")


def test_an_overlay_is_the_project_with_other_texts(tmp_path: Path) -> None:
    project, there = tmp_path / "project", tmp_path / "there"
    (project / "pkg").mkdir(parents=True)
    for name in ("run.py", "data.txt", "pkg/a.py", "pkg/b.py"):
        (project / name).write_text(name)
    overlaid(project, {str(project / "pkg/a.py"): "other", str(project / "run.py"): "run.py"}, there)
    assert (there / "pkg/a.py").read_text() == "other"
    assert (project / "pkg/a.py").read_text() == "pkg/a.py"
    assert (there / "pkg/b.py").read_text() == "pkg/b.py" and (there / "pkg/b.py").is_symlink()
    assert not (there / "run.py").is_symlink()  # Python looks for modules where the script really is


def test_a_script_that_is_no_text(tmp_path: Path) -> None:
    script = tmp_path / "k.py"
    script.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot read"):
        repair(str(script), Trace(), lambda path, cwd, **_: Trace())


def test_nothing_to_repair(tmp_path: Path) -> None:
    script = tmp_path / "k.py"
    script.write_text(HEAD)
    found = repair(str(script), Trace(), lambda path, cwd, **_: Trace())
    assert found.diff() == "" and found.write() == []
    assert "nothing to fix" in render(found, [], Style())


def test_read_only_and_ignored_files_are_left_alone(tmp_path: Path) -> None:
    """Also by root, whom the system lets write them."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("made.py\n")
    for name in ("made.py", "mine.py"):
        (tmp_path / name).write_text("x = 1\n")
    assert "is ignored by git: it is generated" in tracked(tmp_path, str(tmp_path / "made.py"))
    found = pending(tmp_path / "mine.py", "x = 2\n")
    (tmp_path / "mine.py").chmod(0o444)
    assert "is read-only" in tracked(tmp_path, str(tmp_path / "mine.py"))
    with pytest.raises(InputError, match="nothing was written"):
        found.write()
    assert (tmp_path / "mine.py").read_text() == "x = 1\n"


def test_a_file_written_while_the_program_ran_is_left_alone(tmp_path: Path) -> None:
    """What was traced is not what is there: an edit would be proven of another text."""
    path = tmp_path / "kernel.py"
    path.write_text(LINES)
    began = path.stat().st_mtime - 1
    found = repair(str(path), Trace((seen(2, path, 8),)), lambda script, cwd, **_: Trace(), since=began)
    [left] = found.sketches
    assert "was written while the program ran" in left.reason and found.diff() == ""
    assert tracked(tmp_path, str(path), began + 2) == ""


def test_a_copy_in_a_library_is_a_sketch(tmp_path: Path) -> None:
    """The script's own copy is repaired, and the library's is named with the reason."""
    (tmp_path / "project").mkdir()
    library, script = tmp_path / "library.py", tmp_path / "project" / "kernel.py"
    for path in (library, script):
        path.write_text(LINES)
    given = Trace((seen(2, library, 8), seen(2, script, 8)))
    after = Trace((seen(2, library, 8), seen(2, script, 16)))
    found = repair(str(script), given, lambda path, cwd, **_: after)
    [sketch], [made] = found.sketches, found.repairs
    assert sketch.where.file == str(library) and "outside of the project" in sketch.reason
    assert made.where.file == str(script) and list(found.after) == [str(script)]


def test_a_copy_in_a_library_is_repaired_where_the_program_calls_it(tmp_path: Path) -> None:
    """The library is read, and never edited: the allocation is the program's."""
    (tmp_path / "project").mkdir()
    library, script = tmp_path / "library.py", tmp_path / "project" / "kernel.py"
    library.write_text("def move(atom, src, dst, align=8):\n    cute.copy(atom, src, dst)\n")
    text = "src = allocator.allocate_tensor(kind, layout, byte_alignment=8)\nlibrary.move(atom, src, dst)\n"
    script.write_text(text)
    at = Frame(str(script), 2)
    before, after = (Trace((replace(seen(2, library, align), stack=(at,)),)) for align in (8, 16))
    found = repair(str(script), before, lambda path, cwd, **_: after)
    assert found.sketches == [] and list(found.after) == [str(script)]
    assert found.after[str(script)] == text.replace("=8", "=16")
    assert found.write() == [str(script)] and library.read_text().startswith("def move")


def test_a_library_is_never_edited(tmp_path: Path) -> None:
    """Even where the edit would help."""
    (tmp_path / "project").mkdir()
    library, script = tmp_path / "library.py", tmp_path / "project" / "kernel.py"
    library.write_text(LINES)
    script.write_text("import library\n")
    after = Trace((seen(2, library, 16),))
    found = repair(str(script), Trace((seen(2, library, 8),)), lambda path, cwd, **_: after)
    assert found.repairs == [] and len(found.sketches) == 1 and found.diff() == ""


def test_a_reason_why_no_edit_stays_is_told_once() -> None:
    assert told([]) == ""
    assert told(["a", "a"]) == "its edit was not proven: a"
    assert told(["a", "b", "a"]) == "none of its 2 edits was proven: (1) a; (2) b"
    assert told([*"abcd"]) == "none of its 4 edits was proven: (1) a; (2) b; (3) c; ..."
