"""Units: names, shapes, the arithmetic against an independent exact one, and against recorded hardware."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from importlib.util import find_spec, module_from_spec
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.numerics.vectors import KINDS, vectors
from layoutcheck import numerics
from layoutcheck.errors import InputError
from layoutcheck.numerics import block_unit, decode, encode
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.evidence import PARAMETERS, form_of
from layoutcheck.numerics.formats import FORMATS
from layoutcheck.numerics.names import instruction
from layoutcheck.numerics.parameters import TABLE
from layoutcheck.numerics.units import unit
from tests.numerics import exact

RECORDED = json.loads((Path(__file__).parent / "h200_answers.json").read_text())
F32, F16 = FORMATS["f32"], FORMATS["f16"]


@pytest.mark.parametrize(
    "text",
    [
        "mma.m16n8k16.f32.f16",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32) >",
        "MmaF16BF16Op(ab_dtype=<class 'cutlass.base_dsl.typing.Float16'>, "
        "acc_dtype=<class 'cutlass.base_dsl.typing.Float32'>, shape_mnk=(16, 8, 16))",
        "MmaF16BF16Op[ab_dtype=Float16, acc_dtype=Float32, shape_mnk=(16,8,16)]",
        "warp-level F16/BF16 MMA Operation\n  A/B data type         = Float16\n"
        "  Accumulator data type = Float32\n  Instruction shape MNK = (16, 8, 16)",
        "SM80_16x8x16_F32F16F16F32_TN",
    ],
)
def test_all_notations_name_the_same_instruction(text: str) -> None:
    assert instruction(text).name == "mma.m16n8k16.f32.f16"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2", "wgmma.m64n128k32.f32.e4m3.e5m2"),
        (
            "!cute_nvgpu.sm90.mma<64x8x32, ab_major = (k, k), elem_type = (f8E4M3FN, f8E5M2, f16)>",
            "wgmma.m64n8k32.f16.e4m3.e5m2",
        ),
        (
            "!cute.tiled_mma<!cute_nvgpu.sm80.mma<16x8x8, elem_type = (tf32, tf32, f32) >, ...>",
            "mma.m16n8k8.f32.tf32",
        ),
        ("MmaTF32Op(shape_mnk=(16, 8, 8))", "mma.m16n8k8.f32.tf32"),
        ("SM90_64x64x32_F32E4M3E4M3_SS_TN", "wgmma.m64n64k32.f32.e4m3"),
    ],
)
def test_other_notations(text: str, name: str) -> None:
    assert instruction(text).name == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mma",
        "mma.m16n8k16",
        "mma.m16n8k16.f32.f32",
        "mma.m16n8k7.f32.f16",
        "wgmma.m64n8k16.bf16.f16",
        "hmma.16816",
        "mma.m16n8k16.f32.f16.bf16",
    ],
)
def test_other_texts_are_input_errors(text: str) -> None:
    with pytest.raises(InputError):
        numerics.unit(text)


def test_unknown_hardware_is_an_input_error_that_names_what_is_known() -> None:
    with pytest.raises(InputError, match="sm_80"):
        numerics.unit("mma.m16n8k16.f32.f16", "sm_61")
    with pytest.raises(InputError, match=r"has no modelled mma for fp8.*mma f16"):
        numerics.unit("mma.m16n8k32.f32.e4m3", "sm_80")


@pytest.mark.parametrize(
    ("name", "arch", "expected"),
    [
        ("mma.m16n8k16.f32.f16", "sm_90", ["measured here"] * 3 + ["out of reach"]),
        ("mma.m16n8k16.f16.f16", "sm_90", ["measured here"] * 4),
        ("wgmma.m64n8k32.f32.e4m3.e5m2", "sm_90", ["measured here"] * 3 + ["out of reach"]),
        ("wgmma.m64n8k8.f32.tf32", "sm_90", ["literature"] * 4),
        ("mma.m16n8k32.f32.e4m3.e5m2", "sm_90", ["assumed"] * 3 + ["out of reach"]),
        ("mma.m16n8k16.f32.f16", "sm_80", ["measured by others"] * 3 + ["out of reach"]),
        ("mma.m16n8k16.f16.f16", "sm_80", ["measured by others", "literature"] * 2),
        ("mma.m16n8k4.f32.tf32", "sm_80", ["literature", *["measured by others"] * 2, "literature"]),
        ("mma.m16n8k16.f32.bf16", "sm_87", ["assumed"] * 4),
        ("mma.m16n8k8.f32.bf16", "sm_89", ["literature"] * 4),
        ("mma.m16n8k16.f32.bf16", "sm_86", ["measured by others"] * 3 + ["assumed"]),
        ("mma.m16n8k16.f32.f16", "sm_103", ["assumed"] * 3 + ["out of reach"]),
        ("tcgen05.m128n64k32.f32.e4m3", "sm_100", ["literature"] * 3 + ["out of reach"]),
        ("mma.m16n8k32.f32.e3m2.e2m1", "sm_120", ["literature"] * 3 + ["out of reach"]),
    ],
)
def test_each_parameter_says_who_measured_it(name: str, arch: str, expected: list[str]) -> None:
    u = unit(name, arch)
    assert [u.evidence[parameter][0] for parameter in PARAMETERS] == expected
    assert all(source for _, source in u.evidence.values())
    assert set(u.describe()["evidence"]) == set(PARAMETERS)
    assert u.status[0] in expected


def test_what_is_called_measured_is_in_the_evidence() -> None:
    """Every form of an evidence file is called measured on its architecture, and no other form is."""
    folder = Path(__file__).parents[2] / "docs" / "evidence"
    measured = json.loads((folder / "numerics.json").read_text())["instructions"]
    here = {form_of(instruction(name)) for name in measured}
    sets = json.loads((folder / "numerics_published.json").read_text())["sets"]
    gpus = {"V100": 70, "A100": 80, "A2": 86, "Ada": 89, "L40S": 89, "H100": 90, "H200": 90, "B200": 100}
    there = {(gpus[row["gpu"]], form_of(instruction(row["unit"]))) for row in sets}
    for number, kind, row in TABLE:
        for u in _forms(number, kind, row):
            words = {u.evidence[name][0] for name in PARAMETERS}
            form = form_of(u.instruction)
            assert ("measured here" in words) == (number == 90 and form in here)
            assert ("measured by others" in words) == (number != 90 and (number, form) in there)


def _forms(number: int, kind: str, row: str) -> list[Unit]:
    inputs = {"f16": ("f16", "bf16"), "tf32": ("tf32",), "fp8": ("e4m3", "e5m2", "e2m1")}.get(row, ())
    found = []
    for a, acc, k, m in product(inputs, ("f32", "f16"), (4, 8, 16, 32), (8, 16, 64)):
        with suppress(InputError):
            found.append(unit(f"{kind}.m{m}n8k{k}.{acc}.{a}", f"sm_{number}"))
    return found


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("mma.m16n8k16.f32.f16", "sm_70"),
        ("mma.m8n8k4.f32.f16", "sm_80"),
        ("mma.m16n8k16.f32.f16", "sm_75"),
        ("mma.m16n8k16.f16.bf16", "sm_80"),
        ("wgmma.m64n12k16.f32.f16", "sm_90"),
        ("wgmma.m64n512k16.f32.f16", "sm_90"),
        ("wgmma.m128n8k16.f32.f16", "sm_90"),
        ("wgmma.m64n8k32.f32.e2m1", "sm_90"),
        ("mma.m16n8k32.f32.e2m1", "sm_90"),
        ("tcgen05.m32n8k16.f32.f16", "sm_100"),
        ("tcgen05.m128n64k32.mxf8f6f4.block32.f32.e4m3.e4m3.ue8m0", "sm_100"),
    ],
)
def test_a_shape_that_the_architecture_lacks_is_an_input_error(name: str, arch: str) -> None:
    with pytest.raises(InputError, match=r"has no|block-scaled"):
        unit(name, arch)


def _zeros_like_c(u: Unit, shape: tuple[int, ...]) -> np.ndarray:
    return np.zeros(shape, u.rule.accumulator.raw_dtype)


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("mma.m8n8k4.f32.f16", "sm_70"),
        ("mma.m16n8k8.f32.f16", "sm_80"),
        ("mma.m16n8k16.f16.f16", "sm_90"),
        ("mma.m16n8k16.f32.bf16", "sm_90"),
        ("mma.m16n8k4.f32.tf32", "sm_90"),
        ("mma.m16n8k16.f32.e4m3", "sm_89"),
        ("wgmma.m64n8k32.f32.e5m2.e4m3", "sm_90"),
        ("mma.m16n8k32.f32.e2m3.e3m2", "sm_120"),
        ("tcgen05.m128n8k32.f16.e2m1.e5m2", "sm_100"),
    ],
)
@pytest.mark.parametrize("kind", ["near", "any", "tiny", "floor"])
def test_one_block_equals_exact_rational_arithmetic(name: str, arch: str, kind: str) -> None:
    u = unit(name, arch)
    assert len(u.groups) == 1 or arch == "sm_80"
    if len(u.groups) > 1:
        return
    a, b, c = vectors(u, kind, 60, seed=3)
    formats = (u.instruction.a, u.instruction.b)
    expected = [exact.fma(x, y, int(z), formats, u.rule) for x, y, z in zip(a, b, c, strict=True)]
    assert u.fma(a, b, c).tolist() == expected


@pytest.mark.parametrize("name", ["mma.m16n8k16.f32.f16", "mma.m16n8k8.f32.tf32", "mma.m16n8k16.f32.bf16"])
def test_both_carriers_agree(name: str) -> None:
    u = unit(name)
    for kind in ("near", "wide", "cancel", "tiny"):
        a, b, c = vectors(u, kind, 300, seed=5)
        # One input far outside float32's safe range moves the whole batch to float64.
        far = np.concatenate([a, u.instruction.a.encode(np.full((1, u.k), 2.0**60))])
        other = np.concatenate([b, b[:1]])
        addend = np.concatenate([c, c[:1]])
        assert u.fma(far, other, addend)[:-1].tolist() == u.fma(a, b, c).tolist()


def _recorded_units() -> list[str]:
    return sorted(RECORDED["answers"])


@pytest.mark.parametrize("name", _recorded_units())
def test_recorded_h200_answers(name: str) -> None:
    """The first vectors of every kind, as an H200 answered them (docs/evidence/numerics.json: all)."""
    u = unit(name)
    for kind, answers in RECORDED["answers"][name].items():
        drawn = vectors(u, kind, RECORDED["counts"][kind], RECORDED["seed"])
        a, b, c = (part[: len(answers)] for part in drawn)
        assert u.fma(a, b, c).tolist() == [int(word, 16) for word in answers], kind


@pytest.mark.parametrize(
    "change",
    [
        {"fraction_bits": 24},
        {"fraction_bits": 26},
        {"block": 8},
        {"rounding": "RNE"},
        {"precision": 23},
        {"normalise_products": True},
        {"align": "RNE"},
    ],
)
def test_wrong_parameters_miss_recorded_answers(change: dict[str, object]) -> None:
    name = "mma.m16n8k16.f32.f16"
    wrong = unit(name).with_rule(**change)
    missed = 0
    for kind, answers in RECORDED["answers"][name].items():
        a, b, c = vectors(unit(name), kind, RECORDED["counts"][kind], RECORDED["seed"])
        got = wrong.fma(a[: len(answers)], b[: len(answers)], c[: len(answers)])
        missed += sum(x != int(word, 16) for x, word in zip(got.tolist(), answers, strict=True))
    assert missed >= 2


@pytest.mark.parametrize(("name", "floor"), [("mma.m16n8k16.f16.f16", -21), ("mma.m16n8k8.f32.bf16", -133)])
def test_the_floor_is_seen_on_both_sides(name: str, floor: int) -> None:
    u = unit(name)
    assert u.rule.anchor_floor == floor
    v = vectors(u, "floor", 4000)
    for other in (floor - 1, floor + 1):
        assert (u.with_rule(anchor_floor=other).fma(*v) != u.fma(*v)).any()


def test_a_chain_is_its_instructions_one_after_another() -> None:
    rng = np.random.default_rng(1)
    for name in ("mma.m16n8k16.f32.f16", "mma.m16n8k32.f32.e4m3", "wgmma.m64n8k32.f16.e5m2"):
        u = unit(name)
        a = u.instruction.a.encode(rng.standard_normal((3, 4 * u.k)))
        b = u.instruction.b.encode(rng.standard_normal((4 * u.k, 5)))
        c = u.rule.accumulator.encode(rng.standard_normal((3, 5)))
        accumulator = c
        for step in range(4):
            ks = slice(step * u.k, (step + 1) * u.k)
            accumulator = u.fma(a[:, None, ks], b[ks].T[None], accumulator)
        assert u.matmul(a, b, c).tolist() == accumulator.tolist()


def test_fp8_through_mma_sync_is_two_f16_instructions_and_an_addition() -> None:
    """What ptxas makes of it for sm_90a: HMMA over k % 4 in {0, 1}, HMMA over {2, 3}, FADD with c."""
    u, half = unit("mma.m16n8k32.f32.e4m3"), unit("mma.m16n8k16.f32.f16")
    a, b, c = vectors(u, "near", 500)
    values_a, values_b = (F16.encode(FORMATS["f8E4M3FN"].decode(x)) for x in (a, b))
    first = np.arange(32) % 4 < 2
    accumulator = half.fma(values_a[:, first], values_b[:, first], _zeros_like_c(u, (500,)))
    accumulator = half.fma(values_a[:, ~first], values_b[:, ~first], accumulator)
    total = F32.decode(accumulator).astype(np.float32) + F32.decode(c).astype(np.float32)
    assert u.fma(a, b, c).tolist() == total.view(np.uint32).tolist()


@pytest.mark.parametrize(
    "name",
    ["mma.m16n8k16.f32.f16", "mma.m16n8k16.f16.f16", "wgmma.m64n8k32.f32.e4m3", "mma.m16n8k32.f32.e5m2"],
)
def test_the_compiled_loop_is_the_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as plain Python here, compiled by numba where a product is large: every bit equal."""
    plain = SimpleNamespace(njit=lambda **_: lambda function: function)
    monkeypatch.setitem(sys.modules, "numba", plain)
    spec = find_spec("layoutcheck.numerics.compiled")
    assert spec is not None and spec.loader is not None
    loop = module_from_spec(spec)  # no later test finds this one, which takes minutes for a large product
    spec.loader.exec_module(loop)
    u, rng = unit(name), np.random.default_rng(4)
    asked = []
    for spread, m, n, steps in ((0, 3, 70, 3), (6, 2, 5, 2)):
        shape = (m, steps * u.k - 3), (steps * u.k - 3, n)
        a, b = (rng.standard_normal(s) * 2.0 ** rng.integers(-spread, spread + 1, s) for s in shape)
        a, b = (
            f.encode(np.clip(x, -8, 8))
            for f, x in zip((u.instruction.a, u.instruction.b), (a, b), strict=True)
        )
        c = u.rule.accumulator.encode(rng.standard_normal((m, n)) * (rng.random((m, n)) < 0.7))
        monkeypatch.setattr(block_unit, "COMPILE_FROM", 1 << 60)
        expected = u.matmul(a, b, c)
        monkeypatch.setattr(block_unit, "COMPILE_FROM", 0)
        monkeypatch.setattr(block_unit, "_loop", lambda: asked.append(1) or loop)
        assert np.array_equal(u.matmul(a, b, c), expected)
    assert len(asked) == 2
    huge = np.full((2, u.k), u.instruction.a.largest)
    if u.rule.accumulator.bits == 16:  # an overflow goes back to numpy, which has infinities
        got = u.matmul(u.instruction.a.encode(huge), u.instruction.b.encode(huge.T))
        assert F16.decode(got).tolist() == [[np.inf] * 2] * 2


