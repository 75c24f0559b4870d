"""The figures of docs/numerics.md, from the evidence files: no number there is typed by hand.

python -m kernels.numerics.tables          rewrites the part of the page between its two markers
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
START, END = "<!-- figures: python -m kernels.numerics.tables -->", "<!-- end of figures -->"


def figures(
    evidence: dict[str, Any],
    published: dict[str, Any],
    tolerances: dict[str, Any],
    attack: dict[str, Any],
    mmasim: dict[str, Any],
    speed: dict[str, Any],
    scaled: dict[str, Any],
    attention: dict[str, Any],
) -> str:
    """The page's figures as Markdown."""
    lines = [*_tolerances(tolerances), "", *_attack(attack), ""]
    lines += [*_attack_one(scaled, "block-scaled units", "unit", "dot products"), ""]
    lines += [*_attack_one(attention, "attention kernels", "kernel", "outputs"), ""]
    lines += [*_mmasim(mmasim), "", *_speed(speed), ""]
    lines += [
        ", ".join(f"{label}{evidence[key]}" for key, label in MACHINE.items() if key in evidence)
        + f": `{evidence['command']}`.",
        "",
    ]
    for part in (_instructions, _probes, _report_000, _report_001, _torch, _decode):
        lines += [*part(evidence), ""]
    lines += [
        "### Other GPUs",
        "",
        f"Hardware outputs published by Khattak & Mikaitis ({published['source']}): "
        f"**{published['equal']:,} of {published['vectors']:,}** bit-equal, {len(published['sets'])} "
        "data sets of " + ", ".join(dict.fromkeys(row["gpu"] for row in published["sets"])) + ".",
    ]
    return "\n".join(lines)


