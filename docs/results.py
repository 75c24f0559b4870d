"""Pages of docs/evidence/*.json: every run with its circumstances, and the copies confirmed on a GPU."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from tests.holes import HOLES

EVIDENCE = Path(__file__).parent / "evidence"

# What the runs of a name show, and the page that tables them. A run not named here is listed all the same.
_PAGES = {
    "bulk": ("bulk copies and st.async: bytes, faults, barriers that never complete", "how-it-knows.md"),
    "confirm": ("copies: which bytes landed where, which copies faulted", "confirmed.md"),
    "arch": ("which instruction ptxas takes for which target", "rules/lc108.md"),
    "banks": ("shared-memory wavefronts and global sectors, one instruction a kernel", "banks.md"),
    "cp_async": ("the same for cp.async, with its times", "banks.md"),
    "tensorop_gemm": ("a whole CUTLASS example, counted", "banks.md"),
    "numerics": ("tensor-core arithmetic, bit for bit", "numerics.md"),
    "transpose_counters": ("the transpose kernels: the cost model beside time and counters", "kernels.md"),
    "transpose": ("the transpose kernels: results and speed", "kernels.md"),
}

_RUNS = """# All runs

Every measured number of this project is in a JSON file of `docs/evidence/`, with the command that wrote it.
The pages read them; nobody types a figure. This table is made of the files themselves.

| run | what it shows | where and when | versions |
| --- | --- | --- | --- |
{rows}

## The commands

{commands}
"""

_CONFIRMED = """# Copies on an H200

Every copy below was compiled by {compiler}, run on an {device} (driver {driver}) on {date}, and its
destination read back element by element and compared with two predictions: where the bytes go according to
the instructions (`execution`), and where the layouts ask them to go (`intent`). [How a copy is
run](confirm.md).

```sh
{command}
```

## In one table

{count} copies, {compared} of them run and compared; **{disagreements} disagreements**.

| verdict | model | machine | copies |
| --- | --- | --- | ---: |
{table}

A `wrong` copy that brings its data to the right place wrote outside of the destination as well. Copies called
`legal` or `slow` that corrupted or faulted: **{missed}**. Copies called `wrong` whose every byte was as
asked, guard zone included:
**{alarms}**{which}.

Not run, and why:

{not_run}

## Every reproducer

Each kind of hole in DSL 4.8.1 as one copy that the compiler accepts and the machine gets wrong, and its
corrected twin. *Observed* is what the H200 did.

| reproducer | what is wrong with it | verdict | predicted | observed | corrected twin |
| --- | --- | --- | --- | --- | --- |
{holes}

## Random copies

{random} copies drawn at random near the boundary of what the compiler accepts (universal, `cp.async`, g2r,
r2g, s2r, r2s, `ldmatrix`, `stmatrix`; static and run-time strides, one thread and whole tiles, swizzles,
predicates).

