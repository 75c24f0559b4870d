"""The thread-value layouts of every MMA atom that the DSL makes, and of tiled MMAs of them, against ours."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from layoutcheck.algebra.notation import parse_layout
from layoutcheck.copies.offsets import offsets_at, size
from layoutcheck.errors import InputError
from layoutcheck.machine.mma import printed_atom
from layoutcheck.operands.fragments import tiled_mma

# Kinds of the DSL 4.8.1, which has no type for its warp.MmaF16BF16SparseOp.
KINDS = {
    "warp", "warp block-scaled", "warpgroup", "tcgen05", "tcgen05 sparse", "tcgen05 block-scaled",
}  # fmt: skip


@pytest.mark.sweep
def test_every_layout_is_the_dsls() -> None:
    """85,528 printed types of DSL 4.8.1, every N: minutes of CPU."""
    if importlib.util.find_spec("cutlass") is None:
        pytest.skip("needs nvidia-cutlass-dsl")
    command = [sys.executable, "-W", "ignore", "-m", "tests.operands.every_atom", "all"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    kinds: Counter[str] = Counter()
    for line in process.stdout:
        found = json.loads(line)
        atom = printed_atom(found["type"])
        for letter in "ABC":
            theirs = found[letter.lower()].split('"')[1]
            assert str(atom.tv(letter)) == str(parse_layout(theirs)), (found["type"], letter)
        kinds[f"{atom.level} {atom.form}".strip()] += 1
    assert process.wait() == 0
    print(dict(kinds))
    assert set(kinds) == KINDS


@pytest.mark.sweep
def test_tiled_layouts_are_the_dsls() -> None:
    """400 random tiled MMAs of warps and warpgroups, as functions of thread and value."""
    if importlib.util.find_spec("cutlass") is None:
        pytest.skip("needs nvidia-cutlass-dsl")
    from cutlass._mlir import ir

    random_ = random.Random(3)
    equal = refused = 0
    with ir.Context(), ir.Location.unknown():
        for _ in range(400):
            text = tiled_type(random_)
            theirs = ir.Type.parse(text)
            for letter in "AB":
                layout = parse_layout(str(getattr(theirs, f"layout_{letter.lower()}_tv_tiled")).split('"')[1])
                try:
                    mma = tiled_mma(text)
                    taken = mma.taken(letter)
                except InputError:
                    refused += 1
                    continue
                mine = taken[:, :, 0] + mma.extents(letter)[0] * taken[:, :, 1]
                found = offsets_at(layout, np.arange(size(layout))).reshape(-1, mma.threads).T
                assert (found == mine).all(), (text, letter)
                own = mma.tv(letter)
                assert (
                    offsets_at(own, np.arange(size(own))).reshape(-1, mma.threads).T.tolist() == mine.tolist()
                )
                equal += 1
    print(equal, refused)
    assert equal > 600


def tiled_type(random_: random.Random) -> str:
    """A tiled MMA of m16n8k16, of m16n8k8 or of wgmma with A in registers; tiles may be permuted."""
    atom, (m, n, k) = random_.choice(
        [
            ("sm80.mma<16x8x16, elem_type = (bf16, bf16, f32) >", (16, 8, 16)),
            ("sm80.mma<16x8x8, elem_type = (tf32, tf32, f32) >", (16, 8, 8)),
            ("sm89.mma<16x8x32, elem_type = (f8E4M3FN, f8E4M3FN, f32) >", (16, 8, 32)),
            (
                "sm90.mma<64x32x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = rs>",
                (64, 32, 16),
            ),
        ]
    )
    atoms = [random_.choice([1, 2, 4]), random_.choice([1, 2]), 1]
    strides = [1, atoms[0], 0] if random_.random() < 0.5 else [atoms[1], 1, 0]
    modes = []
    for own, count in zip((m, n, k), atoms, strict=True):
        across = own * count
        kind = random_.choice(["_", "tile", "order"])
        more = random_.choice([1, 2, 4])
        if kind == "_":
            modes.append("_")
        elif kind == "tile" or more == 1:
            modes.append(f"{across * more}:1")
        else:  # blocks of 8 in another order
            modes.append(f"(8,{more},{across // 8}):(1,{across},8)")
    layout = f"({atoms[0]},{atoms[1]},1):({strides[0]},{strides[1]},0)"
    return (
        f'!cute.tiled_mma<!cute_nvgpu.{atom}, atom_layout_MNK = <"{layout}">, '
        f'permutation_MNK = <"[{";".join(modes)}]">>'
    )
