"""The command line of numerics: what it prints in each format, and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from layoutcheck.cli import app, run
from layoutcheck.errors import InputError
from layoutcheck.findings import SCHEMA_VERSION
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.formats import Raw
from layoutcheck.numerics.units import unit

root = app()


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = root(list(arguments), standalone_mode=False)
    return int(status), capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status, text = call(capsys, *arguments, "--format", "json")
    return status, json.loads(text)


def test_tol_judges_report_001(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = document(
        capsys, "numerics", "tol", "-K", "512", "--atol", "1e-2", "--rtol", "0", "--arch", "sm_70"
    )
    assert status == 1
    assert found["verdict"] == "wrong"
    assert found["findings"][0]["code"] == "LC402"
    status, text = call(capsys, "numerics", "tol", "-K", "512", "--atol", "1e-2", "--rtol", "0")
    assert status == 1
    assert "bit-equality test" in text
    assert "c1 = " in text
    assert "data: uniform in [0, 1)" in text
    assert "that tolerance hides one skipped k at" in text


def test_tol_names_its_unit_first_and_takes_the_users_matrices(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, text = call(capsys, "numerics", "tol", "-K", "64", "--in", "e4m3", "--out", "f32")
    assert text.splitlines()[0].endswith("dot(wgmma.m64n8k32.f32.e4m3)")
    rng = np.random.default_rng(0)
    files = [str(tmp_path / f"{name}.npy") for name in "ab"]
    np.save(files[0], 40 * rng.random((8, 64)))
    np.save(files[1], rng.random((64, 8)))
    given = ["numerics", "tol", "--a", files[0], "--b", files[1], "--out", "f32"]
    _, yours = document(capsys, *given)
    _, unit_scale = document(capsys, "numerics", "tol", "-K", "64", "--out", "f32")
    assert yours["suggested"]["atol"] > 10 * unit_scale["suggested"]["atol"]
    _, scaled = document(capsys, "numerics", "tol", "-K", "64", "--out", "f32", "--scale", "40,1")
    assert scaled["suggested"]["atol"] == pytest.approx(40 * unit_scale["suggested"]["atol"], rel=0.01)


def test_tol_without_a_tolerance_is_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = call(capsys, "numerics", "tol", "-K", "256", "--in", "bf16", "--out", "f32")
    assert status == 0
    assert "use atol=" in text


def test_path_names_the_step(capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["cute-f32f16f16f32", "torch-f16-matmul-f32-add"]
    status, found = document(capsys, "numerics", "path", *pair, "--blocks", "3")
    assert status == 1
    assert found["first_difference"] == {"step": 1, "one": "add(f32)", "other": "round(f16)"}
    assert found["out_of_tolerance"][0] == 0
    status, text = call(capsys, "numerics", "path", pair[1], "cute-f32f16f16f32-rounded", "--blocks", "2")
    assert status == 0
    assert "the paths are the same" in text
    status, text = call(capsys, "numerics", "path")
    assert status == 0
    assert "fp8-wgmma-promoted" in text


def runner(monkeypatch: pytest.MonkeyPatch, **parts: object) -> None:
    """These parts in the place of what runs on a GPU."""
    monkeypatch.setitem(sys.modules, "layoutcheck.gpu.tensor_cores", SimpleNamespace(**parts))


CONFIRM = ["numerics", "path", "cute-f16f16f16f16", "torch-f16", "--gpu", "--blocks", "3", "-K", "50"]


def test_path_shows_predicted_and_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runner(monkeypatch, available=lambda: True, run_matmul=lambda u, a, b, c: u.matmul(a, b, c))
    status, found = document(capsys, *CONFIRM)
    assert status == 1
    assert found["out_of_tolerance"] == found["measured"]["out_of_tolerance"]
    assert min(found["out_of_tolerance"]) > 0
    assert found["measured"]["equal_to_model"] == [3 * 64 * 64] * 2
    assert [finding["code"] for finding in found["findings"]] == ["LC401"]
    status, text = call(capsys, *CONFIRM)
    rows = [line.split() for line in text.splitlines() if line.startswith(("    predicted", "    measured"))]
    assert [row[0] for row in rows] == ["predicted", "measured"] * 2
    assert rows[0][1:] == rows[1][1:] == list(map(str, found["out_of_tolerance"]))
    repaired = ["torch-f16-matmul-f32-add", "cute-f32f16f16f32-rounded", "--gpu", "--blocks", "2"]
    assert call(capsys, "numerics", "path", *repaired)[0] == 0


def test_path_says_that_the_hardware_is_another(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def an_a100(u: Unit, a: Raw, b: Raw, c: Raw) -> Raw:
        return unit(u.name, "sm_80").matmul(a, b, c)

    runner(monkeypatch, available=lambda: True, run_matmul=an_a100)
    status, found = document(capsys, *CONFIRM)
    assert status == 1
    assert [finding["code"] for finding in found["findings"]] == ["LC406", "LC401"]
    assert found["measured"]["equal_to_model"][0] < 3 * 64 * 64
    assert found["measured"]["out_of_tolerance"] != found["out_of_tolerance"]


@pytest.mark.parametrize("command", [CONFIRM, ["numerics", "probe", "--gpu"]], ids=["path", "probe"])
@pytest.mark.parametrize("missing", ["torch", "cutlass", "GPU"])
def test_no_gpu_is_one_clear_line(
    command: list[str], missing: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing == "GPU":
        runner(monkeypatch, available=lambda: False)
    else:
        for module in [name for name in sys.modules if name.startswith("layoutcheck.gpu.")]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, "torch", None if missing == "torch" else ModuleType("torch"))
        monkeypatch.setitem(sys.modules, "cutlass", None if missing == "cutlass" else ModuleType("cutlass"))
    assert run(command) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(
        "error: --gpu needs " + ("a GPU" if missing == "GPU" else "torch and nvidia")
    )
    assert printed.err.count("\n") == 1


def test_paths_without_a_dot_have_nothing_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    runner(monkeypatch, available=lambda: True, run_matmul=None)
    with pytest.raises(InputError, match="neither path has a dot"):
        root(["numerics", "path", "fma(f32)", "fma(f32) add(f16)", "--gpu"], standalone_mode=False)


def test_probe_predicts_and_identifies(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = document(capsys, "numerics", "probe", "mma.m16n8k8.f16.f16")
    assert status == 0
    assert found["identified"]["fraction_bits"] == ["25"]
    assert found["identified"]["anchor_floor"] == ["-21"]
    assert len([p for p in found["probes"] if "printed" in p]) == 4
    status, text = call(capsys, "numerics", "probe", "mma.m16n8k8.f32.tf32")
    assert "identified from the prediction's answers" in text


def test_resources_reproduce_the_issue(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = call(capsys, "resources", "decode-tc", "--device", "A100", "--registers", "182")
    assert status == 0
    assert "69.63 KB" in text
    assert "2.11 waves" in text
    status, found = document(capsys, "resources", "gemm", "--tile", "64x64x32")
    assert found["registers_lower_bound"] == 32


def test_occupancy_without_registers_is_a_bound(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["resources", "decode", "--device", "A100"]
    _, text = call(capsys, *command)
    assert "at most 16 CTAs a multiprocessor" in text
    assert "at least 0.26 waves" in text
    _, found = document(capsys, *command)
    assert (found["exact"], found["registers"]) == (False, None)
    _, found = document(capsys, *command, "--registers", "66")
    assert (found["exact"], found["ctas_per_multiprocessor"]) == (True, 7)


def test_a_q_tile_of_eight_rows_halves_the_fragments(capsys: pytest.CaptureFixture[str]) -> None:
    """Report 002's outlook: CTA_TILE_Q = 8 under an instruction of M = 16, and a deeper pipeline."""
    _, whole = document(capsys, "resources", "decode-tc", "--device", "A100")
    _, half = document(
        capsys, "resources", "decode-tc", "--query-rows", "8", "--depth", "2", "--device", "A100"
    )
    assert (whole["registers_lower_bound"], half["registers_lower_bound"]) == (80, 40)
    assert whole["smem_bytes"] == 16 * 128 * 2 + 2 * 128 * 128 * 2
    assert half["smem_bytes"] == 8 * 128 * 2 + 2 * 2 * 128 * 128 * 2


