"""A request, checked: each argument is read, and refused where no block, type or architecture has it.

`in_bytes`: a request of 4-bit elements is one of bytes, two elements each: no access is smaller.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import pair, shown
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_tree
from layoutcheck.copies.memref import SPACES, Memref
from layoutcheck.copies.vectors import contiguous_mode
from layoutcheck.errors import InputError, meant, option_of, said_of
from layoutcheck.fixes.code import dtype_code
from layoutcheck.machine.arch import WARP, Arch, parse_arch
from layoutcheck.machine.conversions import conversion_needs, converts
from layoutcheck.machine.dtypes import DType, dtype
from layoutcheck.machine.dtypes import dtype as read_dtype
from layoutcheck.sources.operands import ALIGN_BYTES
from layoutcheck.sources.pointers import Defaults
from layoutcheck.sources.types import parse_memref
from layoutcheck.synthesis.request import TileRequest
from layoutcheck.synthesis.wanted import (
    ACCUMULATOR,
    BYTE,
    ENGINES,
    LOADS_ONLY,
    MAJORS,
    MOST_EXTENT,
    MOST_STAGES,
    MOST_THREADS,
    TARGETS,
    TURNED_BY_WGMMA,
    Consumer,
    Wanted,
)

LDMATRIX = 75
"""The first architecture with it (PTX ISA, ldmatrix)."""
TCGEN05 = range(100, 120)
"""The architectures with tensor memory, of suffix a or f (PTX ISA, tcgen05)."""
MULTIPLIED = {
    "wgmma": ("f16", "bf16", "tf32", "f8E4M3FN", "f8E5M2", "i8", "ui8"),
    "tcgen05": ("f16", "bf16", "tf32", "f8E4M3FN", "f8E5M2", "f4E2M1FN", "i8", "ui8"),
}
"""Element types of operands in shared memory, of 4 bits and more (PTX ISA, wgmma.mma_async, tcgen05.mma)."""
_SIGNED = re.compile(r"si([0-9]+)\Z")
_UNSIGNED = re.compile(r"(?:.*\.)?u(?:i|int)?[0-9]+(?:_t)?\Z", re.IGNORECASE)

_GLOBAL = "a global tensor 'gmem (?,?):(1,?{div=8})'"


def read(given: TileRequest) -> Wanted:
    """The request, checked. Raises InputError, which names what is unusable."""
    element = _element(given.dtype)
    extents = _tile(given.tile)
    consumers = _consumers(given.to)
    arch = parse_arch(given.arch)
    _check_block(given)
    accumulator = isinstance(given.src, str) and given.src.strip() == ACCUMULATOR
    if accumulator:
        _epilogue(consumers, element, arch)
    text = "(?,?):(?,1)" if accumulator else given.src
    src = _tensor("src", text, _element(given.src_dtype, element), extents, given)
    wants_dst = any(one.target == "gmem" for one in consumers)
    if wants_dst != (given.dst is not None):
        raise InputError(
            "--to gmem needs the destination" if wants_dst else "--dst is for --to gmem",
            expected="--dst 'gmem (?,?):(?{div=8},1)'" if wants_dst else "no --dst",
        )
    _exists(consumers, element, arch)
    for side, kind, tensor in (
        ("src", given.src_dtype, not accumulator),
        ("dst", given.dst_dtype, wants_dst),
    ):
        if kind is not None and not tensor:
            raise InputError(f"--{side}-dtype has no tensor to be of", expected=f"no --{side}-dtype")
        other = element if kind is None else _element(kind)
        _converts(side, *((other, element) if side == "src" else (element, other)), arch)
    dst = None
    if given.dst is not None:
        dst = _tensor("dst", given.dst, _element(given.dst_dtype, element), extents, given)
    found = Wanted(
        extents,
        element,
        src,
        dst,
        consumers,
        _major(given.major, consumers, element),
        given.threads,
        given.stages,
        arch,
        _engines(given.engine, accumulator),
        accumulator,
        given.tails,
    )
    return found if element.bits >= BYTE else in_bytes(found)


def _element(given: Any, otherwise: DType | None = None) -> DType:
    if given is None and otherwise is not None:
        return otherwise
    found = read_dtype(given)
    signed = _SIGNED.match(found.name)
    if signed:  # the DSL's tensors have no signs: those of Int8 print i8
        found = read_dtype(f"i{signed[1]}")
    text = given if isinstance(given, str) else getattr(given, "__name__", str(given))
    if _UNSIGNED.match(text.strip()):  # those of Uint8 print i8 too, but the program converts their values
        found = read_dtype(f"ui{found.bits}")
    if found.bits not in (4, 8, 16, 32, 64):
        raise InputError(
            f"elements of {found} have {found.bits} bits", expected="4-, 8-, 16-, 32- or 64-bit elements"
        )
    dtype_code(found)
    return found


def _converts(side: str, a: DType, b: DType, arch: Arch) -> None:
    """Raises InputError where threads cannot convert on the way to or from a tensor."""
    if a == b or (min(a.bits, b.bits) >= BYTE and converts(a, b, arch)):
        return
    needs = None if min(a.bits, b.bits) < BYTE else conversion_needs(a, b)
    raise InputError(
        f"the DSL does not convert {a} to {b}" + ("" if needs is None else f" on {arch}"),
        expected=f"no --{side}-dtype" if needs is None else f"--arch {needs.first} or later",
    )


def _check_block(given: TileRequest) -> None:
    """Raises InputError for threads, stages or an alignment that no block has."""
    for name, count, most in (
        ("threads", given.threads, MOST_THREADS),
        ("stages", given.stages, MOST_STAGES),
    ):
        if not 1 <= count <= most:
            raise InputError(f"--{name} is a whole number from 1 to {most}, not {count}"[:100])
    if given.threads % WARP:
        raise InputError(f"{given.threads} threads are not whole warps", expected=f"a multiple of {WARP}")
    if given.align is not None and (given.align < 1 or given.align & (given.align - 1)):
        raise InputError(f"--align {given.align} is not a power of two", expected="bytes, such as 16")


def _major(given: str | None, consumers: tuple[Consumer, ...], element: DType) -> int | None:
    if given is None:
        return None
    if given not in MAJORS:
        raise InputError(f"unknown major '{given[:20]}'", expected="K or MN")
    if not {"wgmma", "tcgen05", "registers"} & {one.unit for one in consumers}:
        raise InputError(
            f"--major is not used by --to {consumers[0]}", expected="wgmma, tcgen05 or registers; no --major"
        )
    wgmma = next((one for one in consumers if one.unit == "wgmma"), None)
    if given == "MN" and wgmma is not None and element.name not in TURNED_BY_WGMMA:
        raise InputError(
            f"{wgmma} reads {element} along K alone (PTX ISA, wgmma.mma_async)", expected="--major K"
        )
    return MAJORS.index(given)


def _epilogue(consumers: tuple[Consumer, ...], element: DType, arch: Arch) -> None:
    """Raises InputError where stmatrix does not serve an epilogue."""
    if [one.target for one in consumers] != ["gmem"]:
        raise InputError("accumulators go to global memory", expected="--to gmem with --dst")
    if element.bits != 16:
        raise InputError(
            f"stmatrix stores 16-bit elements here, not {element}", expected="the epilogue's f16 or bf16"
        )
    if arch.number < 90:
        raise InputError(f"stmatrix is not on {arch} (PTX ISA: sm_90 and later)", expected="--arch sm_90a")


def _tile(given: Any) -> tuple[int, int]:
    if isinstance(given, str) and re.fullmatch(r"\s*[0-9]+\s*[x,]\s*[0-9]+\s*", given):
        given = f"({given.replace('x', ',')})"  # 128x64 as `resources` has it, 128,64
    with said_of("--tile"):
        found = pair(parse_tree(given) if isinstance(given, str) else given)
    if found is None or not all(1 <= n <= MOST_EXTENT for n in found):
        text = given if isinstance(given, str) else None
        raise InputError(
            f"a tile has two extents of 1 to {MOST_EXTENT}",
            text=text or None,
            end=len(text) if text else None,
            expected="(MN,K), such as (128,64)",
        )
    return found


def _consumers(given: Any) -> tuple[Consumer, ...]:
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else given
    if not isinstance(names, (tuple, list)) or not names or not all(isinstance(one, str) for one in names):
        raise InputError(f"'to' is {shown(given)}", expected="'ldmatrix' or ('wgmma.A', 'wgmma.B')")
    found = []
    for name in names:
        plain = name.removesuffix("^T")
        target = {"tcgen05": "tcgen05.A", "wgmma": "wgmma.A"}.get(plain, plain)
        if target not in TARGETS:
            raise InputError(
                f"unknown consumer '{name[:40]}'{'' if plain in SPACES else meant(plain, TARGETS)}",
                text=given if isinstance(given, str) else None,
                start=max(0, given.find(name)) if isinstance(given, str) else 0,
                end=max(0, given.find(name)) + len(name) if isinstance(given, str) else None,
                expected=f"what reads the tile: {', '.join(TARGETS)}",
            )
        found.append(Consumer(target, name.endswith("^T")))
    for one in found:
        if one.turned and one.unit in ("gmem", "registers"):
            option = "--dst" if one.unit == "gmem" else "--major"
            raise InputError(
                f"'{one}': modes are turned by the layouts", expected=f"'{one.target}' with {option}"
            )
    if [one.unit for one in found].count("gmem") > 1:
        raise InputError("a tile goes to one dst", expected="gmem once")
    rows = {one.modes[one.target != "ldmatrix.trans"]: str(one) for one in found if one.unit == "ldmatrix"}
    if len(rows) > 1:
        raise InputError(
            f"no tile is contiguous along K and along MN: {' and '.join(rows.values())} read rows of both",
            expected="'ldmatrix,ldmatrix.trans^T' for a tile that is read straight and transposed",
        )
    return tuple(found)


def _engines(given: Any, accumulator: bool) -> tuple[str, ...]:
    if given is None:
        return tuple(one for one in ENGINES if not accumulator or one != LOADS_ONLY)
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else given
    if not isinstance(names, (tuple, list)) or not names:
        raise InputError(f"'engine' is {shown(given)}", expected=", ".join(ENGINES))
    for name in names:
        if name not in ENGINES:
            raise InputError(
                f"unknown engine '{str(name)[:20]}'{meant(str(name), ENGINES)}", expected=", ".join(ENGINES)
            )
    if accumulator and LOADS_ONLY in names:
        raise InputError(
            f"--engine {LOADS_ONLY} only loads: accumulators leave by the others", expected="tma, universal"
        )
    return tuple(names)


def _tensor(side: str, given: Any, element: DType, tile: tuple[int, int], asked: TileRequest) -> Memref:
    """A global tensor of the tile's two modes, each with one stride."""
    if isinstance(given, str):
        stripped = given.strip()
        space = stripped.partition(" ")[0]
        if space in ("smem", "rmem", "tmem", "dsmem"):
            raise InputError(f"{side} is in {space}", text=stripped, end=len(space), expected=_GLOBAL)
        text = stripped.removeprefix("gmem").strip() if stripped.startswith("gmem ") else stripped
        if text.startswith(("S<", "Sw<")):
            raise InputError(f"{side} is in global memory, which is not swizzled", expected=_GLOBAL)
        with said_of(option_of(side)):
            found = parse_memref(
                text, Defaults(element, "gmem", asked.align or ALIGN_BYTES["gmem"], None, side)
            )
    else:
        found = given
    if not isinstance(found, Memref):
        raise InputError(f"{side} is not a tensor", expected=_GLOBAL)
    if asked.align is not None and asked.align * BYTE < element.bits:
        raise InputError(
            f"--align {asked.align} is less than an element of {side}, {element.bits // BYTE} bytes",
            expected=f"--align {element.bits // BYTE} or more",
        )
    if found.space not in ("gmem", "generic") or found.dtype != element:
        raise InputError(
            f"{side} is {found.dtype} in {found.space}", expected=f"{element} in global memory (gmem)"
        )
    shape, stride = found.layout.shape, found.layout.stride
    flat = isinstance(shape, tuple) and len(shape) == 2
    if not flat or any(isinstance(one, tuple) for one in (*shape, *stride)):
        raise InputError(f"{side} {found.layout} does not have the tile's two plain modes", expected="(MN,K)")
    for mode, (whole, extent) in enumerate(zip(shape, tile, strict=True)):
        if isinstance(whole, int) and whole % extent and not asked.tails:
            raise InputError(
                f"the tile's {extent} does not divide {side}'s extent {whole} of mode {mode}",
                expected="a tile that divides the tensor, or --tails",
            )
    if all(isinstance(one, Dynamic) for one in stride):
        raise InputError(
            f"{side} {found.layout} has two strides that only the run knows: its sectors cannot be counted",
            expected="a stride of 1 in one mode",
        )
    if any(isinstance(one, int) and one < 1 for one in stride):
        raise InputError(f"{side} {found.layout} has a stride below 1", expected="strides of at least 1")
    return found


