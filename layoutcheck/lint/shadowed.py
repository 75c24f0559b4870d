"""Installed files that were imported in place of the repository's own: the checkout was not checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from layoutcheck.digits import many
from layoutcheck.lint.cases import CaseRun, shown
from layoutcheck.places import SOURCES
from layoutcheck.regular import text_of
from layoutcheck.sources.traced import TraceFailure

_INSTALLED = re.compile(r".*/(?:site|dist)-packages/(.+\.py)")


def with_shadowed(run: CaseRun, root: Path) -> CaseRun:
    """The run, with a failure where it imported installed files in place of those of the repository."""
    found = list(_shadowed(run.trace.imported, root))
    if not found:
        return run
    own, installed = found[0]
    more = f", and {many(len(found) - 1, 'file')} more" * (len(found) > 1)
    said = (
        f"{own} was not run: {installed} was imported in its place{more}; pip install --editable . mends it"
    )
    failures = (*run.trace.failures, TraceFailure("shadowed", said))
    return replace(run, trace=replace(run.trace, failures=failures))


def _shadowed(imported: Iterable[str], root: Path) -> Iterator[tuple[str, str]]:
    """Files with CuTe of the repository, and what was imported for them; not where both hold the same."""
    for file in imported:
        inside = _INSTALLED.fullmatch(file)
        for own in (root / folder / inside[1] for folder in ("", *SOURCES)) if inside else ():
            text = text_of(own)
            if b"cute" in text and text != text_of(file):
                yield shown(str(own)), file
