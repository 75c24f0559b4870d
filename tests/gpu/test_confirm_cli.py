"""`layoutcheck confirm`: what it prints, writes and returns, the runs stood in for or simulated."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from layoutcheck import confirming
from layoutcheck.cli import run
from layoutcheck.dsl.session import DslUnavailable
from layoutcheck.errors import InputError
from layoutcheck.gpu.outcome import Confirmation
from layoutcheck.reports import reproducer
from layoutcheck.reports.confirmation import Confirmed, render, render_json
from layoutcheck.reports.outcome import Failure
from layoutcheck.reports.style import Style
from layoutcheck.sources.request import build
from tests.miscompiles import MISCOMPILES

GPU = {"name": "NVIDIA H200", "arch": "sm_90", "driver": 12080}
SIMULATED = {"name": "simulator", "why": "no GPU can be used: CUDA_ERROR_NO_DEVICE"}
RIGHT = Confirmation(
    "fine", "legal", (), "accepted", "gpu", "", "", "", True, True, True, {}
)  # fmt: skip
CORRUPTS = Confirmation("bad", "wrong", ("LC201",), "accepted", "gpu", "", "", "", True, False, True)
FAULTS = Confirmation(
    "off", "wrong", ("LC202",), "accepted", "gpu", "", "misaligned", "CUDA_ERROR_MISALIGNED_ADDRESS"
)
REFUSED = Confirmation(
    "no", "rejected", ("LC101",), "'cute.copy' op ...", "nothing", "the compiler made nothing"
)
UNRUN = Confirmation("mm", "legal", (), "accepted", "nothing", "ldmatrix needs a GPU")
SURPRISE = Confirmation(
    "surprise", "legal", (), "accepted", "gpu", "", "", "", False, False, True, {"unit": 3, "differing": 14}
)
UNFORESEEN = Confirmation("crash", "legal", (), "accepted", "gpu", "", "", "CUDA_ERROR_ILLEGAL_ADDRESS")
LENIENT = Confirmation("lenient", "rejected", ("LC101",), "accepted", "gpu", "", "", "", True, True, True)
STRICT = Confirmation("strict", "legal", (), "refused", "nothing", "the compiler made nothing")
ALL_WELL = [RIGHT, CORRUPTS, FAULTS, REFUSED, UNRUN]


@pytest.mark.parametrize("one", ALL_WELL, ids=lambda one: one.name)
def test_agreement(one: Confirmation) -> None:
    assert not one.disagrees
    assert Confirmed([one], GPU).status == 0
    assert "DISAGREE" not in render(Confirmed([one], GPU), Style())


@pytest.mark.parametrize("one", [SURPRISE, UNFORESEEN, LENIENT, STRICT], ids=lambda one: one.name)
def test_disagreement_is_the_loudest_thing_printed(one: Confirmation) -> None:
    found = Confirmed([RIGHT, one, CORRUPTS], GPU, reproducers={1: Path("layoutcheck-it.py")})
    assert found.status == 1
    text = render(found, Style(colour=True))
    alarm = text[text.index("====") :]
    assert one.name in alarm and "reproducer: layoutcheck-it.py" in alarm
    assert "\x1b[1;31m" in alarm and text.rstrip("\x1b[0m\n").endswith("=")
    assert "DISAGREES" in text.split("====")[0]


def test_unusable_input_decides_the_status() -> None:
    failure = Failure("line 3", InputError("no 'src'"))
    found = Confirmed([SURPRISE], GPU, [failure])
    assert found.status == 2
    assert "line 3" in render(found, Style()) and "no 'src'" in render_json(found, Style())


@pytest.mark.parametrize("machine", [GPU, SIMULATED], ids=["gpu", "simulator"])
def test_text_fits_and_says_where_it_ran(machine: dict[str, object]) -> None:
    text = render(Confirmed([*ALL_WELL, SURPRISE, LENIENT], machine), Style())
    assert max(map(len, text.split("\n"))) <= 80
    on_gpu = machine is GPU
    assert text.startswith("Run on a GPU: NVIDIA H200 (sm_90, driver 12.8)" if on_gpu else "Not run on a GPU")
    assert ("executed by the simulator" in " ".join(text.split())) != on_gpu


def test_json_has_a_line_for_each_copy() -> None:
    found = Confirmed([RIGHT, SURPRISE], GPU, reproducers={1: Path("x.py")})
    first, second = map(json.loads, render_json(found, Style()).splitlines())
    assert first["machine"]["name"] == "NVIDIA H200" and first["agrees"] and first["reproducer"] is None
    assert second["agrees"] is False and second["reproducer"] == "x.py"


@pytest.mark.parametrize("name", sorted(MISCOMPILES))
def test_a_reproducer_makes_its_copy_again(name: str, tmp_path: Path) -> None:
    for copy in MISCOMPILES[name][:2]:
        path = reproducer.write(tmp_path, f'{name} "of" /a/b', copy)
        assert path.parent == tmp_path
        assert runpy.run_path(str(path))["copy"] == copy


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("no-such-case", "no case or file 'no-such-case'; expected a file, or a name that"),
        ("nowhere.jsonl", "cannot read 'nowhere.jsonl'"),
        (".", "'.' registers no cases"),
        ("kernel.py", "no file or folder 'kernel.py'"),
    ],
)
def test_bad_sources_take_one_line(
    source: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["confirm", source]) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and err.count("\n") == 1


def test_no_dsl_takes_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing(*_: object, **__: object) -> None:
        raise DslUnavailable("the CuTe DSL is not installed")

    monkeypatch.setattr(confirming, "confirm", missing)
    assert run(["confirm", "issue-2320"]) == 2
    assert capsys.readouterr().err == "error: nothing can be confirmed: the CuTe DSL is not installed\n"


def test_a_disagreement_writes_its_reproducer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(confirming, "confirm", lambda named, **_: ([SURPRISE for _ in named], GPU))
    lines = tmp_path / "copies.jsonl"
    lines.write_text('{"src": "(8):(1)", "dst": "(8):(1)", "dtype": "bf16", "id": "mine"}\n')
    assert run(["confirm", str(lines), "--reproducers", str(tmp_path)]) == 1
    out = " ".join(capsys.readouterr().out.split())
    (path,) = tmp_path.glob("layoutcheck-*.py")
    assert path.name in re.sub(r"\s", "", out)
    assert runpy.run_path(str(path))["copy"] == build("(8):(1)", "(8):(1)", dtype="bf16")[0]


def test_a_file_is_compiled_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cutlass", reason="confirm compiles with nvidia-cutlass-dsl")
    copies = [
        {"src": "(8):(1)", "dst": "(8):(1)", "atom": "cp.async", "bits": 128, "dtype": "bf16", "id": "good"},
        {"src": "(8):(1)", "dst": "(8):(64)", "atom": "cp.async", "bits": 128, "dtype": "bf16", "id": "bad"},
        {"src": "(8):(1)", "dst": "(8):(64)", "atom": "universal", "bits": 128, "dtype": "bf16", "id": "no"},
    ]
    path = tmp_path / "copies.jsonl"
    path.write_text("".join(json.dumps(copy) + "\n" for copy in copies))
    assert run(["confirm", str(path), "--json"]) == 0
    good, bad, no = map(json.loads, capsys.readouterr().out.splitlines())
    assert (good["verdict"], good["as_predicted"], good["as_asked"]) == ("legal", True, True)
    assert (bad["verdict"], bad["as_predicted"], bad["as_asked"]) == ("wrong", True, False)
    assert (no["verdict"], no["ran"]) == ("rejected", "nothing") and no["compiler"] != "accepted"
    path.write_text(path.read_text() + "{}\n")
    assert run(["confirm", str(path)]) == 2
    assert "line 4: no 'src'" in capsys.readouterr().out
