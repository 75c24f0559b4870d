"""docs/algebra-differences.md: our column, and the proofs, row by row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layoutcheck import algebra
from layoutcheck.algebra import Layout, parse_layout, parse_tree
from layoutcheck.algebra.layout import text
from layoutcheck.errors import InputError
from tests.algebra.reference import count, leaves, offset, offsets

PAGE = Path(__file__).parents[2] / "docs" / "algebra-differences.md"


@dataclass(frozen=True)
class Row:
    operation: str
    left: Layout
    right: Any  # a layout, a shape, or None
    dsl: str  # empty where the DSL refuses
    ours: str
    note: str

    @property
    def operands(self) -> tuple[Any, ...]:
        return (self.left,) if self.right is None else (self.left, self.right)

    def ask(self, strict: bool) -> str:
        takes_strict = {} if self.operation == "right_inverse" else {"strict": strict}
        return str(getattr(algebra, self.operation)(*self.operands, **takes_strict))


def rows() -> list[Row]:
    out = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 6 and cells[1].startswith("`"):
            operation, left, right, dsl, ours, note = cells
            plain = right.strip("`")
            read = None if not plain else parse_layout(plain) if ":" in plain else parse_tree(plain)
            dsl = "" if dsl == "refuses" else dsl.strip("`")
            out.append(Row(operation, parse_layout(left.strip("`")), read, dsl, ours, note))
    return out


ROWS = rows()


def test_the_page_is_read() -> None:
    assert len(ROWS) == 20
    assert sum(not r.dsl for r in ROWS) == 5


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r.operation} {r.left} {r.right}")
def test_ours(row: Row) -> None:
    if row.ours.startswith("`"):
        assert row.ask(strict=True) == row.ours.strip("`")
    else:
        with pytest.raises(InputError, match=re.escape(row.ours)):
            row.ask(strict=True)


def instantiated(a: Layout, value: int) -> Layout:
    """Every run-time value put in place."""
    return parse_layout(re.sub(r"\?(\{[^}]*\})?", str(value), str(a)))


@pytest.mark.parametrize(
    "row",
    [r for r in ROWS if r.dsl and "usable" not in r.note],
    ids=lambda r: f"{r.operation} {r.left} {r.right}",
)
def test_the_dsl_is_wrong(row: Row) -> None:
    """Straight from the definitions; the DSL's answers themselves are checked against the DSL elsewhere."""
    shape, _, stride = row.dsl.partition(":")
    extents = leaves(parse_tree(shape))
    if min(extents) < 1:
        return  # not a layout at all
    answer = Layout(parse_tree(shape), parse_tree(stride))
    a = instantiated(row.left, 7)
    if row.operation == "composition":
        assert not np.array_equal(offsets(answer), offset(a, offsets(row.right)))
    elif row.operation == "logical_divide":
        indices = algebra.logical_divide(Layout(count(a)), row.right)
        assert not np.array_equal(offsets(answer), offset(a, offsets(indices)))
    elif row.operation == "complement":
        reached = (offsets(a)[:, None] + offsets(answer)[None, :]).reshape(-1)
        assert not set(range(row.right)) <= set(reached.tolist())
    elif row.operation == "left_inverse":
        assert not np.array_equal(offset(a, offset(answer, offsets(a))), offsets(a))
    elif row.operation == "logical_product":
        assert len(np.unique(offsets(answer))) < count(answer)
    else:
        assert row.operation == "tile_to_shape"
        assert text(tuple(algebra.size(m) for m in answer.modes)) != text(row.right)


def test_where_we_are_stricter_the_dsls_answer_is_usable() -> None:
    stricter = [r for r in ROWS if "usable" in r.note]
    assert [r.operation for r in stricter] == ["logical_product", "left_inverse"]
    product, inverse = (parse_layout(r.dsl) for r in stricter)
    assert len(np.unique(offsets(product))) == count(product)
    a = stricter[1].left
    assert np.array_equal(offset(a, offset(inverse, offsets(a))), offsets(a))


def test_ours_where_the_dsl_refuses_is_right() -> None:
    for row in ROWS:
        if row.dsl or row.operation != "composition":
            continue
        a = instantiated(row.left, 7)
        result = instantiated(parse_layout(row.ours.strip("`")), 7)
        assert np.array_equal(offsets(result), offset(a, offsets(row.right)))
