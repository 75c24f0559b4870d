"""What a text tells without an error that is known: something hangs, is slow, is wrong, or only warns.

Such a text does not hold its cause, and no entry here names one: it says what the words show, what they leave open, and
what finds out. They are looked for where nothing else answers, in this order.
"""

from __future__ import annotations

from layoutcheck.catalogue.entry import CLEAN, ELSEWHERE, TRACE, UNKNOWN, issue, known

_OPEN = "The text does not say why. "

ENTRIES = (
    known(
        "symptom.debugger",
        r"(?P<said>\[Switching focus to CUDA kernel[^\n\]]{0,80}|\b(?:error)?pc +(?:0x[0-9a-f]+|<unavailable>)(?: +<[A-Za-z_]\w{3,80})?|\(cuda-gdb\) ?\w*)",
        "a debugger shows where threads stand, and no error of its own: {said}",
        "cuda-gdb lists positions: who is stopped where, not why. The kind of the fault is the line 'CUDA Exception: ...' when it stops, or when it opens a core file. Without one the kernel waits: "
        "warps of one block that stand at a barrier while others are gone, or at another line, are a barrier that not all threads reach.",
        "Paste what it prints first (`target cudacore FILE` for a core file), `info cuda kernels`, `info cuda warps` (who is still there) and `x/4i $pc` ($errorpc where it has one). Report it to {project}",
        ("pc 0x70705b682050 <RadixTopKRenormProbKernel_MultiCTA+6992>", "cuda-gdb"),
        level=UNKNOWN,
        general=True,
    ),
    known(
        "symptom.nothing-ran",
        r"(?!)",  # found by catalogue.symptoms, by its rows
        "results that no kernel wrote: every row is inf, NaN or 0",
        "A rate of inf is a time of 0, and results that are all 0 or NaN are memory that nobody wrote: the kernels did not run, and no call's status was looked at. "
        "Often there is no code for this GPU in the program, or the launch was refused (threads, registers, shared memory); an event that was never recorded gives a time of 0 as well.",
        "Check cudaGetLastError behind each launch, and cudaDeviceSynchronize; `cuobjdump --list-elf FILE` prints the targets, to compare with nvidia-smi --query-gpu=compute_cap; compute-sanitizer PROGRAM names a call that fails",
        ("cublas | inf| inf| inf|\nmine | inf| inf| inf|", "a benchmark"),
        level="wrong",
        general=True,
    ),
    known(
        "symptom.warning",
        r"(?s)^(?!.*(?:Traceback|(?i:\berror\b|exception|\bfail|abort|crash|\bhang|stuck|wrong))).*?(?:\bWARN(?:ING)?\b|(?P<python>\b[A-Z]\w+Warning)|\b\w*[Ww]arning)(?:\[\w+\])?\W{1,3} ?(?P<said>[^\n]{5,200}?)(?=[.] |$)",
        "a warning, and no error: {said}",
        "The program goes on after it. {cause}",
        "If something fails or is wrong later, paste that as well. {help}. Report it to {project}",
        ("WARNING[TensorOperationInWrapper]: A tensor operation outside of the loop will not be fused", "Helion"),
        level=ELSEWHERE,
        general=True,
        fill="words",
    ),
    known(
        "symptom.peer",
        r"(?i)\b(?P<said>\S{1,60} (?:\S{1,30} ){0,4}time(?:d )?-?out)\b(?=.{0,200}\b(?:RDMA|NVL\w*|ib|roce|peers?|ranks?|remote|socket|all_?(?:gather|reduce|to_?all)|TCPStore)\b)",
        "one process waits for another's data, which does not come: {said}",
        "It waits for bytes over NVLink or the network: a peer failed or ended before, runs another size or another call, or the network's set-up (InfiniBand, RoCE, NVSHMEM, interfaces) lets nothing through. A kernel that waits in vain then stops itself, and the launch failure follows.",
        "Look for the first error in the logs of all ranks; run the library's own test on the same nodes (ib_write_bw, nvshmem's or NCCL's tests as well); compare versions and settings of all ranks. Report it to {project}",
        ("dispatch forwarder timeout (RDMA meta), channel: 2, RDMA: 1", issue(158, "deepseek-ai/DeepEP")),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "symptom.versions",
        r"(?i)\b(?P<said>(?:versions?|pins?|dependenc\w+|packages?)\b[^.]{0,80}?\b(?:(?:don't|do not|does not|doesn't) (?:match|fit)|conflicts?|mismatch\w*|incompatible)|needs? different versions|(?:which|that|since) v?[0-9]+\.[0-9.]+ (?:removed|lacks|dropped|renamed)|fails? to import \S+ from|libs-(?:cu13|base)\S{0,12} installed)",
        "packages of versions that do not go together: {said}",
        "A library of kernels names the DSL that it is written for (nvidia-cutlass-dsl, its -libs-base for CUDA 12 or -libs-cu13, quack-kernels, apache-tvm-ffi): names come and go from one minor version to the next, and the two -libs packages hold the same files, so that the one that was installed last runs.",
        "pip list, and each project's own pins: take releases that share a pin, or two environments; uninstall every nvidia-cutlass-dsl* and install one version (with [cu13] for CUDA 13 alone). The versions that go together are named by {project}",
        ("these two libraries need different versions of cutlass and quack-kernels", "a report"),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "symptom.barrier",
        r"(?i)(?P<said>diverg\w+ (?:\w+ ){0,2}barriers?|barriers? under diverg\w+|(?:skips?|misses|before|without reaching) (?:the |a |its )?(?:\S+ ){0,6}(?:barrier|`?__syncthreads)|(?:diverg\w+|break|continue|return)\b.{0,200}?__syncthreads)",
        "a barrier that not all threads reach: {said}",
        "__syncthreads and bar.sync wait for all threads of the block (or for their count), and all threads of a warp execute the same barrier instruction (PTX ISA, bar.sync, which is aligned; barrier.sync without .aligned may stand in branches). Two of them in two branches are two barriers; a lane that leaves by break, continue or return leaves the others waiting.",
        "Move the barrier out of the branch and guard the work instead, make the condition the same for the whole block, or give each role a named barrier with its own id and count; compute-sanitizer --tool synccheck names the line. Report it to {project}",
        ("the loop breaks before the block-wide __syncthreads()", "a report"),
        level="wrong",
        general=True,
    ),
    known(
        "symptom.compiler",
        r"(?i)(?P<said>\b(?:NVVM|libNVVM|(?:the )?(?:DSL |cute ?DSL )?compiler|back ?end|MLIR|cute-to-nvvm|ptxas|pass|compile)\b[^\n.]{0,60}?\b(?:crash\w*|segfaults?|seg(?:mentation)? fault|hangs?|never (?:ends|returns|finishes)|(?:can(?:no|')t|fails? to|unable to) (?:legali[sz]e|lower|select|compile)|ICE|internal error)|(?:crash\w*|segfaults?) (?:in|of|inside) (?:the )?(?:NVVM|compiler|back ?end|MLIR))",
        "the compiler itself stops: {said}",
        "It meets an operation, a width, a target or arguments that this release does not compile, and says no more. No layout is refused in words, and nothing has run.",
        "Compile the same program with another release of nvidia-cutlass-dsl, for the family's first target (CUTE_DSL_ARCH=sm_100a in place of sm_101a or sm_110a), and with the narrower of two forms (x32 in place of x64), to see which of them it is; report it to {project}",
        ("NVVM backend crash in nvidia-cutlass-dsl 4.6.1: tcgen05.ld x64", issue(3420)),
        level="rejected",
        general=True,
    ),
    known(
        "symptom.hang",
        r"(?i)\b(?P<said>hang(?:s|ing)?|hung|dead-?lock(?:s|ed|ing)?(?!.{0,300}\b(?:transactions?|\w+Lock|data ?base)\b)|(?:gets? |is |are )?stuck|freez(?:es?|ing)|frozen|spin(?:s|ning)? forever|never (?:returns?|finish\w*|completes?|ends?)|no progress|infinite (?:loop|wait)|"
        r"(?:does|do|did|will|would)(?: not|n't) (?:return|recover|finish|terminate)|(?:block|wait|spin)(?:s|ed|ing)? (?:forever|for more than|indefinitely)|No available shared memory broadcast block|throughput: 0(?:\.0)? tokens|time(?:d )?-?out|heartbeat|watchdog)\b|(?P<word>卡住|卡死|挂起|死锁)",
        "something hangs or waits: {said}{word}",
        _OPEN
        + "A kernel that waits keeps its GPU at 100 %: for bytes or arrivals of an mbarrier that never come, at a barrier that not all threads reach, or for blocks that do not run at the same time. "
        "Where the GPU is idle the host waits: for another process, which failed first or still compiles, or for a lock.",
        "nvidia-smi says whether the GPU is busy. If it is: cuda-gdb -p PID, then `info cuda kernels` and `info cuda warps`, names kernel and line, and compute-sanitizer --tool synccheck looks at barriers; `layoutcheck trace --no-launch SCRIPT` replays the order of "
        "copies and barriers of a CuTe DSL kernel without a GPU. If it is idle: py-spy dump --pid PID for each process, and the first error of all logs. Report it to {project}",
        ("the kernel launch never returns on 2 of 8 ranks", "a report"),
        level="wrong",
        general=True,
    ),
    known(
        "symptom.race",
        r"(?P<said>(?i:\b(?:data |memory |shared[- ]memory )?races?\b|\bracy\b|\bhazards?\b|racecheck)|\b(?:RAW|WAR|WAW)\b|(?i:overwrit\w+ .{0,60}(?:before|while|still)|(?:missing|lacks?|without|no|needs?) (?:an? )?(?:__syncthreads|__syncwarp|syncthreads|barrier|(?:proxy )?fence|synchroni[sz]ation)))",
        "accesses to one memory that nothing orders: {said}",
        "The text tells a race, and not always both of its lines. A thread's writes are seen by others after a barrier, or an arrival that they wait for: an mbarrier's arrival by one elected lane orders that lane's own writes only, so that __syncwarp stands before it or all lanes arrive. "
        "A buffer is written again after a barrier behind its last read; what threads wrote is read by TMA, wgmma or tcgen05 after fence.proxy.async and a barrier; cp.async's data is there after wait_group and a barrier.",
        "compute-sanitizer --tool racecheck names both accesses of shared memory (it sees no missing proxy fence); "
        + TRACE
        + " and the order of its accesses (LC5xx). Report it to {project}",
        ("racecheck flags a WAR hazard on the reduction's scratch", "a report"),
        level="wrong",
        general=True,
    ),
    known(
        "symptom.wrong",
        r"(?i)\b(?P<said>(?:\w+ly )?(?:wrong|incorrect)(?:ly)?(?! (?:version|way|path|folder|branch|repo\w*|python|driver|type|number of|place)\b)(?: (?:\w+ ){0,2}?(?:gradients?|results?|outputs?|values?|data|answers?|elements?|layouts?|tiles?|rows?|(?-i:C\b)|when \w+|for \w+|if \w+)\b)?|garbage(?!.?collect)(?: \w+){0,4}|(?:corrupt\w*|unexpected|bad|diverging|garbled|unwritten|stale|old|random|duplicated|swapped) (?:\w+ ){0,2}(?:gradients?|results?|outputs?|values?|numbers?|data|answers?|elements?|layouts?|strides?|tiles?|shapes?|tokens?|text|in \w+)|behaves? unexpectedly"
        r"|different (?:results?|outputs?|answers?|layouts?|values?)|(?:results?|outputs?|gradients?|answers?|elements?|values?|precision)(?: of \w+)? (?:(?:is|are|was|becomes?|looks?|seems?) (?:\w+ ){0,2}(?:different|bad|off|zeros?|infs?|NaNs?|not|rounded|lost|missing|swapped|duplicated|garbled|never written|not written)|differs?|diverges?)|(?:gives|returns|produces|gave|returned|is|are)(?: all| only)? (?:zeros|infs?)\b"
        r"|rounded (?:down|up|to)|(?:becom\w+|turns?(?: in?to)?|goes(?: to)?|went(?: to)?|gets?|contains?|gives?|produces?|of|are) NaNs?\b|\bNaNs? (?:in|for|when|with)\b|(?:rows?|columns?|tiles?|elements?|region) (?:(?:is|are|was|were|get|gets|left) )?(?:\w+ )?(?:swapped|duplicated|garbled|unwritten|untouched|(?:never|not) written)|(?:half|every (?:second|other|third|fourth|[0-9]+th)) [\w ]{0,20}(?:is|are) (?:all )?zeros?|all[- ]zeros?|silently \w+|cosine similarity|not equal|(?:does|do|did|should|is|are|were)(?: not|n't) (?:match\w*|agree|equal|1s|0s|what (?:I|we) expect\w*|as expected|close)|differs? from|(?<!rank )(?<!type )(?<!shape )(?<!version )(?<!kernel )(?<!size )(?<!structure )mismatch\w*|inconsistent|(?:lossy|loses|lost) (?:precision|accuracy)|precision issues?|accuracy (?:issue|drop|problem)s?"
        r"|non-?deterministic|(?<!why )(?<!does )(?:gives|prints|shows|returns|observed) (?:(?:me |a )?\w+ ){0,3}(?:but|instead of|rather than)|(?:should|would|I) (?:say|get|be|expect)\b.{1,80}? but\b|but (?:I|it|we) (?:only )?(?:gets?|gives?|got|am only getting|reads?|prints?)|expected (?!arguments?\b|types?\b|an? \w+ (?:object|instance)).{0,80}\b(?:got|but|actual|observed)|\b(?:rows?|tiles?|values?|results?|data)\b[^.]{0,40} (?:from|of) the (?:previous|last|next) (?:tile|iteration|stage|block|call|step)|(?:results?|rows?|tiles?|values?|elements?|stores?) (?:(?:are|is) )?(?:\w+ ){0,2}missing|\boff by\b[\w ]{0,20}|drops? (?:the |some )?(?:\w+[- ]){0,3}(?:tail|tiles?|rows?|elements?))|(?P<word>误差|结果不|不正确|不一致|错误的结果)",
        "values are not what is expected: {said}{word}",
        _OPEN
        + "Where they differ tells: whole rows, vectors or tiles are data in the wrong place (a tile's index or offset, a partition, a permutation on one side only); other elements in each run are a read before the data is there (a barrier, a fence, a wait); all of them by a factor or a little are "
        "types, scales or the tolerance; NaN and huge values memory that nobody wrote, or arithmetic with infinities (a row that is masked whole, a division by 0).",
        "Give an input that numbers its elements (arange) and look where each lands. `layoutcheck explain SRC DST --atom ATOM` compares what one copy moves with what its layouts ask, `layoutcheck draw LAYOUT` shows offsets; "
        + TRACE
        + " and the order of its accesses. Report it to {project}",
        ("the output is wrong for odd sizes", "a report"),
        level="wrong",
        general=True,
    ),
    known(
        "symptom.conflicts",
        r"(?i)\b(?P<said>bank[ -]conf(?:lict(?:ion)?|ict)s?)\b(?!\*{0,2} ?\|)",
        "{said} are told, and no counter that says where",
        _OPEN
        + "A warp's access to shared memory takes one wavefront where its addresses lie in different banks (or are the same): layout, swizzle, element width and instruction decide it together. ldmatrix reads 8 rows of 16 bytes at a time, which must lie in 8 different groups of 16 bytes. "
        "Less than 2 in 100 wavefronts is arbitration, and no conflict.",
        "`layoutcheck banks LAYOUT --access ldmatrix.x4` counts each access of a shared layout, swizzle included, and names a swizzle that has none; `layoutcheck explain SRC DST --atom ATOM` does so for a copy. "
        + TRACE,
        ("ncu shows bank conflicts of ldmatrix with Swizzle<3,3,4>", "a report"),
        level="slow",
        general=True,
    ),
    known(
        "symptom.spills",
        r"(?i)\b(?P<said>(?:register|local memory)? ?spill\w*|stack frame)\b",
        "spilled registers are told: {said}",
        _OPEN
        + "A thread has at most 255 registers, and a multiprocessor 65,536: the block's threads and the blocks that are asked for divide them. What does not fit, and arrays that are indexed at run time, lie in local memory.",
        "-Xptxas -v (CUTE_DSL_KEEP=ptx, before 4.8 CUTE_DSL_KEEP_PTX=1, then ptxas -v) names the function and how many bytes; `layoutcheck resources` counts what a tile's accumulators and fragments need, and "
        + TRACE,
        ("ncu shows more local memory spilling requests", "a report"),
        level="slow",
        general=True,
    ),
    known(
        "symptom.slow",
        r"(?i)\b(?P<said>slow(?:er|down|s)?\b|\bspeed-?ups?\b|\bfaster than\b|(?:poor|low|bad|worse) (?:performance|throughput|utili[sz]ation|occupancy)|(?:performance|throughput|speed) (?:is|was|are|were) (?:\w+ ){0,2}(?:worse|poor|bad|low\w*|limited)|(?:substantial|significant|large|high) overhead|far from (?:satisf\w+|optimal|the peak)|\bms,? (?:while|whereas|vs|against|compared)|(?:performance|perf|[0-9.]+ ?%) (?:regression|drop|gap|issue)|overhead (?:outweighs|dominates|exceeds)|[0-9.]+ ?[x%] (?:slower|of peak|of (?:the )?(?:peak|roofline|cublas|sol))|[0-9.]+ ?T(?:FLOPS?|FLOP/s)\b|[0-9.]+ ?[GT]B/s|[+-][0-9.]+ ?% (?:\w+ )?(?:time|latency|runtime)|[0-9,]{4,} cycles|roofline|same performance|worse than|(?:cache )?hit rate|\bL2 cache\b|throughput)",
        "speed is told, and no counter that says what costs it: {said}",
        _OPEN
        + "Time alone does not tell memory, bank conflicts, registers, occupancy or waits apart; clocks, warm-up and the L2 cache change it as well.",
        "ncu --set full -k KERNEL PROGRAM counts (paste its details page here). "
        + TRACE
        + " and counts instructions, wavefronts and sectors of each beside the least; `layoutcheck resources` says what limits the blocks of a multiprocessor. Report it to {project}",
        ("it reaches 41% of peak, 310 TFLOPS against 520 of cuBLAS", "a report"),
        level="slow",
        general=True,
    ),
    known(
        "symptom.resources",
        r"(?i)\b(?P<said>(?:[0-9.]+ ?(?:KB|KiB|bytes|B)|max\w*|limit|exceed\w*|too much|carve-?out|opt-?in|how much|amount|size) .{0,40}(?:shared memory|smem)|(?:shared memory|smem) .{0,40}(?:[0-9.]+ ?(?:KB|KiB|bytes|B)|limit|exceed|too (?:large|big|much)|size|carve-?out|usage|opt-?in|by every tile)|dynamic shared memory|[0-9]+ ?Ki?B ?/ ?(?:stage|SM|CTA|block)|occupancy|registers (?:per|a) thread)\b",
        "about what a block takes: {said}",
        _OPEN
        + "A block has at most 99 KiB of shared memory on sm_86, sm_89 and sm_120, 163 KiB on sm_80, 64 KiB on sm_75, 227 KiB on sm_90 and sm_100; above 48 KiB it is dynamic, and asked for by cudaFuncSetAttribute. A launch that asks for more is refused, most often with 'invalid argument' or 'invalid value'.",
        "Print the bytes that the launch asks for beside cudaDevAttrMaxSharedMemoryPerBlockOptin; `layoutcheck resources` counts a tile's shared memory and registers, and the blocks that fit. Report it to {project}",
        ("dynamic shared memory is sized by every tile", "a report"),
        level=UNKNOWN,
        general=True,
    ),
    known(
        "symptom.layouts",
        r"(?!)",  # found by catalogue.symptoms: layouts, and nothing else that is known
        "layouts, without an error: {count} are read",
        "No line reports an error or says what was expected. Shapes and strides are read as CuTe prints them, in elements; what each of them is stands below.",
        "`layoutcheck draw LAYOUT` shows the offsets, `layoutcheck banks LAYOUT` the bank conflicts, and `layoutcheck explain SRC DST --atom ATOM` judges a copy from one to the other",
        ("tAsA : ptr[16b](0x0) o ((_8,_1),_4):((_1,_0),_64)", "cute::print"),
        level=CLEAN,
        general=True,
    ),
)  # fmt: skip
