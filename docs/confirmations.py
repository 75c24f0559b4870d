"""The page of the copies that a GPU ran: each run in docs/evidence/ beside what was predicted of it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from tests.cluster_miscompiles import CLUSTER_MISCOMPILES
from tests.im2col_miscompiles import IM2COL_MISCOMPILES
from tests.miscompiles import MISCOMPILES
from tests.tma_miscompiles import TMA_MISCOMPILES

# What each run holds; those that are not there yet are left out.
RUNS = {
    "confirm": "Loads, stores, cp.async, ldmatrix, stmatrix",
    "bulk": "Bulk copies and st.async",
    "tma": "TMA",
    "tma_im2col": "TMA im2col",
    "tails": "Predicates and tails",
    "cluster": "Copies between the blocks of a cluster",
}

# The same on seeds that were drawn later.
AGAIN = (
    "confirm_seed_4242",
    "confirm_seed_777",
    "bulk_seed_99",
    "tma_seed_31",
    "tma_im2col_seed_91",
    "tails_seed_5",
    "confirm_seed_2601",
    "bulk_seed_2602",
    "tails_seed_2603",
    "tma_seed_2604",
    "cluster_seed_2605",
    "tma_im2col_seed_2606",
    "confirm_seed_2701",
    "bulk_seed_2702",
    "tails_seed_2703",
    "tma_seed_2704",
    "cluster_seed_2705",
    "tma_im2col_seed_2706",
    "confirm_seed_2801",
    "bulk_seed_2802",
    "tails_seed_2803",
    "tma_seed_2804",
    "cluster_seed_2805",
    "tma_im2col_seed_2806",
    "confirm_seed_2811",
    "confirm_seed_3501",
    "bulk_seed_3502",
    "cluster_seed_3505",
)

_PAGE = """# Copies on a GPU

The DSL compiled every copy here, and a GPU ran it. Its destination was read back element by element and
compared with two predictions: where the instructions put the bytes (`execution`), and where the layouts ask
for them (`intent`). [How a copy is run](confirm.md).

A *reproducer* is a hole in the DSL: the compiler accepts the copy, and the machine gets it wrong. Its *twin*
is the corrected copy. *Right* means that every byte is as asked; *corrupts*, that some are not; *writes
outside*, that bytes beside the destination changed.

Two kinds of `wrong` can leave every byte as asked: bits copied into another type mean another number there
([LC208](rules/lc208.md)), and a barrier that completes early is a race, which may be won.

{sections}
## Again, on fresh seeds

Later runs, after most of the code was written anew.

| run | date | copies | disagreements | note |
| --- | --- | ---: | ---: | --- |
{again}
"""

_RUN = """## {title}

{device}, driver {driver}, {compiler}, {date}; [{name}.json](evidence/{name}.json).
{compared} copies run and compared, **{disagreements}**. {random} of them were drawn at random near the
boundary of what the compiler accepts{families}; the others are reproducers and their twins.

| verdict | predicted | observed | copies |
| --- | --- | --- | ---: |
{table}

Copies called `legal` or `slow` that corrupted or faulted: **{missed}**. Copies called `wrong` whose every
byte was as asked, nothing outside touched: **{alarms}**{which}. Not run: {not_run}.
{disagreeing}{reproducers}"""

_REPRODUCERS = """
### {title}: every reproducer

