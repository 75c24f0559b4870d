"""Pages of docs/evidence/*.json: every run with its circumstances, and the copies confirmed on a GPU."""

from __future__ import annotations

from typing import Any

from docs import confirmations, lowered_results, public_code, regressions, reported, speed, versions
from docs.confirmations import row
from docs.figures import EVIDENCE, read
from layoutcheck.catalogue import dsl_names

# What each run shows, and the page that speaks of it.
_PAGES = {
    "cluster": (
        "copies between the blocks of a cluster: bytes in every block, faults, waits without end",
        "confirmed.md",
    ),
    "cluster_probes": (
        "single instructions between blocks: barriers, masks, blocks that are not there",
        "rules/lc228.md",
    ),
    "bulk": ("bulk copies and st.async: bytes, faults, barriers that never complete", "confirmed.md"),
    "tma": ("TMA copies: bytes, faults, barriers that never complete", "confirmed.md"),
    "tma_im2col": (
        "im2col copies: bytes, faults; the tensor maps as NVIDIA's driver has them",
        "confirmed.md",
    ),
    "tma_im2col_seed_91": (
        "im2col copies on a fresh seed; two tiles that cut corners leave alone",
        "confirmed.md",
    ),
    "tails": ("predicates of each thread, tiles that the tiled copy does not divide", "confirmed.md"),
    "memcheck": ("random kernels with tails: predicted bounds beside compute-sanitizer", "bounds.md"),
    "line_cost": ("what each line costs, beside Nsight Compute's source view", "trace-reference.md"),
    "map_places": ("tensor maps of another swizzle or base: findings, and the bytes on a GPU", "bounds.md"),
    "place_calls": ("the same of quack and FlashAttention, with the calls that they make", "bounds.md"),
    "place_cutlass": ("the same of CUTLASS, 229 of 246 runs", "bounds.md"),
    "place_sizes": ("false alarms about place in other repositories, at three problem sizes", "bounds.md"),
    "place_cost": ("what bounds, maps and roles cost beside the rest of a trace", "bounds.md"),
    "tma_election": ("who may start a TMA copy", "guides/tma.md"),
    "unread_texts": (
        "public texts that no developer had read: answers, as two judges score them",
        "errors.md",
    ),
    "versions": ("what other versions of the CuTe DSL answer differently", "versions.md"),
    "quack": ("softmax and rmsnorm of quack under pytest --layoutcheck=confirm", "pytest.md"),
    "confirm_seed_4242": ("the same on fresh seeds", "confirmed.md"),
    "confirm_seed_777": ("the same on fresh seeds", "confirmed.md"),
    "bulk_seed_99": ("bulk copies on a fresh seed", "confirmed.md"),
    "tails_seed_5": ("tails on a fresh seed", "confirmed.md"),
    "tma_seed_31": ("TMA copies on a fresh seed", "confirmed.md"),
    "confirm_seed_2601": ("copies on a fresh seed", "confirmed.md"),
    "bulk_seed_2602": ("bulk copies on a fresh seed", "confirmed.md"),
    "tails_seed_2603": ("tails on a fresh seed", "confirmed.md"),
    "tma_seed_2604": ("TMA copies on a fresh seed", "confirmed.md"),
    "cluster_seed_2605": ("copies between blocks on a fresh seed", "confirmed.md"),
    "tma_im2col_seed_2606": ("im2col copies on a fresh seed", "confirmed.md"),
    "confirm_seed_2701": ("copies on a fresh seed", "confirmed.md"),
    "bulk_seed_2702": ("bulk copies on a fresh seed", "confirmed.md"),
    "tails_seed_2703": ("tails on a fresh seed", "confirmed.md"),
    "tma_seed_2704": ("TMA copies on a fresh seed", "confirmed.md"),
    "cluster_seed_2705": ("copies between blocks on a fresh seed", "confirmed.md"),
    "tma_im2col_seed_2706": ("im2col copies on a fresh seed", "confirmed.md"),
    "confirm_seed_2801": ("copies on a fresh seed", "confirmed.md"),
    "bulk_seed_2802": ("bulk copies on a fresh seed", "confirmed.md"),
    "bulk_seed_3502": ("bulk copies on a fresh seed", "confirmed.md"),
    "tails_seed_2803": ("tails on a fresh seed", "confirmed.md"),
    "tma_seed_2804": ("TMA copies on a fresh seed", "confirmed.md"),
    "cluster_seed_2805": ("copies between blocks on a fresh seed", "confirmed.md"),
    "cluster_seed_3505": ("copies between blocks on a fresh seed", "confirmed.md"),
    "tma_im2col_seed_2806": ("im2col copies on a fresh seed", "confirmed.md"),
    "confirm_seed_2811": ("copies on a fresh seed, and booleans again", "confirmed.md"),
    "confirm_seed_3501": ("copies on a fresh seed", "confirmed.md"),
    "confirm": ("copies: which bytes landed where, which copies faulted", "confirmed.md"),
    "arch": ("which instruction ptxas takes for which target", "rules/lc108.md"),
    "speed": ("this project's speed beside that of others", "speed.md"),
    "catalogue": ("texts that the catalogue of errors had not seen, at the first try", "errors.md"),
    "undone": ("what issues asked for, undone: the test of each item fails", "regressions.md"),
    "lint": ("how long the lint takes beside ruff, over three repositories", "lint.md"),
    "fixes": ("how quick verdicts and fixes are, and which broken programs --fix repairs", "trace.md"),
    "fixes_gpu": ("28 repaired programs launched on a GPU, bit by bit", "trace.md"),
    "planted": ("bugs planted in real kernels: detected, repaired in place", "trace.md"),
    "issue_2320_patches": ("the reported copy in two kernels, patched by --fix", "issue-2320.md"),
    "issue_2320": ("the patched kernels on a GPU: bits and GB/s", "issue-2320.md"),
    "trace": ("what the trace finds in other repositories, script by script", "trace.md"),
    "lowered": ("copies of real kernels by what their lowered addresses rest on", "lowered.md"),
    "shipped_banks": ("bank conflicts of shipped kernels, predicted and counted", "lowered.md"),
    "canonical": ("wgmma through the descriptors of random operand layouts", "canonical.md"),
    "banks": ("shared-memory wavefronts and global sectors, one instruction a kernel", "banks.md"),
    "cp_async": ("the same for cp.async, with its times", "banks.md"),
    "tensorop_gemm": ("a whole CUTLASS example, counted", "banks.md"),
    "numerics": ("tensor-core arithmetic, bit for bit", "numerics-measured.md"),
    "numerics_tolerances": ("tolerances: right kernels, skipped blocks of k", "numerics-measured.md"),
    "numerics_mmasim": ("the tensor-core model beside mmasim 2.1.1, unit by unit", "numerics-measured.md"),
    "numerics_speed": ("1024^3 GEMMs: the model, mmasim, numpy", "numerics-measured.md"),
    "numerics_bounds_scaled": ("the same for block-scaled units", "numerics.md"),
    "numerics_bounds_attention": ("the same for fused attention", "numerics.md"),
    "numerics_published": ("the model beside hardware outputs that others published", "numerics-measured.md"),
    "numerics_bounds": ("inputs built to break the error bounds: how near they came", "numerics-measured.md"),
    "transpose_counters": ("the transpose kernels: the cost model beside time and counters", "kernels.md"),
    "transpose": ("the transpose kernels: results and speed", "kernels.md"),
    "transpose_earlier": ("the same on another H200, earlier", "kernels.md"),
    "transpose_shapes": ("forty shapes, beside their quickest peers", "kernels.md"),
    "transpose_shapes_h100": ("the same on an H100", "kernels.md"),
    "transpose_fresh": ("shapes drawn for this run, beside their quickest peers", "kernels.md"),
    "transpose_fresh_h100": ("the same on an H100", "kernels.md"),
    "transpose_fresh_small": ("the same of small matrices", "kernels.md"),
    "transpose_types": ("types of 1 to 16 bytes", "kernels.md"),
    "transpose_plans_counted": ("plans: counters beside the predicted cost", "kernels.md"),
    "transpose_pads": ("what pads in the output's pitch cost", "kernels.md"),
    "transpose_placement": ("one plan in buffers allocated anew", "kernels.md"),
    "transpose_order": ("what the order check says of the kernels, and how fast", "kernels.md"),
    "transpose_asked": ("plans tried for two shapes that users asked for", "kernels.md"),
    "transpose_stages": ("plans with stages, hints and prefetches", "kernels.md"),
    "transpose_small": ("plans for small matrices", "kernels.md"),
    "transpose_tiles": ("plans for few rows, several matrices, slim ones", "kernels.md"),
    "transpose_types_fresh": (
        "all sizes of an element at drawn shapes, some of them again",
        "kernels.md",
    ),
    "transpose_bound": ("odd pitches with steps of the kernels left out, and plans tried", "kernels.md"),
    "transpose_runs": ("thin matrices as runs, widths and batches of bytes, two sizes alone", "kernels.md"),
    "transpose_starts": ("when launches behind may start, by plan", "kernels.md"),
    "transpose_batches": ("batches of small matrices by words, tiles of bytes at odd pitches", "kernels.md"),
    "synthesis_copies": ("synthesised copies from global to global memory beside torch's", "synthesis.md"),
    "transpose_gather": ("what gathers of single bytes cost, in other ways", "kernels.md"),
    "transpose_plans": ("all plans at shapes that the newest of them serve", "kernels.md"),
    "transpose_words": ("plans for few rows and columns of 1- and 2-byte elements", "kernels.md"),
    **{f"transpose_note{n}": ("a sweep that the kernels' notes name", "kernels.md") for n in (1, 3, 4, 5)},
    "synthesis": ("random synthesised plans: bits, counters, times beside the predicted", "synthesis.md"),
    "synthesis_kinds": ("plans with tails, conversions, 4-bit elements, epilogues: bits", "synthesis.md"),
    "synthesis_pace": (
        "the predicted order of plans: demands, times, requests held out",
        "synthesis.md",
    ),
    "synthesis_exchange": (
        "exchanges between registers, advised copies: bits, counters, times",
        "synthesis.md",
    ),
    "synthesis_triton": ("Triton's own conversions beside exchanges: widths and wavefronts", "synthesis.md"),
    "in_flight": ("loads in flight beside what shared memory leaves of L1", "synthesis.md"),
    "advice_sweep": ("`trace --advise` on public scripts, counted again by the lowering", "synthesis.md"),
    "synthesis_bounds": ("plans with and without launch bounds: times and their order", "synthesis.md"),
    "synthesis_seeds": (
        "plans of seeds as they were predicted before they ran: times, order",
        "synthesis.md",
    ),
    "synthesis_sectors": (
        "plans with rows that are parts of lines: sectors, bytes of memory",
        "synthesis.md",
    ),
    "synthesis_together": ("plans whose loads wait together, and the same mixed with stores", "synthesis.md"),
    "synthesis_layouts": (
        "NVIDIA's operand layouts beside better ones of ours: wavefronts that ncu counted",
        "synthesis.md",
    ),
    "synthesis_spills": ("plans whose registers ptxas puts into local memory: counters", "synthesis.md"),
    "synthesis_sweeps": (
        "the search beside trying all plans and a second model of the space; NVIDIA's layouts",
        "synthesis.md",
    ),
    "synthesis_speed": ("seconds of 66 common tiles, beside the search before", "synthesis.md"),
    "history": ("fixes of public repositories, before and after", "public-code.md"),
    "public_code": ("public repositories by `layoutcheck ci`", "public-code.md"),
    "script_sweep": ("scripts of CUTLASS, FlashAttention and flashinfer, one by one", "public-code.md"),
    "script_sweep_again": ("a sample of these scripts again, with later code", "public-code.md"),
    "script_sweep_fresh": ("scripts of 17 more repositories, one by one", "public-code.md"),
    "script_sweep_packages": ("published packages, by calls of ours", "public-code.md"),
    "fresh_suites": ("suites of repositories seen for the first time, by `ci`", "public-code.md"),
    "quack_suite": ("quack's own suite by `layoutcheck ci`, from end to end", "public-code.md"),
}

