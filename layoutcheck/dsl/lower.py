"""`lower`: the PTX that the installed DSL makes of a copy. No GPU is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.verifier import item


@dataclass(frozen=True, slots=True)
class Lowered:
    """The PTX of a kernel that performs one copy, or the compiler's `error` (both, where ptxas refuses it).

    The entry's parameters are the operands in the order src, dst, pred, then what bulk copies and st.async
    take besides: the barrier's shared address (32 bits), the multicast or byte mask (16), the CTA's rank
    (32). An operand is a struct of 32- and 64-bit
    fields, naturally aligned: the base address, then (a struct of their own, aligned to its widest field)
    the layout's dynamic leaves left to right (`?` 32 bits, `?{i64}` 64 bits). A base is 32 bits wide for
    smem and dsmem (`ld.param.b32`, a shared-window address) and 64 bits otherwise. Addresses are those
    before the pointer's swizzle. `rmem` operands arrive as memory too, so their accesses stand in the PTX
    as `ld`/`st` through their parameter instead of disappearing in registers (LLVM takes a parameter's
    generic pointer for global: `ld.global`).
    """

    ptx: str | None
    error: str | None = None


def lower(
    copies: Sequence[Copy],
    arch: str | Sequence[str] = "sm_90a",
    timeout: float | None = None,
    session: Session | None = None,
) -> list[Lowered]:
    """Lower each copy, called as written (`copy.op`); 20 to 30 ms a copy after 1.5 s of start.

    `arch` is one architecture for all copies, or one for each.
    `session` spares the start. A copy that kills the compiler gets an error that names the signal.
    Raises DslUnavailable where the DSL cannot be asked, or `timeout` seconds have passed.
    """
    if session is None:
        with Session() as session:
            return lower(copies, arch, timeout, session)
    targets = [arch] * len(copies) if isinstance(arch, str) else arch
    items = [{**item(copy), "arch": target} for copy, target in zip(copies, targets, strict=True)]
    answers = session.ask("lower", items, timeout)
    return [
        Lowered(None, f"the compiler dies of signal {a['died']}")
        if "died" in a
        else Lowered(a["ptx"] or None, a["error"] or None)
        for a in answers
    ]
