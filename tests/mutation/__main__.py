"""Mutation run: small changes of the code, each of which some test must notice.

    python -m tests.mutation map                                       # once
    python -m tests.mutation map --paths tests/algebra/test_new.py     # tests that were added since
    python -m tests.mutation --count 300 --seed 1 --paths layoutcheck/algebra --out found.json
    python -m tests.mutation --again                                   # the survivors, with today's tests
    python -m tests.mutation --show 1a2b3c4d5e                         # a mutant as a diff

The sample takes as many mutants of each operator, by a hash of seed and id. `equivalent.json` lists mutants
that change nothing a user can see, each with its reason; they are not run. A run that was interrupted goes on
where it stopped: results are kept in `.mutation/`.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import date
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from platform import python_version
from typing import Any, ClassVar

from tests.mutation.mutants import Mutant, read, sample
from tests.mutation.running import Outcome, Tree
from tests.mutation.seeing import TestMap, record

ROOT = Path(__file__).parents[2]
STATE = Path(os.environ.get("MUTATION_STATE", ROOT / ".mutation"))
RESULTS = STATE / "results.jsonl"
EQUIVALENT = Path(__file__).with_name("equivalent.json")
ROOMS = ["algebra", "machine", "copies", "analysis", "atoms", "rules", "fixes", "sources", "lint"]
ROOMS += ["operands", "order", "patching", "provenance", "synthesis", "dsl/lowered"]
TESTS = ["algebra", "copies", "machine", "rules", "fixes", "sources", "lint", "atoms", "analysis"]
TESTS += [
    "test_recorded.py",
    "test_api.py",
    "test_cases.py",
    "test_corpus.py",
    "test_fuzz.py",
    "test_fuzz_async.py",
    "reports/test_pictures.py",
    "reports/test_reports.py",
    "reports/test_banks.py",
    "reports/test_draw_cli.py",
    "reports/test_annotations.py",
    "catalogue",
    "test_request.py",
    "test_cli.py",
    "patching",
    "dsl",
    "editor",
    "gpu",
    "kernels",
    "operands",
    "order",
    "provenance",
    "synthesis",
    "test_front_door.py",
    "test_gate.py",
    "test_options.py",
    "test_python.py",
]
NOT_BY_TESTS = "tests/rules/test_rules.py::test_the_pages_are_up_to_date"  # any changed word fails it
TIMED = {  # they fail on a busy machine: no judges
    "tests/lint/test_cases.py::test_a_case_that_misbehaves_costs_itself"
}
FIRST_S = 4.0  # seconds of tests: the likeliest; a mutant that they miss meets the others


def main() -> int:
    """Parse the options, run, print the table; 1 where a mutant survives that is not listed as equivalent."""
    options = _options()
    if options.what == "map":
        if options.paths:
            record(ROOT, STATE / "map", options.paths, options.jobs, add=True)
            return 0
        here = [f"tests/{name}" for name in TESTS if (ROOT / "tests" / name).exists()]
        record(ROOT, STATE / "map", [*here, "--deselect", NOT_BY_TESTS], options.jobs)
        return 0
    paths = options.paths or [
        f"layoutcheck/{room}" for room in ROOMS if (ROOT / "layoutcheck" / room).exists()
    ]
    found = {one.id: one for one in read(ROOT, paths)}
    if options.show:
        for id_ in filter(found.__contains__, options.show):
            print(*_diff(found[id_]), sep="")
        return 0
    equivalent: dict[str, dict[str, str]] = json.loads(EQUIVALENT.read_text("utf-8"))
    chosen = sample(list(found.values()), options.count, options.seed)
    if options.only:
        chosen = [found[id_] for id_ in options.only if id_ in found]
    done = {} if options.fresh else _results()
    if options.again:
        chosen = [found[id_] for id_, row in done.items() if id_ in found and row["status"] == "survived"]
    again = options.again or bool(options.only)
    todo = [m for m in chosen if m.id not in equivalent and (again or m.id not in done)]
    if options.report:
        todo = []
    for id_ in sorted(set(equivalent) - set(found)) if not options.paths else ():
        print(f"equivalent.json: {id_} of {equivalent[id_]['path']} is gone", file=sys.stderr)
    with contextlib.suppress(KeyboardInterrupt):  # then what was judged until now is shown
        _run_all(todo, options.jobs, options.budget, done)
    rows = [_row(m, equivalent, done) for m in chosen if m.id in equivalent or m.id in done]
    print(_table(rows))
    if options.out:
        options.out.write_text(json.dumps(_evidence(rows, options), indent=1) + "\n", encoding="utf-8")
    return int(any(row["status"] in ("survived", "untested", "error") for row in rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=["run", "map"], default="run")
    parser.add_argument("--count", type=int, default=300, help="mutants in the sample")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--paths", nargs="+", help="files and folders; by default every room of the model")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of tests a mutant, at most")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--again", action="store_true", help="run the survivors again")
    parser.add_argument("--only", nargs="+", metavar="ID", help="these mutants only, again")
    parser.add_argument("--show", nargs="+", metavar="ID", help="print these mutants and run nothing")
    parser.add_argument("--report", action="store_true", help="show what earlier runs judged, run nothing")
    parser.add_argument("--out", type=Path, help="write the result as JSON")
    return parser.parse_args()


def _run_all(todo: list[Mutant], jobs: int, budget_s: float, done: dict[str, dict[str, Any]]) -> None:
    if not todo:
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    fork = get_context("fork")
    tests, slot = TestMap(ROOT, STATE / "map"), fork.Value("i", 0)
    tally: Counter[str] = Counter()
    with (
        RESULTS.open("a" if done else "w", encoding="utf-8") as out,
        ProcessPoolExecutor(jobs, fork, _Judge.begin, (tests, slot, budget_s)) as pool,
    ):
        running = {pool.submit(_Judge.judge, mutant): mutant for mutant in todo}
        for n, future in enumerate(as_completed(running), 1):
            mutant, outcome = running[future], future.result()
            tally[outcome.status] += 1
            done[mutant.id] = {"id": mutant.id, **outcome._asdict()}
            out.write(json.dumps(done[mutant.id]) + "\n")
            out.flush()
            counts = ", ".join(f"{count} {status}" for status, count in sorted(tally.items()))
            what = f"{mutant.id} {mutant.path}:{mutant.line} {outcome.status} {outcome.seconds:.0f} s"
            print(f"{n}/{len(todo)} {what} ({counts})", file=sys.stderr, flush=True)
    for place in STATE.glob("tree*"):
        shutil.rmtree(place) if place.is_dir() else place.unlink()


class _Judge:
    """A process with a tree of its own, which forks for every mutant; it has no other threads."""

    tree: ClassVar[Tree]
    tests: ClassVar[TestMap]
    budget_s: ClassVar[float]
    sound: ClassVar[dict[str, bool]] = {}

    @classmethod
    def begin(cls, tests: TestMap, slot: Any, budget_s: float) -> None:
        with slot.get_lock():
            slot.value += 1
            place = STATE / f"tree{slot.value}"
        cls.tree, cls.tests, cls.budget_s = Tree(ROOT, place), tests, budget_s
        tests.root = place  # whoever edits the tree meanwhile may

    @classmethod
    def judge(cls, mutant: Mutant) -> Outcome:
        """The likeliest tests first; a mutant that they miss meets all that can see it, within a budget."""
        able = [
            test for test in cls.tests.tests_of(mutant) if test not in TIMED and cls.sound.get(test, True)
        ]
        if not able:
            return Outcome("untested", "", 0, 0.0)
        first = _within(able, cls.tests, FIRST_S)
        outcome = cls.tree.run(mutant, first, 20 + 5 * FIRST_S)
        if outcome.status == "survived" and len(first) < len(able):
            rest = _within(
                [test for test in able if test not in set(first)], cls.tests, cls.budget_s - FIRST_S
            )
            more = cls.tree.run(mutant, rest, 30 + 4 * cls.budget_s)
            outcome = more._replace(tests=outcome.tests + more.tests, seconds=outcome.seconds + more.seconds)
        if outcome.status == "killed" and outcome.by in cls.tests.seconds and not cls.passes(outcome.by):
            return cls.judge(mutant)  # without that test
        return outcome

    @classmethod
    def passes(cls, test: str) -> bool:
        """Whether a test passes on the code as it is: only then it can kill."""
        if test not in cls.sound:
            cls.sound[test] = cls.tree.run(None, [test], 120).status == "survived"
        return cls.sound[test]


def _within(tests: list[str], known: TestMap, budget_s: float) -> list[str]:
    """The tests from the first on that fit into the budget; always one."""
    out: list[str] = []
    for test in tests:
        if out and budget_s < known.seconds[test]:
            continue
        budget_s -= known.seconds[test]
        out.append(test)
    return out


def _results() -> dict[str, dict[str, Any]]:
    if not RESULTS.exists():
        return {}
    rows = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()]
    return {row["id"]: row for row in rows if row["by"] not in TIMED}


def _row(
    mutant: Mutant, equivalent: dict[str, dict[str, str]], done: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": mutant.id, "path": mutant.path, "line": mutant.line, "function": mutant.function,
        "operator": mutant.operator, "before": mutant.before, "after": mutant.after,
    }  # fmt: skip
    if mutant.id in equivalent:
        return row | {"status": "equivalent", "reason": equivalent[mutant.id]["reason"]}
    return row | {key: done[mutant.id][key] for key in ("status", "by")}


def _table(rows: list[dict[str, Any]]) -> str:
    out = [f"{'':28}{'mutants':>8}{'killed':>8}{'timeout':>8}{'equivalent':>11}{'survived':>9}{'rate':>8}"]
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["path"].split("/")[1], []).append(row)
    for row in rows:
        groups.setdefault("operator " + row["operator"], []).append(row)
    for name, of in [
        *sorted(groups.items(), key=lambda item: ("operator" in item[0], item[0])),
        ("all", rows),
    ]:
        n = Counter(row["status"] for row in of)
        survived = n["survived"] + n["untested"] + n["error"]
        out.append(
            f"{name:28}{len(of):8}{n['killed']:8}{n['timeout']:8}{n['equivalent']:11}{survived:9}{_rate(of):8.1%}"
        )
    for row in rows:
        if row["status"] in ("survived", "untested", "error"):
            before, after = (" ".join(row[key].split()) for key in ("before", "after"))
            out.append(
                f"{row['status']} {row['id']} {row['path']}:{row['line']} {row['function']}: "
                f"{before} -> {after}"
            )
    return "\n".join(out)


def _rate(rows: list[dict[str, Any]]) -> float:
    """Killed (a test that hangs notices too) of those that are not equivalent."""
    of = [row for row in rows if row["status"] != "equivalent"]
    return sum(row["status"] in ("killed", "timeout") for row in of) / max(1, len(of))


def _evidence(rows: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    return {
        "date": date.today().isoformat(),
        "commit": subprocess.check_output(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True
        ).strip(),
        "command": "python -m tests.mutation " + " ".join(sys.argv[1:]),
        "versions": {
            "python": python_version(),
            **{n: version(n) for n in ("pytest", "hypothesis", "numpy")},
        },
        "sampled": options.count,
        "judged": len(rows),
        "status": dict(Counter(row["status"] for row in rows)),
        "killed_of_not_equivalent": round(_rate(rows), 4),
        "mutants": [{k: v for k, v in row.items() if k != "line"} for row in rows],
    }


def _diff(mutant: Mutant) -> Iterator[str]:
    text = (ROOT / mutant.path).read_text("utf-8")
    yield f"{mutant.id} {mutant.operator} in {mutant.function or 'the module'}\n"
    after = mutant.apply(text).splitlines(keepends=True)
    yield from difflib.unified_diff(text.splitlines(keepends=True), after, mutant.path, mutant.path, n=1)


if __name__ == "__main__":
    sys.exit(main())
