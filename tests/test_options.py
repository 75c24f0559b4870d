"""Every option of every command, and every two, in every mode: they change what happens, or are refused.

The options of the commands are enumerated, so that a new one needs a value here. Alone the request's options
(`explain`) are held to the same in test_request.py.
"""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from typer.main import get_command

from layoutcheck import confirming, linting, tracing
from layoutcheck.analysis.cost import SideCost
from layoutcheck.cli import app, run
from layoutcheck.dsl.lowered.costs import LineCost
from layoutcheck.errors import InputError
from layoutcheck.gpu.races import Races
from layoutcheck.judge import judge
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.result import Counts, Result
from layoutcheck.patching.repaired import Repaired
from layoutcheck.reports.confirmation import Confirmed
from layoutcheck.reports.trace import JudgedTrace
from layoutcheck.request import Request
from layoutcheck.sources.request import build
from layoutcheck.sources.traced import Frame, Trace, TracedCopy, distinct
from layoutcheck.synthesis.compiled import Compiled
from tests.thinned import thinned

SCRIPT = "from cutlass import cute\nif __name__ == '__main__': cute.compile(print)\n"
REQUEST = {one.name for one in fields(Request)}
PASTE = "TypeError: incompatible layout with swizzle"
SLOW = ["(32,64):(64,1)", "(32,64):(64,1)", "--atom", "universal", "--bits", "16", "--dtype", "f16", "--thr",
        "(32,8):(8,1)", "--val", "(1,1)"]  # fmt: skip
TMA = ["(64,64):(1,64)", "(64,64):(1,64)", "--atom", "tma_load", "--dtype", "bf16"]
BULK = ["(4,8):(8,1)", "(4,8):(8,1)", "--atom", "bulk.g2s", "--dtype", "bf16"]

