"""Errors that come with CuTe code and that another tool or project answers; one sentence of who."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, known

ENTRIES = (
    known(
        "elsewhere.memory",
        r"CUDA out of memory|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY",
        "the GPU has no memory left",
        "It is the allocator's error.",
        "PyTorch's memory guide (torch.cuda.memory_summary) shows who holds it",
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "PyTorch"),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.driver",
        r"no kernel image is available|CUDA_ERROR_NO_BINARY_FOR_GPU|driver version is insufficient|CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
        r"|system has unsupported display driver|cudaErrorInsufficientDriver|forward compatibility was attempted",
        "driver, toolkit and compiled code do not match",
        "The code was compiled for another GPU or for a newer driver.",
        "Update the driver, or compile for this GPU (CUTE_DSL_ARCH); NVIDIA's CUDA compatibility guide has the table",
        ("CUDA error: no kernel image is available for execution on the device", "CUDA driver"),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.no-gpu",
        r"no CUDA-capable device|CUDA_ERROR_NO_DEVICE|cudaErrorNoDevice|Found no NVIDIA driver|Torch not compiled with CUDA",
        "there is no GPU here",
        "The program launches a kernel on a machine without a GPU.",
        "`layoutcheck trace --no-launch SCRIPT` compiles and judges it without one",
        ("RuntimeError: Found no NVIDIA driver on your system.", "PyTorch"),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.import",
        r"(?:ModuleNotFoundError|ImportError): [^\n]{0,120}(?:cutlass|cute|_cutlass_ir|cuda\.bindings)",
        "the DSL cannot be imported",
        "The package nvidia-cutlass-dsl is missing, of another Python, or mixed with the older nvidia-cutlass.",
        "pip install nvidia-cutlass-dsl in this environment; NVIDIA's CuTe DSL quick start has the requirements",
        ("ModuleNotFoundError: No module named 'cutlass.cute'", "Python"),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.typing-union",
        r"Cannot instantiate typing\.Union|incompatible function arguments",
        "a DSL function was called with arguments of other types than it takes",
        "The binding lists the types that it takes; a DSL version that is older or newer than the program is the usual cause.",
        "Compare the DSL version with the one that the program names; NVIDIA/cutlass answers reports of it",
        ("TypeError: Cannot instantiate typing.Union", "https://github.com/NVIDIA/cutlass/issues/2628"),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.triton",
        r"triton\.(?:compiler|runtime)\.errors?\.\w+|triton\.runtime\.autotuner",
        "an error of Triton",
        "Triton chooses its own layouts; layoutcheck reads CuTe's.",
        "The Triton project answers it",
        ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 294912", "Triton"),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.nccl",
        r"NCCL (?:error|WARN)|ncclInternalError|ProcessGroupNCCL",
        "an error of NCCL",
        "It is between GPUs, not inside a kernel.",
        "NCCL_DEBUG=INFO names the cause; NVIDIA/nccl answers reports of it",
        ("torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2251", "PyTorch"),
        level=ELSEWHERE,
    ),
)
