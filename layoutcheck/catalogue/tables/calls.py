"""Python's own errors about the DSL: calls with other arguments, attributes that an object does not have.

The installed DSL is looked up: its signatures and its classes' members stand below the answer.
"""

from __future__ import annotations

import re

from layoutcheck.catalogue.entry import EVALUATE, issue, known

DSL = "DSL 4.8.1"
_VERSIONS = (
    "If the program was written for another DSL version, compare it with `pip show nvidia-cutlass-dsl`"
)

TYPES = {
    "Tensor": "a Tensor: tensor.iterator is its pointer, tensor.layout its layout, tensor.load() its values, tensor[i, j] one of them",
    "TensorSSA": "a TensorSSA: values in registers, as tensor.load() gives them; tensor.store(values) writes them",
    "Layout": "a Layout: cute.make_tensor(pointer, layout) makes it a tensor, layout.shape and layout.stride are its tuples",
    "ComposedLayout": "a ComposedLayout: layout.inner is its swizzle, layout.outer its plain layout",
    "Pointer": "a Pointer: cute.make_tensor(pointer, layout) makes it a tensor",
    "tuple": "a tuple: a shape, stride, coordinate or tiler; cute.make_layout(shape, stride=...) makes it a layout",
    "NoneType": "None: an argument that was not given, an atom that another architecture makes, or a function without return value",
    "CopyAtom": "a CopyAtom: cute.make_tiled_copy_tv(atom, threads, values) tiles it, and get_slice(tidx) partitions",
    "MmaAtom": "a MmaAtom: cute.make_tiled_mma(atom, layout) tiles it, and get_slice(tidx) partitions",
    "TiledCopy": "a TiledCopy: get_slice(tidx) is one thread's, which partitions and retiles",
    "TiledMma": "a TiledMma: get_slice(tidx) is one thread's, which partitions",
    "MemRangeData": "a MemRange of a struct: field.get_tensor(layout) is a tensor, field.data_ptr() its pointer",
    "MemRange": "a MemRange of a struct: field.get_tensor(layout) is a tensor, field.data_ptr() its pointer",
}  # what an object is, and what is made of it

_SPACES = (
    (re.compile(r"(?i)smem|shared"), "shared", "cutlass.utils.SmemAllocator().allocate_tensor(dtype, layout, byte_alignment, swizzle)"),
    (re.compile(r"(?i)tmem|tensor_?memory"), "tensor", "cutlass.utils.TmemAllocator, or cute.arch.alloc_tmem and retrieve_tmem_ptr"),
    (re.compile(r"(?i)rmem|fragment|register"), "register", "cute.make_rmem_tensor(shape, dtype), for each thread its own"),
    (re.compile(r"(?i)gmem|global"), "global", "an argument of the kernel, or cute.make_tensor(pointer, layout)"),
)  # memory by the words of a name, and what gives a tensor there  # fmt: skip


def space(name: str) -> str:
    """The memory space that a name speaks of: "shared"; "" for none."""
    return next((space for words, space, _ in _SPACES if words.search(name)), "")


def given_by(name: str) -> str:
    """What gives a tensor in the memory space of the name."""
    return next(gives for words, _, gives in _SPACES if words.search(name))


OTHER_VERSION = (
    "The name is misspelt, or the program was written for another DSL version: names are added, renamed and removed from one minor version to the next",
    "Compare `pip show nvidia-cutlass-dsl` with the version that the program's own requirements name",
)
OTHER_PACKAGE = (
    "The name is of another DSL version, or of its other package: up to 4.5.3 nvidia-cutlass-dsl-libs-base (CUDA 12.9) and nvidia-cutlass-dsl-libs-cu13 have Python files of their own, which differ in this name",
    "`python -m pip list` shows version and packages: compare both with what the program's own requirements name. From 4.6.0 on cu13 brings no Python files. "
    "Where an enumeration is missing, the functions of cute.arch take its value as a string in both packages: cute.arch.fence_proxy('async.shared', space='cta')",
)
LISTED = "the installed DSL lists"  # how the sentence about a name of another module begins
OTHER_MODULE = ("The name is another module's of the DSL", "Call it from the module that lists it")
OF_VALUES = (
    "type",
    "owner",
    "context",
    "operation",
)  # what every MLIR value has; classes of the DSL use the words otherwise
METHOD = (
    "In no version is it a function of that module: it is a method of the objects below",
    "Call it on such an object, value.NAME(...); `launch` is of what the call of a @cute.kernel gives, kernel(args).launch(grid=..., block=...), "
    "and of two numbers cutlass.max and cutlass.min give the larger and the smaller",
)
NO_VERSION = (
    "The name is misspelt, or is CUTLASS C++'s or another library's: another version of the DSL does not help",
    "Take the function that the DSL has for it: dir() and help() of the module list them. Python's own 'Did you mean' goes by the letters, and not by what the function does",
)  # (why a module has no such name, what to do)

