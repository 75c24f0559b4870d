"""The language server over standard input and output.

Static findings follow every keystroke. What a trace says comes from the last one: the command
`layoutcheck.trace` runs the file without a launch, `layoutcheck.repair` applies the edits that tracing the
edited program proves. No program is run for anything else.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from layoutcheck import tracing
from layoutcheck.cells import SUFFIX
from layoutcheck.digits import many
from layoutcheck.dsl.trace import Ended
from layoutcheck.editor.seen import Lines, Moved, lines_of
from layoutcheck.errors import InputError
from layoutcheck.lint.analyse import analyse
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.fixing import proven
from layoutcheck.lint.notebook import without_magics
from layoutcheck.regular import source_lines
from layoutcheck.settings import Settings, find
from layoutcheck.versions import own

TRACE, REPAIR = "layoutcheck.trace", "layoutcheck.repair"
_PAUSE_SECONDS = 0.005
_SEVERITY = {
    "rejected": lsp.DiagnosticSeverity.Error,
    "wrong": lsp.DiagnosticSeverity.Error,
    "slow": lsp.DiagnosticSeverity.Warning,
}


class Server(LanguageServer):
    """Open documents, what was read of them, and the last trace of each file."""

    def __init__(self, watched: str | None = None) -> None:
        super().__init__("layoutcheck", own(), text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.watched = str(Path(watched).resolve()) if watched else None
        self.traced: dict[str, Lines] = {}  # by path
        self.scripts: dict[str, frozenset[str]] = {}  # a traced script -> the files that it imported
        self.read: dict[str, tuple[LintFinding, ...]] = {}  # by uri
        self.changed: set[str] = set()  # uris that are shown soon
        self.running = threading.Lock()
        self.ending = threading.Event()

    def settings_of(self, path: str) -> Settings:
        """The project's settings; the defaults where they cannot be used."""
        try:
            return find(Path(path).parent)
        except InputError as error:
            self._say(str(error), lsp.MessageType.Error)
            return Settings()

    def show_soon(self, uri: str) -> None:
        """Show a document, once for all changes that wait to be read: some machines are slower than keys."""
        if uri not in self.changed:
            self.changed.add(uri)
            asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self._show_changed, uri)

    def _show_changed(self, uri: str) -> None:
        self.changed.discard(uri)
        if uri in self.opened():
            self.show(uri)

    def opened(self) -> dict[str, TextDocument]:
        """The open documents by their addresses; the workspace names them with `%20` undone."""
        return {one.uri: one for one in self.workspace.text_documents.values()}

    def lines(self, uri: str) -> list[str]:
        """The lines of a document; of one that is not open, none."""
        document = self.opened().get(uri)
        return [] if document is None else source_lines(document.source)

    def show(self, uri: str) -> None:
        """Send what is known of a document."""
        document = self.workspace.get_text_document(uri)
        path, source = path_of(uri), document.source
        settings = self.settings_of(path)
        reading = analyse(*_python(path, source))
        self.read[uri] = tuple(one for one in reading.findings if settings.selected(one.code, path))
        lines = source_lines(source)
        found = [_of_finding(one, lines) for one in self.read[uri]]
        seen = self.traced.get(path)
        if seen is not None:
            moved = Moved(seen.before, lines)
            static = {(one.line, one.code) for one in self.read[uri]}
            for said in seen.said:
                line = moved.line(said.line)
                if line is None or (line, said.code) in static or not settings.selected(said.code, path):
                    continue
                found.append(_diagnostic(line, said.column, lines, said.severity, said.code, said.message))
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, found, version=document.version)
        )

    def shutdown(self) -> None:
        """End the script that is run; the thread that reads the input is not waited for."""
        self.ending.set()
        with self.running:
            self.thread_pool.shutdown(wait=False)

    @contextmanager
    def working(self, title: str, path: str) -> Iterator[tracing.Script]:
        """What is run of a file, its progress shown. It ends with the server, or if the editor cancels it."""
        token, editor = str(uuid.uuid4()), self.work_done_progress
        window = self.client_capabilities.window
        asked = editor.create(token) if window and window.work_done_progress else None
        told: list[str] = []

        def progress(kernels: int, copies: int) -> None:
            if self.ending.is_set():
                raise Ended("the server ended")
            if asked is None or not asked.done() or asked.exception() is not None:  # it has not agreed
                return
            if not told:
                begin = lsp.WorkDoneProgressBegin(f"{title} {Path(path).name}", cancellable=True)
                editor.begin(token, begin)
            if editor.tokens[token].cancelled():
                raise Ended("the editor cancelled it")
            said = f"{many(kernels, 'kernel')}, {many(copies, 'copy', 'copies')}"
            if said not in told[-1:]:
                told.append(said)
                editor.report(token, lsp.WorkDoneProgressReport(message=said))

        try:
            yield tracing.Script(path, launch=False, progress=progress)
        finally:
            if told and not self.ending.is_set():
                editor.end(token, lsp.WorkDoneProgressEnd())

    def trace(self, path: str) -> None:
        """Run a script without a launch and show what its kernels' copies are. One at a time."""
        with self.running:
            self._say(f"tracing {path}", lsp.MessageType.Log)
            try:
                with self.working("tracing", path) as script:
                    judged = tracing.traced(script)
            except InputError as error:
                self._say(str(error), lsp.MessageType.Error)
                return
            if self.ending.is_set():
                return
            self.traced.update(lines_of(judged))
            self.scripts[path] = frozenset({path, *judged.trace.imported, *self.traced})
            name = Path(path).name
            verdicts = ", ".join(f"{count} {name}" for name, count in judged.verdicts().items())
            self._say(f"{name}: {verdicts or 'no copies'}", lsp.MessageType.Info)
            for one in judged.broken:
                self._say(f"{name}: {one.kind}: {one.message}", lsp.MessageType.Warning)
            if not (judged.trace.kernels or judged.trace.failures):
                self._say(f"{name} compiled no kernel", lsp.MessageType.Warning)
        for uri in list(self.read):
            self.show(uri)
        workspace = self.client_capabilities.workspace
        if workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    def repair(self, path: str) -> None:
        """Find edits, each proven by tracing the program with it, and have the editor make them."""
        with self.running:
            try:
                with self.working("repairing", path) as script:
                    found = tracing.repaired(script)
            except InputError as error:
                self._say(str(error), lsp.MessageType.Error)
                return
        if self.ending.is_set():
            return
        changes = {}
        open_ = {path_of(uri): uri for uri in self.opened()}
        for name, text in found.after.items():
            if text == found.before[name]:
                continue
            uri = open_.get(name, Path(name).as_uri())
            if name in open_ and self.workspace.get_text_document(uri).source != found.before[name]:
                self._say(
                    f"{name} is not saved as it was traced: nothing is changed", lsp.MessageType.Warning
                )
                return
            changes[uri] = [lsp.TextEdit(whole(found.before[name]), text)]
        if changes:
            edit = lsp.WorkspaceEdit(changes=changes)
            self.workspace_apply_edit(lsp.ApplyWorkspaceEditParams(edit, "layoutcheck: proven by tracing"))
        for one in found.repairs:
            self._say(f"{one.where}: {one.title}", lsp.MessageType.Info)
        for left in found.sketches:
            self._say(f"{left.where}: not repaired: {left.reason}", lsp.MessageType.Warning)

    def saved(self, path: str) -> list[str]:
        """The scripts that `--watch` traces again when this file is saved."""
        if self.watched is None:
            return []
        files = self.scripts.get(self.watched)
        return [self.watched] if files is None or path in files else []

    def _say(self, message: str, kind: lsp.MessageType) -> None:
        self.window_log_message(lsp.LogMessageParams(kind, f"layoutcheck: {message}"))
        if kind in (lsp.MessageType.Error, lsp.MessageType.Warning):
            self.window_show_message(lsp.ShowMessageParams(kind, f"layoutcheck: {message}"))


