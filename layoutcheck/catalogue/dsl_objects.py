"""What the DSL's objects are, and why a name that a program asks for is not there."""

from __future__ import annotations

import re

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
# what every MLIR value has; classes of the DSL use the words otherwise
OF_VALUES = "type", "owner", "context", "operation"
METHOD = (
    "In no version is it a function of that module: it is a method of the objects below",
    "Call it on such an object, value.NAME(...); `launch` is of what the call of a @cute.kernel gives, kernel(args).launch(grid=..., block=...), "
    "and of two numbers cutlass.max and cutlass.min give the larger and the smaller",
)
NO_VERSION = (
    "The name is misspelt, or is CUTLASS C++'s or another library's: another version of the DSL does not help",
    "Take the function that the DSL has for it: dir() and help() of the module list them. Python's own 'Did you mean' goes by the letters, and not by what the function does",
)  # (why a module has no such name, what to do)
