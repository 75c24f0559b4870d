"""Who measured which parameter of which instruction, and where nobody did.

Four words: *measured here* (an H200, docs/evidence/numerics.json), *measured by others* (outputs published
by Khattak & Mikaitis, KM, which the model reproduces, docs/evidence/numerics_published.json), *literature*
(FHMP; KM; MS, that is MMA-Sim, mmasim 2.1.1 on PyPI), *assumed* (as the named relative; nobody has said
so). A parameter that no input of the instruction can show is called *out of reach*.
"""

from __future__ import annotations

from layoutcheck.numerics.formats import Format
from layoutcheck.numerics.names import Instruction, short
from layoutcheck.numerics.parameters import BlockFma, architecture, family

HERE, ELSEWHERE, LITERATURE, ASSUMED = "measured here", "measured by others", "literature", "assumed"
OUT_OF_REACH = "out of reach"
_WORST = (ASSUMED, LITERATURE, ELSEWHERE, HERE)
PARAMETERS = ("block", "fraction_bits", "rounding", "anchor_floor")

_FP8 = ("e4m3", "e5m2")
# Forms are kind.k.accumulator.inputs: the numbers of rows and columns do not change an output.
_H200 = {
    *(f"mma.k{k}.{acc}.f16" for k in (8, 16) for acc in ("f32", "f16")),
    *(f"mma.k{k}.f32.bf16" for k in (8, 16)),
    *(f"mma.k{k}.f32.tf32" for k in (4, 8)),
    *(f"mma.k{k}.{acc}.{x}" for k in (16, 32) for acc in ("f32", "f16") for x in _FP8),
    *(f"wgmma.k16.{form}" for form in ("f32.f16", "f16.f16", "f32.bf16")),
    *(f"wgmma.k32.{acc}.{x}{y}" for acc in ("f32", "f16") for x in _FP8 for y in ("", ".e4m3", ".e5m2")),
} - {f"wgmma.k32.{acc}.{x}.{x}" for acc in ("f32", "f16") for x in _FP8}
_AMPERE = {"mma.k16.f32.f16", "mma.k16.f16.f16", "mma.k16.f32.bf16", "mma.k4.f32.tf32"}
_KM: dict[int, tuple[str, set[str]]] = {
    70: ("V100: KM", {"mma.k4.f32.f16", "mma.k4.f16.f16"}),
    80: ("A100: KM", _AMPERE),
    86: ("A2: KM", _AMPERE),
    89: ("RTX Ada 1000, L40S: KM", _AMPERE | {f"mma.k32.{acc}.{x}" for acc in ("f32", "f16") for x in _FP8}),
    100: ("B200: KM", _AMPERE | {f"mma.k32.{acc}.{x}" for acc in ("f32", "f16") for x in _FP8}),
}
# What mmasim 2.1.1 lists, beyond the forms above (its mma.sync has no FP8 on Hopper and sm_100).
_MMASIM_ARCHS = (70, 75, 80, 89, 90, 100, 120)
# The f64 forms that it has.
_F64 = ("mma.k4.f64.f64", "mma.k8.f64.f64", "mma.k16.f64.f64")
MMASIM_F64 = {**dict.fromkeys((80, 89, 100, 120), _F64[:1]), 90: _F64}
_H200_RUN = "H200, 2026-11"


def evidence(named: Instruction, arch: str, rule: BlockFma) -> dict[str, tuple[str, str]]:
    """{parameter: (status, source)} of an instruction on `arch`, for each of PARAMETERS."""
    number, form = architecture(arch), form_of(named)
    if family(arch) == 90 and form in _H200:
        seen = dict.fromkeys(PARAMETERS, (HERE, _H200_RUN))
        floor = (HERE, _H200_RUN) if not _out_of_reach(named, rule) else (OUT_OF_REACH, "no input shows it")
        return {**seen, "anchor_floor": floor}
    source, forms = _KM.get(number, ("", set()))
    rest = _unmeasured(named, arch)
    found = dict.fromkeys(PARAMETERS, rest)
    if form in forms:
        found["rounding"] = (ELSEWHERE, source)
        # Random data leave the kept bits of an f16 result open, and a block as long as the instruction.
        if rule.accumulator.bits == 32:
            found["fraction_bits"] = (ELSEWHERE, source)
        if named.k > rule.block or named.a.name != "tf32":
            found["block"] = (ELSEWHERE, source)
    if _out_of_reach(named, rule):
        found["anchor_floor"] = (OUT_OF_REACH, "no input shows it")
    return found


def status(found: dict[str, tuple[str, str]]) -> tuple[str, str]:
    """The weakest status among block, kept bits and rounding, with its source."""
    used = [found[name] for name in PARAMETERS if name != "anchor_floor"]
    return min(used, key=lambda one: _WORST.index(one[0]))


def form_of(named: Instruction) -> str:
    """`mma.k16.f32.f16`: what an output depends on."""
    inputs = short(named.a) + ("" if named.a is named.b else f".{short(named.b)}")
    return f"{named.kind}.k{named.k}.{short(named.accumulator)}.{inputs}"


def _out_of_reach(named: Instruction, rule: BlockFma) -> bool:
    """Whether every product is so large that nothing is cut at the floor."""
    least = _least_exponent(named.a) + _least_exponent(named.b)
    return least >= rule.anchor_floor - rule.fraction_bits and rule.accumulator.bits == 32


def _least_exponent(format_: Format) -> int:
    return format_.min_exponent - format_.fraction_bits


def _unmeasured(named: Instruction, arch: str) -> tuple[str, str]:
    """What stands behind a form of which there are no hardware outputs."""
    number = architecture(arch)
    if number not in _MMASIM_ARCHS:
        return ASSUMED, f"as sm_{family(arch)}"
    emulated = named.kind == "mma" and named.a.bits == 8 and number in (90, 100)
    if emulated:
        return ASSUMED, "as e4m3 times e4m3 with k = 32"
    return LITERATURE, "MS (mmasim 2.1.1)" if number in (
        75,
        120,
    ) or named.kind == "tcgen05" else "FHMP, KM, MS"
