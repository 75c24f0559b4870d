"""The JSON Schema of every command's JSON: real outputs follow it, and a key that is renamed does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from docs.schemas import OUTPUTS, keys, schemas
from docs.schemas.reports import schema
from layoutcheck.cli import run
from layoutcheck.formats import FORMATS
from layoutcheck.gpu.races import Delay, RaceRun, Races, Tried
from layoutcheck.lint.finding import Edit, LintFinding
from layoutcheck.lint.result import Counts, Ran, Result
from layoutcheck.reports import lint as lint_report
from layoutcheck.reports import races as races_report
from layoutcheck.reports.style import Style
from layoutcheck.sources.traced import Frame, KernelFinding, KernelPlace
from tests.forking import traced_in_forks
from tests.lowering import SharedLowering
from tests.test_options import world

__all__ = ["traced_in_forks", "world"]

ROOT = Path(__file__).parents[2]
SMEM_A = ["--mma", "wgmma.m64n64k16.f32.f16", "--a", "(64,64):(64,1)"]
FIRST = ["check", "--jsonl", "LINES", "--compare", "LINES0"]  # the fixture's earlier run has no copies
PRINTED: list[tuple[str, list[str]]] = [
    ("mma", ["explain", "--mma", "mma.m16n8k16.f32.bf16", "--a", "make_tiled_copy_B"]),
    ("mma", ["explain", *SMEM_A]),
    ("compare", FIRST),
    ("lint", ["lint", "FOLDER"]),
    ("lint", ["ci", "FOLDER", "--yes"]),
    ("confirm-order", ["confirm", "PROGRAM", "--order"]),
    ("banks", ["banks", "(64,64):(64,1)", "--access", "ldmatrix.x4; cp.async 128 (16,8):(8,1) (1,8)"]),
    ("canonical", ["canonical", "(64,128):(128,1)", "--dtype", "f16"]),
    ("canonical", ["canonical", "(8,8):(8,1)", "--unit", "tcgen05"]),
    ("synth", ["synth", "--tile", "(64,64)", "--src", "(?,?{div=8}):(?{div=8},1)", "--to", "wgmma.A"]),
    *[("numerics-units", ["numerics", "units", "--arch", arch]) for arch in ("sm_70", "sm_90a", "sm_100a")],
    ("numerics-probe", ["numerics", "probe"]),
    ("numerics-path", ["numerics", "path", "torch-f16", "torch-f32", "-M", "16"]),
    ("numerics-path", ["numerics", "path", "torch-f16", "torch-f16", "-M", "16"]),
    ("numerics-tol", ["numerics", "tol", "-K", "64", "--atol", "0.1", "--rtol", "0.1"]),
    ("numerics-tol", ["numerics", "tol", "-K", "64", "--path", "fma(f32)"]),
    ("numerics-attention", ["numerics", "attention", "--keys", "64", "--queries", "2"]),
    *[("resources", ["resources", kernel]) for kernel in ("gemm", "decode", "decode-tc", "absent.cubin")],
]  # fmt: skip


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schemas()[name])


def objects(text: str) -> list[Any]:
    """The one object, or that of each line."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def holds(name: str, text: str) -> None:
    """The output follows its schema, and does not with any key of its objects renamed, added or missing."""
    found = objects(text)
    assert found
    for one in found:
        assert [error.message for error in validator(name).iter_errors(one)] == []
        for key in one:
            changed = {("renamed" if each == key else each): value for each, value in one.items()}
            assert not validator(name).is_valid(changed), key
        assert not validator(name).is_valid({**one, "added": 1})


@pytest.mark.parametrize(("name", "words"), PRINTED)
def test_what_a_command_prints_follows_its_schema(name: str, words: list[str], world: Any) -> None:
    status, _, said = world([*words, "--format", "json"])
    assert status in (0, 1), said
    if words != FIRST:
        holds(name, world.printed)


