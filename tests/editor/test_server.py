"""The language server, as an editor meets it: its process, asked over standard input and output."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from layoutcheck.cli import run
from tests.editor.client import Client

pytest.importorskip("pygls", reason="the language server needs pygls")

STATIC = """from cutlass import cute
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def load(atom: cute.CopyAtom, gA: cute.Tensor, sA: cute.Tensor, barrier: cute.Pointer):
    tidx, _, _ = cute.arch.thread_idx()
    tAsA, tAgA = cpasync.tma_partition(atom, 0, cute.make_layout(1), sA, gA)
    if tidx == 0:
        "é😀"; cute.copy(atom, tAgA, tAsA, tma_bar_ptr=barrier)
"""
PROGRAM = """import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def load(gA: cute.Tensor, tiled: cute.TiledCopy, layout: cute.Layout):
    tidx, _, _ = cute.arch.thread_idx()
    sA = cutlass.memory.SmemAllocator().allocate_tensor(gA.element_type, layout, byte_alignment=16)
    tile = cute.local_tile(gA, (64, 64), (0, 0))
    part = tiled.get_slice(tidx)
    cute.copy(tiled, part.partition_S(tile), part.partition_D(sA))


@cute.jit
def host(gA: cute.Tensor):
    layout = cute.make_layout((64, 64), stride=(1, 64))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), gA.element_type, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(
        atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8))
    )
    load(gA, tiled, layout).launch(grid=(1, 1, 1), block=(128, 1, 1))


gA = make_fake_tensor(cutlass.BFloat16, (64, 64), stride=(64, 1), assumed_align=16)
cute.compile(host, gA)
"""
COPY = 1 + PROGRAM[: PROGRAM.index("cute.copy(")].count("\n")
SOURCES = Path(__file__).parent.parent / "lint" / "sources"
FIRST = {"start": {"line": 0, "character": 0}, "end": {"line": 200, "character": 0}}


def test_static_findings_follow_the_text(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(STATIC)
    with Client(tmp_path) as client:
        (found,) = client.opened(file)
        assert (found["code"], found["severity"], found["source"]) == ("LC263", 1, "layoutcheck")
        start = found["range"]["start"]
        line = STATIC.splitlines()[start["line"]]
        assert line.encode("utf-16-le")[2 * start["character"] :].decode("utf-16-le").startswith("cute.copy")
        assert client.changed(file, STATIC.replace("if tidx == 0:", "if True:"), 2) == []
        (again,) = client.changed(file, "# a line more\n" + STATIC, 3)
        assert again["range"]["start"]["line"] == start["line"] + 1
        (broken,) = client.changed(file, "from cutlass import cute\ndef (", 4)
        assert broken["code"] == "LC910"


@pytest.mark.sweep
def test_the_projects_settings_hold(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.layoutcheck]\nignore = ['LC263']\n")
    file = tmp_path / "kernel.py"
    file.write_text(STATIC)
    with Client(tmp_path) as client:
        assert client.opened(file) == []


@pytest.mark.sweep
def test_a_static_repair_is_an_edit_that_removes_the_finding(tmp_path: Path) -> None:
    pytest.importorskip("libcst")
    file = tmp_path / "kernel.py"
    file.write_text((SOURCES / "cache_global_64.py").read_text())
    with Client(tmp_path) as client:
        found = client.opened(file)
        document = {"textDocument": {"uri": file.as_uri()}, "range": FIRST, "context": {"diagnostics": []}}
        actions = client.ask("textDocument/codeAction", document)
        edits = [action for action in actions if "edit" in action]
        assert [one["code"] for one in found] == ["LC265"] and len(edits) == 1
        ((edit,),) = edits[0]["edit"]["changes"].values()
        assert edit["newText"] != file.read_text() and client.changed(file, edit["newText"], 2) == []
        assert any(action.get("command", {}).get("command") == "layoutcheck.trace" for action in actions)


@pytest.mark.sweep
def test_a_trace_is_shown_and_its_repair_is_applied(tmp_path: Path) -> None:
    """The program is run for the commands only; what they say stays at its lines while the user types."""
    pytest.importorskip("cutlass", reason="tracing needs nvidia-cutlass-dsl")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    uri = file.as_uri()
    here = {"textDocument": {"uri": uri}}
    with Client(tmp_path) as client:
        assert client.opened(file) == []
        client.ask("workspace/executeCommand", {"command": "layoutcheck.trace", "arguments": [uri]})
        found = client.published(uri)
        assert found[0]["code"] == "LC102"
        assert {one["range"]["start"]["line"] + 1 for one in found} == {COPY}
        hover = client.ask("textDocument/hover", {**here, "position": {"line": COPY - 1, "character": 6}})
        assert "rejected" in hover["contents"]["value"] and "128 bits" in hover["contents"]["value"]
        hints = client.ask("textDocument/inlayHint", {**here, "range": FIRST})
        said = {one["position"]["line"] + 1: one["label"] for one in hints}
        lines = PROGRAM.splitlines()
        assert "rejected" in said[COPY]
        assert any("local_tile" in lines[at - 1] and "(64,64)" in text for at, text in said.items())
        assert any(lines[at - 1].strip() == ")" and "128 launched" in text for at, text in said.items())
        moved = client.changed(file, "\n\n" + PROGRAM, 2)
        assert [one["code"] for one in moved] == [one["code"] for one in found]
        assert {one["range"]["start"]["line"] + 1 for one in moved} == {COPY + 2}
        assert client.changed(file, PROGRAM.replace("    cute.copy(", "    pass; cute.copy("), 3) == []
        client.changed(file, PROGRAM, 4)
        client.ask("workspace/executeCommand", {"command": "layoutcheck.repair", "arguments": [uri]})
        ((edit,),) = client.edits[0]["changes"].values()
        file.write_text(edit["newText"])
    assert run(["trace", "--no-launch", str(file)]) == 0


def test_without_pygls_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["server", "--watch", "no-such-file.py"]) == 2
    assert "no script" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "layoutcheck.editor.server", raising=False)
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    assert run(["server"]) == 2
    assert "pip install 'layoutcheck[lsp]'" in capsys.readouterr().err


@pytest.mark.sweep
def test_a_watched_program_is_traced_again_when_its_file_is_saved(tmp_path: Path) -> None:
    pytest.importorskip("cutlass", reason="tracing needs nvidia-cutlass-dsl")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    uri = file.as_uri()
    with Client(tmp_path, "--watch", str(file)) as client:
        found = client.opened(file)
        while not found:  # the text's own findings come before the trace's
            found = client.published(uri)
        assert found[0]["code"] == "LC102"
        mended = PROGRAM.replace("stride=(1, 64)", "stride=(64, 1)")
        file.write_text(mended)
        assert client.changed(file, mended, 2) == found  # the last trace's, until the file is saved
        client.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
        while client.published(uri):
            pass
