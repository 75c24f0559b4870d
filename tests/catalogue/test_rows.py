"""The catalogue's text files: rows have known traits and fields, names that exist, patterns that compile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutcheck.catalogue import rows, tables
from layoutcheck.catalogue.entry import known
from layoutcheck.catalogue.filling import WAYS
from layoutcheck.rulebook import rules

FOLDER = Path(rows.__file__).parent
FIELDS = {
    "tables": {"pattern", "title", "cause", "remedy", "example", "codes"},
    "reasons": {"words", "where", "cause", "helps"},
    "meanings": {"words", "title", "cause", "helps"},
    "orders": {"words", "says", "source"},
    "owners.txt": {"project", "words"},
    "laws.txt": {"nouns", "details", "fails", "says", "source", "order", "tells"},
}
PATTERNS = {"pattern", "words", "where"}
FILES = sorted(
    path for one in FIELDS for path in (FOLDER.glob(one) if "." in one else (FOLDER / one).glob("*.txt"))
)
TRAIT = re.compile(
    r"(?:wrong|slow|clean|unknown|elsewhere|general|rule (?P<rule>LC\d+)|fill (?P<fill>\w+(?: \w+)*)"
    r"|defined (?P<groups>\w+(?: \w+)*)|instead of (?P<names>\S+(?: \S+)*))"
)


def faults(file: str) -> list[str]:
    """What is wrong with the rows of a file, each with the row's name."""
    found, folder = list[str](), file.partition("/")[0]
    for row in rows.rows(file):
        twice = [name for name, values in row.fields.items() if len(values) > 1 and name != "example"]
        wrong = [
            *row.fields.keys() - FIELDS[folder],
            *twice,
            *filter(None, map(fault, map(row.field, PATTERNS))),
        ]
        wrong += of_entry(row) if folder == "tables" else []
        found += [f"{file} [{row.name}] {one}" for one in wrong]
    return found


def fault(pattern: str) -> str:
    """Why a pattern does not compile; "" where it does."""
    try:
        re.compile(pattern)
    except re.error as error:
        return f"pattern: {error}"
    return ""


def of_entry(row: rows.Row) -> list[str]:
    """The traits of a row of `tables/` that mean nothing, and its examples without a source."""
    unknown = [f"example: {one}" for one in row.fields.get("example", []) if "  <-  " not in one]
    for trait in row.traits.split("; ") if row.traits else []:
        match = TRAIT.fullmatch(trait)
        if match is None:
            unknown.append(trait)
            continue
        unknown += [match["rule"]] if match["rule"] and match["rule"] not in rules() else []
        unknown += [match["fill"]] if match["fill"] and match["fill"] not in WAYS else []
        unknown += [one for one in (match["names"] or "").split() if one not in NAMES]
        if match["groups"]:
            unknown += set(match["groups"].split()) - known(row).words.pattern.groupindex.keys()
    return unknown


EVERY = [
    row.name for path in FILES if path.parent.name == "tables" for row in rows.rows(f"tables/{path.name}")
]
NAMES = {*EVERY}


@pytest.mark.parametrize("file", [str(path.relative_to(FOLDER)) for path in FILES])
def test_each_row_is_read_as_it_is_meant(file: str) -> None:
    assert faults(file) == []
    assert (FOLDER / file).read_text(encoding="utf-8").startswith("# ")


def test_a_name_stands_once() -> None:
    """Of two entries of one name `tables.called` would give the later."""
    assert len(EVERY) == len(NAMES) and all(tables.called(name).name == name for name in NAMES)


def test_each_sentence_is_used() -> None:
    text = " ".join(path.read_text(encoding="utf-8") for path in (*FILES, *FOLDER.rglob("*.py")))
    assert [name for name in rows.SENTENCES if f"{{{name}}}" not in text and f'"{name}"' not in text] == []


BROKEN = """# A table.

[a.first] wrnog; instead of a.last; fill nothing; rule LC1; defined group
pattern: (a
titel: what
remedy: a
remedy: b
example: without a source
"""


def test_a_broken_row_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tables").mkdir()
    monkeypatch.setattr(rows, "_HERE", tmp_path)
    broken = tmp_path / "tables" / "a.txt"
    broken.write_text(BROKEN.replace("; defined group", ""))
    told = " ".join(faults("tables/a.txt"))
    for part in ("wrnog", "a.last", "nothing", "LC1", "pattern: missing )", "titel", "remedy", "example"):
        assert f"tables/a.txt [a.first] {part}" in told, part
    broken.write_text(BROKEN.replace("(a", "(?P<other>a)"))
    assert "tables/a.txt [a.first] group" in faults("tables/a.txt")
    broken.write_text("[a.first]\nno field here\n")
    with pytest.raises(
        ValueError, match=r"tables/a.txt, \[a.first\]: a line that is no field: no field here"
    ):
        faults("tables/a.txt")
    broken.write_text("[a.first]\ntitle: {NEVER} said\n")
    with pytest.raises(KeyError, match="NEVER"):
        faults("tables/a.txt")
