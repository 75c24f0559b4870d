"""Paths: the five configurations of CUTLASS issue 2214 and its repair as an H200 ran them; the notation."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.cli import run as command
from layoutcheck.errors import InputError
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.confirm import confirm, on
from layoutcheck.numerics.data import data as distribution
from layoutcheck.numerics.formats import FORMATS, Floats, Format, Raw
from layoutcheck.numerics.paths import (
    PRESETS,
    compare,
    first_difference,
    path,
    run,
    storage_formats,
)
from layoutcheck.numerics.plain import odd_sum

REPORT = json.loads((Path(__file__).parent / "report_000.json").read_text())
F16, F32 = FORMATS["f16"], FORMATS["f32"]


def draw(
    data: str, blocks: int, m: int, n: int, k: int, a: Format, b: Format | None = None
) -> tuple[Floats, Floats]:
    return distribution(data).draw((blocks, m, n, k), a, b or a, 0)


@cache
def issue_inputs() -> tuple[Floats, Floats]:
    """K and V of the issue, as (blocks, 64, 64): what torch's CPU generator gives for its seed."""
    state = np.random.RandomState(10086)
    parts = {}
    for name in ("q", "k", "v"):
        words = state.randint(0, 2**32, 32768, dtype=np.uint64).astype(np.uint32) & 0xFFFFFF
        uniform = (words * 2.0**-24).reshape(-1, 16)
        radius = np.sqrt(-2 * np.log(1 - uniform[:, :8]))
        angle = 2 * np.pi * uniform[:, 8:]
        normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], 1).ravel()
        parts[name] = normal.astype(np.float32).astype(np.float16).view(np.uint16)
    for name in ("k", "v"):
        for index, code in REPORT["elements"][name].items():
            parts[name][int(index)] = int(code, 16)
        assert hashlib.sha256(parts[name].astype("<u2").tobytes()).hexdigest() == REPORT["sha256"][name]
    k, v = (F16.decode(parts[name]).reshape(8, 64, 64) for name in ("k", "v"))
    return k.transpose(0, 2, 1), v


@pytest.mark.parametrize("pair", sorted(REPORT["measured"]))
def test_predicted_counts_are_the_measured_ones(pair: str) -> None:
    one, other = map(path, pair.split(" / "))
    found = compare(one, other, *issue_inputs())
    measured = REPORT["measured"][pair]
    assert list(found.out_of_tolerance) == measured["out_of_tolerance"]
    assert list(found.bits_differ) == measured["bits_differ"]


def test_rounding_one_product_passes_block_0_and_fails_from_block_1() -> None:
    found = compare(path("cute-f32f16f16f32"), path("torch-f16-matmul-f32-add"), *issue_inputs())
    assert found.first_difference == (1, "add(f32)", "round(f16)")
    assert found.out_of_tolerance[0] == 0
    assert found.out_of_tolerance[1] > 0
    (finding,) = found.findings
    assert finding.code == "LC401"
    assert finding.severity == "wrong"
    assert "from block 1" in finding.title


@pytest.mark.parametrize("name", ["fp8-wgmma", "fp8-wgmma-promoted", "cute-f16f16f16f16", "torch-f16"])
def test_any_size_fills_whole_instructions(name: str) -> None:
    """The runner sees whole tiles only; the outputs are those of the model on the bare size."""
    asked = []

    def whole(u: Unit, a: Raw, b: Raw, c: Raw) -> Raw:
        asked.append(a.shape[0] % u.instruction.m or a.shape[1] % u.k or b.shape[1] % u.instruction.n)
        return u.matmul(a, b, c)

    chosen = path(name)
    a, b = draw("normal", 2, 10, 7, 300, *storage_formats(chosen))
    assert np.array_equal(run(chosen, a, b, dot=on(whole)), run(chosen, a, b))
    assert set(asked) == {0}


@pytest.mark.parametrize("wrong", ["one bit", "kept bits", "rounding"])
def test_a_runner_that_is_wrong_is_found(wrong: str) -> None:
    def broken(u: Unit, a: Raw, b: Raw, c: Raw) -> Raw:
        if wrong == "one bit":
            d = u.matmul(a, b, c)
            d[3, 5] ^= 1
            return d
        change = {"fraction_bits": 15} if wrong == "kept bits" else {"rounding": "RNE"}
        return u.with_rule(**change).matmul(a, b, c)

    one, other = path("cute-f32f16f16f32"), path("cute-f32f16f16f32-rounded")
    a, b = draw("normal", 1, 16, 8, 64, F16)
    right = confirm(one, other, a, b, lambda u, a, b, c: u.matmul(a, b, c))
    assert right.equal == (128, 128)
    assert right.measured == right.predicted
    found = confirm(one, other, a, b, broken)
    assert found.equal[0] == 127 if wrong == "one bit" else found.equal[0] < 127
    assert found.findings[0].code == "LC406"
    assert found.to_dict()["verdict"] == "wrong"


