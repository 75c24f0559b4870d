"""The mutation script itself: what it changes, and that the names of its mutants last."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import pytest

from tests.mutation.mutants import mutants_of, read, sample
from tests.mutation.running import LEFT_OUT

ROOT = Path(__file__).parents[2]


def changes(text: str) -> list[tuple[str, str]]:
    """(operator, text after the change) of every mutant."""
    return [(one.operator, one.apply(text)) for one in mutants_of(text, "a.py")]


@pytest.mark.parametrize(
    ("before", "operator", "after"),
    [
        ("x = a < b", "compare", "x = a <= b"),
        ("x = (a) >= (b)", "compare", "x = (a) > (b)"),
        ("x = a is not b", "compare", "x = a is b"),
        ("x = (a +\n b) % c", "arithmetic", "x = (a +\n b) // c"),
        ("x += a", "arithmetic", "x -= a"),
        ("x += a", "drop", "pass"),
        ("x = 16", "constant", "x = 17"),
        ("x = True", "constant", "x = False"),
        ("x = a and b or c", "and-or", "x = a or b or c"),
        ("x = any(a)", "any-all-min-max", "x = all(a)"),
        ("x = a.max()", "any-all-min-max", "x = a.min()"),
        ("x = not a", "unary", "x = (a)"),
        ("x = [a for a in b if a]", "negate", "x = [a for a in b if (not (a))]"),
        ("f(a, b, c)", "swap", "f(b, a, c)"),
        ("f(a, b)", "drop", "pass"),
        ("for a in b:\n    continue", "drop", "for a in b:\n    pass"),
        ("x = a['src']", "string", 'x = a["dst"]'),
        ("x = {'width': 1}", "string", 'x = {"width_": 1}'),
    ],
)
def test_what_is_changed(before: str, operator: str, after: str) -> None:
    assert (operator, after) in changes(before)


def test_what_is_not() -> None:
    text = '"""Words 3."""\nx: Literal[3]\nassert a < 3\nraise E(f"{a + 3}")\nRULE = make_rule(3)\n'
    assert changes(text) == [("drop", text.replace('raise E(f"{a + 3}")', "pass"))]


def test_ids_and_sample_do_not_depend_on_the_lines() -> None:
    text = "def f(a):\n    return a < 3 and a < 3\n"
    ids = [one.id for one in mutants_of(text, "a.py")]
    assert len(set(ids)) == len(ids) == 7
    assert [one.id for one in mutants_of("import os\n\n\n" + text, "a.py")] == ids
    assert not set(ids) & {one.id for one in mutants_of(text, "b.py")}
    found = mutants_of(text, "a.py")
    assert sample(found, 4, 1) == sample(found[::-1], 4, 1)
    assert {one.operator for one in sample(found, 3, 1)} == {"and-or", "compare", "constant"}


def test_every_mutant_of_the_algebra_is_another_program() -> None:
    texts = {path: path.read_text("utf-8") for path in (ROOT / "layoutcheck" / "algebra").glob("*.py")}
    before = {path: ast.dump(ast.parse(text)) for path, text in texts.items()}
    found = read(ROOT, ["layoutcheck/algebra"])
    assert len(found) > 1000
    for one in found[::23]:
        text = texts[ROOT / one.path]
        assert text[one.start : one.end] == one.before
        assert ast.dump(ast.parse(one.apply(text))) != before[ROOT / one.path]


def test_what_is_called_equivalent_has_a_place_and_a_reason() -> None:
    listed: dict[str, dict[str, str]] = json.loads(
        Path(__file__).with_name("equivalent.json").read_text("utf-8")
    )
    for one in listed.values():
        assert set(one) == {"path", "function", "change", "reason"}
        assert len(one["reason"].split()) >= 4


def test_a_tree_holds_every_folder_of_the_package() -> None:
    """Without `dsl/site` no trace of a test sees a kernel, and no such test kills a mutant."""
    folders = [path for path in (ROOT / "layoutcheck").rglob("*") if path.is_dir()]
    names = {path.name for path in folders if "__pycache__" not in path.parts}
    assert "site" in names
    assert shutil.ignore_patterns(*LEFT_OUT)("", list(names)) == set()
