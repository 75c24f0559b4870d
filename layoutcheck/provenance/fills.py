"""Labels of numbers that may stand for elements beyond a tensor's end: a sample of each, and what it is.

A label is an int64. Its lower 32 bits are a number of single precision; 0 is what is not known. Bits say that
it is a FILL (what stands where a predicate lets nothing be loaded), a CONST, LOADED from global memory, a
STAT (a sum or maximum over lanes, or made of such and of constants), has just come from ANOTHER lane, or is a
sum of elements and of fills that are not neutral: MIXED within a lane, BAD over lanes.

What is made of fills, constants and STATs is a fill: 0 - mean, exp(-inf - maximum). What is made of a fill
and an element is not known, but for 0 times it, and what adds nothing to a sum or a maximum.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.types import Type
from layoutcheck.provenance.refs import Array
from layoutcheck.sources.mlir import Operation

KNOWN, FILL, STAT, ANOTHER, MIXED, BAD, CONST, LOADED = (1 << 32 + i for i in range(8))
NUMBER = 48  # from this bit on: the number of the operation that a fill, or a BAD sum, comes from
_WORD = re.compile(r"(?:arith|math|llvm\.intr|llvm|nvvm)\.(\w+)(?:\.|$)")
_ALIKE = {"maximum": "max", "maxnum": "max", "minimum": "min", "minnum": "min", "ex2": "exp2", "lg2": "log2"}
_ASSEMBLY = re.compile(r'"?[\s{]*(\w+)\.[\w.]+\s+\$0((?:\s*,\s*\$[0-9])+)[\s;}]*"?')  # one instruction
_KIND = re.compile(r"<(add|max|min)(?:imum|num)?f?>")
_DENSE = re.compile(
    r"(?:dense<)?(0x[0-9a-f]+|-?[0-9.]+(?:e[-+]?[0-9]+)?)>? : (?:vector<[0-9]+x)?b?f", re.IGNORECASE
)
_INFINITIES = {"0XFF800000": -np.inf, "0XFF80": -np.inf, "0XFC00": -np.inf, "0X7F800000": np.inf}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum,
    "neg": np.negative, "abs": np.abs, "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "rcp": lambda x: 1 / x, "tanh": np.tanh,
}  # fmt: skip
_LARGE = 1e4
_MOVES = ("extf", "truncf", "fpext", "fptrunc")


def label(value: Any, bits: Any) -> Array:
    """The labels of numbers; what is not a number is not known."""
    single = np.asarray(value, np.float32)
    found: Array = np.where(np.isnan(single), 0, single.view(np.uint32).astype(np.int64) | bits)
    return np.where(found & KNOWN != 0, found, 0)


def constant(op: Operation, kind: Type) -> Array:
    """The labels of the bytes of a constant."""
    match = _DENSE.match(op.attributes.get("value", ""))
    value = None if match is None else _INFINITIES.get(match[1].upper(), match[1])
    if value is None or str(value)[:2].lower() == "0x":
        return np.zeros((1, kind.size_bytes), np.int64)
    return np.repeat(label(np.full((1, 1), float(value)), KNOWN | CONST), kind.size_bytes, 1)


def filled(at: Array) -> Array:
    """The labels, in which a constant is a fill where other threads hold what they loaded in its place.

    It is 0, or large: what else the author has chosen may be meant.
    """
    loaded, value = np.where(at & LOADED != 0, at >> NUMBER, 0).max(0), np.abs(_Held(at).value)
    fill = (loaded > 0) & (at & CONST != 0) & ((value == 0) | (value >= _LARGE))
    return np.where(fill, at & ~CONST | FILL | loaded << NUMBER, at) if fill.any() else at


def word_of(op: Operation) -> str:
    """What an operation computes: "add", "exp2"; "move" for a conversion, "" for what `computed` lacks."""
    if op.name.endswith(_MOVES):
        return "move"
    if op.name == "vector.reduction":
        match = _KIND.search(op.attributes.get("kind", ""))
    elif op.name == "llvm.inline_asm":
        match = _ASSEMBLY.fullmatch(op.attributes.get("asm_string", ""))
        named = [] if match is None else re.findall("[0-9]", match[2])
        match = match if named == [str(i + 1) for i in range(len(op.operands))] else None
    else:
        match = None if op.name == "math.trunc" else _WORD.match(op.name)
    word = "" if match is None else match[1]
    names = (_ALIKE.get(one, one) for one in (word, word.removesuffix("f"), word.removeprefix("f")))
    return next((name for name in names if name in _FUNCTIONS or name in ("add", "fma")), "")


def computed(word: str, given: Sequence[Array], own: int) -> Array:
    """The labels of a result, element by element; `own` is the number of the operation."""
    if word == "move":
        return given[0]
    every = [_Held(one) for one in np.broadcast_arrays(*given)]
    with np.errstate(all="ignore"):
        if word == "fma":
            found = _fused(every, own)
        elif word not in ("add", "max", "min"):
            found = _made(word, every)
        else:
            found = reduce(lambda a, b: _Held(_met(word, (a, b), own)), every).bits
    known: Array = np.logical_and.reduce([one.has(KNOWN) for one in every])
    return np.where(known, found, 0)


class _Held:
    """Labels, with their samples."""

    def __init__(self, bits: Array) -> None:
        self.bits, self.value = bits, (bits & 0xFFFFFFFF).astype(np.uint32).view(np.float32)
        self.even = self.has(FILL | CONST | STAT)  # one for a whole row

    def has(self, flags: int) -> Any:
        return self.bits & flags != 0

    def of(self, flags: int) -> Array:
        """The number of the operation that it comes from, where it has these flags."""
        return np.where(self.has(flags), self.bits >> NUMBER, 0)


def _made(word: str, every: Sequence[_Held]) -> Array:
    """What is neither a sum nor a maximum."""
    value = _FUNCTIONS[word](*(one.value for one in every))
    fills, even = _any(every, FILL), np.logical_and.reduce([one.even for one in every])
    fill = fills & (even | (word == "mul") & (value == 0))
    known = ~fills | fill
    bits = KNOWN | fill * FILL | (even & ~fill) * STAT
    if word == "sub":
        a, b = every
        known |= ~a.even & b.has(FILL) & (b.value == 0)
        known &= ~_corrects(a, b)
    bits = np.where(np.logical_and.reduce([one.has(CONST) for one in every]), KNOWN | CONST, bits)
    counts = (_any(every, MIXED) * MIXED | _any(every, BAD) * BAD) * ((word != "mul") | (value != 0))
    return np.where(known, _labelled(value, bits | counts, every), 0)


def _met(word: str, pair: Sequence[_Held], own: int) -> Array:
    """A step of a sum or of a maximum, over lanes if an operand has just come from another one."""
    a, b = pair
    value = {"add": np.add, **_FUNCTIONS}[word](a.value, b.value)
    fills, moved = _any(pair, FILL), _any(pair, ANOTHER)
    met = (a.has(FILL) & ~b.has(FILL | CONST)) | (b.has(FILL) & ~a.has(FILL | CONST))
    counts = met & (word == "add") & (np.where(a.has(FILL), b.value, a.value) != value)
    mixed, bad = counts | _any(pair, MIXED), _any(pair, BAD)
    begins = mixed & moved & ~bad
    corrected = (word == "add") & (_corrects(a, b) & (b.value < 0) | _corrects(b, a) & (a.value < 0))
    fill, const = fills & ~met, a.has(CONST) & b.has(CONST)
    stat = ~fill & ~const & (moved | a.even & b.even)
    bits = (
        KNOWN | fill * FILL | const * CONST | stat * STAT | (mixed & ~begins) * MIXED | (begins | bad) * BAD
    )
    found = np.where(begins, label(value, bits | own << NUMBER), _labelled(value, bits, pair))
    return np.where(corrected, 0, found)


def _fused(every: Sequence[_Held], own: int) -> Array:
    """A product and a sum; if minus a STAT is added to a fill it is a difference."""
    *factors, c = every
    product = _Held(_made("mul", factors))
    less = product.has(FILL) & c.has(STAT) & (c.value < 0)
    minus = _Held(label(-c.value, c.bits & ~0xFFFFFFFF))
    found = np.where(less, _made("sub", (product, minus)), _met("add", (product, c), own))
    return np.where(product.has(KNOWN), found, 0)


def _corrects(total: _Held, off: _Held) -> Any:
    """Whether a STAT, or a CONST, may be what the fills have added to a sum, to be taken off again."""
    return total.has(BAD | MIXED) & off.has(STAT | CONST) & ~off.has(BAD | MIXED)


def _any(every: Sequence[_Held], flags: int) -> Any:
    return np.logical_or.reduce([one.has(flags) for one in every])


def _labelled(value: Any, bits: Array, every: Sequence[_Held]) -> Array:
    """Labels with the number of what their operands come from."""
    bad, fill = (np.maximum.reduce([one.of(flags) for one in every]) for flags in (BAD, FILL | MIXED))
    return label(value, bits | np.where(bits & BAD != 0, bad, fill * (bits & (FILL | MIXED) != 0)) << NUMBER)
