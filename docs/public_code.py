"""The page of public code: fixes traced before and after, and what `layoutcheck ci` found in repositories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from docs.confirmations import row

SIDES = ("before", "after")
NOT_CALLED = ("no program calls the function", "in a notebook, which is not run")
EARLIER = "run before causes were kept"
_NOT_FAULTS = ("no fault", "not traced", "not finished")
_MOST_NAMED = 2
_PAGE = """# Public code

Fixes that public repositories made, traced before and after, and what `layoutcheck ci` found in
repositories that no rule was written for. No GPU was used.

## Worth reporting upstream

{reports}
## Fixes, before and after

`python -m benchmarks.history` traces a repository before and after a fix. *Caught*: the first tree has a
finding that the second lacks, and the second has none that the first lacks. *Noted*: the finding is a note.
*No fault*: the traced tree holds no fault that the fix takes away. *Not finished*: time ended a side.
*Undone on* a later commit: the code of the fix's day runs with no DSL that can be traced, so the fix is taken
back on that commit, by its own diff or by hand. All findings, and the versions on each side, are in
`docs/evidence/history.json`.

They were chosen by what they mend, and each one that was tried is listed, caught or not. The
first 46 were met in issues, reviews and logs; the others are commits, and pull requests (with a #), that say
of themselves that they fix an access: bounds, alignment, predicates, banks, shared memory, TMA, races,
barriers, fences. Found there and not tried: FlashAttention fec3a6a1 and 58fe37fb, flashinfer a0efa0adf,
helion 1be7e8c1, 98eebc0a and #3621, slinoss 7e7920f, quack 6d64745 and f796474, cudnn-frontend #446 and
#1015; started and not finished: FlashAttention b976df29. {first}
*Faults* are fixes
whose fault is in a tree that was traced to its end: all but *no fault*, *not traced* and *not finished*.

{summary}

{subjects}

{fixes}

## Repositories

Each was checked by `layoutcheck ci --yes`, without a line written for it (of cudnn-frontend two test
files, of Liger-Kernel those of its CuTe kernels, of helion those of its CuTe backend, for 380 s;
of sonic-moe its tests, for 400 s, with the quack that it pins), in an environment with torch, Triton, DSL
4.8.1 and few of their other dependencies. Most of the programs that built no kernel need
arguments, another package or an older DSL; their reasons are in `docs/evidence/public_code.json`.
helion's kernels stand in no file, so that no copy site is counted. forge-cute-py
and the rows below it were chosen by what they contain, before any result, and
had 60 to 240 s a program on two busy cores; software_pipelining_cute_dsl, fused_kernels_cutedsl and
cutedsl-learning ran with DSL 4.5.2, whose names they use, and so did cute-dsl-cookbook and gemm_cuteDSL. Of
ao, MSLK, mamba and vibetensor only tests of CuTe kernels ran, of slinoss one file of them for 560 s and
without the order of accesses; vibetensor's tests need a library that was not built, mamba's tests tilelang.
Of b-albar/machete, which needs Python 3.12, DSL 4.5.2 and modules that an earlier run lacked, one
file of tests ran. quack's rows ran on
{suites} (`docs/evidence/quack_suite.json`). The row of
cute-dsl-gemm-sm120 ran earlier, on 18 cores of such a host. A row with a DSL of its
own ran with the one that the repository pins, or whose names it uses; with 4.5 and older the order of
accesses is not followed. cuLA's extension in C++ was not built (`layoutcheck ci` stands in for it), and 84 of
its sites are in `kda_fully_fused_wip.py`, whose own calls lack an argument. ds4.cutedsl, learn-cuda,
lee101/cutedsl (the tests of its CuTe kernel) and jonahsamost/forge-cute-py were drawn unseen: with DSL 4.8.1
the first two build nothing, and `ci` names the versions whose names they use. Cute-Snippets and nvfp4moe were
drawn unseen too: of Cute-Snippets its kernels and tests ran (its `basic` needs a package that pip does not
find), of nvfp4moe three files of tests, for 120 s each, and one benchmark, ended after 170 s. On the way
persistent_dense_gemm and multi_gemm_perf built nothing with DSL 4.8.1: `ci` named the versions they need.

The rows from {first_fresh} on are repositories that no evidence had named, with DSL 4.8.1 unless the row
names another: {fresh} (`docs/evidence/fresh_suites.json`). Their own suites and scripts ran without a line
written for them. TransformerEngine, thunder, FBGEMM, xFormers, hpc-ops and flash-linear-attention were drawn
too, and hold no file that imports the CuTe DSL. On the way six false alarms were met and mended: LC217 and
LC204 of gn-kernels before its row was run, LC202 and LC204 of attention-gym and LC609 of ffpa-attn after
theirs (ffpa-attn ran again). LC204 of three lines of transformer_nuggets, with LC501 and LC503 of the same
loads, was mended after its
row, and the row run again: the surplus goes to registers that the next copy writes, or that are not there.
It passes `_name_prefix`, which DSL 4.5 takes and 4.8 does not. Nine files of gn-kernels' kernels are
imported by no program. KernelAgent's backward layer norm of its own ran for sm_103a: it takes it on a GB300
of 152 multiprocessors alone. Of the fork of FlashAttention two of 21 files of tests ran.

{repositories}

## Copy sites

A copy site is a call in the source that copies. *Called* are the sites without those in functions that no
program of the repository calls (by their names) and without those in notebooks, which `ci` does not run.
*Within reach* are those without the ones that no kernel uses although all programs which import their file
came to their ends, with nothing failed, skipped or cut short: a GPU of the run's architectures would change
nothing. It is counted for the runs that tell it. *Reached* are the sites at which a traced kernel copies.

{sites}

Why the other sites were not reached:

{causes}

## Scripts, one by one

Beside the repositories, scripts that ship with libraries were traced, one call each, as
`python -m benchmarks.script_sweep` does: CUTLASS's examples of the CuTe DSL, 21 calls of
FlashAttention for two architectures, and tests of flashinfer, of which most were ended by the time limit
or lack what the host did not have (sources of C++, JAX on a GPU, NVSHMEM). What became of each is in
`docs/evidence/script_sweep.json`. `docs/evidence/script_sweep_again.json` has a part of them again, with
later code: what was wrongly called wrong is silent, all that was so is told, and kernels of more scripts are
seen. Scripts of other repositories are in
`docs/evidence/script_sweep_fresh.json`: tutorials, libraries of kernels, submissions to competitions (whose
function for compiling was called) and an older copy of CUTLASS's examples (with names of the DSL put back,
`benchmarks/trace_drivers/older.py`). They ran on {scripts_device}.

