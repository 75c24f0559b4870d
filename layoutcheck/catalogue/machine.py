"""What the driver, ptxas, compute-sanitizer and Nsight Compute say of a kernel that is launched."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, TRACE, issue, known

SANITIZER = "compute-sanitizer 2025.3"
NCU = "Nsight Compute 2025"
_FAULT = (
    "A copy reads or writes where it must not: a promise of alignment that the tensor does not keep, a tail without "
    "predicates, a swizzled tile on a base that its period does not divide, or an offset beyond 32 bits."
)


def _codes(*codes: int) -> str:
    """The pattern of these error codes of the runtime, printed as numbers alone: "CUDA error 9 at k.cu:604"."""
    said = (
        r"(?:CUDA (?:runtime |driver )?[Ee]rror(?: code)?[: #=]{1,3}|[Ii]nvalid error code \(|\(error-code )"
    )
    return rf"|{said}(?:" + "|".join(map(str, codes)) + r")\b"


ENTRIES = (
    known(
        "cuda.misaligned-address",
        r"misaligned address|address misaligned|CUDA_ERROR_MISALIGNED_ADDRESS|cudaErrorMisalignedAddress|error code: 716\b"
        r"|Warp Misaligned Address" + _codes(716, 74),
        "an instruction's address is not a multiple of its width",
        "The type promised an alignment (assumed_align, divisibility, byte_alignment) that the run-time address does not "
        "have: a sliced or offset tensor, a pitch that is not a multiple of 16 bytes.",
        TRACE
        + "; LC202 and LC230 name the promise that is not kept. Then align the tensor, or copy narrower",
        ("RuntimeError: CUDA error: misaligned address", issue(2968)),
        (
            "cutlass.base_dsl.common.DSLCudaRuntimeError: CUDA_ERROR_MISALIGNED_ADDRESS (error code: 716)",
            "CUDA driver",
        ),
        level="wrong",
        rule="LC202",
    ),
    known(
        "cuda.illegal-instruction",
        r"[Ii]llegal instruction|CUDA_ERROR_ILLEGAL_INSTRUCTION|cudaErrorIllegalInstruction|error code: 715\b"
        r"|Warp Illegal Instruction" + _codes(715, 73),
        "the GPU refuses an instruction's operands",
        "TMA and tcgen05 raise it for a tensor map, descriptor or coordinate that they cannot use: a box whose inner bytes "
        "are not a multiple of 16, a shared address without the swizzle's alignment, a coordinate outside of the corners; "
        "or the code was compiled for another architecture.",
        TRACE + ": the TMA rules LC231 to LC259 check each of them",
        ("torch.AcceleratorError: CUDA error: an illegal instruction was encountered", "PyTorch"),
        ("========= Illegal instruction\n=========     at cute::SM90_TMA_LOAD_2D::copy+0x5c60", issue(2728)),
        ("RuntimeError: CUDA Error: cudaErrorIllegalInstruction", issue(2932)),
        level="wrong",
    ),
    known(
        "cuda.illegal-access",
        r"illegal memory access|CUDA_ERROR_ILLEGAL_ADDRESS|cudaErrorIllegalAddress|error code: 700\b"
        r"|Warp Illegal Address|Warp Out-of-range Address|EXCEPTION_(?:WARP|LANE)_(?:ILLEGAL|OUT_OF_RANGE)_ADDRESS"
        + _codes(700, 77),
        "an address outside of every allocation is read or written",
        _FAULT,
        "compute-sanitizer names the line and the thread. " + TRACE,
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "CUDA driver"),
        level="wrong",
    ),
    known(
        "cuda.address-space",
        r"operation not supported on global/shared address space|(?:cudaError|CUDA_ERROR_)(?:InvalidAddressSpace|INVALID_ADDRESS_SPACE)"
        r"|error code: 717\b|Warp Invalid Address ?[Ss]pace" + _codes(717, 75),
        "an instruction for one memory space got an address of another",
        "ldmatrix, cp.async, TMA and mbarrier instructions take shared addresses: a pointer made from an integer, or tagged as "
        "another space than it points to, faults so.",
        "Look at where the pointer is made: AddressSpace.smem in make_ptr, cute::make_smem_ptr in C++. "
        + TRACE,
        ("CUDA error: operation not supported on global/shared address space", "CUDA driver, error 717"),
        level="wrong",
        rule="LC104",
    ),
    known(
        "cuda.earlier-fault",
        r"(?:TMA descriptor|tensor map:?|TensorMap|cuTensorMapEncode\w+|cudaMalloc\w*|cudaMemcpy\w*|cudaFree\w*|cuModuleLoad\w*|cudaStreamSynchronize"
        r"|cudaDeviceSynchronize)[^\n]{0,40}?[ :=(](?:error ?(?:code)?:? ?)?(?P<code>700|715|716|717|718|719)\b",
        "an earlier kernel has faulted; this call only reports it (error {code})",
        "After a fault in a kernel every later call of the context returns the fault's code: 700 an illegal address, 715 an illegal "
        "instruction, 716 a misaligned address, 717 another address space, 718 an invalid program counter, 719 a launch failure "
        "(CUDA driver API, CUresult).",
        "Find the kernel that faults: run with CUDA_LAUNCH_BLOCKING=1 or under compute-sanitizer. " + TRACE,
        ("Exception: Failed to encode tensor map: 700", issue(6590, "sgl-project/sglang")),
        (
            "Error: Failed to initialize the TMA descriptor 715 TMA Desc Addr: 0xfffffce54f80",
            issue(13961, "vllm-project/vllm"),
        ),
        level="wrong",
        instead_of=("driver.tensor-map",),
    ),
    known(
        "driver.xid",
        r"\bXid\b[^\n]{0,40}?: (?P<code>[0-9]{1,3})\b",
        "the driver logs Xid {code}: a fault on the GPU",
        "13 (graphics exception) and 31 (MMU fault) are a kernel's own fault: an illegal instruction or an address outside of every "
        "allocation. 43 and 45 follow from such a fault. 48, 63, 64, 79, 94 and 95 are of the hardware (NVIDIA, GPU debug guide, Xid errors).",
        "For 13 and 31 find the kernel under compute-sanitizer or with CUDA_LAUNCH_BLOCKING=1. " + TRACE,
        (
            "NVRM: Xid (PCI:0000:70:00): 13, Graphics SM Warp Exception on (GPC 1, TPC 1, SM 1): MMU Fault",
            issue(15610, "NVIDIA/TensorRT-LLM"),
        ),
        level="wrong",
    ),
    known(
        "cuda.assert",
        r"device-side assert triggered|cudaErrorAssert|CUDA_ERROR_ASSERT|error code: 710\b" + _codes(710, 59),
        "an assert in a kernel failed",
        "Its text is printed above, with block and thread: in CuTe often a size or an index (idx < size, rank).",
        "Read the assertion's own line; without it run with CUDA_LAUNCH_BLOCKING=1",
        ("RuntimeError: CUDA error: device-side assert triggered", "PyTorch"),
        level="wrong",
    ),
    known(
        "cuda.no-function",
        r"invalid device function|cudaErrorInvalidDeviceFunction|named symbol not found|CUDA_ERROR_NOT_FOUND|cudaErrorSymbolNotFound"
        r"|device kernel image is invalid|CUDA_ERROR_INVALID_IMAGE|CUDA_ERROR_INVALID_PTX|a PTX JIT compilation failed|cudaErrorInvalidPtx"
        + _codes(98, 200, 218, 500),
        "the loaded code has no kernel for this GPU, or not under this name",
        "The code was built for another architecture (sm_90a runs on sm_90 only, sm_100a not on sm_120), or its PTX does not "
        "assemble for this GPU.",
        "`cuobjdump --list-elf FILE` names the architectures in a library. Build for this GPU: CUTE_DSL_ARCH, TORCH_CUDA_ARCH_LIST or -gencode",
        ("CUDA error: invalid device function", "CUDA runtime"),
        ("CUDA_ERROR_INVALID_PTX", issue(6583, "jax-ml/jax")),
        level=ELSEWHERE,
    ),
    known(
        "cuda.cluster-gone",
        r"[Cc]luster target block not present|CLUSTER_(?:BLOCK|TARGET)\w*_NOT_PRESENT|Cga Exception|CTA Not Present",
        "a block accesses another block of its cluster that has ended",
        "Distributed shared memory, a remote mbarrier arrival or a multicast reaches a block that returned already: the "
        "cluster is synchronised at the kernel's start and not at its end.",
        "Let all blocks of the cluster arrive and wait (cluster_arrive, cluster_wait) before any returns. "
        + TRACE
        + "; LC229 names copies to blocks that do not exist",
        ("CUDBG_EXCEPTION_CLUSTER_BLOCK_NOT_PRESENT", issue(32907, "sgl-project/sglang")),
        level="wrong",
        rule="LC229",
    ),
    known(
        "cuda.shared-attribute",
        r"cudaFuncSetAttribute\(.{0,300}MaxDynamicSharedMemorySize.{0,120}(?:InvalidValue|invalid argument)"
        r"|(?:CUDA error: )?invalid argument.{0,100}cudaFuncSetAttribute"
        r"|RT call .cudaFuncSetAttribute.{0,300}MaxDynamicSharedMemorySize",
        "the kernel asks for more dynamic shared memory than the GPU allows a block",
        "A block has at most 64 KiB (sm_75), 99 KiB (sm_86, sm_89, sm_120), 163 KiB (sm_80) or 227 KiB (sm_90, sm_100), "
        "less what is static (CUDA C++ Programming Guide, compute capabilities).",
        "Use fewer stages or a smaller tile, or compile for the GPU at hand: libraries choose tiles by architecture",
        (
            "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_size): cudaErrorInvalidValue",
            issue(3528, "flashinfer-ai/flashinfer"),
        ),
    ),
    known(
        "cuda.launch-failure",
        r"unspecified launch failure|CUDA_ERROR_LAUNCH_FAILED|cudaErrorLaunchFailure|error code: 71[89]\b"
        r"|Warp Invalid PC|CUDA_ERROR_INVALID_PC|cudaErrorInvalidPc|invalid program counter|[Hh]ardware stack error"
        + _codes(719, 718, 4),
        "the kernel died for a reason that the driver does not name",
        "Copies to another block of a cluster that does not exist or has ended (LC229), faults inside TMA, and misuse of an "
        "mbarrier end so: an arrival on one that was not initialised (mbarrier_init_tx_bytes arrives, it does not "
        "initialise; NVIDIA/cutlass#2364).",
        "compute-sanitizer names the instruction. " + TRACE,
        ("CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure", issue(2364)),
        level="wrong",
    ),
    known(
        "cuda.shared-capacity",
        r"uses too much shared data \((?P<have>0x[0-9a-f]+) bytes(?: \+ 0x[0-9a-f]+ bytes system)?, (?P<most>(?!0xc000 )0x[0-9a-f]+) max\)"
        r"|out of resource: shared memory,? ?Required: (?P<needed>[0-9]+),? ?Hardware limit: (?P<limit>[0-9]+)"
        r"|dynamic_smem_exceeds_limit|dynamic_smem_bytes|[Ss]hared memory (?:usage|size)[^.\n]{0,80}exceed"
        r"|smem[^.\n]{0,60}exceeds|requires [0-9]+ bytes (?:of )?shared memory",
        "the kernel needs more shared memory than a block may have",
        "A block has at most 99 KiB (sm_86, sm_89, sm_120), 163 KiB (sm_80) or 227 KiB (sm_90, sm_100) of shared memory, "
        "static and dynamic together (CUDA C++ Programming Guide, compute capabilities).",
        "Use fewer stages or a smaller tile, or reuse one buffer for load and epilogue; cute's SmemAllocator counts the "
        "bytes: kernel.smem_usage()",
        (
            "ptxas error : Entry function 'kernel' uses too much shared data (0x2ab44 bytes, 0x29000 max)",
            "https://github.com/apache/tvm/pull/17267",
        ),
    ),
    known(
        "cuda.invalid-launch",
        r"cudaErrorInvalidValue|CUDA_ERROR_INVALID_VALUE|cudaErrorInvalidConfiguration|CUDA error: invalid (?:argument|configuration)"
        r"|cudaErrorLaunchOutOfResources|too many resources requested for launch|error code: 1\b"
        r"|(?:[Cc][Uu][Dd][Aa]|Triton|GPU|[Kk]ernels?|[Ll]aunch|\.cuh?\b)[^\n]{0,120}?\binvalid argument|\binvalid argument[^\n]{0,80}(?:cuda|\.cuh?\b|kernel)"
        r"|invalid configuration argument"
        r"|(?:CUDA_ERROR|cudaError)_?(?:INVALID_CLUSTER_SIZE|InvalidClusterSize)|invalid cluster size"
        r"|\.cuh?:[0-9]+\W{1,4}invalid argument" + _codes(1, 9, 701),
        "the launch, or another call of CUDA, is refused for its arguments",
        "Of a launch, most often the block's shared memory exceeds the limit (NVIDIA/cutlass#2747); else a block of more than 1,024 "
        "threads, a grid with an extent of 0 or above 65,535 in y or z, a cluster that does not divide the grid, or too "
        "many registers a thread.",
        "Print the launch's grid, block, cluster and smem. `layoutcheck trace --no-launch SCRIPT` lists each kernel's",
        ("CUDA Error: cudaErrorInvalidValue", issue(2747)),
        ("CUDA_ERROR_INVALID_VALUE (invalid argument)", issue(143, "NVIDIA/numba-cuda-mlir")),
    ),
    known(
        "ptxas.barrier",
        r"Number of threads participating in barrier[^\n]{0,60}|Barrier number '?(?P<number>[0-9]+)'? out of range",
        "a named barrier has another number {number} or count of threads than the hardware has",
        "A block has the barriers 0 to 15, and whole warps arrive at them: the count is a multiple of 32 (PTX ISA, bar.sync).",
        "Use identifiers below 16 (0 is __syncthreads), and count the threads of the warps that arrive",
        ("ptxas fatal: Barrier number '20' out of range, expected to be in range [0..15]", "ptxas"),
        ("ptxas error: Number of threads participating in barrier must be in multiple of warp size", "ptxas"),
        instead_of=("ptxas.other",),
    ),
    known(
        "ptxas.target",
        r"(?:Instruction|Feature|Modifier) '(?P<what>[^']{1,80})' not supported on \.target '(?P<arch>sm_\w+)'",
        "{arch} does not have {what}",
        "The instruction belongs to another architecture, or to the accelerated form of this one: wgmma exists for sm_90a only; "
        "tcgen05 for sm_100a, sm_101a, sm_103a and sm_110a; block-scaled mma.sync for sm_120a and sm_121a; setmaxnreg and "
        "tensormap.replace for sm_90a and the forms with a of later ones (PTX ISA, target notes of each instruction).",
        "If the GPU's family has it, name the target with its suffix a (CUTE_DSL_ARCH, or -gencode arch=compute_120a,code=sm_120a). "
        "Else leave the file out of this target's build: one kernel source serves one family",
        (
            "ptxas /tmp/x.ptx, line 20; error : Instruction 'wgmma.fence' not supported on .target 'sm_90'",
            "ptxas",
        ),
        (
            "ptxas /tmp/tmpxft_000793eb_00000000-6_ds4_mmq.ptx, line 283031; error   : Instruction 'mma with block scale' "
            "not supported on .target 'sm_120'",
            issue(672, "antirez/ds4"),
        ),
        rule="LC108",
    ),
    known(
        "ptxas.target-too-old",
        r"(?:Instruction|Feature|Modifier) '(?P<what>[^']{1,80})' requires \.target '?(?P<arch>sm_\w+)'?"
        r"|not supported on \.target|cannot be compiled to .{0,40}sm_\w+",
        "the target is older than {what}, which begins with {arch}",
        "The build names an architecture that does not have the instruction: often the default of nvcc or of a list of "
        "architectures.",
        "Name the GPU's own architecture (CUTE_DSL_ARCH, TORCH_CUDA_ARCH_LIST, -gencode), or guard the code by __CUDA_ARCH__",
        (
            "ptxas /tmp/a.compute_60.ptx, line 206889; error   : Feature 'cp.async' requires .target sm_80 or higher",
            issue(1620, "ModelCloud/GPTQModel"),
        ),
        rule="LC108",
    ),
    known(
        "compiler.cannot-select",
        r"LLVM ERROR: Cannot select: (?:intrinsic )?%?(?:llvm\.nvvm\.)?(?P<what>[\w.]{1,80})",
        "the target does not have {what}",
        "LLVM finds no instruction of the target architecture for this operation. It is compiled for another architecture "
        "than the one that has it, or without the suffix a.",
        "Set the target of the GPU, with its suffix: CUTE_DSL_ARCH=sm_100a for tcgen05",
        (
            "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.tcgen05.dealloc.cg1",
            issue(22147, "iree-org/iree"),
        ),
        rule="LC108",
    ),
    known(
        "ptxas.version",
        r"(?P<what>(?:Instruction|Feature|Modifier) '[^']{1,80}' requires PTX ISA \.version [0-9.]+[0-9]"
        r"|Unsupported \.version [0-9.]+[0-9]; current version is '[0-9.]+'|ptxas does not support CC [0-9.]+[0-9]|Value '(?:sm|compute)_\w+' is not defined for option '[\w-]+')",
        "compiler and ptxas are of different CUDA versions: {what}",
        "The PTX states one version of the PTX ISA. ptxas (or the driver) knows older ones only, or the instruction is newer.",
        "Use the ptxas of the toolkit that made the PTX, or a newer one: `ptxas --version`, and `nvidia-smi` for the driver's",
        (
            "ptxas /tmp/tempfile-8bf0, line 303; error   : Feature 'WGMMA' requires PTX ISA .version 8.0 or later",
            issue(6523, "openxla/xla"),
        ),
        ("ptxas fatal   : Unsupported .version 8.7; current version is '8.4'", "ptxas"),
        level=ELSEWHERE,
    ),
    known(
        "ptxas.static-shared",
        r"uses too much shared data \((?P<have>0x[0-9a-f]+) bytes(?: \+ 0x[0-9a-f]+ bytes system)?, (?P<most>0xc000) max\)",
        "the kernel declares more than 48 KiB of static shared memory",
        "Arrays declared __shared__ with fixed extents are static, and static shared memory ends at 48 KiB on every GPU; what "
        "is beyond is dynamic (CUDA C++ Programming Guide, compute capabilities).",
        "Declare the buffer extern __shared__ and raise the limit with cudaFuncSetAttribute(kernel, "
        "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), or use a smaller tile. What cute's SmemAllocator allocates is dynamic",
        (
            "ptxas error : Entry function 'kernel' uses too much shared data (0x1c400 bytes, 0xc000 max)",
            "ptxas",
        ),
    ),
    known(
        "ptxas.registers",
        r"Register allocation failed with register count of '(?P<count>[0-9]+)'|(?P<spilled>[0-9]+) bytes spill stores"
        r"|Registers are spilled to local memory",
        "the kernel needs more registers than a thread may have",
        "Accumulators and fragments fill the register file: 255 registers a thread, 65,536 a multiprocessor, less where "
        "__launch_bounds__ or setmaxnreg leaves fewer.",
        "`layoutcheck resources` counts the registers that a tile needs. Use a smaller tile, more warps for one tile, or a "
        "higher setmaxnreg for the warps that compute",
        (
            "ptxas error   : (C7600) Register allocation failed with register count of '168'. Compile the program with a "
            "higher register target",
            "ptxas",
        ),
        level="slow",
    ),
    known(
        "ptxas.syntax",
        r"(?P<space>State space (?:incorrect|mismatch)[^\n]{0,60}? instruction '[^']+')"
        r"|(?P<form>(?:Arguments|Operands?|Modifiers?|Types?|Illegal|Unexpected|Unknown|Incorrect|Vector)\b[^\n]{0,60}? (?:for|in|to|of) (?:instruction|modifier|operand) '[^']+')"
        r"|Parsing error near '(?P<near>[^']{1,80})'|ptxas[^|]{0,120}(?P<said>Modifier '[^']+' cannot be applied[^\n]{0,80}"
        r"|[Uu]nexpected value '[^']+', expected[^\n]{0,60}|Unknown (?:symbol|modifier) '[^']+'|Arguments mismatch for instruction '[^']+')",
        "ptxas refuses the PTX: {said}{near}{space}{form}",
        "The compiler or inline PTX wrote an instruction in a form that this ptxas does not have: a width that the "
        "instruction lacks (cp.async.cg moves 16 bytes only), a state space, or a newer PTX version (.shared::cta as the "
        "destination of cp.async.bulk begins with PTX 8.6).",
        "Choose a width and a memory space that the instruction has (`layoutcheck explain SRC DST --atom ATOM`), or match "
        "the versions of compiler and ptxas",
        (
            "ptxas application ptx input, line 47; fatal : Parsing error near '.nvvm': syntax error",
            issue(3573),
        ),
    ),
    known(
        "ptxas.performance-loss",
        r"Potential Performance Loss: (?P<said>[^\n]{1,200}?)(?= in (?:the )?function|$|\.(?: |$))",
        "ptxas gives up an optimisation: {said}",
        "wgmma is serialised where ptxas cannot see all registers of an accumulator: a call that is not inlined, an "
        "accumulator touched between wgmma and its wait, or a branch around it. setmaxnreg is ignored beside such calls.",
        "Inline the function (device code in the same file), and touch accumulators only behind wgmma.wait_group",
        (
            "(C7504) Potential Performance Loss: 'setmaxnreg' ignored to maintain compatibility into 'extern' call",
            issue(2452),
        ),
        level="slow",
        rule="LC511",
    ),
    known(
        "driver.tensor-map",
        r"Failed to initialize the TMA descriptor|cuTensorMapEncode\w+|boxDim\[[0-9]\] ?\* ?elementSize|TMA Desc Addr|Invalid TMA descriptor",
        "the driver refuses the tensor map of a TMA copy",
        "cuTensorMapEncodeTiled wants an address and strides that are multiples of 16 bytes, box extents of 1 to 256, "
        "boxDim[0] x element size a multiple of 16 bytes and at most the swizzle's span, and a tensor that is not empty "
        "(CUDA driver API).",
        "`layoutcheck explain GMEM SMEM --atom tma_load` checks every field of the tensor map that the DSL would write",
        ("Error: Failed to initialize the TMA descriptor 1", issue(947)),
        ("boxDim[0] * elementSizeInBytes must be a multiple of 16 bytes", "CUDA driver API"),
        rule="LC240",
    ),
    known(
        "sanitizer.misaligned",
        r"Invalid __(?P<space>\w+)__ (?P<access>read|write|\?) of size (?P<size>[0-9]+)(?: bytes)?(?:(?!Invalid __).){0,600}?"
        r"(?:Address|Access (?:to|at)) (?P<address>0x[0-9a-f]+) is misaligned",
        "a {size} B {access} of {space} memory at {address}, which is not a multiple of {size}",
        "One instruction of {size} bytes needs an address that is a multiple of {size}. The type promised it; the base, "
        "the pitch or an offset does not keep it.",
        TRACE
        + "; LC202 names the stride or base. Then align it, pad the pitch to {size} B, or copy narrower",
        (
            "========= Invalid __shared__ read of size 16 bytes\n=========     at matrixMul+0x7120 in "
            "/home/u/pipeline_gemm.cu:94\n=========     by thread (0,4,0) in block (0,0,0)\n=========     Address "
            "0x10a8 is misaligned",
            issue(11, "AyakaGEMM/Hands-on-GEMM"),
        ),
        level="wrong",
        rule="LC202",
    ),
    known(
        "sanitizer.out-of-bounds",
        r"Invalid __(?P<space>\w+)__ (?P<access>read|write|\?) of size (?P<size>[0-9]+)(?: bytes)?(?:(?!Invalid __).){0,600}?"
        r"(?:Address|Access (?:to|at)) (?P<address>0x[0-9a-f]+) is out of bounds",
        "a {size} B {access} of {space} memory at {address}, outside of the allocation",
        "In shared memory the tile, a stage index or a swizzled address leaves the block's allocation; in global memory a "
        "tail tile has no predicate, or one for the wrong mode. memcheck sees no write into a neighbour of the same "
        "block. For wgmma operands some versions report the size of four warps (compute-sanitizer-samples#19).",
        "Predicate the tail tile by an identity tensor, or allocate cosize(layout) elements. " + TRACE,
        (
            "========= Invalid __shared__ read of size 16 bytes\n=========     at cp_async_bulk_cp_mask in "
            "cp_async_bulk.h:236\n=========     by thread (128,0,0) in block (0,0,0)\n=========     Address 0x400 is out "
            "of bounds",
            issue(8288, "NVIDIA/cccl"),
        ),
        level="wrong",
    ),
    known(
        "sanitizer.invalid-access",
        r"Invalid __(?P<space>\w+)__ (?P<access>read|write|atomic|\?) of size (?P<size>[0-9]+)",
        "a {size} B {access} of {space} memory that is not valid",
        _FAULT,
        TRACE,
        ("========= Invalid __global__ write of size 4 bytes", SANITIZER),
        level="wrong",
        general=True,
    ),
    known(
        "sanitizer.shared-range",
        r"Out-of-range shared or local address",
        "an address outside of the block's shared memory is used",
        "The kernel was launched with less dynamic shared memory than it uses, or an offset (a stage index, a barrier's "
        "slot) leaves the allocation.",
        "Compare the launch's shared memory with the storage's size. " + TRACE,
        (
            "========= Out-of-range shared or local address ========= at cutlass::arch::ClusterBarrier::init",
            issue(1247),
        ),
        level="wrong",
    ),
    known(
        "sanitizer.shared-misaligned",
        r"Misaligned shared or local address",
        "a shared-memory instruction's address is not a multiple of its width",
        "ldmatrix and 16-byte accesses need multiples of 16, TMA of 128, a swizzled tile of its period; the allocation is "
        "placed behind something of another size.",
        "Align the allocation (byte_alignment, alignas) to what the copy needs. "
        + TRACE
        + "; LC230 names it",
        ("========= Misaligned shared or local address", issue(2906)),
        level="wrong",
        rule="LC230",
    ),
    known(
        "sanitizer.race",
        r"(?:Potential )?(?P<kind>RAW|WAR|WAW) hazards? detected|RACECHECK SUMMARY: (?!0 )[0-9]+ hazards?|Race reported between (?P<first>\w+) access",
        "two threads access the same shared memory without a barrier or wait between them",
        "racecheck saw the accesses in one run. Data of cp.async is there after cp_async_wait_group and a barrier; data of "
        "TMA after the wait on its mbarrier. racecheck alarms on some right kernels with cp.async.bulk "
        "(Dao-AILab/flash-attention#2462), and sees no missing proxy fence.",
        "Put the wait and the barrier between the two lines. " + TRACE,
        (
            "========= Error: Race reported between Write access at k+0x1d0 and Read access at k+0x200",
            SANITIZER,
        ),
        ("========= Warning: Potential RAW hazard detected at __shared__ 0x0 in block (0,0,0)", SANITIZER),
        level="wrong",
    ),
    known(
        "sanitizer.barrier",
        r"Barrier error detected\. (?P<said>[\w() ]{1,80})",
        "a barrier is not reached by the threads that it waits for: {said}",
        "bar.sync waits for a number of threads; a branch or an early return keeps some of them away, or a named barrier "
        "has another count than its users. 'Missing wait': a phase of an mbarrier completes and no thread waits for it.",
        "Move the barrier out of the branch, give the named barrier the number of threads that reach it, or wait for the "
        "phase before the next arrival. " + TRACE,
        ("========= Barrier error detected. Divergent thread(s) in block", SANITIZER),
        ("========= Barrier error detected. Missing wait", issue(3643)),
        level="wrong",
    ),
    known(
        "sanitizer.uninitialized",
        r"Uninitialized __(?P<space>\w+)__ memory read of size (?P<size>[0-9]+)",
        "{size} B of {space} memory are read that nothing wrote",
        "A copy leaves elements out (LC208: a tile that the threads do not cover), a predicate is too strict, or the data "
        "is read before the copy is complete.",
        TRACE,
        ("========= Uninitialized __global__ memory read of size 4 bytes", SANITIZER),
        level="wrong",
        rule="LC208",
    ),
    known(
        "ncu.bank-conflicts",
        r"shared (?:loads?|stores?) might not be optimal and causes on average a (?P<ways>[0-9.]+) ?- ?way bank"
        r"|shared (?:loads?|stores?) might not be optimal|[0-9.]+ ?- ?way bank conflict|[0-9]+ bank conflicts",
        "shared-memory accesses are split by bank conflicts{ways}",
        "Threads of one access reach different rows of the same bank. Nsight counts the sum over the kernel, not the copy.",
        "`layoutcheck banks LAYOUT --access ACCESS` counts each access of a tile; LC301 and LC305 propose a swizzle or "
        "padding; `layoutcheck trace --banks SCRIPT` names the lines",
        (
            "The memory access pattern for shared loads might not be optimal and causes on average a 4.0 - way bank "
            "conflict across all 8192 shared load requests.",
            NCU,
        ),
        level="slow",
        rule="LC301",
    ),
    known(
        "ncu.uncoalesced",
        r"uncoalesced global accesses resulting in a total of (?P<excess>[0-9]+) excessive sectors|memory access pattern for global "
        r"(?:loads?|stores?)[^.]{0,60}might not be optimal"
        r"|memory access pattern for (?:loads|stores) from L1TEX to L2 is not optimal|bytes transmitted per sector are utilized",
        "global accesses use part of the sectors that they fetch",
        "A sector is 32 bytes. Neighbouring threads read addresses that are further apart than their width.",
        "Give neighbouring threads neighbouring vectors (thread layout along the contiguous mode); LC302 names the stride",
        (
            "This kernel has uncoalesced global accesses resulting in a total of 7340032 excessive sectors (88% of the "
            "total 8388608 sectors).",
            NCU,
        ),
        level="slow",
        rule="LC302",
    ),
    known(
        "ncu.uncoalesced-shared",
        r"uncoalesced shared accesses resulting in a total of (?P<excess>[0-9,]+) excessive wavefronts"
        r"|l1tex__data_bank_conflicts_pipe_lsu_mem_shared\w*",
        "shared-memory accesses take {excess} more wavefronts than their bytes need",
        "A wavefront serves 32 banks of 4 bytes. Accesses whose threads meet in one bank are split.",
        "`layoutcheck trace --banks SCRIPT` names the lines with their wavefronts; LC301 and LC305 propose a swizzle or padding",
        (
            "This kernel has uncoalesced shared accesses resulting in a total of 1048576 excessive wavefronts (75% of the "
            "total 1398101 wavefronts).",
            NCU,
        ),
        level="slow",
        rule="LC301",
    ),
    known(
        "ncu.occupancy",
        r"(?:theoretical occupancy \((?P<occupancy>[0-9.]+)%\)|[Oo]ccupancy)[^\n]{0,80} limited by (?:the )?(?:number of )?(?:required )?(?:amount of )?(?P<what>[\w ]{3,40}?)(?= and |\.|,|$)",
        "occupancy is limited by {what}",
        "Registers, shared memory and barriers of the blocks on a multiprocessor are finite; the tile and its stages decide them.",
        "`layoutcheck resources` counts what a tile shape needs, and how many blocks fit. Kernels of wgmma and tcgen05 run well with one block",
        (
            "This kernel's theoretical occupancy (25.0%) is limited by the required amount of shared memory.",
            NCU,
        ),
        level="slow",
    ),
    known(
        "kernel-hangs",
        r"(?:Timeout|timed out)[^\n]{0,80}(?:kernel|mbarrier|barrier|synchroniz)|kernel (?:hangs?|never returns|deadlock)"
        r"|(?:mbarrier|barrier)[^\n]{0,40}(?:time(?:d )?out|deadlock)|cudaErrorLaunchTimeout|CUDA_ERROR_LAUNCH_TIMEOUT|launch timed out",
        "the kernel never returns",
        "A wait is for something that never comes: transaction bytes that differ from what TMA delivers, an arrival count "
        "that too few threads reach, a phase that has passed, a barrier under divergence, or a TMA copy issued by no thread.",
        "LC220 and LC236 compare the bytes of an mbarrier with the copy's. " + TRACE,
        ("TimeoutError: kernel did not finish: timed out waiting for mbarrier", "test harnesses"),
        level="wrong",
        general=True,
    ),
    known(
        "cuda.other",
        r"(?P<said>CUDA_ERROR_[A-Z_]+|cudaError(?!_t\b|String)[A-Z]\w+|invalid resource handle|invalid device (?:pointer|symbol|ordinal)|unknown error \(999\)"
        r"|peer access (?:is not|has)[^\n]{0,60}|driver shutting down|context is destroyed|invalid texture reference|API call is not supported"
        r"|CUDA (?:runtime |driver )?[Ee]rror: [^\n]{3,80}?(?= CUDA kernel| Search| at |$|\.))",
        "the CUDA driver reports {said}",
        "An earlier kernel or the call itself fails; CUDA reports errors of kernels at a later call.",
        "Run again with CUDA_LAUNCH_BLOCKING=1, and under compute-sanitizer, to find the kernel. " + TRACE,
        ("CUDA_ERROR_MAP_FAILED", "CUDA driver API, CUresult"),
        level="wrong",
        general=True,
    ),
    known(
        "ptxas.other",
        r"ptxas[^|]{0,160}?(?:error|fatal) ?: (?P<said>(?!Ptx assembly aborted)[^\n]{3,160}?)(?= ptxas |$)",
        "ptxas refuses the kernel: {said}",
        "ptxas does not accept the PTX that the compiler or inline assembly wrote.",
        "Look the instruction up in the PTX ISA for this target. "
        "`layoutcheck explain SRC DST --atom ATOM` says which forms a copy has",
        ("ptxas error : Illegal vector size: 8", "ptxas"),
        general=True,
    ),
    known(
        "ptxas.warning",
        r"ptxas (?:/\S+, line [0-9]+; )?(?:warning|info) ?: (?!Compiling|Used|Function properties|[0-9]+ bytes|\(C7|Potential Performance)(?P<said>[^\n]{5,160}?(?= for entry| ptxas |$|\. )|[^\n]{5,160})",
        "ptxas warns: {said}",
        "The kernel is compiled. What ptxas ignored or could not do changes its speed, rarely its result.",
        "`layoutcheck resources` counts registers, shared memory and blocks of a tile; minnctapersm and launch bounds must fit them",
        (
            "ptxas warning : Value of threads per SM for entry k is out of range. .minnctapersm will be ignored",
            issue(265, "torch/cunn"),
        ),
        level="slow",
        general=True,
    ),
    known(
        "results-differ",
        r"Tensor-likes are not (?:close|equal)|Disposition: Failed|Mismatched elements: [0-9]+ ?/ ?[0-9]+|Not equal to tolerance|max_(?:abs_)?(?:error|diff)[ =:]+(?:nan|inf)",
        "the kernel's result differs from the reference",
        "Either the arithmetic rounds by more than the tolerance, or data is moved to the wrong place or read too early: then whole "
        "rows, vectors or tiles differ.",
        TRACE
        + ", and the order of its accesses; `layoutcheck numerics tol` gives the tolerance that the arithmetic allows",
        ("AssertionError: Tensor-likes are not close! Mismatched elements: 512 / 16384 (3.1%)", "PyTorch"),
        level="wrong",
        general=True,
    ),
    known(
        "sanitizer.other",
        r"={9} (?:Error: |Warning: )?(?P<said>(?!COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK SUMMARY|Saved host|Host Frame|Program hit|Invalid __)[A-Z][^=\n]{5,120}?)(?= ={9}|$)",
        "compute-sanitizer reports: {said}",
        "The tool saw it in one run; the line is behind 'at', the thread behind 'by'.",
        TRACE,
        ("========= Stack overflow", SANITIZER),
        level="wrong",
        general=True,
    ),
)
