"""The figures of docs/numerics-measured.md, from the evidence files: no number there is typed by hand.

python -m kernels.numerics.tables          rewrites the part of the page between its two markers
"""

from __future__ import annotations

import json
from collections.abc import Iterable
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
    scaled: dict[str, Any],
    attention: dict[str, Any],
) -> str:
    """The page's figures as Markdown."""
    machine = ", ".join(f"{label}{evidence[key]}" for key, label in MACHINE.items() if key in evidence)
    lines = [
        f"{machine}, if nothing else is said. [All runs](evidence.md) has the files; each names its command.",
        "",
    ]
    for part in (_instructions, _report_000, _report_001, _torch, _decode):
        lines += [*part(evidence), ""]
    lines += [*_tolerances(tolerances), "", *_attack(attack, scaled, attention), "", *_mmasim(mmasim), ""]
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
        "Right kernels of torch and Triton (wgmma; K split, walked backwards, promoted), uniform and normal "
        f"data, five scales, K = 512 and 4096; triton {found['triton']}, {found['date']}. *Outside*: outputs "
        "outside of the printed atol and rtol against torch's kernel, *exact*: of those against the exact "
        "result, *own bound*: of each output's own. A skipped block of 64 k *can* be caught if it moves some "
        "output by more than the tolerance and the allowed errors together.",
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


def _attack(found: dict[str, Any], scaled: dict[str, Any], attention: dict[str, Any]) -> list[str]:
    """How near the worst inputs came to each bound, by architecture."""
    units = found["units"]
    each = max(row["any order"]["vectors"] for row in units.values())
    others = [*scaled["units"].values(), *attention["units"].values()]
    over = sum(row[bound]["over"] for row in units.values() for bound in row)
    over += sum(row["over"] for row in others)
    least = min(row["vectors"] for row in others)
    lines = [
        "### The bounds under attack",
        "",
        "Dot products and attention outputs, built and searched to break a bound, at least "
        f"{min(each, least):,} for each unit, {found['date']}. **{over} above a bound.** The largest errors "
        "found, as a share of the bound:",
        "",
        "| bound | units | any order of k | ascending k |",
        "|---|---|---|---|",
    ]
    for arch in dict.fromkeys(name.split(" ")[1] for name in units):
        mine = [row for name, row in units.items() if name.endswith(f" {arch}")]
        shares = [_span(row[bound]["largest"] for row in mine) for bound in ("any order", "ascending")]
        lines.append(f"| {arch} | {len(mine)} | {' | '.join(shares)} |")
    for kind, run in (("block-scaled", scaled), ("attention", attention)):
        largest = _span(row["largest"] for row in run["units"].values())
        lines.append(f"| {kind} | {len(run['units'])} | {largest} | |")
    return lines


def _span(shares: Iterable[float]) -> str:
    ordered = sorted(shares)
    return " to ".join(dict.fromkeys(f"{share:.3f}" for share in (ordered[0], ordered[-1])))


def _mmasim(found: dict[str, Any]) -> list[str]:
    architectures = ", ".join(dict.fromkeys(label.split(" ")[0] for label in found["units"]))
    return [
        "### Beside mmasim 2.1.1",
        "",
        f"Every unit of PyPI's mmasim for NVIDIA ({len(found['units'])}, of {architectures}), "
        f"{found['date']}, random encodings of eight kinds: **{found['equal']:,} of {found['vectors']:,}** "
        "bit-equal. It has no integer units, and no FP8 through `mma.sync` on Hopper and sm_100, which is "
        "measured here and by others. NaN of f64 count as equal whatever their bits.",
    ]


def _instructions(evidence: dict[str, Any]) -> list[str]:
    table, gemms, probes = evidence["instructions"], evidence["gemms"], evidence["probes"]
    kinds: dict[str, list[str]] = {}
    for name in table:
        instruction, _, result, *inputs = name.split(".")
        eights = any(each in ("e4m3", "e5m2") for each in inputs)
        kinds.setdefault(f"{instruction}, {'FP8' if eights else 'f16, bf16, tf32'} into {result}", []).append(
            name
        )
    asked = sum(row["probes"] for row in probes.values())
    differ = sum(len(row["differ"]) for row in probes.values())
    lines = [
        "### Instructions, whole GEMMs and probes",
        "",
        f"{len(table)} instructions, random vectors, and {len(gemms)} GEMMs of {gemms[0]['m']} x "
        f"{gemms[0]['n']} x {gemms[0]['k']}. Of {asked:,} probes {differ} were not answered as "
        "predicted.",
        "",
        "| instructions | | vectors equal | GEMM outputs equal | mean error / S, uniform data |",
        "|---|---|---|---|---|",
    ]
    for kind, names in kinds.items():
        equal, vectors = (sum(pair[at] for name in names for pair in table[name].values()) for at in (0, 1))
        mine = [gemm for gemm in gemms if gemm["unit"] in names]
        right, outputs = (sum(gemm[key] for gemm in mine) for key in ("equal", "outputs"))
        uniform = (gemm["mean_error_over_S"] for gemm in mine if gemm["data"] == "uniform")
        means = [f"{mean:.2e}" for mean in sorted(uniform)]
        cells = [kind, len(names), f"{equal:,} / {vectors:,}", f"{right:,} / {outputs:,}"]
        cells.append(" to ".join(dict.fromkeys((means[0], means[-1]))))
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return [*lines, "", *_probes(probes)]


def _probes(found: dict[str, Any]) -> list[str]:
    """The parameters that the answers identify, and the instructions that have them."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, row in found.items():
        known = {key: " or ".join(values) for key, values in row["identified"].items()}
        floor = known["anchor_floor"] if len(row["identified"]["anchor_floor"]) == 1 else "out of reach"
        keys = ("block", "fraction_bits", "rounding", "precision")
        groups.setdefault((*map(known.__getitem__, keys), floor), []).append(name)
    return [
        "The parameters that the answers to the probes identify:",
        "",
        "| block | bits kept | rounding | precision | floor | instructions |",
        "|---|---|---|---|---|---|",
        *(
            f"| {' | '.join(key)} | {', '.join(f'`{name}`' for name in names)} |"
            for key, names in groups.items()
        ),
    ]


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
    "numerics_bounds_scaled.json",
    "numerics_bounds_attention.json",
)


def main() -> None:
    file = DOCS / "numerics-measured.md"
    file.write_text(page(file.read_text()))


if __name__ == "__main__":
    main()
