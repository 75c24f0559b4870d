"""The figures of docs/synthesis.md about the predicted order of plans, from docs/evidence/."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from benchmarks.synthesis_plans import matches
from docs.figures import WIDTH, read, with_figures


def with_paces(text: str) -> str:
    """The page with its figures."""
    return with_figures(text, "paces", _figures)


def _figures() -> str:
    fitted, ran = read("synthesis_pace"), read("synthesis")
    plans, fresh = fitted["plans"], ran["plans"]
    requests = {(row["seed"], json.dumps(row["request"])) for row in plans}
    right = sum(row.get("wrong") == 0 for row in fresh)
    seen = [row for row in fresh if row["counted"]]
    exact = sum(matches(row) for row in seen)
    under = sum(row["guarded"] for row in seen)
    error, again = 100 * fitted["error"], min(ran["tau_repeated"].values())
    paragraphs = (
        f"{len(plans):,} plans of {len(requests)} requests ran on an H200 ([evidence](evidence.md)); half of "
        f"the times are within {error:.0f} % of the predicted. The order is judged by the pairs of plans of "
        "one request whose times are more than 5 % apart, and by seeds that ran after the model was done:",
        f"All plans together have a tau of {fitted['all']:.2f} with `--compiled`. Measured again, the plans "
        f"of these seeds have the same order (tau {again:.1f}). So the order is a good guess, less good "
        "without the compiler: measure the first few.",
        f"Of the {len(fresh)} plans of these seeds, {right} moved the right bits, and {exact} of {len(seen)} "
        f"had the counters as predicted, {under} of them without the wavefronts of `cp.async`, which ncu "
        "counts in another way under a predicate. Where both sides of a `cp.async` conflict, the count is a "
        "lower bound.",
    )
    first, *others = (textwrap.fill(one, WIDTH, break_on_hyphens=False) for one in paragraphs)
    return "\n".join(("", first, "", _table(ran), *(f"\n{one}" for one in others), "", ""))


def _table(ran: dict[str, Any]) -> str:
    lines = ["| seed | pairs | Kendall's tau, `--compiled` | without |", "| --- | --- | --- | --- |"]
    for seed, pairs in ran["pairs"].items():
        lines.append(f"| {seed} | {pairs} | {ran['tau'][seed]:.2f} | {ran['tau_expected'][seed]:.2f} |")
    return "\n".join(lines)
