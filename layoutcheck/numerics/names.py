"""Names of instructions: short ones, PTX, CuTe DSL atoms and operations, CUTLASS C++ atoms.

The notations understood:

mma.m16n8k16.f32.f16                                   ours: kind, shape, accumulator, inputs
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32      PTX
wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2
tcgen05.m128n64k32.mxf8f6f4.block32.f32.e4m3.e2m1.ue8m0   block-scaled: kind, block, the scales' type
mma.m8n8k4.f64.f64, mma.m16n8k32.s32.s8.u8.satfinite   f64 and integers
!cute_nvgpu.sm90.mma<64x8x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>
MmaF16BF16Op(ab_dtype=<class '...Float16'>, acc_dtype=<class '...Float32'>, shape_mnk=(16, 8, 16))
SM80_16x8x16_F32F16F16F32_TN
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from layoutcheck.errors import InputError
from layoutcheck.numerics.formats import FORMATS, Format, fmt

EXPECTED = "a name such as mma.m16n8k16.f32.f16, PTX, a CuTe atom, or SM80_16x8x16_F32F16F16F32_TN"


@dataclass(frozen=True, slots=True)
class Instruction:
    """What a name says: `kind` is "mma", "wgmma" or "tcgen05"; `a`, `b` and `accumulator` are formats.

    Block-scaled kinds have `scaling` ("mxf8f6f4", "mxf4", "mxf4nvf4"), the `scale_block` of k that share a
    scale, and the scales' type, "ue8m0" or "ue4m3". Integer sums are clamped to s32 where they `saturate`.
    `addend` is the format of c where it is not the accumulator's.
    """

    kind: str
    m: int
    n: int
    k: int
    a: Format
    b: Format
    accumulator: Format
    scaling: str | None = None
    scale_block: int = 0
    scales: str = ""
    saturate: bool = False
    addend: Format | None = None

    @property
    def name(self) -> str:
        """The short name."""
        inputs = _SHORT[self.a.name] + ("" if self.a is self.b else f".{_SHORT[self.b.name]}")
        shape = f"{self.kind}.m{self.m}n{self.n}k{self.k}"
        if self.scaling is None:
            rest = ".satfinite" if self.saturate else ""
            if self.addend is not None:
                rest = f".{_SHORT[self.b.name]}.{_SHORT[self.addend.name]}"
            return f"{shape}.{_SHORT[self.accumulator.name]}.{inputs}{rest}"
        inputs = f"{_SHORT[self.a.name]}.{_SHORT[self.b.name]}"
        return f"{shape}.{self.scaling}.block{self.scale_block}.f32.{inputs}.{self.scales}"


_NARROW = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2", "f6E3M2FN": "e3m2", "f6E2M3FN": "e2m3", "f4E2M1FN": "e2m1"}
_SHORT = _NARROW | {name: name for name in FORMATS if name not in _NARROW}
_LONG = {short: name for name, short in _SHORT.items()}
INTEGERS = ("s8", "u8", "s4", "u4")
_SCALINGS = ("mxf8f6f4", "mxf4", "mxf4nvf4")
_N = r"[0-9]{1,4}"
_CUTE = re.compile(
    rf"cute_nvgpu\.sm({_N})\.mma<\s*({_N})x({_N})x({_N})\s*,.*?elem_type = \((\w+), (\w+), (\w+)\)", re.DOTALL
)
_CPP_NAMES = "TF32|BF16|F16|F32|F64|E4M3|E5M2|S32|S8|U8|S4|U4"
_CPP = re.compile(
    rf"SM({_N})_({_N})x({_N})x({_N})_(F32|F16|F64|S32)((?:{_CPP_NAMES}){{2,3}})(?:_|\b)(\w*_SATURATE|)",
    re.ASCII,
)
_SHAPE = re.compile(r"m([0-9]{1,4})n([0-9]{1,4})k([0-9]{1,4})\Z")
_OP_TYPE = r"<class '[\w.]*?(\w+)'>|(\w+)"
_OP_FIELD = re.compile(
    r"(ab_dtype|a_dtype|b_dtype|acc_dtype|A/B data type|A data type|B data type|Accumulator data type)"
    rf"\s*=\s*(?:{_OP_TYPE})"
)
_OP_SHAPE = re.compile(
    r"(?:shape_mnk|instruction_shape|Instruction shape MNK)\s*=\s*\(?\(?"
    rf"({_N}),\s*({_N})(?:,\s*({_N}))?"
)


def short(format_: Format) -> str:
    """The format's name in ours: `e4m3` for f8E4M3FN."""
    return _SHORT[format_.name]


def _error(message: str, text: str, expected: str) -> InputError:
    return InputError(message, text=text[:200], end=min(len(text), 200), expected=expected)


def instruction(name: str) -> Instruction:
    """The instruction that `name` names, in any of the notations above; InputError if none of them."""
    if not isinstance(name, str):
        raise InputError(f"no tensor-core instruction: {type(name).__name__}", expected=EXPECTED)
    text = name.strip()
    for reader in (_cute, _operation, _cpp, _dotted):
        found = reader(text)
        if found is not None:
            return _checked(found, text)
    raise _error("no tensor-core instruction", name, EXPECTED)


def _cute(text: str) -> Instruction | None:
    found = _CUTE.search(text)
    if not found:
        return None
    sm, m, n, k = (int(found[i]) for i in (1, 2, 3, 4))
    a, b, accumulator = (fmt(found[i]) for i in (5, 6, 7))
    return Instruction({90: "wgmma", 100: "tcgen05"}.get(sm, "mma"), m, n, k, a, b, accumulator)


