"""Numbers of a text that are of something else than what would be worked out of them: nothing is told."""

import pytest

from layoutcheck.catalogue import accesses, devices, figures, pitches, snippets, stages
from layoutcheck.sources import written

TORCH = "torch.randn({}, dtype=torch.float16){}; 128-bit loads fail"
EVERY = (
    accesses.told,
    figures.told,
    pitches.told,
    stages.told,
    devices.beyond,
    snippets.facts,
)
TENSOR = "tensor<ptr<f16, {}, align<16>> o ((8,1),4):((1,0),32)>"

SILENT = [
    # a pitch is of rows in memory, and of the vectors of its own sentence
    "We pad the row to 68 floats for the reduction scratch. A different buffer is read with ldmatrix.",
    "stride 100 bytes between requests in the log; float4",
    "The row 5 halfs of the table are wrong, with ldmatrix",
    "each row has 12 bytes of header in the file format, cp.async fails",
    "the pad of 2 halfs before ldmatrix",
    # layouts of threads, of registers, of global memory
    "bank conflict: global tensor (4096,4096):(4096,1) half. The smem tile is swizzled.",
    "bank conflict with the tile (4096,4096):(4096,1) half",
    "ldmatrix bank conflict? gmem layout is (128,64):(64,1) half, smem swizzled",
    "TV layout (32,8):(8,1) for f16, 2-way bank conflict",
    "bank conflicts for f32: thread layout (8,32):(32,1) and tile sA",
    "gmma. global tensor A is (128,64):(64,1) bf16",
    "wgmma reads A from registers. A's fragment: (4,8):(1,4) bf16. B in smem",
    "wgmma reads (4,2,8):(1,4,8) of bf16",
    "tcgen05.mma; epilogue smem (128,32):(32,1) bf16 staged for the TMA store",
    "UMMA bf16: scale factor layout (32,4):(4,1), results wrong",
    # rows that begin elsewhere
    TORCH.format("1000, 1001", ".t().contiguous()"),
    TORCH.format("4, 8, 65", ".permute(0, 2, 1)"),
    TORCH.format("1, 1001", ""),
    TORCH.format("1000, 1001", " is padded to 1008 in the wrapper"),
    # barriers of which the text has several
    "expect_tx is 16384 bytes, A is 128x64 bf16 and B is 64x64 bf16, each with its own barrier. TMA hangs.",
    "expect_tx(32768), TMA loads A 128x64 bf16, B 128x64 bf16; epilogue 128x128 fp32; hang",
    "cluster multicast of TMA: tx bytes 16384: 128x64 bf16, and 128x64 bf16 of B",
    # problems that are no tiles
    "2 stages on H100, tiles of 64x64, problem 4096x4096 fp32",
    "On A100 I run a tiled matmul of 256x256 half in a 3-stage pipeline",
    "Tesla A100: shared memory per multiprocessor: 167936 bytes",
    # a coordinate is none that a name holds as a layout
    "coord = make_layout((2,3)); crd2idx(coord, (5,4):(4,1)); bad = make_layout(n); other = make_layout(m)",
]  # fmt: skip


@pytest.mark.parametrize("text", SILENT)
def test_nothing_is_worked_out(text: str) -> None:
    told = [fact for one in EVERY for fact in one(text) if not fact.startswith("coord = ")]
    assert told == []


@pytest.mark.parametrize(
    "launched",
    [
        "launched with 384 threads, warp specialized",
        "launched with 256 threads; another kernel has 128 threads",
        "launched with 256 threads, of which the producer copies",
    ],
)
def test_threads_of_a_part_are_not_counted_beside_the_block(launched: str) -> None:
    (said,) = snippets.facts(f"{launched}: make_tiled_copy_tv(atom, thr (16,8), val (1,8))")
    assert said == "the tiled copy has 128 threads x 8 values: it covers (16,64)"


@pytest.mark.parametrize(
    ("text", "is_copy"),
    [
        ("{src} and {dst}, cp.async 128 bits", True),
        ("expected {dst} but got {src}, cp.async 128 bits", False),
        ("{src} works, {dst} is of cp.async 128 bits", False),
        ("{src} instead of {dst}, cp.async 128 bits", False),
    ],
)
def test_tensors_that_are_set_against_each_other_are_no_copy(text: str, is_copy: bool) -> None:
    found = written.find(text.format(src=TENSOR.format("gmem"), dst=TENSOR.format("smem")))
    assert (found is not None) == is_copy


def test_shared_memory_of_a_block_is_still_compared() -> None:
    (said,) = devices.beyond("On A100 the kernel asks for 167936 bytes of shared memory")
    assert said.startswith("167,936 B of shared memory are 1,024 above the 166,912")
