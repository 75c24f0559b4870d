"""Reference pages made of the program itself: --help, the JSON schema; the other pages that are made so."""

from __future__ import annotations

import importlib.resources
import json
from typing import Any

import typer

from docs.api_page import api_page
from docs.error_catalogue import catalogue_page
from docs.examples import output
from layoutcheck.cli import app

_CLI = """# Command line

Every command's own `--help`. Exit status of all: 0 nothing wrong, 1 something `rejected` or `wrong` (with
`--strict` also `slow` and `unknown`), 2 unusable input, with one message on stderr. Colour only on a
terminal or with `FORCE_COLOR` set, and never with `NO_COLOR` set.
"""

_SCHEMA = """# JSON

`layoutcheck explain --format json` and `layoutcheck check --jsonl` print one object on each line. It is a
[report](#report), an [explained](#explained) error, or a [failure](#failure) if a line of the input could
not be used. `schema_version` is {version}: within a version fields may be added, and none is renamed or
removed. The schema is shipped as `layoutcheck/reports/schema.json`; the tests validate every report against
it. The JSON of the other commands, and of `explain --mma`, has its `schema_version` too; its other fields are
not described here.

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
"""


def reference_pages() -> dict[str, str]:
    """The pages by their names in docs/."""
    return {"cli.md": _cli(), "api.md": api_page(), "schema.md": _schema(), "errors.md": catalogue_page()}


def _cli() -> str:
    root = typer.main.get_command(app())
    commands = [_help(f"layoutcheck {' '.join(words)}", "#") for words in _words(root)]
    return "\n".join([_CLI, _help("layoutcheck", ""), *commands])


def _words(group: Any) -> list[tuple[str, ...]]:
    """Every command below a group, in its own order, as the words that call it."""
    found: list[tuple[str, ...]] = []
    for name, command in getattr(group, "commands", {}).items():
        found += [(name,), *((name, *more) for more in _words(command))]
    return found


def _help(command: str, deeper: str) -> str:
    return f"##{deeper} {command}\n\n```text\n{output(f'{command} --help')}```\n"


def _schema() -> str:
    text = importlib.resources.files("layoutcheck.reports").joinpath("schema.json").read_text("utf-8")
    schema = json.loads(text)
    parts = [_SCHEMA.format(version=schema["$defs"]["report"]["properties"]["schema_version"]["const"])]
    for name, one in schema["$defs"].items():
        parts.append(f"## {name}\n")
        if "description" in one:
            parts.append(f"{one['description']}\n")
        fields = next(
            (form["properties"] for form in (one, *one.get("oneOf", ())) if "properties" in form), None
        )
        if fields:
            parts.append("| field | type | meaning |\n| --- | --- | --- |")
            parts += [
                f"| `{field}` | {_type(value)} | {_meaning(value)} |" for field, value in fields.items()
            ]
            parts.append("")
        else:
            parts.append(f"{_type(one)}\n")
    return "\n".join(parts)


def _type(value: dict[str, Any]) -> str:
    """A type as a reader says it; definitions link to their section."""
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name})"
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
    if "oneOf" in value or "anyOf" in value:
        return " or ".join(_type(one) for one in value.get("oneOf") or value["anyOf"])
    kind = value.get("type", "any")
    if kind == "array":
        return f"list of {_type(value['items'])}" if "items" in value else "list"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _meaning(value: dict[str, Any]) -> str:
    """The description, or the fields of a small object in place."""
    if "description" in value:
        return str(value["description"]).replace("|", "\\|")
    return ", ".join(f"`{key}`" for key in value.get("properties", {}))
