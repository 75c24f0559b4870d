"""tcgen05.ld, st and cp against the DSL: every verdict, and the instructions in the PTX for sm_100a.

Nothing here runs on a GPU: tensor memory is Blackwell's. What the instructions then do is the PTX ISA's word.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

cutlass = pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")

from layoutcheck.algebra.integers import Dynamic  # noqa: E402
from layoutcheck.algebra.inttuple import flatten, product  # noqa: E402
from layoutcheck.analysis.instantiation import bases, instantiations  # noqa: E402
from layoutcheck.atoms.compiler import predict, predict_verifier  # noqa: E402
from layoutcheck.atoms.execution import execution  # noqa: E402
from layoutcheck.atoms.s2t import S2TCopy  # noqa: E402
from layoutcheck.atoms.tmem import TmemLoad  # noqa: E402
from layoutcheck.copies.copy import Copy  # noqa: E402
from layoutcheck.copies.offsets import CompilerFails  # noqa: E402
from layoutcheck.copies.opaque import DescriptorView  # noqa: E402
from layoutcheck.dsl import ptx  # noqa: E402
from layoutcheck.dsl.lower import lower  # noqa: E402
from layoutcheck.dsl.session import Session  # noqa: E402
from layoutcheck.dsl.verifier import verify  # noqa: E402
from layoutcheck.errors import InputError  # noqa: E402
from layoutcheck.sources.request import build  # noqa: E402
from tests.conformance.generate_tmem import random_tmem_copy  # noqa: E402
from tests.conformance.test_verifier import WITHOUT_CLASS, disagreements  # noqa: E402
from tests.packed import pack  # noqa: E402

KINDS = {
    "", "dynamic_shape", "mode_size", "npow2_sub_byte", "operand_kind", "pointer_type", "pred_dynamic_shape",
    "pred_rank", "pred_shape", "pred_space", "rank", "rest_v_size", "space", "tcgen05_form", "tmem_alignment",
    "unaligned_sub_byte",
}  # fmt: skip


def against_the_verifier(dsl: Session, seed: int, count: int) -> Counter[str]:
    rng = Random(seed)
    copies = [random_tmem_copy(rng) for _ in range(count)]
    ours = [predict_verifier(copy) for copy in copies]
    assert not disagreements(copies, ours, verify(copies, session=dsl, bare=True))
    return Counter(prediction.kind for prediction in ours)


def test_every_verdict_and_message(dsl: Session) -> None:
    kinds = against_the_verifier(dsl, seed=1, count=3000)
    assert set(kinds) <= KINDS
    assert len(kinds) >= 14
    assert 0.3 < kinds[""] / 3000 < 0.8


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 104))
def test_sweep_verifier(dsl: Session, seed: int) -> None:
    kinds = against_the_verifier(dsl, seed, 20_000)
    print(dict(kinds))
    assert set(kinds) == KINDS


def _pythonic(rng: Random) -> Copy:
    while True:
        copy = random_tmem_copy(rng)
        views = [view for view in (copy.src, copy.dst, copy.pred) if view is not None]
        if not any(view.dtype.name in WITHOUT_CLASS for view in views):
            return copy


@pytest.mark.parametrize("count", [30, pytest.param(2000, marks=pytest.mark.sweep)])
def test_through_python(dsl: Session, count: int) -> None:
    rng = Random(count)
    copies = [_pythonic(rng) for _ in range(count)]
    assert not disagreements(copies, [predict(copy) for copy in copies], verify(copies, session=dsl))


# ---- the PTX ----


def instructions(copy: Copy, text: str, instance: Copy, bases_: tuple[int, int]) -> ptx.Trace:
    """The kernel run for one thread, its operands at the given places (tensor memory at address 0)."""
    params = {}
    for name, typed, static, base in zip(
        ptx.parameters(text), (copy.src, copy.dst), (instance.src, instance.dst), bases_, strict=True
    ):
        pointer = pack((0, 4)) if typed.space == "tmem" else pack((base, 8))
        if isinstance(typed, DescriptorView):
            pointer = pack((0, 8))
        leaves = (*flatten(typed.layout.shape), *flatten(typed.layout.stride))
        known = (*flatten(static.layout.shape), *flatten(static.layout.stride))
        fields = [(k, t.bits // 8) for t, k in zip(leaves, known, strict=True) if isinstance(t, Dynamic)]
        widest = max((width for _, width in fields), default=1)
        params[name] = pointer + b"\0" * (-len(pointer) % widest) + pack(*fields)
    return ptx.run(text, params)


def comparison(copy: Copy, text: str) -> str | None:
    """How the emitted instructions differ from the model's; None where they agree."""
    instance = instantiations(copy)[0]
    src_base, dst_base = bases(instance)[0]
    done = execution(copy, src_base, dst_base, instance)
    trace = instructions(copy, text, instance, (src_base, dst_base))
    (access,) = done.src_accesses or done.dst_accesses
    base = (
        src_base if access.space == copy.src.space and not isinstance(copy.src, DescriptorView) else dst_base
    )
    want = [(access.op, int(at - base) // 4 % (1 << 32)) for at in access.addresses[:, 0]]
    got = [(_without_type(one.name), one.address) for one in trace.tensor_memory]
    if isinstance(copy.atom, S2TCopy):  # asynchronous, and emitted in any order
        pairs = sorted(zip(want, _descriptors(instance), strict=True))
        emitted = sorted((a, one.extra) for a, one in zip(got, trace.tensor_memory, strict=True))
        return None if pairs == emitted else f"model {pairs[:4]}, PTX {emitted[:4]}"
    if want != got:
        return f"model {want[:4]}, PTX {got[:4]}"
    return _registers(copy, done, trace, want)


def _without_type(name: str) -> str:
    """`tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32` -> `tcgen05.ld.32x32b.x4`."""
    drop = ("sync", "aligned", "b32", "pack::16b", "unpack::16b")
    return ".".join(word for word in name.split(".") if word not in drop)


def _descriptors(instance: Copy) -> list[int]:
    from layoutcheck.copies.lanes import matrix_iterations

    return [int(step) % (1 << 32) for step in matrix_iterations(instance)[0]]


def _registers(copy: Copy, done, trace: ptx.Trace, want) -> str | None:
    """Which register of which instruction stands where in the registers' memory; thread 0."""
    load = isinstance(copy.atom, TmemLoad)
    side = done.dst if load else done.src
    for i, (_, address) in enumerate(want):
        for k in range(0, side.shape[2], 4 * (8 // done.unit_bits)):
            at = int(side[i, 0, k]) // (8 // done.unit_bits)
            n = k // (4 * (8 // done.unit_bits))
            if load:
                final = trace.memory["global", at]
                last = max(j for j in range(len(want)) if at in range(*_words(done, j)))
                if last == i and final[0] != ("tmem", 32 * (256 * address + n)):
                    return f"register {n} of {i}: {final[0]}"
            elif trace.tensor_memory[i].stored[n][0] != ("global", 8 * at):
                return f"register {n} of {i}: {trace.tensor_memory[i].stored[n][0]}"
    return None


def _words(done, j: int) -> tuple[int, int]:
    per = 8 // done.unit_bits
    return int(done.dst[j, 0, 0]) // per, int(done.dst[j, 0, -1]) // per + 1


def agree(dsl: Session, seed: int, count: int) -> Counter[str]:
    rng = Random(seed)
    copies: list[Copy] = []
    while len(copies) < count:
        copy = random_tmem_copy(rng)
        small = product(copy.dst.layout.shape)
        if copy.tiled is None and copy.pred is None and predict(copy).accepted and small <= 4096:
            copies.append(copy)
    seen: Counter[str] = Counter()
    wrong = []
    for copy, lowered in zip(copies, lower(copies, "sm_100a", session=dsl), strict=True):
        try:
            instance = instantiations(copy)[0]
            execution(copy, *bases(instance)[0], instance)
        except CompilerFails:
            seen["fails"] += 1
            if lowered.ptx is not None:
                wrong.append(f"compiles: {copy.atom} {copy.src} {copy.dst}")
            continue
        except InputError:
            seen["not modelled"] += 1
            continue
        if lowered.ptx is None:
            wrong.append(f"{lowered.error}: {copy.atom} {copy.src} {copy.dst}")
            continue
        found = comparison(copy, lowered.ptx)
        seen[type(copy.atom).__name__] += 1
        if found:
            wrong.append(f"{copy.atom} {copy.src} {copy.dst}: {found}")
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(sorted(wrong, key=len)[:12])
    return seen


def test_number_shape_and_addresses_of_the_emitted_instructions(dsl: Session) -> None:
    seen = agree(dsl, seed=3, count=30)
    assert seen["TmemLoad"] >= 8 and seen["TmemStore"] >= 8 and seen["S2TCopy"] >= 5


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(4))
def test_sweep_emitted(dsl: Session, seed: int) -> None:
    print(dict(agree(dsl, seed, 1000)))


def test_an_undistributed_swizzle_has_one_address(dsl: Session) -> None:
    """LC257: with a run-time offset all instructions go to [%r1]; with a static one each has its own."""
    memref = '!cute.memref<f32, {}, align<1024>, "{}((4,1),(4,2)):((1,0),(64,512))">'
    atom = "!cute_nvgpu.atom.simt_async_copy<f32, cache = always, 128 b>"
    item = {"call": "copy", "atom": atom, "pred": None, "evict": False, "rest": 8, "arch": "sm_90a"}
    targets = []
    for offset in ("?", "0"):
        dst = memref.format("smem", f"S<4,0,4> o {offset} o ")
        (answer,) = dsl.ask("lower", [{**item, "src": memref.format("gmem", ""), "dst": dst}])
        lines = [line.split() for line in answer["ptx"].splitlines() if "cp.async.ca" in line]
        targets.append({words[1] for words in lines})
        assert len(lines) == 8
    assert [len(found) for found in targets] == [1, 8]


@pytest.mark.parametrize("offset", ["0", "?"])
@pytest.mark.parametrize("width", [0, 128])
def test_a_composed_layout_is_no_layout_type(dsl: Session, offset: str, width: int) -> None:
    """What looks for vectors refuses a view whose swizzle is in its layout."""
    composed = f'!cute.memref<f32, smem, align<1024>, "S<4,0,4> o {offset} o ((4,1),(4,2)):((1,0),(64,512))">'
    plain = '!cute.memref<f32, {}, align<16>, "((4,1),(4,2)):((1,0),(4,16))">'
    for name, src, dst in (
        ("universal", plain.format("gmem"), composed),
        ("s2r", composed, plain.format("rmem")),
        ("r2s", plain.format("rmem"), composed),
    ):
        if name != "universal" and not width:
            continue
        copy = build(src, dst, name, dtype="f32", bits=width or None)[0]
        found = predict(copy)
        (said,) = verify([copy], session=dsl)
        assert (found.outcome, said.outcome) == ("rejected", "rejected")
        assert said.message.startswith(found.message)
