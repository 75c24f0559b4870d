"""Inline PTX: which of its instructions order, wait or reach memory.

    read_inline("st.async... [$0], $1, [$2];")   # Inline("st_async", (0, 2), 4)

Whatever is not an instruction of that sort is arithmetic. What is, and is not known here, is "unknown": the
kernel is not checked then.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ORDERS = re.compile(
    r"(?<![\w.])(?:(?:bar|barrier|mbarrier|fence|membar|cp\.async|cp\.reduce|wgmma|tcgen05|red|atom|multimem|"
    r"st|ld|ldmatrix|stmatrix|elect|clusterlaunchcontrol|griddepcontrol|discard|mapa)(?:\.[\w:.]+)+"
    r"|(?!cvta|isspacep)[a-z]\w*\.(?:[\w:]+\.)*shared[\w:.]*)"  # whatever else reaches shared memory
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
_SHARED = re.compile(  # one access; its addresses are operands, or registers made from them
    r"(?:(?P<copy>cp\.async\.c[ag]\.shared(?:::cta)?\.global)(?:\.L2::\w+)*"
    r"|(?P<matrix>(?:ld|st)matrix)\.sync\.aligned(?:\.(?:m8n8|trans|x(?P<number>[124])))+\.shared(?:::cta)?\.b16"
    r"|(?P<plain>ld|st)\.shared(?:::cta)?(?:\.v(?P<vector>[24]))?\.[bfsu](?P<bits>8|16|32|64))"
)
_PLACE = re.compile(r"\[\s*(?:\$\{?([0-9]+)\}?|(%?\w+))\s*\]")  # an operand's number, or a register
_MADE = re.compile(
    r"\b(?:cvt\.u32\.u64|cvta\.to\.shared\.u64|mov\.[bu](?:32|64))\s+(%?\w+)\s*,\s*\$([0-9]+)\s*;"
)
_TESTED = re.compile(r"\bsetp\.ne(?:\.b32|\.s32|\.u32)\s+(%?\w+)\s*,\s*\$([0-9]+)\s*,\s*0\s*;")
_ARRIVES = re.compile(
    r"mbarrier\.arrive(?P<tx>\.expect_tx)?(?:\.release|\.relaxed)?(?:\.cta|\.cluster)?"
    r"\.shared(?:::cta|::cluster)?\.b64"
)
_TRIES = re.compile(
    r"mbarrier\.(?:try|test)_wait\.parity(?:\.acquire)?(?:\.cta|\.cluster)?\.shared(?:::cta)?\.b64"
)
_TENSOR_MAP_BYTES = 128  # that tensormap.cp_fenceproxy copies to global memory: PTX ISA


class Inline(NamedTuple):
    """`operands` are those of the operation, by number; `size` in bytes."""

    kind: str
    operands: tuple[int, ...] = ()
    size: int = 0
    facts: tuple[tuple[str, str], ...] = ()


def _shared(text: str, name: str, results: int) -> Inline | None:
    """One cp.async, ldmatrix, stmatrix, ld.shared or st.shared; a predicate's operand stands last."""
    found = _SHARED.fullmatch(name)
    before, _, after = text.partition(name)
    made, tested = dict(_MADE.findall(before)), dict(_TESTED.findall(before))
    places = _PLACE.findall(after.partition(";")[0])
    operands = [int(number or made.get(word, -1)) - results for number, word in places]
    facts = [("space", "smem")]
    if (guard := re.search(r"@(!?)(%?\w+)\s*$", before)) is not None:
        operands.append(-1 if guard[1] else int(tested.get(guard[2], -1)) - results)
        facts.append(("guard", "yes"))
    if found is None or not places or min(operands) < 0:
        return None
    if found["copy"]:
        size = re.search(r"\]\s*,\s*(4|8|16)\s*;", after)
        return Inline("cp_async", tuple(operands), int(size[1]), tuple(facts)) if size is not None else None
    if found["matrix"]:
        kind = "matrix_read" if found["matrix"] == "ldmatrix" else "matrix_write"
        return Inline(kind, tuple(operands), 16, (*facts, ("rows", str(8 * int(found["number"])))))
    size_bytes = int(found["bits"]) // 8 * int(found["vector"] or 1)
    return Inline("read" if found["plain"] == "ld" else "write", tuple(operands), size_bytes, tuple(facts))


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
        if (access := _shared(rest, first, results)) is not None:
            return access
        if (wait := re.fullmatch(r"tcgen05\.wait::(ld|st)\.sync\.aligned", first)) is not None:
            return Inline("tmem_wait", size=int(wait[1] == "ld"))
        always = "@" not in rest.partition(first)[0] and min(numbers[-2:], default=-1) >= 0
        if always and len(numbers) <= 2 and (match := _ARRIVES.fullmatch(first)) is not None:
            return Inline("mbar_arrive", numbers, facts=(("form", "tx" if match["tx"] else ""),))
        if always and len(numbers) >= 2 and _TRIES.fullmatch(first):
            return Inline("mbar_wait" if "bra" in rest else "mbar_token", numbers[-2:])
        if first.startswith("st.async") and "shared::cluster" in first and len(numbers) >= 2:
            bits = _BITS.search(first)
            count = 4 if ".v4" in first else 2 if ".v2" in first else 1
            if bits is not None:
                return Inline("st_async", (numbers[0], numbers[-1]), int(bits[1]) // 8 * count)
        if first.startswith("cp.reduce.async.bulk.global.shared::cta.bulk_group") and len(numbers) >= 3:
            return Inline("bulk_store", (numbers[1], numbers[2], numbers[0]))
        if first.startswith("tensormap.cp_fenceproxy.global.shared::cta") and len(numbers) == 2:
            return Inline("read", (numbers[1],), _TENSOR_MAP_BYTES, (("space", "smem"),))
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
