"""Which versions of the CuTe DSL have a name or a parameter that a text misses, and what stands in its place.

`dsl_names.json` beside this module holds what differs between the versions that `python -m tests.conformance.names`
imported: {"names": {owner: {name: [since, until, instead]}}, "parameters": {function: {parameter: [since, until]}}}.
`since` is "" of what the oldest version has, `until` of what the newest has. A name that all versions have, or that came
or went with its owner, has no row. "cuda13" holds which of them the same version lacks ("without"), or has alone ("only"),
with its extra cu13: {owner: {name: versions}}.

And what the DSL's objects are (`TYPES`), and why a name that a program asks for is not there.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from layoutcheck import versions
from layoutcheck.catalogue import installed, meanings
from layoutcheck.catalogue.rows import rows as read_rows

NEVER = "no CuTe DSL"  # how the sentence of `never` begins
CUDA13 = "nvidia-cutlass-dsl[cu13]"  # how the sentence about the extra begins


@lru_cache(maxsize=1)
def history() -> dict[str, Any]:
    """The whole file."""
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    kept: dict[str, Any] = json.loads(text)
    return kept


def of_module(module: str, name: str) -> tuple[str, ...]:
    """What is known of `module.name`, the module's full name: of the versions, and of their extra cu13."""
    row = history()["names"].get(module, {}).get(name)
    return ((_told(f"{module}.{name}", row),) if row else ()) + _with_cuda13(module, name)


def _with_cuda13(module: str, name: str) -> tuple[str, ...]:
    """In which versions the extra cu13 (CUDA 13) lacks the name that the plain package has, or has it alone."""
    kept = history()["cuda13"]
    lacks, alone = (kept[kind].get(module, {}).get(name, ()) for kind in ("without", "only"))
    said = [(lacks, "lacks it in"), (alone, "has it, and the plain package has not, in")]
    return tuple(f"{CUDA13} {words} {_range(versions)}" for versions, words in said if versions)


def _range(versions: list[str]) -> str:
    """The versions in words: those that follow each other among the measured ones as a range."""
    every = history()["cuda13"]["versions"]
    first, last = every.index(versions[0]), every.index(versions[-1])
    if len(versions) > 1 and versions == every[first : last + 1]:
        return f"{versions[0]} to {versions[-1]}"
    return ", ".join(versions)


def never(module: str, name: str) -> tuple[str, ...]:
    """That none of the measured versions has `module.name`, at most one sentence; nothing where that is not proved.

    The table holds what differs between versions. What has no row there, in a module that all versions have, is the same in
    all: so a name that the installed DSL, one of the measured versions, does not define in that module's folder is in none.
    """
    kept = history()
    parent, _, last = module.rpartition(".")
    differs = (
        name in kept["names"].get(module, {})
        or last in kept["names"].get(parent, {})
        or _with_cuda13(module, name)
        or _with_cuda13(parent, last)
    )
    if (
        differs
        or module not in kept["names"]
        or versions.installed() not in kept["versions"]
        or installed.gives(module, name)
    ):
        return ()
    return (f"{NEVER} from {kept['versions'][0]} to {kept['versions'][-1]} has {module}.{name}",)


def of_class(owner: str, member: str) -> tuple[str, ...]:
    """What is known of a member of the class of this name; nothing where the versions differ in more than one such class."""
    names = history()["names"]
    rows = [(full, rows[member]) for full, rows in names.items() if _last(full) == owner and member in rows]
    return (_told(f"{owner}.{member}", rows[0][1]),) if _alike(rows) else ()


def of_parameter(function: str, parameter: str, owner: str = "") -> tuple[str, ...]:
    """What is known of a parameter of the function of this name, or of a method of the class `owner`."""
    end = f".{owner}.{function}" if owner else f".{function}"
    every = history()["parameters"].items()
    rows = [(full, rows[parameter]) for full, rows in every if full.endswith(end) and parameter in rows]
    return (_told(f"the parameter {parameter} of {function}", rows[0][1]),) if _alike(rows) else ()


def _alike(rows: list[tuple[str, list[str]]]) -> bool:
    """Whether there are rows, all of which say the same: a name is exported by several modules."""
    return len({tuple(row) for _, row in rows}) == 1


def _told(name: str, row: list[str]) -> str:
    since, until, *instead = row
    versions = history()["versions"]
    if not until:
        return f"CuTe DSL has {name} since {since}"
    removed = versions[versions.index(until) + 1]
    place = f"; in its place: {instead[0]}" if instead and instead[0] else ""
    return f"CuTe DSL had {name} from {since or versions[0]} to {until}, and not in {removed}{place}"


def _last(full: str) -> str:
    return full.rpartition(".")[2]


# what an object is, and what is made of it
TYPES = meanings.named("objects")


def of_object(name: str) -> str:
    """What an object of the DSL's class of this name is, or has; "" where nothing is known of it."""
    members = ", ".join(installed.members(name))
    return TYPES.get(name) or (f"{name} has {members}" if members else "")


# (why a module has no such name, what to do)
ABSENT = {row.name: (row.field("cause"), row.field("helps")) for row in read_rows("meanings/absent.txt")}
LISTED = "the installed DSL lists"  # how the sentence about a name of another module begins
# what every MLIR value has; classes of the DSL use the words otherwise
OF_VALUES = "type", "owner", "context", "operation"

_SPACES = meanings.read("spaces")


def space(name: str) -> tuple[str, str]:
    """The memory space that a name speaks of, "shared", and what gives a tensor in it; "" for none."""
    found = meanings.first(_SPACES, name)
    return (found.name, found.cause) if found else ("", "")