{scripts}

All that was wrong in them, by hand:

{scripts_wrong}

## Each finding that was looked at by hand

{findings}
"""
_REPORT = """### {repository}: {title}

{places}. {why}

```sh
git clone https://github.com/{repository} && cd {folder} && git checkout {commit}
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
    fixes = _head("fix", "about", "what it mends", "trees", "DSL", "result", "gone")
    repositories = _head(
        "repository", "DSL", "programs", "with kernels", "kernels", "copies", "known for all threads",
        "copy sites reached", "wrong", "slow", "looked at by hand",
    )  # fmt: skip
    findings = _head("place", "finding", "so?")
    sites = _head(
        "repository", "copy sites", "called", "within reach", "reached", "of all", "of those called",
        "of those within reach",
    )  # fmt: skip
    for name, fix in history["fixes"].items():
        result = fix["verdict"] + (
            f": {fix['reason']}" if fix["reason"] and fix["verdict"] != "caught" else ""
        )
        dsl = " / ".join(dict.fromkeys(fix[side].get("versions", {}).get("dsl", "?") for side in SIDES))
        gone = "; ".join(finding.partition(" ")[2] for finding in list(fix["gone"])[:_MOST_NAMED])
        more = f"; {len(fix['gone']) - _MOST_NAMED} more" if len(fix["gone"]) > _MOST_NAMED else ""
        fixes.append(
            row(
                name, fix["about"], fix["title"], fix.get("trees", "parent and fix"), dsl, result, gone + more
            )
        )
    verdicts = Counter(fix["verdict"] for fix in history["fixes"].values())
    counted = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    told, faults = _told(verdicts)
    summary = f"{len(history['fixes'])} fixes: {counted}. Of {faults} faults {told} are caught or noted."
    for name, found in public["repositories"].items():
        severities = [one["severity"] for one in found["findings"]]
        wrong = sum(each in ("wrong", "rejected") for each in severities)
        looked = sum("looked_at" in one for one in found["findings"])
        everywhere = sum(n for source, n in found["address_sources"].items() if source != "types")
        repositories.append(
            row(
                name, found.get("dsl", ""),
                *(str(found[key]) for key in ("programs", "built_kernels", "kernels", "copies")),
                str(everywhere), f"{found['traced']} of {found['sites']}", str(wrong),
                str(severities.count("slow")), str(looked),
            )
        )  # fmt: skip
        if found["sites"]:
            sites.append(_sites(name, found))
        findings += [
            row(f"{name.partition('@')[0]} {one['place']}", f"{one['code']} {one['title']}",
                f"{one['looked_at']}: {one['why']}")
            for one in found["findings"] if "looked_at" in one
        ]  # fmt: skip
    return _PAGE.format(
        reports="".join(_reports(public)), summary=summary, first=_first(history["fixes"].values()),
        subjects="\n".join(_subjects(history["fixes"].values())), fixes="\n".join(fixes),
        suites=suites["device"], fresh=fresh["device"],
        first_fresh=next(iter(fresh["repositories"])).partition("@")[0],
        repositories="\n".join(repositories),
        sites="\n".join(sites), causes="\n".join(_causes(public["repositories"])),
        findings="\n".join(findings), scripts_device="; then ".join(one["device"] for one in sweeps),
        scripts="\n".join(_scripts(scripts)), scripts_wrong="\n".join(_scripts_wrong(scripts)),
    )  # fmt: skip


def _sites(name: str, found: dict[str, Any]) -> str:
    """A repository's copy sites: how many are called, and how many were reached."""
    left = found.get("not_reached", {})
    called = found["sites"] - sum(left.get(cause, 0) for cause in NOT_CALLED)
    within = found["sites"] - found["beyond"] if "beyond" in found else 0
    shares = [f"{found['traced'] / of:.0%}" if of else "" for of in (found["sites"], called, within)]
    return row(name, str(found["sites"]), str(called), str(within or ""), str(found["traced"]), *shares)


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
    """Each finding once, with how many scripts have it."""
    counts: Counter[tuple[str, str]] = Counter()
    for one in scripts.values():
        counts.update(
            (f"{found['code']} {found['title']}", f"{found['looked_at']}: {found['why']}")
            for found in one["wrong"]
        )
    lines = _head("finding", "scripts", "so?")
    return [*lines, *(row(title, str(count), said) for (title, said), count in counts.items())]


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
    """What is marked for its maintainers, one section for each reason."""
    made = []
    for name, found in public["repositories"].items():
        repository, _, commit = name.partition("@")
        groups: dict[str, list[dict[str, Any]]] = {}
        for one in found["findings"]:
            if one.get("report"):
                groups.setdefault(one["report"], []).append(one)
        for title, group in groups.items():
            places = ", ".join(f"`{one['place']}` ({one['code']}: {one['title']})" for one in group)
            made.append(
                _REPORT.format(
                    repository=repository, title=title, places=places, commit=commit.partition(" ")[0],
                    why=" ".join(dict.fromkeys(one["why"] for one in group)),
                    folder=repository.partition("/")[2], arch=group[0]["arch"], script=group[0]["script"],
                )
            )  # fmt: skip
    return made
