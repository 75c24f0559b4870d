"""The page of public code: fixes traced before and after, and what `layoutcheck ci` found in repositories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from docs.confirmations import row
from docs.figures import filled

SIDES = ("before", "after")
NOT_CALLED = ("no program calls the function", "in a notebook, which is not run")
EARLIER = "run before causes were kept"
_NOT_FAULTS = ("no fault", "not traced", "not finished")
_MOST_NAMED = 2
_PAGE = """# Public code

What layoutcheck found in code that it was not written for, without a GPU: faults to report upstream, fixes
that others made, traced before and after, and what `layoutcheck ci` found in whole repositories. Order
findings in CUTLASS and others: [reports for maintainers](order-reports.md).

{totals}

## Worth reporting upstream

{reports}
## Fixes, before and after

`python -m benchmarks.history` traces a repository before and after a fix. Each fix that was tried is listed.
The first 46 come from issues, reviews and logs; the others are commits, and pull requests (with a #), that
say of themselves that they fix an access. {first} [history.json](evidence/history.json) has all findings, and
the DSL version of each side.

{summary}

| result | meaning |
| --- | --- |
| caught | the tree before has a finding that the tree after lacks, and no finding is new after the fix |
| noted | the same, and the finding is a note |
| changed | the findings differ, and some are new after the fix |
| missed | the fault is in the tree before, and no finding goes |
| no fault | the tree before does not have the fault |
| not traced | no DSL that can be traced runs the code |

A fix *undone on* a later commit is taken back there, by its own diff or *by edits*: no DSL that can be traced
runs the code of the fix's own day.

{subjects}

{fixes}

Found and not tried: FlashAttention fec3a6a1 and 58fe37fb, flashinfer a0efa0adf, 4fbac49f3 and 2d132e68c,
helion 1be7e8c1, 98eebc0a (its back end refuses DSL 4.8.1) and #3621, slinoss 7e7920f, quack f796474,
cudnn-frontend #446 and #1015. Started and not finished: FlashAttention b976df29 and 09aa3222.

## Repositories

`layoutcheck ci --yes` checked each, without a line written for it. A *copy site* is a call in the source that
copies. *Called* leaves out sites in functions that no program calls, and in notebooks. *Reached* are the
sites at which a traced kernel copies. Repositories without a kernel are not listed: most of their programs
need arguments, another package or an older DSL. The JSON has the reasons:
[public_code](evidence/public_code.json), [quack_suite](evidence/quack_suite.json), and
[fresh_suites](evidence/fresh_suites.json) for the rows from {first_fresh} on, whose suites
had not been run before.

Run in part: cudnn-frontend (two and four files of tests), flashinfer (sixteen files, most of which the time
limit ended), Liger-Kernel, helion, ao, MSLK, mamba and vibetensor
(tests of CuTe kernels), slinoss (one file, without order), sonic-moe (400 s), machete (one file),
nvfp4moe (three files and one benchmark), attention-gym (eleven files), nvfp4_attn_kernel, tokenspeed (its
package for MLA), cutlass_learninig and gr_decode_atten (one run of twelve); KernelAgent and kernels-community
without lowered addresses and order, in their last runs; the forks of FlashAttention and quack (the tests of
what they add, or as far as 100 to 200 s a program went). Ten false alarms were met in the rows from
{first_fresh} on, and mended. zfan2356/quack and sgl-attn
use names that DSL 4.8.1 does not have any more: three kernels of one, none of the other.

{repositories}

- The DSL is 4.8.1 unless the row names another: the one that the repository pins, or whose names it uses.
  software_pipelining_cute_dsl, fused_kernels_cutedsl, cutedsl-learning, cute-dsl-cookbook, gemm_cuteDSL and
  machete ran with 4.5.2. With 4.5 and older the order of accesses is not followed, nor is it of slinoss.
- cuLA's extension in C++ was not built (`layoutcheck ci` stands in for it). 84 of its sites are in
  `kda_fully_fused_wip.py`, whose own calls lack an argument. mamba's tests need tilelang.
- helion writes its kernels into no file, so no copy site is counted.
- TransformerEngine, thunder, FBGEMM, xFormers, hpc-ops and flash-linear-attention hold no file that imports
  the DSL.
- LiteAttention asks for DSL 4.1.0, which pip does not find any more, and ran with 4.2.1. With 4.5 and older,
  arrivals at mbarriers of other blocks were told as writes outside an allocation (11 of LC204 in
  fused_kernels_cutedsl_lib), until that was mended.
- Six false alarms were met on the way, and mended: LC217 and LC204 of gn-kernels, LC202 and LC204 of
  attention-gym, LC609 of ffpa-attn, and LC204 of three lines of transformer_nuggets.

Why the other sites were not reached:

{causes}

### Sites left in the suites from {first_fresh} on

Each copy site that the suites of these repositories did not reach, with what `ci` says of it. No suite exists
for a function that no program of its repository calls.

{left}

## Scripts, one by one

`python -m benchmarks.script_sweep` traces scripts, one call each: CUTLASS's examples of the CuTe DSL, 21
calls of FlashAttention for two architectures, and tests of flashinfer, most of which the time limit ended, or
which lack what the host did not have. Scripts of other repositories are tutorials, libraries of kernels and
submissions to competitions. The JSON names each: [script_sweep](evidence/script_sweep.json),
[script_sweep_fresh](evidence/script_sweep_fresh.json), and a part of them again with later code,
[script_sweep_again](evidence/script_sweep_again.json).

{scripts}

Published packages are in `docs/evidence/script_sweep_packages.json`: releases of libraries and products that
no other row names, or of newer code than the rows above, called as their READMEs, warm-ups and models call
them (`benchmarks/trace_drivers/published_cases.py`).

{scripts_wrong}

Slow ones that were looked at, by hand:

{scripts_slow}

## Findings that were looked at by hand

All that is wrong, and samples of what is slow, each read in its source; those to report are above. One row
for each cause. *Weight*: what it costs, or how surely it fails.

{findings}
"""
_REPORT = """### {repository}: {title}

{places}. {why}

```sh
git clone https://github.com/{repository} && cd {folder} && git checkout {commit}
layoutcheck trace --no-launch --arch {arch} {script}
```

"""


_REPORT_PACKAGE = """### {repository}: {title}

{places}. {why}

```sh
pip install {install}
layoutcheck trace --no-launch --arch {arch} {script}
```

"""


def page(
    history: dict[str, Any], public: dict[str, Any], suites: dict[str, Any], fresh: dict[str, Any],
    *sweeps: dict[str, Any],
) -> str:  # fmt: skip
    """The page of the evidence files; `suites` and `fresh` have repositories that ran on other machines."""
    scripts = {name: one for sweep in sweeps for name, one in sweep["scripts"].items()}
    public = {
        **public,
        "repositories": {**public["repositories"], **suites["repositories"], **fresh["repositories"]},
    }
    every = [(name, one) for name, found in public["repositories"].items() for one in found["findings"]]
    verdicts = Counter(fix["verdict"] for fix in history["fixes"].values())
    counted = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    told, faults = _told(verdicts)
    return _PAGE.format(
        totals=_totals(public["repositories"].values(), every),
        reports="".join((*_reports(public), *_reports_of_packages(scripts))),
        summary=f"{len(history['fixes'])} fixes: {counted}. Of {faults} faults {told} are caught or noted.",
        first=_first(history["fixes"].values()),
        subjects="\n".join(_subjects(history["fixes"].values())),
        fixes="\n".join(_fixes(history["fixes"])),
        first_fresh=next(iter(fresh["repositories"])).partition("@")[0],
        repositories="\n".join(_repositories(public["repositories"])),
        causes="\n".join(_causes(public["repositories"])),
        left="\n".join(_left(fresh["repositories"])), findings="\n".join(_looked_at(every)),
        scripts="\n".join(_scripts(scripts)), scripts_wrong="\n".join(_scripts_wrong(scripts)),
        scripts_slow="\n".join(_scripts_slow(scripts)),
    )  # fmt: skip


def _totals(repositories: Iterable[dict[str, Any]], every: list[tuple[str, dict[str, Any]]]) -> str:
    """What was seen in all repositories together, and how often it was wrong."""
    repositories = [found for found in repositories if found["kernels"]]
    kernels, copies = (sum(found[key] for found in repositories) for key in ("kernels", "copies"))
    known = sum(map(_for_all_threads, repositories))
    looked = [one for _, one in every if "looked_at" in one]
    alarms = [one for one in looked if one["looked_at"] == "not so"]
    mended = sum("ended after" in one["why"] for one in alarms)
    return filled(
        f"In {len(repositories)} runs over repositories `ci` saw {kernels:,} kernels with {copies:,} copies, "
        f"and knows {known / copies:.0%} of these for all threads. {len(looked)} findings were read in "
        f"their source. {len(alarms)} are not so; {mended} of them are mended."
    )


def _for_all_threads(found: dict[str, Any]) -> int:
    return sum(count for source, count in found["address_sources"].items() if source != "types")


def _fixes(fixes: dict[str, dict[str, Any]]) -> list[str]:
    lines = _head("fix", "about", "what it mends", "trees", "result", "gone")
    for name, fix in fixes.items():
        reason = fix["reason"] if fix["verdict"] != "caught" else ""
        gone = [finding.partition(" ")[2] for finding in fix["gone"]]
        more = f"; {len(gone) - _MOST_NAMED} more" * (len(gone) > _MOST_NAMED)
        result = f"{fix['verdict']}: {reason}" if reason else fix["verdict"]
        trees = fix.get("trees", "parent and fix").removesuffix(", renamed names of the DSL put back")
        lines.append(
            row(name, fix["about"], fix["title"], trees, result, "; ".join(gone[:_MOST_NAMED]) + more)
        )
    return lines


def _repositories(repositories: dict[str, dict[str, Any]]) -> list[str]:
    """Each repository with a kernel: what was seen, at how many of its copy sites, and what is wrong."""
    lines = _head(
        "repository", "DSL", "programs with kernels", "kernels", "copies", "known for all threads",
        "copy sites reached", "of those called", "wrong", "slow", "looked at",
    )  # fmt: skip
    for name, found in repositories.items():
        if not found["kernels"]:
            continue
        severities = Counter(one["severity"] for one in found["findings"])
        left = found.get("not_reached", {})
        called = found["sites"] - sum(left.get(cause, 0) for cause in NOT_CALLED)
        reached = f"{found['traced']} of {found['sites']}" if found["sites"] else ""
        lines.append(
            row(
                name, found.get("dsl", ""), f"{found['built_kernels']} of {found['programs']}",
                found["kernels"], found["copies"], _for_all_threads(found), reached,
                f"{found['traced'] / called:.0%}" if called else "",
                severities["wrong"] + severities["rejected"], severities["slow"],
                sum("looked_at" in one for one in found["findings"]),
            )
        )  # fmt: skip
    return lines


def _looked_at(every: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """A row for each cause in a repository: the lines that have it, and whether it is so."""
    causes: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for name, one in every:
        if "looked_at" in one and not one.get("report"):
            causes.setdefault((name.partition("@")[0], one["looked_at"], one["why"]), []).append(one)
    lines = _head("repository", "lines", "codes", "so?", "why")
    for (name, so, why), group in causes.items():
        places = list(dict.fromkeys(one["place"] for one in group))
        more = f" and {len(places) - _MOST_NAMED} more" * (len(places) > _MOST_NAMED)
        codes = ", ".join(sorted({one["code"] for one in group}))
        lines.append(row(name, ", ".join(places[:_MOST_NAMED]) + more, codes, so, why))
    return lines


def _causes(repositories: dict[str, Any]) -> list[str]:
    """Why copy sites were not reached: how many, and in which repositories."""
    counts: Counter[str] = Counter()
    places: dict[str, list[str]] = {}
    for name, found in repositories.items():
        missing = found["sites"] - found["traced"]
        left = found.get("not_reached") or ({EARLIER: missing} if missing else {})
        counts.update(left)
        for cause, number in left.items():
            places.setdefault(cause, []).append(f"{name.partition('@')[0]} {number}")
    lines = _head("cause", "copy sites", "where")
    return [
        *lines,
        *(row(cause, str(count), ", ".join(places[cause])) for cause, count in counts.most_common()),
    ]


def _left(repositories: dict[str, Any]) -> list[str]:
    """The copy sites that were not reached: a row for each reason in a file."""
    lines = _head("repository", "file", "lines", "why")
    for name, found in repositories.items():
        reasons: dict[tuple[str, str], list[int]] = {}
        for one in found.get("left", ()):
            reasons.setdefault((one["file"], one["why"].partition(" (/")[0]), []).extend(one["lines"])
        for (file, why), places in reasons.items():
            lines.append(row(name.partition("@")[0], file, ", ".join(map(str, sorted(places))), why))
    return lines


def _scripts(scripts: dict[str, Any]) -> list[str]:
    """A library's scripts: how many, how many built a kernel, and what was seen of those."""
    lines = _head("library", "scripts", "with kernels", "kernels", "copies", "known for all threads", "slow")
    libraries: dict[str, list[dict[str, Any]]] = {}
    for name, one in scripts.items():
        libraries.setdefault(name.partition("/")[0], []).append(one)
    for library, each in libraries.items():
        counts = [sum(one[key] for one in each) for key in ("kernels", "copies", "all_threads", "slow")]
        built = sum(one["kernels"] > 0 for one in each)
        lines.append(row(library, str(len(each)), str(built), *map(str, counts)))
    return lines


def _scripts_wrong(scripts: dict[str, Any]) -> list[str]:
    """How many findings of the scripts are so, and the false alarms, each once."""
    wrong = [found for one in scripts.values() for found in one["wrong"]]
    alarms = [one for one in wrong if one["looked_at"] == "not so"]
    said = (
        f"{len(wrong)} findings are `wrong`. {len(wrong) - len(alarms)} of them are so: above, or among "
        f"the [reports for maintainers](order-reports.md). {len(alarms)} are false alarms, mended since:"
    )
    counts = Counter((one["code"], one["why"]) for one in alarms)
    lines = _head("code", "findings", "why it is not so")
    return [filled(said), "", *lines, *(row(code, count, why) for (code, why), count in counts.items())]


def _scripts_slow(scripts: dict[str, Any]) -> list[str]:
    """Each slow finding that was looked at, by library and place."""
    found = {
        row(f"{name.partition('/')[0]} {one['place']}", f"{one['code']} {one['title']}",
            f"{one['looked_at']}: {one['why']}"): None
        for name, script in scripts.items()
        for one in script.get("slow_looked_at", ())
    }  # fmt: skip
    return [*_head("place", "finding", "so?"), *found]


def _told(verdicts: Counter[str]) -> tuple[int, int]:
    """How many fixes are caught or noted, and how many there are whose fault is in a traced tree."""
    told = verdicts["caught"] + verdicts["noted"]
    return told, verdicts.total() - sum(verdicts[each] for each in _NOT_FAULTS)


def _first(fixes: Iterable[dict[str, Any]]) -> str:
    """What the first try told of those fixes of which that is kept, before anything was mended for them."""
    told, faults = _told(Counter(fix["first"] for fix in fixes if fix.get("first")))
    at_first = "at the first try, before anything was mended for them."
    return f"Of the last {faults} faults\n{told} were told {at_first}"


def _subjects(fixes: Iterable[dict[str, Any]]) -> list[str]:
    """What became of the fixes, a line for each subject."""
    verdicts: dict[str, Counter[str]] = {}
    for fix in fixes:
        verdicts.setdefault(fix["about"], Counter())[fix["verdict"]] += 1
    lines = _head("about", "fixes", "faults", "caught or noted")
    for about, each in sorted(verdicts.items()):
        told, faults = _told(each)
        lines.append(row(about, str(each.total()), str(faults), str(told)))
    return lines


def _head(*names: str) -> list[str]:
    return [row(*names), row(*["---"] * len(names))]


def _reports(public: dict[str, Any]) -> list[str]:
    """What is marked for its maintainers, one section for each reason, whatever runs have shown it."""
    every: dict[str, dict[tuple[str, ...], dict[str, Any]]] = {}
    for name, found in public["repositories"].items():
        told = [((one["place"], one["code"], one["title"]), one) for one in found["findings"]]
        mine = every.setdefault(name.partition(" ")[0], {})
        mine.update((key, one) for key, one in told if key not in mine)
    made = []
    for name, findings in every.items():
        repository, _, commit = name.partition("@")
        named = {"repository": repository, "folder": repository.partition("/")[2], "commit": commit}
        made += [_REPORT.format(**named, **told) for told in _marked(findings.values())]
    return made


def _reports_of_packages(scripts: dict[str, Any]) -> list[str]:
    """The same of published packages, which `install` names."""
    packages: dict[str, list[dict[str, Any]]] = {}
    for name, script in scripts.items():
        every = (*script["wrong"], *script.get("slow_looked_at", ()))
        packages.setdefault(name.partition("/")[0], []).extend(one for one in every if "install" in one)
    return [
        _REPORT_PACKAGE.format(repository=name.replace("@", " "), install=found[0]["install"], **told)
        for name, found in packages.items()
        for told in _marked(found)
    ]


def _marked(findings: Iterable[dict[str, Any]]) -> Iterable[dict[str, str]]:
    """Findings that are to be reported, by the title of their report: what a section says of them."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in findings:
        if one.get("report"):
            groups.setdefault(one["report"], []).append(one)
    for title, group in groups.items():
        places = ", ".join(f"`{one['place']}` ({one['code']}: {one['title']})" for one in group)
        why = " ".join(dict.fromkeys(one["why"] for one in group))
        told = {"title": title, "places": places, "why": why}
        yield told | {key: group[0][key] for key in ("arch", "script")}
