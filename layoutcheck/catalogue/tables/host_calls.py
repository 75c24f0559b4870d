"""What the DSL refuses outside of a kernel: TVM-FFI, compile options, exported objects, host tensors, its own installation."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, known

DSL = "DSL 4.8.1"

ENTRIES = (
    known(
        "dsl.argument-count",
        r"input args/kwargs length does not match[^\n]{0,60}?input args length: (?P<given>[0-9]+)\D{1,60}?signature args length: (?P<taken>[0-9]+)",
        "the compiled function takes {taken} arguments and is called with {given}",
        "cute.compile(f, ...) bakes in what is cutlass.Constexpr, and None: the compiled function does not take these any more. Where fewer are given than taken, one is missing, often the stream.",
        "Call what cute.compile returned with the run-time arguments alone, in the order of f's signature, without the Constexpr ones",
        (
            "DSLRuntimeError: input args/kwargs length does not match runtime function signature! input args length: 11 function signature args length: 8",
            "DSL 4.3",
        ),
    ),
    known(
        "dsl.argument-object",
        r"failed to generate argument #(?P<number>[0-9]+) \((?P<name>\w+)\)[^\n]{0,10}? for JIT function '?(?P<function>\w+)'?(?:.{0,400}?Call-site argument value: (?P<value>[^\n]{3,120}?)(?=$| \w+Error|  ))?",
        "argument {number} ({name}) of {function} is a Python object that the compiled program cannot take: {value}",
        "A run-time argument becomes a value of the program: numbers, pointers, tensors, and tuples or dataclasses of them. A @cute.struct class, a configuration, a tiled copy or another Python object has no such value.",
        "Use it by closure or as an attribute of self, or annotate the parameter cutlass.Constexpr; an object of your own that holds values needs __extract_mlir_values__ and __new_from_mlir_values__",
        (
            "DSLRuntimeError: failed to generate argument #5 (SharedStorage) for JIT function 'kernel'. Argument SharedStorage: The DSL attempted to convert it into Dynamic Expression",
            "DSL 4.3",
        ),
    ),
    known(
        "dsl.ffi-stream",
        r"EnvStream cannot be detected in",
        "no argument of the compiled function says which stream it runs on",
        "A function compiled for TVM-FFI with an environment stream (make_fake_stream(use_tvm_ffi_env_stream=True)) takes the stream of the device of its first GPU tensor. It looks at the "
        "top-level arguments: a tensor inside a tuple or a dataclass is not found, nor is a pointer.",
        "Pass one GPU tensor as an argument of its own, beside the tuple; or take the stream as an explicit argument (cuda.CUstream)",
        (
            "ValueError: EnvStream cannot be detected in `f(a: Tuple[Tensor])` we need parameters to contain GPU Tensors",
            DSL,
        ),
    ),
    known(
        "dsl.ffi-argument",
        r"(?P<said>Unsupported argument type: [^\n]{3,100} for (?:annotated|union) type(?:: \S{1,60})?|Expected (?:namedtuple|tuple|\S+) for argument \S+, got [^\n]{3,60}|(?:NamedT|T)uple length mismatch for argument [^\n]{3,60}|Unsupported Constexpr value for [^\n]{3,60}"
        r"|TVM-FFI does not support (?:packed )?tensor dtype [^\n]{3,40}|TvmFfi expects a DLPack producer[^\n]{0,40}|\S{1,60} was not produced by from_dlpack\(\.\.\., enable_tvm_ffi=True\)|runtime\._Tensor is not a TVM-FFI tensor|CutlassCall expects a cute\.Tensor argument|stride=1 index not found, needed for f4 tensor|Dimension with stride=1 must be (?:divisible by 2|even))",
        "an argument does not fit the way in which the function was compiled to be called: {said}",
        "A function compiled with --enable-tvm-ffi takes torch tensors (DLPack), Python numbers, tuples and dataclasses of them, as its annotations say; one compiled without it takes cute tensors of from_dlpack. "
        "Elements of 4 bits travel in pairs, which needs an even contiguous extent.",
        "Compile and call in one manner: options='--enable-tvm-ffi' with torch tensors, or from_dlpack(..., enable_tvm_ffi=True) for fake and real tensors alike; pass narrow types as uint8 and recast",
        (
            "runtime._Tensor is not a TVM-FFI tensor. Enable TVM-FFI with `from_dlpack(..., enable_tvm_ffi=True)`",
            DSL,
        ),
        instead_of=("dsl.type-unsupported",),
    ),
    known(
        "dsl.array-argument",
        r"[Uu]nsupported (?:value |argument )?type:? <class '(?P<given>torch\.Tensor|torch\.nn\.[\w.]+|numpy\.ndarray|cupy[\w.]*\.ndarray)'>(?: for annotated type: (?P<annotated>[^\n]{1,60}?)(?= |$))?",
        "a {given} is passed for a parameter that is not annotated as a tensor",
        "The DSL takes an array of another library where the parameter is annotated cute.Tensor, or after from_dlpack. 'annotated type: None' is a parameter with no annotation, or with a plain class, whose name the message does not have.",
        "Write `x: cute.Tensor` at the parameter of the @cute.jit function, or pass from_dlpack(x); where a number is meant, x.item()",
        ("DSLRuntimeError: Unsupported argument type: <class 'torch.Tensor'> for annotated type: None", DSL),
        instead_of=("dsl.type-unsupported", "dsl.ffi-argument"),
    ),
    known(
        "dsl.compile-option",
        r"(?P<said>(?:Failed to parse compiler options string|unknown host-target flag|host-target long form requires|invalid host-target long form|\b[\w-]{1,30} (?:expects selector braces|supports selectors)|Unclosed '\{' after option|Empty (?:braces|value) for option|option '[\w-]+' does not take)[^\n]{0,120}|compile_to\([^\n]{1,40}\) is not yet supported|Unsupported compiler backend[^\n]{0,40})",
        "cute.compile does not know this option, or its value: {said}",
        "Options are a string as on a command line, or objects: cute.compile[OptLevel(3)] takes the function and its arguments. Names and forms change from one minor version of the DSL to the next.",
        "help(cutlass.cute.compile) and NVIDIA's page on compile options list those of the installed version",
        ("ValueError: Failed to parse compiler options string: --opt-level=", DSL),
        level=ELSEWHERE,
    ),
    known(
        "dsl.setting",
        r"Invalid value for environment variable (?P<name>\w+)=(?P<value>\S*?)\. Expected (?P<said>[^\n]{5,120})",
        "the setting {name} has a value that the DSL does not read: {value}",
        "The DSL reads its settings when it is imported: {said}.",
        "Set {name} to such a value, or unset it",
        (
            "ValueError: Invalid value for environment variable CUTE_DSL_KEEP_IR=maybe. Expected a boolean (case-insensitive): 1, 0",
            DSL,
        ),
        level=ELSEWHERE,
    ),
    known(
        "dsl.exported-object",
        r"(?P<said>Failed to load TVM FFI function [^\n]{3,80}|Function prefix \S+ not found in the module|cuda_(?:init|load)\w* not found(?: for prefix \S+)?|(?:Failed to read|Error dumping|Error writing) (?:object|header) file[^\n]{0,80}|(?:Export|Load) provider is not set[^\n]{0,60}"
        r"|Cannot execute on this machine a binary built for [^\n]{2,60}|TVM FFI function is not initialized|The compiled function does not have a valid execution engine|Host function '\w+' not found in JIT engine|CRC32 checksum mismatch)",
        "an exported or cached object does not hold what is asked for: {said}",
        "The object was exported under another prefix or by another version of the DSL, for another machine or GPU, or its file is damaged.",
        "Export again with the installed DSL (compiled.export_to_c(..., function_prefix=...)), load it under the same prefix, and empty the cache folder (CUTE_DSL_CACHE_DIR)",
        ("RuntimeError: Function prefix gemm not found in the module", DSL),
        level=ELSEWHERE,
    ),
    known(
        "dsl.companion-version",
        r"(?<![\w.])(?P<function>[a-z]\w{4,60})\(\) (?P<said>(?:got an unexpected keyword argument '\w+'|takes [^\n]{3,80}|missing [^\n]{3,120}))",
        "the installed {package} is of another version than this DSL calls: {function} {said}",
        "The DSL takes the function from {package}, a package of its own release cycle, and calls it as a newer or older version has it.",
        "python -m pip install -U apache-tvm-ffi (DSL 4.6 and later call 0.1.11 or newer) and the other packages that `pip show nvidia-cutlass-dsl` requires",
        ("TypeError: make_kwargs_wrapper() got an unexpected keyword argument 'map_dataclass_to_tuple'", DSL),
        level=ELSEWHERE,
        instead_of=("dsl.call", "elsewhere.library-version", "dsl.api-moved"),
        fill="companion",
    ),
    known(
        "dsl.value-of-another-compile",
        r"(?i)(?:produced|held|holds an IR value produced) by a previous @?jit compilation|backing IR lives in (?:a different, )?(?:an )?already-finalized|FastDivmodDivisorV2 expects exactly 2 MLIR values",
        "a value of an earlier compile is used in this one",
        "An object that outlives a compile (an attribute of self, a global, a cached layout, a default argument) keeps values of the finished program; they mean nothing in the next one.",
        "Make layouts, atoms and numbers inside the @cute.jit function, keep plain Python integers and tuples in self, and pass the rest as arguments",
        (
            "this value was produced by a previous @jit compilation and cannot be reused here: its backing IR lives in an already-finalized compilation context.",
            DSL,
        ),
    ),
    known(
        "dsl.host-tensor",
        r"runtime\._(?P<kind>Fake)?Tensor (?:is not (?:indexable|writable)|has dummy iterator)|layout property is not supported in runtime|fill function is not supported in runtime|align is not supported in runtime",
        "a tensor of the host is used as one of a kernel",
        "What from_dlpack and make_fake_tensor give describes an argument. It has no elements, no layout and no pointer before the program is compiled.",
        "Index the torch tensor itself on the host; use layout, iterator and elements inside the @cute.jit function that takes the tensor as an argument",
        ("NotImplementedError: layout property is not supported in runtime, support in future", DSL),
    ),
)