def test_the_repair_is_bit_equal() -> None:
    found = compare(path("cute-f32f16f16f32-rounded"), path("torch-f16-matmul-f32-add"), *issue_inputs())
    assert set(found.bits_differ) == {0}
    assert found.findings == ()
    assert found.to_dict()["verdict"] == "legal"


@pytest.mark.parametrize("change", [{"arch": "sm_80"}, {"rtol": 1e-4}])
def test_counts_depend_on_what_they_should(change: dict[str, object]) -> None:
    pair = path("cute-f16f16f16f16"), path("torch-f16")
    usual = compare(*pair, *issue_inputs()).out_of_tolerance
    assert compare(*pair, *issue_inputs(), **change).out_of_tolerance != usual


def test_an_a100_rounds_f16_sums_twice_as_often() -> None:
    """Blocks of 8 instead of 16: half as many again are out of tolerance in the first block."""
    found = compare(path("cute-f16f16f16f16"), path("torch-f16"), *issue_inputs(), arch="sm_80")
    assert 640 <= found.out_of_tolerance[0] <= 662


def test_rounding_p_is_what_flashinfers_decodes_differ_by() -> None:
    """Half a step of f16 at most, 2^-12 on average: A is drawn in f32, or there would be nothing to round."""
    pair = path("flashinfer-tensor-core"), path("flashinfer-cuda-core")
    assert [str(f) for f in storage_formats(*pair)] == ["f32", "f16"]
    a, b = draw("normal", 4, 16, 16, 128, *storage_formats(*pair))
    found = compare(*pair, a, b)
    assert 1e-4 < found.rms_difference < 4e-4
    assert min(found.bits_differ) > 250
    rounded = compare(*pair, F16.decode(F16.encode(a)), b)
    assert rounded.rms_difference < 1e-6


def test_promotion_repairs_fp8() -> None:
    a, b = draw("uniform", 1, 16, 16, 4096, FORMATS["f8E4M3FN"])
    exact = a[0] @ b[0]
    error = {
        name: float(np.mean(run(path(name), a, b)[0] / exact - 1))
        for name in ("fp8-wgmma", "fp8-wgmma-promoted", "fp8-mma")
    }
    assert -0.07 < error["fp8-wgmma"] < -0.06
    assert -6e-4 < error["fp8-wgmma-promoted"] < -4e-4
    assert abs(error["fp8-mma"]) < 1e-6


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_print_as_they_are_written(name: str) -> None:
    assert str(path(name)) == PRESETS[name]
    assert str(path(str(path(name)))) == PRESETS[name]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dot()",
        "round(f16)",
        "dot(mma.m16n8k16.f32.f16) dot(mma.m16n8k16.f32.f16)",
        "fma(f32) add(f64)",
        "add(f32) fma(f32)",
        "dot(mma.m16n8k16.f32.f17)",
        "fma(f32) round(f16) nothing",
        "fma(f32,promote=4)",
        "fma(f32) add(f16) round(f16)",
        "dot(mma.m16n8k16.f32.f16,promote=0)",
        "dot(mma.m16n8k16.f32.f16,split=0)",
        "fma(f32,split=2)",
        "dot(mma.m16n8k16.f32.f16,split=٢)",
    ],
)
def test_other_texts_are_input_errors(text: str) -> None:
    with pytest.raises(InputError):
        path(text)


def test_fp8_and_f16_paths_read_the_same_data() -> None:
    """Each drew its own inputs' rounding: e4m3 data lie in f16, so both paths read them as they are."""
    pair = path("fp8-wgmma"), path("torch-f16")
    for one, other in (pair, pair[::-1]):
        assert [str(f) for f in storage_formats(one, other)] == ["f8E4M3FN"] * 2
        a, b = draw("uniform", 1, 16, 16, 64, *storage_formats(one, other))
        assert compare(one, other, a, b).rms_difference < 3e-3
    with pytest.raises(InputError, match="f16 and bf16"):
        storage_formats(path("torch-f16"), path("dot(mma.m16n8k16.f32.bf16)"))


def test_tf32_reads_f32_and_cuts_it() -> None:
    pair = path("fma(f32)"), path("dot(mma.m16n8k8.f32.tf32)")
    assert [str(f) for f in storage_formats(*pair)] == ["f32", "f32"]
    a, b = draw("uniform", 1, 16, 16, 64, *storage_formats(*pair))
    full, cut = run(pair[0], a, b), run(pair[1], a, b)
    assert 1e-4 < np.mean((full - cut) / full) < 2 * 2.0**-10
    raw = [F32.decode(F32.encode(x) & np.uint32(0xFFFFE000)) for x in (a, b)]
    assert np.array_equal(cut, run(pair[1], *raw))


