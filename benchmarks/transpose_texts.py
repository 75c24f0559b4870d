"""The words of docs/kernels.md, around the figures that transpose_page.py puts into them."""

HEAD = """\
# kernels/: the transpose of NVIDIA/cutlass#2320

`kernels/transpose/` holds the BF16 transpose load of the report, broken and repaired, and the transpose
built from what wins. A transpose is a copy: `x` (M,N):(ld,1) seen as (N,M):(1,ld), copied to `y`
(N,M):(ld,1). So every variant is a chain of copies, and each is a case for layoutcheck. `from
kernels.transpose.fastest import transpose` gives `transpose(x, y)` for any M, N and strides, of elements of
1, 2, 4 or 8 bytes.
"""

VARIANTS = """
## The variants

One tile of 128 x 64 a thread block, as in the report (`fastest`, `exchange` and `registers` choose their
own). *Result*: bit for bit against the input, random bit patterns, output poisoned and fenced. GB/s count
bytes read plus written, at {m} x {n}, the plain copy in the same run {copy:.0f}.
"""

ORIGIN = """
## Where the plans come from

`layoutcheck.synthesize`, asked for a tile that is contiguous along N in the source and along M in the
destination, finds two ways through shared memory without a bank conflict and with 16 bytes in each
access. Both are `exchange`: the best has asynchronous loads ("async"), and in the other one threads turn
their blocks before they store them. A test compares vectors, lanes and the layout in shared memory with
the result of the search (`kernels/transpose/synthesised.py`). {chosen}

These are written by hand: the cache hints, the order of the tiles and the number of blocks that share a
multiprocessor, which the search does not model, and the plans that the search cannot find: rows that one
instruction stores ("bulk"), pitches and bases without a promise (`shifted`), thin sides
(`few rows`, `padded`, `few columns`, `slim`, `spliced`, `flat`), matrices that fit in a block (`whole`),
tiny ones (`blocks`, `direct`), any strides (`narrow`).
`registers` bypasses shared memory; the search returns this kind, too, with other places for the lanes.

The plan is chosen on the device: the first call with a shape compiles and times all plans that fit.
"""

COSTS = """
## Predicted and measured

The table compares the cost model of `explain` (`layoutcheck/machine/cost.py`) with the time and the
counters of an {device} ({date}, `{command}`), {size} x {size}. The model gets the addresses of each
variant's copies (`benchmarks/transpose_accesses.py`). For each pipe the table has the microseconds that
it would be busy alone. *Data* is L1's data banks, which serve global accesses as well as shared ones.
*Counted* is Nsight Compute's count divided by the prediction.
"""

COSTS_TAIL = """
In the order predicted: {order}. Measured: {measured}. Two variants within each other's 10th to 90th
percentile have no order ({ties}). The counters showed what the first version of the model left out: lanes
that write rows a multiple of 128 bytes apart conflict in L1 as they would in shared memory (`registers`,
`staged`: 8 ways); short runs of memory cost more than their bytes (`tma`'s boxes are 128 bytes wide,
`exchange` moves 256); and two pipes that are both busy do not overlap for free (`match_layout`). Still
left out: `fp32_elementwise` evicts lines from L1 before they are used up, and takes longer than
predicted.
"""

SHAPES = """
## Forty shapes against copy and peers

BF16; all in one run, medians, rotating buffers. Padded rows are written +x+y, in elements, misaligned
bases @elements, batches first. "Share" is the speed of `fastest` divided by that of the better of the
plain copy and a vectorised elementwise kernel over the same bytes. "Lead" is the time of the fastest peer
divided by that of `fastest`: torch, torch.compile, the best of 26 Triton tilings, and cuBLAS sgeam, which
moves float32: half its time counts from 16 MiB of traffic on, and all of it below. Launches of 128 MiB
and more are queued. Smaller ones are all replayed from graphs, in which a large copy node is slow; the
time includes no call of the host.
"""

ONE_DEVICE = """
**{device}**, driver {driver}, {versions}; {date}; `{command}`. {summary}
"""

HOST = """
Microseconds for which a call keeps the host busy, at {name}: {calls}. (`prepared` is what
`kernels.transpose.fastest.prepare` returns, for the same tensors again and again.)
"""

FRESH = """
At shapes drawn at random ([{file}](evidence/{file}), {device}, {date}): {summary}
Behind: {behind}.
"""

PADS = """
### What pads in `y` cost

What lies between the rows of `y` must stay as it is. Shares of the better of copy and elementwise kernel, for
elements of so many bytes ({device}, {date}; [transpose_pads.json](evidence/transpose_pads.json)): of the
quickest of three copies that do not transpose, between rows that both have the pads of `y`
(`benchmarks/transpose_pads.cu`); of such a copy that writes the pads, too; of the best plan; of the better of
two Triton tilings. {checks} checks bit for bit, pads included: {wrong} wrong.
"""

PADS_COUNTED = """
What Nsight Compute counted where nothing fits in the L2: bytes of device memory, and of the sectors that the
L2 was asked to write, over those of the elements of a matrix.
"""

