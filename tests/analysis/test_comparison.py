from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, unflatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.analysis import Analysis, comparison
from layoutcheck.analysis.comparison import KINDS, Comparison, compare
from layoutcheck.analysis.comparison.comparer import in_table, occurs
from layoutcheck.analysis.instantiation import bases, instantiations, same_everywhere
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.intent import intent
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.other import OtherAtom
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.addresses import PRIVATE
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import NOTHING, Access, Execution, Intent, Places
from layoutcheck.copies.tails import guarded
from layoutcheck.copies.tiled import make_tiled_copy_tv, partition
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from tests.conformance.emitted import random_copy
from tests.fixes.tiles import random_tile
from tests.miscompiles import CP16, MISCOMPILES, g, memref, s, universal

# What each broken copy does; its twin does nothing of the kind.
SHOWS = {
    "h01": {"missing", "outside_dst"},
    "h01-src": {"wrong", "outside_src"},
    "h02": {"misaligned_src", "misaligned_dst", "outside_src", "outside_dst"},
    "h03-more": {"missing"},
    "h03-fewer": {"outside_src", "outside_dst"},
    "h04": {"misaligned_src"},
    "h05-v": {"wrong", "outside_src"},
    "h05-pitch": {"misaligned_src"},
    "h06": {"guard"},
    "h07": {"never"},
    "h08": {"wrong", "missing", "outside_dst", "misaligned_dst"},
    "h08-universal": {"wrong", "missing", "outside_dst"},
    "h09": {"outside_src", "outside_dst"},
    "h09-rest": {"outside_src", "outside_dst"},
    "h10": {"wrong", "missing", "outside_src", "outside_dst"},
    "h11": {"unmatched"},
    "h12": {"outside_src", "outside_dst"},
    "h12-negative": {"missing", "outside_src", "outside_dst"},
    "h13": {"misaligned_src"},
    "h13b": {"misaligned_src"},
    "h14": {"misaligned_src"},
    "h15": {"misaligned_src"},
    "h16": {"outside_src", "unmatched"},
    "h17": {"wrong", "outside_src"},
    "h17-cp-async": {"wrong", "outside_src", "misaligned_src"},
    "h18": {"outside_dst", "unmatched"},
    "h18-stride": {"wrong", "missing", "outside_dst"},
    "h19-stride": {"wrong", "outside_src"},
    "h19-half": {"misaligned_src", "outside_src", "unmatched"},
    "h19-pitch": {"misaligned_src"},
    "h20-more": {"wrong", "unmatched"},
    "h20-fewer": {"unmatched"},
    "h21": {"misaligned_src"},
    "h21-gmem": {"misaligned_src"},
    "h21-smem": {"misaligned_dst"},
    "h21-store": {"misaligned_dst"},
    "h21-cluster": {"misaligned_src"},
    "h22": {"wrong"},
    "h22-store": {"wrong"},
    "h31": {"missing"},
    "h31-rest": {"missing"},
    "h40": {"misaligned_dst", "misaligned_src", "missing"},
    "h40-transposed": {"missing"},
    "h41": {"missing"},
    "h41-wide": {"outside_dst", "outside_src"},
    "h42": set(),  # every byte arrives; that the barrier waits for more is not memory's business
    "h43": set(),  # 32 times the same bytes
    "h44": {"missing", "outside_dst", "outside_src"},
    "h45": {"misaligned_dst"},
    "h23": {"misaligned_src", "misaligned_dst", "outside_src", "outside_dst"},
    "h24": {"race", "wrong", "outside_src", "outside_dst"},
    "h25": {"outside_src", "outside_dst"},
    "h26": {"missing"},
    "h27": {"misaligned_src", "misaligned_dst", "outside_src", "outside_dst", "missing"},
    "h28": set(),  # the bits arrive; that they mean another number is for the types to say
    "h29": {"wrong", "outside_src"},
    "h33": {"wrong", "outside_src"},
    "h33-clobber": {"outside_dst"},
    "h46": {"missing"},
    "h34": {"outside_pred"},
    "h35": {"outside_src", "outside_dst"},
    "h36": {"wrong", "outside_src"},
    "h37": {"wrong", "missing", "outside_dst"},
    "h38": {"missing", "outside_dst"},
    "h47": {"misaligned_src", "misaligned_dst", "missing", "outside_src", "outside_dst"},
}


