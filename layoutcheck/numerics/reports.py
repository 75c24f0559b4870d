"""What the numerics commands print: each report as data and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutcheck.digits import many
from layoutcheck.findings import Finding, verdict
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.confirm import Confirmation, has_dot
from layoutcheck.numerics.formats import Format, Raw
from layoutcheck.numerics.paths import Comparison
from layoutcheck.numerics.probes import Probe, conclusions, identify, predict, summary
from layoutcheck.numerics.scaled import ScaledUnit
from layoutcheck.numerics.sensitivity import exact_integer_limit
from layoutcheck.numerics.tolerance import Tolerance


@dataclass(frozen=True, slots=True)
class Report:
    """`data` has at least `verdict` and `findings`; `text` says the same to a reader."""

    data: dict[str, Any]
    text: str


def _finding_lines(findings: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    for finding in findings:
        lines += ["", f"{finding['severity']} {finding['code']}: {finding['title']}"]
        lines.append(f"  {finding['message']}")
    return lines


def _shown(raw: int, format_: Format) -> str:
    value = float(format_.decode(np.array(raw, format_.raw_dtype)))
    return f"{raw:#0{format_.bits // 4 + 2}x} {value:<13.7g}"


def units_report(arch: str, found: Sequence[Unit | ScaledUnit]) -> Report:
    """The units of an architecture, one a line."""
    described = [unit.describe() for unit in found]
    data = {"command": "numerics units", "arch": arch, "units": described, "verdict": "legal", "findings": []}
    width = max(len(row["unit"]) for row in described)
    sources = [f"{row['status']}, {row['source']}" for row in described]
    usual = max(sources, key=sources.count)
    lines = []
    for row, source in zip(described, sources, strict=True):
        blocks = (
            f"blocks of {row['block']}, {row['fraction_bits']} bits kept, {row['rounding']}"
            if "block" in row
            else ""
        )
        told = row.get("arithmetic", blocks)
        lines.append(f"{row['unit']:{width}}  {told}{f'; {source}' if source != usual else ''}")
    return Report(data, "\n".join([*lines, f"If no source is named: {usual}"]))


def probe_report(unit: Unit, chosen: Sequence[Probe], answers: Raw | None) -> Report:
    """Predictions for the probes; with `answers` the differences and the parameters they identify."""
    predicted = predict(unit, chosen)
    acc = unit.rule.accumulator
    rows: list[dict[str, Any]] = []
    for index, asked in enumerate(chosen):
        row: dict[str, Any] = {"name": asked.name, "title": asked.title, "predicted": int(predicted[index])}
        row |= {"printed": asked.printed} if asked.printed is not None else {}
        row |= {"vacuous": asked.vacuous} if asked.vacuous else {}
        row |= {"hardware": int(answers[index])} if answers is not None else {}
        rows.append(row)
    from_answers = predicted if answers is None else answers
    found = identify(unit, chosen, from_answers)
    findings: tuple[Finding, ...] = ()
    wrong = [row["name"] for row in rows if answers is not None and row["hardware"] != row["predicted"]]
    if wrong:
        message = f"{len(wrong)} of {len(rows)} probes differ: {', '.join(wrong[:12])}"
        findings = (Finding("LC406", "wrong", "the hardware does not compute like the model", message),)
    told = conclusions(chosen, from_answers, acc)
    data = {
        "command": "numerics probe",
        "unit": unit.describe(),
        "probes": rows,
        "identified": summary(found),
        "conclusions": told,
        "identified_from": "prediction" if answers is None else "hardware",
        "verdict": verdict(findings),
        "findings": [finding.to_dict() for finding in findings],
    }
    described, rule = unit.describe(), unit.rule
    lines = [
        f"{unit.name} on {unit.arch}: blocks of {rule.block}, {rule.fraction_bits} bits kept, "
        f"{described['rounding']} to {described['result']}" + (", c added last" if unit.add_c_last else ""),
        *(f"  {name.replace('_', ' ')}: {word}, {source}" for name, (word, source) in unit.evidence.items()),
        "",
    ]
    for row in rows:
        line = f"  {row['name']:18} {_shown(row['predicted'], acc)} {row['title']}"
        if row.get("printed", row["predicted"]) != row["predicted"]:
            line += f"  [published: {row['printed']:#x}]"
        if row.get("hardware", row["predicted"]) != row["predicted"]:
            line += f"  [HARDWARE: {_shown(row['hardware'], acc).strip()}]"
        lines.append(line + (f"  (vacuous: {row['vacuous']})" if "vacuous" in row else ""))
    lines += ["", f"identified from the {data['identified_from']}'s answers:"]
    lines += [f"  {key:14} {' or '.join(values)}" for key, values in summary(found).items()]
    lines += [] if found else ["  no parameter set gives these answers"]
    lines += [f"  {key}: {words}" for key, words in told.items()]
    return Report(data, "\n".join(lines + _finding_lines([finding.to_dict() for finding in findings])))


def path_report(compared: Comparison, arch: str) -> Report:
    """Where the two paths part, and the counts per block."""
    data: dict[str, Any] = {"command": "numerics path", "arch": arch, **compared.to_dict()}
    lines = [
        *_parting(compared, f" on {arch}"),
        f"  out of tolerance (rtol {compared.rtol:g}, atol {compared.atol:g}): "
        + " ".join(map(str, compared.out_of_tolerance)),
        "  not bit-equal: " + " ".join(map(str, compared.bits_differ)),
        f"  rms of the difference over rms of the reference: {compared.rms_difference:.3g}",
        f"  last block: norm of the difference {compared.norm_difference:.4g}, "
        f"relative difference at most {compared.largest_relative:.3g}, mean {compared.mean_relative:.3g}",
    ]
    return Report(data, "\n".join(lines + _finding_lines(data["findings"])))


def confirmation_report(found: Confirmation) -> Report:
    """The counts of `path_report` twice, predicted above measured, one column a block."""
    data: dict[str, Any] = {"command": "numerics path", **found.to_dict()}
    predicted, measured = found.predicted, found.measured
    width = len(str(predicted.outputs_per_block)) + 1
    lines = _parting(predicted)
    for title, one, other in (
        (f"out of tolerance (rtol {predicted.rtol:g}, atol {predicted.atol:g})",
         predicted.out_of_tolerance, measured.out_of_tolerance),
        ("not bit-equal", predicted.bits_differ, measured.bits_differ),
    ):  # fmt: skip
        lines.append(f"  {title}")
        for label, counts in (("predicted", one), ("measured", other)):
            lines.append(f"    {label:10}" + "".join(f"{count:{width}}" for count in counts))
    lines.append(
        "  rms of the difference over rms of the reference: "
        f"predicted {predicted.rms_difference:.3g}, measured {measured.rms_difference:.3g}"
    )
    for chosen, equal in zip((predicted.one, predicted.other), found.equal, strict=True):
        on_gpu = "" if has_dot(chosen) else " (no dot: nothing of it ran on the GPU)"
        lines.append(f"  {chosen.name}: {equal} of {found.outputs} outputs are the model's{on_gpu}")
    return Report(data, "\n".join(lines + _finding_lines(data["findings"])))


def _parting(compared: Comparison, where: str = "") -> list[str]:
    lines = [f"{p.name}: {p}" for p in (compared.one, compared.other)]
    first = compared.first_difference
    if first is None:
        lines.append("the paths are the same")
    else:
        lines.append(f"first difference: step {first[0]}, {first[1]} against {first[2]}")
    return [*lines, f"outputs of {compared.outputs_per_block} a block{where}, by block:"]


_COMPARED = {"kernel": "another such kernel, in any order of k, split or not", "exact": "the exact result"}


def tolerance_report(found: Tolerance) -> Report:
    """The kernel, the bound, the tolerance, what it cannot see, and the verdict on the user's numbers."""
    data: dict[str, Any] = {"command": "numerics tol", **found.to_dict()}
    use, exact = found.suggested, found.suggested_exact
    beside = _COMPARED.get(found.against, found.against)
    lines = [
        f"K = {found.k}, {found.inputs} -> {found.output} on {found.arch}: {found.path}",
        f"  use atol={use['atol']:g} rtol={use['rtol']:g} against {beside}",
    ]
    if found.against != "exact":
        lines.append(f"  against the exact result: atol={exact['atol']:g} rtol={exact['rtol']:g}")
    if found.unit is not None:
        limit = exact_integer_limit(found.unit, found.output)
        lines.append(f"  integer data with sum |a b| <= {limit}: tolerance 0")
    lines += [f"  data: {found.data}", *_unseen(found)]
    model = found.measured
    lines.append(
        f"  model: max error/S {model['max_error_over_S']:.3g}, mean {model['mean_error_over_S']:.3g}, "
        f"rms {model['rms_error']:.3g}; {model['outputs_that_differ']:.1%} of the outputs differ, "
        f"by at most {model['largest_difference']:.3g}; S = sum |a b|"
    )
    if found.formula.startswith("exact"):
        lines.append(f"  any data: {found.formula}")
    elif found.formula:
        lines += [
            "  any data, one chain: off by at most c1 max((S + |exact|) / 2, largest |a b|),",
            f"    {found.formula}",
        ]
    if found.unit is not None:
        lines.append(f"  {found.unit.name}: {', '.join(found.unit.status)}")
    return Report(data, "\n".join(lines + _finding_lines(data["findings"])))


