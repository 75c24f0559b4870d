"""What came of `layoutcheck confirm`: verdict, compiler and machine side by side, disagreements loudest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from layoutcheck.findings import json_lines
from layoutcheck.gpu.outcome import Confirmation
from layoutcheck.reports import json as reports_json
from layoutcheck.reports.outcome import Failure
from layoutcheck.reports.style import Style

_NAME, _VERDICT, _COMPILER = 26, 16, 9  # columns of the table; the machine's takes what is left
_ABORTS = re.compile(r"the compiler dies of")


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A whole run: every copy's answers, the machine, inputs that were unusable, and reproducers written."""

    found: Sequence[Confirmation]
    machine: dict[str, Any]
    failures: Sequence[Failure] = ()
    reproducers: dict[int, Path] = field(default_factory=dict)  # by position in `found`
    surprises: Sequence[str] = ()  # registered cases that are not what they are expected to be

    @property
    def status(self) -> int:
        """The exit status: 2 unusable input, 1 a disagreement, 0 neither."""
        wrong = bool(self.surprises) or any(one.disagrees for one in self.found)
        return 2 if self.failures else int(wrong)


def render_json(run: Confirmed, style: Style) -> str:
    """One line of JSON for each copy and each unusable input."""
    lines = [reports_json.to_dict(failure) for failure in run.failures]
    for i, one in enumerate(run.found):
        path = run.reproducers.get(i)
        program = None if path is None else str(path)
        lines.append({"machine": run.machine, **one.to_dict(), "reproducer": program})
    return json_lines(lines, ascii_=style.ascii)


def render(run: Confirmed, style: Style) -> str:
    """The run for eyes: which machine it was, the table, what was not run, and every disagreement."""
    error = style("error", "bold", "red")
    blocks = [[f"{error}: {one.subject}: {one.error}"] for one in run.failures]
    if run.found:
        blocks += [_machine(run, style), _table(run, style), _summary(run, style)]
    blocks += [[f"{style('not as expected', 'bold', 'red')}: {text}" for text in run.surprises]]
    blocks += [_alarm(i, one, run, style) for i, one in enumerate(run.found) if one.disagrees]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _is_gpu(run: Confirmed) -> bool:
    return run.machine.get("name") != "simulator"


def _machine(run: Confirmed, style: Style) -> list[str]:
    """Which of the two happened."""
    machine = run.machine
    if _is_gpu(run):
        version = machine.get("driver")
        driver = f", driver {version // 1000}.{version % 1000 // 10}" if isinstance(version, int) else ""
        said = f"Run on a GPU: {machine['name']} ({machine.get('arch', '?')}{driver})."
    else:
        said = (
            f"Not run on a GPU ({machine.get('why', 'there is none')}). The compiler's own instructions were "
            "executed by the simulator instead."
        )
    lines = style.wrap(said)
    return [style(line, "bold") for line in lines]


def _table(run: Confirmed, style: Style) -> list[str]:
    head = f"{'copy':{_NAME}}{'verdict':{_VERDICT}}{'compiler':{_COMPILER}}"
    head += "GPU" if _is_gpu(run) else "simulator"
    rows = Counter(_row(one, style) for one in run.found)  # copies of one line that fare alike are told once
    times = (f"{row}  (x{count})" if count > 1 else row for row, count in rows.items())
    return [style(head, "bold"), *times]


def _row(one: Confirmation, style: Style) -> str:
    name = one.name if len(one.name) < _NAME else "..." + one.name[4 - _NAME :]
    code = f" {one.codes[0]}" if one.codes else ""
    verdict = f"{one.verdict}{code}"
    compiler = said_by_compiler(one)
    padding = " " * max(1, _VERDICT - len(verdict))
    line = f"{name:{_NAME}}{style.verdict(one.verdict)}{code}{padding}"
    compiled = f"{compiler:{_COMPILER}}"
    if one.compiler_agrees is False:
        compiled = style(compiled, "bold", "red")
    observed = done_by_machine(one)
    return line + compiled + (style(observed, "bold", "red") if one.disagrees else observed)


def said_by_compiler(one: Confirmation) -> str:
    """The compiler's answer in a word."""
    if one.compiler == "accepted":
        return "accepts"
    return "aborts" if _ABORTS.search(one.compiler) else "rejects"


def done_by_machine(one: Confirmation) -> str:
    """What the machine did, in a few words."""
    if one.disagrees:
        return "DISAGREES (see below)"
    if one.ran == "nothing":
        return "not run" if one.compiler == "accepted" else "-"
    if one.fault:
        return "faults, as predicted"
    return "does what was asked" if one.as_asked and one.guard_untouched else "corrupts, as predicted"


def _summary(run: Confirmed, style: Style) -> list[str]:
    """How many agree, and why some did not run."""
    ran = [one for one in run.found if one.ran != "nothing"]
    where = "the GPU" if _is_gpu(run) else "the simulator"
    many = "copy" if len(run.found) == 1 else "copies"
    agree = sum(one.agrees is True for one in ran)
    bad = sum(one.disagrees for one in run.found)
    parts = [f"{len(run.found)} {many}", f"{len(ran)} run on {where}, {agree} as predicted"]
    refused = sum(one.compiler != "accepted" for one in run.found)
    if refused:
        parts.append(f"{refused} refused by the compiler")
    text = "; ".join(parts) + (f"; {bad} in disagreement." if bad else "; no disagreement.")
    lines = style.wrap(text)
    notes = Counter(one.note for one in run.found if one.ran == "nothing" and one.compiler == "accepted")
    for note, count in notes.most_common():
        lines += style.wrap(f"not run: {count} x {note}", "  ")
    return lines


def _alarm(i: int, one: Confirmation, run: Confirmed, style: Style) -> list[str]:
    """A disagreement, in full."""
    bar = "=" * min(style.width, 80)
    machine = run.machine.get("name", "machine") if one.agrees is False else "compiler"
    lines = [bar, *style.wrap(f"DISAGREEMENT: layoutcheck and the {machine} differ on {one.name}")]
    codes = f" ({', '.join(one.codes)})" if one.codes else ""
    lines += style.wrap(f"verdict: {one.verdict}{codes}", "      ", "  ")
    lines += style.wrap(f"compiler: {one.compiler}", "      ", "  ")
    if one.ran != "nothing":
        lines += style.wrap(f"expected: {one.expected_fault or 'no fault'}", "      ", "  ")
        lines += style.wrap(f"observed: {one.fault or 'no fault'}, {_compared(one)}", "      ", "  ")
    if one.first:
        analysis = ", ".join(f"{key} {value}" for key, value in one.first.items())
        lines += style.wrap(f"first differing unit of the destination: {analysis}", "      ", "  ")
    if i in run.reproducers:
        lines.append(f"  reproducer: {run.reproducers[i]}")
    lines += style.wrap("The machine is right: please report it with the reproducer.", "      ", "  ")
    lines.append(bar)
    return [style(line, "bold", "red") for line in lines]


def _compared(one: Confirmation) -> str:
    said = {True: "as", False: "not as", None: "not known whether as"}
    guard = {True: "untouched", False: "overwritten", None: "not compared"}[one.guard_untouched]
    return (
        f"destination {said[one.as_predicted]} predicted and {said[one.as_asked]} the layouts ask, "
        f"memory around it {guard}"
    )
