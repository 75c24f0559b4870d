"""`layoutcheck explain`: one copy, a named case, or a pasted error."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from layoutcheck.cli.arguments import WHICH, Option
from layoutcheck.cli.asked import asked_dsl, asked_mma, list_cases, outcomes_of_case
from layoutcheck.cli.input import read_text
from layoutcheck.cli.options import MMA, Compiler, Output, Strict, format_of, group_of
from layoutcheck.cli.output import Sink, must_be_others
from layoutcheck.errors import InputError, option_of, refuse_beside
from layoutcheck.machine.arch import parse_arch
from layoutcheck.request import Request

if TYPE_CHECKING:
    from layoutcheck.check import Report
    from layoutcheck.operands import MmaReport
    from layoutcheck.reports.outcome import Message, Outcome
    from layoutcheck.sources.diagnostics import Diagnostic


REQUEST = group_of(Request, "src", "dst")
_OF_OTHERS = "the message is of other types, such as a slice's: of these two the compiler refuses nothing"
_MOST_WORDS = 240  # characters of a pasted message


def explain(
    given: Annotated[dict[str, Any], REQUEST],
    case: Annotated[str | None, Option("a named case; '--case' alone lists them")] = None,
    format_: Annotated[str, format_of("explain")] = "text",
    output: Output = None,
    strict: Strict = False,
    compiler: Compiler = False,
    everything: Annotated[bool, Option("show every fix's code and all findings in full", "--all")] = False,
    *,
    mma: Annotated[dict[str, str], MMA],
    sources: Annotated[
        str | None,
        Option("of a pasted error: folders of a library's sources, joined by ':', to find its message in"),
    ] = None,
) -> int:
    """Explain one copy, a named case, a pasted error ('-' or a file), or the operands of an MMA (--mma).

    A Python program (FILE.py) is run and traced without a launch, as `trace --no-launch FILE.py` does.
    """
    from layoutcheck.reports import renderer
    from layoutcheck.reports.outcome import exit_status

    if case == WHICH:
        return list_cases()
    pasted = case is None and "dst" not in given and not _is_program(given.get("src") or "")
    if sources is not None and not pasted:
        raise InputError(
            "--sources is of a pasted error", expected="'-' or a file with the error, and --sources"
        )
    found = asked_mma(mma)
    if found is not None:
        if not found.answers:
            raise InputError("no operand of the MMA is given", expected="--a, --b or --c; or draw --mma")
        _refuse("an MMA has operands of its own", given, "--mma with --a, --b, --c")
        other = {"case": case, "compiler": compiler, "all": everything, "sources": sources}
        refuse_beside("an MMA is explained alone", **other)
        return _of_mma(found, format_, Sink(output), strict)
    render = renderer(format_)
    sink = Sink(output, everything)
    if case is None and not given.keys() - {"arch"} and _is_piped():
        given = {**given, "src": "-"}
    src = given.get("src")
    if case is not None:
        outcomes = outcomes_of_case(case)
        _refuse("a case has its own operands", given, "either --case or SRC and DST")
    elif src is None:
        raise InputError(
            "nothing to explain", expected="SRC and DST, --case NAME, or '-' for compiler output"
        )
    elif "dst" in given:
        outcomes = [_judged(given)]
    elif pasted:
        must_be_others((src,), output)
        text = read_text(src)
        _refuse("compiler output says all but --arch", given.keys() - {"src", "arch"}, "'-' or a file alone")
        stated = given.get("arch")  # read here, before a message that is read for it seems to be at fault
        outcomes = _read(text, None if stated is None else str(parse_arch(stated)), _folders(sources))
        _tell_unused(outcomes, {"--arch": stated is not None, "--compiler": compiler})
    else:
        _refuse("a program is traced", given.keys() - {"src", "arch"}, "a .py file alone, or trace")
        refuse_beside("a trace has the compiler's own words", compiler=compiler)
        return _traced(
            src, arch=given.get("arch"), format_=format_, output=output, strict=strict, everything=everything
        )
    if compiler:
        outcomes = asked_dsl(outcomes)
    sink.put(render(outcomes, sink.style))
    return exit_status(outcomes, strict)


def _of_mma(found: MmaReport, format_: str, sink: Sink, strict: bool) -> int:
    """Report the operands of an MMA; the exit status."""
    from layoutcheck.reports.mma import render

    sink.put(render(found, format_, sink.style))
    return int(found.verdict in ("rejected", "wrong") or (strict and found.verdict == "unknown"))


def _traced(src: str, **options: Any) -> int:
    """The exit status of the program's trace without a launch."""
    from layoutcheck.cli.trace import trace
    from layoutcheck.dsl.trace import check_script

    check_script(src)
    sys.stderr.write(f"note: {src} is run as by `layoutcheck trace --no-launch`: no kernel is launched\n")
    return trace(src, no_launch=True, **options)


