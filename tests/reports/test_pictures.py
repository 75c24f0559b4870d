"""Pictures say what intent, execution and the bank model say: read back out of the SVG and compared."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import layoutcheck as lc
from layoutcheck.algebra.notation import parse_any_layout, parse_layout
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.intent import intent, thread_intent
from layoutcheck.atoms.matrix import LdMatrix
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.addresses import PRIVATE
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.coverage import coverage
from layoutcheck.copies.offsets import CompilerFails
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.tiled import make_tiled_copy_tv
from layoutcheck.errors import InputError
from layoutcheck.machine import banks
from layoutcheck.machine.dtypes import dtype
from layoutcheck.reports import blocks
from layoutcheck.reports.draw import drawn
from layoutcheck.reports.html import render
from layoutcheck.reports.pictures import copy_pictures, svg
from layoutcheck.reports.pictures.grid import grid_picture
from layoutcheck.reports.pictures.runs import encode
from layoutcheck.reports.pictures.scene import Scene, scene
from layoutcheck.reports.pictures.svg import Picture
from layoutcheck.reports.pictures.tile import tile_picture
from layoutcheck.reports.style import Style
from layoutcheck.rules import rules
from layoutcheck.sources.cases import case, case_names
from layoutcheck.sources.request import build
from tests.reports.picture_data import cells, decode, of_class, parsed, runs
from tests.rules.examples import example
from tests.test_fuzz import requests
from tests.thinned import thinned

CONFLICT: dict[str, Any] = {
    "src": "(64,64):(64,1)", "dst": '!cute.memref<bf16, smem, align<1024>, "(64,64):(64,1)">',
    "atom": "cp.async", "bits": 128, "dtype": "bf16", "thr": "(64,2):(1,64)", "val": "(1,8)",
}  # fmt: skip
SIDES = ("src", "dst")


@dataclass(frozen=True)
class Drawn:
    analysis: Analysis
    scene: Scene
    pictures: dict[str, Picture]


@cache
def of_case(name: str) -> list[Drawn]:
    copies = [build(**request)[0] for request in case(name).copies]
    return [_drawn(copy) for copy in copies if not isinstance(Analysis(copy).obstacle, CompilerFails)]


def _drawn(copy: Copy) -> Drawn:
    analysis = Analysis(copy)
    run = scene(analysis)
    assert run is not None
    return Drawn(analysis, run, {picture.name: picture for picture in copy_pictures(analysis)})


def drawable(name: str) -> bool:
    """Whether the addresses of a case are known: no opaque operand, elements of one width or TMA."""
    made = [build(**request)[0] for request in case(name).copies]
    return not any(
        isinstance(copy.src, OtherOperand) or isinstance(copy.dst, OtherOperand)
        or (copy.src.dtype.bits != copy.dst.dtype.bits and copy.tma is None)
        for copy in made
    )  # fmt: skip


CASES = [name for name in case_names() if drawable(name)]


def moves(run: Scene, kind: str) -> dict[str, Any]:
    """The addresses of intent or execution, asked anew: side -> [instruction or element, thread, unit]."""
    at = (run.run.src_base, run.run.dst_base)
    found = execution(run.copy, *at) if kind == "moved" else thread_intent(run.copy, *at)
    return {"src": found.src, "dst": found.dst}


def placing(run: Scene, side: str) -> Callable[[int], tuple[int, int]]:
    """What gives (owner, offset) of an absolute address."""
    origin, apart = run.origin(side), PRIVATE * 8 // run.unit_bits
    if run.private(side):
        return lambda address: divmod(address - origin, apart)
    return lambda address: (0, address - origin)


@pytest.mark.parametrize("name", thinned(CASES, 6))
@pytest.mark.parametrize("kind", ["moved", "asked"])
def test_who_moves_what_is_what_execution_and_intent_say(name: str, kind: str) -> None:
    for each in of_case(name):
        if "tma" in each.pictures:
            continue  # boxes instead of threads: test_tma_boxes_are_what_execution_moves
        picture = each.pictures.get(f"tv-{kind}")
        assert (picture is None) == (kind == "asked" and each.scene.comparison.clean)
        if picture is None:
            continue
        root = parsed(picture)
        asked_anew = intent(each.scene.copy, each.scene.run.src_base, each.scene.run.dst_base)
        for side, at in moves(each.scene, kind).items():
            named = {"src": asked_anew.src, "dst": asked_anew.dst}[side]
            place = placing(each.scene, side)
            named_at = {place(a) for a in named.reshape(-1).tolist() if a >= 0}
            by: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
            for i, of_threads in enumerate(at.tolist()):
                for thread, of_units in enumerate(of_threads):
                    for unit, address in enumerate(of_units):
                        if address >= 0:
                            by[place(address)].append((thread, i, unit))
            _panel_says(root, side, by, named_at)
            _detail_says(root, side, by, named_at, kind)


def _panel_says(root: Any, side: str, by: dict[Any, Any], named: set[tuple[int, int]]) -> None:
    for panel in of_class(root, "lc-panel"):
        if panel.get("data-side") != side:
            continue
        private = panel.get("data-private") == "1"
        if any(node.get("data-block") for node in panel.iter()):
            _blocks_say(panel, by)
            continue
        said: dict[tuple[int, int], set[int]] = defaultdict(set)
        for thread, mine in runs(panel).items():
            for _, offset, units in mine:
                for unit in range(units):
                    said[thread if private else 0, offset + unit].add(thread)
        assert said == {at: {thread for thread, _, _ in who} for at, who in by.items()}
        asked = next(path for path in panel.iter() if path.get("data-asked") is not None)
        ground = decode(asked.get("data-asked"))
        assert {(owner, at + k) for owner, at, units in ground for k in range(units)} == named


def _blocks_say(panel: Any, by: dict[Any, Any]) -> None:
    """A panel too large for cells: how many cells of each block are touched, and by which threads."""
    pitch, cell, first = (int(panel.get(f"data-{key}")) for key in ("pitch", "cell", "first"))
    private = panel.get("data-private") == "1"
    row_of = {start: row for row, (_, start, _) in enumerate(decode(panel.get("data-starts")))}
    each = next(int(node.get("data-each")) for node in panel.iter() if node.get("data-each"))
    touched: dict[str, set[tuple[int, int]]] = defaultdict(set)
    threads: dict[str, set[int]] = defaultdict(set)
    for (owner, offset), who in by.items():
        row = row_of[owner if private else offset // pitch * pitch]
        column = ((offset if private else offset % pitch) - first) // cell
        touched[f"{row // each} {column // each}"].add((row, column))
        threads[f"{row // each} {column // each}"] |= {thread for thread, _, _ in who}
    said = {node.get("data-block"): node for node in panel.iter() if node.get("data-block")}
    assert said.keys() == touched.keys()
    for key, node in said.items():
        assert int(node.get("data-cells")) == len(touched[key])
        assert node.get("data-threads") == f"{min(threads[key])}-{max(threads[key])}"


def _detail_says(root: Any, side: str, by: dict[Any, Any], named: set[tuple[int, int]], kind: str) -> None:
    (detail,) = (found for found in of_class(root, "lc-detail") if found.get("data-side") == side)
    seen = 0
    for owner, offset, asked, who, more in cells(detail):
        seen += bool(who)
        assert asked == ((owner, offset) in named)
        expected = {(t, i) for t, i, _ in by.get((owner, offset), [])}
        said = {(t, i if kind == "moved" else i + v) for t, i, v in who}
        assert said <= expected if more else said == expected
        assert len(who) + more == len(by.get((owner, offset), []))
    assert seen


@pytest.mark.parametrize("name", CASES)
def test_the_strip_is_one_instruction_and_what_the_layouts_ask_of_it(name: str) -> None:
    for each in of_case(name):
        if "tma" in each.pictures:
            continue
        run, picture = each.scene, each.pictures["strip"]
        root = parsed(picture)
        thread, instruction = int(picture.data["thread"]), int(picture.data["instruction"])
        said: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for rect in root.iter():
            if rect.get("data-value") is not None:
                key = (rect.get("data-side"), rect.get("data-kind"))
                said[key][int(rect.get("data-value"))].append(int(rect.get("data-offset")))
        cells = [one for one in root.iter() if one.get("data-value") is not None]
        for cell, following in itertools.pairwise(cells):
            adjacent = int(following.get("data-offset")) - int(cell.get("data-offset")) == 1
            if adjacent and all(cell.get(name) == following.get(name) for name in ("data-value", "y")):
                end = float(cell.get("x")) + float(cell.get("width"))
                assert end == pytest.approx(float(following.get("x")), abs=0.02)  # no line through its number
        pairs = set()
        for side_moves in [moves(run, "asked")]:
            flat = [side_moves[side].reshape(-1).tolist() for side in SIDES]
            places = [placing(run, side) for side in SIDES]
            pairs = {
                tuple(place(a)[1] for place, a in zip(places, pair, strict=True))
                for pair in zip(*flat, strict=True)
            }
        for value, from_at in said["src", "asked"].items():
            for pair in zip(from_at, said["dst", "asked"][value], strict=False):
                assert pair in pairs
        for side, at in moves(run, "moved").items():
            offsets = [placing(run, side)(a)[1] for a in at[instruction, thread].tolist() if a >= 0]
            drawn_at = [
                offset for value in sorted(said[side, "moved"]) for offset in said[side, "moved"][value]
            ]
            assert set(drawn_at) <= set(offsets)
            assert (
                drawn_at == offsets
                or len(set(offsets)) > len(drawn_at)
                or sorted(drawn_at) == sorted(offsets)
            )


@pytest.mark.parametrize("name", CASES)
def test_coverage_is_memory_after_the_copy(name: str) -> None:
    for each in of_case(name):
        run = each.scene
        anew = intent(run.copy, run.run.src_base, run.run.dst_base)
        asked = zip(anew.dst.reshape(-1).tolist(), anew.src.reshape(-1).tolist(), strict=True)
        want = {to: source for to, source in asked if source >= 0 or anew.zeros}
        got: dict[int, list[int]] = defaultdict(list)
        moved = moves(run, "moved")
        for to, source in zip(
            moved["dst"].reshape(-1).tolist(), moved["src"].reshape(-1).tolist(), strict=True
        ):
            got[to].append(source)
        expected: dict[str, set[int]] = defaultdict(set)
        for to, source in want.items():
            kind = "never" if to not in got else "other" if got[to][-1] != source else "twice"
            expected["once" if kind == "twice" and len(got[to]) == 1 else kind].add(to)
        expected["outside"] = got.keys() - want.keys()
        picture = each.pictures.get("coverage")
        if picture is None:
            assert not any(expected[kind] for kind in ("never", "twice", "other", "outside"))
            continue
        said: dict[str, set[tuple[int, int]]] = defaultdict(set)
        for path in parsed(picture).iter():
            if path.get("data-runs") is not None:
                for owner, offset, units in decode(path.get("data-runs")):
                    said[path.get("data-kind")] |= {(owner, offset + k) for k in range(units)}
        for kind in ("once", "never", "twice", "other", "outside"):
            assert said[kind] == set(map(placing(run, "dst"), expected[kind])), kind
            assert int(picture.data[kind]) == len(expected[kind])


def test_the_bank_map_shows_the_worst_instruction_before_and_after() -> None:
    each = _drawn(build(**CONFLICT)[0])
    root = parsed(each.pictures["banks"])
    before, after = of_class(root, "lc-banks")
    assert (before.get("data-wavefronts"), after.get("data-wavefronts")) == ("512", "64")
    assert after.get("data-map") == "with S<3,4,3>"
    at = execution(each.scene.copy, 0, 0).dst_accesses[0].addresses[0, :32]
    for map_, addresses in ((before, at), (after, lc.Swizzle(3, 4, 3)(at))):
        lowest = int(map_.get("data-lowest")) // 4 - int(addresses.min()) // 4
        said = set()
        rows: dict[int, set[int]] = defaultdict(set)
        for rect in map_.iter():
            if rect.get("data-lane") is not None:
                phase, wavefront, bank, lane, word = (
                    int(rect.get(f"data-{key}")) for key in ("phase", "wavefront", "bank", "lane", "word")
                )
                assert word % 32 == bank
                rows[phase].add(wavefront)
                said.add((phase, lane, word - lowest))
        assert said == {
            (lane // 8, lane, int(a) // 4 + k) for lane, a in enumerate(addresses) for k in range(4)
        }
        ways = {phase: len(found) for phase, found in rows.items()}
        counted = lc.shared_wavefronts([int(a) for a in addresses], 128, op=banks.CP_ASYNC)
        assert sum(ways.values()) == counted.wavefronts and max(ways.values()) == counted.ways


G = '!cute.memref<bf16, gmem, align<16>, "{}">'
S = '!cute.memref<bf16, smem, align<1024>, {}"{}">'
TMA = {
    "one box": (G.format("(256,256):(256,1)"), S.format("S<3,4,3>, ", "(64,64):(64,1)"), "tma_load"),
    "two boxes": (
        G.format("(256,256):(256,1)"),
        S.format("S<3,4,3>, ", "(64,(64,2)):(64,(1,4096))"),
        "tma_load",
    ),
    "past the edge": (G.format("(40,256):(256,1)"), S.format("S<2,4,3>, ", "(64,32):(32,1)"), "tma_load"),
    "the wrong major": (G.format("(256,256):(256,1)"), S.format("S<3,4,3>, ", "(64,64):(1,64)"), "tma_load"),
    "a store": (S.format("S<3,4,3>, ", "(64,64):(64,1)"), G.format("(256,256):(256,1)"), "tma_store"),
    "a store past the edge": (S.format("", "(64,32):(32,1)"), G.format("(40,256):(256,1)"), "tma_store"),
}


@pytest.mark.parametrize("name", [*TMA, *CASES])
def test_tma_boxes_are_what_execution_moves(name: str) -> None:
    for each in [_drawn(build(*TMA[name])[0])] if name in TMA else of_case(name):
        if name in TMA or "tma" in each.pictures:
            _boxes_are_moved(each)


def _boxes_are_moved(each: Drawn) -> None:
    root = parsed(each.pictures["tma"])
    done = execution(each.scene.copy, each.scene.run.src_base, each.scene.run.dst_base)
    asked = intent(each.scene.copy, each.scene.run.src_base, each.scene.run.dst_base)
    want = dict(zip(asked.dst.reshape(-1).tolist(), asked.src.reshape(-1).tolist(), strict=True))
    moved = {"src": done.src, "dst": done.dst}
    said: dict[str, dict[int, int]] = {}
    for panel in of_class(root, "lc-panel"):
        side = panel.get("data-side")
        paths = [path for path in panel.iter() if path.get("data-runs")]
        found = [run for path in paths for run in decode(path.get("data-runs"))]
        said[side] = {piece: at for piece, at, _ in found}
        assert len(said[side]) == len(found) and {units for _, _, units in found} == {16}
        flat = moved[side].reshape(-1, 16) - each.scene.origin(side)
        expected = {i: int(row[0]) for i, row in enumerate(flat) if moved[side].reshape(-1, 16)[i, 0] >= 0}
        assert said[side] == expected
    for detail in of_class(root, "lc-pieces"):
        side = detail.get("data-side")
        for rect in detail.iter():
            if rect.get("data-piece") is not None:
                piece = int(rect.get("data-piece"))
                assert int(rect.get("data-at")) == said[side][piece]
                to, of = (int(moved[s].reshape(-1, 16)[piece, 0]) for s in ("dst", "src"))
                assert (rect.get("data-wrong") == "1") == (want.get(to, -2) != of)
    assert ("coverage" in each.pictures) == (not each.scene.comparison.clean)


@given(st.data())
def test_the_words_that_banks_serve_add_up_to_the_wavefronts(data: st.DataObject) -> None:
    op = data.draw(st.sampled_from([banks.LOAD, banks.STORE, banks.MATRIX, banks.CP_ASYNC]))
    width = 128 if op == banks.MATRIX else data.draw(st.sampled_from([8, 16, 32, 64, 128]))
    lane = st.one_of(st.just(-1), st.integers(0, 40).map(lambda k: k * width // 8))
    at = np.array(data.draw(st.lists(lane, min_size=32, max_size=32)), np.int64)
    found = banks.served(at, width, op)
    counted = banks.wavefronts(at[None], width, op)
    assert sum(max(map(len, phase)) for phase in found) == counted.wavefronts[0]
    assert len(found) == counted.phases[0]


@given(st.lists(st.tuples(st.integers(-3, 5), st.integers(-200, 200), st.integers(1, 9)), max_size=20))
def test_runs_survive_being_written(found: list[tuple[int, int, int]]) -> None:
    assert decode(encode(found)) == found


@pytest.mark.parametrize(
    ("thr", "val"),
    [("(16,16):(16,1)", "(8,1)"), ("(4,8):(8,1)", "(2,4):(4,1)"), ("(32,8):(8,1)", "(4,16):(16,1)")],
)
def test_a_tile_shows_every_thread_and_value(thr: str, val: str) -> None:
    tiled = make_tiled_copy_tv(UniversalCopy(dtype("bf16"), 16), parse_layout(thr), parse_layout(val))
    root = parsed(tile_picture(tiled))
    rows = int(tile_picture(tiled).data["tile"].split()[0])
    pitch = None
    said = {}
    for panel in of_class(root, "lc-panel"):
        pitch = int(panel.get("data-pitch"))
        for thread, mine in runs(panel).items():
            for value, at, count in mine:
                said.update({(thread, value + k): at + k for k in range(count)})
    if pitch is None:
        (detail,) = of_class(root, "lc-detail")
        pitch = int(tile_picture(tiled).data["tile"].split()[1]) + 1
        said = {(t, first + v): at for _, at, _, who, _ in cells(detail) for t, first, v in who}
    threads, values = (
        mode.shape if isinstance(mode.shape, int) else lc.size(mode) for mode in tiled.layout_tv.modes
    )
    expected = {}
    for thread in range(threads):
        for value in range(values):
            column, row = divmod(tiled.layout_tv((thread, value)), rows)
            expected[thread, value] = row * pitch + column
    assert said == expected
    assert coverage(tiled).bijective


def test_a_tile_whose_sides_differ_is_drawn_twice() -> None:
    text = (
        '!cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = f16, mode = <"(8,8)">, sz_pattern = u16, '
        "num_matrices = 4, n>, "
        'layout_copy_tv = <"((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))">, '
        'tiler_mn = <"[32:1;16:1]">>'
    )
    (picture,) = drawn(text)
    details = list(of_class(parsed(picture), "lc-detail"))
    assert [detail.get("data-side") for detail in details] == ["src", "dst"]


@pytest.mark.parametrize(
    "text", ["(8,8):(8,1)", "16:2", "S<2,1,2> o 0 o (8,8):(8,1)", "((2,4),(2,4),2):((1,2),(8,32),999)",
             "(4,4):(1@0,1@1)",
             "(4,3):(-3,?)"]
)  # fmt: skip
def test_a_grid_has_the_offset_of_every_coordinate(text: str) -> None:
    layout: Any = parse_any_layout(text)
    root = parsed(grid_picture(layout))
    said = {node.get("data-crd"): node.get("data-offset") for node in root.iter() if node.get("data-crd")}
    outer = getattr(layout, "outer", layout)
    assert len(said) == lc.size(outer)
    for crd, offset in said.items():
        index = [int(c) for c in crd.split()]
        rows = lc.size(outer[0])
        plain = index[0] if len(index) == 1 else index[0] + rows * index[1]
        at = layout(lc.idx2crd(plain, outer.shape))
        shown = str(at).replace(" ", "") if isinstance(at, tuple) else str(at)
        assert offset == shown


def test_a_grid_coloured_by_thread() -> None:
    (picture,) = drawn("(16,16):(16,1)", "(4,4):(4,1)", "(2,4):(4,1)")
    tv = make_tiled_copy_tv(
        CpAsync(dtype("i8"), 32), parse_layout("(4,4):(4,1)"), parse_layout("(2,4):(4,1)")
    ).layout_tv
    owner = {tv((t, v)): (t, v) for t in range(16) for v in range(8)}
    for node in parsed(picture).iter():
        if node.get("data-thread") is not None:
            row, column = map(int, node.get("data-crd").split())
            assert owner[row % 8 + 8 * (column % 16)] == (
                int(node.get("data-thread")),
                int(node.get("data-value")),
            )
    assert sum(node.get("data-thread") is not None for node in parsed(picture).iter()) == 256


def test_large_things_stay_small() -> None:
    for text in ("(8192,8192):(1,8192)", "((2,4),(4,8192),3):((1,2),(8,32),99999999)", "1073741824:1"):
        (picture,) = drawn(text)
        assert len(picture.svg()) < 300_000
        corner = [node for node in parsed(picture).iter() if node.get("data-cells")]
        assert corner and all(int(node.get("data-cells")) > 1 for node in corner)
    tile = build("(128,1024):(1024,1)", "(128,1024):(1024,1)", "universal", bits=8, dtype="i8",
                 thr="(1,256):(256,1)", val="(8,1)", dst_space="smem")[0]  # fmt: skip
    pictures = copy_pictures(Analysis(tile))
    assert pictures and sum(len(picture.svg()) for picture in pictures) < 1_500_000
    blocks = list(of_class(parsed(pictures[1]), "lc-panel"))
    run = scene(Analysis(tile))
    assert run is not None
    for panel in blocks:
        counted = [int(node.get("data-cells")) for node in panel.iter() if node.get("data-block")]
        assert sum(counted) == moves(run, "moved")[panel.get("data-side")].size


def test_tensor_memory_is_drawn_lane_by_lane() -> None:
    copy = build(
        '!cute.memref<f32, tmem, align<16>, "(((32,32),1),1):(((2,65536),0),0)">',
        '!cute.memref<f32, rmem, align<32>, "((32,1),1):((1,0),0)">',
        "tcgen05.ld.32x32b.x32", dtype="f32", arch="sm_100a",
    )[0]  # fmt: skip
    root = parsed(_drawn(copy).pictures["tv-asked"])
    panel = next(of_class(root, "lc-panel"))
    assert len(decode(panel.get("data-starts"))) == 32
    assert any(node.text == "lane 0" for node in root.iter())


@pytest.mark.sweep
def test_every_rules_example_can_be_drawn_or_is_not() -> None:
    for rule in rules().values():
        for request in example(rule.code):
            analysis = Analysis(build(**request)[0])
            for picture in copy_pictures(analysis):
                root = parsed(picture)
                sizes = [
                    node.get(key) for node in root.iter() for key in ("width", "height") if node.get(key)
                ]
                assert all(float(size) > 0 for size in sizes)


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(requests())
def test_whatever_is_checked_can_be_drawn_or_is_not(request: dict[str, Any]) -> None:
    try:
        report = lc.check(**request)
    except InputError:
        return
    for picture in copy_pictures(Analysis(report.copy)):
        parsed(picture)
    assert "\x1b" not in blocks.render(blocks.copy_blocks(Analysis(report.copy)), Style())
    assert render([report], Style()).endswith("</html>\n")


def test_hostile_text_is_text() -> None:
    made = svg.element("g", svg.text(0, 0, "<script>\x00&\"'"), data_name='"><script>')
    assert "<script>" not in made and "\x00" not in made
    assert svg.escape("\x1b[31m") == "\ufffd[31m"


def test_what_cannot_be_drawn_says_why() -> None:
    for words, why in (
        (("(?,8):(8,1)",), "run-time"),
        (("(8,8):(8,1)", "(4,4):(4,1)", None), "both"),
        (("(8",), "expected"),
        (("8:1", "(4,4):(4,1)", "(2,4):(4,1)"), "modes"),
    ):
        with pytest.raises(InputError, match=why):
            drawn(*words)


def test_a_notebook_draws() -> None:
    layout = lc.Layout((4, 8), (8, 1))
    assert layout._repr_svg_().startswith("<svg")
    assert parse_layout("(?,8):(8,1)")._repr_svg_() is None
    assert (
        make_tiled_copy_tv(UniversalCopy(dtype("f32"), 32), layout, lc.Layout(2))
        ._repr_svg_()
        .startswith("<svg")
    )
    report = lc.check("(8):(1)", "(8):(64)", "cp.async", dtype="bf16", bits=128)
    page = report._repr_html_()
    assert page.startswith("<div") and "<script" not in page and "<svg" in page
    assert LdMatrix is not None
