"""What a text without an error is about, by its nouns, and the command that looks at it; `laws` says what rules it.

Such a text is a question, a symptom in words or a note. A topic names no cause: its reader compares his own numbers with the laws.
The more particular one stands first.
"""

from __future__ import annotations

from layoutcheck.catalogue.entry import TRACE, UNKNOWN, Known, known

_LAW = "What must hold where it is used stands below, as far as the text's words tell which of it is meant."
_COPY = "`layoutcheck explain SRC DST --atom ATOM` judges one copy"


def _topic(name: str, words: str, about: str, helps: str, example: str) -> Known:
    return known(
        f"topic.{name}", words, about, _LAW, helps, (example, "a report"), level=UNKNOWN, general=True
    )


ENTRIES = (
    _topic(
        "support",
        r"(?P<said>(?:reject\w*|recogni[sz]e\w*|support\w*|available|possible|compatible|adapt\w*|applicable) .{0,60}(?:\bsm_?[0-9]{2,3}[af]?\b|\bSM ?[0-9]{2,3}\b|Hopper|Blackwell|Ampere|Turing|Volta|\b(?:RTX ?)?50[6-9]0\b|\b[HBA]?[123]00\b|\bV100\b|DGX Spark|\bGB10\b)|(?:\bsm_?[0-9]{2,3}[af]?\b|\bSM ?[0-9]{2,3}\b).{0,60}(?:support|not have|lacks?))",
        "about what an architecture has: {said}",
        "`layoutcheck explain ... --arch ARCH` and `layoutcheck numerics units --arch ARCH` say what one has",
        "is there support for tcgen05 on SM120?",
    ),
    _topic(
        "named-barrier",
        r"(?P<said>NamedBarrier|[Nn]amed barriers?|\bbar\.(?:sync|arrive)|\bbarrier\.cta)",
        "about named barriers: {said}",
        "Count who arrives in each round and on each path. " + TRACE + " and follows its barriers",
        "the load warp waits at NamedBarrier 2",
    ),
    _topic(
        "cluster",
        r"(?P<said>\bDSMEM\b|\bCGA\b|out[- ]of[- ]cluster|\b(?:arriv\w+|multicast|mcast|cta) masks?\b|distributed shared memory|[Mm]ulticast|\bclusters? (?:of|size|shape|launch|dim\w*|with)|thread ?block clusters?|ClusterShape|cluster_(?:sync|arrive|wait|shape))",
        "about clusters: {said}",
        TRACE + " with all blocks of a cluster; LC229 names an access to a block that does not exist",
        "does TMA multicast need each CTA of the cluster to expect the bytes?",
    ),
    _topic(
        "mbarrier",
        r"(?P<said>\bmbarriers?\b|Pipeline(?:Tma|Async|Umma|Cp)\w*|(?:full|empty)[_ ]barriers?|\bexpect_(?:tx|bytes)|arrive_and_expect_tx|ClusterTransactionBarrier|producer.{0,20}consumer|(?:producer|consumer)_(?:acquire|wait|commit|release|tail)|\bmbarrier_\w+|phase bit|parity)",
        "about mbarriers and pipelines: {said}",
        "Compare the count of init, who arrives and the bytes: LC220 and LC236 do. " + TRACE + " and follows its barriers",
        "should the producer start with phase 1 on the empty barrier?",
    ),
    _topic(
        "scales",
        r"(?P<said>[Bb]lock-?(?:wise|[Ss]cal\w*)|[Gg]roupwise|ScaleGranularity\w*|scale[- _]?factors?|\bSF[AB]\b|sf_vec\w*|\b(?:mx|nv)f[p48]\w*|\bUE8M0\b|[AB] scales|scales_[ab]\b|(?i:\bmxfp[468]\b|\bnvfp4\b))",
        "about scale factors: {said}",
        "Build the layout by the kernel's own helper (tile_atom_to_shape_SFA, blockscaled_utils), give factors that name their place, and look which the result takes; `layoutcheck draw` shows the atom",
        "are A scales row-major in the grouped GEMM with blockwise scaling?",
    ),
    _topic(
        "tensor-memory",
        r"(?P<said>\b(?:TMEM|tmem)\b|[Tt]ensor memory|tcgen05\.(?:alloc|ld|st|cp)\b)",
        "about tensor memory: {said}",
        _COPY + " (tcgen05 atoms). " + TRACE,
        "which lanes of TMEM can warp 2 read?",
    ),
    _topic(
        "tma",
        r"(?P<said>\bTMA\b|cp\.async\.bulk|\bUTMA(?:LDG|STG|REDG)[.\w]*|[Tt]ensor ?maps?\b|\btma_\w+|make_tma_\w+|CUtensorMap|cuTensorMap\w+)",
        "about TMA: {said}",
        "`layoutcheck synth --tile TILE --src GMEM --to registers --engine tma` prints a program of such a copy, `layoutcheck explain GMEM SMEM --atom tma_load` checks each field of the tensor map. " + TRACE + " (LC231 to LC259)",
        "UTMALDG.2D faults in our epilogue load",
    ),
    _topic(
        "cp-async",
        r"(?P<said>\bcp\.async\b|\bcp_async\w*|CP_ASYNC\w*|memcpy_async|CopyG2SOp)",
        "about cp.async: {said}",
        "`layoutcheck synth --tile TILE --src GMEM --to registers --engine cp.async` prints a program of such a copy; "
        + _COPY + ", and counts its sectors and wavefronts. " + TRACE,
        "predicated cp.async leaves stale data in shared memory",
    ),
    _topic(
        "tail",
        r"(?P<said>\bcopy_if\b|non-?divisible|fill up to the (?:size|tile)|[Pp]redicat\w+|\b[Rr]esidue\b|\btail (?:tiles?|blocks?|of)|out[- ]of[- ]bounds?|\bOOB\b|bounds? check\w*|identity tensor|not (?:a )?(?:multiple|divisible) (?:of|by) the (?:tile|block)|smaller than (?:the )?(?:cta|tile|block|thread)|illegal .{0,20}(?:memory )?(?:reads?|writes?|access\w*))",
        "about accesses at the end of a tensor: {said}",
        _COPY + " and names what lies outside. " + TRACE + " (LC204, LC210)",
        "copy_if with a tile smaller than the tiled copy",
    ),
    _topic(
        "raster",
        r"(?P<said>(?:[Gg]rid|[Tt]ile|[Bb]lock|[Tt]hreadblock) swizzl\w*|[Rr]asteri[sz]\w*|group_size_m|GROUP_SIZE_M|[Tt]ile ?[Ss]cheduler\w*|persistent (?:kernel|tile|gemm)s?)",
        "about the order in which blocks take tiles: {said}",
        "Enumerate the map on the host: the set of (m, n) of all block indices is the grid, each once. " + TRACE + " for several grids",
        "the grid swizzle takes groups of 8 rows of tiles",
    ),
    _topic(
        "swizzle",
        r"(?P<said>(?<![Gg]rid )(?<![Tt]ile )(?<![Bb]lock )[Ss]wizzl\w*|\bSw?<[0-9], ?[0-9], ?[0-9]>|\bSW(?:128|64|32)\b|smem[_ ]?(?:layout )?atom|SmemLayoutAtom)",
        "about swizzles: {said}",
        "`layoutcheck synth --tile TILE --src GMEM --to ldmatrix` names the swizzles that do, `layoutcheck banks LAYOUT --access ldmatrix.x4` counts wavefronts with one; " + _COPY,
        "which swizzle for a (64,32) tile of half?",
    ),
    _topic(
        "coalescing",
        r"(?P<said>(?:[Uu]n)?[Cc]oalesc\w+|[Ss]ectors?[ /]|scattered (?:\w+ ){0,2}(?:memory|accesses|loads|stores))",
        "about coalescing: {said}",
        _COPY + " and counts both; " + TRACE,
        "are accesses of a warp coalesced if lanes run along rows?",
    ),
    _topic(
        "alignment",
        r"(?P<said>[Mm]is-?align\w*|[Uu]naligned|\b[Aa]lignments?\b|\bk?Alignment[ABCD]?\b|assumed_align|byte_alignment|is not aligned)",
        "about alignment: {said}",
        "Print data_ptr % 16 and the strides in bytes; " + _COPY + " (LC101, LC202)",
        "the address is misaligned in the epilogue",
    ),
    _topic(
        "control-flow",
        r"(?P<said>\bconst_expr\b|\bConstexpr\b|range_(?:constexpr|dynamic)|\bcutlass\.range\b|(?:for|while) loops? (?:and|versus|vs)|[Rr]un-?time (?:conditionals?|branch\w*|ifs?\b|loops?)|dynamic (?:ifs?|for|while|loops?|conditionals?|conditions?|control flow)|comparison chain\w*|chained comparison\w*|\bif[-/ ]?else\b|\bif statements?\b|type structure|loop-carried)",
        "about run-time and compile-time control flow: {said}",
        "Mark what is static by cutlass.const_expr, assign before the branch, or choose by cute.where or a predicate; NVIDIA's control-flow guide has the rest; where only another release of the DSL gives another result, report it to NVIDIA/cutlass",
        "a run-time conditional around a register tensor's assignment",
    ),
    _topic(
        "dynamic",
        r"(?P<said>mark_(?:compact_shape|layout)_dynamic|dynamic (?:\w+ )?(?:layouts?|shapes?|sizes?|extents?|strides?|dimensions?|dims?)|dynamically (?:defined|shaped|sized) (?:\w+ )?(?:layouts?|tensors?|shapes?)|dynamic[/ ]static|static[/ ]dynamic|(?:divisibility|divby) ?=)",
        "about extents and strides that only the run knows: {said}",
        "Keep tiles and atoms static (Int<N>{}, Python integers, cutlass.Constexpr), leave the run-time mode out of the operation and put it back by make_layout or append, and promise divisors. layoutcheck evaluates the static case without a compiler",
        "right_inverse of a dynamic layout raises an exception",
    ),
    _topic(
        "compile-time",
        r"(?P<said>(?:takes?|took|spends?|needs?) .{0,40}(?:to (?:JIT[- ])?compile|compiling)|(?:slow|long|high|unusually) .{0,20}(?:JIT[- ])?compil\w+|compil\w+ (?:\w+ ){0,2}(?:times?|is|takes|very) .{0,20}(?:slow|long|minutes|hours|high)|recompil\w+|re-?trac(?:es?|ing)|jit cache|compile cache|\bno_cache\b|(?:cold|warm) (?:boot|start)|stale .{0,30}(?:module|cache|kernel)|(?:module|kernel|cubin) cache)",
        "about the time that a compile takes: {said}",
        "Make long loops dynamic (cutlass.range with unroll=), copy whole tensors by one atom instead of elements, keep what cute.compile returns; CUTE_DSL_KEEP=ir shows how many operations there are",
        "it takes 2 minutes to compile this 30 line kernel",
    ),
    _topic(
        "registers",
        r"(?P<said>setmaxnreg\S*|setmaxregister\w*|\bC7[56][0-9]{2}\b|warpgroup_reg_(?:alloc|dealloc)|register (?:pressure|reallocation|budget)|maxrregcount|__launch_bounds__|min_blocks_per_mp)",
        "about registers: {said}",
        "`layoutcheck resources` counts a tile's accumulators and fragments; -Xptxas -v prints what the compiler used",
        "setmaxnreg.dec in the producer warp",
    ),
    _topic(
        "mma",
        r"(?P<said>\b[Tt]iled_?[Mm]ma\b|TiledMMA|\bw?gmma\b|\bWGMMA\b|\bGMMA\b|\bUMMA\b|\btcgen05\b|\bmma\.sync\b|\bldmatrix\w*|\bstmatrix\b|make_fragment_\w+|partition_fragment_\w+|\bmma_atom\b|MMA_Atom)",
        "about MMAs and their operands: {said}",
        "`layoutcheck explain --mma OP --a A --b B` judges operands, `layoutcheck synth --tile (MN,K) --src GMEM --to ldmatrix` (or wgmma.A, tcgen05.B) prints a copy to them; `layoutcheck numerics units --arch ARCH` lists the instructions",
        "how does wgmma read sB that is MN-major?",
    ),
    _topic(
        "partition",
        r"(?P<said>\bpartition_[SDABC]\b|\bthr_copy\w*|get_(?:thread_)?slice|make_tiled_copy\w*|[Tt]iled_?[Cc]opy\b|thr(?:ead)?[_ ]layout|val(?:ue)?[_ ]layout|TV[- _]?layout|local_partition|\bretile\w*)",
        "about the partition of a tile among threads: {said}",
        "`layoutcheck draw` shows who holds what; print(tensor.layout) both sides; " + _COPY,
        "what does thr_copy.partition_S give thread 5?",
    ),
    _topic(
        "divide",
        r"(?P<said>\b(?:zipped|tiled|logical|flat)_(?:divide|product)\b|\blocal_tile\b|\b(?:blocked|raked)_product\b)",
        "about dividing a layout: {said}",
        "layoutcheck.zipped_divide, tiled_divide, logical_divide and flat_divide evaluate them without a compiler; print both layouts",
        "tiled_divide and slicing of its result",
    ),
    _topic(
        "algebra",
        r"(?P<said>(?:cute(?:::|\.)|`)(?:composition|complement|coalesce|crd2idx|idx2crd|right_inverse|left_inverse|group_modes|make_layout|make_ordered_layout|select|flatten|filter|recast\w*|make_tensor|size|shape|rank|cosize|slice_|dice)\b|\b(?:right_inverse|left_inverse|crd2idx|idx2crd|logical_product|tile_to_shape|make_identity_tensor|basic_copy|autovec_copy)\b|[Ll]ayout algebra|by-mode composition)",
        "about CuTe's layout algebra: {said}",
        "layoutcheck.composition, complement, right_inverse, coalesce, crd2idx and their kin evaluate a call without a compiler; `layoutcheck draw LAYOUT` shows it",
        "what is right_inverse of a layout with a stride 0?",
    ),
    _topic(
        "profiler",
        r"(?P<said>\bcutlass_profiler\b)",
        "about CUTLASS' profiler: {said}",
        "cutlass_profiler --mode=enumerate lists the instances; `ls build/tools/library` shows what was made; name operation and sizes (--operation=Gemm --m= --n= --k=). NVIDIA/cutlass takes reports of it",
        "I run cutlass_profiler and nothing is printed",
    ),
    _topic(
        "jit",
        r"(?P<said>\bprint_tensor\b|(?:@|`)?\bcute\.(?:jit|kernel|compile)\b|from_dlpack|\.launch\(|cute\.printf|[Jj]it (?:function|executor)|--enable-tvm-ffi|CUTE_DSL_\w+|\bcubin\b|\bCuTe ?DSL\b)",
        "about how a CuTe DSL program is compiled and called: {said}",
        "NVIDIA's DSL introduction has the model; layoutcheck.Layout and its functions evaluate the algebra in plain Python. " + TRACE,
        "what is the role of cute.jit beside cute.kernel?",
    ),
    _topic(
        "kernel",
        r"(?P<said>\S.{0,60}\S)",
        "a note or question about a GPU kernel",
        _COPY + ". " + TRACE,
        "which threads of my kernel have work?",
    ),
)  # fmt: skip
