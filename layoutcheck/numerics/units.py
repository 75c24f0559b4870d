"""`unit(name, arch)`: the unit of an instruction, f64 and integers too; a GEMM's default; all there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from numpy.typing import ArrayLike

from layoutcheck.errors import InputError
from layoutcheck.numerics.block_unit import Unit, blocks_of
from layoutcheck.numerics.formats import FORMATS, Floats, Format, Raw, fmt
from layoutcheck.numerics.names import INTEGERS, Instruction, instruction, short
from layoutcheck.numerics.parameters import NARROW, architecture, family, input_class, known, shapes
from layoutcheck.numerics.parameters import block_fma as block_rule
from layoutcheck.numerics.plain import plain_unit
from layoutcheck.numerics.scaled import SHAPES, ScaledUnit, scaled_unit


def unit(name: str, arch: str = "sm_90a") -> Unit:
    """The unit that `name` (see `layoutcheck.numerics.names`) is on `arch`.

    f64 and integer instructions have no block: see `layoutcheck.numerics.plain`. Raises InputError for a name
    that is none, and for an instruction whose arithmetic is not known.
    """
    named = instruction(name)
    if named.scaling is not None:
        raise InputError(f"{named.name} is block-scaled", expected="layoutcheck.numerics.scaled.scaled_unit")
    number = family(arch)
    if named.accumulator.name in ("f64", "s32"):
        check_shape(named, arch)
        return plain_unit(named, arch)
    known(arch, named.kind, input_class(named.a))
    check_shape(named, arch)
    # m8n8k4 on sm_75 is Volta's (MS); the rest is the architecture's own.
    own = 70 if number == 75 and named.k == 4 else number
    row = known(f"sm_{own}", named.kind, input_class(named.a))
    rule = replace(block_rule(row, named.accumulator, named.k, own), addend=named.addend)
    if named.kind == "mma" and input_class(named.a) == "fp8" and number in (90, 100):
        halves = [tuple(k for k in range(named.k) if k % 4 // 2 == half) for half in (0, 1)]
        rule = replace(rule, block=named.k // 2)
        return Unit(named, arch, rule, tuple(halves), add_c_last=True)
    return Unit(named, arch, rule, blocks_of(named.k, rule.block), add_c_last=False)


def check_shape(named: Instruction, arch: str) -> None:
    """InputError where `arch` has no such shape for these types."""
    has = [shapes(arch, named.kind, one, named.accumulator) for one in (named.a, named.b)]
    # wgmma and tcgen05 of integers: steps of 16 above 32.
    step = 16 if named.accumulator.name == "s32" and named.n > 32 else 8
    n_fits = 8 <= named.n <= 256 and named.n % step == 0
    for m, n, k in (shape for shape in has[0] if shape in has[1]):
        if (named.m, named.k) == (m, k) and (named.n == n or (n == 0 and n_fits)):
            return
    there = ", ".join(f"m{m}n{n or '8..256'}k{k}" for m, n, k in has[0]) or "none"
    types = f"{named.accumulator} += {named.a} {named.b}"
    raise InputError(f"{arch} has no {named.name}", expected=f"a shape of {named.kind} for {types}: {there}")


def default_unit(inputs: Format, arch: str = "sm_90a", accumulator: str = "f32") -> Unit:
    """What a GEMM of these inputs uses on `arch`: wgmma on Hopper, tcgen05 on sm_100, mma.sync elsewhere.

    The shape is the deepest that the architecture has. InputError where it has none for these inputs.
    """
    number = family(arch)
    if inputs.name == "f64":
        return unit("mma.m16n8k16.f64.f64" if number >= 90 else "mma.m8n8k4.f64.f64", arch)
    if inputs.name in INTEGERS:
        own = (
            {90: "wgmma.m64n8k32", 100: "tcgen05.m128n8k32"}.get(architecture(arch))
            if inputs.bits == 8
            else None
        )
        warp = f"mma.m8n8k{128 // inputs.bits}" if number == 75 else f"mma.m16n8k{256 // inputs.bits}"
        return unit(f"{own or warp}.s32.{inputs}", arch)
    kind, m = {90: ("wgmma", 64), 100: ("tcgen05", 128)}.get(number, ("mma", 16))
    deepest = 256 // inputs.bits if inputs.name != "tf32" else 8
    if number == 70:
        return unit(f"mma.m8n8k4.{accumulator}.{short(inputs)}", arch)
    if number == 75:
        deepest = 8
    return unit(f"{kind}.m{m}n8k{deepest}.{accumulator}.{short(inputs)}", arch)


def on_arch(name: str, arch: str) -> str:
    """The instruction `name` where `arch` has it, else the architecture's own of the same types."""
    named = instruction(name)
    if named.kind != "mma" or family(arch) >= 80:
        return name
    return default_unit(named.a, arch, named.accumulator.name).name


def encode(values: ArrayLike, format_: str) -> Raw:
    """`values` rounded to nearest in `format_` ("f16", "e4m3", ...), as raw encodings.

    Any shape; the result has it, and the unsigned type of that width (uint16 for f16). Raises InputError for
    an unknown format, and for what is not numbers.
    """
    return fmt(format_).encode(values)


def decode(raw: ArrayLike, format_: str) -> Floats:
    """The values of raw encodings of `format_`, as float64 of their shape.

    Raises InputError for an unknown format, and for what is not unsigned integers of its width.
    """
    return fmt(format_).decode(raw)


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
