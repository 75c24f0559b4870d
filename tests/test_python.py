"""The library as it is met at a Python prompt, in a notebook and in a test."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import layoutcheck as lc
from layoutcheck.pytest_plugin.fixture import Checker, cases
from layoutcheck.request import Operand

TILE = ("(128,64):(1,128)", "(128,64):(64,1)", "cp.async")
OPTIONS = {"bits": 128, "dtype": "bf16", "thr": "(16,16):(16,1)", "val": "(8,1)"}
BOTH_ROWS = ("(128,64):(64,1)", "(128,64):(64,1)", "cp.async")
ROWS = {"bits": 128, "dtype": "bf16", "thr": "(32,8):(8,1)", "val": "(1,8)"}


def test_repr_is_one_line_that_names_the_finding() -> None:
    report = lc.check("(8):(1)", "(8):(64)", "cp.async", dtype="bf16", bits=128)
    assert repr(report).startswith("<Report wrong LC201: ")
    assert "\n" not in repr(report) and len(repr(report)) < 200
    assert repr(lc.check("(8):(1)", "(8):(1)", "cp.async", dtype="bf16", bits=128)).startswith(
        "<Report legal"
    )


def test_print_is_the_text_report(capsys: pytest.CaptureFixture[str]) -> None:
    report = lc.check(*TILE, **OPTIONS)
    print(report)
    assert capsys.readouterr().out == report.text() + "\n"
    assert report.text().startswith("rejected[LC102]") and "\x1b" not in report.text()
    assert report.html().startswith("<!doctype html>")


def test_a_report_in_a_notebook_is_small_and_says_what_it_leaves_out() -> None:
    report = lc.check(*TILE, **OPTIONS)
    shown = report._repr_html_()
    assert shown is not None and len(shown.encode()) < 100_000
    assert "<svg" in shown and "larger pictures are on the page that report.html() makes" in shown
    assert len(report.html().encode()) > 100_000
    small = lc.check("(8):(1)", "(8):(64)", "cp.async", dtype="bf16", bits=128)._repr_html_()
    assert small is not None and "larger pictures" not in small


def test_a_tiled_copy_may_stand_for_the_atom() -> None:
    printed = (
        "!cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>, "
        'layout_copy_tv = <"((16,16),8):((128,8),1)">, tiler_mn = <"[128:1;16:1]">>'
    )
    as_atom = lc.check(TILE[0], TILE[1], printed)
    as_tiled = lc.check(TILE[0], TILE[1], tiled=printed)
    assert as_atom.assumptions[-1].startswith("src and dst are whole tiles")
    assert as_atom.to_dict() | {"assumptions": []} == as_tiled.to_dict() | {"assumptions": []}


def test_a_threads_view_with_a_tiled_copy_stays_a_view() -> None:
    view = '!cute.memref<bf16, gmem, align<16>, "((8,1),1,4):((1,0),0,2048)">'
    printed = (
        "!cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>, "
        'layout_copy_tv = <"((16,16),8):((128,8),1)">, tiler_mn = <"[128:1;16:1]">>'
    )
    assert lc.check(view, view.replace("gmem", "smem"), printed).copy.tiling is None


def test_errors_name_arguments_not_options() -> None:
    with pytest.raises(lc.InputError, match="expected dtype=, such as bf16") as caught:
        lc.check("(8):(1)", "(8):(1)", "cp.async", bits=128)
    assert "--" not in str(caught.value)
    with pytest.raises(lc.InputError, match=r"expected tiler='\(64,64\)'$"):
        lc.check(*TILE[:2], "tma_load", dtype="bf16", tiler="(0,1)")
    with pytest.raises(lc.InputError, match="expected arch='sm_75' or later"):
        lc.synthesize((64, 64), "gmem (?,?):(1,?)", "ldmatrix", arch="sm_70")
    for said in ("|shift| >= bits", "k = 4"):  # no options
        assert lc.InputError("", expected=said).in_python().expected == said
    assert "--" not in lc.canonical("S<3,4,3> o 0 o (64,64):(64,1)", "f16").reason


def test_assert_legal_raises_with_the_report() -> None:
    assert lc.assert_legal(*BOTH_ROWS, **ROWS, slow=True).verdict in ("legal", "slow")
    with pytest.raises(AssertionError, match=r"rejected, not legal\n\nrejected\[LC102\]"):
        lc.assert_legal(*TILE, **OPTIONS)


def test_what_fails_is_named_first_and_in_pythons_terms() -> None:
    with pytest.raises(AssertionError, match=r"^LC102, LC101: the copy is rejected") as caught:
        lc.assert_legal(*TILE, **OPTIONS)
    assert "--" not in str(caught.value) and "(the code of all of them: report.fixes)" in str(caught.value)
    with pytest.raises(AssertionError, match="no thr and val: src and dst are taken"):
        lc.assert_legal(*TILE, dtype="bf16", bits=128)


def test_a_synthesis_is_one_line_and_prints_its_report() -> None:
    found = lc.synthesize("(32,32)", "gmem (?,?{div=8}):(?{div=8},1)", "registers")
    assert re.fullmatch(r"<Synthesis \d+ plans?, best: \S.*>", repr(found)) and len(repr(found)) < 100
    assert repr(found.best) == f"<Plan {found.best.verdict} {found.best.kind}>"
    assert str(found).startswith("(32,32) bf16 to registers") and found.best.code.rstrip() in str(found)
    assert "copies=" not in repr(lc.check(*TILE, **OPTIONS).fixes[0])


def test_answers_about_operands_are_one_line_and_print_their_report() -> None:
    tile = lc.canonical("(64,64):(64,1)", dtype="bf16")
    assert repr(tile).startswith("<Canonical rejected K_INTER wants 8 adjacent") and "\n" not in repr(tile)
    assert str(tile).startswith(
        "rejected: (64,64):(64,1) is not canonical for wgmma\n"
    ) and tile.text() == str(tile)
    assert str(
        lc.canonical(tile.nearest, dtype="bf16", swizzle=tile.nearest_swizzle, unit="tcgen05")
    ).startswith("legal: (64,64):(64,1) is canonical for tcgen05: K_SW128")
    operands = lc.check_mma("mma.m16n8k16.f32.bf16", b="ldmatrix (32,32):(1,32)")
    assert repr(operands) == "<MmaReport wrong mma.m16n8k16.f32.bf16.bf16>"
    assert "wrong: B: 896 of 1,024 registers" in str(operands)


def test_a_layout_is_made_as_in_cute() -> None:
    rows = lc.Layout((4, 8), (8, 1))
    assert lc.make_layout((4, 8), stride=(8, 1)) == lc.make_layout((4, 8), (8, 1)) == rows
    assert lc.make_layout((4, 8)) == lc.make_layout(lc.Layout(4), lc.Layout(8, 4)) == lc.Layout((4, 8))
    for given, stride in (((lc.Layout(4), 8), None), ((4, 8, 2), None), ((lc.Layout(4),), 2), ((4, 8), 1)):
        with pytest.raises(lc.InputError, match="layouts, or one shape and at most one stride"):
            lc.make_layout(*given, stride=stride)


def test_a_command_that_is_no_function_names_what_is() -> None:
    with pytest.raises(AttributeError, match="expected check for a copy, check_error for a pasted error"):
        lc.explain  # noqa: B018


def test_a_budget_of_wavefronts_is_kept_to_the_last_one() -> None:
    counted = lc.check(*BOTH_ROWS, **ROWS).execution["smem_wavefronts"]
    fixture = Checker()
    fixture._gpu = False
    for within in (lc.assert_wavefronts, fixture.assert_wavefronts):
        within(counted, *BOTH_ROWS, **ROWS)
        with pytest.raises(
            AssertionError, match=f"{counted} shared-memory wavefronts, {counted - 1} allowed"
        ):
            within(counted - 1, *BOTH_ROWS, **ROWS)
        for most in (-1, True, 1.5):
            with pytest.raises(lc.InputError, match="not a budget"):
                within(most, *BOTH_ROWS, **ROWS)  # type: ignore[arg-type]


def test_unknown_wavefronts_are_no_success() -> None:
    with pytest.raises(AssertionError, match="are not known"):
        lc.assert_wavefronts(10**9, "(8):(1)", "(8):(1)", "universal", dtype="bf16", bits=128,
                             src_space="gmem", dst_space="rmem")  # fmt: skip


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (("(8):(1)",), {}, "missing a required argument: 'dst'"),
        (("(8):(1)", "(8):(1)"), {"dtpe": "f16"}, r"no argument 'dtpe' \(did you mean dtype"),
        (("(8):(1)", "(8):(1)", "cp.async", 16), {}, "too many positional arguments; expected src, dst"),
        (("(8):(1)", "(8):(1)"), {"thr": "(4,1)", "dtype": "f16"}, "both thr= and val="),
        (("(8):(1)", "(8):(1)", "cp.async"), {"dtype": "f16", "bits": "x"}, "'bits' is a whole number"),
    ],
)
def test_a_call_that_cannot_be_meant_is_an_input_error_in_pythons_terms(
    given: tuple[str, ...], options: dict[str, object], said: str
) -> None:
    """In pytest, with the fixture or without, the test's own line is all that is shown."""
    for check in (lc.check, lc.assert_legal, Checker().check)[: 3 if len(given) in (2, 3) else 2]:
        with pytest.raises(lc.InputError, match=said) as raised:
            check(*given, **options)
        assert "--" not in str(raised.value)
        assert [entry.path.name for entry in raised.traceback.filter(raised)][1:] == []