@pytest.mark.dsl
def test_what_a_trace_prints_follows_its_schema(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    words = ["--no-launch", "--arch", "sm_90a", "--format", "json", "tests/order/kernels.py"]
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("layoutcheck.tracing.Lowering", SharedLowering)
    for name in ("trace", "trace-memory", "trace-lines", "trace-banks"):
        option = [f"--{name.partition('-')[2]}"] if "-" in name else []
        kernels = ["requests"] if option else ["stages", "multiply"]
        assert run(["trace", *option, *words, *kernels]) in (0, 1)
        printed = capfd.readouterr().out
        if name == "trace":
            kinds = {key for one in objects(printed) for key in one} - {"schema_version"}
            assert kinds == {"trace", "report", "order", "elements", "operands", "summary"}
        holds(name, printed)


def test_what_differs_between_runs_follows_its_schema(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "copies").write_text(
        '{"id": "a", "src": "(8):(1)", "dst": "(8):(1)", "atom": "universal", "dtype": "f16"}\n'
    )
    assert run(["check", "--jsonl", str(tmp_path / "copies")]) == 0
    report = json.loads(capsys.readouterr().out)
    (tmp_path / "before").write_text(json.dumps(report | {"subject": "b"}))
    assert run(["check", "--jsonl", str(tmp_path / "copies"), "--compare", str(tmp_path / "before")]) == 0
    holds("compare", capsys.readouterr().out)


def test_what_confirm_prints_follows_its_schema(capsys: Any) -> None:
    assert run(["confirm", "issue-2320", "--format", "json"]) in (0, 1)
    holds("confirm", capsys.readouterr().out)


def test_runs_with_delays_follow_their_schema() -> None:
    place = KernelPlace("writes", Frame("k.py", 3))
    finding = KernelFinding("LC501", "wrong", "title", "message", (place,), {"bytes": 4})
    ran = RaceRun(1, (Delay("k.py", 3, 1, 1, 100),), 1, 0.5, "differs")
    text = races_report.render_json(Races("p", {"name": "g"}, (ran,), (Tried(finding, (ran,)),), 1), Style())
    holds("confirm-order", text)


def test_findings_of_lint_follow_their_schema() -> None:
    found = LintFinding("LC203", "wrong", "k.py", 3, 1, "title", edit=Edit("insert", "x", "title"))
    counts = Counts(never={"k.py": (3,)}, because={"k.py": {"why": (3, 4)}}, skipped={"why": 1})
    runs = (Ran("t.py", "t.py", "sm_90a", 1, 1, 0.5, False, ("it died",)),)
    holds("lint", lint_report.as_json(Result((found,), counts, ("a note",), runs), Style()))


def closed(one: Any) -> Iterator[dict[str, Any]]:
    """Every object of a schema that has fields."""
    if isinstance(one, dict):
        if "properties" in one and "type" in one:
            yield one
        for value in one.values():
            yield from closed(value)
    elif isinstance(one, list):
        for value in one:
            yield from closed(value)


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_schema_is_one_that_takes_no_other_keys(name: str) -> None:
    made = schemas()[name]
    jsonschema.Draft202012Validator.check_schema(made)
    assert all(one["additionalProperties"] is False for one in closed(made))
    assert json.loads(json.dumps(made)) == made


def test_every_key_is_described_and_every_description_is_of_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A definition says itself what it is. A key that nothing describes is a KeyError."""
    used = set[str]()

    class Watched(dict[str, str]):
        def get(self, key: str, default: Any = None) -> Any:
            used.update({key} & self.keys())
            return super().get(key, default)

        def __getitem__(self, key: str) -> str:
            used.add(key)
            return super().__getitem__(key)

    monkeypatch.setattr(keys, "KEYS", Watched(keys.KEYS))
    made = schemas()
    assert used == set(keys.KEYS)
    for name, one in made.items():
        for holder in closed(one):
            for key, value in holder["properties"].items():
                told = value.get("description", "const" in value)
                refers = one["$defs"][value["$ref"].rsplit("/", 1)[-1]] if "$ref" in value else {}
                assert told or refers.get("description"), (name, key)


def test_every_report_that_is_json_has_a_schema() -> None:
    reports = {name for name, formats in FORMATS.items() if "json" in formats}
    told = {"explain", "check", "ci"} | {command.split(" and ")[0] for command, _ in OUTPUTS.values()}
    assert {one for one in reports if one != "numerics"} <= told
    assert all(one["additionalProperties"] is False for one in closed(schema()))
