"""Pointing into a layout: where a mode stands in the printed text.

((8,1),(1,4)):((64,0),(0,16))
  ^              ^^             mode (0, 0)
"""

from __future__ import annotations

from typing import Any

from layoutcheck.algebra.layout import Layout, text


def mode_spans(layout: Layout, path: tuple[int, ...]) -> list[tuple[int, int]]:
    """The spans of the mode at `path` in `str(layout)`: its extent and its stride.

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
