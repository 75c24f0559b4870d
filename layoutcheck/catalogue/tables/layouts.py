"""Layouts, coordinates, tilers and swizzles that the DSL's layout algebra refuses."""

from __future__ import annotations

from layoutcheck.catalogue.entry import EVALUATE, TRACE, issue, known

DSL = "DSL 4.8.1"
_PDSL = (
    "A shared tensor carries its swizzle once: in its pointer (recast_ptr, or allocate_tensor(..., swizzle=...); "
    "the DSL's PDSL) or in its layout (a composed layout S o 0 o L; the DSL's PISL)."
)

ENTRIES = (
    known(
        "dsl.two-swizzles",
        r"cannot be both iterator swizzle \(PDSL\) and swizzle layout ?\(PISL\)"
        r"|cannot have both a swizzle on the pointer and a (?:non-identity )?swizzle in the layout",
        "the tensor has a swizzle on its pointer and another in its layout",
        _PDSL,
        "Keep one: allocate with allocate_tensor(dtype, layout.outer, byte_alignment, swizzle=layout.inner), or "
        "allocate with the composed layout and no swizzle= argument",
        ("TypeError: cannot be both iterator swizzle (PDSL) and swizzle layout(PISL)", DSL),
    ),
    known(
        "dsl.swizzle-not-composable",
        r"incompatible layout with swizzle|unable to construct a valid composed layout from inputs",
        "the swizzle does not compose with this layout",
        "The layout's strides carry into the bits that the swizzle permutes, so the DSL cannot write the result as a swizzle of a layout.",
        "Tile a swizzle atom: cute.tile_to_shape(make_smem_layout_atom(...), shape, order); "
        "`layoutcheck canonical LAYOUT --dtype TYPE` names the nearest layout that tensor cores read",
        ("TypeError: incompatible layout with swizzle", DSL),
    ),
    known(
        "dsl.order-rank",
        r"expects target shape and order operands have same rank",
        "the order of tile_to_shape has another number of modes than the target shape",
        "tile_to_shape(atom, shape, order) lays copies of the atom over the shape's modes, in the order that the third argument ranks them: one number for each mode of the shape. A tensor with a mode less (no batch, variable lengths) or more (stages) needs another order.",
        "Give order as many entries as the shape has modes: (1, 0) for two, (2, 1, 3) for three; " + EVALUATE,
        ("error: expects target shape and order operands have same rank", DSL),
    ),
    known(
        "dsl.coordinate-not-congruent",
        r"failed to construct a valid coordinate from|(?:coord\w*|dicer|order|`coord`)[^.]{0,80}weakly congruent|is not weakly congruent with input shape"
        r"|coordinate? (?:and shape )?must be congruent|coord and shape must be congruent"
        r"|expects the coord to be congruent with the shape"
        r"|the rank of the coordinate must be equal to the one of the layout|unable to compute crd2idx",
        "the coordinate does not have the modes of the layout",
        "A coordinate may be shallower than the shape, never deeper, and it has one entry for each mode: "
        "((i, j), k) indexes ((8, 4), 16), and so does (p, k); (i, j, k) does not.",
        "Give one coordinate for each mode; use None for a mode that a slice keeps. " + EVALUATE,
        ("ValueError: coord must be weakly congruent to src in slice_", DSL),
    ),
    known(
        "dsl.infer-failed",
        r'Failed to infer result type\(s\):? ?"(?P<op>cute[\w.]*)"',
        "{op} refuses its operands",
        "The types of the operands do not fit the operation: a coordinate with other modes than its layout, "
        "arguments in the wrong order (crd2idx takes the coordinate first, then the layout), a tiler that does "
        "not divide, or a layout whose result cannot be written down.",
        EVALUATE,
        ('ValueError: Operation creation failed: Failed to infer result type(s):\n"cute.crd2idx"(...)', DSL),
    ),
    known(
        "dsl.algebra-refused",
        r"unable to compute (?:the following )?(?P<what>composition|product|complement|a right inverse|the left inverse"
        r"|tile_to_shape|shape_div|domain offset|idx2crd|cosize|size)|unable to (?:coalesce|filter|slice|dice)"
        r"|failed to partition `input`|failed to compute the TMA G-basis|unable to construct a coordinate",
        "an operation of the layout algebra has no result",
        "The layouts do not divide one another, their modes do not pair (a profile, tiler or order with more modes than the layout), "
        "or the result is not a layout: a composition that carries into the next mode, a complement of a layout that overlaps itself.",
        EVALUATE + ", and `layoutcheck draw LAYOUT` shows where the elements lie",
        ("error: unable to compute the following composition: (8,4):(4,1) o 6:2", DSL),
    ),
    known(
        "dsl.narrow-element",
        r"Sub-byte scalar dereference not supported|(?:Loading|Storing) narrow precision type \S+ is not supported"
        r"|gather/scatter for sub-byte element type is not supported",
        "one element of a type narrower than a byte cannot be addressed",
        "Memory is addressed in bytes; elements of 4 and 6 bits are moved several at a time.",
        "recast_tensor to a type of 8 bits or more, or copy whole vectors",
        ("ValueError: Sub-byte scalar dereference not supported for type Float4E2M1FN", DSL),
    ),
    known(
        "dsl.wrong-nesting",
        r"std::bad_variant_access|std::get: wrong index for variant|std::bad_cast",
        "the compiler died on an operand that is nested otherwise than it expects",
        "Its native code takes a tuple and got an integer, or the reverse, and does not test it. Known causes: a tensor of fewer modes than "
        "the tiler of the copy or MMA that partitions it, an integer as the tiler of make_tiled_tma_atom, a fragment that retile cannot "
        "regroup, a run-time value where the operation takes a constant (cp_async_wait_group).",
        "Give every tile, tiler and tensor one entry for each mode: (64, 64), not 64. Find the statement with CUTE_DSL_KEEP=ir-debug (before 4.8 CUTE_DSL_KEEP_IR=1)",
        (
            "terminate called after throwing an instance of 'std::bad_variant_access' what(): std::get: wrong index for variant",
            DSL,
        ),
    ),
    known(
        "dsl.division-by-zero",
        r"[Ff]loating[- ]point exception|SIGFPE|signal 8\b",
        "integers are divided by zero on the host, by the compiler or the program",
        "Linux calls it a floating point exception; no floating-point number is involved. An extent, a divisor or an alignment is 0: divisibility=0, an empty tile, a thread count of 0 in a layout that C++ makes from run-time numbers, or crd2idx with its arguments swapped (NVIDIA/cutlass#2323).",
        "Print the shapes, divisors and tilers before the statement; CUTE_DSL_KEEP=ir-debug (before 4.8 CUTE_DSL_KEEP_IR=1) finds it, of a C++ program gdb (bt). "
        + TRACE,
        ("Floating point exception (core dumped)", issue(2323)),
    ),
)
