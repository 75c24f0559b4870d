"""What builds the kernel that a fix of `benchmarks/history.json` mends, a case a function."""

import sys
import types
from pathlib import Path

import torch

sys.modules.setdefault("flash_attn_2_cuda", types.ModuleType("flash_attn_2_cuda"))
BF16, F32 = torch.bfloat16, torch.float32


def made(*shape, dtype=BF16, **named):
    return torch.randn(*shape, device="cuda", dtype=dtype, **named)


def quack_gemm_fp32():
    from quack.gemm_interface import gemm

    gemm(made(512, 768), made(768, 1024), out_dtype=F32, tuned=False)


def quack_gemm():
    from quack.gemm_interface import gemm

    gemm(made(512, 768), made(768, 1024), tuned=False)


def quack_norm_act():
    from quack.gemm_norm_act import gemm_norm_act_fn

    m = n = k = 512
    gemm_norm_act_fn(
        made(1, m, k), made(1, n, k), D=None, C=None, PostAct=made(1, m, n),
        tile_count_semaphore=None, activation=None, tile_M=128, tile_N=128,
        cluster_M=1, cluster_N=1, colvec=made(1, m), rowvec=made(1, n),
    )  # fmt: skip


def quack_gemm_bias():
    from quack.gemm_interface import gemm_act

    gemm_act(made(512, 768), made(768, 1024), bias=made(1024), activation="relu", tuned=False)


def quack_add_m_major():
    from quack.gemm_interface import gemm_add

    gemm_add(made(512, 768), made(768, 1024), made(1024, 512).T, tuned=False)


def quack_gather_add():
    from quack.gemm_interface import gemm_add

    rows = torch.arange(512, device="cuda", dtype=torch.int32)
    ends = torch.tensor([0, 256, 512], device="cuda", dtype=torch.int32)
    gemm_add(made(1024, 768), made(2, 768, 1024), made(512, 1024), cu_seqlens_m=ends, A_idx=rows, tuned=False)


def quack_cp_async():
    """The kernel of its day on rows that are no multiple of the tile, A by cp.async."""
    import cutlass
    from quack import dense_gemm_sm90 as dense

    class Kernel(dense.HopperWgmmaGemmKernel):
        def __init__(self, *given, **named):
            super().__init__(*given, **named, load_A_cpasync=True)

    dense.HopperWgmmaGemmKernel = Kernel
    bf16, f32 = cutlass.BFloat16, cutlass.Float32
    dense.run(
        (328, 512, 512, 1), bf16, bf16, bf16, None, f32, "k", "k", "n", "n", (128, 128, 64), (1, 1),
        0.1, 0, 1, True, True, False, False, False,
    )  # fmt: skip


def quack_gather_k():
    from quack.gemm_interface import gemm

    rows = torch.arange(512, device="cuda", dtype=torch.int32)
    ends = torch.tensor([0, 200, 512], device="cuda", dtype=torch.int32)
    gemm(made(768, 1024).T.contiguous().T, made(512, 1024), cu_seqlens_k=ends, A_idx=rows, tuned=False)


def quack_nvfp4_192():
    """Two tiles of N, each of one and a half blocks of scale factors."""
    import cutlass
    from quack.blockscaled.utils import (
        compile_blockscaled_gemm_tvm_ffi,
        create_blockscaled_operand_tensor,
        create_blockscaled_scale_tensor,
    )

    m, n, k, fp4, fp8 = 256, 384, 256, cutlass.Float4E2M1FN, cutlass.Float8E4M3FN
    tensors = [create_blockscaled_operand_tensor(1, rows, k, False, fp4)[1] for rows in (m, n)]
    tensors.append(create_blockscaled_operand_tensor(1, m, n, False, cutlass.Float32, init="empty")[1])
    tensors += [create_blockscaled_scale_tensor(1, rows, k, 16, fp8)[1] for rows in (m, n)]
    kinds = (fp4, fp8, 16, cutlass.Float32, (128, 192), (1, 1))
    compile_blockscaled_gemm_tvm_ffi(*kinds, *tensors)(*tensors)


def quack_add_224():
    from quack.gemm_config import GemmConfig
    from quack.gemm_interface import gemm_tuned

    config = GemmConfig(
        tile_m=128, tile_n=224, pingpong=False, is_dynamic_persistent=True, cluster_m=1, cluster_n=1,
        swap_ab=False, max_swizzle_size=8, device_capacity=10,
    )  # fmt: skip
    a, b, c = (made(1, *shape, dtype=torch.float16) for shape in ((1, 8), (8, 232), (1, 232)))
    gemm_tuned.fn(a, b, torch.empty_like(c), c, beta=0.0, config=config)


def quack_gather_two():
    from quack.gemm_config import GemmConfig
    from quack.gemm_interface import gemm_tuned

    config = GemmConfig(tile_m=256, tile_n=128, pingpong=False, cluster_m=2, cluster_n=1, device_capacity=10)
    rows = torch.arange(512, device="cuda", dtype=torch.int32)
    ends = torch.tensor([0, 256, 512], device="cuda", dtype=torch.int32)
    gemm_tuned.fn(
        made(1024, 768), made(2, 768, 1024), made(512, 1024), cu_seqlens_m=ends, A_idx=rows, config=config
    )


def quack_gather():
    """Rows of A from a list, and nothing that the epilogue loads."""
    from quack.gemm_interface import gemm

    rows = torch.arange(512, device="cuda", dtype=torch.int32)
    ends = torch.tensor([0, 256, 512], device="cuda", dtype=torch.int32)
    gemm(made(1024, 768), made(2, 768, 1024), cu_seqlens_m=ends, A_idx=rows, tuned=False)


