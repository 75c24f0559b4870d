"""The page of a rule: the one form that `layoutcheck rule` prints and docs/rules/ keeps."""

from __future__ import annotations


def page(code: str, name: str, severity: str, summary: str, doc: str, flagged: str, clean: str) -> str:
    """Markdown; `doc` has the rule's sections, `flagged` and `clean` are command lines."""
    return (
        f"# {code} {name}\n\n{summary[0].upper()}{summary[1:]}\n\n"
        f"Severity: **{severity}**\n\n{doc}\n\n## Example\n\n"
        f"Flagged:\n\n```console\n$ {flagged}\n```\n\n"
        f"Clean:\n\n```console\n$ {clean}\n```\n"
    )


def source_page(
    code: str, name: str, severity: str, summary: str, doc: str, example: tuple[str, str] | None
) -> str:
    """Markdown for a rule about source; `example` is a file that it flags and one that it leaves alone."""
    text = f"# {code} {name}\n\n{summary[0].upper()}{summary[1:]}\n\nSeverity: **{severity}**\n\n{doc}\n"
    if example is None:
        return text
    flagged, clean = (part.strip("\n") for part in example)
    return (
        f"{text}\n## Example\n\nFlagged:\n\n```python\n{flagged}\n```\n\nClean:\n\n```python\n{clean}\n```\n"
    )
