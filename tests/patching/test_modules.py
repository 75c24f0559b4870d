"""Programs of several files, with constants, fields and defaults: what an edit finds behind a name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from layoutcheck.algebra.notation import parse_layout
from layoutcheck.patching.copiers import along_the_other_mode
from layoutcheck.patching.edit import Candidate, apply
from layoutcheck.patching.edits import launched
from layoutcheck.patching.layouts import aligned, coarser
from layoutcheck.patching.modules import imported
from layoutcheck.patching.program import Program, Site
from layoutcheck.patching.stages import may_be_of, spaced
from layoutcheck.patching.words import flags, other_words

TILES = """PAD = 4

def padded(rows, cols, stages, pad=PAD):
    pitch = cols + pad
    return cute.make_layout((rows, cols, stages), stride=(pitch, 1, rows * pitch))

def swizzled(rows, swizzle=(3, 2, 3)):
    return cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, cute.make_layout((rows, 64)))
"""
CONFIG = """from dataclasses import dataclass

@dataclass
class Config:
    rows: int = 64
    cols: int = 32

    @property
    def stages(self):
        return 2
"""
MAIN = """import helpers.tiles as tiles
from config import Config
from config import ALIGNS as KINDS

class Gemm:
    align = 8

    def __init__(self, cfg: Config):
        (self.cfg, count), kind = (cfg, 2), None
        self.smem_align, self.name = self.align, "gemm"

    @cute.kernel
    def kernel(self, src, layout):
        smem = SmemAllocator()
        tile = smem.allocate_tensor(Float16, {layout}, self.smem_align)
        parts = [one for one in (src, tile)]
        cute.copy(atom, src, parts[1])

gemm = Gemm(Config(cols=32))
"""


def program_of(layout: str) -> Program:
    return Program({"main.py": MAIN.format(layout=layout), "helpers/tiles.py": TILES, "config.py": CONFIG})


def destination(program: Program) -> tuple[Site, Site]:
    site = program.copy_at("main.py", 17)
    assert site is not None
    start = program.argument(site, "dst")
    assert start is not None
    return site, start


def changed(program: Program, edits: Candidate) -> list[str]:
    """The lines that an edit makes."""
    texts = {path: source.text for path, source in program.sources.items()}
    made = apply(texts, edits)
    return [
        new.strip()
        for path, text in made.items()
        for old, new in zip(texts[path].split("\n"), text.split("\n"), strict=True)
        if old != new
    ]


def test_a_padding_is_found_behind_fields_defaults_and_another_file() -> None:
    """40 = 32 + PAD: 32 is given for a field, PAD is a parameter's default, a property returns the stages."""
    program = program_of("tiles.padded(self.cfg.rows, self.cfg.cols, self.cfg.stages)")
    _, start = destination(program)
    found = [changed(program, edits) for edits in spaced(program, start, 8)]
    assert found[0] == ["PAD = 8"]
    assert found[1:] == [["return cute.make_layout((rows, cols, stages), stride=(40, 1, 2560))"]]


def test_a_pitch_that_two_calls_give_otherwise_is_not_known() -> None:
    program = program_of("tiles.padded(64, 32, 2) if odd else tiles.padded(64, 48, 2)")
    _, start = destination(program)
    assert list(spaced(program, start, 8)) == []


def test_an_alignment_is_changed_where_the_number_stands() -> None:
    program = program_of("tiles.swizzled(8)")
    _, start = destination(program)
    assert changed(program, next(aligned(program, start, 16))) == ["align = 16"]


def test_the_numbers_of_a_swizzle_in_a_default_are_changed_there() -> None:
    program = program_of("tiles.swizzled(8)")
    site, _ = destination(program)
    made = [changed(program, edits) for edits in coarser(program, site, 16)]
    assert made == [["def swizzled(rows, swizzle=(3, 3, 3)):"], ["def swizzled(rows, swizzle=(3, 4, 3)):"]]


@pytest.mark.parametrize(
    ("layout", "wanted"),
    [
        ("smem_layout(LayoutEnum.ROW_MAJOR, 8)", ["LayoutEnum.COL_MAJOR"]),
        ("smem_layout(utils.LayoutEnum.COL_MAJOR, 8)", ["LayoutEnum.ROW_MAJOR"]),
        ("atom(SmemLayoutAtomKind.K_SW64)", [f"SmemLayoutAtomKind.{one}" for one in (
            "MN_SW64", "K_SW128", "K_SW32", "K_INTER")]),
        ("atom(OperandMajorMode.MN)", ["OperandMajorMode.K"]),
        ("atom(Other.K)", []),
    ],
)  # fmt: skip
def test_majors_in_words(layout: str, wanted: list[str]) -> None:
    program = program_of(layout)
    site, _ = destination(program)
    found = list(other_words(program, site))
    assert [title.split(" for ")[0] for title, _ in found] == wanted
    for (_, edits), word in zip(found, wanted, strict=True):
        assert word in changed(program, edits)[0]


