"""The words of docs/kernels.md, around the figures that transpose_page.py puts into them."""

HEAD = """\
# kernels/: the transpose of NVIDIA/cutlass#2320

<!-- Written by `python -m benchmarks.transpose_page docs/evidence/transpose.json`. -->

`kernels/transpose/` holds the BF16 load of the report, broken and repaired, and a transpose built from what
wins: `from kernels.transpose.fastest import transpose` gives `transpose(x, y)` for any M, N and strides, of
elements of 1, 2, 4 or 8 bytes. The first call with a shape compiles and times all plans that fit, on the
device.

A transpose is a copy: `x` (M,N):(ld,1) seen as (N,M):(1,ld), copied to `y` (N,M):(ld,1). So every variant is
a chain of copies, and each is a case for layoutcheck.
"""

VARIANTS = """
## The variants

A thread block has one tile of 128 x 64, as in the report; `fastest`, `exchange` and `registers` choose their
own. *Result* compares with the input bit for bit: random bit patterns, an output that is poisoned and fenced.
*GB/s* counts bytes read plus written, at {m} x {n}; the plain copy has {copy:.0f} in the same run ({device},
{date}, [{file}](evidence/{file}), `{command}`).
"""

ORIGIN = """
## Where the plans come from

`layoutcheck.synthesize`, asked for a tile that is contiguous along N in the source and along M in the
destination, finds two ways through shared memory without a bank conflict and with 16 bytes in each access.
Both are `exchange`; the best has asynchronous loads ("async"). A test compares vectors, lanes and shared
layout with the search (`kernels/transpose/synthesised.py`). {chosen}

Written by hand are the cache hints, the order of the tiles, the number of blocks that share a multiprocessor,
and the plans that the search cannot find:

| plan | for |
| --- | --- |
| `exchange ... bulk` | rows of `y` that one instruction stores |
| `shifted` | pitches and bases without a promise |
| `few rows`, `padded`, `few columns`, `runs`, `spliced`, `flat` | thin sides |
| `whole` | matrices that fit in a block |
| `blocks`, `direct` | tiny matrices |
| `narrow` | any strides |
"""

COSTS = """
## Predicted and measured

The cost model of `explain` (`layoutcheck/machine/cost.py`) beside time and counters of an {device} ({date},
`{command}`), {size} x {size}. The model gets the addresses of each variant's copies
(`benchmarks/transpose_accesses.py`). The columns of pipes are the microseconds that each would be busy alone;
*data* is L1's data banks, which serve global accesses as well as shared ones. *Counted* is Nsight Compute's
count divided by the prediction.
"""

COSTS_TAIL = """
Measured order: {measured}. Two variants within each other's 10th to 90th percentile have no order ({ties}).
The model includes what the counters showed: lanes that write rows a multiple of 128 bytes apart conflict in
L1 as they would in shared memory (`registers`, `staged`: 8 ways); short runs of memory cost more than their
bytes (`tma`'s boxes are 128 bytes wide, `exchange` moves 256); two busy pipes do not overlap for free
(`match_layout`). It leaves out that `fp32_elementwise` evicts lines from L1 before they are used up, and so
takes longer than predicted.
"""

SHAPES = """
## Forty shapes against copy and peers

BF16, all in one run, medians, rotating buffers. Padded rows are written +x+y, in elements, misaligned bases
@elements, batches first.

- *Share*: the speed of `fastest` divided by that of the better of the plain copy and a vectorised elementwise
  kernel over the same bytes. *Alone*: the share of a plan that may not start before the previous launch ends.
- *Lead*: the time of the fastest peer divided by that of `fastest`. Peers are torch, torch.compile, the best
  of 26 Triton tilings, and cuBLAS sgeam. sgeam moves float32: half its time counts from 16 MiB of traffic on,
  all of it below.
- Launches of 128 MiB and more are queued. Smaller ones are replayed from graphs, in which a large copy node
  is slow; the time includes no call of the host.
"""

ONE_DEVICE = """
**{device}**, driver {driver}, {versions}, {date} ([{file}](evidence/{file})): {summary}
"""

HOST = """
Microseconds for which a call keeps the host busy, at {name}: {calls}. (`prepared` is what
`kernels.transpose.fastest.prepare` returns, for the same tensors again and again.)
"""

FRESH = """
At shapes drawn at random:
"""

ONE_FRESH = "- {device}, {date} ([{file}](evidence/{file})): {summary}{behind}"

PADS = """
### What pads in `y` cost

What lies between the rows of `y` must stay as it is. The shares are, for elements of so many bytes ({device},
{date}; [transpose_pads.json](evidence/transpose_pads.json)): of the quickest of three copies that do not
transpose, between rows that both have the pads of `y` (`benchmarks/transpose_pads.cu`); of such a copy that
writes the pads, too; of the best plan; of the better of two Triton tilings. {checks} checks bit for bit, pads
included: {wrong} wrong.
"""

PADS_TAIL = """
A sector that is written in part is read first, which no kernel can avoid. Where nothing fits in the L2, the
quickest copy that leaves the pads alone takes {least:.1f} to {most:.1f} times as long as the one that writes
them. So it is the truer ceiling, and the best plan is ahead of it at {ahead} of {rows} rows: it asks for
these sectors while its loads are under way, or before them ("soon";
[transpose_asked.json](evidence/transpose_asked.json) has plans with and without).
"""

COUNTED = """
## What is left

Nsight Compute's counts of one launch that follows another ({device}, {date};
[transpose_plans_counted.json](evidence/transpose_plans_counted.json)). *Read* and *written* are bytes of
device memory over those of the matrix; what is still in the L2 at the end is not written yet. *Sectors* are
what the L2 was asked for, and given, over those of the matrix. *Memory*, *L2* and *issue* are percentages of
each one's peak.
"""

