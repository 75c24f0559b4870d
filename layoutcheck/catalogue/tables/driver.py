"""What the CUDA driver and run time say of a kernel that is launched."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, TRACE, issue, known
from layoutcheck.catalogue.tables.cuda_codes import codes

FAULT = (
    "A kernel used an index beyond a tensor, memory that was freed or never allocated, or a pointer of the host; the call that reports it came later. "
    "A CuTe copy reads or writes where it must not: a promise of alignment that the tensor does not keep, a tail without "
    "predicates, a swizzled tile on a base that its period does not divide, or an offset beyond 32 bits."
)


def _codes(*numbers: int) -> str:
    return "|" + codes(*numbers)


ENTRIES = (
    known(
        "cuda.misaligned-address",
        r"(?i)misaligned address|address misaligned|CUDA_ERROR_MISALIGNED_ADDRESS|cudaErrorMisalignedAddress|error code: 716\b"
        r"|Warp Misaligned Address|EXCEPTION_WARP_MISALIGNED\w*" + _codes(716, 74),
        "an instruction's address is not a multiple of its width",
        "A vector access (8 or 16 bytes) got a sliced or offset tensor, or a pitch (leading dimension) that is not a multiple of 16 bytes. "
        "In CuTe the type promised an alignment (assumed_align, divisibility, byte_alignment) that the run-time address does not have. A kernel of CUTLASS has it as a template argument (AlignmentA, kAlignment): an odd M, N or K of 16-bit elements fits an alignment of 1 alone.",
        TRACE
        + "; LC202 and LC230 name the promise that is not kept. Then align the tensor, or copy narrower",
        ("RuntimeError: CUDA error: misaligned address", issue(2968)),
        level="wrong",
        rule="LC202",
        instead_of=("cpp.launch-refused",),
    ),
    known(
        "cuda.lane-mask",
        r"(?i)(?:illegal instruction|Barrier error detected\. Invalid arguments).{0,600}?\b(?P<op>__(?:shfl\w*|ballot|any|all|match\w*|reduce\w*)_sync|__syncwarp|__cuda_sm70_warpsync)\b",
        "{op} is reached by other lanes than its mask names",
        "From sm_70 on the lanes of a warp run apart (__cuda_sm70_warpsync is __syncwarp). Each lane of the mask has to execute the same call, and a lane that is not in the mask may not (PTX ISA, shfl.sync, vote.sync): one that has left the kernel, stands in another branch, or lies beyond a tile of fewer than 32 elements breaks it.",
        "Compute the mask before the branch, __ballot_sync(0xffffffff, predicate), or let all 32 lanes take part with a neutral value; the stack of compute-sanitizer names the line. Report it to {project} where the line is its own",
        ("Illegal instruction at __shfl_down_sync(unsigned int, float, unsigned int, int)+0x850 in sm_30_intrinsics.hpp", issue(943, "NVIDIA/warp")),
        level="wrong",
        instead_of=("cuda.illegal-instruction", "cuda.illegal-instruction-ampere", "sanitizer.barrier"),
    ),
    known(
        "cuda.machine-code",
        r"Warp (?:Misaligned Register|Invalid PC|Out.of.[Rr]ange Register|Illegal Register)|EXCEPTION_WARP_(?:INVALID_PC|\w*REGISTER)\w*|(?i:misaligned register)",
        "the machine code itself is invalid: a register or a program counter that the instruction cannot have",
        "An instruction names its registers and its successor; both are chosen by ptxas or the driver's compiler, and no address, layout or pitch of the program is in them. The code generator is at fault, or the code is damaged or of another GPU.",
        "Compile with another CUDA toolkit (or driver, where PTX is compiled at run time), with -Xptxas -O1, and for this GPU's own architecture; report it to the kernel's project and to NVIDIA with `cuobjdump -sass`",
        ("CUDA Exception: Warp Misaligned Register", issue(24398, "ggml-org/llama.cpp")),
        level="wrong",
        instead_of=("cuda.misaligned-address", "cuda.illegal-access"),
    ),
    known(
        "cuda.local-misaligned",
        r"\b(?P<op>(?:STL|LDL)\.128) \[R1\+(?P<at>0x[0-9a-f]*[1-9a-f])\]|\b(?P<narrow>(?:STL|LDL)\.64) \[R1\+(?P<offset>0x[0-9a-f]*[1-79a-f])\]",
        "an array in local memory is accessed in vectors at {at}{offset} of the stack, which is no multiple of their width",
        "{op}{narrow} is such an access: R1 is the thread's stack. A local array whose elements want 1, 2 or 4 bytes of alignment lies anywhere, and reading it through a pointer to a wider type (uint4, cutlass::AccessType, reinterpret_cast) promises more than it has. Whether it faults depends on where the compiler places it.",
        "Declare the array with the alignment of the access: alignas(16) Fragment frag, cutlass::AlignedArray<T, N, 16>; or copy it element by element",
        ("STL.128 [R1+0xc], R52 ;", issue(3581)),
        level="wrong",
        instead_of=("cuda.misaligned-address",),
    ),
    known(
        "cuda.illegal-instruction-ampere",
        r"(?is)\A(?=.*\b(?:sm_?(?:75|8[0-9])|compute_?8[0-9]|A100|A10G?|RTX ?(?:20|30|40)[0-9]0)\b)(?!.*\b(?:sm_?(?:9|1[0-2])[0-9]a?|H[12]00|B[123]00|tma)\b)"
        r".*?(?P<said>illegal instruction|CUDA_ERROR_ILLEGAL_INSTRUCTION|cudaErrorIllegalInstruction|WARP_ILLEGAL_INSTR\w*)",
        "the GPU meets an instruction that it does not have, on an architecture without TMA",
        "Below sm_90 there is neither TMA, tcgen05 nor setmaxnreg, whose operands raise it on newer GPUs. It is a trap (assert, __trap, an unreachable path), code of another architecture, or a "
        "jump into other memory: a stack that is too small for the arrays and the printing of a kernel, or a write over return addresses.",
        "Run under compute-sanitizer with -lineinfo; raise the stack (cudaDeviceSetLimit(cudaLimitStackSize, 64 KiB)) where the kernel prints or recurses; cuda-gdb stops there, and `x/4i $errorpc` shows the instruction. "
        + TRACE,
        ("print_tensor fails with cudaErrorIllegalInstruction (715) on SM89", issue(3125)),
        level="wrong",
        instead_of=("cuda.illegal-instruction",),
    ),
    known(
        "cuda.instruction-encoding",
        r"(?:\bXid\b[^\n]{0,40}?: (?P<code>[0-9]{1,3})\b.{0,600}?)?Illegal Instruction Encoding",
        "the GPU meets bytes that are no instruction for it",
        "The driver's log (Xid 13) tells an illegal encoding, not an operand that an instruction cannot use: the code is of another architecture, damaged in memory, or jumped into at a wrong place; where several programs meet it, the hardware is at fault.",
        "Build the program for this GPU (cuobjdump --list-elf lists the architectures in a binary), compare driver and toolkit, test the GPU with another program, and report it to the program's own project",
        ("NVRM: Xid (PCI:0000:41:00): 13, Graphics SM Warp Exception on (GPC 1, TPC 0, SM 0): Illegal Instruction Encoding", issue(436, "3dem/relion")),
        level="wrong",
        instead_of=("cuda.illegal-instruction", "cuda.illegal-instruction-ampere", "driver.xid"),
    ),
    known(
        "cuda.illegal-instruction",
        r"(?i)illegal instruction(?! \(core)|CUDA_ERROR_ILLEGAL_INSTRUCTION|cudaErrorIllegalInstruction|error code: 715\b"
        r"|Warp Illegal Instruction|WARP_ILLEGAL_INSTR\w*" + _codes(715, 73),
        "the GPU meets an instruction that it cannot execute",
        "A kernel that ran before the call that reports it did: a trap (assert, __trap), code for another architecture, or a jump into other memory. TMA and tcgen05 raise it for a tensor map, descriptor or coordinate that they cannot use: a box whose inner bytes "
        "are not a multiple of 16, a shared address without the swizzle's alignment, a coordinate outside of the corners. setmaxnreg raises it where a warp keeps fewer "
        "registers than its code uses (24 and a printf, NVIDIA/cutlass#2932).",
        "Name the kernel first: CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer; cuda-gdb stops there, and `x/4i $errorpc` shows the instruction. "
        + TRACE
        + ": the TMA rules LC231 to LC259 check each of them",
        ("torch.AcceleratorError: CUDA error: an illegal instruction was encountered", "PyTorch"),
        level="wrong",
        instead_of=("cpp.launch-refused",),
    ),
    known(
        "cuda.illegal-access",
        r"(?i)illegal memory access|CUDA_ERROR_ILLEGAL_ADDRESS|cudaErrorIllegalAddress|error code: 700\b"
        r"|Warp Illegal Address|(?:Warp|Lane|Cluster|Device) (?:MMU Fault|(?!Out-of-range)[\w -]{0,20}Address)(?! space)|EXCEPTION_(?:WARP|LANE)_ILLEGAL_ADDRESS"
        + _codes(700, 77),
        "an address outside of every allocation is read or written",
        FAULT
        + " Or a warp runs with fewer registers than its code uses, after setmaxnreg (NVIDIA/cutlass#2992).",
        "compute-sanitizer names the line and the thread. " + TRACE,
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "CUDA driver"),
        level="wrong",
        instead_of=("cpp.launch-refused",),
    ),
    known(
        "cuda.stack-overflow",
        r"(?P<said>(?:Lane|Warp|Device)? ?(?:User |Hardware )?Stack Overflow|CUDA_EXCEPTION_[23]\b|(?i:lane user stack overflow))",
        "a thread's stack in local memory is too small for its calls: {said}",
        "A kernel's stack holds arrays, spilled registers and the frames of calls that are not inlined, virtual and recursive ones as well; a build for debugging (-G) inlines nothing. The run time sizes it where it can count the calls, else it is 1,024 bytes.",
        "cudaDeviceSetLimit(cudaLimitStackSize, 8192 or more) before the first launch; fewer local arrays and recursion; -Xptxas -v prints each function's stack frame. Report it to {project}",
        ("CUDA_EXCEPTION_2, Lane User Stack Overflow.", issue(1153, "BLAST-WarpX/warpx")),
        level="wrong",
        instead_of=("cuda.launch-failure", "cuda.illegal-instruction"),
    ),
    known(
        "cuda.out-of-range",
        r"(?P<said>(?:Warp|Lane) [Oo]ut-of-range [Aa]ddress)|EXCEPTION_(?:WARP|LANE)_OUT_OF_RANGE_ADDRESS|CUDA_EXCEPTION_5\b",
        "a warp uses an address outside of every range: neither global, shared nor local memory has it",
        "It is a pointer that means nothing on the device (one of the host's stack or heap, never set, or overwritten), or an index far beyond an array in shared or local memory. A warp that runs with fewer registers than its code uses, after setmaxnreg, ends so as well (NVIDIA/cutlass#2992).",
        "cuda-gdb stops in the thread that does it: `bt`, `print` of the pointers and `info cuda lanes`; compile with -lineinfo or -G. Report it to {project}",
        ("Program received signal CUDA_EXCEPTION_5, Warp Out-of-range Address.", issue(607, "GridTools/gridtools")),
        level="wrong",
        instead_of=("cuda.illegal-access",),
    ),
    known(
        "cuda.address-space",
        r"(?i)operation not supported on global/shared address space|(?:cudaError|CUDA_ERROR_)(?:InvalidAddressSpace|INVALID_ADDRESS_SPACE)"
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
        r"|cudaDeviceSynchronize)[^\n]{0,40}?[ :=(](?:error ?(?:code)?:? ?)?(?P<code>700|702|710|714|715|716|717|718|719)\b|Program hit \w+ \(error (?P<hit>7(?:00|02|1[0-9]))\)[^\n]{0,160}? on CUDA API call to",
        "an earlier kernel has faulted; this call only reports it (error {code}{hit})",
        "After a fault in a kernel every later call of the context returns the fault's code: 700 an illegal address, 702 a timeout, 710 an assertion, 714 a stack error, 715 an illegal "
        "instruction, 716 a misaligned address, 717 another address space, 718 an invalid program counter, 719 a launch failure "
        "(CUDA driver API, CUresult).",
        "Find the kernel that faults: run with CUDA_LAUNCH_BLOCKING=1 or under compute-sanitizer, whose first report ('Invalid ...', with 'at ... in ...') names it. Report it to the project whose kernel that is. "
        + TRACE,
        ("Exception: Failed to encode tensor map: 700", issue(6590, "sgl-project/sglang")),
        level="wrong",
        instead_of=("driver.tensor-map", "cpp.launch-refused", "driver.xid", "cuda.illegal-access", "cuda.misaligned-address", "cuda.illegal-instruction", "cuda.launch-failure"),
    ),
    known(
        "driver.tensor-map-code",
        r"(?:Failed to initialize the TMA descriptor|(?i:tensor ?map\w*)[^\n]{0,20}?(?:fail\w*|error|result|return\w*)|(?i:encode) tensor map|cuTensorMapEncode\w+[^\n]{0,40}?(?:fail\w*|error|result|return\w*))"
        r"\W{0,3}(?:with )?(?:(?:error|code|result)\W{0,3}){0,2}(?P<number>[2-9]|[1-9][0-9]{1,2})\b(?! ?(?:B|bytes?|x)\b)",
        "making a tensor map fails with CUDA error {number}, which is not about the map{meaning}",
        "A tensor map that the driver cannot use is refused with 1, invalid value (CUDA driver API). {cause}",
        "Leave layouts, strides and box as they are. {help}",
        ("Error: Failed to initialize the TMA descriptor 999", "CUTLASS, cute/atom/copy_traits_sm90_tma.hpp"),
        level=ELSEWHERE,
        instead_of=("driver.tensor-map", "cpp.launch-refused", "cuda.unknown"),
        fill="tensor map",
    ),
    known(
        "driver.xid",
        r"\bXid\b[^\n]{0,40}?: (?P<code>[0-9]{1,3})\b",
        "the driver logs Xid {code}: a fault on the GPU",
        "13 (graphics exception) and 31 (MMU fault) are a kernel's own fault: an illegal instruction or an address outside of every "
        "allocation. 43 and 45 follow from such a fault. 48, 63, 64, 79, 94 and 95 are of the hardware (NVIDIA, GPU debug guide, Xid errors).",
        "For 13 and 31 find the kernel under compute-sanitizer or with CUDA_LAUNCH_BLOCKING=1. " + TRACE,
        ("NVRM: Xid (PCI:0000:70:00): 13, Graphics SM Warp Exception on (GPC 1, TPC 1, SM 1): MMU Fault", issue(15610, "NVIDIA/TensorRT-LLM")),
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
        r"|device kernel image is invalid|CUDA_ERROR_INVALID_(?:IMAGE|SOURCE)|cudaErrorInvalid(?:KernelImage|Source)|CUDA_ERROR_INVALID_PTX|a PTX JIT compilation failed|cudaErrorInvalidPtx"
        + _codes(98, 200, 218, 300, 500),
        "the loaded code has no kernel for this GPU, or not under this name",
        "The code was built for another architecture (sm_90a runs on sm_90 only, sm_100a not on sm_120), or its PTX does not "
        "assemble for this GPU.",
        "`cuobjdump --list-elf FILE` names the architectures in a library. Build for this GPU: CUTE_DSL_ARCH, TORCH_CUDA_ARCH_LIST or -gencode",
        ("CUDA error: invalid device function", "CUDA runtime"),
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
        r"|(?:CUDA error: )?invalid argument.{0,100}cudaFuncSetAttribute|(?i:invalid argument).{0,300}?cudaFuncSetAttribute\(.{0,120}MaxDynamicSharedMemorySize"
        r"|RT call .cudaFuncSetAttribute.{0,300}MaxDynamicSharedMemorySize|Failed to set the allowed dynamic shared memory size to (?P<asked>[0-9]+)",
        "the kernel asks for more dynamic shared memory than the GPU allows a block",
        "A block has at most 64 KiB (sm_75), 99 KiB (sm_86, sm_89, sm_120), 163 KiB (sm_80) or 227 KiB (sm_90, sm_100), "
        "less what is static (CUDA C++ Programming Guide, compute capabilities).",
        "Use fewer stages or a smaller tile, or compile for the GPU at hand: libraries choose tiles by architecture",
        ("cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_size): cudaErrorInvalidValue", issue(3528, "flashinfer-ai/flashinfer")),
        instead_of=("cuda.invalid-launch",),
    ),
    known(
        "cuda.kernel-guard",
        r"[Tt]his kernel (?:only supports|is only for|requires) (?P<arch>sm_? ?[0-9]{2,3}[af]?|SM ?[0-9]{2,3})",
        "the kernel stops itself: it is made for {arch} only, and runs on another GPU",
        "The kernel's code compares __CUDA_ARCH__ and traps where it is another one; the launch then reports an unspecified failure. sm_120 and sm_121 are two architectures, and a guard for one excludes the other.",
        "Build the library for {arch} alone, or take a version whose guard has the whole family; choose another back end until then. Report it to the library that launches the kernel",
        ("This kernel only supports sm120. cudaErrorLaunchFailure: unspecified launch failure", issue(9, "Avarok-Cybersecurity/dgx-vllm")),
        level="wrong",
        instead_of=("cuda.launch-failure",),
    ),
    known(
        "cuda.hang-then-failure",
        r"(?is)\b(?:hangs?|hung|deadlock(?:s|ed)?|stuck|frozen)\b.{0,120}?(?:unspecified launch failure|CUDA_ERROR_LAUNCH_FAILED|cudaErrorLaunchFailure)",
        "the kernel waits for something that never comes, and is ended",
        "A kernel that first hangs is deadlocked, most often on an mbarrier: the producer's first wait is for phase 1 and the consumer's for phase 0, the arrival count is the number of arrivals that really come, the transaction bytes are those that the copies deliver, and one elected thread arms the barrier and issues the copy, while all threads of a warp reach what is synchronous.",
        "Print phase and arrivals of each barrier before the wait, with one stage and one tile. LC220 and LC236 compare the bytes of an mbarrier with the copy's. "
        + TRACE,
        ("the kernel hangs for seconds, then CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure", issue(2364)),
        level="wrong",
        instead_of=("cuda.launch-failure",),
    ),
    known(
        "cuda.launch-failure",
        r"(?i)unspecified launch failure|CUDA_ERROR_LAUNCH_FAILED|cudaError(?:Prior)?LaunchFailure|error code: 71[89]\b"
        r"|Warp Invalid PC|CUDA_ERROR_INVALID_PC|cudaErrorInvalidPc|invalid program counter|[Hh]ardware ?stack ?error|HARDWARE_STACK_ERROR"
        + _codes(719, 718, 714, 53),
        "the kernel died for a reason that the driver does not name",
        "An invalid pointer or an access outside of shared memory may end so (CUDA runtime API, cudaErrorLaunchFailure). On sm_90 and newer also "
        "copies to another block of a cluster that does not exist or has ended (LC229), faults inside TMA, and misuse of an "
        "mbarrier: an arrival on one that was not initialised (mbarrier_init_tx_bytes arrives, it does not "
        "initialise; NVIDIA/cutlass#2364).",
        "compute-sanitizer names the instruction. " + TRACE,
        ("CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure", issue(2364)),
        level="wrong",
        instead_of=("cpp.launch-refused",),
    ),
    known(
        "cuda.shared-capacity",
        r"(?i)uses too much shared data \((?P<have>0x[0-9a-f]+) bytes(?: \+ 0x[0-9a-f]+ bytes system)?, (?P<most>(?!0xc000 )0x[0-9a-f]+) max\)"
        r"|out of resource: (?:shared memory|triton_\w+),? ?Required: (?P<needed>[0-9]+),? ?Hardware limit: ?(?P<limit>[0-9]+)"
        r"|shared memory exceeds[^\n]{0,80}? allowed\. ?Allocated: ?(?P<allocated>[0-9]+) bytes\. ?Max: ?(?P<maximum>[0-9]+)"
        r"|dynamic_smem_exceeds_limit|dynamic_smem_bytes|[Ss]hared memory (?:usage|size)[^.\n]{0,80}exceed"
        r"|smem[^.\n]{0,60}exceeds|requires [0-9]+ bytes (?:of )?shared memory",
        "the kernel needs more shared memory than a block may have",
        "A block has at most 99 KiB (sm_86, sm_89, sm_120), 163 KiB (sm_80) or 227 KiB (sm_90, sm_100) of shared memory, "
        "static and dynamic together (CUDA C++ Programming Guide, compute capabilities).",
        "Use fewer stages or a smaller tile, or reuse one buffer for load and epilogue; cute's SmemAllocator counts the "
        "bytes: kernel.smem_usage()",
        ("ptxas error : Entry function 'kernel' uses too much shared data (0x2ab44 bytes, 0x29000 max)", "https://github.com/apache/tvm/pull/17267"),
        instead_of=("cuda.invalid-launch", "cuda.call-refused"),
    ),
    known(
        "cuda.launch-resources",
        r"(?i)too many resources requested|LaunchOutOfResources|LAUNCH_OUT_OF_RESOURCES" + _codes(701),
        "the block needs more registers than a multiprocessor has",
        "Registers of a thread times the threads of a block exceed 65,536, or less where a multiprocessor has fewer: 512 threads of 162 "
        "registers do not fit (CUDA runtime API, cudaErrorLaunchOutOfResources).",
        "Fewer threads in a block, or fewer registers a thread by __launch_bounds__ or -maxrregcount; `cuobjdump --dump-resource-usage FILE` "
        "prints them, and `layoutcheck resources` counts what a tile needs",
        ("cudaCheckError(): too many resources requested for launch", issue(37, "HazyResearch/ThunderKittens")),
        instead_of=("cuda.invalid-launch",),
    ),
    known(
        "cuda.call-refused",
        r"(?:CUDA_ERROR_INVALID_VALUE|cudaErrorInvalidValue|invalid argument)\W{1,3}(?:from|in|by|while calling|calling|at|returned by) (?P<call>cu(?!(?:da)?Launch|\w*TensorMap|(?:da)?FuncSet)\w{4,40})"
        r"|(?:INVALID_VALUE|InvalidValue) \(error 1\)[^\n]{0,60}? on CUDA API call to (?P<api>cu(?!(?:da)?Launch|\w*TensorMap|(?:da)?FuncSet|daGetLast|da\w*Synchronize)\w{4,40})"
        r"|\b(?P<other>cu(?!(?:da)?Launch|\w*TensorMap|(?:da)?FuncSet|daError|TLASS|tlass|te\b)(?:da)?[A-Z]\w{3,40})(?:\([^)\n]{0,80}\))? (?:failed|returned|returns)\b[^\n]{0,60}(?:CUDA_ERROR_INVALID_VALUE|cudaErrorInvalidValue|invalid argument)",
        "{call}{other}{api} refuses its arguments",
        "It is that call, and no launch: an extent, a limit, a flag or a pointer is not one that it takes on this device. cuPointerGetAttribute returns it for memory of the host: so a library (MPI, UCX, PyTorch) asks what a pointer is, and goes on.",
        "The CUDA API reference of {call}{other}{api} lists what it returns this for; print its arguments before the call",
        ("Cuda Driver error detected: Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuCtxSetLimit", "https://github.com/mirage-project/mirage/pull/705"),
        instead_of=("cuda.invalid-launch",),
    ),
    known(
        "cuda.other-generation",
        r"(?is)\A(?=.*?\bsm_?(?P<arch>(?!90)(?:[78][0-9]|1[0-2][0-9]))a?\b).*?/(?P<room>hopper)/[\w./]{1,100}\.(?:h|hpp|cuh?|inl|py)\b[:(][^\n]{0,40}?(?:invalid (?:argument|device function)|no kernel image|cudaErrorInvalid\w+)",
        "a kernel for Hopper (sm_90a) is started on sm_{arch}",
        "The file lies in the library's folder of Hopper's kernels: they use wgmma, which sm_90a alone has, and more shared memory than most GPUs give a block.",
        "Take another kernel of the library: for FlashAttention version 2 in place of 3, or the attention back end that your framework has for sm_{arch}; report it to {project} where the choice was its own",
        ("sm_120: CUDA error (flash-attention/hopper/flash_fwd_launch_template.h:188): invalid argument", issue(1987, "Dao-AILab/flash-attention")),
        level=ELSEWHERE,
        instead_of=("cuda.invalid-launch", "cpp.launch-refused"),
    ),
    known(
        "cuda.kernel-handle",
        r"(?:cuda(?:Func[SG]et\w+|LaunchKernel\w*|Occupancy\w+)|cu(?:Func[SG]et\w+|LaunchKernel\w*))\b[^\n]{0,80}?(?:invalid resource handle|cudaErrorInvalidResourceHandle|CUDA_ERROR_INVALID_HANDLE)|invalid resource handle[^\n]{0,80}(?:cudaFunc[SG]et|cudaLaunchKernel)",
        "the handle that this call does not take is the kernel's",
        "The run time finds no code of this kernel for the device: the file was not compiled for its architecture (its suffix a or f counts), or two copies of the CUDA run time are loaded, and the kernel is registered with the other.",
        "`cuobjdump --list-elf FILE` lists the architectures in a library: build for the GPU's own; link one run time (-cudart shared) in all libraries of the process. Report what stays to {project}",
        ("cudaFuncSetAttribute() returned error: invalid resource handle", "https://github.com/pytorch/ao/pull/2285"),
        instead_of=("cuda.context",),
    ),
    known(
        "cuda.shared-handle",
        r"(?:custom_all_reduce|quick_?reduce|cudaIpc\w+|cuIpc\w+|IpcMemHandle)[^\n]{0,120}?(?:invalid (?:argument|device context|resource handle|value)|cudaErrorInvalid\w+|CUDA_ERROR_INVALID\w+|not supported)"
        r"|(?:invalid (?:argument|resource handle)|cudaErrorInvalid\w+)[^\n]{0,80}(?:cudaIpc\w+|cuIpc\w+)",
        "memory of the GPU cannot be shared with another process",
        "The all-reduce between processes opens each other's buffers by handles (cudaIpcGetMemHandle, cudaIpcOpenMemHandle). They are refused for memory that PyTorch takes in expandable segments or a cudaMallocAsync pool, across containers or users, and where the GPUs are no peers. It is no kernel's launch.",
        "Unset PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, run the ranks in one container (--ipc=host), or switch this all-reduce off (vLLM and SGLang: --disable-custom-all-reduce; NCCL takes its place). Report what stays to {project}",
        ("Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:455 'invalid argument'", issue(49101, "vllm-project/vllm")),
        level=ELSEWHERE,
        instead_of=("cuda.invalid-launch", "cuda.call-refused"),
    ),
    known(
        "cuda.invalid-launch",
        r"cudaErrorInvalidValue|CUDA_ERROR_INVALID_VALUE|[Ii]nvalid CUDA argument|cudaErrorInvalidConfiguration|CUDA error: invalid (?:argument|configuration)"
        r"|error code: 1\b"
        r"|(?:[Cc][Uu][Dd][Aa]|Triton|GPU|[Kk]ernels?|[Ll]aunch|\.cuh?\b)(?:(?! \w+Error: )[^\n]){0,120}?\binvalid argument|\binvalid argument[^\n]{0,80}(?:cuda|\.cuh?\b|kernel)"
        r"|invalid configuration argument|CUDA_LAUNCH_INVALID\w*"
        r"|\.cuh?:[0-9]+\W{1,4}invalid argument" + _codes(1, 9),
        "the launch, or another call of CUDA, is refused for its arguments",
        "'Invalid configuration' speaks of grid and block: an extent of 0, more than 65,535 in y or z of the grid, more than 1,024 threads. 'Invalid value' or 'argument' has more causes: shared memory above the limit "
        "(NVIDIA/cutlass#2747), a cluster that does not divide the grid, a tensor map or another argument of the call. If a smaller problem of the same kernel fails and a larger one runs, it is not shared memory.",
        "Print the launch's grid, block, cluster and smem, and compare with a size that runs. `layoutcheck trace --no-launch SCRIPT` lists each kernel's",
        ("CUDA Error: cudaErrorInvalidValue", issue(2747)),
    ),
    known(
        "driver.tensor-map",
        r"Failed to initialize the TMA descriptor|cuTensorMapEncode\w+|boxDim\[[0-9]\] ?\* ?elementSize|swizzled? (?!shared )[\w ]{0,20}box exceeds|(?:create|encod\w*|invalid)[^\n]{0,30} [Tt]ensor ?[Mm]ap|\w*tensor_?map\w*\([^\n]{0,500}?Assertion [`'][^\n]{0,40}(?:CUDA_SUCCESS|result|status|err)|TMA Desc Addr|Invalid TMA descriptor",
        "the driver refuses the tensor map of a TMA copy",
        "cuTensorMapEncodeTiled wants an address and strides that are multiples of 16 bytes (globalStrides count bytes, not elements, and leave the contiguous mode out), box extents of 1 to 256, "
        "boxDim[0] x element size a multiple of 16 bytes and at most the swizzle's span, and a tensor that is not empty "
        "(CUDA driver API).",
        "`layoutcheck explain GMEM SMEM --atom tma_load` checks every field of the tensor map that the DSL would write",
        ("Error: Failed to initialize the TMA descriptor 1", issue(947)),
        rule="LC240",
        instead_of=("cuda.invalid-launch", "cuda.launch-failure"),
    ),
    known(
        "cuda.other",
        r"(?P<said>CUDA_ERROR_[A-Z_]+|(?<=CUDADialectError: )CUDA_[A-Z_]+|cudaError(?!_t\b|String)[A-Z]\w+|invalid resource handle|invalid device (?:pointer|symbol|ordinal)|unknown error \(999\)"
        r"|peer access (?:is not|has)[^\n]{0,60}|driver shutting down|context is destroyed|invalid texture reference|API call is not supported"
        r"|(?:CUDA|GPU|HIP)?(?:GPUassert|CUDA ?(?:runtime |driver )?[Ee]rror(?: code)?(?: [0-9]{1,3})?|cudaError(?: [0-9]{1,3})?|CUDA_CHECK failed) ?[:=,] [^\n]{3,80}?(?= CUDA kernel| Search| at | \S+\.(?:cu|cpp|h|py)\b|$|\.))",
        "the CUDA driver reports {said}",
        "An earlier kernel or the call itself fails; CUDA reports errors of kernels at a later call.",
        "Run again with CUDA_LAUNCH_BLOCKING=1, and under compute-sanitizer, to find the kernel. " + TRACE,
        ("CUDA_ERROR_OF_A_LATER_DRIVER", "a name that CUDA 13 does not have"),
        level="wrong",
        general=True,
    ),
    known(
        "kernel-hangs",
        r"(?i)(?:Timeout|timed out)[^\n]{0,80}(?:kernel|mbarrier|barrier|synchroniz)|kernel (?:hangs?|never returns|deadlock)"
        r"|(?:mbarrier|barrier)[^\n]{0,40}(?:time(?:d )?out|deadlock)|cudaErrorLaunchTimeout|CUDA_ERROR_LAUNCH_TIMEOUT|launch timed out"
        r"|(?:kernel|mbarrier|wgmma|TMA|GPU|CUDA|H[12]00|B[23]00|gemm|attention)[^\n]{0,60}\b(?:hangs?|hung|deadlocks?|is stuck|stalls? forever)\b|\b(?:hangs?|deadlocks?)\b[^\n]{0,40}(?:kernel|mbarrier|barrier|GPU|H[12]00|B[23]00)",
        "the kernel never returns",
        "A wait is for something that never comes: transaction bytes that differ from what TMA delivers, an arrival count "
        "that too few threads reach, a phase that has passed, a barrier under divergence, or a TMA copy issued by no thread.",
        "cuda-gdb -p PID, then `info cuda kernels` and `info cuda warps`, names the kernel and the line; py-spy dump --pid PID what the host waits for; of several processes the one that failed first has the cause. Where a library launches the kernel, take another back end of it. LC220 and LC236 compare the bytes of an mbarrier with the copy's. "
        + TRACE,
        ("TimeoutError: kernel did not finish: timed out waiting for mbarrier", "test harnesses"),
        level="wrong",
        general=True,
    ),
    known(
        "results-differ",
        r"(?i)Tensor-likes are not (?:close|equal)|\bnan_\w{2,12}=(?=.{0,40}\bnan_\w{2,12}=[1-9])|\bnan_\w{2,12}=[1-9]|Disposition: Failed|Mismatched elements: [0-9]+ ?/ ?[0-9]+|Not equal to tolerance|\bResult ?= ?FAIL|\bref ?= ?[-0-9.e+]+ error term|max_(?:abs_)?(?:error|diff)[ =:]+(?:nan|inf)"
        r"|(?:relative|error|diff\w*)[ =:]+[0-9.e+-]+ ?(?:>|exceeds) ?(?:[\w ]{0,12}tol|[0-9.])|elem\w* exceed tol|elements within (?:\w+ )?tolerance|exceeds? (?:the )?tolerance|\bfailed accuracy|accuracy (?:check|test) failed|(?:wrong|incorrect) (?:results?|output|values?)\b|results? (?:do not|don't|does not) match"
        r"|(?:validation|verification|reference check|comparison) failed\b.{0,60}?(?:abs|rel|max|err|diff|mse)\w* ?[=:] ?[0-9.]",
        "the kernel's result differs from the reference",
        "Either the arithmetic rounds by more than the tolerance, or data is moved to the wrong place or read too early: then whole "
        "rows, vectors or tiles differ.",
        "Print where the elements lie that differ, and compare a size that every tile divides with one that it does not. "
        + TRACE
        + ", and the order of its accesses; `layoutcheck numerics tol` gives the tolerance that the arithmetic allows",
        ("AssertionError: Tensor-likes are not close! Mismatched elements: 512 / 16384 (3.1%)", "PyTorch"),
        level="wrong",
        general=True,
    ),
    known(
        "results-shape",
        r"(?:[Ss]hape mismatch|[Ss]hapes? (?:do|does) not match|attribute 'shape' do not match)\W{1,3}(?:torch\.Size\()?[\[(](?P<left>[0-9, ]{1,60})[\])]\)? ?(?:vs\.?|!=|and|,|==) ?(?:torch\.Size\()?[\[(](?P<right>[0-9, ]{1,60})[\])]",
        "two tensors that are compared have different shapes: ({left}) and ({right})",
        "A test or a check of the program compares them, and no value has been looked at yet.",
        "Print shape and dtype of both where they are allocated, and give both the shape that the operation defines; an output in packed form is allocated in packed form, or unpacked before it is compared",
        ("AssertionError: Shape mismatch: torch.Size([64, 256]) vs torch.Size([64, 128])", issue(3240, "tile-ai/tilelang")),
        level="wrong",
        general=True,
        instead_of=("results-differ",),
    ),
)  # fmt: skip
