"""The page of docs/evidence/versions.json: what other DSL versions answer differently."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docs.confirmations import row

_AREAS = {
    "verifier": "verifier",
    "python": "Python functions",
    "algebra": "layout algebra",
    "partition": "partitions",
    "ptx": "code and PTX",
    "lowered": "lowering",
}
_PAGE = """# DSL versions

The model speaks for CuTe DSL {model}: its verifier, its lowering and its PTX are what predictions are held
against. `layoutcheck --version` and the key `dsl` of every JSON report say so. An older DSL may answer
differently; `--compiler` asks the one that is installed. A newer one gets one warning and works. This page
counts how often other versions agree with the model, on the copies of the conformance tests ({date}).

| DSL | {areas} |
| --- | {rules} |
{rows}

- **verifier**: copies given to the MLIR verifier; outcome and every word of the message are compared.
- **Python functions**: copies through `cute.copy`, `copy_atom_call`, `autovec_copy` and the like.
- **layout algebra**: results of the layout operations. **partitions**: a thread's view of a tiled copy.
- **code and PTX**: whether the copy compiles, and which bytes its PTX moves.
- **lowering**: the address of every access of every thread, by the version's own passes
  ([lowered](lowered.md)): from 4.3 to 4.5 down to LLVM, later down to `arith`. What orders accesses is
  followed from 4.3 on, in all kernels from 4.6 on. A cell that is empty was not measured.

## What differs

`A -> B`: the model says A, that version B.

| | what | version |
| --- | --- | --- |
{differences}

## Names that went

Names and parameters that programs of older versions use and the newest no longer has, in the modules that
users import ({first} to {last} were imported). `layoutcheck explain -` says the same of a pasted error, and
knows names that came, and members of classes, too.

| name | until | in its place |
| --- | --- | --- |
{names}

| functions | parameters | until | added since |
| --- | --- | --- | --- |
{parameters}

## Names that the extra cu13 lacks

Up to 4.5.3 the libraries of `nvidia-cutlass-dsl[cu13]` (CUDA 13) had Python files of their own, which lie
over those of the plain package (CUDA 12.9). In the modules that users import they lack these names, in the
versions that were compared ({compared}); {alone} more names of such modules they have alone.

| name | lacking in |
| --- | --- |
{cuda13}

## Measure a version

```sh
{command}
```

Without `--install` the installed DSL is asked. [Contributing](../CONTRIBUTING.md#add-a-dsl-version) says how
a newer version becomes the one that the model speaks for.
"""


# The modules that programs import; the others hold what these hand on.
_IMPORTED = re.compile(
    r"cutlass(\.cute(\.(arch|math|runtime|nvgpu(\.(cpasync|tcgen05|warp|warpgroup))?))?|\.pipeline|\.utils|\.torch)?"
)


def page(run: dict[str, Any], history: dict[str, Any]) -> str:
    """docs/versions.md."""
    rows = []
    differences: dict[tuple[str, str], list[str]] = {}
    for one in run["rows"]:
        counted = [
            f"{found['agree']} of {found['of']}" if (found := one["areas"].get(area)) else ""
            for area in _AREAS
        ]
        if not one["areas"]:
            counted[0] = one.get("problem", "")
        rows.append(row(one["dsl"], *counted))
        for area, found in one["areas"].items():
            for each in found["differences"]:
                what = (_AREAS[area], f"`{each['what'].replace('`', '')}`")
                differences.setdefault(what, []).append(f"{one['dsl']} ({each['count']} x)")
    return _PAGE.format(
        model=run["model"], date=run["date"],
        command="\n".join(one["command"] for one in (run, *filter(None, [run.get("later")]))),
        areas=" | ".join(_AREAS.values()),
        rules=" | ".join("---" for _ in _AREAS), rows="\n".join(rows),
        differences="\n".join(row(*what, ", ".join(count)) for what, count in differences.items()),
        first=history["versions"][0], last=history["versions"][-1],
        names="\n".join(_names(history)), parameters="\n".join(_parameters(history)),
        compared=", ".join(history["cuda13"]["versions"]), cuda13="\n".join(_without_cuda13(history)),
        alone=sum(len(names) for at, names in history["cuda13"]["only"].items() if _IMPORTED.fullmatch(at)),
    )  # fmt: skip


def _names(history: dict[str, Any]) -> Iterator[str]:
    """A row for each name that the newest version lacks."""
    for owner, names in sorted(history["names"].items()):
        for name, (_, until, *instead) in sorted(names.items()):
            if until and _IMPORTED.fullmatch(owner):
                yield row(f"`{owner}.{name}`", until, *(f"`{one}`" if one else "" for one in instead))


def _without_cuda13(history: dict[str, Any]) -> Iterator[str]:
    """A row for each name that the extra cu13 of a version lacks."""
    for owner, names in sorted(history["cuda13"]["without"].items()):
        for name, versions in sorted(names.items()):
            if _IMPORTED.fullmatch(owner):
                yield row(f"`{owner}.{name}`", ", ".join(versions))


def _parameters(history: dict[str, Any]) -> Iterator[str]:
    """A row for the functions that lost the same parameters, with those that they gained behind them."""
    changes: dict[tuple[str, str, str], list[str]] = {}
    for function, parameters in sorted(history["parameters"].items()):
        lost = {name: until for name, (_, until) in parameters.items() if until}
        if lost and _IMPORTED.fullmatch(function.rpartition(".")[0]):
            gained = ", ".join(
                f"`{name}` {since}" for name, (since, until) in parameters.items() if since and not until
            )
            changes.setdefault((", ".join(lost), max(lost.values()), gained), []).append(f"`{function}`")
    for (lost_ones, until, gained), functions in changes.items():
        yield row(", ".join(functions), f"`{lost_ones}`", until, gained)