def quack_varlen_k():
    """K in parts of 200 and 312, not multiples of the tile's 64."""
    from quack.gemm_interface import gemm

    ends = torch.tensor([0, 200, 512], device="cuda", dtype=torch.int32)
    gemm(made(512, 256).T, made(512, 384), cu_seqlens_k=ends, tuned=False)


def quack_symmetric():
    from quack.gemm_interface import gemm_symmetric

    a = made(2, 512, 256)
    gemm_symmetric(a, a.mT, dynamic_scheduler=True)


def quack_topk():
    from quack.topk import topk

    topk(made(1024, 512, dtype=F32), 16)


def quack_layernorm():
    """Columns that are no multiple of what the threads take at once."""
    from quack.rmsnorm import layernorm_fwd

    layernorm_fwd(made(3, 769, dtype=F32), made(769, dtype=F32), return_rstd=True, return_mean=True)


def quack_cross_entropy():
    """With the gradient, for which the maximum and the sum are reduced one after the other."""
    from quack.cross_entropy import cross_entropy_fwd

    cross_entropy_fwd(made(64, 32768), torch.zeros(64, device="cuda", dtype=torch.int64), return_dx=True)


def quack_rmsnorm_bwd_cluster():
    from quack.rmsnorm import rmsnorm_bwd

    rmsnorm_bwd(made(512, 32768), made(32768, dtype=F32), made(512, 32768), made(512, dtype=F32))


def attended(head_dim, rows=512, columns=512, heads=4, kv_heads=4, value_dim=None, **named):
    from flash_attn.cute.interface import flash_attn_func

    value_dim = value_dim or head_dim
    q = made(2, rows, heads, head_dim, requires_grad=True)
    k = made(2, columns, kv_heads, head_dim, requires_grad=True)
    v = made(2, columns, kv_heads, value_dim, requires_grad=True)
    out = flash_attn_func(q, k, v, **named)
    return (out[0] if isinstance(out, tuple) else out), (q, k, v)


def flash_forward():
    attended(128)


def flash_forward_long():
    """More bytes of keys and values than a 32-bit integer counts, so many that their product is negative."""
    from flash_attn.cute.interface import flash_attn_func

    keys, values = (torch.empty(1, 1 << 22, 1, 128, device="cuda", dtype=BF16) for _ in "kv")
    flash_attn_func(made(1, 2048, 8, 128), keys, values, causal=True)


def flash_forward_short():
    attended(128, rows=64)


def flash_forward_narrow():
    attended(16)


def flash_forward_sink():
    from flash_attn.cute.interface import _flash_attn_fwd

    q, k, v = (made(2, 512, 4, 128) for _ in range(3))
    _flash_attn_fwd(q, k, v, learnable_sink=made(4), return_lse=False)


def strided(head_dim, rows=512, heads=4):
    """Queries, keys and values that lie side by side in one tensor."""
    return made(2, rows, 3, heads, head_dim, requires_grad=True).unbind(2)


def flash_forward_strided():
    from flash_attn.cute.interface import flash_attn_func

    flash_attn_func(*strided(256))


def flash_backward_strided():
    from flash_attn.cute.interface import flash_attn_func

    inputs = strided(256)
    out = flash_attn_func(*inputs)
    out = out[0] if isinstance(out, tuple) else out
    torch.autograd.grad(out, inputs, torch.empty_like(out))


def flash_forward_packed():
    """Three queries for each key: rows of the output that TMA cannot store."""
    from flash_attn.cute.interface import _flash_attn_fwd

    _flash_attn_fwd(made(1, 512, 6, 128), made(1, 512, 2, 128), made(1, 512, 2, 128), pack_gqa=True)


def flash_packed_padded():
    """Five queries for each key, and rows of 72 elements, which the kernel pads."""
    from flash_attn.cute.interface import flash_attn_func

    flash_attn_func(made(1, 64, 5, 72), made(1, 64, 1, 72), made(1, 64, 1, 64), pack_gqa=True)


def flash_forward_score():
    def scored(tSrS_ssa, b_idx, h_idx, q_idx, kv_idx, seqlen_info, aux_tensors):  # noqa: N803
        return tSrS_ssa + kv_idx.to(tSrS_ssa.dtype)

    attended(128, score_mod=scored)


def flash_masked():
    """Rows that are no multiple of the tile, a mask that reads a tensor by the row, blocks from a list."""
    import cutlass.cute as cute
    from flash_attn.cute import utils
    from flash_attn.cute.block_sparsity import BlockSparseTensorsTorch
    from flash_attn.cute.interface import _flash_attn_fwd

    @cute.jit
    def masked(batch, head, row, column, seqlen_info, aux_tensors):
        words = aux_tensors[0]
        found = cute.make_rmem_tensor(1, words.element_type)
        found[0] = words[batch[0], row[0]]
        return utils.scalar_to_ssa(found[0], words.element_type) == batch.to(words.element_type)

    rows, columns = 300, 512
    q, k, v = made(1, rows, 4, 128), made(1, columns, 4, 128), made(1, columns, 4, 128)
    counts = torch.full((1, 4, 2), 4, device="cuda", dtype=torch.int32)
    blocks = torch.arange(4, device="cuda", dtype=torch.int32).expand(1, 4, 2, 4).contiguous()
    words = torch.zeros(1, rows, device="cuda", dtype=torch.int32)
    sparse = BlockSparseTensorsTorch(
        mask_block_cnt=counts, mask_block_idx=blocks, full_block_cnt=torch.zeros_like(counts),
        full_block_idx=torch.zeros_like(blocks), block_size=(256, 128),
    )  # fmt: skip
    _flash_attn_fwd(q, k, v, mask_mod=masked, aux_tensors=[words], block_sparse_tensors=sparse)


