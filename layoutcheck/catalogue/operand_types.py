"""An operand of another type than an operation of the DSL takes: both types, which are MLIR's, in the user's terms."""

from __future__ import annotations

import re

_SAID = re.compile(
    r"(?:(?P<side>operand|result) #(?P<number>[0-9]+) |'(?P<name>[\w`]+)' )?must be (?:variadic of )? ?(?P<wanted>.{3,400}?),? but got:? '?(?P<given>[!#\w][^']{0,400})'?"
)
_EXPECTS = re.compile(
    r"[Ee]xpect(?:s|ed) (?:an? |the )?(?:(?P<name>`?\w+`?) (?:is|to be|of type|as) )?(?:an? |of type )?"
    r"(?P<wanted>[\w!. ]{0,60}?(?:Type|type|memref|MemRef|layout|view|coord|shape|tensor|pointer|ptr)\w*),? (?:but )?got:? '?(?P<given>[!#\w][^']{0,400})'?"
)
_SPACE = re.compile(
    r"(?:memory spaces? ?\(|address space )(\w+)|\b(global|shared or distributed shared|shared|register) mem"
)
_ALIGNMENT = re.compile(r"(?:byte alignment |with )([0-9]+)(?:-byte alignment)?")
_SPACES = {
    "0": "generic", "smem": "shared", "gmem": "global", "rmem": "register", "tmem": "tensor", "1": "global", "3": "shared", "6": "tensor", "7": "distributed shared",
}  # fmt: skip
# What an operation asks for, in order, and how such an object is made.
_WANTED = (
    (r"smem_?desc|descriptor types|descriptor iterator|memory descriptors|SmemDesc", "a matrix descriptor",
     "tiled_mma.make_fragment_A(sA) or make_fragment_B(sB) makes the descriptors of a shared tensor"),
    (r"Prefetch", "the atom of a TMA load", "cpasync.make_tiled_tma_atom(op, tensor, smem_layout, tiler) makes it on the host; other copies have no prefetch"),
    (r"TMA tensor descriptor|Tensor Map|TmaDesc", "a pointer to a tensor map", "make_tiled_tma_atom makes atom and tensor map on the host"),
    (r"non-executable (?:copy atom|TMA)|TMA .*atom type|tma.*atom", "a TMA atom", "cpasync.make_tiled_tma_atom(op, tensor, smem_layout, tiler) makes it on the host"),
    (r"copy atom|CopyAtom|Tiled copy", "a copy atom", "cute.make_copy_atom(op, dtype, num_bits_per_copy=...) makes it, make_tiled_copy_tv tiles it"),
    (r"MmaAtom|MMA atom", "an MMA atom", "cute.make_tiled_mma(op, (m, n, 1)) makes it"),
    (r"AtomType|atom type", "an atom", "cute.make_copy_atom(op, dtype) or cute.make_tiled_mma(op) makes it"),
    (r"[Pp]ipeline|[Ss]tage [Tt]oken|allocator|divmod|[Dd]ivisor", "an object of the DSL that another call makes", "Pass what the call that belongs to it returned, unchanged"),
    (r"register types|vector of|core\.tensor|Core SSA", "values in registers", "tensor.load() gives a tensor's values, cute.full(shape, number, dtype) values of one number"),
    (r"memory reference type|ViewType|memref", "a tensor", "cute.make_tensor(pointer, layout) makes one"),
    (r"pointer|\bptr\b|PtrType|iterator", "a pointer", "tensor.iterator is a tensor's pointer; make_ptr and SmemAllocator make others"),
    (r"composed layout", "a composed layout", "cute.make_composed_layout(swizzle, 0, layout) makes one"),
    (r"[Ll]ayout", "a layout", "cute.make_layout(shape, stride=...) makes one, tensor.layout is a tensor's"),
    (r"shape|Shape", "a shape", "A shape is a tuple of integers: layout.shape, tensor.shape"),
    (r"coord|Coord", "a coordinate", "A coordinate is a tuple of integers and None, one for each mode"),
    (r"[Tt]ile\b", "a tiler", "A tiler is a tuple of integers, layouts and None, one for each mode"),
    (r"floating|float type|float-like", "a float", "Convert it before, x.to(cutlass.Float32)"),
    (r"signless|^integer", "an integer", "Convert it before, cutlass.Int32(x)"),
    (r"ValueType|Refinable|MaybeStatic|[Ii]nteger|[Ii]ntTuple|index|float|i32|i1\b|XTuple|tuple", "a number or a tuple of numbers", "Convert each entry before, cutlass.Int32(x)"),
)  # fmt: skip
_GIVEN = (
    (r"!cute\.memref", "a tensor"), (r"!cute\.coord_tensor", "a coordinate tensor"), (r"!cute\.ptr", "a pointer"), (r"!llvm\.ptr<1>", "a pointer to global memory"), (r"!llvm\.ptr<3>", "a pointer to shared memory"),
    (r"!llvm\.ptr", "a generic pointer"),
    (r"!cute\.composed_layout|!cute\.layout<\"S<", "a composed layout"), (r"!cute\.layout", "a layout"), (r"!cute\.shape", "a shape"), (r"!cute\.coord", "a coordinate"),
    (r"!cute\.tiled_mma|!cute_nvgpu\.atom\.\w*mma", "an MMA atom"), (r"!cute\.tiled_copy|!cute_nvgpu\.atom", "a copy atom"), (r"!cute\.int_tuple", "an integer tuple"),
    (r"vector<", "values in registers"), (r"i1$", "a Boolean"), (r"[su]?i[0-9]+$", "an integer"), (r"b?f[0-9]+", "a float"),
)  # fmt: skip


