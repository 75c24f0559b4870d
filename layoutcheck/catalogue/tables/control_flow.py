"""What the DSL's rewriting of Python refuses: sources, names, conditions and loops that only the run knows."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, issue, known

DSL = "DSL 4.8.1"

ENTRIES = (
    known(
        "dsl.no-source",
        r"OSError: could not get source code.{0,1500}ast_preprocessor|ast_preprocessor.{0,1500}could not get source code"
        r"|UNSUP_NO_SOURCE",
        "the DSL cannot read the function's source",
        "@cute.jit and @cute.kernel rewrite the function from its source file. A function typed at the Python prompt, made "
        "by exec, or without a file of its own has none.",
        "Put the function into a file (a notebook cell is one as well)",
        ("OSError: could not get source code File ast_preprocessor.py", issue(3413)),
        level=ELSEWHERE,
    ),
    known(
        "dsl.early-exit",
        r"(?<!error)\b\w{0,40}Error: Early exit \((?P<what>return|break|continue|raise)\) is not allowed"
        r"|\W(?P<stated>return|break|continue|raise)\W{1,3}(?:statements? )?(?:in(?:side)?|within)(?: of)?(?: an?| the)? \W?@?cute\.(?:jit|kernel)\b(?=.{0,200}(?:Error|not (?:allowed|supported)|refuse))",
        "{what}{stated} stands inside a condition or loop that only the run decides",
        "The DSL compiles such a branch as a whole, and the compiled form has no way out of its middle. It is not an error of a layout.",
        "Enclose the rest of the body in the opposite condition (if i < n: ... instead of if i >= n: return), or give the loop a condition of its own (while not done). If the condition is known while compiling, "
        "say so: `if cutlass.const_expr(...)`, `for ... in cutlass.range_constexpr(...)`; there {what}{stated} is allowed. What only checks arguments goes before the call, or under const_expr",
        (
            "DSLAstPreprocessorError: Early exit (return) is not allowed. If predicates are constant expression, write like `if const_expr(...)` or `for ... in range_constexpr(...)`.",
            DSL,
        ),
        level=ELSEWHERE,
    ),
    known(
        "dsl.conditional-index",
        r"expected some sort of expr, but got <ast\.FunctionDef",
        "a conditional expression stands in an index on the left of an assignment",
        "The DSL turns `a if c else b` into a function of its own, which Python does not take as part of `x[...] = value`.",
        "Name the index before: i = a if c else b, then x[i] = value",
        ("TypeError: expected some sort of expr, but got <ast.FunctionDef object at 0x7f530768f370>", DSL),
        level=ELSEWHERE,
    ),
    known(
        "dsl.loop-not-unrolled",
        r"The loop was previously unrolled in Python, but now it may not unroll in IR",
        "a warning: `range` makes a loop of the running kernel, where it was unrolled before",
        "Since DSL 4.1 `range` in a @cute.jit function is a loop of the compiled program, and Python does not unroll it. The result is the same; an index of a register tensor that changes in such a loop moves the tensor to local memory, which is slow.",
        "If the extent is known while compiling and is small, write cutlass.range_constexpr(n), or cutlass.range(n, unroll_full=True); otherwise leave it. `layoutcheck trace --no-launch SCRIPT` says what each copy of the kernel costs",
        (
            "dense_gemm.py:785: UserWarning: The loop was previously unrolled in Python, but now it may not unroll in IR. This may cause performance regression.",
            issue(2444),
        ),
        level="slow",
    ),
    known(
        "dsl.name-undefined",
        r"(?:NameError(?: in `\w+`)?: name|\blocal variable|free variable) '(?P<what>\w+)' "
        r"(?:is not defined|(?:where it is )?not associated with a value|referenced before assignment)",
        "the name {what} has no value where the function is compiled",
        "It is not imported, or it is first assigned inside a dynamic if or loop: the DSL compiles both paths, and on one of "
        "them the name has no value.",
        "Give it a value of its later type before the dynamic if, for or while, or import it; cutlass.const_expr and range_constexpr make the branch or loop Python's own",
        ("DSLUserCodeError: error: NameError in `kernel`: name 'v' is not defined", DSL),
        level=ELSEWHERE,
        instead_of=("dsl.dynamic-condition",),
    ),
    known(
        "dsl.not-numeric",
        r"unable to convert .{1,200} in type <class '(?P<given>[\w.]+)'> to Numeric",
        "a Python {given} stands where the DSL takes one number",
        "Either a function that takes one number gets it (an element to store or fill, a predicate, a field of an atom, an operand of arithmetic), or a dynamic if or loop assigns it: what a dynamic branch assigns must be a DSL value, and Python lists and objects exist at compile time only.",
        "Give one entry of it, or a register tensor where several are meant; in a dynamic branch make the branch static with cutlass.const_expr, or assign the elements one by one",
        ("ValueError: unable to convert [2, 3, 4] in type <class 'list'> to Numeric", issue(2531)),
        level=ELSEWHERE,
    ),
    known(
        "dsl.dominance",
        r"does not dominate this use|using value defined outside the region",
        "a value made inside a branch, loop or other function is used outside of it",
        "It is an error of the DSL's control flow, not of a layout: a variable first assigned in a dynamic if or for, "
        "or held in an object between two @cute.jit functions; a layout made by the host and given to a kernel as "
        "cutlass.Constexpr; or a kernel that returns a value, which no kernel can.",
        "A field of an atom (mma.set, atom.set_value) is set in the loop or branch in which the gemm or copy stands. Assign it before the branch, make it in the function that uses it, pass it as an argument, or make the branch "
        "static with cutlass.const_expr; report it to NVIDIA/cutlass",
        ("error: unknown: operand #0 does not dominate this use", issue(2532)),
        level=ELSEWHERE,
    ),
    known(
        "dsl.dynamic-condition",
        r"Unable to convert dynamic Boolean value to bool|dynamic (?:expression|control flow) (?:is not|cannot)"
        r"|user-defined Python object, which cannot"
        r"|KeyError: (?:U?Int|Float|Boolean)[0-9]*\(|staged control flow|(?:\b[Dd]ynamic|\bRuntime|\b[Ss]taged) (?:value|expression|\()[^\n]{0,80} (?:bool(?:ean)?|list index|range)\b",
        "a value known only at run time decides something at compile time",
        "Python's own if, range, list index, assert, float() and math.* need a value at compile time. It is not an error of a layout.",
        "Use cutlass.range for the loop (cutlass.range_constexpr where its index picks from a Python list), cutlass.const_expr for what is static, cute.math and .to(dtype) for arithmetic, or pass the value as cutlass.Constexpr; NVIDIA's control-flow guide has the rest",
        ("DSLRuntimeError: Unable to convert dynamic Boolean value to bool at compile time.", issue(2676)),
        level=ELSEWHERE,
    ),
    known(
        "dsl.dynamic-list-index",
        r"(?:\b[Dd]ynamic|\bRuntime|\b[Ss]taged) (?:value|expression)[^\n]{0,80} (?:list|tuple) index(?! or for loop)",
        "a Python list is indexed by a value known only at run time",
        "A list lives at compile time, and its index is a Python integer. Both Python's range and cutlass.range give a dynamic index in a compiled function.",
        "for i in cutlass.range_constexpr(n) unrolls the loop and gives Python integers; where the index must stay dynamic, keep the values in a register tensor (cute.make_rmem_tensor) instead of a list",
        ("Cannot use a Runtime value as a list index", DSL),
        level=ELSEWHERE,
        instead_of=("dsl.dynamic-condition",),
    ),
    known(
        "dsl.branch-values",
        r"Expected an MLIR object(?: \(got (?P<got>[^\n]{2,80}?)\))?|Failed to create dynamic (?P<kind>if|for|while)(?! loop: )",
        "a dynamic branch or loop cannot be built {kind}{got}",
        "The DSL builds an operation that takes every variable which the branch or loop assigns as one value. One of them is none: a list of results, a Python object, or what a function of another DSL version returns. 'Failed to create dynamic ...' only wraps the exception above it, which names the value.",
        "Look at the exception above and at the variables assigned in that branch: each is one number or tensor before and after it, of one type; cutlass.const_expr makes the branch static. In a library's kernel it is a matter of versions: install the nvidia-cutlass-dsl that it pins, and report what stays to {project}",
        ("TypeError: Expected an MLIR object (got OpResultList([...]))", issue(45392, "vllm-project/vllm")),
        level=ELSEWHERE,
    ),
    known(
        "dsl.loop-types",
        r"'(?:scf|cf)\.\w+' op",
        "the branches or bounds of a dynamic loop differ in type",
        "It is an error of the DSL's control flow, not of a layout: Int32 and Int64 bounds are mixed, a variable changes its type in the "
        "loop, or the condition is a number instead of a comparison (while n, where n > 0 is meant).",
        "Give all three bounds of cutlass.range one type, and keep each variable's type through the loop",
        (
            "error: unknown: 'scf.for' op failed to verify that all of {lowerBound, upperBound, step} have same type",
            issue(2630),
        ),
        level=ELSEWHERE,
    ),
)
