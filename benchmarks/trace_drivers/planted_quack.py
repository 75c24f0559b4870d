"""quack's row-wise kernels for a size or two, a case a function: enough to see a planted bug.

With PLANTED_BITS set, the results are compared with PyTorch's: a GPU ran the kernels.
"""

import os
import sys

import torch

BF16, F32 = torch.bfloat16, torch.float32


def made(*shape, dtype=BF16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def compare(found, wanted):
    if os.environ.get("PLANTED_BITS"):
        torch.testing.assert_close(found.float(), wanted.float(), atol=3e-2, rtol=3e-2)
        print("PASS")


def case_rmsnorm():
    from quack.rmsnorm import rmsnorm_fwd

    for columns in (1128, 4096):
        rows, weight = made(512, columns), made(columns, dtype=F32)
        found = rmsnorm_fwd(rows, weight)
        found = found[0] if isinstance(found, tuple) else found
        scale = torch.rsqrt(rows.float().square().mean(-1, keepdim=True) + 1e-6)
        compare(found, rows.float() * scale * weight)


def case_softmax():
    from quack.softmax import softmax_fwd

    for columns in (1128, 4096):
        rows = made(512, columns)
        compare(softmax_fwd(rows), torch.softmax(rows.float(), -1))


def case_cross_entropy():
    from quack.cross_entropy import cross_entropy_fwd

    target = torch.zeros(512, device="cuda", dtype=torch.int64)
    for columns in (192, 4096):
        rows = made(512, columns)
        found = cross_entropy_fwd(rows, target)
        found = found[0] if isinstance(found, tuple) else found
        compare(found, torch.nn.functional.cross_entropy(rows.float(), target, reduction="none"))


def case_topk():
    from quack.topk import topk_fwd

    rows = made(512, 1024)
    found = topk_fwd(rows, 8)
    compare(found[0], torch.topk(rows.float(), 8).values)


def case_rotary():
    from quack.rotary import apply_rotary

    x, cos, sin = made(2, 128, 4, 128), made(128, 64), made(128, 64)
    a, b = x.float().chunk(2, dim=-1)
    c, s = cos.float()[None, :, None], sin.float()[None, :, None]
    compare(apply_rotary(x, cos, sin), torch.cat((a * c - b * s, a * s + b * c), dim=-1))


def case_gemm():
    from quack.gemm_interface import gemm

    a, b = made(512, 768), made(768, 1024) / 28
    compare(gemm(a, b, tuned=False), a.float() @ b.float())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
