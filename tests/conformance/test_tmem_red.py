"""tcgen05.ld.red against the DSL: every verdict, the thread-value layouts, and the PTX for sm_103a.

No GPU here has the instruction. What it then does is the PTX ISA's word.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")

from layoutcheck.algebra.layout import Layout
from layoutcheck.analysis.instantiation import bases, instantiations, is_static
from layoutcheck.atoms.compiler import predict, predict_verifier
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.tmem import LANE_STEP, columns
from layoutcheck.atoms.tmem_red import OPS, TmemLoadRed
from layoutcheck.atoms.tmem_red.execution import aux_base
from layoutcheck.copies.atom import traits
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import CompilerFails
from layoutcheck.dsl import ptx
from layoutcheck.dsl.lower import lower
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.verifier import verify
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import has, parse_arch
from layoutcheck.machine.dtypes import DType, dtype
from layoutcheck.sources.atoms import parse_atom
from tests.conformance.generate import COMMON, Draft, spoil
from tests.conformance.test_verifier import WITHOUT_CLASS, disagreements
from tests.packed import pack

TYPES = [dtype(t) for t in ("f32", "f32", "f32", "i32", "ui32", "si32")]


def random_atom(rng: Random, element: DType) -> TmemLoadRed:
    """Mostly one that exists."""
    lanes = rng.choice((32, 32, 16))
    real = element.name == "f32"
    split = rng.choice((0, 4, 8, None)) if lanes == 16 else None
    atom = TmemLoadRed(
        element, lanes, 32, rng.choice((2, 4, 8)), op=rng.choice(OPS[::2] + OPS * real),
        nan=real and rng.random() < 0.3, half_split_off=split,
    )  # fmt: skip
    if rng.random() < 0.08:
        wrong = {
            "repeat": (0, 1, 3, 256), "lanes": (8, 64), "width_bits": (16, 64, 128), "half_split_off": (4,),
            "dtype": (dtype("f16"), dtype("i8"), dtype("i32")), "op": ("maxabs",), "nan": (True,),
        }  # fmt: skip
        field = rng.choice(list(wrong))
        atom = replace(atom, **{field: rng.choice(wrong[field])})
    return atom


def random_copy(rng: Random) -> Copy:
    """As `make_tmem_copy` partitions it, then spoiled: the operands, the second destination, its size."""
    element = rng.choice(TYPES) if rng.random() < 0.95 else rng.choice(COMMON)
    while element.bits > 32:
        element = rng.choice(COMMON)
    atom = random_atom(rng, element)
    row = columns(replace(atom, lanes=atom.lanes if atom.lanes in (16, 32) else 32, width_bits=32))
    row = max(1, row)
    rest = rng.choice(((), (2,), (1, 2), (2, 2)))
    far, near, ones, across, along, one = [], [], [], row, atom.repeat, 1
    for extent in rest:
        far.append(across), near.append(along), ones.append(one)
        across, along, one = across * extent, along * extent, one * extent
    inner = rng.choice((1, 1, 2))
    lane = LANE_STEP * 32 // element.bits if element.bits in (8, 16, 32) else LANE_STEP
    view = Layout((((row, atom.lanes), inner), *rest), (((1, lane), across), *far))
    own = Layout(((max(1, atom.repeat), inner), *rest), ((1, along), *near))
    aux = Layout(((1, inner), *rest), ((0, one), *ones))
    if rng.random() < 0.15:
        own = Layout(((rng.choice((1, 2, 4, 6, 16)), inner), *rest), ((1, along), *near))
    if rng.random() < 0.25:
        aux = rng.choice(
            (
                Layout(((2, inner), *rest), ((1, 2 * one), *ones)),
                Layout(((1, 1), *rest), ((0, 3), *ones)),
                Layout((1, *rest), (0, *ones)),
                Layout(((1, inner), *(4 if n == 2 else n for n in rest)), ((0, one), *ones)),
                Layout((1, 1), (0, 0)),
            )
        )
    draft = Draft(atom, element, Memref(element, "tmem", view, 16), Memref(element, "rmem", own, 32))
    spoil(draft, rng, (0, 0, 0, 1, 1, 2))
    second: Memref | None = Memref(element, "rmem", aux, rng.choice((4, 32)))
    if rng.random() < 0.15:
        second = rng.choice(
            (
                None,
                replace(second, space=rng.choice(("smem", "gmem", "tmem"))),
                replace(second, dtype=dtype("i32")),
            )
        )
    return Copy(draft.atom, draft.src, draft.dst, draft.pred, draft.tiled, arch="sm_103a", aux=second)


def against_the_verifier(dsl: Session, seed: int, count: int, bare: bool) -> Counter[str]:
    rng = Random(seed)
    copies = [random_copy(rng) for _ in range(count)]
    if not bare:  # in Python a tensor's element type has a class
        copies = [
            one
            for one in copies
            if not {view.dtype.name for view in (one.src, one.dst, one.pred, one.aux) if view}
            & set(WITHOUT_CLASS)
        ]
    ours = [predict_verifier(copy) if bare else predict(copy) for copy in copies]
    assert not disagreements(copies, ours, verify(copies, session=dsl, bare=bare))
    return Counter(prediction.kind for prediction in ours)


def test_every_verdict_and_message(dsl: Session) -> None:
    kinds = against_the_verifier(dsl, 1, 800, bare=True)
    assert {"", "tcgen05_form", "operand_count", "aux_kind", "aux_rest", "space", "aux_rank"} <= set(kinds)
    assert 0.3 < kinds[""] / 800 < 0.8


@pytest.mark.sweep
def test_sweep_verifier(dsl: Session) -> None:
    print(dict(against_the_verifier(dsl, 2, 20_000, bare=True)))


@pytest.mark.parametrize("count", [40, pytest.param(2000, marks=pytest.mark.sweep)])
def test_through_python(dsl: Session, count: int) -> None:
    against_the_verifier(dsl, count, count, bare=False)


def test_thread_value_layouts_and_printed_types(dsl: Session) -> None:
    from cutlass._mlir import ir

    atoms = [
        TmemLoadRed(kind, lanes, 32, repeat, op=op, half_split_off=split)
        for kind in TYPES[2:4]
        for lanes, split in ((32, None), (16, None), (16, 0), (16, 8))
        for repeat in (2, 16, 128)
        for op in OPS[::2]
    ]
    with ir.Context(), ir.Location.unknown():
        for atom in atoms:
            theirs = ir.Type.parse(str(atom))
            assert str(theirs) == str(atom) and parse_atom(str(theirs)) == atom
            ours = traits(atom).elements(32)
            found = [str(one).split('"')[1] for one in (theirs.layout_src_tv, theirs.layout_dst_tv)]
            assert [str(ours.src), str(ours.dst)] == found, atom


def comparison(copy: Copy, text: str) -> str | None:
    """How the emitted instructions differ from the model's, for thread 0; None where they agree."""
    instance = instantiations(copy)[0]
    src_base, dst_base = bases(instance)[0]
    done = execution(copy, src_base, dst_base, instance)
    at = {"src": pack((0, 4)), "dst": pack((dst_base, 8)), "aux": pack((aux_base(dst_base), 8))}
    names = ptx.parameters(text)
    params = {name: at[operand] for name, operand in zip(names, at, strict=True)}
    trace = ptx.run(text, params)
    (access,) = done.src_accesses
    want = [(access.op, int(one - src_base) // 4 % (1 << 32)) for one in access.addresses[:, 0]]
    got = [(_plain(one.name), one.address) for one in trace.tensor_memory]
    if want != got:
        return f"model {want[:4]}, PTX {got[:4]}"
    splits = {one.extra for one in trace.tensor_memory}
    if copy.atom.lanes == 16 and splits != {copy.atom.half_split_off}:
        return f"half_split_off {splits}"
    # What every word of both destinations ends up as; later stores win.
    ends: dict[int, tuple[object, int]] = {}
    for i, (_, address) in enumerate(want):
        words = done.dst[i, 0].reshape(-1, 4)[:, 0]
        for n, word in enumerate(map(int, words)):
            ends[word] = (
                ("tmem.red", 32 * address) if n == len(words) - 1 else ("tmem", 32 * (256 * address + n))
            )
    for word, name in ends.items():
        if trace.memory["global", word][0] != name:
            return f"word {word}: {trace.memory['global', word][0]}, model {name}"
    stored = {address for space, address in trace.memory if space == "global" and address % 4 == 0}
    return None if stored == set(ends) else f"words {stored ^ set(ends)}"


def _plain(name: str) -> str:
    """`tcgen05.ld.red.sync.aligned.32x32b.x8.max.f32` -> `tcgen05.ld.red.32x32b.x8.max`."""
    drop = ("sync", "aligned", "f32", "s32", "u32")
    return ".".join(word for word in name.split(".") if word not in drop)


@pytest.mark.parametrize("count", [24, pytest.param(600, marks=pytest.mark.sweep)])
def test_emitted_instructions(dsl: Session, count: int) -> None:
    rng = Random(count)
    copies: list[Copy] = []
    while len(copies) < count:
        copy = random_copy(rng)
        aligned = copy.dst.proved_align_bytes % 4 == 0  # else the registers' memory is written byte by byte
        if (
            aligned
            and copy.tiled is None
            and copy.pred is None
            and is_static(copy)
            and predict(copy).accepted
        ):
            copies.append(copy)
    seen: Counter[str] = Counter()
    wrong = []
    for copy, lowered in zip(copies, lower(copies, "sm_103a", session=dsl), strict=True):
        try:
            instance = instantiations(copy)[0]
            execution(copy, *bases(instance)[0], instance)
        except CompilerFails:
            seen["fails"] += 1
            wrong += [f"compiles: {copy}"] if lowered.ptx is not None and not lowered.error else []
            continue
        except InputError:
            seen["not modelled"] += 1
            continue
        seen["compared"] += 1
        found = lowered.error if lowered.ptx is None else comparison(copy, lowered.ptx)
        wrong += [f"{copy.atom} {copy.src} {copy.dst} {copy.aux}: {found}"] if found else []
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(sorted(wrong, key=len)[:8])
    assert seen["compared"] > count // 2 and seen["fails"]


def test_the_architectures_that_have_it(dsl: Session) -> None:
    element = dtype("f32")
    view = Memref(element, "tmem", Layout((((8, 32), 1),), (((1, LANE_STEP), 0),)), 16)
    own, aux = (Memref(element, "rmem", Layout(((n, 1),), ((1, 0),)), 32) for n in (8, 1))
    copy = Copy(TmemLoadRed(element, 32, 32, 8), view, own, aux=aux)
    targets = ("sm_90a", "sm_100a", "sm_100f", "sm_103a", "sm_103f", "sm_110a", "sm_110f", "sm_120a")
    for target, lowered in zip(targets, lower([copy] * len(targets), targets, session=dsl), strict=True):
        assert (lowered.ptx is not None) == has(parse_arch(target), copy.atom.needs), target
