"""quack's kernels, a case a function: `python quack_cases.py case_rmsnorm [SIZE]`. Shapes as in its tests.

SIZE 1, 2 or 3 is the number of rows: 512, one that is no multiple of a tile, and many.
"""

import sys

import torch

BF16, F32 = torch.bfloat16, torch.float32
M = (512, 1000, 8192)[int(sys.argv[2]) - 1 if len(sys.argv) > 2 else 0]


def made(*shape, dtype=BF16, **named):
    return torch.randn(*shape, device="cuda", dtype=dtype, **named)


def each(*calls):
    """All of them, whichever fail; the last failure is raised."""
    failed = None
    for call in calls:
        try:
            call()
        except Exception as error:  # noqa: PERF203
            print(f"{type(error).__name__}: {str(error)[:300]}")
            failed = error
    if failed is not None:
        raise failed


def case_rmsnorm():
    from quack.rmsnorm import rmsnorm_fwd

    each(*(
        lambda n=n, dtype=dtype: rmsnorm_fwd(made(M, n, dtype=dtype), made(n, dtype=F32))
        for n in (192, 256, 760, 1128, 4096, 8192, 16384, 65536)
        for dtype in (BF16, F32)
    ))  # fmt: skip
    rmsnorm_fwd(made(M, 4096), made(4096, dtype=F32), residual=made(M, 4096), store_rstd=True)


def case_rmsnorm_1001():
    from quack.rmsnorm import rmsnorm_fwd

    rmsnorm_fwd(made(M, 1001), made(1001, dtype=F32))


def case_rmsnorm_bwd():
    from quack.rmsnorm import rmsnorm_bwd

    each(*(
        lambda n=n: rmsnorm_bwd(
            made(M, n), made(n, dtype=F32), made(M, n), torch.ones(M, device="cuda", dtype=F32)
        )
        for n in (256, 1128, 4096, 16384)
    ))  # fmt: skip


def case_layernorm():
    from quack.rmsnorm import layernorm_fwd

    each(*(
        lambda n=n: layernorm_fwd(made(M, n), made(n, dtype=F32), return_rstd=True, return_mean=True)
        for n in (256, 1128, 4096, 16384)
    ))  # fmt: skip


def case_softmax():
    from quack.softmax import softmax_bwd, softmax_fwd

    each(
        *(
            lambda n=n, d=d: softmax_fwd(made(M, n, dtype=d))
            for n in (192, 1128, 4096, 32768)
            for d in (BF16, F32)
        )
    )
    each(*(lambda n=n: softmax_bwd(made(M, n), made(M, n)) for n in (192, 1128, 4096, 32768)))


def case_cross_entropy():
    from quack.cross_entropy import cross_entropy_bwd, cross_entropy_fwd

    target = torch.zeros(M, device="cuda", dtype=torch.int64)
    each(
        *(
            lambda n=n: cross_entropy_fwd(made(M, n), target, return_lse=True)
            for n in (192, 1128, 4096, 50264)
        )
    )
    each(*(
        lambda n=n: cross_entropy_bwd(made(M, n), target, made(M, dtype=F32), made(M, dtype=F32))
        for n in (192, 4096, 50264)
    ))  # fmt: skip


def case_topk():
    from quack.topk import topk_fwd

    each(*(lambda n=n, k=k: topk_fwd(made(M, n), k) for n in (64, 1024, 4096) for k in (8, 32)))


def case_gemm():
    from quack.gemm_interface import gemm

    gemm(made(M, 768), made(768, 1024), tuned=False)
    gemm(made(M, 768), made(1024, 768).T, tuned=False)
    gemm(made(768, M).T, made(768, 1024), tuned=False)


def case_gemm_add():
    from quack.gemm_interface import gemm_add

    gemm_add(made(M, 768), made(768, 1024), made(M, 1024), tuned=False)


def case_gemm_act():
    from quack.gemm_interface import gemm_act, gemm_dact

    gemm_act(made(M, 768), made(768, 1024), activation="gelu_tanh_approx", tuned=False)
    gemm_dact(made(M, 768), made(768, 1024), made(M, 1024), activation="relu", tuned=False)


def case_gemm_symmetric():
    from quack.gemm_interface import gemm_symmetric

    given = made(1024, 768)
    gemm_symmetric(given, given.T)


def case_rotary():
    from quack.rotary import apply_rotary

    apply_rotary(made(2, 128, 4, 128), made(128, 64), made(128, 64))
    apply_rotary(made(2, 128, 4, 128), made(128, 32), made(128, 32), interleaved=True)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