COUNTED_TAIL = """
At 16384 x 16384 and above nothing is moved twice, and no other pipe is half busy: what separates `exchange`
from the elementwise kernel is how busy memory is kept, which is a matter of order (below). Where pitches are
odd, pieces of rows read sectors at both ends that their neighbours read as well. If the thin side of a matrix
is known at compile time, a plan takes a few instructions for each 16 bytes; plans that do not know it
(`shifted`) issue four times as many. `few rows` are counted as they were before their places took three
instructions for twelve; `shifted 120x128, 3` is no plan any more.
"""

BOUND = """
### What bounds odd pitches

Kernels like the best plan of that day with a step left out, so that most write wrong bits ({device},
{date}; [transpose_bound.json](evidence/transpose_bound.json)), as shares of the better of copy and
elementwise kernel. *Lanes stay*: nothing is turned for lanes that read ahead of each other, as none does at
these pitches; *no gather*: 16 bytes are read where they lie; *no halo*: no row of `x` beyond those of the
tile is loaded; *neither* of these two; *no ends*: chunks at the ends of rows of `y` are not stored.
"""

BOUND_TAIL = """
Without gather and halo a kernel only copies, by the same tiles: {least} to {most}, {pads} with pads in `y`.
So where bytes are below 0.9 most of what is missing is how tiles are loaded and stored, whatever is done in
between; without stores the same tiles take {reads} of the time. Of bytes issue is the busiest pipe (above),
so kernels turn nothing where pitches do not ask for it. The best plan before, and the best that the tree has
now, in one run:
"""

ORDER = """
### How near a transpose can come

The kernels of {file} copy N x N matrices of BF16, 32 KB a block. On one side they read or write runs of so
many bytes in each of several rows, as a transpose must ({device}, {date};
[transpose_order.json](evidence/transpose_order.json)); the other side is one piece of memory. The table has
the time of the plain copy or of the elementwise kernel, whichever is less, divided by the kernel's.
"""

ORDER_TAIL = """
A transpose along M first writes rows of `y` in one piece, and reads runs as long as its tiles are wide: 256
bytes in `exchange`. Its share is that of a copy that reads such runs, so the trip through shared memory costs
nothing. Longer reads need wider tiles, which leave room for fewer blocks. Shorter writes cost more than
longer reads bring. Rows that one instruction stores gain a little: {bulk}.
"""

PLACES = """
### What one run cannot tell

Plans over the same buffers, in random order in each round, and again with buffers allocated anew ({device},
{date}; [transpose_placement.json](evidence/transpose_placement.json)): the least and the greatest share of
the better of copy and elementwise kernel. The best and the worst of {plans} plans of `exchange`:
"""

TYPES = """
## Elements of other sizes

Microseconds, share and lead of `fastest`, as above ({device}, {date};
[transpose_types.json](evidence/transpose_types.json)). Where rows of `y` have pads, a copy that leaves them
alone is the truer ceiling ([below](#what-pads-in-y-cost)): *copy* is its share. An empty cell: the plan that
was chosen there is no plan any more. Behind: {behind}. Below 0.9 of the ceiling: {below}. {checks} checks bit
for bit, {wrong} wrong.
"""

TYPES_FRESH = """
All sizes in turn at {drawn} shapes drawn at random, and {again} that were low in an earlier run or that the
newest plans are for, torch.compile among the peers ({device}, {date};
[transpose_types_fresh.json](evidence/transpose_types_fresh.json)): {summary}
Behind: {behind}. Below 0.9 of the ceiling: {below}. {checks} checks bit for bit, {wrong} wrong.
"""

SWEEP = """
## What decides the speed

The best plan of each family, as a share of the copy of the same run.
"""

HINTS = """
`exchange`, tile 128 x 128, by strip height (0: all of M) and cache hints (`evict_last`: the L2 policy of the
loads):
"""

PITCHES = """
Rows want to start on 256 bytes. `fastest` at {m} x {n}, rows padded by so many elements: {speeds} GB/s.
"""

TAIL = """
## Limits

- {shapes} shapes checked with the plans of {date}, tails, odd pitches, misaligned bases and strided views
  among them: {wrong} wrong. {plans} plans run at these and the random shapes, guard zones and padding
  included: {plans_wrong} wrong{names}. compute-sanitizer's memcheck over {memchecked} launches at small
  shapes: {memcheck}.
- Every kernel may start before the previous one has ended, and waits for it before it touches memory
  (programmatic dependent launch, sm_90 and later). Copy, elementwise kernel and peers do not. A single launch
  was not timed.
- The H100 chose from other plans than the tree has now. It has not run `shifted` with tiles gathered in
  stages ([transpose_stages.json](evidence/transpose_stages.json)), nor the plans for thin matrices, batches
  of tiny ones and batches of short elements.
- [transpose_small.json](evidence/transpose_small.json) and
  [transpose_words.json](evidence/transpose_words.json) are explorations without torch.compile;
  [transpose_plans.json](evidence/transpose_plans.json) has all plans at shapes that the newest of them serve
  (`benchmarks/transpose_plans.py`). `kernels/NOTES.md` reads all of these files.
- The runs ended by the clock: shapes that a table lacks were checked and not timed.
- The plan is chosen on buffers that rotate, as in the table. If a matrix is already in the L2, another plan
  may be faster. `evict_last` loads leave lines of `x` behind in the L2.
"""
