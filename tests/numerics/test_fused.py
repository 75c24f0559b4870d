"""The bound of fused attention: an emulated flash kernel never exceeds it, wrong kernels do."""

from __future__ import annotations

import json

import numpy as np
import pytest

from layoutcheck import numerics
from layoutcheck.cli import run
from layoutcheck.errors import InputError
from layoutcheck.numerics.formats import Floats, round_to
from layoutcheck.numerics.fused import Attention, attention, emulate, of_attention

STEPS = {
    "bf16": attention("bf16", "f32"),
    "f16": attention("f16", "f16", arch="sm_80"),
    "f16 accumulators": attention("f16", "f16", qk="mma.m16n8k16.f32.f16", pv="mma.m16n8k16.f16.f16"),
    "fp8": attention("e4m3", "bf16", p_scale=256),
    "fp8 unscaled": attention("e4m3", "f32"),
    "f32": attention("f32", "f32", arch="sm_80"),
    "crude exp": attention("bf16", "f32", exp_error=1e-4),
}


def values(rng: np.random.Generator, shape: tuple[int, int], steps: Attention, scale: float) -> Floats:
    return round_to(scale * rng.standard_normal(shape), steps.qk.instruction.a)


def noisy(rng: np.random.Generator, steps: Attention):
    return lambda shape: 0.99 * (steps.exp_error - 2.0**-24) * rng.choice([-1.0, 0.0, 1.0], shape)


def share(
    steps: Attention, q: Floats, k: Floats, v: Floats, keep: object, rng: np.random.Generator, tile: int
) -> float:
    """The largest error as a share of the bound."""
    found = of_attention(steps, q, k, v, 0.125, keep)
    got = emulate(steps, q, k, v, 0.125, keep, tile, noisy(rng, steps))
    judged = np.isfinite(found.allowed)
    assert judged.mean() > 0.5
    error = np.where(judged, np.abs(got - found.exact), 0.0)
    return float((error / np.where(judged, np.maximum(found.allowed, 1e-300), 1.0)).max())


def adversarial(steps: Attention, rng: np.random.Generator, n: int, d: int) -> tuple[Floats, Floats, Floats]:
    """V has the sign of each weight's rounding error, and scores lie where the weights round worst."""
    held = steps.qk.instruction.a
    q, k = np.zeros((4, d)), np.zeros((n, d))
    q[:, 0] = round_to(8 * rng.random(4) + 0.5, held)
    k[:, 0] = round_to(-rng.choice([0.05, 0.5, 2.0]) * rng.random(n), held)
    k[0, 0] = 0.0
    s = 0.125 * (q @ k.T)
    p = np.exp(s - s.max(1, keepdims=True)) * steps.p_scale
    worst = np.sign(round_to(p, steps.p) - p)[0] if steps.p.name != "f32" else rng.choice([-1.0, 1.0], n)
    v = np.stack([worst, -worst, np.abs(worst), np.where(worst > 0, 1.0, 0.0)], 1)
    return q, k, round_to(v * rng.choice([1.0, 0.75, 448.0]), held)


@pytest.mark.parametrize("name", STEPS)
def test_an_attack_stays_below_the_bound(name: str) -> None:
    steps, rng, most = STEPS[name], np.random.default_rng(5), 0.0
    for turn in range(40):
        n, d = int(rng.choice([16, 48, 200])), int(rng.choice([16, 64]))
        if turn % 2:
            q, k, v = adversarial(steps, rng, n, d)
        else:
            size = float(rng.choice([0.01, 1.0, 3.0]))
            q, k, v = (values(rng, shape, steps, size) for shape in ((8, d), (n, d), (n, 8)))
        keep = rng.random((len(q), n)) < 0.7 if turn % 5 == 4 else None
        most = max(most, share(steps, q, k, v, keep, rng, int(rng.choice([16, 64]))))
    assert 0.1 < most <= 1


@pytest.mark.parametrize("name", ["bf16", "f16", "fp8"])
def test_the_rounding_of_p_is_most_of_the_bound(name: str) -> None:
    rng, steps = np.random.default_rng(6), STEPS[name]
    most = max(
        share(steps, *adversarial(steps, rng, n, 16), None, rng, 64) for n in (64, 128) for _ in range(30)
    )
    assert most > 0.2


