"""`guard-tail`: inserted predicates, and the proof that they take away just what leaves the tensor."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest

import layoutcheck as lc
from layoutcheck.patching.advice import _objection
from layoutcheck.patching.cuts import cut_of
from layoutcheck.patching.edit import Edit, apply
from layoutcheck.patching.predicates import guarded, reused
from layoutcheck.patching.program import Program
from layoutcheck.patching.repair import repair
from layoutcheck.patching.repaired import Repaired
from layoutcheck.patching.state import Edited, State
from layoutcheck.patching.tiles import SHIFTED, turned_tiles
from layoutcheck.patching.ways import ways
from layoutcheck.reports.repaired import render
from layoutcheck.reports.style import Style
from layoutcheck.sources.evaluated import Evaluated, Inside
from layoutcheck.sources.traced import (
    Addresses,
    Distinct,
    Frame,
    LoweredFault,
    Trace,
    TracedCopy,
    TraceFailure,
)
from layoutcheck.tracing import Script, repaired
from tests.patching.simulated import DESTINATION, SOURCE, block, compiled
from tests.patching.tails import TAILS

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")

VIEW = '!cute.memref<f32, gmem, align<16>, "((4,1),(8,1)):((1,0),(256,0))">'
HELD = '!cute.memref<f32, rmem, align<32>, "((4,1),(8,1)):((1,0),(4,0))">'
COPY = lc.check(VIEW, HELD, "universal", bits=128).copy


def texts_of(name: str) -> tuple[dict[str, str], int]:
    """A program, and the line of its first copy."""
    lines = TAILS[name].split("\n")
    return {"k.py": TAILS[name]}, 1 + next(n for n, line in enumerate(lines) if "cute.copy(" in line)


def written(name: str) -> list[str]:
    """The lines of the first edit for the first copy."""
    texts, line = texts_of(name)
    program = Program(texts)
    site = program.copy_at("k.py", line)
    assert site is not None
    edits, _ = next(guarded(program, site, COPY))
    old = texts["k.py"].split("\n")
    return [one.strip() for one in apply(texts, edits)["k.py"].split("\n") if one not in old]


def test_the_coordinates_are_cut_as_the_tensor_is() -> None:
    assert written("rows") == [
        "coords = cute.local_tile(cute.make_identity_tensor(src.shape), (32, 32), (row, column))",
        "guard = cute.group_modes(own.partition_S(coords), 1)[(0, None), None]",
        "pred = cute.make_rmem_tensor(guard.shape, cutlass.Boolean)",
        "for i in cutlass.range_constexpr(cute.size(pred)):",
        "pred[i] = cute.elem_less(guard[i], src.shape)",
        "cute.recast_tensor(held, cutlass.Int32).fill(0)",
        "cute.copy(tiled, mine, held, pred=pred)",
    ]


def test_what_the_host_cut_it_cuts_of_the_coordinates_too() -> None:
    head, *_, less, _, _, launch = written("host")
    assert head.endswith("tiled: cute.TiledCopy, coords: cute.Tensor, extents: cute.Shape):")
    assert less == "pred[i] = cute.elem_less(guard[i], extents)"
    given = "coords=cute.zipped_divide(cute.make_identity_tensor(src.shape), (32, 32)), extents=src.shape"
    assert f"tiled, {given}).launch(" in launch


def test_a_predicate_that_is_there_is_replaced() -> None:
    texts, line = texts_of("wrong mode")
    program = Program(texts)
    site = program.copy_at("k.py", line)
    assert site is not None
    edits, bare = next(guarded(program, site, COPY))
    assert "cute.copy(tiled, mine, held, pred=pred_2)" in apply(texts, edits)["k.py"]
    assert "cute.copy(tiled, mine, held, pred=None)" in apply(texts, bare)["k.py"]


@pytest.mark.parametrize(
    ("address", "at", "swapped"),
    [
        (1 << 20, "cute.local_tile(src, (32, 32), (n, m))", ["(m, n)"]),
        (-64, "cute.local_tile(src, (32, 32), coord=(n, m))", ["(m, n)"]),
        (1 << 20, "src[(None, None), (n, m, k)]", ["(m, n, k)", "(k, m, n)", "(n, k, m)"]),
        (1 << 20, "cute.local_tile(src, (32, 32), (n, None))", []),
        (51200 + 1024, "cute.local_tile(src, (32, 32), (n, m))", []),  # a tile that ends outside
    ],
)
def test_coordinates_are_swapped_where_a_whole_tile_lies_outside(
    address: int, at: str, swapped: list[str]
) -> None:
    fault = LoweredFault("beyond", "src", "ld.global", "gmem", 0, address, 16, 51200, "(1,1,0)")
    one = replace(seen(Path("k.py")), addresses=Addresses(128, (), (fault,)))
    text = f"mine = own.partition_S({at})\ncute.copy(atom, mine, held)\n"
    program = Program({"k.py": text})
    site = program.copy_at("k.py", 2)
    assert site is not None
    made = [apply({"k.py": text}, edits)["k.py"] for _, edits in turned_tiles(program, site, one, COPY)]
    wanted = [text.replace(at, at.replace("(n, m, k)", new).replace("(n, m)", new)) for new in swapped]
    assert sorted(made) == sorted(wanted)


def test_what_is_added_to_a_coordinate_is_left_away_where_all_is_shifted() -> None:
    """And no predicate hides it."""
    fault = LoweredFault("beyond", "dst", "st.global", "gmem", 0, 51200, 16, 51200, "(1,1,0)", shifted=True)
    one = replace(seen(Path("k.py")), addresses=Addresses(128, (), (fault,)))
    text = "mine = own.partition_D(cute.local_tile(dst, (32, 32), (n + 1, m)))\ncute.copy(atom, held, mine)\n"
    report = lc.check(HELD, VIEW, "universal", bits=128)
    made = ways({"k.py": text}, Distinct(one, 1, ()), report)
    assert [(way.title, way.bare) for way in made if way.bare is not None] == []
    program = Program({"k.py": text})
    site = program.copy_at("k.py", 2)
    assert site is not None
    [(title, edits)] = turned_tiles(program, site, one, report.copy)
    assert apply({"k.py": text}, edits)["k.py"] == text.replace("n + 1", "n") and title.endswith(SHIFTED)


def test_the_predicate_of_the_other_copy_is_taken() -> None:
    """Or one made before: by its name, within the function, where the copy has none; then with 0."""
    text = "mask = cute.make_rmem_tensor(n, cutlass.Boolean)\ncute.copy(tiled, mine, held)\n"
    text += "late = cute.make_rmem_tensor(n, cutlass.Boolean)\ncute.copy(tiled, held, out, pred=inside)\n"
    text += "cute.copy(tiled, held, out, pred=made())\ndef f():\n    cute.copy(a, b, c, pred=other)\n"
    program = Program({"k.py": text})
    sites = [site for line in (2, 4) if (site := program.copy_at("k.py", line)) is not None]
    made = [[apply({"k.py": text}, one)["k.py"] for one in reused(program, site, COPY)] for site in sites]
    zero = "cute.recast_tensor(held, cutlass.Int32).fill(0)\n"
    wanted = [
        text.replace("cute.copy(tiled, mine, held)", f"{first}cute.copy(tiled, mine, held, pred={name})")
        for name in ("inside", "mask")
        for first in ("", zero)
    ]
    assert made == [wanted, []]


def test_tensors_that_a_comprehension_cuts_are_followed() -> None:
    """As in quack: every tensor is cut by the same expression."""
    cuts = "cute.local_tile(t, tile, (0, t2)) for t in (x, y, z)"
    for tiles in (f"({cuts})", f"[{cuts}]"):
        text = f"a, b, c = {tiles}\nmine = own.partition_S(b)\ncute.copy(tiled, mine, held)\n"
        program = Program({"k.py": text})
        site = program.copy_at("k.py", 3)
        assert site is not None
        start = program.argument(site, "src")
        assert start is not None
        cut = cut_of(program, start, 3)
        assert cut is not None and cut.root.id == "y"
        assert ast.unparse(cut.part) == "own.partition_S(cute.local_tile(y, tile, (0, t2)))"
    text = "a, b = (cute.local_tile(t, tile) for t in (x, y) if t)\ncute.copy(tiled, a, held)\n"
    program = Program({"k.py": text})
    site = program.copy_at("k.py", 2)
    start = None if site is None else program.argument(site, "src")
    cut = None if start is None else cut_of(program, start, 2)
    assert cut is not None and cut.root.id == "a"


# ---- the proof, with traces made up ----


Move: TypeAlias = "tuple[Evaluated, int, int]"


def seen(path: Path, *moves: Move, leaves: bool = False, bounded_if: str = "") -> TracedCopy:
    fault = LoweredFault("beyond", "src", "ld.global", "gmem", 0, 51456, 16, 51200, "(1,1,0)")
    inside = tuple((run, Inside(*counts)) for run, *counts in moves)
    one = TracedCopy(COPY, "", Frame(str(path), 2), (), "kernel", "sm_90a", inside=inside)
    return replace(one, addresses=Addresses(128, (), (fault,)) if leaves else None, bounded_if=bounded_if)


LINES = """mine = own.partition_S(src)
cute.copy(atom, mine, held)
"""


def tried(folder: Path, before: TracedCopy, after: TracedCopy, by: str | None = None) -> Repaired:
    path = folder / "kernel.py"
    path.write_text(LINES)

    def retrace(script: str, cwd: str | None, **_: bool) -> Trace:
        at = 1 + Path(script).read_text().split("\n").index("cute.copy(atom, mine, held, pred=pred)")
        return Trace((replace(after, where=Frame(str(path), at)),))

    return repair(str(path), Trace((before,)), retrace, by=by)


ALL, TAIL = Evaluated(0, 0x1A), Evaluated(1028, 0x2B)
WRONG = "elements inside of the tensor would not be moved"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ([(ALL, 4096, 4096)], [(ALL, 4096, 4096)], ""),
        ([(ALL, 4096, 2048)], [(ALL, 2048, 2048)], ""),  # the others were of the next rows
        ([(ALL, 4096, 4096)], [(ALL, 2048, 2048)], WRONG),
        ([(ALL, 4096, -1)], [(ALL, 2048, -1)], WRONG),
        ([(ALL, 4096, 4096)], [(Evaluated(0, 0x3C), 4096, 4096)], "which elements it moves is not known"),
        ([(ALL, 4096, -1), (TAIL, 9, 8)], [(ALL, 4096, 4096), (TAIL, 8, 8)], ""),
        ([(ALL, 4096, -1), (TAIL, 9, 9)], [(ALL, 4096, 4096), (TAIL, 8, 8)], WRONG),  # a tail is left out
        ([(ALL, 4096, -1), (TAIL, 9, -1)], [(ALL, 4096, 4096), (TAIL, 8, 8)], ""),  # of tails it is not known
        ([(ALL, 4096, -1), (TAIL, 9, 9)], [(ALL, 2048, 2048), (TAIL, 9, 9)], WRONG),  # whole tiles
    ],
)
def test_a_predicate_stays_if_all_that_is_inside_moves(
    tmp_path: Path, before: list[Move], after: list[Move], reason: str
) -> None:
    path = tmp_path / "kernel.py"
    found = tried(tmp_path, seen(path, *before, leaves=True), seen(path, *after))
    assert len(found.repairs) == (not reason)
    assert [reason in sketch.reason for sketch in found.sketches] == [True] * bool(reason)


def test_what_rests_on_the_caller_is_guarded_by_name_alone(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    runs = (ALL, 4096, 4096), (TAIL, 9, 9)
    tail = seen(path, *runs, bounded_if="every dynamic extent has to be a multiple of 32: with 1028 ...")
    left_so = tried(tmp_path, tail, seen(path, *runs))
    assert left_so.repairs == [] and left_so.resting == [tail.where]
    assert "`--by guard-tail` adds a predicate" in " ".join(render(left_so, [], Style()).split())
    [one] = tried(tmp_path, tail, seen(path, *runs), "guard-tail").repairs
    assert one.title.startswith("guard-tail: a predicate")
    [left] = tried(tmp_path, tail, tail, "guard-tail").sketches
    assert "the copy still leaves its tensor for some extents" in left.reason
    many = seen(path, *runs, bounded_if="no tensor may have more than 2^31 elements")
    assert tried(tmp_path, many, many, "guard-tail").sketches == []  # nothing to do with tails
    assert tried(tmp_path, many, many).resting == []


def test_as_many_bytes_are_those_of_the_same_blocks() -> None:
    state = State(Trace((seen(Path("k.py"), (ALL, 8, 8), (TAIL, 4, 4)), seen(Path("k.py"), (ALL, 8, -1)))))
    assert state.inside([("k.py", 2)]) == {ALL: Inside(16, -1), TAIL: Inside(4, 4)}
    assert Edited({}, state, {}, state).keeps([("k.py", 2)], [("k.py", 2)], state) == ""


def test_a_way_without_the_copy_is_none() -> None:
    gone, texts = State(Trace(())), {"k.py": "cute.copy(a, s, d)\n"}
    edited = Edited(texts, gone, {"k.py": "\n"}, gone)
    assert _objection(edited, (Edit("k.py", 0, 18, ""),), cast(Any, None)) == "the copy is gone"


# ---- whole programs ----


@pytest.mark.sweep
@pytest.mark.parametrize("name", TAILS)
def test_programs_whose_tiles_leave_the_tensor_are_guarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "kernel.py"
    script.write_text(TAILS[name])
    found = repaired(Script(str(script), launch=False), by="guard-tail" if "dynamic" in name else None)
    copies = TAILS[name].count("copy(")
    assert len(found.repairs) == copies and not found.sketches, found.sketches
    assert all(one.title.startswith("guard-tail") for one in found.repairs)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "blocks", "elements"),
    [("tf32", 2, 40 * 64), ("columns, host", 2, 64 * 40), ("autovec", 2, 40 * 64), ("one block", 1, 640)],
)
def test_a_guarded_program_copies_every_element_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, blocks: int, elements: int
) -> None:
    """By the PTX of the repaired program, in every block."""
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "kernel.py"
    script.write_text(TAILS[name])
    found = repaired(Script(str(script), launch=False))
    ptx = compiled(found.after[str(script)])
    moved: dict[int, int] = {}
    for at in ((x, y) for x in range(blocks) for y in range(blocks)):
        moved |= block(ptx, at).written
    assert {to - DESTINATION: by - SOURCE for to, by in moved.items()} == {n: n for n in range(4 * elements)}


@pytest.mark.sweep
@pytest.mark.parametrize(("tensor", "at"), [("src", "(column, row)"), ("dst", "(row + 1, column)")])
def test_a_tile_of_other_coordinates_is_no_tail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tensor: str, at: str
) -> None:
    """A predicate would make the copy legal, and a part of the tensor would not be read, or written."""
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "kernel.py"
    text = TAILS["columns"].replace("(64, 40)", "(256, 1024)").replace("(40, 1)", "(1024, 1)")
    text = text.replace("(2, 2, 1)", "(8, 32, 1)")
    wrong = text.replace(
        f"local_tile({tensor}, (32, 32), (row, column))", f"local_tile({tensor}, (32, 32), {at})"
    )
    script.write_text(wrong)
    found = repaired(Script(str(script), launch=False))
    assert wrong != text and found.after[str(script)] == text and not found.sketches


@pytest.mark.parametrize("tiler", ["(32, 32)", "tiler=(32, 32)"])
def test_coordinates_that_the_kernel_has_are_taken(tiler: str) -> None:
    """CUTLASS's elementwise_add: the coordinates and the extents are handed on already."""
    text = TAILS["host"].replace(
        "tiled: cute.TiledCopy", "tiled: cute.TiledCopy, where: cute.Tensor, end: cute.Shape"
    )
    whole = "    all_ = cute.make_identity_tensor(src.shape)\n"
    text = text.replace("    kernel(", f"{whole}    cut = cute.zipped_divide(all_, {tiler})\n    kernel(")
    text = text.replace("(32, 32)), tiled)", "(32, 32)), tiled, cut, end=src.shape)")
    program = Program({"k.py": text})
    line = 1 + next(n for n, one in enumerate(text.split("\n")) if "cute.copy(" in one)
    site = program.copy_at("k.py", line)
    assert site is not None
    edits, _ = next(guarded(program, site, COPY))
    old = text.split("\n")
    first, _, _, _, less, *_ = [
        one.strip() for one in apply({"k.py": text}, edits)["k.py"].split("\n") if one not in old
    ]
    assert first == "coords = where[(None, None), (row, column)]"
    assert less == "pred[i] = cute.elem_less(guard[i], end)"