def _unseen(found: Tolerance) -> list[str]:
    """How the user's numbers compare with a step and the bound, and which mistakes a tolerance lets pass."""
    lines, user = [], found.user
    if user is not None:
        lines.append(
            f"  atol={user['atol']:g} rtol={user['rtol']:g}: below one {found.output} step at "
            f"{user['below_one_step']:.0%} of the outputs, below the bound at {user['below_bound']:.0%}"
        )
    block = next(key for key in found.blind if key.startswith("block_of_") and key.count("_") == 2)
    lines.append(
        f"  {'that' if user else 'this'} tolerance hides one skipped k at {found.blind['one_k']:.0%} "
        f"of the outputs, a skipped {block.replace('_', ' ')} at {found.blind[block]:.0%} "
        f"({found.blind[block + '_at_every_output']:.0%} of the blocks at every output)"
    )
    return lines


def attention_report(found: dict[str, Any]) -> Report:
    """A fused attention's error: the model's beside the bound, and what each metric says of it."""
    data = {"command": "numerics attention", **found, "verdict": "legal", "findings": []}
    lines = [
        f"{found['keys']} keys, head dimension {found['head_dim']}: {found['path']}",
        f"  weights: rounding P moves one by at most {found['weights_largest_relative']:.3g} of itself, "
        f"a row's sum by {found['row_sum_off']:.3g}",
        "  outputs, against the exact result rounded to the output's type:",
        f"    relative difference at most {found['largest_relative']:.3g}, mean {found['mean_relative']:.3g}",
        f"    that largest one is at an output of {found['where_largest']:.3g} (typical: {found['rms']:.3g})",
        f"    rms of the difference over rms of the reference: {found['rms_difference']:.3g}",
        f"  largest error {found['largest_error']:.3g}; bound of its output {found['bound_there']:.3g}; "
        f"nearest to its bound: {found['largest_share']:.0%}",
    ]
    return Report(data, "\n".join(lines))


