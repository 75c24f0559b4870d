"""What compute-sanitizer and Nsight Compute report."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, TRACE, issue, known

SANITIZER = "compute-sanitizer 2025.3"
NCU = "Nsight Compute 2025"
_FAULT = (
    "A copy reads or writes where it must not: a promise of alignment that the tensor does not keep, a tail without "
    "predicates, a swizzled tile on a base that its period does not divide, or an offset beyond 32 bits."
)

ENTRIES = (
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
        "sanitizer.mbarrier",
        r"(?:Illegal|Invalid) (?:m?barrier|mbarrier object) (?P<said>arrive|wait|init\w*|inval\w*|expect\w*|complete\w*)[\w -]{0,40}|[Mm]?[Bb]arrier (?:object )?(?:is )?(?:not initialized|already initialized|overlap\w*)",
        "an operation on an mbarrier that is not in the state for it: {said}",
        "The shared address holds no initialised mbarrier (mbarrier_init not reached, not fenced, or overwritten by a tile), or its count of "
        "pending arrivals is already 0: more threads arrive in a phase than it was initialised for (PTX ISA, mbarrier).",
        "Compare the count of mbarrier_init with the threads that arrive, and let one thread initialise it before a fence and a barrier "
        "of the block; LC220 and LC236 compare the bytes. " + TRACE,
        (
            "========= Illegal barrier arrive operation ========= at cutlass::arch::ClusterBarrier::arrive",
            issue(972, "tile-ai/tilelang"),
        ),
        level="wrong",
        instead_of=("sanitizer.barrier",),
    ),
    known(
        "sanitizer.uninitialized",
        r"Uninitialized __(?P<space>\w+)__ memory read of size (?P<size>[0-9]+)|access to 0x[0-9a-f]+ of size (?P<bytes>[0-9]+) bytes?[ =]{1,20}Uninitialized access",
        "{size}{bytes} B of {space} memory are read that nothing wrote",
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
        r"|shared (?:loads?|stores?) might not be optimal|(?<![0-9.])[0-9.]{1,8} ?- ?way bank conflict|\b[0-9]{1,15} bank conflicts",
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
        r"|l1tex__data_bank_conflicts_pipe_lsu_mem_shared(?![\w.]* +(?:\w+ +)?0\b)[\w.]*",
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
        "ncu.wavefronts",
        r"l1tex__data_pipe_lsu_wavefronts_mem_shared[\w.]*|smsp?__sass_l1tex_data_pipe_lsu_wavefronts\w*|memory_l1_wavefronts_shared\w*",
        "a count of shared-memory wavefronts: what is above the ideal is bank conflicts",
        "A wavefront moves at most 128 bytes. A warp that reads 16 bytes a thread needs four; each more is a bank conflict, and the counters "
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared hold the difference.",
        "Divide by the instructions and compare with the ideal: `layoutcheck banks LAYOUT --access ACCESS` counts both for a tile",
        (
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld 283,023,360",
            "https://forums.developer.nvidia.com/t/clarification-bank-conflicts-metric-vs-wavefronts-for-shared-memory-lds-128/359822",
        ),
        level="slow",
        rule="LC301",
        general=True,
    ),
    known(
        "ncu.no-conflicts",
        r"l1tex__data_bank_conflicts_pipe_lsu_mem_shared\w*(?:\.\w+)* +(?:\w+ +)?0\b",
        "Nsight Compute counts no bank conflicts",
        "The counter is 0: no access of this kernel is split by banks, so there is nothing to mend.",
        "The memory tables' other counters (sectors, wavefronts) say what the kernel waits for; `layoutcheck banks LAYOUT --access "
        "ACCESS` counts an access of a tile alone",
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum 0", issue(1882)),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "ncu.stall",
        r"each warp of this (?:kernel|workload) spends (?P<cycles>[0-9.]+) cycles being stalled (?:on |waiting for |for )?(?:an? |the )?(?P<what>[^\n]{5,120}?)(?:\. |\.$|$)",
        "Nsight: each warp is stalled {cycles} cycles: {what}",
        "'L1TEX' and 'long scoreboard' are loads of global memory whose data is used at once; 'MIO' and 'short scoreboard' shared memory, with conflicts or narrow "
        "accesses; 'local/global instruction queue' many narrow loads and stores; 'barrier' warps that wait for others; 'not selected' and 'math pipe' mean enough work.",
        "For memory: wider copies (16 bytes a thread), more stages in flight, layouts without bank conflicts; `layoutcheck trace --no-launch SCRIPT` says the width, sectors and "
        "wavefronts of every copy, `layoutcheck banks LAYOUT` the conflicts of one layout",
        (
            "On average, each warp of this kernel spends 130.5 cycles being stalled waiting for the local/global instruction queue to be not full.",
            issue(3389, "openmm/openmm"),
        ),
        level="slow",
    ),
    known(
        "nvprof.transactions",
        r"(?P<transactions>(?:Shared|Global) (?:Memory )?(?:Load|Store) Transactions Per Request +[0-9.]+)",
        "a warp's accesses move more than they need: {transactions}",
        "Threads of one warp access addresses that lie apart, or vectors of 8 and 16 bytes, which take two and four transactions a request for that reason alone: a warp's 512 "
        "bytes need four of 128. What is above that is lost.",
        "`layoutcheck trace --no-launch SCRIPT` counts sectors and wavefronts of every copy beside the least; `layoutcheck explain SRC DST --atom ATOM` does so for two layouts",
        (
            "Shared Memory Load Transactions Per Request 2.000000 2.000000 2.000000",
            issue(1, "ekondis/gpumembench"),
        ),
        level="slow",
        rule="LC302",
        general=True,
    ),
    known(
        "ncu.work",
        r"grid for this launch is configured to execute only [0-9]+ blocks?|kernel grid is too small to fill|low compute throughput and memory bandwidth utilization|partial wave of [0-9]+ thread blocks|This (?:kernel|workload) exhibits low",
        "Nsight: the kernel has too little work in flight",
        "Too few blocks for the GPU's multiprocessors, a last wave that fills a part of them, or too few warps a scheduler to hide latencies.",
        "Smaller tiles or split K for a small problem, a persistent kernel with one block a multiprocessor for a large one; `layoutcheck resources` counts the blocks of a tile that fit",
        (
            "This kernel grid is too small to fill the available resources on this device, resulting in only 0.2 full waves across all SMs.",
            "Nsight Compute",
        ),
        level="slow",
        general=True,
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