def test_every_launch_hands_on_the_coordinates() -> None:
    """The host's second function launches the kernel, too, and cuts tensors of its own names."""
    text = TAILS["host"]
    start = text.index("@cute.jit")
    host = text[start : text.index("\n\n\n", start)]
    other = host.replace("def host(", "def other(").replace("src", "given")
    text = text.replace(host, f"{host}\n\n\n{other}")
    line = 1 + next(n for n, one in enumerate(text.split("\n")) if "cute.copy(" in one)
    program = Program({"k.py": text})
    site = program.copy_at("k.py", line)
    assert site is not None
    edits, _ = next(guarded(program, site, COPY))
    made = apply({"k.py": text}, edits)["k.py"]
    for name in ("src", "given"):
        given = f"coords=cute.zipped_divide(cute.make_identity_tensor({name}.shape), (32, 32))"
        assert made.count(f"{given}, extents={name}.shape).launch(") == 1
    assert made.count("coords: cute.Tensor, extents: cute.Shape") == 1


def test_a_vector_repeated_in_two_modes_keeps_one_mode_of_its_own() -> None:
    """cute.copy takes V of two modes for a vector and its repetition: (2, 4) would be vectors of 2."""
    nested = [one.replace("((4,1),(8,1)):((1,0)", "((1,(2,4)),(8,1)):((0,(1,2))") for one in (VIEW, HELD)]
    texts, line = texts_of("rows")
    program = Program(texts)
    site = program.copy_at("k.py", line)
    assert site is not None
    edits, _ = next(guarded(program, site, lc.check(*nested, "universal", bits=32).copy))
    made = "cute.make_rmem_tensor(((1, guard.shape[0]), guard.shape[1]), cutlass.Boolean)"
    assert made in apply(texts, edits)["k.py"]


def test_what_ended_the_trace_is_told(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(LINES)
    ended = TraceFailure("raised", "ModuleNotFoundError: No module named 'torch'")
    found = repair(str(path), Trace((), (), (ended,)), lambda script, cwd, **_: Trace())
    assert found.unseen == ["raised: ModuleNotFoundError: No module named 'torch'"]
    said = render(found, [], Style())
    assert "of what was seen, nothing is rejected or wrong" in said and "No module named 'torch'" in said
