"""Tensor maps and boxes of random TMA copies against the DSL: every word, coordinate and address."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.analysis.instantiation import instantiations
from layoutcheck.atoms.compiler import predict
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.basis import NoCommonRun
from layoutcheck.atoms.tma.plan import SplitsByte, gmem_side, plan, tile_of
from layoutcheck.atoms.tma.words import encode
from layoutcheck.copies.copy import Copy, TmaTile
from layoutcheck.copies.memref import Memref
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.tma import MadeTma, item, make_tma
from layoutcheck.dsl.verifier import verify
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.request import build
from layoutcheck.sources.types import parse_memref
from tests.conformance.made_tma import BASE, differences

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")

TYPES = ("bf16", "bf16", "f16", "f32", "i8", "f64", "f8E4M3FN", "tf32", "i32")
# Elements, and the internal types that they are tried with.
INTERNALS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("f4E2M1FN", ()), ("i4", ()), ("f6E2M3FN", ()), ("f6E3M2FN", ()), ("f4E2M1FN", ("i8",)), ("i4", ("i8",)),
    ("f6E3M2FN", ("i8", "f6E2M3FN")), ("f32", ("tf32", "i32", "bf16", "i64", "f32", "i8")),
    ("tf32", ("f32",)),
    ("bf16", ("i16", "i32", "i8", "f16", "i64")), ("i8", ("i64", "bf16")), ("f64", ("i64", "i32")),
)  # fmt: skip
EXTENTS = (1, 2, 3, 4, 8, 16, 24, 32, 64, 96, 128, 200, 256, 300, 512)
TILES = (1, 2, 3, 4, 7, 8, 16, 24, 32, 48, 64, 96, 128, 256)
SWIZZLES = (None, None, Swizzle(1, 4, 3), Swizzle(2, 4, 3), Swizzle(3, 4, 3), Swizzle(3, 4, 3))
ODD_SWIZZLES = (Swizzle(3, 3, 3), Swizzle(2, 5, 2), Swizzle(3, 4, 4))
_COPY = re.compile(r"cp\.\S*async\.bulk\.tensor\S* (.*);")
_CONSTANT = re.compile(r"mov\.b32\s+(%r\d+), (-?\d+);")


def typed_copy(rng: random.Random, most_bytes: int = 1 << 15) -> Copy:
    """A copy of elements narrower than a byte, or by an internal type."""
    name, internals = rng.choice(INTERNALS)
    copy = random_copy(rng, most_bytes, (name,))
    internal = dtype(rng.choice(internals)) if internals else None
    assert copy.tma is not None
    narrow = any(one is not None and one.bits < 8 for one in (copy.src.dtype, internal))
    arch = "sm_100a" if narrow else copy.arch
    return replace(copy, tma=replace(copy.tma, internal=internal), arch=arch)


def random_copy(rng: random.Random, most_bytes: int = 1 << 15, types: tuple[str, ...] = TYPES) -> Copy:
    """A load or store of a random tile, mostly a sensible one."""
    rank = rng.choice((1, 2, 2, 2, 3, 3, 4, 5))
    element = dtype(rng.choice(types))
    order = list(range(rank))
    rng.shuffle(order)
    shape = [rng.choice(EXTENTS) for _ in range(rank)]
    stride, reach = [0] * rank, 1
    for mode in order:
        stride[mode] = reach
        reach *= shape[mode]
        if rng.random() < 0.3:
            reach += rng.choice((1, 2, 8, 8, 16))
    while True:
        tiler = [rng.choice([n for n in TILES if n <= (s if s < 3 else max(8, s))]) for s in shape]
        size = element.bits / 8
        for n in tiler:
            size *= n
        if size <= most_bytes:
            break
    if rng.random() < 0.1:
        rng.shuffle(order)
    smem: list[object] = list(tiler)
    step: list[object] = [0] * rank
    reach = 1
    swizzle = rng.choice(SWIZZLES) if rng.random() < 0.9 else rng.choice(ODD_SWIZZLES)
    span = 8 << (swizzle.base + swizzle.bits) if swizzle else 0
    first = order[0]
    run = span // element.bits if swizzle and rng.random() < 0.8 else rng.choice((16, 32, 64))
    split = rank > 1 and run and tiler[first] > run and tiler[first] % run == 0
    for mode in order:
        step[mode] = reach
        reach *= run if split and mode == first else tiler[mode]
        if rng.random() < 0.06:
            reach += rng.choice((8, 16, 64))
    if split:
        smem[first], step[first] = (run, tiler[first] // run), (1, reach)
    coord = tuple(rng.randrange(max(1, -(-s // n))) for s, n in zip(shape, tiler, strict=True))
    gmem = Memref(element, "gmem", Layout(tuple(shape), tuple(stride)), rng.choice((16, 16, 32, 64)))
    at = rng.choice((1024, 1024, 1024, 128, 128, 256, 64, 16))
    shared = Memref(element, "smem", Layout(tuple(smem), tuple(step)), at, swizzle)
    tile = TmaTile(tuple(tiler), coord)
    if rng.random() < 0.6:
        return Copy(TmaCopy("load", element), gmem, shared, tma=tile)
    return Copy(TmaCopy("store", element), shared, gmem, tma=tile)


def chained_copy(rng: random.Random) -> Copy:
    """A load of a tensor whose modes mostly continue each other, which the DSL joins into dimensions."""
    rank = rng.randrange(2, 9)
    element = dtype(rng.choice(("bf16", "f32", "i8", "f64")))
    tiler, shape, stride = [], [], []
    reach = rng.choice((1, 1, 1, 2))
    for _ in range(rank):
        tiler.append(rng.choice((1, 2, 3, 4, 5, 6, 8, 16, 24, 32)))
        stride.append(reach)
        shape.append(tiler[-1] * rng.choice((1, 1, 1, 1, 1, 2)) + (rng.random() < 0.15))
        reach = reach * shape[-1] + (rng.choice((1, 8)) if rng.random() < 0.15 else 0)
    order = list(range(rank))
    if rng.random() < 0.2:
        order[0], order[1] = order[1], order[0]
    step, reach = [0] * rank, 1
    for mode in order:
        step[mode], reach = reach, reach * tiler[mode]
    if rng.random() < 0.5:
        rng.shuffle(order)
    tiler, shape, stride, step = ([some[i] for i in order] for some in (tiler, shape, stride, step))
    return chained(rng.choice((*SWIZZLES, *ODD_SWIZZLES)), shape, stride, tiler, step, str(element))


def chained(swizzle, shape, stride, tiler, step, name="bf16") -> Copy:  # type: ignore[no-untyped-def]
    gmem = Memref(dtype(name), "gmem", Layout(tuple(shape), tuple(stride)), 16)
    smem = Memref(dtype(name), "smem", Layout(tuple(tiler), tuple(step)), 1024, swizzle)
    tile = TmaTile(tuple(tiler), (0,) * len(tiler))
    return Copy(TmaCopy("load", dtype(name)), gmem, smem, tma=tile)


def boxes_of(ptx: str) -> list[tuple[tuple[int | None, ...], int]]:
    """(coordinates, byte offset in shared memory) of every instruction; None for what is no constant."""
    constants = {name: int(value) for name, value in _CONSTANT.findall(ptx)}
    out = []
    for text in _COPY.findall(ptx):
        lists = re.search(r"\{([^}]*)\}", text)
        assert lists is not None
        coords = tuple(constants.get(name.strip()) for name in lists[1].split(","))
        shared = next(
            part
            for part in re.findall(r"\[([^\]{]*)\]", text.replace(lists[0], ""))
            if "%r" in part and "%rd" not in part
        )
        out.append((coords, int(shared.split("+")[1]) if "+" in shared else 0))
    return out


def compare(copy: Copy, made: MadeTma) -> str:
    """What differs between the model and what the DSL made; "" for nothing."""
    try:
        mine = plan(copy, copy, BASE)
    except NoCommonRun:
        return "" if made.died else f"the model sees it die; {made.error}"
    except SplitsByte:
        return "" if made.error else f"the model sees it refused; {made.error}"
    if made.died or made.error:
        return f"the DSL says {made.error or made.died}"
    if encode(mine.written) != made.words:
        return f"map {mine.written}\nnot {made.descriptor}\n{made.atom}"
    if made.ptx:
        found = boxes_of(made.ptx)
        want = [(tuple(map(int, c)), int(a)) for c, a in zip(mine.coords, mine.smem_at, strict=True)]
        same = len(found) == len(want) and all(
            a == b and all(x is None or x == y for x, y in zip(c, d, strict=True))
            for (c, a), (d, b) in zip(found, want, strict=True)
        )
        if not same:
            return f"boxes {want[:4]} ({len(want)}) not {found[:4]} ({len(found)})"
    return ""


def sweep(
    count: int, seed: int, dsl: Session, draw: Callable[[random.Random], Copy] = random_copy
) -> list[str]:
    """The differences among `count` random copies."""
    rng = random.Random(seed)
    copies: list[Copy] = []
    while len(copies) < count:
        copy = draw(rng)
        if math.prod(tile_of(copy).tiler) > 1 << 16:
            continue
        try:
            if plan(copy).boxes <= 64:
                copies.append(copy)
        except (NoCommonRun, SplitsByte):
            copies.append(copy)
        except InputError:
            continue
    return differences(copies, dsl, compare)


def test_tensor_maps_and_boxes(dsl: Session) -> None:
    assert sweep(25, 1, dsl) == []


def test_modes_that_continue_each_other(dsl: Session) -> None:
    """They are joined up to the swizzle's span first, then further; joined ones have no place beyond four."""
    far = Swizzle(3, 4, 3)
    joined = chained(far, (3, 8, 16, 4), (1, 3, 24, 384), (2, 8, 16, 3), (1, 2, 16, 256))
    assert plan(joined).implied.box == (2, 8, 48)
    fits = chained(Swizzle(2, 4, 3), (3, 8, 16, 4), (1, 3, 24, 384), (2, 8, 16, 3), (1, 2, 16, 256))
    assert plan(fits).implied.box == (2, 128, 3)
    tiles = ((4, 4, 4, 4, 2, 2), (1, 4, 16, 64, 256, 512))
    fifth = chained(None, (4, 4, 4, 4, 2, 2), (1, 5, 25, 125, 625, 1250), *tiles, "f32")
    with pytest.raises(NoCommonRun):
        plan(fifth)
    apart = chained(None, (4, 4, 4, 4, 4, 4), (1, 5, 25, 125, 625, 3125), *tiles, "f32")
    assert differences([joined, fits, fifth, apart], dsl, compare) == []


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(2, 8))
def test_many_chains(dsl: Session, seed: int) -> None:
    assert sweep(400, seed, dsl, chained_copy) == []


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("element", "swizzle", "rows"),
    [("f64", 1, 10), ("f64", 1, 36), ("f32", 1, 84), ("f32", 1, 88), ("bf16", 1, 52), ("bf16", 3, 134)],
)
def test_prime_factors_that_no_box_has(dsl: Session, element: str, swizzle: int, rows: int) -> None:
    """The DSL runs until it is out of memory: some 15 s each."""
    smem, under = f"({rows},4):(1,{rows})", f"S<{swizzle},4,3>"
    copy, _ = build("(4096,4096):(1,4096)", smem, "tma_load", dtype=element, swizzle=under)
    died = verify([copy], session=dsl)[0].outcome == "aborts"
    assert died == (predict(copy).outcome == "aborts") == (rows in (10, 88, 134))


