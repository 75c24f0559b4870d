"""`layoutcheck synth`: the plans as a table, the reasons, the space, and one program."""

from __future__ import annotations

import json
import textwrap

from layoutcheck.errors import InputError
from layoutcheck.findings import SCHEMA_VERSION
from layoutcheck.synthesis.plans import SEARCH_SECONDS, Plan, Synthesis

_WIDTH = 80


def render(found: Synthesis, format_: str = "text", shown: int = 1) -> str:
    """The answer; of text, with the program of plan `shown` (0: none). Raises InputError for no such plan."""
    if format_ == "json":
        return json.dumps({"schema_version": SCHEMA_VERSION, **found.to_dict()}) + "\n"
    if not 0 <= shown <= len(found.plans):
        raise InputError(
            f"there is no plan {shown}", expected=f"--plan 1 to {len(found.plans)}, or 0 for none"
        )
    wanted = found.wanted
    readers = ", ".join(map(str, wanted.consumers))
    lines = [
        f"{wanted.title} to {readers}: {wanted.threads} threads, "
        f"{wanted.stages} stage{'s' * (wanted.stages > 1)}, {wanted.arch}",
        "",
        *_table(found),
        "",
        *textwrap.wrap(found.why, _WIDTH, break_on_hyphens=False),
        "",
        *_layouts(found.plans[max(shown, 1) - 1], max(shown, 1)),
    ]
    for kind, reason in found.dropped:
        lines += _wrapped("dropped  ", f"{kind}: {reason}")
    if found.cut:
        cut = f"Cut after {SEARCH_SECONDS:g} s of the processor: there may be better plans."
        lines += ["", cut, "Searched until then:"]
    else:
        lines += ["", "Searched, and best within it:"]
    for one in found.space:
        lines += _wrapped("  - ", one)
    if shown:
        lines += ["", f"# plan {shown}", found.plans[shown - 1].code.rstrip()]
    return "\n".join(lines) + "\n"


def _table(found: Synthesis) -> list[str]:
    """A row for each plan; * where no other is as good in time, bytes and instructions."""
    head = ("", "plan", "cycles", "smem B", "instr", "wavefr", "sectors")
    rows = [head]
    for n, plan in enumerate(found.plans, 1):
        counts = plan.counts
        rows.append(
            (
                f"{n}{'*' if plan in found.pareto else ''}",
                plan.kind,
                f"{plan.cycles:,.0f}",
                f"{plan.shared_bytes:,}",
                str(counts.instructions),
                str(counts.wavefronts),
                str(counts.sectors),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    out = []
    for row in rows:
        left = "  ".join(cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True))
        right = "  ".join(cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True))
        out.append(f"{left}  {right}")
    out.append("* no other is as good in cycles, shared bytes and instructions together")
    return out


def _layouts(plan: Plan, number: int) -> list[str]:
    """The plan's copies: shared memory, then each step with its verdict."""
    lines = [f"plan {number}, {plan.verdict}:"]
    if plan.shared is not None:
        lines += _wrapped("  shared    ", str(plan.shared))
    reports = iter(plan.reports)
    for step in (step for move in plan.steps for step in move):
        report = next(reports)
        atom = "registers, element by element" if step.copy.atom is None else step.copy.atom.phrase
        text = f"{atom}, {report.verdict}"
        if step.split is not None:
            text += f", threads {step.split[0]}, values {step.split[1]}"
        elif step.copy.tiling is not None:
            text += f", {step.copy.tiling.tiled.layout_tv}"
        lines += _wrapped(f"  {step.role:9} ", text)
    return lines


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(
        head + text, _WIDTH, subsequent_indent=" " * len(head), break_long_words=False, break_on_hyphens=False
    )
