"""The compiler's own lowering against our model, copy for copy: the standing differential test.

Kernels are made up from a seed (quick here, long with `pytest -m sweep`); one that the DSL traced is compared
with numbers worked out by hand as well.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from layoutcheck.algebra.inttuple import product
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiled import make_tiled_copy_tv
from layoutcheck.copies.tiling import tile
from layoutcheck.dsl.lowered import Lowered
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.tasks.passes import _NO_SUCH_PASS
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.printed import read_module
from tests.conformance.emitted import random_copy
from tests.dsl.lowered.compare import Silent, disagreement
from tests.dsl.lowered.modules import module_of
from tests.lowering import lower

cutlass = pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

TRACED = (Path(__file__).parents[2] / "data" / "traced.mlir").read_text()
TID = np.arange(128)


@pytest.fixture(scope="module")
def traced(dsl) -> Lowered:
    return lower([TRACED], session=dsl)[0]


def test_a_traced_kernel_address_by_address(traced: Lowered) -> None:
    """16 x 8 threads of 8 f16 over 64 x 64, the destination under S<3,4,3>: as one works it out on paper."""
    (kernel,) = traced.kernels
    assert (kernel.launch.block, kernel.launch.grid, kernel.launch.known) == ((128, 1, 1), (1, 1, 1), True)
    assert (kernel.shared_bytes, kernel.unmet, kernel.notes) == (8192, (), ())
    linear = (TID // 8 * 64 + TID % 8 * 8) * 2
    copy = kernel.lowered_ops["cute.copy#0"]
    assert len(copy.accesses) == 4
    for step, access in enumerate(copy.accesses):
        assert (access.op, access.size) == ("cp.async.ca", 16)
        at = linear + step * 2048
        assert (access.address == (at ^ (at >> 3 & 0x70))).all()
        assert ((access.second - access.second[0]) == linear).all()  # type: ignore[index]
    loads = kernel.lowered_ops["cute.copy#1"].instructions
    assert [a.op for a in loads] == ["ld"] * 4
    assert all((a.address == b.address).all() for a, b in zip(loads, copy.accesses, strict=True))


def test_every_copy_of_the_traced_kernel_agrees_with_the_model(traced: Lowered) -> None:
    for number, one in enumerate(read_module(TRACED, "kernel", "sm_90a")):
        op = traced.op(f"cute.copy#{number}")
        assert op is not None
        assert one.copy is not None
        assert disagreement(one.copy, op) == ""


def test_a_wrong_model_is_told(traced: Lowered) -> None:
    """The comparison can fail: another swizzle, another stride, another width."""
    first, second, _ = read_module(TRACED, "kernel", "sm_90a")
    op, other = traced.op("cute.copy#0"), traced.op("cute.copy#1")
    assert op is not None and other is not None
    assert first.copy is not None and second.copy is not None
    bare = replace(first.copy, tiling=None, tiled=None)
    for wrong in (
        bare.with_side("dst", replace(bare.dst, swizzle=Swizzle(3, 4, 7))),
        bare.with_side("src", replace(bare.src, layout=Layout(((8, 1), (4, 1)), ((1, 0), (512, 0))))),
        replace(bare, atom=CpAsync(dtype("f16"), 64, "always")),
    ):
        assert disagreement(wrong, op) not in ("",)
    narrow = replace(second.copy, atom=UniversalCopy(dtype("f16"), 32))
    assert disagreement(narrow, other) != ""


def tiled_copy(rng: random.Random) -> Copy | None:
    """A copy of whole tiles by a block of threads, as a user writes one."""
    element = dtype(rng.choice(("f16", "f32", "i8", "bf16")))
    width = rng.choice((32, 64, 128))
    n = max(1, width // element.bits)
    rows, columns = rng.choice(((16, 8), (32, 4), (8, 16), (4, 32), (128, 1)))
    thr = Layout((rows, columns), rng.choice(((columns, 1), (1, rows))))
    val = Layout((1, n), (n, 1))
    shape = (rows * rng.choice((1, 2, 3)), columns * n * rng.choice((1, 2)))
    pitch = shape[1] + rng.choice((0, 0, 16))
    align = max(1, width // 8)
    swizzle = rng.choice((None, Swizzle(3, 4, 3), Swizzle(2, 4, 3), Swizzle(3, 3, 3)))
    atom = CpAsync(element, width, rng.choice(("always", "global") if width == 128 else ("always",)))
    src = Memref(element, "gmem", Layout(shape, (pitch, 1)), align)
    dst = Memref(element, "smem", Layout(shape, (shape[1], 1)), 128, swizzle)
    if rng.random() < 0.5:
        atom = UniversalCopy(element, width)  # type: ignore[assignment]
    try:
        return tile(make_tiled_copy_tv(atom, thr, val), src, dst, block_threads=128)
    except InputError:
        return None


def compared(
    copies: list[Copy], session: Session, threads: int, group: int = 8
) -> Iterator[tuple[Copy, str | Silent]]:
    """Each copy with what model and lowering disagree on; `Silent` where one of them does not speak."""
    for start in range(0, len(copies), group):
        some = copies[start : start + group]
        whole = lower([module_of(some, threads)], session=session)[0]
        found = [(copy, whole, f"cute.copy#{i}") for i, copy in enumerate(some)]
        if whole.problem:  # one of them fails the passes, or kills them
            alone = lower([module_of([copy], threads) for copy in some], session=session)
            found = [(copy, one, "cute.copy#0") for copy, one in zip(some, alone, strict=True)]
        for copy, module, tag in found:
            op = module.op(tag)
            if op is None:
                yield copy, Silent("problem" if module.problem else "refused")
            else:
                yield copy, disagreement(_allocated(copy), op)


def _allocated(copy: Copy) -> Copy:
    """The copy as its module has it: registers are an allocation of their own."""
    own = copy.dst.space == "rmem" and copy.dst.layout.is_static and copy.dst.dtype.bits % 8 == 0
    return replace(copy, dst=replace(copy.dst, spare=0 if own else None))


def agree(copies: list[Copy], session: Session, threads: int, group: int = 8) -> Counter[str]:
    """How many copies of each family agree; none may disagree."""
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    for copy, answer in compared(copies, session, threads, group):
        if isinstance(answer, Silent):
            seen[answer.reason if answer.reason in ("problem", "refused") else "silent"] += 1
        elif answer:
            wrong.append(f"{copy.atom}\n  {copy.src}\n  {copy.dst}\n  {copy.pred}\n  {answer}")
        else:
            seen[type(copy.atom).__name__] += 1
    assert not wrong, f"{len(wrong)} of {sum(seen.values())}:\n" + "\n".join(wrong[:5])
    return seen


def plain_copies(rng: random.Random, count: int) -> list[Copy]:
    """Random copies that the passes take, mostly: other cache modes and float predicates they do not."""
    found: list[Copy] = []
    while len(found) < count:
        copy = random_copy(rng)
        if copy.op != "copy" or copy.atom is None or product(copy.src.layout.shape) > 64:
            continue
        if isinstance(copy.atom, CpAsync) and copy.atom.cache not in ("always", "global"):
            continue
        if copy.pred is None or copy.pred.dtype.kind != "float":
            found.append(copy)
    return found


def test_tiled_copies_of_all_threads(dsl) -> None:
    rng = random.Random(5)
    copies = [copy for _ in range(60) if (copy := tiled_copy(rng)) is not None][:40]
    seen = agree(copies, dsl, 128, group=20)
    assert seen["CpAsync"] >= 8 and seen["UniversalCopy"] >= 8, seen


def test_vectors_of_four_bit_elements_are_taken_apart(dsl) -> None:
    """32 of them are two 64-bit accesses in PTX, whatever their alignment."""
    sides = (Memref(dtype("f4E2M1FN"), space, Layout((32,), (1,)), 16) for space in ("gmem", "smem"))
    assert agree([Copy(UniversalCopy(dtype("f4E2M1FN"), 0), *sides)], dsl, 32) == {"UniversalCopy": 1}


def test_random_copies(dsl) -> None:
    seen = agree(plain_copies(random.Random(11), 24), dsl, 32, group=4)
    assert sum(seen.values()) - seen["problem"] - seen["refused"] >= 12, seen


@pytest.mark.sweep
def test_many_copies(dsl) -> None:
    rng = random.Random(7)
    seen = agree(plain_copies(rng, 2000), dsl, 32)
    seen += agree([copy for _ in range(1500) if (copy := tiled_copy(rng)) is not None], dsl, 128, group=20)
    print(dict(seen))
    assert sum(seen.values()) - seen["problem"] - seen["refused"] >= 2000, seen


def test_what_the_passes_cannot_do_is_said(dsl) -> None:
    found = lower(["nonsense", module_of([]).replace("gpu.module", "gpu.modul"), ""], session=dsl)
    assert [bool(one.problem) for one in found[:2]] == [True, True]


def test_a_refused_copy_does_not_keep_the_others_back(dsl) -> None:
    good = [copy for copy in (tiled_copy(random.Random(n)) for n in range(8)) if copy is not None][:2]
    bad = replace(good[0], tiling=None, tiled=None, src=replace(good[0].src, align_bytes=1))
    found = lower([module_of([good[0], bad, good[1]])], session=dsl)[0]
    assert found.refused == ("cute.copy#1",)
    assert found.op("cute.copy#1") is None
    for number, copy in ((0, good[0]), (2, good[1])):
        op = found.op(f"cute.copy#{number}")
        assert op is not None
        assert disagreement(copy, op) == ""


def test_a_pass_that_the_dsl_lacks_is_named() -> None:
    """As DSL 4.6.0 and 4.7.0 say it of the last of NVIDIA's passes, in front of the whole pipeline."""
    said = "PassPipeline Parser:1:208: error: 'core-to-arith' does not refer to a registered pass or pass"
    found = _NO_SUCH_PASS.search(said)
    assert found is not None and found[1] == "core-to-arith"
