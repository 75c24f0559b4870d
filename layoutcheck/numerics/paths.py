"""Numerical paths: two implementations as lists of steps, where they first differ, and what that does.

A path multiplies block after block and accumulates: for each block i, S = A_i B_i, then the running sum takes
S in. Its steps say where the bits go:

    dot(UNIT)              S as the chain of a tensor-core instruction, from zero
    dot(UNIT,promote=128)  the same in pieces of 128 k, each added to an f32 sum by an IEEE addition
    dot(UNIT,split=2)      the same with K in two pieces (split-K), f64 and integers added as such
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
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.formats import FORMATS, Floats, Format, fmt, holds, round_to
from layoutcheck.numerics.names import instruction
from layoutcheck.numerics.plain import odd_sum
from layoutcheck.numerics.units import on_arch, unit


@dataclass(frozen=True, slots=True)
class Step:
    """`kind` is "dot", "fma", "round" or "add"; `argument` its unit or format.

    A dot is one chain, or pieces: of `promote` k each, or as many as `split` says.
    """

    kind: str
    argument: str
    promote: int | None = None
    split: int | None = None

    def __str__(self) -> str:
        pieces = f",promote={self.promote}" if self.promote else f",split={self.split}" if self.split else ""
        return f"{self.kind}({self.argument}{pieces})"

    def piece(self, k: int) -> int | None:
        """The k of a piece of a product over `k`; None for one chain."""
        return self.promote if self.split is None else max(-(-k // self.split), 1)


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
    "torch-amp-on": f"dot({_F32}) round(f16) add(f32)",
    "torch-amp-off": f"dot({_F32}) round(f16) add(f16)",
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
_STEP = re.compile(
    r"(dot|fma|round|add)\(\s*([^(),\s]+)\s*(?:,\s*(promote|split)\s*=\s*([0-9]{1,9})\s*)?\)\s*"
)


def path(text: str, arch: str | None = None) -> Path:
    """The preset of that name, or the path those steps describe; InputError for anything else.

    With `arch` its units must exist there; a preset's take the shape they have there.
    """
    if not isinstance(text, str):
        raise InputError(f"no path: {type(text).__name__}", expected="text")
    name = text.strip()
    source = PRESETS.get(name, name)
    steps, at = [], 0
    while at < len(source):
        found = _STEP.match(source, at)
        if found is None:
            expected = f"steps such as {PRESETS['torch-f16']}, or a preset: {', '.join(PRESETS)}"
            raise InputError("no path", text=source[:200], start=min(at, 199), expected=expected)
        pieces = {found[3]: int(found[4])} if found[3] else {}
        argument = on_arch(found[2], arch) if name in PRESETS and found[1] == "dot" and arch else found[2]
        steps.append(Step(found[1], argument, **pieces))
        at = found.end()
    _check(steps, source, arch)
    return Path(name, tuple(steps))


def _check(steps: list[Step], source: str, arch: str | None) -> None:
    kinds = [step.kind for step in steps]
    products = [i for i, kind in enumerate(kinds) if kind in ("dot", "fma")]
    if len(products) != 1 or kinds.count("add") > 1 or ("add" in kinds and kinds[-1] != "add"):
        message = "a path has one product and ends with at most one addition"
        raise InputError(message, text=source[:200], end=min(len(source), 200))
    for step in steps:
        if step.kind == "dot" and arch is not None:
            unit(step.argument, arch)
        elif step.kind == "dot":
            instruction(step.argument)
        elif fmt(step.argument).name not in ("f16", "bf16", "f32", "tf32") or (
            step.kind != "round" and step.argument == "tf32"
        ):
            raise InputError(
                f"no {step.kind} in {step.argument}", text=source[:200], expected="f16, bf16 or f32"
            )
        pieces = step.promote if step.split is None else step.split
        if pieces is not None and (step.kind != "dot" or pieces < 1):
            raise InputError("only a dot is promoted or split, by 1 or more", text=source[:200])


Dot = Callable[[Unit, Floats, Floats], Floats]


def model(u: Unit, a: Floats, b: Floats) -> Floats:
    """A B from zero, values of the unit's formats: a (M, K), b (K, N) -> (M, N), as the model has it."""
    return u.chain(a, b, np.zeros((a.shape[0], b.shape[1])))