# Of each command the words of its modes: what may be left out is.
MODES: dict[str, dict[str, list[str]]] = {
    "explain": {"copy": SLOW, "case": ["--case", "issue-2320"], "paste": ["PASTE"], "program": ["PROGRAM"],
                "mma": ["--mma", "mma.m16n8k16.f32.bf16", "--a", "make_tiled_copy_B"],
                "tma": TMA, "bulk": BULK},
    "check": {"lines": ["--jsonl", "LINES"], "text": ["--jsonl", "LINES", "--format", "text"]},
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
    "trace": {"run": ["PROGRAM"], "fix": ["--fix", "PROGRAM"], "banks": ["--banks", "PROGRAM"],
              "memory": ["--memory", "PROGRAM"], "lines": ["--lines", "PROGRAM"],
              "module": ["-m", "module"], "json": ["--format", "json", "PROGRAM"],
              "html": ["--format", "html", "PROGRAM"]},
    "banks": {"tile": ["(64,64):(64,1)", "--access", "ldmatrix.x4"]},
    "canonical": {"layout": ["(64,128):(128,1)"]},
    "synth": {"plans": ["--tile", "(64,64)", "--src", "(?,?{div=8}):(?{div=8},1)", "--to", "wgmma.A"]},
    "rule": {"all": []},
    "server": {"serve": []},
    "resources": {"gemm": ["gemm"], "decode": ["decode"], "cores": ["decode-tc"], "cubin": ["absent.cubin"]},
    "numerics units": {"all": []},
    "numerics probe": {"default": []},
    "numerics path": {"drawn": ["torch-f16", "torch-f32", "-M", "16"], "list": [],
                      "arrays": ["torch-f16", "torch-f32", "--a", "ARRAY", "--b", "ARRAY"]},
    "numerics tol": {"drawn": ["-K", "64"], "steps": ["-K", "64", "--path", "dot(mma.m16n8k16.f32.f16)"],
                     "arrays": ["--a", "MATRIX", "--b", "MATRIX"]},
    "numerics attention": {"small": ["--keys", "64", "--queries", "2"]},
}  # fmt: skip
# A value for each option that is not a switch; the output file is looked at.
VALUES: dict[str, str] = {
    "a": "make_tiled_copy_A", "b": "make_tiled_copy_B", "c": "make_tiled_copy_C", "atom_layout": "(2,1,1)",
    "mma": "mma.m16n8k8.f32.bf16", "permutation": "(64,16,16)", "access": "ldmatrix.x4; ldmatrix.x1",
    "arch": "sm_80", "args": "word", "baseline": "BASELINE", "by": "pad-pitch", "case": "issue-2314",
    "compare": "LINES0", "code": "LC201", "config": "CONFIG", "dtype": "f32", "extent": "64",
    "fail_on": "types-only", "format_": "json", "ignore": "LC263", "html": "OUT", "jsonl": "LINES",
    "junit": "OUT", "layout": "(64,64):(1,64)", "major": "MN", "align": "8", "engine": "universal",
    "plan": "0", "stages": "2", "threads": "64", "dst": "(?,?{div=8}):(?{div=8},1)", "src_dtype": "f32",
    "dst_dtype": "f32", "output": "OUT", "paths": "OTHER", "reproducers": "FOLDER",
    "require_coverage": "50", "requirement": "layoutcheck==1", "sarif": "OUT", "script": "OTHER",
    "seed": "2", "seeds": "3", "select": "LC1", "shard": "2/2", "source": "issue-2314", "sources": "OTHER",
    "swizzle": "S<3,4,3>", "target": "(2,2)", "thr": "(4,8)", "timeout": "3", "unit": "tcgen05",
    "val": "(1,2)", "watch": "PROGRAM", "workers": "3", "write_baseline": "NEW",
    "tiled": "!cute.tiled_copy<x>", "pred": "(64):(1)", "src_space": "smem", "dst_space": "gmem",
    "src_align": "2", "dst_align": "4", "block": "64", "expect_bytes": "64", "cluster": "2",
    "mcast_mask": "3", "cta_rank": "1", "waits_rank": "1", "tiler": "(8,8)", "coord": "(0,1)",
    "described": "(64,64):(64,1)", "internal_type": "u8", "im2col": "filter=(3,3)",
    "index": "(4,256):(1,0)", "aux": "(1):(1)", "op": "basic_copy", "bits": "32", "atom": "universal",
    "src": "(32,64):(64,1)", "atol": "0.5", "batch": "3", "blocks": "2", "ctas": "7", "data": "normal",
    "depth": "2", "device": "L40S", "head_dim": "64", "inputs": "e4m3", "k": "32", "kv_heads": "4",
    "m": "32", "n": "32", "name": "mma.m16n8k8.f32.f16", "one": "torch-f16", "other": "torch-f32",
    "order": "ascending", "out": "f32", "p": "e4m3", "promote": "32", "queries": "3", "keys": "32",
    "query_rows": "32", "registers": "200", "rtol": "0.5", "scale": "2",
    "steps": "dot(mma.m16n8k8.f32.f16)", "tile": "64x64x32", "against": "exact",
}  # fmt: skip
# Of one command where its option of that name takes another.
OWN: dict[tuple[str, str], str] = {
    ("draw", "format_"): "text", ("banks", "dtype"): "f32", ("synth", "dtype"): "f16",
    ("canonical", "dtype"): "f16", ("numerics path", "a"): "ARRAY", ("numerics path", "b"): "ARRAY",
    ("numerics path", "data"): "uniform", ("numerics attention", "inputs"): "bf16",
    ("numerics tol", "a"): "MATRIX", ("numerics tol", "b"): "MATRIX", ("numerics tol", "k"): "128",
}  # fmt: skip
# What is so there without the option: JSON and pages hold everything, a known error is told in full.
ALREADY = {
    ("check", "lines", "everything"),
    ("explain", "paste", "everything"), ("trace", "json", "everything"), ("trace", "html", "everything"),
    ("explain", "format_", "everything"), ("trace", "format_", "everything"),
    ("confirm", "json", "format_"), ("confirm", "as_json", "format_"), ("confirm", "format_", "as_json"),
    # One instruction that is legal: nothing fails, and no fix is shown.
    ("explain", "tma", "strict"), ("explain", "tma", "everything"),
    ("explain", "bulk", "strict"), ("explain", "bulk", "everything"),
}  # fmt: skip
SLOW_COPY = {"src": "(32,64):(64,1)", "dst": "(32,64):(64,1)", "atom": "universal", "bits": 16,
             "dtype": "f16", "thr": "(32,8):(8,1)", "val": "(1,1)"}  # fmt: skip


@cache
def root() -> Any:
    return get_command(app())


@cache
def options(command: str) -> dict[str, Any]:
    """The command's options by parameter, as the help describes them."""
    found = root()
    for word in command.split():
        found = found.commands[word]
    return {one.name: one for one in found.params if one.name != "help"}


