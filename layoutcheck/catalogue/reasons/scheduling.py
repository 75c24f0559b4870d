"""The task scheduler of cutlass.experimental: what it checks in a description of tasks, resources and schedules."""

from __future__ import annotations

from layoutcheck.catalogue.reasons.reason import reason

_WHERE, _AT = r"task_scheduling", "experimental/task_scheduling/task.py:1"

REASONS = (
    reason(
        "PipelineGroup 'AB': member 'A' has no pipeline_config",
        r"no pipeline_config|barrier_ptr not set",
        "The members of a PipelineGroup are pipelined resources: each has a pipeline_config, and the group gets its barriers where it is registered.",
        "Give the member that is named a PipelineConfig, and register the group with SmemAllocator.add_pipeline_group() before create()",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "PipelineGroup members have mismatched num_stages: 2 vs 3",
        r"PipelineGroup|[Gg]roup members|(?:Fork|Merge) members|FusedMerge|heterogeneous group|pipeline group mode|at the group level|on the group itself",
        "The members of a PipelineGroup share barriers: a fork has one producer and several consumers, a merge the reverse. Stages, strides, cluster layout, signaling and the side that they share are alike, and a schedule names the group for shared operations and group.member for the others.",
        "Give every member the value that the message compares, register the group with SmemAllocator.add_pipeline_group(), and write group.member in the schedule",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "Resource 'acc' (pipeline=UmmaAsync): consumer_group.size=64 does not match expected 128 (= 4 warps * 32). Task(s): [epilogue], signaling=All",
        r"_?group\.size|signaling|arrivals|TaskWarpLeader|CtaLeader|interleave[ds]?_?stri|[Ii]nterleav|advance_on_",
        "A pipeline's barrier counts arrivals: the size of its producer or consumer group has to be what the tasks that use it really signal, 32 a warp for all threads, one for an elected lane or a leader (signaling=, interleaved lanes). Interleaved strides divide num_stages, are alike on both sides unless advance_on_acquire or advance_on_wait says otherwise, and are not there for UMMA sides.",
        "Set the group's size to the number that the message expects, or change the tasks' warps or signaling to give it; take interleave_stride 1 unless the stages are shared by lanes",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "Resource 'A' has cluster multicast but num_bytes=8192. Expected num_bytes=16384 (num_bytes_per_warp_per_cta=8192 * cluster_size=2 * num_producer_warps=1)",
        r"num_bytes|mcast_mode_mn|cta_layout_vmnk",
        "num_bytes is what one stage's barrier waits for: all bytes that arrive in this CTA, from every producer warp and every CTA of a multicast. Cluster layout and multicast mode are one for the whole kernel.",
        "Declare num_bytes as the message computes it, num_bytes_per_warp_per_cta for several producers, and one static cta_layout_vmnk with mcast_mode_mn (1, 0), (0, 1) or (1, 1)",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "Exactly one WorkQueue must be present in src_resources when is_persistent is True, found 2",
        r"WorkQueue|persistent|work_tile_loop|skip_if|skippable|tile scheduler type",
        "A persistent kernel takes its tiles from one WorkQueue: it is among the src_resources of every task, the scheduler task alone has it in dst_resources (dynamic mode), and the schedule ends each tile with the queue's wait, work and release. skip_if is a method or function of (work_queue, work_tile).",
        "List the one queue in each task, set is_persistent alike for all, and use work_tile_loop(wq) once with its named operations (get_and_advance_work_tile)",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "Task 'mma' schedule has ConsumerWork group before an available ConsumerWait for resource 'A' at index 3",
        r"ProducerCommit|ProducerAcquire|ConsumerRelease|schedule (?:has|is missing)|no preceding|wait_griddep|used with (?:producer|consumer|unrecogni)|split-consumer|not consumed|stage type|ScheduleStage|schedule stage",
        "Each resource is used in one order: a producer acquires, works and commits, a consumer waits, works and releases; every commit has its wait and every acquire its release. Producers have the resource in dst_resources, consumers in src_resources.",
        "Add the entry that the message misses at the index that it names, or list the resource on the other side of the task",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "Task 'mma': resource 'A' appears in the schedule but is not listed in src_resources or dst_resources",
        r"src_resources|dst_resources|resource_dependency_graph|[Pp]ing-pong|DMA edge|not found in resources|self-edge",
        "Tasks, schedule and resource_dependency_graph describe one data flow: a resource in a schedule is a source or destination of the task, every edge of the graph is a task that reads the one and writes the other, and a ping-pong resource is both, with a pipeline whose consumers are threads.",
        "Add the resource to the list that the message names, or take its edge or entry away",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "@consumer_work(returns=...) entry 0 is an empty string",
        r"consumer_work|producer_work|TaskLocalVariable|work label|has no work method|task-local|consumer_variables|producer_variables|var '|direct TaskLocal|positional-only|keyword-only|Use named param",
        "Work methods exchange values by name: @consumer_work(returns=('x',)) gives TaskLocalVariable fields of the resource's dataclass, one value for each name, never a dict; inputs are named parameters, Constexpr ones keyword-only; names of methods are unique and not those of pipeline operations.",
        "Declare x = TaskLocalVariable(default=...) on the resource, return as many values as returns= names, and decorate the method directly",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "domain_loop() step must be non-zero",
        r"domain_loop|get_domain|domain|'step'|unroll|work-tile coordinate|unbound Task method|must (?:be callable|expose a Python signature)",
        "domain_loop(end), (start, end) or (start, end, step) is the loop over k tiles: integers known while compiling, or an end given by a Task method get_domain(self, work_tile_coord), named on the class. It is not nested, and stands inside wtl.skippable() where the tile can be skipped.",
        "Pass MyTask.get_domain (not an instance's), a step that is not 0, and one loop level",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "gemm input 'tile' uses a stale handle for 'tile' from load; it was re-produced after this handle was captured",
        r"token|routed input|stale|slot_routing|work-call output|data-flow input|input \S+ (?:cannot|must|was)|got multiple values for input|constexpr argument|unknown argument",
        "A captured schedule routes the outputs of work calls, as tokens, to the inputs of later ones: each input gets the newest token of its name, once, and constants are literals.",
        "Use the token that the last producing call returned, pass it by the parameter's name, and declare it with returns=",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "per-iteration condition blocks cannot be nested; express independent cadences as sibling blocks",
        r"condition|predicate|blocks? |guard|iteration|@schedule|schedule_list|schedule entr|must be called inside",
        "A schedule is a tree of few forms: head entries, one work-tile loop, domain loops, condition blocks, tail entries. Condition blocks stand side by side inside a domain loop, on values that a work call returned, and every handle is used inside its own with-block.",
        "Move the block out of the one around it, close it where it was opened, and keep Head, Loop and Tail entries apart",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "TMEM usage (640 columns) exceeds hardware capacity (512 columns). Reduce accumulator stages or tile sizes, or use alias groups",
        r"SMEM usage|TMEM usage|exceeds hardware capacity|[Rr]egister|num_registers|Warp group|warp_idx",
        "The tasks together need more than a CTA has: 227 KB of shared memory, 512 columns of tensor memory, 65,536 registers; register counts are multiples of 8 from 8 to 256, alike for all warps of a warp group.",
        "Fewer stages or a smaller tile, alias groups for buffers that are not used at one time, and one num_registers for each warp group",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "Call compute_layout() first",
        r"compute_layout|Call allocate|[Aa]lias group|Allocation '|alignment must be|exactly once|must be called before",
        "The steps have an order: declare the allocations, compute_layout() once, then allocate() and get(); resources and tasks are set up once before run().",
        "Call the step that the message names before this one, once",
        where=_WHERE,
        at=_AT,
    ),
    reason(
        "TSPipelineAsyncUmma producer_op must be AsyncThread or AsyncLoad, got TmaLoad",
        r"producer_op|pipeline[_ ]type|async_producer|Every (?:period|start)|WorkAttr|SignalingThreads|Invalid pipeline type|has no attribute|split",
        "The pipeline's type fixes what produces and what consumes (TmaUmma, AsyncUmma, UmmaAsync, AsyncAsync); only AsyncAsync and AsyncUmma let the producer be changed between AsyncThread and AsyncLoad. Attributes are members of their enumerations.",
        "Take the PipelineType of the pair, and the enumeration's member that the message names",
        where=_WHERE,
        at=_AT,
    ),
)
