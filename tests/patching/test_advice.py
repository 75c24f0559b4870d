"""`trace --advise`: the best way is written into the program, and shown if the edited program proves it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import layoutcheck as lc
from layoutcheck.machine.cost import Counts, predicted_time
from layoutcheck.patching.advice import alone_of
from layoutcheck.patching.edit import apply
from layoutcheck.patching.instead import by_all
from layoutcheck.patching.program import Program
from layoutcheck.reports.advice import Advice, Advised, render
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import JudgedTrace
from layoutcheck.sources.traced import Addresses, Frame, LoweredSide, TracedCopy
from layoutcheck.synthesis.optimum import Alone
from layoutcheck.tracing import Script, advised, traced

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, which traces the edited programs")

PROGRAM = """import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor


@cute.jit
def load(atom, src: cute.Tensor, dst: cute.Tensor):
    cute.copy(atom, src, dst)  # helper


@cute.kernel
def kernel(given: cute.Tensor, turned: cute.Tensor, out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    tiles = cute.local_tile(given, (64, 32), (0, None))
    allocator = cutlass.memory.SmemAllocator()
    smem = allocator.allocate_tensor(
        cutlass.BFloat16, cute.make_layout((64, 32, 2), stride=(32, 1, 2048)), byte_alignment=128
    )
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.BFloat16, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(
        atom, cute.make_layout((32, 4), stride=(1, 32)), cute.make_layout((1, 2), stride=(0, 1))
    )
    fill = tiled.get_slice(tidx)
    from_tiles = fill.partition_S(tiles)
    to_smem = fill.partition_D(smem)
    cute.copy(tiled, from_tiles[None, None, None, 1], to_smem[None, None, None, 0])  # staged
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    columns = cute.local_tile(turned, (64, 32), (0, 0))
    rows = allocator.allocate_tensor(
        cutlass.BFloat16, cute.make_layout((64, 32), stride=(32, 1)), byte_alignment=128
    )
    by_element = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=16)
    single = cute.make_tiled_copy_tv(by_element, cute.make_layout((64, 2)), cute.make_layout((1, 1)))
    one = single.get_slice(tidx)
    cute.copy(  # turned
        by_element,
        one.partition_S(columns),
        one.partition_D(rows),
    )
    others = allocator.allocate_tensor(
        cutlass.BFloat16, cute.make_layout((64, 32), stride=(32, 1)), byte_alignment=128
    )
    load(by_element, one.partition_S(tiles[None, None, 0]), one.partition_D(others))
    last = allocator.allocate_tensor(
        cutlass.BFloat16, cute.make_layout((64, 32), stride=(32, 1)), byte_alignment=128
    )
    if tidx == 0:
        cute.basic_copy(tiles[None, None, 2], last)  # alone
    cute.arch.sync_threads()
    written = cute.local_tile(out, (64, 32), (0, 0))
    for i in cutlass.range_constexpr(16):
        at = tidx + i * 128
        written[at] = smem[None, None, 0][at] + rows[at] + others[at] + last[at]


@cute.jit
def launch(given: cute.Tensor, turned: cute.Tensor, out: cute.Tensor, stream):
    kernel(given, turned, out).launch(grid=(1, 1, 1), block=(128, 1, 1), stream=stream)


pitch = cute.sym_int64(divisibility=8)
tensors = [  # extents that only the run knows would be tried at many sizes in each of four traces
    make_fake_tensor(cutlass.BFloat16, (64, 96), stride, assumed_align=16)
    for stride in ((pitch, 1), (1, pitch), (pitch, 1))
]
cute.compile(launch, *tensors, make_fake_stream())
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Script, JudgedTrace]:
    file = tmp_path_factory.mktemp("advice") / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    script = Script(str(file), launch=False, arch="sm_90a")
    return script, traced(script)


@pytest.fixture(scope="module")
def found(judged: tuple[Script, JudgedTrace]) -> dict[str, Advised]:
    """The advice for each copy, by the comment behind it."""
    script, trace = judged
    lines = PROGRAM.splitlines()
    told = advised(trace, script).told
    return {lines[one.one.first.where.line - 1].partition("  # ")[2]: one for one in told}


def test_a_line_gets_one_advice_whatever_it_copies(
    judged: tuple[Script, JudgedTrace], found: dict[str, Advised]
) -> None:
    """A kernel that is built twice has two copies in a line: an edit is one of both."""
    _, trace = judged
    advice = advised(replace(trace, reports=[*trace.reports, *trace.reports]))
    told = advice.told
    assert len(told) == len(found) == 4 and (advice.looked, advice.unknown) == (8, {})
    assert [one.best.ratio for one in told] == [one.best.ratio for one in found.values()]


