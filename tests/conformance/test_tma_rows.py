"""gather4 and scatter4 of random tensors against the DSL: verdicts, tensor maps, partitions, PTX."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.compiler import predict
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.basis import NoCommonRun
from layoutcheck.atoms.tma.plan import plan
from layoutcheck.atoms.tma.words import encode
from layoutcheck.check import check
from layoutcheck.copies.copy import Copy, TmaTile
from layoutcheck.copies.memref import Memref
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.tma import MadeTma, make_tma
from layoutcheck.dsl.verifier import verify
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.types import parse_memref
from tests.conformance.made_tma import BASE, differences
from tests.conformance.test_tma import ODD_SWIZZLES, SWIZZLES

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")

TYPES = ("bf16", "bf16", "f16", "f32", "i8", "f64", "f8E4M3FN", "tf32", "f4E2M1FN", "f6E3M2FN")
COLUMNS = (7, 8, 16, 32, 48, 64, 64, 96, 128, 128, 192, 256, 300)
ROW_TILES = (1, 2, 3, 4, 4, 6, 8, 8, 12, 16, 16, 20, 32)
_COPY = re.compile(r"cp\.async\.bulk\.tensor\.2d\.(\S+) (.*);")
_CONSTANT = re.compile(r"mov\.b32\s+(%r\d+), (-?\d+);")
_LOAD = re.compile(r"ld\.global\.\S+\s+(?:\{([^}]*)\}|(%r\d+)), \[%rd\d+(?:\+(-?\d+))?\];")


def random_copy(rng: random.Random) -> Copy:
    """A load or store of a random tile, mostly a sensible one."""
    element = dtype(rng.choice(TYPES))
    rows, columns = rng.choice(ROW_TILES), rng.choice(COLUMNS)
    extents = [rows * rng.choice((1, 2, 5)) + rng.choice((0, 0, 3)), columns * rng.choice((1, 2, 3))]
    by_row = rng.random() < 0.7  # which mode is contiguous in global memory
    pitch = extents[1 if by_row else 0] + rng.choice((0, 0, 8, 16, 64))
    tiler, shape = (rows, columns), tuple(extents)
    if not by_row and rng.random() < 0.9:
        tiler, shape, pitch = (columns, rows), (extents[1], extents[0]), extents[1] + rng.choice((0, 8, 64))
    along, across = (1, 0) if by_row else (0, 1)
    stride = [1, 1]
    stride[across] = pitch
    swizzle = rng.choice(SWIZZLES) if rng.random() < 0.9 else rng.choice(ODD_SWIZZLES)
    index_stride = [0, 0]
    index_stride[across] = rng.choice((1, 1, 1, 1, 2, 3))
    if rng.random() < 0.1:
        index_stride = list(rng.choice(((1, 0), (0, 1), (1, 1), (0, 0), (4, 1))))
    smem = _tile(rng, tiler, along, across, swizzle, element.bits)
    index_shape = tuple(
        max(1, n + rng.choice((0, 0, 0, 5, -1))) if d else n for n, d in zip(shape, index_stride, strict=True)
    )
    coord = tuple(rng.randrange(max(1, -(-s // n))) for s, n in zip(shape, tiler, strict=True))
    gmem = Memref(element, "gmem", Layout(shape, tuple(stride)), 16)
    shared = Memref(element, "smem", smem, 1024, swizzle)
    index = Memref(dtype("i32"), "gmem", Layout(index_shape, tuple(index_stride)), 16)
    tile = TmaTile(tiler, coord)
    if rng.random() < 0.6:
        several = (("mcast", "true"),) if rng.random() < 0.1 else ()
        atom = TmaCopy("load", element, mode="gather4", attributes=several)
        return Copy(atom, gmem, shared, arch="sm_100a", tma=tile, index=index)
    atom = TmaCopy("store", element, mode="scatter4")
    return Copy(atom, shared, gmem, arch="sm_100a", tma=tile, index=index)


def _tile(rng, tiler, along, across, swizzle, bits) -> Layout:  # type: ignore[no-untyped-def]
    """A layout of the tile: rows as wide as the swizzle, or not, with or without padding."""
    n, m = tiler[along], tiler[across]
    span = (8 << (swizzle.base + swizzle.bits)) // bits if swizzle else rng.choice((16, 32, 64, 256))
    shape: list[object] = list(tiler)
    stride: list[object] = [0, 0]
    if rng.random() < 0.7 and n > span and n % span == 0:
        pad = rng.choice((0, 0, 0, 64))
        shape[along], stride[along] = (span, n // span), (1, span * m + pad)
        stride[across] = span
    elif rng.random() < 0.1:
        stride[along], stride[across] = m, 1
    else:
        stride[along], stride[across] = 1, n + rng.choice((0, 0, 0, 0, 8))
    if m % 8 == 0 and stride[across] != 1 and rng.random() < 0.2:
        step = stride[across]
        assert isinstance(step, int)
        inner = rng.choice((2, 4, 8))
        order = rng.random() < 0.5
        shape[across] = (inner, m // inner)
        stride[across] = (step, step * inner) if order else (step * (m // inner), step)
    return Layout(tuple(shape), tuple(stride))


def instructions(ptx: str) -> list[tuple[int | None, tuple[int | None, ...], int]]:
    """(column, the index tensor's elements that name the rows, byte offset in shared memory) of each."""
    constants = {name: int(value) for name, value in _CONSTANT.findall(ptx)}
    loaded: dict[str, int] = {}
    for several, one, at in _LOAD.findall(ptx):
        for i, name in enumerate((several or one).split(",")):
            loaded[name.strip()] = int(at or 0) // 4 + i
    out = []
    for _, text in _COPY.findall(ptx):
        listed = re.search(r"\{([^}]*)\}", text)
        assert listed is not None
        column, *rows = (name.strip() for name in listed[1].split(","))
        rest = text.replace(listed[0], "")
        shared = next(one for one in re.findall(r"\[([^\]]*)\]", rest) if "%r" in one and "%rd" not in one)
        offset = int(shared.split("+")[1]) if "+" in shared else 0
        out.append((constants.get(column), tuple(loaded.get(row) for row in rows), offset))
    return out


def compare(copy: Copy, made: MadeTma) -> str:
    """What differs between the model and what the DSL made; "" for nothing."""
    said = predict(copy)
    refused = "dies" if made.died else "refuses" if made.error else "accepts"
    mine = {"rejected": "refuses", "aborts": "dies"}.get(said.outcome, "accepts")
    if mine != refused:
        return f"the model {mine} it ({said.message}), the DSL {refused}: {made.error}"
    if refused == "refuses" and said.message != made.error:
        return f"{said.message}\nnot {made.error}"
    if refused != "accepts":
        return ""
    try:
        planned = plan(copy, copy, BASE)
    except NoCommonRun:
        return "the model sees it die"
    if encode(planned.written) != made.words:
        return f"map {planned.written}\nnot {made.descriptor}\n{made.atom}"
    found = instructions(made.ptx)
    assert planned.rows is not None
    want = [
        (int(c[0]), tuple(map(int, r)), int(a))
        for c, r, a in zip(planned.coords, planned.rows, planned.smem_at, strict=True)
    ]
    if found != want:
        at = next((i for i, (a, b) in enumerate(zip(found, want, strict=False)) if a != b), -1)
        types = "\n".join((made.here, made.there, made.rows))
        return f"{len(want)}, {want[at : at + 2]} at {at}\nnot {len(found)}, {found[at : at + 2]}\n{types}"
    return ""


def sweep(count: int, seed: int, dsl: Session) -> list[str]:
    """The differences among `count` random copies."""
    rng = random.Random(seed)
    copies: list[Copy] = []
    while len(copies) < count:
        copy = random_copy(rng)
        if predict(copy).outcome == "unknown":
            continue
        if predict(copy).accepted and plan(copy).boxes > 64:
            continue
        copies.append(copy)
    return differences(copies, dsl, compare)


def test_tensor_maps_partitions_and_instructions(dsl: Session) -> None:
    assert sweep(16, 1, dsl) == []


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(2, 10))
def test_many(dsl: Session, seed: int) -> None:
    assert sweep(300, seed, dsl) == []


