"""What the host does: compile, options, arguments, control flow of compiled functions, export, JAX, timing."""

from __future__ import annotations

from layoutcheck.catalogue.entry import TRACE
from layoutcheck.catalogue.reasons.reason import reason

_REPORT = (
    "Reduce the function to the lines around the one that the message names and report it to NVIDIA/cutlass"
)

REASONS = (
    reason(
        "dynamic range should be always preprocessed to IR",
        r"should be always preprocessed to IR|should be preprocessed by preprocessor|Functions? must be set before execution|start a session before accessing",
        "cutlass.range, range_constexpr and dynamic conditions are rewritten in the source of a @cute.jit or @cute.kernel function. Here the call runs as plain Python: the function is not decorated with @ above its def (cute.jit(f) does not rewrite f), is made by exec, a lambda or a comprehension, or was compiled with preprocess=False.",
        "Decorate the function that holds the loop with @cute.jit, move the loop out of a lambda or comprehension, and keep the function in a file",
    ),
    reason(
        "Failed to parse function kernel",
        r"Failed to parse function|No source|was not normalised|multiple targets should have been split",
        "The DSL reads the function's source from its file to rewrite its control flow, and could not parse what it found: the file changed since its import, or the text is not a whole function (a lambda, a decorator on the same line).",
        "Put the function at the top level of a file by itself, restart the process, and write one assignment to a line",
    ),
    reason(
        "`Params(...)` has extra field `scale`",
        r"has extra field `|has dynamic expression field `|Flatten Error|Cannot update DynamicExpression",
        "An object that a compiled function or a dynamic loop takes is taken apart into its fields. A dataclass may hold only the fields that it declares, values of the run may not be in a field annotated Constexpr, and every leaf is a number, a tensor or another such object.",
        "Declare every attribute as a field with its type, annotate only compile-time values as cutlass.Constexpr, and do not add attributes later (self.x = ... outside of __init__)",
    ),
    reason(
        "Cannot create a mutable reference for Python scalar `3` (type: int).",
        r"mutable reference for Python scalar|failed to lift scalar|cannot wrap value of type",
        "A Python number is changed where a value of the running kernel is followed.",
        "Make it a DSL number before the loop or branch: i = cutlass.Int32(0)",
    ),
    reason(
        "PyIR emission self-check: post-loop leaf rebind failed for attribute 'acc': no value",
        r"PyIR (?:emission self-check|internal error)|\[pyir internal\]|MutableValue\.(?:load|store)|_PlaceSeg|owner-token|push_pyir|dominating ref",
        "The DSL's translation of control flow fails a check of its own, while it follows a variable through a loop, branch or call; the message names the variable or attribute.",
        "Write it in simpler steps: a local variable with one DSL type, assigned before the loop, in the place of the attribute or container. "
        + _REPORT,
    ),
    reason(
        "Input args len(args)=3 and kwonlyargs len(kwonlyargs)=0 must match positional params len(positional_names)=4 and keyword-only params len(kwonly_names)=0",
        r"must match positional params|expects the same number of arguments and function parameters|Size of kernel_operands|failed to bind arguments|Invalid parameter kind",
        "The call has another number of arguments than the function has parameters. A compiled function leaves out the Constexpr parameters that cute.compile got; a direct call takes all.",
        "Call the compiled function with the run-time arguments only, in order; *args and **kwargs are better written out",
    ),
    reason(
        "Unsupported GPU architecture 'sm_103a' with CUDA toolkit version '12.8'.",
        r"Unsupported GPU architecture .* with CUDA toolkit|Invalid GPU arch for cutlass compiler|is below the minimum required version",
        "The installed build of the DSL (for CUDA 12 or 13), or the driver, is older than the GPU's architecture.",
        "pip install 'nvidia-cutlass-dsl[cu13]' with a driver for CUDA 13, or set CUTE_DSL_ARCH to an architecture that this build compiles",
    ),
    reason(
        "\U0001f4a5\U0001f4a5\U0001f4a5 Runtime Crash \U0001f4a5\U0001f4a5\U0001f4a5",
        r"Runtime Crash",
        "The compiled host function failed while it ran, before CUDA gave an error of its own: an argument that cannot be packed, or a kernel that the driver did not load.",
        "Read the exception below it (Caused exception); call with the arguments that were compiled for. "
        + TRACE,
    ),
    reason(
        "\U0001f9ca\U0001f9ca\U0001f9ca ICE IR Verification Failed \U0001f9ca\U0001f9ca\U0001f9ca",
        r"ICE\b|IR [Vv]erification [Ff]ailed",
        "The program was translated into IR that the compiler's own verifier refuses. Its reason is a line with 'error:' beside this one.",
        "Paste the line with 'error:' and the operation below it, or set CUTE_DSL_SHOW_STACKTRACE=1. "
        + TRACE,
    ),
    reason(
        "Can not get executor for unloaded module.",
        r"unloaded module|Executor|get_aux_func|not found in JIT engine|cannot be the same object to avoid|no cudaLibrary_t|multiple cubins|has no '_dsl_kernel_name'|prefix is required to be set|Failed to read \S+ file|CRC32|func_class must be",
        "A compiled function is asked for something that this compile does not have: its module was unloaded, it has no kernel (or several libraries), the kernel was not launched in it yet, or its file is damaged.",
        "Keep the object of cute.compile alive while it is used, ask for kernels after the @cute.jit function launched them, and compile again where a file is damaged",
        where=r"jit_executor|cache_helpers",
        at="jit_executor.py:1",
    ),
    reason(
        "set_name_prefix name must be a string, but got int",
        r"set_name_prefix|must be a bool, but got",
        "set_name_prefix(name, ...) sets the beginning of a kernel's symbol: a string that is not empty, and options that are True or False.",
        "kernel.set_name_prefix('gemm')",
        where=r"base_dsl/dsl",
        at="base_dsl/dsl.py:1",
    ),
    reason(
        "Trace finalize hook must be callable.",
        r"[Tt]race finalize hook",
        "A hook at the end of a trace is a Python function (or a list of them); it failed, or is none.",
        "Register a function that takes what the documentation names, and see the exception below for its own failure",
    ),
    reason(
        "JIT argument adapter for <class 'Tensor'> is already registered!",
        r"JIT argument adapter|lazy JIT argument|a fully-qualified 'module\.QualName'|callable must be provided for registering|Python type must be provided",
        "An adapter turns one Python type into arguments of compiled functions: each type has one adapter in a scope, named by the class, or by 'module.QualName' for a lazy one.",
        "Register each type once, at import. A lazy one ('module.QualName') holds for the whole process: leave scope= away; two classes are told apart by scope= and used inside using_scope(...)",
    ),
    reason(
        "External prototype types mismatch, trying to call with (f32) -> (f32), got (i32) -> i32",
        r"External prototype|not supported for ffi|type is concrete|multiple return types not supported|Linking this kind of source|current (?:operation|insertion point)",
        "An external function (cute.ffi) has one prototype: DSL types of the arguments, at most one result, and bitcode as its source; calls are inside compiled functions and use the same types.",
        "Declare and call it with the same DSL types, convert arguments (cutlass.Int32(x)), and call it inside @cute.jit or @cute.kernel",
        where=r"base_dsl/ffi",
        at="base_dsl/ffi.py:1",
    ),
    reason(
        "Point: @native_struct requires at least one type-annotated field",
        r"expected ir\.Value of type|native_struct|Struct field type must be|Expected single value for field|does not allow setting attribute|takes a single ir\.Value or keyword|got unexpected keyword argument\(s\)",
        "A @native_struct is a structure of the compiled program: at least one field that is annotated with a DSL type or another such structure, made by keywords, with no other attributes.",
        "Annotate each field (x: cutlass.Float32), construct it by name, Point(x=..., y=...), and assign declared fields only",
        where=r"native_struct|tvm_ffi",
        at="native_struct.py:1",
    ),
    reason(
        "No environment-variable reader for typing.List[int].",
        r"environment-variable reader|no type annotation, so the parser|A computed setting takes neither",
        "A setting of the DSL is declared with a type that has no reader.",
        "Annotate it bool, int or str, or compute it; NVIDIA/cutlass answers for the DSL's own settings",
    ),
    reason(
        "--host-target 'arm': not a known preset and does not start with 'llvm '.",
        r"--host-target|does not take \{\.\.\.\}|selector|Dump path is not set|is not supported by the cutlass compiler backend|requires the MLIR ExecutionEngine|requires engine symbol|requires funcBody",
        "The option of cute.compile, or the function of the compiled object, is not there in this form or for this compiler back end.",
        "help(cutlass.cute.compile) has the options; CUTE_DSL_COMPILER_BACKEND=legacy has those that the newer back end lacks",
    ),
    reason(
        "gemm: tuple param 'shape' expects 3 elements, got 2",
        r"cannot (?:wrap|pack)|tuple param|cannot be packed|versioned DLPack capsules|CutlassCall",
        "The compiled function is called through its binary interface, which takes tensors (DLPack), numbers, streams, pointers and tuples of the lengths it was compiled for.",
        "Pass arguments of the compiled kinds; pass a torch tensor itself for a tensor, and tuples of the same length",
        where=r"cutlass_function",
        at="cutlass_function.py:1",
    ),
    reason(
        "Unsupported parameter type: <class 'Foo'>",
        r"Unsupported (?:parameter type|Var dtype|Const param)|must map to one MLIR type|flatten_tuple_params|Function '@|Function body is None|branch_weights|Call provider not implemented|f4_tensor_spec|unsupported Const param|[Dd]imension .*stride ?!?=|Unexpected element type in cute shape|kwargs_wrapper_spec|install apache-tvm-ffi|TVM FFI function is already",
        "The function is wrapped for TVM-FFI, and one of its parameters, or the wrapper's own settings, has no form there: integers and floats of one lane, Booleans, tensors, pointers, streams, tuples and structures do.",
        "Annotate the parameters with such types; upgrade apache-tvm-ffi (0.1.11 or newer for keywords and dataclasses), or compile without --enable-tvm-ffi",
        where=r"tvm_ffi",
        at="tvm_ffi.py:1",
    ),
    reason(
        "Unsupported argument for c function argument generation: x = None with type annotation None",
        r"c function argument generation|c header arguments|dynamic (?:elements of the cute algebra|shape dimensions of tensor argument)|Inconsistent tensor descriptors",
        "export_to_c writes a C header: tensors, numbers, streams, and tuples of one width; lists of tensors share their dynamic modes and widths. This argument has no C type.",
        "Annotate the argument with a DSL type, pass what is constant as cutlass.Constexpr, and give tensors of a list the same dynamic modes (mark_layout_dynamic)",
    ),
    reason(
        "Metadata does not support dtype TFloat32.",
        r"[Mm]etadata (?:does not|for|return)|Unsupported constexpr value|cute shape (?:arg|element)|dtype mapping drift|does not fit in 64 bits|Unsupported argument .* (?:for union|\(annotation)|Unsupported return annotation|unexpected binding type",
        "The new back end records each argument of the compiled function: element types that DLPack has, constants that are None, integers, Booleans or floats, flat shapes, and no returned tuples. This argument is none of them.",
        "CUTE_DSL_COMPILER_BACKEND=legacy compiles it; or pass it in another form (an integer for a type, several integers for a nested shape)",
        where=r"cute/metadata",
        at="cute/metadata.py:1",
    ),
    reason(
        "Function 'f' decorated with @dsl_user_op does not accept the required 'loc' parameter.",
        r"@dsl_user_op|loc_transform",
        "A function under @dsl_user_op is called with the place in the source, loc=, and the insertion point, ip=.",
        "Write def f(x, *, loc=None, ip=None), and hand both to the operations that it calls",
    ),
    reason(
        "expects integer type, but got f32",
        r"expects integer type, but got|Expect LaunchConfig|ip is required to generate|Expected exactly one return type|smem usage only available after|already has an entry block|is not expected!",
        "A bound of a loop, a shift or an index is an integer; a kernel's resources are known after its launch in the trace.",
        "Convert the bound, cutlass.Int32(n); launch the kernel before you ask for its shared memory",
        where=r"cutlass_dsl/",
        at="cutlass_dsl/x.py:1",
    ),
    reason(
        "Need a single workspace if not providing a generator",
        r"workspace|kernel argument if not providing|JitArguments|[Ss]tream (?:must be a non-default|passed)|Incorrect stream|kernel_launcher must be|captured into a CUDA Graph|params_dict must be|No best kernel|CUPTI|Activity Kind|is an unexpected type",
        "cute.testing.benchmark and tune run a compiled function with cute.testing.JitArguments(...): one set of arguments, or workspace_generator= with workspace_count=; timing with a stream or a graph takes the very stream of the launch, not the default one. CuptiProfiler needs cupti-python, and no other profiler at that time.",
        "cute.testing.benchmark(compiled, kernel_arguments=cute.testing.JitArguments(a, b), stream=stream), compiled by cute.compile before; a configuration for tune that runs without an exception",
        where=r"testing\.py",
        at="testing.py:1",
    ),
    reason(
        "N * 8 must be divisible by 6 for fp6 unpacking, got N=7",
        r"for fp6 unpacking|for i8 packing|increase the number of assertions|expects idx to be 'int'",
        "cute.testing packs 6-bit elements into bytes, and keeps its assertions by a Python index below their number.",
        "Use a number of elements that is a multiple of 4 for 6-bit types; make more assertions (num_assertions=)",
        where=r"testing\.py",
        at="testing.py:1",
    ),
    reason(
        "Unsupported torch dtype: torch.complex64",
        r"Unsupported torch dtype|init_config must be|Invalid init type|mnkl must be a tuple|source_f32_tensor is required",
        "cutlass.torch makes example tensors: floats and integers of torch, an init configuration of the init type's own class, shapes (m, n, k) or (m, n, k, l).",
        "Pass ScalarInitConfig, RandomInitConfig or GaussianInitConfig with the type of the same name; make other tensors in torch and hand them over by from_dlpack",
    ),
    reason(
        "'output_shape_dtype' must be specified.",
        r"output_shape_dtype|input_output_aliases|compile_key|input_spec|TensorSpec|same number of specs|divisibility|has invalid (?:layout|mode)|JAX|[Jj]ax |Invalid (?:output value|type) passed|must be same length as shape|duplicate indices|non-integer index|^Invalid index|cannot both be specified|symbolic dimensions|cutlass_call|no equivalent (?:cutlass|jax) dtype|has no attribute",
        "cutlass.jax.cutlass_call takes arrays and tells the kernel their layouts: output_shape_dtype with one jax.ShapeDtypeStruct for each result, specs as many as tensors, permutations and divisors as long as the shape, aliases of equal shape, type and layout. It has no gradients, transposes or vmap of its own.",
        "Give what the message names; wrap the call in jax.custom_vjp, jax.custom_jvp or jax.custom_batching.custom_vmap for transformations; static=False for symbolic dimensions",
        where=r"jax/",
        at="jax/x.py:1",
    ),
    reason(
        "Requires rank <= 2 to print",
        r"Requires (?:rank <= 2|static input)",
        "print_latex draws static layouts of one or two modes.",
        "Group the modes (cute.group_modes) or slice; `layoutcheck draw LAYOUT` draws more",
        where=r"viz|print_latex",
        at="viz.py:1",
    ),
    reason(
        "store_swizzled only supports scalar or 1-D Vector, got shape (2, 4)",
        r"store_swizzled only supports",
        "store_swizzled takes a number or a vector of one dimension.",
        "Store row by row",
    ),
    reason(
        "Invalid dyn_yield_ops: [None]  Expected ir.Value, got <class 'NoneType'>",
        r"dyn_yield_ops|Failed to bind arguments|NameError in `",
        "A run-time loop or branch hands on the values that it changes; one of them is no value of the compiled program (None, a Python object), or a name or argument is missing.",
        "Give every variable that the loop changes a DSL value before it, and one of the same type at its end",
    ),
    reason(
        "Loaded cutlass._mlir._mlir_libs._cutlass_ir has no __file__ attribute. Please re-install the package",
        r"re-?install the package|has no __file__",
        "The DSL's compiled library was not loaded from a file of its package: parts of two versions or another module of that name are on Python's path.",
        "pip uninstall every nvidia-cutlass-dsl* package, remove site-packages/nvidia_cutlass_dsl*, and install one version anew",
    ),
    reason(
        "CudaHandleAdapter subclasses must override __get_mlir_types__",
        r"must override|must be implemented by subclasses|concrete subclass|is not implemented$|does not support (?:dumps|loads)|template fields|launch-violation renderer|CUDADialectError|All required parameters must be provided|should be explicitly specified|kernel name is empty|Invalid arg_types|must be a subprocess|log_file_path must be|logger is not initialized|kernel_symbols\.json",
        "A part of the DSL itself, or a class of yours that extends it, lacks something that its base asks for; a kernel alone does not raise it.",
        "If you extend the DSL, give what the message names; otherwise install nvidia-cutlass-dsl and its -libs packages in one version, and report it to NVIDIA/cutlass",
        where=r"\.py",
        at="base_dsl/common.py:1",
    ),
    reason(
        "Error writing header : cudaErrorInvalidValue",
        r"cudaError|CUDA_ERROR",
        "CUDA refused a call that the DSL made for timing or launching; its code stands in the message.",
        "Paste the code alone for its cause (`layoutcheck explain` knows every code of CUDA)",
        where=r"testing\.py|cuda\.py",
        at="testing.py:1",
    ),
)
