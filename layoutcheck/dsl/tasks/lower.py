"""`lower`: the DSL's pipeline run on kernels that each hold one copy, and the PTX that it dumps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from layoutcheck.dsl.tasks import Item, python_error
from layoutcheck.dsl.tasks.build import arguments, emit
from layoutcheck.versions import installed, lowering

# What `cute.compile` runs, with a path to dump the PTX at.
PIPELINE = "builtin.module(cute-to-nvvm{{{options} dump-ptx-path='{path}' cubin-chip={arch}}})"


def lower(items: list[Item], size: int) -> Iterator[Item]:
    """{"ptx", "error"} of each item; `size` of them share a module."""
    for i in range(0, len(items), size):
        group = items[i : i + size]
        answers = lower_module(group)
        if answers is None:  # one of them fails the whole module
            for item in group:
                yield from lower_module([item]) or []
        else:
            yield from answers


def lower_module(items: list[Item]) -> list[Item] | None:
    """The kernels `k0`, `k1`, ... of one module; None where several were given and the pipeline failed."""
    from cutlass._mlir import ir

    kernels = "\n".join(
        f"cuda.kernel @k{i}({arguments(item)}) attributes "
        "{cute.kernel, gpu.kernel, nvvm.reqntid = array<i32: 1, 1, 1>} { return }"
        for i, item in enumerate(items)
    )
    error = ""
    try:
        module = ir.Module.parse(
            f"module attributes {{gpu.container_module}} {{ gpu.module @m {{{kernels}}} }}"
        )
        gpu_module = module.body.operations[0].regions[0].blocks[0].operations
        for i, item in enumerate(items):
            emit(item, gpu_module[i])
        module.operation.verify()
        run_pipeline(module, items[0]["arch"])
    except Exception as caught:
        if len(items) > 1:
            return None
        error = python_error(caught)["error"]
    ptx = dumped_ptx()
    return [{"ptx": entry_of(ptx, f"k{i}"), "error": error} for i in range(len(items))]


def compile_module(item: Item) -> Item:
    """`{"module", "arch"}` -> `{"error", "ptx"}`: "" where the whole pipeline runs, None for no module."""
    from cutlass._mlir import ir

    try:
        module = ir.Module.parse(item["module"])
    except ir.MLIRError:
        return {"error": None}
    try:
        run_pipeline(module, item["arch"])
    except Exception as caught:
        dumped_ptx()
        return python_error(caught)
    return {"error": "", "ptx": dumped_ptx()}


def run_pipeline(module: Any, arch: str) -> None:
    """The DSL's pipeline; it leaves the PTX in the working directory, which is the session's own."""
    from cutlass._mlir import passmanager

    text = PIPELINE.format(options=lowering(installed()), path=Path.cwd() / "m", arch=arch)
    passes = passmanager.PassManager.parse(text)
    passes.enable_verifier(False)
    passes.run(module.operation)


def dumped_ptx() -> str:
    """The PTX that the pipeline left, taken away; "" for none."""
    dumps = list(Path.cwd().glob("*.ptx"))
    text = dumps[0].read_text() if dumps else ""
    for dump in dumps:
        dump.unlink()
    return text


def entry_of(ptx: str, name: str) -> str:
    """The text of one kernel out of a module's PTX, from `.visible .entry` to its closing brace."""
    start = ptx.find(f".visible .entry {name}(")
    end = ptx.find("\n}", start)
    return ptx[start : end + 2] if start >= 0 else ""
