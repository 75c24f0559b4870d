"""Packages with kernels in CuTe DSL, called as their own READMEs, warm-ups and models call them.

    layoutcheck trace --no-launch --arch sm_100a published_cases.py kernel_fun

A function for each package, and for each part of a large one; what of it cannot be imported or refuses its
arguments says so and leaves the rest.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import torch

BF16, F32 = torch.bfloat16, torch.float32


def made(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.randn(*shape, device="cuda").to(dtype).requires_grad_()


def plain(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return made(*shape, dtype=dtype).detach()


def tried(module: str, name: str, *args: Any, **named: Any) -> Any:
    """What a function of a module returns; None where it raises, which is printed."""
    try:
        return getattr(importlib.import_module(module), name)(*args, **named)
    except Exception as error:
        print(f"{module}.{name}: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def backward(result: Any) -> None:
    parts = [one for one in result if torch.is_tensor(one)] if isinstance(result, tuple) else [result]
    sum(one.float().sum() for one in parts if one is not None and one.requires_grad).backward()


def kernel_fun() -> None:
    tried("kernel_fun.kda.ops", "warmup", HV=16, K=128, V=256)


def fast_trimul() -> None:
    layer = importlib.import_module("fast_trimul.nn").FastTriangleMultiplication
    layer(128, 128, "outgoing").cuda()(plain(1, 64, 64, 128, dtype=F32))


def flash_msa() -> None:
    for name in ("flash_msa_warmup_func", "flash_msa_func"):
        proxies, queries, keys = (made(1, heads, 1024, 128) for heads in (4, 16, 4))
        found = tried(
            "flash_msa", name, proxies, made(1, 4, 1024, 128), queries, keys, made(1, 4, 1024, 128), 512, 0.1
        )
        if found is not None:
            backward(found)


def flashlib_knn() -> None:
    part = "flashlib.primitives.knn.cutedsl.blackwell_impl"
    tried(part, "knn_build_cutedsl", plain(4096, 128), 16)
    for name in ("knn_search_cutedsl", "knn_search_tc"):
        tried(part, name, plain(256, 128), plain(4096, 128), 16)


def flashlib_kmeans() -> None:
    for rows, width in ((256, 128), (1024, 64)):
        tried("flashlib.primitives.kmeans.cutedsl.blackwell_assign", "blackwell_assign_euclid",
              plain(8192, width), plain(rows, width))  # fmt: skip


def flashlib_small() -> None:
    x, near = (
        plain(2048, 128, dtype=F32),
        torch.randint(0, 2048, (2048, 16), device="cuda", dtype=torch.int32),
    )
    part = "flashlib.primitives.{}.cutedsl.{}"
    tried(part.format("standard_scaler", "scaler"), "cutedsl_standard_scaler_fit_transform", x)
    tried(part.format("tsne", "tsne"), "cutedsl_tsne_perplex_bisect", plain(512, 512, dtype=F32))
    tried(part.format("truncated_svd", "svd"), "cutedsl_cov_gemm_simt", x)
    tried(part.format("truncated_svd", "svd"), "cutedsl_gram_gemm_simt", x)
    tried(part.format("umap", "umap"), "cutedsl_smooth_knn_dist", plain(2048, 16, dtype=F32))
    tried(part.format("hdbscan", "mrd_edges"), "cutedsl_fused_mrd_edges", plain(2048, 16, dtype=F32), near,
          plain(2048, dtype=F32))  # fmt: skip
    tried(
        part.format("spectral_clustering", "spectral"), "cutedsl_row_l2_normalize", plain(2048, 16, dtype=F32)
    )


def liger(*names: str) -> None:
    """Its functions of the back end that the environment names."""
    os.environ["LIGER_KERNEL_IMPL"] = "cutedsl"
    norm = (made(2048), 1e-6, 0.0, "llama")
    labels = torch.randint(0, 32000, (64,), device="cuda")
    linear = made(256, 512), made(4096, 512), torch.randint(0, 4096, (256,), device="cuda")
    rotated = (made(2, 8, 64, 128), made(2, 8, 64, 128), plain(1, 64, 128), plain(1, 64, 128))
    calls: dict[str, tuple[Any, ...]] = {
        "RMSNorm": (made(64, 2048), *norm, True),
        "FusedAddRMSNorm": (made(64, 2048), made(64, 2048), *norm, False),
        "LayerNorm": (made(64, 2048), made(2048), made(2048), 1e-5),
        "SiLUMul": (made(64, 2048), made(64, 2048)),
        "GELUMul": (made(64, 2048), made(64, 2048)),
        "Softmax": (made(64, 2048),),
        "Rope": rotated,
        "CrossEntropy": (made(64, 32000), labels, None, -100, 0.0, 0.0, "mean", None, False),
        "JSD": tuple(torch.log_softmax(made(64, 4096, dtype=F32), -1) for _ in range(2)),
        "FusedLinearCrossEntropy": linear,
        "FusedLinearScaledCrossEntropy": linear,
    }  # fmt: skip
    ops = importlib.import_module("liger_kernel.ops")
    for name in names or calls:
        kind = getattr(ops, f"Liger{name}Function")
        try:
            backward(kind.apply(*calls[name]))
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages that sglang imports and its kernels do not use."""

    names = frozenset({"PIL", "torchvision", "starlette", "transformers", "huggingface_hub", "sgl_kernel"})

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        absent = name.split(".")[0] in self.names
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if absent else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        return MagicMock(__path__=[], __name__=spec.name, __spec__=spec)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is in it."""


def sglang_gated() -> None:
    heads = 32
    for name, file, own in (
        ("cutedsl_fused_sigmoid_gating_kda_update", "cutedsl_kda", heads),
        ("cutedsl_fused_sigmoid_gating_delta_rule_update", "cutedsl_gdn", 16),
    ):
        gates = (heads, 128) if own == heads else (heads,)
        bias = plain(*gates, dtype=F32) if own == heads else plain(*gates)
        for count in (4, 64):
            for starts in (None, torch.arange(count + 1, device="cuda", dtype=torch.int32)):
                batch = (count, 1) if starts is None else (1, count)
                tried(f"sglang.kernels.ops.attention.{file}", name, plain(heads, dtype=F32), bias,
                      plain(*batch, own, 128), plain(*batch, own, 128), plain(*batch, heads, 128),
                      plain(*batch, *gates), plain(*batch, heads),
                      plain(count + 1, heads, 128, 128, dtype=F32),
                      torch.arange(count, device="cuda", dtype=torch.int32), cu_seqlens=starts)  # fmt: skip


def sglang_chunked() -> None:
    tokens, starts = 512, torch.tensor([0, 200, 512], device="cuda", dtype=torch.int32)
    part = "sglang.kernels.ops.attention.linear.gdn_blackwell"
    chunks = tried(part, "prepare_metadata_cutedsl", starts, tokens)
    state, gate = plain(2, 32, 128, 128, dtype=F32), plain(1, tokens, 32, dtype=F32)
    if chunks is not None:
        tried(part, "chunk_gated_delta_rule_cutedsl", plain(1, tokens, 16, 128), plain(1, tokens, 16, 128),
              plain(1, tokens, 32, 128), gate, gate, state, starts, *chunks)  # fmt: skip
    rows = (plain(tokens, 32, 128) for _ in range(3))
    tried("sglang.kernels.ops.attention.linear.kda_blackwell", "chunk_kda_cutedsl", *rows,
          plain(tokens, 32, 128, dtype=F32), plain(tokens, 32, dtype=F32), state, starts)  # fmt: skip


def sglang_others() -> None:
    part = "sglang.kernels.ops."
    for rows in (1, 16):
        tried(
            part + "gemm.cutedsl_dsv3_fused_a_gemm",
            "dsv3_fused_a_gemm",
            plain(rows, 7168),
            plain(2112, 7168).t(),
        )
    tried(part + "gemm.muse_spark_router_gemv_cutedsl", "router_gemv_cute", plain(4, 6144), plain(256, 6144))
    tried(
        part + "layernorm.rmsnorm_fanout",
        "rmsnorm_fanout",
        plain(16, 1536),
        *(plain(1536) for _ in "abc"),
        1e-6,
    )
    tried(part + "diffusion.rope.rmsnorm_interleaved_rope_cutedsl", "fused_rmsnorm_interleaved_rope_",
          plain(64, 3072), plain(3072), plain(64, 128, dtype=F32), 1e-6, 128)  # fmt: skip
    norms = part + "diffusion.norm.scale_residual_norm_cutedsl"
    for kind, bias in (("layer", plain(3072)), ("rms", None)):
        x, gate, weight = plain(2, 64, 3072), plain(2, 1, 3072), plain(3072)
        tried(norms, "fused_norm_scale_shift", x, weight, bias, gate, gate, kind)
        tried(norms, "fused_scale_residual_norm_scale_shift", x, x, gate, weight, bias, gate, gate, kind)


def torch_scatter() -> None:
    """Operators of torch's own that are kernels in CuTe DSL."""
    part, rows = "torch._native.ops.scatter_add.", torch.randint(0, 256, (4096,), device="cuda")
    for width, dtype in ((8, F32), (640, BF16)):
        out, src = plain(256, width, dtype=dtype), plain(4096, width, dtype=dtype)
        tried(part + "tma_kernel", "tma_scatter_add_into", out, rows, src)
        tried(part + "vec_scatter_kernel", "vec_scatter_add_into", out, rows, src)


