"""Traits against an independent reading of the PTX ISA's fragment figures, bit by bit."""

import numpy as np
import pytest

from layoutcheck.algebra.image import image
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.matrix import LDMATRIX_FORMS, STMATRIX_FORMS, LdMatrix, StMatrix
from layoutcheck.atoms.other import OtherAtom
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.atom import traits
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype

BF16 = dtype("bf16")
I8 = dtype("i8")
LD = [LdMatrix(BF16, n, t, mode, p) for (mode, p, t), counts in LDMATRIX_FORMS.items() for n in counts]
ST = [StMatrix(BF16, n, t, mode) for (mode, t), counts in STMATRIX_FORMS.items() for n in counts]


def table(layout):
    """index[thread, value]"""
    return image(layout).reshape(32, -1, order="F")


@pytest.mark.parametrize("width", [8, 32, 128, 256])
def test_single_thread_atoms_move_value_v_to_bit_v(width):
    atoms = [UniversalCopy(BF16, width), CpAsync(BF16, width), RegisterCopy("g2r", BF16, width)]
    for atom in atoms:
        t = traits(atom)
        assert t.threads == 1
        assert str(t.src) == str(t.dst) == str(t.ref) == f"(1,{width}):(0,1)"


def test_auto_width_is_one_value_of_no_width():
    assert str(traits(UniversalCopy(BF16)).src) == "(1,1):(0,0)"


def test_elements_round_up_and_keep_broadcast():
    assert str(traits(UniversalCopy(BF16, 128)).elements(16).src) == "(1,8):(0,1)"
    assert str(traits(UniversalCopy(dtype("f32"), 16)).elements(32).src) == "(1,1):(0,1)"
    assert str(traits(UniversalCopy(dtype("f6E2M3FN"), 128)).elements(6).src) == "(1,22):(0,1)"
    t = traits(LdMatrix(BF16, 2)).elements(16)
    assert str(t.src) == "((16,2),8):((8,0),1)"
    assert str(t.dst) == str(t.ref) == "(32,(2,2)):(2,(1,64))"


@pytest.mark.parametrize("count", [1, 2, 4])
def test_8x8_fragments_are_the_figures(count):
    """PTX ISA: row r of matrix m starts at bit 128 * (8m + r); lane t holds (row t/4, columns 2(t%4), +1) of
    each matrix, with .trans (rows 2(t%4), +1, column t/4); its b16 number 2m + j is element j of matrix m."""
    for transpose in (False, True):
        ld = table(traits(LdMatrix(BF16, count, transpose)).dst)
        st = table(traits(StMatrix(BF16, count, transpose)).src)
        want = np.empty((32, 32 * count), dtype=np.int64)
        for lane in range(32):
            for m in range(count):
                for j in range(2):
                    row, column = (
                        (2 * (lane % 4) + j, lane // 4) if transpose else (lane // 4, 2 * (lane % 4) + j)
                    )
                    first = 128 * (8 * m + row) + 16 * column
                    want[lane, 32 * m + 16 * j : 32 * m + 16 * j + 16] = first + np.arange(16)
        np.testing.assert_array_equal(ld, want)
        np.testing.assert_array_equal(st, want)


@pytest.mark.parametrize("atom", LD + ST, ids=str)
def test_every_form_moves_every_bit_once_into_or_out_of_registers(atom):
    t = traits(atom)
    rows, fragment = (t.src, t.dst) if isinstance(atom, LdMatrix) else (t.dst, t.src)
    registers = np.sort(table(fragment).ravel())
    np.testing.assert_array_equal(registers, np.arange(registers.size))
    assert set(table(rows).ravel().tolist()) == set(range(registers.size))
    assert t.ref == fragment
    assert t.threads == 32


@pytest.mark.parametrize("atom", LD + ST, ids=str)
def test_each_lane_addresses_one_row_of_16_bytes(atom):
    t = traits(atom)
    rows = table(t.src if isinstance(atom, LdMatrix) else t.dst)
    np.testing.assert_array_equal(rows, rows[:, :1] + np.arange(128))
    assert (rows[:, 0] % 128 == 0).all()


@pytest.mark.parametrize(
    "atom",
    [
        LdMatrix(BF16, 3),
        LdMatrix(I8, 1, True, (16, 8), "u8"),
        LdMatrix(I8, 4, True, (16, 16), "u8"),
        LdMatrix(I8, 2, False, (16, 8), "u8"),
        LdMatrix(BF16, 1, False, (7, 7)),
        StMatrix(I8, 1, False, (16, 8)),
        OtherAtom("tmem_load", "!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x4>"),
    ],
)
def test_forms_that_do_not_exist_are_input_errors(atom):
    with pytest.raises(InputError):
        traits(atom)
