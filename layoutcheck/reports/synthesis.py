"""`layoutcheck synth`: the best plan and why, its program, all plans as a table, and what was searched."""

from __future__ import annotations

from layoutcheck.digits import many
from layoutcheck.errors import InputError
from layoutcheck.findings import json_lines
from layoutcheck.reports.style import Style, aligned
from layoutcheck.synthesis.plans import SEARCH_SECONDS, Plan, Synthesis


def render(found: Synthesis, style: Style, format_: str = "text", shown: int = 1) -> str:
    """The answer; of text, with the program of plan `shown` (0: none). Raises InputError for no such plan."""
    if format_ == "json":
        return json_lines([found.to_dict()])
    if not 0 <= shown <= len(found.plans):
        raise InputError(
            f"there is no plan {shown}", expected=f"--plan 1 to {len(found.plans)}, or 0 for none"
        )
    wanted = found.wanted
    readers = ", ".join(map(str, wanted.consumers))
    first = [
        f"{wanted.title} to {readers}: {wanted.threads} threads, "
        f"{many(wanted.stages, 'stage')}, {wanted.arch}",
        "",
        *style.wrap(found.why),
        "",
        *_layouts(found.plans[max(shown, 1) - 1], max(shown, 1)),
    ]
    code = f"\n{found.plans[shown - 1].code.rstrip()}\n" if shown else ""
    rest = ["", *_table(found), "", *_searched(found)]
    return style.fitted("\n".join(first)) + "\n" + code + style.fitted("\n".join(rest)) + "\n"


def _searched(found: Synthesis) -> list[str]:
    """What has no plan and why, and the space."""
    lines = [f"dropped  {kind}: {reason}" for kind, reason in found.dropped]
    lines += [f"note     {note}" for note in found.notes]
    if found.cut:
        lines.append(f"Cut after {SEARCH_SECONDS:g} s of the processor: there may be better plans.")
    lines.append("Searched until then:" if found.cut else "What was searched:")
    return lines + [f"  - {one}" for one in found.space]


def _table(found: Synthesis) -> list[str]:
    """A row for each plan, * where no other is as good in time, bytes, instructions; then what all have."""
    columns = {
        "cycles": [f"{plan.cycles:,.0f}" for plan in found.plans],
        "smem B": [f"{plan.shared_bytes:,}" for plan in found.plans],
        "instr": [f"{plan.counts.instructions:,}" for plan in found.plans],
        "wavefr": [f"{plan.counts.wavefronts:,}" for plan in found.plans],
        "sectors": [f"{plan.counts.sectors:,}" for plan in found.plans],
    }
    alike = [name for name, column in columns.items() if len({*column}) == 1 < len(column)]
    all_have = "".join(f"; of all: {name} {columns.pop(name)[0]}" for name in alike)
    marks = [f"{n}{'*' * (plan in found.pareto)}" for n, plan in enumerate(found.plans, 1)]
    kinds = [plan.kind for plan in found.plans]
    rows = [("", *columns, "plan"), *zip(marks, *columns.values(), kinds, strict=True)]
    out = aligned(rows, right=range(1, len(columns) + 1))
    return [*out, f"* no other is as good in cycles, shared bytes and instructions together{all_have}"]


def _layouts(plan: Plan, number: int) -> list[str]:
    """The plan's copies: shared memory, then each step with its verdict."""
    lines = [f"plan {number}, {plan.verdict}:"]
    reports, steps = iter(plan.reports), [step for move in plan.steps for step in move]
    width = max([9, *(len(step.role) for step in steps)])
    if plan.shared is not None:
        lines.append(f"  {'shared':{width}} {plan.shared}")
    for step in steps:
        text = "registers, element by element" if step.copy.atom is None else step.copy.atom.phrase
        if next(reports).verdict != plan.verdict:
            text += ", legal"
        if step.split is not None:
            text += f", threads {step.split[0]}, values {step.split[1]}"
        elif step.copy.tiling is not None:
            text += f", {step.copy.tiling.tiled.layout_tv}"
        lines.append(f"  {step.role:{width}} {text}")
    return lines
