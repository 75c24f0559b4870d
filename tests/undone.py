"""What issues asked for, undone item by item in a copy of the tree: the test that guards the item must fail.

    python -m tests.undone --out docs/evidence/undone.json [--only "18.4"]

`tests/data/undone.jsonl` has a row for each item: its number, what it asks for, the test, and in which file
which words are replaced by which.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.evidence import head, write
from tests.environment import ROOT
from tests.mutation.running import Tree

ROWS = Path(__file__).parent / "data" / "undone.jsonl"
_SECONDS = 300.0  # for one test


class Row(NamedTuple):
    """One item. `words` stand once in `path`; without them the item is undone."""

    item: str
    what: str
    test: str
    path: str
    words: str
    undone: str

    def apply(self, source: str) -> str:
        """The file without what does the item."""
        return source.replace(self.words, self.undone)


def rows() -> list[Row]:
    """All items, in the order of the issues."""
    return [Row(**json.loads(line)) for line in ROWS.read_text(encoding="utf-8").splitlines()]


def main() -> int:
    """Undo each item in turn; 1 where a test does not notice."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="the evidence; rows that it has as noticed are not repeated")
    parser.add_argument("--only", default="", help="the beginning of the items' numbers")
    asked = parser.parse_args()
    kept = json.loads(asked.out.read_text())["rows"] if asked.out and asked.out.exists() else []
    found: list[dict[str, Any]] = []
    passes: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(ROOT, Path(folder, "copies", "tree"))
        for row in rows():
            if (noticed := {**row._asdict(), "noticed": True}) in kept:
                found.append(noticed)
            if noticed in kept or not row.item.startswith(asked.only):
                continue
            if row.test not in passes:
                passes[row.test] = tree.run(None, [row.test], _SECONDS).status == "survived"
            without = tree.run(row, [row.test], _SECONDS)
            seen = passes[row.test] and without.status == "killed" and "::" in without.by  # no import failed
            found.append({**row._asdict(), "noticed": seen})
            said = f"{without.seconds:5.1f} s  {row.item}: {row.what}: {row.test}"
            print(said if seen else f"NOT NOTICED {passes[row.test]} {without} {said}", flush=True)
    write(head("tests.undone", "pytest", rows=found), asked.out)
    return int(not all(one["noticed"] for one in found))


if __name__ == "__main__":
    sys.exit(main())
