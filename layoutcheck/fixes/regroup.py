"""`regroup`: make mode 0 exactly one atom vector and iterate over the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import leaves
from layoutcheck.algebra.simplify import joined
from layoutcheck.atoms.matrix import MatrixAtom
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.compiler.operands import is_pair
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Analysis, Draft, Drafts
from layoutcheck.fixes.predicate import predicate_of

STRATEGY = "regroup"


def propose(analysis: Analysis) -> Drafts:
    """V = ((n, V/n), rest...) where the first n elements are one run; a nested V flattened; a predicate to fit."""
    copy = analysis.copy
    if copy.tiling is not None or copy.op == "autovec_copy":
        return
    if isinstance(copy.atom, ThreadAtom):
        vector = (copy.atom.width_bits or copy.src.dtype.bits) // copy.src.dtype.bits
    elif isinstance(copy.atom, MatrixAtom):
        vector = copy.atom.instruction_bits // copy.src.dtype.bits
    else:
        return
    if vector < 1:  # an element wider than the atom
        return
    for title, rebuild in (
        (
            f"mode 0 becomes one atom's {vector} element{'s' if vector > 1 else ''} and what is left",
            _one_vector,
        ),
        ("V flattened: its inner modes become rest modes", _flattened),
    ):
        src, dst = rebuild(copy.src, vector), rebuild(copy.dst, vector)
        if src is None or dst is None or (src, dst) == (copy.src, copy.dst):
            continue
        made = replace(copy, src=src, dst=dst)
        if copy.pred is not None:
            if not is_pair(src.layout[0].shape):
                continue
            made = replace(made, pred=predicate_of(made))
        lines = [_viewed(side, copy.side(side), made.side(side)) for side in ("src", "dst")]
        if made.pred is not None and made.pred != copy.pred:
            lines.append(
                f"pred = cute.make_rmem_tensor({code.layout_code(made.pred.layout)}, cutlass.Boolean)"
            )
        yield Draft(STRATEGY, title, "\n".join(filter(None, lines)), (made,))


def _viewed(side: str, old: Memref, new: Memref) -> str:
    """The same memory under another layout."""
    if old == new:
        return ""
    values = code.run_time(new.layout, old.layout, side)
    return f"{side} = cute.make_tensor({side}.iterator, {code.layout_code(new.layout, values)})"


def _merged(layout: Layout) -> list[tuple[Any, Any]]:
    """(extent, stride) of the leaves, neighbours that continue each other joined."""
    return list(zip(*joined(flatten(layout.shape), flatten(layout.stride)), strict=True))


def _one_vector(view: Memref, vector: int) -> Memref | None:
    """The view as ((vector, count), rest...): V's own leaves merged and split after one vector."""
    if vector == 1:
        first = view.layout[0]
        if type(first.shape) is tuple and len(first.shape) == 2:
            return view
        modes = view.layout.modes[1:]
        return view.with_layout(
            Layout(
                ((1, first.shape), *(mode.shape for mode in modes)),
                ((0, first.stride), *(mode.stride for mode in modes)),
            )
        )
    v = _merged(view.layout[0])
    rest = view.layout.modes[1:]
    if v[0][1] != 1 or v[0][0] % vector:
        # The vector may run on into the rest modes: (4,2):(1,4) is one run of 8.
        v, rest = _merged(view.layout), ()
        if v[0][1] != 1 or v[0][0] % vector:
            return None
    run, more = v[0][0], v[1:]
    tail = [(run // vector, vector), *more] if run > vector else more
    shape, stride = _tree(tail)
    layout = Layout(
        ((vector, shape), *(mode.shape for mode in rest)), ((1, stride), *(mode.stride for mode in rest))
    )
    return view.with_layout(layout)


def _tree(pairs: list[tuple[Any, Any]]) -> tuple[object, object]:
    """The pairs as a shape and a stride: 1:0 for none, a leaf for one."""
    if not pairs:
        return 1, 0
    if len(pairs) == 1:
        return pairs[0]
    return tuple(extent for extent, _ in pairs), tuple(stride for _, stride in pairs)


def _flattened(view: Memref, vector: int) -> Memref | None:
    v = [(leaf.extent, leaf.stride) for leaf in leaves(view.layout[0])]
    rest = view.layout.modes[1:]
    if len(v) < 2 or v[0][0] != vector:
        return None
    layout = Layout(
        (*(extent for extent, _ in v), *(mode.shape for mode in rest)),
        (*(stride for _, stride in v), *(mode.stride for mode in rest)),
    )
    return view.with_layout(layout)
