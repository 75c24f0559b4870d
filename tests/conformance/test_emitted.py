"""What `execution` predicts against the PTX that the DSL emits (see emitted.py for what is compared)."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.atoms.compiler import predict
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.check import check
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import CompilerFails
from layoutcheck.dsl.lower import lower
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.verifier import verify
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from tests.conformance import drawn
from tests.conformance.emitted import narrow_vectors, sub_byte_copy
from tests.conformance.ptx_sweep import compare, family, small, text
from tests.miscompiles import MISCOMPILES, memref

cutlass = pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")


def agree(copies: list[Copy], session: Session, arch: str = "sm_90a") -> Counter:
    """How many accepted copies of each family are known and compile; model and PTX must agree on each."""
    seen, differ = compare([replace(copy, arch=arch) for copy in copies], random.Random(0), session)
    assert not differ, f"{len(differ)} of {len(copies)}:\n" + "\n".join(text(*one) for one in differ[:5])
    return Counter({name: count for (name, what), count in seen.items() if what == "agrees"})


def mixed(copies: list[Copy], count: int) -> list[Copy]:
    """`count` of the copies, of each family in turn one as long as it has any."""
    families: dict[str, list[Copy]] = {}
    for copy in copies:
        families.setdefault(family(copy), []).append(copy)
    turns = itertools.zip_longest(*families.values())
    return [copy for turn in turns for copy in turn if copy is not None][:count]


def accepted(draw: Callable[[random.Random], Copy], rng: random.Random, count: int) -> list[Copy]:
    """The first `count` copies that the compiler accepts."""
    drawn = (draw(rng) for _ in itertools.count())
    return list(itertools.islice((copy for copy in drawn if Analysis(copy).accepted), count))


@pytest.mark.parametrize(
    ("seed", "count"), [(2026, 40), *(pytest.param(seed, 1000, marks=pytest.mark.sweep) for seed in range(8))]
)
def test_random_copies(dsl, seed, count):
    """Small ones, as the compiler takes the longer the more instructions there are; each family alike."""
    copies = mixed(small(drawn.first, random.Random(seed), 32, 4 * count), count)
    seen, differ = compare(copies, random.Random(seed), dsl)
    print(seen)
    assert not differ, "\n".join(text(*one) for one in differ[:5])
    known = Counter({name: n for (name, what), n in seen.items() if what == "agrees"})
    assert known.total() >= 0.75 * count
    assert len(known) == 9 and min(known.values()) >= max(1, count // 100), seen


@pytest.mark.parametrize(("seed", "count"), [(7, 30), pytest.param(8, 3000, marks=pytest.mark.sweep)])
def test_code_generation_of_elements_below_a_byte(dsl, seed, count):
    """It fails where an element may begin inside a byte, and only there; what it takes moves as we say."""
    copies = accepted(sub_byte_copy, random.Random(seed), count)
    compiles, unknown = [], 0
    seen: Counter = Counter()
    for copy, lowered in zip(copies, lower(copies, "sm_90a", session=dsl), strict=True):
        obstacle = Analysis(copy).obstacle
        fails = isinstance(obstacle, CompilerFails)
        said = f"{copy.op} {copy.atom} {copy.src} {copy.dst}: {obstacle}, DSL {lowered.error}"
        if obstacle is not None and not fails:
            unknown += 1  # how many elements go at a time is not always known
            continue
        assert fails == (lowered.ptx is None), said
        seen[copy.src.dtype.name, fails] += 1
        compiles += [] if fails else [copy]
    assert min(seen[name, fails] for name in ("i4", "f4E2M1FN") for fails in (True, False)) > count // 20, (
        seen
    )
    assert seen["i1", False] > count // 20 and not seen["i1", True]  # each boolean has a byte
    assert unknown < count // 6
    assert sum(agree(compiles, dsl).values()) == len(compiles)


def test_the_entry_of_a_predicate_that_guards_a_vector(dsl):
    """As many entries as V has elements: one for each vector in turn; else that of the vector's V[1]."""
    copies = [
        Copy(
            UniversalCopy(dtype("i8"), 8 * vector),
            *(
                memref(f"i8 {space} align<16> (({first},{second})):((1,{first}))")
                for space in ("smem", "rmem")
            ),
            memref(f"i8 gmem ({entries}):(3)"),
            op="copy_atom_call",
        )
        for first, second in ((4, 8), (1, 16))
        for vector in (2, 8)
        for entries in (8, 16, 32)
    ]
    assert agree(copies, dsl) == {"copy_atom_call": 12}


