"""For every test module: one process of the DSL to ask, hypothesis, and what keeps a run of everything short.

Hypothesis has no time limit for an example, and on CI it takes the same examples every time.
"""

from __future__ import annotations

import compileall
import contextlib
import gc
import importlib
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from layoutcheck.dsl.session import Session
from tests.environment import ROOT

# Time limits for one example must not depend on how busy the machine is.
settings.register_profile("layoutcheck", deadline=None, max_examples=25, derandomize=bool(os.getenv("CI")))
settings.load_profile("layoutcheck")


# Seldom: a collection looks through all that the tests before have left, and finds little.
# What is made before the tests begin stays to the end.
gc.set_threshold(200_000)
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    """Compile layoutcheck once, and let Ctrl-C end what tests start.

    Tests start hundreds of processes; where PYTHONDONTWRITEBYTECODE is set, each would compile its imports.
    A shell starts what runs in the background with SIGINT ignored, and processes take that over.
    Workers, and what they start, have no threads of numpy's BLAS, which wait by spinning.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "layoutcheck", quiet=2)


def pytest_collection(session: pytest.Session) -> None:
    """Every second worker begins with the last file: each rewrites half of them, and reads the other half."""
    config = session.config
    worker = getattr(config, "workerinput", {}).get("workerid", "gw0")
    if int(worker[2:]) % 2 and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        for path in sorted((ROOT / "tests").rglob("test_*.py"), reverse=True):
            with contextlib.suppress(Exception, pytest.skip.Exception):  # pytest itself will tell
                importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The types are checked first: half a minute of one process, which the other files fill beside it."""
    items.sort(key=lambda item: item.path.name != "test_house.py")


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was collected stays to the end: garbage collection need not look at it.

    Runs of pytest that a test starts do without the plugins that they do not use, which take each of them
    more than a second to import.
    """
    gc.freeze()
    gc.enable()
    unused = ("pytest-lsp", "asyncio", "hypothesispytest", "platformdirs")
    os.environ["PYTEST_ADDOPTS"] = " ".join(f"-p no:{plugin}" for plugin in unused)


@pytest.fixture(scope="session")
def dsl() -> Iterator[Session]:
    """A process of the DSL that many modules ask; tests that end it start their own."""
    with Session() as session:
        yield session


def pytest_sessionstart(session: pytest.Session) -> None:
    """A worker tells of a test that passes in two messages instead of six.

    Only durations and JUnit's report ask when it began and ended and that its fixtures passed.
    """
    config = session.config
    told = {type(plugin).__name__: plugin for plugin in config.pluginmanager.get_plugins()}
    worker: Any = told.get("WorkerInteractor")
    if worker is None or config.option.durations or config.option.xmlpath:
        return
    send = worker.sendevent

    def sendevent(name: str, **given: Any) -> None:
        report = given.get("data", {}) if name == "testreport" else {}
        if name in ("logstart", "logfinish"):
            return
        if report.get("outcome") == "passed" and report["when"] != "call" and not report["sections"]:
            return
        send(name, **given)

    worker.sendevent = sendevent


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """In a run of everything one worker takes a file whole, so that what its tests share is made once."""
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return None
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    config.option.loadscopereorder = False  # the slow files come early, and the last ones are short
    return LoadFileScheduling(config, log)
