"""Where each atom exists, against what ptxas assembled (docs/evidence/arch.json)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from layoutcheck.machine.arch import has, parse_arch
from tests.conformance.arch_table import ATOMS, INSTRUCTIONS, assembles

EVIDENCE = json.loads(
    (Path(__file__).parents[2] / "docs" / "evidence" / "arch.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", ATOMS)
def test_every_target(name: str) -> None:
    takes = EVIDENCE["assembles"][name]
    for target in EVIDENCE["targets"]:
        for atom in ATOMS[name]:
            assert has(parse_arch(target), atom.needs) == (target in takes), (target, str(atom))


def test_the_evidence_is_of_these_instructions() -> None:
    assert EVIDENCE["instructions"] == INSTRUCTIONS


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas")
def test_ptxas_still_says_so(tmp_path: Path) -> None:
    ptxas = shutil.which("ptxas")
    assert ptxas is not None
    for name, target in (("tcgen05.ld", "sm_90a"), ("tcgen05.ld", "sm_100a"), ("cp.async", "sm_75")):
        takes = target in EVIDENCE["assembles"][name]
        assert assembles(INSTRUCTIONS[name], target, tmp_path, ptxas) == takes