def test_odd_strides_within_the_first_mode_of_4_bit_elements(dsl):
    """Code generation fails for the first and takes the second, whatever the other strides are."""
    four = dtype("i4")
    src = Memref(four, "gmem", Layout((((8, 2), 2),), (((1, 9), 32),)), 16)
    copies = [
        Copy(UniversalCopy(four), src, Memref(four, "rmem", Layout((((8, 2), 2),), (((1, step), 8),)), 32))
        for step in (33, 32)
    ]
    assert [one.ptx is None for one in lower(copies, "sm_90a", session=dsl)] == [True, False]
    assert [isinstance(Analysis(copy).obstacle, CompilerFails) for copy in copies] == [True, False]
    assert agree(copies, dsl) == {"UniversalCopy": 1}


@pytest.mark.parametrize(("seed", "count"), [(9, 16), pytest.param(10, 1500, marks=pytest.mark.sweep)])
def test_vectors_of_4_bit_elements_that_autovec_copy_chooses(dsl, seed, count):
    copies = accepted(narrow_vectors, random.Random(seed), count)
    failing = [isinstance(Analysis(copy).obstacle, CompilerFails) for copy in copies]
    for copy, fails, lowered in zip(copies, failing, lower(copies, "sm_90a", session=dsl), strict=True):
        assert fails == (lowered.ptx is None), f"{copy.src} {copy.dst}: DSL {lowered.error}"
    assert count // 8 < sum(failing) < count * 3 // 4
    taken = [copy for copy, fails in zip(copies, failing, strict=True) if not fails]
    assert sum(agree(taken, dsl).values()) == len(taken)


def universal(element: str, src: Layout, dst: Layout, align: int, swizzle: Swizzle | None = None) -> Copy:
    kind = dtype(element)
    return Copy(
        UniversalCopy(kind), Memref(kind, "smem", src, align, swizzle), Memref(kind, "gmem", dst, align)
    )


def test_auto_takes_what_is_adjacent_where_the_alignment_is_below_an_element(dsl):
    """Whatever the other strides are: found by the long sweep (a swizzle finer than the element)."""
    pairs = [
        (((2, 4), (1, 2)), ((2, 4), (1, 3))),
        (((4, 2), (1, 4)), ((4, 2), (1, 7))),
        (((2, 4), (1, 3)), ((2, 4), (1, 5))),
        (((3, 2), (1, 4)), ((3, 2), (1, 5))),
    ]
    copies = [
        universal("f64", *(Layout((v, 2), (d, 16)) for v, d in pair), 64, Swizzle(3, 2, 3)) for pair in pairs
    ]
    assert agree(copies, dsl) == {"UniversalCopy": len(copies)}


STEPS = {  # extent of V[0], and the other side's step to the next
    "i1": ((64, 72), (64, 68), (96, 108), (96, 98), (48, 54)),
    "i4": ((16, 18), (16, 24), (32, 36)),
}


@pytest.mark.parametrize("element", STEPS)
def test_the_run_of_elements_below_a_byte(dsl, element):
    """A step leaving less than a byte of the run does not narrow the vector; one leaving 12 bits does."""
    copies = [
        universal(element, Layout(((n, 2), 1), ((1, n), 0)), Layout(((n, 2), 1), ((1, step), 0)), 32)
        for n, step in STEPS[element]
    ]
    assert agree(copies, dsl) == {"UniversalCopy": len(copies)}


def test_only_cp_async_asks_again_for_what_a_step_of_stride_0_repeats(dsl):
    """LC304 speaks of cp.async alone: the compiler merges other loads of the same bytes."""
    rows = memref("f16 smem align<16> ((8,1),(4,2)):((1,0),(0,1024))")
    tile, fragment = (memref(f"f16 {at} ((8,1),(4,2)):((1,0),(8,32))") for at in ("smem align<16>", "rmem"))
    wide = UniversalCopy(dtype("f16"), 128)
    copies = [
        Copy(CpAsync(dtype("f16"), 128, "global"), replace(rows, space="gmem"), tile),
        Copy(wide, replace(rows, space="gmem"), tile),
        Copy(wide, rows, fragment),
    ]
    texts = [lowered.ptx or "" for lowered in lower(copies, "sm_90a", session=dsl)]
    patterns = (r"cp\.async\.cg", r"ld\.global\S*\.v4", r"ld\.shared\.v4")
    loads = [len(re.findall(pattern, text)) for pattern, text in zip(patterns, texts, strict=True)]
    assert loads == [8, 2, 2]
    assert ["LC304" in [one.code for one in check(copy).findings] for copy in copies] == [True, False, False]


def test_holes(dsl):
    """The reproducers, broken and fixed: what we say the machine does is what the compiler emits."""
    copies = []
    for broken, fixed, _ in MISCOMPILES.values():
        copies += [copy for copy in (broken, fixed) if copy.tiling is None]
    seen = agree(copies, dsl)
    assert sum(seen.values()) >= 60


