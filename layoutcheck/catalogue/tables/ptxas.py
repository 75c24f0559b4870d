"""What ptxas and LLVM's back end say of the generated code."""

from __future__ import annotations

from layoutcheck.catalogue.entry import CLEAN, ELSEWHERE, issue, known

ENTRIES = (
    known(
        "ptxas.barrier",
        r"Number of threads participating in barrier[^\n]{0,60}|Barrier number '?(?P<number>[0-9]+)'? out of range",
        "a named barrier has another number {number} or count of threads than the hardware has",
        "A block has the barriers 0 to 15, and whole warps arrive at them: the count is a multiple of 32 (PTX ISA, bar.sync).",
        "Use identifiers below 16 (0 is __syncthreads), and count the threads of the warps that arrive",
        ("ptxas fatal: Barrier number '20' out of range, expected to be in range [0..15]", "ptxas"),
    ),
    known(
        "ptxas.target-suffixed",
        r"(?:Instruction |Feature |Modifier )'(?P<what>[^']{1,100})' not supported on \.?target '(?P<arch>sm_[0-9]{2,3}[af])'",
        "the target {arch} does not have {what}; its suffix is there already",
        "This form of the instruction does not exist on the architecture: sm_120 and sm_121 have no tcgen05, no wgmma and TMA's gather4 only into .shared::cta, sm_100 and sm_110 no wgmma, sm_90 no tcgen05 (PTX ISA, target notes of "
        "each instruction). The code was written, or generated, for another family.",
        "In PTX of your own take the form of this family. Where a compiler wrote it (Triton and TileLang: /tmp/tmp*.ptx), take a newer release of it or another back end or configuration of the library, and report it there",
        ("ptxas /tmp/tmp8.ptx, line 99; error : Feature '.tile::gather4 with destination state space as .shared::cluster' not supported on .target 'sm_120a'", issue(27542, "vllm-project/vllm")),
        rule="LC108",
        instead_of=("ptxas.target",),
    ),
    known(
        "ptxas.target",
        r"(?:Instruction |Feature |Modifier |PTXAS[^\n]{0,40})'(?P<what>[^']{1,80})' not support(?:ed)?(?: on \.?target(?: '(?P<arch>sm_\w+)')?)?",
        "the target {arch} does not have {what}",
        "The instruction belongs to another architecture, or to the accelerated form of this one: wgmma exists for sm_90a only; "
        "tcgen05 for sm_100a, sm_101a, sm_103a and sm_110a; block-scaled mma.sync for sm_120a and sm_121a; setmaxnreg and "
        "tensormap.replace for sm_90a and the forms with a of later ones (PTX ISA, target notes of each instruction).",
        "If the GPU's family has it, name the target with its suffix a (CUTE_DSL_ARCH, or -gencode arch=compute_120a,code=sm_120a). "
        "Else leave the file out of this target's build: one kernel source serves one family",
        ("ptxas /tmp/x.ptx, line 20; error : Instruction 'wgmma.fence' not supported on .target 'sm_90'", "ptxas"),
        rule="LC108",
    ),
    known(
        "ptxas.target-too-old",
        r"(?:Instruction|Feature|Modifier) '(?P<what>[^']{1,80})' requires \.target '?(?P<arch>sm_\w+)'?"
        r"|cannot be compiled to .{0,40}sm_\w+",
        "the target is older than {what}, which begins with {arch}",
        "The build names an architecture that does not have the instruction: often the default of nvcc or of a list of "
        "architectures.",
        "Name the GPU's own architecture (CUTE_DSL_ARCH, TORCH_CUDA_ARCH_LIST, -gencode), or guard the code by __CUDA_ARCH__",
        ("ptxas /tmp/a.compute_60.ptx, line 206889; error   : Feature 'cp.async' requires .target sm_80 or higher", issue(1620, "ModelCloud/GPTQModel")),
        rule="LC108",
    ),
    known(
        "compiler.cannot-select",
        r"LLVM (?i:error): Cannot select: (?:intrinsic )?%?(?:llvm\.nvvm\.)?(?P<what>[\w.]{1,80})",
        "the target does not have {what}",
        "LLVM finds no instruction of the target architecture for this operation. It is compiled for another architecture "
        "than the one that has it, or without the suffix a; for an older PTX version than the instruction needs; or the LLVM at hand does not know yet that this target has it.",
        "Name the GPU's own target with its suffix (in the DSL CUTE_DSL_ARCH=sm_100a; llc -mcpu=sm_100a) and a PTX version that has the instruction (llc -mattr=+ptx86; shfl.sync needs ptx60). If the target is the GPU's own already, take a newer LLVM (of Triton, JAX, IREE: their newer release)",
        ("LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.tcgen05.dealloc.cg1", issue(22147, "iree-org/iree")),
        rule="LC108",
    ),
    known(
        "compiler.unknown-target",
        r"'(?P<target>sm_\w+)' is not a recognized processor for this target|-arch=(?P<option>(?:compute|sm)_\w+) is an unsupported option",
        "the compiler's back end (LLVM, libNVVM) does not know {target}{option}",
        "It is older than this target: libNVVM refuses the name, LLVM ignores it and compiles for its oldest target. What is said below it, an instruction that cannot be selected or an intrinsic that is missing, only follows from that.",
        "Take a compiler with a newer LLVM: a newer release of Triton, JAX or IREE, a newer CUDA toolkit for libNVVM, a newer nvidia-cutlass-dsl; the newest GPUs are known months after they are out. No kernel and no layout is at fault. Report it to {project}",
        ("'sm_107a' is not a recognized processor for this target (ignoring processor)", "LLVM"),
        level=ELSEWHERE,
        instead_of=("compiler.cannot-select", "dsl.code-generation"),
    ),
    known(
        "ptxas.version",
        r"(?P<what>(?:Instruction|Feature|Modifier) '[^']{1,80}' requires PTX ISA \.version [0-9.]+[0-9]"
        r"|Unsupported \.version [0-9.]+[0-9]; current version is '[0-9.]+'|ptxas does not support CC [0-9.]+[0-9])",
        "compiler and ptxas are of different CUDA versions: {what}",
        "The PTX states one version of the PTX ISA. ptxas (or the driver) knows older ones only, or the instruction is newer.",
        "Use the ptxas of the toolkit that made the PTX, or a newer one: `ptxas --version`, and `nvidia-smi` for the driver's",
        ("ptxas /tmp/tempfile-8bf0, line 303; error   : Feature 'WGMMA' requires PTX ISA .version 8.0 or later", issue(6523, "openxla/xla")),
        level=ELSEWHERE,
    ),
    known(
        "ptxas.made-by-a-compiler",
        r"ptxas application ptx input, line \S{1,9}; error ?: (?P<said>Unexpected instruction types specified for '[^']{1,60}'|Arguments mismatch for instruction '[^']{1,60}'|(?:Illegal|Unknown|Unexpected) (?:modifier|instruction|operand)[^\n]{0,80})",
        "ptxas refuses PTX that a compiler made: {said}",
        "The PTX came from memory ('application ptx input'): a compiler, such as the DSL, wrote it, with inline assembly in it where the program has some. The target has no such form of the instruction (conversions of FP8, FP6 and FP4 begin with sm_89 and sm_100a), the compiler and the ptxas that it calls are of different versions, or it lowers the operation wrongly.",
        "Install the DSL's packages anew in one version (pip uninstall every nvidia-cutlass-dsl* first: nvidia-cutlass-dsl-libs-base and -libs-cu13 up to 4.5.3 lie in one folder, and a partial upgrade mixes them, NVIDIA/cutlass#3170), newer if there is one, and a driver or toolkit of its CUDA; "
        "set CUTE_DSL_ARCH to the GPU's form with a, and compare inline assembly with the PTX ISA. Where it stays, report it to NVIDIA/cutlass or the compiler's own project",
        ("ptxas application ptx input, line 969; error : Unexpected instruction types specified for '_mma'", issue(3227)),
        level=ELSEWHERE,
        instead_of=("ptxas.operand-types",),
    ),
    known(
        "ptxas.static-shared",
        r"uses too much shared data \((?P<have>0x[0-9a-f]+) bytes(?: \+ 0x[0-9a-f]+ bytes system)?, (?P<most>0xc000) max\)",
        "the kernel declares more than 48 KiB of static shared memory",
        "Arrays declared __shared__ with fixed extents are static, and static shared memory ends at 48 KiB on every GPU; what "
        "is beyond is dynamic (CUDA C++ Programming Guide, compute capabilities).",
        "Declare the buffer extern __shared__ and raise the limit with cudaFuncSetAttribute(kernel, "
        "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), or use a smaller tile. What cute's SmemAllocator allocates is dynamic",
        ("ptxas error : Entry function 'kernel' uses too much shared data (0x1c400 bytes, 0xc000 max)", "ptxas"),
    ),
    known(
        "ptxas.register-limit",
        r"Register allocation failed with register count of '(?P<count>[0-9]+)'|Insufficient registers \((?P<few>[0-9]+)\) to compile instruction",
        "the kernel needs more registers than the {count}{few} that a thread has here",
        "A multiprocessor has 65,536 registers, which the threads of a block share, and a thread at most 255: ptxas compiles a block of 512 threads for 128 each at the entry, "
        "whatever setmaxnreg gives one warpgroup later (NVIDIA/cutlass#2904). One wgmma of 256 columns keeps 128 for its result alone.",
        "`layoutcheck resources` counts the registers that a tile needs. Use fewer threads in a block, fewer columns an instruction or a smaller tile, and no -maxrregcount",
        ("ptxas error   : (C7600) Register allocation failed with register count of '168'. Compile the program with a " "higher register target", "ptxas"),
    ),
    known(
        "ptxas.stack-frame",
        r"(?<![0-9])(?P<frame>[1-9][0-9]{0,9}) bytes stack frame(?:, 0 bytes spill stores, 0 bytes spill loads|(?!,))",
        "a thread keeps {frame} B in local memory, and no register is spilled",
        "An array of the thread has no registers: it is indexed by a value that only the run knows, or its address is taken (it goes by reference to a function that is not inlined, or to printf). "
        "A cute::Tensor in registers is such an array. It lies in local memory, behind L1, whatever registers are free.",
        "Index it by constants: unroll the loop fully (#pragma unroll, CUTE_UNROLL, cutlass.range_constexpr), with static extents and coordinates (Int<>{}), and inline what takes it by reference. "
        "`cuobjdump -sass FILE` shows its accesses as LDL and STL, `layoutcheck resources` counts the registers of a tile; a smaller tile or setmaxnreg alone does not help",
        ("352 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", "ptxas"),
        level="slow",
    ),
    known(
        "ptxas.local-depot",
        r"\.local \.align [0-9]+ \.b8 \w{1,40}\[(?P<bytes>[0-9]+)\]|(?P<depot>__local_depot[0-9]+)",
        "the PTX keeps an array of the thread in local memory {depot}",
        "The compiler finds no registers for an array ({bytes} B) that is indexed by a value of the run, or whose address is taken. DSL 4.5.0 did so for the vector that a register tensor's load() gives, when it is indexed in a loop (NVIDIA/cutlass#3210).",
        "Index the register tensor itself, r[i], not the vector of r.load(), in a loop that is unrolled (cutlass.range_constexpr, unroll_full=True; #pragma unroll in C++); take another release than DSL 4.5.0. `layoutcheck resources` counts the registers of a tile",
        (".local .align 8 .b8 __local_depot0[16];", issue(3210)),
        level="slow",
    ),
    known(
        "ptxas.registers",
        r"(?<![0-9])(?P<spilled>[1-9][0-9]{0,11}) bytes spill (?:stores|loads)|Registers are spilled to local memory",
        "the kernel spills registers to local memory",
        "Accumulators and fragments fill the register file: 255 registers a thread, 65,536 a multiprocessor, less where "
        "__launch_bounds__ or setmaxnreg leaves fewer. The stack frame holds what is spilled, and arrays that are indexed by values of the run.",
        "`layoutcheck resources` counts the registers that a tile needs. Use a smaller tile, more warps for one tile, or a "
        "higher setmaxnreg for the warps that compute",
        ("ptxas info : 40 bytes stack frame, 48 bytes spill stores, 48 bytes spill loads", "ptxas"),
        level="slow",
        instead_of=("ptxas.stack-frame",),
    ),
    known(
        "ptxas.no-spills",
        r"(?<![0-9])0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        "nothing in this text is an error: ptxas reports what a kernel uses: no register is spilled, and no array lies in local memory",
        "It is what -Xptxas -v prints of every function, and no fault: three zeros are what one wants.",
        "`layoutcheck resources` says how many blocks of a tile the printed registers and shared memory leave on a multiprocessor; for speed measure with ncu",
        ("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", "ptxas"),
        level=CLEAN,
        general=True,
    ),
    known(
        "ptxas.intrinsic",
        r"Parsing error near '\.?(?P<near>nvvm|llvm)\b[^']{0,60}'",
        "the PTX calls a function of LLVM ({near}...) that the compiler did not translate",
        "llvm.nvvm.NAME is an intrinsic, which the compiler replaces by an instruction. It came from a library in LLVM bitcode (NCCL's or NVSHMEM's device functions) that is newer than the compiler, which takes its name for a "
        "function's (NVIDIA/cutlass#3573: bitcode of NCCL 2.31.2). No layout or copy is at fault.",
        "Take the library's bitcode of the compiler's time (NCCL 2.30.7), or a newer nvidia-cutlass-dsl; CUTE_DSL_KEEP=ptx shows the name in that line. Report it to NVIDIA/cutlass",
        ("ptxas application ptx input, line 47; fatal : Parsing error near '.nvvm': syntax error", issue(3573)),
        instead_of=("ptxas.syntax",),
    ),
    known(
        "ptxas.volatile-local",
        r"Modifier '\.(?P<modifier>volatile|relaxed|acquire|release|weak)' cannot be applied to '\.(?P<space>local|param|const)' space",
        "the compiler writes a {modifier} access of {space} memory, which PTX does not have",
        "Source or a library's device function reaches an array of the thread itself through a volatile or atomic pointer. After inlining the compiler knows that it is {space} memory, and should drop the modifier; nvidia-cutlass-dsl "
        "4.6 and 4.7 do not (NVIDIA/cutlass#3573, 4.5.2 does). No layout or copy is at fault.",
        "Take another release of the compiler, or, in code of your own, a plain variable without volatile; report it to NVIDIA/cutlass",
        ("ptxas application ptx input, line 312; error : Modifier '.volatile' cannot be applied to '.local' space", issue(3573)),
        instead_of=("ptxas.syntax",),
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
        ("ptxas application ptx input, line 9; error : Arguments mismatch for instruction 'cp.async.cg'", "ptxas"),
    ),
    known(
        "ptxas.operand-types",
        r"Unexpected instruction types specified for '(?P<what>[^']{1,60})'|(?:Arguments mismatch|Illegal (?:operand type|modifier|vector size)\w*|Incorrect (?:operand|instruction) \w+)[^\n]{0,30} for instruction '(?P<other>[^']{1,60})'",
        "{what}{other} does not exist with these types, shapes or operands on the target",
        "Each form of an instruction has its own element types, shape and operands, and begins with its own architecture (PTX ISA): an mma "
        "of FP8 begins with sm_89, one of FP4 with sm_120a.",
        "`layoutcheck numerics units --arch ARCH` lists the tensor-core instructions of an architecture; compile for the GPU that has the form, "
        "or take another one. Inline assembly: compare its operands with the PTX ISA",
        ("ptxas /tmp/x.ptx, line 1208; error   : Unexpected instruction types specified for 'mma'", issue(1520, "tile-ai/tilelang")),
        rule="LC108",
    ),
    known(
        "ptxas.advisory",
        r"Advisory: (?P<said>[^\n]{10,300}?(?:architectures|performance)|[^\n]{10,200})",
        "ptxas advises: {said}",
        "The code is correct on the target, and slower on some architecture; only --warning-as-error makes an error of it.",
        "Name the target that the advice names (sm_90a instead of sm_90), or leave --warning-as-error out. "
        "`layoutcheck resources` counts what a tile needs",
        ("ptxas /tmp/x.ptx, line 154; error   : Advisory: '.multicast::cluster' modifier on instruction 'cp.async.bulk{.tensor}' should be " "used on .target 'sm_90a' instead of .target 'sm_90' as this feature is expected to have substantially reduced performance on " "some future architectures", "https://github.com/NVIDIA/cccl/pull/1403"),
        level="slow",
        instead_of=("ptxas.target",),
    ),
    known(
        "ptxas.no-message",
        r"ptxas failed with error code (?P<code>-?[0-9]+)",
        "ptxas ends with code {code}",
        "What it printed stands behind. If nothing does, it did not run: the file is not for this system, a library is missing, or the "
        "system ended it for memory.",
        "Run the ptxas that the message names by hand (`ptxas --version`), and look at the kernel's PTX if it prints an error",
        ("`ptxas` failed with error code 4294967295 `ptxas` stderr:", issue(66, "woct0rdho/triton-windows")),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "ptxas.setmaxnreg",
        r"'?setmaxnreg'? ignored[;,]? (?P<why>[^\n]{3,120}?)(?=\.(?: |$)| in (?:the )?function|$)",
        "ptxas ignores setmaxnreg: {why}",
        "setmaxnreg moves registers between warpgroups, for which ptxas must know how many each thread has at the entry, and see every function that is called. "
        "It ignores all of them else: the kernel runs with one count for all warps, and often spills.",
        "State the blocks of a multiprocessor: min_blocks_per_mp=1 in .launch(...) of the DSL (NVIDIA/cutlass#3406), __launch_bounds__(threads, 1) in C++; inline what is "
        "called, leave -maxrregcount out, and compile without -rdc=true (compilation units) and -G (debugging)",
        ("ptxas info : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.", issue(3406)),
        level="slow",
        rule="LC511",
        instead_of=("ptxas.performance-loss",),
    ),
    known(
        "ptxas.injected",
        r"(?P<what>warpgroup\.(?:arrive|wait|depbar)|wgmma\.\w+) is injected",
        "ptxas adds {what} to the kernel",
        "The registers of a wgmma are written or read where no fence or wait stands between (warpgroup.arrive is wgmma.fence): ptxas adds it, so that "
        "the result is right, and the added instruction may wait where yours would not. It is no error.",
        "Call warpgroup_fence (wgmma.fence) before the first wgmma that reads registers written since the last one, and wait_group before they are touched",
        ("ptxas info : (C7519) warpgroup.arrive is injected in around line 742911 by compiler to allow use of registers in GMMA in function 'f'", issue(1658, "Dao-AILab/flash-attention")),
        level="slow",
        rule="LC511",
    ),
    known(
        "ptxas.wgmma-registers",
        r"wgmma\.mma_async instructions are serialized due to (?P<said>insufficient register resources)",
        "ptxas serialises wgmma: {said}",
        "The accumulators in flight and what is computed beside them need more registers than a thread has, so that ptxas waits for each wgmma before the next.",
        "Smaller accumulators (a tile of half the columns, or two warpgroups for it), fewer wgmma in flight, setmaxnreg for the warps that compute; `layoutcheck resources` "
        "counts the registers of a tile, and -Xptxas -v prints spills",
        ("ptxas info : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline in the function 'f'", issue(1840)),
        level="slow",
        rule="LC511",
        instead_of=("ptxas.performance-loss",),
    ),
    known(
        "ptxas.wgmma-calls",
        r"wgmma\.mma_async instructions are serialized due to (?P<said>the presence of Extern calls|wgmma pipeline crossing function boundary[\w ]{0,30}?)(?= in the function|$)",
        "ptxas serialises wgmma: {said}",
        "A function that is not inlined is called while a wgmma runs: ptxas cannot see which registers it touches. Such calls are printf, assert, division of run-time 64-bit "
        "integers in debug builds, lambdas too large to inline, and every __device__ function under -rdc=true.",
        "Inline what is called (__forceinline__, CUTE_DEVICE), compile with -DNDEBUG and without -rdc=true and -G, and take printf out; `layoutcheck resources` counts what a tile needs",
        ("ptxas info : (C7509) Potential Performance Loss: wgmma.mma_async instructions are serialized due to the presence of Extern calls in the function 'f'", issue(2452)),
        level="slow",
        rule="LC511",
        instead_of=("ptxas.performance-loss",),
    ),
    known(
        "ptxas.performance-loss",
        r"Potential Performance Loss: (?P<said>[^\n]{1,200}?)(?= in (?:the )?function|$|\.(?: |$))",
        "ptxas gives up an optimisation: {said}",
        "wgmma is serialised where registers of an instruction in flight are read or written, or where its fence, commit and wait stand in different branches ('ill formed pipeline "
        "stage', 'divergent path').",
        "Touch accumulators and register operands only behind warpgroup_wait (wgmma.wait_group), let fence, gemm, commit and wait follow one another in the same branch, and unroll the "
        "loop that indexes accumulators",
        ("(C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non wgmma instructions defining accumulator registers of a wgmma", issue(2116, "NVIDIA/TensorRT-LLM")),
        level="slow",
        rule="LC511",
    ),
    known(
        "ptxas.other",
        r"(?:ptxas[^|]{0,160}?|\bline [0-9]+; )(?:error|fatal) ?: (?P<said>(?!Ptx assembly aborted)[^\n]{3,160}?(?= ptxas |$)|[^\n]{160})"
        r"|\berror : (?P<alone>(?:[A-Z]|'\.)[^\n]{0,100}(?:[Ii]nstruction|[Mm]odifier|[Pp]ragma|[Ss]tate space|PTX|\.target)\b[^\n]{0,80})",
        "ptxas refuses the kernel: {said}{alone}",
        "{cause}",
        "{help}. The line is one of the PTX: CUTE_DSL_KEEP=ptx (before 4.8 CUTE_DSL_KEEP_PTX=1) or nvcc --keep keeps it, `layoutcheck explain SRC DST --atom ATOM` says which forms a copy has",
        ("ptxas error : Illegal vector size: 8", "ptxas"),
        general=True,
        fill="ptx",
    ),
    known(
        "ptxas.warning",
        r"ptxas (?:/\S+, line [0-9]+; )?(?:warning|info) ?: (?:\(C[0-9]+\) )?(?!Compiling|Used|Function properties|[0-9]+ bytes|Potential Performance|Compile time)(?P<said>[^\n]{5,160}?(?= for entry| ptxas |$|\. )|[^\n]{5,160})",
        "ptxas warns: {said}",
        "The kernel is compiled. What ptxas ignored or could not do changes its speed, rarely its result.",
        "`layoutcheck resources` counts registers, shared memory and blocks of a tile; minnctapersm and launch bounds must fit them",
        ("ptxas warning : Value of threads per SM for entry k is out of range. .minnctapersm will be ignored", issue(265, "torch/cunn")),
        level="slow",
        general=True,
    ),
)  # fmt: skip