PADS_TAIL = """
A sector that is written in part is read first, which no kernel can avoid, and costs more than its bytes: the
quickest copy that leaves the pads alone takes {least:.1f} to {most:.1f} times as long as the one that writes
them, where nothing fits in the L2. Rows as short as these have one or two such sectors each. Such a copy is
the truer ceiling, and the best plan is ahead of it at {ahead} of {rows} rows of the first table: it asks for
these sectors before it has anything to store, while its loads are under way, or before them ("soon").
[transpose_asked.json](evidence/transpose_asked.json) has plans with and without (`kernels/NOTES.md`, 25).
What is asked for so comes in lines of 128 bytes, as *read* shows.
"""

COUNTED = """
## What is left

What Nsight Compute counted of one launch that follows another ({device}, {date};
[transpose_plans_counted.json](evidence/transpose_plans_counted.json)). *Read* and *written* are bytes of
device memory over those of the matrix; what is still in the L2 at the end is not written yet. *Sectors* are
what the L2 was asked for, and what it was given, over those of the matrix. *Memory*, *L2* and *issue* are
percentages of each one's peak.
"""

COUNTED_TAIL = """
At 16384 x 16384 and above nothing is moved twice and no other pipe is half busy: what separates `exchange`
from the elementwise kernel is how busy memory is kept, and that is a matter of order (below). Where pitches
are odd, pieces of rows read sectors at both ends that their neighbours read as well. A thin matrix whose thin
side is known when the kernel is compiled takes a few instructions for each 16 bytes and keeps memory about as
busy as the elementwise kernel does; plans that do not know it (`shifted`) issue four times as many.
"""

ORDER = """
### How near a transpose can come

The kernels of {file} copy N x N matrices of BF16, 32 KB a block, and read or
write runs of so many bytes in each of several rows, as a transpose must on one side ({device}, {date};
[transpose_order.json](evidence/transpose_order.json)). The other side is one piece of memory. Runs of reads
lie below one another (along M first), and so do runs of writes. The table has the time of the plain copy or
of the elementwise kernel, whichever is less, divided by the kernel's.
"""

ORDER_TAIL = """
A transpose along M first writes rows of `y` in one piece and reads runs as long as its tiles are wide:
`exchange` reads 256 bytes. Its share is that of a copy that reads such runs, so the trip through shared
memory costs nothing. Longer reads need wider tiles, which leave room for fewer blocks, and shorter writes
(strips of tiles) cost more than longer reads bring. Rows that one instruction stores gain a little: {bulk}.
"""

PLACES = """
### What one run cannot tell

Plans, copy and elementwise kernel over the same buffers, in random order in each round, and that again with
buffers allocated anew ({device}, {date}; [transpose_placement.json](evidence/transpose_placement.json)): the
least and the greatest share of the better of copy and elementwise kernel.
"""

TYPES = """
## Elements of other sizes

`fastest` beside the peers, as above ({device}, {date};
[transpose_types.json](evidence/transpose_types.json)): {checks} checks bit for bit, {wrong} wrong.
"""

SWEEP = """
## What decides the speed

The best plan of each family, as a share of the copy of the same run.
"""

HINTS = """
`exchange`, tile 128 x 128, by strip height (0: all of M) and cache hints (`evict_last`: the L2 policy of
the loads):
"""

PITCHES = """
Rows want to start on 256 bytes. `fastest` at {m} x {n}, rows padded by so many elements:
"""

TAIL = """
## Limits

- {shapes} shapes checked with the plans of {date}, tails, odd pitches, misaligned bases and strided views
  among them: {wrong} wrong.
- At these and the random shapes, {plans} plans run, guard zones and padding included:
  {plans_wrong} wrong{names}.
- compute-sanitizer's memcheck over {memchecked} launches at small shapes, each tensor an allocation of
  its own: {memcheck}.
- Every kernel may start before the previous one has ended, and waits for it before it touches memory
  (programmatic dependent launch, sm_90 and later). In a row of launches, as here, each hides part of the
  next one's start. Copy, elementwise kernel and peers do not have this. "Not early" is the share of the
  best plan of the quick run without it. A single launch was not timed.
- The run on the H100 chose from other plans than the tree has now: `shifted` gathers its tiles in stages
  since ([transpose_stages.json](evidence/transpose_stages.json), read in `kernels/NOTES.md`, 21), and thin
  matrices and batches of tiny ones have plans for every size of an element (22). The H100 has not run them.
- Since these runs on the H200 four plans are gone: {names_gone};
  and `slim` in wider accesses than its vectors. At no row of these runs is the best of the others more than
  {lost:.1f} % slower than the best of all.
- [transpose_small.json](evidence/transpose_small.json) is an exploration without torch.compile, and so is
  [transpose_words.json](evidence/transpose_words.json), read in `kernels/NOTES.md`, 23 and 26.
- Since the run of the forty shapes a thread of `shifted` works out its places in fewer instructions. For
  elements of two bytes its times are those of before
  ([transpose_gather.json](evidence/transpose_gather.json), read in `kernels/NOTES.md`, 27).
- The runs ended by the clock: shapes that a table lacks were checked and not timed.
- The plan is chosen on buffers that rotate, as in the table. If a matrix is already in the L2, another
  plan may be faster.
- `evict_last` loads leave lines of `x` behind in the L2.
"""
