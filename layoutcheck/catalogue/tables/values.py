"""Numbers and vectors of a kernel: types that are not converted, indices that are not static, code that LLVM refuses."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, TRACE, issue, known

DSL = "DSL 4.8.1"
_VALUE = (
    r"(?:\S{0,100}?ArithValue|\S{0,100}?\b_?(?:U?Int(?:4|8|16|32|64|128)|Float\w*|Boolean|Numeric|IntValue))"
)

ENTRIES = (
    known(
        "dsl.left-cast",
        r"(?:LLVM Translation failed for operation:|legalize operation) '?builtin\.unrealized_conversion_cast'?(?:.{0,400}?\((?P<source>[!\w][^)]{0,80})\) -> (?P<target>[!(\w][^\s\"]{0,80}))?",
        "a value of one type stands where the program needs another: {source} {target}",
        "The compiler puts a cast between two types and cannot resolve it. The note 'see current operation' has both, source first: an index or size of 64 bits (i64, an element of a torch.int64 tensor) where 32 bits are taken, or a DSL object that is no number.",
        "Convert the value before it is used: cutlass.Int32(idx) for an index, .to(dtype) for a value; keep index tensors in int32",
        (
            'error: LLVM Translation failed for operation: builtin.unrealized_conversion_cast note: see current operation: %120 = "builtin.unrealized_conversion_cast"(%118) : (i64) -> i32',
            "DSL 4",
        ),
        level=ELSEWHERE,
    ),
    known(
        "dsl.dynamic-index",
        rf"'(?:<class )?'?{_VALUE}'?>?' object cannot be interpreted as an integer|(?:list|tuple|range|string) indices must be integers(?: or slices)?, not '?{_VALUE}|slice indices must be integers or None or have an __index__|TensorSSA\b[^\n]{{0,80}}dynamic coordinate is not supported|(?<![\w ])dynamic coordinate is not supported",
        "a list, tuple or range of Python is indexed by a value that only the run knows",
        "Lists, tuples and range exist while the program is compiled. A loop variable of cutlass.range, thread_idx or a loaded number is a value of the running kernel, and cannot choose an entry of them.",
        "Unroll the loop while compiling, `for i in cutlass.range_constexpr(n)`, which gives Python integers; or keep the entries in a register tensor (cute.make_rmem_tensor), which takes a dynamic index",
        (
            "DSLRuntimeError: '<class cutlass._mlir_helpers.arith.ArithValue>' object cannot be interpreted as an integer",
            DSL,
        ),
        instead_of=("dsl.dynamic-condition",),
    ),
    known(
        "dsl.none-number",
        r"\bNone to (?P<type>[Ii]nteger|[Ff]loat|[Bb]oolean|Numeric) conversion is not supported|\b(?:convert|from python value:) None\b[^\n]{0,60}(?: to (?P<other>Numeric|Boolean|Integer|Float))?",
        "None is passed where a number is declared {type}{other}",
        "A parameter is annotated with a number type (cutlass.Float32, Int32), or a number type is called with None. Most often an argument of the caller that may be left out (softmax_scale=None) was left out, and no default was put in its place.",
        "Pass a number, cutlass.Float32(scale). If None is meant, annotate the parameter Optional[cutlass.Float32] and ask `if cutlass.const_expr(scale is not None)` before it is used. To find which: look at the parameters of the compiled "
        "function with a number's annotation; CUTE_DSL_SHOW_STACKTRACE=1 prints the line",
        ("DSLRuntimeError: None to Float conversion is not supported", DSL),
        instead_of=("dsl.number-from-object", "dsl.not-numeric"),
    ),
    known(
        "dsl.number-from-object",
        r"Could not deduce Type\[Numeric\] from python value: (?P<value>[^\n]{1,60})|can't cast [^\n]{1,80} to [^\n]{1,60}\. Pass in concrete type|can't interpret (?P<other>[^\n]{1,60}) as data type|(?P<torch>[^\n ]{1,60}) is not supported by torch",
        "the DSL has no number type for {value}{other}{torch}",
        "Element types are the classes of cutlass (cutlass.Float16, cutlass.Int32); torch.float16, numpy types and strings are others, and a value must be a Python bool, int or float or a DSL number.",
        "cutlass.torch.dtype and cutlass.torch.as_tensor convert between the two; tensor.element_type is the DSL's type of a tensor",
        ("TypeError: can't interpret torch.float16 as data type", DSL),
    ),
    known(
        "dsl.invalid-llvm",
        r"(?P<said>Incorrect number of arguments passed to called function|Call parameter type does not match function signature|Intrinsic has incorrect (?:argument|return) type|Called function must be a pointer|Invalid bitcast|PHI nodes? (?:not grouped|operands)|Instruction does not dominate all uses|Function return type does not match|Invalid user of intrinsic)[^\n]{0,40}?!?(?: call \w+ @(?P<intrinsic>[\w.]+))?",
        "the compiler lowers an operation to LLVM code that LLVM refuses {intrinsic}: {said}",
        "The program passed the DSL's own checks; the lowering of one operation builds a call with other operands than the intrinsic has. It is a fault of the compiler and not of your layout. The intrinsic's name says which operation: "
        "stmatrix and ldmatrix of 8-bit elements, mma with block scales, conversions of narrow types.",
        "Take another operation for it: the 16-bit stmatrix (StMatrix8x8x16bOp) or a universal copy, and another DSL version; report it to NVIDIA/cutlass. "
        + TRACE,
        (
            "Incorrect number of arguments passed to called function! call void @llvm.nvvm.stmatrix.sync.aligned.m16n8.x1.trans.b8.p3(ptr addrspace(3) %14, i32 %19)",
            issue(3234),
        ),
    ),
    known(
        "dsl.narrow-conversion",
        r"'(?:nvgpu|cute_nvgpu|nvvm|arith)\.(?P<op>cvt_\w+|truncf|extf)' op[^\n]{0,200}?vector(?:, but got '(?P<given>[^']{1,60})')?|[Cc]onver\w+ (?:from|to) (?:fp8|float8|fp4|float4|f8E\w+|f4E\w+)[^\n]{0,40}(?:vector|multiple of)",
        "a conversion to or from a narrow float type takes a vector that fills 32 bits, and gets {given}",
        "The hardware converts elements of 8, 6 and 4 bits several at a time: four of 8 bits, eight of 4 bits. A single value has no instruction.",
        "Convert a register tensor whose size is a multiple of that, fragment.load().to(cutlass.Float8E4M3FN), and take elements after it; newer versions of the DSL (from 4.6.2) also convert single values of some types",
        (
            "'nvgpu.cvt_fptrunc' op operand #0 must be 32-bits aligned floating-point-like 1-d vector, but got 'f32'",
            DSL,
        ),
    ),
    known(
        "dsl.unresolved-materialization",
        r"failed to legalize unresolved materialization from \('?(?P<source>[^)]{3,200}?)'?\) to \(?'?(?P<target>[^)]{3,200}?)'?\)? that remained live",
        "an atom or layout is carried where only numbers can be: {source}",
        "A run-time loop or branch (cutlass.range, a dynamic if) hands this object from one iteration to the next: it was made or changed inside, or lives in a variable that the loop assigns. Atoms and tiled copies exist for the compiler and have no value at run time.",
        "Make the copy or MMA before the loop and only use it inside, keep the loop's variables numbers and tensors, or unroll the loop with cutlass.range_constexpr",
        (
            "error: failed to legalize unresolved materialization from ('!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x32>') to ('!cute.tiled_copy<...>') that remained live after conversion",
            "https://github.com/flashinfer-ai/flashinfer/pull/3348",
        ),
    ),
)
