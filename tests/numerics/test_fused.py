"""The bound of fused attention: an emulated flash kernel never exceeds it, wrong kernels do."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kernels.numerics.attack_attention import KERNELS, attack, with_weights
from layoutcheck import numerics
from layoutcheck.cli import run
from layoutcheck.errors import InputError
from layoutcheck.numerics.formats import FORMATS, Floats
from layoutcheck.numerics.fused import attention, emulate, of_attention
from tests.thinned import thinned


@pytest.mark.parametrize("name", thinned(KERNELS, 2))
def test_an_attack_stays_below_the_bound_and_comes_near_it(name: str) -> None:
    found = attack(KERNELS[name], 12000, 5)["any order"]
    assert found["over"] == 0
    assert 0.7 < found["largest"] <= 1


@pytest.mark.parametrize("sums", ["weights", "p"])
def test_a_bound_of_a_known_denominator_is_tighter(sums: str) -> None:
    """Every weight rounds up: in a sum of P that cancels, beside a sum of weights it shows in full."""
    keys = 64
    weights = np.full((1, keys), 0.5 * (1 + 2.0**-4 * 1.01))
    weights[0, 0] = 1.0
    q, k = with_weights(weights, FORMATS["f8E4M3FN"])
    kernels = {x: attention("e4m3", "f32", sums=x) for x in ("any", "weights", "p")}
    outputs = {x: emulate(kernels[x], q, k, np.ones((keys, 1)), 0.125)[0, 0] for x in ("weights", "p")}
    found = {x: of_attention(kernels[x], q, k, np.ones((keys, 1)), 0.125) for x in kernels}
    assert outputs["p"] == 1 and outputs["weights"] > 1.05
    assert found["weights"].allowed[0, 0] < 0.6 * found["any"].allowed[0, 0]
    assert found["p"].allowed[0, 0] == found["any"].allowed[0, 0]
    assert abs(outputs[sums] - 1) <= found[sums].allowed[0, 0]


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
        {"sums": "rows"},
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
