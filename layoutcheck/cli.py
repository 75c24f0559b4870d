"""The command line: parse options, make copies, check them, render the outcomes.

Exit status: 0 nothing wrong, 1 something `rejected` or `wrong` (with --strict also `slow` and `unknown`),
2 unusable input. One error message on stderr, never a traceback.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, TextIO

import layoutcheck.arguments as arguments  # `from layoutcheck import` would load the algebra, and numpy
from layoutcheck.arguments import Command, Option
from layoutcheck.errors import InputError

if TYPE_CHECKING:
    import typer

    from layoutcheck.reports.outcome import Outcome
    from layoutcheck.reports.style import Style

_BROKEN_PIPE = 141  # what a shell reports of a process that SIGPIPE ended
_INTERRUPTED = 130
_MAX_PASTE_BYTES = 1 << 26


_HELP = "Is this CuTe copy legal, correct and fast? Why not, and how to repair it."

Format = Annotated[str, Option("text, json, github, sarif, html or svg", "--format")]
Output = Annotated[Path | None, Option("write the report to this file")]
Strict = Annotated[bool, Option("exit 1 on slow and unknown too", "--strict")]
NoLowered = Annotated[
    bool, Option("copies of unknown layouts by their types, not the compiler's lowering", "--no-lowered")
]
Compiler = Annotated[bool, Option("ask the installed DSL as well", "--compiler")]


def explain(
    src: Annotated[str | None, Option("layout or tensor; or a file, '-'", positional=True)] = None,
    dst: Annotated[str | None, Option("layout or tensor", positional=True)] = None,
    atom: Annotated[str | None, Option("cp.async, universal, ldmatrix.x4, autovec, or as printed")] = None,
    bits: Annotated[int | None, Option("width of an atom given by name")] = None,
    dtype: Annotated[str | None, Option("element type, such as bf16")] = None,
    thr: Annotated[str | None, Option("thread layout: SRC and DST are whole tiles")] = None,
    val: Annotated[str | None, Option("value layout")] = None,
    tiled: Annotated[str | None, Option("a printed tiled copy: SRC and DST are whole tiles")] = None,
    pred: Annotated[str | None, Option("predicate tensor")] = None,
    arch: Annotated[
        str | None, Option("sm_80, sm_90a, ... (default sm_90a, or the first with the atom)")
    ] = None,
    src_space: Annotated[str | None, Option("gmem, smem or rmem, if SRC is a bare layout")] = None,
    dst_space: Annotated[str | None, Option("gmem, smem or rmem, if DST is a bare layout")] = None,
    src_align: Annotated[int | None, Option("alignment in bytes, if SRC is a bare layout")] = None,
    dst_align: Annotated[int | None, Option("alignment in bytes, if DST is a bare layout")] = None,
    swizzle: Annotated[str | None, Option("pointer swizzle in shared memory: 'S<3,4,3>'")] = None,
    block: Annotated[int | None, Option("threads launched; of a bulk copy: that issue it")] = None,
    expect_bytes: Annotated[int | None, Option("bytes a bulk or TMA copy's barrier is told of")] = None,
    tiler: Annotated[str | None, Option("TMA: extents of the tile, '(64,64)'")] = None,
    coord: Annotated[str | None, Option("TMA: which tile, '(0,1)'; default: the first")] = None,
    described: Annotated[str | None, Option("TMA: smem layout the map was made of, if another")] = None,
    internal_type: Annotated[str | None, Option("TMA: internal_type of make_tiled_tma_atom")] = None,
    op: Annotated[str, Option("copy, autovec_copy, basic_copy, copy_atom_call")] = "copy",
    case: Annotated[str | None, Option("a named case; '--case' alone lists them")] = None,
    format_: Format = "text",
    output: Output = None,
    strict: Strict = False,
    compiler: Compiler = False,
    everything: Annotated[bool, Option("the code of every fix, every finding in full", "--all")] = False,
) -> int:
    """Explain one copy, a named case, or pasted compiler output ('-' or a file)."""
    if case == "":
        return _list_cases()
    sink = _Sink(format_, output, everything)
    if case is not None:
        if src is not None:
            raise InputError("a case has its own operands", expected="either --case or SRC and DST")
        outcomes = _case(case)
    elif src is None:
        raise InputError(
            "nothing to explain", expected="SRC and DST, --case NAME, or '-' for compiler output"
        )
    elif dst is None:
        outcomes = _pasted(_read(src), arch or "sm_90a")
    else:
        from layoutcheck.api import check

        outcomes = [
            check(
                src, dst, atom, bits=bits, dtype=dtype, thr=thr, val=val, tiled=tiled, pred=pred, arch=arch,
                src_space=src_space, dst_space=dst_space, src_align=src_align, dst_align=dst_align,
                swizzle=swizzle, block=block, expect_bytes=expect_bytes, op=op,
                tiler=tiler, coord=coord, described=described, internal_type=internal_type,
            )
        ]  # fmt: skip
    if compiler:
        outcomes = _ask(outcomes)
    sink.write(outcomes)
    return _status(outcomes, strict)


def check(
    jsonl: Annotated[str, Option("a file of JSON objects, one a line; '-' is stdin", "--jsonl")],
    format_: Annotated[str, Option("json or text", "--format")] = "json",
    output: Output = None,
    strict: Strict = False,
    compiler: Compiler = False,
) -> int:
    """Check many copies: one JSON object a line in, one JSON report a line out.

    Keys are the options of `explain` (`src`, `dst`, `atom`, `bits`, `thr`, ...). A line that cannot be used
    gives an object with an `error`, the rest is checked all the same, and the exit status is 2.
    """
    from layoutcheck.sources.records import read_lines

    if format_ in ("html", "svg"):
        raise InputError(f"check writes a report a line, which {format_} has not", expected="json or text")
    sink = _Sink(format_, output)
    status = 0
    with _open(jsonl) as file:
        lines = read_lines(file)
        while batch := [_record(number, line) for number, line in islice(lines, 64 if compiler else 1)]:
            outcomes = _ask(batch) if compiler else batch
            sink.write(outcomes)
            status = max(status, _status(outcomes, strict))
    return status


def confirm(
    source: Annotated[
        str, Option("a named case, a JSONL file ('-' is stdin), or a kernel repo", positional=True)
    ],
    format_: Format = "text",
    as_json: Annotated[bool, Option("the same as --format json", "--json")] = False,
    output: Output = None,
    workers: Annotated[int, Option("processes that share the GPU")] = 4,
    reproducers: Annotated[Path, Option("where a disagreement's script is written")] = Path(),
) -> int:
    """Compile copies with the DSL, run them on the GPU (else simulated), and compare bit for bit.

    Of a kernel repo (a folder, or a Python file) the registered cases are run, in child processes, and every
    copy that they build is confirmed.
    Exit status: 0 model, compiler and machine agree, 1 they do not, 2 unusable input or no DSL.
    """
    from layoutcheck.confirming import confirmed
    from layoutcheck.reports.confirmation import render, render_json

    if not as_json and format_ not in ("text", "json"):
        raise InputError(f"confirm has no format '{format_[:40]}'", expected="text or json")
    sink = _Sink("text", output)
    found = confirmed(source, workers, reproducers)
    sink.put((render_json if as_json or format_ == "json" else render)(found, sink.style))
    return found.status


def lint(
    paths: Annotated[list[str], Option("Python files, or folders that hold them", positional=True)],
    select: Annotated[str | None, Option("codes to report, such as LC1,LC301; ALL")] = None,
    ignore: Annotated[str | None, Option("codes not to report")] = None,
    fix: Annotated[bool, Option("repair what can be repaired safely, in the files", "--fix")] = False,
    static: Annotated[bool, Option("read only: registered cases are not run", "--static")] = False,
    strict: Strict = False,
    format_: Annotated[str, Option("text, json, github or sarif", "--format")] = "text",
    output: Output = None,
    statistics: Annotated[bool, Option("count the codes instead", "--statistics")] = False,
    baseline: Annotated[Path | None, Option("findings in this file are old, and not reported")] = None,
    write_baseline: Annotated[Path | None, Option("write all findings as a baseline, and succeed")] = None,
    config: Annotated[Path | None, Option("a pyproject.toml; the default is the nearest")] = None,
    force_exclude: Annotated[
        bool, Option("exclude files that are named here too (pre-commit names all)", "--force-exclude")
    ] = False,
    no_cache: Annotated[bool, Option("look at everything again", "--no-cache")] = False,
    no_lowered: NoLowered = False,
    workers: Annotated[int, Option("processes; 0 is one a processor")] = 0,
) -> int:
    """Find copies that are rejected, wrong or slow in Python source, which is read and never imported.

    Cases that the project registers (`@layoutcheck.case`, under [tool.layoutcheck] paths) are run in child
    processes, without network, to see their copies; --static leaves that out.
    """
    from layoutcheck.linting import linted
    from layoutcheck.reports.lint import renderer
    from layoutcheck.reports.lint import statistics as counted

    render = counted if statistics else renderer(format_)
    result, repaired = linted(
        paths, config=config, select=select, ignore=ignore, static=static, fix=fix, baseline=baseline,
        write_baseline=write_baseline, force_exclude=force_exclude, cache=not no_cache,
        lowered=not no_lowered, workers=workers,
    )  # fmt: skip
    for line in repaired:
        sys.stderr.write(f"fixed {line}\n")
    sink = _Sink(None, output)
    sink.put(render(result, sink.style))
    return 0 if write_baseline is not None else result.status(strict)


def trace(
    script: Annotated[str, Option("a Python script; with -m, a module", positional=True)],
    args: Annotated[list[str] | None, Option("the script's own", positional=True, rest=True)] = None,
    module: Annotated[bool, Option("SCRIPT is a module, as in python -m", "-m")] = False,
    no_launch: Annotated[bool, Option("trace only: no compile, no launch, no GPU", "--no-launch")] = False,
    arch: Annotated[str | None, Option("compile for sm_80, sm_90a, ...")] = None,
    timeout: Annotated[int | None, Option("end the script after so many seconds")] = None,
    format_: Format = "text",
    output: Output = None,
    strict: Strict = False,
    everything: Annotated[bool, Option("legal copies too, findings in full", "--all")] = False,
    banks: Annotated[bool, Option("what each line costs in shared memory instead", "--banks")] = False,
    no_lowered: NoLowered = False,
) -> int:
    """Run a Python script and check every copy of every kernel that it compiles, at the script's own lines.

    The script's output goes to standard error. Exit status 2: the script failed, and no copy is wrong.
    """
    from layoutcheck import tracing
    from layoutcheck.reports import github, sarif
    from layoutcheck.reports.lowered_banks import bank_table
    from layoutcheck.reports.traced import located, render, render_json

    if format_ not in ("text", "json", "github", "sarif"):
        raise InputError(f"trace has no format '{format_[:40]}'", expected="text, json, github or sarif")
    sink = _Sink("text", output, everything)
    words = args or []
    if banks:
        trace, costs, problems = tracing.banks(
            "-m" if module else script,
            [script, *words] if module else words,
            launch=not no_launch,
            arch=arch,
            timeout_s=timeout,
        )
        sink.put(bank_table(costs, format_, everything))
        sys.stderr.writelines(f"{problem}\n" for problem in problems)
        return 2 if trace.failures else 0
    found = tracing.traced(
        "-m" if module else script,
        [script, *words] if module else words,
        launch=not no_launch,
        arch=arch,
        timeout_s=timeout,
        lowered=not no_lowered,
    )
    if format_ in ("github", "sarif"):
        annotate = github if format_ == "github" else sarif
        sink.put(annotate.render_located(located(found), sink.style))
    else:
        sink.put((render_json if format_ == "json" else render)(found, sink.style))
    return tracing.status(found, strict)


def rule(code: Annotated[str | None, Option("a rule's code, such as LC201", positional=True)] = None) -> int:
    """Print a rule's page; without a code, the list of rules."""
    from layoutcheck.rulebook import rule as find
    from layoutcheck.rulebook import rules

    listed = [f"{each.code}  {each.severity:8}  {each.name}: {each.summary}" for each in rules().values()]
    text = "\n".join(listed) if code is None else find(code).page()
    sys.stdout.write(text.rstrip("\n") + "\n")
    return 0