def test_blackwell(dsl):
    """sm_100a: ldmatrix of 8-bit matrices, and 32-byte accesses in global memory only."""
    i8 = dtype("i8")
    matrix = LdMatrix(i8, 2, True, (16, 16), "u8")
    rows, fragment = memref("i8 smem align<16> ((16,1),1):((1,0),0)"), memref("i8 rmem ((16,1),1):((1,0),0)")
    copies = [Copy(matrix, rows, fragment)]
    for spaces in (("gmem", "smem"), ("smem", "gmem"), ("gmem", "gmem"), ("gmem", "rmem"), ("smem", "rmem")):
        for width in (0, 128, 256, 512):
            sides = [memref(f"f32 {space} align<64> (16,2):(1,24)") for space in spaces]
            copies.append(Copy(UniversalCopy(dtype("f32"), width), *sides))
    copies = [copy for one in copies if predict(copy := replace(one, arch="sm_100a")).accepted]
    assert sum(agree(copies, dsl, "sm_100a").values()) >= 16


ROWS = "f16 smem align<16> ((8,2),2):((1,8),64)"
FRAGMENT = "f16 rmem ((8,2),2):((1,8),16)"
PAIR = "f16 gmem align<16> ((8,2)):((1,16))", "f16 smem align<16> ((8,2)):((1,8))"
ODD = [  # found by random copies that the generators of these tests never drew
    ("ldmatrix", ROWS, FRAGMENT, "i8 rmem (2,2):(1,2)"),
    ("ldmatrix", ROWS, FRAGMENT, "f32 rmem (2,2):(1,2)"),
    ("8", "i1 smem align<128> S<1,3,3> (16,2):(1,64)", "i1 rmem align<16> (16,2):(1,64)", None),
    ("stmatrix", FRAGMENT, ROWS, "i1 gmem (2,2):(0,1)"),
    ("stmatrix", "f16 rmem (8):(-1)", "f16 smem align<16> (8):(1)", None),
    ("128", *PAIR, "f8E4M3FN smem (2):(1)"),
    ("128", *PAIR, "tf32 gmem (2):(2)"),
    ("128", *PAIR, "i64 rmem (2):(1)"),
    ("128", *PAIR, "bf16 smem (2):(1)"),
    ("128", *PAIR, "i24 smem (2):(1)"),
    ("0", "i1 gmem align<16> (16):(1)", "i1 smem align<16> (16):(1)", "i8 gmem (16):(1)"),
    ("0", "i4 gmem align<16> (8):(1)", "i4 smem align<16> (8):(1)", "i8 gmem (8):(1)"),
    ("0", "bf16 generic align<2> S<3,2,3> ((2,4)):((1,-4))", "bf16 smem align<2> ((2,4)):((1,6))", None),
    ("64", "f64 smem align<16> (2):(1)", "f64 rmem align<8> S<2,2,3> (2):(1)", None),
    ("if", "f16 gmem (2):(1)", "f16 smem (2):(1)", "f8E5M2 gmem (2):(1)"),
    ("if", "f16 gmem (2):(1)", "f16 smem (2):(1)", "i1 rmem (2):(1)"),
    ("0", *("bf16 gmem align<64> ((4,4)):((16,1))",) * 2, None),
    ("0", *("bf16 gmem align<64> (((2,4),1)):(((16,1),0))",) * 2, None),
    ("0", *("bf16 gmem align<64> ((2,(4,4))):((1,(8,2)))",) * 2, None),
    ("0", *("i8 gmem align<64> S<2,2,3> ((3,2,3)):((1,9,3))",) * 2, None),
    ("0", "bf16 smem align<64> S<3,4,3> ((6,6)):((1,6))", "bf16 smem align<64> ((6,6)):((1,6))", None),
    ("64", *("i8 gmem align<64> ((2,2,4)):((64,1,?{div=8}))",) * 2, None),
    (
        "s2s",
        *("i8 smem align<16> ((8,(2,2)),1,4):((1,(8,16)),0,32)",) * 2,
        "f32 rmem ((2,2),1,4):((0,0),0,0)",
    ),
    ("s2s", *("i8 smem align<16> ((1,16),4):((0,1),16)",) * 2, "i2 rmem (16,4):(0,0)"),  # which vanishes
    ("s2s", *("i8 smem align<16> ((1,16),4):((0,1),16)",) * 2, "i4 rmem (16,4):(0,0)"),
    ("s2s", *("i8 smem align<16> ((1,16),4):((0,1),16)",) * 2, "f16 rmem (16,4):(0,0)"),
    ("0", *("i4 gmem align<16> ((8,2)):((1,10))",) * 2, None),
    (
        "0",
        "i4 gmem align<64> S<2,2,3> (((4,4),2)):(((1,8),4))",
        "i4 gmem align<64> (((4,4),2)):(((1,8),4))",
        None,
    ),
    ("0", *("i4 gmem align<8> ((1,8,2),2):((0,64,514),1028)",) * 2, None),
    (
        "0",
        "i4 gmem align<16> S<1,3,3> (((8,2),1)):(((1,9),18))",
        "i4 gmem align<16> (((8,2),1)):(((5,80),0))",
        None,
    ),
    ("0", "f4E2M1FN smem align<16> ((2,2)):((1,2))", "f4E2M1FN gmem align<16> ((2,2)):((0,4))", None),
    ("0", *("i4 gmem align<64> ((4,4)):((16,1))",) * 2, None),
    (
        "st.async",
        "bf16 rmem align<16> ((24,1),(1,4)):((1,24),(0,24))",
        "bf16 dsmem align<16> (24,4):(1,32)",
        "i8 rmem (24,4):(1,24)",
    ),
    ("r2s call", "f32 rmem ((1,2)):((0,1))", "f32 dsmem ((1,2)):((0,1))", None),
    ("call", "f32 gmem ((2,1)):((24,0))", "f32 dsmem ((2,1)):((1,0))", None),
    ("0", "bf16 gmem align<64> (16):(1)", "bf16 gmem align<64> ((2,8)):((8,1))", None),  # two of 16 B
    ("0", "bf16 gmem align<64> ((2,8)):((8,1))", "bf16 gmem align<64> (16):(1)", None),  # 16 of 2 B
    ("0", "i4 gmem align<16> (4):(16)", "i4 gmem align<16> ((2,2)):((1,2))", None),
    ("0", "i4 gmem align<16> ((2,2)):((1,2))", "i4 gmem align<16> (4):(16)", None),
    ("autovec", "i1 rmem align<16> (8,2):(?,16)", "i1 gmem align<16> (8,2):(12,100)", None),  # by bytes
]


