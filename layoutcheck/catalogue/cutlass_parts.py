"""The parts of CUTLASS, by the paths of their headers: what each asks of its template arguments."""

from __future__ import annotations

from layoutcheck.catalogue import refused
from layoutcheck.catalogue.literals import Words
from layoutcheck.catalogue.meanings import Meaning, first


def _room(path: str, helps: str, asks: str = "") -> Meaning:
    return Meaning(Words(path), asks, helps)


ROOMS = (
    _room(r"mixed_input|mixed_dtype",
          "Give the narrow operand as the one that is converted, K-major, with scales and zeros in the types, layout and group size of the example of this architecture",
          "A GEMM of mixed types converts one operand on its way: it takes certain pairs of types, the narrow one K-major, and scales of one layout for whole groups along K."),
    _room(r"/builders/|collective_builder|tile_scheduler|collective/collective_\w+\.hpp|dispatch_policy",
          "The builder takes tile shape, cluster, element types, alignments and schedule together: start from the defaults (auto) of the architecture, and change one at a time",
          "The collective builder has one implementation for each combination that it knows of architecture, operand types, majors, alignment, tile shape and schedule. This combination is not one of them."),
    _room(r"wmma_sm|/arch/wmma", "Take a listed shape, or mma.sync (OpClassTensorOp) instead of wmma",
          "wmma has a few shapes for each type of operand."),
    _room(r"conv/", "Take the iterator algorithm (kOptimized, kAnalytic), alignment and types of an example of the same convolution",
          "An implicit GEMM of a convolution has iterators for certain strides, filter sizes, alignments and types."),
    _room(r"epilogue/(?:threadblock|warp|thread)/",
          "Set the epilogue's elements for each access (128 / bits of the output) so that threads x elements fit a row of the warp's tile; threadblock and warp shapes of the default configuration of this architecture fit",
          "An epilogue of CUTLASS 2.x divides the warps' accumulators among its threads: elements for each access, the warp's tile and the threadblock's must divide one another."),
    _room(r"epilogue/",
          "The epilogue takes an epilogue tile that divides the CTA tile, C and D in global memory, and a copy for each of its steps",
          "A collective epilogue takes C and D with strides (M,N,L), an epilogue tile that divides the CTA tile, accumulators in the partition of its mainloop, and a schedule that its fusion has."),
    _room(r"gemm/kernel/.*(?:sm90|sm100|sm120|universal)",
          "Give problem shapes <M,N,K,L>, strides of rank 3, and a scheduler and warpgroup count that the kernel's schedule names; the examples of the architecture have one for each",
          "A kernel of CUTLASS 3.x takes problem shapes (M,N,K) or (M,N,K,L), strides (M,K,L), (N,K,L), (M,N,L), and the tile scheduler and number of warpgroups of its schedule."),
    _room(r"gemm/collective/|transform/collective",
          "The mainloop takes A as (M,K,L) and B as (N,K,L) in global memory, shared layout atoms that divide the tile, and copy atoms of its own kind",
          "A collective mainloop takes tile, shared layout atoms, copies and MMA that fit each other: atoms of rank 2 that divide the tile, two stages or more, and operands in the majors and types that its instruction reads."),
    _room(r"gemm/(?:warp|thread|threadblock|device|kernel)/|transform/|/layout/tensor_op|layout/pitch",
          "Take threadblock, warp and instruction shapes of the default configuration of this architecture (DefaultGemmConfiguration), and change one at a time; alignments of 128 / bits of the element",
          "CUTLASS 2.x divides three shapes: the threadblock's by the warp's, the warp's by the instruction's, and each tile of memory by threads x elements for each access. Shapes, alignments and types must fit all three."),
    _room(r"/arch/mma|/atom/mma|mma_traits|/warp/|mma_",
          "The instruction fixes its element types, its tile and where each operand lies; take the MMA that is made for them",
          "An MMA atom takes fragments of its own types and modes, in the memory that its name says (SS, RS, TS)."),
    _room(r"/copy|copy_traits|copy_atom",
          "The copy atom fixes the memory spaces, the width and the values of one instruction; compare them with both tensors",
          "A copy atom takes tensors of its own element width in the memory spaces of its instruction."),
    _room(r"numeric_|float|bfloat|half|integer|exmy|subbyte",
          "Convert through a type that both sides support, or in vectors of the width that the converter has",
          "Conversions and narrow types work on whole vectors: a count of elements that fills bytes or registers."),
    _room(r"layout|tensor|int_tuple|swizzle|algorithm/|stride|tuple",
          "Print both layouts with cute::print before the line: extents, nesting and static (_8) against run-time integers"),
)  # fmt: skip
# kinds that say less than the part of CUTLASS does
_VAGUE = "choice", "argument", "size", "unhandled", "division", "architecture"


def helps(path: str) -> str:
    """What the code of a header takes, by the header's path."""
    room = first(ROOMS, path)
    return room.helps if room else "Read the condition in the header's line"


def cause(message: str, path: str, alone: bool = True) -> str:
    """Why an assertion of a header fails: by what the header asks for, and by the kind of a message that stands alone, without its condition."""
    kind, room = refused.kind(message), first(ROOMS, path)
    told = refused.OTHER if kind is None else "" if room and kind.name in _VAGUE else kind.cause
    return " ".join(filter(None, (told if alone else "", room.cause if room else "")))
