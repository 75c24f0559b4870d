"""Bugs for which an edit is hard to find: the edit, or the sentence that says why none is safe."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutcheck as lc
from layoutcheck.patching.edit import apply
from layoutcheck.patching.edits import candidates
from layoutcheck.patching.program import Program
from layoutcheck.patching.repair import REASONS, unsafe
from layoutcheck.tracing import Script, repaired
from tests.patching.broken import HEAD
from tests.patching.odd import EDITS, ODD

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")

UNSAFE = {
    "rows of stride 64": "LC201",
    "every second nibble": "LC218",
    "TMA, pitch 500 B": "LC231",
    "TMA, every second element": "LC232",
    "TMA, base past 8 B": "LC235",
}


def edited(text: str, given: lc.Report, strategy: str) -> list[str]:
    """The last lines of the program after each edit for a fix of its last line's copy."""
    program, last = Program({"k.py": text}), text.count("\n")
    site = program.copy_at("k.py", last)
    assert site is not None
    fix = next(one for one in given.fixes if one.strategy == strategy)
    return [
        apply({"k.py": text}, edits)["k.py"][len(HEAD) :]
        for edits in candidates(program, given.copy, fix, site)
    ]


@pytest.mark.parametrize(
    ("made", "edits"),
    [
        ("cute.make_tensor(tile.iterator, cute.make_layout(((8, 1), 2), stride=((1, 0), 9)))", 0),
        ("cute.make_tensor(tile.iterator, rows)", 0),
        ("allocator.allocate_tensor(kind, cute.make_layout(((8, 1), 2), stride=((1, 0), 9)), 128)", 1),
        ("allocator.allocate_tensor(kind, rows, 128); other = cute.make_tensor(tile.iterator, rows)", 1),
    ],
)
def test_one_view_of_shared_memory_is_not_laid_out_otherwise(made: str, edits: int) -> None:
    """Whoever wrote the tile has another view of it; a layout that both use may change."""
    src = '!cute.memref<bf16, smem, align<128>, "((8,1),2):((1,0),9)">'
    held = '!cute.memref<bf16, rmem, align<32>, "((8,1),2):((1,0),8)">'
    given = lc.check(src, held, "ldmatrix.x4")
    rows = "rows = cute.make_layout(((8, 1), 2), stride=((1, 0), 9))\n"
    found = edited(f"{HEAD}{rows}view = {made}\ncute.copy(atom, view, held)\n", given, "pad-pitch")
    assert len(found) >= edits and bool(found) == bool(edits)
    assert all("stride=((1, 0), 16)" in text for text in found)


def test_a_predicate_of_numbers_becomes_one_of_booleans() -> None:
    given = lc.check(
        '!cute.memref<bf16, gmem, align<16>, "((8,1),2):((1,0),8)">',
        '!cute.memref<bf16, smem, align<128>, "((8,1),2):((1,0),8)">',
        "cp.async", bits=128, pred='!cute.memref<bf16, gmem, align<16>, "(1,2):(0,1)">',
    )  # fmt: skip
    [text] = edited(f"{HEAD}cute.copy(atom, src, dst, pred=wanted)\n", given, "predicate-per-vector")
    assert text.strip().split("\n") == [
        "pred = cute.make_rmem_tensor(wanted.shape, cutlass.Boolean)",
        "for i in cutlass.range_constexpr(cute.size(pred)):",
        "    pred[i] = wanted[i] != 0",
        "cute.copy(atom, src, dst, pred=pred)",
    ]


def test_a_fault_that_no_edit_repairs_has_its_reason() -> None:
    view = '!cute.memref<f4E2M1FN, gmem, align<16>, "(8):(2)">'
    given = lc.check(view, view.replace("(2)", "(1)"), "universal")
    assert "LC218" in {one.code for one in given.findings} and unsafe(given) == REASONS["LC218"]
    right = lc.check(view.replace("(2)", "(1)"), view.replace("(2)", "(1)"), "universal")
    assert unsafe(right) == ""


@pytest.mark.sweep
@pytest.mark.parametrize("name", ODD)
def test_each_program_is_repaired_or_has_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "kernel.py"
    script.write_text(ODD[name])
    found = repaired(Script(str(script), launch=False))
    lines = [line for line in found.diff().splitlines() if line[:1] == "+" and line[:3] != "+++"]
    wanted = EDITS.get(name, [])
    assert len(lines) == len(wanted) and all(part in line for part, line in zip(wanted, lines, strict=True))
    assert bool(found.sketches) == (not wanted)
    if name in UNSAFE:
        assert found.sketches[0].reason.endswith(REASONS[UNSAFE[name]])
