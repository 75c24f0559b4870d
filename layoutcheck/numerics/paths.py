"""Numerical paths: two implementations as lists of steps, where they first differ, and what that does.

A path multiplies block after block and accumulates: for each block i, S = A_i B_i, then the running sum takes
S in. Its steps say where the bits go:

    dot(UNIT)              S as the chain of a tensor-core instruction, from zero
    dot(UNIT,promote=128)  the same in pieces of 128 k, each added to an f32 sum by an IEEE addition
    fma(f32)               S by scalar fused multiply-adds, k ascending
    round(f16)             S rounded to a format, to nearest
    add(f16)               the running sum, an IEEE addition in a format

    "dot(mma.m16n8k16.f32.f16) round(f16) add(f32)" is a path; so is the name of a preset.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutcheck.errors import InputError
from layoutcheck.findings import Finding, verdict
from layoutcheck.numerics.formats import FORMATS, Floats, Format, fmt, round_to
from layoutcheck.numerics.units import Unit, unit


@dataclass(frozen=True, slots=True)
class Step:
    """`kind` is "dot", "fma", "round" or "add"; `argument` its unit or format; `promote` a count of k."""

    kind: str
    argument: str
    promote: int | None = None

    def __str__(self) -> str:
        return f"{self.kind}({self.argument}{f',promote={self.promote}' if self.promote else ''})"


@dataclass(frozen=True, slots=True)
class Path:
    """A named list of steps: one product, then roundings, then at most one addition to the running sum."""

    name: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return " ".join(map(str, self.steps))


_F32, _F16 = "mma.m16n8k16.f32.f16", "mma.m16n8k16.f16.f16"
PRESETS = {
    # CUTLASS issue 2214: a linear attention's KV += K^T V in five ways, and the repair.
    "cute-f16f16f16f16": f"dot({_F16}) add(f16)",
    "torch-f16": f"dot({_F32}) round(f16) add(f16)",
    "cute-f32f16f16f32": f"dot({_F32}) add(f32)",
    "torch-f16-matmul-f32-add": f"dot({_F32}) round(f16) add(f32)",
    "torch-f32": "fma(f32) add(f32)",
    "cute-f32f16f16f32-rounded": f"dot({_F32}) round(f16) add(f32)",
    # FP8 on Hopper: the warpgroup instruction, the same promoted as CUTLASS does, the warp instruction.
    "fp8-wgmma": "dot(wgmma.m64n8k32.f32.e4m3)",
    "fp8-wgmma-promoted": "dot(wgmma.m64n8k32.f32.e4m3,promote=128)",
    "fp8-mma": "dot(mma.m16n8k32.f32.e4m3)",
    # FlashInfer's tensor-core decode rounds P to f16 before P V; its CUDA-core decode keeps f32.
    "flashinfer-tensor-core": f"round(f16) dot({_F32}) add(f32)",
    "flashinfer-cuda-core": "fma(f32) add(f32)",
}
_STEP = re.compile(r"(dot|fma|round|add)\(\s*([^(),\s]+)\s*(?:,\s*promote\s*=\s*([0-9]{1,9})\s*)?\)\s*")


def path(text: str) -> Path:
    """The preset of that name, or the path those steps describe; InputError for anything else."""
    name = text.strip()
    source = PRESETS.get(name, name)
    steps, at = [], 0
    while at < len(source):
        found = _STEP.match(source, at)
        if found is None:
            expected = f"steps such as {PRESETS['torch-f16']}, or a preset: {', '.join(PRESETS)}"
            raise InputError("no path", text=source[:200], start=min(at, 199), expected=expected)
        steps.append(Step(found[1], found[2], int(found[3]) if found[3] else None))
        at = found.end()
    _check(steps, source)
    return Path(name, tuple(steps))


def _check(steps: list[Step], source: str) -> None:
    kinds = [step.kind for step in steps]
    products = [i for i, kind in enumerate(kinds) if kind in ("dot", "fma")]
    if len(products) != 1 or kinds.count("add") > 1 or ("add" in kinds and kinds[-1] != "add"):
        message = "a path has one product and ends with at most one addition"
        raise InputError(message, text=source[:200], end=min(len(source), 200))
    for step in steps:
        if step.kind == "dot":
            unit(step.argument)
        elif fmt(step.argument).bits not in (16, 32) or (step.kind != "round" and step.argument == "tf32"):
            raise InputError(
                f"no {step.kind} in {step.argument}", text=source[:200], expected="f16, bf16 or f32"
            )
        if step.promote is not None and (step.kind != "dot" or step.promote < 1):
            raise InputError("only a dot is promoted, every 1 or more k", text=source[:200])


Dot = Callable[[Unit, Floats, Floats], Floats]


def model(u: Unit, a: Floats, b: Floats) -> Floats:
    """A B from zero, values of the unit's formats: a (M, K), b (K, N) -> (M, N), as the model has it."""
    return u.chain(a, b, np.zeros((a.shape[0], b.shape[1])))


