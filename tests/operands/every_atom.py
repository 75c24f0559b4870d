"""Every MMA atom that the DSL's own classes make: its printed type and its thread-value layouts.

    python -m tests.operands.every_atom [all] > atoms.jsonl

Each class of `cutlass.cute.nvgpu.{warp,warpgroup,tcgen05}` is called with every combination of types, shapes,
majors and sources; what its constructor refuses is no atom. Without `all`, N is sampled.
"""

from __future__ import annotations

import inspect
import itertools
import json
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

TYPES = ("Float4E2M1FN", "Float6E3M2FN", "Float6E2M3FN", "Float8E4M3FN", "Float8E5M2", "Float16", "BFloat16",
         "TFloat32", "Int8", "Uint8")  # fmt: skip
SUMS = ("Float16", "Float32", "Int32")
SCALES = ("Float8E8M0FNU", "Float8E4M3FN")
SOME_N = (8, 16, 24, 64, 248, 256)


def atoms(everything: bool) -> Iterator[dict[str, Any]]:
    """One for each type that is printed: `type`, `arch`, the op's class, and `a`, `b`, `c` as text."""
    from cutlass import base_dsl
    from cutlass._mlir import ir
    from cutlass.base_dsl.dsl import BaseDSL
    from cutlass.cute.nvgpu import tcgen05, warp, warpgroup

    seen = set()
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        for room, archs in (
            (warp, ("sm_80", "sm_89", "sm_120a")), (warpgroup, ("sm_90a",)),
            (tcgen05, ("sm_100a", "sm_103a", "sm_107a")),
        ):  # fmt: skip
            for name, kind in sorted(vars(room.mma).items()):
                if not (
                    inspect.isclass(kind) and name.endswith("Op") and kind.__module__ == room.mma.__name__
                ):
                    continue
                for arch in archs:
                    if not hasattr(base_dsl.Arch, arch):
                        continue
                    found = getattr(base_dsl.Arch, arch)
                    with (
                        mock.patch.object(BaseDSL, "get_arch_enum", lambda _, found=found: found),
                        ir.InsertionPoint(module.body),
                    ):
                        for one in _of(kind, room, everything):
                            if one["type"] not in seen:
                                seen.add(one["type"])
                                yield {"op": f"{room.__name__.split('.')[-1]}.{name}", "arch": arch, **one}


def _of(kind: Any, room: Any, everything: bool) -> Iterator[dict[str, Any]]:
    made = inspect.unwrap(kind.__init__)
    if not hasattr(kind, "_make_trait") or inspect.isabstract(kind):
        return
    names = [n for n in inspect.signature(made).parameters if n != "self" and "collector" not in n]
    for given in itertools.product(*(_choices(n, kind, room, everything) for n in names)):
        try:
            atom = kind(**dict(zip(names, given, strict=True)))._make_trait().value.type
        except Exception:  # the constructor's own refusals, of several classes
            continue
        text = str(atom)
        yield {"type": text, "thr_id": str(atom.thr_id), "shape": str(atom.shape_mnk)} | {
            letter: str(getattr(atom, f"layout_{letter}_tv")) for letter in "abc"
        }


def _choices(name: str, kind: type, room: Any, everything: bool) -> list[Any]:
    import cutlass
    from cutlass.cute.nvgpu import OperandMajorMode

    level = room.__name__.split(".")[-1]
    if name in ("sf_dtype", "sf_type"):
        return [getattr(cutlass, x) for x in SCALES]
    if name == "acc_dtype":
        return [getattr(cutlass, x) for x in SUMS]
    if name.endswith("dtype"):
        return [getattr(cutlass, x) for x in TYPES]
    if name in ("instruction_shape", "shape_mnk"):
        if level == "warp":
            return [(16, 8, k) for k in (4, 8, 16, 32, 64)]
        columns = tuple(range(8, 257, 8)) if everything else SOME_N
        return [(m, n) for m in ((64,) if level == "warpgroup" else (64, 128, 256)) for n in columns]
    enums = {
        "cta_group": "CtaGroup",
        "a_src": "OperandSource",
        "sparse_metadata_format": "SparseMetadataFormat",
    }
    if name in enums:
        if name == "sparse_metadata_format":
            where = sys.modules[kind.__module__]
            return list(getattr(where, enums[name]))
        return list(getattr(room, enums[name]))
    if name.endswith("major_mode"):
        return list(OperandMajorMode)
    if name == "sf_vec_size":
        return [16, 32]
    if name == "use_sf_layout_TV":
        return [False, True]
    raise AssertionError(f"{kind.__name__} has a parameter {name}")


if __name__ == "__main__":
    for made in atoms("all" in sys.argv[1:]):
        print(json.dumps(made))
