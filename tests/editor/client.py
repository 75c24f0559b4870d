"""A client of the language server: JSON-RPC on its standard input and output, and nothing of pygls.

pytest-lsp 1.0.1 drives a server through pygls' own client and lsprotocol's converters (looked at on
2026-11-23), so a fault of either would be on both sides. This client shares no code with the server.
Neovim is the second client.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

TIMEOUT_S = 120


class Client:
    """A server's process; requests it sends back are answered with null, edits are kept in `edits`."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "layoutcheck", "server", *options],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.edits: list[dict[str, Any]] = []
        self.diagnostics: dict[str, queue.Queue[list[dict[str, Any]]]] = {}
        self.answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self.said: list[str] = []
        self.next = 0
        self.lock = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Client:
        capabilities = {"workspace": {"applyEdit": True}}
        self.capabilities = self.ask(
            "initialize", {"processId": None, "rootUri": None, "capabilities": capabilities}
        )["capabilities"]
        self.tell("initialized", {})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request."""
        self.next += 1
        mine = self.next
        self.answers[mine] = queue.Queue()
        self._send({"jsonrpc": "2.0", "id": mine, "method": method, "params": params})
        answer = self.answers[mine].get(timeout=TIMEOUT_S)
        assert "error" not in answer, answer
        return answer.get("result")

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def opened(self, file: Path) -> list[dict[str, Any]]:
        """Open a file; its diagnostics."""
        uri = file.as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": file.read_text()}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return self.published(uri)

    def changed(self, file: Path, text: str, version: int) -> list[dict[str, Any]]:
        """Replace the text of an open file; its diagnostics."""
        uri = file.as_uri()
        self.tell(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]},
        )
        return self.published(uri)

    def published(self, uri: str) -> list[dict[str, Any]]:
        """The next diagnostics of a document."""
        return self._of(uri).get(timeout=TIMEOUT_S)

    def _of(self, uri: str) -> queue.Queue[list[dict[str, Any]]]:
        with self.lock:
            return self.diagnostics.setdefault(uri, queue.Queue())

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self.process.stdin.flush()

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            if not length:
                return
            message = json.loads(stream.read(length))
            if "method" not in message:
                self.answers[message["id"]].put(message)
            elif "id" in message:
                applied = message["method"] == "workspace/applyEdit"
                if applied:
                    self.edits.append(message["params"]["edit"])
                self._send(
                    {"jsonrpc": "2.0", "id": message["id"], "result": {"applied": True} if applied else None}
                )
            elif message["method"] == "textDocument/publishDiagnostics":
                params = message["params"]
                self._of(params["uri"]).put(params["diagnostics"])
            elif message["method"] == "window/logMessage":
                self.said.append(message["params"]["message"])