_PAGES |= {
    "tma_probes": ("single TMA instructions: boxes, alignments, maps that fault", "guides/tma.md"),
    "mutation": ("changes to this code, one at a time: which test notices", "regressions.md"),
    "operands": ("products of random kernels on a GPU: elements as followed", "operands.md"),
    "operands_h100": ("the same on an H100, another seed", "operands.md"),
    "operands_wide": ("the same, further kinds", "operands.md"),
    "operand_coverage": ("products of real kernels that are followed", "operands.md"),
    "operand_mutants": ("changes to the lowered arithmetic of real kernels: which are told", "operands.md"),
    "user_faults": ("kernels as users write them, with planted faults: what is told of each", "operands.md"),
    "operand_source_mutants": ("changes to the source of CUTLASS's kernels, likewise", "operands.md"),
    "operands_cost": ("what following elements adds to a trace", "operands.md"),
    "operands_unset": ("operands that nothing has written: what a GPU computes", "rules/lc609.md"),
    "values_unset": ("values that nothing has written: what a GPU computes", "rules/lc610.md"),
    "flags": ("flags that hand data from block to block: which stores and loads do", "rules/lc514.md"),
    "peer_begun": ("accesses of a peer's shared memory before the peer has begun", "rules/lc513.md"),
    "order_silent": ("programs with one silent fault each, beside the right ones", "order-tested.md"),
    "order_confirm": ("faults of public reports run with delays, beside racecheck", "order-tested.md"),
    "order_mutants": (
        "synchronisations of real kernels deleted or changed: which are told",
        "order-tested.md",
    ),
    "order_mutants_more": ("the same of more kernels, by an earlier version", "order-tested.md"),
    "order_mutants_flash_attention": ("the same of FlashAttention 4", "order-tested.md"),
    "order_sweep": ("the order check's time on 230 modules, and its findings", "order-tested.md"),
    "server": ("the language server: a keystroke's diagnostics, on an idle machine", "editor.md"),
    "server_busy": ("the same on a busy machine", "editor.md"),
}

