"""`retile`: the fragment of an MMA, written as the tiled copy that fills or stores it orders registers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.patching.edit import Candidate, Edit, span_of
from layoutcheck.patching.program import COPIES, Program, Site, name_of

_TITLE = "retile: the fragment in the order of the tiled copy's registers"


def retiled(program: Program, site: Site) -> Iterator[tuple[str, Candidate]]:
    """`thr.retile(fragment)` for one operand of a copy, if the other is `thr.partition_S(...)` or `_D`."""
    call = site.node
    if not (
        isinstance(call, ast.Call) and name_of(call) in COPIES and len(call.args) + len(call.keywords) > 2
    ):
        return
    for mine, other in (("src", "dst"), ("dst", "src")):
        one, partner = program.argument(site, mine), program.argument(site, other)
        if one is None or partner is None:
            continue
        thread = _slice_of(program, _whole(partner))
        fragment = _whole(one)
        made = program.definition(fragment).node
        if thread is None or (isinstance(made, ast.Call) and name_of(made).startswith(_CUT)):
            continue
        start, end = span_of(program.sources[one.path], fragment.node)
        text = program.sources[one.path].text[start:end]
        yield _TITLE, (Edit(one.path, start, end, f"{thread}.retile({text})"),)


_CUT = ("retile", "partition_")


def _whole(site: Site) -> Site:
    """The tensor that an operand is a slice of."""
    node = site.node
    while isinstance(node, ast.Subscript):
        node = node.value
    return Site(site.path, node, site.function)


def _slice_of(program: Program, site: Site) -> str | None:
    """The thread's slice that a partition is of, by its name."""
    made = program.definition(site)
    node = made.node
    if not isinstance(node, ast.Call) or name_of(node) not in ("partition_S", "partition_D"):
        return None
    function = node.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    return function.value.id if made.function is site.function else None
