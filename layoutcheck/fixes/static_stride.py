"""`static-stride`: say at compile time that the contiguous mode has stride 1."""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes.draft import Analysis, Drafts
from layoutcheck.fixes.edit import edited

STRATEGY = "static-stride"


def propose(analysis: Analysis) -> Drafts:
    """The first run-time stride of V becomes the static 1, where its divisor admits that."""
    copy = analysis.copy
    if copy.tiling is not None:
        return
    src, dst = _with_static_one(copy.src), _with_static_one(copy.dst)
    if (src, dst) == (copy.src, copy.dst):
        return
    yield edited(
        STRATEGY,
        "make the stride of the contiguous mode a static 1",
        copy,
        replace(copy, src=src, dst=dst),
        "only if it is always 1: `mark_layout_dynamic(leading_dim=...)` keeps it static",
    )


def _with_static_one(view: Memref) -> Memref:
    shape, stride = inttuple.flatten(view.layout.shape), list(inttuple.flatten(view.layout.stride))
    for i, (extent, step) in enumerate(zip(shape, stride, strict=True)):
        if extent == 1:
            continue
        if isinstance(step, Dynamic) and step.divisor == 1:
            stride[i] = 1
            return view.with_layout(
                Layout(view.layout.shape, inttuple.unflatten(iter(stride), view.layout.stride))
            )
        return view
    return view