def case(dtype: type = np.float16) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal(s).astype(dtype) for s in ((2, 32, 64), (2, 128, 64), (2, 128, 48)))
    return q, k, v


def softmax(q: Floats, k: Floats, v: Floats, keep: object = True) -> Floats:
    s = np.where(keep, np.einsum("hmd,hnd->hmn", q, k) / 8, -np.inf)
    p = np.exp(s - s.max(2, keepdims=True))
    return np.einsum("hmn,hne->hme", p / p.sum(2, keepdims=True), v)


def test_right_attention_passes_causal_and_not() -> None:
    q, k, v = case()
    wide = [x.astype(float) for x in (q, k, v)]
    numerics.assert_attention(softmax(*wide).astype(np.float16), q, k, v)
    causal = np.tri(32, 128, 96, dtype=bool)
    numerics.assert_attention(softmax(*wide, causal).astype(np.float16), q, k, v, causal=True)
    numerics.assert_attention(softmax(*wide, causal).astype(np.float16), q, k, v, mask=causal)
    steps = numerics.attention("f16", "f16")
    got = np.stack([emulate(steps, *head, 0.125) for head in zip(*wide, strict=True)])
    numerics.assert_attention(got.astype(np.float16), q, k, v, path=steps)


def test_wrong_attention_fails_and_says_which_keys() -> None:
    q, k, v = case()
    wide = [x.astype(float) for x in (q, k, v)]
    keep = np.ones((32, 128), bool)
    keep[:, 64:96] = False
    with pytest.raises(AssertionError, match=r"of head 0 .*(\n.*)*as if keys 64 to 95 skipped"):
        numerics.assert_attention(softmax(*wide, keep).astype(np.float16), q, k, v)
    off_by_one = np.tri(32, 128, 95, dtype=bool)
    with pytest.raises(AssertionError, match="as if key 96 skipped"):
        wrong = softmax(*wide, off_by_one)
        wrong[:, 1:] = softmax(*wide, np.tri(32, 128, 96, dtype=bool))[:, 1:]
        numerics.assert_attention(wrong.astype(np.float16), q, k, v, causal=True)
    with pytest.raises(AssertionError, match="no single key"):
        numerics.assert_attention(softmax(wide[0] * 1.1, *wide[1:]).astype(np.float16), q, k, v)
    got = softmax(*wide).astype(np.float16)
    got[1, 3, 4] = np.nan
    with pytest.raises(AssertionError, match=r"1 of 1536 outputs of head 1 .*\n.*\[3, 4\] is nan"):
        numerics.assert_attention(got, q, k, v)


def test_rows_without_a_key_are_not_judged() -> None:
    q, k, v = (x[0].astype(float) for x in case())
    found = of_attention(attention("f16"), q, k, v, 0.125, np.zeros((32, 128), bool))
    assert np.isinf(found.allowed).all()


@pytest.mark.parametrize(
    "options",
    [
        {"inputs": "f16", "qk": "mma.m16n8k16.f32.bf16"},
        {"inputs": "f16", "p": "bf16"},
        {"exp_error": 1.0},
        {"p_scale": 3.0},
        {"inputs": "e4m3", "p_scale": 512.0},
        {"inputs": "int8"},
    ],
)
def test_steps_that_are_none_are_input_errors(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        attention(**options)


def test_shapes_that_do_not_fit_are_input_errors() -> None:
    q, k, v = case()
    with pytest.raises(InputError, match="heads, M, D"):
        numerics.assert_attention(v, q, k, v)
    with pytest.raises(InputError, match="bool"):
        numerics.assert_attention(softmax(q, k, v), q, k, v, mask=np.ones((32, 128)), path=attention("f16"))


def test_the_command_says_what_each_metric_sees(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["numerics", "attention", "--keys", "512", "--head-dim", "64", "--format", "json"]
    assert run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert 0.9 * 2.0**-11 < found["weights_largest_relative"] <= 2.0**-11
    assert 0 < found["largest_share"] < 1
    assert abs(found["where_largest"]) < found["rms"] / 10
    assert found["mean_relative"] < found["largest_relative"]
    assert 1e-4 < found["rms_difference"] < 5e-4
    assert run([*arguments, "--p", "tf32"]) == 2
    assert run(["numerics", "attention", "--keys", "0"]) == 2
    assert run(["numerics", "attention", "--scale", "nan"]) == 2
