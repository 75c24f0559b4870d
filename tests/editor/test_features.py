"""What the language server shows of a trace, and offers: its features called without an editor or a trace."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls")
from lsprotocol import types as lsp
from pygls.workspace import Workspace

from layoutcheck import tracing
from layoutcheck.dsl.trace import Ended
from layoutcheck.editor.seen import Lines, Said
from layoutcheck.editor.server import REPAIR, TRACE, Server, made, whole
from layoutcheck.lint.analyse import analyse
from layoutcheck.patching.repaired import Repaired
from layoutcheck.reports.trace import JudgedTrace
from layoutcheck.sources.traced import Frame, Trace, TraceFailure

TEXT = "import cutlass\nfrom cutlass import cute\ncute.copy(atom, a, b)  # \U0001f4a5\n"
COPY = 3


@pytest.fixture
def server(tmp_path: Path) -> tuple[Server, str, Path]:
    """A server with one open file, whose last trace has a rejected copy in its third line."""
    file = tmp_path / "my kernel.py"  # a space is %20 in its address
    file.write_text(TEXT)
    found = made(str(file))
    found.protocol._workspace = Workspace(None)
    found.workspace.put_text_document(lsp.TextDocumentItem(file.as_uri(), "python", 1, TEXT))
    seen = Lines(TEXT.splitlines(), [Said(COPY, 1, "rejected", "LC102", "not adjacent")])
    seen.hints[COPY] = "rejected, 128 bits"
    seen.reports[COPY].append("rejected[LC102]: the whole report")
    found.traced[str(file)] = seen
    found.protocol.client_capabilities = lsp.ClientCapabilities()
    return found, file.as_uri(), file


def ask(server: Server, feature: str, params: Any) -> Any:
    return server.protocol.fm.features[feature](params)


def test_the_report_is_shown_where_the_pointer_is(server: tuple[Server, str, Path]) -> None:
    found, uri, _ = server
    for line, there in ((COPY - 1, True), (COPY - 2, False)):
        at = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(line, 4))
        hover = ask(found, lsp.TEXT_DOCUMENT_HOVER, at)
        assert (hover is not None) == there
        assert hover is None or hover.contents.value == "rejected[LC102]: the whole report"


def test_hints_stand_at_the_ends_of_their_lines(server: tuple[Server, str, Path]) -> None:
    found, uri, _ = server
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(9, 0))
    asked = lsp.InlayHintParams(lsp.TextDocumentIdentifier(uri), whole)
    (hint,) = ask(found, lsp.TEXT_DOCUMENT_INLAY_HINT, asked)
    assert hint.label == "rejected, 128 bits"
    # UTF-16, as the protocol counts: the last character is two units
    assert (hint.position.line, hint.position.character) == (COPY - 1, len(TEXT.splitlines()[COPY - 1]) + 1)


def test_a_repair_is_offered_where_a_trace_failed(server: tuple[Server, str, Path]) -> None:
    found, uri, file = server
    place = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    asked = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), place, lsp.CodeActionContext([]))

    def offered() -> list[str]:
        actions = ask(found, lsp.TEXT_DOCUMENT_CODE_ACTION, asked)
        return [one.command.command for one in actions if one.command]

    assert offered() == [TRACE, REPAIR]
    found.traced[str(file)].said.clear()
    assert offered() == [TRACE]


def test_a_static_repair_is_offered_at_its_line(server: tuple[Server, str, Path]) -> None:
    pytest.importorskip("libcst", reason="edits of text need libcst")
    found, _, file = server
    text = (Path(__file__).parents[1] / "lint" / "sources" / "cache_global_64.py").read_text()
    other = file.with_name("other.py").as_uri()
    found.workspace.put_text_document(lsp.TextDocumentItem(other, "python", 1, text))
    sent: list[lsp.PublishDiagnosticsParams] = []
    found.text_document_publish_diagnostics = sent.append  # type: ignore[method-assign]
    found.show(other)
    (finding,) = sent[0].diagnostics
    for line, offers in ((finding.range.start.line, 1), (0, 0)):
        place = lsp.Range(lsp.Position(line, 0), lsp.Position(line, 0))
        asked = lsp.CodeActionParams(lsp.TextDocumentIdentifier(other), place, lsp.CodeActionContext([]))
        edits = [one.edit for one in ask(found, lsp.TEXT_DOCUMENT_CODE_ACTION, asked) if one.edit]
        assert len(edits) == offers and all(list(edit.changes) == [other] for edit in edits)


def test_a_watched_program_is_traced_for_its_own_files_alone(server: tuple[Server, str, Path]) -> None:
    found, _, file = server
    helper = str(file.with_name("helper.py"))
    assert found.saved(helper) == [str(file)]  # nothing is known yet of what it imports
    found.scripts[str(file)] = frozenset({str(file), helper})
    assert found.saved(helper) == found.saved(str(file)) == [str(file)]
    assert found.saved(str(file.with_name("another.py"))) == []
    found.watched = None
    assert found.saved(str(file)) == []


def test_a_repair_changes_no_text_but_the_one_it_was_proven_on(
    server: tuple[Server, str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, uri, file = server
    monkeypatch.setattr(tracing, "repaired", lambda _: Repaired({str(file): TEXT}, {str(file): "repaired\n"}))
    applied: list[lsp.ApplyWorkspaceEditParams] = []
    said: list[str] = []
    found.workspace_apply_edit = applied.append  # type: ignore[assignment, method-assign]
    found._say = lambda message, _: said.append(message)  # type: ignore[method-assign]
    found.repair(str(file))
    (one,) = applied
    assert one.edit.changes == {uri: [lsp.TextEdit(whole(TEXT), "repaired\n")]} and not said
    unsaved = lsp.TextDocumentItem(uri, "python", 2, f"{TEXT}# written since\n")
    found.workspace.put_text_document(unsaved)
    found.repair(str(file))
    assert len(applied) == 1 and "not saved as it was traced" in said[0]


def test_a_file_that_was_gone_when_it_was_traced_has_no_hints(server: tuple[Server, str, Path]) -> None:
    found, uri, file = server
    found.traced[str(file)].before = []
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(9, 0))
    asked = lsp.InlayHintParams(lsp.TextDocumentIdentifier(uri), whole)
    assert ask(found, lsp.TEXT_DOCUMENT_INLAY_HINT, asked) == []
    at = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(COPY - 1, 4))
    assert ask(found, lsp.TEXT_DOCUMENT_HOVER, at) is None


def test_lines_that_end_as_on_windows_tabs_and_wide_letters(server: tuple[Server, str, Path]) -> None:
    """A file outside of any folder that was opened; its static repair keeps what it does not touch."""
    pytest.importorskip("libcst", reason="edits of text need libcst")
    found = server[0]
    statement = (
        "return cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), "
        "cutlass.Float32, num_bits_per_copy=64)"
    )
    imports = ("import cutlass", "from cutlass import cute", "from cutlass.cute.nvgpu import cpasync")
    (plain,) = analyse("\n".join((*imports, "def atom():", f"    {statement}")).encode(), "k.py").findings
    wide = (*imports, "def atom():", f"    '\U0001f4a5\t'; {statement}")
    text = "\r\n".join(wide) + "\r\n"
    other = Path("/nowhere/at/all/kernel.py").as_uri()
    found.workspace.put_text_document(lsp.TextDocumentItem(other, "python", 1, text))
    sent: list[lsp.PublishDiagnosticsParams] = []
    found.text_document_publish_diagnostics = sent.append  # type: ignore[method-assign]
    found.show(other)
    (shown,) = sent[0].diagnostics
    at, column = plain.line - 1, plain.column - 1 + len("'xx\t'; ")  # the letter is two units, the tab one
    assert (shown.range.start.line, shown.range.start.character) == (at, column)
    place = lsp.Range(lsp.Position(at, 0), lsp.Position(at, 0))
    asked = lsp.CodeActionParams(lsp.TextDocumentIdentifier(other), place, lsp.CodeActionContext([]))
    (edit,) = [one.edit for one in ask(found, lsp.TEXT_DOCUMENT_CODE_ACTION, asked) if one.edit]
    ((change,),) = edit.changes.values()
    assert change.range == whole(text) and change.new_text.count("\r\n") == change.new_text.count(
        "\n"
    ) == len(wide)


@pytest.mark.parametrize(
    ("text", "end"), [("", (0, 0)), ("a\n", (1, 0)), ("a\rb", (1, 1)), ("a\x0cb", (0, 3))]
)
def test_the_range_of_a_document_ends_where_the_editor_ends_it(text: str, end: tuple[int, int]) -> None:
    assert whole(text).end == lsp.Position(*end)


@pytest.mark.parametrize(
    ("failures", "told", "codes"),
    [
        (("raised", "KeyError: 'a'"), ["my kernel.py: raised: KeyError: 'a'"], ["LC911"]),
        ((), ["my kernel.py compiled no kernel"], []),
    ],
)
def test_a_trace_that_shows_nothing_says_why(
    server: tuple[Server, str, Path], failures: tuple[str, ...], told: list[str], codes: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    found, uri, file = server
    broken = (TraceFailure(*failures, Frame(str(file), 2)),) if failures else ()
    judged = JudgedTrace(Trace(failures=broken), ())
    monkeypatch.setattr(tracing, "traced", lambda _: judged)
    said: list[str] = []
    published: list[lsp.PublishDiagnosticsParams] = []
    monkeypatch.setattr(found, "window_show_message", lambda params: said.append(params.message))
    monkeypatch.setattr(found, "window_log_message", lambda _: None)
    monkeypatch.setattr(found, "text_document_publish_diagnostics", published.append)
    found.traced.clear()
    found.trace(str(file))
    assert [one.removeprefix("layoutcheck: ") for one in said] == told
    found.show(uri)
    assert [(one.code, one.range.start.line) for one in published[-1].diagnostics if one.code != "LC912"] == [
        (code, 1) for code in codes
    ]


@pytest.mark.parametrize("shown", [True, False])
def test_work_shows_how_far_it_is_and_can_be_cancelled(
    server: tuple[Server, str, Path], monkeypatch: pytest.MonkeyPatch, shown: bool
) -> None:
    found, _, file = server
    window = lsp.WindowClientCapabilities(work_done_progress=shown)
    found.protocol.client_capabilities = lsp.ClientCapabilities(window=window)
    created: Future[None] = Future()
    created.set_result(None)
    sent: list[Any] = []
    monkeypatch.setattr(found.work_done_progress, "create", lambda _: created)
    monkeypatch.setattr(found.protocol, "notify", lambda _, params: sent.append(params.value))
    with found.working("tracing", str(file)) as script:
        assert script.progress is not None
        for _ in range(2):
            script.progress(1, 2)
        if shown:
            (token,) = found.work_done_progress.tokens.values()
            token.cancel()
        else:
            found.ending.set()
        with pytest.raises(Ended):
            script.progress(2, 2)
    told = [(one.kind, getattr(one, "title", None) or one.message) for one in sent]
    wanted = [("begin", "tracing my kernel.py"), ("report", "1 kernel, 2 copies"), ("end", None)]
    assert told == wanted * shown
    with found.working("tracing", str(file)):  # an editor that is slow to agree is not waited for
        pass
    assert len(sent) == len(told)


def test_changes_that_wait_are_shown_once(
    server: tuple[Server, str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not at all if the document was closed meanwhile."""
    found, uri, _ = server
    shown: list[str] = []
    monkeypatch.setattr(found, "show", shown.append)
    change = lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(2, uri), [])

    async def typed() -> None:
        for _ in range(5):
            ask(found, lsp.TEXT_DOCUMENT_DID_CHANGE, change)
        await asyncio.sleep(0.05)

    for wanted in ([uri], [uri] * 2):
        asyncio.run(typed())
        assert shown == wanted
    found.workspace.remove_text_document(uri)
    asyncio.run(typed())
    assert shown == [uri] * 2


def test_a_document_that_is_not_open_has_nothing(server: tuple[Server, str, Path]) -> None:
    """Not even a file: editors ask for a tab that is being closed, or was deleted."""
    found, uri, file = server
    gone = lsp.TextDocumentIdentifier(uri.replace("my", "no"))
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(9, 0))
    found.traced[str(file).replace("my", "no")] = found.traced[str(file)]
    assert ask(found, lsp.TEXT_DOCUMENT_HOVER, lsp.HoverParams(gone, lsp.Position(COPY - 1, 4))) is None
    assert ask(found, lsp.TEXT_DOCUMENT_INLAY_HINT, lsp.InlayHintParams(gone, whole)) == []
    asked = lsp.CodeActionParams(gone, whole, lsp.CodeActionContext([]))
    assert ask(found, lsp.TEXT_DOCUMENT_CODE_ACTION, asked) == []
