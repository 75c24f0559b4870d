"""gather4 and scatter4 of coordinates, as a trace shows them: every byte, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.intent import intent
from layoutcheck.atoms.tma.rows import tile_index
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.plan import window
from layoutcheck.errors import InputError
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.diagnostics import copies_from_error
from layoutcheck.sources.types import parse_memref

THERE = '!cute.coord_tensor<"(0,0)", "(((64,4),16),(1)):(((1@0,1@1),4@1),(0))">'
HERE = '!cute.memref<bf16, smem, align<1024>, S<3,4,3>, "((256,16),(1)):((1,256),(0))">'
INDEX = '!cute.memref<i32, gmem, align<16>, "(((64,4),16),(1)):(((0,1),4),(0))">'
_TAIL = 'g_stride = <"()"> tma_gbasis = <"(64,1):(1@1,1@0)">>'
LOAD = f"!cute_nvgpu.atom.tma_load<bf16, copy_bits = 4096, mode = gather4, num_cta = 1, {_TAIL}"
STORE = f"!cute_nvgpu.atom.tma_store<bf16, copy_bits = 4096, mode = scatter4, {_TAIL}"


def rows(load: bool, here: str = HERE) -> Copy:
    there, shared, index = map(parse_memref, (THERE, here, INDEX))
    src, dst = (there, shared) if load else (shared, there)
    return Copy(parse_atom(LOAD if load else STORE), src, dst, arch="sm_100a", index=index)


@pytest.mark.parametrize("load", [True, False])
def test_four_rows_an_instruction_a_span_apart(load: bool) -> None:
    """Row r of the tile comes by index r, and lies under the 128-byte swizzle where 128 r says."""
    copy, base = rows(load), 1 << 20
    done = execution(copy, 0, base) if load else execution(copy, base, 0)
    there, here = (done.src, done.dst) if load else (done.dst, done.src)
    assert there.shape == (64 * 64, 1, 2) and not done.fault
    for n in range(64 * 64):
        row, column = divmod(n, 64)
        for byte in range(2):
            assert there[n, 0, byte] == ((row << 20) + column) * 2 + byte
            at = base + row * 128 + (column // 8 ^ row % 8) * 16 + column % 8 * 2 + byte
            assert here[n, 0, byte] == at
    (access,) = done.dst_accesses if load else done.src_accesses
    assert np.array_equal(access.addresses[:, 0], base + 512 * np.arange(16))
    asked = intent(copy, 0, base) if load else intent(copy, base, 0)
    assert np.array_equal(np.sort(asked.src.reshape(-1)), np.sort(done.src.reshape(-1)))
    pairs = {tuple(one) for one in np.stack([done.src.reshape(-1), done.dst.reshape(-1)], 1).tolist()}
    assert pairs == {
        tuple(one) for one in np.stack([asked.src.reshape(-1), asked.dst.reshape(-1)], 1).tolist()
    }


def test_rows_wider_than_the_span_fault() -> None:
    narrow = HERE.replace("S<3,4,3>", "S<2,4,3>")
    assert execution(rows(True, narrow), 0, 0).fault == "illegal instruction"
    assert execution(rows(True), 0, 0).fault == ""


@pytest.mark.parametrize("load", [True, False])
def test_pasted_operands_are_in_the_order_of_the_operation(load: bool) -> None:
    operands = [THERE, INDEX, HERE] if load else [HERE, THERE, INDEX]
    text = f'"cute.copy"(%0, %1, %2, %3) : ({LOAD if load else STORE}, {", ".join(operands)}) -> ()'
    ((copy, *_),) = copies_from_error(text, "sm_100a")
    assert copy == rows(load)


@pytest.mark.parametrize(
    ("layout", "tiler", "origin", "part", "first"),
    [
        ("(256,256):(1,0)", (64, 64), (128, 64), "(64,64):(1,0)", 128),
        ("(256,256):(5,7)", (2, 4), (2, 4), "(2,4):(5,7)", 38),
        ("(256,256):(5,7)", (4, 1), (4, 3), "(4,1):(5,0)", 41),
        ("(256,256):(5,7)", (1, 4), (3, 4), "(1,4):(0,7)", 43),
    ],
)
def test_a_tiles_part_of_the_index_tensor(
    layout: str, tiler: tuple[int, int], origin: tuple[int, int], part: str, first: int
) -> None:
    found = tile_index(parse_memref(f'!cute.memref<i32, gmem, "{layout}">'), tiler, origin)
    assert (str(found[0]), found[1]) == (part, first)


def test_no_load_reaches_tensor_memory() -> None:
    assert [window(space) for space in ("gmem", "smem", "rmem")] == ["global", "shared", "local"]
    with pytest.raises(InputError, match="no load or store reaches tmem"):
        window("tmem")
