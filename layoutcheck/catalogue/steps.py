"""Where a compiler of kernels other than CuTe's stops: for which reason, in which of its steps, and what that means.

Such a text has its reason anywhere but at its end: the last exception only says that a pass failed. The reason is in the
words behind the statement that is shown, in the exception above, or in a line of MLIR's diagnostics, which stands before the traceback.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.catalogue import demands, meanings
from layoutcheck.catalogue.literals import Words


class Stop(NamedTuple):
    """What a compiler `said`, `where` it was (" in the pass X of kernel Y", "" for nowhere), why (`cause`), what `help`s."""

    said: str
    where: str
    cause: str
    help: str


_END = r"(?= (?:Traceback|The above|During handling|File \"|note: |RuntimeError: Pass|LLVM ERROR|Aborted|Stack dump|PLEASE submit|#[0-9a-z]+ ?=|module|loc\(|%\w+ ?=|\"?tt\.func|\^|\S+\.(?:py|mlir):[0-9]+|\S*error: |tl\.\w+\()|$)"
# In a text they stand in this order; of each the first tells, but of the statement's words the last.
_REASONS = (
    re.compile(rf"CompilationError: at [0-9]+:[0-9]+:.*\^ (?!Traceback|The above|During)(?P<said>\S.{{3,240}}?){_END}"),
    re.compile(
        r"(?:^|[ (])(?P<said>(?!\w*RuntimeError: Pass)[A-Z]\w*(?:Error|Exception): (?!at [0-9]+:)\S.{3,240}?) (?:The above exception was the direct|During handling)"
    ),
    re.compile(
        rf"\berror: (?!Failures have been|loc\(|failed to (?:run|compile)\b)(?P<said>\S.{{3,240}}?){_END}"
        rf"|LLVM ERROR: (?P<llvm>\S.{{3,160}}?){_END}|Assertion [`'](?P<condition>.{{3,300}}?)(?:' failed|$)"
        r"|(?P<unreachable>[^.:]{3,100}) UNREACHABLE executed|(?P<unsupported>[Uu]nsupported \w+ found when [\w ]{3,60})"
    ),
    re.compile(rf"[\w.]+(?:Error|Exception|OutOfResources): (?P<said>(?!at [0-9]+:)\S.{{3,240}}?){_END}"),
)  # fmt: skip
_PASS = re.compile(
    r"Pipeline failed while executing \[?`?(?P<name>[A-Za-z][\w-]*)`?(?:[^\[\]@]{0,60}@(?P<kernel>[\w$]+))?"
)
_STAGE = re.compile(r"\bmake_(?P<name>ttir|ttgir|llir|ptx|cubin|amdgcn|hsaco|linalg\w*|npubin|spv\w*)\b")
_STAGES = meanings.named("stages")
_HOLLOW = re.compile(r"PassManager::run failed|^at [0-9]+:[0-9]+:|^MLIRCompilationError")


_MEANINGS = (
    *meanings.read("steps"),
    demands.INNER._replace(
        words=Words(
            r"(?i)legalize|marked illegal|scheduled before|does not dominate|unexpected|expected (?:attr|op)|does not have|map::at|\.(?:dtype|bits|lanes|as)\(|isa<|cast<|(?-i:\b(?:idx|size|num\w*|rank|get\w*|is[A-Z]\w*)\()|&&|\|\||UNREACHABLE|unimplemented|\bfatal\b"
        )
    ),
)  # fmt: skip


def find(folded: str, said: str = "") -> Stop:
    """Why a compiler stops; `said` is what is known of it, where the text has no better words."""
    matches = (pattern.search(folded) for pattern in _REASONS)
    found = (next(filter(None, match.groups())).strip() for match in matches if match)
    told = [one for one in (*found, said) if one]
    reason = next((one for one in told if not _HOLLOW.search(one)), told[0] if told else "")
    told_by = meaning(reason) or demands.INNER
    return Stop(reason, _where(folded), told_by.cause, told_by.helps)


def meaning(said: str) -> meanings.Meaning | None:
    """What the words of such a compiler mean; None where they tell nothing."""
    return meanings.first(_MEANINGS, said) or demands.demand(said)


def _where(folded: str) -> str:
    """In which pass, stage and kernel it stops, as far as the text says."""
    step, stages = _PASS.search(folded), list(_STAGE.finditer(folded))
    stage = stages[-1] if stages else None
    told = f" in the pass {step['name']}" if step else f" in {stage[0]}" if stage else ""
    known = _STAGES.get(stage["name"]) if stage else None
    kernel = f" of the kernel {step['kernel']}" if step and step["kernel"] else ""
    return f"{told}{kernel}" + (f" ({stage['name']}: {known})" if stage and known else "")
