"""A report for eyes.

The verdict and why, the copy with the offending mode underlined, the vector as bytes, the three answers,
and the fixes. 80 columns; colour adds nothing that is not also said in words.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.algebra.notation import print_tiler
from layoutcheck.check import Fix, Report
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.findings import Finding, Where, shortened
from layoutcheck.reports.drawing import differs, draw
from layoutcheck.reports.outcome import Explained, Message, Outcome
from layoutcheck.reports.style import Style
from layoutcheck.reports.told import (
    answers,
    facts,
    headline,
    instructions,
    main_finding,
    mode_spans,
    one_thread,
    operands,
    underline,
)
from layoutcheck.sources.request import ONE_THREAD


def render(outcomes: Sequence[Outcome], style: Style) -> str:
    """The outcomes one below the other, as text that ends with a line break."""
    blocks = ["\n".join(_block(outcome, style)) for outcome in outcomes]
    return "\n\n".join(blocks) + "\n"


def _block(outcome: Outcome, style: Style) -> list[str]:
    if isinstance(outcome, Report):
        return _report(outcome, style)
    if isinstance(outcome, Message):
        return _message(outcome, style)
    if isinstance(outcome, Explained):
        return _explained(outcome, style)
    return [f"{style('error', 'bold', 'red')}: {outcome.subject}: {outcome.error}"]


def _message(message: Message, style: Style) -> list[str]:
    """A compiler error of which only the message is known."""
    found = message.diagnostic
    main = message.findings[0] if message.findings else None
    lines = _headline(message.verdict, main, "the compiler refuses this copy", style)
    if found.location:
        lines.append(style(f"  --> {found.location}", "blue"))
    said = f"compiler{f' (DSL {found.dsl})' if found.dsl else ''}: {found.message}"
    lines += ["", *style.wrap(said, "    ", "  ")]
    if main:
        lines += ["", *style.wrap(main.message, "  ")]
    lines += ["", *style.wrap(f"to know more: {message.missing}", "    ", "  ")]
    return lines


def _explained(outcome: Explained, style: Style) -> list[str]:
    """An error of the catalogue: what it is, where, why, and what repairs it."""
    answer = outcome.answer
    main = outcome.findings[0] if answer.entry.rule else None
    lines = _headline(outcome.verdict, main, answer.title, style, outcome.called)
    if answer.place:
        lines.append(style(f"  --> {answer.place}", "blue"))
    lines += ["", *style.wrap(f"said: {answer.quote}", "    ", "  ")] if answer.quote else []
    lines += ["", *style.wrap(answer.cause, "  ")]
    if answer.facts:
        lines += [
            "",
            "  found:",
            *(line for fact in answer.facts for line in style.wrap(fact, "      ", "    ")),
        ]
    return [
        *lines,
        *(["", *style.wrap(f"what helps: {answer.remedy}.", "    ", "  ")] if answer.remedy else []),
    ]


def _report(report: Report, style: Style) -> list[str]:
    main = main_finding(report)
    lines = _headline(report.verdict, main, headline(report), style)
    if report.subject:
        lines += [style(line, "blue") for line in style.wrap(report.subject, "      ", "  --> ")]
    if ONE_THREAD in report.assumptions and report.verdict != "legal":
        lines += style.wrap(one_thread(report.copy, style.python), "      ", "  ")
    lines += ["", *_copy(report.copy, main, style)]
    if main:
        lines += ["", *style.wrap(shortened(main.message), "  ")]
        lines += _evidence(main, style) if style.everything else []
    if report.drawing and report.verdict in ("wrong", "rejected") and differs(report.drawing):
        verb = "would move" if report.verdict == "rejected" else "moves"
        lines += ["", *draw(report.drawing, style, verb)]
    others = [finding for finding in report.findings if finding is not main]
    if others:
        lines.append("")
        for finding in others:
            lines += _also(finding, style)
    lines += ["", *_answers(report, style)]
    if report.assumptions:
        lines += ["", *style.wrap(f"assumed: {'; '.join(report.assumptions)}", "           ", "  ")]
    lines += _fixes(report, style)
    return lines


def _headline(verdict: str, main: Finding | None, reason: str, style: Style, called: str = "") -> list[str]:
    """The verdict, or what it is `called`, and what is said first."""
    code = f"[{main.code}]" if main else ""
    called = called or verdict
    lines = style.wrap(main.title if main else reason, "  ", f"{called}{code}: ")
    lines[0] = style.verdict(verdict, called) + style(lines[0][len(called) :], "bold")
    return [lines[0], *(style(line, "bold") for line in lines[1:])]


def _named(name: str, rest: str, style: Style) -> list[str]:
    """A copy's name, bold where it fits one line, and what is said of it."""
    first, *more = style.wrap(name + rest, "    ", "  ")
    return [first.replace(name, style(name, "bold"), 1), *more]


