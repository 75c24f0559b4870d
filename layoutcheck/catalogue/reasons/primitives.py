"""cutlass.experimental: the wrappers of single PTX instructions, descriptors, and the scheduling of tasks."""

from __future__ import annotations

from layoutcheck.catalogue.reasons.reason import reason

_WRAPPERS = r"experimental/"

REASONS = (
    reason(
        "tcgen05.ld: num must be a power of 2 in [1, 128], got 96",
        r"^tcgen05\.(?:ld|st)\b.*(?:num|registers|shape must|offset)|^(?:tcgen05\.|unsupported tcgen05 |\S+: (?=nCols|scale_input_d|write_disable|shape .* requires multicast|block_scale|swizzle must)).*(?:block-scale|nCols|scale_input_d|write_disable_mask|multicast in|block_scale|swizzle must)",
        "The instruction has a few forms: a shape of PTX ('32x32b', '16x64b', '16x128b', '16x256b', '16x32bx2'), repeated a power of two times, at most 128 registers in all; '16x32bx2' alone has an offset. Allocations are 32 to 512 columns, masks as long as the CTA group asks, and swizzles and block scales those of the kind.",
        "Take the nearest form that the message lists, and issue several instructions for what remains",
        where=_WRAPPERS,
        at="experimental/primitives/nvvm_wrapper.py:1",
    ),
    reason(
        "setmaxnreg: reg_count must be a multiple of 8, got 100",
        r"reg_count must be",
        "setmaxnreg takes a literal number of registers for each thread: a multiple of 8 from 24 to 256, known when the kernel is compiled.",
        "Pass 40, 232 or another multiple of 8 as a Python integer; the sum over all warps stays within the register file (65,536)",
    ),
    reason(
        "cp.async: size must be 4, 8, or 16, got 32",
        r"cp_size must be|size must be (?:4, 8|> 0|a multiple of|128)|\.cg cache modifier supports|only supported size is 128|init_val must be 0|size must be > 0|\.noftz is only valid",
        "The copy instruction has few sizes: cp.async 4, 8 or 16 bytes (16 alone with .cg), bulk copies multiples of 16 bytes, descriptors 128 bytes.",
        "Split the copy into such pieces, pad the tile, or take another instruction",
        where=_WRAPPERS,
        at="experimental/primitives/nvvm_wrapper.py:1",
    ),
    reason(
        "cp.async.bulk.tensor: coordinates must have 1-5 elements, got 6",
        r"coordinates must (?:be a tuple|have)|(?:gather4/scatter4|im2col) mode requires|tile_scatter4 mode is not supported",
        "A tensor map has 1 to 5 dimensions and takes one coordinate for each, as a tuple: two for gather4 and scatter4 (rows come as a list), 3 to 5 for im2col. Reductions have no scatter.",
        "Give one coordinate for each dimension of the tensor map",
        where=_WRAPPERS,
        at="experimental/primitives/nvvm_wrapper.py:1",
    ),
    reason(
        "mbarrier_init count must be in [1, 1048575], got 0",
        r"^mbarrier_\w+|^mbarrier\.\w+",
        "An mbarrier is a 64-bit word in shared memory, initialized with 1 to 2^20 - 1 arrivals. Waits take the phase 0 or 1, transactions a count of bytes of 0 or more; a barrier of another CTA (shared::cluster) is arrived at only, in scope cta or cluster.",
        "Pass a shared pointer (storage.mbar.data_ptr()), the number of arriving threads, and a phase that flips with every round",
        where=_WRAPPERS,
        at="experimental/primitives/nvvm_wrapper.py:1",
    ),
    reason(
        "ldmatrix: shape=m16n16 is only valid as a transposed load (layout=MMALayout.COL); got layout=MMALayout.ROW",
        r"^(?:ldmatrix|stmatrix)|num must be 1, 2|supports num in|source (?:vector must lower|count must be)|is only valid as a transposed|src_format",
        "ldmatrix and stmatrix have three shapes: m8n8 of 16 bits (1, 2 or 4 matrices), m16n16 (transposed alone) and m8n16 of packed 6 or 4 bits, which name their source format. A store takes 1, 2 or 4 registers.",
        "Take m8n8 for 16-bit types; give layout=COL and src_format where the message asks for them",
        where=_WRAPPERS,
        at="experimental/primitives/nvvm_wrapper.py:1",
    ),
    reason(
        "tensormap.replace: field 'global_dim' requires the 'ord' (dimension ordinal) parameter",
        r"^tensormap\.",
        "tensormap.replace changes one field of a tensor map: sizes, strides and boxes have a dimension (ord, a Python integer from 0 to 4) and an integer new_value; types, swizzles and fills take new_value_attr by name.",
        "Give the parameters that the field has, and no others",
        where=_WRAPPERS,
        at="experimental/primitives/nvvm_wrapper.py:1",
    ),
    reason(
        "load_ext: cache_modifier and evict are mutually exclusive",
        r"mutually exclusive|only allowed with weak|requires an explicit scope|ordering (?:forbids|requires)|shared-space (?:load|store)|^(?:load|store)_ext|cannot store a 16-bit float directly",
        "PTX allows few combinations: a cache hint with weak accesses only, relaxed, acquire and release with a scope, volatile without any hint, mmio at system scope, hints for global memory alone. Extended accesses move integers and f32/f64, 16-bit floats as Int16.",
        "Leave one of the two away, give scope= with an order, and bitcast Float16 to Int16",
        where=_WRAPPERS,
        at="experimental/primitives/nvvm_wrapper.py:1",
    ),
    reason(
        "fence.proxy.acquire: from_proxy must be \"generic\", got 'async'",
        r"^fence[._]|^mapa|^atomicrmw|^wgmma\.|^match|^st\.bulk|^convert|^elect|^redux",
        "The instruction is defined for these values alone; the message names the operand and what it takes. Fences go from the generic proxy to tensormap or async, atomics name an operation, compare-and-swap has a second value, shuffles offsets of 0 to 31.",
        "Pass the value that the message names; PTX's manual has the instruction under the name before the colon",
        where=_WRAPPERS,
        at="experimental/primitives/nvvm_wrapper.py:1",
    ),
    reason(
        "vote.sync: mask must fit in 32 bits [0, 0xFFFFFFFF], got 0x1ffffffff",
        r"mask must (?:fit|be in)|must be in \[0, 31\]|(?:kind|op|type_) must be one of|requires a (?:shared|tensor)-memory|requires a pointer in shared|evict_priority must be|requires PTX ISA|scale_factor_kind requires",
        "An operand is outside of what the instruction encodes: a mask of 32 (warps) or 16 bits (CTAs), a lane of 0 to 31, an operation by its name, an operand in shared or tensor memory. Some forms need the toolkit (and package) of a newer PTX version.",
        "Pass what the message names; install nvidia-cutlass-dsl[cu13] where a PTX version is asked for",
        where=_WRAPPERS,
        at="experimental/primitives/nvvm_wrapper.py:1",
    ),
    reason(
        "mma.sync: shape must be a 3-tuple of ``int`` (m, n, k); got (16, 8)",
        r"shape must be (?:a 3-tuple|an ``ir)|shape dict missing|b1_op=|int_overflow_behavior=",
        "mma.sync takes one instruction's shape (m, n, k); b1_op is for one-bit operands, int_overflow_behavior for integer ones.",
        "shape=(16, 8, 16) for 16-bit operands, and the modifiers of the operands' types only",
        where=_WRAPPERS,
        at="experimental/primitives/nvvm_wrapper.py:1",
    ),
    reason(
        "m_dim=72 out of range: must be a multiple of 16 in [0, 496]",
        r"out of range: must be|would lose information: the descriptor|Unsupported (?:block-scaled |dense )?tcgen05|must be (?:0 or 1|in \[0, [0-9]+\]|0, 1, or 2), got",
        "The descriptor of tcgen05.mma packs its fields into bits: M in steps of 16, N in steps of 8, addresses and strides in units of 16 bytes, flags of one bit. The value does not fit its field, or the types have no code in it.",
        "Give the tile's M and N of one instruction (128 x 256 at most in one CTA), flags as 0 or 1, byte offsets that are multiples of the unit",
        where=_WRAPPERS,
        at="experimental/primitives/nvvm_wrapper.py:1",
    ),
    reason(
        "pmevent: pass exactly one of event_id / mask",
        r"^pmevent",
        "pmevent triggers performance-monitor events: either one by its number (event_id, 0 to 15) or several by a 16-bit mask.",
        "pmevent(event_id=3) or pmevent(mask=0b1000), not both and not neither",
        where=_WRAPPERS,
        at="experimental/primitives/nvvm_wrapper.py:1",
    ),
    reason(
        "Resource 'acc' has no pipeline",
        r"",
        "The task scheduler builds a warp-specialized kernel out of tasks (groups of warps), resources (buffers with a pipeline between producer and consumer) and a schedule. It checks them before it emits code, and this description does not fit together: who produces or consumes the resource, its stages, or the number of threads that arrive.",
        "Follow the names that the message gives to the task and the resource in your description, and compare both with an example of the installed version (cutlass.experimental.task_scheduling)",
        where=r"task_scheduling",
        at="experimental/task_scheduling/task.py:100 Task",
    ),
)
