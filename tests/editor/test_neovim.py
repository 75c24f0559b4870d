"""The language server in neovim (0.7 or later), headless."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.cli import run
from tests.editor.test_server import COPY, PROGRAM, SOURCES, STATIC

pytest.importorskip("pygls", reason="the language server needs pygls")
NVIM = shutil.which("nvim")
pytestmark = pytest.mark.skipif(NVIM is None, reason="no neovim on this machine")

PAGE = (Path(__file__).parents[2] / "docs" / "editor.md").read_text()
INITIAL = PAGE.partition('```lua title="init.lua"\n')[2].partition("```")[0]  # as a user would have it
STARTED = """
local out = {}
vim.cmd("doautocmd FileType python")
local function wait(test) assert(vim.wait(100000, test, 50), "nothing came") end
local function one(code)
  wait(function() local found = vim.diagnostic.get(0); return found[1] and found[1].code == code end)
  return vim.diagnostic.get(0)[1]
end
local function none() wait(function() return #vim.diagnostic.get(0) == 0 end) end
wait(function() local client = vim.lsp.get_active_clients()[1]; return client and client.initialized end)
local id = vim.lsp.get_active_clients()[1].id
local function run(command)
  local params = { command = command, arguments = { vim.uri_from_bufnr(0) } }
  vim.lsp.buf_request(0, "workspace/executeCommand", params, function() end)
end
"""
ENDED = """
out.text = vim.api.nvim_buf_get_lines(0, 0, -1, false)
vim.fn.writefile({ vim.fn.json_encode(out) }, RESULT)
vim.cmd("qall!")
"""


def seen(folder: Path, text: str, script: str) -> dict[str, Any]:
    """What a script in neovim notes in `out` while it edits this text."""
    file, result, lua = folder / "kernel.py", folder / "out.json", folder / "run.lua"
    file.write_text(text)
    lua.write_text(f"local RESULT = {json.dumps(str(result))}\n{INITIAL}{STARTED}{script}{ENDED}")
    done = subprocess.run(
        [str(NVIM), "--headless", "--clean", str(file), "-c", f"luafile {lua}", "-c", "cquit"],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip
    assert result.is_file(), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(result.read_text())
    return found


def test_it_shows_the_findings_and_follows_the_text(tmp_path: Path) -> None:
    script = """
local found = one("LC263")
out.line = found.lnum + 1
local line = vim.api.nvim_buf_get_lines(0, found.lnum, found.lnum + 1, false)[1]
out.at = line:sub(found.col + 1, found.col + 9)
vim.api.nvim_buf_set_lines(0, 8, 9, false, { "    if True:" })
none()
"""
    out = seen(tmp_path, STATIC, script)
    assert (out["line"], out["at"]) == (10, "cute.copy")


@pytest.mark.sweep
def test_it_applies_a_repair_of_the_text(tmp_path: Path) -> None:
    pytest.importorskip("libcst")
    script = """
one("LC265")
local params = vim.lsp.util.make_given_range_params({ 1, 0 }, { 14, 0 })
params.context = { diagnostics = {} }
local answers = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 60000)
for _, action in ipairs(answers[id].result) do
  if action.edit then vim.lsp.util.apply_workspace_edit(action.edit, "utf-16") end
end
none()
"""
    out = seen(tmp_path, (SOURCES / "cache_global_64.py").read_text(), script)
    assert "        cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.ALWAYS),  # LC265" in out["text"]


@pytest.mark.sweep
def test_it_shows_a_trace_and_makes_its_repair(tmp_path: Path) -> None:
    pytest.importorskip("cutlass", reason="tracing needs nvidia-cutlass-dsl")
    script = """
run("layoutcheck.trace")
out.line = one("LC102").lnum + 1
local before = vim.api.nvim_buf_get_changedtick(0)
run("layoutcheck.repair")
wait(function() return vim.api.nvim_buf_get_changedtick(0) > before end)
"""
    out = seen(tmp_path, PROGRAM, script)
    assert out["line"] == COPY
    mended = tmp_path / "mended.py"
    mended.write_text("\n".join(out["text"]) + "\n")
    assert run(["trace", "--no-launch", str(mended)]) == 0
