"""The pages of the findings `LC4xx`: what each means, why, how to fix and how to silence it.

`layoutcheck.rules` is about copies, so numerics has its own list; `layoutcheck rule` and docs/rules/ show
both. An example is a command line, because what numerics checks is asked by one.
"""

from __future__ import annotations

import inspect
import shlex
from dataclasses import dataclass

from layoutcheck import markdown


@dataclass(frozen=True, slots=True)
class Rule:
    """`severity` is the worst the finding has; `flagged` and `clean` are the words after `layoutcheck`."""

    code: str
    name: str
    severity: str
    summary: str
    doc: str
    flagged: tuple[str, ...]
    clean: tuple[str, ...]

    def page(self) -> str:
        """The rule's page, in Markdown."""
        flagged, clean = (shlex.join(("layoutcheck", *words)) for words in (self.flagged, self.clean))
        return markdown.page(self.code, self.name, self.severity, self.summary, self.doc, flagged, clean)


def _rule(severity: str, flagged: str, clean: str, doc: str) -> Rule:
    """The rule of a page that begins `CODE name: summary`; its examples follow `layoutcheck numerics`."""
    words, twin = (tuple(shlex.split(f"numerics {text}")) for text in (flagged, clean))
    first, _, rest = inspect.cleandoc(doc).partition("\n")
    label, _, summary = first.partition(": ")
    code, _, name = label.partition(" ")
    return Rule(code, name, severity, summary, rest.strip(), words, twin)