def test_the_files_that_are_read_are_the_projects_own(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "helpers").mkdir(parents=True)
    for name, text in {
        "main.py": "import helpers.tiles as tiles\nfrom config import X\nimport os, missing\nimport broken\n",
        "helpers/__init__.py": "",
        "helpers/tiles.py": "from . import other\nimport main\n",
        "helpers/other.py": "from ...outside import Y\n",
        "config.py": "",
        "broken.py": "def (",
        "unused.py": "",
    }.items():
        (project / name).write_text(text)
    (tmp_path / "outside.py").write_text("")
    main = project / "main.py"
    found = imported([str(main)], main, project)
    names = sorted(str(Path(path).relative_to(project)) for path in found)
    assert names == ["config.py", "helpers/other.py", "helpers/tiles.py"]
    assert found[str(project / "config.py")] == ""


def test_a_name_of_another_file_is_followed_only_where_it_is_imported() -> None:
    program = Program({"a.py": "from b import N as M\nx = f(M)\ny = f(N)\n", "b.py": "N = 3\n"})
    source = program.sources["a.py"]
    values = [
        program.definition(Site("a.py", call.args[0], source.scope_of(call))).node for call in source.calls()
    ]
    assert [ast.unparse(one) for one in values] == ["3", "N"]


THREADS = """import launch

WARPS = 8
N = 4
threads = 32 * WARPS
val = cute.make_layout((N, 1))
ordered = cute.make_ordered_layout((1, N), order=(0, 1))
tiler, tv = cute.make_layout_tv(thr, val_layout={val})
tiled = cute.make_tiled_copy(atom, tv, tiler)
cute.copy(tiled, src, dst)
kernel().launch(grid=(1, 1, 1), block=(threads, 1, 1))
"""


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("val", ["val = cute.make_layout((1, N))"]),
        ("ordered", ["ordered = cute.make_ordered_layout((N, 1), order=(1, 0))"]),
        ("cute.make_layout((2, N))", None),
        ("cute.make_layout(N)", None),
    ],
)
def test_values_along_the_other_mode(given: str, wanted: list[str] | None) -> None:
    program = Program({"main.py": THREADS.format(val=given)})
    site = program.copy_at("main.py", 10)
    assert site is not None
    found = [changed(program, edits) for edits in along_the_other_mode(program, site)]
    assert found == ([] if wanted is None else [wanted])


def test_a_block_is_made_by_the_number_that_has_a_name() -> None:
    """Not by the 32 of `32 * WARPS`, which no program has otherwise."""
    program = Program({"main.py": THREADS.format(val="val")})
    site = program.copy_at("main.py", 10)
    assert site is not None
    found = [changed(program, edits) for edits in launched(program, site, 128)]
    assert found == [["WARPS = 4"], ["kernel().launch(grid=(1, 1, 1), block=(128, 1, 1))"]]


@pytest.mark.parametrize(
    ("shape", "tile", "may"),
    [
        ("(64, 32, 2)", "(64,32):(32,1)", True),
        ("(64, 32, 2)", "(64,16):(32,1)", True),  # a step of k
        ("(16, 8)", "(64,32):(32,1)", False),  # threads
        ("(64, 16)", "(64,32):(32,1)", False),
        ("(64, 48)", "(64,32):(32,1)", False),
        ("(64, n)", "(64,32):(32,1)", True),  # not known
        ("(2048,)", "(64,32):(32,1)", True),
    ],
)
def test_which_layouts_may_be_a_tiles(shape: str, tile: str, may: bool) -> None:
    program = Program({"main.py": f"made = cute.make_layout({shape})\n"})
    place = Site("main.py", next(program.sources["main.py"].calls()), program.sources["main.py"].scopes[0])
    assert may_be_of(program, place, parse_layout(tile)) is may


def test_flags_of_the_programs_own_helpers() -> None:
    program = program_of("tiles.padded(64, 32, False, pad=True) + other(True)")
    _, start = destination(program)
    found = [changed(program, edits)[0] for _, edits in flags(program, start)]
    made = "tiles.padded(64, 32, {}, pad={}) + other(True), self.smem_align)"
    wanted = [made.format(True, True), made.format(False, False)]
    assert [line.removeprefix("tile = smem.allocate_tensor(Float16, ") for line in found] == wanted
