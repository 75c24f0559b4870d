"""What CUDA's libraries beside the driver say: cuDNN, cuSPARSE and their kin, NVRTC, nvJitLink, CUPTI."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, issue, known

ENTRIES = (
    known(
        "cudnn.no-plan",
        r"cudnnGraphNotSupported\w*: (?P<said>[^\n]{3,160}?)(?= File |$)|No execution plans? (?:support|built|found)[^\n.]{0,60}|cudnnGraphNotSupported\w*|No valid (?:engine|execution|plan)[\w ]*|CUDNN_STATUS_(?P<status>NOT_SUPPORTED\w*)|GET was unable to find an engine|no engine configs?",
        "cuDNN has no kernel for this graph on this GPU {status}{said}",
        "The front end built the graph, and no engine of the installed cuDNN takes it: attention asks for Ampere or newer, 16-bit or 8-bit types, head dimensions that are multiples of 8 and at most 128 or 256, "
        "and strides of a layout that it knows; others ask for alignments. An older cuDNN has fewer engines.",
        "CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=stdout (front end: CUDNN_FRONTEND_LOG_INFO=1 CUDNN_FRONTEND_LOG_FILE=stdout) prints why each engine refuses; print types, shapes, strides and torch.backends.cudnn.version(); "
        "PyTorch: torch.backends.cuda.enable_cudnn_sdp(False) takes another kernel. Report it to NVIDIA/cudnn-frontend",
        (
            "cudnn._compiled_module.cudnnGraphNotSupportedError: [cudnn_frontend] Error: No execution plans built successfully.",
            issue(75, "NVIDIA/cudnn-frontend"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "cudnn.module",
        r"Reason: rtc->loadModule\(\)|cudnn[^\n]{0,200}(?:nvrtc|loadModule|cuModuleLoad)",
        "cuDNN cannot load a kernel that it compiles at run time",
        "cuDNN compiles fused kernels with NVRTC and loads them by the driver. They are of different versions here: the cuDNN that is loaded (its number stands behind 'CuDNN (v') is not the one that was installed, or NVRTC is newer than the driver.",
        "Compare that number with `python -m pip list | grep -E 'cudnn|nvrtc'` and with LD_LIBRARY_PATH, keep one cuDNN and one CUDA, and update the driver; PyTorch: torch.backends.cuda.enable_cudnn_sdp(False) takes another kernel",
        ("e! Error: CUDNN_STATUS_EXECUTION_FAILED; Reason: rtc->loadModule()", issue(1407, "NVIDIA/TransformerEngine")),
        level=ELSEWHERE,
        instead_of=("cudnn.no-plan",),
    ),
    known(
        "cudnn.pytorch",
        r"Expected (?:mha_graph|\w*graph\w*)(?:\.|->)\w+\([^\n]{0,80}\)\.is_good\(\)",
        "PyTorch's attention by cuDNN fails",
        "PyTorch builds or runs a graph of cuDNN's, and cuDNN refuses it without a reason that PyTorch prints: shapes or a mask that this cuDNN does not take.",
        "torch.backends.cuda.enable_cudnn_sdp(False), or sdpa_kernel([SDPBackend.FLASH_ATTENTION]), takes another kernel; CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=stdout prints the reason. Report it to pytorch/pytorch",
        ("RuntimeError: Expected mha_graph.execute(...).is_good() to be true, but got false.", issue(122695, "pytorch/pytorch")),
        level=ELSEWHERE,
    ),
    known(
        "cudnn.log",
        r"\bI! CuDNN \(v(?P<version>[0-9]+)[^)\n]{0,12}\) function (?P<function>\w+)\(\) called",
        "cuDNN's log of its calls ({function}, version {version}); these lines are no error",
        "CUDNN_LOGLEVEL_DBG and its older names print every call. Lines that begin with I! and i! inform; those that begin with E! and e! hold an error and its reason.",
        "grep -n -A8 'E! ' LOG finds the error; NVIDIA/cudnn-frontend answers it",
        (
            "I! CuDNN (v8204) function cudnnBackendSetAttribute() called: i! descriptor: type=CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR",
            issue(39, "NVIDIA/cudnn-frontend"),
        ),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "cuda.library-status",
        r"(?P<library>CUSPARSE|CUSOLVER|CUFFT|CURAND|CUTENSOR|NVSHMEMX?|CUFILE|NPP)_(?:STATUS_|ERROR_|(?=INVALID_|ALLOC_FAILED|EXEC_FAILED|SETUP_FAILED|INTERNAL_ERROR))(?P<status>(?!SUCCESS)[A-Z]{3}[A-Z_]+)\b|\b(?P<sparse>cu(?:SPARSE(?:Lt)?|SOLVER|FFT|RAND|TENSOR)) error",
        "a CUDA library refuses a call: {library}{sparse} {status}",
        "NOT_INITIALIZED and ALLOC_FAILED are most often memory that ran out; INVALID_VALUE and NOT_SUPPORTED sizes, types, strides or addresses that it does not take; EXECUTION_FAILED and INTERNAL_ERROR a kernel that faults, often one before it; ARCH_MISMATCH a GPU that it has no code for.",
        "Print the arguments of the call, and read the library's page of that status at docs.nvidia.com; run with CUDA_LAUNCH_BLOCKING=1 to see whether an earlier kernel failed",
        ("CUSPARSE_STATUS_INVALID_VALUE when calling cusparseSpMM", "PyTorch"),
        level=ELSEWHERE,
    ),
    known(
        "nvrtc.nvrtc-builtins",
        r"(?i)nvrtc\W.{0,80}failed to (?:load|open) (?:builtins|\S*nvrtc-builtins\S*)|\S*nvrtc-builtins\S*: cannot open shared object",
        "NVRTC does not find its second library, libnvrtc-builtins",
        "NVRTC loads libnvrtc-builtins of exactly its own version at the first compile. The folder of another toolkit, or of a package without it, is found first. No kernel is at fault.",
        "Keep one CUDA toolkit: look for both files (ldconfig -p, pip list | grep nvrtc, LD_LIBRARY_PATH), and put the folder that has libnvrtc and libnvrtc-builtins of one version first",
        ("CompileException: nvrtc: error: failed to load builtins", issue(1660, "cupy/cupy")),
        level=ELSEWHERE,
    ),
    known(
        "nvrtc.compilation",
        r"NVRTC_ERROR_COMPILATION(?: \(6\))?|nvrtc(?:Result)?\W{0,3}(?:error\W{0,3})?6\b|NVRTC (?:Error|compilation)[: (]{1,3}(?:6\b|failed)|CompileException",
        "NVRTC refuses the source of a kernel",
        "A program compiles CUDA C++ at run time. The number only says that the source has an error; NVRTC's log, which stands above or in the exception, has the compiler's lines.",
        "Paste those lines (file(line): error: ...). NVRTC knows no standard headers and no device runtime: headers are given by -I, std types come from cuda/std, and cudaGridDependencySynchronize or cooperative groups need nvcc. Where a library compiles its own kernel so, its headers and CUDA are not found together: set CUDA_HOME to the toolkit of torch.version.cuda, empty its cache, and report what stays to {project}",
        ("cupy.cuda.nvrtc.NVRTCError: NVRTC_ERROR_COMPILATION (6)", issue(2100, "cupy/cupy")),
        level=ELSEWHERE,
        general=True,
        instead_of=("elsewhere.compiler-step", "elsewhere.build"),
    ),
    known(
        "nvvm.newer-bitcode",
        r"Unknown attribute kind|Producer:? ?'LLVM ?[\w.]+'.{0,20}?Reader:? ?'LLVM",
        "LLVM bitcode is newer than the compiler that reads it",
        "A library of device code (.bc: NVSHMEM's, libdevice, one of the program's own) was written by a newer LLVM than the NVVM that links it, and holds an attribute that the older one does not know. "
        "The Producer wrote it, the Reader is the NVVM of the compiler at hand. It is not the kernel's own code.",
        "Take a newer compiler (for the DSL a newer nvidia-cutlass-dsl), or the bitcode of an older release of its library (for NVSHMEM: nvidia-nvshmem-cu12 or -cu13 of the time of that compiler)",
        (
            "NVVM_ERROR_INVALID_IR, \"Unknown attribute kind (102)\", Producer 'LLVM20.0.0git' / Reader 'LLVM 20.0.0'",
            "NVVM",
        ),
        level=ELSEWHERE,
        instead_of=("nvrtc.other", "dsl.toolkit"),
    ),
    known(
        "nvrtc.other",
        r"(?:NVRTC|NVJITLINK|NVVM|NVPTXCOMPILE)_ERROR_(?P<status>(?!COMPILATION|INVALID_OPTION)[A-Z_]+)|nvJitLink error: (?P<said>[^\n]{3,120})",
        "a CUDA compiler library refuses its input: {status}{said}",
        "INVALID_IR is bitcode or IR that the library's verifier refuses or cannot read. INVALID_INPUT, PTX_COMPILE and IR_VERSION_MISMATCH mean that PTX, LTO code or NVVM IR is of a newer version than the library: CUDA packages of two versions are loaded. BUILTIN_OPERATION_FAILURE is a missing libnvrtc-builtins of the same version.",
        "`python -m pip list | grep -E 'nvrtc|nvjitlink|nvvm|cuda'` shows their versions, LD_DEBUG=libs which files are loaded: keep one CUDA version",
        ("NVJITLINK_ERROR_PTX_COMPILE", "nvJitLink 13"),
        level=ELSEWHERE,
    ),
    known(
        "cupti.profiler",
        r"CUPTI_ERROR_(?P<status>[A-Z_]+)|CUPTI (?:initialization|error)[^\n]{0,60}",
        "CUPTI, which profilers use, does not work here {status}",
        "INSUFFICIENT_PRIVILEGES: counters are for administrators. MULTIPLE_SUBSCRIBERS and NOT_COMPATIBLE: another profiler runs, or libcupti is of another version than the driver.",
        "Run one profiler at a time; NVreg_RestrictProfilingToAdminUsers=0 or root gives counters; load libcupti of the installed CUDA. `layoutcheck banks` counts wavefronts without counters",
        ("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", "CUPTI 13"),
        level=ELSEWHERE,
    ),
)  # fmt: skip
