"""Assertions for tests of kernels: within the derived bound of each output, or the model's very bits.

Arrays are numpy's or torch's, of any float type, on any device. Where no path is given it follows from the
types: a GEMM of a's type, on the instruction that the architecture's GEMMs use, to actual's type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutcheck.errors import InputError
from layoutcheck.numerics.accuracy import of_arrays
from layoutcheck.numerics.formats import Floats, Format, fmt, round_to
from layoutcheck.numerics.fused import Attention, of_attention
from layoutcheck.numerics.fused import attention as attention_steps
from layoutcheck.numerics.names import INTEGERS
from layoutcheck.numerics.paths import Path, held_format, path, run
from layoutcheck.numerics.tolerance import steps_for
from layoutcheck.numerics.units import default_unit

_BLOCKS = (8, 16, 32, 64, 128, 256)
__tracebackhide__ = True  # a failing test shows its own line
_LOOKED_AT = 64  # outputs outside that an explanation is sought for


def assert_within(
    actual: Any, a: Any, b: Any, *, path: str | None = None, arch: str = "sm_90a", order: str = "any"
) -> None:
    """Fail unless each `actual` (M, N) is within its bound of the exact a (M, K) times b (K, N).

    The bound is that of `path` (steps such as "dot(wgmma.m64n8k16.f32.f16) round(f16)", or a preset) on
    these very matrices: for every order of k and every split-K, or for "ascending" k, which is tighter. An
    output that may overflow is not judged. The failure shows the worst output and the first k that explains
    it. Raises InputError for arrays and paths that do not fit.
    """
    case = _case(actual, a, b, path, arch)
    found = of_arrays(case.steps, case.a[None], case.b[None], arch, order)
    assert found.exact is not None
    exact, allowed = found.exact[0], np.broadcast_to(found.allowed, found.exact.shape)[0]
    outside, worst, told = _outside(case.actual, exact, allowed)
    if worst is not None:
        why = _explained(case, exact, allowed, outside)
        raise AssertionError(
            f"{int(outside.sum())} of {exact.size} outputs are outside the bound of {case.steps} on {arch}\n"
            f"{told}\n  {why}"
        )


def _outside(actual: Floats, exact: Floats, allowed: Floats) -> tuple[np.ndarray, int | None, str]:
    """Which outputs leave their bound; the row of the worst, None where none does; what is said of it."""
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(actual - exact)
        outside = ~(error <= allowed)
        share = np.where(np.isnan(error), np.inf, error / np.maximum(allowed, 5e-324))
    if not outside.any():
        return outside, None, ""
    i, j = divmod(int(np.argmax(np.where(outside, share, -1.0))), exact.shape[1])
    told = f"  worst: [{i}, {j}] is {actual[i, j]:.9g}, exactly {exact[i, j]:.9g}: "
    return outside, i, f"{told}off by {error[i, j]:.3g}, allowed {allowed[i, j]:.3g}"


def assert_bits(actual: Any, a: Any, b: Any, *, path: str | None = None, arch: str = "sm_90a") -> None:
    """Fail unless `actual` (M, N) is what the bit-exact model of `path` gives for a (M, K) and b (K, N).

    Zeros of either sign are equal, and so are all NaN. The model chains k ascending, from zero, in one
    piece unless the path says otherwise. Raises InputError as `assert_within`.
    """
    case = _case(actual, a, b, path, arch)
    expected = run(case.steps, case.a[None], case.b[None], arch)[0]
    differ = ~((case.actual == expected) | (np.isnan(case.actual) & np.isnan(expected)))
    if not differ.any():
        return
    i, j = (int(x) for x in np.argwhere(differ)[0])
    held = held_format(case.steps, arch)
    raise AssertionError(
        f"{int(differ.sum())} of {expected.size} outputs are not those of {case.steps} on {arch}\n"
        f"  first: [{i}, {j}] is {case.actual[i, j]:.9g} ({_hex(case.actual[i, j], held)}), "
        f"the model has {expected[i, j]:.9g} ({_hex(expected[i, j], held)}); "
        f"exactly {float(case.a[i] @ case.b[:, j]):.9g}"
    )


def assert_attention(
    actual: Any,
    q: Any,
    k: Any,
    v: Any,
    *,
    path: Attention | None = None,
    scale: float | None = None,
    causal: bool = False,
    mask: Any = None,
    arch: str = "sm_90a",
) -> None:
    """Fail unless each `actual` (..., M, E) is within its bound of softmax(scale q k^T) v.

    q (..., M, D), k (..., N, D), v (..., N, E); `path` is `attention(...)`, by default of q's type and to
    actual's; scale is D^-1/2 unless given. `mask` (M, N) is True where a key counts, `causal` aligns the last
    query with the last key. Rows without a key are not judged. Raises InputError for what does not fit.
    """
    tensors = [_heads(x, what) for x, what in ((actual, "actual"), (q, "q"), (k, "k"), (v, "v"))]
    if len({x.shape[0] for x in tensors}) > 1 or tensors[0].shape[1:] != (
        tensors[1].shape[1],
        tensors[3].shape[2],
    ):
        shapes = ", ".join(
            f"{what} {x.shape}" for what, x in zip(("actual", "q", "k", "v"), tensors, strict=True)
        )
        raise InputError(shapes, expected="(heads, M, E), (heads, M, D), (heads, N, D) and (heads, N, E)")
    if not all(np.isfinite(x).all() for x in tensors[1:]):
        raise InputError("q, k or v is not finite everywhere", expected="finite numbers")
    steps = attention_steps(_type(q), _type(actual), arch=arch) if path is None else path
    factor = float(tensors[1].shape[2]) ** -0.5 if scale is None else scale
    rows, keys = tensors[1].shape[1], tensors[2].shape[1]
    keep = None if mask is None else np.asarray(mask.detach().cpu() if hasattr(mask, "detach") else mask)
    if causal:
        below = np.tri(rows, keys, keys - rows, dtype=bool)
        keep = below if keep is None else keep & below
    for head, (got, *operands) in enumerate(zip(*tensors, strict=True)):
        found = of_attention(steps, operands[0], operands[1], operands[2], factor, keep)
        assert found.exact is not None
        outside, worst, told = _outside(got, found.exact, found.allowed)
        if worst is not None:
            why = _lost_keys(got[worst], operands, worst, factor, keep, found.allowed[worst])
            raise AssertionError(
                f"{int(outside.sum())} of {got.size} outputs of head {head} are outside the bound of"
                f" {steps}\n{told}\n  {why}"
            )


def _lost_keys(row: Floats, operands: list[Floats], i: int, scale: float, keep: Any, allowed: Floats) -> str:
    """The keys of which that row's softmax had to know nothing for its outputs to be right."""
    q, k, v = operands
    s = scale * (k @ q[i])
    if keep is not None:
        s = np.where(keep[i], s, -np.inf)
    a = np.exp(s - s.max())
    for length in (1, *_BLOCKS):
        for start in range(0, len(k) - length + 1, length):
            rest = np.delete(np.arange(len(k)), slice(start, start + length))
            if a[rest].sum() > 0:
                without = (a[rest] @ v[rest]) / a[rest].sum()
                right = np.abs(row - without) <= allowed
                if 2 * right.sum() > len(row) and (np.abs(without - (a @ v) / a.sum()) > allowed).any():
                    keys = f"key {start}" if length == 1 else f"keys {start} to {start + length - 1}"
                    count = f"{int(right.sum())} of the row's {len(row)} outputs"
                    return f"as if {keys} skipped: that explains {count}"
    return "no single key, and no aligned block of keys, explains most of the row"


