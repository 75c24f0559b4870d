"""Indices that a tensor in registers does not have."""

from __future__ import annotations

import pytest

from layoutcheck.dsl.lowered.elements import Beyond, registers_beyond
from layoutcheck.tracing import Script, traced

_LINE = '    %4 = "cute.memref.{}"(%1, %2) : (!cute.memref<{}, "{}">, !cute.coord<"{}">) -> f32\n'


def line(layout: str, index: str, kind: str = "load", space: str = "f32, rmem, align<32>") -> str:
    return _LINE.format(kind, space, layout, index)


@pytest.mark.parametrize(
    ("layout", "index", "found"),
    [
        ("(1):(0)", "1", (1, 0, 0)),
        ("(1):(0)", "0", None),
        ("4:1", "4", (4, 4, 3)),
        ("4:1", "3", None),
        ("(2,3):(1,8)", "6", (6, 24, 17)),
        ("(2,3):(1,8)", "(1,3)", (3, 25, 17)),
        ("(2,3):(1,8)", "(2,0)", (2, 2, 17)),
        ("((2,2),3):((1,2),4)", "(3,2)", None),
        ("((2,2),3):((1,2),4)", "(4,2)", (4, 12, 11)),
        ("((2,2),3):((1,2),4)", "((0,1),2)", None),
        ("((2,2),3):((1,2),4)", "11", None),
        ("(2,?):(1,8)", "(2,0)", None),
        ("(2,3):(1,8)", "(0,?)", None),
        ("(2,3):(1,8)", "(0,0,7)", None),
    ],
)
def test_an_index_and_its_mode(layout: str, index: str, found: tuple[int, int, int] | None) -> None:
    told = list(registers_beyond(line(layout, index)))
    assert told == ([] if found is None else [("cute.memref.load#0", Beyond(False, layout, index, *found))])


def test_tags_count_all_accesses_and_other_memory_is_not_looked_at() -> None:
    text = line("4:1", "9", space="f32, gmem") + line("4:1", "?") + line("4:1", "9", "store")
    text += '    %5 = "cute.memref.load_vec"(%1) : (!cute.memref<f32, rmem, "4:1">) -> vector<4xf32>\n'
    text += line("4:1", "9") + line("S<2,4,3> o 0 o 4:1", "9")
    assert [(tag, one.write) for tag, one in registers_beyond(text)] == [
        ("cute.memref.store#0", True), ("cute.memref.load#2", False),
    ]  # fmt: skip


PROGRAM = """
import cutlass
from cutlass import cute

@cute.kernel
def kernel(out: cute.Tensor, rows: cutlass.Constexpr):
    pages = cute.make_rmem_tensor((rows // 64,), cutlass.Int32)
    for i in cutlass.range_constexpr(rows // 64):
        pages[i] = cute.arch.thread_idx()[0] + i
    for row in cutlass.range_constexpr(0, rows, 32):
        out[row // 32] = pages[row // 64]  # the page of a row

@cute.jit
def host(out: cute.Tensor, rows: cutlass.Constexpr):
    kernel(out, rows).launch(grid=(1, 1, 1), block=(1, 1, 1))

for rows in (128, 96):
    cute.compile(host, cute.runtime.make_fake_tensor(cutlass.Int32, (4,), (1,)), rows)
"""


def test_the_rest_of_the_rows_has_no_page(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of 96 rows the last 32 are in no whole group of 64."""
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    script = tmp_path_factory.mktemp("register") / "index.py"
    script.write_text(PROGRAM)
    whole, rest = traced(Script(str(script), launch=False, arch="sm_90a"), order=False).trace.elements
    assert whole.findings == ()
    note, left = sorted(rest.findings, key=lambda one: one.code, reverse=True)
    assert (left.code, left.severity, left.evidence["left_elements"]) == ("LC203", "note", 1)
    assert (note.code, note.severity, note.evidence["index"], note.evidence["elements"]) == (
        "LC204",
        "note",
        "1",
        1,
    )
    assert "# the page" in script.read_text().split("\n")[note.places[0].where.line - 1]
    assert "Index 1 of (1):(0) is behind the 1 elements of its mode" in note.message
