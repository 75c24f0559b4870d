"""A trace for eyes and for machines: what is wrong, place by place as `explain` says it, and the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from layoutcheck.check import Report
from layoutcheck.digits import many
from layoutcheck.dsl.lowered.judged_blocks import LOADED
from layoutcheck.findings import SEVERITIES, json_lines, rank
from layoutcheck.gate import NO_GATE, Gate
from layoutcheck.patching.causes import Cause, others
from layoutcheck.reports import order, text
from layoutcheck.reports.groups import SHOWN, Group, grouped
from layoutcheck.reports.located import Located
from layoutcheck.reports.order import alike, of_causes
from layoutcheck.reports.style import Style
from layoutcheck.sources.callers import called_from, shown
from layoutcheck.sources.traced import (
    UNCOMPILED,
    Distinct,
    KernelFinding,
    KernelPlace,
    Trace,
    TraceFailure,
    address_sources,
    in_lines,
)

_WORST_FIRST = (*SEVERITIES, "legal")
_COMPILED = ("legal", "slow")  # what only holds for copies of kernels that compile
_MOST_REASONS = 8
_NO_LAUNCH = ": the launch fails: "
_CONTENTS = "; calls with torch's integers, at most 4,096 a tensor, in place of fake ones tell what it loads"
_LESS_SHARED = (
    "A tile, its stages, or what stands beside them has to be smaller: `layoutcheck resources` counts"
)
_HEADED = ("said: ", "found: ", "what helps: ")
_MOST_WORDS = 600  # characters of the compiler's own


@dataclass(frozen=True, slots=True)
class JudgedTrace:
    """A trace, the report on each different copy (None: its types cannot be read), and root causes."""

    trace: Trace
    reports: Sequence[tuple[Distinct, Report | None]]
    causes: Sequence[Cause] = ()

    def verdicts(self) -> Counter[str]:
        """Copies by verdict."""
        found: Counter[str] = Counter()
        for one, report in self.reports:
            verdict = report.verdict if report is not None else "unknown"
            found["unknown" if one.first.uncompiled and verdict in _COMPILED else verdict] += one.count
        return found

    def groups(self, everything: bool = False) -> list[Group]:
        """Its copies, each alone or by what is found of them alike."""
        blamed = {n for cause in self.causes for n in cause.copies}
        return grouped(self.reports, range(len(self.reports)) if everything else blamed)

    def causes_of(self, verdict: str) -> tuple[int, int]:
        """How many different copies have it, and of how many causes."""
        spared = others(self.causes)
        found = [group for group in self.groups() if verdict == (group.report and group.report.verdict)]
        copies = sum(verdict == (report and report.verdict) for _, report in self.reports)
        return copies, sum(group.number not in spared for group in found)

    @property
    def uncompiled(self) -> tuple[TraceFailure, ...]:
        """What the compiler says of kernels that it does not compile."""
        return tuple(one for one in self.trace.failures if one.kind in UNCOMPILED)

    @property
    def broken(self) -> tuple[TraceFailure, ...]:
        """What else kept kernels from being seen."""
        return tuple(one for one in self.trace.failures if one.kind not in UNCOMPILED)

    def unseen(self, gate: Gate) -> list[str]:
        """What the gate asks for and was not seen; after SIGTERM that, whatever the gate asks for."""
        copies = self.trace.copies
        ended = [one.message for one in self.broken if one.kind == "ended"]
        types = sum(one.address_source == "types" and one.refused is None for one in copies)
        failed = len(self.broken)
        kernels = len(self.trace.kernels) + len(self.uncompiled)
        skipped = len(self.trace.skipped)
        return ended + gate.unseen(failed, kernels, types, len(copies) - types, len(copies), skipped)


def render(judged: JudgedTrace, style: Style, gate: Gate = NO_GATE) -> str:
    """The findings, worst first and then by file and line, the counts, and what the `gate` misses."""
    blocks = [("rejected", "\n".join(_refused(one, style)) + "\n") for one in judged.uncompiled]
    firsts = {cause.copies[0]: cause for cause in judged.causes}
    suffering = {} if style.everything else others(judged.causes)
    for group in judged.groups(style.everything):
        n, report = group.number, group.report
        if n in firsts:
            blocks.append(
                (report.verdict if report else "unknown", "\n".join(_cause(firsts[n], judged, style)) + "\n")
            )
        if n not in suffering and report is not None and (report.verdict in SHOWN or style.everything):
            blocks.append((report.verdict, text.render([replace(report, subject=group.subject)], style)))
    blocks += [(severity, "\n".join(lines)) for severity, lines in order.render(judged.trace.told, style)]
    blocks.sort(key=lambda one: _WORST_FIRST.index(one[0]))
    missed = [
        line for reason in judged.unseen(gate) for line in style.wrap(f"not seen: {reason}", "    ", "  ")
    ]
    return "\n".join([*(block for _, block in blocks), "\n".join([*counted(judged, style), *missed]) + "\n"])


def _cause(cause: Cause, judged: JudgedTrace, style: Style) -> Iterator[str]:
    """The statement's line first, then the copies that suffer from it; the first one's report follows."""
    place = f"{shown(cause.where.file)}:{cause.where.line}"
    yield style("cause", "bold", "red") + style(f": {place}: {cause.text}", "bold")
    yield f"  {len(cause.copies)} copies fail and come from this statement:"
    for said, count in Counter(_brief(*judged.reports[n]) for n in cause.copies).items():
        yield from style.wrap(f"{said}{f' ({count} copies)' * (count > 1)}", "      ", "    ")


def _brief(one: Distinct, report: Report | None) -> str:
    assert report is not None
    title = report.findings[0].title if report.findings else report.compiler.message
    return f"{shown(one.first.where.file)}:{one.first.where.line}: {report.verdict}: {title}"


def _refused(one: TraceFailure, style: Style) -> Iterator[str]:
    """A kernel that does not compile, as a finding: the compiler's words, and what they mean if known."""
    finding, told = refusal(one), _told(one)
    first = style.verdict("rejected") + style(f"[{finding.code}]: ", "bold")
    yield from style.wrap(style(finding.title, "bold"), "  ", first)
    if finding.path:
        through = called_from(one.stack, one.where)
        place = f"{finding.path}:{finding.line}{f':{finding.column}' if finding.column else ''}"
        yield from style.wrap(f"{place}{f' ({through})' * bool(through)}", "      ", "  --> ")
    for part in told.parts:
        yield ""
        yield from style.wrap(part, "    " if part.startswith(_HEADED) else "  ", "  ")


