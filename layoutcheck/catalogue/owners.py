"""Who answers an error that is not CuTe's: the library whose words are in the text, and its project."""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.catalogue.literals import Words, plain


class Owner(NamedTuple):
    """A library and who answers its errors: "TileLang", "tile-ai/tilelang"."""

    name: str
    project: str


_Owned = tuple[Words, Owner]


def _owner(words: str, name: str, project: str) -> _Owned:
    return Words(f"(?-i:{words})"), Owner(name, project)  # names, which other words are in another case


# named by who calls them or compares with them
CALLED = "cuBLAS", "cuDNN", "NVSHMEM", "NCCL", "CUB and Thrust"
SOME_MLIR = "another MLIR compiler"  # by dialects that several have
AMD = "AMD's ROCm"  # which words its errors as CUDA does
AMD_TRITON = "Triton's back end for AMD's GPUs"
_OF_GRAPHS = (
    "IREE",
    "Torch-MLIR",
    "TensorFlow",
    "Clang (ClangIR)",
    "IREE or another compiler of MLIR's tensors",
    SOME_MLIR,
    "an MLIR compiler",
)
# In order: a compiler or library stands before those that it is built on.
_COMPILERS = (
    _owner(r"(?<![.\w])T\.(?:[a-z]\w{3,}|Parallel|Pipelined|Kernel)\b|[Tt]ile-?[Ll]ang|\bk[MN]PerWarp\b|suitable instruction for tcgen05|Check your layout\.|no available layout found|\bParallelOp\b|LayoutInference|CanProve\w+|[Gg]et different layout for|\bFragment\(\(|\banalyzer_\b|\blocal\.fragment\b|ProducerConsumerWS|LowerBulk|MakePackedAPI|\bkernel \w+ input \w+ \w+ expected", "TileLang", "tile-ai/tilelang"),
    _owner(r"\btvm\b(?!-ffi|\.error\.\w+: \[)|\bTVM\b(?!.?FFI)|tvm::|\bvm\.builtin\.|Module\[\w+\] does not|tvm_ffi\.(?!core)", "TVM", "apache/tvm (tile-ai/tilelang where TileLang makes the kernel, which raises TVM's errors)"),
    _owner(r"cuda\.tile\b|cuda/tile\b|cu[Tt]ile|tileiras|Dimension #[0-9]+ of shape .{1,40} is not a power of two|\bTile<[a-z]\w*, ?\{", "cuTile", "NVIDIA/cutile-python"),
    _owner(r"\bmojo\b|\bmodular\b", "Mojo", "modular/modular"),
    _owner(r"\bFlyDSL\b|\bflydsl\b|stateful dynamic (?:if|for|while)", "FlyDSL", "ROCm/FlyDSL"),
    _owner(r"[Hh]elion(?:\b|_)", "Helion", "pytorch/helion"),
    _owner(r"ThunderKittens|\bkittens::", "ThunderKittens", "HazyResearch/ThunderKittens"),
    _owner(r"(?:^|[^\w])mirage[/.]|\bMPK\b", "Mirage", "mirage-project/mirage"),
    _owner(r"TritonIntel\w*|triton[\\/]backends[\\/]intel|intel-xpu-backend-for-triton|Triton\w*XPU\b|(?s:_xpu\b.{0,300}PassManager)", "Triton's back end for Intel's GPUs", "intel/intel-xpu-backend-for-triton"),
    _owner(r"TritonAMD\w*|triton[\\/]backends[\\/]amd|Triton Error \[HIP\]", AMD_TRITON, "triton-lang/triton, or ROCm/triton where it is AMD's own build"),
    _owner(r"TritonAscend\w*|[Tt]riton[-_][Aa]scend|triton[\\/]backends[\\/]ascend|[Bb]i[Ss]heng\w*|['\"`]?h(?:ivm|fusion)\.\w|\b[Uu][Bb] overflow|libtriton_adapter", "Triton's back end for Ascend's NPUs", "triton-lang/triton-ascend"),
    _owner(r"(?i:triton[-_]xdna|\bmlir[-_](?:air|aie)\b|\bttshared_to_\w+)", "AMD's compiler for NPUs (Triton-XDNA, mlir-air)", "amd/Triton-XDNA, or Xilinx/mlir-air whose pass it is"),
    _owner(r"\biree[-_/]\w+|--iree-|\bIREE\b|\bflow\.dispatch\b|\bhal\.executable\b", "IREE", "iree-org/iree"),
    _owner(r"torch[-_]mlir", "Torch-MLIR", "llvm/torch-mlir"),
    _owner(r"triton\.use_tensor_descriptor|[Ii]nductor(?:_config\b|\.config\b| (?:TMA|codegen|compiles?|generates?))|torch\.compile\(\w{1,20}\)\(", "PyTorch's Inductor", "pytorch/pytorch"),
    _owner(r"(?i:tensorflow|\btflite\b|\bkeras\b)|\bReadVariableOp\b|@__inference_\w+", "TensorFlow", "tensorflow/tensorflow"),
    _owner(r"TritonSDNN\w*|\b(?:uni_)?sram\b.{0,40}Hardware limit|\btriton_xpu\b|triton[\\/]backends[\\/](?!nvidia|cuda)\w+", "a vendor's back end of Triton", "the vendor of that back end, whose passes and limits are its own"),
    _owner(r"'cir\.\w", "Clang (ClangIR)", "llvm/llvm-project"),
    _owner(r"\btl\.(?:range|load|store|dot|arange|program_id)\b|(?<![a-z])[Tt]riton(?!build|[Bb]ench|-inference|server)|\b[0-9] active drivers \(|Failed to find C compiler|\bgluon\b|Failed to find a valid layout|Proton\w{0,80}Pass\b|PassManager::run failed|'constexpr' object|(?:Mma|Blocked|DotOperand|Slice)(?:Layout|Encoding)\b|\bwarpsPerCTA\b|\btt(?:n?g)?\.\w|MMAv[235]\b", "Triton", "triton-lang/triton"),
    _owner(r"\.julia/|\bCUDA\.jl\b|\bjulia_\w+", "CUDA.jl", "JuliaGPU/CUDA.jl"),
    _owner(r"\blibmathdx\b|\bwp::\w|\bwarp\.so\b|\bwarp/native/|\bwarp\.(?:build|codegen|context|fem|sim)\b", "Warp", "NVIDIA/warp"),
    _owner(r"\bnumba\b", "Numba", "numba/numba"),
    _owner(r"\bcupy(?:\b|_)", "CuPy", "cupy/cupy"),
    _owner(r"(?i:mosaic|pallas)|\bXLA(?:_(?:CPU|GPU|FFI)\w*|\b)|\bxla\.gpu\.|\bplgpu\.|\bjax(?:lib)?\b|\bxla/(?:xla|service)/|[Ww]arpgroup size|xla_extension", "JAX (Pallas, Mosaic GPU)", "jax-ml/jax"),
    _owner(r"\bsycl\b|\bXE_\w+|oneapi|icpx", "CUTLASS for Intel GPUs", "intel/sycl-tla"),
    _owner(r"\bCK\b|\bck_tile\b|for fmha_(?:fwd|bwd)\b|composable_kernel", AMD, "ROCm/composable_kernel"),
    _owner(r"\bhip[A-Z]\w+|\b__hip_\w+|\bHIP\b|MIOpen|\bhipoc|\bROCm\b|\bgfx[0-9]{3}|\bCDNA ?[0-9]|\bRDNA ?[0-9]|\bMFMA\b|\bMI[23][0-9]{2}X?\b", AMD, "the project that is built (its compiler and run time are ROCm/llvm-project and ROCm/rocm-systems)"),
    _owner(r"tiny-cuda-nn|\btcnn::", "tiny-cuda-nn", "NVlabs/tiny-cuda-nn"),
    _owner(r"ggml|flash_attn_ext_(?:f16|vec|tile)|llama\.cpp|\bllama-(?:server|cli|bench|run)\b", "llama.cpp", "ggml-org/llama.cpp"),
    _owner(r"\b(?:linalg|stablehlo|tosa)\.\w+ (?:\{|ins\()|\bdispatches/[\w./-]+\.mlir", "IREE or another compiler of MLIR's tensors", "the project whose command prints it (iree-org/iree, openxla/xla)"),
    _owner(r"(?<!class )['\"](?:stablehlo|mhlo|linalg|tensor|tosa|torch|iree\w*|flow|stream|hal|bufferization|ttg|ttng|tt|triton\w*|amdgpu|rocdl)\.\w",
           SOME_MLIR, "the project whose command prints it (IREE: iree-org/iree, XLA: openxla/xla, Triton: triton-lang/triton)"),
    _owner(r"(?<![.\w])memref<|(?<![.\w!])tensor<[0-9?]+x|#gpu\.address_space", "an MLIR compiler", "the project whose command prints it (Triton: triton-lang/triton, JAX's Mosaic GPU: jax-ml/jax, IREE: iree-org/iree)"),
)  # fmt: skip
_LIBRARIES = (
    _owner(r"\bKokkos(?:Blas\w*)?(?:::|\b)|\bKokkos contract|/kokkos", "Kokkos", "kokkos/kokkos"),
    _owner(r"(?i:sage[_ ]?attention|\bsageattn)", "SageAttention", "thu-ml/SageAttention"),
    _owner(r"cutlass_(?:scaled_mm|gemm_caller|moe_mm)|MoE backend|moe_backend=|AttentionBackendEnum|\bVLLM_[A-Z]\w+|--moe-backend|deployment configuration|vllm_flash_attn|EngineCore|quantization method \w+ is not supported for|CUDAGraphMode|\bcudagraph_mode\b|AttentionCGSupport|\bshm_broadcast\b|csrc/(?:\S*/)?(?:custom_all_reduce|custom_quickreduce|moe/|quantization/|cache_kernels|attention/)", "vLLM", "vllm-project/vllm"),
    _owner(r"sgl[-_]kernel|Tensor match failed for|moe-(?:runner|a2a)-backend|MoeRunnerBackend|flashinfer_trtllm\.py|sglang/srt|Scheduler hit an exception", "SGLang", "sgl-project/sglang"),
    _owner(r"(?i:flash_?infer)|max_frags_z|num_frags_[xyz]|shape combination for arch|trtllm_(?:batched_gemm|fused_moe|fmha)|\brunFmha|\bfmhaReduction\b|TllmGen\w+", "FlashInfer", "flashinfer-ai/flashinfer"),
    _owner(r"DotProductAttention|Disabling (?:Flash|Fused|Unfused)\w*Attention (?:[234] )?(?:due|as|for|because)\b|\bNVTE_", "Transformer Engine", "NVIDIA/TransformerEngine"),
    _owner(r"\bcandle[-_]", "Candle", "huggingface/candle"),
    _owner(r"TileSchedulerProtocol|This flash attention build|\bflash::\w|\bSM ?[0-9]+\.x\b|\bis_sm(?:8x|75|80|90)\b|(?i:\bfa[234]\b)|\bSplitKV\b|flash_(?:fwd|bwd)_|(?i:flash[_-]?attn(?!\w*_v100|_ext)|flash-?attention(?!-v100| (?:\(?-fa\b|kernel|code|back|forward|bwd|fwd|implement|style|algorithm|example)))", "FlashAttention", "Dao-AILab/flash-attention"),
    _owner(r"(?i:deep_?gemm)|(?<![a-z])[mk]_grouped_\w{0,20}gemm|\bfp8_gemm_n[tn]\b|\bgemm_fp8_fp8_bf16_nt\b|csrc/(?:apis/[./]*)?jit_kernels|jit/compiler\.hpp|smxx_layout", "DeepGEMM", "deepseek-ai/DeepGEMM"),
    _owner(r"(?i:flash_?mla)", "FlashMLA", "deepseek-ai/FlashMLA"),
    _owner(r"\bquack(?:_kernels)?\b", "QuACK", "Dao-AILab/quack"),
    _owner(r"causal_conv1d|(?i:\bmamba_?(?:ssm|2|\b))", "Mamba", "state-spaces/mamba"),
    _owner(r"\bfla[./]|(?i:flash_?linear_?attention)|FlashQLA", "flash-linear-attention", "fla-org/flash-linear-attention"),
    _owner(r"(?i:\bdeep_?ep\b)", "DeepEP", "deepseek-ai/DeepEP"),
    _owner(r"(?i:\bxformers\b)", "xFormers", "facebookresearch/xformers"),
    _owner(r"(?i:transformer_?engine)", "Transformer Engine", "NVIDIA/TransformerEngine"),
    _owner(r"tensorrt_llm|TensorRT-LL[Mm]|\bTRT-?LLM|\bTLLM_|tactics profiling", "TensorRT-LLM", "NVIDIA/TensorRT-LLM"),
    _owner(r"\bTensorRT\b|\btrtexec\b|\[\w+\.cpp::\w+::[0-9]+\] Error Code", "TensorRT", "NVIDIA/TensorRT"),
    _owner(r"gemm Runner\]", "FlashInfer", "flashinfer-ai/flashinfer"),
    _owner(r"(?i:\bvllm\b(?![-.]rs))", "vLLM", "vllm-project/vllm"),
    _owner(r"(?i:\bsglang\b)", "SGLang", "sgl-project/sglang"),
    _owner(r"\bNCCL\b|\blibnccl\b|\bnccl[A-Z]\w+|_Z[0-9]+nccl\w+|/nccl/(?:obj|src|build)/", "NCCL", "NVIDIA/nccl"),
    _owner(r"(?<!-l)nvshmem", "NVSHMEM", "NVIDIA/nvshmem"),
    _owner(r"\bcudnn(?:_frontend)?\b|\bcuDNN\b|CUDNN_|cudnnGraph", "cuDNN", "NVIDIA/cudnn-frontend"),
    _owner(r"(?<!-l)(?i:cublas)", "cuBLAS", "NVIDIA's forums (its cuBLAS guide lists cublasStatus_t)"),
    _owner(r"nvfuser|__tmp_kernel_|\bFuser\b", "nvFuser", "NVIDIA/Fuser"),
    _owner(r"\bgdr_\w+|(?i:gdrcopy)", "GDRCopy", "NVIDIA/gdrcopy"),
    _owner(r"Disposition: \w+", "CUTLASS' profiler or one of its examples", "NVIDIA/cutlass"),
    _owner(r"\bcub::|\bthrust::|/cub/|/cccl/", "CUB and Thrust", "NVIDIA/cccl"),
)  # fmt: skip
# What every library builds on: named in a text, they do not say whose it is.
_BELOW = (
    _owner(
        r"\bffi\.(?:Tensor|Shape|Array|Map|String|Function)\b|\bTVMFFI\w+|(?<![a-z]_)tvm[_-]ffi|tvm::ffi",
        "TVM FFI",
        "apache/tvm-ffi",
    ),
    _owner(
        r"DLPack|DLTensor|__dlpack",
        "an array library's DLPack",
        "the library that takes the array (PyTorch, NumPy, CuPy or JAX)",
    ),
    _owner(r"\bnumpy\b|\bnp\.", "NumPy", "numpy/numpy"),
    _owner(
        r"\b(?:py)?torch\b|\bc10\b|CuteDSL template|FlexibleLayout|flex[_ ]attention|\bkernel_options\b|\bcutlass[FB]\b|scaled_dot_product_attention|c10::|at::|aten|_inductor|InductorError|LoweringException",
        "PyTorch",
        "pytorch/pytorch",
    ),
)
# Programs that call the libraries above: theirs is what their own frames raise, and nothing that their name stands beside.
_CALLERS = (
    _owner(r"cutlass[\w-]*/examples|/CuTeDSL/", "an example of CUTLASS", "NVIDIA/cutlass"),
    _owner(r"(?<!native/)\btransformers\b", "Transformers", "huggingface/transformers"),
    _owner(r"\bdiffusers\b", "Diffusers", "huggingface/diffusers"),
    _owner(r"(?i:megatron)", "Megatron", "NVIDIA/Megatron-LM"),
    _owner(r"\bllamafactory\b|LLaMA-Factory", "LLaMA-Factory", "hiyouga/LlamaFactory"),
    _owner(r"(?i:comfyui)|\bcomfy\b", "ComfyUI", "Comfy-Org/ComfyUI"),
    _owner(r"\btorchao\b", "torchao", "pytorch/ao"),
    _owner(r"\bdeepspeed\b", "DeepSpeed", "deepspeedai/DeepSpeed"),
)  # fmt: skip
_FRAME_SAYS = "the project of the innermost frame or file of its own that it names"
# Programs that have no kernel, by a form that no other prints.
_PROGRAMS = (
    _owner(r"\bat [\w.$]+\([\w$]+\.(?:java|kt|scala):[0-9]+\)|\b(?:javax?|org|com|io|net)\.[a-z]\w*\.[\w.$]*[A-Z]\w*(?:Exception|Error)\b|\bjava\.[\w.]+(?:Exception|Error)\b", "a program in Java, Kotlin or Scala", _FRAME_SAYS),
    _owner(r"\bgoroutine [0-9]+ \[running|\bpanic: runtime error\b", "a program in Go", _FRAME_SAYS),
    _owner(r"\bat [^\n]{0,80}\(?[\w./-]+\.(?:js|ts|mjs):[0-9]+:[0-9]+\)?|npm ERR!|\bTS[0-9]{4}: |\.[jt]sx?\([0-9]+,[0-9]+\)|\bERR_MODULE_NOT_FOUND\b", "a program in JavaScript or TypeScript, or its compiler", _FRAME_SAYS),
    _owner(r"\b[\w./-]+\.rb:[0-9]+:in [`']", "a program in Ruby", _FRAME_SAYS),
    _owner(r"error\[E[0-9]{4}\]: |--> \S+\.rs:[0-9]+:[0-9]+", "Rust's compiler", "the source at the arrow; its project's build page names the toolchain"),
    _owner(r"--> \S+\.(?!py\b|pyi\b|cuh?\b|h(?:pp)?\b|c(?:pp|c)?\b|mlir\b|mojo\b)[a-z]\w{1,8}:[0-9]+:[0-9]+", "the compiler of another language", "the source at the arrow, and the project of that compiler"),
    _owner(r"(?s:\[ *[0-9]+\.[0-9]{3,6}\] (?!.{0,80}(?:NVRM|Xid|nvidia)).{0,400}?(?:Call Trace:|page allocation failure|\bOops\b|BUG: |segfault at|Out of memory: Killed))", "the Linux kernel, in its log", "the distribution or device whose kernel it is; a process that is named there has met it"),
    _owner(r"\bLINE [0-9]+: (?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER)\b|\b(?:relation|column) \"[^\"]{1,80}\" .{0,60}does not exist|\bSQLSTATE\b|\bORA-[0-9]{5}: |sqlite3?\.(?:OperationalError|IntegrityError|ProgrammingError)", "a database", "whoever keeps its tables: the name or the type in the statement is not the table's"),
    _owner(r"ImagePull\w+|Failed to pull image|manifest unknown|pull access denied|\bCrashLoopBackOff\b|\bErrImage\w+", "Kubernetes or a registry of container images", "whoever publishes the image: name and tag of it are looked up there (docker manifest inspect IMAGE), and the pod's own log holds what its program printed"),
)  # fmt: skip


