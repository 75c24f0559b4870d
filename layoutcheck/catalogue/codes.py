"""What each code of the DSL's own errors means, and what to change: for texts that hold the code and not its message.

The codes are those of the DSL's `base_dsl/diagnostics.py` (since 4.8; some are printed since 4.6). A value of the run is a DSL
number or tensor (cutlass.Int32, Float32, Boolean); a run-time block is a loop or branch whose condition only the run knows.

`cause` is what a code's family means, `find` which code a message without one has: messages and suggestions are read from the
installed DSL (since 4.8), and nothing of them is kept.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from layoutcheck.catalogue import installed
from layoutcheck.catalogue.literals import Words, plain


class Meaning(NamedTuple):
    """What a code says, and what to change."""

    said: str
    helps: str


def meaning(code: str) -> Meaning | None:
    """What is known of a code; None for one that is not in the table."""
    return _MEANINGS.get(code)


_BEFORE = "Make it a value of the run before the block, x = cutlass.Int32(0), or decide the block while compiling (cutlass.const_expr, range_constexpr)"
_JIT = "Decorate that function with @cute.jit, or give it the value as an argument and return the new one"
_KEYS = "Make every key before the block, and change only the entries inside it"
_SAME = "Give it the same number of parts and the same fields on every path and in every pass"
_CONSTANT = "Give a Python number, or annotate the parameter cutlass.Constexpr"
_CALL = "Compare the call with the function's signature: help(FUNCTION)"
_HOST = "Write a function with @cute.jit that launches the kernel, and call or compile that"
_OPTION = "Compare with help(cutlass.cute.compile) of the installed version, which lists the options and their values"
_C_TYPES = "Take Int8 to Int64, Uint8 to Uint64, Float32, Float64, BFloat16, Float16 or Boolean"
_LOOP = "Give integers: int(x) of a Python number, cutlass.Int32(x) of a value of the run"
_WALRUS = "Make the assignment (:=) a statement of its own above the expression"
_OUT_OF_BLOCK = "Move the statement out of the run-time block"
_ARGUMENT = "Pass the value as an argument of the function"
_WIDER = "Take a wider type, or a value inside the range"
_VERSION = "Give exact_version alone, or min_version and max_version in order, each as text: '12.9'"
_THREE = "Give three integers, for example [1, 256, 1]"
_TENSOR = "Pass a torch, CuPy or NumPy array, or from_dlpack(array)"

_ROWS = (
    # A value of Python where one of the run is taken, and the reverse.
    ("PHASE_ASSIGN_PYTHON_TO_TRACKED", "A variable of the run is given a plain Python value inside a run-time block.", "Wrap the value: cutlass.Int32(...), Float32(...), Boolean(...)"),
    ("PHASE_MUTATE_PYTHON PHASE_PYTHON_THEN_TRACKED PHASE_AUTO_PROMOTE_DISABLED", "A variable that begins as a Python value is changed inside a run-time block, which the compiler reads once: later passes would see the first value.", _BEFORE),
    ("PHASE_AUTO_PROMOTED_TO_STAGED", "A warning: a Python value was made a value of the run so that a run-time block can change it. Reads behind the block may see the old one.", _BEFORE),
    ("PHASE_META_FIELD_CHANGED_IN_CF", "A field of an object holds a Python value and changes from pass to pass of a run-time block.", "Give the field a DSL number from the start, or set it outside of the block"),
    ("PHASE_CONVERSION_FAILED", "A variable that a run-time block changes cannot become the type of the run that the block gives it.", "Make it a value of that type before the block"),
    ("PHASE_IDENTITY_ON_TRACKED", "`is` compares Python objects, and a value of the run gets new ones while it is compiled.", "Compare with =="),
    ("PHASE_SERIALIZE_STAGED", "A value of the run is pickled or copied as bytes; while compiling it has none.", "Serialise Python values that are computed outside of compiled code"),
    ("PHASE_NUMERIC_PROTOCOL_ON_STAGED", "A Python protocol of numbers (pow with three arguments, divmod, round, format) has no form for a value of the run.", "Write it with the operators: (a ** b) % m"),
    ("PHASE_CONDITIONAL_NOT_DYNAMIC", "A conditional of the run got a Python value as its condition.", "Give a Boolean or a comparison of values of the run; decide a Python condition with cutlass.const_expr"),
    ("PHASE_DYNAMIC_INDEX", "A value that only the run knows is used as a list's index or as the bound of Python's own loop.", "Loop with cutlass.range, or index a tensor; a list takes an index that is known while compiling (cutlass.range_constexpr)"),
    ("PHASE_DYNAMIC_TO_STATIC_BOOL", "Python's if, while, and, or asks a value of the run for True or False while compiling.", "Put the code into a function with @cute.jit or @cute.kernel, whose control flow is rewritten; preprocessing must be on"),
    ("PHASE_REQUIRES_CONSTANT", "A parameter must be known while compiling, and got a value of the run.", _CONSTANT),
    ("PHASE_STRUCTURAL_CONSTANT_MUTATED PHASE_PREDICATE_FOLDED_STALE", "A variable was already used as a constant (a trip count, an index, a condition that was decided), and is changed later in the run-time block.", "Make it a value of the run from the start, cutlass.Int32(...), or do not change it in the block"),
    ("PHASE_ARM_LOCAL_CONSTANT_ESCAPES", "A Python value that one arm of a run-time branch changes is read behind the branch, whether the arm runs or not.", _BEFORE),
    # Types that do not meet.
    ("TYPE_UNSTABLE_JOIN", "A variable has one type on one path of a run-time branch or loop and another (or None) on the other. Where the paths meet it must have one.", "Give it one type on every path, and before the block: x = cutlass.Float32(0), y.to(cutlass.Float32). Where the condition is known while compiling, write if cutlass.const_expr(...)"),
    ("TYPE_CHANGED_INSIDE_REGION", "A variable that a run-time block carries changes its type inside.", "Convert it before the block, so that it has the new type on every path"),
    ("TYPE_CLUSTER_NOT_INT", "The extents of a cluster are not integers.", "Give integers that are known while compiling, cluster=[2, 1, 1]"),
    ("TYPE_CONDITIONAL_BRANCH_MISMATCH", "The two values of `a if condition else b` have different types.", "Convert one: cutlass.Float32(a)"),
    ("TYPE_CONDITIONAL_VALUE_COUNT", "A branch of a conditional expression gives no value or several.", "Let each branch give one value"),
    ("TYPE_DEVICE_FUNC_RETURN_COUNT TYPE_DEVICE_FUNC_RETURN_NONE", "A device function returns another number of values than its annotation says.", "Return one value of the annotated type on every path, or leave the annotation out"),
    ("TYPE_DEVICE_FUNC_RETURN_INVALID TYPE_RETURN_TYPE_NOT_DSL", "A return annotation is a type that compiled code does not have.", "Annotate a DSL type (cutlass.Int32, Float32, Boolean) or a @native_struct"),
    ("TYPE_DYNAMIC_EXPR_UNSUPPORTED TYPE_ITER_ARGS_INVALID TYPE_WHILE_INPUTS_INVALID", "A run-time loop carries an object that has no value in the compiled program: a string, a module, a class of your own.", "Carry DSL numbers and tensors; an object implements __extract_mlir_values__ and __new_from_mlir_values__"),
    ("TYPE_LOOP_PARAM_NOT_INT TYPE_PARAM_NOT_INT ARG_FOR_LOOP_STEP_NOT_INT ARG_WRONG_TYPE", "A bound or step of a loop, or another count, is a float.", _LOOP),
    ("TYPE_MISSING_ANNOTATION", "A parameter of such a function has no annotation, so that its kind is not known.", "Annotate it: IRValue[Float32], Pointer, TensorView or Constexpr"),
    ("TYPE_UNSUPPORTED_C_ARG TYPE_UNSUPPORTED_C_EXPORT ARG_UNSUPPORTED_C_EXPORT", "A function is exported to C with a type that C's header cannot have.", _C_TYPES + ", a @native_struct or CUstream"),
    ("TYPE_UNSUPPORTED_TENSOR", "The function does not take this kind of tensor.", "Convert it first, or pass the kind that help() of the function names"),
    ("TYPE_INT_LITERAL_OUT_OF_RANGE TYPE_FLOAT_TO_INT_OUT_OF_RANGE TYPE_FLOAT_LITERAL_OVERFLOW TYPE_FLOAT_LITERAL_UNDERFLOW", "A warning: a Python number does not fit the DSL type, and was wrapped or rounded without further notice.", _WIDER),
    # Names and their places.
    ("SCOPE_DEL_LOOP_CARRIED", "`del` removes a variable that a run-time block carries from pass to pass.", "Give it a new value instead, or delete it outside"),
    ("SCOPE_READ_NEVER_SET SCOPE_UNBOUND_NAME_IN_TRACE", "A variable is read on a path on which nothing was assigned to it.", "Set it before the block, or in each arm that can reach the read"),
    ("SCOPE_LOCALS_SYNTH_MISS", "locals() inside of a run-time block sees only the names that the block assigns.", "Read the name itself, or call locals() outside"),
    ("SCOPE_READ_OF_SUPERSEDED_GENERATION", "An object was replaced as a whole, and the old one is still read: both share one place for each field.", "Copy the fields that you need into variables before the replacement"),
    ("SCOPE_CLOSURE_CAPTURE", "A function that is called in a run-time block reads a variable of the function around it.", _ARGUMENT),
    ("SCOPE_NONLOCAL_WRITE_IN_STAGED_CF", "A variable is changed through `nonlocal` in one function and used from another, within one run-time block.", "Return the new value, x = f(x), or write outside of the block"),
    ("UNSUP_GLOBAL UNSUP_NONLOCAL", "`global` or `nonlocal` has no form in a compiled function.", _ARGUMENT + " and return the new one"),
    ("UNSUP_GLOBAL_WRITE_IN_STAGED_CF", "A function that is called in a run-time block writes a global of a module: that happens once, while compiling.", "Pass the state in and return it changed"),
    ("UNSUP_READ_UNDERSCORE", "`_` is read, and is only a name for what is thrown away.", "Give the value a name"),
    ("SNAPSHOT_UNMATERIALIZABLE BODY_BORN_SEED_UNPLACEABLE", "A value was computed inside of a run-time block (or on another path) and is used where that block is closed.", "Compute it before the block, or read the variable itself at this place"),
    ("READ_DEPTH_OVERFLOW", "One statement reads through more attributes and indices in a chain than the compiler follows.", "Split the chain: put a part of it into a variable"),
    ("UNOBSERVED_WRITE_POSITION_UNKNOWN", "Code that the compiler does not see changed a variable, and its place in the program is not known any more.", "Assign it in code with @cute.jit, by a plain assignment"),
    # Memory that is allocated inside of a block.
    ("MEMREF_INREGION_ALLOC_REBIND MEMREF_STALE_SCRATCH_CONSUMED", "A variable is pointed to memory that is allocated inside of a run-time block, and the old buffer is still used: all passes share one buffer.", "Allocate it once before the block and write into it, or finish reading before the variable is pointed anew"),
    # Plain functions within compiled code.
    ("BOUNDARY_META_LOOP_CARRY", "A plain Python function changes a Python value in each pass of a run-time loop, which the compiler reads once.", _JIT + "; or make the value one of the run before the loop"),
    ("BOUNDARY_FLIP_GUARD_STAGED", "A value that decides what a plain function writes becomes a value of the run, after that write was compiled as unconditional.", _JIT),
    ("BOUNDARY_CLOSURE_READ_THEN_PROMOTED BOUNDARY_CLOSURE_READ_THEN_WRITTEN", "A plain function read a variable of the function around it, and that variable is changed afterwards: the first value stays in the kernel.", _JIT),
    ("BOUNDARY_SHORT_CIRCUIT_EFFECT", "A call behind `and` or `or` changes a variable: it is compiled once, whatever the first operand is.", "Make the call a statement of its own under an if"),
    ("BOUNDARY_MEMOIZED_IN_STAGED_CF", "A function with functools.lru_cache is called in a run-time block: where its cache answers, its body is not compiled.", "Call it before the block, or FUNCTION.__wrapped__ inside"),
    # Lists, dictionaries, tuples, objects.
    ("CONTAINER_META_REBUILT_IN_CF", "A list, tuple or dictionary of Python values is built anew in each pass of a run-time block.", "Fill it with DSL numbers from the start"),
    ("CONTAINER_SET_REBUILT_IN_CF", "A set is built anew inside of a run-time block, and its members are fixed while compiling.", "Take a tuple, list or dictionary for values of the run"),
    ("UNSUP_META_CONTAINER_MUTATION", "append, update or another change of a Python container stands in a run-time block: it happens once, while compiling.", "Build the container before the block, or keep the values in a register tensor (cute.make_rmem_tensor)"),
    ("CONTAINER_TUPLE_LENGTH_CHANGED CONTAINER_STRUCTURE_CHANGED", "A tuple or container has another number of parts at the end of a run-time block than at its start.", _SAME),
    ("CONTAINER_TUPLE_SUBCLASS_NOT_REBUILDABLE", "A subclass of tuple is carried through a run-time block and cannot be built again from its parts.", "Take typing.NamedTuple or a plain tuple"),
    ("CONTAINER_OBJECT_FIELD_MISMATCH CONTAINER_OBJECT_REPLACED", "An object is replaced as a whole inside of a run-time block.", "Assign its fields one by one, or build the new one with the same fields"),
    ("CONTAINER_DICT_META_WRITE_UNPROMOTED CONTAINER_LIST_META_WRITE_UNPROMOTED", "An entry of a list or dictionary holds a Python value and is changed in a run-time block.", "Store a DSL number in it from the start: d[key] = cutlass.Int32(0)"),
    ("CONTAINER_DICT_KEY_SET_MUTATED CONTAINER_DICT_KEY_SET_BAKED_READ CONTAINER_OPAQUE_SUBSCRIPT_KEY_CREATED CONTAINER_DICT_GET_MISS_IN_STAGED_CF CONTAINER_DICT_ITERATED_IN_STAGED_CF", "Keys of a dictionary come or go in a run-time block, and are read there or behind it: the keys are fixed while compiling.", _KEYS),
    ("CONTAINER_DICT_KEY_STAGED CONTAINER_DICT_KEY_STAGED_HASH", "A value of the run is (part of) a dictionary's key; a key is fixed while compiling.", "Take text or a Python number as the key, and keep the value of the run as the entry"),
    ("CONTAINER_LIST_SHAPE_MUTATED", "A list gets longer, shorter or another order in a run-time block.", "Build the list before the block, and assign its elements inside"),
    ("CONTAINER_LIST_INDEX_STAGED", "A value of the run is a list's index.", "Index with a number that is known while compiling, or keep the elements in a register tensor"),
    ("CONTAINER_SUBSCRIPT_WRITE_UNTRACKED", "An element of an array or other container of Python is written in a run-time block, and the compiler does not follow it.", "Take a plain list of DSL numbers, or a register tensor"),
    # What compiled code does not have.
    ("UNSUP_LOOP_ELSE", "A loop has an `else`.", "Put its code behind the loop"),
    ("UNSUP_EARLY_EXIT", "return, break, continue or raise stands inside of a run-time block, which runs as a whole.", "Put what follows under an if with the opposite condition; or decide while compiling (cutlass.const_expr, range_constexpr), where an early exit is allowed"),
    ("UNSUP_RANGE_ARGS", "range of a compiled loop takes one to three arguments.", "Write range(stop), range(start, stop) or range(start, stop, step)"),
    ("UNSUP_FSTRING UNSUP_FSTRING_ALIGN UNSUP_FSTRING_FORMAT", "An f-string of compiled code holds an expression, alignment or format that printing on the GPU does not have.", "Put the value into a variable, with at most one format (f'{x:.2f}'), or use cute.printf"),
    ("UNSUP_DECORATOR_ORDER", "The DSL's decorator is not the one next to `def`.", "Move it directly above `def`"),
    ("UNSUP_YIELD UNSUP_ASYNC UNSUP_EXCEPT_STAR", "Generators, coroutines and except* have no form in a compiled function.", "Compute it in plain Python outside, a list instead of a generator, a plain call, a plain except"),
    ("UNSUP_DEL_IN_STAGED_CF UNSUP_IMPORT_IN_STAGED_CF", "A statement of Python (del, import) in a run-time block happens once, while compiling.", _OUT_OF_BLOCK),
    ("PROPERTY_GETTER_MUTATES_IN_STAGED_CF", "Reading a property runs a getter that changes something, once, while compiling.", "Let the getter only read, and make the change a method with @cute.jit"),
    ("UNSUP_MIXED_ASSIGN_TARGETS", "One assignment has names, indices and tuples on its left side.", "Write one statement for each"),
    ("UNSUP_NO_SOURCE", "The function has no source file (it is of the interpreter's prompt or of exec), and the DSL compiles the source.", "Save it to a .py file and import it"),
    ("UNSUP_WALRUS_CONDITIONAL UNSUP_WALRUS_EVAL_ORDER", "An assignment expression (:=) stands where it may not run, or beside a call whose order the compiler cannot keep.", _WALRUS),
    ("UNSUP_CUTE_EXT_OP_IN_DEVICE_FUNC", "A device function calls cute.experimental, which is for kernels only.", "Take the call out of it, or compile the code as a kernel"),
    ("UNSUP_ARCH", "vectorize is for compute capability 10.0 and higher, and the target is older.", "Leave it out, or compile for sm_100 (CUTE_DSL_ARCH)"),
    ("UNSUP_BUILTIN UNSUP_BUILTIN_FUNCTION UNSUP_COMPARISON_OPERATOR UNSUP_IN_OPERATOR", "A function or operator of Python has no form in compiled code for these values.", "Write it with operators and comparisons, or take cute's own (cutlass.min, cutlass.max, cute.math); decide it while compiling if the values are Python's"),
    # Arguments and calls.
    ("ARG_ANNOTATION_MISMATCH", "An argument is not of the type that the parameter is annotated with.", "Convert the argument, or change the annotation"),
    ("ARG_BIND_FAILED CALL_SIGNATURE_MISMATCH CALL_MISSING_ARG CALL_MISSING_ARGS CALL_TOO_MANY_ARGS CALL_UNEXPECTED_KWARG CALL_DUPLICATE_ARGUMENT", "The arguments of a call do not fit the function's parameters: too few, too many, twice or by another name.", _CALL),
    ("ARG_COUNT_MISMATCH CALL_FFI_NO_KWARGS CALL_FFI_NO_MATCH", "A foreign function (FFI) is called with another number or kind of arguments than it declares, or by keyword.", "Pass its arguments by position, in the types that it declares"),
    ("ARG_CONSTEXPR_MISMATCH", "An argument was None when the function was compiled, and now is something else: None was compiled in.", "Compile with an argument of the kind that the calls give, or pass None again"),
    ("ARG_INVALID_ALIGNMENT", "An alignment is not a power of two.", "Give 1, 2, 4, 8, 16 and so on, in bytes"),
    ("ARG_TYPE_MISMATCH", "A pointer's alignment is a bare integer where the DSL takes align(...).", "Write align(16)"),
    ("ARG_NON_CONSTANT", "range_constexpr got a bound that only the run knows.", "Take cutlass.range for a loop of the run, or give a Python number"),
    ("ARG_NOT_A_TENSOR ARG_TENSOR_REQUIRED", "A parameter takes a tensor, and the argument has no __dlpack__.", _TENSOR),
    ("ARG_NOT_MARSHALABLE ARG_UNSUPPORTED_TYPE", "An argument has a type that a compiled function cannot take from the host.", "Pass a tensor, a number or a pointer; annotate what is known while compiling cutlass.Constexpr; a class of your own implements __get_mlir_types__ and __c_pointers__, or is a dataclass of such"),
    ("ARG_NOT_NUMERIC", "A parameter takes a number, and the argument is another object.", "Pass an int, a float or a DSL number"),
    ("ARG_POINTER_NEGATIVE", "A pointer's address is negative.", "Pass the address as data_ptr() gives it, or cute.runtime.nullptr()"),
    ("ARG_TENSOR_NOT_ON_DEVICE", "A tensor lies in the host's memory where the kernel needs the GPU's.", "Move it: tensor.cuda()"),
    ("ARG_UNIVERSAL_COPY_ATTRS_REJECTED ARG_UNIVERSAL_COPY_ATTRS_IGNORED", "CopyUniversalOp does not have cache and eviction attributes.", "Take the operation of the direction: CopyG2ROp, CopyR2GOp, CopyS2ROp or CopyR2SOp"),
    ("ARG_UNORDERED_CONTAINER", "A set is an argument, and its order is not fixed.", "Pass a list or tuple"),
    ("ARG_WORKSPACE_COUNT_MISMATCH", "The call gives another number of workspace pointers than the kernel takes.", "Pass as many as the compiled function asks for"),
    ("ATTR_BUILDER_REQUIRES_CONSTANT", "A parameter takes one value that is known while compiling, and the variable changes in a run-time block.", _CONSTANT),
    ("CALL_BUILTIN_KWARGS_UNSUPPORTED", "A function of Python is called by keyword, which compiled code does not have for it.", "Pass its arguments by position"),
    ("CALL_EXPERIMENTAL_MISMATCH", "is_experimental and the function's own DSL differ.", "Leave the flag out, or write @cute.jit(is_experimental=True)"),
    ("CALL_FUNCTION_NOT_PROVIDED CALL_NOT_CALLABLE CALL_UNSUPPORTED_CALLABLE_TYPE CALL_MISSING_JIT_DECORATOR", "cute.compile got no function that is decorated with @cute.jit.", "Pass the function itself, decorated, as the first argument"),
    ("CALL_KERNEL_TARGET", "cute.compile got a @cute.kernel; it compiles the host's function that launches it.", _HOST),
    ("CALL_OUTSIDE_JIT", "A function of the DSL that builds code is called from plain Python.", "Call it inside a function with @cute.jit or @cute.kernel"),
    ("CALL_WRONG_IMPORT", "A name of the DSL's is taken from another module, or defined again.", "Import it from cutlass, and remove your own of that name"),
    ("INSTRUMENTATION_GAP", "A function is compiled that the DSL has not rewritten: its reads and writes are not followed.", "Decorate it with @cute.jit or @cute.kernel"),
    # Options and launches.
    ("CONFIG_ATTRIBUTES_INVALID_TYPE CONFIG_ATTR_KEY_UNSUPPORTED CONFIG_ATTR_VALUE_TYPE_INVALID CONFIG_RESOLVER_INVALID_RETURN", "attributes= of a kernel takes a dictionary of texts, or a function that returns one, with keys that the DSL has.", "Give such a dictionary, or leave it out"),
    ("CONFIG_ATTRIBUTES_UNSUPPORTED", "attributes= of a kernel needs the compile of CuTe extensions.", "Leave it out or empty for this kernel"),
    ("CONFIG_BINARY_LOAD_PREFIX_REQUIRED", "A binary is loaded without the prefix of its functions.", "Give the prefix that it was exported under"),
    ("CONFIG_CLUSTER_DYNAMIC CONFIG_MAX_THREADS_DYNAMIC", "The cluster's extents and the greatest number of threads are written into the kernel, and got a value of the run.", _CONSTANT),
    ("CONFIG_EXPORT_NO_RUNTIME_ARGS", "An exported function has only parameters that are known while compiling, so that C has nothing to pass.", "Take Constexpr from one of them"),
    ("CONFIG_FALLBACK_CLUSTER_REQUIRES_CLUSTER LAUNCH_INVALID_FALLBACK LAUNCH_INVALID_CLUSTER", "cluster= and fallback_cluster= are three integers each, and the second needs the first.", "Give cluster=[2, 1, 1], and fallback_cluster= beside it"),
    ("CONFIG_INCOMPATIBLE_FLAGS", "--enable-tvm-ffi and --host-target are both given.", "Take one of them: the first for the GPU, the second for a CPU"),
    ("CONFIG_INVALID_HOST_TARGET", "--host-target does not name a target.", "Give 'linux-aarch64', or 'llvm -mtriple=...'"),
    ("CONFIG_INVALID_OPT_LEVEL", "The optimisation level is not 0 to 3.", "Give 0, 1, 2 or 3"),
    ("CONFIG_INVALID_VALUE", "prefetch_stages of a loop is negative.", "Give 0 or more"),
    ("CONFIG_MALFORMED_COMPILE_OPTIONS CONFIG_OPTION_REQUIRES_VALUE CONFIG_UNKNOWN_COMPILE_OPTION", "The options of the compile have a form, a name or a missing value that the DSL does not read.", _OPTION),
    ("CONFIG_MISSING_NVDISASM", "SASS is asked for, and nvdisasm is not found.", "python -m pip install 'nvidia-cutlass-dsl[sass]', or set CUDA_HOME to a toolkit"),
    ("CONFIG_MISSING_TVM_FFI", "TVM FFI is asked for and not installed.", "python -m pip install apache-tvm-ffi, or leave --enable-tvm-ffi out"),
    ("CONFIG_UNSUPPORTED_ARCH", "The kernel or operation is for other architectures than the target of the compile.", "Set CUTE_DSL_ARCH (or gpu_arch of the options) to one that it names, sm_100a for tcgen05 and sm_90a for wgmma"),
    ("CONFIG_VERSION_CONFLICT CONFIG_VERSION_MISSING CONFIG_VERSION_RANGE_INVALID CONFIG_VERSION_REQUIRED CONFIG_VERSION_TYPE", "A check of the CUDA version has bounds that do not go together, none, or not as text.", _VERSION),
    ("LAUNCH_INVALID_DIMENSION LAUNCH_INVALID_GRID", "grid or block of a launch is not one to three integers.", _THREE),
    ("LAUNCH_MISSING_ARG", "A kernel is called without one of its arguments.", _CALL),
    ("LAUNCH_OUTSIDE_JIT", "A kernel is launched from plain Python.", _HOST),
    ("LAUNCH_NEVER_ISSUED", "A kernel is called and not launched: the call alone gives a launcher.", "Write kernel(args).launch(grid=[...], block=[...])"),
    ("AOT_MISSING_RETURN_TYPE AOT_UNSUPPORTED_RETURN_TYPE", "An exported function has no return annotation, or one that C does not have.", "Annotate -> cutlass.Int32, Int64, Float32 or Float64"),
    # Objects that the compiler follows.
    ("OWNER_CLASS_CHANGED", "An object changes its class (__class__) while the compiler follows its fields.", "Make a new object of the other class"),
    ("OWNER_DEL_FINALIZER_AT_BIRTH", "A class has __del__, which runs at a moment that the program does not fix.", "Free it by a method or a with statement"),
    ("OWNER_DECLARED_SURFACE_VIOLATION RECONSTRUCT_NO_PROTOCOL", "An object is carried through a run-time block and does not say (all of) what it consists of.", "Let __extract_mlir_values__ give all of its values, and __new_from_mlir_values__ build it of them"),
    ("OWNER_FABRICATED_ATTR_IN_STAGED_CF", "A run-time block reads an attribute that __getattr__ makes up.", "Read it into a variable before the block, or set it in __init__"),
    ("WRAPPER_CLASS_MERGE", "A variable comes into a run-time block as one Python class and leaves it as another, over one compiled type.", "Take one class on every path"),
    ("WRAPPER_REBIND_DUPLICATE_LEAF", "An object that is replaced in a run-time block holds one compiled value at two places, which cannot be told apart.", "Compute the initial values separately, or assign the places one by one"),
    # Compiled functions that are called again; tensors of the host.
    ("SPEC_DESCRIPTOR_HOP SPEC_UNVERIFIABLE_REENTRY", "A compiled function kept a value that cannot be compared with today's.", "Call the @cute.jit function, or compile it again"),
    ("STALE_SPECIALIZATION", "A value that was compiled in has changed since.", "Compile again after the change, or pass the value as an argument"),
    ("TENSOR_ALREADY_ALLOCATED", "A tensor gets device memory a second time.", "Call deallocate() first"),
    ("TENSOR_FRAMEWORK_MANAGED", "Another library owns the tensor's memory, and the program frees or allocates it by hand.", "Leave it to that library"),
    ("TENSOR_NOT_ALLOCATED", "A tensor is used before it has device memory.", "Call allocate() before, and copy_to_gpu() if its contents are needed"),
)  # fmt: skip

_MEANINGS = {code: Meaning(said, helps) for names, said, helps in _ROWS for code in names.split()}
CODES = tuple(_MEANINGS)


_STAGED = "The body of a run-time loop or branch is read once, while the program is compiled, and runs many times on the GPU. "
# By the first word of the code.
_FAMILIES = {
    "PHASE": _STAGED
    + "A value that Python must know while compiling and a value that only the run knows are mixed where one of the two is needed.",
    "TYPE": "A variable, argument or result has one DSL type at one place and another where both meet: the compiled program gives each one type.",
    "SCOPE": _STAGED
    + "A variable has to have a value on every path that reaches its use, and belongs to the function that reads it.",
    "BOUNDARY": _STAGED
    + "A plain Python function or method (without @cute.jit) reads or changes a variable that the run follows, and the compiler cannot see inside it.",
    "CONTAINER": _STAGED
    + "A list, dictionary, tuple or object that is carried through has to keep its keys, length and fields; only its values may change, and they are DSL numbers.",
    "UNSUP": "The statement has no form in the compiled program.",
    "CONFIG": "An option of the compile, the launch or the decorator has a value that the installed DSL does not take.",
    "AOT": "An exported function is called from C: its result has a declared type that C has.",
    "ARG": "An argument does not fit its annotation or the form in which compiled functions take it.",
    "CALL": "The call does not fit the function, or is made where no program is being compiled.",
    "LAUNCH": "grid, block and cluster are up to three integers each, given to .launch() inside a @cute.jit function.",
    "OWNER": _STAGED
    + "An object whose values the run follows changes its class, its undeclared fields or its lifetime.",
    "MEMREF": _STAGED
    + "A variable is pointed to memory that is allocated inside, and the old buffer is still used outside of one pass.",
    "SPEC": "A compiled function keeps what it saw of the program's state, and that state cannot be compared again at this call.",
    "STALE": "A compiled function keeps what it saw of the program's state when it was compiled, and that state has changed.",
    "TENSOR": "The host tensor has no device memory yet, has it already, or another library owns it.",
    "WRAPPER": _STAGED
    + "A variable leaves it as another Python class over the same compiled value than it came in.",
}
_FEWEST_LETTERS = 20
_FIELD_MOST = 300  # letters that the DSL puts in one place of a message: two classes with their modules
_FIELD = re.compile(r"\{(\w+)(?:[!:][^}]*)?\}")


class Coded(NamedTuple):
    """A message with its code, and what the DSL suggests."""

    code: str
    said: str
    fix: str


def cause(code: str) -> str:
    """Why errors of a code's family are raised; "" for a family that is not known."""
    return _FAMILIES.get(code.partition("_")[0], "")