def flash_backward_sparse():
    """Blocks of queries from a list; `flash_attn_func` takes no list for both ways."""
    from flash_attn.cute.block_sparsity import BlockSparseTensorsTorch
    from flash_attn.cute.interface import _flash_attn_bwd

    heads, rows, blocks = 4, 512, 4
    q, k, v, out, gradient = (made(1, rows, heads, 128) for _ in range(5))
    counts = torch.full((1, heads, blocks), blocks, device="cuda", dtype=torch.int32)
    listed = torch.arange(blocks, device="cuda", dtype=torch.int32).expand(1, heads, blocks, blocks)
    sparse = BlockSparseTensorsTorch(
        mask_block_cnt=torch.zeros_like(counts), mask_block_idx=torch.zeros_like(listed.contiguous()),
        full_block_cnt=counts, full_block_idx=listed.contiguous(), block_size=(128, 128),
    )  # fmt: skip
    sums = made(1, heads, rows, dtype=F32)
    _flash_attn_bwd(q, k, v, out, gradient, sums, block_sparse_tensors=sparse)


def flash_forward_split_sparse():
    """Sequences of different lengths, blocks from a list, and K in two parts."""
    from flash_attn.cute.block_sparsity import BlockSparseTensorsTorch
    from flash_attn.cute.interface import _flash_attn_fwd

    heads, rows, columns = 4, 256, 512
    ends = torch.tensor([0, rows, 2 * rows], device="cuda", dtype=torch.int32)
    others = torch.tensor([0, columns, 2 * columns], device="cuda", dtype=torch.int32)
    counts = torch.full((heads, 2), 4, device="cuda", dtype=torch.int32)
    listed = torch.arange(4, device="cuda", dtype=torch.int32).repeat(heads, 2)
    sparse = BlockSparseTensorsTorch(
        mask_block_cnt=torch.zeros_like(counts), mask_block_idx=torch.zeros_like(listed),
        full_block_cnt=counts, full_block_idx=listed, block_size=(256, 128),
        cu_total_m_blocks=torch.tensor([0, 1, 2], device="cuda", dtype=torch.int32),
        cu_block_idx_offsets=torch.tensor([0, 4, 8], device="cuda", dtype=torch.int32),
    )  # fmt: skip
    k, v = made(2 * columns, heads, 128), made(2 * columns, heads, 128)
    _flash_attn_fwd(
        made(2 * rows, heads, 128), k, v, cu_seqlens_q=ends, cu_seqlens_k=others, max_seqlen_q=rows,
        max_seqlen_k=columns, num_splits=2, block_sparse_tensors=sparse,
    )  # fmt: skip


def flash_forward_paged():
    from flash_attn.cute.interface import flash_attn_varlen_func

    q, k, v = made(256, 4, 192), made(16, 64, 4, 192), made(16, 64, 4, 128)
    table = torch.zeros(2, 8, device="cuda", dtype=torch.int32)
    ends = torch.tensor([0, 128, 256], device="cuda", dtype=torch.int32)
    used = torch.tensor([512, 512], device="cuda", dtype=torch.int32)
    flash_attn_varlen_func(q, k, v, cu_seqlens_q=ends, seqused_k=used, page_table=table)


def flash_forward_value_wide():
    from flash_attn.cute.interface import _flash_attn_fwd

    _flash_attn_fwd(made(1, 129, 8, 64), made(1, 769, 8, 64), made(1, 769, 8, 128))


def flash_forward_pages():
    from flash_attn.cute.interface import _flash_attn_fwd

    pages = torch.randperm(20, device="cuda")[:17].to(torch.int32).unsqueeze(0)
    used = torch.tensor([257], device="cuda", dtype=torch.int32)
    k, v = (made(20, 16, 4, 64) for _ in range(2))
    _flash_attn_fwd(made(1, 65, 4, 64), k, v, seqused_k=used, page_table=pages, tile_mn=(128, 192))


def flash_backward():
    out, inputs = attended(128, causal=True)
    torch.autograd.grad(out, inputs, torch.empty_like(out))


def flash_backward_one_group():
    """Heads of 96: one warpgroup computes dQ, the other does not."""
    out, inputs = attended(96)
    torch.autograd.grad(out, inputs, torch.empty_like(out))


def flash_preprocess_padded():
    """Rows of 104 elements, which the kernel pads to 128."""
    import cutlass
    from flash_attn.cute.interface import _bwd_preprocess

    rows, heads, dim, tile = 256, 4, 104, 128
    ends = torch.tensor([0, 128, rows], device="cuda", dtype=torch.int32)
    padded = (rows + 3 * tile - 1) // tile * tile
    sums, logarithms = (made(heads, padded, dtype=F32) for _ in range(2))
    _bwd_preprocess(
        made(rows, heads, dim), made(rows, heads, dim), sums, made(heads, rows, dtype=F32), logarithms,
        made(heads, padded * 128, dtype=F32), cu_seqlens_q=ends, seqused_q=None, dlse=None, fake_mode=False,
        dtype=cutlass.BFloat16, head_dim=dim, head_dim_v=dim, m_block_size=tile,
    )  # fmt: skip