def test_a_view_of_one_stage_is_filled_by_wide_copies_of_that_stage(found: dict[str, Advised]) -> None:
    """The program waits by itself: no other wait is written."""
    written = found["staged"].written
    assert written is not None and written.best.title == "cp.async 128 bits"
    # 64 x 32 of 2 bytes by 16 bytes and 32 lanes.
    assert (written.best.found.counts.instructions, round(written.cycles, 1)) == (8, written.best.least)
    [text] = written.files.after.values()
    assert "partition_S(tiles[None, None, 1])" in text
    assert "partition_D(smem[None, None, 0])" in text and text.count("cp_async_wait_group(0)") == 1
    assert "# staged" in text


def test_another_layout_is_written_into_the_allocation(found: dict[str, Advised]) -> None:
    """The copy stands in several lines, one of which the new statements have, too."""
    written = found["turned"].written
    assert written is not None and not written.best.keeps
    [text] = written.files.after.values()
    assert "byte_alignment=1024, swizzle=cute.make_swizzle(" in text
    assert text.count("cute.basic_copy(") == 1 + PROGRAM.count("cute.basic_copy(")


def test_what_has_no_names_in_its_place_is_not_written(found: dict[str, Advised]) -> None:
    assert found["helper"].written is None
    said = render(Advice(list(found.values()), 4, {}), Style())
    assert "not written: its tiles or its thread have no names where the copy stands" in said
    assert said.count("proven: traced with this edit") == 3


def test_a_tile_that_one_thread_fills_is_shared_among_all(found: dict[str, Advised]) -> None:
    """2,048 loads one after the other and 256 stores (PTX: v4.b32), or 8 instructions of 32 lanes."""
    advised = found["alone"]
    assert advised.best.alone and advised.best.cycles == predicted_time(Counts(2304, 2304, 2048)).cycles
    assert "one thread of 128 fills the tile: " in " ".join(render(Advice([advised], 1, {}), Style()).split())
    written = advised.written
    assert written is not None and written.best.title == "cp.async 128 bits"
    assert written.best.found.counts.instructions == 8
    [text] = written.files.after.values()
    assert "if tidx == 0:" not in text and text.count("cp_async_wait_group(0)") == 2
    assert re.search(r"partition_S\(\s*tiles\[None, None, 2\]\s*\)", text)


BRANCH = """def kernel(src, dst):
    tidx, _, _ = cute.arch.thread_idx()
    for k in range(4):
        if tidx == 0:
            first(k)
            cute.basic_copy(src[k], dst)  # all
    cute.arch.sync_threads()
"""


def shared_by_all(text: str) -> str:
    """The program with `put(tidx, src, dst)` for all threads in place of the copy; "" where it stays."""
    program = Program({"k.py": text})
    site = program.copy_at("k.py", 1 + next(n for n, one in enumerate(text.split("\n")) if "copy(" in one))
    assert site is not None
    edits = by_all(program, site, "put(tidx, src, dst)")
    return apply({"k.py": text}, edits)["k.py"] if edits else ""


def test_the_copy_of_one_thread_stands_behind_its_branch_or_for_it() -> None:
    after = shared_by_all(BRANCH)
    assert after == BRANCH.replace(
        "            cute.basic_copy(src[k], dst)  # all", "        put(tidx, src[k], dst)"
    )
    alone = BRANCH.replace("            first(k)\n", "")
    assert "    for k in range(4):\n        put(tidx, src[k], dst)  # all\n    cute" in shared_by_all(alone)


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("tidx == 0", "tidx < 32"),
        ("tidx == 0", "k == 0"),
        ("tidx == 0", "tidx == 0 and k < 3"),
        ("for k in range(4)", "if k < 4"),
        ("for k in range(4)", "while busy()"),
        ("        if tidx == 0:", "        if k:\n            first(k)\n        elif tidx == 0:"),
        ("dst)  # all", "dst)\n        else:\n            first(k)"),
    ],
)
def test_a_copy_that_other_branches_decide_about_stays(words: str, others: str) -> None:
    assert words in BRANCH and shared_by_all(BRANCH.replace(words, others)) == ""


@pytest.mark.parametrize(
    ("elements", "lanes", "used", "alone"),
    [(64, (0, -1), 256, True), (64, (0, 4), 256, False), (64, (0, -1), 512, False), (16, (0, -1), 64, False)],
)
def test_only_what_one_thread_moves_whole_is_its_own(
    elements: int, lanes: tuple[int, ...], used: int, alone: bool
) -> None:
    copy = lc.check(
        f"({elements},1):(1,{elements})", f"({elements},1):(1,{elements})", "universal", dtype="f32"
    )
    side = LoweredSide("src", "ld.global", "gmem", 32, "static", 9, 9, 9, 1, 0, 9, 9, used, lanes)
    store = replace(side, side="dst", op="st.shared", space="smem", bytes_used=0)
    one = TracedCopy(
        copy.copy, "", Frame("k.py", 1), (), "kernel", "sm_90a", addresses=Addresses(128, (side, store))
    )
    found = alone_of(one)
    assert found == (Alone(128, Counts(128, 128, 64)) if alone else None)
