"""Two paths on real tensor cores: the model's counts beside the hardware's.

What runs on the GPU is every dot, each from zero; roundings, additions and `fma` are IEEE arithmetic, which
numpy has. Who runs a dot is an argument, so that this module needs no GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutcheck.errors import InputError
from layoutcheck.findings import Finding, verdict
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.formats import Floats, Raw
from layoutcheck.numerics.paths import Comparison, Dot, Path, compare_outputs, run

# D = A B + C on encodings: A (M, K), B (K, N), C and D (M, N); M, N, K whole multiples of the instruction's.
Matmul = Callable[[Unit, Raw, Raw, Raw], Raw]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Both comparisons, and of each path how many of all its `outputs` the hardware gave as predicted."""

    predicted: Comparison
    measured: Comparison
    equal: tuple[int, int]
    outputs: int
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the prediction's keys, the hardware's under `measured`, and what the hardware proves."""
        own = ("out_of_tolerance", "bits_differ", "rms_difference")
        measured = self.measured.to_dict()
        return {
            **self.predicted.to_dict(),
            "measured": {key: measured[key] for key in own}
            | {"equal_to_model": list(self.equal), "outputs": self.outputs},
            "verdict": verdict(self.findings),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def has_dot(chosen: Path) -> bool:
    """Whether some step is a tensor core's."""
    return any(step.kind == "dot" for step in chosen.steps)


def confirm(
    one: Path,
    other: Path,
    a: Floats,
    b: Floats,
    matmul: Matmul,
    rtol: float = 1e-3,
    atol: float = 1e-5,
    arch: str = "sm_90a",
) -> Confirmation:
    """`paths.compare` by the model and by `matmul`; InputError where neither path has a dot."""
    if not (has_dot(one) or has_dot(other)):
        raise InputError("neither path has a dot, so nothing of them runs on tensor cores")
    predicted = [run(chosen, a, b, arch) for chosen in (one, other)]
    measured = [run(chosen, a, b, arch, on(matmul)) for chosen in (one, other)]
    equal = [
        int(((x == y) | (np.isnan(x) & np.isnan(y))).sum()) for x, y in zip(predicted, measured, strict=True)
    ]
    model, hardware = (
        compare_outputs(one, other, outputs[0], outputs[1], rtol, atol) for outputs in (predicted, measured)
    )
    size = predicted[0].size
    findings = hardware.findings
    if equal != [size, size]:
        message = "; ".join(
            f"{chosen.name}: {size - count} of {size} outputs differ from the model of {arch}"
            for chosen, count in zip((one, other), equal, strict=True)
            if count != size
        )
        evidence = {"equal_to_model": equal, "outputs": size}
        title = "the hardware does not compute like the model"
        findings = (Finding("LC406", "wrong", title, message, evidence=evidence), *findings)
    return Confirmation(model, hardware, (equal[0], equal[1]), size, findings)


def on(matmul: Matmul) -> Dot:
    """The dot that `matmul` computes, of any size: zeros fill the instruction's tiles and change no sum."""

    def dot(u: Unit, a: Floats, b: Floats) -> Floats:
        i, acc = u.instruction, u.rule.accumulator
        (m, k), n = a.shape, b.shape[1]
        rows, columns, depth = (-size % tile for size, tile in ((m, i.m), (n, i.n), (k, i.k)))
        left = i.a.encode(np.pad(a, ((0, rows), (0, depth))))
        right = i.b.encode(np.pad(b, ((0, depth), (0, columns))))
        zero = np.zeros((m + rows, n + columns), acc.raw_dtype)
        return acc.decode(matmul(u, left, right, zero))[:m, :n]

    return dot
