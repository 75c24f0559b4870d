"""Real kernels, traced, lowered and replayed: the right twins are silent, the broken ones are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from layoutcheck.cli import run as command
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from layoutcheck.reports.order import counts, render
from layoutcheck.reports.style import Style
from layoutcheck.sources.trace_lines import from_lines, to_lines
from layoutcheck.sources.traced import OrderReport, Trace
from tests.lowering import SharedLowering

pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="lines of calls need Python 3.11")

SCRIPT = Path(__file__).with_name("kernels.py")
LINES = SCRIPT.read_text().splitlines()

# What each variant is told: code, and words of the lines of its places, in their order.
EXPECTED = {
    "neighbours": {
        0: [],
        1: [("LC504", "data[thread] = (source", "data[(thread + 32)")],
        2: [("LC504", "data[thread] = (source", "data[(thread + 32)")],
    },
    "requests": {0: []},  # the second row of flags that made-up extents write is another tile
    "overlapped": {
        0: [],
        1: [("LC515", "# the first", "# the second", "first[i] + second[i]")],
        2: [],
    },
    "stages": {
        0: [],
        1: [("LC501", "data[(thread, None, ahead)]", "turn % 3)])", "cp_async_wait_group"),
            ("LC501", "there % 3", "turn % 3)])", "cp_async_wait_group")],
        2: [("LC501", "data[(thread, None, ahead)]", "turn % 3)])", "cp_async_wait_group"),
            ("LC501", "there % 3", "turn % 3)])", "cp_async_wait_group"),
            ("LC503", "turn % 3)])", "there % 3")],
        3: [("LC503", "turn % 3)])", "there % 3")],
        4: [("LC501", "data[(thread, None, ahead)]", "turn % 3)])", "cp_async_wait_group"),
            ("LC501", "there % 3", "turn % 3)])", "cp_async_wait_group"),
            ("LC501", "data[(thread, None, ahead)]", "there % 3", "cp_async_wait_group"),
            ("LC501", "there % 3", "there % 3", "cp_async_wait_group")],
    },
    "bulk": {
        0: [],
        1: [("LC501", "cute.copy", "data[thread * 7]")],
        2: [("LC501", "cute.copy", "data[thread * 7]", "mbarrier_wait")],
        3: [("LC507", "expect_tx", "mbarrier_wait")],
        4: [("LC503", "data[thread * 7]", "cute.copy")],
        5: [("LC510", "mbarrier_wait")],
        6: [("LC506", "mbarrier_init", "mbarrier_wait"), ("LC506", "mbarrier_wait")],
        7: [("LC511", "cute.copy")],
        8: [("LC512", "# again")],
    },
    "store": {
        0: [],
        1: [("LC505", "data[i] = turn", "CopyBulkS2GOp")],
        2: [("LC502", "CopyBulkS2GOp", "data[i] = turn")],
        3: [],
    },
    "groups": {
        0: [],
        1: [("LC509", "barrier_id=1", "barrier_id=1"), ("LC509", "barrier_id=1", "barrier_id=1")],
        2: [("LC510", "number_of_threads=96")],
    },
    "multiply": {
        0: [],
        1: [("LC505", "a[(i", "cute.gemm"), ("LC505", "b[(i", "cute.gemm")],
        2: [("LC504", "a[(i", "cute.gemm"), ("LC504", "b[(i", "cute.gemm")],
        3: [("LC502", "cute.gemm", "BFloat16(2.0)")],
        4: [],
        5: [],
    },
    "workspace": {
        0: [],
        1: [("LC505", "work[i] = thread", "cute.copy")],
        2: [("LC504", "work[i] = thread", "cute.copy")],
    },
    "peers": {
        0: [],
        1: [("LC513", "llvm.store"),
            ("LC504", "Int32(0)", "llvm.store"), ("LC504", "llvm.store", "Int32(0)")],
        2: [("LC504", "llvm.store", "data[thread])"), ("LC504", "data[thread])", "llvm.store"),
            ("LC513", "llvm.store")],
    },
    "told": {0: [], 1: []},
    "in_place": {0: [], 1: [("LC504", "# of the next", "# over its own")], 3: []},
    "turns": {
        0: [],
        1: [("LC510", "barrier_id=1 + tile", "barrier_id=5")],
    },
    "scheduled": {
        0: [],
        1: [("LC510", "# for a slot", "# for a tile")],
        2: [("LC510", "# for a tile")],
        3: [("LC510", "# for a slot", "# for a tile")],
        4: [("LC504", "# handed over", "# taken")],
    },
    "signals": {
        0: [],
        1: [("LC503", "data[thread]", "llvm.inline_asm"), ("LC501", "llvm.inline_asm", "data[thread]")],
        2: [("LC507", "expect_tx", "mbarrier_wait")],
        3: [("LC506", "llvm.inline_asm")],  # the peer may not have begun
    },
    "arrives": {
        0: [],
        1: [],
        2: [("LC510", "mbarrier_wait(bar, 0)")],
        3: [("LC510", "mbarrier_wait(bar, 0)")],
        4: [("LC501", "source[(thread, None)]", "data[4 *")],
    },
    "partial": {0: [], 2: [], 4: [], 5: [], 6: []},
    "parts": {0: [], 1: [], 2: [], 3: [], 4: []},
    "places": {
        0: [],
        1: [("LC504", "# to its place", "# to its place")],
        2: [("LC514", "# to its place", "# to its place")],
        3: [],
        4: [],
        5: [],
        6: [],
    },
    "settled": {0: [], 1: [("LC504", "# of all warps", "# a warp's")], 2: []},
    "handed": {
        0: [],
        1: [("LC504", "# filled", "# used"), ("LC504", "# used", "# filled")],
        2: [("LC504", "# filled", "# used")],
        3: [("LC504", "# seen", "# taken")],
    },
    "handover": {
        0: [],
        1: [("LC514", "(work + thread + block", "after * THREADS)")],
        2: [("LC514", "(work + thread + block", "after * THREADS)")],
        3: [],
        4: [],
    },
    "flags": {
        0: [],
        1: [("LC514", "(work + thread).store(Int32(1))", "(work + read).load()")],
        2: [("LC514", "(work + thread).store(Int32(2))", "(work + read).load()"),
            ("LC514", "(work + thread).store(Int32(1))", "(work + read).load()"),
            ("LC514", "(work + thread).store(Int32(2))", "(work + thread).store(Int32(1))")],
        3: [("LC514", "(work + thread).store(Int32(1))", "(work + read).load()")],
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def traced() -> Trace:
    with SharedLowering(copies=False, order=check_module) as lowering:
        return trace_script(str(SCRIPT), launch=False, arch="sm_90a", timeout_s=120, lowering=lowering)


@pytest.mark.parametrize(
    ("how", "read"), [*((how, "") for how in (0, 2, 4, 5, 6)), (1, "# of all"), (3, "# by lanes")]
)
def test_a_warp_whose_part_of_a_sum_is_left_out_is_a_note(traced: Trace, how: int, read: str) -> None:
    notes = [f for f in reports(traced, "partial")[how].findings if f.code == "LC535"]
    text = SCRIPT.read_text().splitlines()
    told = [[text[place.where.line - 1].rpartition("  # ")[2] for place in one.places] for one in notes]
    assert told == ([["of a warp", read[2:]]] if read else [])
    assert all("thread 64" in one.message.lower() and "of warp 2" in one.message for one in notes)
    assert all(one.message.endswith(" the numbers of 2 other warps.") for one in notes)
    assert [(one.evidence["read"], one.evidence["of"]) for one in notes] == [(2, 3)] * len(notes)


@pytest.mark.parametrize(
    ("how", "lines", "counts"),
    [
        (0, [], ()),
        (1, ["of a step", "of all steps"], (1, 6, " 1 other.")),
        (2, ["of a thread"], (0, 96, " and nothing reads what any thread stores there.")),
        (3, ["of a thread", "of all threads"], (64, 96, " 64 others.")),
        (4, [], ()),
    ],
)
def test_sums_that_nothing_reads_are_a_note(
    traced: Trace, how: int, lines: list[str], counts: tuple[int | str, ...]
) -> None:
    """A sum over a block by a tree, which needs what each step has stored."""
    notes = [f for f in reports(traced, "parts")[how].findings if f.code == "LC535"]
    told = [[LINES[place.where.line - 1].rpartition("  # ")[2] for place in one.places] for one in notes]
    assert told == ([lines] if lines else [])
    assert [(one.evidence["read"], one.evidence["of"]) for one in notes] == ([counts[:2]] if lines else [])
    assert all(one.message.endswith(str(counts[2])) for one in notes)


def reports(trace: Trace, name: str) -> list[OrderReport]:
    """The reports on the variants of a kernel, in their order: a kernel's name ends with the variant."""
    found = [order for order in trace.orders if f"run_{name}_" in order.kernel]
    return sorted(found, key=lambda order: int(order.kernel.rpartition("_")[2]))


