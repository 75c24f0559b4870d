"""`basic_copy` and `basic_copy_if`: element by element."""

from __future__ import annotations

import numpy as np

from layoutcheck.copies.copy import Copy
from layoutcheck.copies.execution.plan import WINDOW, Plan
from layoutcheck.copies.offsets import limit, offsets_at, size
from layoutcheck.errors import InputError


def plan_elements(copy: Copy, witness: Copy) -> Plan:
    """One access an element, in the order of the elements of the destination."""
    count = size(copy.dst.layout)
    bits = copy.dst.dtype.bits
    limit(count * max(1, bits // 8))
    if bits % 8:
        raise InputError(f"element-wise copies of {bits}-bit elements are not modelled")
    index = np.arange(count, dtype=np.int64)
    return Plan(
        offsets_at(witness.src.layout, index),
        offsets_at(witness.dst.layout, index),
        bits,
        min(16, bits // 8),
        f"ld.{WINDOW[copy.src.space]}",
        f"st.{WINDOW[copy.dst.space]}",
        offsets_at(witness.pred.layout, index) if witness.pred else None,
        data_bits=bits,
    )


def plan_autovec(copy: Copy, witness: Copy) -> Plan:
    raise InputError("autovec")