_BELOW_HOME = re.compile(
    r"(?:/?(?:home|Users)/[\w.-]+|/(?:opt|root|workspace|data|mnt))/(?:(?!(?:include|src|csrc|lib|build)/)[\w.-]+/)*?(?P<tree>[A-Z][\w.-]{2,60})/[\w.-]+\.(?:cuh?|c|cc|cpp|cxx|h|hpp)$"
)  # a file that lies in a project's own folder
_HOME = re.compile(r"^/?(?:home|Users)/[\w.-]+(?=/)")  # whose last part is a person
_INSTALLED_IN = re.compile(r".*(?:site|dist)-packages/")
_TREE = r"/(?P<tree>[A-Za-z][\w.-]{2,60}?)(?:-main|-master|-install|-build|-src)?/"
_INSIDE = re.compile(
    rf"{_TREE}(?:include|src|csrc|source|lib|kernels|examples|tests?|tools|cpp|cuda|python)/"
)
_BUNDLED = re.compile(
    rf"{_TREE}(?:third_?party|third-party|3rdparty|external|extern|dependencies|deps|submodules)/(?:[\w.-]{{1,60}}/){{0,3}}?cutlass[\w.-]*/(?:tools/\w+/)?include/"
)
_PLAIN = frozenset(("usr", "install", "system", "common", "packages", "Documents", "Downloads", "Desktop", "projects", "repos", "github", "git", "local", "opt", "home", "workspace", "build", "work", "app", "code", "data", "site-packages", "dist-packages", "third_party", "cuda", "software", "obj", "targets", "x86_64-linux", "aarch64-linux", "sbsa-linux"))  # fmt: skip


