"""`retile` for a fragment that a copy takes as it is, or as it was made for something else."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from layoutcheck.patching.edit import Candidate
from layoutcheck.patching.program import COPIES, Program, Site
from layoutcheck.syntax import name_of

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
        given = _given(program, fragment)
        text = program.sources[given.path].text_of(given.node)
        yield _TITLE, (program.rewritten(given, f"{thread}.retile({text})"),)


_CUT = ("retile", "partition_")


def _given(program: Program, fragment: Site) -> Site:
    """Where a name is given to the fragment for all copies (`view = fragment`), else the operand itself."""
    _, *behind = itertools.islice(program.behind(fragment), 2)
    alike = [one for one in behind if isinstance(fragment.node, ast.Name) and isinstance(one.node, ast.Name)]
    return alike[0] if alike and alike[0].scope is fragment.scope else fragment


def _whole(site: Site) -> Site:
    """The tensor that an operand is a slice of."""
    node = site.node
    while isinstance(node, ast.Subscript):
        node = node.value
    return Site(site.path, node, site.scope)


def _slice_of(program: Program, site: Site) -> str | None:
    """The thread's slice that a partition is of, by its name; None where several may be."""
    made = [
        one for one in program.behind(site)
        if isinstance(one.node, ast.Call) and name_of(one.node) in ("partition_S", "partition_D")
    ]  # fmt: skip
    owners = [one.node.func.value for one in made if isinstance(one.node, ast.Call)
              and isinstance(one.node.func, ast.Attribute)]  # fmt: skip
    names = {one.id for one in owners if isinstance(one, ast.Name)}
    own = all(one.scope is site.scope for one in made)
    return names.pop() if len(names) == 1 and len(owners) == len(made) and own else None
