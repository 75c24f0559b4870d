"""Parameters of MMAs, TMA atoms, pipelines and allocations that the DSL's Python refuses: one entry for each family."""

from __future__ import annotations

from layoutcheck.catalogue.entry import TRACE, known

DSL = "DSL 4.8.1"
_UNITS = "`layoutcheck numerics units --arch ARCH` lists the tensor-core instructions of an architecture"

ENTRIES = (
    known(
        "dsl.arrivals-exceed",
        r"mbarrier arrive reaches a count=(?P<count>[0-9]+) barrier from multiple threads",
        "more threads arrive at an mbarrier than its count of {count}",
        "mbarrier_init sets how many arrivals end a phase. Each further one counts for the next phase: waits return too early, and the barrier is out of step.",
        "Let one elected thread arrive (with cute.arch.elect_one(), if tidx == 0), or give mbarrier_init the number of threads that arrive. "
        + TRACE
        + " and counts arrivals",
        (
            "error[nvvm-diag:C3/C4]: mbarrier arrive reaches a count=1 barrier from multiple threads",
            "a report",
        ),
    ),
    known(
        "dsl.bytes-without-copy",
        r"expect_tx (?:has no|may not have a matching) completion source(?: for (?P<bytes>[0-9]+) registered transaction bytes)?",
        "an mbarrier expects bytes that no copy brings: {bytes}",
        "A phase ends when its arrivals and its bytes are complete. No TMA or bulk copy of the kernel signals this mbarrier, so its waits never return.",
        "Give the copy this mbarrier (tma_bar_ptr=), make expect_tx of its bytes alone, or arrive without bytes. "
        + TRACE
        + " and follows its barriers",
        (
            "warning[nvvm-diag:C5]: mbarrier.arrive.expect_tx has no completion source for 128 registered transaction bytes",
            "a report",
        ),
        level="wrong",
    ),
    known(
        "dsl.mma-shape-wgmma",
        r"expects the M-mode to be (?P<m>64), but got (?P<got>[0-9]+)",
        "wgmma has M 64, and not {got}",
        "Only the warpgroup MMA of sm_90a words it so: one warpgroup computes 64 rows. {got} comes from the tile: its rows, divided by the warpgroups (atoms) that share them, are fewer or not 64.",
        "Give shape_mnk 64 rows, and the tile 64 for each warpgroup along M: a tile (or block size, sparse block) of 64 rows with one warpgroup, 128 with two. Where a library or torch.compile chooses the tile, set its "
        "block size, or take another back end, and report it there. " + _UNITS,
        ("OpError: expects the M-mode to be 64, but got 32", "DSL 4.8.1, warpgroup/mma.py"),
        instead_of=("dsl.mma-shape",),
    ),
    known(
        "dsl.mma-n",
        r"expects (?:the )?N-mode to satisfy (?P<least>8|16|32) <= N <= 256(?:,? and N % (?P=least) == 0)?(?:[.,]? ?but got (?P<got>[0-9]+))?",
        "one MMA instruction has N of {least} to 256, in steps of {least}{instead}",
        "Steps of 8 are wgmma's (sm_90a) and those of tcgen05.mma in one CTA; steps of 16 and 32 are only of tcgen05.mma: a pair of CTAs, some operations at M 128, or operands of 8 bits whose contiguous mode is N. "
        "shape_mnk is the shape of one instruction, and the tile may repeat it.",
        "Take an N of the range that divides the tile's, 256 for a tile of 512, and let the tile or make_tiled_mma's atom layout repeat it. For wgmma look at the registers too: 64 rows of N fp32 accumulators are N/2 registers of each thread, "
        "which has 255, so that N above 256 needs more warpgroups or a smaller tile. " + _UNITS,
        (
            "OpError: expects the N-mode to satisfy 8 <= N <= 256 and N % 8 == 0, but got 512",
            "DSL 4.8.1, tcgen05/mma.py",
        ),
        instead_of=("dsl.mma-shape",),
    ),
    known(
        "dsl.mma-shape",
        r"expects (?:the )?(?P<mode>[MNK])-mode to (?P<said>(?:be|satisfy) [^\n]{3,80}?)(?=,? but got|\. but got| Error Code| -->|$)(?:[.,]? but got (?P<got>[0-9]+))?"
        r"|expects the instruction extent in the (?P<extent>K)-mode to (?P<k>be [^\n]{1,40}?)(?:, but got (?P<has>[0-9]+)|$)"
        r"|expect(?:s|ed) (?P<flat>the 'shape_mnk' Op parameter to be [^\n]{3,60}?|a flat rank 2 or 3 tuple for the 'shape_mnk' Op parameter)(?=,? but got| for Float| Error Code| -->|$)",
        "no MMA instruction has this shape: {mode}{extent} must {said}{k}{flat}{instead}",
        "shape_mnk is the shape of one instruction, not of the tile. tcgen05.mma has M 64 or 128 in one CTA, 128 or 256 in a pair, and N up to 256 in steps of 8, 16 or 32; "
        "wgmma M 64 and N up to 256 in steps of 8; mma.sync m16n8. K of one dense instruction is 32 bytes for tcgen05 and wgmma (16 elements of 16 bits), 16 or 32 bytes for mma.sync.",
        "Give one instruction's shape, (128, 256, 16) for 16-bit operands of tcgen05, and repeat it by the tile or by make_tiled_mma's atom layout. "
        + _UNITS,
        ("OpError: expects the M-mode to be 64 or 128, but got 96", DSL),
    ),
    known(
        "dsl.mma-types",
        r"expects the '(?P<what>(?:a|b|ab|abacc|acc|c|d|sf)_d?type|sf_vec_size)' Op parameter (?:to |must )be (?P<said>[^\n]{3,160}?)(?=,? but got| Error Code| -->|$)"
        r"|(?P<pair>a_dtype and b_dtype must be the same|[Uu]nsupported \(?a_dtype(?:/| and |, )b_dtype\)?[^\n]{0,80}|same-dtype \S+ is not supported[^\n]{0,80}|same-width mixed-FP8[^\n]{0,80})"
        r"|expects the (?P<vector>scale factor vector size to be [^\n]{3,40}?)(?=,? but got|$)|[Uu]nsupported (?P<size>sf_vec_size)",
        "this MMA does not exist for these element types: {what} {said}{pair}{vector}{size}",
        "Each MMA operation is one kind of instruction: F16BF16 takes two equal 16-bit types, TF32 takes TFloat32, F8F6F4 any two of 8, 6 and 4 bits, MXF8F6F4, MXF4 and MXF4NVF4 add scale "
        "factors of their own type and vector size (Float8E8M0FNU with 32, Float8E4M3FN with 16).",
        "Take the operation of the operands' types, or convert one operand. " + _UNITS,
        (
            "OpError: expects the 'ab_dtype' Op parameter to be one of Float16 or BFloat16 Error Code: MmaF16BF16Op error",
            DSL,
        ),
    ),
    known(
        "dsl.operation-parameter",
        r"expects the '(?P<what>\w+)' (?:Op )?parameter to be an? (?P<kind>[\w.]+)(?: or [\w. ()]{1,60})? instance",
        "{what} is not a {kind}",
        "The parameter has this type and no other: True or False for a bool, else a value of an enumeration. The packages of cute.nvgpu (warp, warpgroup, tcgen05, cpasync) have their own, of equal names, and a string or the other package's value is refused.",
        "Import it from the package of the operation: tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, cute.nvgpu.OperandMajorMode.K",
        ("OpError: expects the 'a_src' Op parameter to be a tcgen05.OperandSource instance", DSL),
    ),
    known(
        "dsl.pipeline-counts",
        r"(?P<said>[Cc]onsumer arrival count must be aligned with warp size|Mbarrier (?:stage|arrive|tx) count must[^\n]{3,60}|The number of threads in a CooperativeGroup must be greater than 0"
        r"|[Uu]nsupported agent type(?: for arrive count)?|CTA group must be provided for TCGen05Mma|Expected barrier_storage to be a cute\.Pointer[^\n]{0,60})(?=$| -->| Traceback|[^\n])",
        "a pipeline's agents, counts or storage are not what it takes: {said}",
        "A CooperativeGroup counts the threads that arrive at a stage's barrier: one for TMA and tcgen05.mma, whole warps (a multiple of 32) for consumers that are threads. tx_count is the bytes of all copies into one stage, and the "
        "storage two 64-bit words for each stage.",
        "pipeline.CooperativeGroup(pipeline.Agent.Thread, n) with n of the threads that call arrive or release; storage.barriers.data_ptr() of a MemRange[Int64, 2 * stages]. "
        + TRACE,
        ("ValueError: Consumer arrival count must be aligned with warp size", DSL),
    ),
    known(
        "dsl.storage",
        r"(?P<said>Struct element only support [^\n]{3,80}|Union element only support [^\n]{3,80}|MemRange only support dsl scalar type|Invalid struct\.(?:MemRange|Align) Arguments|align only can be applied to [^\n]{3,60}|(?:struct|union) base ptr value type must be byte sized"
        r"|Empty (?:struct|union) is not supported|align should be a strictly positive power of 2|max shared memory alignment limit to 1024 bytes|`byte_alignment` must be at least 1|num_elems must be at least 1|shared memory allocation must be static layout|cannot allocate a shared memory tensor with a non-integer iterator)",
        "shared storage is described in a way that the allocator does not take: {said}",
        "Every allocation has at least one element and one byte of alignment (a count of 0 often comes from a division). A @cute.struct holds DSL scalars, MemRange[dtype, count], Align[field, bytes] and other structs; counts and layouts are Python integers, known when the kernel is compiled, and an alignment is a power of two up to 1,024 bytes.",
        "cute.struct.Align[cute.struct.MemRange[dtype, cute.cosize(layout)], 1024], then storage.field.get_tensor(layout.outer, swizzle=layout.inner); or SmemAllocator.allocate_tensor(dtype, layout.outer, byte_alignment=1024, swizzle=layout.inner)",
        ("TypeError: Struct element only support struct/array/base_dsl scalar, but got <class 'int'>", DSL),
    ),
)
