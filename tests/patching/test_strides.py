"""Two modes written the other way round, where a copy or the whole program fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import layoutcheck as lc
from layoutcheck.patching.edit import apply
from layoutcheck.patching.program import Program
from layoutcheck.patching.repair import repair
from layoutcheck.patching.repaired import Repaired
from layoutcheck.patching.strides import calls_at, respelled
from layoutcheck.patching.whole import retiled
from layoutcheck.reports.repaired import render
from layoutcheck.reports.style import Style
from layoutcheck.sources.traced import Frame, Kernel, Trace, TracedCopy, TraceFailure
from layoutcheck.syntax import name_of

TEXT = """rows = size // 4
threads = cute.make_layout((rows, n // rows), stride=(rows, 1))
order = cute.make_ordered_layout((rows, 4), order=(1, 0))
three = cute.make_ordered_layout((rows, 4, 2), order=(0, 1, 2))
own = cute.make_layout((64, 32), stride=(1, 64))
given = cute.make_tensor(pointer, own)
apart = cute.make_layout(8, stride=2)
plain = cute.make_layout((rows, 4))
tiled = cute.make_tiled_copy_tv(atom, threads, plain, order, three, given, apart)
"""
LINE = 9


def proposed(text: str, line: int) -> list[str]:
    """The lines that each edit makes."""
    texts = {"k.py": text}
    program = Program(texts)
    calls = calls_at(program, "k.py", line)
    new = [apply(texts, edits)["k.py"] for call in calls for _, edits in respelled(program, call)]
    old = set(text.splitlines())
    return [line.split(" = ")[1] for one in new for line in one.splitlines() if line not in old]


def test_strides_are_swapped_or_compact_in_the_programs_own_words() -> None:
    assert proposed(TEXT, LINE) == [
        "cute.make_layout((rows, n // rows), stride=(1, rows))",
        "cute.make_layout((rows, n // rows), stride=(n // rows, 1))",
        "cute.make_ordered_layout((rows, 4), order=(0, 1))",
        "cute.make_ordered_layout((rows, 4, 2), order=(1, 0, 2))",
        "cute.make_ordered_layout((rows, 4, 2), order=(2, 1, 0))",
        "cute.make_ordered_layout((rows, 4, 2), order=(0, 2, 1))",
        "cute.make_layout(8, stride=1)",
    ]


@pytest.mark.parametrize("line", [1, 6, 10])
def test_a_tensors_own_layout_stays_and_other_lines_too(line: int) -> None:
    assert proposed(TEXT, line) == []


@pytest.mark.parametrize(
    ("layout", "new"),
    [
        ("(m, n), stride=(1, n)", "(m, n), stride=(n, 1)"),
        ("(m, n), stride=(m, 1)", "(m, n), stride=(1, m)"),
        ("(m, n), stride=(n, 1)", None),
        ("(m, n), stride=(1, m)", None),
        ("(m, n), stride=(1, pitch)", None),
        ("(n, n), stride=(1, n)", None),
        ("(m, n, k), stride=(1, n, m)", None),
    ],
)
def test_a_tensor_whose_modes_share_memory_is_laid_out_the_other_way_round(layout: str, new: str) -> None:
    text = f"given = cute.make_tensor(pointer, cute.make_layout({layout}))\ncute.copy(atom, given, own)\n"
    made = f"cute.make_tensor(pointer, cute.make_layout({new}))"
    assert proposed(text, 2) == ([] if new is None else [made])


def copied(path: Path, align: int) -> TracedCopy:
    src = f'!cute.memref<f16, smem, align<{align}>, "((8,1),2):((1,0),64)">'
    copy = lc.check(src, '!cute.memref<f16, rmem, align<32>, "((8,1),2):((1,0),8)">', "ldmatrix.x4").copy
    return TracedCopy(copy, "", Frame(str(path), LINE), (), "kernel", "sm_90a")


def died(path: Path, kind: str = "killed") -> Trace:
    return Trace(failures=(TraceFailure(kind, "the process died of SIGFPE", Frame(str(path), LINE)),))


def tried(path: Path, before: Trace, after: Trace) -> Repaired:
    """The repair of a program that is `after` with another order, and else as it was."""
    path.write_text(TEXT)
    return repair(
        str(path), before, lambda script, cwd, **_: after if "(0, 1)" in Path(script).read_text() else before
    )


@pytest.mark.parametrize("kind", ["killed", "raised"])
def test_a_program_that_fails_is_built_with_an_edit_near_by(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "k.py"
    right = Trace((copied(path, 16),), (Kernel("kernel", "sm_90a", 1),))
    found = tried(path, died(path, kind), right)
    assert found.after[str(path)] == TEXT.replace("order=(1, 0)", "order=(0, 1)")
    [made] = found.repairs
    assert made.verdict == "legal" and [place.line for place in made.places] == [3]
    said = render(found, [], Style(False, 200))
    assert f"the program, which ended at {os.path.relpath(path)}:{LINE}, is built" in said
    assert found.unseen == []


def test_a_program_that_then_copies_wrongly_or_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    for after in (Trace((copied(path, 8),)), Trace(), died(path)):
        found = tried(path, died(path), after)
        assert found.repairs == [] and found.diff() == ""
        assert found.unseen == [f"killed: {path}:{LINE}: the process died of SIGFPE"]


def retiles(operands: str, made: str = "mma.make_fragment_A(own)") -> list[str]:
    """The copy's line after each edit that retiles one of its operands."""
    text = f"tile = thr.partition_S(shared)\nheld = {made}\ncute.copy(atom, {operands})\n"
    program = Program({"k.py": text})
    [copy] = [one for one in calls_at(program, "k.py", 3) if name_of(one.node) == "copy"]
    return [apply({"k.py": text}, edits)["k.py"].splitlines()[2] for _, edits in retiled(program, copy)]


def test_a_fragment_is_retiled_by_the_slice_that_cuts_the_other_operand() -> None:
    assert retiles("tile, held") == ["cute.copy(atom, tile, thr.retile(held))"]
    assert retiles("held[None, 0], thr.partition_D(out)[None, 0]") == [
        "cute.copy(atom, thr.retile(held)[None, 0], thr.partition_D(out)[None, 0])"
    ]
    assert retiles("tile, thr.retile(held)") == retiles("tile, held", "own.retile(x)") == []
    assert retiles("tile, held", "own.partition_D(x)") == retiles("other, held") == []


def test_a_kernel_that_the_compiler_refuses_is_not_fixed(tmp_path: Path) -> None:
    """With a place or without one: the exit status is that of a program that does not compile."""
    path = tmp_path / "k.py"
    for failed, at in (
        (died(path, "uncompiled"), f"{path}:{LINE}"),
        (Trace(failures=(TraceFailure("uncompiled", "the process died of SIGFPE"),)), "a kernel"),
    ):
        found = tried(path, failed, failed)
        assert found.uncompiled == [f"{at}: the compiler refuses it: the process died of SIGFPE"]
        said = render(found, [], Style(False, 200))
        assert said.startswith(f"not fixed: {at}: the compiler refuses it") and "nothing" not in said


def test_what_the_compiler_says_of_no_line_is_repaired_at_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text("tile = thr.partition_S(shared)\nheld = make()\ncute.copy(atom, tile, held)\n")
    failed = Trace(failures=(TraceFailure("uncompiled", "it dies"),))
    right = Trace((copied(path, 16),), (Kernel("kernel", "sm_90a", 1),))
    found = repair(
        str(path), failed, lambda script, cwd, **_: right if "retile" in Path(script).read_text() else failed
    )
    assert [one.title for one in found.repairs] == [
        "retile: the fragment in the order of the tiled copy's registers"
    ]
    assert found.after[str(path)].endswith("tile, thr.retile(held))\n") and found.uncompiled == []
