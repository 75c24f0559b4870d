"""Files as people have them: other encodings and line ends, tabs, several statements on a line, notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import layoutcheck as lc
from layoutcheck.cli import run
from layoutcheck.errors import InputError
from layoutcheck.patching.edit import Edit, apply
from layoutcheck.patching.located import located
from layoutcheck.patching.overlay import overlaid, tracked
from layoutcheck.patching.predicates import guarded, truths
from layoutcheck.patching.program import Program
from layoutcheck.patching.repair import repair
from layoutcheck.patching.repaired import Repaired, read
from layoutcheck.patching.whole import NO_COPY
from layoutcheck.reports.repaired import render
from layoutcheck.reports.style import Style
from layoutcheck.sources.traced import (
    ElementReport,
    Frame,
    KernelFinding,
    KernelPlace,
    OperandReport,
    OrderReport,
    Trace,
    TracedCopy,
    TraceFailure,
)
from tests.patching.broken import HEAD

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")

ALLOCATED = "src = allocator.allocate_tensor(kind, layout, byte_alignment=8)\ncute.copy(atom, src, dst)\n"


def seen(path: Path, line: int, align: int) -> TracedCopy:
    """ldmatrix of rows at that alignment, at a line."""
    src = f'!cute.memref<f16, smem, align<{align}>, "((8,1),2):((1,0),64)">'
    copy = lc.check(src, '!cute.memref<f16, rmem, align<32>, "((8,1),2):((1,0),8)">', "ldmatrix.x4").copy
    refused = None if align >= 16 else "src ptr alignment"
    return TracedCopy(copy, "", Frame(str(path), line), (), "kernel", "sm_90a", refused=refused)


def aligned(path: Path, line: int) -> Repaired:
    """The repair of an allocation's alignment, proven by a trace that is made up; written."""
    after = Trace((seen(path, line, 16),))
    found = repair(str(path), Trace((seen(path, line, 8),)), lambda script, cwd, **_: after)
    assert [one.places[0].line for one in found.repairs] == [line - 1]
    assert found.write() == [str(path)]
    return found


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("# -*- coding: latin-1 -*-\n# Größe\n", "latin-1"),
        ("# Größe, 大きさ\n", "utf-8"),
        ("# Größe\n", "utf-8-sig"),
        ("# coding: shift_jis\n# 大きさ\n", "shift_jis"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_keeps_its_encoding_and_its_line_ends(
    tmp_path: Path, head: str, encoding: str, end: str
) -> None:
    path = tmp_path / "kernel.py"
    before = (head + ALLOCATED).replace("\n", end).encode(encoding)
    path.write_bytes(before)
    aligned(path, head.count("\n") + 2)
    assert path.read_bytes() == before.replace(b"=8", b"=16")


def test_the_traced_copy_of_a_file_has_its_encoding(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    script = project / "kernel.py"
    text = "# coding: latin-1\nname = 'Größe'\n"
    script.write_bytes(text.encode("latin-1"))
    overlaid(project, {str(script): text + "x = 1\n"}, tmp_path / "there")
    assert (tmp_path / "there" / "kernel.py").read_bytes() == (text + "x = 1\n").encode("latin-1")


@pytest.mark.parametrize("content", [b"x = '\xff'\n", b"# coding: no-such-coding\n", b"\xff\xfe"])
def test_a_file_that_is_no_text_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "kernel.py"
    path.write_bytes(content)
    with pytest.raises(
        InputError, match=r"cannot read '.*kernel\.py'.*; expected a Python file in its encoding"
    ):
        read(str(path))
    assert tracked(tmp_path, str(path)).startswith("cannot read '")


def test_lines_that_are_inserted_end_as_the_file_does() -> None:
    text = "import cutlass\r\nx = 1\r\n"
    [made] = apply({"k.py": text}, (Edit("k.py", 16, 16, "a = cute.b\nc = 2\n"),)).values()
    assert made == "import cutlass\r\na = cutlass.cute.b\r\nc = 2\r\nx = 1\r\n"


COPY = lc.check(
    '!cute.memref<bf16, gmem, align<16>, "((8,1),2):((1,0),8)">',
    '!cute.memref<bf16, smem, align<128>, "((8,1),2):((1,0),8)">',
    "cp.async", bits=128,
).copy  # fmt: skip


def predicated(text: str) -> list[str]:
    """The texts with a predicate for the copy in the last line."""
    program = Program({"k.py": text})
    site = program.copy_at("k.py", text.count("\n"))
    assert site is not None
    guards = (edits for edits, _ in guarded(program, site, COPY))
    return [apply({"k.py": text}, edits)["k.py"] for edits in (*guards, *truths(program, site))]


def test_statements_are_indented_as_the_copy_is() -> None:
    body = "\tpart = own.partition_S(src)\n\tif True:\n\t\tcute.copy(atom, part, dst)\n"
    [made] = predicated(f"{HEAD}def kernel(src, own):\n{body}")
    compile(made, "k.py", "exec")
    new = made.split("\n")[-6:-1]
    assert all(line.startswith("\t\t") and not line.startswith(" ") for line in new)
    assert new[-1] == "\t\tcute.copy(atom, part, dst, pred=pred)"


@pytest.mark.parametrize(
    "line",
    [
        "x = 1; cute.copy(atom, part, dst, pred=p)",
        "cute.copy(atom, part, dst, pred=p); x = 1",
        "if x: cute.copy(atom, part, dst, pred=p)",
    ],
)
def test_a_copy_that_shares_its_line_is_left_alone(line: str) -> None:
    """Statements before it would be others' too."""
    assert predicated(f"{HEAD}part = own.partition_S(src)\n{line}\n") == []


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("at", [0, 1])
def test_files_that_are_in_place_are_put_back_where_a_later_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException, at: int
) -> None:
    """Also where the user ends the command in between."""
    paths = [tmp_path / "a.py", tmp_path / "b.py"]
    for path in paths:
        path.write_bytes(b"x = 1\r\n")
    before, after = ({str(path): text for path in paths} for text in ("x = 1\r\n", "x = 2\r\n"))
    replace, seen = Path.replace, list[str]()

    def failing(made: Path, where: Path) -> Path:
        seen.append(where.name)
        if seen == ["a.py", "b.py"][: at + 1]:
            raise failure
        return replace(made, where)

    monkeypatch.setattr(Path, "replace", failing)
    kind = KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else InputError
    with pytest.raises(kind) as told:
        Repaired(before, after).write()
    assert [path.read_bytes() for path in paths] == [b"x = 1\r\n"] * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py"]
    if kind is InputError:
        assert f"{paths[at]}': No space left on device; nothing was written" in str(told.value)


def test_a_folder_that_nobody_may_write_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(InputError, match="nothing was written"):
            Repaired({str(path): "x = 1\n"}, {str(path): "x = 2\n"}).write()
        assert tracked(tmp_path, str(path)) == f"the folder of '{path}' is read-only"
    finally:
        tmp_path.chmod(0o755)
    assert path.read_text() == "x = 1\n"


def test_lines_that_end_with_a_carriage_return_alone_are_named(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_bytes(b"x = 1\r\ny = 2\rz = 3\r")
    with pytest.raises(InputError, match="line 2 ends with a carriage return alone; expected lines that end"):
        read(str(path))


def test_a_form_feed_ends_no_line(tmp_path: Path) -> None:
    """Old sources divide their pages with it; patch and Python count no line there."""
    path = str(tmp_path / "a.py")
    diff = Repaired({path: "x = 1\n\x0c\ny = 1\n"}, {path: "x = 1\n\x0c\ny = 2\n"}).diff()
    assert "@@ -1,3 +1,3 @@\n x = 1\n \x0c\n-y = 1\n+y = 2\n" in diff


def test_a_script_behind_a_link_is_repaired_where_it_is(tmp_path: Path) -> None:
    """Python says the link's name; what an overlay runs is the file of another name."""
    real, link = tmp_path / "real.py", tmp_path / "linked.py"
    real.write_text(ALLOCATED)
    link.symlink_to("real.py")
    ran: list[str] = []

    def retrace(script: str, cwd: str | None, **_: bool) -> Trace:
        ran.append(Path(script).name)
        align = 16 if "=16" in Path(script).read_text() else 8
        return Trace((seen(Path(script), 2, align),))

    found = repair(str(link), Trace((seen(link, 2, 8),)), retrace)
    assert found.write() == [str(real)] and link.is_symlink()
    assert real.read_text() == ALLOCATED.replace("=8", "=16") and ran == ["linked.py"]


def test_links_within_a_project_lead_to_the_other_texts(tmp_path: Path) -> None:
    project, there = tmp_path / "project", tmp_path / "there"
    (project / "real").mkdir(parents=True)
    for name in ("real/a.py", "real/b.py", "run.py"):
        (project / name).write_text("old")
    (project / "again").symlink_to("real")
    (project / "a.py").symlink_to("real/a.py")
    (project / "loop").symlink_to("loop")
    overlaid(project, {str(project / "a.py"): "new", str(project / "run.py"): "old"}, there)
    assert [(there / name).read_text() for name in ("a.py", "again/a.py", "real/a.py")] == ["new"] * 3
    assert (there / "again" / "b.py").read_text() == "old" and (there / "loop").is_symlink()
    assert (project / "real" / "a.py").read_text() == "old"


def test_all_places_of_a_trace_are_those_of_the_project(tmp_path: Path) -> None:
    there, project = tmp_path / "there", tmp_path / "project"
    for folder in (there, project):
        folder.mkdir()
        (folder / "k.py").write_text("x = 1\n")
    (there / "link.py").symlink_to("k.py")

    def told(file: str) -> KernelFinding:
        where = Frame(str(there / file), 1)
        return KernelFinding("LC601", "wrong", "", "", (KernelPlace("reads", where, (where,)),))

    failing = Frame(str(there / "k.py"), 1)
    trace = Trace(
        failures=(TraceFailure("test", "", None, (failing,)), TraceFailure("test", "", failing)),
        orders=(OrderReport("k", "", (told("k.py"),)),),
        elements=(ElementReport("k", "", (told("link.py"),)),),
        operands=(OperandReport("k", "", (told("none.py"),)),),
    )
    made = located(trace, str(there), str(project))
    [order, element, operand] = [
        {frame for place in one.findings[0].places for frame in (place.where, *place.stack)}
        for one in (*made.orders, *made.elements, *made.operands)
    ]
    [unplaced, placed] = made.failures
    assert order == element == {placed.where, *unplaced.stack} == {Frame(str(project / "k.py"), 1)}
    assert (unplaced.where, placed.stack) == (None, ())
    assert operand == {Frame(str(project / "none.py"), 1)}
    assert located(trace).elements[0].findings[0].places[0].where.file == str(there / "k.py")


def test_generated_code_has_no_statement_to_edit(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("made = 'cute.copy(atom, src, dst)'\nexec(made)\n")
    found = repair(str(path), Trace((seen(path, 2, 8),)), lambda script, cwd, **_: Trace())
    assert [one.reason for one in found.sketches] == [NO_COPY] and found.write() == []


def test_a_diff_keeps_the_line_ends_of_its_files(tmp_path: Path) -> None:
    path = str(tmp_path / "a.py")
    found = Repaired({path: "x = 'a\u2028b'\r\ny = 1\r\n"}, {path: "x = 'a\u2028b'\r\ny = 2\r\n"})
    assert render(found, [], Style()).endswith(" x = 'a\u2028b'\r\n-y = 1\r\n+y = 2\r\n")


def test_two_fixes_for_one_line_are_refused() -> None:
    with pytest.raises(InputError, match="two fixes change the same text"):
        apply({"k.py": "x = 1\n"}, (Edit("k.py", 4, 5, "2"), Edit("k.py", 4, 5, "3")))


def test_a_notebook_is_no_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "kernel.ipynb"
    cell = {
        "cell_type": "code",
        "source": ["x = 1\n"],
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    before = path.read_bytes()
    assert run(["trace", "--no-launch", "--fix", "kernel.ipynb"]) == 2
    captured = capsys.readouterr()
    assert "a notebook" in captured.err and "Traceback" not in captured.err
    assert path.read_bytes() == before and captured.out == ""


def test_options_behind_the_script_are_told_to_be_the_scripts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["trace", "--fix", str(tmp_path / "nowhere.py"), "--diff"]) == 2
    assert "nowhere.py, so it is passed to the script" in capsys.readouterr().err
