"""Write what is generated: `PYTHONPATH=. python docs/generate.py`. The tests check that it is up to date.

The list of rules, reference pages from the program, result
pages from docs/evidence/, and the output of every example on every page.
"""

from __future__ import annotations

from pathlib import Path

from docs.conversions import with_conversions
from docs.drawn import pictures
from docs.examples import refreshed
from docs.latency import with_latency
from docs.paces import with_paces
from docs.reference import reference_pages
from docs.results import evidence_pages
from layoutcheck.rulebook import rules

DOCS = Path(__file__).parent
README = DOCS.parent / "README.md"

_HEADING = """# The rules

Codes are stable: `LC1xx` the compiler refuses the copy, `LC2xx` it accepts the copy and the machine gets
it wrong, `LC3xx` correct but wasteful, `LC4xx` is about numbers and tolerances (`layoutcheck numerics`),
`LC5xx` about the order of accesses in a kernel (`layoutcheck trace`), `LC6xx` about operands of its products,
`LC9xx` could not be analysed.
`layoutcheck rule CODE` prints a page.

| code | name | severity | what it says |
| --- | --- | --- | --- |
"""


def pages() -> dict[Path, str]:
    """Every generated page: path -> text."""
    rows = [
        f"| [{rule.code}]({rule.code.lower()}.md) | {rule.name} | {rule.severity} | {rule.summary} |"
        for rule in rules().values()
    ]
    out = {
        README: refreshed(README.read_text(encoding="utf-8")),
        DOCS / "rules" / "README.md": _HEADING + "\n".join(rows) + "\n",
    }
    made = {DOCS / name: text for name, text in {**reference_pages(), **evidence_pages()}.items()}
    for path in sorted(DOCS.rglob("*.md")):
        if path not in out and path not in made and not path.name.startswith("lc"):
            made[path] = with_latency(with_conversions(with_paces(path.read_text(encoding="utf-8"))))
    drawings = {DOCS / "pictures" / name: text for name, text in pictures().items()}
    return out | {path: refreshed(text) for path, text in made.items()} | drawings


if __name__ == "__main__":
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