def test_other_formats_and_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["numerics", "tol", "-K", "512", "--atol", "1e-2"]
    _, text = call(capsys, *command, "--format", "github")
    assert text.startswith("::error title=LC402")
    _, text = call(capsys, *command, "--format", "sarif")
    log = json.loads(text)
    result = log["runs"][0]["results"][0]
    target = tmp_path / "report.json"
    _, text = call(capsys, *command, "--format", "json", "--output", str(target))
    assert text == ""
    document = json.loads(target.read_text())
    assert document["schema_version"] == SCHEMA_VERSION
    (finding,) = document["findings"]
    assert (result["ruleId"], result["properties"]["evidence"]) == ("LC402", finding["evidence"])
    assert finding["evidence"]


@pytest.mark.parametrize(
    "command",
    [
        ["numerics", "tol", "-K", "0"],
        ["numerics", "tol", "-K", "64", "--format", "yaml"],
        ["numerics", "path", "fma(f32)", "what"],
        ["numerics", "path", "fma(f32)", "fma(f32)", "--blocks", "0"],
        ["numerics", "probe", "nothing"],
        ["resources", "gemm", "--tile", "64x64"],
        ["resources", "softmax"],
        ["resources", "missing.cubin"],
        ["resources", "decode-tc", "--registers", "0"],
        ["resources", "decode-tc", "--registers", "256"],
        ["resources", "decode", "--head-dim", "0"],
        ["resources", "decode", "--head-dim", "96"],
        ["resources", "decode-tc", "--head-dim", "100"],
        ["resources", "decode-tc", "--query-rows", "12"],
        ["resources", "decode-tc", "--depth", "0"],
        ["resources", "gemm", "--threads", "2048", "--registers", "16"],
        ["resources", "gemm", "--threads", "0"],
        ["resources", "decode-tc", "--tile", "64x64x64"],
        ["resources", "decode-tc", "--stages", "2"],
        ["resources", "decode-tc", "--threads", "256"],
        ["resources", "decode-tc", "--in", "bf16"],
        ["resources", "decode", "--depth", "2"],
        ["resources", "gemm", "--batch", "3"],
        ["resources", "a.cubin", "--device", "A100"],
        ["resources", "gemm", "--output", "no/such/folder/report.json"],
        ["numerics", "tol", "-K", "64", "--output", "no/such/folder/report.json"],
        ["numerics", "tol"],
        ["numerics", "tol", "-K", "1048576"],
        ["numerics", "tol", "-K", "64", "--a", "a.npy"],
        ["numerics", "tol", "--a", "missing.npy", "--b", "missing.npy"],
        ["numerics", "tol", "--a", "a.npy", "--b", "b.npy", "--scale", "2"],
        ["numerics", "tol", "-K", "64", "--order", "ascending"],
        ["numerics", "tol", "-K", "64", "--path", "fma(f32)", "--in", "f16"],
        ["numerics", "tol", "-K", "64", "--path", "fma(f32)", "--promote", "64"],
        ["numerics", "path", "fma(f32)", "torch-f16", "--rtol", "-1"],
        ["numerics", "path", "fma(f32)", "torch-f16", "--atol", "nan"],
        ["numerics", "path", "torch-f16", "dot(mma.m16n8k16.f32.bf16)"],
        ["numerics", "path", "torch-f16"],
        ["numerics", "path", "--format", "json"],
        ["numerics", "path", "torch-f16", "torch-f32", "--seed", "-1"],
        ["numerics", "path", "torch-f16", "torch-f32", "--a", "a.npy", "--b", "b.npy", "-M", "16"],
        ["numerics", "tol", "-K", "64", "--seed", "-1"],
        ["numerics", "tol", "--a", "a.npy", "--b", "b.npy", "--seed", "1"],
        ["numerics", "attention", "--seed", "-1"],
    ],
)
def test_unusable_input_is_an_input_error(command: list[str]) -> None:
    with pytest.raises(InputError):
        root(command, standalone_mode=False)


def test_importing_the_commands_is_light() -> None:
    code = "import layoutcheck.cli.numerics, sys; sys.exit(bool({'numpy', 'typer'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