def find(folded: str) -> Coded | None:
    """The code whose message stands in the text without it; None where there is none."""
    said = plain(folded)
    found = [
        (weight, Coded(code, match[0], _filled(code, match.groupdict())))
        for code, words, weight in _patterns()
        if (match := words.search(folded, said))
    ]
    return max(found)[1] if found else None


def _filled(code: str, values: dict[str, str]) -> str:
    """The DSL's suggestion with the values of the message in it."""
    fix = installed.suggestion(code)
    for name, value in values.items():
        fix = fix.replace(f"{{{name}}}", value)
    return installed.plain(fix)


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, Words, int], ...]:
    """(code, message as a pattern, its own letters) of every code with enough words of its own."""
    made = []
    for code, said in installed.coded().items():
        parts = _FIELD.split(" ".join(said.split()))  # text, name, text, name, text
        weight = sum(letter.isalpha() for part in parts[::2] for letter in part)
        if weight < _FEWEST_LETTERS:
            continue
        pattern, named = "", set()
        for at, part in enumerate(parts):
            known = at % 2 and part in named
            pattern += (
                re.escape(part)
                if not at % 2
                else f".{{0,{_FIELD_MOST}}}?"
                if known
                else f"(?P<{part}>.{{0,{_FIELD_MOST}}}?)"
            )
            named |= {part} if at % 2 else set()
        made.append((code, Words(pattern), weight))
    return tuple(made)
