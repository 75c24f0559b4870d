"""The DSL's compiler itself: its library, its inner failures, and its refusals that no other entry names."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, EVALUATE, TRACE, issue, known

DSL = "DSL 4.8.1"

_OPERATIONS = (
    r"tma_partition|make_\w{0,12}tma_atom\w*|make_tiled_copy\w*|make_fragment\w*|partition_\w+|local_(?:tile|partition)|make_layout|composition"
    r"|\w+_divide|gemm|copy|autovec_copy|retile|allocate\w*"
)  # whose calls a traceback shows

ENTRIES = (
    known(
        "dsl.runtime-library",
        r"RuntimeError: Unknown function cutlass_+|libcute_dsl_runtime\.so\W.{0,200}(?:fails?\b|not found|missing)|cannot import name '?_\w+'? from '?cutlass\._mlir\S*|libcute_dsl\w*\.so[\w.]*: cannot open shared object|[Ff]ailed to find symbol:? '?_?cuda_dialect|_mlirDialectsC\w+\S*: undefined symbol|cutlass/_mlir\S*: undefined symbol|JIT session error: Symbols not found: \[ ?_?cu(?:da|Kernel|Launch)",
        "the DSL's native libraries are missing, or of another version than its Python files",
        "The compiled program calls libcute_dsl_runtime.so, and the DSL's Python files load their compiler: both are in the nvidia-cutlass-dsl-libs "
        "packages, which must be of the same version. A source tree of CUTLASS on the path brings files of another one.",
        "Install nvidia-cutlass-dsl and its -libs packages in one version, and set CUTE_DSL_LIBS only to that version's library",
        ("RuntimeError: Unknown function cutlass_add_one_FakeTensorFloat32", issue(3329)),
        level=ELSEWHERE,
        instead_of=(
            "elsewhere.undefined-symbol",
            "dsl.api-moved",
            "elsewhere.library-version",
            "elsewhere.import",
        ),
    ),
    known(
        "dsl.own-fault",
        r"(?:base_dsl|cutlass_dsl)/(?P<file>\w+\.py)\", line [0-9]+, in (?P<function>\w+) (?!raise |assert )(?P<statement>[^\n]{2,160}?)(?: [~^ ]+)? (?P<said>(?:IndexError|KeyError|UnboundLocalError|RecursionError): [^\n]{1,100}?)(?= \S+Error\b| During| The above|$)",
        "the DSL's own {file} fails in {function}: {said}",
        "Its statement `{statement}` meets a program that it does not expect. ast_preprocessor.py reads the Python of a @cute.jit function: there it is a form of statement or call (one without an argument that the DSL looks for, as in bool()), and no index or mode of yours.",
        "Find the statement by halving the function's body, and write it otherwise; take a newer nvidia-cutlass-dsl, and report it to NVIDIA/cutlass",
        (
            'File "/x/cutlass/base_dsl/ast_preprocessor.py", line 1975, in visit_Call args=[node.args[0]], ~~~~~~~~~^^^ IndexError: list index out of range',
            issue(3506),
        ),
        level=ELSEWHERE,
        instead_of=("dsl.tuple-index",),
    ),
    known(
        "dsl.unknown-attribute",
        r"unknown (?:attribute|type|operation) [`'](?P<what>\w+)[`'] in dialect [`'](?P<dialect>cute\w*)",
        "this DSL version does not have {dialect}.{what}",
        "The DSL's Python code and its compiler are of different versions, or the version has the Python function and not "
        "yet the compiler's part of it.",
        "Install nvidia-cutlass-dsl and its -libs packages in one version, or upgrade both",
        ("error: unknown attribute `atom_copy_field_tmareduce` in dialect `cute_nvgpu`", issue(2656)),
    ),
    known(
        "dsl.launcher-died",
        r"(?i)(?:\bseg\w* ?fault\w*|SIGSEGV)[^\n]{0,200}(?:(?:during|at|on|in) (?:the )?(?:first |each )?(?:kernel )?launch|after (?:`?cute\.)?compil\w+)|\b(?:seg\w* ?fault\w*|SIGSEGV|crash\w*|abort\w*)[^\n]{0,200}(?:(?:CPU|host)[- ]side|JIT[- ]compiled code)",
        "the process dies in host code that launches a compiled kernel",
        "The kernel was compiled, and no layout decides this: what dies is the host function that packs the arguments and launches it, in the JIT's memory. Its arguments or the compiled function are freed while it runs (keep the result of cute.compile, its tensors and the stream), "
        "the -libs packages are of another version, or this release's JIT is at fault, which differs by CPU (x86_64, aarch64).",
        "python -X faulthandler and gdb's `bt` name the call; pip list shows the versions of nvidia-cutlass-dsl*. Compare a newer release, the option --enable-tvm-ffi and an object of export_to_c, which launch by other code; report it with the CPU's architecture to NVIDIA/cutlass, or to the library whose kernel it is",
        (
            "it segfaults during the first kernel launch after cute.compile(); the crash is CPU-side",
            issue(2281, "Dao-AILab/flash-attention"),
        ),
        general=True,
        instead_of=("dsl.compiler-died",),
    ),
    known(
        "dsl.compiler-died",
        r"Segfault encountered|[Ss]egmentation fault|[Ss]egfaults?\b|Aborted \(core dumped\)|SIGABRT|SIGSEGV"
        r"|terminated by signal|stack smashing detected",
        "the compiler died without a message",
        "The DSL's native code ends the process instead of refusing what it is given. Layouts for which it is known to: a slice of a swizzled composed layout "
        "whose extents are not powers of two (NVIDIA/cutlass#3454) or whose strides are dynamic (#3255), crd2idx with its "
        "arguments swapped (#2323), a thread-value layout that leaves its tile (#2319), printf of a swizzled tensor "
        "(#2695), a gemm of operands of other layouts (#2332).",
        "Find the statement with CUTE_DSL_KEEP=ir-debug (before 4.8 CUTE_DSL_KEEP_IR=1). "
        + TRACE
        + " and names the copies on which the compiler dies. Report the smallest program to NVIDIA/cutlass where the text is of the DSL",
        ("Aborted (core dumped)", issue(3454)),
        general=True,
    ),
    known(
        "dsl.expectation",
        r"\b(?:Value|Type|Runtime|NotImplemented|Assertion|Index)Error: (?P<said>[Ee]xpect(?:s|ed)?\b(?=[^\n]{0,200}(?:layout|tensor|mode|stride|leading_dim|shape"
        r"|atom|tiler|memref|swizzle|smem|gmem|rank|order))[^\n]{5,200}?)(?= Traceback| File \"| -->|$)",
        "refused: {said}",
        "{cause}",
        "{help}",
        ("RuntimeError: Expected leading_dim to be in range [0, 2) or [-2, -1], but got 5.", DSL),
        general=True,
    ),
    known(
        "dsl.inline-constraint",
        r"constraint '(?P<letter>\w)' expects an? (?P<what>[\w ]{3,40}?)(?: expression)?(?= |$)",
        "inline PTX asks for {what} (constraint '{letter}'), and the compiler has a value of the run there",
        "Constraint 'n' takes a number that is known while compiling. A value of the run was given, or the compiler did not fold one that is known: 4.8.0.dev0 refuses so what 4.7 and 4.8 compile (NVIDIA/cutlass#3594).",
        "In inline assembly of your own pass a Python number (cutlass.Constexpr), or use 'r'. Else the compiler is at fault: take a release of nvidia-cutlass-dsl that is no dev build, and report it to NVIDIA/cutlass",
        ("NVVM_ERROR_COMPILATION: constraint 'n' expects an integer constant expression", issue(3594)),
        instead_of=("dsl.code-generation",),
    ),
    known(
        "dsl.code-generation",
        r"NVVM_ERROR_COMPILATION|Failed creating (?:the )?llvm::Module|serializing the module|libNVVM extra log|libNVVM failed while|NVVM backend compilation failed",
        "the compiler accepts the program and fails to generate code for it",
        "libNVVM gets a module that it cannot compile: 'unsupported operation' is one that this libNVVM does not have for the target. If its log is empty, the compiler itself fails, most often of one release: 4.6.0 did for FP8 epilogues, 4.6.0 and 4.6.1 for tcgen05.ld x64 beside setmaxnreg "
        "(NVIDIA/cutlass#3420, mended in 4.6.3 and 4.7.1). A module that grows too large fails as well: a long range_constexpr around much code. Of copies it fails for 4-bit elements whose offset may be an odd number of elements, and for vectors that no instruction moves. Packages of the DSL of two versions in one folder (-libs-base and -libs-cu13) do it as well.",
        "Compile the same script with another release of nvidia-cutlass-dsl, and with fewer unrolled rounds (cutlass.range in place of range_constexpr, a smaller tile). "
        + TRACE
        + " and marks the copies for which code generation fails (LC191); where it marks none, report it to NVIDIA/cutlass",
        ("NVVM_ERROR_COMPILATION, libNVVM extra log: Failed creating the llvm::Module.", DSL),
        rule="LC191",
    ),
    known(
        "dsl.lowered-target",
        r"'(?P<op>(?:nvvm|gpu|nvgpu)\.[\w.]+)' op (?:is )?(?:not supported on|requires|only supported on)[^\n]{0,30}?(?P<arch>(?:sm|compute)_[0-9]{2,3}[af]?)",
        "{arch} and {op} do not go together",
        "The operation is an instruction of some architectures alone: clusters, TMA, transaction barriers and wgmma begin with sm_90, tcgen05 with sm_100; cp.async, ldmatrix of bfloat16 and redux with sm_80. The module is compiled for a target that another value names: a default, or the machine's GPU.",
        "Compile for the GPU that runs it: CUTE_DSL_ARCH in the DSL, chip= of the pass pipeline in MLIR, -arch in other compilers",
        ("error: 'nvvm.read.ptx.sreg.clusterid.x' op is not supported on sm_75", "MLIR"),
    ),
    known(
        "dsl.lowered-operation",
        r"'(?P<op>(?:nvvm|gpu|llvm|arith|memref|vector)\.[\w.]+)' op (?P<said>[^\n]{1,400})",
        "{op}: {said}",
        "An operation below CuTe got an operand that it does not take. {cause}",
        "Look at the call that makes the operand. {help}",
        (
            "error: 'nvvm.mbarrier.init.shared' op operand #0 must be LLVM pointer in address space 3, but got '!llvm.ptr'",
            DSL,
        ),
        general=True,
        instead_of=("dsl.other-exception", "dsl.other-verifier", "dsl.internal"),
    ),
    known(
        "dsl.algebra-left",
        r"legalize operation '(?P<op>cute\.\w+)'(?:.{0,200}?!cute\.\w+<\"?(?P<source>[^>\"]{1,80})\"?> -> !cute\.\w+<\"?(?P<target>[^>\"]{1,80})\"?>)?",
        "an operation on layouts is left that the compiler cannot resolve: {op} {source} {target}",
        "It is no instruction, and no question of the architecture: a layout, tile or integer is static in one place and known at run time only (`?`) in another. Int32(CONSTANT) makes a compile-time number a run-time one.",
        "Give tilers, shapes and strides plain Python integers (or cutlass.Constexpr), and wrap in Int32 only what the run computes. "
        + TRACE,
        (
            'failed to legalize operation \'cute.derefine\' (cute.derefine of !cute.tile<"N:1"> -> !cute.tile<"?:1">)',
            "DSL 4.3",
        ),
        general=True,
        instead_of=("dsl.other-verifier", "dsl.other-exception", "dsl.internal"),
    ),
    known(
        "dsl.not-legalized",
        r"legalize operation '(?P<op>cute_\w+[\w.]*)'|[`'](?P<named>cute_\w+\.[\w.]+)[`'] fails legalization",
        "the compiler has no code for {op}{named} with these operands on this target",
        "The operation passes the verifier, and no pattern of the target's lowering takes it: its layout, type or architecture is not one "
        "that the instruction has.",
        "Set CUTE_DSL_ARCH to the GPU's own target (sm_100a, not sm_101a, for tensor memory in DSL 4.4), and compare the operands with an "
        "example of that architecture. " + TRACE,
        (
            "error: failed to legalize operation 'cute_nvgpu.atom.make_tmem_copy' that was explicitly marked illegal",
            "https://github.com/Dao-AILab/flash-attention/pull/2439",
        ),
        general=True,
        instead_of=("dsl.other-verifier", "dsl.other-exception", "dsl.internal"),
    ),
    known(
        "dsl.redefined",
        r"redefinition of symbol named '(?P<name>[\w.$]{1,120})'",
        "two functions or globals of one module have the name {name}",
        "Kernels get their names from the function and its arguments' types; two with one mangled name, or a name prefix set twice (set_name_prefix), collide in one compile.",
        "Give each kernel a name of its own (rename the function, or set_name_prefix with another one), and make one of them in each @cute.jit function",
        ("error: redefinition of symbol named 'kernel'", DSL),
    ),
    known(
        "dsl.creation-failed",
        rf"(?:\b(?P<op>{_OPERATIONS})\((?:(?!\b(?:{_OPERATIONS})\().){{0,2500}}?)?(?P<said>Operation creation failed)(?!:? ?(?:error|\S+:) )(?!.{{0,200}}\berror: )",
        "the compiler refuses the operands of {op}; the text does not hold its reason",
        "Python only learns that the operation was not made. The compiler prints why on stderr: a line with 'error:', above the traceback, or in the log of the process.",
        "Paste that line as well; CUTE_DSL_SHOW_STACKTRACE=1 prints it with the operands' types. {help}",
        ("tAsA, tAgA = cpasync.tma_partition( ^^^^ ValueError: Operation creation failed", DSL),
        general=True,
        instead_of=("dsl.other-exception", "dsl.cut-traceback"),
    ),
    known(
        "dsl.other-operation",
        r"'(?P<op>cute(?:_nvgpu)?\.(?!copy\b|copy_atom_call\b)[\w.]+)' op (?P<said>[^\n]{1,160})",
        "{op}: {said}",
        "{cause}",
        "{help}",
        ("error: 'cute.get_scalars' op operand #0 must be static layout, but got '!cute.layout'", DSL),
        general=True,
        instead_of=("dsl.other-exception", "dsl.other-verifier", "dsl.argument-type", "dsl.internal"),
    ),
    known(
        "dsl.other-verifier",
        r"(?:loc\(.{1,300}?\)\)?: error: |MLIRError: .{0,120}?error: (?:unknown: )?|\berror: unknown: )(?P<said>(?!static assert)[^\n]{8,160}?)(?= (?:note|see current|File )|[.\"]? *$|\. |, but got)",
        "the compiler refuses: {said}",
        "{cause}",
        "{help}",
        ('loc("kernel"("k.py":28:0)): error: expects two operands of one rank', DSL),
        general=True,
        instead_of=("dsl.other-exception", "dsl.argument-type", "dsl.internal"),
    ),
    known(
        "dsl.coded",
        r"error\[(?:[\w.]+::)?(?P<code>[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)\]:? (?P<said>[^\n]{3,240}?)(?= -->| = note:| note:| suggestion:|$|(?<=\.) [A-Z])"
        r"(?:.{0,2000}?suggestion: (?P<fix>[^\n]{5,240}?)\.?(?= suggestion:| File \"| Traceback| = note:|$))?",
        "{said}",
        "{cause} The DSL's code for it is {code}.",
        "{fix}. NVIDIA's guides to the DSL's control flow and compilation have the background",
        (
            "error[UNSUP_EARLY_EXIT]: Early exit (return) is not allowed in `k`. A staged for/while/if runs as a whole, so it "
            "cannot return/break/continue out early.",
            DSL,
        ),
        level=ELSEWHERE,
        general=True,
        instead_of=("dsl.other-exception", "dsl.argument-type", "dsl.other-verifier", "dsl.code-alone"),
        fill="code",
    ),
    known(
        "dsl.code-alone",
        r"error\[(?:[\w.]+::)?(?P<code>[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)\](?!:? \w)"
        r"|(?<![\w\[:])(?P<named>(?:UNSUP|CONFIG|TYPE|CONTAINER|PHASE|SCOPE|LAUNCH|BOUNDARY|OWNER|ARG|CALL|TENSOR|MEMREF|AOT)_[A-Z]+_[A-Z_]+)\b",
        "the DSL refuses the program under its code {code}{named}",
        "{meaning} {family} The text holds the code alone, and not its message.",
        "{fix}. What stands behind the code names the variable and the line; CUTE_DSL_SHOW_STACKTRACE=1 prints more",
        ("error[TYPE_UNSTABLE_JOIN]", "https://github.com/vllm-project/vllm/pull/51566"),
        level=ELSEWHERE,
        general=True,
        instead_of=("dsl.other-exception",),
        fill="code alone",
    ),
    known(
        "dsl.argument-type",
        r"(?:[Ee]xpect(?:ed|s)|must be)[^\n]{3,100}?,? (?:but )?(?:got|found|is) <class '(?P<given>cutlass[\w.]*|nanobind\.\w+|int|float|bool|tuple|list|NoneType)'>",
        "a DSL function got a {given}, which it does not take here",
        "Layouts, shapes, tensors and atoms are different types, and a shape is a tuple, not a layout. Where DSL 4.0 prints nanobind.nb_type_0, it names its own class and not the argument's.",
        "Look at the signature: help(function). " + EVALUATE,
        ("ValueError: expected a Tensor, but got <class 'cutlass.cute.core._Layout'>", DSL),
        general=True,
    ),
    known(
        "dsl.old-architecture",
        r"Target Architecture: ?sm_(?P<arch>[1-7][0-9])\b",
        "the DSL compiles for sm_{arch}, and its kernels begin with sm_80",
        "The CuTe DSL supports GPUs from Ampere (sm_80) on. The target is the GPU at hand, or what CUTE_DSL_ARCH says.",
        "Where a library chose the kernel (vLLM and SGLang with FlashInfer), take its back end for this GPU, or uninstall the package that brings the DSL's kernels; else compile for sm_80 or newer",
        ("NVVM Compilation Error: Current Settings: - Target Architecture: sm_75", DSL),
        instead_of=("dsl.toolkit",),
    ),
    known(
        "dsl.heap",
        r"\b(?P<said>(?:malloc|free|realloc|munmap_chunk|malloc_consolidate)\(\): [\w ()]+|double free or corruption|corrupted (?:size vs|double-linked))",
        "the memory of the host's process is overwritten: {said}",
        "The C library finds its own lists damaged. What damaged them ran earlier: native code that wrote past a buffer, or an object of MLIR that was used after its context or module was gone (IR of cute that is built by hand under `with ir.Context()` and kept). The statement at which it ends is most often innocent.",
        "Build IR inside a @cute.jit function and keep no values of it; try another release of the libraries with native code. MALLOC_CHECK_=3 or valgrind finds the write, python -X faulthandler prints the Python frames; report it to {project}",
        ("malloc(): unaligned tcache chunk detected", "glibc"),
        level=ELSEWHERE,
    ),
    known(
        "dsl.conversion-left",
        r"unrealized_conversion_cast\b.{0,160}?(?:remained live|live after|failed to legalize|explicitly marked illegal)|failed to legalize.{0,80}unrealized_conversion_cast",
        "a value of CuTe is left that the compiler could not lower: it crosses a region of the run",
        "Each pass replaces the types of CuTe by those of LLVM. An atom, a tiled copy or MMA, or a pipeline that is made outside and used or changed inside of a loop or branch that only the run decides (scf.for, scf.if) keeps a cast between both types that no pass removes.",
        "Make the atom (make_tmem_copy, make_tiled_copy) inside that region, or unroll it (cutlass.range_constexpr, const_expr); compile with another release of the DSL, and report the program to NVIDIA/cutlass",
        ("builtin.unrealized_conversion_cast: atom.tmem_load -> tiled_copy remained live", "DSL 4.5"),
    ),
    known(
        "dsl.internal",
        r"\bICE\b(?!.{0,80}'cute\.copy)|INTERNAL COMPILER ERROR|\[Internal Error\]|[Ii]nternal compiler error",
        "the compiler fails inside",
        "A pass of the compiler makes code that its own verifier refuses. Known causes are elements narrower than a byte "
        "(NVIDIA/cutlass#3349, mended in 4.6.2) and cute.compile of a @cute.kernel function (#3429, refused from 4.8 on).",
        TRACE + " and names copies for which code generation fails. Report it to NVIDIA/cutlass",
        ("ICE: Load/Store operand must be a pointer", issue(3349)),
        general=True,
    ),
    known(
        "dsl.pass-failed",
        r"Failure while executing pass pipeline|PassManager::run failed|Pass pipeline failed",
        "a pass of the compiler fails; the text ends before the reason",
        "The line is the heading of what the compiler says. Its reason follows it: lines with 'error:', the operation and the place.",
        "Paste what is printed below it; where nothing is, CUTE_DSL_SHOW_STACKTRACE=1 prints more. " + TRACE,
        ("MLIRError: Failure while executing pass pipeline:", issue(1923, "Dao-AILab/flash-attention")),
        general=True,
    ),
    known(
        "dsl.toolkit",
        r"(?P<what>[\w ]{3,60}?) (?:is|are) only supported on C(?:UDA|uda) [Tt]oolkit (?P<version>[0-9.]+[0-9])",
        "{what} of the DSL needs the package for CUDA {version}",
        "nvidia-cutlass-dsl is made for CUDA 12, nvidia-cutlass-dsl[cu13] for CUDA 13, and parts of it are in the second only. After a downgrade pip may leave files of the newer version "
        "behind, which are then imported (NVIDIA/cutlass#3132).",
        "pip install 'nvidia-cutlass-dsl[cu13]' with a driver for CUDA 13, or remove site-packages/nvidia_cutlass_dsl* and install one version anew",
        (
            "NotImplementedError: CuTe Experimental module is only supported on Cuda toolkit 13.1 and above!",
            issue(3132),
        ),
        level=ELSEWHERE,
    ),
    known(
        "dsl.stale-source",
        r"requires a code object with [0-9]+ free vars",
        "the source file is no longer what was imported",
        "The DSL reads a @cute.jit or @cute.kernel function from its file at the first call, and puts the translated code in the place of the imported one. The file has changed since its import "
        "(a package upgraded under a running process, an edited notebook module), or the function uses variables of a function around it.",
        "Restart the process; where it stays, pass what the function takes from outside as cutlass.Constexpr arguments",
        (
            "ValueError: kernel_fn() requires a code object with 0 free vars",
            "https://github.com/NVIDIA/cutlass/pull/3522",
        ),
        level=ELSEWHERE,
    ),
    known(
        "dsl.cut-traceback",
        r"(?:nvidia_cutlass_dsl|cutlass/(?:cute|base_dsl))/?(?P<file>[\w/]*\.py)(?:\", line |:)(?P<line>[0-9]+), in (?P<function>[\w.]+)(?!.*(?:\.py(?:\", line |:)[0-9]|\b\w*(?:Error|Exception|Interrupt)\b))",
        "{function} of the DSL raises; the text ends before its message",
        "The frames say where: {file}, line {line}. The message, which says why, is the last line of the whole traceback.",
        "Paste the traceback to its end. help(cutlass.cute) has the arguments that {function} and its caller take. "
        + TRACE,
        (
            "File /x/site-packages/nvidia_cutlass_dsl/python_packages/cutlass/cute/core.py:6201, in TensorSSA.reduce(self, op, init_val, reduction_profile)",
            issue(2455),
        ),
        general=True,
    ),
    known(
        "dsl.other-exception",
        r"(?:(?:DSL\w*Error|OpError|nvidia_cutlass_dsl|cutlass[/.](?:cute|base_dsl)).{0,4000}\b(?:\w*Error|Exception)|\b(?:DSL(?:\w*Error|NotImplemented)|OpError)): (?P<said>(?!\w*Error: )(?:[^\n]{6,160}?(?= [\w.]*Error: |$| Traceback)|[^\n]{160}))",
        "the DSL raises: {said}",
        "{cause}",
        "{help}",
        ("cutlass.base_dsl.common.DSLRuntimeError: DSLRuntimeError: a message of another version", DSL),
        general=True,
    ),
)

ASSERTED = known(
    "dsl.asserted",
    r"(?!)",  # found by catalogue.frames: the last frame is the DSL's
    "{function} of the DSL asserts: {said}",
    "The assertion at {at} has no message; for the arguments of the call it is false. {cause}",
    "{help}; {place}",
    (
        'File "/x/site-packages/nvidia_cutlass_dsl/python_packages/cutlass/cute/nvgpu/tcgen05/helpers.py", line 77, in commit\n'
        "    assert cta_group == CtaGroup.TWO\nAssertionError",
        DSL,
    ),
    general=True,
)

RAISED = known(
    "dsl.raised",
    r"(?!)",  # found by catalogue.raised, in the installed DSL
    "{function} refuses: {said}",
    "{cause} The installed DSL raises it at {place}{when}.",
    "{help}",
    ("ValueError: Error: NamedBarrier ID must be in [0,15].", DSL),
    general=True,
)
