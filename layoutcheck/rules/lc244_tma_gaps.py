"""LC244 tma-gaps: a tensor map of 4-bit or 6-bit elements with gaps breaks a limit of these formats.

## What it means

`internal_type=cutlass.Uint8` for 4-bit elements, and any 6-bit elements, give a tensor map that puts every
16 elements into 16 bytes of shared memory. Address and strides of its tensor are multiples of 32 bytes, its
first extent is a multiple of 128 elements, its boxes are 128 elements wide; not every swizzle is allowed,
and 4-bit elements can be loaded but not stored. Packed 4-bit elements need an even first extent. The DSL
checks none of these limits.

## Why

CUDA Driver API, cuTensorMapEncodeTiled, for CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B, 16U6_ALIGN16B and
16U4_ALIGN8B. The DSL writes the map without the driver (measured). No GPU with these formats was
available.

## How to fix it

Pad rows to 128 elements, align the tensor to 32 bytes, and make tiles 128 elements wide with the
128-byte swizzle. Store 4-bit elements packed.

## How to silence it

Only where the fault is meant: the driver would refuse the map.
"""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import DRIVER, gapped
from layoutcheck.atoms.tma.limits import Violation, format_violations
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, tma_atom, whole_tma


def find(analysis: Analysis) -> Findings:
    """The first limit that is broken."""
    found, atom = whole_tma(analysis), tma_atom(analysis)
    if found is None or atom is None:
        return
    written = found.plan.written
    broken = list(format_violations(written, atom.kind))
    align = found.gmem.proved_align_bytes
    if gapped(written.format) and align % 32:
        broken.insert(
            0, Violation("globalAddress", f"a multiple of {align} B", "a multiple of 32 bytes", DRIVER)
        )
    for bad in broken[:1]:
        yield RULE.finding(
            f"{bad.field} of a {written.format} tensor map is {bad.value}, and must be {bad.demand}",
            f"In the format {written.format}, {bad.field} must be {bad.demand}; here it is {bad.value}. "
            "The DSL writes the tensor map without asking the driver, which would refuse it.",
            Where(gmem_side(analysis.copy)),
            demanded(bad.field, bad.value, bad.demand, bad.source),
        )


RULE = make_rule(
    "wrong",
    find,
    flagged={
        "src": '!cute.memref<f4E2M1FN, gmem, align<16>, "(128,128):(128,1)">',
        "dst": '!cute.memref<i8, smem, align<1024>, S<3,4,3>, "(128,128):(128,1)">',
        "atom": "tma_load",
        "dtype": "f4E2M1FN",
        "internal_type": "u8",
        "arch": "sm_120a",
    },
    twin={"src": '!cute.memref<f4E2M1FN, gmem, align<32>, "(128,128):(128,1)">'},
    explains=EFFECTS,
    beyond="the driver would refuse the tensor map; no GPU with this format was available to run such a map",
)
