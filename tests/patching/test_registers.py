"""What threads hand on in registers, fixes of several statements, and registered cases."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutcheck as lc
from layoutcheck.linting import linted
from layoutcheck.patching.edit import apply
from layoutcheck.patching.instead import in_its_place
from layoutcheck.patching.program import Program
from layoutcheck.patching.state import held, torn
from layoutcheck.sources.traced import Distinct, Frame, TracedCopy
from layoutcheck.tracing import Script, repaired
from tests.patching.broken import staged
from tests.patching.reported import COPIED, MULTIPLIED

PATH = "kernel.py"
SMEM, RMEM = '!cute.memref<bf16, smem, align<128>, "{}">', '!cute.memref<bf16, rmem, align<32>, "{}">'
TILE = "(128,64):(72,1)"
ROWS = {"thr": "(16,8):(8,1)", "val": "(1,8)"}
NARROW = {"thr": "(8,16):(16,1)", "val": "(1,4)"}
BITS = {"(1,8)": 128, "(1,4)": 64}


def seen(line: int, filled: bool, threads: dict[str, str]) -> Distinct:
    """A copy from shared memory into registers, or out of them, by those threads."""
    sides = (SMEM.format(TILE), RMEM.format(TILE))
    src, dst = sides if filled else sides[::-1]
    copy = lc.check(src, dst, "universal", bits=BITS[threads["val"]], **threads).copy
    return Distinct(TracedCopy(copy, "", Frame(PATH, line), (), "kernel", "sm_90a"), 1, ("kernel",))


def same(place: tuple[str, int]) -> tuple[str, int]:
    return place


def test_registers_are_filled_and_emptied_alike() -> None:
    before = held([seen(3, True, ROWS), seen(4, False, ROWS)])
    assert [side for side, _ in before.values()] == ["dst", "src"]
    assert not torn(before, before, same)
    assert not torn(before, held([seen(3, True, NARROW), seen(4, False, NARROW)]), same)
    assert torn(before, held([seen(3, True, NARROW), seen(4, False, ROWS)]), same)
    assert torn(before, held([seen(3, True, ROWS), seen(4, False, NARROW)]), same)


def test_registers_that_no_copy_empties_keep_their_elements() -> None:
    """An MMA or arithmetic uses them, of which a trace of copies shows nothing."""
    alone = held([seen(3, True, ROWS)])
    assert torn(alone, held([seen(3, True, NARROW)]), same)
    assert not torn(alone, {}, same)
    moved = held([seen(5, True, NARROW)])
    assert torn(alone, moved, lambda place: (place[0], place[1] + 2))


KERNEL = """import cutlass; from cutlass import cute
def kernel(a, load):
    tid = thread()
    fragment = 1
    own = load.get_slice(tid)
    if tid < 4:
        cute.copy(load, own.partition_S(a), own.partition_D(tile))  # why
    done()
"""


def test_a_staged_copy_takes_its_statements_place() -> None:
    program = Program({PATH: KERNEL})
    site = program.copy_at(PATH, 7)
    assert site is not None
    report = lc.check("(128,64):(1,128)", "(128,64):(64,1)", "cp.async", bits=128, dtype="bf16",
                      thr="(16,16):(1,16)", val="(8,1)")  # fmt: skip
    [fix] = [fix for fix in report.fixes if fix.strategy == "stage-through-registers"]
    [edits] = in_its_place(program, fix, site)
    text = apply({PATH: KERNEL}, edits)[PATH]
    lines = text.splitlines()
    assert lines[:6] == KERNEL.splitlines()[:6] and lines[-1] == "    done()"
    assert all(line.startswith(" " * 8) for line in lines[6:-1])
    assert "thr_copy.partition_S(a), thr_copy.partition_D(tile)" in text and "get_slice(tid)" in text
    assert lines[-2] == "        cute.copy(store_atom, fragment_1, tDst)  # why"  # the name was taken


@pytest.mark.parametrize("line", ["x = cute.copy(load, own.partition_S(a), own.partition_D(tile))",
                                  "cute.copy(load, views[0], own.partition_D(tile))"])  # fmt: skip
def test_a_copy_whose_tiles_are_not_seen_stays(line: str) -> None:
    text = f"def kernel(a, load):\n    own = load.get_slice(tid)\n    {line}\n"
    program = Program({PATH: text})
    site = program.copy_at(PATH, 3)
    assert site is not None
    report = lc.check("(128,64):(1,128)", "(128,64):(64,1)", "cp.async", bits=128, dtype="bf16",
                      thr="(16,16):(1,16)", val="(8,1)")  # fmt: skip
    [fix] = [fix for fix in report.fixes if fix.strategy == "stage-through-registers"]
    assert list(in_its_place(program, fix, site)) == []


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("text", "by", "line"),
    [
        (COPIED, "copy-elements", "cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=16"),
        (COPIED, "stage-through-registers", "cute.copy(store_atom, fragment, tDst)"),
        (MULTIPLIED, "transpose-in-ldmatrix", "LdMatrix8x8x16bOp(True, 4)"),
    ],
)
def test_the_reported_copy_by_one_fix(tmp_path: Path, text: str, by: str, line: str) -> None:
    script = tmp_path / PATH
    script.write_text(text)
    found = repaired(Script(str(script), launch=False), by=by)
    assert len(found.repairs) == 1 and not found.sketches
    assert line in "".join(one for one in found.diff().splitlines() if one.startswith("+"))


@pytest.mark.sweep
def test_a_registered_case_is_repaired_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.layoutcheck]\npaths = ["."]\n')
    text = staged(32, 64, 32, "many threads").replace(
        "import cutlass\n", "import cutlass\nimport layoutcheck\n", 1
    )
    call = "cute.compile(host, tensor(), tensor())\n"
    for expect, blocks in (("", "128"), (", expect='wrong'", "256")):
        case = f"@layoutcheck.case(arch='sm_90a'{expect})\ndef build():\n    {call}"
        (tmp_path / PATH).write_text(text.replace(call, case))
        _, lines = linted([PATH], fix=True)
        assert f"block=({blocks}, 1, 1)" in (tmp_path / PATH).read_text()
        assert lines == ([] if expect else ["kernel.py:35: launch: launch 128 threads"])
