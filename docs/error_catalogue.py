"""The page of the errors that `layoutcheck explain -` answers, made of the catalogue."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from layoutcheck.catalogue import reasons, refused, tables
from layoutcheck.catalogue.entry import Known
from layoutcheck.catalogue.reasons import Reason
from layoutcheck.catalogue.rows import about

_PAGE = """# Errors, explained

Paste what was printed into `layoutcheck explain -`, or name a file that holds it. Where the text holds
the types of a copy, the copy itself is judged ([your first error](first-error.md)); where C++ template
arguments hold them, they are read. Every other error that the tool knows stands here, with its cause and
its repair: look for words of your message with the browser's search, or begin with
[who prints it](#who-prints-it).

```text title="error.txt"
cutlass.cute.nvgpu.common.OpError: OpError: expects arch to be one of [sm_100a, sm_100f], but got sm_121a
```

```console
$ layoutcheck explain error.txt
```

A message that no entry names is looked for in the Python files of the installed DSL, which are read and not
run: the answer names the function that raises it and the condition under which it does.
`layoutcheck explain FILE.py` runs the program and traces it without a launch, as
`layoutcheck trace --no-launch FILE.py` does.

An error of another library is looked for in its installed package (FlashAttention, QuACK, FlashInfer, cuDNN's
front end, TVM FFI, Triton, torch and more), or in a checkout that `--sources FOLDER` names: the answer then
has file, line and condition.

A text in which a tool reports nothing wrong (no spills, few bank conflicts, `0 errors`, tests that pass) is
`clean`, and the status is 0. It is 1 for an error that CuTe, its compilers or the GPU report, and 2 for an
error that others answer.
"""

_SAMPLES = """## How many are answered

{what}
Every new kind of text brings the share down. The texts of public reports are
kept as a test (`tests/data/reported.jsonl`).

| sample | texts | right at first try | what failed |
| --- | --- | --- | --- |
{rows}
"""

_INDEX = """## Who prints it

Each row of a table is one error: what is printed, its name and [level](cli.md), its cause, and what helps.

| | errors |
| --- | --- |
{rows}
"""

_FAMILIES = """A message of the DSL that has no entry of its own is answered by its family. With the DSL
installed, the answer also names the function, the condition under which it raises, and what the message and
the function's documentation say of the arguments.
"""

_KINDS = """## Kinds of refusal

A message of the DSL that has neither an entry nor a family is answered by its kind, and by the operation
that refuses.

"""

_EVIDENCE = Path(__file__).parent / "evidence" / "catalogue.json"
_SECTIONS = {
    "CuTe DSL": "installation instructions operations layouts arguments host_calls values control_flow"
    " compiler calls",
    "CuTe and CUTLASS in C++": "cpp_copies cpp_tensors cpp_kernels cpp_headers cpp_templates",
    "The CUDA driver, ptxas, compute-sanitizer, Nsight": "driver cuda_codes ptxas sanitizers profilers",
    "Errors that others answer": "linking elsewhere cuda_libraries machine_setup configure packages builds",
    "Texts without an error": "clean symptoms",
}
_FAMILIES_OF = "Families of the DSL's messages"
_TABLE = "| printed | why | what helps |\n| --- | --- | --- |\n"


def catalogue_page() -> str:
    """The page, in Markdown."""
    parts, index = [], []
    for heading, files in _SECTIONS.items():
        parts.append(f"## {heading}\n")
        parts += [
            _table(f"tables/{file}.txt", [_entry(one) for one in tables.of(file)], index)
            for file in files.split()
        ]
    parts += [f"## {_FAMILIES_OF}\n", _FAMILIES]
    parts += [
        _table(f"reasons/{file}.txt", list(map(_family, reasons.of(file))), index)
        for file in (*reasons.PYTHON, *reasons.LIBRARY)
    ]
    kinds = "\n".join(f"| {kind.name} | {kind.cause} |" for kind in refused.KINDS)
    parts.append(f"{_KINDS}| kind | cause |\n| --- | --- |\n{kinds}\n")
    parts.append(_samples(json.loads(_EVIDENCE.read_text())))
    return "\n".join([_PAGE, _INDEX.format(rows="\n".join(index)), *parts])


def _table(path: str, rows: list[str], index: list[str]) -> str:
    """The table of a file of the catalogue below its heading, which gets a row of the index."""
    head, _, more = re.sub(r"; .*", "", about(path)).rstrip(".").partition(": ")
    anchor = re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-")
    index.append(f"| [{head}](#{anchor}){f': {more}' if more else ''} | {len(rows)} |")
    return (
        f"### {head}\n\n{f'{more[:1].upper()}{more[1:]}.{chr(10) * 2}' if more else ''}{_TABLE}"
        + "\n".join(rows)
        + "\n"
    )


def _samples(found: dict[str, Any]) -> str:
    """The table of docs/evidence/catalogue.json."""
    rows = []
    for one in (*found["batches"], *found["cpp"]):
        share = f"{one['right']} ({one['right'] / one['texts']:.0%})"
        rows.append(f"| {one['of']} | {one['texts']} | {share} | {one['failed_by']} |")
    return _SAMPLES.format(what=found["what"].capitalize(), rows="\n".join(rows))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _family(one: Reason) -> str:
    return _row(f"`{_line(one.example)}`", one.cause, f"{one.helps}.")


def _entry(entry: Known) -> str:
    printed = "<br>".join(f"`{_line(text)}` ({_source(source)})" for text, source in entry.examples)
    rule = (
        f" Found before the compile by [{entry.rule}](rules/{entry.rule.lower()}.md)." if entry.rule else ""
    )
    cause = entry.cause.replace(
        "{cause}", "The cause follows from the [kind](#kinds-of-refusal) of the message."
    )
    helps = entry.remedy.replace("{help}", "What the operation that refuses takes").replace(
        "{project}", "the project that the text names"
    )
    return _row(f"{printed}<br>{entry.name}, {entry.level}", cause, f"{helps}.{rule}")


def _line(text: str) -> str:
    return " ".join(text.replace("`", "'").split())


def _source(source: str) -> str:
    if not source.startswith("https://github.com/"):
        return source
    owner, name, _, number = source.removeprefix("https://github.com/").split("/")
    return f"[{owner}/{name}#{number}]({source})"
