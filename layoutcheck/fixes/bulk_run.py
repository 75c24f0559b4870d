"""`bulk-run`: a bulk copy whose instructions are whole runs, of the right type, from one thread; or none at all.

In this order: what the atom is told (element type, width), how it is issued (one thread, the bytes that
arrive), the views (all modes in V, no swizzle), and last ordinary copies, which take any address.
"""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Analysis, Draft, Drafts
from layoutcheck.fixes.edit import edited
from layoutcheck.rules.bulk import asked_bytes

STRATEGY = "bulk-run"

_PLAIN_NOTE = "every thread copies; no mbarrier is needed, sync_threads makes the tile visible"


def propose(analysis: Analysis) -> Drafts:
    """Repairs of bulk copies; of st.async only its expected bytes."""
    copy, atom = analysis.copy, analysis.copy.atom
    if copy.tiling is not None or not isinstance(atom, (BulkCopy, DsmemStore)):
        return
    issued = _issued(analysis, copy)
    lines = _issue_lines(issued, copy)
    if issued.issue is not None and lines:
        told = lines[0].startswith("cute.arch.mbarrier")
        title = f"expect {issued.issue.expect_bytes} B" if told else "issue it from one thread"
        yield Draft(STRATEGY, title, "\n".join(lines), (issued,))
    if isinstance(atom, BulkCopy):
        for draft in (*_told(issued, atom), *_viewed(issued, atom)):
            yield draft._replace(code="\n".join((draft.code, *lines)))
        yield from _ordinary(issued)


def _issued(analysis: Analysis, copy: Copy) -> Copy:
    """The copy issued by one thread, its barrier expecting what the layouts ask for."""
    if copy.issue is None or not analysis.runs:
        return copy
    expect = None if copy.issue.expect_bytes is None else asked_bytes(analysis)
    return replace(copy, issue=replace(copy.issue, threads=1, expect_bytes=expect))


def _issue_lines(issued: Copy, copy: Copy) -> list[str]:
    """The statements that issue it so."""
    if issued.issue is None or copy.issue is None:
        return []
    lines = []
    if issued.issue.expect_bytes != copy.issue.expect_bytes:
        lines.append(f"cute.arch.mbarrier_arrive_and_expect_tx(mbar_ptr, {issued.issue.expect_bytes})")
    if issued.issue.threads != copy.issue.threads:
        lines.append("with cute.arch.elect_one():  # in one warp\n    cute.copy(atom, src, dst, ...)")
    return lines


def _told(copy: Copy, atom: BulkCopy) -> Drafts:
    """The tensors' element type; no width, or 16 bytes."""
    for element, width in ((copy.src.dtype, atom.width_bits), (copy.src.dtype, 0), (copy.src.dtype, 128)):
        new = replace(atom, dtype=element, width_bits=width)
        if new == atom:
            continue
        title = "the tensors' element type" if new.dtype != atom.dtype else "one copy for each run of mode 0"
        yield Draft(STRATEGY, title, f"atom = {code.atom_code(new)}", (replace(copy, atom=new),))


def _viewed(copy: Copy, atom: BulkCopy) -> Drafts:
    """All modes in V; no swizzle."""
    atom = replace(atom, dtype=copy.src.dtype, width_bits=0)
    grouped = [_one_mode(view) for view in (copy.src, copy.dst)]
    linear = [replace(view, swizzle=None) for view in (copy.src, copy.dst)]
    title = "all modes in mode 0"
    if copy.src.layout.shape != grouped[0].layout.shape:
        text = (
            "src = cute.group_modes(src, 0, cute.rank(src))\ndst = cute.group_modes(dst, 0, cute.rank(dst))"
        )
        if atom != copy.atom:
            text = f"atom = {code.atom_code(atom)}\n{text}"
        yield Draft(STRATEGY, title, text, (replace(copy, atom=atom, src=grouped[0], dst=grouped[1]),))
    if linear != [copy.src, copy.dst]:
        made = replace(copy, atom=atom, src=linear[0], dst=linear[1])
        note = "all other accesses of the tile must be without the swizzle, too"
        yield edited(STRATEGY, "keep the tile without a swizzle", copy, made, note)


def _one_mode(view: Memref) -> Memref:
    """`group_modes(t, 0, rank)`."""
    layout = view.layout
    if type(layout.shape) is not tuple or len(layout.shape) == 1:
        return view
    return view.with_layout(Layout.trusted((layout.shape,), (layout.stride,)))


def _ordinary(copy: Copy) -> Drafts:
    """`autovec_copy`, which takes any address."""
    if copy.cluster is not None:
        return  # they reach no other block
    plain = replace(copy, atom=None, op="autovec_copy", issue=None, pred=None)
    if copy.pred is None:
        yield Draft(STRATEGY, "ordinary copies instead", "cute.autovec_copy(src, dst)", (plain,), _PLAIN_NOTE)