def _copy(copy: Copy, main: Finding | None, style: Style) -> list[str]:
    """The copy as it was understood; under the layout a finding is about, its mode."""
    name = copy.atom.phrase if copy.atom is not None else f"cute.{copy.op}"
    if copy.atom is not None and copy.op != "copy":
        name += f" by cute.{copy.op}"
    tiling = copy.tiling
    if tiling is not None:
        threads = "" if tiling.block_threads is None else f", {tiling.block_threads} threads launched"
        lines = [*_named(name, f", {copy.arch}{threads}", style), "  whole tiles:"]
        lines += _operand("src", tiling.src, None, style) + _operand("dst", tiling.dst, None, style)
        lines += style.wrap(
            f"TV {tiling.tiled.layout_tv} over {print_tiler(tiling.tiled.tiler)}", "         ", "    "
        )
        lines += ["  a thread's views:"]
    else:
        lines = _named(name, f", {copy.arch}", style)
    where = main.where if main else Where()
    for side, memref in operands(copy):
        lines += _operand(side, memref, where, style)
    if copy.tma is not None:
        from layoutcheck.atoms.tma.summary import lines as of_tma  # other copies start without it

        for word, text in of_tma(copy):
            lines += style.wrap(text, "         ", f"    {word:4} ")
    if copy.cluster is not None:
        lines += style.wrap(str(copy.cluster), "         ", "    ")
    return lines


def _operand(name: str, memref: Memref, where: Where | None, style: Style) -> list[str]:
    if isinstance(memref, OtherOperand):
        return style.wrap(memref.text, "         ", f"    {name:4} ")
    align = f"align {memref.proved_align_bytes}"
    swizzle = f" {memref.swizzle}" if memref.swizzle is not None else ""
    head, indent = f"    {name:4} {memref.dtype} {memref.space} {align}{swizzle}", "         "
    layout, marks = str(memref.layout), ""
    if where is not None and where.operand == name and where.mode is not None:
        marks = underline(mode_spans(memref.layout, where.mode))
    if len(head) + 2 + len(layout) <= style.width:
        lines, rows, indent = [], [f"{head}  {layout}"], " " * (len(head) + 2)
    else:
        lines, rows = style.wrap(head.strip(), indent, "    "), style.wrap(layout, indent)
    for row in rows:
        lines.append(row)
        under, marks = marks[: len(row) - len(indent)], marks[len(row) - len(indent) :]
        if under.strip():
            lines.append(indent + style(under, "bold", "red"))
    return lines


def _evidence(finding: Finding, style: Style) -> list[str]:
    """The numbers behind a finding, which its message has in a sentence."""
    shown = [f"{key} {value}" for key, value in facts(finding)]
    lines = style.wrap(", ".join(shown), "    ", "  = ") if shown else []
    return [style(line, "dim") for line in lines]


def _also(finding: Finding, style: Style) -> list[str]:
    colour = {"wrong": "red", "rejected": "red", "slow": "yellow", "unknown": "magenta"}.get(
        finding.severity, "blue"
    )
    head = f"{finding.severity}[{finding.code}]: "
    lines = style.wrap(finding.title, "    ", f"  {head}")
    lines[0] = "  " + style(head, colour) + lines[0][len(head) + 2 :]
    return [*lines, *style.wrap(finding.message, "    ")] if style.everything else lines


def _answers(report: Report, style: Style) -> list[str]:
    """Compiler, machine, cost: a line each."""
    lines = []
    for name, said in answers(report):
        lines += style.wrap(said, " " * 12, f"  {name:<9} ")
    return [style(line[:12], "bold") + line[12:] for line in lines]


def _fixes(report: Report, style: Style) -> list[str]:
    if not report.fixes:
        main = main_finding(report)  # whose title stands above
        why = (report.obstacle or "").removesuffix(f": {main.title}" if main else "")
        return ["", *style.wrap(f"no fix: {why}", "    ", "  ")] if why else []
    head = "fixes, best first"
    where = "report.fixes" if style.python else "--all"
    hint = "" if style.everything or len(report.fixes) == 1 else f" (the code of all of them: {where})"
    first, *more = style.wrap(head + hint, "    ", "  ")
    lines = ["", style(f"  {head}", "bold") + style(first[2 + len(head) :], "dim")]
    lines += [style(line, "dim") for line in more]
    for number, fix in enumerate(report.fixes, start=1):
        lines += _fix(number, fix, style)
    return lines


def _fix(number: int, fix: Fix, style: Style) -> list[str]:
    """A fix: its strategy, what it costs, what it does, and (of the best one) its code."""
    confirmed = [name for name in fix.confirmed_by if name != "model"]
    by = [f"confirmed by {' and '.join(confirmed)}"] if confirmed else []
    facts_of = ", ".join(said for said in (fix.verdict, instructions(fix), *by) if said)
    said = f"{fix.strategy} ({facts_of}): {fix.title}" + (f"; {fix.note}" if fix.note else "")
    said += f"; a sketch: {fix.sketch}" if fix.sketch else ""
    lines = style.wrap(said, "     ", f"  {number}. ")
    lead = len(f"  {number}. {fix.strategy}")
    lines[0] = style(lines[0][:lead], "bold") + lines[0][lead:]
    if number == 1 or style.everything:
        lines += [style(line, "dim") for line in style.wrap(_changes(fix, style), "         ", "       ")]
        code = fix.code.strip("\n").split("\n")
        lines += [f"       {style(line, 'cyan')}" if line else "" for line in code]
    return lines


def _changes(fix: Fix, style: Style) -> str:
    """What the fix changes: tensors from what to what, the rest by name unless everything is asked for."""
    parts = [
        f"{change.argument} {change.before} -> {change.after}"
        if style.everything or change.argument.startswith(("src ", "dst "))
        else change.argument
        for change in fix.changes
    ]
    return f"changes {', '.join(parts)}"