def test_narrow_elements_and_internal_types(dsl: Session) -> None:
    assert sweep(25, 1, dsl, typed_copy) == []


def test_a_wider_internal_type_cuts_stores_as_loads(dsl: Session) -> None:
    """The swizzle's span is bytes; a run of 10 elements, cut from 40, is rounded up to 3 internal ones."""
    copies = []
    for kind, internal, rows in (("store", "i64", 24), ("store", "i32", 128), ("load", "i64", 24)):
        gmem, smem = "(512,96):(1,512)", f"({rows},8):(1,{rows})"
        sides = (gmem, smem) if kind == "load" else (smem, gmem)
        copy, _ = build(*sides, f"tma_{kind}", dtype="bf16", swizzle="S<1,4,3>", arch="sm_100a")
        assert copy.tma is not None
        copies.append(replace(copy, tma=replace(copy.tma, internal=dtype(internal))))
    assert [plan(copy).boxes for copy in copies] == [16, 64, 16]
    assert differences(copies, dsl, compare) == []
    odd, _ = build("(512,96):(1,512)", "(40,8):(1,40)", "tma_load", dtype="bf16", swizzle="S<1,4,3>")
    assert odd.tma is not None
    with pytest.raises(InputError, match="no whole number of 64 bits"):
        plan(replace(odd, tma=replace(odd.tma, internal=dtype("i64"))))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(2, 8))