def failed(failure: TraceFailure) -> str:
    """What kept kernels from being seen, in a line."""
    lines = failure.message.strip().splitlines() or [""]
    place = f"{failure.where}: " if failure.where else ""
    return f"{failure.kind}: {place}{lines[0]}"


def meaning(failure: TraceFailure) -> str:
    """What an exception on the host means, as a pasted one is answered; "" where it is not known."""
    from layoutcheck.catalogue import answers
    from layoutcheck.catalogue.entry import CLEAN, UNKNOWN
    from layoutcheck.lint.cases import missing

    if failure.kind != "raised":
        return ""
    if absent := missing(failure.message, failure.where.file if failure.where else "."):
        return absent.rstrip()
    known = answers(failure.message)
    told = [one for one in known[:1] if not one.entry.general and one.entry.level not in (CLEAN, UNKNOWN)]
    found = "".join(f" Found: {fact}." for one in told for fact in one.facts[:1])
    return "".join(f"{one.title}. {one.cause}{found} What helps: {one.remedy}." for one in told)


def refusal(one: TraceFailure) -> Located:
    """What the compiler says of a kernel, at its line."""
    told, place = _told(one), ("", 0, 0) if one.where is None else order.spot(one.where)
    return Located(told.code, "rejected", told.title, " ".join(told.parts), *place)


class _Told(NamedTuple):
    """What is told of a kernel that the compiler refuses; its `parts` are paragraphs."""

    code: str
    title: str
    parts: tuple[str, ...]