@pytest.mark.parametrize(
    ("name", "variant"), [(name, variant) for name, every in EXPECTED.items() for variant in every]
)
def test_what_is_told(traced: Trace, name: str, variant: int) -> None:
    report = reports(traced, name)[variant]
    assert report.problem == "" and report.events > 0
    wrong = [finding for finding in report.findings if finding.severity == "wrong"]
    assert len(wrong) == len(EXPECTED[name][variant]), [finding.title for finding in wrong]
    for finding, (code, *words) in zip(wrong, EXPECTED[name][variant], strict=True):
        assert finding.code == code
        assert [Path(place.where.file).name for place in finding.places] == [SCRIPT.name] * len(words)
        for place, word in zip(finding.places, words, strict=True):
            assert word in LINES[place.where.line - 1], finding.title


@pytest.mark.parametrize(
    ("variant", "words"), [(0, []), (4, [["cute.gemm"]]), (5, [["cute.gemm", "sums[1]"]])]
)
def test_registers_of_wgmma_are_notes(traced: Trace, variant: int, words: list[list[str]]) -> None:
    notes = [f for f in reports(traced, "multiply")[variant].findings if f.code == "LC523"]
    assert {f.severity for f in notes} <= {"note"} and len(notes) == len(words), [f.title for f in notes]
    for finding, each in zip(notes, words, strict=True):
        assert len(finding.places) == len(each)
        assert all(w in LINES[p.where.line - 1] for w, p in zip(each, finding.places, strict=True))