def test_many_narrow_elements_and_internal_types(dsl: Session, seed: int) -> None:
    assert sweep(300, seed, dsl, typed_copy) == []


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(2, 12))
def test_many(dsl: Session, seed: int) -> None:
    assert sweep(200, seed, dsl) == []


def test_run_time_extents_and_strides(dsl: Session) -> None:
    """The host code's arithmetic, evaluated at the model's own run-time values."""
    element = dtype("bf16")
    shared = Memref(element, "smem", Layout((64, 64), (64, 1)), 1024, Swizzle(3, 4, 3))
    for text in (
        "(?,?):(?{i64},1)",
        "(?,?):(?{i64 div=8},1)",
        "(?,256):(1,?)",
        "(?,?,?):(?{i64 div=8},1,?{i64})",
    ):
        from layoutcheck.algebra.notation import parse_layout

        layout = parse_layout(text)
        tiler = (64, 64) + (1,) * (len(layout) - 2)
        smem = shared if len(layout) == 2 else shared.with_layout(Layout((64, 64, 1), (64, 1, 0)))
        if text == "(?,256):(1,?)":
            smem = shared.with_layout(Layout((64, 64), (1, 64)))
        copy = Copy(TmaCopy("load", element), Memref(element, "gmem", layout, 16), smem, tma=TmaTile(tiler))
        for instance in instantiations(copy):
            made = make_tma([(copy, instance, BASE + 2)], session=dsl, lower=False)[0]
            assert made.words == encode(plan(copy, instance, BASE + 2).written), (text, instance.src, made)
            assert gmem_side(copy) == "src"