def _told(one: TraceFailure) -> _Told:
    """What a refusal means: by the words of one copy's verifier, by the catalogue, else in its own words."""
    from layoutcheck.sources.messages import explain
    from layoutcheck.sources.other_errors import python_errors

    words = " ".join(one.message.split())
    kernel, limit, said = words.partition(_NO_LAUNCH)
    if limit:  # of our own counting
        return _Told("LC100", f"{limit[2:]}{said}", (f"The kernel is {kernel}. {_LESS_SHARED}.",))
    copied = next(filter(None, (explain(said) for said, _ in python_errors(one.message))), None)
    if copied:
        return _Told(copied.code, copied.title, (f"said: {words[:_MOST_WORDS]}", copied.meaning))
    from layoutcheck.catalogue import answers  # a fifth of a second, which a trace without an error is spared

    known = answers(one.message)
    if not known:
        return _Told("LC100", "the compiler does not compile this kernel", (words,))
    first = known[0]
    quote = words if len(words) <= _MOST_WORDS else first.quote or words[:_MOST_WORDS]
    parts = [f"said: {quote}", first.cause, *(f"found: {fact}" for fact in first.facts)]
    return _Told(first.entry.rule or "LC100", first.title, (*parts, f"what helps: {first.remedy}."))


def render_json(judged: JudgedTrace, style: Style, gate: Gate = NO_GATE) -> str:
    """A line for each different copy, with its report, then one with the counts."""
    lines: list[dict[str, Any]] = []
    for one, report in judged.reports:
        first = one.first
        seen = {
            "where": asdict(first.where),
            "stack": [asdict(frame) for frame in first.stack],
            "operation": first.operation,
            "count": one.count,
            "kernels": list(one.kernels),
            "arch": first.arch,
            "picture": first.address_source,
            "missing": first.missing,
            "refused": first.refused,
            "in_dsl": first.in_dsl,
            "uncompiled": first.uncompiled,
            "addresses": None if first.addresses is None else asdict(first.addresses),
        }
        given = None if report is None else report.to_dict()
        lines.append({"trace": seen, "report": given})
    trace = judged.trace
    for name, told in (("order", trace.orders), ("elements", trace.elements), ("operands", trace.operands)):
        lines += [{name: asdict(one)} for one in told]
    lines.append({"summary": {**summary(judged), "unseen": judged.unseen(gate)}})
    return json_lines(lines, ascii_=style.ascii)


def located(judged: JudgedTrace) -> list[Located]:
    """What is wrong, once at its own line, with paths from where the run started."""
    found = [refusal(one) for one in judged.uncompiled]
    for group in judged.groups():
        report, place = group.report, order.spot(group.one.first.where)
        related = tuple((*order.spot(where), "the same") for where in group.others)
        for finding in report.findings if report is not None and report.verdict in SHOWN else ():
            if finding.severity in SHOWN:
                message = f"{finding.message} {group.elsewhere}".rstrip()
                said = finding.code, finding.severity, finding.title, message
                found.append(Located(*said, *place, related=related, evidence=finding.evidence))
    found += order.located(judged.trace.told)
    each: dict[Any, Located] = {}
    for one in found:
        each.setdefault((one.code, one.title, one.path, one.line, one.column), one)
    return sorted(
        each.values(),
        key=lambda one: (
            SEVERITIES.index(one.severity), one.path, one.line, one.column, *rank(one.code, one.severity),
        ),
    )  # fmt: skip


def summary(judged: JudgedTrace) -> dict[str, Any]:
    """The numbers of a trace."""
    trace = judged.trace
    return {
        "kernels": len(trace.kernels),
        "builds": sum(kernel.built for kernel in trace.kernels),
        "copies": len(trace.copies),
        "places": len({one.where for one in trace.copies}),
        "distinct": len(judged.reports),
        "verdicts": dict(sorted(judged.verdicts().items())),
        "all_threads": sum(one.address_source != "types" for one in trace.copies),
        "pictures": address_sources(one.address_source for one in trace.copies),
        "in_dsl": sum(one.in_dsl for one in trace.copies),
        "missing": _tally(one.missing for one in trace.copies if one.addresses is None),
        "bounded_if": _tally(one.bounded_if for one in trace.copies),
        "weak_bases": _weak_bases(judged),
        "unbounded": _tally(one.unbounded for one in trace.copies),
        "untold": _tally(one.addresses.untold for one in trace.copies if one.addresses is not None),
        "causes": [
            {
                "where": asdict(cause.where),
                "statement": cause.text,
                "copies": [asdict(judged.reports[n][0].first.where) for n in cause.copies],
            }
            for cause in judged.causes
        ],
        "failures": [asdict(failure) for failure in trace.failures],
        "notes": list(trace.notes),
        "versions": trace.versions,
    }


