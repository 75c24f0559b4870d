"""The page of docs/evidence/versions.json: what other DSL versions answer differently."""

from __future__ import annotations

from typing import Any

from docs.confirmations import row

_AREAS = {
    "verifier": "verifier",
    "python": "Python functions",
    "algebra": "layout algebra",
    "partition": "partitions",
    "ptx": "code and PTX",
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

## What differs

{differences}

## Measure a version

```sh
{command}
```

Without `--install` the installed DSL is asked. [Contributing](contributing.md#add-a-dsl-version) says how a
newer version becomes the one that the model speaks for.
"""


def page(run: dict[str, Any]) -> str:
    """docs/versions.md."""
    rows, differences = [], []
    for one in run["rows"]:
        counted = [f"{found['agree']} of {found['of']}" for found in _areas(one)]
        rows.append(row(one["dsl"], *(counted or [one.get("problem", ""), *[""] * (len(_AREAS) - 1)])))
        told = [
            f"- {_AREAS[area]}, {each['count']} x: `{each['what'].replace('`', '')}`"
            for area, found in one["areas"].items()
            for each in found["differences"]
        ]
        if told:
            differences.append(f"### {one['dsl']}\n\n" + "\n".join(told))
    return _PAGE.format(
        model=run["model"], date=run["date"], command=run["command"], areas=" | ".join(_AREAS.values()),
        rules=" | ".join("---" for _ in _AREAS), rows="\n".join(rows),
        differences="\n\n".join(differences) or "Nothing.",
    )  # fmt: skip


def _areas(one: dict[str, Any]) -> list[dict[str, Any]]:
    return [one["areas"][area] for area in _AREAS if area in one["areas"]]
