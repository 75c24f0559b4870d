"""The assertions on torch's own tensors; on a GPU of sm_90 also on what its kernels compute."""

from __future__ import annotations

import pytest

from layoutcheck import numerics
from layoutcheck.errors import InputError

torch = pytest.importorskip("torch")
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
TYPES = [torch.float16, torch.bfloat16]


def drawn(*shape: int, dtype: object, device: str) -> object:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator).to(dtype).to(device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
def test_a_product_is_within_its_bound_and_a_skipped_block_is_not(dtype: object, device: str) -> None:
    a, b = drawn(64, 512, dtype=dtype, device=device), drawn(512, 48, dtype=dtype, device=device)
    numerics.assert_within((a.float() @ b.float()).to(dtype), a, b)
    numerics.assert_within((a @ b).requires_grad_() if device == "cuda" else a.double() @ b.double(), a, b,
                           path=None if device == "cuda" else "dot(wgmma.m64n8k16.f32.f16)"
                           if dtype is torch.float16 else "dot(wgmma.m64n8k16.f32.bf16)")  # fmt: skip
    wrong = (a[:, 64:].float() @ b[64:].float()).to(dtype)
    with pytest.raises(AssertionError, match="as if k = 0 to 63 skipped"):
        numerics.assert_within(wrong, a, b)
    with pytest.raises(AssertionError, match="not those of"):
        numerics.assert_bits(wrong, a, b)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("causal", [False, True])
def test_torchs_attention_is_within_its_bound(dtype: object, device: str, causal: bool) -> None:
    q, k, v = (drawn(1, 4, n, 64, dtype=dtype, device=device) for n in (256, 256, 256))
    got = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    numerics.assert_attention(got, q, k, v, causal=causal)
    with pytest.raises(AssertionError, match="outside the bound"):
        numerics.assert_attention(got, q, k, v, causal=not causal)
    mask = torch.ones(256, 256, dtype=torch.bool).tril() if causal else torch.ones(256, 256, dtype=torch.bool)
    numerics.assert_attention(got, q, k, v, mask=mask.to(device))


@pytest.mark.skipif("cuda" not in DEVICES, reason="no GPU")
def test_torchs_product_is_the_models_bits_on_hopper() -> None:
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("not sm_90")
    a, b = (drawn(*s, dtype=torch.float16, device="cuda") for s in ((128, 512), (512, 128)))
    numerics.assert_bits(a @ b, a, b)


def test_float8_tensors_are_read() -> None:
    a, b = (drawn(*s, dtype=torch.float8_e4m3fn, device="cpu") for s in ((16, 64), (64, 16)))
    exact = (a.double() @ b.double()).float()
    numerics.assert_within(exact, a, b)
    exact[3, 5] += 50
    with pytest.raises(AssertionError, match=r"1 of 256 outputs .*\n.*\[3, 5\]"):
        numerics.assert_within(exact, a, b)


def test_other_types_are_input_errors() -> None:
    a = torch.ones(16, 16, dtype=torch.int32)
    with pytest.raises(InputError):
        numerics.assert_within(a, a, a)
