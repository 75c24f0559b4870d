"""`layoutcheck resources`: a tile shape's registers, shared memory and occupancy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from layoutcheck.cli.arguments import Group, Option
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
_OPTIONS = Group(
    {
        name: (kind | None, Option(text, flag), None)
        for name, kind, flag, text in (
            ("device", str, "", "V100, T4, A100, A10, L40S, H100, H200 (default), B200 or RTX 5090"),
            ("tile", str, "", "gemm: MxNxK (128x128x64)"),
            ("inputs", str, "--in", "gemm: input type (f16)"),
            ("stages", int, "", "gemm: pipeline stages (3)"),
            ("threads", int, "", "gemm: threads a CTA (128)"),
            ("ctas", int, "", "gemm: CTAs launched (132)"),
            ("batch", int, "", "decode: requests (57)"),
            ("kv_heads", int, "", "decode: KV heads (8)"),
            ("head_dim", int, "", "decode: elements a head (128)"),
            ("query_rows", int, "", "decode-tc: rows of the Q tile, CTA_TILE_Q (16)"),
            ("depth", int, "", "decode-tc: stages of K and V (1)"),
            ("registers", int, "", "registers a thread, as the compiler reports them"),
        )
    }
)


def resources(
    kernel: Annotated[
        str, Option("gemm, decode, decode-tc (tensor cores), or a .cubin file", positional=True)
    ],
    given: Annotated[dict[str, Any], _OPTIONS],
    format_: Annotated[str, format_of("resources")] = "text",
    output: Output = None,
) -> int:
    """Count what a tile shape needs: registers a thread, shared memory, CTAs a multiprocessor and waves."""
    from layoutcheck.numerics import reports
    from layoutcheck.numerics import resources as model

    if kernel.endswith(".cubin"):
        _only(kernel, given, {})
        return finish(reports.cubin_report(_registers(Path(kernel))), format_, output, "resources")
    if kernel not in _OWN:
        raise InputError(f"no kernel '{kernel[:40]}'", expected=f"{', '.join(_OWN)} or a .cubin file")
    device, registers = given.pop("device", "H200"), given.pop("registers", None)
    _only(kernel, given, _OWN[kernel])
    chosen: dict[str, Any] = {**_OWN[kernel], **given, "registers": registers}
    if kernel == "gemm":
        chosen["tile"] = _tile(chosen["tile"])
        asked = model.gemm(**chosen)
    else:
        asked = model.decode_attention(tensor_cores=kernel == "decode-tc", **chosen)
    counted = model.resources(asked, device)
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
    from layoutcheck.machine.cubin import registers

    try:
        return registers(file.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
