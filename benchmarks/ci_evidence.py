"""What `layoutcheck ci` found in public code, as evidence: `python -m benchmarks.ci_evidence NAME=JSON ...`.

    layoutcheck ci --yes --no-cache --arch sm_90a,sm_100a --format json --output JSON --fail-on none
    python -m benchmarks.ci_evidence owner/name@commit=JSON ... --output docs/evidence/public_code.json

What the output holds of other repositories stays, with the commands that made it (`runs`). With
`--checkout owner/name@commit=FOLDER` the functions that no program calls are looked up there, for reports
that were written before `ci` named them.
`benchmarks/looked_at.json` holds what a person said of a finding, by repository, place and code: whether it
is so, and why. `benchmarks/site_causes.json` says, by repository and the beginning of a path, why copy sites
there were not reached, where an older report does not say it; the sites are counted here. NAME=JSON+JSON is
one row of several runs of the same paths, for other architectures or with other versions of the DSL: a site
that one of them reached is reached, and what is left has the first run's reason. `--add NAME=JSON` adds a run
to a row that the output holds; what is left then has the surer of the two reasons.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from layoutcheck.lint.cache import Cache
from layoutcheck.lint.called import Called
from layoutcheck.lint.files import collect
from layoutcheck.lint.programs import discover
from layoutcheck.linting import settings_for

LOOKED_AT = Path(__file__).with_name("looked_at.json")
CAUSES = Path(__file__).with_name("site_causes.json")
UNCALLED, NOTEBOOK = "no program calls the function", "in a notebook, which is not run"
UNTAKEN, UNKNOWN = "behind a condition that no kernel met", "not looked into"
_KINDS = (  # of the reasons that `ci` gives, by a word of each
    ("refuses its kernel", "the DSL refuses its kernel"),
    (" failed in it", "its program fails"),
    ("its name says", "for another architecture than that of the run"),
    ("the time limit ended", "the time limit ended its program"),
    ("import it did not end", "another program that imports its file did not end well"),
    ("are skipped", "its tests are skipped"),
    ("no program imported", "no program imports its file"),
    ("no program that imports", "no kernel that was seen uses it"),
    ("the file itself was run", "no kernel that was seen uses it"),
    (" failed: ", "its program fails"),
)
_SUMS = ("programs", "built_kernels", "kernels", "copies", "checked")
_SUREST = (
    "refuses its kernel",
    " failed in it:",
    " failed in its file:",
    " failed: ",
    "the time limit ended",
)
BEYOND = (UNCALLED, NOTEBOOK, UNTAKEN, "no kernel that was seen uses it")
"""Causes of sites that no program reaches, all of them having come to their ends."""
_PATH = re.compile(r" \(/[^)\s]*\)?")  # where a module lies
_INSTALLED = re.compile(r"/\S*/(?:site|dist)-packages/|(?<!\S)/\S*/(?=[^/\s]+/[^/\s]+\.py)")
REPORTED = ("rejected", "wrong", "slow")


def not_reached(counts: dict[str, Any], causes: dict[str, str]) -> dict[str, int]:
    """How many copy sites were not reached, by their causes."""
    uncalled, untaken = counts.get("uncalled", {}), counts.get("untaken", {})
    found: Counter[str] = Counter()
    for place, lines in uncalled.items():
        found[NOTEBOOK if ".ipynb:" in place else UNCALLED] += len(lines)
    found[UNTAKEN] += sum(map(len, untaken.values()))
    known = {(place.rpartition(":")[0], line) for place, lines in uncalled.items() for line in lines}
    known |= {(place, line) for at in (uncalled, untaken) for place, lines in at.items() for line in lines}
    for reasons in counts.get("because", {}).values():
        for reason, lines in reasons.items():
            found[next(kind for word, kind in _KINDS if word in reason)] += len(lines)
    for path, lines in counts["never"].items() if "because" not in counts else ():
        begins = [start for start in causes if path.startswith(start)]
        cause = causes[max(begins, key=len)] if begins else UNKNOWN
        found[cause] += sum((path, line) not in known for line in lines)
    return {cause: number for cause, number in found.most_common() if number}


def left(counts: dict[str, Any]) -> list[dict[str, Any]]:
    """The copy sites that were not reached, by file and reason; of older reports those that have one."""
    rows = []
    for key, cause in (("uncalled", UNCALLED), ("untaken", UNTAKEN)):
        for place, lines in counts.get(key, {}).items():
            file, _, name = place.partition(":")
            why = NOTEBOOK if file.endswith(".ipynb") else f"{cause} {name}".strip()
            rows.append({"file": file, "lines": lines, "why": why})
    for file, reasons in counts.get("because", {}).items():
        rows += [{"file": file, "lines": lines, "why": _PATH.sub("", why)} for why, lines in reasons.items()]
    return sorted((row for row in rows if row["lines"]), key=lambda row: (row["file"], row["lines"]))


def merged(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """One report of several of the same files. Raises ValueError where they hold other sites."""
    first, *others = reports
    if any(other["counts"]["sites"] != first["counts"]["sites"] for other in others):
        raise ValueError("reports of other copy sites cannot be one")
    if not others:
        return first
    left = {(path, line) for path, lines in first["counts"]["never"].items() for line in lines}
    for other in others:
        left &= {(path, line) for path, lines in other["counts"]["never"].items() for line in lines}
    counts = dict(first["counts"])
    for key in ("uncalled", "untaken"):
        counts[key] = {
            place: [line for line in lines if (place.partition(":")[0], line) in left]
            for place, lines in counts[key].items()
        }
    counts["because"] = {
        path: {why: [line for line in lines if (path, line) in left] for why, lines in reasons.items()}
        for path, reasons in counts["because"].items()
    }
    for key in ("kernels", "copies", "checked"):
        counts[key] = sum(each["counts"][key] for each in reports)
    sources = (Counter(each["counts"]["address_sources"]) for each in reports)
    counts["address_sources"] = dict(sum(sources, Counter[str]()))
    counts["traced"] = counts["sites"] - len(left)
    seen = {
        (one["path"], one["line"], one["code"], one["title"]): one
        for each in reports
        for one in each["findings"]
    }
    runs = [run for each in reports for run in each["runs"]]
    return {"counts": counts, "runs": runs, "findings": sorted(seen.values(), key=lambda one: one["path"])}


def added(row: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """A row with one more run of the same files. Raises ValueError where that holds other sites."""
    more = summary(found, {})
    if row["sites"] != more["sites"]:
        raise ValueError("reports of other copy sites cannot be one")
    before, now = (
        {(one["file"], line): one["why"] for one in rows for line in one["lines"]}
        for rows in (row["left"], more["left"])
    )
    sites: dict[tuple[str, str], list[int]] = {}
    for file, line in sorted(before.keys() & now.keys()):
        why = min((before[file, line], now[file, line]), key=_doubt)
        sites.setdefault((file, why), []).append(line)
    rows = [{"file": file, "lines": lines, "why": why} for (file, why), lines in sites.items()]
    missed = Counter({_cause(one["why"]): 0 for one in rows})
    for one in rows:
        missed[_cause(one["why"])] += len(one["lines"])
    known = {(one["place"], one["code"], one["title"]): one for one in (*more["findings"], *row["findings"])}
    return {
        **row,
        **{
            key: row[key] + more[key] for key in ("programs", "built_kernels", "kernels", "copies", "checked")
        },
        "traced": row["sites"] - sum(missed.values()),
        "not_reached": dict(missed.most_common()),
        "left": sorted(rows, key=lambda one: (one["file"], one["lines"])),
        "beyond": sum(missed[cause] for cause in BEYOND),
        "address_sources": dict(Counter(row["address_sources"]) + Counter(more["address_sources"])),
        "findings": sorted(known.values(), key=lambda one: one["place"]),
        "not_seen": dict((Counter(row["not_seen"]) + Counter(more["not_seen"])).most_common()),
    }


def _doubt(why: str) -> int:
    """How little a reason says of a site."""
    return next((at for at, word in enumerate(_SUREST) if word in why), len(_SUREST))


def _cause(why: str) -> str:
    if why.startswith((UNCALLED, NOTEBOOK)):
        return UNCALLED if why.startswith(UNCALLED) else NOTEBOOK
    return UNTAKEN if why == UNTAKEN else next(kind for word, kind in _KINDS if word in why)


def uncalled(folder: Path, never: dict[str, list[int]]) -> dict[str, list[int]]:
    """Of sites that were not reached, those in functions that no program calls, and those in notebooks."""
    with contextlib.chdir(folder):
        settings = settings_for(["."], None, None, None)
        programs = discover(["."], settings, Cache(None, "outlines"))
        tests = [case.path for case in programs if case.command[:2] == ("-m", "pytest")]
        scripts = [case.path for case in programs if case.path not in tests]
        known = Called({path: Path(path).read_bytes() for path in collect(["."], settings)}, tests, scripts)
    found: dict[str, list[int]] = {}
    for path, lines in never.items():
        for line in lines:
            name = known.uncalled(path, line)
            if name or ".ipynb:" in path:
                found.setdefault(f"{path}:{name}" if name else path, []).append(line)
    return found


def summary(
    found: dict[str, Any],
    causes: dict[str, str],
    dsl: str | None = None,
) -> dict[str, Any]:
    counts, runs = found["counts"], found["runs"]
    findings = []
    for one in found["findings"]:
        if one["severity"] in REPORTED:
            place = f"{_INSTALLED.sub('', one['path'])}:{one['line']}"
            told = {key: _INSTALLED.sub("", one[key]) for key in ("code", "severity", "title")}
            findings.append({"place": place, **told})
    missed = not_reached(counts, causes)
    ended = Counter(_PATH.sub("", run["failures"][0])[:160] for run in runs if run["failures"])
    return {
        **({"dsl": dsl} if dsl else {}),
        "programs": len(runs),
        "built_kernels": sum(run["kernels"] > 0 for run in runs),
        **{key: counts[key] for key in ("kernels", "copies", "checked", "sites", "traced")},
        "not_reached": missed,
        "left": left(counts),
        "beyond": sum(missed.get(cause, 0) for cause in BEYOND),
        "address_sources": counts["address_sources"],
        "findings": findings,
        "not_seen": dict(ended.most_common()),
    }


def commands(before: list[dict[str, Any]], run: dict[str, Any], names: list[str]) -> list[dict[str, Any]]:
    """The runs that made what a file holds, with the names of their rows: those of `before` and this one."""
    left = [{**one, "rows": [name for name in one["rows"] if name not in names]} for one in before]
    return [*(one for one in left if one["rows"]), {**run, "rows": names}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="*", metavar="NAME=JSON[+JSON]")
    parser.add_argument("--add", action="append", default=[], metavar="NAME=JSON[+JSON]")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--checkout", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--dsl", help="the version that the programs ran with, if it is not this one's")
    parser.add_argument("--device", help="where the programs ran, if not here, and for how long")
    given = parser.parse_args()
    looked_at, causes = json.loads(LOOKED_AT.read_text()), json.loads(CAUSES.read_text())
    before = json.loads(given.output.read_text()) if given.output.exists() else {}
    repositories = before.get("repositories", {})
    folders = dict(word.rsplit("=", 1) for word in given.checkout)
    made = head("benchmarks.ci_evidence", **({"device": given.device} if given.device else {}))
    names = [word.rpartition("=")[0] for word in given.reports]
    run = {"date": made["date"], "command": made["command"]}
    made["runs"] = commands(before.get("runs", []), run, names) if names else before.get("runs", [])
    for word in given.reports:
        name, _, file = word.rpartition("=")
        found = merged([json.loads(Path(one).read_text()) for one in file.split("+")])
        if name in folders:
            found["counts"]["uncalled"] = uncalled(Path(folders[name]), found["counts"]["never"])
        mine = causes.get(name.partition(" ")[0].partition("@")[0], {})
        repositories[name] = summary(found, mine, given.dsl)
    for word in given.add:
        name, _, file = word.rpartition("=")
        found = merged([json.loads(Path(one).read_text()) for one in file.split("+")])
        repositories[name] = added(repositories[name], found)
        made["runs"] = [*made["runs"], {**run, "rows": [name]}]
    for name, row in repositories.items():  # what was said since of earlier rows, too
        for one in row["findings"]:
            one.update(looked_at.get(f"{name.partition('@')[0]} {one['place']} {one['code']}", {}))
    write({**made, "repositories": repositories}, given.output)


if __name__ == "__main__":
    main()
