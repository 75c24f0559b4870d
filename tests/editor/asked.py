"""The language server's process, as pytest-lsp starts and asks it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

SECONDS = 120


def asking(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that asks a server, run to its end: pytest-asyncio would look at each test of all files."""

    @wraps(test)
    def run(*args: Any, **given: Any) -> None:
        asyncio.run(test(*args, **given))

    return run


class Editor:
    """An editor that keeps the edits which the server has it make."""

    def __init__(self, client: LanguageClient, edits: list[lsp.WorkspaceEdit]) -> None:
        self.client, self.edits = client, edits

    @property
    def process(self) -> int:
        """The id of the server's process."""
        assert self.client._server is not None
        return self.client._server.pid

    async def opened(self, file: Path) -> list[lsp.Diagnostic]:
        """Open a file; its diagnostics."""
        item = lsp.TextDocumentItem(file.as_uri(), "python", 1, file.read_text())
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.published(file)

    async def changed(self, file: Path, text: str, version: int) -> list[lsp.Diagnostic]:
        """Replace the text of an open file; its diagnostics."""
        document = lsp.VersionedTextDocumentIdentifier(version, file.as_uri())
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))
        return await self.published(file)

    async def published(self, file: Path) -> list[lsp.Diagnostic]:
        """The next diagnostics of a file."""
        while True:
            coming = self.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
            told = await asyncio.wait_for(coming, SECONDS)
            if told.uri == file.as_uri():
                return list(told.diagnostics)

    async def until_one(self, file: Path, code: str | None) -> list[lsp.Diagnostic]:
        """A file's diagnostics as soon as one has this code; with None, as soon as there are none."""
        found = list(self.client.diagnostics.get(file.as_uri(), ()))
        while not any(one.code == code for one in found) if code else found:
            found = await self.published(file)
        return found

    async def told(self, command: str, file: Path) -> None:
        """Have a command of the server run on a file."""
        params = lsp.ExecuteCommandParams(command, [file.as_uri()])
        await asyncio.wait_for(self.client.workspace_execute_command_async(params), SECONDS)


@asynccontextmanager
async def server(*options: str, editor: str = "neovim") -> AsyncIterator[Editor]:
    """The server, asked as the editor of this name asks: with its capabilities.

    After "shutdown" and "exit" its status is 0.
    """
    edits: list[lsp.WorkspaceEdit] = []

    def made() -> LanguageClient:
        client = make_test_lsp_client()

        @client.feature(lsp.WORKSPACE_APPLY_EDIT)
        def _(params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
            edits.append(params.edit)
            return lsp.ApplyWorkspaceEditResult(applied=True)

        @client.feature(lsp.WORKSPACE_INLAY_HINT_REFRESH)
        def _(_: Any) -> None:
            pass

        return client

    command = [sys.executable, "-m", "layoutcheck", "server", *options]
    client = await ClientServerConfig(command, client_factory=made).start()
    await client.initialize_session(lsp.InitializeParams(client_capabilities(editor)))
    yield Editor(client, edits)
    await client.shutdown_session()
    await client.stop()
    assert client._server is not None and client._server.returncode == 0