def serve(watched: str | None) -> None:
    """Speak the protocol on standard input and output until it ends; prints go to standard error."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out, redirect_stdout(sys.stderr):
        made(watched).start_io(stdout=out)


def _heed_signals() -> None:
    """Have a signal wake the event loop, also one that comes as the loop begins to wait."""
    woken, waking = socket.socketpair()
    waking.setblocking(False)
    asyncio.get_running_loop().add_reader(woken, lambda: woken.recv(1))
    signal.set_wakeup_fd(waking.detach())


def made(watched: str | None) -> Server:
    """A server with its features."""
    server = Server(watched)
    _follow(server)
    _answer(server)

    @server.thread()
    @server.command(TRACE)
    def trace(uri: str) -> None:
        server.trace(path_of(uri))

    @server.thread()
    @server.command(REPAIR)
    def repair(uri: str) -> None:
        server.repair(path_of(uri))

    return server


def _follow(server: Server) -> None:
    """Read and trace files as they are opened, changed and saved."""

    @server.feature(lsp.INITIALIZE)
    def initialize(_: Any) -> None:
        _heed_signals()

    @server.feature(lsp.INITIALIZED)
    def initialized(_: Any) -> None:
        if server.watched is not None:
            _in_background(server.trace, server.watched)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.show(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.show_soon(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        for script in server.saved(path_of(params.text_document.uri)):
            _in_background(server.trace, script)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.read.pop(params.text_document.uri, None)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))


def _answer(server: Server) -> None:
    """Say what is known of a file, where the editor asks."""

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        seen, moved = _seen(server, params.text_document.uri)
        wanted = params.position.line + 1
        reports = [
            report
            for line, found in (seen.reports.items() if seen else ())
            if moved.line(line) == wanted
            for report in found
        ]
        if not reports:
            return None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n\n---\n\n".join(reports)))

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        uri = params.text_document.uri
        seen, moved = _seen(server, uri)
        lines = server.lines(uri)
        found = []
        for line, text in seen.hints.items() if seen else ():
            now = moved.line(line)
            if now is not None and params.range.start.line < now <= params.range.end.line + 1:
                place = lsp.Position(now - 1, _units(lines[now - 1]))
                found.append(lsp.InlayHint(place, text, padding_left=True))
        return found

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION)
    def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return _actions(server, params)


def _actions(server: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The static repairs that reading the changed text again proves, a trace, and the traced repairs."""
    uri = params.text_document.uri
    if uri not in server.opened():
        return []
    path, source = path_of(uri), server.workspace.get_text_document(uri).source
    first, last = params.range.start.line + 1, params.range.end.line + 1
    found = []
    for one in server.read.get(uri, ()):
        if first <= one.line <= last:
            changed = proven(source.encode("utf-8", "surrogatepass"), _python(path, source)[1], one)
            if changed is not None:
                text, title = changed[0].decode("utf-8", "surrogatepass"), changed[1]
                edit = lsp.WorkspaceEdit(changes={uri: [lsp.TextEdit(whole(source), text)]})
                found.append(lsp.CodeAction(f"{one.code}: {title}", lsp.CodeActionKind.QuickFix, edit=edit))
    trace = lsp.Command("run and trace this file (no launch)", TRACE, arguments=[uri])
    found.append(lsp.CodeAction(f"layoutcheck: {trace.title}", lsp.CodeActionKind.Source, command=trace))
    seen = server.traced.get(path)
    if seen is not None and seen.failing:
        repair = lsp.Command("repair its copies; each edit is proven by tracing", REPAIR, arguments=[uri])
        found.append(
            lsp.CodeAction(f"layoutcheck: {repair.title}", lsp.CodeActionKind.QuickFix, command=repair)
        )
    return found


