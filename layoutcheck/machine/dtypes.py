"""Element types, under the names the DSL prints, with their width in bits."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

from layoutcheck.algebra.inttuple import shown
from layoutcheck.errors import InputError


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: the DSL's printed name, its width, and what kind of value it holds."""

    name: str
    bits: int
    kind: str  # "float", "int" or "index"

    def __str__(self) -> str:
        return self.name


FLOATS = {
    "f64": 64, "f32": 32, "tf32": 32, "f16": 16, "bf16": 16,
    "f8E4M3FN": 8, "f8E5M2": 8, "f8E4M3B11FNUZ": 8, "f8E4M3": 8, "f8E8M0FNU": 8,
    "f6E2M3FN": 6, "f6E3M2FN": 6, "f4E2M1FN": 4,
}  # fmt: skip
SHOWN = (*FLOATS, "i8", "i32")  # what a shell completes

# The DSL's Python class of each type.
CLASSES = {
    "bf16": "BFloat16", "f16": "Float16", "f32": "Float32", "tf32": "TFloat32", "f64": "Float64",
    "f8E4M3FN": "Float8E4M3FN", "f8E5M2": "Float8E5M2", "f8E8M0FNU": "Float8E8M0FNU",
    "f8E4M3B11FNUZ": "Float8E4M3B11FNUZ", "f8E4M3": "Float8E4M3",
    "f6E2M3FN": "Float6E2M3FN", "f6E3M2FN": "Float6E3M2FN", "f4E2M1FN": "Float4E2M1FN",
    "i1": "Boolean", "i4": "Int4", "i128": "Int128",
    **{f"{sign}{bits}": f"{name}{bits}" for sign, name in (("si", "Int"), ("i", "Int"), ("ui", "Uint"))
       for bits in (8, 16, 32, 64)},
}  # fmt: skip

# Names users type, from the DSL's Python classes, torch, numpy, PTX and CUTLASS's C++; of any case.
_ALIASES = {
    **{name.lower(): name for name in (*FLOATS, "index")},
    "bfloat16": "bf16", "float16": "f16", "half": "f16", "fp16": "f16", "float32": "f32", "fp32": "f32",
    "float": "f32", "tfloat32": "tf32", "float64": "f64", "fp64": "f64", "double": "f64",
    "float8e4m3": "f8E4M3", "float8e4m3b11fnuz": "f8E4M3B11FNUZ", "e4m3fn": "f8E4M3FN",
    "e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "float8e4m3fn": "f8E4M3FN", "float8_e4m3fn": "f8E4M3FN",
    "float8e5m2": "f8E5M2", "float8_e5m2": "f8E5M2", "float8e8m0fnu": "f8E8M0FNU",
    "float4e2m1fn": "f4E2M1FN", "fp4": "f4E2M1FN", "e2m1": "f4E2M1FN",
    "float6e2m3fn": "f6E2M3FN", "float6e3m2fn": "f6E3M2FN",
    "e8m0": "f8E8M0FNU", "ue8m0": "f8E8M0FNU", "float8_e8m0fnu": "f8E8M0FNU",
    "boolean": "i8", "bool": "i8",
    "half_t": "f16", "__half": "f16", "bfloat16_t": "bf16", "__nv_bfloat16": "bf16", "tfloat32_t": "tf32",
    "float_e4m3_t": "f8E4M3FN", "float_e5m2_t": "f8E5M2", "float_ue8m0_t": "f8E8M0FNU",
    "float_e2m1_t": "f4E2M1FN", "float_e2m3_t": "f6E2M3FN", "float_e3m2_t": "f6E3M2FN",
}  # fmt: skip

# Names of several types: which to name instead.
_SEVERAL = {
    "fp8": "f8E4M3FN or f8E5M2", "f8": "f8E4M3FN or f8E5M2", "float8": "f8E4M3FN or f8E5M2",
    "mxfp8": "f8E4M3FN or f8E5M2", "fp6": "f6E2M3FN or f6E3M2FN", "f6": "f6E2M3FN or f6E3M2FN",
    "f4": "f4E2M1FN", "float4": "f4E2M1FN", "nvfp4": "f4E2M1FN", "mxfp4": "f4E2M1FN",
    "int": "i32 or i64", "uint": "i32 or i64", "integer": "i32 or i64",
}  # fmt: skip

_INTEGER = re.compile(r"(i|u?int|[su]i?)([0-9]{1,4})(?:_t)?\Z", re.IGNORECASE)

KNOWN = "a type such as bf16, f16, f32, f8E4M3FN, i8, i32"


def dtype(name: str | object) -> DType:
    """The type of that name; DSL, torch, numpy and PTX spellings are understood, and their types themselves.

    Raises InputError for an unknown name.
    """
    if isinstance(name, DType):
        return name
    if not isinstance(name, str):
        return _named(name)
    name = name.strip().removeprefix("cutlass.").removeprefix("torch.").removeprefix("cute.")
    name = name.removeprefix("numpy.").removeprefix("np.")
    canonical = _ALIASES.get(name.lower(), name)
    if canonical in FLOATS:
        return DType(canonical, FLOATS[canonical], "float")
    if canonical == "index":
        return DType("index", 64, "index")
    found = _INTEGER.match(canonical)
    if found:
        bits = int(found[2])
        if 1 <= bits <= 1024:
            prefix = found[1].lower() if found[1].lower() in ("ui", "si") else "i"
            return DType(f"{prefix}{bits}", bits, "int")
    raise InputError(f"unknown element type '{name[:40]}'", text=name, start=0, end=len(name),
                     expected=_SEVERAL.get(name.lower(), KNOWN))  # fmt: skip


def class_name(element: DType) -> str:
    """The DSL's Python class of a type, as code and the DSL's messages name it; without one, its own name."""
    return CLASSES.get(element.name, element.name)


def _named(given: object) -> DType:
    """The type that an object stands for: a class of the DSL or numpy, a dtype of torch or numpy."""
    name = getattr(given, "__name__", None) or given
    if type(given).__module__ != "builtins" or getattr(given, "__module__", "builtins") != "builtins":
        with suppress(InputError):  # Python's own float and bool stand for no width
            return dtype(str(name))
    raise InputError(f"{shown(given)} is not an element type", expected=KNOWN)
