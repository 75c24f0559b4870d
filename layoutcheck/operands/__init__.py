"""Operands: whether a register holds the element that the tensor core takes it for.

    check_operands(module) -> OperandReport

Of a traced kernel's products by `mma.sync`, each fragment of A and B is led back to the copy that fills it,
and both are compared register by register (`check`). docs/operands.md says what is followed and what is not.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from layoutcheck.digits import many
from layoutcheck.errors import InputError, fault
from layoutcheck.machine.mma import LETTERS
from layoutcheck.operands.answers import NAMES, MmaReport, OperandAnswer, check_mma
from layoutcheck.operands.check import WARP, Filling, Operand, Product, products
from layoutcheck.operands.fragments import TiledMma
from layoutcheck.operands.rules import lc601
from layoutcheck.operands.shared import shared_operands
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.traced import KernelFinding, KernelPlace, OperandReport
from layoutcheck.sources.traced_module import TracedModule

_SURPRISES = (IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)
_PRODUCTS = ('"cute.gemm"(', '"cute.mma_atom_call"(')
_PRIMITIVE = ('"nvvm.tcgen05.mma', '"nvvm.wgmma.mma_async', '"nvvm.mma.sync"')  # written without an MMA atom


def multiplies(module: TracedModule) -> bool:
    """Whether a traced module has products."""
    return any(name in module.text for name in _PRODUCTS)


def rearranges(module: TracedModule) -> bool:
    """Whether a traced module sees shared memory through swizzles or by matrices: its views may differ."""
    signs = (", S<", '"S<', "atom.ldsm", "atom.stsm")
    return "smem, align<" in module.text and any(sign in module.text for sign in signs)


def keeps_values(module: TracedModule) -> bool:
    """Whether a traced module has tensors in registers or shared memory, or moves values over lanes."""
    return any(sign in module.text for sign in ('"cute.memref.alloca"(', "smem, align<", "nvvm.shfl.sync"))


def check_operands(module: TracedModule) -> OperandReport:
    """The operands of a traced module's products. Raises nothing: what cannot be checked says so."""
    found = _fragments(module)
    findings, unchecked = shared_operands(module)
    return replace(found, findings=(*found.findings, *findings), unchecked=(*found.unchecked, *unchecked))


def _fragments(module: TracedModule) -> OperandReport:
    """The registers of its products by warp-level MMAs."""
    made = partial(OperandReport, module.kernel, module.arch)
    if '"cute.gemm"' not in module.text:
        bare = 0 if multiplies(module) else sum(map(module.text.count, _PRIMITIVE))
        return made((), (_others(bare),) if bare else ())
    every = module.text.count('"cute.gemm"(')
    if WARP not in module.text:
        return made((), (_others(every),))
    try:
        found = list(products(module.text))
    except InputError as error:
        return made((), (f"operands of products: the module cannot be read: {error.message}",))
    except _SURPRISES as error:
        return made((), (f"operands of products: {fault(error)}",))
    findings: dict[tuple[object, ...], KernelFinding] = {}
    reasons: Counter[str] = Counter()
    for product in found:
        told, why = _judged(product)
        reasons.update([why] if why else [])
        for operand, filling in told:
            one = _finding(module, product, operand, filling)
            findings.setdefault((operand.letter, *(p.where for p in one.places)), one)
    unchecked = [f"operands of {n} of {many(every, 'product')}: {reason}" for reason, n in reasons.items()]
    unchecked += [_others(every - len(found))] if every > len(found) else []
    return made(tuple(findings.values()), tuple(unchecked), len(found), len(found) - reasons.total())


def _others(count: int) -> str:
    return f"operands of {many(count, 'product')} by wgmma, tcgen05 or MMAs that are not known"


def _judged(product: Product) -> tuple[list[tuple[Operand, Filling]], str]:
    """The fillings that make a product wrong, and why it is not judged ("" where it is)."""
    unknown = next((reason for one in (product.a, product.b) for reason in one.unknown), "")
    wrong: list[tuple[Operand, Filling]] = []
    for one, other in ((product.a, product.b), (product.b, product.a)):
        if one.unknown:
            continue
        for filling in one.fillings:
            if filling.across and product.plain:
                wrong.append((one, filling))
            elif filling.across:
                unknown = (
                    unknown or f"{one.letter} is in another order, and C is not partitioned by the same MMA"
                )
            elif filling.along and not other.unknown:
                alike = [filling.order is not None and x.order == filling.order for x in other.fillings]
                if not any(alike):
                    wrong.append((one, filling))
                elif not all(alike):
                    unknown = unknown or f"copies fill the fragment of {other.letter} in several orders of k"
    return wrong, "" if wrong else unknown


def _finding(module: TracedModule, product: Product, operand: Operand, filling: Filling) -> KernelFinding:
    places = (
        _place(module, filling.copy, f"the copy fills the fragment of {operand.letter}", filling.thread),
        _place(module, product.gemm, "the product", filling.thread),
    )
    title, message = lc601.tell(operand.letter, filling)
    evidence = {
        "kernel": module.kernel, "arch": module.arch, "operand": operand.letter, "thread": filling.thread,
        "register": filling.register, "held": list(filling.held), "taken": list(filling.taken),
        "differ": filling.differ, "registers": filling.of,
    }  # fmt: skip
    return KernelFinding(lc601.page.code, lc601.page.severity, title, message, places, evidence)


def _place(module: TracedModule, op: Operation | None, what: str, thread: int) -> KernelPlace:
    assert op is not None
    number = [one for one in op.outer().walk() if one.name == op.name].index(op)
    return module.place(f"{op.name}#{number}", what, thread)


__all__ = [
    "LETTERS", "NAMES", "MmaReport", "OperandAnswer", "TiledMma", "check_mma", "check_operands", "multiplies",
]  # fmt: skip