def test_a_bulk_store_that_still_reads_at_the_end_is_a_note(traced: Trace) -> None:
    notes = [[f for f in each.findings if f.code == "LC521"] for each in reports(traced, "store")]
    assert [[f.severity for f in each] for each in notes] == [[], [], [], ["note"]]
    assert "CopyBulkS2GOp" in LINES[notes[3][0].places[0].where.line - 1]


def test_an_arrival_of_block_scope_at_another_block_is_a_note(traced: Trace) -> None:
    notes = [[f for f in each.findings if f.code == "LC527"] for each in reports(traced, "told")]
    assert [[f.severity for f in each] for each in notes] == [[], ["note"]]
    words = ("llvm.store", "data[thread]", "mbarrier_arrive(bar, rank ^ 1)")
    places = notes[1][0].places
    assert all(w in LINES[p.where.line - 1] for w, p in zip(words, places, strict=True))
    assert places[0].block != places[1].block and places[2].block == places[0].block
    assert not [f for name in ("peers", "handover") for each in reports(traced, name) for f in each.findings
                if f.code == "LC527"]  # fmt: skip


def test_words_name_the_missing_statement(traced: Trace) -> None:
    (finding,) = [f for f in reports(traced, "neighbours")[1].findings if f.severity == "wrong"]
    assert "Missing: a barrier that both execute" in finding.message
    first, second = finding.places
    assert first.thread // 32 != second.thread // 32
    waits = reports(traced, "stages")[1].findings[0]
    assert "cp_async_wait_group(2)" in waits.message and "Missing: cp_async_wait_group(1)" in waits.message
    bytes_ = reports(traced, "bulk")[3].findings[0]
    assert bytes_.evidence["bytes"] == 16