def is_argument(option: Any) -> bool:
    return bool(option.param_type_name == "argument")


def of_mode(command: str, mode: str) -> list[str]:
    """The options that its words leave."""
    return [
        name for name, option in options(command).items()
        if (name == "args" or not is_argument(option)) and option.opts[0] not in MODES[command][mode]
    ]  # fmt: skip


CASES = [
    pytest.param(
        command, mode, name, id=f"{command}-{mode}-{name}",
        marks=[] if mode == next(iter(MODES[command])) else [pytest.mark.sweep],
    )
    for command in MODES
    for mode in MODES[command]
    for name in of_mode(command, mode)
    if command != "explain" or name not in REQUEST
]  # fmt: skip


def a_trace() -> JudgedTrace:
    """A slow copy that is known by its types alone, of no kernel."""
    copy, _ = build(**SLOW_COPY)
    trace = Trace((TracedCopy(copy, "cute.copy", Frame("kernel.py", 3), (), "k", "sm_90a"),))
    return JudgedTrace(trace, [(one, judge(one.first.copy)) for one in distinct(trace)])


def a_line() -> LineCost:
    """A line without bank conflicts."""
    side = SideCost("dst", "st", "smem", 128, 1, np.zeros((1, 32), np.int64), 4, 4, 1)
    return LineCost(Frame("kernel.py", 3), "cute.copy", side, "layouts", ("k",))


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


def all_alike(plans: Sequence[Any], wanted: Any) -> list[Compiled]:
    return [Compiled(40, 100) for _ in plans]


