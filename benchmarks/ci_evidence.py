"""What `layoutcheck ci` found in public code, as evidence: `python -m benchmarks.ci_evidence NAME=JSON ...`.

    layoutcheck ci --yes --no-cache --arch sm_90a,sm_100a --format json --output JSON --fail-on none
    python -m benchmarks.ci_evidence owner/name@commit=JSON ... --output docs/evidence/public_code.json

What the output holds of other repositories stays.
`benchmarks/looked_at.json` holds what a person said of a finding, by repository, place and code: whether it
is so, and why.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write

LOOKED_AT = Path(__file__).with_name("looked_at.json")
_PATH = re.compile(r" \(/[^)\s]*\)?")  # where a module lies
_INSTALLED = re.compile(r"/\S*/(?:site|dist)-packages/")
REPORTED = ("rejected", "wrong", "slow")


def summary(name: str, found: dict[str, Any], looked_at: dict[str, dict[str, str]]) -> dict[str, Any]:
    counts, runs = found["counts"], found["runs"]
    findings = []
    for one in found["findings"]:
        if one["severity"] in REPORTED:
            place = f"{_INSTALLED.sub('', one['path'])}:{one['line']}"
            said = looked_at.get(f"{name.partition('@')[0]} {place} {one['code']}", {})
            told = {key: _INSTALLED.sub("", one[key]) for key in ("code", "severity", "title")}
            findings.append({"place": place, **told, **said})
    ended = Counter(_PATH.sub("", run["failures"][0])[:160] for run in runs if run["failures"])
    return {
        "programs": len(runs),
        "built_kernels": sum(run["kernels"] > 0 for run in runs),
        **{key: counts[key] for key in ("kernels", "copies", "checked", "sites", "traced")},
        "address_sources": counts["address_sources"],
        "findings": findings,
        "not_seen": dict(ended.most_common()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="+", metavar="NAME=JSON")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--device", help="where the programs ran, if not here, and for how long")
    given = parser.parse_args()
    looked_at = json.loads(LOOKED_AT.read_text())
    repositories = json.loads(given.output.read_text())["repositories"] if given.output.exists() else {}
    for word in given.reports:
        name, _, file = word.rpartition("=")
        repositories[name] = summary(name, json.loads(Path(file).read_text()), looked_at)
    made = {
        **head("benchmarks.ci_evidence", **({"device": given.device} if given.device else {})),
        "repositories": repositories,
    }
    write(made, given.output)


if __name__ == "__main__":
    main()