def draw(
    target: Annotated[str | None, Option("a layout, or a printed tiled copy", positional=True)] = None,
    thr: Annotated[str | None, Option("thread layout: colours a layout by thread")] = None,
    val: Annotated[str | None, Option("value layout")] = None,
    case: Annotated[str | None, Option("a named case; '--case' alone lists them")] = None,
    format_: Annotated[str | None, Option("svg, or text for a terminal", "--format")] = None,
    output: Annotated[Path | None, Option("write the pictures to this file")] = None,
) -> int:
    """Draw a layout, a tiled copy, or the copies of a named case: in the terminal, or as SVG (--output)."""
    from layoutcheck.reports.draw import blocks, drawn, drawn_outcomes, outcome_blocks
    from layoutcheck.reports.pictures.svg import document

    if case == "":
        return _list_cases()
    if format_ not in (None, "svg", "text"):
        raise InputError(f"draw has no format '{format_[:40]}'", expected="svg or text")
    if (target is None) == (case is None):
        raise InputError("what is to be drawn?", expected="a layout, a tiled copy, or --case NAME")
    if case is not None and (thr or val):
        raise InputError("a case has its own thread and value layouts", expected="--case NAME alone")
    as_text = format_ == "text" or (format_ is None and output is None and sys.stdout.isatty())
    outcomes = _case(case) if case is not None else []
    style = _style(sys.stdout, plain=output is not None)
    if as_text:
        text = blocks(target, thr, val, style) if target is not None else outcome_blocks(outcomes, style)
    else:
        text = document(drawn(target, thr, val) if target is not None else drawn_outcomes(outcomes)) + "\n"
    _Sink("text", output).put(text)
    return 0