@pytest.mark.parametrize(
    ("gmem", "smem"),
    [
        ("(256,256,4):(256,1,65536)", "(64,64):(64,1)"),
        ("(256,128,4,3):(1,256,32768,131072)", "(64,32):(1,64)"),
        ("(64,8,6,5):(1,64,512,3072)", "(64,8,2):(1,64,512)"),
        ("(512,7):(1,512)", "(128):(1)"),
    ],
)
@pytest.mark.parametrize("kind", ["load", "store"])
def test_a_tiler_of_the_first_modes_is_one_of_extent_one_along_the_others(
    dsl: Session, gmem: str, smem: str, kind: str
) -> None:
    operands = (gmem, smem) if kind == "load" else (smem, gmem)
    copy, assumed = build(*operands, f"tma_{kind}", dtype="bf16")
    assert any("extent 1 along" in line for line in assumed)
    whole = item(copy, copy, 1 << 20, True)
    rank = len(parse_layout(smem))
    short = {
        **whole,
        "tiler": whole["tiler"][:rank],
        "coord": whole["coord"][:rank],
        "smem": f'!cute.memref<bf16, smem, align<128>, "{smem}">',
        "described": smem,
    }
    made = dsl.ask("tma", [whole, short], None)
    assert not made[0].get("error") and made[0]["words"] == list(
        encode(replace(plan(copy).written, base=1 << 20))
    )
    assert all(made[0][key] == made[1][key] for key in ("words", "atom", "coord", "ptx"))


@pytest.mark.parametrize("swizzle", ["S<3,4,3>", "S<3,2,3>"])
def test_a_shared_tensor_of_composed_layout_is_accepted_and_its_map_counts_bytes(
    dsl: Session, swizzle: str
) -> None:
    composed = f"{swizzle} o 0 o (8,32):(32,1)"
    smem = f'!cute.memref<f32, smem, align<1024>, "{composed}">'
    copy, _ = build('!cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">', smem, "tma_load")
    asked = {**item(copy, copy, 0, True), "smem": smem, "described": composed}
    (made,) = dsl.ask("tma", [asked], None)
    assert not made.get("error") and made["words"] == list(encode(plan(copy).written))
    assert made["ptx"].count("cp.async.bulk.tensor") == plan(copy).boxes


@pytest.mark.parametrize("gmem", ["(256,256):(256,1)", "(?,256):(256,1)"])
def test_a_tile_of_more_modes_than_the_tensor_is_refused(dsl: Session, gmem: str) -> None:
    tensor = f'!cute.memref<bf16, gmem, align<16>, "{gmem}">'
    copy, _ = build(tensor, '!cute.memref<bf16, smem, align<128>, "(64,64,1):(64,1,0)">', "tma_load")
    (made,) = dsl.ask("tma", [item(copy, instantiations(copy)[0], 0, True)], None)
    assert made["error"] == predict(copy).message