def test_a_path_is_checked_on_its_architecture() -> None:
    chosen = path("dot(tcgen05.m128n8k16.f32.f16)", "sm_100")
    assert run(chosen, np.ones((1, 2, 16)), np.ones((1, 16, 2)), "sm_100")[0, 0, 0] == 16
    assert str(path("dot(tcgen05.m128n8k16.f32.f16)")) == "dot(tcgen05.m128n8k16.f32.f16)"
    with pytest.raises(InputError, match="tcgen05"):
        path("dot(tcgen05.m128n8k16.f32.f16)", "sm_90a")
    assert str(path("torch-f16", "sm_70")).startswith("dot(mma.m8n8k4.f32.f16)")


def test_split_k_adds_its_pieces_in_f32() -> None:
    a, b = draw("uniform", 1, 8, 8, 100, F16)
    whole = [
        run(path("dot(mma.m16n8k16.f32.f16)"), a[:, :, ks], b[:, ks]) for ks in (slice(50), slice(50, 100))
    ]
    total = F32.decode(F32.encode(whole[0] + whole[1]))
    assert np.array_equal(run(path("dot(mma.m16n8k16.f32.f16,split=2)"), a, b), total)


def test_the_first_difference() -> None:
    one, other = path("fma(f32) round(f16)"), path("fma(f32)")
    assert first_difference(one, other) == (1, "round(f16)", "nothing")
    assert first_difference(one, one) is None


def test_shapes_that_do_not_fit_are_input_errors() -> None:
    with pytest.raises(InputError, match="blocks, M, K"):
        run(path("fma(f32)"), np.zeros((1, 2, 3)), np.zeros((1, 4, 2)))
    with pytest.raises(InputError, match="no data"):
        draw("ones", 1, 1, 1, 1, F16)


def test_fma_is_a_chain_of_fused_multiply_adds() -> None:
    rng = np.random.default_rng(0)
    a, b = (F16.decode(F16.encode(rng.standard_normal((1, 3, 40)))) for _ in range(2))
    got = run(path("fma(f32)"), a, b.transpose(0, 2, 1))[0]
    for i in range(3):
        total = Fraction(0)
        for x, y in zip(a[0, i], b[0, i], strict=True):
            exact = total + Fraction(float(x)) * Fraction(float(y))
            total = Fraction(_nearest_f32(exact))
        assert got[i, i] == float(total)


def _nearest_f32(exact: Fraction) -> float:
    guess = np.float32(float(exact))
    near = [float(np.nextafter(guess, np.float32(s * np.inf))) for s in (-1, 1)] + [float(guess)]
    return min(near, key=lambda x: (abs(Fraction(x) - exact), np.float32(x).view(np.uint32) & 1))


@given(st.floats(-1e30, 1e30), st.floats(-1e30, 1e30))
def test_a_sum_rounded_to_odd_rounds_once(x: float, y: float) -> None:
    odd = float(odd_sum(np.array([x]), np.array([y]))[0])
    exact = Fraction(x) + Fraction(y)
    if Fraction(odd) == exact:
        return
    assert np.array(odd).view(np.int64) & 1
    assert abs(Fraction(odd) - exact) < Fraction(float(np.spacing(abs(odd))))


@given(  # of all letters of Unicode the second takes two seconds to draw
    st.text(max_size=80)
    | st.from_regex(
        re.compile(r"(dot|fma|round|add)\([\w.]+(,(promote|split)=\d+)?\)( \w+\(\w+\))*", re.ASCII)
    )
)
def test_any_text_is_a_path_or_an_input_error(text: str) -> None:
    with suppress(InputError):
        assert path(text).steps


def test_the_issues_inputs_with_amp_on_and_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """AMP on: the product is rounded to f16, the sum is f32. Off, all f16: the sum is f16 too."""
    a, b = issue_inputs()
    np.save(tmp_path / "k.npy", a)
    np.save(tmp_path / "v.npy", b)
    files = ["--a", str(tmp_path / "k.npy"), "--b", str(tmp_path / "v.npy"), "--format", "json"]
    for cute, amp, measured in (
        ("cute-f32f16f16f32", "torch-amp-on", "cute-f32f16f16f32 / torch-f16-matmul-f32-add"),
        ("cute-f16f16f16f16", "torch-amp-off", "cute-f16f16f16f16 / torch-f16"),
    ):
        assert command(["numerics", "path", cute, amp, *files]) == 1
        found = json.loads(capsys.readouterr().out)
        assert found["out_of_tolerance"] == REPORT["measured"][measured]["out_of_tolerance"]
    assert command(["numerics", "path", "cute-f32f16f16f32-rounded", "torch-amp-on", *files]) == 0
    assert json.loads(capsys.readouterr().out)["norm_difference"] == 0


def test_norm_and_relative_difference_are_those_of_the_last_block() -> None:
    one, other = path("cute-f32f16f16f32"), path("torch-f16")
    a, b = issue_inputs()
    found, left, right = compare(one, other, a, b), run(one, a, b)[-1], run(other, a, b)[-1]
    assert found.norm_difference == np.sqrt(((left - right) ** 2).sum())
    relative = np.abs(left - right)[right != 0] / np.abs(right[right != 0])
    assert (found.largest_relative, found.mean_relative) == (relative.max(), relative.mean())
