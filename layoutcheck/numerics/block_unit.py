"""A tensor-core instruction as a function on raw encodings, bit for bit. See units.py for how to get one."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from layoutcheck.errors import InputError
from layoutcheck.numerics.block import Operand, block_fma, carried
from layoutcheck.numerics.evidence import evidence, status
from layoutcheck.numerics.formats import Floats, Raw, round_to
from layoutcheck.numerics.names import Instruction
from layoutcheck.numerics.parameters import BlockFma
from layoutcheck.processors import processors

COMPILE_FROM = 1 << 23  # products from which the compiled loop is worth its start
_TILE = 1 << 14  # outputs computed at a time: their arrays then stay in the L2 cache


@dataclass(frozen=True, slots=True)
class AnyUnit:
    """An instruction on an architecture, and the rule of its block FMAs."""

    instruction: Instruction
    arch: str
    rule: BlockFma

    @property
    def name(self) -> str:
        """The short name, `mma.m16n8k16.f32.f16`."""
        return self.instruction.name

    @property
    def k(self) -> int:
        """Products per output of one instruction."""
        return self.instruction.k

    def _described(self, names: Sequence[str], status: tuple[str, str], **more: Any) -> dict[str, Any]:
        """These parameters and `more`, with what is known of them: `describe` of every unit."""
        rule = {name: getattr(self.rule, name) for name in names}
        known = {"status": status[0], "source": status[1]}
        return {"unit": self.name, "arch": self.arch, "k": self.k} | rule | more | known

    def _inputs(self, a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats]:
        one, other = self.instruction.a, self.instruction.b
        return one.decode(one.check(a, "a")), other.decode(other.check(b, "b"))


@dataclass(frozen=True, slots=True)
class Unit(AnyUnit):
    """An instruction on an architecture: the block FMAs it is made of.

    `groups` lists the k indices of each block in the order they are chained. With `add_c_last` the chain
    starts from zero and c is added to its result by one IEEE addition (FP8 through `mma.sync` where the chip
    has no FP8 unit of that kind: two HMMA, then FADD or HADD2).
    """

    groups: tuple[tuple[int, ...], ...]
    add_c_last: bool

    @property
    def accumulator_unit(self) -> float | None:
        """The unit roundoff of units that align nothing (f64, 0 for integers); None for a block FMA."""
        return None

    @property
    def evidence(self) -> dict[str, tuple[str, str]]:
        """{parameter: (status, source)}: who measured it."""
        return evidence(self.instruction, self.arch, self.rule)

    @property
    def status(self) -> tuple[str, str]:
        """The weakest evidence among the parameters that every sum depends on, with its source."""
        return status(self.evidence)

    def with_rule(self, **changes: Any) -> Unit:
        """The same unit with other parameters (`fraction_bits`, `rounding`, `block`, ...)."""
        rule = replace(self.rule, **changes)
        groups = blocks_of(self.k, rule.block) if "block" in changes else self.groups
        return replace(self, rule=rule, groups=groups)

    def describe(self) -> dict[str, Any]:
        """The parameters, their status and source."""
        rule, known = self.rule, self.evidence
        result = f"{rule.accumulator}" if rule.precision in (24, 11) else f"e8m{rule.precision - 1}"
        return self._described(
            ("block", "fraction_bits", "rounding"), self.status, result=result,
            anchor_floor=rule.anchor_floor, add_c_last=self.add_c_last,
        ) | {"evidence": {name: f"{word}: {source}" for name, (word, source) in known.items()}}  # fmt: skip

    def fma(self, a: ArrayLike, b: ArrayLike, c: ArrayLike) -> Raw:
        """d = a . b + c for raw encodings: a and b of shape (..., k), c and the result of shape (...).

        c is of the accumulator's format, or of the instruction's `addend`.

        Raises InputError where a shape does not fit or an array does not hold encodings.
        """
        left, right = self._inputs(a, b)
        held = self.rule.addend or self.rule.accumulator
        addend = held.decode(held.check(c, "c"))
        if left.shape[-1] != self.k or right.shape[-1] != self.k:
            raise InputError(
                f"{self.name} multiplies {self.k} pairs, not {left.shape[-1]} by {right.shape[-1]}"
            )
        try:
            shape = np.broadcast_shapes(left.shape[:-1], right.shape[:-1], addend.shape)
        except ValueError:
            raise InputError(f"shapes {left.shape}, {right.shape} and {addend.shape} do not fit") from None
        left, right = (np.broadcast_to(x, (*shape, self.k)).reshape(-1, self.k).T for x in (left, right))
        one, other = Operand.of(left, self.instruction.a), Operand.of(right, self.instruction.b)
        result = self.step(one, other, np.broadcast_to(addend, shape).ravel())
        return self.rule.accumulator.encode(result.reshape(shape))

    def matmul(self, a: ArrayLike, b: ArrayLike, c: ArrayLike | None = None) -> Raw:
        """D = A B + C as a chain of this instruction over K, raw encodings: (M, K), (K, N), (M, N) or None.

        A last, partial step is filled with zeros, as kernels do. Raises InputError on shapes that do not fit.
        """
        left, right = self._inputs(a, b)
        if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
            raise InputError(f"matmul needs (M, K) and (K, N), not {left.shape} and {right.shape}")
        shape = (left.shape[0], right.shape[1])
        start = np.zeros(shape)
        if c is not None:
            held = self.rule.addend or self.rule.accumulator
            start = held.decode(held.check(c, "C"))
            if start.shape != shape:
                raise InputError(f"C has shape {start.shape}, not {shape}")
        return self.rule.accumulator.encode(self.chain(left, right, start))

    def chain(self, a: Floats, b: Floats, c: Floats) -> Floats:
        """`matmul` on values instead of encodings; each must be a value of its format."""
        steps = -(-a.shape[1] // self.k)
        if self.rule.addend is not None and steps > 1:
            raise InputError(
                f"{self.name} takes c in f16, and returns f32: it cannot be chained", expected="k = 4"
            )
        short = steps * self.k - a.shape[1]
        if short:
            a, b = np.pad(a, ((0, 0), (0, short))), np.pad(b, ((0, short), (0, 0)))
        left, right = carried(
            Operand.of(np.ascontiguousarray(a.T)[:, :, None], self.instruction.a),
            Operand.of(np.ascontiguousarray(b)[:, None, :], self.instruction.b),
            self.rule,
        )
        fast = self._compiled(left, right, c)
        if fast is not None:
            return fast
        result = np.empty(c.shape)
        rows = max(1, _TILE // max(c.shape[1], 1))
        for first in range(0, c.shape[0], rows):
            tile = slice(first, first + rows)
            accumulator = c[tile]
            for step in range(steps):
                ks = slice(step * self.k, (step + 1) * self.k)
                accumulator = self._step(left[ks, tile], right[ks], accumulator)
            result[tile] = accumulator
        return result

    def _compiled(self, left: Operand, right: Operand, c: Floats) -> Floats | None:
        """The chain by the compiled loop; None where it is not worth it, is not there, or a sum overflows."""
        plain = (
            self.rule.addend is None
            and left.values.dtype == np.float32
            and left.specials is None
            and right.specials is None
        )
        depth = len(left.values)
        if not plain or depth * c.size < COMPILE_FROM or not np.isfinite(c).all():
            return None
        loop = _loop()
        if loop is None:
            return None
        one = np.concatenate([np.array(group) for group in self.groups])
        order = (np.arange(0, depth, self.k)[:, None] + one).ravel()
        pad = (0, -c.shape[1] % loop.TILE)
        a, ea = (
            np.ascontiguousarray(x[order, :, 0].T) for x in (left.values, left.exponents.astype(np.int32))
        )
        b, eb = (np.pad(x[order, 0], ((0, 0), pad)) for x in (right.values, right.exponents.astype(np.int32)))
        out, rule, acc = c.astype(np.float64), self.rule, self.rule.accumulator
        parameters = (
            rule.block, len(self.groups), self.add_c_last, rule.fraction_bits, rule.anchor_floor,
            acc.min_exponent, rule.precision, rule.rounding == "RNE", acc.precision, acc.largest,
        )  # fmt: skip

        def rows(part: slice) -> bool:
            return bool(loop.chain(a[part], ea[part], b, eb, out[part], *parameters))

        # The loop holds no interpreter lock: each core takes its share of the rows.
        share = -(-len(out) // min(len(out), processors()))
        with ThreadPoolExecutor() as pool:
            done = all(pool.map(rows, (slice(at, at + share) for at in range(0, len(out), share))))
        return out if done else None

    def step(self, a: Operand, b: Operand, c: Floats) -> Floats:
        """`fma` on decoded operands, k on axis 0, and values of the accumulator's format."""
        return self._step(*carried(a, b, self.rule), c)

    def _step(self, a: Operand, b: Operand, c: Floats) -> Floats:
        accumulator = np.zeros(c.shape) if self.add_c_last else c
        for group in self.groups:
            at = _as_slice(group)
            accumulator = block_fma(a[at], b[at], accumulator, self.rule)
        if not self.add_c_last:
            return accumulator
        with np.errstate(invalid="ignore"):
            return round_to(accumulator + c, self.rule.accumulator, "RNE")


@cache
def _loop() -> Any:
    """The compiled loop, or None where numba is not installed."""
    try:
        from layoutcheck.numerics import compiled
    except ImportError:
        return None
    return compiled


def _as_slice(group: tuple[int, ...]) -> Any:
    contiguous = group[-1] - group[0] + 1 == len(group)
    return slice(group[0], group[-1] + 1) if contiguous else list(group)


def blocks_of(k: int, block: int) -> tuple[tuple[int, ...], ...]:
    """The k indices of each block, in ascending order."""
    return tuple(tuple(range(start, min(start + block, k))) for start in range(0, k, block))