def runs(copy: Copy) -> list[Comparison]:
    found = []
    for instance in instantiations(copy):
        for src_base, dst_base in bases(instance):
            asked = intent(instance, src_base, dst_base)
            done = execution(copy, src_base, dst_base, instance)
            found.append(compare(asked, done, instance, src_base, dst_base))
    return found


def test_every_hole_is_listed():
    assert set(SHOWS) == set(MISCOMPILES)


@pytest.mark.parametrize("name", MISCOMPILES)
def test_holes_show_and_their_twins_do_not(name):
    broken, fixed, _ = MISCOMPILES[name]
    assert {kind for comparison in runs(broken) for kind in comparison.kinds} == SHOWS[name]
    assert all(comparison.clean for comparison in runs(fixed))


def test_first_offender_of_a_scattered_vector():
    """h01-src: element 1 is asked from 128 bytes further on and comes from 2 bytes further on."""
    copy, _, _ = MISCOMPILES["h01-src"]
    src_base, dst_base = bases(copy)[0]
    comparison = runs(copy)[0]
    assert comparison["wrong"] == 14 and comparison.asked == comparison.moved == 16
    first = comparison.first["wrong"]
    assert (first.thread, first.instruction, first.value) == (0, 0, 1)
    assert (first.at, first.asked, first.used) == (dst_base + 2, src_base + 128, src_base + 2)


def test_first_misaligned_access():
    copy, _, _ = MISCOMPILES["h04"]
    src_base, _ = bases(copy)[0]
    comparison = runs(copy)[0]
    assert comparison["misaligned_src"] == 3
    first = comparison.first["misaligned_src"]
    assert (first.instruction, first.used, first.asked) == (1, src_base + 18, 16)


def test_a_race_names_both_sources():
    comparison = runs(MISCOMPILES["h24"][0])[0]
    first = comparison.first["race"]
    assert (first.thread, first.instruction) == (0, 3) and first.asked != first.used
    assert comparison["race"] == 31 * 4 * 2


def test_elements_outside_the_launch():
    comparison = runs(MISCOMPILES["h26"][0])[0]
    assert comparison["missing"] == 16 * 64  # half the tile, two bytes an element
    assert comparison.first["missing"].value == 4  # row 4 belongs to thread 32


def test_two_cp_async_of_one_thread_race():
    """V=((4,2)) is two copies of 16 bytes, 8 apart where they are written: the order is nobody's."""
    copy = Copy(CP16, g("((8,2)):((1,8))"), s("((8,2)):((1,4))"))
    comparison = runs(copy)[0]
    assert comparison["race"] == 8
    assert comparison.first["race"].thread == 0
    plain = Copy(universal(128), g("(8,2):(1,8)"), s("(8,2):(1,4)"))
    assert runs(plain)[0]["race"] == 0


def test_layouts_that_fill_a_place_twice():
    copy = Copy(universal(16), g("(4):(1)"), s("(4):(0)"))
    comparison = runs(copy)[0]
    assert comparison.kinds == ("overlap",)
    assert comparison["overlap"] == 2


def test_broadcasts_are_read_again_and_harmless():
    copy = Copy(universal(16), g("(4):(0)"), s("(4):(1)"))
    assert runs(copy)[0].clean


def test_repeated_writes_of_equal_contents_are_counted():
    tiled = make_tiled_copy_tv(CP16, parse_layout("(16,8):(8,1)"), parse_layout("(1,8)"))
    src, dst = g("(16,64):(64,1)"), s("(16,64):(64,1)")
    views = [partition(tiled, side, whole).view for side, whole in (("src", src), ("dst", dst))]
    twice = replace(views[0], layout=parse_layout("((8,1),1,2):((1,0),0,0)"))
    again = replace(views[1], layout=parse_layout("((8,1),1,2):((1,0),0,0)"))
    copy = Copy(CP16, twice, again, tiled=tiled, tiling=Tiling(tiled, src, dst, 128))
    comparison = runs(copy)[0]
    assert comparison.clean and comparison.repeated == 16 * 64 * 2


