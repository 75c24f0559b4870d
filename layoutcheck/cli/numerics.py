"""`layoutcheck numerics units|probe|path|tol|attention`: exit status 1 for a finding that is `wrong`."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.options import Output, format_of
from layoutcheck.errors import InputError, refuse_beside
from layoutcheck.findings import SCHEMA_VERSION
from layoutcheck.formats import check_format

HELP = "Tensor-core arithmetic: predict the bits, explain a mismatch, derive a tolerance."

# In the order of --help, each with its line there.
COMMANDS = {
    "units": "List an architecture's tensor-core instructions",
    "probe": "Predict what probes of one instruction return",
    "path": "Name the first step where two paths differ",
    "tol": "Derive how wrong a correct kernel may be",
    "attention": "Emulate a fused attention kernel",
}

Arch = Annotated[str, Option("sm_70, sm_80, sm_89, sm_90a, sm_100, ...")]
Form = Annotated[str, format_of("numerics")]


def units(arch: Arch = "sm_90a", format_: Form = "text", output: Output = None) -> int:
    """List the tensor-core instructions of an architecture, their arithmetic, and who measured it."""
    from layoutcheck.numerics import reports
    from layoutcheck.numerics.units import listed

    return finish(reports.units_report(arch, listed(arch)), format_, output)


def probe(
    name: Annotated[
        str, Option("mma.m16n8k16.f32.f16, PTX, a CuTe atom", positional=True)
    ] = "mma.m16n8k16.f32.f16",
    arch: Arch = "sm_90a",
    gpu: Annotated[bool, Option("run them on the GPU and identify its parameters", "--gpu")] = False,
    battery: Annotated[
        bool, Option("the published battery too (f16 inputs)", "--battery/--no-battery")
    ] = True,
    format_: Form = "text",
    output: Output = None,
) -> int:
    """Predict what probes of one instruction return; with --gpu ask the hardware and say what it computes."""
    from layoutcheck.numerics import reports
    from layoutcheck.numerics.probes import probes, stacked
    from layoutcheck.numerics.units import unit

    chosen_unit = unit(name, arch)
    chosen = probes(chosen_unit, battery)
    answers = None
    if gpu:
        answers = _gpu().run_vectors(chosen_unit, *stacked(chosen_unit, chosen))
    return finish(reports.probe_report(chosen_unit, chosen, answers), format_, output)


def path(
    one: Annotated[
        str | None, Option("a preset or steps: 'dot(UNIT) round(f16) add(f32)'", positional=True)
    ] = None,
    other: Annotated[str | None, Option("the reference, likewise", positional=True)] = None,
    arch: Arch = "sm_90a",
    blocks: Annotated[int, Option("blocks accumulated")] = 8,
    m: Annotated[int, Option("rows of a block's result", "-M")] = 64,
    n: Annotated[int, Option("columns", "-N")] = 64,
    k: Annotated[int, Option("products a block", "-K")] = 64,
    data: Annotated[str, Option("normal or uniform")] = "normal",
    scale: Annotated[str, Option("standard deviation, or upper end; A's and B's: 1,0.02")] = "1",
    a: Annotated[Path | None, Option("your A, (blocks, M, K), as .npy, instead of drawn data", "--a")] = None,
    b: Annotated[Path | None, Option("your B, (blocks, K, N), as .npy", "--b")] = None,
    seed: Annotated[int, Option("seed of the data")] = 0,
    rtol: Annotated[float, Option("relative tolerance of the comparison")] = 1e-3,
    atol: Annotated[float, Option("absolute tolerance")] = 1e-5,
    gpu: Annotated[bool, Option("run their dots on the GPU too and compare the counts", "--gpu")] = False,
    format_: Form = "text",
    output: Output = None,
) -> int:
    """Name the first step where two numerical paths differ, and count the outputs it shows in, per block."""
    from layoutcheck.numerics import data as distributions
    from layoutcheck.numerics import paths, reports

    drawn_from = {"--blocks": blocks != 8, "-M": m != 64, "-N": n != 64, "-K": k != 64, "--seed": seed != 0}
    drawn_from |= {"--data": data != "normal", "--scale": scale != "1"}
    if one is None:
        compared_by = {"--rtol": rtol != 1e-3, "--atol": atol != 1e-5, "--arch": arch != "sm_90a"}
        compared_by |= {"--a": a is not None, "--b": b is not None, "--output": output is not None}
        compared_by |= {"--gpu": gpu, "--format": format_ != "text"}
        if unused := [option for option, given in {**drawn_from, **compared_by}.items() if given]:
            raise InputError(f"the list of presets has no {unused[0]}", expected="two paths, or no option")
        for preset, steps in paths.PRESETS.items():
            sys.stdout.write(f"{preset:26} {steps}\n")
        return 0
    if other is None:
        raise InputError("one path is compared with another", expected="two, each a preset or steps")
    if min(blocks, m, n, k) < 1 or blocks * m * n * k > 1 << 28:
        given = f"{blocks} blocks of {m} x {n} x {k}"
        raise InputError(given, expected="blocks, -M, -N and -K above 0, their product at most 2^28")
    if not (0 <= rtol < float("inf") and 0 <= atol < float("inf")):
        raise InputError("--rtol and --atol are finite and not negative")
    left, right = paths.path(one, arch), paths.path(other, arch)
    if (a is None) != (b is None):
        raise InputError("--a and --b must be given together")
    if a is not None:
        if unused := [option for option, given in drawn_from.items() if given]:
            raise InputError(f"--a and --b are the data: {unused[0]} is not used")
        mine, yours = _blocks(a), _blocks(b)
    else:
        drawn = distributions.data(data, scale)
        mine, yours = drawn.draw((blocks, m, n, k), *paths.storage_formats(left, right), seed)
    if gpu:
        from layoutcheck.numerics.confirm import confirm

        confirmed = confirm(left, right, mine, yours, _gpu().run_matmul, rtol, atol, arch)
        return finish(reports.confirmation_report(confirmed), format_, output)
    compared = paths.compare(left, right, mine, yours, rtol, atol, arch)
    return finish(reports.path_report(compared, arch), format_, output)


def tol(
    k: Annotated[int | None, Option("products an output", "-K")] = None,
    inputs: Annotated[str | None, Option("input type (f16), e4m3, f64, s8, ...", "--in")] = None,
    out: Annotated[str | None, Option("output type (f16; f64 and s32 for f64 and integers)", "--out")] = None,
    name: Annotated[str | None, Option("the instruction (what a GEMM on --arch uses)", "--unit")] = None,
    arch: Arch = "sm_90a",
    promote: Annotated[int | None, Option("drain the accumulator every so many k")] = None,
    steps: Annotated[
        str | None, Option("the kernel as steps, instead of --in, --out, --unit", "--path")
    ] = None,
    against: Annotated[
        str, Option("compare with: kernel (another correct one, in any order), exact, or steps")
    ] = "kernel",
    data: Annotated[str | None, Option("uniform (default) or normal")] = None,
    scale: Annotated[
        str | None, Option("upper end, or standard deviation, of the data (1); A's and B's: 1,0.02")
    ] = None,
    a: Annotated[Path | None, Option("A, (M, K), as .npy: the bound of each of your outputs", "--a")] = None,
    b: Annotated[Path | None, Option("B, (K, N), as .npy", "--b")] = None,
    order: Annotated[
        str | None, Option("with --a and --b: any (default) or ascending, of k; known orders are tighter")
    ] = None,
    atol: Annotated[float | None, Option("the absolute tolerance to judge")] = None,
    rtol: Annotated[float | None, Option("the relative tolerance to judge")] = None,
    seed: Annotated[int, Option("seed of the drawn data")] = 0,
    format_: Form = "text",
    output: Output = None,
) -> int:
    """Derive how wrong a correct kernel may be, and say what --atol and --rtol test."""
    from layoutcheck.numerics import reports
    from layoutcheck.numerics.tolerance import derive

    if steps is not None:
        beside = {"in": inputs, "out": out, "unit": name, "promote": promote}
        refuse_beside("--path already names the types and the instruction", **beside)
    if (a is None) != (b is None):
        raise InputError("--a and --b must be given together")
    if a is not None and (k is not None or data is not None or scale is not None or seed != 0):
        raise InputError("--a and --b are the data", expected="no -K, --data, --scale and --seed beside them")
    if a is None and order is not None:
        raise InputError("--order is of --a and --b: drawn data have none")
    inputs, data, scale, order = map(_or, (inputs, data, scale, order), ("f16", "uniform", "1", "any"))
    found = derive(
        k, inputs, out, arch=arch, name=name, promote=promote, steps=steps, against=against, data=data,
        scale=scale, a=_matrix(a), b=_matrix(b), order=order, atol=atol, rtol=rtol, seed=seed,
    )  # fmt: skip
    return finish(reports.tolerance_report(found), format_, output)


def _or(given: str | None, default: str) -> str:
    return default if given is None else given


def _blocks(file: Path | None) -> Any:
    """An array of three dimensions; one of two is one block."""
    import numpy as np

    found = _matrix(file)
    if found.ndim not in (2, 3) or not found.size or found.dtype.kind not in "fiu" or found.size > 1 << 26:
        raise InputError(
            f"{file} has shape {found.shape} of {found.dtype}", expected="(blocks, rows, columns)"
        )
    if not np.isfinite(found).all():
        raise InputError(f"{file} is not finite everywhere", expected="finite numbers")
    return found.astype(np.float64).reshape(-1, *found.shape[-2:])


def attention(
    keys: Annotated[int, Option("keys a query attends to")] = 8192,
    head_dim: Annotated[int, Option("the head dimension")] = 128,
    queries: Annotated[int, Option("queries that are computed")] = 16,
    inputs: Annotated[str, Option("type of Q, K and V", "--in")] = "f16",
    out: Annotated[str | None, Option("output type (that of the inputs)", "--out")] = None,
    p: Annotated[str | None, Option("type that P is rounded to (that of the inputs)", "--p")] = None,
    arch: Arch = "sm_90a",
    scale: Annotated[float, Option("standard deviation of Q, K and V")] = 1.0,
    seed: Annotated[int, Option("seed of the data")] = 0,
    format_: Form = "text",
    output: Output = None,
) -> int:
    """Emulate a fused attention kernel: what rounding P does to weights and outputs, beside the bound."""
    from layoutcheck.numerics import fused, reports

    if not 1e-6 <= scale <= 1e3:
        raise InputError(f"--scale = {scale:g} is out of range", expected="1e-6 to 1000")
    steps = fused.attention(inputs, out, p=p, arch=arch)
    found = fused.metrics(steps, keys, head_dim, queries, scale, seed)
    return finish(reports.attention_report(found), format_, output)


def _matrix(file: Path | None) -> Any:
    import numpy as np

    if file is None:
        return None
    try:
        return np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"cannot read {file}: {error}", expected="a matrix that numpy.save wrote") from None


def _gpu() -> Any:
    """`layoutcheck.gpu.tensor_cores`; InputError without torch, the DSL or a GPU."""
    try:
        runner: Any = import_module("layoutcheck.gpu.tensor_cores")
    except ImportError as missing:
        raise InputError(f"--gpu needs torch and nvidia-cutlass-dsl: {missing}") from None
    if not runner.available():
        raise InputError("--gpu needs a GPU: torch finds none")
    return runner


def finish(report: Any, format_: str, output: Path | None, command: str = "numerics") -> int:
    """Write the report of a command and return the exit status."""
    from layoutcheck.cli.output import Sink

    check_format(command, format_)
    document: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **report.data}
    sink = Sink(output)
    if format_ == "json":
        text = json.dumps(document, indent=2)
    elif format_ == "text":
        text = sink.style.fitted(report.text)
    else:
        from layoutcheck.reports import github, sarif
        from layoutcheck.reports.located import Located

        told = ("code", "severity", "title", "message", "evidence")
        found = [Located(**{key: one[key] for key in told}) for one in document["findings"]]
        text = (github if format_ == "github" else sarif).render_located(found, sink.style).rstrip("\n")
    sink.put(text + "\n")
    return int(document["verdict"] == "wrong")