def banks(
    layout: Annotated[str, Option("the tile's layout, such as '(64,64):(64,1)'", positional=True)],
    access: Annotated[str, Option("'ldmatrix.x4; cp.async 128 (16,8):(8,1) (1,8)'")],
    dtype: Annotated[str, Option("element type")] = "bf16",
    swizzle: Annotated[str | None, Option("the pointer's swizzle, of bytes: 'S<3,4,3>'")] = None,
    arch: Annotated[str, Option("sm_80, sm_90a, ...")] = "sm_90a",
    format_: Annotated[str, Option("text or json", "--format")] = "text",
) -> int:
    """Count the shared-memory wavefronts of every access of one tile, and find the swizzle that fits them."""
    from layoutcheck.reports.banks import analyse, render

    rows, best = analyse(layout, access, dtype, swizzle, arch)
    sys.stdout.write(render(rows, best, format_))
    return 0


def canonical(
    layout: Annotated[str, Option("(MN,K), such as '(64,128):(128,1)' or as printed", positional=True)],
    dtype: Annotated[str, Option("element type")] = "bf16",
    major: Annotated[str, Option("K or MN")] = "K",
    swizzle: Annotated[str | None, Option("the pointer's swizzle, of bytes: 'S<3,4,3>'")] = None,
    unit: Annotated[str, Option("wgmma or tcgen05")] = "wgmma",
    format_: Annotated[str, Option("text or json", "--format")] = "text",
) -> int:
    """Whether a shared-memory layout can be an operand of wgmma or tcgen05, and which is nearest."""
    from layoutcheck.machine.canonical import canonical as decide
    from layoutcheck.reports.canonical import render

    found = decide(layout, dtype, major, swizzle, unit)
    sys.stdout.write(render(found, layout, unit, format_))
    return 0 if found.verdict == "legal" else 1


