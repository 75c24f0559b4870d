"""Static assertions of CuTe in C++ about how tensors, pointers and coordinates are made and recast."""

from __future__ import annotations

from layoutcheck.catalogue.entry import Known, known
from layoutcheck.catalogue.tables.cpp_copies import HEADERS


def _said(message: str) -> tuple[str, str]:
    return (f'error: static assertion failed with "{message}"', HEADERS)


ENTRIES: tuple[Known, ...] = (
    known(
        "cpp.make-tensor",
        r"Expected (?:iterator iter|layout args\.\.\.) in make_tensor(?:<T>)?\((?:iter, )?args",
        "make_tensor has a pointer where a layout belongs, or the other way round",
        "make_tensor(pointer, layout) and make_tensor(pointer, shape, stride) look at memory that exists; make_tensor<T>(layout) owns static "
        "registers and takes no pointer.",
        "Give the pointer first and once (make_gmem_ptr, make_smem_ptr), then the layout; for registers name the type and give the layout alone",
        _said("Expected iterator iter in make_tensor(iter, args...)"),
    ),
    known(
        "cpp.coordinate-sum",
        r"(?:Arithmetic tuple|ScaledBasis) op[+-] error",
        "a coordinate meets an integer that is not 0",
        "The elements of an identity tensor and of TMA tensors are coordinates (arithmetic tuples of basis elements). They add to coordinates "
        "of the same structure, and to no number but 0.",
        "Take the component first, get<0>(tensor(i)) + n; move a whole tensor with domain_offset(make_coord(m, n), tensor)",
        _said("Arithmetic tuple op+ error!"),
    ),
    known(
        "cpp.recast-layout",
        r"Downcast requires adjacent elements|Only (?:divide|scale) MixedBits by powers of two|static.assert[^\n]{0,300}?Not implemented for safety",
        "this layout cannot be recast to another element width",
        "recast to a narrower type cuts each element in several, and to a wider one joins them: a mode of stride 1 must hold them, a swizzle "
        "takes powers of two, and a layout of a sparse MMA's shared pointer is not recast at all.",
        "Recast before the slice or the transpose that takes the contiguous mode away, or build the layout for the other type with its own atom",
        _said("Downcast requires adjacent elements"),
        rule="LC106",
    ),
    known(
        "cpp.tensor-memory-access",
        r"Attempting to dereference a tmem_ptr",
        "an element of tensor memory is read or written directly",
        "Loads and stores do not reach tensor memory: a tmem_ptr is an address for MMA and tcgen05 copies. An index, print_tensor or a copy "
        "without an atom dereferences it.",
        "Bring it to registers first: make_tmem_copy(SM100_TMEM_LOAD_32dp32b1x{}, tensor), its partitions, copy; raw_pointer_cast(ptr) is the address itself",
        _said("Attempting to dereference a tmem_ptr, want raw_pointer_cast() for address instead?"),
        rule="LC104",
    ),
    known(
        "cpp.tensor-memory-layout",
        r"Expected (?P<side>src|dst) to have the specific TMEM layout required by CopyOp",
        "the {side} tensor is not the block of tensor memory that one copy instruction moves",
        "A tcgen05 load or store moves fixed lanes and columns. The tensor is a slice of other ones: it was not partitioned by the copy that "
        "make_tmem_copy made for it, or its element type has another width.",
        "Make the copy from the accumulator, make_tmem_copy(op, tensor), and take both sides from get_slice(thread).partition_S and partition_D",
        _said("Expected src to have the specific TMEM layout required by CopyOp."),
        rule="LC105",
    ),
    known(
        "cpp.tma-major",
        r"Could not find a common tile-gmem vectorization",
        "the TMA's shared tile and global tensor have no contiguous mode in common",
        "TMA copies runs that are contiguous on both sides. The mode with which the shared layout begins is not the one of stride 1 in global "
        "memory (another major), or the tiler leaves that mode out.",
        "Take the shared atom of the tensor's major (Layout_K_SW128_Atom for K-major, Layout_MN_SW128_Atom for M- or N-major), and a tile with more than one element of that mode",
        _said("Could not find a common tile-gmem vectorization. Does the Tile select out major GMEM modes?"),
    ),
    known(
        "cpp.copy-broadcast",
        r"Error: Ambiguous (?:scatter|race-condition) detected|Nullspace definition error",
        "a copy would write several source elements to one destination element",
        "The destination has modes of stride 0, so that several coordinates are one element, and the source has different elements there.",
        "Swap source and destination if they are in the wrong order; give the destination a stride of its own, or slice the source's mode to one element",
        _said("Error: Ambiguous scatter detected in copy"),
    ),
    known(
        "cpp.copy-below-a-byte",
        r"Error: Attempting a subbit write",
        "a copy would write less than a byte",
        "The elements are narrower than a byte, and no run of them is contiguous on both sides.",
        "Make the mode of stride 1 the same on both sides and of at least 8 bits; otherwise convert in registers",
        _said("Error: Attempting a subbit write!"),
    ),
    known(
        "cpp.printed-type",
        r"static.assert[^\n]{0,300}?Printing type T|implicit instantiation of undefined template '(?:TD|TypeDisplayer|Debug\w*|Show\w*|Print\w*)<|incomplete type [\"'](?:TD|TypeDisplayer|Debug\w*|Show\w*|Print\w*)<",
        "a type is printed by failing to compile: this error is the output",
        "cute::print_type has no other effect than its static assertion, and an undefined template such as TD<T> none but its error: the compiler names the type, and no layout is at fault.",
        "Read the type behind print_type< or TD<, then take the line out; `layoutcheck draw LAYOUT` shows a layout of it",
        _said("Printing type T."),
    ),
    known(
        "cpp.no-copy-traits",
        r"Copy_Traits not implemented for this CopyOperation",
        "the first argument of Copy_Atom is no copy instruction that this build knows",
        "Copy_Atom<Op, T> takes an instruction (UniversalCopy<uint128_t>, SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, SM75_U32x4_LDSM_N) whose traits "
        "header is included. A type, a tiled copy or an instruction of a newer CUTLASS has none.",
        "Include <cute/tensor.hpp> and <cute/atom/copy_atom.hpp>, and look for Copy_Traits<Op> in include/cute/atom of the CUTLASS at hand",
        _said("Copy_Traits not implemented for this CopyOperation."),
    ),
)