def views(copy: Copy, made: MadeTma) -> Copy | None:
    """The operands of `cute.copy` that the DSL made of the copy."""
    atom = parse_atom(made.atom)
    here, there, rows = (parse_memref(text) for text in (made.here, made.there, made.rows))
    src, dst = (there, here) if copy.atom.kind == "load" else (here, there)  # type: ignore[union-attr]
    return Copy(atom, src, dst, arch=copy.arch, index=rows)


def test_views_are_right_where_whole_tensors_are(dsl: Session) -> None:
    """What `cute.copy` sees is judged as the whole copy is, but for what global memory alone decides."""
    rng = random.Random(7)
    copies = []
    while len(copies) < 10:
        copy = random_copy(rng)
        if copy.src.dtype.bits >= 8 and predict(copy).accepted and plan(copy).boxes <= 64:
            copies.append(copy)
    for copy, made in zip(copies, make_tma([(c, c, BASE) for c in copies], session=dsl), strict=True):
        whole, view = check(copy), check(views(copy, made))
        named = {finding.code for finding in whole.findings}
        if view.verdict != "legal" and view.verdict != "unknown":
            assert whole.verdict == "wrong", (str(copy), made.there)
        if named & {"LC240"} and not named & {"LC230", "LC231", "LC232", "LC259"}:
            assert view.verdict == "wrong", (named, str(copy), made.there)


