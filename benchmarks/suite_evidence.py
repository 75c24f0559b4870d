"""What `pytest --layoutcheck=confirm --layoutcheck-output` saw of a test suite, as evidence.

    python -m benchmarks.suite_evidence TOLD.jsonl OUT.json SUITE COMMAND

SUITE names the suite and its version; COMMAND is what was run there. Counts by source line, not every copy.
"""

from __future__ import annotations

import datetime
import json
import platform
import sys
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def summary(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Distinct copies, by the line that makes them, and how verdict, compiler and machine compare."""
    places: dict[str, Counter[str]] = {}
    for one in lines:
        told = one.get("confirmation") or {}
        ran, agrees = told.get("ran", "nothing"), told.get("agrees")
        fate = f"{one['verdict']}: {ran}" + ("" if agrees is None else " agrees" if agrees else " DISAGREES")
        places.setdefault(_short(one["subject"]), Counter())[fate] += 1
    return {
        "copies": len(lines),
        "tests": len({test for one in lines for test in one["tests"]}),
        "verdicts": Counter(one["verdict"] for one in lines),
        "ran": sum((one.get("confirmation") or {}).get("ran") == "gpu" for one in lines),
        "disagreements": sum((one.get("confirmation") or {}).get("agrees") is False for one in lines),
        "threads": Counter(one["execution"].get("threads", 0) for one in lines),
        "places": dict(sorted(places.items())),
    }


def _short(subject: str | None) -> str:
    """The last two parts of a path, and the line."""
    return "/".join(Path(subject or "unknown").parts[-2:])


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def main(told: Path, out: Path, suite: str, command: str) -> None:
    """Write the evidence and print it."""
    lines = [json.loads(line) for line in told.read_text().splitlines()]
    machine = next((one["confirmation"]["machine"] for one in lines if one.get("confirmation")), {})
    driver = machine.get("driver")
    found = {
        "environment": {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "device": machine.get("name"),
            "driver": f"CUDA {driver // 1000}.{driver % 1000 // 10}" if isinstance(driver, int) else None,
            "python": platform.python_version(),
            "versions": {name: _version(name) for name in ("nvidia-cutlass-dsl", "torch", "pytest")},
            "command": command,
        },
        "suite": suite,
        **summary(lines),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps({key: found[key] for key in ("copies", "tests", "verdicts", "ran", "disagreements")}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