_CONDITION = re.compile(r"\bAssertion error \(?(?P<file>[\w./-]{3,200}\.(?:hpp|cuh?|cpp)):[0-9]")


def find(text: str) -> Owner | None:
    """The compiler or library that the text names; None where it names none."""
    return _first(text, (*_COMPILERS, *_LIBRARIES, *_BELOW))


def of_path(path: str) -> Owner | None:
    """The project that a source file is of, by the folders of its path; None where they name none.

    Of several the outermost has the file: what it bundles lies deeper. What every library builds on comes last.
    """
    path = _INSTALLED_IN.sub("", path)
    known = (*_COMPILERS, *_LIBRARIES, *_CALLERS)
    copied = _tree(_BELOW_HOME, path)  # which may have taken a file of another's, with its name
    if copied and _outermost(path.rpartition("/")[0], known) is None:
        return Owner(copied, copied)
    return _outermost(path, known) or _first(path, _BELOW)


def of_words(text: str) -> Owner | None:
    """The project that a message names, callers as well; None where it names none."""
    return _first(text, (*_COMPILERS, *_LIBRARIES, *_CALLERS, *_BELOW))


def of_condition(folded: str) -> Owner | None:
    """The library of kernels whose source file a condition that is false names; None where none is named."""
    found = _CONDITION.search(folded)
    return library(found["file"]) if found else None


