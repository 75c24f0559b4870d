"""Files as people have them: other encodings and line ends, tabs, several statements on a line, notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import layoutcheck as lc
from layoutcheck.cli import run
from layoutcheck.errors import InputError
from layoutcheck.patching.edit import Edit, apply
from layoutcheck.patching.overlay import overlaid, tracked
from layoutcheck.patching.predicates import guarded, truths
from layoutcheck.patching.program import Program
from layoutcheck.patching.repair import repair
from layoutcheck.patching.repaired import Repaired, read
from layoutcheck.sources.traced import Frame, Trace, TracedCopy
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
    found = repair(str(path), Trace((seen(path, line, 8),)), lambda script, cwd: after)
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
    assert "--diff stands after the script and is given to it" in capsys.readouterr().err
