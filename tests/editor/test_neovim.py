"""The language server in neovim (0.7 or later), headless."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.editor.test_server import STATIC

pytest.importorskip("pygls", reason="the language server needs pygls")

SCRIPT = """
local out = {}
local id = vim.lsp.start_client({ name = "layoutcheck", cmd = { PYTHON, "-m", "layoutcheck", "server" } })
vim.lsp.buf_attach_client(0, id)
local function wait(test) assert(vim.wait(60000, test, 50), "nothing came") end
wait(function() return #vim.diagnostic.get(0) == 1 end)
local found = vim.diagnostic.get(0)[1]
out.code, out.line, out.message = found.code, found.lnum + 1, found.message
local line = vim.api.nvim_buf_get_lines(0, found.lnum, found.lnum + 1, false)[1]
out.at = line:sub(found.col + 1, found.col + 9)
vim.api.nvim_buf_set_lines(0, 8, 9, false, { "    if True:" })
wait(function() return #vim.diagnostic.get(0) == 0 end)
out.left = #vim.diagnostic.get(0)
vim.fn.writefile({ vim.fn.json_encode(out) }, RESULT)
vim.cmd("qall!")
"""


@pytest.mark.sweep
def test_neovim_shows_the_findings_and_follows_the_text(tmp_path: Path) -> None:
    nvim = shutil.which("nvim")
    if nvim is None:
        pytest.skip("no neovim on this machine")
    file, result, script = tmp_path / "kernel.py", tmp_path / "out.json", tmp_path / "run.lua"
    file.write_text(STATIC)
    values = {"PYTHON": sys.executable, "RESULT": str(result)}
    constants = "".join(f"local {name} = {json.dumps(value)}\n" for name, value in values.items())
    script.write_text(constants + SCRIPT)
    done = subprocess.run(
        [nvim, "--headless", "--clean", str(file), "-c", f"luafile {script}", "-c", "cquit"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert result.is_file(), done.stdout + done.stderr
    seen = json.loads(result.read_text())
    assert (seen["code"], seen["line"], seen["at"], seen["left"]) == ("LC263", 10, "cute.copy", 0)