_COMMANDS: dict[str, Command] = {
    "explain": explain,
    "check": check,
    "lint": lint,
    "confirm": confirm,
    "draw": draw,
    "trace": trace,
    "banks": banks,
    "canonical": canonical,
    "rule": rule,
}


def run(words: Sequence[str] | None = None) -> int:
    """The exit status of a command line; all messages are printed."""
    words = list(sys.argv[1:] if words is None else words)
    for position, word in enumerate(words):
        following = words[position + 1 : position + 2]
        if word == "--case" and (not following or following[0].startswith("--")):
            words.insert(position + 1, "")  # `--case` alone asks which cases there are
            break
    try:
        status = _dispatch(words)
        sys.stdout.flush()
    except InputError as error:
        _complain(str(error))
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


def _dispatch(words: list[str]) -> int:
    """Run the command; typer reads what is not plainly right, and its complaints become InputErrors."""
    command = _COMMANDS.get(words[0]) if words else None
    given = arguments.read(command, words[1:]) if command else None
    if command and given is not None:
        return command(**given)
    import typer

    try:
        status = _app()(words, prog_name="layoutcheck", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        describe = getattr(error, "format_message", None)  # typer's usage errors have it
        if describe is None:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":  # a group of commands, without one: its help
            sys.stdout.write(f"{describe()}\n")
            return 2
        raise InputError(f"{describe()} (see 'layoutcheck --help')") from None
    return status if isinstance(status, int) else 0


def _app() -> typer.Typer:
    """The commands above, and those of numerics, which are typer's own."""
    from layoutcheck.numerics.cli import app as numerics
    from layoutcheck.numerics.cli import resources

    made = arguments.app(_COMMANDS, _HELP)
    made.add_typer(numerics, name="numerics")
    made.command("resources")(resources)
    return made


def main() -> None:
    """The `layoutcheck` command."""
    sys.exit(run())


class _Sink:
    """Where outcomes are written, and in which format."""

    def __init__(self, format_: str | None, output: Path | None, everything: bool = False) -> None:
        from layoutcheck.reports import renderer

        self._render = None if format_ is None else renderer(format_)
        self._path = output
        self.style = replace(_style(sys.stdout, plain=output is not None), everything=everything)
        if output is not None:
            try:
                output.write_text("", encoding="utf-8")
            except OSError as error:
                raise InputError(f"cannot write {output}: {error.strerror}") from None

    def write(self, outcomes: Sequence[Outcome]) -> None:
        """Render and write the outcomes."""
        assert self._render is not None
        self.put(self._render(outcomes, self.style))

    def put(self, text: str) -> None:
        """Write a text."""
        if self._path is None:
            sys.stdout.write(text)
        else:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(text)


def _style(stream: TextIO, plain: bool = False) -> Style:
    """Colour only on a terminal, and never with NO_COLOR set (no-color.org)."""
    from layoutcheck.reports.style import WIDTH, Style

    terminal = not plain and stream.isatty()
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = min(100, max(WIDTH, os.get_terminal_size(stream.fileno()).columns)) if terminal else WIDTH
    return Style(
        colour, width, ascii=not plain and (stream.encoding or "ascii").lower().replace("-", "") != "utf8"
    )


def _complain(message: str) -> None:
    head, *place = message.split("\n")
    if sys.stderr.isatty():  # a terminal would break the line within a word
        width = max(40, os.get_terminal_size(sys.stderr.fileno()).columns or 80)
        first, *more = textwrap.wrap(f"error: {head}", width, subsequent_indent="  ", break_on_hyphens=False)
        message = "\n".join([first.removeprefix("error: "), *more, *place])
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    text = f"{chr(27)}[1;31merror{chr(27)}[0m: {message}" if colour else f"error: {message}"
    encoding = sys.stderr.encoding or "ascii"
    sys.stderr.write(text.encode(encoding, "replace").decode(encoding) + "\n")


def _status(outcomes: list[Outcome], strict: bool) -> int:
    from layoutcheck.reports.outcome import exit_status

    return exit_status(outcomes, strict)


def _case(name: str) -> list[Outcome]:
    from layoutcheck.api import check_copy
    from layoutcheck.sources.cases import case
    from layoutcheck.sources.request import build

    found = case(name)
    subject = f"{found.name}: {found.title} ({found.url})"
    made = [build(**request) for request in found.copies]
    return [check_copy(copy, assumptions=assumptions, subject=subject) for copy, assumptions in made]


def _list_cases() -> int:
    """Every named case and its title."""
    from layoutcheck.sources.cases import case, case_names

    style = _style(sys.stdout)
    width = max(map(len, case_names()))
    for name in case_names():
        lines = style.wrap(case(name).title, " " * (width + 2), f"{name:<{width}}  ")
        sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _pasted(text: str, arch: str) -> list[Outcome]:
    """The outcome of every error in compiler output."""
    from layoutcheck.api import check_copy
    from layoutcheck.reports.outcome import Message
    from layoutcheck.sources.diagnostics import read_diagnostics

    return [
        Message(found) if found.copy is None else check_copy(found.copy, subject=found.location)
        for found in read_diagnostics(text, arch)
    ]


def _read(name: str) -> str:
    """The text of a file, or of stdin for '-'; bytes that are no UTF-8 become replacement characters."""
    if name[:1] in ("(", "!", "?") or "<" in name:
        raise InputError("one operand alone is no copy", expected="SRC and DST, '-' or a file")
    try:
        with _open(name) as file:
            raw = file.read(_MAX_PASTE_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read '{name[:200]}': {error.strerror}") from None
    if len(raw) > _MAX_PASTE_BYTES:
        raise InputError(
            f"more than {_MAX_PASTE_BYTES >> 20} MiB of input", expected="the part around the error"
        )
    return raw.decode("utf-8", "replace")


def _open(name: str) -> IO[bytes]:
    """A file, or stdin for '-'."""
    if name == "-":
        return sys.stdin.buffer
    try:
        return Path(name).open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot read '{name[:200]}': {reason}", expected="a file, or '-' for stdin"
        ) from None


def _record(number: int, line: str) -> Outcome:
    """The outcome of one JSONL line."""
    from layoutcheck.api import check_copy
    from layoutcheck.reports.outcome import Failure
    from layoutcheck.sources.records import read_record

    try:
        record = read_record(line)
        return check_copy(
            record.copy, assumptions=record.assumptions, subject=record.subject or f"line {number}"
        )
    except InputError as error:
        return Failure(f"line {number}", error)


def _ask(outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes with what the installed DSL says of every copy and of every fix."""
    from layoutcheck.api import ask_compiler
    from layoutcheck.check import Report

    answered = iter(ask_compiler([outcome for outcome in outcomes if isinstance(outcome, Report)]))
    return [next(answered) if isinstance(outcome, Report) else outcome for outcome in outcomes]


if __name__ == "__main__":
    main()
