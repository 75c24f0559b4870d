"""`layoutcheck resources`: a tile shape's registers, shared memory and occupancy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.numerics import finish
from layoutcheck.cli.options import Output, format_of
from layoutcheck.digits import is_number
from layoutcheck.errors import InputError, option_of

# Each kernel's own options, with their defaults; an option of another kernel is refused.
_DECODE = {"batch": 57, "kv_heads": 8, "head_dim": 128}
_OWN: dict[str, dict[str, Any]] = {
    "gemm": {"tile": "128x128x64", "inputs": "f16", "stages": 3, "threads": 128, "ctas": 132},
    "decode": _DECODE,
    "decode-tc": {**_DECODE, "query_rows": 16, "depth": 1},
}
_FLAGS = {"inputs": "in"}


def resources(
    kernel: Annotated[
        str, Option("gemm, decode, decode-tc (tensor cores), or a .cubin file", positional=True)
    ],
    device: Annotated[
        str | None, Option("V100, T4, A100, A10, L40S, H100, H200 (default), B200 or RTX 5090")
    ] = None,
    tile: Annotated[str | None, Option("gemm: MxNxK (128x128x64)")] = None,
    inputs: Annotated[str | None, Option("gemm: input type (f16)", "--in")] = None,
    stages: Annotated[int | None, Option("gemm: pipeline stages (3)")] = None,
    threads: Annotated[int | None, Option("gemm: threads a CTA (128)")] = None,
    ctas: Annotated[int | None, Option("gemm: CTAs launched (132)")] = None,
    batch: Annotated[int | None, Option("decode: requests (57)")] = None,
    kv_heads: Annotated[int | None, Option("decode: KV heads (8)")] = None,
    head_dim: Annotated[int | None, Option("decode: elements a head (128)")] = None,
    query_rows: Annotated[int | None, Option("decode-tc: rows of the Q tile, CTA_TILE_Q (16)")] = None,
    depth: Annotated[int | None, Option("decode-tc: stages of K and V (1)")] = None,
    registers: Annotated[int | None, Option("registers a thread, as the compiler reports them")] = None,
    format_: Annotated[str, format_of("resources")] = "text",
    output: Output = None,
) -> int:
    """Count what a tile shape needs: registers a thread, shared memory, CTAs a multiprocessor and waves."""
    from layoutcheck.numerics import reports
    from layoutcheck.numerics import resources as model

    given = {
        name: value
        for name, value in (
            ("tile", tile), ("inputs", inputs), ("stages", stages), ("threads", threads), ("ctas", ctas),
            ("batch", batch), ("kv_heads", kv_heads), ("head_dim", head_dim), ("query_rows", query_rows),
            ("depth", depth),
        )
        if value is not None
    }  # fmt: skip
    if kernel.endswith(".cubin"):
        launch = {"device": device, "registers": registers}
        _only(kernel, {**given, **{name: value for name, value in launch.items() if value is not None}}, {})
        return finish(reports.cubin_report(_registers(Path(kernel))), format_, output, "resources")
    if kernel not in _OWN:
        raise InputError(f"no kernel '{kernel[:40]}'", expected=f"{', '.join(_OWN)} or a .cubin file")
    _only(kernel, given, _OWN[kernel])
    chosen: dict[str, Any] = {**_OWN[kernel], **given, "registers": registers}
    if kernel == "gemm":
        chosen["tile"] = _tile(chosen["tile"])
        asked = model.gemm(**chosen)
    else:
        asked = model.decode_attention(tensor_cores=kernel == "decode-tc", **chosen)
    counted = model.resources(asked, "H200" if device is None else device)
    return finish(reports.resources_report(counted), format_, output, "resources")


def _only(kernel: str, given: dict[str, Any], own: dict[str, Any]) -> None:
    """InputError where an option is given that `kernel` does not have."""
    foreign = [option_of(_FLAGS.get(name, name)) for name in given if name not in own]
    if foreign:
        known = ", ".join(option_of(_FLAGS.get(name, name)) for name in own)
        expected = f"only {known}" if own else "no option of a launch: the counts are read from the file"
        raise InputError(f"{kernel} has no {' and no '.join(foreign)}", expected=expected)


def _tile(text: str) -> tuple[int, int, int]:
    sizes = text.lower().split("x")
    if len(sizes) != 3 or not all(is_number(size) and len(size) < 10 for size in sizes):
        raise InputError("a tile has three sizes", text=text[:80], expected="MxNxK, such as 128x128x64")
    m, n, k = map(int, sizes)
    return m, n, k


def _registers(file: Path) -> dict[str, int]:
    from layoutcheck.numerics.cubin import registers

    try:
        return registers(file.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
