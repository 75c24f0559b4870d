"""What the host passes to a compiled function: tensors, pointers and what they promise."""

from __future__ import annotations

from layoutcheck.catalogue.entry import TRACE, issue, known

DSL = "DSL 4.8.1"

ENTRIES = (
    known(
        "dsl.abstract-operation",
        r"Can't instantiate abstract class (?P<kind>\w{0,40}Op)\b[^\n]{0,80}(?:_make_trait|abstract methods?)",
        "{kind} is a base class of the DSL, not an instruction",
        "CopyOp, MmaOp and their kin only say what all copies and MMAs have in common. An atom is made of one of the classes below them.",
        "For copies cute.nvgpu.CopyUniversalOp (any spaces but tensor memory), cpasync.CopyG2SOp (cp.async), cpasync.CopyBulkTensorTileG2SOp and S2GOp (TMA), warp.LdMatrix8x8x16bOp; for an MMA the operation of "
        "the architecture and the types: warp.MmaF16BF16Op, warpgroup.MmaF16BF16Op, tcgen05.MmaF16BF16Op",
        ("TypeError: Can't instantiate abstract class CopyOp with abstract method _make_trait", "DSL 4.8.1"),
    ),
    known(
        "dsl.not-an-mlir-value",
        r"assert isinstance\(arg, _cext\.ir\.Value\)|'(?:int|float|bool)' object has no attribute 'ir_value'",
        "a DSL function got a Python number or a DSL scalar where it takes the other",
        "The function hands its argument to the IR unconverted: local_partition of DSL 4.0 refuses an Int32 (mended after "
        "4.0), that of 4.8 a Python integer, which has no ir_value.",
        "Wrap a Python number, cutlass.Int32(0); upgrade a DSL of 4.0; or partition by make_tiled_copy_tv and get_slice(tidx)",
        ("AttributeError: 'int' object has no attribute 'ir_value'", DSL),
        instead_of=("dsl.given-python",),
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
        "dsl.no-context",
        r"An MLIR function requires a Context|requires an? (?:MLIR )?(?:Context|Location|InsertionPoint) but none|not entered (?:any )?(?:MLIR )?[Cc]ontext|No current (?:Context|Location|InsertionPoint)|no active MLIR [Cc]ontext",
        "a layout, atom, number or launch of the DSL is made outside of a compiled function",
        "Such objects are built in the IR of a function. Plain Python (a module's top level, __init__, a host function without @cute.jit) has none. A @cute.kernel is launched from a @cute.jit function too.",
        "Call the kernel's launch from a @cute.jit function. Make an object inside the @cute.jit function, or in a method that one calls; keep plain integers and tuples outside. To evaluate layouts without the compiler: layoutcheck.parse_layout, composition and their kin",
        ("RuntimeError: An MLIR function requires a Context", DSL),
    ),
    known(
        "dsl.dlpack-export",
        r"Can't export (?:tensors? (?:that require gradient|with (?:the )?(?:conjugate|negative) bit|with layout other than|on a different CUDA device)[^\n]{0,60}|to dlpack a tensor on meta device)|(?:DLPack tensor|DLTensor)[^\n]{0,30}device(?: type)?[^\n]{0,20}(?:not supported|unsupported)|__dlpack__[^\n]{0,60}requires? ?_?grad",
        "the tensor cannot be handed over by DLPack as it is",
        "DLPack describes memory and strides, and nothing else: a tensor that records gradients, is sparse, conjugated or without storage (meta, fake), or lies on another device than the one asked for, is refused by the library that owns it.",
        "from_dlpack(tensor.detach()), .resolve_conj(), .contiguous() or .to('cuda') before; a fake tensor of the DSL (make_fake_compact_tensor) where only the compile needs one",
        ("BufferError: Can't export tensors that require gradient, use tensor.detach()", "PyTorch"),
    ),
    known(
        "dsl.argument-annotation",
        r"(?:expects argument (?P<number>#[0-9]+) \((?P<argument>\w+)\) to be (?:one of \((?P<several>[^)]{3,300})\)|<class '(?P<wanted>(?!cutlass[\w.]*Tensor')[\w.]+)'>|(?P<plain>\w[\w.\[\], ]{2,80}?)), ?but got (?:<class ')?(?P<given>[\w.]+)"
        r"|argument (?:'?(?P<name>\w+)'? )?expects (?P<annotated>\w+),? but got (?P<got>\w+))",
        "argument {number} {argument}{name} is a {given}{got}; the function is annotated for {several}{wanted}{plain}{annotated}",
        "The annotations of a @cute.jit or @cute.kernel function say what each argument is. A torch.Tensor with one element is not a number, and None fits only Optional or a Constexpr: "
        "None often comes from a keyword that the caller left out or a variable that was overwritten.",
        "Pass a number (int(x), x.item(), cutlass.Int32(x)), find where the None comes from, or annotate the parameter Optional[...] (cutlass.Constexpr for what is known when it is compiled)",
        (
            "cutlass.base_dsl.common.DSLRuntimeError: expects argument #26 (max_seqlen_q) to be one of (<class 'cutlass.base_dsl.typing.Int32'>, <class 'int'>, <class 'NoneType'>), but got <class 'torch.Tensor'>",
            DSL,
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
        "dsl.dlpack-type",
        r"(?i)(?:float8|float4|fp8|fp4|sub-?byte)[^\n]{0,30}not supported by dlpack|DLPack[^\n]{0,40}(?:float8|float4|fp8|fp4)",
        "this torch hands no elements of 8 bits and less to DLPack",
        "DLPack has had types for 8-bit and narrower floats since version 1.1, and torch's converter may be older.",
        "Hand the bytes over and name the type: t = from_dlpack(x.view(torch.uint8)), then t.element_type = cutlass.Float8E4M3FN; or make_ptr with the "
        "element type, and make_tensor",
        (
            "BufferError: float8 types are not supported by dlpack",
            "https://github.com/pytorch/pytorch/pull/150691",
        ),
        instead_of=("dsl.type-unsupported",),
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
    ),
    known(
        "dsl.int32-overflow",
        r"Layout in DLTensorWrapper has int32 overflow risk|OverflowError: Value overflow: (?P<value>[0-9]+) exceeds range of",
        "an offset or an extent {value} of this tensor does not fit 32 bits",
        "Offsets are computed in 32 bits by default, and the tensor's last element is 2^31 elements or more away. Extents have 32 bits always: one mode holds fewer than 2^31 elements.",
        "Give a flat tensor several modes, each below 2^31 (view(batch, -1)); from_dlpack(..., use_32bit_stride=False) for long strides, or move the batch mode into the pointer (domain_offset)",
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
        rule="LC267",
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
        "dsl.call-mismatch",
        r"(?:Mismatched|Misaligned|Invalid) (?P<what>[\w.\[\]]+(?: [\w ]{1,24}?)?) (?:on (?:(?P<name>[\w.\[\]]+) in )?(?:argument )?(?P<argument>#[0-9]+|[\w.\[\]]+)|\.\.\.)"
        r"[^\n]{0,1200}?,? expected (?P<wanted>(?:ndim|dtype|shape size|tuple size|device_type|data alignment|byte_offset)=[^\s.`]+(?: bytes)?|(?:to [^\n]{3,80}|ffi\.[\w. ]+|contiguous|Tensor|int|float|handle|bool|None|[-0-9.]+)\b)"
        r"|Mismatched (?P<field>\w+(?:\[[0-9]+\])*\.(?:shape|strides)\[[0-9]+\])",
        "a compiled kernel is called with an argument that it was not compiled for: {argument} {name} {what} {field} {wanted}",
        "cute.compile keeps of every argument its type, rank, alignment, static extents and strides, and what its dynamic ones promise; the "
        "compiled entry (--enable-tvm-ffi) compares each call with them. A view with an offset (byte_offset) is refused by releases before 4.6.3 and by 4.7.0 (NVIDIA/cutlass#3450).",
        "Pass a tensor like the one that was compiled with, or compile again for this one (the cache key lacks what differs). Where the extent or "
        "stride may vary, compile with a tensor whose mode is dynamic. Clone a view whose offset or alignment is in the way",
        (
            "ValueError: Misaligned Tensor data on argument #1 when calling: `host(a: Tensor([n0], float16))`, expected data alignment=16 bytes",
            "DSL 4.8.1, tvm_ffi_builder",
        ),
        rule="LC202",
    ),
    known(
        "dsl.parameter-count",
        r"\bExpects (?P<count>[0-9]+|N) parameters",
        "a compiled function takes {count} parameters, and the call has another number of arguments",
        "The compiled entry (--enable-tvm-ffi) counts the arguments before it looks at any of them. Parameters annotated cutlass.Constexpr are compiled in and left out of it; "
        "one that is loaded from a cache fills no defaults, so optional parameters are passed, None too.",
        "Compare the call with the signature of the @cute.jit function, without its Constexpr parameters. In a library, call and compiled kernel are of two versions: "
        "install the library and the nvidia-cutlass-dsl that it pins, and delete its cache of compiled kernels",
        ("TypeError: Expects 3 parameters when calling: `f(x: int32)`", "DSL 4.8.1, tvm_ffi_builder"),
    ),
)
