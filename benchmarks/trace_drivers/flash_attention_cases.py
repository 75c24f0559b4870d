"""FlashAttention's kernels in CuTe DSL (flash_attn.cute), a case a function, as its tests call them.

A second argument, 1, 2 or 3, is the length of the sequences: 512, no multiple of a tile, and a long one.
"""

import sys
import types

import torch

# The package imports its CUDA extension, which the kernels in CuTe DSL do not use.
sys.modules.setdefault("flash_attn_2_cuda", types.ModuleType("flash_attn_2_cuda"))

BF16 = torch.bfloat16
SEQLEN = (512, 1000, 8192)[int(sys.argv[2]) - 1 if len(sys.argv) > 2 else 0]


def made(*shape):
    return torch.randn(*shape, device="cuda", dtype=BF16, requires_grad=True)


def attend(head_dim, seqlen=SEQLEN, heads=4, kv_heads=4, **named):
    from flash_attn.cute.interface import flash_attn_func

    q = made(2, seqlen, heads, head_dim)
    k, v = made(2, seqlen, kv_heads, head_dim), made(2, seqlen, kv_heads, head_dim)
    out = flash_attn_func(q, k, v, **named)
    return (out[0] if isinstance(out, tuple) else out), (q, k, v)


def case_forward():
    attend(128)


def case_forward_causal():
    attend(128, causal=True)


def case_forward_64_grouped():
    attend(64, kv_heads=1)


def case_backward():
    out, inputs = attend(128, causal=True)
    torch.autograd.grad(out, inputs, torch.empty_like(out))


def case_varlen():
    from flash_attn.cute.interface import flash_attn_varlen_func

    q, k, v = (made(2 * SEQLEN, 4, 128) for _ in range(3))
    cu = torch.tensor([0, 300, 2 * SEQLEN], device="cuda", dtype=torch.int32)
    flash_attn_varlen_func(q, k, v, cu_seqlens_q=cu, cu_seqlens_k=cu)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
