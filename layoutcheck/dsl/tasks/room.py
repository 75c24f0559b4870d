"""`room`: a traced module with other types of its tensors, every type that follows from them made anew.

Only the DSL knows the layout of a tile of a tensor. Its verifier infers the types that most operations
return, and says so of each that differs: what it infers replaces what stands there, until nothing differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutcheck.dsl.tasks import Item

_INFERRED = re.compile(
    r"op inferred type\(s\) '(.*?)' are incompatible with return type\(s\) of operation '(.*?)'$",
    re.MULTILINE,
)
_MOST_ROUNDS = 60  # each finds what follows by one operation, in all functions at once


def room(item: Item) -> Item:
    """`{"module": text, "types": {old: new}}` -> `{"module": text}`, or `{"problem"}` in words.

    One text stands for one type: where it would have to be two, the module is refused.
    """
    from cutlass._mlir import ir

    text, types = item["module"], dict(item["types"])
    with ir.Context() as context, ir.Location.unknown():
        context.enable_multithreading(False)
        context.allow_unregistered_dialects = True
        for _ in range(_MOST_ROUNDS):
            changed = _changed(text, types)
            try:
                ir.Module.parse(changed)
                return {"module": changed}
            except ir.MLIRError as error:
                said = str(error)
            more = dict(_differing(said))
            if not more:
                return {"problem": said.partition("\n")[0][:200]}
            if more.keys() & {*types, *types.values()} or any(
                more[was] != now for was, now in _differing(said)
            ):
                return {"problem": "one of its types would have to be two"}
            types |= more
    return {"problem": "its types do not settle"}


def _changed(text: str, types: dict[str, str]) -> str:
    known = re.compile("|".join(map(re.escape, sorted(types, key=len, reverse=True))))
    return known.sub(lambda found: types[found[0]], text)


def _differing(said: str) -> Iterator[tuple[str, str]]:
    """(type that stands there, type that the verifier infers) of each operation that it refuses."""
    for inferred, returned in _INFERRED.findall(said):
        for was, now in zip(returned.split("', '"), inferred.split("', '"), strict=False):
            if was != now:
                yield was, now
