"""What `make_tiled_tma_atom`, `tma_partition` and `cute.copy` refuse of a TMA copy. Measured.

They look at shapes and little else: of strides only at those between boxes in shared memory, at no address,
swizzle or byte count, and the tensor map is written without the driver's help (measured).
"""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, is_static, product, wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import make_identity_layout
from layoutcheck.atoms.family import Compiler
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.basis import NoCommonRun, box_basis
from layoutcheck.atoms.tma.compiler_rows import predict_basis, predict_index, predict_partition, predict_views
from layoutcheck.atoms.tma.im2col import NoDivision, NoMatrix, NoPixelBox, divides, matrix, pixel_box, taken
from layoutcheck.atoms.tma.internal import as_moved
from layoutcheck.atoms.tma.plan import SplitsByte, gmem_side, plan, smem_side, tile_of
from layoutcheck.copies.compiler.operands import check_shapes
from layoutcheck.copies.compiler.prediction import ACCEPTED, Prediction, aborts, rejected
from layoutcheck.copies.compiler.python_layer import differing_widths, grouped
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import CoordTensor, OtherOperand, is_composed
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch

SMEM_STEP_BITS = 128  # between boxes, in shared memory; the machine asks for 128 bytes (LC235)


def predict_tma(copy: Copy) -> Prediction:
    """The DSL's first error, or that it accepts the copy."""
    atom = copy.atom
    assert isinstance(atom, TmaCopy)
    if parse_arch(copy.arch).number < 90:
        text = f"expects arch to be at least sm_90, but got {copy.arch}"
        return rejected("tma_arch", text, "atom", arch=copy.arch)
    if atom.override:
        return predict_override(copy, atom)
    there, here = copy.side(gmem_side(copy)), copy.side(smem_side(copy))
    if is_composed(here):
        message = "a shared tensor whose layout is composed with a swizzle is not modelled beside coordinates"
        return Prediction("unknown", message, "tma_smem", smem_side(copy))
    if here.space != "smem":
        text = "src and dst need be CoordTensorType and CuteMemRefType"
        return rejected("tma_operands", text, smem_side(copy))
    if isinstance(there, CoordTensor):
        if atom.indexed:
            return predict_views(copy, there, here) or ACCEPTED
        if atom.mode not in ("tiled", "im2col"):
            missing = f"TMA copies in mode {atom.mode} are not modelled"
            return Prediction("unknown", missing, "tma_mode", "atom")
        if not here.layout.is_static:
            return Prediction("unknown", "a shared tensor of run-time layout is not modelled", "tma_smem")
        return check_shapes(copy) or _between_boxes(copy, here) or ACCEPTED
    if copy.tma is None or there.space != "gmem":
        return rejected(
            "tma_operands", "src and dst need be CoordTensorType and CuteMemRefType", gmem_side(copy)
        )
    if atom.indexed:
        found = predict_index(copy, there)
        if found is not None:
            return found
    return _whole(copy)


def _between_boxes(copy: Copy, here: Memref) -> Prediction | None:
    """Strides behind V in shared memory are whole 16 bytes, those of extent 1 as well (measured)."""
    assert isinstance(copy.atom, TmaCopy)
    name = "tma_load" if copy.atom.kind == "load" else "tma_store"  # of a reduction as well
    for at, mode in enumerate(wrap(here.layout.stride)[1:]):
        for stride in flatten(mode):
            bits = stride * here.dtype.bits
            if is_static(stride) and bits % SMEM_STEP_BITS:
                text = (
                    f"{name}: shared-memory operand stride at mode 1 leaf {at} is {bits} bits, not a "
                    f"multiple of the required {SMEM_STEP_BITS}-bit TMA smem alignment "
                    f"(element={here.dtype.bits}b, stride={stride} elements)."
                )
                return rejected("tma_pitch", text, smem_side(copy), mode=at + 1, stride=stride)
    return None


def _whole(copy: Copy) -> Prediction:
    tile = tile_of(copy)
    described = tile.described or copy.side(smem_side(copy))
    refused = _ranks(copy, described)
    if refused is not None:
        return refused
    sizes = [product(mode) for mode in wrap(described.layout.shape)]
    if sizes != list(tile.tiler):
        return _other_shape(copy, described)
    if tile.im2col is not None:
        return predict_im2col(copy) or ACCEPTED
    if not is_static(described.layout.shape):
        return Prediction("unknown", "a shared layout of run-time shape is not modelled", "tma_smem")
    return _boxes(copy)