def test_specials() -> None:
    u = unit("mma.m16n8k16.f32.f16")
    inf, one, zero, nan = 0x7C00, 0x3C00, 0, 0x7E00

    def dot(a: list[int], b: list[int], c: int = 0) -> int:
        pad = [0] * (16 - len(a))
        return int(u.fma(np.array(a + pad, np.uint16), np.array(b + pad, np.uint16), np.array(c, np.uint32)))

    assert dot([inf], [one]) == 0x7F800000
    assert dot([inf], [one | 0x8000]) == 0xFF800000
    assert dot([inf], [zero]) == dot([nan], [one]) == dot([inf, inf], [one, one | 0x8000]) == 0x7FFFFFFF
    assert dot([inf], [one], 0xFF800000) == 0x7FFFFFFF
    assert dot([0x8000], [one], 0x80000000) == 0
    assert dot([one], [one], 0x7F7FFFFF) == 0x7F7FFFFF


def test_infinities_stay_through_a_chain() -> None:
    u = unit("mma.m16n8k16.f16.f16")
    a = F16.encode(np.full((1, 64), 200.0))
    b = F16.encode(np.column_stack([np.full(64, 200.0), np.repeat([200.0, -200.0], 32)]))
    assert u.matmul(a, b).tolist() == [[0x7C00, 0x7C00]]