WORDS = {
    "idx rank": ("ld", {"index": '!cute.memref<i32, gmem, align<16>, "(64):(1)">'}),
    "no index": ("ld", {"index": None}),
    "no index, stored": ("st", {"index": None}),
    "coordinates fewer": (
        "ld",
        {"there": '!cute.coord_tensor<"(0,0)", "(((64,4),8),(1)):(((1@0,1@1),4@1),(0))">'},
    ),
    "index as coordinates": (
        "st",
        {"index": '!cute.coord_tensor<"(0,0)", "(((64,4),16),(1)):(((1@0,1@1),4@1),(0))">'},
    ),
    "float index": ("ld", {"index": '!cute.memref<f32, gmem, "(((64,4),16),(1)):(((0,1),4),(0))">'}),
    "fine": ("ld", {}),
    "fine, stored": ("st", {}),
}
_TAIL = 'g_stride = <"()"> tma_gbasis = <"(64,1):(1@1,1@0)">>'


@pytest.mark.parametrize("name", WORDS)
def test_the_verifier_says_the_same_of_views(dsl: Session, name: str) -> None:
    kind, more = WORDS[name]
    parts = {
        "there": '!cute.coord_tensor<"(0,0)", "(((64,4),16),(1)):(((1@0,1@1),4@1),(0))">',
        "here": '!cute.memref<bf16, smem, align<1024>, S<3,4,3>, "((256,16),(1)):((1,256),(0))">',
        "index": '!cute.memref<i32, gmem, align<16>, "(((64,4),16),(1)):(((0,1),4),(0))">',
        **more,
    }
    load = kind == "ld"
    mode = "mode = gather4, num_cta = 1" if load else "mode = scatter4"
    atom = f"!cute_nvgpu.atom.tma_{'load' if load else 'store'}<bf16, copy_bits = 4096, {mode}, {_TAIL}"
    there, here = parse_memref(parts["there"]), parse_memref(parts["here"])
    index = None if parts["index"] is None else parse_memref(parts["index"])
    src, dst = (there, here) if load else (here, there)
    copy = Copy(parse_atom(atom), src, dst, arch="sm_100a", index=index)
    said, mine = verify([copy], session=dsl, bare=True)[0], predict(copy)
    assert (mine.outcome, mine.message) == (said.outcome, said.message)


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas")
def test_ptxas_takes_what_the_dsl_emits(dsl: Session, tmp_path: Path) -> None:
    """The form to the block's own memory, the cluster's form of a multicast, and the store."""
    element = dtype("bf16")
    gmem = Memref(element, "gmem", Layout((256, 256), (256, 1)), 16)
    smem = Memref(element, "smem", Layout((8, 64), (64, 1)), 1024)
    index = Memref(dtype("i32"), "gmem", Layout((256, 256), (1, 0)), 4)
    several = (("mcast", "true"),)
    atoms = {
        "shared::cta.global.tile::gather4.mbarrier": TmaCopy("load", element, mode="gather4"),
        "multicast::cluster": TmaCopy("load", element, mode="gather4", attributes=several),
        "global.shared::cta.tile::scatter4.bulk_group": TmaCopy("store", element, mode="scatter4"),
    }
    copies = []
    for atom in atoms.values():
        src, dst = (gmem, smem) if atom.kind == "load" else (smem, gmem)
        copies.append(Copy(atom, src, dst, arch="sm_100a", tma=TmaTile((8, 64)), index=index))
    ptxas = shutil.which("ptxas")
    assert ptxas is not None
    for form, made in zip(atoms, make_tma([(c, c, 0) for c in copies], session=dsl), strict=True):
        assert form in made.ptx
        for target, takes in (("sm_100a", True), ("sm_90a", False)):
            source = tmp_path / "k.ptx"
            source.write_text(f".version 9.0\n.target {target}\n.address_size 64\n{made.ptx}")
            command = [ptxas, "-arch", target, str(source), "-o", str(tmp_path / "k.cubin")]
            done = subprocess.run(command, capture_output=True, text=True)
            assert (done.returncode == 0) == takes, (form, target, done.stderr)


def test_what_becomes_of_other_index_tensors(dsl: Session) -> None:
    """Of floating-point ones the four rows are the constant 0; of unsigned ones and other memory no code."""
    element = dtype("bf16")
    gmem = Memref(element, "gmem", Layout((256, 256), (256, 1)), 16)
    smem = Memref(element, "smem", Layout((4, 64), (64, 1)), 1024)
    copies = []
    for name, space in (("f32", "gmem"), ("i8", "gmem"), ("ui8", "gmem"), ("i32", "tmem")):
        index = Memref(dtype(name), space, Layout((256, 256), (1, 0)), 16)
        atom = TmaCopy("load", element, mode="gather4")
        copies.append(Copy(atom, gmem, smem, arch="sm_100a", tma=TmaTile((4, 64)), index=index))
    real, signed, *others = make_tma([(copy, copy, 0) for copy in copies], session=dsl)
    constants = dict(_CONSTANT.findall(real.ptx))
    rows = [name.strip() for name in real.ptx.split("{%r")[-1].split("}")[0].split(",")][1:]
    assert len(rows) == 4 and {constants[name] for name in rows} == {"0"}
    assert "cvt.s32.s8" in signed.ptx
    assert all(made.error and not made.ptx for made in others)
    assert all(predict(copy).accepted for copy in copies)
