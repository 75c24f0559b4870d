"""What a text without an error is about, by its nouns: the law that rules each thing, and the command that looks at it.

Such a text is a question, a symptom in words or a note. A topic names no cause: it says what must hold where the thing is used, so that
its reader can compare his own numbers. The more particular one stands first.
"""

from __future__ import annotations

from layoutcheck.catalogue.entry import TRACE, UNKNOWN, Known, known

_COPY = "`layoutcheck explain SRC DST --atom ATOM` judges one copy"


def _topic(name: str, words: str, about: str, law: str, helps: str, example: str) -> Known:
    return known(
        f"topic.{name}", words, about, law, helps, (example, "a report"), level=UNKNOWN, general=True
    )


ENTRIES = (
    _topic(
        "support",
        r"(?P<said>(?:reject\w*|recogni[sz]e\w*|support\w*|available|possible|compatible|adapt\w*|applicable) .{0,60}(?:\bsm_?[0-9]{2,3}[af]?\b|\bSM ?[0-9]{2,3}\b|Hopper|Blackwell|Ampere|Turing|Volta|\b(?:RTX ?)?50[6-9]0\b|\b[HBA]?[123]00\b|\bV100\b|DGX Spark|\bGB10\b)|(?:\bsm_?[0-9]{2,3}[af]?\b|\bSM ?[0-9]{2,3}\b).{0,60}(?:support|not have|lacks?))",
        "about what an architecture has: {said}",
        "cp.async begins with sm_80, TMA, mbarrier transactions and clusters with sm_90; wgmma exists for sm_90a alone, tcgen05 and tensor memory for sm_100a, sm_101a, sm_103a and sm_110a; sm_120 and sm_121 have mma.sync (block-scaled with the suffix a), TMA, and 99 KiB of shared memory for a block, and neither wgmma nor tcgen05. CuTe DSL compiles for sm_80 and newer.",
        "`layoutcheck explain ... --arch ARCH` and `layoutcheck numerics units --arch ARCH` say what one has",
        "is there support for tcgen05 on SM120?",
    ),
    _topic(
        "named-barrier",
        r"(?P<said>NamedBarrier|[Nn]amed barriers?|\bbar\.(?:sync|arrive)|\bbarrier\.cta)",
        "about named barriers: {said}",
        "A named barrier opens when as many threads as its count have arrived, whole warps, each arrive and each sync counting; all its users give one count and one of 16 ids (0 is __syncthreads'). "
        "A warp that only arrives does not wait: it may arrive again before the phase has opened; a warp that returns early or finds no work must still arrive.",
        "Count who arrives in each round and on each path. " + TRACE + " and follows its barriers",
        "the load warp waits at NamedBarrier 2",
    ),
    _topic(
        "cluster",
        r"(?P<said>\bDSMEM\b|\bCGA\b|out[- ]of[- ]cluster|\b(?:arriv\w+|multicast|mcast|cta) masks?\b|distributed shared memory|[Mm]ulticast|\bclusters? (?:of|size|shape|launch|dim\w*|with)|thread ?block clusters?|ClusterShape|cluster_(?:sync|arrive|wait|shape))",
        "about clusters: {said}",
        "The blocks of a cluster run at the same time, up to 8 (16 non-portable) and a divisor of the grid; sm_90 and newer have them. No block may end while another reads or signals its shared memory, so that a cluster barrier stands at the end as at the start "
        "(after mbarriers are initialised). A multicast copy fills each block of its mask, whose mbarriers each expect the bytes.",
        TRACE + " with all blocks of a cluster; LC229 names an access to a block that does not exist",
        "does TMA multicast need each CTA of the cluster to expect the bytes?",
    ),
    _topic(
        "mbarrier",
        r"(?P<said>\bmbarriers?\b|Pipeline(?:Tma|Async|Umma|Cp)\w*|(?:full|empty)[_ ]barriers?|\bexpect_(?:tx|bytes)|arrive_and_expect_tx|ClusterTransactionBarrier|producer.{0,20}consumer|(?:producer|consumer)_(?:acquire|wait|commit|release|tail)|\bmbarrier_\w+|phase bit|parity)",
        "about mbarriers and pipelines: {said}",
        "A phase completes when its pending arrivals and its pending bytes are both 0: init counts the arrivals of one phase (threads or elected lanes, and one for expect_tx), expect_tx the bytes of all copies of the phase. "
        "A consumer waits for parity 0 first, a producer's first wait on an empty barrier is for parity 1; an arrival orders the arriving thread's own accesses only.",
        "Compare the count of init, who arrives and the bytes: LC220 and LC236 do. " + TRACE + " and follows its barriers",
        "should the producer start with phase 1 on the empty barrier?",
    ),
    _topic(
        "scales",
        r"(?P<said>[Bb]lock-?(?:wise|[Ss]cal\w*)|[Gg]roupwise|ScaleGranularity\w*|scale[- _]?factors?|\bSF[AB]\b|sf_vec\w*|\b(?:mx|nv)f[p48]\w*|\bUE8M0\b|[AB] scales|scales_[ab]\b|(?i:\bmxfp[468]\b|\bnvfp4\b))",
        "about scale factors: {said}",
        "Block-scaled MMAs (sm_100a, sm_120a) take one factor for 32 elements along K (16 of NVFP4), UE8M0 being a power of two; their tensor is laid out in atoms of 128 rows x 4 factors, ((32,4),4):((16,4),1) in bytes, padded to whole atoms and not row-major. "
        "Factors of FP8 GEMMs on sm_90 are applied by the mainloop: those of A are M-major, one for each row (or block) and 128 of K; their extents are ceil(M / granularity) and ceil(K / 128), and a grouped GEMM has a layout for each group.",
        "Build the layout by the kernel's own helper (tile_atom_to_shape_SFA, blockscaled_utils), give factors that name their place, and look which the result takes; `layoutcheck draw` shows the atom",
        "are A scales row-major in the grouped GEMM with blockwise scaling?",
    ),
    _topic(
        "tensor-memory",
        r"(?P<said>\b(?:TMEM|tmem)\b|[Tt]ensor memory|tcgen05\.(?:alloc|ld|st|cp)\b)",
        "about tensor memory: {said}",
        "Tensor memory is 128 lanes x 512 columns of 32 bits on sm_100, allocated in columns (a power of two from 32) by one warp and freed before the block ends; warp w of a warpgroup reaches lanes 32 w to 32 w + 31 only. "
        "tcgen05.ld is complete after its wait, and an MMA's result after its commit's mbarrier.",
        _COPY + " (tcgen05 atoms). " + TRACE,
        "which lanes of TMEM can warp 2 read?",
    ),
    _topic(
        "tma",
        r"(?P<said>\bTMA\b|cp\.async\.bulk|\bUTMA(?:LDG|STG|REDG)[.\w]*|[Tt]ensor ?maps?\b|\btma_\w+|make_tma_\w+|CUtensorMap|cuTensorMap\w+)",
        "about TMA: {said}",
        "One thread issues a copy of a box. Global address and all strides but the first are multiples of 16 bytes, the shared address of 128 (of 1024 under the 128-byte swizzle), the box's inner extent is a multiple of 16 bytes and at most the swizzle's span, "
        "each extent at most 256; coordinates count elements, and what lies outside is filled with zeros. A load is complete when its mbarrier's phase is; a store reads what a fence.proxy.async made visible.",
        "`layoutcheck explain GMEM SMEM --atom tma_load` checks each field of the tensor map. " + TRACE + " (LC231 to LC259)",
        "UTMALDG.2D faults in our epilogue load",
    ),
    _topic(
        "cp-async",
        r"(?P<said>\bcp\.async\b|\bcp_async\w*|CP_ASYNC\w*|memcpy_async|CopyG2SOp)",
        "about cp.async: {said}",
        "A thread copies 4, 8 or 16 bytes from and to addresses that are multiples of that. Its data is there after wait_group and a barrier of the block. Where a predicate is false, the plain atom leaves the destination as it is, and only the zero-filling one "
        "(_ZFILL, a source size of 0) writes zeros; a branch around the copy splits a warp's access.",
        _COPY + ", and counts its sectors and wavefronts. " + TRACE,
        "predicated cp.async leaves stale data in shared memory",
    ),
    _topic(
        "tail",
        r"(?P<said>\bcopy_if\b|non-?divisible|fill up to the (?:size|tile)|[Pp]redicat\w+|\b[Rr]esidue\b|\btail (?:tiles?|blocks?|of)|out[- ]of[- ]bounds?|\bOOB\b|bounds? check\w*|identity tensor|not (?:a )?(?:multiple|divisible) (?:of|by) the (?:tile|block)|smaller than (?:the )?(?:cta|tile|block|thread)|illegal .{0,20}(?:memory )?(?:reads?|writes?|access\w*))",
        "about accesses at the end of a tensor: {said}",
        "A tiled copy moves whole tiles by all of its threads: a predicate for each vector, from an identity tensor that is partitioned as the data is, keeps it inside. One predicate guards one instruction, so that an extent which is no multiple of the vector needs a narrower one there. "
        "A tile that is smaller than threads x values leaves threads whose share lies outside of it: guard them by their index.",
        _COPY + " and names what lies outside. " + TRACE + " (LC204, LC210)",
        "copy_if with a tile smaller than the tiled copy",
    ),
    _topic(
        "raster",
        r"(?P<said>(?:[Gg]rid|[Tt]ile|[Bb]lock|[Tt]hreadblock) swizzl\w*|[Rr]asteri[sz]\w*|group_size_m|GROUP_SIZE_M|[Tt]ile ?[Ss]cheduler\w*|persistent (?:kernel|tile|gemm)s?)",
        "about the order in which blocks take tiles: {said}",
        "A swizzle of the grid groups tiles so that blocks which run together share rows or columns in L2: it permutes indices of tiles and moves no byte in shared memory. It must reach each tile once: a group's last part is smaller where the group does not divide the extent, and the index is derived from that smaller part there. "
        "A persistent kernel's loop ends by the number of tiles, and each of its barriers' phases goes on from tile to tile.",
        "Enumerate the map on the host: the set of (m, n) of all block indices is the grid, each once. " + TRACE + " for several grids",
        "the grid swizzle takes groups of 8 rows of tiles",
    ),
    _topic(
        "swizzle",
        r"(?P<said>(?<![Gg]rid )(?<![Tt]ile )(?<![Bb]lock )[Ss]wizzl\w*|\bSw<[0-9,]+>|smem[_ ]?(?:layout )?atom|SmemLayoutAtom)",
        "about swizzles: {said}",
        "Swizzle<B,M,S> exchanges, in the element's offset, the B bits from M on by their XOR with those from M + S on. 2^M elements stay together: they are at least one vector of the copy; the pattern repeats after 2^(B+M+S) elements, which the atom fills, the tile is a multiple of, and the base's alignment is. "
        "Writer and reader have the same one, TMA's 128-byte swizzle is Swizzle<3,4,3> in bytes.",
        "`layoutcheck banks LAYOUT --access ldmatrix.x4` counts wavefronts with a swizzle and names one that has none; " + _COPY,
        "which swizzle for a (64,32) tile of half?",
    ),
    _topic(
        "coalescing",
        r"(?P<said>(?:[Uu]n)?[Cc]oalesc\w+|[Ss]ectors?[ /]|scattered (?:\w+ ){0,2}(?:memory|accesses|loads|stores))",
        "about coalescing: {said}",
        "The 32 addresses of a warp's access are served by sectors of 32 bytes in global memory, by 32 banks of 4 bytes in shared memory: neighbouring lanes on neighbouring vectors need the fewest. The thread layout of a tiled copy decides which mode the lanes run along: the one with stride 1.",
        _COPY + " and counts both; " + TRACE,
        "are accesses of a warp coalesced if lanes run along rows?",
    ),
    _topic(
        "alignment",
        r"(?P<said>[Mm]is-?align\w*|[Uu]naligned|\b[Aa]lignments?\b|\bk?Alignment[ABCD]?\b|assumed_align|byte_alignment|is not aligned)",
        "about alignment: {said}",
        "An access of 16 bytes takes an address that is a multiple of 16: pointer, pitch (leading dimension) and every offset in bytes. Elements of 4 bits count half: (1,16) of them is a row of 8 bytes. What the type promises (assumed_align, AlignmentA, a cast to uint4) is not checked when it runs.",
        "Print data_ptr % 16 and the strides in bytes; " + _COPY + " (LC101, LC202)",
        "the address is misaligned in the epilogue",
    ),
    _topic(
        "control-flow",
        r"(?P<said>\bconst_expr\b|\bConstexpr\b|range_(?:constexpr|dynamic)|\bcutlass\.range\b|(?:for|while) loops? (?:and|versus|vs)|[Rr]un-?time (?:conditionals?|branch\w*|ifs?\b|loops?)|dynamic (?:ifs?|for|while|loops?|conditionals?|conditions?|control flow)|comparison chain\w*|chained comparison\w*|\bif[-/ ]?else\b|\bif statements?\b|type structure|loop-carried)",
        "about run-time and compile-time control flow: {said}",
        "CuTe DSL runs Python once, while it compiles. A branch or loop on a run-time value becomes one of the GPU: each variable that it assigns must exist before it, with the same type on every path, and register tensors and atoms are not exchanged in it. const_expr and range_constexpr decide while compiling. A comparison of more than two (a < b < c) is written with `and`; attributes of self and Python objects that a branch changes are not carried.",
        "Mark what is static by cutlass.const_expr, assign before the branch, or choose by cute.where or a predicate; NVIDIA's control-flow guide has the rest; where only another release of the DSL gives another result, report it to NVIDIA/cutlass",
        "a run-time conditional around a register tensor's assignment",
    ),
    _topic(
        "dynamic",
        r"(?P<said>mark_(?:compact_shape|layout)_dynamic|dynamic (?:\w+ )?(?:layouts?|shapes?|sizes?|extents?|strides?|dimensions?|dims?)|dynamically (?:defined|shaped|sized) (?:\w+ )?(?:layouts?|tensors?|shapes?)|dynamic[/ ]static|static[/ ]dynamic|(?:divisibility|divby) ?=)",
        "about extents and strides that only the run knows: {said}",
        "They are ? to the compiler, which proves nothing of them but what is promised (divisibility, cute.assume), and joins or divides no modes by them: right_inverse, complement, coalesce, recast and a composition with run-time extents on its right are refused or kept apart (NVIDIA/cutlass#3470, #3471), "
        "where static ones have a result. mark_layout_dynamic keeps the leading stride 1; mark_compact_shape_dynamic takes the mode, stride_order and divisibility. A stride multiplied by a static extent is run-time as well. Extents or strides that arrive as 0 or garbage in the kernel are no data in the wrong place: the call passes another kind of tensor than was compiled for, or the release has the fault.",
        "Keep tiles and atoms static (Int<N>{}, Python integers, cutlass.Constexpr), leave the run-time mode out of the operation and put it back by make_layout or append, and promise divisors. layoutcheck evaluates the static case without a compiler",
        "right_inverse of a dynamic layout raises an exception",
    ),
    _topic(
        "compile-time",
        r"(?P<said>(?:takes?|took|spends?|needs?) .{0,40}(?:to (?:JIT[- ])?compile|compiling)|(?:slow|long|high|unusually) .{0,20}(?:JIT[- ])?compil\w+|compil\w+ (?:\w+ ){0,2}(?:times?|is|takes|very) .{0,20}(?:slow|long|minutes|hours|high)|recompil\w+|re-?trac(?:es?|ing)|jit cache|compile cache|\bno_cache\b|(?:cold|warm) (?:boot|start)|stale .{0,30}(?:module|cache|kernel)|(?:module|kernel|cubin) cache)",
        "about the time that a compile takes: {said}",
        "The compiler sees every copy, MMA and print of a loop that is unrolled (range_constexpr, a Python for, a recursion over a large static layout): its time grows with the operations, not with the lines. cute.compile gives a function that is kept and called again; a @cute.jit function called with new static values, types or Constexpr compiles anew.",
        "Make long loops dynamic (cutlass.range with unroll=), copy whole tensors by one atom instead of elements, keep what cute.compile returns; CUTE_DSL_KEEP=ir shows how many operations there are",
        "it takes 2 minutes to compile this 30 line kernel",
    ),
    _topic(
        "registers",
        r"(?P<said>setmaxnreg\S*|setmaxregister\w*|\bC7[56][0-9]{2}\b|warpgroup_reg_(?:alloc|dealloc)|register (?:pressure|reallocation|budget)|maxrregcount|__launch_bounds__|min_blocks_per_mp)",
        "about registers: {said}",
        "A multiprocessor has 65,536 registers, a thread at most 255; threads x registers x blocks must fit. setmaxnreg takes multiples of 8 from 24 to 256, in all warps of a warpgroup, and ptxas drops it where it does not know the count at the entry (min_blocks_per_mp=1, __launch_bounds__ tell it): what some release others can take, and a warp that keeps fewer than its code uses faults. Accumulators, fragments and arrays with a run-time index fill them.",
        "`layoutcheck resources` counts a tile's accumulators and fragments; -Xptxas -v prints what the compiler used",
        "setmaxnreg.dec in the producer warp",
    ),
    _topic(
        "mma",
        r"(?P<said>\b[Tt]iled_?[Mm]ma\b|TiledMMA|\bw?gmma\b|\bWGMMA\b|\bGMMA\b|\bUMMA\b|\btcgen05\b|\bmma\.sync\b|\bldmatrix\w*|\bstmatrix\b|make_fragment_\w+|partition_fragment_\w+|\bmma_atom\b|MMA_Atom)",
        "about MMAs and their operands: {said}",
        "An instruction fixes element types, tile and where each operand lies: mma.sync reads registers that ldmatrix fills (8 rows of 16 bytes for each 8 x 8 matrix), wgmma and tcgen05 read shared tiles in canonical layouts of their swizzle by descriptors. Fragments have modes (V, M, K), (V, N, K), (V, M, N); a copy into them is retiled by the same TiledMMA.",
        "`layoutcheck mma --help` and `layoutcheck explain --mma OP --a A --b B` judge operands; `layoutcheck numerics units --arch ARCH` lists the instructions",
        "how does wgmma read sB that is MN-major?",
    ),
    _topic(
        "partition",
        r"(?P<said>\bpartition_[SDABC]\b|\bthr_copy\w*|get_(?:thread_)?slice|make_tiled_copy\w*|[Tt]iled_?[Cc]opy\b|thr(?:ead)?[_ ]layout|val(?:ue)?[_ ]layout|TV[- _]?layout|local_partition|\bretile\w*)",
        "about the partition of a tile among threads: {said}",
        "A tiled copy gives thread t the values of column t of its TV layout: thread layout x value layout cover the tiler, the value layout's contiguous part is one instruction. A partitioned tensor has modes (values of one instruction, rest of mode 0, rest of mode 1, ...): a rest extent of 0 or 1 tells a tile that is smaller than the tiler, and a mode of stride 0 one that is repeated.",
        "`layoutcheck draw` shows who holds what; print(tensor.layout) both sides; " + _COPY,
        "what does thr_copy.partition_S give thread 5?",
    ),
    _topic(
        "divide",
        r"(?P<said>\b(?:zipped|tiled|logical|flat)_(?:divide|product)\b|\blocal_tile\b|\b(?:blocked|raked)_product\b)",
        "about dividing a layout: {said}",
        "logical_divide gives each mode (tile, rest); zipped_divide ((tile, ...), (rest, ...)), tiled_divide ((tile, ...), rest, ...), flat_divide (tile, ..., rest, ...). local_tile is zipped_divide, sliced in its rest by the coordinate: an integer coordinate goes through all rest modes in order, _ keeps a mode. "
        "A slice takes one entry for each top-level mode, so that the same indices fit one of them and not the others. An extent that the tile does not divide is rounded up.",
        "layoutcheck.zipped_divide, tiled_divide, logical_divide and flat_divide evaluate them without a compiler; print both layouts",
        "tiled_divide and slicing of its result",
    ),
    _topic(
        "algebra",
        r"(?P<said>(?:cute(?:::|\.)|`)(?:composition|complement|coalesce|crd2idx|idx2crd|right_inverse|left_inverse|group_modes|make_layout|make_ordered_layout|select|flatten|filter|recast\w*|make_tensor|size|shape|rank|cosize|slice_|dice)\b|\b(?:right_inverse|left_inverse|crd2idx|idx2crd|logical_product|tile_to_shape|make_identity_tensor|basic_copy|autovec_copy)\b|[Ll]ayout algebra|by-mode composition)",
        "about CuTe's layout algebra: {said}",
        "A layout is a function of coordinates to offsets. composition(A, B) is A(B(c)) and needs B's strides and extents to divide A's modes, or to be whole numbers of them; complement and the inverses need a layout that reaches each offset once; coalesce keeps the function and joins modes; size counts coordinates, cosize the offsets up to the last.",
        "layoutcheck.composition, complement, right_inverse, coalesce, crd2idx and their kin evaluate a call without a compiler; `layoutcheck draw LAYOUT` shows it",
        "what is right_inverse of a layout with a stride 0?",
    ),
    _topic(
        "profiler",
        r"(?P<said>\bcutlass_profiler\b)",
        "about CUTLASS' profiler: {said}",
        "It runs the instances that the build put into its library (CUTLASS_LIBRARY_KERNELS, CUTLASS_LIBRARY_OPERATIONS, CUTLASS_NVCC_ARCHS), and of them those that fit --operation, --kernels, the types and the problem: where none does, it prints nothing. Its verification is against cuBLAS and a reference on the device.",
        "cutlass_profiler --mode=enumerate lists the instances; `ls build/tools/library` shows what was made; name operation and sizes (--operation=Gemm --m= --n= --k=). NVIDIA/cutlass takes reports of it",
        "I run cutlass_profiler and nothing is printed",
    ),
    _topic(
        "jit",
        r"(?P<said>\bprint_tensor\b|(?:@|`)?\bcute\.(?:jit|kernel|compile)\b|from_dlpack|\.launch\(|cute\.printf|[Jj]it (?:function|executor)|--enable-tvm-ffi|CUTE_DSL_\w+|\bcubin\b|\bCuTe ?DSL\b)",
        "about how a CuTe DSL program is compiled and called: {said}",
        "A @cute.jit function is compiled for the host, and starts @cute.kernel functions, which run on the GPU, by kernel(...).launch(grid=, block=). Python's own statements run once, while it compiles: print shows types, cute.printf values of the run; layouts exist only inside. "
        "cute.compile keeps the result for arguments of the same types, static extents and Constexpr; a call with others needs another compile. CUTE_DSL_KEEP=ptx,cubin (in older versions CUTE_DSL_KEEP_PTX=1, CUTE_DSL_KEEP_CUBIN=1) leaves the machine code in files.",
        "NVIDIA's DSL introduction has the model; layoutcheck.Layout and its functions evaluate the algebra in plain Python. " + TRACE,
        "what is the role of cute.jit beside cute.kernel?",
    ),
)  # fmt: skip