def flash_backward_unequal():
    """Several queries for each key, whose gradients are added up; values shorter than keys."""
    out, inputs = attended(128, heads=4, kv_heads=2, value_dim=96)
    torch.autograd.grad(out, inputs, torch.empty_like(out))


def flash_backward_tiny():
    out, inputs = attended(8, rows=16, columns=16, heads=1, kv_heads=1)
    torch.autograd.grad(out, inputs, torch.empty_like(out))


def demonstrated(name, *arguments):
    """A program of `demo`, with the repository's own folder of packages on the path."""
    import runpy

    sys.path.insert(0, str(Path("python").resolve()))
    sys.argv[:] = [name, *arguments]
    runpy.run_path(f"demo/{name}.py", run_name="__main__")


def decoding_attention():
    demonstrated("dec_attn_run")


def gemm_second():
    demonstrated("gemm_run", "debug", "512", "512", "512")


def sliding():
    import cutlass.cute as cute
    from cutlass.cute.runtime import from_dlpack
    from kernels.K03_sliding_smem import smem_sliding

    m, n, k = 40, 56, 72  # no multiples of the block's 16
    tensors = [from_dlpack(made(*shape, dtype=F32)) for shape in ((m, k), (k, n), (m, n))]
    cute.compile(smem_sliding, *tensors)


def kda_decode():
    """The file alone, which has moved between the two trees: its package imports what is not needed here."""
    import runpy

    (file,) = Path("cula").glob("*/kda_decode.py")
    decode = runpy.run_path(str(file.resolve()))["kda_decode"]
    heads, value_heads, width = 8, 16, 128
    for n in (4, 64):
        decode(
            A_log=made(value_heads, dtype=F32), dt_bias=made(value_heads, width, dtype=F32),
            q=made(n, 1, heads, width), k=made(n, 1, heads, width), v=made(n, 1, value_heads, width),
            a=made(n, 1, value_heads, width), b=made(n, 1, value_heads),
            initial_state_source=made(n, value_heads, width, width, dtype=F32),
            initial_state_indices=torch.arange(n, device="cuda", dtype=torch.int32), scale=width**-0.5,
        )  # fmt: skip


def sglang_fused_a():
    """The kernel and its host function; the registration of the operator is not in the file."""
    import runpy

    runpy.run_path("python/cutedsl_dsv3_fused_a_gemm.py")["_compiled_kernel"](28, 2112, 8)


def flashinfer_gdn():
    """The prefill of gated delta networks, without the package around it."""
    import importlib

    for name in ("", ".gdn_kernels", ".gdn_kernels.blackwell", ".cute_dsl"):
        package = types.ModuleType(f"flashinfer{name}")
        package.__path__ = [f"flashinfer{name.replace('.', '/')}"]
        sys.modules[package.__name__] = package
    utils = types.ModuleType("flashinfer.cute_dsl.utils")
    utils.get_num_sm = lambda _device: 148
    sys.modules[utils.__name__] = utils
    prefill = importlib.import_module("flashinfer.gdn_kernels.blackwell.gdn_prefill")
    tokens, heads, width = 512, 4, 128
    q, k, v, out = (made(tokens, heads, width) for _ in range(4))
    gate, beta = made(tokens, heads, dtype=F32), made(tokens, heads, dtype=F32)
    states = (made(1, heads, width, width, dtype=F32) for _ in range(2))
    ends = torch.tensor([0, tokens], device="cuda", dtype=torch.int32)
    prefill.chunk_gated_delta_rule_sm100(q, k, v, gate, beta, out, ends, *states, 1.0)


def flashinfer_stubbed(*packages):
    """These packages of flashinfer without what their `__init__` imports, which asks for compiled modules."""
    for name in ("", *packages):
        package = types.ModuleType(f"flashinfer{name}")
        package.__path__ = [f"flashinfer{name.replace('.', '/')}"]
        sys.modules[package.__name__] = package


def stubbed(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)