def resources_report(counted: dict[str, Any]) -> Report:
    """Occupancy of one kernel."""
    data = {"command": "resources", **counted, "verdict": "legal", "findings": []}
    known = counted["registers"]
    registers = f"at least {counted['registers_lower_bound']}" if known is None else f"{known}"
    lines = [
        f"{counted['kernel']} on {counted['device']}: {counted['threads']} threads, "
        f"{registers} registers a thread"
        + ("" if known is None else f" (fragments alone: {counted['registers_lower_bound']})"),
        *(f"  {name}: {count} registers" for name, count in counted["fragments"].items()),
        f"  shared memory: {counted['smem_bytes']} B = {counted['smem_bytes'] / 1000:.2f} KB",
        *(f"    {name}: {size} B" for name, size in counted["buffers"].items()),
        *_occupancy_lines(counted),
    ]
    return Report(data, "\n".join(lines))


def _occupancy_lines(counted: dict[str, Any]) -> list[str]:
    resident = f"{many(counted['ctas_per_multiprocessor'], 'CTA')} a multiprocessor"
    waves = f"{many(counted['ctas'], 'CTA')} = "
    if counted["exact"]:
        return [f"  {resident}, limited by {counted['limited_by']}", f"  {waves}{counted['waves']:.2f} waves"]
    return [
        f"  at most {resident}: the compiler's register count decides (--registers)",
        f"  {waves}at least {counted['waves']:.2f} waves",
    ]


def cubin_report(counts: dict[str, int]) -> Report:
    """Registers a thread of compiled kernels."""
    data = {"command": "resources", "registers": counts, "verdict": "legal", "findings": []}
    return Report(data, "\n".join(f"{count:4} registers a thread  {name}" for name, count in counts.items()))