@pytest.mark.parametrize("kind", ["load", "store"])
def test_wider_elements_are_not_moved_as_six_bits(dsl: Session, kind: str) -> None:
    """Unless they are a whole number of them: the DSL does not find a partition."""
    copies = []
    for name in ("bf16", "f32", "i8", "tf32"):
        element = dtype(name)
        gmem = Memref(element, "gmem", Layout((256, 256), (256, 1)), 32)
        smem = Memref(element, "smem", Layout((64, 64), (64, 1)), 1024)
        tile = TmaTile((64, 64), (0, 0), None, dtype("f6E3M2FN"))
        src, dst = (gmem, smem) if kind == "load" else (smem, gmem)
        copies.append(Copy(TmaCopy(kind, element), src, dst, arch="sm_100a", tma=tile))
    made = make_tma([(copy, copy, 0) for copy in copies], session=dsl, lower=False)
    for copy, one in zip(copies, made, strict=True):
        assert (predict(copy).outcome, predict(copy).message) == ("rejected", one.error)


@pytest.mark.parametrize("extent", [99, 100])
def test_a_tensor_that_ends_inside_an_internal_element(dsl: Session, extent: int) -> None:
    """Its extent is rounded up, so that the last boxes bring what lies behind it."""
    copies = []
    for name, internal in (("i8", "i64"), ("f8E4M3FN", "f64"), ("f4E2M1FN", "tf32"), ("bf16", "i64")):
        element = dtype(name)
        gmem = Memref(element, "gmem", Layout((64, extent), (104, 1)), 32)
        smem = Memref(element, "smem", Layout((64, 64), (64, 1)), 1024)
        tile = TmaTile((64, 64), (0, 1), None, dtype(internal))
        for kind, src, dst in (("load", gmem, smem), ("store", smem, gmem)):
            copies.append(Copy(TmaCopy(kind, element), src, dst, arch="sm_100a", tma=tile))
    assert all(predict(copy).accepted for copy in copies)
    assert differences(copies, dsl, compare) == []


@pytest.mark.parametrize("kind", ["load", "store", "reduce"])
def test_the_verifier_looks_at_the_strides_between_boxes(dsl: Session, kind: str) -> None:
    """Static strides behind V are whole 16 bytes; V's own, and those of the run, are not looked at."""
    tile = "(64,64):(1@1,1@0)"
    rest = {"(2)": "(64@0)", "((2,2),2)": "((64@0,64@1),128@0)", "(1)": "(0)"}
    copies = []
    for name in ("f16", "f32", "f8E4M3FN"):
        for shape, stride in (
            ("(2)", "(4096)"), ("(2)", "(4100)"), ("(2)", "(4104)"), ("(2)", "(-4100)"), ("(2)", "(?)"),
            ("(1)", "(1)"),
            ("((2,2),2)", "((8192,20),4096)"), ("((2,2),2)", "((8192,4096),6)"),
        ):  # fmt: skip
            coord = f'!cute.coord_tensor<"(0,0)", "((64,64),{shape}):((1@1,1@0),{rest[shape]})">'
            smem = f'!cute.memref<{name}, smem, align<1024>, "((64,64),{shape}):((64,1),{stride})">'
            reduces = ", kind = ADD" if kind == "reduce" else ""
            bits = 4096 * dtype(name).bits
            atom = parse_atom(
                f"!cute_nvgpu.atom.tma_{kind}<{name}, copy_bits = {bits}, mode = tiled"
                f'{", num_cta = 1" * (kind == "load")}{reduces}, g_stride = <"()"> tma_gbasis = <"{tile}">>'
            )
            there, here = parse_memref(coord), parse_memref(smem)
            copies.append(Copy(atom, *((there, here) if kind == "load" else (here, there))))
    found = [predict(copy) for copy in copies]
    assert sum(one.kind == "tma_pitch" for one in found) == 13
    said = [one.message for one in verify(copies, session=dsl)]
    unknown = [one.outcome == "unknown" for one in found]  # a stride that only the run knows
    assert sum(unknown) == 3
    assert [said[at] or None for at, one in enumerate(found) if not unknown[at]] == [
        one.message or None for one in found if one.outcome != "unknown"
    ]
    assert not any(said[at] for at, one in enumerate(unknown) if one)