def _exists(consumers: tuple[Consumer, ...], element: DType, arch: Arch) -> None:
    """Raises InputError where the type or the architecture lacks a consumer's instruction."""
    for one in consumers:
        if one.unit == "ldmatrix" and element.bits > 32:
            raise InputError(f"ldmatrix gives each register 32 bits: no {element}", expected="8 to 32 bits")
        if one.target == "ldmatrix.trans" and element.bits != 16:
            raise InputError(
                f"ldmatrix.trans of 8 x 8 matrices transposes 16-bit elements, not {element} (PTX ISA)",
                expected="f16 or bf16; for other types 'ldmatrix' of a tile turned on the way in",
            )
        if one.unit == "ldmatrix" and arch.number < LDMATRIX:
            raise InputError(
                f"ldmatrix is not on {arch} (PTX ISA)", expected=f"--arch sm_{LDMATRIX} or later"
            )
        if one.unit == "wgmma" and (arch.number != 90 or arch.suffix != "a"):
            raise InputError(f"wgmma is not on {arch}", expected="--arch sm_90a")
        if one.unit == "tcgen05" and (arch.number not in TCGEN05 or arch.suffix not in ("a", "f")):
            raise InputError(f"tcgen05 is not on {arch}", expected="--arch sm_100a")
        kinds = MULTIPLIED.get(one.unit, ())
        if kinds and element.name not in kinds:
            raise InputError(f"{one.unit} does not multiply {element} (PTX ISA)", expected=", ".join(kinds))
    along_k = {one.modes[1]: str(one) for one in consumers if one.unit == "wgmma"}
    if len(along_k) > 1 and element.name not in TURNED_BY_WGMMA:
        raise InputError(
            f"{' and '.join(along_k.values())} read {element} along K alone, which are two modes of the tile "
            "(PTX ISA, wgmma.mma_async)",
            expected="f16 or bf16, or a tile for each",
        )


