"""Write docs/rules/ from the rules themselves: `python docs/generate.py`; the tests check it is up to date."""

from __future__ import annotations

from pathlib import Path

from layoutcheck.rules import rules

DOCS = Path(__file__).parent

_HEADING = """# The rules

Codes are stable: `LC1xx` the compiler refuses the copy, `LC2xx` it accepts the copy and the machine gets it
wrong, `LC3xx` correct but wasteful, `LC9xx` could not be analysed. `layoutcheck rule CODE` prints a page.

| code | name | severity | what it says |
| --- | --- | --- | --- |
"""


def pages() -> dict[Path, str]:
    """Every generated page: path -> text."""
    rows = [
        f"| [{rule.code}]({rule.code.lower()}.md) | {rule.name} | {rule.severity} | {rule.summary} |"
        for rule in rules().values()
    ]
    out = {DOCS / "rules" / "README.md": _HEADING + "\n".join(rows) + "\n"}
    for rule in rules().values():
        out[DOCS / "rules" / f"{rule.code.lower()}.md"] = rule.page()
    return out


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