def test_a_barrier_is_not_missing_between_the_threads_of_one_statement(traced: Trace) -> None:
    """A place for each thread is: `# to its place` writes one place by several, the others have two lines."""
    races = [f for order in traced.orders for f in order.findings if f.code == "LC504"]
    alone = [f for f in races if "by several threads, in no order" in f.title]
    missing = {"a place for each thread, or a condition by which one thread does it"}
    assert alone and {f.evidence["missing"] for f in alone} == missing
    assert {LINES[f.places[0].where.line - 1].rpartition("# ")[2] for f in alone} == {"to its place"}
    assert all(" between " in f.evidence["missing"] for f in races if f not in alone)
    blocks = [f for f in reports(traced, "places")[2].findings if f.code == "LC514"]
    assert [f.title.partition(" writes ")[2] for f in blocks] == ["one place by several blocks, in no order"]
    missing = {"a place for each block, or a condition by which one block does it"}
    assert {f.evidence["missing"] for f in blocks} == missing
    apart = [f for how in (1, 2) for f in reports(traced, "handover")[how].findings if f.code == "LC514"]
    assert len(apart) == 2 and all("release" in f.evidence["missing"] for f in apart)


def test_what_orders_has_its_callers(traced: Trace) -> None:
    waits = [p for f in reports(traced, "bulk")[2].findings for p in f.places if "waits" in p.what]
    assert waits
    for place in waits:
        assert any("bulk(tile, target, how)" in LINES[frame.line - 1] for frame in place.stack)


def test_the_summary_says_what_was_not_checked(traced: Trace) -> None:
    lines = [line.strip() for line in counts(traced.orders, Style())]
    ordered = "release and acquire may order them; whether each wait counts the releases that it needs"
    said = f"not checked: global memory between blocks: {ordered}"
    assert " ".join(lines).count(said) == 1
    told = [order.unchecked for order in reports(traced, "handover")]
    assert [[s for s in each if "between blocks" in s] for each in told] == [
        [f"global memory between blocks: {ordered}"], [],
        ["global memory between blocks: atomics"], [],
        [f"global memory between blocks: {ordered}"],
    ]  # fmt: skip
    assert not any("between blocks" in s for s in reports(traced, "neighbours")[0].unchecked)  # one block
    assert not reports(traced, "in_place")[2].findings  # of two tensors
    assert [[s for s in order.unchecked if "a block" in s] for order in reports(traced, "in_place")] == [
        [], [], [], ["global memory between threads of a block: a fence may order them"],
    ]  # fmt: skip
    assert not any("scopes" in s for s in reports(traced, "neighbours")[0].unchecked)
    assert any(s.startswith("scopes: ") for s in reports(traced, "peers")[0].unchecked)  # of a cluster
    assert "of block 1 of the grid writes" in reports(traced, "handover")[1].findings[0].message


def test_a_loop_until_a_sum_is_small_is_followed_for_some_turns(traced: Trace) -> None:
    """Whatever the sum is taken for: the report says so."""
    right, *_ = reports(traced, "settled")
    assert [said for said in right.unchecked if "followed for some turns" in said]


def test_reports_and_lines_keep_them(traced: Trace) -> None:
    again = from_lines(to_lines(traced))
    assert again.orders == traced.orders

    def shown_by(style: Style) -> str:
        return "\n".join(line for _, lines in render(traced.orders, style) for line in lines)

    text = shown_by(Style())
    shown = os.path.relpath(SCRIPT)
    assert text.count("wrong[LC505]") == 4 and f"{shown}:" in text
    assert "note[" not in text and "note[LC522]" in shown_by(Style(everything=True))


