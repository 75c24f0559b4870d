"""What a report says of a copy, whatever its form: text and HTML both read it here."""

from __future__ import annotations

from typing import Any

from layoutcheck.algebra.layout import Layout, text
from layoutcheck.check import Fix, Report
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.vectors import contiguous_mode
from layoutcheck.digits import many
from layoutcheck.findings import Finding
from layoutcheck.fixes.draft import thread_value
from layoutcheck.fixes.edit import vector_of

_THREADS = 128  # of a block, where nobody says how many
_COUNTED = ("instructions_per_thread", "smem_wavefronts", "gmem_sectors")
_GOOD = {
    "legal": "accepted, does what the layouts say, and wastes nothing",
    "slow": "accepted and correct, but wasteful",
    "unknown": "not enough is known for an answer",
}


def main_finding(report: Report) -> Finding | None:
    """The finding that the verdict rests on; None where only notes were found."""
    first = report.findings[0] if report.findings else None
    return None if first is None or first.severity == "note" else first


def operands(copy: Copy) -> list[tuple[str, Memref]]:
    """The copy's operands by name: source and destination, then the others that it has."""
    others = (("pred", copy.pred), ("aux", copy.aux), ("index", copy.index))
    return [
        ("src", copy.src),
        ("dst", copy.dst),
        *((name, view) for name, view in others if view is not None),
    ]


def one_thread(copy: Copy, python: bool) -> str:
    """That the operands are taken as one thread's views, and what would make them whole tiles."""
    names, given = (
        ("thr and val", "thr='{}', val='{}'") if python else ("--thr and --val", "--thr '{}' --val '{}'")
    )
    said = f"no {names}: src and dst are taken as the views of one thread. Whole tiles need both"
    fast = contiguous_mode(copy.src.layout)
    if fast is not None and isinstance(copy.atom, ThreadAtom):
        split = thread_value(copy.src.layout, fast, vector_of(copy.atom, copy.src), _THREADS)
        said += f"; of {_THREADS} threads, for instance, {given.format(*split)}" if split else ""
    return said


def facts(finding: Finding, longest: int | None = None) -> list[tuple[str, str]]:
    """The numbers behind a finding, by name; those of more than `longest` characters are left out."""
    return [
        (key.replace("_", " "), _plain(value))
        for key, value in finding.evidence.items()
        if value not in (None, "", (), []) and (longest is None or len(str(value)) <= longest)
    ]


def instructions(fix: Fix) -> str:
    """`4 instructions a thread`; "" where the count is not known."""
    count = fix.predicted.get("instructions_per_thread")
    return f"{many(count, 'instruction')} a thread" if count else ""


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "(" + ",".join(map(_plain, value)) + ")"
    return str(value)


def answers(report: Report) -> list[tuple[str, str]]:
    """What the compiler, the machine and the cost model say, each in a sentence."""
    late = report.verdict == "rejected" and report.compiler.accepted  # refused by a pass after the verifier
    out = [("compiler", _said(report.compiler, late))]
    if report.asked is not None:
        same = report.asked.message and report.asked.message == report.compiler.message
        out.append(("DSL", "says the same, asked itself" if same else _said(report.asked, late)))
    return [*out, ("machine", _machine(report)), ("cost", _cost(report))]


def headline(report: Report) -> str:
    """What is said of a copy in which nothing is found."""
    if report.verdict == "legal" and any(
        report.execution.get(key, 0) > report.execution.get(f"ideal_{key}", 0) for key in _COUNTED
    ):
        return "accepted, does what the layouts say; its cost is above the ideal"
    return _GOOD.get(report.verdict, report.compiler.message or "see below")


def _said(prediction: Prediction, late: bool = False) -> str:
    said = {
        "accepted": "its verifier accepts it, a later pass refuses it" if late else "accepts it",
        "rejected": "rejects it",
        "aborts": "crashes on it",
        "unknown": "not known",
    }
    message = f": {prediction.message}" if prediction.message else ""
    return said[prediction.outcome] + message


def _machine(report: Report) -> str:
    wrong = [finding for finding in report.findings if finding.severity == "wrong"]
    if wrong:
        return f"does not do what the layouts say: {', '.join(dict.fromkeys(one.code for one in wrong))}"
    if report.verdict == "rejected":
        return "never reached"
    if report.verdict == "unknown" or not report.execution:
        return "not known"
    return "does what the layouts say"


def _cost(report: Report) -> str:
    execution = report.execution
    if report.verdict == "rejected":
        return "none: nothing runs"
    if not execution:
        return "not known"
    operations = execution.get("operations")
    parts = [f"{count} x {name}" for name, count in operations.items()] if operations else []
    if not parts:
        count = execution.get("instructions_per_thread")
        parts = [f"{many(int(count or 0), 'instruction')} of {execution.get('width_bits')} bits"]
    alone = report.copy.atom is not None and report.copy.atom.by_engine
    text = " + ".join(parts) + (", issued by one thread" if alone else " a thread")
    ideal = execution.get("ideal_instructions_per_thread")
    if ideal is not None and ideal != execution.get("instructions_per_thread"):
        text += f" (ideal: {ideal})"
    for key, label in (("smem_wavefronts", "shared-memory wavefronts"), ("gmem_sectors", "global sectors")):
        if execution.get(key):
            best = execution.get(f"ideal_{key}")
            text += f"; {execution[key]} {label}" + (f" (ideal: {best})" if best is not None else "")
    return text


def mode_spans(layout: Layout, path: tuple[int, ...]) -> list[tuple[int, int]]:
    """The spans of the mode at `path` in `str(layout)`: its extent and its stride.

        ((8,1),(1,4)):((64,0),(0,16))
          ^              ^^             mode (0, 0)

    A path that leads below a leaf stops at the leaf; one that names no mode gives no span.
    """
    shape = _span(layout.shape, path)
    stride = _span(layout.stride, path)
    if shape is None or stride is None:
        return []
    shift = len(text(layout.shape)) + 1
    return [shape, (stride[0] + shift, stride[1] + shift)]


def _span(tree: Any, path: tuple[int, ...]) -> tuple[int, int] | None:
    """The span of the subtree at `path` within `text(tree)`."""
    start = 0
    for step in path:
        if type(tree) is not tuple:
            break
        if not 0 <= step < len(tree):
            return None
        start += 1 + sum(len(text(before)) + 1 for before in tree[:step])
        tree = tree[step]
    return start, start + len(text(tree))


def underline(spans: list[tuple[int, int]]) -> str:
    """A line of carets under the spans."""
    line = ""
    for start, end in spans:
        line = line.ljust(start) + "^" * (end - start)
    return line
