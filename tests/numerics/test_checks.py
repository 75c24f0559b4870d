"""Assertions for kernels' tests: right results pass, wrong ones fail and say where and why."""

from __future__ import annotations

import re
from types import ModuleType

import numpy as np
import pytest

from layoutcheck import numerics
from layoutcheck.errors import InputError
from layoutcheck.numerics.formats import FORMATS
from layoutcheck.numerics.paths import path, run

RNG = np.random.default_rng(8)
A, B = RNG.standard_normal((24, 256)).astype(np.float16), RNG.standard_normal((256, 20)).astype(np.float16)


def product(steps: str, a: np.ndarray = A, b: np.ndarray = B) -> np.ndarray:
    return run(path(steps), a.astype(np.float64)[None], b.astype(np.float64)[None])[0]


class Tensor:
    """What is used of a torch tensor."""

    def __init__(self, values: np.ndarray, dtype: str) -> None:
        self.values, self.dtype = values, f"torch.{dtype}"

    def detach(self) -> Tensor:
        return self

    cpu = double = detach

    def numpy(self) -> np.ndarray:
        return self.values.astype(np.float64)


@pytest.mark.parametrize("order", ["any", "ascending"])
def test_right_results_pass(order: str) -> None:
    got = product("dot(wgmma.m64n8k16.f32.f16) round(f16)")
    numerics.assert_within(got.astype(np.float16), A, B, order=order)
    numerics.assert_within(Tensor(got, "float16"), Tensor(A, "float16"), Tensor(B, "float16"))
    numerics.assert_within(product("dot(mma.m16n8k8.f32.tf32)"), A, B, path="dot(mma.m16n8k8.f32.tf32)")
    numerics.assert_bits(got.astype(np.float16), A, B)
    numerics.assert_bits(product("torch-f16".replace("torch-f16", "fma(f32)")), A, B, path="fma(f32)")


def test_any_order_is_another_order() -> None:
    back = product("dot(wgmma.m64n8k16.f32.f16)", A[:, ::-1], B[::-1]).astype(np.float32)
    numerics.assert_within(back, A, B)
    with pytest.raises(AssertionError, match="not those of"):
        numerics.assert_bits(back, A, B)


@pytest.mark.parametrize(
    ("what", "explained"),
    [
        ("one k", r"as if k = 37 skipped: that explains \d+ of the 64"),
        ("a block", r"as if k = 64 to 127 skipped"),
        ("twice", r"as if k = 0 to 31 added twice"),
        ("noise", r"no single k"),
    ],
)
def test_a_wrong_kernel_fails_and_says_which_k(what: str, explained: str) -> None:
    exact = A.astype(float) @ B.astype(float)
    ks = {"one k": slice(37, 38), "a block": slice(64, 128), "twice": slice(0, 32), "noise": slice(0, 0)}[
        what
    ]
    part = A[:, ks].astype(float) @ B[ks].astype(float)
    wrong = (
        exact
        + (part if what == "twice" else -part)
        + (RNG.standard_normal(exact.shape) if what == "noise" else 0)
    )
    with pytest.raises(AssertionError) as failed:
        numerics.assert_within(wrong.astype(np.float32), A, B)
    assert re.search(explained, str(failed.value))
    assert re.search(r"worst: \[\d+, \d+\] is .*, exactly .*: off by .*, allowed", str(failed.value))


def test_nan_and_an_unwritten_output_fail() -> None:
    got = product("dot(wgmma.m64n8k16.f32.f16)").astype(np.float32)
    got[3, 4] = np.nan
    with pytest.raises(AssertionError, match=r"1 of 480 outputs .*\n.*\[3, 4\] is nan"):
        numerics.assert_within(got, A, B)
    with pytest.raises(AssertionError, match=r"first: \[3, 4\] is nan"):
        numerics.assert_bits(got, A, B)


def test_one_bit_is_seen() -> None:
    got = product("dot(wgmma.m64n8k16.f32.f16)").astype(np.float32)
    got.view(np.uint32)[5, 6] ^= 1
    with pytest.raises(AssertionError, match=r"1 of 480 .*\n.*\[5, 6\].*0x[0-9a-f]{8}.*0x[0-9a-f]{8}"):
        numerics.assert_bits(got, A, B)


def test_subnormals_and_scales_pass() -> None:
    f16 = FORMATS["f16"]
    for scale in (2.0**-16, 2.0**-8, 16.0):
        a, b = (f16.decode(f16.encode(x.astype(float) * scale)) for x in (A, B))
        for steps in ("dot(mma.m16n8k16.f32.f16)", "dot(mma.m16n8k16.f16.f16)"):
            numerics.assert_within(run(path(steps), a[None], b[None])[0], a, b, path=steps, order="ascending")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((A, A, B), {}),
        ((A @ B, A, B[:5]), {}),
        ((A @ B, A.astype(np.float64), B), {}),
        ((A @ B, A.astype(np.int8), B), {}),
        ((A @ B, A, B), {"path": "torch-f16"}),
        ((A @ B, A, B), {"order": "random"}),
        ((A @ B, A * np.float16(np.nan), B), {}),
        (([["x"]], A, B), {}),
        ((A @ B, A, B), {"arch": "sm_12"}),
    ],
)
def test_what_cannot_be_checked_is_an_input_error(
    arguments: tuple[object, ...], options: dict[str, str]
) -> None:
    with pytest.raises(InputError):
        numerics.assert_within(*arguments, **options)


def test_the_fixture_has_both(layoutcheck_numerics: ModuleType) -> None:
    layoutcheck_numerics.assert_within(product("dot(wgmma.m64n8k16.f32.f16)").astype(np.float32), A, B)
    assert layoutcheck_numerics.assert_bits is numerics.assert_bits