def _operation(text: str) -> Instruction | None:
    fields = {match[1]: match[2] or match[3] for match in _OP_FIELD.finditer(text)}
    shape = _OP_SHAPE.search(text)
    if shape is None:
        return None
    if "TF32" in text[:40]:
        fields = {"ab_dtype": "TFloat32", "acc_dtype": "Float32"}
    try:
        accumulator = fields.get("acc_dtype") or fields["Accumulator data type"]
        both = fields.get("ab_dtype") or fields.get("A/B data type")
        a = both or fields.get("a_dtype") or fields["A data type"]
        b = both or fields.get("b_dtype") or fields["B data type"]
    except KeyError as missing:
        raise _error(f"an MMA operation without its {missing}", text, EXPECTED) from None
    m, n = int(shape[1]), int(shape[2])
    k = int(shape[3]) if shape[3] else 256 // fmt(a).bits
    return Instruction("wgmma" if m == 64 else "mma", m, n, k, fmt(a), fmt(b), fmt(accumulator))


def _cpp(text: str) -> Instruction | None:
    found = _CPP.search(text)
    if not found:
        return None
    sm, m, n, k = (int(found[i]) for i in (1, 2, 3, 4))
    a, b = (fmt(name.lower()) for name in re.findall(_CPP_NAMES, found[6])[:2])
    kind = {90: "wgmma", 100: "tcgen05"}.get(sm, "mma") if m >= 64 else "mma"
    return Instruction(kind, m, n, k, a, b, fmt(found[5].lower()), saturate=bool(found[7]))


def _dotted(text: str) -> Instruction | None:
    tokens = text.split(".")
    kind = tokens[0].strip().lower()
    shapes = [_SHAPE.match(token) for token in tokens]
    shape = next((found for found in shapes if found), None)
    if kind not in ("mma", "wgmma", "tcgen05") or shape is None:
        return None
    types = [fmt(_LONG[token]) for token in tokens if token in _LONG]
    tokens = [token.removeprefix("kind::") for token in tokens]
    scaling = next((token for token in tokens if token in _SCALINGS), None)
    if not 2 <= len(types) <= 4:
        raise _error("an instruction names its accumulator and its inputs", text, "m16n8k16.f32.f16")
    a, b = types[1], types[2] if len(types) > 2 else types[1]
    m, n, k = (int(shape[i]) for i in (1, 2, 3))
    addend = types[3] if len(types) == 4 and types[3] is not types[0] else None
    plain = Instruction(kind, m, n, k, a, b, types[0], saturate="satfinite" in tokens, addend=addend)
    return plain if scaling is None else _scaled(plain, scaling, tokens, text)


def _scaled(plain: Instruction, scaling: str, tokens: list[str], text: str) -> Instruction:
    """`plain` with its scales: one ue8m0 among 32 k (MX), or one of either type among 16 (mxf4nvf4)."""
    blocks = [int(token[5:]) for token in tokens if re.fullmatch(r"block(16|32)", token)]
    scales = [token for token in tokens if token in ("ue8m0", "ue4m3")]
    block = blocks[0] if blocks else 16 if scales == ["ue4m3"] else 32
    kind = scales[0] if scales else "ue8m0"
    known = (block == 32 and kind == "ue8m0") or (scaling == "mxf4nvf4" and block == 16)
    packed = scaling != "mxf8f6f4"
    four = plain.a.name == plain.b.name == "f4E2M1FN"
    if not known or plain.k != (64 if packed else 32) or (packed and not four) or plain.a.bits > 8:
        expected = "mxf8f6f4.block32 with k32; mxf4.block32 or mxf4nvf4.block16 with k64 and e2m1"
        raise _error("no block-scaled instruction", text, expected)
    return replace(plain, scaling=scaling, scale_block=block, scales=kind)


def _checked(found: Instruction, text: str) -> Instruction:
    names = found.accumulator.name, found.a.name, found.b.name
    volta = (found.m, found.n, found.k, *names) == (8, 8, 4, "f32", "f16", "f16")
    if found.addend is not None and not (volta and found.addend.name == "f16"):
        raise _error(
            f"no tensor core adds c in {found.addend}", text, "m8n8k4.f32.f16.f16.f16, or c of d's type"
        )
    if "f64" in names or "s32" in names or set(names) & set(INTEGERS):
        whole = names[0] == "s32" and set(names[1:]) <= set(INTEGERS) and found.a.bits == found.b.bits
        if found.scaling is not None or not (whole or (names == ("f64",) * 3 and not found.saturate)):
            raise _error("no tensor core has these types", text, "f64.f64, s32.s8.u8 or s32.s4.u4")
        return found
    if found.accumulator.name not in ("f32", "f16"):
        raise _error(f"no tensor core accumulates in {found.accumulator}", text, "f32, f16, f64 or s32")
    if found.saturate:
        raise _error("only integer sums saturate", text, "s32.s8.s8.satfinite")
    if found.a.name == "f32" or found.b.name == "f32":
        raise _error("no tensor core multiplies f32", text, "tf32, f16, bf16, e4m3 or e5m2")
    if found.a is not found.b and max(found.a.bits, found.b.bits) > 8:
        raise _error("only formats of 8 bits and fewer mix", text, "equal input types")
    narrow = found.a.bits < 8 or found.b.bits < 8 or found.scaling is not None
    if found.k * found.a.bits not in (64, 128, 256) and not (narrow and found.k in (32, 64)):
        raise _error(
            f"no instruction has k = {found.k} for {found.a}", text, "k = 64, 128 or 256 bits of input"
        )
    return found
