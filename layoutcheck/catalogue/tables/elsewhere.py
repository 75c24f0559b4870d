"""Errors that come with CuTe code and that another tool or project answers; one sentence of who."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, issue, known
from layoutcheck.catalogue.tables.cuda_codes import codes

ENTRIES = (
    known(
        "elsewhere.memory",
        r"CUDA out of memory|\berror: out of memory|CUDA (?:runtime )?[Ee]rror(?: code)?[: #=]{1,3}2\b|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY",
        "the GPU has no memory left",
        "It is the device's memory: an allocation is refused. Where the text names the file of a kernel, its check after the launch only reports the allocation before it.",
        "nvidia-smi names the processes that hold it; take a smaller batch, or free what earlier runs left. Of PyTorch torch.cuda.memory_summary() shows its own",
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "PyTorch"),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.driver",
        r"no kernel image is available|NoKernelImageForDevice|CUDA_ERROR_NO_BINARY_FOR_GPU|" + codes(209),
        "the program holds no code for this GPU",
        "It was compiled for other architectures: machine code runs on its own (sm_90a on sm_90 only, sm_100a on no sm_120), and PTX on newer ones only where it has no suffix a.",
        "Compile for this GPU (CUTE_DSL_ARCH, TORCH_CUDA_ARCH_LIST, -gencode), or install a build that lists it; `cuobjdump --list-elf FILE` names what is in a library",
        ("CUDA error: no kernel image is available for execution on the device", "CUDA driver"),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.no-gpu",
        r"no CUDA-capable device|CUDA_ERROR_NO_DEVICE|cudaErrorNoDevice|Found no NVIDIA driver|Torch not compiled with CUDA"
        r"|libcuda\.so(?:\.1)?: cannot open shared object file|" + codes(100),
        "no GPU is seen here",
        "The program launches a kernel on a machine without a GPU, in a container that does not see one, or with a PyTorch that was built without CUDA ('not compiled with CUDA').",
        "nvidia-smi shows whether there is one, torch.version.cuda whether this PyTorch has CUDA: install its CUDA build, start the container with --gpus all. `layoutcheck trace --no-launch SCRIPT` compiles and judges a kernel without a GPU",
        ("RuntimeError: Found no NVIDIA driver on your system.", "PyTorch"),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.import",
        r"(?:ModuleNotFoundError: |ImportError: |No (?:such )?module(?: named)? )(?!cannot import name)[^\n]{0,120}(?<![a-z])(?:cutlass|cute|_cutlass_ir|cuda\.bindings)"
        r"|No matching distribution found for nvidia-cutlass-dsl|nvidia-cutlass-dsl\S* requires|not supported by nvidia-cutlass-dsl",
        "the DSL cannot be imported",
        "The package nvidia-cutlass-dsl is missing, of another Python, or mixed with the older nvidia-cutlass. cutlass._mlir is the compiled part of its wheels: a checkout of CUTLASS that stands first on the path has none.",
        "pip install nvidia-cutlass-dsl in this environment; NVIDIA's CuTe DSL quick start has the requirements",
        ("ModuleNotFoundError: No module named 'cutlass.cute'", "Python"),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.companion",
        r"No module named '?(?:(?P<ffi>tvm_ffi)|(?P<quack>quack)|(?P<driver>cuda))(?:\.[\w.]+)?'?(?![\w.])",
        "a package that CuTe programs use beside the DSL is missing: {ffi}{quack}{driver}",
        "Its name on the package index is another one: tvm_ffi is in apache-tvm-ffi, quack in quack-kernels, cuda in cuda-python.",
        "python -m pip install apache-tvm-ffi, quack-kernels or cuda-python, in the version that the program names",
        ("ModuleNotFoundError: No module named 'quack'", issue(2205, "Dao-AILab/flash-attention")),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.typing-union",
        r"Cannot instantiate typing\.Union|incompatible function arguments",
        "a compiled function was called with arguments of other types than it takes",
        "The binding lists the types that it takes. A NumPy or torch number stands where Python's is taken, an integer is beyond 32 bits (a stride or divisor of 2^31 and more), or caller and "
        "library (the DSL, jaxlib and its plug-ins) are of different versions.",
        "Compare the types behind 'Invoked with' with the list, print each argument, give int(...), and install versions that go together; report it to {project}",
        ("TypeError: Cannot instantiate typing.Union", "https://github.com/NVIDIA/cutlass/issues/2628"),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.jit-nvcc",
        r"[\"']?NVCC compilation failed|nvcc compilation failed",
        "a library compiles a kernel when it is called, and nvcc refuses it",
        "The condition in the message is only 'false': nvcc has printed the cause, above it or in the library's log. It is an nvcc that is older than the kernel, headers of another CUTLASS, or a GPU for which the library has no kernel (DeepGEMM: sm_90 and sm_100; few for sm_120).",
        "Print the command and nvcc's output (DeepGEMM: DG_JIT_DEBUG=1, DG_JIT_PRINT_COMPILER_COMMAND=1), compare `nvcc --version` with what the library asks for, empty its cache, and take another back end on a GPU that it does not name. Report what stays to {project}",
        ('Assertion error (jit/compiler.hpp:183): false and "NVCC compilation failed"', "DeepGEMM"),
        level=ELSEWHERE,
        general=True,
        instead_of=("elsewhere.assertion", "elsewhere.build"),
    ),
    known(
        "elsewhere.compiler-step",
        r"(?!numba\.cuda\.cudadrv\.driver\.Cuda)(?:triton|cuda\.tile|numba|jaxlib|tvm|cupy|warp)\.(?:[\w.]+\.)?(?:_?(?:exception|errors?|core|xla_extension|runtime|compiler|cudadrv|cuda)\.)+(?=_?[A-Z])\w*(?:Error|Exception|Resources)\b(?:: (?P<raised>\S[^\n]{4,300}))?|triton\.runtime\.autotuner"
        r"|(?P<manager>PassManager::run failed)|Failures have been detected while processing an MLIR|Pipeline failed while executing \[?`?(?P<pass>[A-Za-z][\w-]*)"
        r"|(?P<said>'(?!cute|nvvm|nvgpu|gpu|llvm|arith|memref|vector|scf|cf)\w+\.[\w.]+' op\b[^\n]{0,160})|(?P<illegal>legalize operation '(?!cute|nvvm|llvm)\w+\.[\w.]+')"
        r"|(?s:(?:\b(?:mlir|llvm|TritonGPU\w*|triton)\b|lib/(?:Conversion|Dialect|Tools|Analysis|Transforms)/).{0,900}?Assertion [`'](?P<condition>.{3,300}?)(?:' failed|$))|UNREACHABLE executed at (?P<file>\S{3,200}?:[0-9]+)"
        r"|LLVM ERROR: (?P<llvm>(?!Cannot select|Building op)[^\n]{3,160})|: (?P<option>CommandLine Error: Option '[\w-]+' registered more than once)",
        "{tool} stops{where}: {reason}",
        "{cause}",
        "{help}. Report it to {project}",
        ("triton.runtime.errors.OutOfResources: out of resource: registers, Required: 294912", "Triton"),
        level=ELSEWHERE,
        general=True,
        instead_of=(
            "elsewhere.assertion",
            "elsewhere.compile",
            "elsewhere.library-version",
            "elsewhere.llvm-crash",
            "elsewhere.mlir-text",
            "dsl.compiler-died",
            "dsl.internal",
            "dsl.other-exception",
            "dsl.other-verifier",
            "dsl.pass-failed",
        ),
        fill="step",
    ),
    known(
        "elsewhere.tuner-skips",
        r"(?P<said>[Ss]kipping (?:bad |invalid |this |failed )?(?:config|tactic|candidate|choice|kernel)\w*(?: with [\w ]{3,40})?)",
        "a tuner leaves out one of its candidates: {said}",
        "It tries many configurations of a kernel, and drops those that do not compile, do not fit or give another result than its first one. What stands below is about the candidate alone; the kernel that is used is another.",
        "Nothing, as long as a candidate remains. If none does, or many give wrong results, report the configuration to {project}",
        (
            "[15s] Skipping config with accuracy mismatch: helion.Config(block_sizes=[128, 16, 64])",
            issue(738, "pytorch/helion"),
        ),
        level=ELSEWHERE,
        general=True,
        instead_of=("results-differ", "elsewhere.compiler-step"),
    ),
    known(
        "elsewhere.native-test",
        r"\bFAILED: (?:REQUIRE|CHECK)(?:_\w+)?\( (?P<said>[^\n]{2,200}?) \)(?: with expansion: (?P<got>[^\n]{1,160}?)(?= ={5}| -{5}|$))?|: Failure (?P<test>(?:Expected equality of these values|Value of|Expected|The difference between|Failed)\b[^\n]{0,200}?)(?= \[|$)",
        "a C++ test fails: {said}{test}",
        "The test (Catch2, googletest) evaluates an expression, and it is false; why the call inside of it fails is not printed. {cause}",
        "Print the status or the message that the call returns before the line, and switch the library's log on (cuDNN: CUDNN_FRONTEND_LOG_INFO=1 with CUDNN_FRONTEND_LOG_FILE=stderr; CUTLASS: CUTLASS_DEBUG_TRACE_LEVEL=1). Report it to {project}",
        (
            "fp16_fwd.cpp:174: FAILED: REQUIRE( graph->build(handle, {fe::HeurMode_t::A}).is_good() ) with expansion: false",
            issue(124, "NVIDIA/cudnn-frontend"),
        ),
        level=ELSEWHERE,
        general=True,
        instead_of=("elsewhere.build", "elsewhere.assertion"),
        fill="words",
    ),
    known(
        "elsewhere.extension-missing",
        r"Could not run '?(?P<op>\w+::\w+)'?(?: with arguments from the '(?P<backend>\w+)' backend)?|No such operator (?P<named>\w+::\w+)|'_OpNamespace' '(?P<space>\w+)' object has no attribute '(?P<member>\w+)'|wasn't buil[dt] with CUDA support"
        r"|can't load C\+\+/CUDA extensions|WasNotBuiltException|Need to compile C\+\+ extensions",
        "the compiled part of a library is not loaded, or lacks this operator: {op}{named}{space} {member}",
        "PyTorch looks an operator up by name. The library's Python files are there, and its compiled extension is missing, was built for another torch, CUDA or Python or without CUDA, or without this operator: its import failed before, often with a warning only.",
        "Look above for that warning, or print it: python -m xformers.info, python -c 'import vllm._C'. Install the wheel for the torch at hand (its version names torch and CUDA), or build it with this GPU's architecture. Report it to {project}",
        (
            "NotImplementedError: Could not run 'xformers::efficient_attention_forward_cutlass' with arguments from the 'CUDA' backend.",
            issue(2073, "AUTOMATIC1111/stable-diffusion-webui"),
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.library-version", "dsl.no-member"),
    ),
    known(
        "elsewhere.nvshmem",
        r"nvshmem[^\n]{0,200}?non-zero status: (?P<status>[0-9]+)(?:: (?P<said>[^\n,]{3,60}))?|error in nvshmemi?_\w+|NVSHMEM (?i:error|warn)",
        "NVSHMEM does not start: {said}",
        "Its processes find each other over the network (bootstrap), and the GPUs each other over NVLink or InfiniBand. A rank is missing or waits, the addresses or interfaces do not reach each other, or the library is another one than the program was built with.",
        "nvshmem-info -a on every node; NVSHMEM_DEBUG=INFO, and NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME, NVSHMEM_HCA_LIST name interfaces; one NVSHMEM version everywhere. Report it to NVIDIA/nvshmem",
        (
            "nvshmemx_api.h:63: non-zero status: 7: Connection timed out, exiting...",
            issue(150, "deepseek-ai/DeepEP"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.nccl-info",
        r"NCCL INFO (?!.{0,60000}NCCL (?:WARN|ERROR|error))",
        "NCCL tells what it uses; these lines are no error",
        "NCCL_DEBUG=INFO prints each step. 'No plugin found (libnccl-net.so), using internal implementation' is the usual case: the plug-in is optional.",
        "Look for lines with NCCL WARN, or for the first error of the other ranks; NVIDIA/nccl's guide explains the lines",
        (
            "NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or directory No plugin found",
            issue(143, "deepseek-ai/DeepEP"),
        ),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.triton-cache",
        r"in (?P<kernel>\w+) KeyError: \('[0-9]-\.-",
        "Triton has not compiled {kernel} before, and its compile then fails",
        "The KeyError is not the error: Triton looks in its cache, finds nothing and compiles. The exception that follows ('During handling of ...') is that compile's: Triton is of another version than the kernels were written for, does not know this GPU, "
        "or finds no C compiler.",
        "Look at the last exception of the traceback; install the Triton that this torch brings (pip show triton torch) and gcc; triton-lang/triton and the library of {kernel} answer it",
        (
            "File \"<string>\", line 21, in _chunk_cumsum_fwd_kernel KeyError: ('2-.-0-.-0-d82511111ad128294e9d31a6ac684238'",
            issue(384, "state-spaces/mamba"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.call-version",
        r"Mismatched number of arguments when calling: `(?P<what>\w+)[^\n]{0,1500}?Expected (?P<want>[0-9]+) but got (?P<got>[0-9]+)",
        "{what} takes {want} arguments in the installed library and is called with {got}",
        "A compiled function (TVM FFI) and the Python code that calls it are of different versions: its list of arguments has changed.",
        "Install the version that the calling package names (FlashInfer beside vLLM or SGLang), and empty its cache of compiled modules",
        (
            "TypeError: Mismatched number of arguments when calling: `plan(0: ffi.Tensor, 1: ffi.Tensor) -> Array<int>`. Expected 18 but got 15 arguments",
            issue(1813, "flashinfer-ai/flashinfer"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.call-type",
        r"Mismatched type on argument (?P<argument>#[0-9]+) when calling: `?(?P<what>[\w.]+)\([^\n]{0,1500}?Expected `?(?P<want>[^`\n]{2,80}?)`? but got `?(?P<got>[^`\n]{2,60}?)`?(?=$|[ .])",
        "{what} takes {want} as argument {argument} and is called with {got}",
        "A compiled function (TVM FFI) compares each argument with the type that it was made for. None, a number or a tensor that only wraps an "
        "address stands where a tensor is taken; or the function and its caller are of different versions.",
        "Print type and device of that argument before the call, and install the version that the calling package names; report it to the project that compiled {what}",
        (
            "Mismatched type on argument #0 when calling: `vm.builtin.reshape(0: ffi.Tensor, 1: ffi.Shape) -> ffi.Tensor`. Expected `ffi.Tensor` but got `DLTensor*`",
            issue(18824, "apache/tvm"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.compiled-argument",
        r"[Aa]rgument (?P<what>\w[\w.]{0,80}(?:\[[0-9]+\])?) has an unsatisfied constraint: (?P<said>[^\n]{3,160})",
        "a compiled function does not take its argument {what}: {said}",
        "The compiler of the kernel (TVM's, which TileLang builds on) writes a test of each argument before the launch: pointer, type, shape and strides are compared with those that it was compiled for. Here {what} has another value than the constraint.",
        "Print shape, stride() and dtype of that argument and compare them with the kernel's declaration; give tensor.contiguous() where a stride is named, or declare the stride dynamic. Report it to {project}",
        (
            "RuntimeError: Argument main.Q_handle.strides[0] has an unsatisfied constraint: main_Q_handle_is_null or 73728 * seq_len == T.if_then_else(...)",
            issue(1280, "tile-ai/tilelang"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.check-alone",
        r"(?:RuntimeError|what\(\)): +(?P<function>[a-z]\w{5,80}), (?P<file>[\w./+-]{3,200}\.(?:cuh?|cc|cpp|h|hpp):[0-9]+)",
        "a check in {function} fails, and has no words of its own ({file})",
        "The message is a function and a place in the library's C++ (TORCH_CHECK without a text): a condition about types, shapes or the GPU is false there. A name with sm80 or sm90 is the kernel of that architecture: it takes the types of that generation (8-bit floats from sm_89 on).",
        "Read that line of the library's source for the condition; print dtype and shape of the arguments, and compare the GPU with the kernel's name. Another back end avoids it; report it to {project}",
        (
            "RuntimeError: cutlass_scaled_mm_sm80_epilogue, csrc/quantization/w8a8/cutlass/scaled_mm_c2x.cu:89",
            "vLLM",
        ),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.inductor-cutlass",
        r"(?:[Ii]nductor|NoValidChoices|cutlass_utils)[^\n]{0,2000}?module 'cutlass[\w.]*' has no attribute '(?P<what>\w+)'",
        "PyTorch's Inductor finds the DSL where it takes CUTLASS' older Python package: cutlass has no {what}",
        "Inductor's CUTLASS back end imports the package cutlass of CUTLASS' sources (cutlass_library, cutlass_cppgen). nvidia-cutlass-dsl brings another package of that name, which stands first.",
        "Leave that back end out (max_autotune_gemm_backends without CUTLASS); else give Inductor a checkout (TORCHINDUCTOR_CUTLASS_DIR), in an environment without the DSL, or a newer PyTorch. At the end of the program the message does no harm. Report it to pytorch/pytorch",
        (
            "NoValidChoicesError: target: flex_attention AttributeError: module 'cutlass' has no attribute 'CACHE_FILE'",
            "PyTorch 2.9",
        ),
        level=ELSEWHERE,
        instead_of=("dsl.api-moved",),
    ),
    known(
        "elsewhere.torch-operands",
        r"The size of tensor a \([0-9]+\) must match|mat1 and mat2 (?:shapes|must)|Expected all tensors to be on the same device|[Ee]xpected (?:scalar type|m1 and m2|object of scalar type) \w+|shape '\[[^\n\]]{1,80}\]' is invalid for input of size"
        r"|cannot reshape tensor of|view size is not compatible|Sizes of tensors must match|index out of range in self",
        "PyTorch refuses the operands of one of its own operations",
        "Sizes, types or devices of two tensors do not go together, before any kernel of CuTe runs.",
        "Print shape, dtype, device and stride of both at the line of the traceback; report it to pytorch/pytorch",
        (
            "RuntimeError: The size of tensor a (4040) must match the size of tensor b (4041) at non-singleton dimension 1",
            "PyTorch",
        ),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.network",
        r"Temporary failure in name resolution|Name or service not known|Connection (?:refused|reset|timed out)|urlopen error|Max retries exceeded|Could not fetch URL"
        r"|SSLError|CERTIFICATE_VERIFY_FAILED|Read timed out|ReadTimeoutError|[45][0-9][0-9] (?:Client|Server) Error",
        "a download fails",
        "The machine has no way to the server that the installer or the program asks.",
        "Look at the network, the proxy and the address; the kernel is not concerned",
        (
            "error: <urlopen error [Errno -3] Temporary failure in name resolution>",
            issue(37, "Dao-AILab/causal-conv1d"),
        ),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.capsule-twice",
        r"received an invalid capsule|(?:DLTensor|DLPack) capsules? can be consumed only once|dltensor_versioned[^\n]{0,60}(?:expected|invalid)",
        "a DLPack capsule is used twice, or is of another version than its taker knows",
        "to_dlpack gives a capsule that one call of from_dlpack takes over; after it the capsule is empty. A capsule of DLPack 1.0 (dltensor_versioned) is not known to a library of before.",
        "Give the array itself, from_dlpack(tensor), so that each call makes its own capsule; otherwise make a new one for each call, and update the older of the two libraries",
        (
            "RuntimeError: from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have already constructed a tensor from it once",
            issue(6, "hugobl1/ray_gauss"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.dlpack-copy",
        r"cannot move \(i\.e\. copy=False\) tensor from (?P<source>[\w:]{1,20}) to (?P<target>[\w:]{1,20}) without copying|[Uu]nable to avoid copy while creating an array",
        "an array is asked for on another device without a copy: {source} {target}",
        "The library that takes the array calls __dlpack__ with copy=False and a device of its own. Memory of one device is not reached from the other, so that only a copy can give it.",
        "Move it before, tensor.cpu() or tensor.to(device); or allow the copy (copy=None or True), or ask for the device where it is",
        (
            "ValueError: cannot move (i.e. copy=False) tensor from cuda:0 to cpu without copying.",
            issue(194267, "pytorch/pytorch"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.protocol",
        r"AssertionError: (?P<what>\w{1,60}) is not an? (?P<protocol>\w{1,60}Protocol)\b",
        "an object does not have all methods of {protocol}: two versions of one library meet",
        "The library asks whether {what} has the methods of a class of its own. It has those of another version: a copy of the library in another folder, an older release, or one made for another DSL.",
        "python -m pip list, and print(module.__file__) of the library: install one version of it, with the nvidia-cutlass-dsl that its requirements name. TileSchedulerProtocol is FlashAttention 4's (flash_attn.cute); report it to {project}",
        (
            "AssertionError: tile_scheduler is not a TileSchedulerProtocol",
            issue(2409, "Dao-AILab/flash-attention"),
        ),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.cublas-fault",
        r"CUBLAS_STATUS_(?P<status>EXECUTION_FAILED|INTERNAL_ERROR|MAPPING_ERROR)",
        "a kernel that cuBLAS runs fails: {status}",
        "The GPU faults while cuBLAS works: most often an earlier kernel of the program has failed, whose error this call is the first to report, or a pointer or size that was given reaches outside of its allocation.",
        "Run with CUDA_LAUNCH_BLOCKING=1, or under compute-sanitizer, and look for the first error; print shapes and strides of this call. If it fails alone in a fresh process, update driver and cuBLAS, and report it on NVIDIA's forums",
        (
            "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle, opa, opb, m, n, k)`",
            issue(6166, "vllm-project/vllm"),
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.cublas",),
    ),
    known(
        "elsewhere.cublas-start",
        r"CUBLAS_STATUS_(?P<status>NOT_INITIALIZED|ALLOC_FAILED|ARCH_MISMATCH|LICENSE_ERROR)|(?P<unsaid>\w+ == CUBLAS_STATUS_SUCCESS)\W{0,3} ?failed",
        "cuBLAS cannot start: {status}{unsaid}",
        "NOT_INITIALIZED and ALLOC_FAILED are most often memory of the GPU that is used up by then (a framework reserves most of it), or an earlier kernel that faulted; else libcublas of another CUDA than the driver's. ARCH_MISMATCH: this cuBLAS has no code for the GPU.",
        "nvidia-smi shows what is free; give cuBLAS room (smaller batch, less memory reserved), run with CUDA_LAUNCH_BLOCKING=1, and keep one CUDA version in LD_LIBRARY_PATH and pip list. Report it to {project}",
        (
            "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
            "PyTorch",
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.cublas",),
    ),
    known(
        "elsewhere.cublas",
        r"CUBLAS_STATUS_(?P<status>NOT_SUPPORTED|INVALID_VALUE|(?!SUCCESS)\w+)|cu[bB][lL][aA][sS](?:Lt)? (?:[Ee]rror|[Ss]tatus|failed|API)[^\n]{0,160}?(?:code|status|error|failed:?)[ =:]{1,3}(?P<code>7|15)\b|(?i:cublas error): (?P<words>the requested functionality is not supported|an unsupported value or parameter)|kernel execution error\. \(m: [0-9]+, n: [0-9]+, k: [0-9]+, error: (?P<number>[0-9]+)|(?i:cublas) [^\n]{0,30}unable to find|Unable to find (?:a )?suitable (?:cuBLAS|cublas|GEMM)[^\n]{0,30}",
        "cuBLAS does not take this problem {status}{number}",
        "NOT_SUPPORTED and INVALID_VALUE mean that no kernel has these types, sizes and strides: FP8 needs sizes, leading dimensions and addresses "
        "that are multiples of 16 bytes, and A transposed (cuBLAS guide, cublasLtMatmul). EXECUTION_FAILED (13) is often a fault of an earlier kernel, INVALID_VALUE is 7, NOT_SUPPORTED 15.",
        "Print sizes, strides and data_ptr() % 16 of both matrices; NVIDIA's cuBLAS guide has the table of what is supported",
        (
            "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul with transpose_mat1 t transpose_mat2 n",
            issue(141749, "pytorch/pytorch"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.no-module",
        r"No module named '(?P<module>[\w.]+)'",
        "the module {module} is not found",
        "It is not installed in the Python that runs, or the program is not started from the folder that holds it.",
        "python -m pip install the package that has it (python -c 'import sys; print(sys.executable)' names the Python), or start from the "
        "project's root. While a package is built (pip install, setup.py), the build's own environment lacks it: install {module} first and add --no-build-isolation",
        (
            "ModuleNotFoundError: No module named 'lit_gpt.model_all_replaced'",
            issue(295, "NVIDIA/TransformerEngine"),
        ),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.nccl-device",
        r"(?s)(?:nccl|NCCL).{0,600}?(?:Cuda failure|CUDA error|cudaError)[^\n]{0,20}(?P<said>invalid device ordinal)",
        "a rank asks for a GPU that its process does not see: {said}",
        "The device number of the rank is at least the number of devices that the process has: CUDA_VISIBLE_DEVICES, or the launcher's binding (--gpus-per-task, a container), leaves fewer than LOCAL_RANK counts.",
        "Print torch.cuda.device_count(), LOCAL_RANK and CUDA_VISIBLE_DEVICES in each rank; with one GPU for each process the device is 0, with all of them LOCAL_RANK. It is a matter of the launcher, not of NCCL",
        (
            "ncclUnhandledCudaError: Call to CUDA function failed. Last error: Cuda failure 101 'invalid device ordinal'",
            "NCCL 2",
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.nccl", "elsewhere.nccl-cuda"),
    ),
    known(
        "elsewhere.nccl-cuda",
        r"Cuda failure (?:(?P<code>[0-9]{1,3}) )?'(?P<said>[^'\n]{3,80})'",
        "a call of CUDA inside of NCCL fails: {said}",
        "NCCL only reports it. 'out of memory' is this rank's own; an illegal address, an illegal instruction and a launch failure are of a kernel that ran before; 'initialization error' is a process that was forked after CUDA began, or that sees no usable device or driver; other words name the call's own argument.",
        "Run the rank with CUDA_LAUNCH_BLOCKING=1, or under compute-sanitizer, to see whether an earlier kernel fails; NCCL_DEBUG=INFO names the call; report what stays to NVIDIA/nccl",
        (
            "ncclUnhandledCudaError: Call to CUDA function failed. Last error: Cuda failure 'out of memory'",
            "NCCL 2",
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.nccl",),
    ),
    known(
        "elsewhere.nccl-multicast",
        r"(?is)(?:nccl|c10d).{0,600}?(?:\bNVLS\b|NVLink SHARP|multicast).{0,200}?(?:error|failure)\W{0,3}(?P<code>[0-9]{1,3})?|(?:\bNVLS\b|NVLink SHARP)[^\n]{0,80}multicast[^\n]{0,80}(?:error|failure)\W{0,3}(?P<number>[0-9]{1,3})?",
        "NCCL cannot set up NVLink SHARP (NVLS), its multicast memory {code}{number}",
        "NVLS reduces inside of the NVSwitch, through memory that all GPUs of the node map. It needs Hopper or newer behind an NVSwitch, a fabric manager that runs and a driver that has multicast; the switch has a limited number of multicast groups, which processes that ended badly may "
        "still hold. A container or a virtual machine without the fabric's devices cannot bind it: 1 is an invalid value, 401 an illegal state, 801 not supported (CUDA driver API). No kernel is concerned.",
        "NCCL_NVLS_ENABLE=0 leaves it out: the rest of NCCL works, all-reduce is slower. Then look at nvidia-smi -q (Fabric: State Completed, Status Success), restart nvidia-fabricmanager, and report what stays to NVIDIA/nccl",
        (
            "ncclUnhandledCudaError: Failed to bind NVLink SHARP (NVLS) Multicast memory ... CUDA error 401",
            "NCCL 2",
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.nccl", "elsewhere.nccl-cuda", "cuda.not-supported", "cuda.invalid-launch"),
    ),
    known(
        "elsewhere.nccl",
        r"NCCL (?i:error|WARN)|nccl(?:Internal|System|UnhandledCuda|Remote|InvalidUsage|InvalidArgument)\w*|ProcessGroupNCCL|Watchdog caught collective",
        "an error of NCCL",
        "It is between GPUs, not inside a kernel: a rank that failed or waits elsewhere, a network or shared-memory set-up, or ranks that do not make the same calls. 'unhandled cuda error' and a watchdog's timeout are most often "
        "the echo of another rank, whose kernel faulted or hangs.",
        "Look for the first error in the logs of all ranks; NCCL_DEBUG=INFO (TORCH_NCCL_BLOCKING_WAIT=1) names the call; report it to NVIDIA/nccl",
        ("torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2251", "PyTorch"),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.gpu-too-old",
        r"(?P<said>no kernel found to launch|No compiled \w+ for (?:CUDA )?device|is for sm[0-9]+-sm[0-9]+, but was built for|not compiled for (?:this|the) (?:architecture|GPU)|no (?:available|suitable|supported) kernel"
        r"|requires (?:compute capability|a GPU with|SM|sm_)[^\n]{0,60}|Expected is_sm[\w ]+(?:\|\| is_sm\w+ )*to be true|only supports (?:Ampere|Hopper|Turing|Blackwell) GPUs"
        r"|(?i:compute capability) (?:[\w. ]{0,20})?is (?:lower|too low|not supported)|[Oo]nly (?:SM|sm_?|compute capability) ?[0-9][^\n]{0,40} (?:is|are) supported)",
        "this library does not support this GPU: {said}",
        "Its own code compares the architecture with its list: the device's, the one that CUTE_DSL_ARCH or an option names, an empty list where the toolkit does not know a newer GPU (FLASHINFER_CUDA_ARCH_LIST), or what an installed nvidia-cutlass-dsl takes the GPU for (FlashAttention 4 is made for sm_90, sm_100 and sm_110). The type counts as well: bfloat16 begins with sm_80, 8-bit floats with sm_89. No layout is at fault.",
        "Print torch.cuda.get_device_capability() and CUTE_DSL_ARCH; take another back end or release of the library, made for this GPU, and float16 where bfloat16 is refused. Of what is missing it is the project that answers: {project}",
        (
            "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
            issue(40, "if-ai/ComfyUI-IF_Trellis"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.torch-compile",
        r"torch\._dynamo\.exc\.(?!BackendCompilerFailed)\w+\b(?!: (?:\w+\.)*(?:ModuleNotFoundError|ImportError|DSL\w*Error|MLIRError))|torch\._inductor\.exc\.\w+: LoweringException: AttributeError|Tensor that doesn't have storage",
        "torch.compile cannot trace the call",
        "Dynamo meets an operation that it does not trace, or hands a tensor without data (FakeTensor) to code that takes its address (from_dlpack, data_ptr).",
        "Wrap the kernel's launch in a torch.library.custom_op with a register_fake that returns empty outputs; report it to {project}",
        ("torch._dynamo.exc.Unsupported: Tensor.random_ op", issue(3134)),
        level=ELSEWHERE,
        instead_of=("dsl.no-member", "dsl.given-python", "elsewhere.library-version"),
    ),
    known(
        "elsewhere.pytorch",
        r"please report a bug (?:to (?P<whom>PyTorch)|with repro script to (?P<other>\w+))|INTERNAL ASSERT FAILED",
        "an internal error of the library {whom}{other}",
        "The library checks its own state and finds it wrong.",
        "The project whose file is named answers reports of it",
        ("INTERNAL ASSERT FAILED, please report a bug to PyTorch", issue(1929, "Dao-AILab/flash-attention")),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.argument-missing",
        r"TypeError: (?:\w+\.)*(?P<function>\w+)\(\) missing (?:[0-9]+ )?required (?:positional |keyword-only )?arguments?: (?P<missing>'\w+'(?:,? (?:and )?'\w+')*)",
        "{function} is called without {missing}",
        "The function that is installed takes {missing}, and the call does not give it. If the call is in a library's own code, the library and what it calls are of different versions.",
        "Give {missing} at the call, by name (help({function}) says what it is); in a library's code install the versions that its requirements name. The versions that go together are named by {project}",
        ("TypeError: extract() missing 1 required positional argument: 'dynamic_position'", "Python"),
        level=ELSEWHERE,
        general=True,
        instead_of=("elsewhere.library-version",),
    ),
    known(
        "elsewhere.library-version",
        r"TypeError: (?:\w+\.)*(?P<function>\w+)\(\) (?:takes|got|missing) [^\n]{3,160}|TypeError: got an unexpected keyword argument '\w+'"
        r"|'\w+' object has no attribute '(?P<what>\w+)'|module '[\w.]+' has no attribute '(?P<member>\w+)'|cannot import name '(?P<name>\w+)' from",
        "a function or object does not have what the program uses: {function}{what}{member}{name}",
        "The name or argument is misspelt, or of an object of another kind; or the program and a library that it uses (often the DSL) are of "
        "different versions, one written for a function that the other has changed, renamed or not yet.",
        "Look at what the object is made of, help({function}{what}{member}{name}); compare the versions that the program's requirements name with `pip list`, and install both of one time. The versions that go together are named by {project}",
        (
            "AttributeError: 'CUTLASSArgs' object has no attribute 'exclude_ops'",
            issue(188, "meta-pytorch/tritonbench"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.xla-comparator",
        r"buffer_comparator\.cc|Difference at [0-9]+: \S+, expected [-0-9.naif]+|Results do not match the reference\. This is likely",
        "XLA compares the results of kernels while it tunes, and they differ",
        "The autotuner runs candidates of one operation on random data and compares each with a reference. A candidate that differs is left out, so that the program does not compute with it; NaN most often comes of inputs that overflow. It is XLA's, or a library's it calls, and none of your kernels.",
        "It does no harm by itself. XLA_FLAGS=--xla_gpu_autotune_level=0 leaves tuning out, level 3 the comparison; update jaxlib or TensorFlow, and report it to openxla/xla with the operation that the log names",
        (
            "E0000 buffer_comparator.cc:157] Difference at 0: nan, expected 1.65142",
            issue(87925, "tensorflow/tensorflow"),
        ),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.arch-dropped",
        r"(?:Value '|[Uu]nsupported gpu architecture ')(?P<arch>(?:sm|compute)_(?:1[0-3]|2[01]|3[0257]|5[023]|6[012]|7[02]))'",
        "this CUDA compiler no longer knows the architecture {arch}",
        "Toolkits drop old GPUs: CUDA 9 Fermi (sm_2x), CUDA 11 sm_30, CUDA 12 sm_35 and sm_37, CUDA 13 all below sm_75.",
        "Name the GPU's own architecture (nvidia-smi --query-gpu=compute_cap --format=csv) in the build: CMAKE_CUDA_ARCHITECTURES, TORCH_CUDA_ARCH_LIST, -gencode; for such an old GPU take a toolkit that has it",
        ("ptxas fatal : Value 'sm_30' is not defined for option 'gpu-name'", issue(19, "utcs-scea/altis")),
        level=ELSEWHERE,
        instead_of=("elsewhere.toolkit-too-old",),
    ),
    known(
        "elsewhere.assert-line",
        r"(?s)^(?!.*AssertionError).*?\bassert (?P<condition>[^,\n\"']{3,160}?), ?f?[\"'](?P<said>[^\"'\n]{3,200})",
        "an assertion of a Python library is false: {said}",
        "{cause}",
        "{help}. Report it to {project}",
        (
            'assert arch // 10 == 10, "FP8 is only supported on SM100 (compute capability 10.x) for FA4 CuTe"',
            issue(23985, "sgl-project/sglang"),
        ),
        level=ELSEWHERE,
        general=True,
        fill="condition",
    ),
    known(
        "elsewhere.llvm-crash",
        r"(?s)PLEASE (?:submit a bug report|ATTACH)[^\n]{0,300}?Stack dump:(?:.{0,300}?Program arguments: (?P<program>[\w./+-]{2,120}))?(?:.{0,600}?Running pass '(?P<pass>[^'\n]{3,80})'(?:[^\n]{0,40}?'(?P<on>@?[\w.$]{1,80})')?)?",
        "a compiler of LLVM's ends by itself: {program} {pass} {on}",
        "LLVM meets code that it does not handle, and no message is made of it. 'NVPTX DAG->DAG Pattern Instruction Selection' chooses the instructions of PTX: it ends so at an operation of another target (rocdl, amdgpu), or of a newer GPU than the one that "
        "is compiled for.",
        "The function that is named holds the operation: reduce it, compile it for the GPU's own architecture, and take a newer release. Report it to llvm/llvm-project, or to the project whose compiler it is part of (Triton, JAX, IREE, NVIDIA/cutlass)",
        (
            "PLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/ and include the crash backtrace. Stack dump: 0. Program arguments: mlir-opt input.mlir 1. Running pass 'Function Pass Manager' on module 'LLVMDialectModule'.",
            issue(205274, "llvm/llvm-project"),
        ),
        level=ELSEWHERE,
        general=True,
        instead_of=("dsl.compiler-died",),
    ),
    known(
        "elsewhere.assert-cut",
        r"(?:^| )[\w./-]{2,60}: (?P<file>/?[\w./+-]{3,200}\.(?:cc|cpp|cu|cuh|hpp|h):[0-9]+): (?P<function>[\w<>&*, ]{0,120}\w(?:::|\()[\w:<>&*, ]{0,160}) ?$",
        "an assertion of C++ fails at {file}, and the text ends before its condition",
        "A program that ends by assert() prints its name, file, line and function, and then the condition.",
        "Paste the rest of the line, from 'Assertion' on; the line of that file holds it as well. Report it to {project}",
        (
            "python: /w/mirage/src/transpiler/transpiler_tb_hopper.cc:326: mirage::transpiler::Transpiler::transpile_kn_cust",
            issue(524, "mirage-project/mirage"),
        ),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.patch",
        r"Hunk #(?P<hunk>[0-9]+) FAILED(?: at [0-9]+)?|(?P<said>patch does not apply|patch failed: [^\n]{3,100}|[0-9]+ out of [0-9]+ hunks? FAILED)",
        "a patch does not fit the file that is installed {said}",
        "The script changes a file of another package, and was written for another version of it: the lines that it looks for are not there.",
        "Install the version of the package that the patch names, or leave the patch out where a newer version has the change; who keeps the script answers",
        ("Hunk #1 FAILED at 18", "patch"),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.device-assertion",
        r"Assertion (?:failed|error):? \(?(?P<file>[\w./+-]{3,200}\.cuh?:[0-9]+)\)?,? condition: (?P<condition>[^\n]{2,160}?)(?= [\w.]{1,60}(?:Error|Exception)\b|$)",
        "a condition that a kernel tests is false: {condition}",
        "{cause} The kernel stops itself there, at {file}: the launch failure (719, or 710) that the host reports follows from it, and so does every later error.",
        "{help}: look at the values of the tensors that this kernel is given. Report it to {project}",
        (
            "Assertion failed: deep_gemm/impls/smxx_layout.cuh:131, condition: (values[j] & 0x807fffffu) == 0",
            issue(29993, "sgl-project/sglang"),
        ),
        level=ELSEWHERE,
        instead_of=("cuda.launch-failure",),
        fill="condition",
    ),
    known(
        "elsewhere.assertion",
        r"Assertion (?:error|failed|failure)?:? ?\(?(?P<file>[\w./-]{3,160}:[0-9]+)\)?:? (?P<said>[^\n]{2,160}?)(?= \S+\.py:| Traceback \(| File \"|$)|Assertion [`'](?P<condition>[^`'\n]{1,160})' failed"
        r"|\bstatic_assert\((?P<static>[^\"\n]{3,120}?)\);|Check failed: (?P<check>[^\n]{2,160})|CHECK_\w+ failed|__assert_fail\w* \(assertion=[^\"\n]{0,200}\"(?P<native>[^\"\n]{1,160})\"|Expected (?P<expected>[^\n]{3,120}?) to be true, but got false",
        "a library's condition is false: {said}{condition}{static}{check}{expected}{native}",
        "{cause}",
        "{help}. Report it to {project}; the line of the condition says which arguments and GPUs it supports",
        (
            "RuntimeError: Assertion error (csrc/apis/layout.hpp:49): not disable_ue8m0_cast",
            issue(27, "timothystewart6/vllm-gb10"),
        ),
        level=ELSEWHERE,
        general=True,
        instead_of=("dsl.compiler-died",),
        fill="condition",
    ),
)

PYTHON = known(
    "elsewhere.python",
    r"(?!)",  # found by catalogue.frames, in a traceback
    "{package} raises it: {said}",
    "{cause}",
    "{help}. {place}{whose}",
    ("Traceback File train.py, line 3 ValueError: batch size must be positive", "Python"),
    level=ELSEWHERE,
    general=True,
)

CUT = known(
    "elsewhere.cut-traceback",
    r"(?!)",  # found by catalogue.frames, where a traceback has no exception below it
    "a traceback without its end: {said}, of {package}",
    "{cause}",
    "{help}. {place}{whose}",
    ('File "/usr/lib/python3.12/dist-packages/vllm/v1/core.py", line 709, in run engine = Core()', "Python"),
    level=ELSEWHERE,
    general=True,
)

NAMED = known(
    "elsewhere.named",
    r"(?!)",  # where the text names a library, and nothing else of it is known
    "{kind} that names {name}: {said}",
    "{cause}",
    "{help}. Report it to {project}",
    ("xla_extension failed: all-reduce buffers do not alias", "JAX"),
    level=ELSEWHERE,
    general=True,
)

FOREIGN = known(
    "elsewhere.other-program",
    r"(?!)",  # found by catalogue.origin, by a form that no program of GPUs prints
    "a message of {name}, in which no kernel is: {said}",
    "No program of CuTe, CUDA or their compilers prints it; a layout or a tensor in it is only a name.",
    "It is answered by {project}",
    ('ERROR: column "shape" of relation "tensors" does not exist LINE 1: INSERT INTO tensors', "PostgreSQL"),
    (
        'Exception in thread "main" java.lang.NullPointerException at com.example.Main.count(Main.java:14)',
        "Java",
    ),
    level=ELSEWHERE,
    general=True,
)

RAISED = known(
    "elsewhere.raised",
    r"(?!)",  # found by catalogue.raised, in the installed DSL
    "{function} raises: {said}",
    "{cause} The installed DSL raises it at {place}{when}. It is an error of the DSL's Python, not of a layout.",
    "{help}; NVIDIA's guides to the DSL's control flow and compilation have it; report it to NVIDIA/cutlass",
    ("DSLRuntimeError: Failed to create dynamic while loop", "DSL 4.8.1"),
    level=ELSEWHERE,
    general=True,
)

LIBRARY = known(
    "elsewhere.library-raises",
    r"(?!)",  # found by catalogue.libraries, in an installed library or in a checkout
    "{library} refuses: {said}",
    "{function} raises it at {at}{when}.{cause}",
    "{help}. {whose}",
    ("AssertionError: Only SM 10.x and 11.x are supported", "flash_attn.cute 4.0.0b36"),
    level=ELSEWHERE,
    general=True,
)
