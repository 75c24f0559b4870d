"""Every option of every command, in every mode of the command: it changes what happens, or it is refused.

The options of the commands are enumerated, so that a new one needs a value here. The request's options
(`explain`) are held to the same in test_request.py.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from layoutcheck import confirming, linting, tracing
from layoutcheck.cli import _COMMANDS, arguments, run
from layoutcheck.gpu.races import Races
from layoutcheck.judge import judge
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.run import Counts, Result
from layoutcheck.patching.repaired import Repaired
from layoutcheck.reports.confirmation import Confirmed
from layoutcheck.reports.trace import JudgedTrace
from layoutcheck.request import Request
from layoutcheck.sources.request import build
from layoutcheck.sources.traced import Frame, Trace, TracedCopy, distinct

SCRIPT = "from cutlass import cute\nif __name__ == '__main__': cute.compile(print)\n"
REQUEST = {one.name for one in fields(Request)}
PASTE = "TypeError: incompatible layout with swizzle"
SLOW = ["(32,64):(64,1)", "(32,64):(64,1)", "--atom", "universal", "--bits", "16", "--dtype", "f16", "--thr",
        "(32,8):(8,1)", "--val", "(1,1)"]  # fmt: skip

# Of each command the words of its modes: what may be left out is.
MODES: dict[str, dict[str, list[str]]] = {
    "explain": {"copy": SLOW, "case": ["--case", "issue-2320"], "paste": ["PASTE"], "program": ["PROGRAM"],
                "mma": ["--mma", "mma.m16n8k16.f32.bf16", "--a", "make_tiled_copy_B"]},
    "check": {"lines": ["--jsonl", "LINES"]},
    "lint": {"run": ["FOLDER"], "statistics": ["FOLDER", "--statistics"],
             "static": ["FOLDER", "--static"], "baseline": ["FOLDER", "--write-baseline", "NEW"],
             "fix": ["FOLDER", "--fix"]},
    "confirm": {"case": ["issue-2320"], "json": ["issue-2320", "--json"],
                "order": ["PROGRAM", "--order"]},
    "ci": {"run": ["FOLDER", "--yes"], "json": ["FOLDER", "--yes", "--format", "json"],
           "list": ["FOLDER", "--list"]},
    "init": {"write": ["FOLDER", "--yes"], "dry": ["FOLDER", "--dry-run"]},
    "draw": {"layout": ["(4,8):(8,1)"], "case": ["--case", "issue-2320"],
             "mma": ["--mma", "mma.m16n8k16.f32.bf16"]},
    "trace": {"run": ["PROGRAM"], "fix": ["PROGRAM", "--fix"], "banks": ["PROGRAM", "--banks"],
              "memory": ["PROGRAM", "--memory"], "lines": ["PROGRAM", "--lines"],
              "module": ["-m", "module"], "json": ["PROGRAM", "--format", "json"],
              "html": ["PROGRAM", "--format", "html"]},
    "banks": {"tile": ["(64,64):(64,1)", "--access", "ldmatrix.x4"]},
    "canonical": {"layout": ["(64,128):(128,1)"]},
    "synth": {"plans": ["--tile", "(64,64)", "--src", "(?,?{div=8}):(?{div=8},1)", "--to", "wgmma.A"]},
    "rule": {"all": []},
    "server": {"serve": []},
}  # fmt: skip
# A value for each option that is not a switch; the output file is looked at.
VALUES: dict[str, str] = {
    "a": "make_tiled_copy_A", "b": "make_tiled_copy_B", "c": "make_tiled_copy_C", "atom_layout": "(2,1,1)",
    "mma": "mma.m16n8k8.f32.bf16", "permutation": "(32,8,16)",
    "access": "ldmatrix.x4; ldmatrix.x1", "arch": "sm_80", "args": "word", "baseline": "BASELINE",
    "by": "pad-pitch", "case": "issue-2314", "compare": "LINES0", "code": "LC201", "config": "CONFIG",
    "dtype": "f32", "extent": "64",
    "fail_on": "types-only",
    "format_": "json", "ignore": "LC263", "html": "OUT", "jsonl": "LINES",
    "junit": "OUT", "layout": "(64,64):(1,64)", "major": "MN",
    "align": "8", "engine": "universal", "plan": "0", "stages": "2", "threads": "64",
    "dst": "(?,?{div=8}):(?{div=8},1)", "src_dtype": "f32", "dst_dtype": "f32",
    "output": "OUT",
    "paths": "OTHER", "reproducers": "FOLDER", "require_coverage": "50",
    "requirement": "layoutcheck==1", "sarif": "OUT", "script": "OTHER",
    "seed": "2", "seeds": "3", "select": "LC1", "shard": "2/2",
    "source": "issue-2314", "sources": "OTHER", "swizzle": "S<3,4,3>", "target": "(2,2)", "thr": "(4,8)",
    "timeout": "3", "unit": "tcgen05", "val": "(1,2)", "watch": "PROGRAM", "workers": "3",
    "write_baseline": "NEW",
}  # fmt: skip
# What is so there without the option: JSON and pages hold everything, a known error is told in full.
ALREADY = {
    ("explain", "paste", "everything"), ("trace", "json", "everything"), ("trace", "html", "everything"),
    ("confirm", "json", "format_"),
}  # fmt: skip
SLOW_COPY = {"src": "(32,64):(64,1)", "dst": "(32,64):(64,1)", "atom": "universal", "bits": 16,
             "dtype": "f16", "thr": "(32,8):(8,1)", "val": "(1,1)"}  # fmt: skip


def options(command: str) -> dict[str, tuple[Any, Any]]:
    """The command's own options by parameter."""
    found = arguments._options(getattr(import_module(f"layoutcheck.cli.{command}"), command))
    return {name: one for name, one in found.items() if command != "explain" or name not in REQUEST}


