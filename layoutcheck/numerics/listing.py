"""The units of an architecture: each instruction whose arithmetic is known here, with who measured it."""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.formats import FORMATS, Format
from layoutcheck.numerics.names import INTEGERS, short
from layoutcheck.numerics.parameters import NARROW, family, shapes
from layoutcheck.numerics.scaled import SHAPES, ScaledUnit, scaled_unit
from layoutcheck.numerics.units import unit

_KINDS = ("mma", "wgmma", "tcgen05")
_PLAIN = {"f64": "f64", **dict.fromkeys(INTEGERS, "s32")}


def listed(arch: str) -> list[Unit | ScaledUnit]:
    """Every unit of `arch` whose inputs are of one type; n stands at 8 where it is any multiple of 8.

    Formats of 8 bits and fewer mix too, and so do s8 with u8 and s4 with u4. InputError as `family`.
    """
    found: list[Unit | ScaledUnit] = []
    for kind in _KINDS:
        for inputs in FORMATS.values():
            for accumulator in _accumulators(inputs):
                for m, n, k in shapes(arch, kind, inputs, FORMATS[accumulator]):
                    found.append(unit(f"{kind}.m{m}n{n or 8}k{k}.{accumulator}.{short(inputs)}", arch))
    return [*found, *(scaled_unit(name, arch) for name in _scaled(arch))]


def _accumulators(inputs: Format) -> tuple[str, ...]:
    if inputs.name in ("f32", "s32"):
        return ()
    return (_PLAIN[inputs.name],) if inputs.name in _PLAIN else ("f32", "f16")


def _scaled(arch: str) -> Iterator[str]:
    if family(arch) not in SHAPES:
        return
    kind, rows = SHAPES[family(arch)]
    for m in rows:
        for name in NARROW:
            yield f"{kind}.m{m}n8k32.mxf8f6f4.block32.f32.{short(FORMATS[name])}"
        for form in ("mxf4.block32", "mxf4nvf4.block16", "mxf4nvf4.block32"):
            yield f"{kind}.m{m}n8k64.{form}.f32.e2m1"
        yield f"{kind}.m{m}n8k64.mxf4nvf4.block16.f32.e2m1.ue4m3"