def _heads(array: Any, what: str) -> Floats:
    """float64 with three dimensions: all leading ones as heads."""
    if hasattr(array, "detach"):
        array = array.detach().cpu().double().numpy()
    try:
        values = np.asarray(array, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is not an array of numbers") from None
    if values.ndim < 2 or not values.size:
        raise InputError(f"{what} has shape {values.shape}", expected="a matrix, or one for each head")
    return values.reshape(-1, *values.shape[-2:])


@dataclass(frozen=True, slots=True)
class _Case:
    actual: Floats
    a: Floats
    b: Floats
    steps: Path


def _case(actual: Any, a: Any, b: Any, steps: str | None, arch: str) -> _Case:
    values = [_values(x, what) for x, what in ((actual, "actual"), (a, "a"), (b, "b"))]
    shapes = [x.shape for x in values]
    if shapes[1][1] != shapes[2][0] or shapes[0] != (shapes[1][0], shapes[2][1]):
        raise InputError(
            f"actual {shapes[0]}, a {shapes[1]}, b {shapes[2]}", expected="(M, N), (M, K) and (K, N)"
        )
    for x, what in zip(values[1:], "ab", strict=True):
        if not np.isfinite(x).all():
            raise InputError(f"{what} is not finite everywhere", expected="finite numbers")
    chosen = path(steps, arch) if steps is not None else _steps(_type(a), _type(b), _type(actual), arch)
    if chosen.steps[-1].kind == "add":
        raise InputError("a check covers one product", expected="steps without add(...)")
    return _Case(values[0], values[1], values[2], chosen)


def _steps(a: str, b: str, out: str, arch: str) -> Path:
    """The path of a GEMM of these types; s8 and u8 mix, and so do s4 and u4."""
    if a != b and {a, b} & set(INTEGERS):
        if not {a, b} <= set(INTEGERS) or a[1:] != b[1:]:
            raise InputError(f"a is {a}, and b is {b}", expected="equal types, or path=...")
        return steps_for(a, out, arch, f"{default_unit(fmt(a), arch).name}.{b}")
    return steps_for(a, out, arch)


def _values(array: Any, what: str) -> Floats:
    """float64 of a numpy or torch array with two dimensions."""
    values = _heads(array, what)
    if len(values) != 1:
        raise InputError(f"{what} is {len(values)} matrices", expected="one")
    return values[0]


def _type(array: Any) -> str:
    """The format of an array's elements; InputError where no tensor core reads them."""
    name = str(getattr(array, "dtype", "float64")).removeprefix("torch.")
    short = {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}.get(name, name)
    if short in ("float64", "f64") or not hasattr(array, "dtype"):
        raise InputError(f"the elements are {name}", expected="path=..., which names the kernel's types")
    return str(fmt(short))


def _hex(value: float, held: Format) -> str:
    code = int(held.encode(round_to(np.array(value), held)))
    return f"{code:#0{-(-held.bits // 4) + 2}x}"


def _explained(case: _Case, exact: Floats, allowed: Floats, outside: np.ndarray) -> str:
    """The first k, or block of k, without which (or with which twice) the outputs outside would be right."""
    rows, columns = (x[:_LOOKED_AT] for x in np.nonzero(outside))
    off = (case.actual - exact)[rows, columns]
    limit = allowed[rows, columns]
    products = case.a[rows] * case.b[:, columns].T
    best = (0, "")
    for length in (1, *_BLOCKS):
        if length > products.shape[1]:
            break
        starts = np.arange(0, products.shape[1], length)
        sums = np.add.reduceat(products, starts, axis=1)
        for word, sign in (("skipped", 1.0), ("added twice", -1.0)):
            with np.errstate(invalid="ignore"):
                # Where the sum is itself within the bound it explains nothing.
                right = (np.abs(off[:, None] + sign * sums) <= limit[:, None]) & (
                    np.abs(sums) > limit[:, None]
                )
            counts = right.sum(0)
            at = int(np.argmax(counts))
            if counts[at] > best[0]:
                end = min((at + 1) * length, products.shape[1])
                which = f"k = {at}" if length == 1 else f"k = {at * length} to {end - 1}"
                best = (int(counts[at]), f"{which} {word}")
    count, what = best
    if 2 * count <= len(off):
        return "no single k, and no aligned block of k, explains most of them"
    return f"as if {what}: that explains {count} of the {len(off)} looked at"
