"""What a message of the DSL says when no entry is about it: the kind of refusal, and the operation that refuses.

`reasons` has families of messages with one cause; what none of them answers is told by its kind. `KINDS` goes by the words of the message (a mode out of range, two ranks that differ), `ROOMS` by the
operation or the file of the DSL that prints it. Together they give a cause and a place to look for every message.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

from layoutcheck.algebra import (
    Layout,
    composition,
    crd2idx,
    inttuple,
    logical_divide,
    parse_layout,
    parse_tile,
    parse_tree,
)
from layoutcheck.algebra.inttuple import rank, wrap
from layoutcheck.algebra.modes import leaves
from layoutcheck.brackets import closing, split
from layoutcheck.catalogue import meanings, operand_types, reasons
from layoutcheck.catalogue.entry import EVALUATE, TRACE
from layoutcheck.catalogue.literals import Words
from layoutcheck.catalogue.meanings import Meaning
from layoutcheck.errors import InputError


def _kind(name: str, words: str, cause: str, helps: str = "") -> Meaning:
    return Meaning(Words(words), cause, helps, name)


# In order: the first whose words are in the message is its kind.
KINDS = (
    _kind("divisor", r"(?:division|modulo) (?:or modulo )?by zero", "A divisor is 0: an extent, a tile or a count of stages that came out empty.", "Print the operands of the division before the line"),
    _kind("number", r"convert float (?:NaN|infinity)|does not fit in|too large for a|exactly representable",
          "A number of Python has no place in the type that it gets: it is not finite, or beyond the type's range.",
          "Print the number, and give it a wider type (cutlass.Int64), or one in range"),
    _kind("value", r"must be (?:in [\[{(]|within|['\"]|between|[0-9]+ or [0-9]|one of|either|a (?:positive|non-?negative|multiple)|[<>]=? ?-?[0-9])|out of range: must|must fit in|\bencodes\b.{0,80}must be a multiple|expected a (?:boolean|base-10)",
          "A parameter has a value beyond those that the message names.",
          "Take a value that the message names"),
    _kind("missing", r"to be provided|must be provided|is required|are required|is missing|missing (?:required )?arg|\bneeds (?:pass|an?)\b|bind arguments|must be set|not set",
          "An argument that this operation cannot do without was not given, or is of another type."),
    _kind("argument", r"expect(?:ed|s)? (?:an? )?(?:Shape|Coord|Stride|Tile|Tiler|IntTuple|Layout|Tensor|Pointer|input of type|int|str|float|bool)\b(?! (?:with|of) (?:a )?rank)"
          r"|(?:expect(?:ed|s)?|must be|should be|to be)\b[^.,]{0,60}(?-i:\b(?:Layout|Tensor|TensorSSA|Numeric|Pointer|Vector|Atom|Op(?! parameter)|Tiled\w+|[A-Z]\w+Space|[A-Z]\w+ instance|instance)\b)"
          r"|(?:type of|Input type of|must be an? (?:type|instance|Value|Sequence))|isinstance|must be LLVM pointer type|(?:to|must) be an? (?:\w+ )?(?:layout|tensor|pointer|atom|tuple|int\b)"
          r"|(?:[Ee]xpect(?:ed|s)?|is|of type|have|to be)(?: an?| result)? (?:!cute\.\w+|memref|view|MMA partitioned|concrete values)\b|(?-i:\b(?:Layout|Shape|Stride|Coord|Tile|IntTuple|MemRef|CuteMemRef|Ptr|CoordTensor|Atom)Type\b)"
          r"|Only expect \w+|tma load/store atom|atom (?:requirement|type interface)|holds a pointer type",
          "An argument is of another type than the function takes. Shapes, coordinates and tilers are integers, None and tuples of "
          "them; a layout, a tensor, a pointer, an operation and an atom are different objects.",
          "Look at the argument that the message prints: layout.shape is a shape, tensor.layout a layout, tensor.iterator a pointer, "
          "tensor.load() its values, make_copy_atom(op, dtype) an atom"),
    _kind("read-only", r"immutable|no setter|support setting|(?:cannot|can't) (?:be )?(?:set|assign|modif)",
          "The object cannot be changed: tensors, layouts and vectors of values are made anew with what differs.",
          "Make another: cute.make_tensor(pointer, layout), cute.recast_tensor(tensor, dtype); a register tensor's elements can be "
          "assigned (cute.make_rmem_tensor)"),
    _kind("one value", r"to (?:integer|float|boolean) conversion|convert .{0,80} to (?:Boolean|Integer|Float|Numeric)|DSL type: |load and store",
          "An object stands where one number is taken, or a vector where one value is: a condition, an index, an atomic take a single element; "
          "tensors in tensor memory and of coordinates cannot be loaded as values.",
          "Take an element, tensor[i, j]; reduce a vector, values.reduce(...); choose between vectors with cute.where; move tensor memory into "
          "registers by a tcgen05 copy (make_tmem_copy)"),
    _kind("combination", r"could not (?:build|select|deduce)|(?:incorrect|invalid|unsupported) (?:\w+ )*(?:schedule|policy|config\w*|combination)|compatible with"
          r"|(?:in)?valid (?:\w+ )*(?:copy|mma) atom|does not met with|no (?:known )?(?:specialization|instantiation)",
          "There is no implementation for this combination of element types, layouts, tile shape, copy atoms and schedule.",
          "Take the combination of an example of the same architecture and change one thing at a time; in C++ let CollectiveBuilder choose "
          "(KernelScheduleAuto, StageCountAuto)"),
    _kind("unsupported", r"^(?!.*(?:\barch|\bsm_|dynamic|\b[dw]?types?\b|space)).*\b(?:does|do)(?: not|n't) (?:currently )?support\b|^(?!.*(?:\barch|\bsm_|dynamic|type|space))Sm[0-9]+ \w+ only supports?",
          "The kernel, collective or operation has no form for what the message names.",
          "Leave that out, or take one that has it: an example of the same architecture and epilogue shows which parts go together"),
    _kind("architecture", r"\barch\b|\bsm_[0-9]{2,3}|\bsm ?[0-9]{2,3}\b|compute capability|Blackwell|Hopper",
          "The operation belongs to other architectures than the target of this compile."),
    _kind("region", r"outside the region|does not dominate",
          "A value is used outside of the function, branch or loop that makes it."),
    _kind("operands", r"(?<![\w.])[0-9] (?:coord\w*|src|dst|source|destination|input|output|tensors?)\b(?: \([^)]{1,40}\))? ?(?:operands?|coordinates?)?|index tensor|coord(?:inate)? ?tensor|memref need be|[0-9] coord operands"
          r"|tensors? for operand|memref for operand|operands? [A-D]\b, but gets|rest modes of (?:sf|lut)",
          "The operation has forms with other operands: TMA in tile, im2col, gather4 and scatter4 mode differ in coordinates and index tensors, a block-scaled MMA takes "
          "scale factors beside A and B.",
          "Give the operands of the form that the atom has: make_im2col_tma_atom for im2col, an index tensor for gather4 and scatter4, [tensor, scale factors] where the MMA is block-scaled"),
    _kind("CTA group", r"multicast|mcast|cta_(?:count|group)|CTA group|[12]SM\b|tensor-core (?:producer|consumer)|elect_leader_cta|cluster (?:size|ID|scope)|Cluster scope|shared cluster space",
          "One CTA, a pair of CTAs or a whole cluster executes, and the parts of the program differ in it: MMA, tensor-memory allocation, copies into it, the pipeline's agents and a multicast's "
          "mask and cluster.",
          "Give all of them the same cta_group (CtaGroup.ONE or TWO); a multicast needs an atom that was made for one (num_multicast) and a launch with cluster="),
    _kind("underscore", r"underscore|no error\(`x`\)",
          "A coordinate with None (printed _) slices, and the operation asks for one element; or a layout that could not be computed is used."),
    _kind("division", r"valid division|not divisible|divide evenly|be divisible|evenly|even multiple|multiplier of|must divide|\bdivides\b",
          "The tiler does not divide the layout: the extents or strides of one mode are no multiples of the other's."),
    _kind("alignment", r"\balign(?!ment must be a power)|multiple of (?:the )?[\w' -]*bit",
          "An address, offset or stride is not a multiple of what the instruction needs."),
    _kind("element type", r"element.?(?:type|size|width)|(?-i:\bElement[A-Z]\w*) (?:and|must|type)|\b(?:FP|float|floating.point|integer) types?\b|\bdtype|_dtype'|data type|bit.?width|of type '?(?:f|bf|i|u|tf)[0-9]|type mismatch|same type|precision|valueTypeBits|type sizes|VecSize|SfDuplicated|\btypes?\b (?:[A-D]\b|should|must|is|are|with|inputs)|[0-9]-?bit (?:types?|integer)|datatypes?\b",
          "The element types differ from those that the operation takes, and it counts in elements of its own type."),
    _kind("memory space", r"memory space|address space|(?:smem|gmem|rmem|tmem) (?:resident|src|source|dst|destination)|\b(?:smem|gmem|rmem|tmem|global|shared|\{0\}) based memref|(?:smem|gmem|rmem|tmem) (?:based|tensor|pointer|memref|iterator|address)"
          r"|(?:in|to|from|be|on|a|expects?) (?:smem|gmem|rmem|tmem)\b|shared based|(?:in|to|from|a) (?:shared|global|tensor) memory",
          "An operand is in another memory space than the operation takes."),
    _kind("sparsity", r"\bspars",
          "A sparse MMA takes A compressed, two of each four elements with their metadata; its layouts and iterators count in compressed elements."),
    _kind("room", r"big enough|large enough|too small|not enough",
          "What is given holds less than the operation needs: a type's bits, an allocation, a tile."),
    _kind("unhandled", r"something went wrong|op\+ error|should (?:not|never) (?:happen|be reached)",
          "CuTe's own code meets a case that it does not handle: arguments that its functions do not combine, such as a basis element and an "
          "integer, or tuples of different nesting."),
    _kind("overlap", r"\boverlap",
          "Two parts that must be apart lie over one another: static and run-time bits of one offset, the bits that a swizzle exchanges, "
          "ranges of an allocation."),
    _kind("static", r"\bstatic|dynamic (?:layout|shape|stride|extent|size|tensor)|compile.time|constexpr|known at",
          "The compiler must know the value: an extent or stride that only the run knows (printed as ?) is not allowed here."),
    _kind("mode", r"less than (?:the )?rank|begin < end|in (?:the )?range|range of|out of (?:range|bounds)|invalid values? for|invalid mode|mode \[",
          "A mode, index or axis that the tensor or layout does not have: modes count from 0 and end below its rank."),
    _kind("nesting", r"congruent|equivalen|profile|hierarch|same structure",
          "Shapes, strides, coordinates and tilers pair mode by mode: each mode must meet one of the same nesting."),
    _kind("rank", r"\branks?\b(?! must be a)|rank-[0-9]|number of modes|[0-9]D\b|dimensions?\b",
          "The operands differ in their number of modes, or one has a mode too many: a stage or a rest mode that is left on."),
    _kind("swizzle", r"swizzle|composed",
          "The operation does not take this swizzle, or takes it in the pointer instead of the layout."),
    _kind("size", r"same size|size mismatch|(?:must|to) be the same|same shape|compatible shape|[ABCD]'s [MNK]|must match|do not match|"
          r"(?<!length )does not match|mismatch|\bequal|same rest modes|expected by|fragment expects|== ?1\b|all ones",
          "Two operands have different extents where the operation pairs them."),
    _kind("together", r"only (?:valid|allowed) (?:with|for|as|in)|\bforbids\b|requires (?:an explicit|random_bits|scope|shape|a src_format|the second)|is incompatible with|cannot be combined|exactly one of",
          "Two options of the call do not go together: one of them asks for the other, or excludes it.",
          "Give both, or leave the one out: the message names them"),
    _kind("choice", r"one of|valid options|supported (?:values|types)|between [\w-]+ and|<= ?\w+ ?<=|power of (?:2|two)|pow(?:er)? of 2|only supports"
          r"|rounding mode|needs? (?:to )?be\b|specific TMEM layout|only support|expected (?:row|column) layout|requires (?:specifying|multicast|two|one)\b|requires an? "
          r"|not (?:a valid|supported|accepted|allowed)|(?:n't|not) support|failed to satisfy constraint|unsupported|unrecognized|unknown|invalid|to be |should be|greater than|less than|at (?:most|least)|positive|exceed|multiple of|must be",
          "A parameter has a value that the operation does not have.",
          "Take a value that the message names; where it names none, the function's documentation has them: help(function)"),
    _kind("pass", r"failed to verify that|[Ff]ailed to (?:perform|rewrite|convert|infer|construct|compute|extract|resolve|apply|config|get(?! CUDA)|determine|generate|partition|verify operands)|cannot (?:rematerialize|find \w+ for|update external)"
          r"|analysis for function|partitioning chain|to belong to a function|ancestor cute",
          "A pass of the compiler meets operands that it cannot follow to where they are made.",
          "Use atoms, layouts and tensors in the function that makes them, not behind a branch, a loop or a call; where that does not help, report it to NVIDIA/cutlass"),
    _kind("atom", r"(?:non-)?exec(?:utable)?\b|override(?:-mode)? TMA|NotImplementedFrg|legal MMA instruction|copy atom|TypeInterface|copy_bits|Mma atom",
          "The atom is of another kind than this operation takes, or was not finished: no width, no tensor map, no instruction of this shape."),
    _kind("layout", r"(?:bit|normal |block |input |strided )layout|layout (?:of|to|image)|layout[AB]\b|codomain|flattened|scalar coord|unit (?:innermost )?stride|LayoutImage",
          "The operation takes this operand in certain layouts, and it has another.",
          "Build the operand from what the atom gives: its own shared layout atom with tile_to_shape, or the partition of this atom"),
    _kind("algebra", r"unable to (?:make|recast|construct|partition|print)",
          "The layout or tensor that would result does not exist for these operands."),
)  # fmt: skip
OTHER = "Recognised, not explained: the text does not hold what decides it."


def _room(words: str, helps: str) -> Meaning:
    return Meaning(Words(words), "", helps)


# What helps, by the operation ("cute.gemm"), or by the DSL's file and function. In order: the first that fits.
ROOMS = (
    _room(r"(?<![a-z])tma|bulk|cpasync|im2col",
     "A TMA copy takes tensors that tma_partition made of grouped modes, an mbarrier (tma_bar_ptr=) for loads, and a shared tile "
     "of the atom's own layout, with the swizzle in its pointer (allocate_tensor(dtype, layout.outer, byte_alignment=1024, swizzle=layout.inner)). " + TRACE),
    _room(r"tmem|tcgen05/copy",
     "Tensor memory is allocated in columns (a power of two from 32 to 512) and copied by 32-bit columns: make_tmem_copy(atom, tensor) "
     "with an atom of the tensor's element width. " + TRACE),
    _room(r"(?<!/)\bmma|gemm|/mma|sm[0-9]+\.mma|blockscaled|fragment",
     "The MMA's types fix shape, element types and the fragments' modes (V, M, K), (V, N, K), (V, M, N); partition with this MMA. "
     "`layoutcheck numerics units --arch ARCH` lists the instructions of an architecture"),
    _room(r"mbarrier|pipeline|barrier|fence|cluster|\belect",
     "A barrier is a 64-bit shared word with its count of arrivals; a pipeline takes two words a stage, groups of whole warps and "
     "the bytes of one stage. " + TRACE),
    _room(r"launch|\bsmem\.py|memory/|allocate|\bstruct",
     "The allocator takes a DSL type, a static layout, an alignment that is a power of two; a launch three integers for each of grid, "
     "block and cluster. " + TRACE),
    _room(r"runtime\.py|dlpack|make_ptr|mark_|fake",
     "The host passes what the compiler may assume: dtype, address, alignment, leading dimension, divisors. Print the tensor's "
     "shape and stride before the call"),
    _room(r"\bcopy|partition_[SD]|retile|autovec|ldsm|stsm",
     "Print both operands. `layoutcheck explain SRC DST --atom ATOM` says what the atom takes, and " + TRACE),
    _room(r"tensor\.py|TensorSSA|reduce|broadcast|where|load|store",
     "Arithmetic is on values in registers, tensor.load(): equal shapes and types; .to(dtype) converts them"),
    _room(r"layout|divide|product|compos|complement|inverse|slice|dice|crd2idx|idx2crd|tile|coalesce|group_modes|select|core\.py|size|shape|coord",
     EVALUATE),
    _room(r"tvm_ffi|call_provider|cutlass_function|jit_arg",
     "Compile and call in one manner: torch tensors with options='--enable-tvm-ffi', or cute tensors of from_dlpack; the function's annotations must fit what is passed"),
    _room(r"\bjax/", "help(cutlass.jax) and NVIDIA's page on the DSL in JAX say what cutlass_call takes"),
    _room(r"task_scheduling|experimental/", "The experimental part of the DSL changes from version to version: help() of the function, and the examples of the installed version, have its arguments"),
    _room(r"base_dsl/array", "cutlass.Array is a typed pointer into one memory space: arr[start:count] is a vector of count elements, with count a Python integer; tuples are assigned, lists are not"),
    _room(r"pyir|ast_(?:helpers|preprocessor|decorators)|multi_stage|leaf_utils|tree_utils",
     "Decide while compiling what Python must know (cutlass.const_expr, cutlass.range_constexpr), and let a run-time loop or branch (cutlass.range) assign only numbers and tensors that had a value before it"),
    _room(r"base_dsl/(?:compiler|jit_executor|export|env_manager|cache)|compile_options|compile_backend|jit_executor",
     "Compile again with the installed DSL: help(cutlass.cute.compile) lists its options, and an object is loaded by the version and under the prefix that exported it"),
    _room(r"(?:^|/)testing\.py|autotun", "help(cutlass.cute.testing) says what benchmark and autotune take: a compiled function, JitArguments, and the stream of the launch"),
    _room(r"_mlir_helpers|base_dsl/typing|numeric", "Convert the value to one DSL type before the line, cutlass.Float32(x) or x.to(cutlass.Float32), and print type(x) of both operands"),
)  # fmt: skip
_FALLBACK = "Print the arguments before the line and compare them with help() of the function. " + TRACE
_LONGEST = 300  # characters of two operands
_SPECIFIC = 6  # the first of them say more than the kind of the message does
_LAYOUT, _TILER = (
    r"'?[!#]cute\.layout<\"(?P<layout>[^\"]{1,200})\">'?",
    r"'?[!#]cute\.(?:layout|tile)<\"(?P<tiler>[^\"]{1,200})\">",
)
_DIVISION = re.compile(rf"division of {_LAYOUT} by {_TILER}")
_COMPOSITION = re.compile(
    r"following composition: (?:'![^\"]{1,200}\")?(?P<layout>[^\s'\"]{1,200})(?:\">')? o (?:'![^\"]{1,60}\")?(?P<tiler>[^\s'\"]{1,200})"
)
_INCONGRUENT = re.compile(r"(?P<name>\w*coord\w*|tiler|dicer)\b[^.]{0,80}\bcongruent\b[^.]{0,60}?\bgot:? ")
_RANKED = re.compile(
    r"\brank (?:>=|==|of at least|at least|of) (?P<least>[1-9])\b.{0,40}?\bgot\b.{0,80}?(?:\bo |[\"' ])(?P<shape>\([0-9(),?_]{1,60}\))(?=:\()"
)
_QUOTED = re.compile(r"[!#]cute\.(?P<type>\w+)<\"(?P<inside>[^\"]{1,200})\">")
_COORDINATE = re.compile(rf"crd2idx with {_LAYOUT} and '?[!#]cute\.coord<\"(?P<tiler>[^\"]{{1,200}})\">")
_BOILERPLATE = re.compile(r" (?:(?<!: )error: |Error Code:|\U0001F4A1|suggestion:|note:|= note:|-->|see current operation|File \"|\| [0-9]+ \||"
    r"(?:INFO|WARN(?:ING)?|ERROR|DEBUG|CRITICAL)(?:[: ]+[0-9]{2,4}[-/]|:? \[)|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]|\[rank[0-9]+\]|\([\w ]+ pid=).*$"  # a log's next line
)  # fmt: skip


_GOT = re.compile(r"(?:,? but|;|,)? (?:got|found|is given)\b.*$")
_TYPE = re.compile(r"[!#]?\b[\w.]*<[^<>]*(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>[^<>]*)*>|<[^<>]*>")


def message(said: str) -> str:
    """The message without what the DSL prints behind each: its arrow, its notes, its suggestions."""
    return _BOILERPLATE.sub("", said).strip().rstrip(".")


def kind(said: str) -> Meaning | None:
    """The kind of a message: by what it asks for, else by what it got."""
    plain = _TYPE.sub("", said)
    texts = (_GOT.sub("", plain), plain, said if "<class" in said else "")
    return next(filter(None, (meanings.first(KINDS, text) for text in texts)), None)


def answer(said: str, where: str = "") -> tuple[str, str]:
    """(why a message of these words is raised, what to change): by its operands' types, by its family, else by its kind.

    What to change is also told by the operation or file that refuses.
    """
    typed = operand_types.told(said)
    if typed:
        return typed
    reason = reasons.find(said, where)
    if reason:
        return reason.cause, reason.helps
    found = kind(said)
    of_kind = found.helps if found else ""
    helps = _helps(where, ROOMS[:_SPECIFIC]) or of_kind or _helps(where, ROOMS) or _helps(said, ROOMS)
    return found.cause if found else OTHER, helps or _FALLBACK


def cause(said: str, where: str = "") -> str:
    """Why a message of these words is raised."""
    return answer(said, where)[0]


def remedy(said: str, where: str = "") -> str:
    """What to change."""
    return answer(said, where)[1]


def _helps(text: str, rooms: tuple[Meaning, ...]) -> str:
    found = meanings.first(rooms, text)
    return found.helps if found else ""


def reason(text: str) -> str | None:
    """Which mode is in the way of a division, composition or coordinate that failed, where the text holds both operands."""
    if found := _INCONGRUENT.search(text):
        return _apart(found["name"], text[found.end() : found.end() + _LONGEST])
    if found := _RANKED.search(text):
        return _flatter(int(found["least"]), found["shape"])
    for pattern, operation in ((_DIVISION, _divided), (_COMPOSITION, _composed), (_COORDINATE, _evaluated)):
        found = pattern.search(text)
        if found is None:
            continue
        try:
            layout = parse_layout(found["layout"])
            run = operation(layout, found["tiler"])
        except InputError:
            return None  # the text has a value that only the run knows
        try:
            result = run()
        except InputError as error:
            return error.message
        return _unmerged(layout, result) if "?" in found["layout"] else None
    return None


_MEMREF = re.compile(r"!cute\.memref<[^\"]{1,200}\"(?P<layout>[^\"]{1,200})\">")
_FRAGMENTS = ("D", "VMN"), ("A", "VMK"), ("B", "VNK")


def product(text: str) -> tuple[str, ...]:
    """Which of M, N and K differ in the fragments of a cute.gemm whose operation the text holds, and where."""
    _, _, operation = text.partition('"cute.gemm"')
    printed = [one["layout"] for one in _MEMREF.finditer(operation)][: len(_FRAGMENTS)]
    if len(printed) < len(_FRAGMENTS):
        return ()
    sizes: dict[str, dict[str, str]] = {}
    for (name, modes), layout in zip(_FRAGMENTS, printed, strict=True):
        try:
            shape = parse_layout(layout).shape
        except InputError:
            return ()
        if rank(shape) != len(modes):
            return (
                f"{name} has {rank(shape)} modes, {layout.partition(':')[0]}, and not ({','.join(modes)})",
            )
        for mode, extent in zip(modes, wrap(shape), strict=True):
            sizes.setdefault(mode, {})[name] = str(inttuple.product(extent))
    told = [
        f"{mode} is {', '.join(f'{count} in {one}' for one, count in sizes.get(mode, {}).items())}"
        for mode in "MNK"
        if len(set(sizes.get(mode, {}).values())) > 1
    ]
    return (f"{' and '.join(told)} (in instructions, as the fragments count them)",) if told else ()


def _unmerged(layout: Layout, result: object) -> str | None:
    """Why the DSL finds no result where there is one: it does not join modes of run-time extents."""
    modes = leaves(layout)
    pairs = itertools.pairwise(modes)
    if not all(
        isinstance(one.extent, int) and other.stride == one.extent * one.stride for one, other in pairs
    ):
        return None
    return (
        f"the result is {result}, since the modes of {layout} follow one another in memory; the DSL does not join modes whose "
        "extents only the run knows, and asks each to divide by itself. Make it one mode before: cute.make_layout(cute.size(layout))"
    )


def _apart(name: str, printed: str) -> str | None:
    """Where a coordinate or tiler has modes that the layout lacks; None where the text lacks one of them, or they pair.

    Both stand at the head of `printed`, as the DSL's types or in plain brackets; in these the layout is the second.
    """
    typed = {one["type"]: one["inside"] for one in _QUOTED.finditer(printed)}
    coordinate = typed.get("coord") or typed.get("tile")
    layout = typed.get("layout") or typed.get("shape")
    if not typed and printed.startswith("("):
        try:
            end = closing(printed, 0)
            second = printed.index("(", end)
            coordinate, layout = printed[:end], printed[second : closing(printed, second)]
        except (InputError, ValueError):
            return None
    return (
        _deeper(name, coordinate, "the layout", layout.partition(":")[0]) if coordinate and layout else None
    )


def _flatter(least: int, shape: str) -> str | None:
    """That a printed tensor has fewer modes than a message asks for; None where it has as many."""
    try:
        have = rank(parse_layout(shape).shape)
    except InputError:
        return None
    return (
        f"the shape {shape} has {have} mode{'s' * (have != 1)}, and {least} are asked for"
        if have < least
        else None
    )


def _deeper(name: str, one: str, other: str, shape: str) -> str | None:
    """The first mode, from the left, in which `one` is not weakly congruent to a shape; None where it is."""
    parts, extents = _modes(one), _modes(shape)
    if not parts:
        return None
    if not extents:
        return f"{name} {one} has {len(parts)} modes where {other} has the one extent {shape}"
    if len(parts) != len(extents):
        return f"{name} {one} has {len(parts)} modes, and {other} {shape} has {len(extents)}"
    each = enumerate(zip(parts, extents, strict=True))
    found = (
        _deeper(f"mode {at} of {name}", part, f"mode {at} of {other}", extent) for at, (part, extent) in each
    )
    return next(filter(None, found), None)


def _modes(text: str) -> list[str]:
    """The modes of a tuple; none of an integer."""
    return [one.strip() for one in split(text[1:-1])] if text.startswith("(") and text.endswith(")") else []


def _divided(layout: Layout, tiler: str) -> Callable[[], object]:
    read = _tile(tiler)
    return lambda: logical_divide(layout, read)


def _composed(layout: Layout, tiler: str) -> Callable[[], object]:
    read = _tile(tiler)
    return lambda: composition(layout, read)


def _evaluated(layout: Layout, coordinate: str) -> Callable[[], object]:
    read = parse_tree(coordinate)
    return lambda: crd2idx(read, layout)


def _tile(text: str) -> Any:
    return parse_tile(text) if text.startswith("[") or ":" not in text else parse_layout(text)