CASES = [
    pytest.param(
        command, mode, name, id=f"{command}-{mode}-{name}",
        marks=[] if mode == next(iter(MODES[command])) else [pytest.mark.sweep],
    )
    for command in _COMMANDS
    for mode in MODES[command]
    for name, (_, option) in options(command).items()
    if (not option.positional or name == "args") and option.name(name) not in MODES[command][mode]
]  # fmt: skip


def a_trace() -> JudgedTrace:
    """A slow copy that is known by its types alone, of no kernel."""
    copy, _ = build(**SLOW_COPY)
    trace = Trace((TracedCopy(copy, "cute.copy", Frame("kernel.py", 3), (), "k", "sm_90a"),))
    return JudgedTrace(trace, [(one, judge(one.first.copy)) for one in distinct(trace)])


def a_result() -> Result:
    """A slow finding, and a site that was never traced."""
    finding = LintFinding("LC301", "slow", "kernel.py", 3, 1, "slow")
    counts = Counts(
        files=1,
        relevant=1,
        lines=9,
        sites=2,
        copies=2,
        address_sources={"layouts": 0, "lowered": 0, "types": 2},
    )
    return Result((finding,), counts)


PLAIN: dict[tuple[str, str], Any] = {}  # what each mode does without a further option


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], Any]:
    """Runs a command line in a folder of its own, its heavy work replaced; what can be seen of it."""
    calls: list[Any] = []

    def recorded(answer: Any) -> Any:
        def called(*args: Any, **given: Any) -> Any:
            calls.append((args, sorted(given.items())))
            return answer() if callable(answer) else answer

        return called

    names = {"PASTE": "paste.txt", "LINES": "lines.jsonl", "PROGRAM": "program.py", "OTHER": "other.py",
             "FOLDER": "folder", "NEW": "new.json", "OUT": "out.txt", "CONFIG": "other.toml",
             "BASELINE": "old.json", "LINES0": "empty.jsonl"}  # fmt: skip

    def words_of(words: list[str]) -> list[str]:
        return [str(tmp_path / names[word]) if word in names else word for word in words]

    (tmp_path / "folder").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "folder" / name).write_text(SCRIPT)
    (tmp_path / "paste.txt").write_text(PASTE)
    (tmp_path / "lines.jsonl").write_text(json.dumps(SLOW_COPY) + "\n")
    for name in ("program.py", "other.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "other.toml").write_text('[tool.layoutcheck]\nrun = ["folder/a.py"]\n')
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "old.json").write_text('{"findings": []}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tracing, "traced", recorded(a_trace()))
    monkeypatch.setattr(tracing, "banks", recorded((Trace(()), [], [])))
    monkeypatch.setattr(tracing, "memory", recorded((Trace(()), [])))
    monkeypatch.setattr(tracing, "lines", recorded((Trace(()), [])))
    monkeypatch.setattr(tracing, "repaired", recorded(lambda: Repaired({"a": "1"}, {"a": "2"})))
    monkeypatch.setattr(Repaired, "write", lambda self: calls.append("written") or [])
    monkeypatch.setattr(linting, "linted", recorded((a_result(), [])))
    monkeypatch.setattr("layoutcheck.lint.cases.require_dsl", lambda: None)
    monkeypatch.setattr("layoutcheck.cli.init._write", recorded(None))
    monkeypatch.setattr(confirming, "confirmed", recorded(Confirmed([], {}, [], {}, [])))
    monkeypatch.setattr(confirming, "confirmed_order", recorded(Races("program", {}, (), (), 1)))
    monkeypatch.setattr("layoutcheck.cli.explain.asked", lambda outcomes: calls.append("asked") or outcomes)
    monkeypatch.setattr("layoutcheck.cli.check.asked", lambda outcomes: calls.append("asked") or outcomes)
    monkeypatch.setattr("layoutcheck.editor.server.serve", recorded(None))

    def ran(words: list[str]) -> Any:
        calls.clear()
        out = tmp_path / "out.txt"
        out.unlink(missing_ok=True)
        stdout, stderr = io.StringIO(), io.StringIO()
        monkeypatch.setattr("sys.stdout", stdout)
        monkeypatch.setattr("sys.stderr", stderr)
        status = run(words_of(words))
        seen = repr((stdout.getvalue(), calls, out.is_file())).replace(str(tmp_path), "here")
        return status, seen, stderr.getvalue().replace(str(tmp_path), "here")

    return ran


def said(name: str, kind: Any, option: Any, default: Any) -> list[str]:
    """The words that give an option a value other than its default."""
    if arguments._kind(kind) is bool:
        return [option.name(name)]
    value = VALUES[name]
    if name == "format_" and value == default:
        value = "text"
    return [value] if option.positional else [option.name(name), value]


@pytest.mark.parametrize(("command", "mode", "name"), CASES)
def test_an_option_changes_what_happens_or_is_refused(
    command: str, mode: str, name: str, world: Callable[[list[str]], Any]
) -> None:
    pytest.importorskip("pygls", reason="the language server needs pygls") if command == "server" else None
    kind, option = options(command)[name]
    default = arguments._defaults(getattr(import_module(f"layoutcheck.cli.{command}"), command)).get(name)
    words = MODES[command][mode]
    given = said(name, kind, option, default)
    plain = PLAIN.get((command, mode)) or PLAIN.setdefault((command, mode), world([command, *words]))
    # An option stands before what is the script's own.
    changed = world([command, *words, *given] if option.positional else [command, *given, *words])
    assert "error" not in plain[2], plain
    if name == "strict" and plain[0] == 1:
        return  # it fails as it is
    if (command, mode, name) not in ALREADY:
        assert changed != plain, given


def test_an_option_after_the_script_is_the_scripts_own(world: Callable[[list[str]], Any]) -> None:
    _, seen, _ = world(["trace", "PROGRAM", "--no-launch", "--arch", "sm_80"])
    assert "['--no-launch', '--arch', 'sm_80'], launch=True" in seen


def test_two_formats_are_refused(world: Callable[[list[str]], Any]) -> None:
    status, _, said = world(["confirm", "issue-2320", "--json", "--format", "text"])
    assert status == 2 and "--json and --format text contradict each other" in said
