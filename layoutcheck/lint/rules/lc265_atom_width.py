"""LC265 atom-width: `cp.async` does not have this width."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.lint import resolve
from layoutcheck.lint.finding import Edit
from layoutcheck.lint.rule import Hit, make_rule
from layoutcheck.lint.source import Source
from layoutcheck.syntax import argument_of

# As atoms.cp_async has them; the lint of one file does not load numpy for two tuples.
_WIDTHS, _WIDTHS_GLOBAL = (32, 64, 128), (128,)


@make_rule("rejected", "make_copy_atom", "CopyAtom")
def rule(source: Source) -> Iterator[Hit]:
    """`cp.async` atoms with a width that is written out and that no instruction has."""
    for call in source.called("make_copy_atom", "CopyAtom"):
        op = resolve.op_of(source, call.scope, call.node)
        if op is None or resolve.last(source, op) != "CopyG2SOp":
            continue
        given = call.argument(None, "num_bits_per_copy")
        bits = resolve.integer(call.scope, given)
        if given is None or bits is None:
            continue
        mode = _cache_mode(source, op)
        widths = _WIDTHS_GLOBAL if mode == "GLOBAL" else _WIDTHS
        if mode is None or bits in widths:
            continue
        place, edit = given, None
        if mode == "GLOBAL" and bits in _WIDTHS:
            written = argument_of(op, "cache_mode", 0)
            if isinstance(written, ast.Attribute):
                always = f"{ast.unparse(written.value)}.ALWAYS"
                place, edit = written, Edit("", always, f"{bits // 8} bytes go through L1: {always}")
        through = " with LoadCacheMode.GLOBAL" if mode == "GLOBAL" else ""
        yield Hit(
            place,
            f"cp.async has no copy of {bits} bits{through}",
            f"It moves {', '.join(map(str, widths))} bits{through}."
            + (" The unit is the bit, not the byte." if bits <= 16 else ""),
            {"bits": bits, "widths": list(widths), "cache": mode.lower()},
            edit,
        )


def _cache_mode(source: Source, op: ast.Call) -> str | None:
    """The name of the cache mode; "ALWAYS" is the default; None where it is not written out."""
    given = argument_of(op, "cache_mode", 0)
    if given is None:
        return None if op.args or op.keywords else "ALWAYS"
    name = resolve.last(source, given)
    return name if name in ("ALWAYS", "GLOBAL", "STREAMING", "LAST_USE", "NONE") else None