def test_copies_beyond_the_generators(dsl):
    copies = []
    for atom, src, dst, pred in ODD:
        sides = memref(src), memref(dst), None if pred is None else memref(pred)
        f16 = dtype("f16")
        named = {
            "ldmatrix": LdMatrix(f16, 4, False), "stmatrix": StMatrix(f16, 4, False),
            "s2s": BulkCopy("s2s", dtype("i8"), 512), "call": CpAsync(dtype("f32"), 32), "if": None,
            "autovec": None,
            "st.async": DsmemStore(dtype("bf16"), 128), "r2s call": RegisterCopy("r2s", dtype("f32"), 32),
        }  # fmt: skip
        made = named[atom] if atom in named else UniversalCopy(sides[0].dtype, int(atom))
        ops = {"if": "basic_copy_if", "autovec": "autovec_copy"}
        copies.append(Copy(made, *sides, op=ops.get(atom, "copy_atom_call" if "call" in atom else "copy")))
    lowered_all = lower(copies, "sm_90a", session=dsl)
    fails = [isinstance(Analysis(copy).obstacle, CompilerFails) for copy in copies]
    assert fails == [lowered.ptx is None for lowered in lowered_all]
    assert sum(fails) == 10
    unknown = [str(copy.src.dtype) for copy in copies if type(Analysis(copy).obstacle) is InputError]
    assert unknown == ["i1"]  # whose place behind a swizzled pointer is not modelled
    assert agree(copies, dsl).total() == len(copies) - 11


def test_the_loop_of_basic_copy_if_reads_booleans_of_registers_only(dsl):
    sides = memref("f16 gmem (2):(1)"), memref("f16 smem (2):(1)")
    preds = [memref(f"i1 {place} (2):(1)") for place in ("smem align<16>", "gmem align<1>", "rmem")]
    copies = [Copy(None, *sides, pred, op="basic_copy_if") for pred in preds]
    said = [(one.outcome, one.message) for one in verify(copies, session=dsl)]
    assert [(one.outcome, one.message) for one in map(predict, copies)] == said
    assert [outcome for outcome, _ in said] == ["rejected", "rejected", "accepted"]


def test_the_loop_of_basic_copy_if_compares_floating_point_predicates(dsl):
    """cp.async folds them and other copies fail; here they work (LC207 said that the copy never happens)."""
    pred = memref("bf16 rmem (2,2):(1,2)")
    copy = Copy(
        None, memref("f16 gmem (2,2):(1,16)"), memref("f16 smem (2,2):(1,8)"), pred, op="basic_copy_if"
    )
    text = lower([copy], session=dsl)[0].ptx or ""
    assert len(re.findall(r"setp\.\w+\.bf16", text)) == len(re.findall(r"st\.shared\.b16", text)) == 4
    assert "LC207" not in [one.code for one in check(copy).findings]
