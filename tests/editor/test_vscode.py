"""The VS Code extension: its commands are the server's, and npm builds it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "docs" / "vscode"
SERVER = Path(__file__).parent.parent.parent / "layoutcheck" / "editor" / "server.py"


def test_its_commands_are_those_of_the_server() -> None:
    package = json.loads((FOLDER / "package.json").read_text())
    script = (FOLDER / "extension.js").read_text()
    palette = {one["command"] for one in package["contributes"]["commands"]}
    assert palette == set(re.findall(r'registerCommand\("([\w.]+)"', script))
    found = re.search(r'TRACE, REPAIR = "([\w.]+)", "([\w.]+)"', SERVER.read_text())
    assert found is not None and set(found.groups()) == set(re.findall(r'ask\("([\w.]+)"\)', script))
    assert package["contributes"]["configuration"]["properties"]["layoutcheck.command"]["default"] == [
        "layoutcheck",
        "server",
    ]


@pytest.mark.sweep
def test_npm_builds_it(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm on this machine")
    ignored = shutil.ignore_patterns("node_modules", "dist", "package-lock.json")
    folder = Path(shutil.copytree(FOLDER, tmp_path / "vscode", ignore=ignored))
    got = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, text=True, check=False
    )
    if got.returncode and "ENOTFOUND" in got.stderr:
        pytest.skip("npm's registry is out of reach")
    built = subprocess.run([npm, "run", "build"], cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, got.stderr + built.stderr
    assert "layoutcheck.trace" in (folder / "dist" / "extension.js").read_text()
