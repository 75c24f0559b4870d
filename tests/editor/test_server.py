"""The language server, as an editor meets it: its process, asked over standard input and output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutcheck.cli import run

pytest.importorskip("pytest_lsp", reason="the language server is tested with pytest-lsp")
from lsprotocol import types as lsp
from pytest_lsp import LspSpecificationWarning

from tests.editor.asked import Editor, asking, server

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
WHOLE = lsp.Range(lsp.Position(0, 0), lsp.Position(200, 0))


@pytest.fixture(autouse=True)
def _within_the_capabilities(recwarn: pytest.WarningsRecorder) -> Iterator[None]:
    """pytest-lsp warns of messages that the editor did not say it understands."""
    yield
    assert not [one for one in recwarn if issubclass(one.category, LspSpecificationWarning)]


@asking
async def test_static_findings_follow_the_text(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(STATIC)
    async with server() as editor:
        (found,) = await editor.opened(file)
        assert (found.code, found.severity, found.source) == ("LC263", 1, "layoutcheck")
        start = found.range.start
        line = STATIC.splitlines()[start.line]
        assert line.encode("utf-16-le")[2 * start.character :].decode("utf-16-le").startswith("cute.copy")
        assert await editor.changed(file, STATIC.replace("if tidx == 0:", "if True:"), 2) == []
        (again,) = await editor.changed(file, "# a line more\n" + STATIC, 3)
        assert again.range.start.line == start.line + 1
        (broken,) = await editor.changed(file, "from cutlass import cute\ndef (", 4)
        assert broken.code == "LC910"
        for version, before in enumerate(
            ("\x0c\n", "'\u2028'\n"), 5
        ):  # no ends of lines to Python or the editor
            (moved,) = await editor.changed(file, before + STATIC, version)
            assert moved.range.start == lsp.Position(start.line + 1, start.character)
            assert moved.range.end == lsp.Position(start.line + 1, found.range.end.character)
        (old,) = await editor.changed(file, STATIC.replace("\n", "\r"), 7)
        assert old.range == found.range
        cell = tmp_path / "a.ipynb"  # as editors open a cell: its text, at the notebook's path
        cell.write_text(f"%matplotlib inline\n{STATIC}")
        (there,) = await editor.opened(cell)
        assert (there.code, there.range.start.line) == ("LC263", start.line + 1)


@pytest.mark.sweep
@asking
async def test_the_projects_settings_hold(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.layoutcheck]\nignore = ['LC263']\n")
    file = tmp_path / "kernel.py"
    file.write_text(STATIC)
    async with server() as editor:
        assert await editor.opened(file) == []


@pytest.mark.sweep
@asking
async def test_a_static_repair_is_an_edit_that_removes_the_finding(tmp_path: Path) -> None:
    pytest.importorskip("libcst")
    file = tmp_path / "kernel.py"
    file.write_text((SOURCES / "cache_global_64.py").read_text())
    async with server() as editor:
        found = await editor.opened(file)
        asked = lsp.CodeActionParams(at(file), WHOLE, lsp.CodeActionContext([]))
        actions = await editor.client.text_document_code_action_async(asked)
        edits = [action.edit for action in actions if isinstance(action, lsp.CodeAction) and action.edit]
        assert [one.code for one in found] == ["LC265"] and len(edits) == 1
        ((edit,),) = edits[0].changes.values()
        assert edit.new_text != file.read_text() and await editor.changed(file, edit.new_text, 2) == []
        # lsprotocol 2025.0 reads an action with a command as that command, with an object for a name.
        assert any(
            "layoutcheck.trace" in action.command for action in actions if isinstance(action, lsp.Command)
        )


@pytest.mark.sweep
@asking
@pytest.mark.parametrize("editor_name", ["neovim@v0.6.1", "neovim@v0.11"])
async def test_a_trace_is_shown_and_its_repair_is_applied(tmp_path: Path, editor_name: str) -> None:
    """The program is run for the commands only; what they say stays at its lines while the user types."""
    pytest.importorskip("cutlass", reason="tracing needs nvidia-cutlass-dsl")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    async with server(editor=editor_name) as editor:
        assert await editor.opened(file) == []
        assert await hints(editor, file) == {}
        await editor.told("layoutcheck.trace", file)
        (shown,) = editor.client.progress_reports.values()
        kinds = [one.kind for one in shown]
        assert kinds[0] == "begin" and kinds[-1] == "end" and shown[-2].message == "1 kernel, 1 copy"
        found = await editor.until_one(file, "LC102")
        assert {one.range.start.line + 1 for one in found} == {COPY}
        pointed = lsp.HoverParams(at(file), lsp.Position(COPY - 1, 6))
        hover = await editor.client.text_document_hover_async(pointed)
        assert "rejected" in hover.contents.value and "128 bits" in hover.contents.value
        said = await hints(editor, file)
        lines = PROGRAM.splitlines()
        assert "rejected" in said[COPY]
        assert any("local_tile" in lines[at - 1] and "(64,64)" in text for at, text in said.items())
        assert any(lines[at - 1].strip() == ")" and "128 launched" in text for at, text in said.items())
        moved = await editor.changed(file, "\n\n" + PROGRAM, 2)
        assert [one.code for one in moved] == [one.code for one in found]
        assert {one.range.start.line + 1 for one in moved} == {COPY + 2}
        edited = PROGRAM.replace("    cute.copy(", "    pass; cute.copy(")
        assert await editor.changed(file, edited, 3) == []
        await editor.changed(file, PROGRAM, 4)
        await editor.told("layoutcheck.repair", file)
        ((edit,),) = editor.edits[0].changes.values()
        file.write_text(edit.new_text)
    assert run(["trace", "--no-launch", str(file)]) == 0


@pytest.mark.sweep
@asking
async def test_a_watched_program_is_traced_again_when_its_file_is_saved(tmp_path: Path) -> None:
    pytest.importorskip("cutlass", reason="tracing needs nvidia-cutlass-dsl")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    async with server("--watch", str(file)) as editor:
        await editor.opened(file)
        found = await editor.until_one(file, "LC102")  # the text's own findings come before the trace's
        mended = PROGRAM.replace("stride=(1, 64)", "stride=(64, 1)")
        file.write_text(mended)
        assert await editor.changed(file, mended, 2) == found  # the last trace's, until the file is saved
        editor.client.text_document_did_save(lsp.DidSaveTextDocumentParams(at(file)))
        await editor.until_one(file, None)


def at(file: Path) -> lsp.TextDocumentIdentifier:
    return lsp.TextDocumentIdentifier(file.as_uri())


async def hints(editor: Editor, file: Path) -> dict[int, str]:
    """The inlay hints of a file, by line."""
    found = await editor.client.text_document_inlay_hint_async(lsp.InlayHintParams(at(file), WHOLE))
    return {one.position.line + 1: str(one.label) for one in found}


def test_without_pygls_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["server", "--watch", "no-such-file.py"]) == 2
    assert "no script" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "layoutcheck.editor.server", raising=False)
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    assert run(["server"]) == 2
    assert "pip install 'layoutcheck[lsp]'" in capsys.readouterr().err
