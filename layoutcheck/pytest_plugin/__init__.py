"""The pytest plugin: a fixture, three markers and `--layoutcheck`. Inert until one of them is used.

    def test_copy(layoutcheck):
        layoutcheck.assert_legal("(8):(1)", "(8):(1)", "cp.async", bits=128, dtype="bf16")

    @pytest.mark.layoutcheck_gpu                      skipped, with the reason, where no GPU is
    @pytest.mark.layoutcheck_cases("copies.jsonl")    one test for each line, as argument `layoutcheck_case`
    @pytest.mark.layoutcheck_allow("LC201")           the test compiles such a copy on purpose

`pytest --layoutcheck=lint` checks every copy of every kernel that the suite compiles, and fails the tests
that compile a `wrong` or `rejected` one; `--layoutcheck=confirm` also runs each distinct copy once.

pytest imports this module at every start: it imports nothing but pytest and the standard library.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from layoutcheck.pytest_plugin.fixture import Checker

MODES = ("off", "lint", "confirm")
CHECKER, NO_GPU = "_layoutcheck_checker", "_layoutcheck_no_gpu"  # of pytest's config; pytest 6 has no stash


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--layoutcheck`, `--layoutcheck-no-lowered`, `--layoutcheck-no-order` and `--layoutcheck-output`."""
    _keep_bytecode()
    group = parser.getgroup("layoutcheck")
    group.addoption(
        "--layoutcheck-output",
        type=Path,
        metavar="FILE",
        help="write what --layoutcheck saw to this file, one JSON object for each distinct copy",
    )
    group.addoption(
        "--layoutcheck-no-lowered",
        action="store_true",
        help="judge copies of unknown layouts by their types, not by the compiler's lowering",
    )
    group.addoption(
        "--layoutcheck-no-order",
        action="store_true",
        help="leave the order of accesses (waits, barriers, fences, phases) unchecked",
    )
    group.addoption(
        "--layoutcheck",
        nargs="?",
        choices=MODES,
        const="lint",
        default="off",
        help="check every copy of the kernels that the tests compile (lint), and run each as well (confirm)",
    )


def _keep_bytecode() -> None:
    """Let Python load layoutcheck's modules as it does without pytest, from their bytecode.

    pytest rewrites the assertions of a distribution that has a plugin. Where no bytecode can be kept, each
    start compiles our modules anew. A test shows its own values, and needs none of ours. pytest has no public
    way to decline: if its hook ever looks otherwise, our modules are rewritten as before.
    """
    for finder in sys.meta_path:
        marked = getattr(finder, "_must_rewrite", None)
        if isinstance(marked, set):
            marked.discard("layoutcheck")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers; begin to watch compiles where that was asked for."""
    config.addinivalue_line(
        "markers", "layoutcheck_gpu: needs a GPU; skipped, with the reason, where there is none"
    )
    config.addinivalue_line(
        "markers",
        "layoutcheck_cases(file): one test for each copy of a JSONL file, as argument `layoutcheck_case`",
    )
    config.addinivalue_line(
        "markers",
        "layoutcheck_allow(code, ..., reason=...): the test compiles what these rules flag on purpose",
    )
    mode, output = config.getoption("--layoutcheck"), config.getoption("--layoutcheck-output")
    if output is not None and mode == "off":
        raise pytest.UsageError("--layoutcheck-output is not used; expected it with --layoutcheck")
    if mode != "off":
        from layoutcheck.whole import WRITABLE, why_unwritable

        why = "" if output is None else why_unwritable(output)
        if why:
            raise pytest.UsageError(f"cannot write {output}: {why}; expected {WRITABLE}")
        from layoutcheck.pytest_plugin.observer import Observer

        config.pluginmanager.register(Observer(config, mode), "layoutcheck-observer")
        _one_gpu_a_worker()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the process that asks the DSL, where one was started."""
    checker = vars(config).get(CHECKER)
    if checker is not None:
        checker.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each copy of the file that `layoutcheck_cases` names, relative to the test's own file."""
    marker = metafunc.definition.get_closest_marker("layoutcheck_cases")
    if marker is None:
        return
    if len(marker.args) != 1 or "layoutcheck_case" not in metafunc.fixturenames:
        pytest.fail(
            "layoutcheck_cases takes one file, and the test an argument 'layoutcheck_case'", pytrace=False
        )
    from layoutcheck.errors import InputError
    from layoutcheck.pytest_plugin.fixture import cases

    unusable = ""
    try:
        found = cases(metafunc.definition.path.parent / marker.args[0])
    except InputError as error:
        unusable = str(error)
    if unusable:  # outside of the except: pytest would show the error twice
        pytest.fail(unusable, pytrace=False)
    metafunc.parametrize("layoutcheck_case", found, ids=[one.name for one in found])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A worker of several takes one GPU for itself, before any test can open it."""
    if any(item.get_closest_marker("layoutcheck_gpu") or _uses_fixture(item) for item in items):
        _one_gpu_a_worker()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a GPU where there is none."""
    if item.get_closest_marker("layoutcheck_gpu") is None:
        return
    kept = vars(item.config)
    if NO_GPU not in kept:
        from layoutcheck.gpu.process import no_gpu

        kept[NO_GPU] = no_gpu()
    if kept[NO_GPU]:
        pytest.skip(kept[NO_GPU])


@pytest.fixture
def layoutcheck(request: pytest.FixtureRequest) -> Iterator[Checker]:
    """`assert_legal`, `assert_copy` and `confirm` for copies given as `layoutcheck.check` takes them."""
    from layoutcheck.pytest_plugin.fixture import Checker

    kept = vars(request.config)
    if CHECKER not in kept:
        kept[CHECKER] = Checker()
    yield kept[CHECKER]


@pytest.fixture(scope="session")
def layoutcheck_numerics() -> ModuleType:
    """`assert_within`, `assert_bits` and `assert_attention` for the results of tensor-core kernels."""
    return import_module("layoutcheck.numerics.checks")


def _uses_fixture(item: pytest.Item) -> bool:
    return "layoutcheck" in getattr(item, "fixturenames", ())


def _one_gpu_a_worker() -> None:
    """Under pytest-xdist with several GPUs, worker n sees only GPU n (modulo their number)."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker.startswith("gw"):
        return
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = gpu_names() if visible is None else [name for name in visible.split(",") if name.strip()]
    if len(gpus) > 1:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus[int(worker[2:]) % len(gpus)]


def gpu_names(devices: Path = Path("/dev")) -> list[str]:
    """The ordinals of the GPUs whose device files exist."""
    count = sum(path.name[len("nvidia") :].isdigit() for path in devices.glob("nvidia*"))
    return [str(i) for i in range(count)]
