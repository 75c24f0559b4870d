"""Every operand layout that NVIDIA's helpers make, as JSON lines; run as a module, it asks the installed DSL.

A line has the helper, its tile (MN,K), element type, major mode, and the layout of one stage with its
swizzle, as the pointer has it (bytes). What a helper refuses is left out.
"""

from __future__ import annotations

import json
import os
from itertools import product
from typing import Any

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05, warpgroup
from cutlass.utils import LayoutEnum, blackwell_helpers, hopper_helpers

TYPES = ("BFloat16", "Float16", "Float8E4M3FN", "Float8E5M2", "Int8", "TFloat32")
TILES = (64, 128, 192, 256), (16, 32, 64, 96, 128)


def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def add(about: dict[str, Any], helper: str, unit: str, make: Any, *given: Any) -> None:
        try:
            layout = make(*given)
            outer = (
                cute.slice_(layout.outer, (None, None, 0)) if cute.rank(layout.outer) == 3 else layout.outer
            )
        except Exception:  # the helper's own limits: each has its way to say so
            return
        if tuple(cute.size(outer, mode=[n]) for n in (0, 1)) == about["tile"]:  # else an atom that is larger
            found.append(
                {**about, "helper": helper, "unit": unit, "layout": str(outer), "swizzle": str(layout.inner)}
            )

    def tiled(module: Any, kind: Any, dtype: Any, tile: tuple[int, int], order: tuple[int, int]) -> Any:
        return cute.tile_to_shape(module.make_smem_layout_atom(kind, dtype), tile, order)

    def collect() -> None:
        for name, mn, k, major in product(TYPES, *TILES, ("K", "MN")):
            dtype, tile = getattr(cutlass, name), (mn, k)
            about = {"tile": tile, "dtype": name, "major": major}
            order = (0, 1) if major == "K" else (1, 0)
            row, column = LayoutEnum.ROW_MAJOR, LayoutEnum.COL_MAJOR
            mode = OperandMajorMode.K if major == "K" else OperandMajorMode.MN
            a, b = hopper_helpers.make_smem_layout_a, hopper_helpers.make_smem_layout_b
            enum = row if major == "K" else column
            add(about, "sm90_utils.make_smem_layout_a", "wgmma", a, enum, (mn, 64, k), dtype, 1)
            add(about, "sm90_utils.make_smem_layout_b", "wgmma", b, enum, (64, mn, k), dtype, 1)
            both = blackwell_helpers.make_smem_layout
            add(about, "sm100_utils.make_smem_layout", "tcgen05", both, mode, tile, dtype, 1)
            for unit, module in (("wgmma", warpgroup), ("tcgen05", tcgen05)):
                for kind in module.SmemLayoutAtomKind:
                    if str(kind).split(".")[-1].startswith(f"{major}_"):
                        name = f"{unit}.make_smem_layout_atom({kind})"
                        add(about, name, unit, tiled, module, kind, dtype, tile, order)

    @cute.jit
    def inside() -> None:
        collect()  # a plain function, which the DSL does not rewrite

    cute.compile(inside)
    return found


if __name__ == "__main__":
    for row in rows():
        print(json.dumps(row))