| reproducer | what is wrong with it | verdict | predicted | observed | corrected twin |
| --- | --- | --- | --- | --- | --- |
{holes}
"""


def row(*cells: object) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def page(runs: dict[str, dict[str, Any]], again: dict[str, dict[str, Any]]) -> str:
    """The page of the runs by the names of their files; `again` are such runs on fresh seeds."""
    every = MISCOMPILES | TMA_MISCOMPILES | IM2COL_MISCOMPILES | CLUSTER_MISCOMPILES  # type: ignore[operator]
    why = {name: one[-1] for name, one in every.items()}
    later = [
        row(
            f"[{name}.json](evidence/{name}.json)", run["date"], f"{_compared(run):,}",
            len(run["disagreements"]), run.get("note", ""),
        )
        for name, run in again.items()
    ]  # fmt: skip
    sections = "\n".join(_section(name, run, why) for name, run in runs.items())
    return _PAGE.format(sections=sections, again="\n".join(later))


def _compared(run: dict[str, Any]) -> int:
    """How many copies a GPU ran."""
    return sum(int(line.split(None, 1)[0]) for line in run["table"] if " | gpu | " in line)


def _section(name: str, run: dict[str, Any], why: dict[str, str]) -> str:
    holes = {one["name"]: one for one in run["holes"]}
    drawn = [_random(one) for one in run["random"]]
    every = [(one["name"], one["verdict"], _observed(one), one["codes"]) for one in run["holes"]]
    every += [(named, verdict, seen, []) for named, verdict, _, seen in drawn]
    counts = Counter(one[1:] for one in drawn)
    counts.update(
        (one["verdict"], _expected(one["expected_fault"]), _observed(one))
        for one in run["holes"] if one["ran"] == "gpu"
    )  # fmt: skip
    fine = [one for one in every if one[2] == "right"]
    alarms = [" ".join((f"`{named}`", *codes)) for named, verdict, _, codes in fine if verdict == "wrong"]
    missed = [one for one in every if one[1] in ("legal", "slow") and one[2] != "right"]
    failed = run["disagreements"]
    found = [_hole(hole, why[hole], holes) for hole in why if f"{hole}-broken" in holes]
    reasons = (
        run["not_run"] if isinstance(run["not_run"], dict) else Counter(one[1] for one in run["not_run"])
    )
    return _RUN.format(
        title=RUNS[name],
        name=name,
        device=run["device"]["name"],
        driver=run["driver"],
        compiler=run["compiler"],
        date=run["date"],
        compared=f"{_compared(run):,}",
        disagreements=f"{len(failed)} disagreements" if failed else "no disagreement",
        table="\n".join(row(*key, n) for key, n in counts.most_common()),
        missed=len(missed),
        alarms=len(alarms),
        which=f" ({', '.join(alarms)})" if alarms else "",
        not_run="; ".join(f"{n} ({reason})" for reason, n in reasons.items()) or "none",
        disagreeing="".join(
            f"\nDisagrees: `{one['name']}`, `{one['src']}` to `{one['dst']}`: {_observed(one)}.\n"
            for one in failed
        ),
        reproducers=_REPRODUCERS.format(title=RUNS[name], holes="\n".join(found)) if found else "",
        families=_families(run.get("families", {})),
        random=f"{len(drawn):,}",
    )


def _families(counts: dict[str, int]) -> str:
    """How many of each kind."""
    kinds = (f"{count} {kind}" for kind, count in sorted(counts.items(), key=lambda one: -one[1]))
    return f": {'; '.join(kinds)}" if counts else ""


def _hole(name: str, why: str, holes: dict[str, Any]) -> str:
    broken, fixed = holes[f"{name}-broken"], holes[f"{name}-fixed"]
    codes = ", ".join(f"[{code}](rules/{code.lower()}.md)" for code in dict.fromkeys(broken["codes"]))
    expected = _expected(broken["expected_fault"])
    twin = f"{fixed['verdict']}: {_observed(fixed)}"
    return row(f"`{name}`", why, f"{broken['verdict']} {codes}", expected, _observed(broken), twin)


def _random(one: list[Any]) -> tuple[str, str, str, str]:
    """Name, verdict, what was predicted, what was observed."""
    name, verdict, *rest = [part for part in one if not isinstance(part, list)]
    expected, fault, predicted, asked, *guard = rest
    return name, verdict, _expected(expected), _result(fault, predicted, asked, guard[0] if guard else True)


def _observed(one: dict[str, Any]) -> str:
    if one["ran"] != "gpu":
        return f"not run ({one['note']})"
    return _result(one["fault"], one["as_predicted"], one["as_asked"], one["guard_untouched"])


def _expected(fault: str) -> str:
    return fault if " " in fault else f"{fault} fault" if fault else "no fault"


def _fault(name: str) -> str:
    """CUDA_ERROR_MISALIGNED_ADDRESS as words."""
    return re.sub(r"^CUDA_ERROR_", "", name).lower().replace("_", " ") if "_" in name else name


def _result(fault: str, predicted: bool | None, asked: bool | None, guard: bool | None) -> str:
    """What the machine did, in words."""
    if fault:
        return _fault(fault)
    where = "" if predicted else ", not as predicted"
    if not asked:
        return f"corrupts{where}" if guard else f"corrupts, and writes outside{where}"
    return f"right{where}" if guard else f"right, and writes outside{where}"