def test_a_short_last_step_is_filled_with_zeros() -> None:
    u = unit("mma.m16n8k16.f32.f16")
    a, b = F16.encode(np.ones((2, 20))), F16.encode(np.ones((20, 3)))
    assert F32.decode(u.matmul(a, b)).tolist() == [[20.0] * 3] * 2


def test_wrong_shapes_are_input_errors() -> None:
    u = unit("mma.m16n8k16.f32.f16")
    ones = np.ones((2, 16), np.uint16)
    with pytest.raises(InputError, match="16 pairs"):
        u.fma(ones[:, :8], ones[:, :8], np.zeros(2, np.uint32))
    with pytest.raises(InputError, match="do not fit"):
        u.fma(ones, np.ones((3, 16), np.uint16), np.zeros(2, np.uint32))
    with pytest.raises(InputError, match="matmul needs"):
        u.matmul(ones, ones)
    with pytest.raises(InputError, match="C has shape"):
        u.matmul(ones, ones.T, np.zeros((3, 3), np.uint32))


def test_integer_data_are_exact() -> None:
    rng = np.random.default_rng(2)
    u = unit("mma.m16n8k16.f32.f16")
    a, b = rng.integers(-8, 9, (16, 512)), rng.integers(-8, 9, (512, 16))
    assert F32.decode(u.matmul(F16.encode(a), F16.encode(b))).tolist() == (a @ b).tolist()