def bundling(text: str) -> str:
    """The name of the source tree that holds a CUTLASS of its own, by the paths of the text; "" where none does."""
    return _tree(_BUNDLED, text)


def tree(path: str) -> str:
    """The name of the folder that a project's source tree lies in, by its usual folders; "" where the path has none."""
    found = _tree(_INSIDE, _HOME.sub("", path))
    found = found or _tree(_BELOW_HOME, path)
    return "" if found.startswith(("cuda-", "python3", "gcc", "cutlass", "v")) else found


def _tree(paths: re.Pattern[str], text: str) -> str:
    found = next((match["tree"] for match in paths.finditer(text)), "")
    return "" if found in _PLAIN or found.startswith("pip-req-build") else found


def another_compiler(text: str) -> Owner | None:
    """The compiler other than CuTe's that makes the kernels of the text; None where it names none."""
    return _first(text, _COMPILERS)


def library(text: str) -> Owner | None:
    """The library of kernels that the text names; None where it names none."""
    return _first(text, _LIBRARIES)


def of_program(text: str) -> Owner | None:
    """The program without kernels whose form of message the text has; None where it has none."""
    return _first(text, _PROGRAMS)


def is_of_graphs(owner: Owner) -> bool:
    """Whether it compiles graphs of operations, or MLIR as such, and no kernel with tiles of its writer's."""
    return owner.name in _OF_GRAPHS


def is_common(owner: Owner) -> bool:
    """Whether every program calls it, so that its name says nothing of whose kernel it is."""
    return owner.name in CALLED or any(owner is one for _, one in _BELOW)


def compiles(owner: Owner) -> bool:
    """Whether it is a compiler of kernels."""
    return any(owner is one for _, one in _COMPILERS)


def _outermost(path: str, owners: tuple[_Owned, ...]) -> Owner | None:
    said = plain(path)
    found = ((words.search(path, said), owner) for words, owner in owners)
    return min(
        ((match.start(), at, owner) for at, (match, owner) in enumerate(found) if match), default=(0, 0, None)
    )[2]


def _first(text: str, owners: tuple[_Owned, ...]) -> Owner | None:
    said = plain(text)
    return next((owner for words, owner in owners if words.search(text, said)), None)
