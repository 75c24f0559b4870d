"""Command lines that nobody means, drawn at random: an answer or one error, soon, and never a traceback."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from layoutcheck.cli import run

VALUES = (
    "", " ", "nan", "inf", "-1", "0", "1e400", "99999999999999999999999", "٣", "(8):(1", "8:1", "(8):(-1)",
    "(0):(1)", "(9999999999999999):(1)", "(4294967296,4294967296):(1,4294967296)", "(" * 5000, "S<3,4,3>",
    "S<99,99,99> o 0 o (8):(1)", "💥", "\u202e(8):(1)", "a\nb", "binary", "folder", "big", "empty", "deep",
    "/dev/null", "/", "-", "--", "-x", "sm_999999", "cp.async", "tma_load", "bf16", "void", "(?,?):(1,?)",
    "(?{div=0}):(1)", "(1000000,1000000):(1,1000000)", "tensor<ptr<bf16, gmem, align<3>> o (8):(1)>",
    "!cute.tiled_copy<>", "%s%n", "{}", "0x10", "1_000", "(,)", "1@0", "mma.m16n8k16.f32.bf16",
    "(2,999999992,1)", "99999x99999x99999", "LC999", "csv", "a" * 100_000,
)  # fmt: skip
MEANT = ("(128,64):(1,128)", "(64,64):(64,1)")
COMMANDS: dict[str, tuple[int, tuple[str, ...]]] = {  # positional arguments, and options
    "explain": (2, ("--atom", "--bits", "--dtype", "--thr", "--val", "--arch", "--tiled", "--pred",
                    "--swizzle", "--block", "--coord", "--tiler", "--src-align", "--format", "--case")),
    "explain --mma mma.m16n8k16.f32.bf16": (0, ("--a", "--b", "--c", "--atom-layout", "--permutation")),
    "check": (0, ("--jsonl", "--format", "--compare")),
    "banks": (1, ("--access", "--dtype", "--swizzle", "--arch", "--format")),
    "canonical": (1, ("--dtype", "--major", "--swizzle", "--unit", "--format")),
    "draw": (1, ("--thr", "--val", "--case", "--format", "--mma")),
    "synth": (0, ("--tile", "--src", "--to", "--dtype", "--threads", "--stages", "--arch", "--plan")),
    "rule": (1, ()),
    "lint --static --no-cache": (1, ("--select", "--ignore", "--format", "--baseline", "--config")),
    "resources": (1, ("--tile", "--stages", "--threads", "--registers", "--device")),
    "numerics tol": (0, ("-K", "--in", "--out", "--arch", "--atol", "--seed")),
    "confirm": (1, ("--format", "--workers", "--seeds")),
}  # fmt: skip
SECONDS = 10  # of a machine that runs other tests as well


def drawn(seed: int) -> list[str]:
    """A command line: of each option a value that it may not take."""
    pick = random.Random(seed)
    command = pick.choice(list(COMMANDS))
    count, options = COMMANDS[command]
    words = command.split() + [pick.choice(pick.choice((VALUES, MEANT))) for _ in range(count)]
    for option in pick.sample(options, pick.randint(0, min(4, len(options)))):
        words += [option, pick.choice(VALUES)]
    return words


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(n, marks=pytest.mark.sweep) for n in range(100, 3000, 100))]
)
def test_a_hundred_that_nobody_means(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(random.Random(first).randbytes(5000))
    (tmp_path / "folder").mkdir()
    (tmp_path / "big").write_text("error: unknown: 'cute.copy' op " * 330_000)
    (tmp_path / "empty").touch()
    (tmp_path / "deep").write_text("[" * 200_000)
    monkeypatch.setattr("sys.stdin", (tmp_path / "empty").open())
    for seed in range(first, first + 100):
        words = drawn(seed)
        begun = time.monotonic()
        status = run(words)
        out, err = capsys.readouterr()
        shown = [word[:80] for word in words]
        assert time.monotonic() - begun < SECONDS, shown
        assert status in (0, 1, 2) and "Traceback" not in out + err, shown
        if status == 2 and "error: " in err:
            assert err.count("\nerror: ") == 0 and len(err) < 2000, (shown, err)
        assert status != 2 or out or "error: " in err, shown