def torch_topk() -> None:
    part = "torch._native.ops.topk.cutedsl_kernels"
    for count, width in ((16, 64), (32, 256)):
        tried(part, "topk_register", plain(512, width, dtype=F32), count)
    for same in (False, True):
        tried(part, "topk_radix", plain(512, 4096, dtype=F32), 64, deterministic=same)


def cudnn_compressor() -> None:
    tokens, width, starts = 1024, 128, torch.tensor([0, 400, 1024], device="cuda", dtype=torch.int32)
    for ratio in (4, 128):
        ends = torch.tensor([0, 400 // ratio, 400 // ratio + 624 // ratio], device="cuda", dtype=torch.int32)
        given = (plain(tokens, 2 * width), plain(tokens, 2 * width), plain(ratio, 2 * width, dtype=F32))
        tried("cudnn.csa.compressor.api", "csa_compressor_forward_wrapper", *given, starts, ends, ratio)
        tried("cudnn.csa.compressor.api", "csa_compressor_backward_wrapper", *given, starts, ends,
              plain(int(ends[-1]), width), ratio)  # fmt: skip


def cudnn_conv1d() -> None:
    x, weight, starts = plain(1, 1024, 256), plain(256, 4), torch.tensor([0, 400, 1024], device="cuda").int()
    part = "cudnn.causal_conv1d_bulk_sm100.api"
    for ends in (None, starts):
        tried(part, "causal_conv1d_bulk_fwd_wrapper_sm100", x, weight, ends)


def cudnn_hadamard() -> None:
    tried("cudnn.rmsnorm_rht_amax.api", "rmsnorm_rht_amax_wrapper_sm100", plain(512, 4096), plain(4096))


def cudnn_selected() -> None:
    """Sparse attention: blocks of keys that are chosen, and chosen ones read."""
    rows, width, starts = 1024, 128, torch.tensor([0, 1024], device="cuda", dtype=torch.int32)
    part = "cudnn.native_sparse_attention."
    q, k, v = plain(rows, 16, width), plain(rows, 1, width), plain(rows, 1, width)
    blocks = torch.zeros(rows, 1, 16, device="cuda", dtype=torch.int32)
    counts = torch.full((rows, 1), 16, device="cuda", dtype=torch.int32)
    tried(part + "selection.api", "selection_attention_wrapper", q, k, v, blocks, counts, starts, starts,
          max_s_q=rows, max_s_k=rows)  # fmt: skip
    few = torch.tensor([0, rows // 32], device="cuda").int()
    heads = (q, k[: rows // 32], plain(rows, 16, dtype=F32))
    tried(part + "top_k.api", "topk_reduction_wrapper", *heads, starts, few, rows, rows // 32)


def lightmoe() -> None:
    """Tokens that are dealt out to experts, quantised, and summed again."""
    tokens, topk, experts, width, part = 256, 4, 8, 2048, "lightmoe.kernels."
    rows = tokens * topk

    def counted(*shape: int) -> torch.Tensor:
        return torch.zeros(*shape, device="cuda", dtype=torch.int32)

    tried(
        part + "routing.combine",
        "moe_finalize",
        plain(rows, width),
        counted(rows),
        plain(tokens, width),
        topk,
    )
    ends = torch.arange(experts + 1, device="cuda", dtype=torch.int32) * (rows // experts)
    codes = torch.empty(rows, width // 2, device="cuda", dtype=torch.uint8)
    tiles = rows // 128 + experts  # of 128 rows: each expert may begin in the middle of one
    scales = torch.empty(tiles * 128 * width // 16, device="cuda", dtype=torch.float8_e4m3fn)
    steps = plain(1, dtype=F32)
    tried(part + "quantize.runtime", "nvfp4_quantize_rowwise", plain(rows, width), ends, steps, codes, scales)
    turned = torch.empty(width, rows // 2, device="cuda", dtype=torch.uint8)
    tried(
        part + "quantize.runtime", "nvfp4_quantize_colwise", plain(rows, width), ends, steps, turned, scales
    )


CASES: dict[str, Callable[..., None]] = {
    name: one
    for name, one in globals().items()
    if isinstance(one, types.FunctionType) and one.__module__ == __name__
}

if __name__ == "__main__":
    if sys.argv[1].startswith("sglang"):
        sys.meta_path.append(Absent())
        package = types.ModuleType("sglang")  # its own imports start a server's
        package.__path__ = [
            str(importlib.machinery.PathFinder.find_spec("sglang").submodule_search_locations[0])
        ]
        sys.modules["sglang"] = package
    CASES[sys.argv[1]](*sys.argv[2:])
