"""What the driver, ptxas, compute-sanitizer and Nsight Compute say of a kernel that is launched."""

from __future__ import annotations

from layoutcheck.catalogue.entry import TRACE, issue, known

SANITIZER = "compute-sanitizer 2025.3"
NCU = "Nsight Compute 2025"
_FAULT = (
    "A copy reads or writes where it must not: a promise of alignment that the tensor does not keep, a tail without "
    "predicates, a swizzled tile on a base that its period does not divide, or an offset beyond 32 bits."
)

ENTRIES = (
    known(
        "cuda.misaligned-address",
        r"misaligned address|CUDA_ERROR_MISALIGNED_ADDRESS|cudaErrorMisalignedAddress|error code: 716\b"
        r"|Warp Misaligned Address",
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
        r"|Warp Illegal Instruction",
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
        r"|Warp Illegal Address|Warp Out-of-range Address|EXCEPTION_(?:WARP|LANE)_(?:ILLEGAL|OUT_OF_RANGE)_ADDRESS",
        "an address outside of every allocation is read or written",
        _FAULT,
        "compute-sanitizer names the line and the thread. " + TRACE,
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "CUDA driver"),
        level="wrong",
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
        r"unspecified launch failure|CUDA_ERROR_LAUNCH_FAILED|cudaErrorLaunchFailure|error code: 719\b",
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
        r"uses too much shared data \((?P<have>0x[0-9a-f]+) bytes(?: \+ 0x[0-9a-f]+ bytes system)?, (?P<most>0x[0-9a-f]+) max\)"
        r"|dynamic_smem_exceeds_limit|dynamic_smem_bytes|[Ss]hared memory (?:usage|size)[^.\n]{0,80}exceed"
        r"|smem[^.\n]{0,60}exceeds|requires [0-9]+ bytes (?:of )?shared memory",
        "the kernel needs more shared memory than a block may have",
        "A block has at most 99 KiB (sm_86, sm_89, sm_120), 163 KiB (sm_80) or 227 KiB (sm_90, sm_100) of shared memory, "
        "static and dynamic together (CUDA C++ Programming Guide, compute capabilities).",
        "Use fewer stages or a smaller tile, or reuse one buffer for load and epilogue; cute's SmemAllocator counts the "
        "bytes: kernel.smem_usage()",
        (
            "ptxas error : Entry function 'kernel' uses too much shared data (0x1c400 bytes, 0xc000 max)",
            "ptxas",
        ),
    ),
    known(
        "cuda.invalid-launch",
        r"cudaErrorInvalidValue|CUDA_ERROR_INVALID_VALUE|cudaErrorInvalidConfiguration|CUDA error: invalid (?:argument|configuration)"
        r"|cudaErrorLaunchOutOfResources|too many resources requested for launch|error code: 1\b"
        r"|\.cuh?:[0-9]+\W{1,4}invalid argument",
        "the launch itself is refused",
        "Most often the block's shared memory exceeds the limit (NVIDIA/cutlass#2747); else a block of more than 1,024 "
        "threads, a grid with an extent of 0 or above 65,535 in y or z, a cluster that does not divide the grid, or too "
        "many registers a thread.",
        "Print the launch's grid, block, cluster and smem. `layoutcheck trace --no-launch SCRIPT` lists each kernel's",
        ("CUDA Error: cudaErrorInvalidValue", issue(2747)),
        ("CUDA_ERROR_INVALID_VALUE (invalid argument)", issue(143, "NVIDIA/numba-cuda-mlir")),
    ),
    known(
        "ptxas.target",
        r"(?:Instruction|Feature|Modifier) '?(?P<what>[\w.:]+)'? (?:not supported on|requires) \.?target ?'?(?P<arch>sm_\w+)'?"
        r"|not supported on \.target|cannot be compiled to .{0,40}sm_\w+",
        "ptxas does not know this instruction for the target",
        "The instruction belongs to another architecture, or to the architecture's accelerated form: sm_90a, not sm_90.",
        "Set CUTE_DSL_ARCH (or -gencode) to the GPU's own target with its suffix a",
        (
            "ptxas /tmp/x.ptx, line 20; error : Instruction 'wgmma.fence' not supported on .target 'sm_90'",
            "ptxas",
        ),
        rule="LC108",
    ),
    known(
        "ptxas.syntax",
        r"Parsing error near '(?P<near>[^']{1,80})'|ptxas[^|]{0,120}(?P<said>Modifier '[^']+' cannot be applied[^\n]{0,80}"
        r"|[Uu]nexpected value '[^']+', expected[^\n]{0,60}|Unknown (?:symbol|modifier) '[^']+'|Arguments mismatch for instruction '[^']+')",
        "ptxas refuses the PTX: {said}{near}",
        "The compiler or inline PTX wrote an instruction in a form that this ptxas does not have: a width that the "
        "instruction lacks (cp.async.cg moves 16 bytes only), a state space, or a newer PTX version.",
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
        r"Address (?P<address>0x[0-9a-f]+) is misaligned",
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
        r"Address (?P<address>0x[0-9a-f]+) is out of bounds",
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
        r"(?:Potential )?(?P<kind>RAW|WAR|WAW) hazard detected|Race reported between (?P<first>\w+) access",
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
        r"(?:loads?|stores?)[^.]{0,60}might not be optimal",
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
        "kernel-hangs",
        r"(?:Timeout|timed out)[^\n]{0,80}(?:kernel|mbarrier|barrier|synchroniz)|kernel (?:hangs?|never returns|deadlock)",
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
        r"(?P<said>CUDA_ERROR_[A-Z_]+|cudaError[A-Z]\w+|CUDA (?:runtime |driver )?[Ee]rror: [^\n]{3,80}?(?= CUDA kernel| Search| at |$|\.))",
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
