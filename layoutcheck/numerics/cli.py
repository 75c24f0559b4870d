"""`layoutcheck numerics probe|path|tol` and `layoutcheck resources`.

Exit status as everywhere: 0 nothing wrong, 1 a finding that is `wrong` (with --strict also `unknown` and
`slow`), 2 unusable input (an InputError, which the caller prints). Heavy imports wait for the command.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from layoutcheck.errors import InputError
from layoutcheck.findings import SCHEMA_VERSION

app = typer.Typer(
    help="Tensor-core arithmetic: predict the bits, explain a mismatch, derive a tolerance.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

FORMATS = ("text", "json", "github", "sarif")


def _option(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text)


Arch = Annotated[str, _option("sm_70, sm_80, sm_89, sm_90a, sm_100, ...")]
Form = Annotated[str, _option("text, json, github or sarif", "--format")]
Output = Annotated[Path | None, _option("write the report to this file")]
Strict = Annotated[bool, _option("exit 1 on unknown and slow too", "--strict")]


@app.command()
def probe(
    name: Annotated[
        str, typer.Argument(help="mma.m16n8k16.f32.f16, PTX, a CuTe atom")
    ] = "mma.m16n8k16.f32.f16",
    arch: Arch = "sm_90a",
    gpu: Annotated[bool, _option("run them on the GPU and identify its parameters", "--gpu")] = False,
    battery: Annotated[bool, _option("the published battery too (f16 inputs)")] = True,
    format_: Form = "text",
    output: Output = None,
    strict: Strict = False,
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
    return _finish(reports.probe_report(chosen_unit, chosen, answers), format_, output, strict)


@app.command()
def path(
    one: Annotated[
        str | None, typer.Argument(help="a preset or steps: 'dot(UNIT) round(f16) add(f32)'")
    ] = None,
    other: Annotated[str | None, typer.Argument(help="the reference, likewise")] = None,
    arch: Arch = "sm_90a",
    blocks: Annotated[int, _option("blocks accumulated")] = 8,
    m: Annotated[int, _option("rows of a block's result", "-M")] = 64,
    n: Annotated[int, _option("columns", "-N")] = 64,
    k: Annotated[int, _option("products a block", "-K")] = 64,
    data: Annotated[str, _option("normal or uniform")] = "normal",
    seed: Annotated[int, _option("seed of the data")] = 0,
    rtol: Annotated[float, _option("relative tolerance of the comparison")] = 1e-3,
    atol: Annotated[float, _option("absolute tolerance")] = 1e-5,
    gpu: Annotated[bool, _option("run their dots on the GPU too and compare the counts", "--gpu")] = False,
    format_: Form = "text",
    output: Output = None,
    strict: Strict = False,
) -> int:
    """Name the first step where two numerical paths differ, and count the outputs it shows in, per block."""
    from layoutcheck.numerics import paths, reports

    if one is None or other is None:
        for preset, steps in paths.PRESETS.items():
            typer.echo(f"{preset:26} {steps}")
        return 0
    if min(blocks, m, n, k) < 1 or blocks * m * n * k > 1 << 28:
        raise InputError("blocks, M, N and K are positive, and their product at most 2^28")
    left, right = paths.path(one), paths.path(other)
    a, b = paths.draw(data, blocks, m, n, k, seed, *paths.input_formats(left, right))
    if gpu:
        from layoutcheck.numerics.confirm import confirm

        confirmed = confirm(left, right, a, b, _gpu().run_matmul, rtol, atol, arch)
        return _finish(reports.confirmation_report(confirmed), format_, output, strict)
    compared = paths.compare(left, right, a, b, rtol, atol, arch)
    return _finish(reports.path_report(compared), format_, output, strict)


@app.command()
def tol(
    k: Annotated[int, _option("products an output", "-K")],
    inputs: Annotated[str, _option("input type", "--in")] = "f16",
    out: Annotated[str, _option("output type", "--out")] = "f16",
    name: Annotated[str | None, _option("the instruction", "--unit")] = None,
    arch: Arch = "sm_90a",
    promote: Annotated[int | None, _option("drain the accumulator every so many k")] = None,
    data: Annotated[str, _option("uniform or normal")] = "uniform",
    atol: Annotated[float | None, _option("the absolute tolerance to judge")] = None,
    rtol: Annotated[float | None, _option("the relative tolerance to judge")] = None,
    format_: Form = "text",
    output: Output = None,
    strict: Strict = False,
) -> int:
    """Derive how wrong a correct kernel may be, and say what --atol and --rtol test."""
    from layoutcheck.numerics import reports
    from layoutcheck.numerics.tolerance import derive

    found = derive(k, inputs, out, arch=arch, name=name, promote=promote, data=data, atol=atol, rtol=rtol)
    return _finish(reports.tolerance_report(found), format_, output, strict)


def resources(
    kernel: Annotated[str, typer.Argument(help="gemm, decode, decode-tc (tensor cores), or a .cubin file")],
    device: Annotated[str, _option("V100, A100, L40S, H100, H200 or B200")] = "H200",
    tile: Annotated[str, _option("gemm: MxNxK")] = "128x128x64",
    inputs: Annotated[str, _option("gemm: input type", "--in")] = "f16",
    stages: Annotated[int, _option("gemm: pipeline stages")] = 3,
    threads: Annotated[int, _option("gemm: threads a CTA")] = 128,
    ctas: Annotated[int, _option("gemm: CTAs launched")] = 132,
    batch: Annotated[int, _option("decode: requests")] = 57,
    kv_heads: Annotated[int, _option("decode: KV heads")] = 8,
    head_dim: Annotated[int, _option("decode: elements a head")] = 128,
    registers: Annotated[int | None, _option("registers a thread, as the compiler reports them")] = None,
    format_: Form = "text",
    output: Output = None,
) -> int:
    """Registers a thread, shared memory, CTAs a multiprocessor and waves of a tile shape."""
    from layoutcheck.numerics import reports
    from layoutcheck.numerics import resources as model

    if kernel.endswith(".cubin"):
        return _finish(reports.cubin_report(_registers(Path(kernel))), format_, output, False)
    if kernel == "gemm":
        sizes = tile.lower().split("x")
        if len(sizes) != 3 or not all(size.isdecimal() for size in sizes):
            raise InputError("a tile is three sizes", text=tile[:80], expected="MxNxK, such as 128x128x64")
        m, n, k = map(int, sizes)
        asked = model.gemm(
            tile=(m, n, k), inputs=inputs, stages=stages, threads=threads, ctas=ctas, registers=registers
        )
    elif kernel in ("decode", "decode-tc"):
        asked = model.decode_attention(
            batch=batch, kv_heads=kv_heads, head_dim=head_dim, tensor_cores=kernel == "decode-tc",
            registers=registers,
        )  # fmt: skip
    else:
        raise InputError(f"no kernel '{kernel[:40]}'", expected="gemm, decode, decode-tc or a .cubin file")
    return _finish(reports.resources_report(model.resources(asked, device)), format_, output, False)


def _registers(file: Path) -> dict[str, int]:
    from layoutcheck.numerics.cubin import registers

    try:
        return registers(file.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None


def _gpu() -> Any:
    """`layoutcheck.gpu.tensor_cores`; InputError without torch, the DSL or a GPU."""
    try:
        runner: Any = import_module("layoutcheck.gpu.tensor_cores")
    except ImportError as missing:
        raise InputError(f"--gpu needs torch and nvidia-cutlass-dsl: {missing}") from None
    if not runner.available():
        raise InputError("--gpu needs a GPU: torch finds none")
    return runner


def _finish(report: Any, format_: str, output: Path | None, strict: bool) -> int:
    """Write `report` and return the exit status."""
    if format_ not in FORMATS:
        raise InputError(f"no format '{format_[:40]}'", expected=", ".join(FORMATS))
    document: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **report.data}
    if format_ == "json":
        text = json.dumps(document, indent=2)
    elif format_ == "text":
        text = report.text
    else:
        from layoutcheck.numerics import reports

        text = reports.github(document) if format_ == "github" else reports.sarif(document)
    if output is None:
        typer.echo(text)
    else:
        output.write_text(text + "\n", encoding="utf-8")
    bad = ("wrong", "unknown", "slow") if strict else ("wrong",)
    return int(document["verdict"] in bad)
