"""`layoutcheck lint --fix`: what can be repaired without asking, written into the files, formatting kept.

An edit stays only if reading the changed text again shows the finding gone and nothing new in its place.
libcst makes the edits: comments and line breaks stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from layoutcheck import cells
from layoutcheck.errors import InputError
from layoutcheck.lint import files
from layoutcheck.lint.analyse import Reading, analyse
from layoutcheck.lint.finding import Edit, LintFinding
from layoutcheck.regular import text_of
from layoutcheck.settings import Settings
from layoutcheck.whole import write_whole

if TYPE_CHECKING:
    import libcst

_FIXABLE = frozenset(("LC265", "LC266"))
_ROUNDS = 1000


def repair(paths: Sequence[str], settings: Settings) -> list[str]:
    """Repair the files; one line for each repair. Raises InputError where libcst is not installed."""
    try:
        import libcst  # noqa: F401
    except ImportError:
        raise InputError("--fix needs libcst", expected="pip install 'layoutcheck[fix]'") from None
    done = []
    for path in files.collect(paths, settings):
        raw = text_of(path)
        if b"cute" in raw and not path.endswith(cells.SUFFIX):
            done += _file(path, raw, settings)
    return done


def _file(path: str, raw: bytes, settings: Settings) -> list[str]:
    done: list[str] = []
    given = set[tuple[str, int, int]]()
    for _ in range(_ROUNDS):
        reading = analyse(raw, path)
        todo = [
            finding
            for finding in reading.findings
            if finding.code in _FIXABLE
            and settings.selected(finding.code, path)
            and (finding.code, finding.line, finding.column) not in given
        ]
        if not todo:
            break
        finding = todo[0]
        given.add((finding.code, finding.line, finding.column))
        changed = proven(raw, path, finding, reading)
        if changed is not None:
            raw = changed[0]
            done.append(f"{path}:{finding.line}: {finding.code} {changed[1]}")
    if done:
        try:
            write_whole(Path(path), raw)
        except OSError as error:
            raise InputError(f"cannot write '{path}': {error.strerror}") from None
    return done


def proven(
    raw: bytes, path: str, finding: LintFinding, before: Reading | None = None
) -> tuple[bytes, str] | None:
    """The text without the finding, and what was changed; None where no edit of it is proven.

    `before` is the reading of the text where it is at hand. Without libcst there are no edits.
    """
    if finding.code not in _FIXABLE or finding.edit is None:
        return None
    reading = analyse(raw, path) if before is None else before
    changed = _applied(raw, finding, finding.edit)
    if changed is not None and _better(reading, analyse(changed, path), finding):
        return changed, finding.edit.title
    return None


def _better(before: Reading, after: Reading, finding: LintFinding) -> bool:
    """Whether the finding is gone and nothing came in its place."""
    old, new = (Counter((f.code, f.title) for f in each.findings) for each in (before, after))
    return new[finding.code, finding.title] < old[finding.code, finding.title] and not new - old


def _applied(raw: bytes, finding: LintFinding, edit: Edit) -> bytes | None:
    """The text with the edit; None where its place is not found, or libcst is not there."""
    try:
        import libcst
        from libcst.metadata import MetadataWrapper, PositionProvider
    except ImportError:
        return None

    try:
        module = libcst.parse_module(raw)
    except libcst.ParserSyntaxError:
        return None
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    for node, place in positions.items():
        start, end = place.start, place.end
        if (start.line, start.column + 1, end.line, end.column + 1) == (
            finding.line,
            finding.column,
            finding.end_line,
            finding.end_column,
        ) and isinstance(node, libcst.BaseExpression):
            changed = _changed(node, edit)
            if changed is not None:
                return module.deep_replace(node, changed).bytes  # type: ignore[union-attr]
    return None


def _changed(node: libcst.BaseExpression, edit: Edit) -> libcst.BaseExpression | None:
    import libcst

    value = libcst.parse_expression(edit.value)
    if not edit.keyword:
        return value
    if not isinstance(node, libcst.Call):
        return None
    plain = libcst.AssignEqual(libcst.SimpleWhitespace(""), libcst.SimpleWhitespace(""))
    added = libcst.Arg(value, keyword=libcst.Name(edit.keyword), equal=plain)
    arguments = list(node.args)
    if not arguments:
        return node.with_changes(args=[added])
    last = arguments[-1]
    comma = last.comma
    if isinstance(comma, libcst.Comma):  # a trailing comma: the new argument gets one as well
        before = arguments[-2].comma if len(arguments) > 1 else None
        lead = before.whitespace_after if isinstance(before, libcst.Comma) else node.whitespace_before_args
        tail = comma.whitespace_after
        if isinstance(lead, libcst.ParenthesizedWhitespace) and isinstance(
            tail, libcst.ParenthesizedWhitespace
        ):
            lead = lead.with_changes(first_line=tail.first_line)  # a comment stays with its argument
            tail = tail.with_changes(first_line=libcst.TrailingWhitespace())
        closing = comma.with_changes(whitespace_after=tail)
        arguments[-1:] = [
            last.with_changes(comma=comma.with_changes(whitespace_after=lead)),
            added.with_changes(comma=closing),
        ]
    else:
        spaced = libcst.Comma(whitespace_after=libcst.SimpleWhitespace(" "))
        bare = libcst.SimpleWhitespace("")
        arguments[-1:] = [
            last.with_changes(comma=spaced, whitespace_after_arg=bare),
            added.with_changes(whitespace_after_arg=last.whitespace_after_arg),
        ]
    return node.with_changes(args=arguments)