def test_vectors_are_reproducible_and_finite_where_they_should_be() -> None:
    u = unit("wgmma.m64n8k32.f32.e4m3")
    for kind in KINDS:
        one, two = vectors(u, kind, 20, 7), vectors(u, kind, 20, 7)
        assert all(np.array_equal(x, y) for x, y in zip(one, two, strict=True))
        if kind != "special":
            assert np.isfinite(u.instruction.a.decode(one[0])).all()
    with pytest.raises(InputError, match="no vectors"):
        vectors(u, "huge", 1)


@given(st.text(max_size=60) | st.from_regex(r"(w?gmma|mma)\.m\d{1,6}n\d+k\d+\.(f\d\d|e4m3|bf16)\.\w+"))
def test_any_text_is_a_unit_or_an_input_error(text: str) -> None:
    with suppress(InputError):
        assert isinstance(numerics.unit(text, "sm_90"), Unit)
    with pytest.raises(InputError):
        numerics.unit("mma.m16n8k16.f32.f16", "x" + text)


@pytest.mark.parametrize("name", [None, 16, b"mma.m16n8k16.f32.f16"])
def test_what_is_no_name_is_an_input_error(name: object) -> None:
    with pytest.raises(InputError):
        numerics.unit(name)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        numerics.unit("mma.m16n8k16.f32.f16", name)  # type: ignore[arg-type]


