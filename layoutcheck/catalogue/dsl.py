"""Errors of CuTe DSL that are not the verifier's about `cute.copy`: its Python functions and its other operations.

Wordings of DSL 4.8.1 unless a report of another version is cited.
"""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, EVALUATE, TRACE, issue, known

DSL = "DSL 4.8.1"
_PDSL = (
    "A shared tensor carries its swizzle once: in its pointer (recast_ptr, or allocate_tensor(..., swizzle=...); "
    "the DSL's PDSL) or in its layout (a composed layout S o 0 o L; the DSL's PISL)."
)

ENTRIES = (
    known(
        "dsl.arch-not-admissible",
        r"expects arch to be one of \[(?P<admissible>[^\]]{1,400})\], but got (?:Arch\.)?(?P<arch>sm_\w+)",
        "{arch} does not have this operation; these do: {admissible}",
        "The operation is an instruction of another architecture family. tcgen05 and tensor memory exist on "
        "sm_100, sm_101, sm_103 and sm_110 only; sm_120 and sm_121 (GeForce Blackwell, DGX Spark) have warp-level "
        "mma.sync; wgmma exists on sm_90a only.",
        "Choose the operation of your GPU's family (cute.nvgpu.warp for sm_80, sm_89, sm_120 and sm_121). If you "
        "compile for another GPU than this machine's, set CUTE_DSL_ARCH, for example CUTE_DSL_ARCH=sm_100a",
        (
            "cutlass.cute.nvgpu.common.OpError: OpError: expects arch to be one of ['sm_100a', 'sm_100f'], "
            "but got sm_121a\nError Code: MmaF16BF16Op error",
            issue(2802),
        ),
        (
            "OpError: expects arch to be one of [Arch.sm_100a, Arch.sm_100f, Arch.sm_101a, Arch.sm_101f, "
            "Arch.sm_110a, Arch.sm_110f], but got Arch.sm_121a",
            issue(2019, "Dao-AILab/flash-attention"),
        ),
        rule="LC108",
    ),
    known(
        "dsl.arch-unknown",
        r"KeyError: '(?P<arch>sm_\w+)'|(?:[Uu]nsupported|[Uu]nknown|[Ii]nvalid) (?:GPU )?(?:arch\w*|target)[^\n]{0,40}?(?P<other>sm_[0-9]\w*)",
        "the installed DSL does not know {arch}{other}",
        "Each version of the DSL has a list of architectures; newer GPUs are added with newer versions.",
        "Upgrade nvidia-cutlass-dsl, or set CUTE_DSL_ARCH to the GPU's family (sm_100f) or to an architecture that it knows",
        (
            "compiler.py, in compile File enum.py, in __getitem__ KeyError: 'sm_107a'",
            "https://github.com/flashinfer-ai/flashinfer/pull/4649",
        ),
    ),
    known(
        "dsl.arch-too-old",
        r"expects arch to be at least (?P<first>sm_\w+), but got (?:Arch\.)?(?P<arch>sm_\w+)",
        "{arch} does not have this operation; {first} is the first that has it",
        "This architecture does not have the instruction.",
        "Choose another operation, or set CUTE_DSL_ARCH to the GPU that will run the kernel",
        ("OpError: expects arch to be at least sm_90, but got sm_80", DSL),
        rule="LC108",
    ),
    known(
        "dsl.two-swizzles",
        r"cannot be both iterator swizzle \(PDSL\) and swizzle layout ?\(PISL\)"
        r"|cannot have both a swizzle on the pointer and a (?:non-identity )?swizzle in the layout",
        "the tensor has a swizzle on its pointer and another in its layout",
        _PDSL,
        "Keep one: allocate with allocate_tensor(dtype, layout.outer, byte_alignment, swizzle=layout.inner), or "
        "allocate with the composed layout and no swizzle= argument",
        ("TypeError: cannot be both iterator swizzle (PDSL) and swizzle layout(PISL)", DSL),
        (
            "error: 'cute.make_view' op cannot have both a swizzle on the pointer and a swizzle in the layout",
            DSL,
        ),
    ),
    known(
        "dsl.printf-swizzled-layout",
        r"tensor with swizzled layout \(PISL\) is not supported in printf",
        "cute.printf cannot print a tensor whose layout is composed with a swizzle",
        _PDSL,
        "Print the tensor's layout with Python's print, or give the swizzle to the pointer",
        (
            "NotImplementedError: tensor with swizzled layout (PISL) is not supported in printf, please use "
            "swizzled pointer (PDSL) instead",
            DSL,
        ),
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
        "dsl.not-an-mlir-value",
        r"assert isinstance\(arg, _cext\.ir\.Value\)|'(?:int|float|bool)' object has no attribute 'ir_value'",
        "a DSL function got a Python number or a DSL scalar where it takes the other",
        "The function hands its argument to the IR unconverted: local_partition of DSL 4.0 refuses an Int32 (mended after "
        "4.0), that of 4.8 a Python integer, which has no ir_value.",
        "Wrap a Python number, cutlass.Int32(0); upgrade a DSL of 4.0; or partition by make_tiled_copy_tv and get_slice(tidx)",
        ("AttributeError: 'int' object has no attribute 'ir_value'", DSL),
        (
            'File "nvidia_cutlass_dsl/python_packages/cutlass/_mlir/dialects/_ods_common.py", line 104, in '
            "get_op_result_or_value\n    assert isinstance(arg, _cext.ir.Value)\nAssertionError",
            issue(2314),
        ),
        instead_of=("dsl.given-python",),
    ),
    known(
        "dsl.coordinate-not-congruent",
        r"(?:coord\w*|dicer|order|`coord`)[^.]{0,80}weakly congruent|is not weakly congruent with input shape"
        r"|coordinate? (?:and shape )?must be congruent|coord and shape must be congruent"
        r"|expects the coord to be congruent with the shape"
        r"|the rank of the coordinate must be equal to the one of the layout|unable to compute crd2idx",
        "the coordinate does not have the modes of the layout",
        "A coordinate may be shallower than the shape, never deeper, and it has one entry for each mode: "
        "((i, j), k) indexes ((8, 4), 16), and so does (p, k); (i, j, k) does not.",
        "Give one coordinate for each mode; use None for a mode that a slice keeps. " + EVALUATE,
        ("ValueError: coord must be weakly congruent to src in slice_", DSL),
        (
            "error: 'cute.crd2idx' op expects coordinate to be weakly congruent to the layout, but got ...",
            DSL,
        ),
        (
            "ValueError: the rank of the coordinate must be equal to the one of the layout, but got (0, 1, 2)",
            DSL,
        ),
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
        ('error: unknown: Failed to infer result type(s): "cute.slice"(%0, %1) {} : ...', DSL),
    ),
    known(
        "dsl.shape-stride-not-congruent",
        r"shape and stride must be congruent|residue layout must be congruent",
        "shape and stride have different nesting",
        "make_layout pairs every extent with a stride: (128, (8, 8)) needs (s, (t, u)).",
        "Give the stride the same nesting as the shape",
        ("ValueError: shape and stride must be congruent", DSL),
    ),
    known(
        "dsl.algebra-refused",
        r"unable to compute (?:the following )?(?P<what>composition|product|complement|a right inverse|the left inverse"
        r"|tile_to_shape|shape_div|domain offset|idx2crd|cosize|size)|unable to (?:coalesce|filter)"
        r"|failed to partition `input`|failed to compute the TMA G-basis|unable to construct a coordinate",
        "an operation of the layout algebra has no result",
        "The layouts do not divide one another, their modes do not pair (a profile, tiler or order with more modes than the layout), "
        "or the result is not a layout: a composition that carries into the next mode, a complement of a layout that overlaps itself.",
        EVALUATE + ", and `layoutcheck draw LAYOUT` shows where the elements lie",
        ("error: unable to compute the following composition: (8,4):(4,1) o 6:2", DSL),
        ("error: 'cute.tile_to_shape' op unable to compute tile_to_shape", DSL),
    ),
    known(
        "dsl.tensor-rank-below-tiler",
        r"[Ee]xpect(?:ed|s) rank\((?:target|input)\) >= rank\(tiler\)|rank\(tiler\) <= rank\((?:target|input)\)",
        "the tensor has fewer modes than the tiler",
        "A tiler needs one mode of the tensor for each of its own modes.",
        "Give the tiler one entry for each mode; use None for a mode that stays whole",
        ("ValueError: Expected rank(target) >= rank(tiler), but got rank(target)=1 and rank(tiler)=2", DSL),
    ),
    known(
        "dsl.torch-tensor-given",
        r"expects argument #(?P<number>[0-9]+) \((?P<argument>\w+)\) to be <class 'cutlass[\w.]*Tensor'>, but got "
        r"<class '(?P<given>[\w.]+)'>",
        "argument {argument} is a {given}; the function takes a cute.Tensor",
        "A compiled function takes DSL tensors, and a DSL tensor carries what the compiler may assume: alignment, "
        "static or dynamic extents, divisors of the strides.",
        "Convert at the call: from_dlpack(tensor, assumed_align=16); with TVM-FFI, "
        'cute.compile(..., options="--enable-tvm-ffi") takes torch tensors as they are',
        (
            "DSLRuntimeError: expects argument #1 (A) to be <class 'cutlass.cute.typing.Tensor'>, but got "
            "<class 'torch.Tensor'>",
            issue(98, "AlphaGPU/leetgpu-challenges"),
        ),
    ),
    known(
        "dsl.pointer-below-promise",
        r"Tensor data pointer is not aligned to (?P<need>[0-9]+)|bytes_per_elt=\S+ is not a multiple of assumed_align",
        "the tensor's address is not aligned as promised",
        "assumed_align (or a compiled signature) promises more than the tensor has: a slice such as x[:, 1:] starts between vectors.",
        "Pass a tensor whose first element is aligned, or compile with the smaller assumed_align and a narrower copy",
        ("ValueError: Tensor data pointer is not aligned to 16 bytes", DSL),
        rule="LC101",
    ),
    known(
        "dsl.leading-stride",
        r"Expected strides\[leading_dim\] == 1, but got (?P<stride>[^\s.,]+)",
        "the leading dimension has stride {stride}, not 1",
        "mark_layout_dynamic and mark_compact_shape_dynamic keep the leading mode's stride 1 static, and this tensor "
        "is not contiguous there: a transposed or strided view.",
        "Name the contiguous mode (leading_dim=), or call .contiguous() first",
        ("ValueError: Expected strides[leading_dim] == 1, but got 4096", DSL),
    ),
    known(
        "dsl.leading-dimension-unknown",
        r"Can't de[cd]u[cd]e the leading dimension from layout",
        "no mode, or more than one, has stride 1, so the leading dimension is not known",
        "mark_layout_dynamic keeps the stride 1 of the contiguous mode static, and an extent of 1 often has stride 1 as "
        "well.",
        "Name it: tensor.mark_layout_dynamic(leading_dim=...)",
        (
            "RuntimeError: Can't decude the leading dimension from layout, please specify the leading_dim explicitly.",
            issue(3031),
        ),
    ),
    known(
        "dsl.stride-order",
        r"stride_order is not consistent with the layout|[Ee]xpected stride_order (?:to|value)|stride_order \(.{0,200}\) must be empty or have same length",
        "stride_order does not name every mode of the tensor once",
        "stride_order lists the modes from the slowest to the fastest, each once.",
        "Use tensor.dim_order() of the torch tensor. Before DSL 4.3 strides of 2^31 elements and more get the same error (NVIDIA/cutlass#2715)",
        ("RuntimeError: The stride_order is not consistent with the layout", issue(2715)),
        (
            "ValueError: Expected stride_order to contain all the dimensions of the tensor, but it doesn't contain 1",
            DSL,
        ),
    ),
    known(
        "dsl.int32-overflow",
        r"Layout in DLTensorWrapper has int32 overflow risk",
        "an offset of this tensor does not fit 32 bits",
        "Offsets are computed in 32 bits by default, and the tensor's last element is 2^31 elements or more away.",
        "from_dlpack(..., use_32bit_stride=False), or move the batch mode into the pointer (domain_offset)",
        (
            "RuntimeError: Layout in DLTensorWrapper has int32 overflow risk. Please set use_32bit_stride to False.",
            DSL,
        ),
    ),
    known(
        "dsl.assumption-false",
        r"Expected \S+ to be divisible by (?P<divby>[0-9]+), got|is not divisible by the divisibility ?\((?P<other>[0-9]+)\)",
        "a promised divisor does not divide the value",
        "cute.assume and mark_compact_shape_dynamic promise a divisor; the value at hand is known, and {divby}{other} does not "
        "divide it.",
        "Promise a divisor that is true for every call, or pad the extent",
        ("ValueError: Expected 100 to be divisible by 8, got 4", DSL),
        ("RuntimeError: The shape(8) of mode(0) is not divisible by the divisibility(3).", DSL),
        rule="LC267",
    ),
    known(
        "dsl.register-tensor-dynamic",
        r"[Dd]ynamic layout doesn't support (?:vectorized )?(?:load|store)|dynamic s(?:hape|ize) is not supported"
        r"|autovec_copy expects source and destination tensors to be statically shaped",
        "a tensor whose shape is known only at run time is loaded or stored as a whole",
        "load(), store() and autovec_copy make one vector, whose length the compiler must know.",
        "Tile first (local_tile, a thread's partition), predicate the edges, and load a tile of static shape",
        ("ValueError: dynamic layout doesn't support load", DSL),
        rule="LC105",
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
        "dsl.mma-operand-mode",
        r"Tensor (?P<operand>[ABC]) vector mode size does not match the atom vector mode size",
        "the fragment of {operand} is not partitioned by this MMA",
        "Mode 0 of a fragment holds the values that one MMA instruction takes from a thread. This tensor was "
        "partitioned by another MMA or by a copy.",
        "Make it with this MMA: thr_mma.partition_{operand} and make_fragment_{operand}; between a copy and the MMA, "
        "tiled_copy.retile",
        (
            "error: 'cute.gemm' op Tensor A vector mode size does not match the atom vector mode size. Got: 4 vs 8",
            DSL,
        ),
    ),
    known(
        "dsl.gemm-layouts",
        r"'cute\.gemm' op invalid layout of A/B/D\.? ?(?P<said>[^\n]{0,160})",
        "cute.gemm refuses the layouts of its operands: {said}",
        "The fragments are not partitioned by this MMA, or the tile is one atom wide: (1,1):(0,0) is what DSL 4.5 makes of "
        "m64n8 (NVIDIA/cutlass#3290).",
        "Partition with this MMA (partition_A, make_fragment_A); take a tile of 16 columns or more",
        (
            "'cute.gemm' op invalid layout of A/B/D. A: (1,1):(0,0), B: (1,1):(0,0), D:((2,2),1,1):((1,2),0,0)",
            issue(3290),
        ),
    ),
    known(
        "dsl.gemm-ranks",
        r"`a` and `b` must have the same rank|`c` and `d` must have the same rank|`c` must have rank",
        "the operands of cute.gemm differ in their number of modes",
        "gemm takes (V, M, K), (V, N, K) and (V, M, N), or all three of them without K.",
        "Slice the stage or the k block off both operands: tCrA[None, None, k] and tCrB[None, None, k]",
        ("ValueError: `a` and `b` must have the same rank", DSL),
    ),
    known(
        "dsl.composed-operand",
        r"Expected affine layout for [\s\S]{0,200}?operand (?P<operand>[AB]), but got composed layout instead",
        "the swizzle of operand {operand} is part of its layout, and must be part of its pointer",
        "A matrix descriptor has the swizzle of a pointer; a composed layout applies it to offsets.",
        "Allocate the tile with both apart: allocate_tensor(dtype, layout.outer, byte_alignment=1024, "
        "swizzle=layout.inner); or move the swizzle with cute.recast_ptr(ptr, layout.inner, dtype)",
        (
            "DSLUserCodeError: error: Expected affine layout for <cutlass.cute.nvgpu.warpgroup.mma.MmaF16BF16Trait object "
            "at 0x7f>'s operand A, but got composed layout instead: S<3,4,3> o 0 o ((64,16),1,4):((64,1),0,16)",
            DSL,
        ),
    ),
    known(
        "dsl.wgmma-descriptor",
        r"make_gmma_smem_desc",
        "the shared-memory layout is not one that wgmma reads",
        "wgmma reads its operands through a descriptor, which describes tiles of eight swizzle atoms only.",
        "Build it from make_smem_layout_atom and tile_to_shape; "
        "`layoutcheck canonical LAYOUT --dtype TYPE --unit wgmma` names the nearest one",
        (
            "failed to legalize operation 'cute_nvgpu.make_gmma_smem_desc' that was explicitly marked illegal",
            issue(3078),
        ),
    ),
    known(
        "dsl.tcgen05-descriptor",
        r"make_umma_smem_desc",
        "the shared-memory layout is not one that tcgen05.mma reads",
        "tcgen05.mma reads its operands through a descriptor, which describes tiles of eight swizzle atoms only.",
        "Build it from make_smem_layout_atom and tile_to_shape; "
        "`layoutcheck canonical LAYOUT --dtype TYPE --unit tcgen05` names the nearest one",
        ("error: 'cute_nvgpu.make_umma_smem_desc' op failed to verify", DSL),
    ),
    known(
        "dsl.memory-space",
        r"must be CuTe (?:pointer|memref) to (?:memory spaces|shared memory|global memory|allowable types)"
        r"[^,]{0,200}(?:, but got (?P<given>[^\n]{1,120}))?",
        "an operand is in another memory space, or has less alignment, than the operation needs",
        "The operation names the memory space, the element types and the alignment of each operand.",
        "State the space and the alignment when the pointer is made: make_ptr(dtype, address, AddressSpace.smem, "
        "assumed_align=...), allocate_tensor(..., byte_alignment=...)",
        (
            "error: 'cute_nvgpu.arch.make_tma_desc' op operand #0 must be CuTe pointer to memory spaces (smem) with "
            "byte alignment 128, but got '!cute.ptr<f16, gmem>'",
            DSL,
        ),
        rule="LC104",
    ),
    known(
        "dsl.tmem-allocation",
        r"[Tt]mem alignment must be a multiple of|TMEM static allocations must be uniformly|TMEM (?:SF |E )?fragments expects?"
        r"|tcgen05\.alloc|number of columns .{0,60}power of (?:two|2)",
        "tensor memory is allocated or described incorrectly",
        "Tensor memory is allocated in columns, a power of two from 32 to 512, by one warp; its fragments have the "
        "M of the MMA (64 or 128) and one or two CTAs throughout.",
        "Use cutlass.utils.TmemAllocator and tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(...))",
        ("error: TMEM fragments expect M to be 64 or 128, but got 32", DSL),
    ),
    known(
        "dsl.no-source",
        r"OSError: could not get source code.{0,1500}ast_preprocessor|ast_preprocessor.{0,1500}could not get source code"
        r"|UNSUP_NO_SOURCE",
        "the DSL cannot read the function's source",
        "@cute.jit and @cute.kernel rewrite the function from its source file. A function typed at the Python prompt, made "
        "by exec, or without a file of its own has none.",
        "Put the function into a file (a notebook cell is one as well)",
        ("OSError: could not get source code File ast_preprocessor.py", issue(3413)),
        level=ELSEWHERE,
    ),
    known(
        "dsl.operand-types",
        r"unsupported operand type\(s\) for (?P<op>\S{1,6}): (?P<types>'_?(?:Composed)?(?:Layout|Tensor|Pointer|Swizzle)\w*' and '\w+'"
        r"|'\w+' and '_?(?:Composed)?(?:Layout|Tensor|Pointer|Swizzle)\w*')",
        "{op} is not defined for {types}",
        "Layouts are functions, not numbers; a tensor's arithmetic is that of its values in registers.",
        "Evaluate a layout, layout(coordinate); move a pointer or tensor, ptr + offset or cute.domain_offset(coord, tensor); "
        "load a tensor first, tensor.load() + 1",
        ("TypeError: unsupported operand type(s) for +: '_Layout' and 'int'", DSL),
    ),
    known(
        "dsl.type-refused",
        r"Inputs are incorrect for type: ?(?P<type>[\w.]+) (?P<said>[^\n]{5,160}?)(?= -->| note:|$)",
        "{type}: {said}",
        "The type of the atom or tensor cannot hold these parameters.",
        "num_bits_per_copy is 0 (the widest that layouts and alignment allow) or a power of two from 8 on; "
        "`layoutcheck explain SRC DST --atom ATOM --bits N` says which widths the copy has",
        (
            "TypeError: Inputs are incorrect for type: cute.nvgpu.CopyAtomSIMTSyncCopyType expected copy_bits to be 0 "
            "(auto) or a power of 2 (>= 8), but got 24",
            DSL,
        ),
        rule="LC103",
    ),
    known(
        "dsl.broadcast",
        r"ValueError: cannot broadcast (?P<shape>\([^\n]{1,80})|lhs and rhs must have the same shape, but got (?P<shapes>[^\n]{3,120})",
        "two vectors in registers differ in shape: {shape}{shapes}",
        "Arithmetic and store() of register tensors pair elements of equal shapes; a mode of extent 1 is repeated.",
        "Give both the same partition: make_rmem_tensor_like(other), or retile. " + EVALUATE,
        ("ValueError: cannot broadcast (128, 4)", DSL),
        ("ValueError: lhs and rhs must have the same shape, but got (8,) and (128, 64)", DSL),
    ),
    known(
        "dsl.name-undefined",
        r"(?:NameError(?: in `\w+`)?: name|\blocal variable|free variable) '(?P<what>\w+)' "
        r"(?:is not defined|(?:where it is )?not associated with a value|referenced before assignment)",
        "the name {what} has no value where the function is compiled",
        "It is not imported, or it is first assigned inside a dynamic if or loop: the DSL compiles both paths, and on one of "
        "them the name has no value.",
        "Import it, or assign it before the branch",
        ("DSLUserCodeError: error: NameError in `kernel`: name 'v' is not defined", DSL),
        level=ELSEWHERE,
        instead_of=("dsl.dynamic-condition",),
    ),
    known(
        "dsl.runtime-library",
        r"RuntimeError: Unknown function cutlass_+|JIT session error: Symbols not found: \[ ?_?cu(?:da|Kernel|Launch)",
        "the compiled program cannot be linked: the DSL's run-time library is missing, or of another version",
        "The program calls libcute_dsl_runtime.so, which belongs to the nvidia-cutlass-dsl-libs package of the same version.",
        "Install nvidia-cutlass-dsl and its -libs packages in one version, and set CUTE_DSL_LIBS only to that version's library",
        ("RuntimeError: Unknown function cutlass_add_one_FakeTensorFloat32", issue(3329)),
        level=ELSEWHERE,
    ),
    known(
        "dsl.unknown-attribute",
        r"unknown (?:attribute|type|operation) [`'](?P<what>\w+)[`'] in dialect [`'](?P<dialect>cute\w*)",
        "this DSL version does not have {dialect}.{what}",
        "The DSL's Python code and its compiler are of different versions, or the version has the Python function and not "
        "yet the compiler's part of it.",
        "Install nvidia-cutlass-dsl and its -libs packages in one version, or upgrade both",
        ("error: unknown attribute `atom_copy_field_tmareduce` in dialect `cute_nvgpu`", issue(2656)),
    ),
    known(
        "dsl.fragment-space",
        r"expect rmem based input memref with rmem related frag type",
        "a register fragment is made from a tensor that is not in registers",
        "make_fragment_C takes a shape or a register tensor. In DSL 4.0 it refuses a partition of a global tensor for "
        "wgmma (mended in 4.1).",
        "Give it the shape: thr_mma.make_fragment_C(tCgC.shape)",
        ("error: expect rmem based input memref with rmem related frag type.", issue(2347)),
    ),
    known(
        "dsl.no-atom",
        r"'NoneType' object has no attribute '(?P<what>_trait|type|iterator|layout|shape|element_type)'",
        "a function got None where it expects an atom or a tensor",
        "The copy atom or the tensor was not made: a branch of the program that is meant for another architecture or "
        "option was not taken. TMA atoms do not exist below sm_90, and libraries leave them None there.",
        "Look at where the argument is made. " + TRACE,
        (
            "AttributeError: 'NoneType' object has no attribute '_trait'",
            "https://github.com/Dao-AILab/flash-attention/pull/2484",
        ),
        instead_of=("dsl.given-python",),
    ),
    known(
        "dsl.narrow-pointer",
        r"make_ptr.{0,300}ZeroDivisionError|ZeroDivisionError.{0,300}make_ptr|runtime\.py.{0,200}_assumed_align.{0,200}ZeroDivisionError",
        "make_ptr of a type narrower than a byte needs its alignment",
        "Without assumed_align the DSL takes the element's whole bytes, which are 0 for 4-bit and 6-bit types.",
        "State it: make_ptr(dtype, address, AddressSpace.gmem, assumed_align=16)",
        (
            "make_ptr(cutlass.Float4E2M1FN, 0x1000) ZeroDivisionError: integer division or modulo by zero",
            "https://github.com/NVIDIA/cutlass/pull/3334",
        ),
    ),
    known(
        "dsl.not-numeric",
        r"unable to convert .{1,200} in type <class '(?P<given>[\w.]+)'> to Numeric",
        "a Python {given} changes inside a dynamic if or loop",
        "What a dynamic branch assigns must be a DSL value; Python lists and objects exist at compile time only.",
        "Make the branch static with cutlass.const_expr, assign the elements one by one, or use a register tensor",
        ("ValueError: unable to convert [2, 3, 4] in type <class 'list'> to Numeric", issue(2531)),
        level=ELSEWHERE,
    ),
    known(
        "dsl.wrong-nesting",
        r"std::bad_variant_access|std::get: wrong index for variant|std::bad_cast",
        "the compiler died on an operand that is nested otherwise than it expects",
        "Its native code takes a tuple and got an integer, or the reverse, and does not test it. Known causes: a tensor of fewer modes than "
        "the tiler of the copy or MMA that partitions it, an integer as the tiler of make_tiled_tma_atom, a fragment that retile cannot "
        "regroup, a run-time value where the operation takes a constant (cp_async_wait_group).",
        "Give every tile, tiler and tensor one entry for each mode: (64, 64), not 64. Find the statement with CUTE_DSL_KEEP_IR=1",
        (
            "terminate called after throwing an instance of 'std::bad_variant_access' what(): std::get: wrong index for variant",
            DSL,
        ),
        ("RuntimeError: std::bad_cast", DSL),
        instead_of=("dsl.compiler-died",),
    ),
    known(
        "dsl.division-by-zero",
        r"Floating point exception|SIGFPE|signal 8\b",
        "the compiler divides by zero",
        "An extent, a divisor or an alignment is 0: divisibility=0, an empty tile, or crd2idx with its arguments swapped (NVIDIA/cutlass#2323).",
        "Print the shapes, divisors and tilers before the statement; CUTE_DSL_KEEP_IR=1 finds it. " + TRACE,
        ("Floating point exception (core dumped)", issue(2323)),
        instead_of=("dsl.compiler-died",),
    ),
    known(
        "dsl.compiler-died",
        r"Segfault encountered|Segmentation fault|Aborted \(core dumped\)|SIGABRT|SIGSEGV"
        r"|terminated by signal|\b(?:malloc|free|realloc)\(\): [\w ]+|double free or corruption|munmap_chunk\(\)|corrupted size vs|stack smashing detected",
        "the compiler died without a message",
        "The DSL's native code aborts on some layouts instead of refusing them: a slice of a swizzled composed layout "
        "whose extents are not powers of two (NVIDIA/cutlass#3454) or whose strides are dynamic (#3255), crd2idx with its "
        "arguments swapped (#2323), a thread-value layout that leaves its tile (#2319), printf of a swizzled tensor "
        "(#2695), a gemm of operands of other layouts (#2332).",
        "Find the statement with CUTE_DSL_KEEP_IR=1. "
        + TRACE
        + " and names the copies on which the compiler dies",
        ("Aborted (core dumped)", issue(3454)),
        ("S<3,4,3> o 0 o (10,2):(2,1)\nAborted (core dumped)", issue(3454)),
        ("!!!!!!! Segfault encountered !!!!!!!", issue(3298)),
        general=True,
    ),
    known(
        "dsl.expectation",
        r"\b(?:Value|Type|Runtime|NotImplemented|Assertion|Index)Error: (?P<said>[Ee]xpect(?:s|ed)?\b(?=[^\n]{0,200}(?:layout|tensor|mode|stride|leading_dim|shape"
        r"|atom|tiler|memref|swizzle|smem|gmem|rank|order))[^\n]{5,200}?)(?= Traceback| File \"| -->|$)",
        "refused: {said}",
        "{cause}",
        "{help}",
        ("RuntimeError: Expected leading_dim to be in range [0, 2) or [-2, -1], but got 5.", DSL),
        general=True,
    ),
    known(
        "dsl.no-instruction",
        r"target architecture: (?P<arch>sm_\w+).{0,400}unsupported operation",
        "{arch} does not have an instruction of this kernel",
        "libNVVM finds no instruction of this architecture for an operation: clusters, TMA, mbarrier transactions and fences of the async "
        "proxy begin with sm_90, tensor memory with sm_100.",
        "Set CUTE_DSL_ARCH to the GPU that will run the kernel, or leave the operation out for this architecture with cutlass.const_expr",
        (
            "note: target architecture: sm_80 note: backend log: Failed to generate PTX, libNVVM extra log: Error: unsupported operation",
            DSL,
        ),
        rule="LC108",
        instead_of=("dsl.code-generation", "dsl.other-verifier"),
    ),
    known(
        "dsl.code-generation",
        r"NVVM_ERROR_COMPILATION|Failed creating the llvm::Module|libNVVM extra log|libNVVM failed while|NVVM backend compilation failed",
        "the compiler accepts the program and fails to generate code for it",
        "libNVVM gets a module that it cannot compile. Known causes are copies of 4-bit elements whose offset may be an odd "
        "number of elements, and vectors that no instruction moves.",
        TRACE + " and marks the copies for which code generation fails (LC191)",
        ("NVVM_ERROR_COMPILATION, libNVVM extra log: Failed creating the llvm::Module.", DSL),
        rule="LC191",
    ),
    known(
        "dsl.dominance",
        r"does not dominate this use|using value defined outside the region",
        "a value made inside a branch, loop or other function is used outside of it",
        "It is an error of the DSL's control flow, not of a layout: a variable first assigned in a dynamic if or for, "
        "or held in an object between two @cute.jit functions; or a kernel that returns a value, which no kernel can.",
        "Assign it before the branch, pass it as an argument, or make the branch static with cutlass.const_expr; "
        "NVIDIA/cutlass answers reports of it",
        ("error: unknown: operand #0 does not dominate this use", issue(2532)),
        level=ELSEWHERE,
    ),
    known(
        "dsl.dynamic-condition",
        r"Unable to convert dynamic Boolean value to bool|dynamic (?:expression|control flow) (?:is not|cannot)"
        r"|Failed to create dynamic (?:if|for|while)|Expected an MLIR object|user-defined Python object, which cannot"
        r"|KeyError: (?:U?Int|Float|Boolean)[0-9]*\(|PHASE_\w+|staged control flow|(?:\b[Dd]ynamic|\bRuntime|\b[Ss]taged) (?:value|expression|\()[^\n]{0,60} (?:bool|list index|range)\b",
        "a value known only at run time decides something at compile time",
        "Python's own if, range, list index, assert, float() and math.* need a value at compile time. It is not an error of a layout.",
        "Use cutlass.range for the loop, cutlass.const_expr for what is static, cute.math and .to(dtype) for arithmetic, or pass the value as cutlass.Constexpr; NVIDIA's control-flow guide has the rest",
        ("DSLRuntimeError: Unable to convert dynamic Boolean value to bool at compile time.", issue(2676)),
        level=ELSEWHERE,
    ),
    known(
        "dsl.loop-types",
        r"'(?:scf|cf)\.\w+' op",
        "the branches or bounds of a dynamic loop differ in type",
        "It is an error of the DSL's control flow, not of a layout: Int32 and Int64 bounds are mixed, a variable changes its type in the "
        "loop, or the condition is a number instead of a comparison (while n, where n > 0 is meant).",
        "Give all three bounds of cutlass.range one type, and keep each variable's type through the loop",
        (
            "error: unknown: 'scf.for' op failed to verify that all of {lowerBound, upperBound, step} have same type",
            issue(2630),
        ),
        level=ELSEWHERE,
    ),
    known(
        "dsl.lowered-operation",
        r"'(?P<op>(?:nvvm|gpu|llvm|arith|memref|vector)\.[\w.]+)' op (?P<said>[^\n]{1,160})",
        "{op}: {said}",
        "An operation below CuTe got an operand that it does not take. {cause}",
        "Look at the call that makes the operand. {help}",
        (
            "error: 'nvvm.mbarrier.init.shared' op operand #0 must be LLVM pointer in address space 3, but got '!llvm.ptr'",
            DSL,
        ),
        general=True,
        instead_of=("dsl.other-exception", "dsl.other-verifier", "dsl.internal"),
    ),
    known(
        "dsl.other-operation",
        r"'(?P<op>cute(?:_nvgpu)?\.(?!copy\b|copy_atom_call\b)[\w.]+)' op (?P<said>[^\n]{1,160})",
        "{op}: {said}",
        "{cause}",
        "{help}",
        ("error: 'cute.get_scalars' op operand #0 must be static layout, but got '!cute.layout'", DSL),
        general=True,
        instead_of=("dsl.other-exception", "dsl.other-verifier", "dsl.argument-type", "dsl.internal"),
    ),
    known(
        "dsl.other-verifier",
        r"(?:loc\(.{1,300}?\)\)?: error: |MLIRError: .{0,120}?error: (?:unknown: )?|\berror: unknown: )(?P<said>(?!static assert)[^\n]{8,160}?)(?= (?:note|see current|File )|[.\"]? *$|\. |, but got)",
        "the compiler refuses: {said}",
        "{cause}",
        "{help}",
        ('loc("kernel"("k.py":28:0)): error: expects two operands of one rank', DSL),
        general=True,
        instead_of=("dsl.other-exception", "dsl.argument-type", "dsl.internal"),
    ),
    known(
        "dsl.coded",
        r"error\[(?:[\w.]+::)?(?P<code>[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)\]:? (?P<said>[^\n]{3,240}?)(?= -->| = note:| note:| suggestion:|$|(?<=\.) [A-Z])"
        r"(?:.{0,2000}?suggestion: (?P<fix>[^\n]{5,240}?)\.?(?= suggestion:| File \"| Traceback| = note:|$))?",
        "{said}",
        "The DSL refuses the program under its code {code}.",
        "{fix}. NVIDIA's guides to the DSL's control flow and compilation have the background",
        (
            "error[UNSUP_EARLY_EXIT]: Early exit (return) is not allowed in `k`. A staged for/while/if runs as a whole, so it "
            "cannot return/break/continue out early.",
            DSL,
        ),
        ("error[CALL_KERNEL_TARGET]: `k` is decorated with @cute.kernel.", issue(3429)),
        level=ELSEWHERE,
        general=True,
        instead_of=("dsl.other-exception", "dsl.argument-type", "dsl.other-verifier"),
    ),
    known(
        "dsl.argument-type",
        r"(?:[Ee]xpect(?:ed|s)|must be)[^\n]{3,100}?,? (?:but )?(?:got|found|is) <class '(?P<given>cutlass[\w.]*|int|float|bool|tuple|list|NoneType)'>",
        "a DSL function got a {given}, which it does not take here",
        "Layouts, shapes, tensors and atoms are different types, and a shape is a tuple, not a layout.",
        "Look at the signature: help(function). " + EVALUATE,
        ("ValueError: expected a Tensor, but got <class 'cutlass.cute.core._Layout'>", DSL),
        general=True,
    ),
    known(
        "dsl.internal",
        r"\bICE\b(?!.{0,80}'cute\.copy)|INTERNAL COMPILER ERROR|\[Internal Error\]|[Ii]nternal compiler error",
        "the compiler fails inside",
        "A pass of the compiler makes code that its own verifier refuses. Known causes are elements narrower than a byte "
        "(NVIDIA/cutlass#3349, mended in 4.6.2) and cute.compile of a @cute.kernel function (#3429, refused from 4.8 on).",
        TRACE + " and names copies for which code generation fails. NVIDIA/cutlass answers reports of it",
        ("ICE: Load/Store operand must be a pointer", issue(3349)),
        general=True,
    ),
    known(
        "dsl.other-exception",
        r"(?:DSL\w*Error|OpError|nvidia_cutlass_dsl|cutlass[/.](?:cute|base_dsl)).{0,4000}\b(?:\w*Error|Exception): (?P<said>(?!\w*Error: )[^\n]{6,160}?)(?= [\w.]*Error: |$| Traceback)",
        "the DSL raises: {said}",
        "{cause}",
        "{help}",
        ("cutlass.base_dsl.common.DSLRuntimeError: DSLRuntimeError: a message of another version", DSL),
        general=True,
    ),
)

RAISED = known(
    "dsl.raised",
    r"(?!)",  # found by catalogue.raised, in the installed DSL
    "{function} refuses: {said}",
    "{cause} The installed DSL raises it at {place}{when}.",
    "{help}",
    ("ValueError: Error: NamedBarrier ID must be in [0,15].", DSL),
    general=True,
)
