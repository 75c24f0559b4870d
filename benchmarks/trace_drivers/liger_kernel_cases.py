"""Liger-Kernel's CuTe DSL kernels, a case a function: `python liger_kernel_cases.py case_rms_norm`."""

import sys

import torch

from benchmarks.trace_drivers.quack_cases import BF16, F32, each


def made(*shape, dtype=BF16):
    return torch.randn(*shape, device="cuda", dtype=dtype, requires_grad=True)


def case_rms_norm():
    from liger_kernel.ops.cutedsl.ops.rms_norm import LigerRMSNormFunction

    def one(dtype, width, offset, mode):
        given, weight = made(64, width, dtype=dtype), made(width, dtype=dtype)
        LigerRMSNormFunction.apply(given, weight, 1e-6, offset, mode, False).sum().backward()

    each(*(
        lambda dtype=dtype, width=width, mode=mode: one(dtype, width, float(mode == "gemma"), mode)
        for dtype in (BF16, F32)
        for width in (1024, 4096, 1001)
        for mode in ("llama", "gemma", "none")
    ))  # fmt: skip


def case_cross_entropy():
    from liger_kernel.ops.cutedsl.ops.cross_entropy import LigerCrossEntropyFunction

    def one(dtype, words):
        wanted = torch.randint(0, words, (64,), device="cuda")
        LigerCrossEntropyFunction.apply(made(64, words, dtype=dtype), wanted, None)[0].backward()

    each(*(
        lambda dtype=dtype, words=words: one(dtype, words)
        for dtype in (BF16, F32)
        for words in (4096, 32000, 1000)
    ))  # fmt: skip


def case_rope():
    from liger_kernel.ops.cutedsl.ops.rope import LigerRopeFunction

    def one(dtype):
        angles = [torch.randn(1, 128, 64, device="cuda", dtype=dtype) for _ in range(2)]
        q, k = made(2, 8, 128, 64, dtype=dtype), made(2, 2, 128, 64, dtype=dtype)
        turned = LigerRopeFunction.apply(q, k, *angles)
        (turned[0].sum() + turned[1].sum()).backward()

    each(lambda: one(BF16), lambda: one(F32))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