@pytest.mark.parametrize("expected", ["wron", "LEGAL", ""])
def test_an_expected_verdict_that_is_none_is_refused(expected: str, tmp_path: Path) -> None:
    with pytest.raises(lc.InputError, match="expected is "):
        Checker().assert_copy("(8):(1)", "(8):(1)", "universal", dtype="f16", expected=expected)
    record = {"src": "(8):(1)", "dst": "(8):(1)", "dtype": "f16", "expected": expected}
    (tmp_path / "c.jsonl").write_text(json.dumps(record))
    with pytest.raises(lc.InputError, match=r"c\.jsonl:1: expected is "):
        cases(tmp_path / "c.jsonl")


def test_operands_have_types_in_the_signature() -> None:
    """Text or what has a shape; a reader and a type checker see which."""
    parameters = inspect.signature(lc.check).parameters
    assert parameters["src"].annotation == parameters["dst"].annotation == Operand
    assert parameters["thr"].annotation == Operand | None
    assert not [name for name, one in parameters.items() if one.annotation is Any]
    for value in (lc.Layout(8), lc.check("(8):(1)", "(8):(1)", dtype="f16").copy.src, np.zeros(8)):
        assert hasattr(value, "shape")


def test_a_type_checker_knows_every_public_name() -> None:
    """So no name is Any to it, and a misspelt name is an error."""
    tree = ast.parse(Path(lc.__file__).read_text(encoding="utf-8"))
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    names = {one.asname for node in typed.body if isinstance(node, ast.ImportFrom) for one in node.names}
    algebra = importlib.import_module("layoutcheck.algebra").__all__
    assert names - {None} == set(dir(lc)) - set(algebra)


