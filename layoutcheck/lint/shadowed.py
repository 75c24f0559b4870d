"""Installed files that were imported in place of the repository's own: the checkout was not checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from layoutcheck.digits import many
from layoutcheck.lint.cases import shown
from layoutcheck.places import SOURCES
from layoutcheck.regular import text_of
from layoutcheck.sources.traced import Trace, TraceFailure

_INSTALLED = re.compile(r".*/(?:site|dist)-packages/(.+\.py)")


def with_shadowed(trace: Trace, folders: Sequence[Path]) -> Trace:
    """The trace, with a failure where installed files were imported in place of those of the `folders`.

    These are the root of a repository, and the projects below it.
    """
    found = list(_shadowed(trace.imported, folders))
    if not found:
        return trace
    (own, folder), installed = found[0]
    more = f", and {many(len(found) - 1, 'file')} more" * (len(found) > 1)
    said = (
        f"{own} was not run: {installed} was imported in its place{more}; "
        f"pip install --editable {folder} mends it"
    )
    return replace(trace, failures=(*trace.failures, TraceFailure("shadowed", said)))


def _shadowed(imported: Iterable[str], folders: Sequence[Path]) -> Iterator[tuple[tuple[str, str], str]]:
    """Files with CuTe of these folders, each with its folder, and what was imported for them.

    Not where both hold the same.
    """
    for inside in filter(None, map(_INSTALLED.fullmatch, imported)):
        for folder, name in product(folders, ("", *SOURCES)):
            own = folder / name / inside[1]
            text = text_of(own)
            if b"cute" in text and text != text_of(inside[0]):
                yield (shown(str(own)), shown(str(folder))), inside[0]