_LONG = 90  # of a device's words, of which the file has the rest
_RUNS = """# All runs

Each measured number of this project is in a JSON file of `docs/evidence/`; most name the command that wrote
them. The tables of the pages are made from these files, and so is this one.

| run | what it shows | where and when | versions |
| --- | --- | --- | --- |
{rows}
"""


def evidence_pages() -> dict[str, str]:
    """The pages by their names in docs/."""
    runs = {name: read(name) for name in confirmations.RUNS if (EVIDENCE / f"{name}.json").exists()}
    lowered = lowered_results.page(read("lowered"), read("shipped_banks"))
    return {
        "evidence.md": _runs(),
        "confirmed.md": confirmations.page(runs, {name: read(name) for name in confirmations.AGAIN}),
        "lowered.md": lowered,
        "versions.md": versions.page(read("versions"), dsl_names.history()),
        "public-code.md": public_code.page(
            *map(read, ("history", "public_code", "quack_suite", "fresh_suites")),
            *map(read, ("script_sweep", "script_sweep_fresh", "script_sweep_packages")),
        ),
        "speed.md": speed.page(*map(read, ("speed", "lint", "trace", "numerics_speed"))),
        "regressions.md": regressions.page(read("undone")),
        "issue-2320.md": reported.page(read("issue_2320_patches"), _read_if("issue_2320")),
    }


def _read_if(stem: str) -> dict[str, Any] | None:
    return read(stem) if (EVIDENCE / f"{stem}.json").exists() else None


def _runs() -> str:
    rows = []
    for path in sorted(EVIDENCE.glob("*.json")):
        run = read(path.stem)
        about = {**run, **run.get("host", {}), **run.get("environment", {})}
        what, page = _PAGES[path.stem]
        device = about.get("device", "")
        device = device.get("name", "") if isinstance(device, dict) else device
        device = device if len(device) < _LONG else f"{device[:_LONG].rpartition(',')[0]} ..."
        driver = f"driver {about['driver']}" if about.get("driver") else ""
        date = str(about.get("date", "")).split("T")[0]
        where = ", ".join(part for part in (device, driver, date) if part)
        rows.append(row(f"[{path.stem}](evidence/{path.name})", f"[{what}]({page})", where, _versions(about)))
    return _RUNS.format(rows="\n".join(rows))


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