def test_operands_of_an_mma_may_be_objects_and_errors_speak_of_arguments() -> None:
    tile = lc.parse_any_layout("S<3,3,3> o 0 o (64,64):(64,1)")
    assert lc.check_mma("wgmma.m64n64k16.f32.bf16", tile).verdict == "legal"
    memref = lc.Memref(lc.dtype("bf16"), "smem", lc.Layout((64, 64), (64, 1)), 1024, lc.Swizzle(3, 4, 3))
    assert lc.check_mma("wgmma.m64n64k16.f32.bf16", memref).verdict == "legal"
    for wrong, said in ((5, "a: an object of type int"), ("foo", "a: no registers of A")):
        with pytest.raises(lc.InputError, match=f"^{said}"):
            lc.check_mma("mma.m16n8k16.f32.bf16", wrong)  # type: ignore[arg-type]


def test_text_has_no_size() -> None:
    for measure in (lc.size, lc.rank, lc.depth):
        with pytest.raises(lc.InputError, match="parse_layout and parse_tree read text"):
            measure("(4,8)")
    with pytest.raises(lc.InputError, match="'dtype' is the text 'bf16'; expected a DType"):
        lc.Memref("bf16", "gmem", lc.Layout(8))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("atoms", "tiles", "said"),
    [
        ((2, np.int64(2), 1), (32, 32, 16), None),
        (lc.Layout((2, 2, 1)), (32, lc.Layout(32), lc.Layout(16)), None),
        (np.array([2, 2, 1]), None, "'atom_layout' is an object of type ndarray; expected a text"),
        ((2, 2, 1), 32, "'permutation' is the int 32"),
        ((2, 2, 1), (32, 1.5, 16), "'permutation' is the tuple"),
        ((-2, 2, 1), None, "every extent of a shape is at least 1"),
        ((), None, "an empty tuple"),
    ],
)
def test_check_mma_takes_what_make_tiled_mma_does(atoms: object, tiles: object, said: str | None) -> None:
    def asked(atoms: Any, tiles: Any) -> Any:
        read = "ldmatrix (32,32):(1,32)"
        found = lc.check_mma("mma.m16n8k16.f32.bf16", b=read, atom_layout=atoms, permutation=tiles)
        return found.to_dict()

    if said is None:
        assert asked(atoms, tiles) == asked("(2,2,1)", "(32,32,16)") != asked("(2,2,1)", None)
    else:
        with pytest.raises(lc.InputError, match=re.escape(said)):
            asked(atoms, tiles)


@pytest.mark.parametrize("bits", [0, -8, 4, 24, 2**70])
def test_elements_without_an_address_are_refused(bits: int) -> None:
    tile = lc.Layout((32, 32), (32, 1))
    with pytest.raises(lc.InputError, match=f"elements of {bits} bits have no byte addresses"):
        lc.matrix_access(tile, bits)
    with pytest.raises(lc.InputError, match=f"elements of {bits} bits have no byte addresses"):
        lc.analyse_tile(tile, bits, [])


def test_a_report_is_carried_only_with_texts() -> None:
    copy = lc.check("(8):(1)", "(8):(1)", "cp.async", dtype="bf16", bits=128).copy
    assert lc.check_copy(copy, assumptions=("so",), subject="here").assumptions == ("so",)
    with pytest.raises(lc.InputError, match="'subject' is the int 3; expected text or None"):
        lc.check_copy(copy, subject=3)  # type: ignore[arg-type]
    with pytest.raises(lc.InputError, match=r"'assumptions\[0\]' is None; expected text"):
        lc.check_copy(copy, assumptions=[None])  # type: ignore[arg-type]
