"""The version axis: which DSL the model speaks for, and what is said of another."""

from __future__ import annotations

import re
import warnings
from importlib import metadata
from pathlib import Path

import pytest

import layoutcheck as lc
from docs.schemas.reports import schema
from layoutcheck import versions
from layoutcheck.cli import run
from layoutcheck.dsl.collect import Collector
from layoutcheck.reports import sarif

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("version", "newer"),
    [("4.8.1", False), ("4.8.0", False), ("4.8.1.dev3", False), ("4.8.2", True), ("4.10.0", True),
     ("5", True), ("", False), ("unknown", False)],
)  # fmt: skip
def test_a_newer_dsl_is_told_once(version: str, newer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "_warned", set())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        versions.warn_once(version)
        versions.warn_once(version)
    assert [one.category for one in said] == [versions.NewerDsl] * newer
    assert all(version in str(one.message) and versions.MODELLED in str(one.message) for one in said)


def test_a_source_that_is_not_installed_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    driver = sarif.log([])["runs"][0]["tool"]["driver"]
    assert driver["version"] == metadata.version("layoutcheck")
    monkeypatch.setattr(metadata, "version", missing)
    assert sarif.log([])["runs"][0]["tool"]["driver"] == {**driver, "version": "from source"}
    assert run(["--version"]) == 0 and capsys.readouterr().out.startswith("layoutcheck from source (models")


def test_a_trace_of_a_newer_dsl_is_read_and_noted() -> None:
    collector = Collector()
    for _ in range(2):
        collector.take([{"kind": "process", "dsl": "9.1.0", "python": "3.11"}])
    assert [note for note in collector.trace().notes if "9.1.0" in note] == [versions.newer("9.1.0")]


def test_every_report_says_which_dsl_it_speaks_for(capsys: pytest.CaptureFixture[str]) -> None:
    report = lc.check("(8):(1)", "(8):(1)", "cp.async", bits=128, dtype="bf16").to_dict()
    assert report["dsl"] == versions.MODELLED
    assert "dsl" in schema()["$defs"]["report"]["required"]
    assert run(["--version"]) == 0
    assert versions.MODELLED in capsys.readouterr().out


def test_the_dsl_that_tests_install_is_the_one_modelled() -> None:
    """What predictions are held against is what they speak for."""
    installed = pytest.importorskip("cutlass", reason="the CuTe DSL is not installed") and metadata.version(
        "nvidia-cutlass-dsl"
    )
    assert installed == versions.MODELLED


@pytest.mark.parametrize(
    ("version", "lacks"),
    [
        ("4.5.0", {"check-inline-asm", "rdc", "enable-pyir"}), ("4.6.1", {"enable-pyir"}), ("4.7.0", set()),
        (versions.MODELLED, set()), ("no version", set()),
    ],
)  # fmt: skip
def test_an_older_dsl_is_asked_for_the_options_that_it_has(version: str, lacks: set[str]) -> None:
    """Its pass `cute-to-nvvm` ends for an option that it does not know."""
    every = [option for option, _ in versions.LOWERING]
    given = versions.lowering(version).split()
    assert [option for option in every if option not in given] == [
        option for option in every if option.partition("=")[0] in lacks
    ]


def test_versions_are_compared_in_one_place() -> None:
    """A comparison of a DSL's version with a number stands in `layoutcheck/versions.py` and nowhere else."""
    compared = re.compile(
        r"version(?!_info)\S* *(?:[<>]=?|==) *[\"'(]|\(4, [0-9]\) *[<>]=?|[<>]=? *\(4, [0-9]\)"
    )
    assert compared.search("if version >= '4.6':") and compared.search("if (4, 5) <= installed:")
    for file in (ROOT / "layoutcheck").rglob("*.py"):
        if file.name != "versions.py" and "numerics" not in file.parts:
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                assert not compared.search(line), f"{file}:{number}: {line}"