def _seen(server: Server, uri: str) -> tuple[Lines | None, Moved]:
    seen = server.traced.get(path_of(uri))
    lines = server.lines(uri)
    return seen, Moved(seen.before if seen else lines, lines)


def _in_background(work: Any, argument: str) -> None:
    threading.Thread(target=work, args=(argument,), daemon=True).start()


def _of_finding(one: LintFinding, lines: list[str]) -> lsp.Diagnostic:
    message = f"{one.title}. {one.message}".strip()
    return _diagnostic(
        one.line, one.column, lines, one.severity, one.code, message, one.end_line, one.end_column
    )


def _diagnostic(
    line: int, column: int, lines: list[str], severity: str, code: str, message: str,
    end_line: int = 0, end_column: int = 0,
) -> lsp.Diagnostic:  # fmt: skip
    """A message at characters that count from 1; without an end it reaches to the end of the line."""
    begin = _position(lines, line, max(1, column))
    end = _position(lines, end_line, end_column) if end_line else _position(lines, line, 1 << 20)
    return lsp.Diagnostic(
        lsp.Range(begin, end), message, _SEVERITY.get(severity, lsp.DiagnosticSeverity.Information), code,
        source="layoutcheck",
    )  # fmt: skip


def _position(lines: list[str], line: int, column: int) -> lsp.Position:
    """The protocol's place of a character: it counts from 0, and columns in UTF-16 units."""
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return lsp.Position(max(0, line - 1), _units(text[: column - 1]))


def _python(path: str, source: str) -> tuple[bytes, str]:
    """What is read of a document, and its name; an editor opens each cell of a notebook as a document."""
    if path.endswith(SUFFIX):
        path, source = f"{path}.py", without_magics(source)
    return source.encode("utf-8", "surrogatepass"), path


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def whole(text: str) -> lsp.Range:
    """The range of a whole document."""
    lines = source_lines(f"{text}.")  # so that the last one is there if it is empty
    return lsp.Range(lsp.Position(0, 0), lsp.Position(len(lines) - 1, _units(lines[-1]) - 1))


def path_of(uri: str) -> str:
    """The path of a file's address."""
    return unquote(urlparse(uri).path)
