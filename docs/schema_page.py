"""docs/schema.md: what the JSON of every command holds, from its JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from docs.schemas import OUTPUTS, schemas
from layoutcheck.findings import SCHEMA_VERSION

_SCHEMA = """# JSON

`layoutcheck explain --format json` and `layoutcheck check --jsonl` print one object on each line. It is a
[report](#report), an [explained](#explained) error, or a [failure](#failure) if a line of the input could
not be used. `schema_version` is {version}: within a version fields may be added, and none is renamed or
removed. [Other commands](#other-commands) print other objects.

Every JSON output has a JSON Schema, and the tests hold real outputs against it. This site has that of reports
as `schema/report-{version}.json`; the names of the others are those of the headings below, such as
`schema/trace-{version}.json`. In a clone of the repository `docs.schemas.schemas()` makes them all.

The input of `check` is one object on each line. Its keys are the options of `explain`, with `_` for `-`:

```text title="copies.jsonl"
{{"id": "good", "src": "(8):(1)", "dst": "(8):(1)", "atom": "cp.async", "bits": 128, "dtype": "bf16"}}
{{"id": "bad", "src": "(8):(1)", "dst": "(8):(64)", "atom": "cp.async", "bits": 128, "dtype": "bf16"}}
{{"id": "no copy", "src": "(8):(1"}}
```

```python
import json, subprocess, sys

done = subprocess.run(
    [sys.executable, "-m", "layoutcheck", "check", "--jsonl", "copies.jsonl"], capture_output=True, text=True
)
good, bad, unusable = map(json.loads, done.stdout.splitlines())
assert done.returncode == 2  # because of the third; the others were still checked
assert good["verdict"] == "legal"
assert bad["verdict"] == "wrong" and bad["findings"][0]["code"] == "LC201"
assert bad["fixes"][0]["strategy"] == "match-layout"
assert unusable["error"]["message"]
```

With `--no-fixes` no fix is looked for, and `obstacle` says so: fixes take most of the time.
"""


_OTHERS = """## Other commands

`a.b` is the field `b` of the object `a`, `a[].b` that of each object in the list `a`. Every object also has
`schema_version`. `trace`, `confirm`, `check --compare` and the pytest plugin print one object on each line; a
command with several tables prints several kinds of lines. The other commands print one object.

| command | object |
| --- | --- |"""


def schema_page() -> str:
    """docs/schema.md: a table of fields for each object."""
    made = schemas()
    known = made["report"]["$defs"]
    parts = [_SCHEMA.format(version=SCHEMA_VERSION)]
    for name, one in known.items():
        parts += _section(f"## {name}", one)
    parts.append(_OTHERS)
    for name, (command, _) in OUTPUTS.items():
        parts.append(f"| {command} | [{name}](#{name}) |")
    parts.append("")
    for name in OUTPUTS:
        parts.append(f"### {name}\n")
        one = made[name]
        for form in one.get("oneOf", [one]):
            parts += _table(_unversioned(form)) if "properties" in form else [f"{_type(form)}\n"]
    parts.append("## Parts of other commands' objects\n")
    inner = {name: part for one in made.values() for name, part in one["$defs"].items() if name not in known}
    for name, one in inner.items():
        parts += _section(f"### {name}", one)
    return "\n".join(parts)


def _unversioned(form: dict[str, Any]) -> dict[str, Any]:
    fields = {name: one for name, one in form["properties"].items() if name != "schema_version"}
    return {**form, "properties": fields}


def _section(heading: str, one: dict[str, Any]) -> list[str]:
    """A definition: its description, and its fields or its type."""
    told = [f"{heading}\n"] + ([f"{one['description']}\n"] if "description" in one else [])
    fields = next((form for form in (one, *one.get("anyOf", ())) if "properties" in form), None)
    return told + (_table(fields) if fields else [f"{_type(one)}\n"])


def _table(one: dict[str, Any]) -> list[str]:
    """The fields of an object, and of the objects in it."""
    rows = [f"| `{path}` | {_type(value)} | {_meaning(value)} |" for path, value in _rows(one)]
    return ["| field | type | meaning |\n| --- | --- | --- |", *rows, ""]


def _rows(one: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in one["properties"].items():
        yield f"{path}{name}", value
        inside = value.get("items") or value
        many = "[]" if inside is not value else ""
        for form in inside.get("anyOf", [inside]) if isinstance(inside, dict) else ():
            if "properties" in form:
                yield from _rows(form, f"{path}{name}{many}.")


def _type(value: dict[str, Any]) -> str:
    """A type as a reader says it; definitions link to their section."""
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "enum" in value:
        return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
    if "oneOf" in value or "anyOf" in value:
        return " or ".join(_type(one) for one in value.get("oneOf") or value["anyOf"])
    kind = value.get("type", "any")
    if "prefixItems" in value:
        return f"list of {', '.join(_type(one) for one in value['prefixItems'])}"
    if kind == "array":
        return f"list of {_type(value['items'])}" if "items" in value else "list"
    if value.get("additionalProperties"):
        return f"object of {_type(value['additionalProperties'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _meaning(value: dict[str, Any]) -> str:
    return str(value.get("description", "")).replace("|", "\\|")