ENTRIES = (
    known(
        "dsl.call",
        r"TypeError: (?:[\w.<>]+\.)??(?:_?(?P<owner>[A-Z]\w+)\.)?(?P<function>_?[A-Za-z]\w*|__call__|__getitem__|__setitem__)(?:\.__init__)?\(\) (?P<said>(?:takes|got|missing) [^\n]{3,400}?)(?= -->| suggestion:| Traceback| \S+\.py:[0-9]+| File \"|$)",
        "{function}() {said}",
        "The call does not fit the function's parameters. Python names the last one without a value, while the argument that was "
        "left out may stand before it: cute.copy and cute.gemm take the atom first, make_tiled_tma_atom the operation.",
        "Compare the call with the signature below. " + _VERSIONS,
        ("TypeError: gemm() missing 2 required positional arguments: 'b' and 'c'", DSL),
        defined="function",
        instead_of=("elsewhere.library-version",),
    ),
    known(
        "dsl.not-sliced",
        r"'(?P<whole>TiledCopy|TiledMma)' object has no attribute '(?P<what>(?:partition|retile)_?\w*)'",
        "{whole}.{what}: one thread partitions, not the whole",
        "A tiled copy or MMA describes all threads; what partitions a tensor is the slice of one of them.",
        "thr = tiled.get_slice(tidx), then thr.{what}(tensor)",
        ("AttributeError: 'TiledCopy' object has no attribute 'partition_S'", DSL),
        instead_of=("elsewhere.library-version", "dsl.no-member"),
    ),
    known(
        "dsl.no-dlpack",
        r"'(?P<given>\w+)' object has no attribute '__(?:dlpack|c_pointers|get_mlir_types|dlpack_device)__'",
        "a {given} is passed where the DSL takes a tensor",
        "from_dlpack takes an array of torch, numpy, cupy or JAX, which has the method __dlpack__; a list or a number does not have it.",
        "Make it an array first: torch.tensor(values, device='cuda'); pass a number as cutlass.Int32 or as a Constexpr",
        ("AttributeError: 'list' object has no attribute '__dlpack__'", DSL),
        instead_of=("elsewhere.library-version", "dsl.given-python"),
    ),
    known(
        "dsl.no-member",
        r"(?:type object )?'_?(?P<owner>[A-Z]\w+)'(?: object)? has no attribute '(?P<what>\w+)'",
        "a {owner} of the DSL has no .{what}",
        "Either a {owner} is passed to a function that takes another object, one with .{what}, or the program asks the {owner} for what "
        "torch or numpy call so. A Tensor of CuTe is a pointer and a layout; shapes and strides are tuples.",
        "Pass or use what stands below. Another view is another layout (cute.make_tensor(t.iterator, layout), cute.composition, cute.select). "
        + _VERSIONS,
        ("AttributeError: '_Tensor' object has no attribute 'permute'", DSL),
        defined="owner",
        instead_of=("elsewhere.library-version",),
    ),
    known(
        "dsl.plain-launch",
        r"'(?P<given>function|method|_?[A-Z]\w*Func\w*)' object has no attribute '(?P<what>launch)'",
        "a plain function has no .launch: the kernel is not decorated, or not called before it",
        "Calling a function that is decorated with @cute.kernel gives a launcher, and that has .launch. A function without the decorator, and kernel.launch without the call, do not.",
        "Write @cute.kernel above `def`, then kernel(args).launch(grid=[x, y, z], block=[threads, 1, 1]) inside of a @cute.jit function",
        ("AttributeError: 'function' object has no attribute 'launch'", "Python"),
        defined="what",
        instead_of=("elsewhere.library-version", "dsl.given-python", "dsl.no-member"),
    ),
    known(
        "dsl.value-given",
        r"isinstance\((?P<argument>\w+), (?:_cext\.)?ir\.(?P<kind>Value|Type|Attribute)\)",
        "an operation of the DSL got a Python object where it takes an MLIR {kind} ({argument})",
        "_cext.ir is MLIR's binding inside of the DSL. Functions below cute (cute.arch, cutlass._mlir.dialects) take raw values. A DSL number, a Python number, a list of them and a method without its call are other objects.",
        "Give the raw value: x.ir_value() of a DSL number, with its parentheses; cutlass.Float32(3.0).ir_value() of a Python number; in a list every entry. Or take the function of cute that does it (tensor.load(), tensor.store(values))",
        ("AssertionError: isinstance(arg, _cext.ir.Value)", "DSL 4.8.1, cutlass._mlir"),
    ),
    known(
        "dsl.given-python",
        r"'(?P<given>NoneType|int|float|bool|str|tuple|list|dict|type|function|module)' object has no attribute '(?P<what>\w+)'",
        "a {given} has no .{what}",
        "A Python {given} stands where a tensor, pointer, atom, group or DSL number is taken. Shapes, strides and coordinates are tuples in CuTe "
        "and have no methods.",
        "A number that Python knows (a static extent or stride, the stride 0 of expand) has no value of the run: leave out for it what only those take, x if isinstance(x, int) else cute.assume(x, divby=8). "
        "Else look at the argument that the line passes: cutlass.Int32(3) is a DSL number, cute.make_tensor(pointer, layout) a tensor, "
        "allocate_array(cutlass.Int64, n) a shared pointer; cute.size(x, mode=[0]) and cute.rank(x) ask a shape",
        ("AttributeError: 'int' object has no attribute 'to_llvm_ptr'", DSL),
        defined="what",
        instead_of=("elsewhere.library-version",),
    ),
    known(
        "dsl.tuple-attribute",
        r"'tuple' object has no attribute '(?P<what>\w+)'",
        "a tuple has no .{what}",
        "Shapes, strides, coordinates, and what thread_idx, block_idx and block_dim give, are Python tuples in CuTe.",
        "Unpack it, tidx, _, _ = cute.arch.thread_idx(), or take an entry, shape[0]; cute.size(x, mode=[0]) and cute.rank(x) ask a shape, "
        "cute.make_layout(shape) makes a layout",
        ("AttributeError: 'tuple' object has no attribute 'x'", "Python"),
        general=True,
        instead_of=("elsewhere.library-version",),
    ),
    known(
        "dsl.tuple-value",
        r"tuple\.index\(x\): x not in tuple|\b[0-9]{1,12} is not in list",
        "an order or a list of modes does not name each mode once",
        "A stride_order, order or mode list holds the modes 0 to rank - 1, each once.",
        "Give one number for each mode: stride_order=(1, 0) for two of them",
        ("ValueError: tuple.index(x): x not in tuple", DSL),
        general=True,
    ),
    known(
        "dsl.python-protocol",
        r"object of type '_?(?P<owner>[A-Z]\w+)' has no len\(\)|'_?(?P<object>[A-Z]\w+)' object (?:is not (?P<said>iterable|subscriptable|callable)"
        r"|does not support item (?P<item>assignment|deletion))",
        "a {owner}{object} of the DSL is not a Python sequence or function {said}{item}",
        "Layouts, tensors and atoms exist in the compiled program; Python cannot iterate over them, measure or call them as its own. A number (Int32) that is subscripted is a flat mode: shape[0][1] asks for a nested one, (a, b), and this tensor's mode 0 is one integer.",
        "cute.size(x) counts elements, cute.rank(x) modes, layout(coordinate) evaluates a layout, tensor[coordinate] an element; loop "
        "over cutlass.range(cute.size(x)). "
        "Where a library's own line asks (FlashAttention's pack_gqa), the tensor was not packed as it expects: switch that option off, or report it there",
        ("TypeError: object of type '_Tensor' has no len()", DSL),
        defined="owner object",
        instead_of=("elsewhere.library-version",),
    ),
    known(
        "dsl.enumeration",
        r"(?P<value>\S{1,40}) is not a valid (?P<owner>[A-Z]\w+)",
        "{value} is not a value of {owner}",
        "The parameter is one of a few names, and each is one instruction.",
        "Take one of the values that are named there, or below",
        ("ValueError: 3 is not a valid Repetition", DSL),
        defined="owner",
    ),
    known(
        "dsl.not-a-value",
        r"Operand (?P<number>[0-9]+) of operation \"(?P<op>[\w.]+)\" must be a (?:Sequence of )?Values?",
        "operand {number} of {op} is a Python object that cannot be compiled",
        "A list, a string, an object of another library, or a DSL object of another kind (a tensor where a layout is taken) stands there.",
        "Look at the call's arguments: shapes and tilers are integers, None or tuples of them, numbers cutlass.Int32, a stream a "
        "cuda.bindings.driver.CUstream, and tensors cute.Tensor",
        ('ValueError: Operand 1 of operation "cute.flat_divide" must be a Value (is not a Value)', DSL),
    ),
    known(
        "dsl.replaced",
        r"(?P<name>(?:cute|cutlass)\.[\w.]+)\[[^\n]{0,600}?TypeError: 'function' object is not subscriptable",
        "{name} is a plain function here, and takes nothing in brackets",
        "The DSL's own {name} is an object that takes options in brackets. A package that was imported before has put a function of its own in its place (flash_attn.cute does so with cute.compile, Dao-AILab/flash-attention#2457), or the DSL is older than this form.",
        'print({name}, {name}.__module__) says whose it is. Use it before the other package is imported, give the options as cute.compile(..., options="--keep-ptx"), or take a newer release of both; report it to the package that replaces it',
        (
            "compiled = cute.compile[cute.KeepPTX](launch) TypeError: 'function' object is not subscriptable",
            issue(2457, "Dao-AILab/flash-attention"),
        ),
        instead_of=("dsl.python-protocol", "elsewhere.library-version"),
    ),
    known(
        "dsl.python-types",
        r"TypeError: (?P<said>unsupported operand type\(s\) for \S{1,6}: '_?(?P<left>\w+)' and '_?(?P<right>\w+)'|object of type '_?(?P<owner>\w+)' has no len\(\)"
        r"|(?:type )?'_?(?P<object>\w+)' (?:object )?is not (?:iterable|subscriptable|callable)|bad operand type for unary .: '_?(?P<given>\w+)'"
        r"|'\S{1,2}' not supported between instances of '\w+' and '\w+'|cannot unpack non-iterable \w+ object|\w+\(\) argument must be [^\n]{3,80}|unhashable type: '\w+'"
        r"|is(?:subclass|instance)\(\) arg [12] must be [^\n]{3,60}|must be real number, not \w+|an integer is required[^\n]{0,40}"
        r"|'_?\w+' object cannot be interpreted as an integer|\w+ expected (?:at (?:least|most) )?[0-9]+ arguments?, got [0-9]+)",
        "Python cannot do this with these types: {said}",
        "An argument is of another kind than the line or the function below it takes, or two arguments are in the wrong order "
        "(make_rmem_tensor takes the shape before the type).",
        "Print type(x) of each before the line: layouts are functions of a coordinate, shapes tuples, DSL types classes, None an argument that "
        "nobody gave",
        ("TypeError: unsupported operand type(s) for +: 'NoneType' and 'Float16'", DSL),
        general=True,
        instead_of=("dsl.other-exception",),
    ),
    known(
        "dsl.read-only",
        r"property '(?P<what>\w+)' of '_?(?P<owner>[A-Z]\w+)' object has no setter|can't set attribute '(?P<name>\w+)'",
        "{what}{name} of a {owner} cannot be assigned",
        "Layouts and tensors are made once: another shape, stride or type is another object.",
        "cute.make_tensor(tensor.iterator, layout) is the same memory under another layout, cute.recast_tensor(tensor, dtype) under another type",
        ("AttributeError: property 'shape' of '_Tensor' object has no setter", DSL),
    ),
    known(
        "dsl.numpy-on-values",
        r"loop of ufunc does not support argument|ufunc '\w+' not supported for the input types|must be real number, not _?\w*(?:Float|Int|Tensor)\w*"
        r"|can't convert \w+ (?:tensor|object) to numpy|Unsupported array_function|no implementation found for '(?:torch|numpy)\.\w+'",
        "a function of numpy, torch or math is called with a value of the kernel",
        "The value exists when the kernel runs; Python's libraries compute while it is compiled.",
        "Use the DSL's functions: cute.math (cute.exp2, cute.rsqrt), cute.arch.fmax, .to(dtype), TensorSSA.reduce",
        (
            "TypeError: loop of ufunc does not support argument 0 of type Float16 which has no callable exp method",
            DSL,
        ),
    ),
    known(
        "dsl.tuple-index",
        r"IndexError: tuple index out of range|too many values to unpack|not enough values to unpack",
        "a tuple (a shape, stride or coordinate) has another length than the line takes",
        "Shapes, strides and coordinates are tuples with one entry for each mode; thread_idx and block_idx give three. A tensor of fewer "
        "modes than expected, or a slice that removed one, has fewer entries.",
        "Print it before the line. " + EVALUATE,
        ("IndexError: tuple index out of range", "Python"),
    ),
    known(
        "dsl.type-unsupported",
        r"[Uu]nsupported (?:data |value |argument |element )?type:? <class '(?P<given>(?!cutlass)[\w.]+)'>|<class '(?P<other>[\w.]+)'> is not supported"
        r"|[Cc]annot convert (?:a )?<class '(?P<third>[\w.]+)'>",
        "a {given}{other}{third} is given, for which the DSL has no type",
        "Elements, arguments and launch parameters are DSL numbers (cutlass.Float16, cutlass.Int32) or plain Python numbers.",
        "Convert the value before the line, or pass it as a cutlass.Constexpr where it is known at compile time",
        ("ValueError: unsupported data type: <class 'str'>", DSL),
    ),
    known(
        "dsl.api-moved",
        r"module '?(?P<module>cutlass[\w.]*)'? has no attribute '?(?P<what>\w+)"
        r"|cannot import name '?(?P<name>\w+)'? from '?(?P<origin>cutlass[\w.]*)",
        "{module}{origin} of the installed DSL has no {what}{name}",
        "{why}.",
        "{do}",
        (
            "AttributeError: module 'cutlass.cute.arch' has no attribute 'ProxyKind'",
            issue(3071, "flashinfer-ai/flashinfer"),
        ),
        level="elsewhere",
        instead_of=("elsewhere.import", "elsewhere.library-version"),
        fill="moved",
    ),
    known(
        "python.shadowed",
        r"partially initialized module '(?P<module>[\w.]+)' has no attribute '(?P<what>\w+)'|\(consider renaming '(?P<file>[^'\n]{3,200})'[^\n]{0,80}same name"
        r"|/(?P<folder>[a-z]\w+)/[\w-]{1,60}\.py\b.{1,4000}?\bmodule '(?P=folder)' has no attribute '(?P<name>\w+)'",
        "Python finds another file or folder in the place of the package {module}{folder}{file}",
        "The package has {what}{name}; what was imported is a file or folder of the same name that Python's path finds first: the script's own folder, the working folder, or one that PYTHONPATH names. Neither spelling nor version is at fault.",
        "python -c 'import {module}{folder} as m; print(m.__path__, m.__file__)' names it; start from another folder, take that folder out of PYTHONPATH, or rename the file or folder",
        (
            "File \"/w/examples/jax/call_basic.py\", line 33, in <module> AttributeError: module 'jax' has no attribute 'tree_util'",
            "https://github.com/NVIDIA/JAX-Toolbox/pull/2013",
        ),
        level="elsewhere",
        instead_of=("elsewhere.library-version", "dsl.api-moved", "elsewhere.import"),
    ),
    known(
        "dsl.module-moved",
        r"No (?:such )?module(?: named)? ['`]?(?P<module>cutlass\.(?!cute'|cute$|_mlir\b)\w[\w.]*)",
        "the installed DSL has no module {module}",
        "The program was written for another DSL version: modules are added, renamed and removed from one minor version to the "
        "next. Or another package named cutlass (nvidia-cutlass, a checkout) stands before the DSL on Python's path.",
        "Compare `pip show nvidia-cutlass-dsl` with the version that the program's own requirements name; python -c 'import cutlass; "
        "print(cutlass.__file__)' says which package is found",
        (
            "ModuleNotFoundError: No such module `cutlass.utils.ampere_utils`",
            issue(2234, "Dao-AILab/flash-attention"),
        ),
        level="elsewhere",
        instead_of=("elsewhere.import",),
    ),
)