def _ranks(copy: Copy, described: Memref) -> Prediction | None:
    """Modes of the shared layout, of the tiler and of the tensor that do not pair."""
    tile, modes = tile_of(copy), wrap(copy.side(gmem_side(copy)).layout.shape)
    ranks = len(wrap(described.layout.shape)), len(tile.tiler)
    if ranks[0] not in (ranks[1], ranks[1] + 1):
        text = (
            "smem_layout must be non-staged (rank(smem_layout) == rank(cta_tiler)) "
            "or staged (rank(smem_layout) == rank(cta_tiler) + 1)"
        )
        return rejected("tma_rank", text, smem_side(copy), smem_rank=ranks[0], tiler_rank=ranks[1])
    if ranks[1] > len(modes):
        printed = ";".join(f"{n}:{int(n > 1)}" for n in tile.tiler)
        text = (
            "unable to compute the following composition: "
            f"'!cute.layout<\"{_identity(modes)}\">' o '!cute.tile<\"[{printed}]\">'"
        )
        return rejected("tma_modes", text, gmem_side(copy), tiler_rank=ranks[1], gmem_rank=len(modes))
    if ranks[1] != len(modes):
        return Prediction("unknown", "tilers of another rank than the tensor are not modelled", "tma_tiler")
    return None


def _boxes(copy: Copy) -> Prediction:
    """What is said of the boxes of a tile whose modes pair."""
    tile, gmem, smem = tile_of(copy), copy.side(gmem_side(copy)), copy.side(smem_side(copy))
    sizes = product(smem.layout.shape), product(tile.tiler)
    try:
        moved = as_moved(copy)
        there, here = moved.side(gmem_side(copy)), moved.side(smem_side(copy))
        cut = tile_of(moved)
        here = cut.described or here
        sides = box_basis(there.layout, here.layout, cut.tiler, here.swizzle, there.dtype.bits)
        refused = predict_basis(sides) if copy.index is not None else None
        if refused is not None:
            return refused
        fits = sizes[0] == sizes[1]  # if not, that is refused below
        if smem.dtype.bits < 8 and gmem.layout.is_static and smem.layout.is_static and fits:
            plan(copy)
    except SplitsByte:
        text = "cannot convert to ptr, element may exist within a byte"
        return rejected("tma_size", text, smem_side(copy), smem=str(smem.layout))
    except NoCommonRun as error:
        return aborts("tma_no_run", f"making the tensor map: {error.message}", smem_side(copy))
    except InputError as error:
        if tile.internal is not None and tile.internal.bits == 6 != gmem.dtype.bits:
            return rejected("tma_size", "unable to partition input tensors for TMA", "atom")
        return Prediction("unknown", error.message, "tma_layouts")
    if sizes[0] != sizes[1]:
        text = "expects smem and gmem have the same size in the first rank"
        return rejected("tma_size", text, smem_side(copy), smem_size=sizes[0], tile_size=sizes[1])
    if copy.index is not None:
        return predict_partition(smem.layout, tile.tiler, sides) or ACCEPTED
    return ACCEPTED


def _other_shape(copy: Copy, described: Memref) -> Prediction:
    tile = tile_of(copy)
    swizzled = described.swizzle is not None and described.swizzle.bits
    printed = f"{described.swizzle} o 0 o {described.layout}" if swizzled else str(described.layout)
    composed = described.swizzle is not None or (tile.im2col is not None and tile.described is None)
    shape = tile.tiler if len(tile.tiler) > 1 else tile.tiler[0]
    wanted = f"'!cute.layout<\"{_identity(shape)}\">'"
    return rejected(
        "tma_tiler",
        "expected top-level shape equivalence between the SMEM layout and the CTA V-map, "
        f"but got '!cute.{'composed_layout' if composed else 'layout'}<\"{printed}\">' and {wanted}",
        smem_side(copy),
        smem_sizes=[product(mode) for mode in wrap(described.layout.shape)],
        tiler=list(tile.tiler),
    )


def _identity(shape: object) -> Layout:
    return make_identity_layout(shape if isinstance(shape, tuple) else (shape,))


COMPILER = Compiler(whole=predict_tma)


_WIDTHS = "`copy` currently only supports equal source and destination element type bit width"


