"""What the DSL has of the names in a text: signatures, members, versions, the name that is written alike."""

from __future__ import annotations

import re
from itertools import islice

from layoutcheck.catalogue import dsl_names, installed, tables
from layoutcheck.catalogue.entry import Known

_MOST_SIGNATURES = 3
_MOST_DOCUMENTED = 2
_NAME = re.compile(
    r"(?<![\w/])(?:(?:cute|cutlass|arch|utils|pipeline|nvgpu)(?:\.|::))*(?P<name>[A-Za-z]\w*_\w{2,}|[A-Z][a-z]\w*[A-Z]\w+|(?<=cute[.:])[a-z]\w{3,}|(?<=cute::)[a-z]\w{3,})"
)
_WELL_KNOWN = re.compile(
    "make_(?:layout|tensor|shape|stride|coord|tile)|(?:thread|block)_idx|compile|kernel|printf?|size|shape|copy|gemm|jit"
)


def documented(text: str) -> tuple[str, ...]:
    """What the installed DSL documents of the names in a text, those of its first line first."""
    found = dict.fromkeys(match["name"] for match in _NAME.finditer(text))
    told = (installed.documented(name) for name in found if not _WELL_KNOWN.fullmatch(name))
    said = (f"the DSL documents {one}" for one in told if one)
    return tuple(islice(said, _MOST_DOCUMENTED))


def of_names(entry: Known, groups: dict[str, str]) -> tuple[str, ...]:
    """What the installed DSL defines of the names in the text: signatures, members, the name that is written alike."""
    if entry not in tables.CALLS and entry.name not in ("dsl.name-undefined", "elsewhere.library-version"):
        return ()
    absent = groups.get("module", "") if entry.name == "dsl.module-moved" else groups.get("name", "")
    moved = installed.modules(absent.rpartition(".")[2]) if entry.name.endswith("-moved") else ()
    if moved:
        return tuple(f"the DSL that is installed here has the module {one}" for one in moved)
    name = groups.get("what") or groups.get("function") or groups.get("name") or groups.get("member") or ""
    owner = groups.get("owner", "")
    signatures = _fitting(installed.defined(name), groups.get("said", ""))
    if owner:
        signatures = [one for one in signatures if one.startswith(f"{owner}.")] or sorted(
            signatures, key=lambda one: not one.startswith(owner)
        )
    signatures = [] if name in dsl_names.OF_VALUES else signatures
    facts = [f"the installed DSL has {one}" for one in signatures[:_MOST_SIGNATURES]]
    if not facts and entry.name == "dsl.api-moved" and name.isidentifier():
        facts = [f"{dsl_names.LISTED} {name} in {module}" for module in installed.listed(name)]
    members = installed.members(owner) if owner and entry.name != "dsl.call" else ()
    if members:
        facts.append(f"{owner} has {', '.join(members)}")
    alike = installed.near(name) if not facts and name[:1].isalpha() else None
    space, given = dsl_names.space(name)
    other, _ = dsl_names.space(alike or "")
    if space and (alike is None or other != space):
        facts.append(f"{space} memory is given by {given}")
        facts += [f"{alike}, which is written alike, gives {other} memory: another program"] * bool(other)
        alike = None
    facts = [
        *_of_versions(groups),
        *facts,
        *(dsl_names.TYPES[one] for one in _types(groups) if one in dsl_names.TYPES),
    ]
    return tuple(facts) + ((f"the installed DSL has {alike}",) if alike else ())


def _of_versions(groups: dict[str, str]) -> tuple[str, ...]:
    """Which versions of the DSL have the name, the member, the module or the parameter that the text misses."""
    module, name = (
        groups.get("module") or groups.get("origin", ""),
        groups.get("what") or groups.get("name", ""),
    )
    if module:
        known = dsl_names.of_module(module, name) if name else dsl_names.of_module(*module.rsplit(".", 1))
        return known or (dsl_names.never(module, name) if name else ())
    owner = groups.get("owner", "")
    unexpected = re.search(r"unexpected keyword argument '(\w+)'", groups.get("said", ""))
    if unexpected:
        return dsl_names.of_parameter(groups["function"], unexpected[1], owner)
    return dsl_names.of_class(owner, name) if owner and name else ()


def _types(groups: dict[str, str]) -> list[str]:
    """The types that the text names, as the table of what they are names them."""
    named = [groups.get(name, "") for name in ("owner", "object", "given", "left", "right")]
    return list(dict.fromkeys(one.removeprefix("_") for one in named if one))


def _fitting(signatures: tuple[str, ...], said: str) -> list[str]:
    """The signatures that Python can have spoken of: they have the parameters that it misses, or as many as it counts."""
    missed = re.findall(r"'(\w+)'", said) if said.startswith("missing") else []
    counted = re.match(r"takes (?:from [0-9]+ to )?([0-9]+) positional", said)
    fitting = [
        one
        for one in signatures
        if all(re.search(rf"\b{name}\b", one) for name in missed)
        and (
            counted is None
            or int(counted[1]) - (one.partition("(")[2].partition(")")[0].count(",") + 1) in (0, 1)
        )
    ]
    return fitting or list(signatures)
