"""`build`: the DSL's own Python function called on operands of given types, then verified."""

from __future__ import annotations

from typing import Any

from layoutcheck.dsl.tasks import Item, python_error

# The fields of an atom: its family, the field, its type, and what its printed type holds where it has it.
_SHARED_BARRIER = "!cute.ptr<i64, smem, align<8>>"
FIELDS = (
    ("bulk_copy_g2s", "bulkg2s<tma_bar", _SHARED_BARRIER, ""),
    ("bulk_copy_g2s", "bulkg2s<mcast_mask", "i16", "mcast = true"),
    ("bulk_copy_s2g", "bulks2g<byte_mask", "i16", "mask = true"),
    ("bulk_copy_s2s", "bulks2s<tma_bar", _SHARED_BARRIER, ""),
    ("bulk_copy_s2s", "bulks2s<cta_rank", "i32", ""),
    ("dsmem_store", "dsmem_store<mbar_ptr", "!cute.ptr<i64, dsmem, align<8>>", ""),
)


def build(item: Item) -> Item:
    """The DSL's Python function and the verifier: {"ops": [...]} (the copies built) or {"error", "stage"}."""
    from cutlass._mlir import ir

    try:
        module = ir.Module.parse(f"func.func @f({arguments(item)}) {{ return }}")
        emit(item, module.body.operations[0])
        module.operation.verify()
    except Exception as error:
        return python_error(error)
    lines = module.operation.get_asm(use_local_scope=True).splitlines()
    return {"ops": [line.strip() for line in lines if "cute.copy" in line]}


def arguments(item: Item) -> str:
    """The operands as a function's arguments: %src, %dst, %pred where there is one, the atom's fields."""
    operands = [f"%{name}: {item[name]}" for name in ("src", "dst", "index", "aux", "pred") if item.get(name)]
    return ", ".join([*operands, *(f"%field{i}: {kind}" for i, (_, kind) in enumerate(fields(item)))])


def fields(item: Item) -> list[tuple[str, str]]:
    """What an atom carries besides its type, as (attribute, type): barriers, masks and ranks."""
    atom = item.get("atom") or ""
    found = []
    for family, name, kind, flag in FIELDS:
        if f"atom.{family}<" in atom and flag in atom:
            found.append((f"#cute_nvgpu.atom_copy_field_{name}>", kind))
    return found


def beside_source(item: Item) -> bool:
    """Whether the second tensor of a TMA copy stands beside its source: where the global tensor is."""
    if "override = true" in (item.get("atom") or ""):
        return "tma_load<" in item["atom"]
    return "coord_tensor" in item["src"]


def emit(item: Item, function: Any) -> None:
    """Call the DSL's own Python function on the arguments of `function`, before its return."""
    from cutlass import cute
    from cutlass._mlir import ir
    from cutlass._mlir.dialects.cute_nvgpu import atom_set_value
    from cutlass.cute.atom import make_atom
    from cutlass.cute.tensor import _Tensor

    block = function.regions[0].blocks[0]
    with ir.InsertionPoint(block.operations[len(block.operations) - 1]):
        values = list(block.arguments)
        extra = fields(item)
        given = [values.pop() for _ in extra][::-1]
        src, dst, *rest = (_Tensor(value) for value in values)
        if item.get("index"):
            pair = [src, rest.pop(0)] if beside_source(item) else [dst, rest.pop(0)]
            src, dst = (pair, dst) if pair[0] is src else (src, pair)
        if item.get("aux"):
            dst = [dst, rest.pop(0)]
        pred = rest[0] if rest else None
        call = item["call"]
        if call == "autovec_copy":
            named = {"l1c_evict_priority": cute.nvgpu.CacheEvictionPriority.EVICT_FIRST}
            cute.autovec_copy(src, dst, **(named if item.get("evict") else {}))
        elif call == "basic_copy":
            cute.basic_copy(src, dst)
        elif call == "basic_copy_if":
            cute.basic_copy_if(pred, src, dst)
        else:
            made = raw(make_atom(ir.Type.parse(item["atom"])))
            for (attribute, _), value in zip(extra, given, strict=True):
                made = raw(atom_set_value(made, ir.Attribute.parse(attribute), raw(value)))
            atom = Atom(made)
            if call == "copy":
                cute.copy(atom, src, dst, pred=pred)
            elif cute.rank(src) == cute.rank(dst) == 1:
                cute.copy_atom_call(atom, src, dst, pred=pred)
            else:  # the loop of `cute.copy(unroll_factor=...)` around copy_atom_call
                cute.copy(atom, src, dst, pred=pred, unroll_factor=item["rest"])


def raw(value: Any) -> Any:
    """The MLIR value under what the DSL's casters make of one."""
    from cutlass._mlir import ir

    if isinstance(value, ir.Value):
        return value
    return value.value if hasattr(value, "value") else value.ir_value()


class Atom:
    """As much of a `cute.CopyAtom` as the copy functions use: a value of the atom's type."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def _unpack(self, **_: Any) -> Any:
        return self.value
