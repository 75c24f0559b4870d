"""What compute-sanitizer reports."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, TRACE, issue, known
from layoutcheck.catalogue.tables.driver import FAULT

SANITIZER = "compute-sanitizer 2025.3"

ENTRIES = (
    known(
        "sanitizer.of-cutlass",
        r"(?P<what>Invalid __\w+__ \w+ of size [0-9]+)(?: bytes)?[^\n]{0,20}[= ]{1,30}at (?:0x[0-9a-f]+ in )?(?:void )?cutlass::(?:Kernel2?|device_kernel)<(?:cutlass::)?(?P<kernel>[\w:]{3,80})",
        "{what} in a kernel that CUTLASS made from its templates ({kernel})",
        "The kernel reads and writes where its arguments say: problem sizes, leading dimensions (strides in elements) and pointers that do not fit the allocations are the usual reason. Of a grouped or batched GEMM these are arrays in device memory, one entry a problem, that must live until the kernel ends.",
        "Print the arguments of each problem: M, N, K, the leading dimensions, the pointers and the size of each allocation; compare the layouts (row or column major) with the template's, and call can_implement(arguments), which tests the alignment. "
        "Build with -lineinfo, so that compute-sanitizer names the line",
        ("========= Invalid __global__ read of size 4 bytes\n=========     at void cutlass::Kernel<cutlass::gemm::kernel::GemmGrouped<cutlass::gemm::threadblock::MmaMultistage<", issue(2380)),
        level="wrong",
        instead_of=("sanitizer.out-of-bounds", "cuda.illegal-access"),
    ),
    known(
        "sanitizer.far-address",
        r"Invalid __global__ (?P<access>read|write|atomic|\?) of size (?P<size>[0-9]+)(?: bytes)?(?:(?!Invalid __).){0,700}?(?P<address>0x[0-9a-f]+) is (?:out of bounds|misaligned)[ =]{1,30}and is (?P<distance>[0-9]{12,}|[0-9.,]+ ?[TPE]i?B) ?(?:bytes )?(?P<side>before|after) the nearest allocation",
        "{address} is no address of the GPU's memory: the nearest allocation is {distance} away",
        "No index that runs beyond a tensor comes so far. The pointer itself is wrong: memory of the host (a heap address begins with 0x55 or 0x56), a pointer that was never set, freed or overwritten, a structure or an array of pointers that lies on the host, or arguments in another order than the kernel's.",
        "Print the pointers before the launch (cudaPointerGetAttributes; tensor.device and data_ptr() in Python), and compare the launch's arguments with the kernel's parameters one by one",
        ("========= Invalid __global__ read of size 4 bytes\n=========     at kernel_name+0x2860 in file.cu:418\n=========     by thread (0,0,0) in block (0,0,0)\n" "=========     Access to 0x56f503254cb0 is out of bounds\n=========     and is 35TB bytes before the nearest allocation at 0x77038a000000", SANITIZER),
        level="wrong",
        instead_of=("sanitizer.misaligned", "sanitizer.out-of-bounds", "cuda.illegal-access", "cuda.misaligned-address"),
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
        ("========= Invalid __shared__ read of size 16 bytes\n=========     at matrixMul+0x7120 in " "/home/u/pipeline_gemm.cu:94\n=========     by thread (0,4,0) in block (0,0,0)\n=========     Address " "0x10a8 is misaligned", issue(11, "AyakaGEMM/Hands-on-GEMM")),
        level="wrong",
        rule="LC202",
        instead_of=("cuda.illegal-access", "cuda.misaligned-address"),
    ),
    known(
        "sanitizer.out-of-bounds",
        r"Invalid __(?P<space>\w+)__ (?P<access>read|write|\?) of size (?P<size>[0-9]+)(?: bytes)?(?:(?!Invalid __).){0,600}?"
        r"(?:Address|Access (?:to|at)) (?P<address>0x[0-9a-f]+) is out of bounds",
        "a {size} B {access} of {space} memory at {address}, outside of the allocation",
        "An index or an offset runs beyond what was allocated: a tail that no condition guards, a count of elements taken for bytes, a buffer that is smaller than the launch covers; in shared memory a stage index, or more threads or warps than the array has entries. memcheck sees no write into a neighbour of the same block. "
        "In CuTe a tail tile has no predicate, or one for the wrong mode, or a swizzled address leaves the tile; for wgmma operands some versions report the size of four warps (compute-sanitizer-samples#19).",
        "Compare the thread and block that are named with the sizes of the launch and of the allocation, and guard the access by its index. In CuTe predicate the tail tile by an identity tensor, or allocate cosize(layout) elements. "
        + TRACE,
        ("========= Invalid __shared__ read of size 16 bytes\n=========     at cp_async_bulk_cp_mask in " "cp_async_bulk.h:236\n=========     by thread (128,0,0) in block (0,0,0)\n=========     Address 0x400 is out " "of bounds", issue(8288, "NVIDIA/cccl")),
        level="wrong",
        instead_of=("cuda.illegal-access", "cuda.misaligned-address"),
    ),
    known(
        "sanitizer.invalid-access",
        r"Invalid __(?P<space>\w+)__ (?P<access>read|write|atomic|\?) of size (?P<size>[0-9]+)",
        "a {size} B {access} of {space} memory that is not valid",
        FAULT,
        TRACE,
        ("========= Invalid __global__ write of size 4 bytes", SANITIZER),
        level="wrong",
        general=True,
        instead_of=("cuda.illegal-access", "cuda.misaligned-address", "cuda.other"),
    ),
    known(
        "sanitizer.of-another-library",
        r"(?P<what>(?:Invalid|Uninitialized) __\w+__ (?:memory )?\w+ of size [0-9]+)[^\n]{0,20}[= ]{1,30}at (?:0x[0-9a-f]+ in )?(?:\w+ ){0,3}"
        r"(?P<frame>(?:(?P<space>(?!cute|cutlass|std|cuda)[a-z]\w+)::|(?P<prefix>nvshmem|nccl|ggml))\w+)",
        "{what} in a kernel of {space}{prefix}",
        "The innermost frame is {frame}. It reads or writes what it was given: a shape, range, iterator or index beyond the allocation (an odd number of tokens or heads, a page table, a stride), or memory that was freed or belongs to the host; or the kernel itself has the fault for that shape.",
        "Where {space}{prefix} is a library that you call, compare shapes, strides, dtypes and pointers with the allocations (cudaPointerGetAttributes) and with what its tests use; report it to {project} with the kernel's name and the shapes",
        ("========= Invalid __global__ read of size 4 bytes ========= at void thrust::THRUST_200500_700_NS::cuda_cub::__uninitialized_copy::functor", issue(1898, "NVIDIA/cccl")),
        level="wrong",
        instead_of=("sanitizer.uninitialized",),
    ),
    known(
        "sanitizer.shared-range",
        r"Out-of-range shared or local address",
        "an address outside of the block's shared memory is used",
        "The kernel was launched with less dynamic shared memory than it uses, or an offset (a stage index, a barrier's "
        "slot) leaves the allocation.",
        "Compare the launch's shared memory with the storage's size. " + TRACE,
        ("========= Out-of-range shared or local address ========= at cutlass::arch::ClusterBarrier::init", issue(1247)),
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
        ("========= Error: Race reported between Write access at k+0x1d0 and Read access at k+0x200", SANITIZER),
        level="wrong",
    ),
    known(
        "sanitizer.barrier",
        r"Barrier error detected\. (?P<said>(?:Divergent|Missing|Invalid|Arriv\w*|Barrier)[\w() ]{0,60}?)(?=\.| in block| The | =|$)|(?P<only>Barrier is located at shared address)",
        "a barrier is not reached by the threads that it waits for ({said}{only})",
        "bar.sync waits for a number of threads; a branch or an early return keeps some of them away, or a named barrier "
        "has another count than its users. 'Missing wait': a phase of an mbarrier completes and no thread waits for it.",
        "Move the barrier out of the branch, give the named barrier the number of threads that reach it, or wait for the "
        "phase before the next arrival. " + TRACE,
        ("========= Barrier error detected. Divergent thread(s) in block", SANITIZER),
        level="wrong",
    ),
    known(
        "sanitizer.mbarrier",
        r"Barrier error detected\. Missing (?P<missing>init\w*)|(?:Illegal|Invalid) (?:m?barrier|mbarrier object) (?P<said>arrive|wait|init\w*|inval\w*|expect\w*|complete\w*)[\w -]{0,40}|[Mm]?[Bb]arrier (?:object )?(?:is )?(?:not initialized|already initialized|overlap\w*)",
        "an operation on an mbarrier that is not in the state for it: {said}{missing}",
        "The shared address holds no initialised mbarrier (mbarrier_init not reached, not fenced, or overwritten by a tile), or its count of "
        "pending arrivals is already 0: more threads arrive in a phase than it was initialised for (PTX ISA, mbarrier).",
        "Compare the count of mbarrier_init with the threads that arrive, and let one thread initialise it before a fence and a barrier "
        "of the block; LC220 and LC236 compare the bytes. " + TRACE,
        ("========= Illegal barrier arrive operation ========= at cutlass::arch::ClusterBarrier::arrive", issue(972, "tile-ai/tilelang")),
        level="wrong",
        instead_of=("sanitizer.barrier",),
    ),
    known(
        "sanitizer.uninitialized",
        r"Uninitialized (?:__)?(?P<space>global|shared|local)(?:__)? memory read(?: of size (?P<size>[0-9]+))?|access to 0x[0-9a-f]+ of size (?P<bytes>[0-9]+) bytes?[ =]{1,20}Uninitialized access",
        "{space} memory is read that nothing wrote",
        "The host never wrote that part of the buffer (a memset or copy that counts elements where it takes bytes, an output that is read as input), a kernel's copy leaves elements out "
        "(LC208: a tile that the threads do not cover), a predicate is too strict, or the data is read before the copy is complete.",
        "Compare the bytes that the host fills with the allocation, and initialise the whole. For a copy of a kernel "
        + TRACE,
        ("========= Uninitialized __global__ memory read of size 4 bytes", SANITIZER),
        level="wrong",
        rule="LC208",
    ),
    known(
        "sanitizer.tensor-memory",
        r"(?i)tensor memory[\w ,]{0,60}(?:not (?:been )?allocated|unallocated|out of|invalid)|invalid tensor memory|tcgen05[ _]guardrails?[\w ]{0,60}",
        "an instruction uses columns of tensor memory that the block does not hold",
        "tcgen05.alloc gives a power of two of columns, 32 to 512, and writes their address to shared memory, which other warps read behind a barrier. A tensor made from another offset, of more columns, "
        "or used before the allocation or after dealloc faults so (PTX ISA, tensor memory).",
        "Compare the columns of the accumulators with those that were allocated, and let one barrier stand between the allocation and the first use. "
        + TRACE,
        ("========= Invalid tensor memory access", SANITIZER),
        level="wrong",
        instead_of=("cuda.tensor-memory-leak",),
    ),
    known(
        "sanitizer.api-call",
        r"Program hit (?P<said>\w+) (?:\(error [0-9]+\) )?[^\n]{0,160}? on CUDA API call to (?P<call>cuda(?:Func|Pointer|Host)Get\w+|cu(?:Pointer|Module|Library|MemGetAddress)\w*Get\w*|cu\w*GetProcAddress\w*|cu\w*P(?:eer|2P)\w*)",
        "{call} returned {said}: a question, and no fault of a kernel",
        "compute-sanitizer reports each call of CUDA that returns an error. Libraries ask so what a pointer is, which GPUs are peers and which of their kernels have code for this GPU, and go on without.",
        "Where the program goes on, nothing is to be mended: --report-api-errors no leaves such lines out. Else the host frames below name who calls; report it to {project}",
        ('========= Program hit cudaErrorNoKernelImageForDevice (error 209) due to "no kernel image is available" on CUDA API call to cudaFuncGetAttributes.', issue(962, "gkeyllorg/gkeyll")),
        level=ELSEWHERE,
        instead_of=("elsewhere.driver", "cuda.call-refused", "cuda.invalid-launch", "cuda.no-function", "cuda.peers"),
    ),
    known(
        "sanitizer.summary",
        r"(?P<tool>ERROR|RACECHECK|LEAK) SUMMARY: (?P<count>[1-9][0-9]*) (?P<what>errors?|hazards? displayed \([^)]{3,40}\)|bytes leaked[^=\n]{0,40})",
        "compute-sanitizer counts {count} {what}; the lines that say which are not in this text",
        "The summary is the last line. Each error stands above it with its kernel, block, thread and address. A hazard that racecheck calls a warning may be meant so: threads of one warp that proceed together (its documentation, severity levels).",
        "Paste the first block of lines that begin with '=========' and say 'at ... in ...'; compile with -lineinfo (CUTE_DSL_LINEINFO=1), so that it names the source line",
        ("========= ERROR SUMMARY: 3 errors", "compute-sanitizer 2025"),
        level="wrong",
        general=True,
    ),
    known(
        "sanitizer.other",
        r"(?<!=)={9} (?:Error: |Warning: )?(?P<said>(?!COMPUTE-SANITIZER|Target application returned|CUDA-MEMCHECK|This tool is deprecated|Please use the compute|ERROR SUMMARY|RACECHECK SUMMARY|Saved host|Host Frame|Program hit|Invalid __)[A-Z][^=\n]{5,120}?)(?= ={9}|$)",
        "compute-sanitizer reports: {said}",
        "The tool saw it in one run; the line is behind 'at', the thread behind 'by'.",
        TRACE,
        ("========= Stack overflow", SANITIZER),
        level="wrong",
        general=True,
    ),
)  # fmt: skip