# The same, worked out byte by byte.


def by_hand(asked: Intent, done: Execution, footprints: tuple[set[int], set[int]]) -> dict[str, int]:
    """The counts of `compare`, from dictionaries of single units."""
    want: dict[int, set[int]] = {}
    for at, source in zip(asked.dst.reshape(-1).tolist(), asked.src.reshape(-1).tolist(), strict=True):
        if source != NOTHING:
            want.setdefault(at, set()).add(source)
    got: dict[int, int] = {}
    writers: dict[int, list[tuple[int, int]]] = {}
    for k in range(done.dst.shape[0]):
        for t in range(done.dst.shape[1]):
            for at, source in zip(done.dst[k, t].tolist(), done.src[k, t].tolist(), strict=True):
                got[at] = source
                writers.setdefault(at, []).append((t, source))
    unordered = any(access.op == "cp.async" for access in done.dst_accesses)
    counts = {
        "overlap": sum(len(sources) > 1 for sources in want.values()),
        "missing": sum(at not in got for at in want),
        "wrong": sum(at in got and len(want[at]) == 1 and got[at] not in want[at] for at in want),
        "outside_dst": sum(at not in footprints[1] for at in got),
        "outside_src": len(
            {source for source in done.src.reshape(-1).tolist() if source != NOTHING} - footprints[0]
        ),
        "race": sum(
            any((a != c or unordered) and b != d for (a, b), (c, d) in pairwise(w)) for w in writers.values()
        ),
    }
    for kind, accesses in (("misaligned_src", done.src_accesses), ("misaligned_dst", done.dst_accesses)):
        counts[kind] = sum(int((a.addresses % a.width_bytes != 0).sum()) for a in accesses)
    return {kind: count for kind, count in counts.items() if count}