| verdict | predicted | observed | copies |
| --- | --- | --- | ---: |
{random_table}
"""


def evidence_pages() -> dict[str, str]:
    """The pages by their names in docs/."""
    return {"evidence.md": _runs(), "confirmed.md": _confirmed(_read("confirm"))}


def _read(stem: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EVIDENCE / f"{stem}.json").read_text(encoding="utf-8"))
    return found


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _runs() -> str:
    rows, commands = [], []
    for path in sorted(EVIDENCE.glob("*.json")):
        run = _read(path.stem)
        about = {**run, **run.get("host", {}), **run.get("environment", {})}
        what, page = _PAGES.get(path.stem) or _PAGES.get(path.stem.split("_")[0], ("", f"{path.stem}.md"))
        if page == "confirmed.md" or (EVIDENCE.parent / page).exists():
            what = f"[{what or page.removesuffix('.md')}]({page})"
        device = about.get("device", "")
        device = device.get("name", "") if isinstance(device, dict) else device
        driver = f"driver {about['driver']}" if about.get("driver") else ""
        date = str(about.get("date", "")).split("T")[0]
        where = ", ".join(part for part in (device, driver, date) if part)
        rows.append(_row(f"[{path.stem}](evidence/{path.name})", what, where, _versions(about)))
        command = about.get("command") or f"# {about.get('source', '')}"
        commands.append(f"{path.stem}:\n\n```sh\n{command}\n```\n")
    return _RUNS.format(rows="\n".join(rows), commands="\n".join(commands))


def _versions(about: dict[str, Any]) -> str:
    """Software versions, wherever a run keeps them."""
    found = about.get("versions", {})
    named = dict(found) if isinstance(found, dict) else {"versions": str(found)}
    for key in (
        "compiler",
        "nvidia-cutlass-dsl",
        "torch",
        "cuda",
        "triton",
        "numpy",
        "python",
        "ncu",
        "nvcc",
    ):
        if isinstance(about.get(key), str) and len(about[key]) < 40:  # ncu may be the command
            named[key] = about[key]
    return ", ".join(version if key == "compiler" else f"{key} {version}" for key, version in named.items())


def _confirmed(run: dict[str, Any]) -> str:
    holes = {one["name"]: one for one in run["holes"]}
    rows = []
    for name, (_, _, why) in HOLES.items():
        if f"{name}-broken" not in holes:
            continue
        broken, fixed = holes[f"{name}-broken"], holes[f"{name}-fixed"]
        codes = ", ".join(f"[{code}](rules/{code.lower()}.md)" for code in dict.fromkeys(broken["codes"]))
        verdict = f"{broken['verdict']} {codes}"
        rows.append(_row(f"`{name}`", why, verdict, _predicted(broken), _observed(broken), _twin(fixed)))
    drawn = Counter((v, _plain(p), _result(f, *seen)) for _, v, p, f, *seen in run["random"])
    every = [(one["name"], one["verdict"], _observed(one), one["codes"]) for one in run["holes"]]
    every += [(name, verdict, _result(f, *seen), []) for name, verdict, _, f, *seen in run["random"]]
    alarms = [
        f"`{name}` {' '.join(codes)}" for name, v, seen, codes in every if v == "wrong" and seen == "right"
    ]
    table = [line.strip() for line in run["table"]]
    counted = [(int(line.split(None, 1)[0]), line.split(None, 1)[1].split(" | ")) for line in table]
    compared = [(n, c) for n, c in counted if c[1] == "gpu"]
    return _CONFIRMED.format(
        compiler=run["compiler"],
        device=run["device"]["name"],
        driver=run["driver"],
        date=run["date"],
        command=run["command"],
        count=f"{sum(n for n, _ in counted):,}",
        compared=f"{sum(n for n, _ in compared):,}",
        disagreements=len(run["disagreements"]),
        table="\n".join(
            _row(c[0], c[2], f"{c[4]}, {c[5]}" if c[3] == "no fault" else _fault(c[3]), n)
            for n, c in compared
        ),
        missed=sum(v in ("legal", "slow") and seen != "right" for _, v, seen, _ in every),
        alarms=len(alarms),
        which=f" ({', '.join(alarms)}: wrong in what the bytes mean)" if alarms else "",
        not_run="\n".join(f"- {n} copies: {why}" for why, n in run["not_run"].items()),
        holes="\n".join(rows),
        random=f"{len(run['random']):,}",
        random_table="\n".join(_row(*key, n) for key, n in drawn.most_common()),
    )


def _plain(fault: str) -> str:
    return f"{fault} fault" if fault else "no fault"


def _fault(name: str) -> str:
    """CUDA_ERROR_MISALIGNED_ADDRESS as words."""
    return re.sub(r"^CUDA_ERROR_", "", name).lower().replace("_", " ")


def _predicted(one: dict[str, Any]) -> str:
    if one["expected_fault"]:
        return _plain(one["expected_fault"])
    return "no fault"


def _observed(one: dict[str, Any]) -> str:
    return _result(one["fault"], one["as_predicted"], one["as_asked"], one["guard_untouched"])


def _twin(one: dict[str, Any]) -> str:
    return f"{one['verdict']}: {_observed(one)}"


def _result(fault: str, predicted: bool | None, asked: bool | None, guard: bool | None) -> str:
    """What the machine did, in words."""
    if fault:
        return _fault(fault)
    where = "" if predicted else ", not as predicted"
    if not asked:
        return f"corrupts{where}" if guard else f"corrupts, and writes outside{where}"
    return f"right{where}" if guard else f"right, and writes outside{where}"