CASE = """
import sys
sys.path.insert(0, {folder!r})
import layoutcheck
import kernels
from cutlass import Int32
import cutlass.cute as cute
from cutlass.cute.runtime import make_ptr


@layoutcheck.case(arch="sm_90a")
def broken():
    pointers = [make_ptr(Int32, 1 << 24, cute.AddressSpace.gmem, assumed_align=128) for _ in range(2)]
    cute.compile(kernels.run_neighbours, *pointers, 1)
"""


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("LAYOUTCHECK")}
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        capture_output=True,
        text=True,
        env=env | environment,
        timeout=120,
    )


def test_lint_tells_it_of_a_registered_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cases.py").write_text(CASE.format(folder=str(SCRIPT.parent)))
    (tmp_path / "pyproject.toml").write_text('[tool.layoutcheck]\npaths = ["cases.py"]\n')
    monkeypatch.chdir(tmp_path)
    status = command(["lint", "cases.py"])
    later = next(n for n, line in enumerate(LINES, 1) if "data[(thread + 32)" in line)
    told = capsys.readouterr()
    assert f"kernels.py:{later}:29: wrong[LC504]" in told.out and status == 1, told
    status = command(["lint", "--no-order", "cases.py"])
    silent = capsys.readouterr()
    assert "LC504" not in silent.out and status == 0, silent


@pytest.mark.sweep
def test_a_watched_program_tells_it(tmp_path: Path) -> None:
    command = (str(SCRIPT), "neighbours")
    told = run(*command, cwd=tmp_path, LAYOUTCHECK="1", CUTE_DSL_ARCH="sm_90a")
    assert told.stderr.count("wrong[LC504]") == 1 and "3 of 3 kernels followed" in told.stderr, told.stderr
    silent = run(*command, cwd=tmp_path, LAYOUTCHECK="1", LAYOUTCHECK_ORDER="0", CUTE_DSL_ARCH="sm_90a")
    assert "LC504" not in silent.stderr and "layoutcheck:" in silent.stderr


@pytest.mark.sweep
def test_a_test_that_compiles_it_fails(tmp_path: Path) -> None:
    text = CASE.format(folder=str(SCRIPT.parent)).replace("def broken", "def test_broken")
    text = text.replace('@layoutcheck.case(arch="sm_90a")\n', "")
    allowed = text.replace(
        "def test_broken", "import pytest\n@pytest.mark.layoutcheck_allow('LC504')\ndef test_ok"
    )
    (tmp_path / "test_it.py").write_text(text + "\n" + allowed)
    told = run("-m", "pytest", "-q", "--layoutcheck", cwd=tmp_path, CUTE_DSL_ARCH="sm_90a")
    assert "1 failed, 1 passed" in told.stdout and "wrong[LC504]" in told.stdout, told.stdout


def test_loops_that_go_on_by_the_grid_turn_more_than_once(traced: Trace) -> None:
    right, race = reports(traced, "strided")
    assert right.findings == () and right.problem == ""
    (finding,) = race.findings
    assert finding.code == "LC504" and "It happens at other sizes of the problem." in finding.message
    first, second = (LINES[place.where.line - 1].strip() for place in finding.places[:2])
    assert (first, second) == ("total += data[(thread + 32) % THREADS]", "data[thread] = rows[row, thread]")


def test_other_trip_counts_are_tried(traced: Trace) -> None:
    right, odd, few, even = reports(traced, "sized")
    assert {0, 1, 2, 3, 15}.issubset(right.trips) and right.findings == ()
    (finding,) = odd.findings
    assert finding.code == "LC501" and "It happens at trip count" in finding.message
    assert finding.evidence["trips"] in odd.trips and finding.evidence["trips"] != 15
    assert few.trips[0] == 0 and max(few.trips) > 3 and few.findings == ()  # nothing is loaded in the loop
    assert [(one.code, one.evidence["trips"] > 0) for one in even.findings] == [("LC501", True)]
    assert any("trip counts tried" in line for line in counts(traced.orders, Style()))
    assert reports(traced, "stages")[0].trips == (7,)  # nothing dynamic
