"""The page of what tests guard: each row can be undone still, its test exists, and it was seen to fail."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from tests.environment import ROOT
from tests.undone import Row, rows

ROWS = rows()
KEPT: list[dict[str, Any]] = json.loads((ROOT / "docs/evidence/undone.json").read_text())["rows"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.item} {row.what}")
def test_a_row_can_be_undone(row: Row) -> None:
    source = (ROOT / row.path).read_text(encoding="utf-8")
    assert source.count(row.words) == 1 and row.apply(source) != source
    file, _, name = row.test.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = [one for one in tree.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    (function,) = [one for one in functions if one.name == name]
    assert "sweep" not in [getattr(mark, "attr", "") for mark in function.decorator_list]


def test_each_row_was_seen_to_fail() -> None:
    assert [{key: one[key] for key in Row._fields} for one in KEPT] == [row._asdict() for row in ROWS]
    assert [one["what"] for one in KEPT if not one["noticed"]] == []
    numbers = {row.item for row in ROWS}
    assert {f"18.{n}" for n in range(1, 8)} | {f"19.{n}" for n in range(1, 8)} <= numbers
