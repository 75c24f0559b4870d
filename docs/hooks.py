"""What MkDocs is told beyond mkdocs.yml: the README is the home page, rule pages show their outputs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from docs.examples import output, outputs, run_page  # noqa: E402
from docs.schemas import schemas  # noqa: E402

_COMMAND = re.compile(r"^```console\n\$ (layoutcheck (?![^\n]*--gpu)[^\n]*)\n```$", re.MULTILINE)
_CONSOLE = re.compile(r"^```console\n.*?^```$", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """The README as the home page, without what is only for a clone, CONTRIBUTING.md, each JSON Schema."""
    readme = re.sub(r"^## Test it\n.*?(?=^## )", "", _root("README.md"), flags=re.DOTALL | re.MULTILINE)
    files.append(File.generated(config, "index.md", content=readme))
    files.append(File.generated(config, "contributing.md", content=_root("CONTRIBUTING.md")))
    for schema in schemas().values():
        path = schema["$id"].partition("layoutcheck.dev/")[2]
        files.append(File.generated(config, path, content=json.dumps(schema, indent=1)))
    for page in list(files.documentation_pages()):
        if outputs(page.content_string):
            for name, content in run_page(page.content_string)[1].items():
                files.append(File.generated(config, str(Path(page.src_uri).with_name(name)), content=content))
    return files


def _root(name: str) -> str:
    """A page of the repository's root, its links as seen from docs/."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
    return text.replace("](CONTRIBUTING.md", "](contributing.md")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Below a rule's example commands their output, folded; below commands that write a file, the file."""
    if re.fullmatch(r"rules/lc\d+\.md", page.file.src_uri):
        return _COMMAND.sub(_with_output, markdown)
    return _CONSOLE.sub(_with_files, markdown.replace("](../CONTRIBUTING.md", "](contributing.md"))


def _with_files(block: re.Match[str]) -> str:
    """The block, and pictures or links of what its commands wrote."""
    shown = [f"![{n}]({n})" if n.endswith(".svg") else f"[{n}]({n})" for n in outputs(block[0])]
    return "\n\n".join([block[0], *shown])


def _with_output(command: re.Match[str]) -> str:
    shown = "".join(f"    {line}\n" for line in output(command[1]).splitlines())
    return f'{command[0]}\n\n??? example "Output"\n    ```text\n{shown}    ```'
