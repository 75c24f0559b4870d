"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from layoutcheck import algebra

MODULES = [
    "layoutcheck.algebra",
    *(f"layoutcheck.algebra.{m.name}" for m in pkgutil.iter_modules(algebra.__path__)),
]
WITH_EXAMPLES = {"composition", "complement", "inverse", "divide", "product", "simplify", "slicing", "recast"}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert result.attempted > 0 or name.rpartition(".")[2] not in WITH_EXAMPLES