def predict_override(copy: Copy, atom: TmaCopy) -> Prediction:
    """`CopyBulkTensorTileG2SOverrideOp` and its kin: [a global tensor, the coordinates left] and shared.

    Address, extents and strides of the map are those of the copy; what then moves is not modelled. Here: what
    is refused of the operands' kinds, in the compiler's order (measured); else that nothing is known.
    """
    side, shared = ("src", "dst") if atom.loads else ("dst", "src")
    there, here = copy.side(side), copy.side(shared)
    name = f"'{atom}'" if atom.loads else f"'{atom.dtype}'"
    unknown = Prediction(
        "unknown", "tensor maps that a copy overrides are not modelled", "tma_override", "atom"
    )
    if atom.gbasis is None:
        return unknown  # made by make_tiled_tma_atom, from tensors that are not the copy's
    if any(isinstance(view, OtherOperand) and not isinstance(view, CoordTensor) for view in (there, here)):
        return unknown
    plain = not isinstance(there, CoordTensor) and not isinstance(here, CoordTensor)
    second = copy.index is not None and not atom.loads  # a second destination: widths are not compared
    refused = differing_widths(copy, _WIDTHS) if plain and not second else None
    refused = refused or check_shapes(replace(copy, src=grouped(copy.src), dst=grouped(copy.dst)))
    if refused is not None:
        return refused
    if copy.index is None:
        operands, got = ("2 src operands (gmem + coord) and 1 dst operand (smem)", "1 and 1")
        if not atom.loads:
            operands = "1 src operand (smem) and 2 dst operands (gmem + coord)"
        message = f"{name} override expects {operands}, got {got}"
        return rejected("tma_operands", message, side)
    if isinstance(there, OtherOperand) or isinstance(here, OtherOperand):
        return rejected("tma_operands", f"{name} override src[0] and dst[0] need be CuteMemRefType", side)
    if not isinstance(copy.index, CoordTensor):
        return unknown
    for operand, view, space in ((shared, here, "smem"), (side, there, "gmem")):
        if view.space != space:
            word = "shared" if space == "smem" and atom.loads else space
            message = f"{name} {'override ' * (space == 'gmem')}{operand} need be {word} based memref"
            return rejected("space", message, operand)
    return unknown


def predict_im2col(copy: Copy) -> Prediction | None:
    """The first error behind that of the shared layout against the tiler, None for none."""
    tile = tile_of(copy)
    assert tile.im2col is not None
    gmem, smem = copy.side(gmem_side(copy)).layout, copy.side(smem_side(copy))
    described = tile.described or smem
    side = smem_side(copy)
    if not is_static(described.layout) or not is_static(smem.layout):
        return Prediction("unknown", "a shared layout known at run time is not modelled", "tma_smem", side)
    if copy.side(gmem_side(copy)).dtype.bits < 8 or tile.internal is not None:
        text = "im2col of elements narrower than a byte, or of an internal type, is not modelled"
        return Prediction("unknown", text, "tma_im2col", gmem_side(copy))
    try:
        channel, channels, _ = pixel_box(described.layout, tile.tiler)
    except NoPixelBox as error:
        text = "failed to compute a non-empty im2col TMA G-basis"
        return rejected("tma_pixel_box", text, side, box=error.message, wanted=error.expected)
    try:
        found = matrix(gmem, tile.im2col, channel)
    except NoMatrix as error:
        text = "expects positive shape mode"
        return rejected("tma_filter", text, gmem_side(copy), why=error.message)
    except InputError as error:
        return Prediction("unknown", error.message, "tma_im2col", gmem_side(copy))
    if tile.described is not None and tile.described.swizzle is None:  # not even S<0,4,3>
        text = (
            f"'cute_nvgpu.atom.make_non_exec_im2col_tma_{_kind(copy)}' op operand #1 must be CuTe composed "
            f"layout type, but got '!cute.layout<\"{described.layout}\">'"
        )
        return rejected("tma_plain_layout", text, side)
    if _kind(copy) == "store" and channel == 0 and type(wrap(gmem.shape)[0]) is not tuple:
        text = "writing the tensor map of a store whose channels are the first mode"
        return aborts("tma_store_channels", text, gmem_side(copy), "SIGSEGV")
    try:
        take = taken(found.columns, tile.tiler[channel])
    except NoDivision as error:
        if any(isinstance(n, Dynamic) for n in found.columns):
            text = "expects static shape in the first mode for both smem and gmem"
        else:
            text = "failed to perform a valid division"
        return rejected("tma_taps", text, gmem_side(copy), why=error.message)
    width = product(found.columns)
    if isinstance(width, int) and tile.tiler[channel] > width:
        text = f"a tile of {tile.tiler[channel]} columns is wider than the matrix, {found.columns}"
        return Prediction("unknown", text, "tma_im2col", gmem_side(copy))
    if not divides(take, channels):
        why = f"boxes of {channels} channels over tiles of {take[0]} channels under {take[1:]} taps"
        return rejected("tma_taps", "unable to partition input tensors for TMA", side, why=why)
    stored, size = product(smem.layout.shape), product(tile.tiler)
    if stored != size:
        text = "expects smem and gmem have the same size in the first rank"
        return rejected("tma_size", text, side, smem_size=stored, tile_size=size)
    return None


def _kind(copy: Copy) -> str:
    return "load" if gmem_side(copy) == "src" else "store"
