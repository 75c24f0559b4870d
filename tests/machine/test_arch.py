import pytest

from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.s2t import S2TCopy
from layoutcheck.atoms.tmem import TmemLoad, TmemStore
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import Arch, has, parse_arch
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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("H100", "sm_90a"), ("NVIDIA H200", "sm_90a"), ("hopper", "sm_90a"), ("GB200", "sm_100a"),
        ("rtx5090", "one of sm_70"), ("RTX 5090", "sm_120a"), ("DGX Spark", "sm_121a"),
        ("A100-SXM4", "sm_80"), ("sm_80a", "sm_80"), ("sm_90f", "sm_90a"), ("sm_12", "one of sm_70"),
        ("h1000", "one of sm_70"),
    ],
)  # fmt: skip
def test_the_name_of_a_gpu_or_a_generation_is_answered_by_its_architecture(name, expected):
    with pytest.raises(InputError) as caught:
        parse_arch(name)
    assert (caught.value.expected or "").startswith(expected)


def test_every_reader_takes_the_same_spellings(tmp_path):
    """The model, the numerics, the settings and registered cases: one reader of architectures."""
    from layoutcheck.api import check
    from layoutcheck.lint.cases import find
    from layoutcheck.numerics.parameters import architecture
    from layoutcheck.settings import architectures, read

    file = tmp_path / "pyproject.toml"
    for given in ("sm90a", "90a", "9.0a", "SM_90A", "compute_90a"):
        assert check("(8):(1)", "(8):(1)", "universal", dtype="bf16", arch=given).copy.arch == "sm_90a"
        assert architecture(given) == 90 and architectures(given) == ("sm_90a",)
        file.write_text(f'[tool.layoutcheck]\narch = "{given}"\n')
        assert read(file).arch == "sm_90a"
        (case,) = find(
            f'import layoutcheck\n@layoutcheck.case(arch="{given}")\ndef f(): ...\n'.encode(), "", ""
        )
        assert (case.arch, case.problem) == ("sm_90a", "")
    (case,) = find(b'import layoutcheck\n@layoutcheck.case(arch="h100")\ndef f(): ...\n', "", "")
    assert case.problem == "unknown architecture 'h100'; expected sm_90a"
    for reader in (architecture, architectures):
        with pytest.raises(InputError, match="unknown architecture 'H100'; expected sm_90a"):
            reader("H100")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("BF16", "bf16"), ("FP16", "f16"), ("F32", "f32"), ("TF32", "tf32"), ("f8e4m3fn", "f8E4M3FN"),
        ("cutlass.Float8E4M3FN", "f8E4M3FN"), ("np.float32", "f32"), ("half_t", "f16"), ("uint8_t", "i8"),
        ("__nv_bfloat16", "bf16"), ("UI8", "ui8"), ("Uint8", "i8"), ("U8", "i8"), ("INDEX", "index"),
    ],
)  # fmt: skip
def test_types_are_read_in_any_case(given, name):
    assert dtype(given).name == name


def test_a_name_of_several_types_says_which():
    with pytest.raises(InputError, match="unknown element type 'fp8'; expected f8E4M3FN or f8E5M2"):
        dtype("fp8")


def test_shared_memory():
    assert parse_arch("sm_90a").smem_per_block_bytes == 227 * 1024
    assert parse_arch("sm_80").smem_per_block_bytes == 163 * 1024
    assert parse_arch("sm_89").smem_per_block_bytes == 99 * 1024
    assert parse_arch("sm_75").smem_per_block_bytes == 64 * 1024


@pytest.mark.parametrize(
    ("atom", "targets", "lacks"),
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
def test_where_atoms_exist(atom, targets, lacks):
    assert all(has(parse_arch(a), atom.needs) for a in targets)
    assert not any(has(parse_arch(a), atom.needs) for a in lacks)
    assert has(atom.needs.first, atom.needs)


def test_256_bit_accesses_begin_with_blackwell():
    assert Arch(90, "a").widest_access_bits == 128
    assert Arch(100, "a").widest_access_bits == 256


def test_a_pasted_error_takes_the_same_spellings_and_blames_the_architecture():
    from layoutcheck.api import check_error

    text = "error: unknown: 'cute.copy' op src ptr alignment (16 bits) does not meet requirement (128 bits)"
    assert check_error(text, "sm90a") == check_error(text, "sm_90a")
    with pytest.raises(InputError, match="unknown architecture 'H100'; expected sm_90a"):
        check_error(text, "H100")
