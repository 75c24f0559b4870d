"""Inline PTX: which of its instructions order, wait or reach memory.

    read_inline("st.async... [$0], $1, [$2];")   # Inline("st_async", (0, 2), 4)

Whatever is not an instruction of that sort is arithmetic. What is, and is not known here, is "unknown": the
kernel is not checked then.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ORDERS = re.compile(
    r"(?<![\w.])(?:bar|barrier|mbarrier|fence|membar|cp\.async|cp\.reduce|wgmma|tcgen05|red|atom|multimem|"
    r"st|ld|ldmatrix|stmatrix|elect|clusterlaunchcontrol|griddepcontrol|discard|mapa)(?:\.[\w:.]+)+"
)
_HARMLESS = re.compile(
    r"(?<![\w.])(?:fence\.proxy\.tensormap|prefetch|st\.global|ld\.(?:global|const|param)|mapa|"
    r"red\.global|red\.(?:\w+\.)*global|griddepcontrol|discard|wgmma\.mma_async)[\w:.]*"
)
_OPERAND = re.compile(r"\$\{?([rw]?)([0-9]+)")
_BITS = re.compile(r"\.[bfsu](8|16|32|64)\b")
_BULK = re.compile(
    r"cp\.async\.bulk\.shared::(?:cluster|cta)\.(shared::cta|global)\.mbarrier::complete_tx::bytes"
)
_MULTIPLIES = re.compile(r"tcgen05\.(?:mma|cp)\b")
_WAITS = re.compile(r"mbarrier\.try_wait\.parity\.shared::cta\.b64\s+\w+,\s*\[\$([0-9]+)\],\s*\$([0-9]+)")
_ESCAPED = re.compile(r"\\([0-9A-F]{2})")  # of a string as MLIR prints it


class Inline(NamedTuple):
    """`operands` are those of the operation, by number; `size` in bytes."""

    kind: str
    operands: tuple[int, ...] = ()
    size: int = 0
    facts: tuple[tuple[str, str], ...] = ()


def unescaped(text: str) -> str:
    """A string attribute as it was before MLIR printed it."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def read_inline(text: str, results: int = 0) -> Inline | None:
    """What inline PTX does; None for arithmetic. `results` are numbered before the operands."""
    rest = _HARMLESS.sub("", text)
    found = _ORDERS.findall(rest)
    if not found:
        return None
    first = found[0]
    if len(found) == 1:
        if first.startswith("fence.proxy.async"):
            kind = first.removeprefix("fence.proxy.").replace("::cta", "").replace("::cluster", "")
            return Inline("fence_proxy", facts=(("proxy", kind.replace("shared::", "shared")),))
        numbers = tuple(
            int(n) - (results if kind == "" else 0)
            for kind, n in _OPERAND.findall(rest[rest.index(first) :].partition(";")[0])
        )
        if first.startswith("st.async") and "shared::cluster" in first and len(numbers) >= 2:
            bits = _BITS.search(first)
            count = 4 if ".v4" in first else 2 if ".v2" in first else 1
            if bits is not None:
                return Inline("st_async", (numbers[0], numbers[-1]), int(bits[1]) // 8 * count)
        if first.startswith("cp.reduce.async.bulk.global.shared::cta.bulk_group") and len(numbers) >= 3:
            return Inline("bulk_store", (numbers[1], numbers[2], numbers[0]))
        if (bulk := _BULK.fullmatch(first)) and len(numbers) == 4:  # [to], [from], bytes, [mbarrier]
            to, source, size, mbarrier = numbers
            kind = "bulk_load" if bulk[1] == "global" else "bulk_peer"
            return Inline(kind, (to, mbarrier, size, source))
    others = [name for name in found if not _MULTIPLIES.match(name) and not name.startswith("elect.sync")]
    multiplies = any(_MULTIPLIES.match(name) for name in found)
    if multiplies and not others:
        return Inline("tc_mma")
    wait = _WAITS.search(rest)
    if multiplies and wait is not None and len(others) == 1:  # in a loop, between the products
        return Inline("tc_mma", facts=(("bar", wait[1]), ("parity", wait[2])))
    return Inline("unknown", facts=(("name", (others or found)[0]),))