def footprint(memref, base: int, unit: int) -> set[int]:
    """Every unit of a static operand, one `Layout` call an element."""
    found = set()
    for i in range(int(np.prod(_flat(memref.layout.shape)))):
        first = base * 8 // unit + memref.layout(i) * memref.dtype.bits // unit
        for k in range(max(1, memref.dtype.bits // unit)):
            at = first + k
            if memref.swizzle is not None:
                at = memref.swizzle(at) if unit == 8 else memref.swizzle(at // 2) * 2 + at % 2
            found.add(at)
    return found


def _flat(shape):
    return [n for part in shape for n in (_flat(part) if isinstance(part, tuple) else (part,))]


def random_tiling(rng: random.Random) -> Copy:
    """Tilings that miss, overlap and overrun."""
    atom = rng.choice((CP16, universal(128), universal(64)))
    threads = rng.choice(("(4,2):(2,1)", "(8,1)", "(2,4):(1,2)"))
    tiled = make_tiled_copy_tv(
        atom, parse_layout(threads), parse_layout(rng.choice(("(1,8)", "(1,4)", "(2,8)")))
    )
    rows, columns = rng.choice(((8, 16), (8, 32), (10, 16), (4, 16)))
    pitches = [rng.choice((columns, columns, columns + 8, columns + 1, 4)) for _ in range(2)]
    src, dst = g(f"({rows},{columns}):({pitches[0]},1)"), s(f"({rows},{columns}):({pitches[1]},1)", 64)
    views = [partition(tiled, side, whole).view for side, whole in (("src", src), ("dst", dst))]
    block = rng.choice((4, 8, 8, 12))
    return Copy(atom, *views, tiled=tiled, tiling=Tiling(tiled, src, dst, block))


@pytest.mark.parametrize("make", [random_copy, random_tiling])
def test_counts_against_single_bytes(make):
    rng = random.Random(3)
    compared = wrong = 0
    while compared < 150:
        copy = make(rng)
        if copy.pred is not None or any(name in str(copy.atom) for name in ("ldsm", "stsm")):
            continue
        instance = instantiations(copy)[0]
        src_base, dst_base = rng.choice(bases(instance))
        try:
            asked = intent(instance, src_base, dst_base)
            done = execution(copy, src_base, dst_base, instance)
        except InputError:
            continue
        whole = instance.tiling or instance
        spaces = (
            footprint(whole.src, src_base, done.unit_bits),
            footprint(whole.dst, dst_base, done.unit_bits),
        )
        comparison = compare(asked, done, instance, src_base, dst_base)
        counts = {k: n for k, n in comparison.counts.items() if k not in ("unmatched", "never")}
        assert counts == by_hand(asked, done, spaces), f"{copy}"
        assert set(comparison.first) == set(comparison.counts)
        compared += 1
        wrong += not comparison.clean
    assert 20 < wrong < 150


def swizzled_tiling(rng: random.Random) -> Copy:
    """The same, swizzled, on pointers that are aligned to the pattern's period or to less."""
    copy = random_tiling(rng)
    swizzle, align = Swizzle(*rng.choice(((3, 4, 3), (2, 4, 3), (1, 3, 3)))), rng.choice((16, 128, 1024))
    assert copy.tiling is not None
    whole, view = (replace(m, swizzle=swizzle, align_bytes=align) for m in (copy.tiling.dst, copy.dst))
    return replace(copy, dst=view, tiling=replace(copy.tiling, dst=whole))


@pytest.mark.parametrize("make", [random_copy, random_tiling, swizzled_tiling])
def test_a_copy_that_runs_the_same_everywhere_does(make):
    """The model then runs it at one pair of bases only: a run at any other must find the same."""
    rng = random.Random(4)
    holes = [copy for hole in MISCOMPILES.values() for copy in hole[:2]]
    alike = wrong = by_granule = 0
    enough = 6 if make is swizzled_tiling else 0
    while alike < 60 or holes or by_granule < enough:
        copy = holes.pop() if holes else make(rng)
        try:
            for instance in instantiations(copy):
                found = []
                for pair in bases(instance):
                    done = execution(copy, *pair, instance)
                    asked, done = guarded(intent(instance, *pair), done, instance)
                    comparison = compare(asked, done, instance, *pair)
                    first = {
                        kind: (at.thread, at.instruction, at.value) for kind, at in comparison.first.items()
                    }
                    found.append((comparison.counts, first, comparison.moved, comparison.repeated))
                if len(found) > 1 and same_everywhere(instance, done, clean=comparison.clean):
                    assert all(one == found[0] for one in found), f"{copy}"
                    alike += 1
                    wrong += not comparison.clean
                    by_granule += not same_everywhere(instance, done)
        except InputError:
            continue
    assert wrong > 10


@pytest.mark.parametrize(("base", "clean"), [(3, False), (4, True)])
def test_a_chunk_of_two_granules_is_torn_at_some_base(base, clean):
    """At a base aligned to everything the swizzle of the first 16 bytes is the identity."""
    src, dst = g("(8):(1)"), s("(8):(1)", 16)
    copy = Copy(CP16, src, replace(dst, swizzle=Swizzle(1, base, 3)))
    last = bases(copy)[-1]
    done = execution(copy, *last)
    assert compare(intent(copy, *last), done, copy, *last).clean
    assert same_everywhere(copy, done, clean=True) == clean
    assert Analysis(copy).runs[-1].comparison.clean == clean


@pytest.mark.parametrize("apart", [1, 8, 100, 1 << 24, PRIVATE, 3 * PRIVATE])
@pytest.mark.parametrize("grain", [1, 4])
def test_a_table_of_places_tells_addresses_apart(apart, grain):
    rng = random.Random(5)
    known = np.array([(1 << 43) + t * apart + grain * rng.randrange(40) for t in range(4) for _ in range(9)])
    asked = np.concatenate([known[::2], known + grain, known + 7 * grain])
    placed = in_table(known, asked, grain=grain)
    found = occurs(asked, known)
    if apart == 1 << 24:  # neither close together nor the registers of threads
        assert placed is None and found is None
        return
    (here, there), count = placed
    both, places = np.concatenate([known, asked]), np.concatenate([here, there])
    assert places.min() >= 0 and places.max() < count
    if apart % grain == 0:
        assert np.array_equal(both[:, None] == both, places[:, None] == places)
    assert found.tolist() == [at in set(known.tolist()) for at in asked.tolist()]


PROFILES = [
    0,
    (0,),
    (0, 0),
    ((0,),),
    ((0, 0),),
    ((0, 0), 0),
    ((0, 0), 0, 0),
    ((0, 0, 0), 0),
    (((0, 0), 0), (0, 0)),
]
EXTENTS = [1, 1, 2, 2, 3, 4, 8, Dynamic()]
STRIDES = [1, 1, 1, 0, 2, 4, 8, 9, 64, -1, -8, Dynamic(), Dynamic(2), Dynamic(8), Dynamic(4, 64)]


@st.composite
def layouts(draw):
    profile = draw(st.sampled_from(PROFILES))
    leaves = len(flatten(profile))
    shape = draw(st.lists(st.sampled_from(EXTENTS[:-1] * 6 + EXTENTS), min_size=leaves, max_size=leaves))
    stride = draw(st.lists(st.sampled_from(STRIDES), min_size=leaves, max_size=leaves))
    return Layout(unflatten(iter(shape), profile), unflatten(iter(stride), profile))


@st.composite
def copies(draw):
    name = draw(st.sampled_from(["bf16", "f32", "i8", "f64", "f4E2M1FN", "i1", "i128", "f6E2M3FN"]))
    kind, bits = dtype(name), draw(st.sampled_from([0, 8, 32, 64, 128, 256]))
    same = draw(layouts())
    form = draw(st.sampled_from([(8, 8), (16, 8), (16, 16)]))
    count, transpose = draw(st.sampled_from([1, 2, 4])), draw(st.booleans())
    atom = draw(
        st.sampled_from(
            [
                UniversalCopy(kind, bits),
                CpAsync(kind, bits),
                RegisterCopy("g2r", kind, bits),
                LdMatrix(kind, count, transpose, form, "u16" if form == (8, 8) else "u8"),
                StMatrix(kind, count, transpose, form),
                OtherAtom("tmem_load", "x"),
                None,
            ]
        )
    )
    operands = []
    for _ in range(3):
        swizzle = draw(st.sampled_from([None, None, Swizzle(3, 4, 3), Swizzle(2, 3, -4)]))
        space = draw(st.sampled_from(["gmem", "smem", "rmem", "generic"]))
        align = draw(st.sampled_from([None, 1, 2, 12, 16, 128]))
        operands.append(
            Memref(
                draw(st.sampled_from([kind, kind, dtype("f16")])),
                space,
                draw(st.just(same) | layouts()),
                align,
                swizzle,
            )
        )
    op = draw(st.sampled_from(["copy", "copy", "copy", "autovec_copy", "basic_copy", "basic_copy_if"]))
    pred = operands[2] if op == "basic_copy_if" or draw(st.integers(0, 4)) == 0 else None
    return Copy(atom, operands[0], operands[1], pred=pred, op=op)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(copies())
def test_nothing_but_input_errors_escape(copy):
    try:
        runs(copy)
    except InputError:
        event("refused")
    else:
        event("compared")


def test_kinds_are_in_order():
    comparison = Comparison({"wrong": 1, "misaligned_src": 2})
    assert comparison.kinds == ("misaligned_src", "wrong") and not comparison.clean
    assert comparison["wrong"] == 1 and comparison["race"] == 0
    assert set(KINDS) >= set(comparison.kinds)


def test_odd_widths_are_misaligned_by_their_remainder():
    access = Access("ld.global", "gmem", 16, np.array([[0, 8], [16, 24]]))
    empty = np.zeros((0, 1, 1), dtype=np.int64)
    comparison = compare(
        Intent(Places.of(empty), Places.of(empty), 8),
        Execution(Places.of(empty), Places.of(empty), 8, (access,)),
        Copy(CP16, g("(1):(1)"), s("(1):(1)")),
        0,
        0,
    )
    assert comparison["misaligned_src"] == 2
    assert comparison.first["misaligned_src"].thread == 1


@pytest.mark.parametrize(
    ("op", "threads", "sources", "race", "repeated"),
    [
        ("st.shared", (0, 1), (0, 8), 8, 0),  # two threads, two contents: nobody knows which stays
        ("st.shared", (0, 1), (0, 0), 0, 8),  # the same contents: harmless
        ("st.shared", (0, 0), (0, 8), 0, 0),  # one thread's stores are in order
        ("st.shared", (1, 1), (0, 8), 0, 0),
        ("cp.async", (0, 0), (0, 8), 8, 0),  # its copies are not
        ("cp.async", (0, 0), (0, 0), 0, 8),
    ],
)
def test_two_writes_of_one_place(
    op: str, threads: tuple[int, int], sources: tuple[int, int], race: int, repeated: int
) -> None:
    """Two instructions of two threads; those that do not write to byte 64 are switched off."""
    src, dst = np.full((2, 2, 8), NOTHING), np.full((2, 2, 8), NOTHING)
    units = np.arange(8)
    for k, (thread, source) in enumerate(zip(threads, sources, strict=True)):
        src[k, thread], dst[k, thread] = source + units, 64 + units
    addresses = dst[:, :, 0].clip(0)
    done = Execution(
        Places.of(src),
        Places.of(dst),
        8,
        (Access("ld.global", "gmem", 8, src[:, :, 0].clip(0)),),
        (Access(op, "smem", 8, addresses),),
    )
    wanted = Intent(Places(sources[1] + units[:, None], 1), Places(64 + units[:, None], 1), 8)
    copy = Copy(universal(64), g("(32):(1)"), s("(64):(1)"))
    found = compare(wanted, done, copy, 0, 0)
    assert (found["race"], found.repeated) == (race, repeated)
    assert found["wrong"] == 0 and found["missing"] == 0
    if race:
        first = found.first["race"]
        assert (first.thread, first.instruction, first.at) == (threads[1], 1, 64)
        assert (first.asked, first.used) == sources


def each_unit_by_itself(moves):
    """The same moves, told by the address of every unit."""
    return replace(moves, source=Places.of(moves.src), target=Places.of(moves.dst))


def test_runs_of_elements_are_compared_as_each_by_itself(monkeypatch):
    """Of tiles, right and spoiled ones, at bases on and off the grid of the moves."""
    rng, taken = random.Random(77), []
    runs = comparison._runs
    drawn = (random_tile(rng) for _ in range(600))
    down = [
        copy for copy in drawn if all(m.layout.stride[0] == 1 for m in (copy.tiling.src, copy.tiling.dst))
    ]
    whole = 0
    for copy in down[:60]:
        src_base, dst_base = ((1 << 20 + side) + rng.choice((0, 2, 16)) for side in range(2))
        try:
            both = intent(copy, src_base, dst_base), execution(copy, src_base, dst_base)
        except InputError:
            continue
        taken.clear()
        monkeypatch.setattr(comparison, "_runs", lambda *given: taken.append(runs(*given)) or taken[-1])
        by_runs = compare(*both, copy, src_base, dst_base)
        whole += bool(taken) and taken[0] is not None
        monkeypatch.setattr(comparison, "_runs", lambda *given: None)
        assert compare(*both, copy, src_base, dst_base) == by_runs, copy
        units = (each_unit_by_itself(moves) for moves in both)
        assert compare(*units, copy, src_base, dst_base) == by_runs, copy
    assert whole >= 10


@pytest.mark.parametrize("shift", [0, 8])
def test_moves_that_land_between_those_asked_for_are_wrong(shift):
    elements, moves = np.arange(8192)[:, None], np.arange(1024)[:, None]
    asked = Intent(Places((1 << 20) + elements * 2, 2), Places((1 << 21) + elements * 2, 2), 8, whole=True)
    done = Execution(Places((1 << 20) + moves * 16, 16), Places((1 << 21) + shift + moves * 16, 16), 8)
    copy = Copy(CP16, g("(8192):(1)"), s("(8192):(1)"))
    assert compare(asked, done, copy, 1 << 20, 1 << 21).clean == (shift == 0)


@pytest.mark.parametrize("spoiled", ["place", "grid", "order"])
def test_a_run_that_breaks_off_is_seen(spoiled):
    """Two chunks move 16 elements: one of another place, eight off the grid, two swapped."""
    first = np.arange(16)[:, None] * 2
    src, dst = (1 << 20) + first, (1 << 21) + first
    done = Execution(Places(src[::8].copy(), 16), Places(dst[::8].copy(), 16), 8)
    if spoiled == "place":
        src[5] += 32
    elif spoiled == "grid":
        src[8:] += 2
    else:
        dst[[2, 3]] = dst[[3, 2]]
    copy = Copy(CP16, g("(64):(1)"), s("(64):(1)"))
    asked = Intent(Places(src, 2), Places(dst, 2), 8, whole=True)
    found = compare(asked, done, copy, 1 << 20, 1 << 21)
    assert found.counts == {"wrong": {"place": 2, "grid": 16, "order": 4}[spoiled]}


@pytest.mark.parametrize("shift", [0, 16])
def test_moves_of_no_power_of_two_are_compared_unit_by_unit(shift):
    """48 bytes that land 16 too far: both addresses have the same quotient by 48."""
    elements = np.arange(24)[:, None] * 2
    asked = Intent(Places((1 << 20) + elements, 2), Places((1 << 21) + elements, 2), 8, whole=True)
    src, dst = np.full((1, 1), 1 << 20), np.full((1, 1), (1 << 21) + shift)
    done = Execution(Places(src, 48), Places(dst, 48), 8)
    copy = Copy(CP16, g("(64):(1)"), s("(64):(1)"))
    found = compare(asked, done, copy, 1 << 20, 1 << 21)
    assert found.clean == (shift == 0)
    assert found["missing"] == shift


DSMEM, ASYNC = (
    (DsmemStore(dtype("bf16"), 128), "rmem", "dsmem"),
    (CpAsync(dtype("bf16"), 128), "gmem", "smem"),
)


@pytest.mark.parametrize(
    ("given", "pred", "shows"),
    [
        (DSMEM, "(16,2):(1,16)", {"guard": 30}),
        (DSMEM, "(16,2):(0,1)", {}),
        (DSMEM, "(16,2):(0,0)", {}),
        (ASYNC, "(8,2):(1,8)", {"guard": 14}),
        (ASYNC, "(8,2):(0,1)", {}),  # what is asked where these two differ is not certain
        (ASYNC, "(8,2):(1,0)", {"guard": 14}),
    ],
)
def test_a_place_follows_the_entries_of_all_elements_that_name_it(
    given: tuple[Atom, str, str], pred: str, shows: dict[str, int]
) -> None:
    """Each instruction of 8 elements reads one entry, so that only element 0 of it follows its own.

    Both iterations write one place, which is written where the entry of either is true; the cp.async that
    comes last writes data or zeros.
    """
    atom, *spaces = given
    n = pred[1:].partition(",")[0]
    src, dst = (memref(f"bf16 {space} align<16> ({n},2):(1,0)") for space in spaces)
    effect = Analysis(Copy(atom, src, dst, memref(f"i8 rmem {pred}"))).effect
    assert (effect.counts if effect else {}) == shows


def test_a_place_that_two_contents_are_asked_of_follows_no_entry() -> None:
    """Nor are its entries told beside the overlap."""
    sides = memref("bf16 rmem align<16> (16,2):(1,16)"), memref("bf16 dsmem align<16> (16,2):(1,0)")
    effect = Analysis(Copy(DSMEM[0], *sides, memref("i8 rmem (16,2):(1,16)"))).effect
    assert effect is not None and effect.counts == {"overlap": 32}
