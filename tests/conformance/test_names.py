"""The names of the DSL's versions: the installed DSL is the judge of what the newest one has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from layoutcheck.catalogue import dsl_names
from layoutcheck.versions import MODELLED
from tests.conformance.names import asked, cuda13, history

pytest.importorskip("nvidia_cutlass_dsl")
TORCH = ("cutlass.torch.", "cutlass.utils.gemm.tensor_utils")  # modules that import torch


def version(
    dsl: str, *names: str, modules: tuple[str, ...] = ("cutlass", "cutlass.cute"), **advised: str
) -> dict[str, Any]:
    """A row of `names.asked`; a name is "cutlass.cute.f" or "cutlass.cute.f(a,b)"."""
    split = {name.partition("(")[0]: name.partition("(")[2].rstrip(")") for name in (*modules, *names)}
    listed = {name: parameters.split(",") if parameters else None for name, parameters in split.items()}
    return {
        "dsl": dsl,
        "modules": list(modules),
        "names": listed,
        "advised": {f"cutlass.cute.{k}": v for k, v in advised.items()},
    }


def test_what_all_versions_have_has_no_row() -> None:
    rows = [version("1.0", "cutlass.cute.f(a)"), version("1.1", "cutlass.cute.f(a)")]
    assert history(rows) == {"names": {}, "parameters": {}}


def test_what_went_tells_the_last_version_and_the_advice() -> None:
    old = version("1.0", "cutlass.cute.f", "cutlass.cute.g", f="g")
    assert history([old, version("1.1", "cutlass.cute.g")])["names"] == {
        "cutlass.cute": {"f": ["", "1.0", "cutlass.cute.g"]}
    }


def test_a_name_that_an_extra_lacks_is_told_with_its_versions() -> None:
    """A member of a class that it lacks altogether has no row of its own."""
    plain, extra = ("cutlass.cute.Old", "cutlass.cute.Old.member", "cutlass.cute.f"), ("cutlass.cute.g",)
    pairs = [(version(dsl, *plain), version(dsl, *extra)) for dsl in ("1.0", "1.1")]
    pairs.append((version("1.2", *plain), version("1.2", *plain)))
    assert cuda13(pairs) == {
        "without": {"cutlass.cute": {"Old": ["1.0", "1.1"], "f": ["1.0", "1.1"]}},
        "only": {"cutlass.cute": {"g": ["1.0", "1.1"]}},
    }


def test_a_name_that_moved_is_found_in_its_new_module() -> None:
    rows = [version("1.0", "cutlass.cute.Old"), version("1.1", "cutlass.Old")]
    names = history(rows)["names"]
    assert names["cutlass.cute"] == {"Old": ["", "1.0", "cutlass.Old"]}
    assert names["cutlass"] == {"Old": ["1.1", ""]}


def test_members_that_go_with_their_class_have_no_row() -> None:
    rows = [version("1.0", "cutlass.cute.K", "cutlass.cute.K.member"), version("1.1")]
    assert history(rows)["names"] == {"cutlass.cute": {"K": ["", "1.0", ""]}}


def test_a_parameter_is_counted_among_the_versions_that_have_the_function() -> None:
    rows = [version("1.0"), version("1.1", "cutlass.cute.f(a)"), version("1.2", "cutlass.cute.f(b)")]
    assert history(rows)["parameters"] == {"cutlass.cute.f": {"a": ["", "1.1"], "b": ["1.2", ""]}}


def test_a_function_that_takes_any_keyword_lacks_none() -> None:
    rows = [version("1.0", "cutlass.cute.f(a)"), version("1.1", "cutlass.cute.f(kwargs,b)")]
    assert history(rows)["parameters"] == {"cutlass.cute.f": {"b": ["1.1", ""]}}


def test_the_installed_dsl_has_what_the_newest_version_is_said_to_have() -> None:
    kept = dsl_names.history()
    assert kept["versions"][-1] == MODELLED
    said = {f"{owner}.{name}": row for owner, names in kept["names"].items() for name, row in names.items()}
    row = asked("", said)
    if row["dsl"] != MODELLED:
        pytest.skip(f"the installed DSL is {row['dsl']}, the file ends with {MODELLED}")

    def has(name: str) -> bool:
        return name in row["names"] or (no_torch and name.startswith(TORCH))

    no_torch = "cutlass.torch" not in row["modules"]
    now = [name for name, (_, until, *_rest) in said.items() if not until]
    assert not [name for name in now if not has(name)]
    assert not [name for name in said if name not in now and name in row["names"]]
    assert not [one for _, _, *instead in said.values() for one in instead if one and not has(one)]
    for function, parameters in kept["parameters"].items():
        given = row["names"].get(function)
        for parameter, (_, until) in parameters.items() if given is not None else ():
            assert bool(until) == (parameter not in given and "kwargs" not in given), (function, parameter)
    assert len(said) > 1000  # a file that was cut short agrees with everything


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (
            dsl_names.of_module("cutlass.cute", "make_fragment"),
            "from 4.2.0 to 4.5.3, and not in 4.6.0; in its place: cutlass.cute.make_rmem_tensor",
        ),
        (dsl_names.of_module("cutlass.utils", "ampere_helpers"), "from 4.2.0 to 4.2.1, and not in 4.3.0"),
        (
            dsl_names.of_parameter("mbarrier_arrive", "scope"),
            "has the parameter scope of mbarrier_arrive since 4.7.0",
        ),
    ],
)
def test_a_sentence_names_the_versions(told: tuple[str, ...], words: str) -> None:
    assert len(told) == 1
    assert words in told[0]


def test_nothing_is_said_of_what_every_version_has_or_none() -> None:
    assert not dsl_names.of_module("cutlass.cute", "copy")
    assert not dsl_names.of_module("cutlass.cute", "no_such_name")
    assert not dsl_names.of_parameter("copy", "no_such_parameter")


def test_every_row_names_a_measured_version() -> None:
    kept = json.loads(json.dumps(dsl_names.history()))
    versions = {*kept["versions"], ""}
    rows = [
        row for table in ("names", "parameters") for names in kept[table].values() for row in names.values()
    ]
    assert {one for since, until, *_ in rows for one in (since, until)} <= versions
    assert all(since or until for since, until, *_ in rows)
