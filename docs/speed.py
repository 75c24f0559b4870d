"""The page of docs/evidence/speed.json, and the ratios that other runs recorded."""

from __future__ import annotations

import statistics
from typing import Any

from docs.confirmations import row

_PAGE = """# Speed

What layoutcheck costs beside something else that you know. One command measures the first table again; the
runs behind the second are listed in [All runs](evidence.md).

```sh
{command}
```

{device}, Python {python}, {versions}; {date}, with a load average of {load} from other work.
Times are processor time in milliseconds: median / p99 / the most. A ratio is of the medians; below 1
layoutcheck takes less.

| what | ms | beside | ms | ratio | aim |
| --- | --- | --- | --- | --- | --- |
{rows}

- Whole commands are processes of their own, with compiled byte code.
- `check` answers three questions of every thread (compiled, correct, fast). The DSL's verifier answers one
  question of one thread's types. It is asked about 4,000 copies in one process; its start is not counted.
- Fixes are searched when they are asked for. The random copies are those of `benchmarks/bench_fixes.py`:
  one in three is a whole tile.

## Of other runs

| what | beside | ratio | run |
| --- | --- | --- | --- |
{others}
"""


def page(run: dict[str, Any], lint: dict[str, Any], trace: dict[str, Any], numerics: dict[str, Any]) -> str:
    """docs/speed.md."""
    rows = [
        row(
            one["what"],
            _milliseconds(one["ours"]),
            one["peer"],
            _milliseconds(one["theirs"]),
            "" if one["ratio"] is None else f"{one['ratio']:.2g}x",
            one["aim"],
        )
        for one in run["rows"]
    ]
    kernels = [one for one in trace["overhead"]["kernels"].values() if "plain" in one]
    watched = statistics.median(one["watched"] / one["plain"] for one in kernels)
    whole = statistics.median((one["watched"] + one["judged"]) / one["plain"] for one in kernels)
    mma, peer = numerics["layoutcheck mma.m16n8k16.f32.f16"], numerics["mmasim m16n8k16.f32.f16.f16.f32"]
    others = [
        row("lint of three repositories", "`ruff check`", f"{lint['ratio_to_ruff']['cpu_seconds']}x", "lint"),
        row(
            "a compile that is watched",
            f"the same compile, {len(kernels)} kernels",
            f"{watched:.2f}x",
            "trace",
        ),
        row("the same and every copy judged", "the same compile", f"{whole:.2f}x", "trace"),
        row(
            "a GEMM of 1024 in tensor-core arithmetic",
            "mmasim 2.1.1, numba",
            f"{mma['cpu_s'] / peer['cpu_s']:.3f}x",
            "numerics_speed",
        ),
    ]
    return _PAGE.format(
        command=run["command"],
        device=run["device"],
        python=run["python"],
        versions=", ".join(f"{name} {found}" for name, found in run["versions"].items()),
        date=run["date"],
        load=run["load_average"],
        rows="\n".join(rows),
        others="\n".join(others),
    )


def _milliseconds(found: dict[str, float] | None) -> str:
    if found is None:
        return ""
    return " / ".join(f"{found[name] * 1000:.3g}" for name in ("p50", "p99", "max") if name in found)