def _is_program(src: str) -> bool:
    """Whether SRC is a Python program, and no traceback that was saved by such a name."""
    if not src.endswith(".py"):
        return False
    try:
        text = Path(src).read_text(encoding="utf-8", errors="replace")
        if re.search(r"(?m)^\W*Traceback \(most recent call last\)", text):
            compile(text, src, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    except OSError:  # the trace says why it cannot be read
        return True
    return True


def _is_piped() -> bool:
    """Whether standard input is a file or a pipe: a text that was meant to be explained."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISFIFO(mode)


def _judged(given: dict[str, Any]) -> Outcome:
    """The report on the copy that the options state; errors name options."""
    from layoutcheck.judge import judge
    from layoutcheck.request import asked as requested
    from layoutcheck.sources.request import read

    copy, assumptions = read(requested(Request, **given))
    return judge(copy, assumptions=assumptions)


def _refuse(why: str, given: Iterable[str], expected: str) -> None:
    """Raises InputError where anything is given that would not be used."""
    named = [option_of(name) for name in given if name not in ("src", "dst")]
    if given:
        raise InputError(f"{why}: {named[0]} is not used" if named else why, expected=expected)


def _tell_unused(outcomes: Iterable[Outcome], options: Mapping[str, bool]) -> None:
    """Say on standard error which options are of a copy, where a pasted text states none."""
    from layoutcheck.check import Report

    named = [option for option, given in options.items() if given]
    if named and not any(isinstance(outcome, Report) for outcome in outcomes):
        verb = "is" if len(named) == 1 else "are"
        sys.stderr.write(f"note: the text states no copy, so {' and '.join(named)} {verb} not used\n")


def _read(text: str, stated: str | None, sources: list[Path]) -> list[Outcome]:
    """The outcomes of a pasted text. Of a long one a note, or the error, says that only a part is read."""
    from layoutcheck.sources.pasted import LONG, shown

    part = f"of {len(text):,} characters those around the errors are read" if len(shown(text)) > LONG else ""
    try:
        outcomes = _pasted(text, stated, sources)
    except InputError as error:
        if not part:
            raise
        raise InputError(f"{error.message}\n  {part}", expected=error.expected) from None
    if part:
        sys.stderr.write(f"note: {part}\n")
    return outcomes


def _words(pasted: str, known: str) -> tuple[str, ...]:
    """The words of the text where another DSL version has others than the one whose words the report has."""
    ours, theirs = "".join(known.split()), "".join(pasted.split())
    if not ours or not theirs or ours in theirs or theirs in ours:
        return ()
    return (
        f"the text words it as another check or DSL version does: {' '.join(pasted.split())[:_MOST_WORDS]}",
    )


def _folders(sources: str | None) -> list[Path]:
    """The folders that --sources names. Raises InputError for one that is none."""
    folders = [Path(name).expanduser() for name in (sources or "").split(os.pathsep) if name]
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"--sources: {folder} is not a folder", expected="a checkout of the library")
    return folders


def _pasted(text: str, stated: str | None, sources: list[Path]) -> list[Outcome]:
    """The outcome of every error in a pasted text, and of the copy that it states."""
    from layoutcheck.catalogue import Answer
    from layoutcheck.check import Report
    from layoutcheck.reports.outcome import Explained, Message
    from layoutcheck.sources.diagnostics import read_errors
    from layoutcheck.sources.pasted import readings

    outcomes: list[Outcome] = []
    arch = stated or "sm_90a"
    taken = () if stated else (f"the GPU is {arch}; --arch names another",)
    reading = next(readings(text))
    try:
        errors = read_errors(text, arch, sources)
    except InputError:  # another tool answers the text; what it states stays true
        alone = _stated(reading, arch)
        if alone is None or alone.verdict not in ("rejected", "wrong"):
            raise
        return [alone]
    for found in errors:
        if isinstance(found, Answer):
            outcomes.append(Explained(found))
        elif found.copy is None:
            given = _given(found, reading)
            outcomes.append(Message(replace(found, printed=_unproved(found, reading), given=given)))
        else:
            from layoutcheck.api import check_copy  # a tenth of a second, of which most texts need nothing

            report = check_copy(found.copy, subject=found.location)
            words = _words(found.message, report.compiler.message or "")
            outcomes.append(replace(report, assumptions=(*taken, *words, *report.assumptions)))
    first = outcomes[0]
    if not any(isinstance(outcome, Report) for outcome in outcomes):
        printed = _stated(reading, arch, first if isinstance(first, Message) else None)
        outcomes = _with_stated(outcomes, printed) if printed else outcomes
    return outcomes


def _with_stated(outcomes: list[Outcome], stated: Report) -> list[Outcome]:
    """The outcomes of a text with the report on the copy that it states: first where that is wrong.

    It stands alone where nothing else is known of the text, and where it repeats the compiler's refusal.
    """
    from layoutcheck.catalogue.entry import UNKNOWN
    from layoutcheck.reports.outcome import Explained

    first = outcomes[0]
    if isinstance(first, Explained):
        if first.answer.entry.level == UNKNOWN:
            return [stated]
        return [stated, *outcomes] if stated.verdict == "wrong" else [*outcomes, stated]
    if stated.verdict == "rejected":
        return [stated, *outcomes[1:]]
    return [*outcomes, replace(stated, assumptions=(_OF_OTHERS, *stated.assumptions))]


def _unproved(found: Diagnostic, reading: str) -> str:
    """What the tensor that a text prints lacks of the alignment which a message asks of its side."""
    from layoutcheck.sources.messages import explain as explained
    from layoutcheck.sources.written import unproved

    told = explained(found.message)
    if told is None or told.operand is None or "need_bits" not in told.evidence:
        return ""
    return unproved(reading, found.atom, told.operand, told.evidence["need_bits"])


def _given(found: Diagnostic, reading: str) -> tuple[str, ...]:
    """What the user's line gives the copy that a message is about, and the lines that make it."""
    from layoutcheck.catalogue import blamed, quoted

    calls = [one for one in quoted.calls(reading) if one.place == found.location and "copy" in one.name]
    return tuple(blamed.operands(calls[0])) if calls else ()


def _stated(reading: str, arch: str, message: Message | None = None) -> Report | None:
    """The report on the copy whose tensors the text prints, by the atom that the compiler's message names."""
    from layoutcheck.api import check
    from layoutcheck.catalogue.snippets import tiled
    from layoutcheck.sources.written import find

    copy = find(reading, message.diagnostic.atom if message else None, tiled(reading))
    if copy is None:
        return None
    threads, values = copy.tiling or (None, None)
    report = check(copy.src, copy.dst, copy.atom, thr=threads, val=values, arch=arch)
    taken = "whole tiles of its tiled copy" if copy.tiling else "the views of one thread"
    read = f"the copy is of the two tensors that the text prints, taken for {taken}"
    return replace(report, assumptions=(read, *report.assumptions))