PAIR = 2
"""Elements of a byte."""


def in_bytes(wanted: Wanted) -> Wanted:
    """The request with pairs of elements along the contiguous mode as its elements.

    Raises InputError where a pair is not a byte everywhere: the tensors and the operand must be contiguous
    along one mode, with even extents and pitches.
    """
    tensors = [tensor for tensor in (wanted.src, wanted.dst) if tensor is not None]
    modes: set[int | None] = {contiguous_mode(tensor.layout) for tensor in tensors} | _operands(wanted)
    if None in modes or len(modes) != 1 or wanted.accumulator:
        raise InputError(
            f"{wanted.dtype} lie two in a byte: nothing turns them on the way",
            expected="tensors and operand contiguous along one mode (ldmatrix, tcgen05: K)",
        )
    [fast] = modes
    assert fast is not None
    extents = list(wanted.tile)
    extents[fast] = _half(extents[fast], "the tile's extent")
    return replace(
        wanted,
        tile=(extents[0], extents[1]),
        dtype=dtype("ui8"),
        src=_of_bytes(wanted.src, fast),
        dst=None if wanted.dst is None else _of_bytes(wanted.dst, fast),
        major=1 if any(one.unit == "tcgen05" for one in wanted.consumers) else wanted.major,
        packed=wanted.dtype,
    )


def _operands(wanted: Wanted) -> set[int | None]:
    """The modes along which the operands hold pairs: those of tcgen05 and ldmatrix hold them along K."""
    found: set[int | None] = set()
    for one in wanted.consumers:
        if one.unit in ("ldmatrix", "tcgen05"):
            found.add(one.modes[1])
        if wanted.major is not None and one.unit in ("tcgen05", "registers"):
            found.add(one.modes[wanted.major])
    return found


def _of_bytes(tensor: Memref, fast: int) -> Memref:
    shape, stride = list(tensor.layout.shape), list(tensor.layout.stride)
    shape[fast] = _half(shape[fast], "an extent")
    stride[1 - fast] = _half(stride[1 - fast], "a pitch")
    return replace(tensor, dtype=dtype("ui8"), layout=Layout(tuple(shape), tuple(stride)))


def _half(value: Any, what: str) -> Any:
    divisor = value.divisor if isinstance(value, Dynamic) else value
    if divisor % PAIR:
        raise InputError(f"{what} of {value} elements is not whole bytes", expected="an even one: ?{div=2}")
    return Dynamic(divisor // PAIR, value.bits) if isinstance(value, Dynamic) else value // PAIR