@pytest.mark.parametrize("values", ["text", [[1], [1, 2]], object(), [1 + 2j]])
def test_what_is_no_array_of_numbers_is_an_input_error(values: object) -> None:
    with pytest.raises(InputError):
        numerics.encode(values, "f16")  # type: ignore[arg-type]
    with pytest.raises(InputError):
        numerics.decode(values, "f16")  # type: ignore[arg-type]


@pytest.mark.parametrize("arch", ["²", "sm_", "sm_90000000000", "", "sm_٩٠"])
def test_no_architecture(arch: str) -> None:
    with pytest.raises(InputError, match="unknown architecture"):
        numerics.unit("mma.m16n8k16.f32.f16", arch)


def test_an_addend_of_another_format_has_its_own_exponents() -> None:
    """c = 2^-24 of f16 counts as 2^-14: a product of 2^-38 beside it is cut; beside f32's it is kept."""
    both = unit("mma.m8n8k4.f32.f16.f16.f16", "sm_70"), unit("mma.m8n8k4.f32.f16", "sm_70")
    assert [u.name for u in both] == ["mma.m8n8k4.f32.f16.f16.f16", "mma.m8n8k4.f32.f16"]
    a, b = encode([2.0**-19, 0, 0, 0], "f16"), encode([2.0**-19, 0, 0, 0], "f16")
    got = [
        decode(u.fma(a, b, encode(2.0**-24, name)), "f32")
        for u, name in zip(both, ("f16", "f32"), strict=True)
    ]
    assert got == [2.0**-24, 2.0**-24 + 2.0**-38]
    with pytest.raises(InputError, match="cannot be chained"):
        both[0].matmul(np.zeros((2, 8), np.uint16), np.zeros((8, 2), np.uint16))
    for name in ("mma.m16n8k16.f32.f16.f16.f16", "mma.m8n8k4.f16.f16.f16.f32"):
        with pytest.raises(InputError, match="adds c in"):
            unit(name, "sm_80")


def test_an_architecture_without_a_modelled_tensor_core_is_told_apart_from_no_architecture() -> None:
    with pytest.raises(InputError, match="no tensor core is modelled for 'sm_110a'; expected one of sm_70"):
        unit("mma.m16n8k16.f32.f16", "sm_110a")
