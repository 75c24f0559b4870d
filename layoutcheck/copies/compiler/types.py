"""Which types of atoms and pointers cannot be made: "Inputs are incorrect for type: ...". DSL 4.8.1."""

from __future__ import annotations

import math
from typing import Any

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import text
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import printed_pointer
from layoutcheck.copies.compiler.tmem import s2t_type, tmem_type
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.machine.atoms import (
    Atom,
    BulkCopy,
    CpAsync,
    DsmemStore,
    LdMatrix,
    OtherAtom,
    RegisterCopy,
    S2TCopy,
    StMatrix,
    TmemLoad,
    TmemStore,
    UniversalCopy,
)
from layoutcheck.machine.atoms.dsmem import WIDTHS_BITS
from layoutcheck.machine.atoms.traits import LDMATRIX_FORMS, STMATRIX_FORMS


def check_type(atom: Atom) -> Prediction | None:
    """What the type's own constructor refuses. cp.async and bulk take any width: the verifier looks later."""
    if isinstance(atom, UniversalCopy):
        return _universal(atom)
    if isinstance(atom, RegisterCopy):
        return _register(atom)
    if isinstance(atom, (TmemLoad, TmemStore)):
        return tmem_type(atom)
    if isinstance(atom, S2TCopy):
        return s2t_type(atom)
    if isinstance(atom, LdMatrix):
        if atom.num_matrices not in LDMATRIX_FORMS.get((atom.mode, atom.pattern, atom.transpose), ()):
            return rejected("atom_form", "LDSM is not supported with this config.", "atom")
    elif isinstance(atom, StMatrix):
        if atom.num_matrices not in STMATRIX_FORMS.get((atom.mode, atom.transpose), ()):
            return rejected("atom_form", "STSM is not supported with this config.", "atom")
    elif isinstance(atom, DsmemStore):
        return _dsmem(atom)
    else:
        assert isinstance(atom, (BulkCopy, CpAsync, OtherAtom))
    return None


def _dsmem(atom: DsmemStore) -> Prediction | None:
    """A width of 0 stands for one element."""
    width = atom.width_bits or atom.dtype.bits
    if width not in WIDTHS_BITS:
        return rejected(
            "atom_width",
            f"expects copy_bits to be one of (0, 32, 64, 128), but got {width}",
            "atom",
            width_bits=width,
        )
    return None


def _universal(atom: UniversalCopy) -> Prediction | None:
    if atom.width_bits != 0 and not _power_of_two_bytes(atom.width_bits):
        return rejected(
            "atom_width",
            f"expected copy_bits to be 0 (auto) or a power of 2 (>= 8), but got {atom.width_bits}",
            "atom",
            width_bits=atom.width_bits,
        )
    return None


def _register(atom: RegisterCopy) -> Prediction | None:
    """A width of 0 stands for one element."""
    element = atom.dtype.bits
    width = atom.width_bits or element
    if not _power_of_two_bytes(width):
        return rejected(
            "atom_width",
            f"expects copy_bits to be a power of 2 (>= 8), but got {width}",
            "atom",
            width_bits=width,
        )
    if width % element:
        return rejected(
            "atom_width",
            f"expects copy_bits to be a multiple of bits_per_elt({element}), but got {width}",
            "atom",
            width_bits=width,
            element_bits=element,
        )
    options = dict(atom.options)
    order, cache = options.get("mem_order", "weak"), options.get("load_cache_mode", "always")
    if order != "weak" and cache != "always":
        return rejected(
            "atom_options",
            "expects load_cache_mode to be 'always' when mem_order is not 'weak', "
            f"but got '{cache}' and '{order}'",
            "atom",
        )
    return None


def check_pointers(copy: Copy) -> Prediction | None:
    """Which memrefs cannot be made: tensor memory comes in chunks of 32 bits, and offsets are numbers."""
    for operand, view in (("src", copy.src), ("dst", copy.dst), ("pred", copy.pred)):
        stopped = None if view is None else _tensor_memory(operand, view) or _codomain(operand, view)
        if stopped:
            return stopped
    return None


def _tensor_memory(operand: str, view: Memref) -> Prediction | None:
    if view.space != "tmem":
        return None
    if view.swizzle is not None and view.swizzle.bits:
        return rejected("pointer_type", "tmem pointer does not support non-identity swizzle", operand)
    chunk = math.lcm(view.dtype.bits, 32)
    if chunk & (chunk - 1):
        return rejected(
            "pointer_type",
            f"tmem pointer only supports 32 bit chunks that is a power of 2, got {chunk}",
            operand,
        )
    return None


def _codomain(operand: str, view: Memref) -> Prediction | None:
    """Memory is addressed by one number: basis strides make coordinates, which only a coord_tensor holds."""
    paths = [stride.path for stride in flatten(view.layout.stride) if isinstance(stride, Basis)]
    if not paths:
        return None
    return rejected(
        "codomain",
        "expected iterator and layout codomain to have congruent profiles, but got iterator "
        f"'!cute.{printed_pointer(view)}' and layout layout: {view.layout} "
        f"with co-domain profile {text(_profile(paths))}",
        operand,
    )


def _profile(paths: list[tuple[int, ...]]) -> Any:
    """The tree of ones that coordinates along `paths` have."""
    width = max((path[0] for path in paths if path), default=-1) + 1
    inner = [[path[1:] for path in paths if path[:1] == (i,)] for i in range(width)]
    return tuple(map(_profile, inner)) if width else 1


def _power_of_two_bytes(width_bits: int) -> bool:
    return width_bits >= 8 and width_bits & (width_bits - 1) == 0


def default_width(atom: Atom) -> Atom:
    """The atom with the width that its type takes for 0: one element (universal keeps 0: auto)."""
    if isinstance(atom, RegisterCopy) and atom.width_bits == 0:
        return RegisterCopy(atom.kind, atom.dtype, atom.dtype.bits, atom.options)
    if isinstance(atom, DsmemStore) and atom.width_bits == 0:
        return DsmemStore(atom.dtype, atom.dtype.bits)
    if isinstance(atom, CpAsync) and atom.width_bits == 0:
        return CpAsync(atom.dtype, atom.dtype.bits, atom.cache)
    return atom