def run(chosen: Path, a: Floats, b: Floats, arch: str = "sm_90a", dot: Dot = model) -> Floats:
    """The running sum after each block, as values: a (blocks, M, K), b (blocks, K, N) -> (blocks, M, N).

    Inputs are rounded to the unit's formats first. Rounding steps before the product apply to a. `dot` does
    what a dot step asks of its unit; all else is IEEE arithmetic. Raises InputError where the shapes do not
    fit.
    """
    if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise InputError(f"a path needs (blocks, M, K) and (blocks, K, N), not {a.shape} and {b.shape}")
    running = np.zeros((a.shape[1], b.shape[2]))
    outputs = []
    for left, right in zip(a, b, strict=True):
        value, done = left, False
        for step in chosen.steps:
            if step.kind == "round":
                value = round_to(value, fmt(step.argument))
            elif step.kind == "add":
                running = round_to(running + value, fmt(step.argument))
            else:
                value, done = _product(step, value, right, arch, dot), True
        if not done or chosen.steps[-1].kind != "add":
            running = value
        outputs.append(running)
    return np.stack(outputs)


def _product(step: Step, a: Floats, b: Floats, arch: str, dot: Dot) -> Floats:
    if step.kind == "fma":
        format_ = fmt(step.argument)
        total = np.zeros((a.shape[0], b.shape[1]))
        for k in range(a.shape[1]):  # float64 holds the product; one more rounding of the sum is the FMA's
            total = round_to(_exact_sum(a[:, k : k + 1] * b[k : k + 1], total), format_)
        return total
    u = unit(step.argument, arch)
    left, right = round_to(a, u.instruction.a), round_to(b, u.instruction.b)
    if step.promote is None:
        return dot(u, left, right)
    total = np.zeros((a.shape[0], b.shape[1]))
    for start in range(0, a.shape[1], step.promote):
        ks = slice(start, start + step.promote)
        total = round_to(total + dot(u, left[:, ks], right[ks]), FORMATS["f32"])
    return total


