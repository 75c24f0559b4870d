import pytest

from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.s2t import S2TCopy
from layoutcheck.atoms.tmem import TmemLoad, TmemStore
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import Arch, first_arch, has_atom, parse_arch
from layoutcheck.machine.dtypes import dtype

BF16, I8 = dtype("bf16"), dtype("i8")


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("sm_90a", "sm_90a"), ("SM_90A", "sm_90a"), ("sm90", "sm_90"), ("90a", "sm_90a"), ("9.0", "sm_90"),
        ("10.3a", "sm_103a"), ("compute_100f", "sm_100f"), ("sm_120a", "sm_120a"), ("8.6", "sm_86"),
        (" sm_89 ", "sm_89"), ("sm_101a", "sm_110a"),
    ],
)  # fmt: skip
def test_names(name, printed):
    assert str(parse_arch(name)) == printed


@pytest.mark.parametrize(
    "name", ["", "sm_", "sm_42", "hopper", "sm_90b", "900", "sm_9000", "9.0.0", "sm_90aa" * 999]
)
def test_unknown_names_are_input_errors(name):
    with pytest.raises(InputError):
        parse_arch(name)


def test_shared_memory():
    assert parse_arch("sm_90a").smem_per_block_bytes == 227 * 1024
    assert parse_arch("sm_80").smem_per_block_bytes == 163 * 1024
    assert parse_arch("sm_89").smem_per_block_bytes == 99 * 1024
    assert parse_arch("sm_75").smem_per_block_bytes == 64 * 1024


@pytest.mark.parametrize(
    ("atom", "has", "lacks"),
    [
        (CpAsync(BF16, 128), ["sm_80", "sm_90a", "sm_120a"], ["sm_75"]),
        (LdMatrix(BF16, 4), ["sm_75", "sm_90"], ["sm_70"]),
        (LdMatrix(I8, 2, True, (16, 16), "u8"), ["sm_100a", "sm_103f", "sm_120a"], ["sm_90a", "sm_100"]),
        (StMatrix(BF16, 4), ["sm_90", "sm_100"], ["sm_89"]),
        (StMatrix(I8, 4, True, (16, 8)), ["sm_110a"], ["sm_90a", "sm_100"]),
        (UniversalCopy(BF16, 128), ["sm_70"], []),
        (
            TmemLoad(dtype("f32"), 32, 32, 32),
            ["sm_100a", "sm_103f", "sm_110a"],
            ["sm_90a", "sm_100", "sm_120a"],
        ),
        (TmemStore(BF16, 16, 64, 2), ["sm_100f"], ["sm_103", "sm_121a"]),
        (S2TCopy(I8, 32, 128, 1, "x4"), ["sm_100a"], ["sm_90a", "sm_120a"]),
        (RegisterCopy("g2r", BF16, 128), ["sm_70"], []),
    ],
)
def test_where_atoms_exist(atom, has, lacks):
    assert all(has_atom(parse_arch(a), atom) for a in has)
    assert not any(has_atom(parse_arch(a), atom) for a in lacks)
    assert has_atom(first_arch(atom), atom)


def test_256_bit_accesses_begin_with_blackwell():
    assert Arch(90, "a").widest_access_bits == 128
    assert Arch(100, "a").widest_access_bits == 256