def _tally(reasons: Iterable[str]) -> dict[str, int]:
    """How often each reason is given, the most frequent first."""
    return dict(Counter(filter(None, reasons)).most_common())


def tiers(counts: dict[str, int]) -> str:
    """How many copies are known in which way (`sources.traced.address_sources`), as every summary says it."""
    ways = (("layouts", "by their layouts"), ("lowered", "by the compiler's lowering"))
    known = [f"{counts[key]} {how}" for key, how in ways if counts[key]]
    said = [f"for all threads: {', '.join(known)}"] * bool(known)
    said += [f"for one thread, by types only: {counts['types']}"] * bool(counts["types"])
    return "; ".join(said) or "none known"


def _weak_bases(judged: JudgedTrace) -> dict[str, int]:
    """What is promised of the bases of tensor maps, where TMA needs more; how many copies use them."""
    found: Counter[str] = Counter()
    for entry, report in judged.reports:
        for one in report.findings if report is not None else ():
            if one.code == "LC230" and one.severity == "note":
                found[one.title] += entry.count
    return dict(found.most_common())


def _left(judged: JudgedTrace) -> Iterator[tuple[KernelFinding, list[str]]]:
    """What stores leave of their tensors, which no verdict rests on."""
    for (title, place), kernels in {
        (found.title, KernelPlace("", one.first.where, one.first.stack)): [*one.kernels]
        for one, report in judged.reports
        for found in (report.findings if report is not None else ())
        if (found.code, found.severity) == ("LC203", "note")
    }.items():
        yield KernelFinding("LC203", "note", title, "", (place,)), kernels


def counted(judged: JudgedTrace, style: Style) -> Iterator[str]:
    """What was looked at and what was found, in numbers; what was not checked, with the reason."""
    found = summary(judged)
    verdicts = ", ".join(
        f"{count} {name}{of_causes(*judged.causes_of(name))}" for name, count in found["verdicts"].items()
    )
    copies = many(found["copies"], "copy", "copies")
    if found["copies"]:
        copies += f" at {many(found['places'], 'place')}, {found['distinct']} distinct: {verdicts}"
    yield style(f"{many(found['kernels'], 'kernel')}, {copies}", "bold")
    if found["copies"]:
        yield from style.wrap(tiers(found["pictures"]), "    ", "  ")
    for reason, count in list(found["missing"].items())[:_MOST_REASONS]:
        yield from style.wrap(f"{count}: {reason}", "      ", "    ")
    for words, count, reasons in alike(found["bounded_if"].items())[:_MOST_REASONS]:
        copies = many(count, "copy", "copies")
        places = in_lines(one.where for one in judged.trace.copies if one.bounded_if in reasons)
        yield from style.wrap(f"bounds of {copies} rest on the caller{places}: {words}", "    ", "  ")
    for title, count in found["weak_bases"].items():
        copies = many(count, "copy rests", "copies rest")
        text = f"{copies} on the caller: {title}, it has to be one of 16 B (LC230)"
        yield from style.wrap(text, "    ", "  ")
    if any(one.has_tail for one in judged.trace.copies):
        yield "  (predicates for them: --fix --by guard-tail)"
    for words, count, reasons in alike(found["unbounded"].items()):
        places = in_lines(one.where for one in judged.trace.copies if one.unbounded in reasons)
        said = f"not checked: bounds of {many(count, 'copy', 'copies')}{places}: {words}"
        yield from style.wrap(said + _CONTENTS * (words == LOADED), "    ", "  ")
    for words, count in found["untold"].items():
        yield from style.wrap(
            f"not checked: cost in global memory of {many(count, 'copy', 'copies')}: {words}", "    ", "  "
        )
    yield from order.noted(_left(judged), style)
    yield from order.all_counts(judged.trace, style)
    for failure in judged.broken:
        yield from style.wrap(failed(failure), "    ", "  ")
        yield from style.wrap(called_from(failure.stack, failure.where), "    ")
        yield from style.wrap(meaning(failure), "    ")
    for note in judged.trace.notes:
        yield from style.wrap(note, "    ", "  ")