def flashinfer_block_scaled():
    """Two K iterations, which the stages of shared memory hold, and more tiles than blocks."""
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream, make_ptr

    flashinfer_stubbed(".cute_dsl", ".gemm", ".gemm.kernels")
    from flashinfer.gemm.kernels.dense_blockscaled_gemm_sm120_b12x import DenseGemmKernel

    def faked(dtype, *shape, align=32):
        return make_fake_compact_tensor(dtype, shape, stride_order=(1, 0), assumed_align=align)

    m, n, k = 1024, 1024, 256
    scales = [make_ptr(cutlass.Float8E4M3FN, 16, cute.AddressSpace.gmem, 16) for _ in range(2)]
    cute.compile(
        DenseGemmKernel(16, (128, 128), (1, 1)).wrapper, faked(cutlass.Uint8, m, k // 2),
        faked(cutlass.Uint8, n, k // 2), faked(cutlass.BFloat16, m, n, align=16), m // 128, n // 128, k // 64,
        1, *scales, make_fake_compact_tensor(cutlass.Float32, (1,), assumed_align=4), 4, make_fake_stream(),
    )  # fmt: skip


def flashinfer_gqa_decode():
    """The kernel of the file; the rest of it is its own test, in a newer Python's f-strings."""
    import cuda.bindings.driver as driver
    import cutlass.cute as cute
    from cutlass.cute.runtime import from_dlpack

    file = Path("flashinfer/cute_dsl/attention/gqa_decode.py")
    cut = file.with_name("gqa_decode_kernel.py")
    cut.write_text(file.read_text().partition("\ndef run(")[0])
    flashinfer_stubbed(".cute_dsl", ".cute_dsl.attention")
    from flashinfer.cute_dsl.attention.gqa_decode_kernel import GroupedQueryAttentionDecode

    def given(*shape, dtype=BF16):
        return from_dlpack(made(*shape, dtype=dtype), assumed_align=16).mark_layout_dynamic(len(shape) - 1)

    splits, rows, heads, dim = 4, 2048, 8, 128
    kernel = GroupedQueryAttentionDecode(dim, 8, reduction_mode="atomic", tma_mask=True)
    cute.compile(
        kernel, splits, given(1, 1, heads, dim), given(1, rows, 1, dim), given(1, rows, 1, dim),
        given(1, 1, heads, dim), given(1, 1, heads, dtype=F32), None, None, None, None, dim**-0.5, 1.0,
        driver.CUstream(0),
    )  # fmt: skip


def flashinfer_delta_rule():
    import runpy

    rule = runpy.run_path("flashinfer/cute_dsl/gated_delta_rule.py")["gated_delta_rule"]
    batch, heads, value_heads, width = 4, 16, 32, 128
    rule(
        made(value_heads, dtype=F32), made(batch, 1, value_heads), made(value_heads, dtype=F32),
        q=made(batch, 1, heads, width), k=made(batch, 1, heads, width), v=made(batch, 1, value_heads, width),
        b=made(batch, 1, value_heads), initial_state_source=made(batch, value_heads, width, width),
    )  # fmt: skip


def flashinfer_delta_rule_pool():
    """States in a pool of sixteen, of which the batch takes the last ones."""
    import runpy

    decode = runpy.run_path("flashinfer/gdn_kernels/gdn_decode_bf16_state.py")["gated_delta_rule_mtp"]
    batch, steps, heads, value_heads, width, pool = 4, 2, 16, 32, 128, 16
    decode(
        made(value_heads, dtype=F32), made(batch, steps, value_heads), made(value_heads, dtype=F32),
        q=made(batch, steps, heads, width), k=made(batch, steps, heads, width),
        v=made(batch, steps, value_heads, width), b=made(batch, steps, value_heads),
        initial_state_source=made(pool, value_heads, width, width),
        initial_state_indices=torch.arange(12, 16, device="cuda", dtype=torch.int32),
        intermediate_states_buffer=made(batch, steps, value_heads, width, width),
    )  # fmt: skip


def flashinfer_delta_rule_half():
    """Queries, keys and values of FP16, which the interface allows."""
    flashinfer_stubbed(".gdn_kernels")
    from flashinfer.gdn_kernels.gdn_decode_bf16_state import gated_delta_rule_mtp

    batch, steps, heads, value_heads, width = 4, 2, 16, 32, 128
    half = torch.float16
    gated_delta_rule_mtp(
        made(value_heads, dtype=F32), made(batch, steps, value_heads, dtype=half),
        made(value_heads, dtype=F32), q=made(batch, steps, heads, width, dtype=half),
        k=made(batch, steps, heads, width, dtype=half), v=made(batch, steps, value_heads, width, dtype=half),
        b=made(batch, steps, value_heads, dtype=half),
        initial_state_source=made(batch, value_heads, width, width),
        initial_state_indices=torch.arange(batch, device="cuda", dtype=torch.int32),
    )  # fmt: skip


def flashinfer_tgv_tail():
    import importlib

    flashinfer_stubbed(".gemm", ".gemm.kernels")
    gemm = importlib.import_module("flashinfer.gemm.kernels.tgv_gemm_cute_ext")
    tactic = next(i for i in range(500) if gemm._resolve_tactic(i)[3])  # the first with two blocks
    gemm.run_tgv_cute_ext(made(128, 512), made(512, 512).t(), None, made(128, 512), True, tactic)


def flashinfer_finalize():
    """An output of 384 columns, in tiles of 256."""
    import cuda.bindings.driver as driver
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import make_ptr

    packages = (".fused_moe", ".fused_moe.cute_dsl", ".fused_moe.cute_dsl.blackwell")
    flashinfer_stubbed(*packages)
    from flashinfer.fused_moe.cute_dsl.blackwell import (
        blockscaled_contiguous_grouped_gemm_finalize_fusion as fusion,
    )

    kernel = fusion.Sm100BlockScaledContiguousGroupedGemmFinalizeFusionKernel(16, (128, 256), (1, 1))
    fp4, fp8, f32, i32 = cutlass.Float4E2M1FN, cutlass.Float8E4M3FN, cutlass.Float32, cutlass.Int32
    pointers = [
        make_ptr(dtype, 32, cute.AddressSpace.gmem, 32)
        for dtype in (fp4, fp4, fp8, fp8, cutlass.BFloat16, f32, i32, i32, i32, i32, f32)
    ]
    sizes = [cutlass.Int64(n) for n in (1024, 384, 512, 8, 512, 2)]
    run = cute.compile(
        kernel.wrapper, *pointers, None, *sizes, tile_size=128, scaling_vector_size=16,
        max_active_clusters=148, stream=driver.CUstream(0),
    )  # fmt: skip
    run(*pointers, None, *sizes, stream=driver.CUstream(0))


def flashinfer_norm_large():
    """More elements than a 32-bit integer counts."""
    flashinfer_stubbed(".cute_dsl", ".norm", ".norm.kernels")
    from flashinfer.norm.kernels.rmsnorm import rmsnorm_cute

    rows, columns = 175000, 12288
    x, out = (torch.empty(rows, columns, device="cuda", dtype=BF16) for _ in range(2))
    rmsnorm_cute(x, made(columns), out)


def flashinfer_add_norm():
    """Rows that two blocks of a cluster share."""
    flashinfer_stubbed(".cute_dsl")
    stubbed("flashinfer.api_logging", flashinfer_api=lambda function: function)
    from flashinfer.cute_dsl.add_rmsnorm_fp4quant import add_rmsnorm_fp4quant

    rows, columns = 8, 32768
    y, scales = (torch.empty(rows, columns // n, device="cuda", dtype=torch.uint8) for n in (2, 16))
    add_rmsnorm_fp4quant(made(rows, columns), made(rows, columns), made(columns), y, scales)


def flashinfer_masked():
    """Four experts, of which only the first has rows."""
    flashinfer_stubbed(".cute_dsl", ".gemm", ".gemm.kernels", ".trace", ".trace.templates")
    stubbed("flashinfer.api_logging", flashinfer_api=lambda **_: lambda function: function)
    stubbed("flashinfer.trace.templates.gemm", grouped_gemm_nt_masked_trace=None)
    stubbed("flashinfer.utils", get_compute_capability=lambda _: (10, 0))
    from flashinfer.gemm.kernels.grouped_gemm_masked_blackwell import grouped_gemm_nt_masked

    m, n, k, experts = 128, 128, 256, 4
    a, b = (torch.zeros(rows, k // 2, experts, device="cuda", dtype=torch.uint8) for rows in (m, n))
    scales = torch.ones(32, 4, 1, 4, k // 64, experts, device="cuda", dtype=torch.float8_e4m3fn)
    rows = torch.tensor([m, 0, 0, 0], device="cuda", dtype=torch.int32)
    out = torch.empty(experts, m, n, device="cuda", dtype=BF16).permute(1, 2, 0)
    grouped_gemm_nt_masked(
        (a, scales), (b, scales), out, rows,
        ab_dtype="float4_e2m1fn", sf_dtype="float8_e4m3fn", c_dtype="bfloat16", sf_vec_size=16,
    )  # fmt: skip


def flashinfer_delta_rule_padded():
    """A batch whose second sequence is padding, of state -1."""
    import runpy

    rule = runpy.run_path("flashinfer/gdn_kernels/gdn_decode_bf16_state.py")["gated_delta_rule"]
    batch, heads, value_heads, width, pool = 4, 16, 32, 128, 16
    rule(
        made(value_heads, dtype=F32), made(batch, 1, value_heads), made(value_heads, dtype=F32),
        q=made(batch, 1, heads, width), k=made(batch, 1, heads, width), v=made(batch, 1, value_heads, width),
        b=made(batch, 1, value_heads), initial_state_source=made(pool, value_heads, width, width),
        initial_state_indices=torch.tensor([3, -1, 5, 7], device="cuda", dtype=torch.int32),
    )  # fmt: skip


def flashinfer_delta_rule_far():
    """The last state of a pool with more elements than a 32-bit integer counts."""
    import runpy

    decode = runpy.run_path("flashinfer/gdn_kernels/gdn_decode_bf16_state.py")["gated_delta_rule_mtp"]
    heads, value_heads, width, pool = 16, 32, 128, 4097
    decode(
        made(value_heads, dtype=F32), made(1, 1, value_heads), made(value_heads, dtype=F32),
        q=made(1, 1, heads, width), k=made(1, 1, heads, width), v=made(1, 1, value_heads, width),
        b=made(1, 1, value_heads),
        initial_state_source=torch.empty(pool, value_heads, width, width, device="cuda", dtype=BF16),
        initial_state_indices=torch.tensor([pool - 1], device="cuda", dtype=torch.int32),
    )  # fmt: skip


def flashinfer_norm_strided():
    """Rows with a gap behind each; the last begins where no 32-bit integer reaches."""
    flashinfer_stubbed(".cute_dsl", ".norm", ".norm.kernels")
    from flashinfer.norm.kernels.rmsnorm import rmsnorm_cute

    rows, columns = 90000, 12288
    x, out = (torch.empty(rows, 2 * columns, device="cuda", dtype=BF16)[:, :columns] for _ in range(2))
    rmsnorm_cute(x, made(columns), out)


def flashinfer_quantize_tokens():
    """More elements than a 32-bit integer counts, a scale for each row."""
    flashinfer_stubbed(".cute_dsl", ".quantization", ".quantization.kernels", ".jit")
    stubbed("flashinfer.api_logging", flashinfer_api=lambda function: function)
    stubbed("flashinfer.jit.cute_dsl_core", build_and_load_cute_dsl_kernel=lambda _m, _n, made, **_: made())
    from flashinfer.quantization.kernels.nvfp4_quantize import _get_compiled_kernel_nvfp4_per_token

    rows, columns = 851456, 2688
    x = torch.empty(rows, columns, device="cuda", dtype=BF16)
    out = torch.empty(rows, columns // 2, device="cuda", dtype=torch.uint8)
    scales = torch.empty(rows * (-(-columns // 64) * 4), device="cuda", dtype=torch.uint8)
    run = _get_compiled_kernel_nvfp4_per_token("bfloat16", columns)
    run(x, out, scales, torch.empty(rows, device="cuda"), rows, made(1, dtype=F32))


def flashinfer_top_k():
    """The first values of rows of 8192, by guesses that a loop makes finer."""
    import cuda.bindings.driver as driver
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import from_dlpack

    flashinfer_stubbed(".topk_varlen", ".topk_varlen.kernels")
    from flashinfer.topk_varlen.kernels.gvr_topk_decode import GvrTopKKernel

    rows, columns, first = 64, 8192, 512
    kernel = GvrTopKKernel(dtype=cutlass.Float32, top_k=first, num_threads=512)
    order = torch.arange(rows, device="cuda", dtype=torch.int32)
    guesses = torch.zeros(rows, first, device="cuda", dtype=torch.int32)
    tensors = [
        from_dlpack(x, assumed_align=16)
        for x in (
            made(rows, columns, dtype=F32), guesses, torch.full_like(order, columns),
            made(rows, first, dtype=F32), torch.empty_like(guesses), order,
        )
    ]  # fmt: skip
    cute.compile(kernel, *tensors, stream=driver.CUstream(0))(*tensors, driver.CUstream(0))


def flash_sparse_backward():
    """Keys from a list whose last places are padding, of index -1."""
    from flash_attn.cute.interface import _flash_attn_bwd_sparse_mla

    rows, columns, heads, listed = 8, 512, 128, 256
    indices = torch.arange(listed, device="cuda", dtype=torch.int32).repeat(1, rows, 1)
    indices[..., listed - 64 :] = -1
    _flash_attn_bwd_sparse_mla(
        made(1, rows, heads, 64), made(1, columns, 1, 64), made(1, columns, 1, 512),
        made(1, rows, heads, 512), made(1, rows, heads, 512), made(1, rows, heads, 512),
        made(1, rows, heads, dtype=F32), made(1, rows, heads, listed),
        made(1, rows, listed // 128, heads, dtype=F32), indices,
    )  # fmt: skip


def flash_forward_pages_of_64():
    """Pages smaller than a tile, which threads copy and not TMA."""
    from flash_attn.cute.interface import flash_attn_varlen_func

    q, k, v = made(256, 4, 128), made(16, 64, 4, 128), made(16, 64, 4, 128)
    table = torch.arange(16, device="cuda", dtype=torch.int32).view(2, 8)
    ends = torch.tensor([0, 128, 256], device="cuda", dtype=torch.int32)
    used = torch.tensor([512, 512], device="cuda", dtype=torch.int32)
    flash_attn_varlen_func(q, k, v, cu_seqlens_q=ends, seqused_k=used, page_table=table)


def flash_varlen_backward():
    """The first sequence has keys, and no queries."""
    from flash_attn.cute.interface import flash_attn_varlen_func

    inputs = [made(256, 4, 64, requires_grad=True) for _ in range(3)]
    ends = torch.tensor([[0, 0, 256], [0, 128, 256]], device="cuda", dtype=torch.int32)
    out = flash_attn_varlen_func(
        *inputs, cu_seqlens_q=ends[0], cu_seqlens_k=ends[1], max_seqlen_q=256, max_seqlen_k=128
    )
    out = out[0] if isinstance(out, tuple) else out
    torch.autograd.grad(out, inputs, torch.empty_like(out))


def sglang_stubbed():
    """What the kernels import of the package, which imports much that is not needed here."""
    stubs = {
        "sglang": {}, "sglang.kernels": {}, "sglang.kernels.ops": {}, "sglang.kernels.ops.gemm": {},
        "sglang.kernels.ops.attention": {}, "sglang.kernels.ops.attention.linear": {}, "sglang.srt": {},
        "sglang.kernels.kernel_api_logging": {"debug_kernel_api": lambda function: function},
        "sglang.srt.utils": {
            "get_device_sm": lambda: 100, "get_device_core_count": lambda *_: 148,
            "is_sm100_supported": lambda *_: True, "is_blackwell": lambda: True,
        },
        "sglang.srt.utils.common": {"direct_register_custom_op": lambda **_: None},
    }  # fmt: skip
    for name, members in stubs.items():
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = [str(Path(*name.split(".")).resolve())]
        vars(module).update(members)


def flash_forward_wide():
    attended(192, rows=64, columns=2048, value_dim=128)


def sglang_tgv():
    sglang_stubbed()
    from sglang.kernels.ops.gemm import cutedsl_bf16_gemm as gemm

    tactic = next(i for i in range(500) if gemm._resolve_tactic(i)[3])  # the first with two blocks
    x, weight = made(128, 512), made(512, 512)
    gemm._run_tgv(x, weight.t(), None, made(128, 512), pdl=True, tactic=tactic)


def sglang_chunks():
    """Sequences in chunks of 64 rows, each block with several of them."""
    ends = torch.tensor([0, 512, 1024], device="cuda", dtype=torch.int32)
    chunks = torch.tensor([[s, c] for s in range(2) for c in range(8)], device="cuda", dtype=torch.int32)
    return ends, chunks, torch.tensor([16], device="cuda", dtype=torch.int32)


def sglang_delta_rule():
    """The prefill of gated delta networks: every kernel of it."""
    sglang_stubbed()
    from sglang.kernels.ops.attention.linear.gdn_blackwell import chunk_gated_delta_rule_cutedsl

    rows, heads, value_heads, width = 1024, 2, 4, 128
    ends, chunks, _ = sglang_chunks()
    starts = torch.tensor([0, 8, 16], device="cuda", dtype=torch.int32)
    chunk_gated_delta_rule_cutedsl(
        made(1, rows, heads, width), made(1, rows, heads, width), made(1, rows, value_heads, width),
        made(1, rows, value_heads, dtype=F32), made(1, rows, value_heads, dtype=F32),
        made(2, value_heads, width, width, dtype=F32), ends, chunks, starts,
    )  # fmt: skip


def sglang_kimi_delta():
    """The kernel of the prefill of Kimi delta attention that inverts; no other stage runs without a GPU."""
    sglang_stubbed()
    from sglang.kernels.ops.attention.linear.kda_blackwell.kernel_kkt_inv_uw import kkt_inv_uw_cutedsl

    rows, heads, width = 1024, 4, 128
    inputs = [made(rows, heads, width) for _ in range(6)]
    kkt_inv_uw_cutedsl(*inputs, made(rows, heads, dtype=F32), *sglang_chunks(), num_sms=8)


def cudnn_stubbed():
    """The package without its compiled module."""
    module = sys.modules["cudnn"] = types.ModuleType("cudnn")
    module.__path__ = [str(Path("cudnn").resolve())]
    module._pybind_module = types.ModuleType("cudnn._pybind_module")


def cudnn_indexed(build):
    """The gradients of the queries and keys that an index lists."""
    batch, rows, heads, dim, topk = 1, 8, 64, 128, 512
    run = build(batch, rows, rows, heads, dim, topk)
    run.gemm_only(
        made(batch, rows, heads, dim), made(batch, rows, heads), made(batch, rows, dim),
        made(batch, rows, heads, dim), made(batch, rows, heads), made(batch, rows, dim, dtype=F32),
        made(batch, rows, topk, dtype=F32),
        torch.zeros(batch, rows, topk, device="cuda", dtype=torch.int32),
    )  # fmt: skip


def cudnn_indexer():
    cudnn_stubbed()
    from cudnn.deepseek_sparse_attention.indexer_backward.indexer_backward_sm100 import indexer_backward_sm100

    cudnn_indexed(indexer_backward_sm100)


def cudnn_indexer_hopper():
    cudnn_stubbed()
    from cudnn.deepseek_sparse_attention.indexer_backward.indexer_backward_sm90 import indexer_backward_sm90

    cudnn_indexed(indexer_backward_sm90)


def cudnn_d512():
    cudnn_stubbed()
    import cuda.bindings.driver as driver
    import cutlass
    import cutlass.cute as cute
    from cudnn.sdpa.bwd.kernels.sm100.bprop_d512_f16 import _host
    from cutlass.cute.runtime import from_dlpack

    heads, rows = 4, 512
    operands = [made(1, rows, heads, 512) for _ in range(4)]
    workspaces = [made(1, heads, rows, rows) for _ in range(2)]
    sums = [made(1, heads, rows, dtype=F32) for _ in range(2)]
    lengths, words = made(1).to(torch.int32), made(64).to(torch.int64)
    cute.compile(
        _host, *(from_dlpack(x) for x in (*operands, *workspaces, *sums, lengths, words)),
        (1, heads, rows, rows, heads, heads, rows, rows, 0),
        *(cutlass.Float32(1.0) for _ in range(3)), cutlass.Int32(0), cutlass.Int32(0), driver.CUstream(0),
    )  # fmt: skip


def cudnn_hstu():
    cudnn_stubbed()
    from cudnn.hstu.hstu_attention.api import hstu_attention_forward

    rows, heads, width = 1024, 4, 128
    ends = torch.tensor([0, 512, rows], device="cuda", dtype=torch.int32)
    hstu_attention_forward(*(made(rows, heads, width) for _ in range(3)), ends, ends, 512, 512)


def cudnn_sparse_backward():
    """Keys of 576 elements, whose gradients take the same columns of tensor memory in turns."""
    cudnn_stubbed()
    from cudnn.deepseek_sparse_attention.sparse_attention_backward import api

    rows, heads, width, value_width, listed = 128, 64, 576, 512, 512
    api.sparse_attention_backward_wrapper(
        made(rows, heads, width), made(1024, width), made(rows, heads, value_width),
        made(rows, heads, value_width), made(rows, heads, dtype=F32), made(heads, dtype=F32),
        torch.arange(listed, device="cuda", dtype=torch.int32).repeat(rows, 1),
    )  # fmt: skip


def cudnn_grouped_relu():
    """Tiles of 256 columns, whose accumulators share columns of tensor memory."""
    cudnn_stubbed()
    from cudnn.gemm.cutedsl.grouped.srelu.api import grouped_gemm_srelu_wrapper_sm100

    m, n, k, experts = 1024, 512, 512, 2
    fp8, scale = torch.float8_e4m3fn, torch.float8_e8m0fnu

    def scales(rows, batch):
        shape = (batch, rows // 128, k // 128, 32, 4, 4)
        return torch.empty(shape, device="cuda", dtype=scale).permute(3, 4, 1, 5, 2, 0)

    def operand(rows, batch):
        return torch.empty(batch, rows, k, device="cuda", dtype=fp8).permute(1, 2, 0)

    grouped_gemm_srelu_wrapper_sm100(
        operand(m, 1), operand(n, experts), scales(m, 1), scales(n, experts),
        torch.tensor([512, m], device="cuda", dtype=torch.int32), made(experts, dtype=F32),
        norm_const_tensor=made(1, dtype=F32), prob_tensor=made(m, 1, 1, dtype=F32), d_dtype=fp8,
        sf_vec_size=32,
    )  # fmt: skip


def torch_scatter_add():
    """Rows of 32 bytes, one a stage."""
    import importlib.util

    path = Path("scatter_add/tma_kernel.py").resolve()
    spec = importlib.util.spec_from_file_location("torch._native.ops.scatter_add.tma_kernel", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    rows = torch.randint(0, 256, (4096,), device="cuda")
    module.tma_scatter_add_into(made(256, 8, dtype=F32), rows, made(4096, 8, dtype=F32))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