def _exact_sum(x: Floats, y: Floats) -> Floats:
    """x + y rounded to odd in float64, so that rounding it again to fewer bits is rounding once."""
    total = x + y
    back = total - x
    error = (x - (total - back)) + (y - back)
    inexact = error != 0
    bits = total.view(np.int64)
    # The neighbour on the error's side, unless the sum already is odd.
    towards = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(inexact & (bits & 1 == 0), bits + towards, bits).view(np.float64)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two paths do to the same data; per block: outputs out of tolerance, outputs that differ at all."""

    one: Path
    other: Path
    first_difference: tuple[int, str, str] | None
    outputs_per_block: int
    out_of_tolerance: tuple[int, ...]
    bits_differ: tuple[int, ...]
    rms_difference: float
    rtol: float
    atol: float
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        first = self.first_difference
        return {
            "paths": [{"name": p.name, "steps": list(map(str, p.steps))} for p in (self.one, self.other)],
            "first_difference": None
            if first is None
            else {"step": first[0], "one": first[1], "other": first[2]},
            "outputs_per_block": self.outputs_per_block,
            "out_of_tolerance": list(self.out_of_tolerance),
            "bits_differ": list(self.bits_differ),
            "rms_difference": self.rms_difference,
            "rtol": self.rtol,
            "atol": self.atol,
            "verdict": verdict(self.findings),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def first_difference(one: Path, other: Path) -> tuple[int, str, str] | None:
    """Index of the first step that differs, and both steps ("nothing" past the end); None for equal paths."""
    for index in range(max(len(one.steps), len(other.steps))):
        pair = [str(p.steps[index]) if index < len(p.steps) else "nothing" for p in (one, other)]
        if pair[0] != pair[1]:
            return index, pair[0], pair[1]
    return None


def compare(
    one: Path, other: Path, a: Floats, b: Floats, rtol: float = 1e-3, atol: float = 1e-5, arch: str = "sm_90a"
) -> Comparison:
    """`one` against `other` (the reference) on the same data, |one - other| <= atol + rtol |other|."""
    return compare_outputs(one, other, run(one, a, b, arch), run(other, a, b, arch), rtol, atol)


def compare_outputs(
    one: Path, other: Path, left: Floats, right: Floats, rtol: float, atol: float
) -> Comparison:
    """As `compare`, of outputs (blocks, M, N) that the two paths gave."""
    difference = np.abs(left - right)
    outside = difference > atol + rtol * np.abs(right)
    counts = tuple(int(block.sum()) for block in outside)
    bits = tuple(int(block.sum()) for block in left != right)
    scale = float(np.sqrt(np.mean(right**2)))
    rms = float(np.sqrt(np.mean(difference**2))) / scale if scale else 0.0
    first = first_difference(one, other)
    findings: tuple[Finding, ...] = ()
    if any(counts) and first is not None:
        findings = (_finding(one, other, first, counts, left[0].size),)
    return Comparison(one, other, first, left[0].size, counts, bits, rms, rtol, atol, findings)


def _finding(
    one: Path, other: Path, first: tuple[int, str, str], counts: tuple[int, ...], size: int
) -> Finding:
    block = next(i for i, count in enumerate(counts) if count)
    title = f"{counts[block]} of {size} outputs out of tolerance from block {block}"
    message = (
        f"step {first[0]} is {first[1]} in {one.name} and {first[2]} in {other.name}: "
        "the paths round at different places. Make the steps equal, or derive the tolerance from them."
    )
    evidence = {"first_step": first[0], "one": first[1], "other": first[2], "out_of_tolerance": list(counts)}
    return Finding("LC401", "wrong", title, message, evidence=evidence)


def draw(
    data: str, blocks: int, m: int, n: int, k: int, seed: int, format_: Format, format_b: Format | None = None
) -> tuple[Floats, Floats]:
    """Inputs (blocks, M, K) and (blocks, K, N), "normal" or "uniform" in [0, 1).

    Rounded to `format_`, the second to `format_b` where that is given.
    """
    rng = np.random.default_rng([seed, blocks, m, n, k])
    if data not in ("normal", "uniform"):
        raise InputError(f"no data called '{data[:40]}'", expected="normal or uniform")
    sample = rng.standard_normal if data == "normal" else rng.random
    return round_to(sample((blocks, m, k)), format_), round_to(sample((blocks, k, n)), format_b or format_)


def input_formats(*paths: Path) -> tuple[Format, Format]:
    """The formats of A and B: those the paths' units read (f32 where they have none).

    A is f32 where a path begins by rounding it, which would else round nothing.
    """
    units: list[Unit] = [unit(step.argument) for p in paths for step in p.steps if step.kind == "dot"]
    a, b = (units[0].instruction.a, units[0].instruction.b) if units else (FORMATS["f32"],) * 2
    return (FORMATS["f32"] if any(p.steps[0].kind == "round" for p in paths) else a), b