def _tolerances(found: dict[str, Any]) -> list[str]:
    rows = found["rows"]
    lines = [
        "### Tolerances on a GPU",
        "",
        f"{found['device']}, torch {found['torch']}, triton {found['triton']}, {found['date']}: "
        f"`{found['command']}`. Right kernels of torch and Triton (wgmma; K split, walked "
        f"backwards, promoted), "
        "uniform and normal data, five scales, K = 512 and 4096. Outside: of the printed atol and "
        "rtol against "
        "torch's kernel, of those against the exact result, of each output's own bound. A skipped "
        "block of 64 k "
        "*can* be caught where it moves some output by more than the tolerance and the allowed "
        "errors together.",
        "",
        "| kernels | outputs | outside | exact | own bound | skips | can be caught | of these caught |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for family in dict.fromkeys(row["family"] for row in rows):
        mine = [row for row in rows if row["family"] == family]
        keys = (
            "outputs",
            "outside",
            "outside_exact",
            "outside_own",
            "skips",
            "catchable",
            "catchable_caught",
        )
        counts = " | ".join(f"{sum(row.get(key, 0) for row in mine):,}" for key in keys)
        lines.append(f"| {family} | {counts} |")
    refused = sum("no tolerance" in row for row in rows)
    return [*lines, "", f"{refused} of {len(rows)} cases have no tolerance: their sums may overflow f16."]


def _attack(found: dict[str, Any]) -> list[str]:
    units = found["units"]
    each = max(row["any order"]["vectors"] for row in units.values())
    over = sum(row[bound]["over"] for row in units.values() for bound in row)
    lines = [
        "### The bounds under attack",
        "",
        f"{len(units)} units, {each:,} built and searched dot products each, {found['date']}: "
        f"`{found['command']}`. **{over} above a bound.** The largest error found, as a share of the bound:",
        "",
        "| unit | any order | ascending |",
        "|---|---|---|",
    ]
    for name, row in units.items():
        lines.append(f"| `{name}` | {row['any order']['largest']:.3f} | {row['ascending']['largest']:.3f} |")
    return lines


def _attack_one(found: dict[str, Any], units: str, unit: str, vectors: str) -> list[str]:
    """The table of an attack on one bound each."""
    rows = found["units"]
    each, over = min(row["vectors"] for row in rows.values()), sum(row["over"] for row in rows.values())
    return [
        f"{len(rows)} {units}, {each:,} {vectors} each or more, {found['date']}: `{found['command']}`. "
        f"**{over} above a bound.**",
        "",
        f"| {unit} | largest share of the bound |",
        "|---|---|",
        *(f"| `{name}` | {row['largest']:.3f} |" for name, row in rows.items()),
    ]


def _mmasim(found: dict[str, Any]) -> list[str]:
    kinds: dict[str, list[dict[str, Any]]] = {}
    for label, row in found["units"].items():
        arch, name = label.split(" ")
        kind = name.split(".")[0] + (", block-scaled" if ".mx" in name else ", f64" if ".f64" in name else "")
        kinds.setdefault(f"{arch} {kind}", []).append(row)
    lines = [
        "### Beside mmasim 2.1.1",
        "",
        f"Every unit of PyPI's mmasim for NVIDIA, {found['date']}: `{found['command']}`. Random encodings of "
        "eight kinds: "
        f"**{found['equal']:,} of {found['vectors']:,}** bit-equal. FP8 through `mma.sync` on "
        f"Hopper and sm_100, "
        "which it does not have, is measured here and by others. NaN of f64 count as equal whatever their "
        "bits. It has no integer units.",
        "",
        "| architecture, kind | units | vectors equal |",
        "|---|---|---|",
    ]
    for kind, rows in kinds.items():
        equal, asked = (sum(row.get(key, 0) for row in rows) for key in ("equal", "vectors"))
        lines.append(f"| {kind} | {len(rows)} | {equal:,} / {asked:,} |")
    return lines


def _speed(found: dict[str, Any]) -> list[str]:
    lines = [
        "### Speed",
        "",
        f"A 1024 x 1024 x 1024 GEMM on {found['cpus']} CPU cores, with numba, one run: `{found['command']}`.",
        "",
        "| | wall s | CPU s |",
        "|---|---|---|",
    ]
    for name, row in found.items():
        if isinstance(row, dict):
            lines.append(f"| {name} | {row['wall_s']:.3f} | {row['cpu_s']:.2f} |")
    return lines


def _instructions(evidence: dict[str, Any]) -> list[str]:
    table, gemms = evidence["instructions"], evidence["gemms"]
    equal = sum(ok for row in table.values() for ok, _ in row.values())
    asked = sum(n for row in table.values() for _, n in row.values())
    lines = [
        "### Instructions and whole GEMMs",
        "",
        f"{len(table)} instructions, {asked:,} random vectors: **{equal:,} bit-equal**. "
        f"{len(gemms)} GEMMs of {gemms[0]['m']} x {gemms[0]['n']} x {gemms[0]['k']}: "
        f"**{sum(row['equal'] for row in gemms):,} of {sum(row['outputs'] for row in gemms):,} "
        "outputs bit-equal**.",
        "",
        "| instruction | vectors equal | GEMM outputs equal | mean error / S, uniform data |",
        "|---|---|---|---|",
    ]
    for name, row in table.items():
        mine = [gemm for gemm in gemms if gemm["unit"] == name]
        uniform = next(gemm for gemm in mine if gemm["data"] == "uniform")
        vectors = f"{sum(ok for ok, _ in row.values()):,} / {sum(n for _, n in row.values()):,}"
        outputs = f"{sum(gemm['equal'] for gemm in mine):,} / {sum(gemm['outputs'] for gemm in mine):,}"
        lines.append(f"| `{name}` | {vectors} | {outputs} | {uniform['mean_error_over_S']:.2e} |")
    return lines


def _probes(evidence: dict[str, Any]) -> list[str]:
    found = evidence["probes"]
    lines = [
        "### Parameters identified from the hardware's answers to the probes",
        "",
        "| instruction | probes | not as predicted | block | bits kept | rounding | precision | floor |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in found.items():
        known = {key: " or ".join(values) for key, values in row["identified"].items()}
        floor = known["anchor_floor"] if len(row["identified"]["anchor_floor"]) == 1 else "out of reach"
        cells = [f"`{name}`", row["probes"], len(row["differ"])]
        cells += [known[key] for key in ("block", "fraction_bits", "rounding", "precision")]
        lines.append(f"| {' | '.join(map(str, [*cells, floor]))} |")
    return lines


def _report_000(evidence: dict[str, Any]) -> list[str]:
    found = {key: row for key, row in evidence["report000"].items() if "/" in key}
    lines = [
        "### KV += K^T V five ways (CUTLASS issue 2214), outputs of 4,096 out of tolerance per block",
        "",
        "| paths | predicted | measured |",
        "|---|---|---|",
    ]
    for pair, row in found.items():
        cells = (" ".join(map(str, row[key])) for key in ("predicted", "measured"))
        lines.append(f"| {pair} | {' | '.join(cells)} |")
    return lines


def _report_001(evidence: dict[str, Any]) -> list[str]:
    found = evidence["report001"]
    lines = [
        "### Grouped GEMM (Triton issue 6544)",
        "",
        "| squares | n | equal to the model: grouped, split in 2, torch | split - torch: flips | norm "
        "| least bound / error |",
        "|---|---|---|---|---|---|",
    ]
    for label in ("report", "larger"):
        for row in found[label]["problems"]:
            kinds = [row[kind] for kind in ("grouped", "split 2", "torch")]
            equal = ", ".join("{:,}/{:,}".format(*kind["equal_to_model"]) for kind in kinds)
            least = min(kind["least_bound_over_error"] for kind in kinds)
            other = row["split 2 - torch"]
            lines.append(
                f"| {label} | {row['n']} | {equal} | {other['flips']:,} | {other['norm']:.4g} | {least:.3f} |"
            )
    lines += ["", "The norm is exactly that of the flips, one step of f16 each.", ""]
    for label in ("report", "larger"):
        row = found[label]
        lines.append(
            f"{label.capitalize()} shapes: one grouped launch {row['grouped_ms']:.4f} ms "
            f"({row['grouped_tflops']:.0f} TFLOP/s), torch one by one {row['torch_ms']:.4f} ms "
            f"({row['torch_tflops']:.0f} TFLOP/s)."
        )
    return lines


def _torch(evidence: dict[str, Any]) -> list[str]:
    lines = ["### What torch computes", "", "| call | path | outputs equal |", "|---|---|---|"]
    for call, row in evidence["torch_paths"].items():
        best = max(row["equal"], key=lambda way: row["equal"][way])
        lines.append(f"| {call} | {best} | {row['equal'][best]:,} / {row['outputs']:,} |")
    return lines


def _decode(evidence: dict[str, Any]) -> list[str]:
    found = evidence["decode"]
    lines = [
        "### Decode attention (FlashInfer issue 703: 57 requests, 8192 keys, 32 and 8 heads of 128)",
        "",
        "| kernel | ms | GB/s of K and V | registers | rms error against f64 |",
        "|---|---|---|---|---|",
    ]
    for form in ("scalar", "tensor", "tensor, P in two"):
        row = found[form]
        lines.append(
            f"| {form} | {row['ms']:.3f} | {row['GB_per_s']:.0f} | {row['registers']} "
            f"| {row['rms_error']:.3g} |"
        )
    rounded, kept, predicted = (
        found[key] for key in ("tensor - scalar", "tensor, P in two - scalar", "rounding P, predicted")
    )
    lines += [
        "",
        f"Scalar over tensor: {found['time ratio, scalar / tensor']:.2f} times (the issue: 1.25, on an "
        f"A100); torch's attention: {found['torch sdpa']['ms']:.3f} ms.",
        f"Tensor against scalar: rms {rounded['rms']:.3g} (rounding P alone predicts "
        f"{predicted['rms']:.3g}), mean relative {rounded['mean_relative']:.3g}, "
        f"{rounded['bits_differ']:,} of {rounded['outputs']:,} outputs differ; with P in two f16 numbers "
        f"{kept['bits_differ']:,} (rms {kept['rms']:.3g}): the rounding of P is the difference. "
        f"f16 output rounding alone makes an rms error of {found['f16 output rounding alone, rms']:.3g}.",
    ]
    return lines


def page(text: str) -> str:
    """`text` with the part between the markers replaced by what the evidence says."""
    read = [json.loads((DOCS / "evidence" / name).read_text()) for name in EVIDENCE]
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    return f"{head}{START}\n\n{figures(*read)}\n\n{END}{tail}"


MACHINE = {
    "device": "",
    "driver": "driver ",
    "cuda": "CUDA ",
    "torch": "torch ",
    "nvidia-cutlass-dsl": "nvidia-cutlass-dsl ",
    "numpy": "numpy ",
    "date": "",
}
EVIDENCE = (
    "numerics.json",
    "numerics_published.json",
    "numerics_tolerances.json",
    "numerics_bounds.json",
    "numerics_mmasim.json",
    "numerics_speed.json",
    "numerics_bounds_scaled.json",
    "numerics_bounds_attention.json",
)


def main() -> None:
    file = DOCS / "numerics.md"
    file.write_text(page(file.read_text()))


if __name__ == "__main__":
    main()