def no_gpu() -> None:
    raise InputError("--gpu needs a GPU")


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
             "BASELINE": "old.json", "LINES0": "empty.jsonl", "ARRAY": "array.npy",
             "MATRIX": "matrix.npy"}  # fmt: skip

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
    drawn = np.random.default_rng(1).normal(size=(1, 64, 64))
    np.save(tmp_path / "array.npy", drawn)
    np.save(tmp_path / "matrix.npy", drawn[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tracing, "traced", recorded(a_trace()))
    monkeypatch.setattr(tracing, "banks", recorded((Trace(()), [a_line()], [])))
    monkeypatch.setattr(tracing, "memory", recorded((Trace(()), [])))
    monkeypatch.setattr(tracing, "lines", recorded((Trace(()), [])))
    monkeypatch.setattr(tracing, "repaired", recorded(lambda: Repaired({"a": "1"}, {"a": "2"})))
    monkeypatch.setattr(Repaired, "write", lambda self: calls.append("written") or [])
    monkeypatch.setattr(linting, "linted", recorded((a_result(), [])))
    monkeypatch.setattr("layoutcheck.lint.cases.require_dsl", lambda: None)
    monkeypatch.setattr("layoutcheck.cli.init._write", recorded(None))
    monkeypatch.setattr(confirming, "confirmed", recorded(Confirmed([], {}, [], {}, [])))
    monkeypatch.setattr(confirming, "confirmed_order", recorded(Races("program", {}, (), (), 1)))
    for command in ("explain", "check"):
        monkeypatch.setattr(
            f"layoutcheck.cli.{command}.asked_dsl", lambda outcomes: calls.append("asked") or outcomes
        )
    monkeypatch.setattr("layoutcheck.editor.server.serve", recorded(None))
    monkeypatch.setattr("layoutcheck.dsl.programs.compiled", all_alike)
    monkeypatch.setattr("layoutcheck.cli.numerics._gpu", no_gpu)
    monkeypatch.setattr("layoutcheck.cli.resources._registers", lambda file: {file.name: 40})

    def ran(words: list[str]) -> Any:
        calls.clear()
        out = tmp_path / "out.txt"
        out.unlink(missing_ok=True)
        stdout, stderr = io.StringIO(), io.StringIO()
        monkeypatch.setattr("sys.stdout", stdout)
        monkeypatch.setattr("sys.stderr", stderr)
        status = run(words_of(words))
        written = out.read_text() if out.is_file() else None
        ran.printed = stdout.getvalue()  # type: ignore[attr-defined]
        seen = repr((stdout.getvalue(), calls, written)).replace(str(tmp_path), "here")
        return status, seen, stderr.getvalue().replace(str(tmp_path), "here")

    return ran


def said(command: str, name: str) -> list[str]:
    """The words that give an option a value other than its default."""
    option = options(command)[name]
    if getattr(option, "is_flag", False):
        return [(option.secondary_opts if option.default else option.opts)[0]]
    value = OWN.get((command, name)) or VALUES[name]
    if name == "format_" and value == option.default:
        value = "text"
    return [value] if is_argument(option) else [option.opts[0], value]


def line(command: str, mode: str, *names: str) -> list[str]:
    """The command line of these options; they stand before what is the script's own."""
    words: dict[bool, list[str]] = {False: [], True: []}
    for name in names:
        words[is_argument(options(command)[name])] += said(command, name)
    return [*command.split(), *words[False], *MODES[command][mode], *words[True]]


def needed(command: str) -> None:
    if command == "server":
        pytest.importorskip("pygls", reason="the language server needs pygls")


@pytest.mark.parametrize(("command", "mode", "name"), thinned(CASES, 2))
def test_an_option_changes_what_happens_or_is_refused(
    command: str, mode: str, name: str, world: Callable[[list[str]], Any]
) -> None:
    needed(command)
    plain = PLAIN.get((command, mode)) or PLAIN.setdefault((command, mode), world(line(command, mode)))
    changed = world(line(command, mode, name))
    assert "error" not in plain[2], plain
    if name == "strict" and plain[0] == 1:
        return  # it fails as it is
    if (command, mode, name) not in ALREADY:
        assert changed != plain


def pairs(command: str, mode: str) -> Iterator[tuple[str, str]]:
    return itertools.combinations(of_mode(command, mode), 2)


def against(command: str, mode: str, pair: tuple[str, str], ran: Callable[..., Any]) -> str:
    """What is wrong with what these two options do together; "" where nothing is.

    Both are used, or one message names one of them, or one needs the other.
    """
    both, alone = ran(*pair), {name: ran(name) for name in pair}
    refused = {name for name, one in alone.items() if one[0] == 2 and "error: " in one[2]}
    if both[0] == 2 and "error: " in both[2]:
        words = [*MODES[command][mode], *(word for name in pair for word in said(command, name))]
        named = any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", both[2]) for word in words)
        return "" if named and both[2].count("error: ") == 1 else f"not named: {both[2]}"
    if "rejected[" in both[1]:
        return ""  # nothing runs, and what is of the run says nothing
    if refused:
        return "" if all(both != alone[name] for name in pair) else "refused alone, ignored together"
    for name, other in (pair, pair[::-1]):
        fails_already = name == "strict" and alone[other][0] == 1
        already = (command, other, name) in ALREADY or alone[name] == ran()
        if both == alone[other] and not fails_already and not already:
            return f"{name} is ignored"
    return ""


def found_in(command: str, mode: str, chosen: Iterable[tuple[str, str]], world: Any) -> list[str]:
    needed(command)
    ran = cache(lambda *names: world(line(command, mode, *names)))
    told = ((pair, against(command, mode, pair, ran)) for pair in chosen)
    return [f"{' '.join(line(command, mode, *pair))}: {why}" for pair, why in told if why]


EVERY = [(command, mode) for command in MODES for mode in MODES[command]]


@pytest.mark.sweep
@pytest.mark.parametrize(("command", "mode"), EVERY)
def test_two_options_are_used_or_refused(command: str, mode: str, world: Any) -> None:
    wrong = found_in(command, mode, pairs(command, mode), world)
    assert not wrong, "\n".join(wrong)


def test_some_two_options_are_used_or_refused(world: Any) -> None:
    for command, mode in EVERY:
        chosen = [pair for pair in pairs(command, mode) if crc32(repr((mode, pair)).encode()) % 199 == 0]
        wrong = found_in(command, mode, chosen, world)
        assert not wrong, "\n".join(wrong)


def test_an_option_after_the_script_is_the_scripts_own(world: Callable[[list[str]], Any]) -> None:
    _, seen, _ = world(["trace", "PROGRAM", "--no-launch", "--arch", "sm_80"])
    assert "['--no-launch', '--arch', 'sm_80'], launch=True" in seen


def test_two_formats_are_refused(world: Callable[[list[str]], Any]) -> None:
    status, _, said = world(["confirm", "issue-2320", "--json", "--format", "text"])
    assert status == 2 and "--json and --format text contradict each other" in said