def run(chosen: Path, a: Floats, b: Floats, arch: str = "sm_90a", dot: Dot = model) -> Floats:
    """The running sum after each block, as values: a (blocks, M, K), b (blocks, K, N) -> (blocks, M, N).

    Inputs are converted to the unit's formats first (`_read`). Rounding steps before the product apply to
    a. `dot` does what a dot step asks of its unit; all else is IEEE arithmetic. Raises InputError where the
    shapes do not fit.
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
            total = round_to(odd_sum(a[:, k : k + 1] * b[k : k + 1], total), format_)
        return total
    u = unit(step.argument, arch)
    left, right = _read(a, u.instruction.a), _read(b, u.instruction.b)
    piece = step.piece(a.shape[1])
    if piece is None:
        return dot(u, left, right)
    total = np.zeros((a.shape[0], b.shape[1]))
    joined = FORMATS["f32"] if u.accumulator_unit is None else u.rule.accumulator
    for start in range(0, a.shape[1], piece):
        ks = slice(start, start + piece)
        total = round_to(total + dot(u, left[:, ks], right[ks]), joined)
    return total


def _read(values: Floats, format_: Format) -> Floats:
    """`values` as a unit gets them: converted to its format, to nearest; tf32 is f32 with its end cut off."""
    return round_to(values, format_, "RZ" if format_.name == "tf32" else "RNE")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two paths do to the same data; per block: outputs out of tolerance, outputs that differ at all.

    Of the last block: the Frobenius norm of the difference, and the largest and mean |difference| over
    |reference| where that is not zero.
    """

    one: Path
    other: Path
    first_difference: tuple[int, str, str] | None
    outputs_per_block: int
    out_of_tolerance: tuple[int, ...]
    bits_differ: tuple[int, ...]
    rms_difference: float
    norm_difference: float
    largest_relative: float
    mean_relative: float
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
            "norm_difference": self.norm_difference,
            "largest_relative": self.largest_relative,
            "mean_relative": self.mean_relative,
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
    norm = float(np.linalg.norm(difference[-1]))
    relative = relative_difference(left[-1], right[-1])
    first = first_difference(one, other)
    findings: tuple[Finding, ...] = ()
    if any(counts) and first is not None:
        findings = (_finding(one, other, first, counts, left[0].size),)
    return Comparison(
        one, other, first, left[0].size, counts, bits, rms, norm, *relative, rtol, atol, findings
    )  # fmt: skip


def relative_difference(left: Floats, right: Floats) -> tuple[float, float]:
    """The largest and the mean |left - right| / |right| where right is not zero; zeros if it is nowhere."""
    used = right != 0
    found = np.abs(left - right)[used] / np.abs(right[used])
    return (float(found.max()), float(found.mean())) if found.size else (0.0, 0.0)


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


def storage_formats(*paths: Path) -> tuple[Format, Format]:
    """The formats in memory of A and of B that all these paths can read: the narrowest of their units'.

    tf32 lies in memory as f32; paths without a unit read f32. A is f32 where a path begins by rounding it,
    which would else round nothing. InputError where two formats do not hold each other's numbers.
    """
    found = []
    for side in ("a", "b"):
        formats = []
        for step in (step for chosen in paths for step in chosen.steps if step.kind in ("dot", "fma")):
            read: Format = FORMATS["f32"] if step.kind == "fma" else getattr(instruction(step.argument), side)
            formats.append(FORMATS["f32"] if read.name == "tf32" else read)
        narrowest = min(formats, key=lambda one: (one.bits, one.precision))
        if not all(holds(one, narrowest) for one in formats):
            names = " and ".join(dict.fromkeys(map(str, formats)))
            raise InputError(
                f"the paths read {names}: no data are exact in both", expected="paths of one input type"
            )
        found.append(narrowest)
    rounded = any(chosen.steps[0].kind == "round" for chosen in paths)
    return (FORMATS["f32"] if rounded else found[0]), found[1]


def held_format(chosen: Path, arch: str) -> Format:
    """The narrowest format that holds the path's results: its last rounding's, or its product's."""
    last = chosen.steps[-1]
    if last.kind == "dot":
        return unit(last.argument, arch).rule.accumulator
    before = Path(chosen.name, chosen.steps[:-1])
    target = fmt(last.argument)
    if last.kind == "round" and any(step.kind in ("dot", "fma") for step in before.steps):
        held = held_format(before, arch)
        return held if holds(target, held) else target
    return target