_ARGUMENT = re.compile(
    r"[Ee]xpects? (?:the )?(?:argument(?: \S+)?|`?\w+`?) to be (?:an? |of type )?(?P<wanted>[\w.]{3,60}),? (?:but )?got:? (?:<class ')?(?P<given>[\w.]{2,60})"
)
_STREAM = "cuda.bindings.driver.CUstream(torch.cuda.current_stream().cuda_stream) is PyTorch's current stream; cutlass.cute.runtime.make_fake_stream() stands for one while compiling"


def _of_python(said: str) -> tuple[str, str] | None:
    """(cause, what helps) of an argument whose Python type is another one than the function takes."""
    found = _ARGUMENT.search(said)
    if found is None or not (found["wanted"][0].isupper() or "." in found["wanted"]):
        return None
    cause = f"An argument has to be of the type {found['wanted']}, and one of {found['given']} is given."
    if found["wanted"].endswith("CUstream"):
        return cause, _STREAM
    return (
        cause,
        f"Print type(argument) before the call, and make the argument by {found['wanted']}(...) or what help(function) names",
    )


def told(said: str) -> tuple[str, str] | None:
    """(cause, what helps) of a message that an operand has another type; None for any other message."""
    found = _SAID.search(said) or _EXPECTS.search(said)
    if found is None:
        return _of_python(said)
    wanted = next(
        ((words, how) for pattern, words, how in _WANTED if re.search(pattern, found["wanted"])), None
    )
    given = next((words for pattern, words in _GIVEN if re.match(pattern, found["given"])), None)
    if wanted is None or given is None:
        return _of_python(said)
    parts = {"side": "", "number": "", **found.groupdict()}
    counted = (
        f"{parts['side']} {parts['number']} of the operation (counted from 0)".capitalize()
        if parts["side"]
        else ""
    )
    which = counted or (parts["name"] or "").strip(" `") or "An operand"
    known = " known when the program is compiled" if re.search(r"\bstatic\b", found["wanted"]) else ""
    asked = wanted[0] + _where(found["wanted"]) + known
    same = " of another kind" if given == wanted[0] else ""
    cause = f"{which} has to be {asked}, and {given}{same} is given: {found['given']}."
    return cause, f"{wanted[1]}. Print the argument before the line"


def _where(wanted: str) -> str:
    """In which memory, and aligned to how much, where the operation asks for it."""
    spaces, alignment = _SPACE.findall(wanted), _ALIGNMENT.search(wanted)
    places = dict.fromkeys(_SPACES.get(number, number) or said for number, said in spaces)
    at = f" in {' or '.join(places)} memory" if places else ""
    return at + (f" aligned to {alignment[1]} bytes" if alignment and alignment[1] != "1" else "")