_RULES = (
    _rule(
        "wrong",
        "path cute-f32f16f16f32 torch-f16-matmul-f32-add",
        "path cute-f32f16f16f32-rounded torch-f16-matmul-f32-add",
        """LC401 different-roundings: two paths round at different places, and their results differ beyond the tolerance.

        ## What it means

        Two implementations of one sum are compared, and their steps differ. For example, one rounds a product
        to f16 before it adds it to the running sum, and the other does not. The report names the first such
        step and counts the outputs out of tolerance, block by block. Both kernels may be free of bugs.

        ## Why

        One rounding to f16 stays within 2^-11 of its own value. If the running sum cancels, what is left is
        small beside the error that it inherited: the first block passes at rtol = 1e-3, later ones fail
        (CUTLASS issue 2214). Measured on an H200: the predicted counts of that issue's configurations are the
        hardware's, output by output (docs/numerics-measured.md).

        ## How to fix it

        Make the steps equal: round where the reference rounds, or keep both in f32. `layoutcheck numerics
        path ONE OTHER` on the repaired steps must report 0 throughout; `--gpu` runs it on the hardware.

        ## How to silence it

        If you want both roundings, compare each with the exact result under a derived tolerance
        (`layoutcheck numerics tol`), not one with the other. Or state your own with `--rtol` and `--atol`.
        """,  # noqa: E501
    ),
    _rule(
        "wrong",
        "tol -K 512 --in f16 --out f16 --atol 1e-2 --rtol 0",
        "tol -K 512 --in f16 --out f16 --atol 0.01 --rtol 1e-3",
        """LC402 bit-equality-test: the tolerance is below one step of the output, so it tests bit equality.

        ## What it means

        At every output of the sample, the next number of the output's format is farther away than the
        tolerance. Two results pass only if their bits are equal, whatever `atol` seems to allow.

        ## Why

        A format of p significant bits has steps of 2^(e + 1 - p) at size 2^e (IEEE 754-2019, 3.3): f16 near
        128 has steps of 0.125. Kernels that add in another order, or split K, differ in the last bit now and
        then. Measured on an H200 (docs/numerics-measured.md): a grouped GEMM split in two differs from torch
        in 565 of 262,144 outputs of 512 x 512 x 512, each by one step, and both are right.

        ## How to fix it

        Use what `layoutcheck numerics tol` derives: `rtol` of at least the output's unit roundoff beside an
        `atol` in proportion to K. To test indexing, use small integers: then the results are exact and the
        tolerance is 0.

        ## How to silence it

        If you want bit equality (one kernel, run twice), compare the bits and state no tolerance.
        """,
    ),
    _rule(
        "note",
        "tol -K 4096 --in f16 --out f32 --atol 0 --rtol 1e-3",
        "tol -K 512 --in f16 --out f32 --atol 0 --rtol 1e-4",
        """LC403 blind-tolerance: the tolerance cannot see a missing product.

        ## What it means

        At half of the outputs or more, one typical product is smaller than the tolerance and half a step of
        the output together. A kernel that skips one k, or reads one wrong, passes the test.

        ## Why

        A sum of K positive products is K times one of them, so rtol = 1e-3 hides one from K = 1000 on, and
        half a step of an f16 output from K between 2,000 and 4,000 on, at any tolerance. The report says
        which of the two hides it. This is arithmetic alone (steps of a format: IEEE 754-2019, 3.3) and does
        not depend on hardware.

        ## How to fix it

        Test the indexing apart from the rounding: small integers, for which every sum is exact up to the
        limit the report names (2^24 with f32 accumulators, 2^14 for FP8 `wgmma`), and a tolerance of 0.

        ## How to silence it

        A `note` never fails a run. A wide tolerance is fine if an exact test stands beside it.
        """,
    ),
    _rule(
        "wrong",
        "tol -K 4096 --in f16 --out f32 --atol 1e-6 --rtol 1e-6",
        "tol -K 4096 --in f16 --out f32 --atol 0.8 --rtol 0",
        """LC404 tolerance-below-bound: the tolerance is smaller than the error that a correct kernel may have.

        ## What it means

        The tensor core's own arithmetic may leave the tolerance. The finding is `wrong` if the model leaves
        it on the sample: a correct kernel fails. It is a `note` if only the bound does: other data may fail.

        ## Why

        A block loses at most n 2^-F + u of the largest sum or term, so a chain of q blocks is within
        ((1 + n 2^-F + u)^q - 1) max((S + |exact|) / 2, largest |a b|) of the exact result, S = sum |a b|: the
        block-FMA analysis of Blanchard, Higham, Lopez, Mary & Pranesh (SIAM J. Sci. Comput. 42, C124, 2020)
        with an adder that cuts. Cutting has a bias, so errors add up, and bounds in sqrt(K) do not hold. Two
        kernels of one sum may err in opposite directions: `--against` says what yours is compared with.
        The bound held in every run on an H200 and under attack (docs/numerics-measured.md).

        ## How to fix it

        Use the `atol` and `rtol` that the report derives from your data (`--a` and `--b`, or `--data` and
        `--scale`), or make the error smaller: accumulate in f32, and drain FP8 `wgmma` every 128 k
        (`--promote 128`).

        ## How to silence it

        A `note` never fails a run. Do not silence a `wrong`: correct kernels fail under this tolerance.
        """,  # noqa: E501
    ),
    _rule(
        "note",
        "tol -K 4096 --in e4m3 --out f32 --unit wgmma.m64n8k32.f32.e4m3",
        "tol -K 4096 --in e4m3 --out f32 --unit mma.m16n8k32.f32.e4m3",
        """LC405 narrow-accumulator: the accumulator keeps fewer bits than its type promises.

        ## What it means

        The instruction writes f32 registers, but fewer significant bits than f32's 24: FP8 through Hopper's
        `wgmma`, and FP8 on Ada, return 14.

        ## Why

        Terms are cut 13 bits below the largest one and the sum is cut to 14 bits. Identified from an H200's
        answers to probes; 24,000 random vectors of each FP8 `wgmma` are bit-equal to this model
        (docs/numerics-measured.md). On uniform data with K = 4096 the mean error is -6.6% of the sum; with an
        f32 sum every 128 k it is -0.05%.

        ## How to fix it

        Promote: add the accumulator to an f32 sum every 128 k and start it again from zero, as CUTLASS and
        `torch._scaled_mm(use_fast_accum=False)` do. Or use the warp instruction, `mma.m16n8k32`, which on
        Hopper keeps f32's 24 bits.

        ## How to silence it

        A `note` never fails a run. Short sums may not need more.
        """,
    ),
    _rule(
        "wrong",
        "probe mma.m16n8k16.f32.f16 --arch sm_80 --gpu",
        "probe mma.m16n8k16.f32.f16 --arch sm_90a --gpu",
        """LC406 not-this-hardware: the hardware returns other bits than the model.

        ## What it means

        The GPU ran the probes (`numerics probe --gpu`, `numerics path --gpu`) and returned other bits than
        the model of `--arch`. Either the GPU has another architecture than stated (as in the example, if an
        H200 runs it), or the model is wrong.

        ## Why

        Blocks, kept bits and roundings differ between architectures: an A100 adds f16 products in blocks of 8
        and keeps 24 bits, Hopper in blocks of 16 and keeps 25. `numerics.unit(NAME, ARCH).describe()` gives
        the source of each parameter and whether it was measured here. An H200 answered every probe of 27
        instructions as predicted (docs/numerics-measured.md).

        ## How to fix it

        State the GPU's architecture with `--arch`. If that is right, the probe's report says which parameters
        the answers identify: please report them with the instruction and the GPU's name.

        ## How to silence it

        Leave `--gpu` out. This GPU cannot confirm a prediction for other hardware.
        """,
    ),
)


def rules() -> dict[str, Rule]:
    """Every rule by its code, in the order of the codes."""
    return {rule.code: rule for rule in _RULES}
