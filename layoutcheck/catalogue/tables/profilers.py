"""What Nsight Compute and nvprof report."""

from __future__ import annotations

from layoutcheck.catalogue.entry import CLEAN, ELSEWHERE, issue, known

NCU = "Nsight Compute 2025"

ENTRIES = (
    known(
        "ncu.bank-conflicts",
        r"shared (?:loads?|stores?) might not be optimal and causes on average a (?P<ways>[0-9.]+) ?- ?way bank(?: conflicts?)?"
        r"|shared (?:loads?|stores?) might not be optimal|(?<![0-9.])[0-9.]{1,8} ?- ?way bank conflict|\b[0-9]{1,15} bank conflicts"
        r"|(?i:bank conflicts?)\W{1,12}(?P<average>(?:[2-9]|[1-3][0-9]|1\.[0-9]*[1-9])(?:\.[0-9]+)?) ?- ?way",
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
        "ncu.sector-use",
        r"(?i)(?P<what>global|local|gld|gst)[\w ]{0,20}(?:load|store|gld|gst)?[\w ]{0,12}(?:efficiency|per sector|utili[sz]\w+)\W{0,12}(?P<used>(?:[0-9]|[12][0-9]|3[01])(?:\.[0-9]+)?) ?(?:/|of|out of) ?32(?:\.0+)? ?(?:bytes|B)\b",
        "{what} accesses use {used} of the 32 bytes of each sector",
        "A sector is the least that is fetched. {used} of 32 bytes means that neighbouring threads use addresses that lie apart (uncoalesced), and that 32/{used} times the bytes are moved.",
        "Give neighbouring threads neighbouring vectors, along the contiguous mode: LC302 names the stride, and `layoutcheck trace --no-launch SCRIPT` counts the sectors of every copy beside the least. Mend this before bank conflicts; "
        "local accesses are a thread's own array, which -Xptxas -v shows as stack",
        ("Global Load Efficiency | 4.2/32 bytes (13.1%)", "a table of Nsight Compute's counters"),
        level="slow",
        rule="LC302",
    ),
    known(
        "ncu.few-conflicts",
        r"wavefronts_mem_shared(?P<op>(?:_op_\w\w)?)\.sum\D{0,60}? (?P<all>[0-9,]{1,20})\b.{0,3000}?data_bank_conflicts_pipe_lsu_mem_shared(?P=op)\.sum\D{0,60}? (?P<conflicts>[0-9,]{1,20})\b"
        r"|data_bank_conflicts_pipe_lsu_mem_shared(?P<operation>(?:_op_\w\w)?)\.sum\D{0,60}? (?P<few>[0-9,]{1,20})\b.{0,3000}?wavefronts_mem_shared(?P=operation)\.sum\D{0,60}? (?P<every>[0-9,]{1,20})\b",
        "nothing in this text is an error: {conflicts}{few} of {all}{every} wavefronts of shared memory are bank conflicts: too few to be a layout's",
        "An access whose threads meet in one bank conflicts each time it runs: it would show in a part of the wavefronts of at least one in the accesses of a warp. Less than 2 in 100 is arbitration (another unit uses the banks in that cycle, the counter's own replays), which no swizzle changes.",
        "Leave the layout. `layoutcheck banks LAYOUT --access ACCESS` proves that the access itself has none",
        (
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum 6508 l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum 12",
            issue(2810),
        ),
        level=CLEAN,
        instead_of=("ncu.uncoalesced-shared",),
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
        "nothing in this text is an error: Nsight Compute counts no bank conflicts",
        "The counter is 0: no access of this kernel is split by banks, so there is nothing to mend.",
        "The memory tables' other counters (sectors, wavefronts) say what the kernel waits for; `layoutcheck banks LAYOUT --access "
        "ACCESS` counts an access of a tile alone",
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum 0", issue(1882)),
        level=CLEAN,
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
        "ncu.local",
        r"local (?:loads?|stores?)[^\n]{0,60} might not be optimal|uncoalesced local accesses|l1tex__\w*_mem_local\w*",
        "Nsight: the kernel uses local memory",
        "Registers are spilled, or an array of a thread is indexed by a value that only the run knows: such an array lies in memory, behind L1. Register tensors of CuTe do so where a loop over them "
        "is not unrolled.",
        "-Xptxas -v prints spills. Unroll the loop (cutlass.range_constexpr, CUTE_UNROLL) and index with static coordinates; `layoutcheck resources` counts a tile's registers",
        ("The memory access pattern for local loads from L1TEX to L2 might not be optimal.", NCU),
        level="slow",
        instead_of=("ncu.uncoalesced",),
    ),
    known(
        "ncu.sectors",
        r"l1tex__average_t_sectors_per_request\w*(?:\.\w+)*|smsp__sass_average_data_bytes_per_sector_mem_global\w*(?:\.\w+)*|L2 theoretical sectors",
        "a count of global-memory sectors: what is above the ideal is bytes fetched for nothing",
        "A sector is 32 bytes. A warp that reads 4 bytes a thread needs 4 sectors a request, 16 bytes a thread 16; bytes per sector are 32 where all are used.",
        "LC302 names the stride that spreads a warp's addresses; `layoutcheck trace --no-launch SCRIPT` counts sectors of every copy beside the least",
        ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio sector/request 32", NCU),
        level="slow",
        rule="LC302",
        general=True,
    ),
    known(
        "ncu.pipe",
        r"(?P<pipe>[A-Z][\w ]{1,30}) is the highest-utilized pipeline",
        "Nsight: {pipe} is the busiest pipeline",
        "Tensor means that the tensor cores set the time, which is what a GEMM wants. Shared or LSU means shared-memory and load instructions: bank conflicts or narrow copies; ALU, FMA and XU mean arithmetic "
        "beside the MMA (conversions, indices, exponentials).",
        "For shared memory and loads `layoutcheck trace --banks SCRIPT` says width and wavefronts of every copy beside the least",
        ("Shared is the highest-utilized pipeline (87.5%) based on elapsed cycles.", NCU),
        level="slow",
        general=True,
    ),
    known(
        "ncu.balance",
        r"(?P<said>Memory is more heavily utilized than Compute|Compute is more heavily utilized than Memory|Compute and Memory are well-balanced|this kernel each scheduler only issues an instruction every [0-9.]+ cycles"
        r"|difference between calculated theoretical \([0-9.]+%\) and measured achieved occupancy)",
        "Nsight: {said}",
        "It says which unit sets the time, and names no fault. A kernel that waits for memory is as fast as its bytes allow where every sector and wavefront carries 32 and 128 of them.",
        "`layoutcheck trace --no-launch SCRIPT` counts sectors and wavefronts of every copy beside the least that its bytes need; where they are equal, fewer bytes or more in flight help",
        (
            "Memory is more heavily utilized than Compute: Look at the Memory Workload Analysis section to identify the DRAM bottleneck.",
            NCU,
        ),
        level="slow",
        general=True,
    ),
    known(
        "ncu.permission",
        r"ERR_NVGPUCTRPERM|does not have permission to (?:access|profile)[^\n]{0,60}(?:Performance Counters|target device)",
        "this user may not read the GPU's performance counters",
        "The driver gives them to administrators only, unless its module is loaded with NVreg_RestrictProfilingToAdminUsers=0; a container needs CAP_SYS_ADMIN beside.",
        "Run as root, or set the module's option; NVIDIA's page on ERR_NVGPUCTRPERM has both. `layoutcheck banks` and `layoutcheck trace --banks` count wavefronts without counters",
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.",
            NCU,
        ),
        level=ELSEWHERE,
    ),
    known(
        "ncu.no-kernel",
        r"==(?i:ERROR|WARNING|PROF)== ?No kernels were profiled",
        "Nsight Compute saw no kernel to measure",
        "The program launched none in the process that ncu watches, the filters (-k, -c, -s, --nvtx-include) match none, a child process launches them, or ncu does not support the GPU (before Volta).",
        "Run `ncu --target-processes all -c 1 PROGRAM` without other filters; then narrow with -k regex:NAME. `ncu --list-chips` names the GPUs that this version knows",
        ("==PROF== No kernels were profiled", issue(10, "NVIDIA/cuda-samples")),
        level=ELSEWHERE,
    ),
    known(
        "ncu.driver",
        r"driver is not compatible with Nsight Compute|(?i:driver version is insufficient for)[^\n]{0,20}(?i:nsight)",
        "the driver and Nsight Compute are not of matching versions",
        "ncu takes the counters through the driver, and a release of it knows the drivers of its own CUDA version. The driver is older than this ncu, or ncu is much older than the driver.",
        "`nvidia-smi` and `ncu --version` name both: update the driver, or take the ncu of the CUDA toolkit that nvidia-smi names. `layoutcheck trace --banks SCRIPT` counts wavefronts without it",
        (
            "==ERROR== Cuda driver is not compatible with Nsight Compute.",
            issue(632, "meta-pytorch/tritonbench"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "ncu.launch-failed",
        r"==(?i:ERROR)== ?(?:LaunchFailed|Failed to profile kernel[^\n]{0,80}|An error occurred while trying to profile)",
        "a kernel fails while Nsight Compute measures it",
        "Either the kernel fails by itself, or it fails when ncu replays it: a replay runs the kernel several times with memory restored between, which a kernel that waits for another one, for the host or for peers does not bear.",
        "Run the program without ncu under compute-sanitizer, and check the error of each launch. If it is clean, measure without replays of single kernels: `ncu --replay-mode application PROGRAM`",
        ("==Error==LaunchFailed", issue(23, "cloudcores/CuAssembler")),
        level=ELSEWHERE,
    ),
    known(
        "nvprof.too-new",
        r"nvprof is not supported on devices with compute capability (?P<capability>[0-9.]+[0-9])",
        "nvprof does not support this GPU (compute capability {capability} and higher)",
        "nvprof ends with Volta and Turing; its successors measure the GPUs after them.",
        "Take `nsys profile PROGRAM` for the time line and `ncu PROGRAM` for one kernel's counters; `layoutcheck trace --banks SCRIPT` counts bank conflicts without either",
        (
            "======== Warning: nvprof is not supported on devices with compute capability 8.0 and higher.",
            issue(5, "PaddleJitLab/CUDATutorial"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "ncu.device",
        r"==ERROR== ?(?:Error: )?(?P<said>Unknown Error on device [0-9]+|Failed to prepare kernel for profiling|(?:Failed to (?:access|initialize)|Cannot access) (?:the )?(?:device|driver|performance)[^\n=]{0,80}|Profiling is not supported on (?:this )?device[^\n=]{0,40})",
        "Nsight Compute cannot profile this device: {said}",
        "The profiler itself fails, before it measures: ncu is older than the driver or the GPU, another profiler or a virtual machine holds the counters, memory for saving and restoring what the kernel writes is missing, or the driver gives them to administrators only (WSL, containers). The program is not at fault, and a traceback of the Python that started ncu only follows.",
        "Compare `ncu --version` with the driver and the GPU, take the newest ncu, run it as root or with NVreg_RestrictProfilingToAdminUsers=0, and alone on the machine. `layoutcheck banks` counts wavefronts without counters",
        ("==ERROR== Unknown Error on device 0.", issue(1, "SzymonOzog/FastSoftmax")),
        level=ELSEWHERE,
        instead_of=("ncu.launch-failed", "ncu.no-kernel"),
    ),
    known(
        "ncu.tool",
        r"==(?i:ERROR|WARNING)== ?(?P<said>(?!.{0,40}ERR_NVGPUCTRPERM)[A-Z][^\n=]{5,120}?)(?=\.(?: |$)| ==|$)",
        "Nsight Compute itself reports: {said}",
        "No kernel was measured, or not all. Filters (-k, -c, -s) that match none, an application that fails or ends first, another profiler that holds the counters, and a kernel that faults or hangs "
        "when it is replayed are the causes.",
        "Run the program without ncu, then with `ncu --target-processes all -k regex:NAME -c 1`; the Nsight Compute guide lists its messages",
        ("==ERROR== The application returned an error code (1).", NCU),
        level=ELSEWHERE,
        general=True,
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
)
