# ruff: noqa: E501 (texts as programs print them)
"""Facts that a text holds are used: addresses, counters, fields of a tensor map, layouts as C++ types; a document reports no error."""

from __future__ import annotations

import pytest

from layoutcheck.catalogue import answers, spoken, symptoms, tensor_map

_SANITIZER = "========= Invalid __{space}__ read of size {size} bytes\n=========     at kernel+0x71 in a.cu:94\n=========     by thread (0,4,0) in block (0,0,0)\n=========     Address {address} is misaligned\n"
_BANKS = "The memory access pattern for shared loads might not be optimal and causes on average a {ways} - way bank conflict across all {requests} shared load requests.This results in {conflicts} bank conflicts,  which represent 75.00% of the overall {all} wavefronts for shared loads."
_SECTORS = "This kernel has uncoalesced global accesses resulting in a total of {excess} excessive sectors (88% of the total {all} sectors)."
_OF_CUTE = (
    "========= Invalid __global__ write of size 2 bytes\n=========     at void cute::axpby<"
    + "cute::C<(int)2>, " * 90
    + "T> (const T &)+0x3910 in axpby.hpp:89\n=========     by thread ({x},0,0) in block (3,1,0)\n=========     Access to 0x7f00 is out of bounds\n=========     and is 1 bytes after the nearest allocation at 0x6000 of size 256,000 bytes\n=========         Device Frame: void gemm<"
    + "cute::C<(int)2>, " * 90
    + "T> (T1)+0x3910 in mut.cu:309\n"
)
_TEMPLATED = _OF_CUTE.format(x=115) + _OF_CUTE.format(x=123)


def said(text: str) -> str:
    """All that the first answer says, and its place."""
    (answer, *_) = answers(text)
    return " ".join((answer.title, answer.cause, *answer.facts, answer.place or ""))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (_SANITIZER.format(space="shared", size=16, address="0x10a8"), ("0x10a8 is a multiple of 8 B alone, and the access takes 16", "accesses of 8 B or less fit")),
        (_SANITIZER.format(space="global", size=16, address="0x7f0010a8") + _SANITIZER.format(space="global", size=16, address="0x7f0010ac"), ("the 2 addresses are multiples of 4 B alone", "accesses of 4 B or less fit")),
        (_BANKS.format(ways="4.0", requests=131072, conflicts=393216, all=524288), ("without the conflicts 131,072 of the 524,288 wavefronts remain", "an odd multiple of 4 words (16 B)")),
        (_BANKS.format(ways="2.0", requests=100, conflicts=400, all=800), ("without the conflicts 400 of the 800 wavefronts remain",)),
        (_SECTORS.format(excess=29360128, all=33554432), ("of each sector of 32 B 4 B are needed", "4,194,304 of the 33,554,432")),
        ("error: static assertion failed due to requirement 'C<3>::value % C<2>::value == 0 || C<2>::value % C<3>::value == 0': Static shape_div failure", ("3 is a multiple of 2 or 2 is a multiple of 3, which is false",)),
        ("The TMA encode fails; I printed raw globalStride[0] = 2, raw globalStride[1] = 6932, boxDim[0] = 64, boxDim[1] = 128, bf16", ("globalStrides[1] is 6932, not a multiple of 16 B",)),
        ("globalDim[0] = 3466, globalDim[1] = 128, globalStride[0] = 6932: cuTensorMapEncodeTiled returned CUDA_ERROR_INVALID_VALUE", ("globalStrides[0] is 6932",)),
        ("Why does cute::Layout<cute::tuple<cute::C<64>, cute::C<64>>, cute::tuple<cute::C<64>, cute::C<1>>> of half_t give bank conflicts with ldmatrix?", ("ldmatrix.x4 over (64,64):(64,1) takes 512 wavefronts, 64 at the least",)),
        ("layout.hpp(1792): error: static assertion failed with \"tile_to_shape: block shape does not divide the target shape.\" instantiation of \"auto cute::tile_to_shape(const cute::ComposedLayout<A, O, B> &, const TrgShape &, const ModeOrder &) [with A=cute::Swizzle<3, 4, 3>, O=cute::smem_ptr_flag_bits<16>, B=cute::Layout<cute::tuple<cute::_8, cute::_64>, cute::tuple<cute::_64, cute::_1>>, TrgShape=cute::tuple<cute::_128, cute::C<96>>, ModeOrder=cute::LayoutLeft]\" at line 5 of /me/k.cu", ("64 against 96 in mode 1", "96 is no multiple of 64")),
        ("tile_to_shape((8,64):(64,1), (128,96)) fails", ("in mode 1, 64 does not divide 96",)),
        ("========= Invalid __global__ read of size 4 bytes\n=========     by thread (5,0,0) in block (7,0,0)\n=========     Address 0xbf4 is out of bounds\n=========     and is 12 bytes before the nearest allocation at 0xc00 of size 36 bytes", ("at index -3", "thread 5 of block (7,0,0)")),
        ("cvt.rn.f16x2.e4m3x2 is unavailable on sm_80: dequantization is slow there.", ("sm_80 has no cvt with .e4m3x2 or .e5m2x2: it begins with the target sm_89",)),
        ("cvt.rn.satfinite.e2m1x2.f32 is not available on sm_90, the fallback is slow.", ("sm_90 has no cvt with .e2m1x2: it begins with the target sm_100a",)),
        (_TEMPLATED + "========= ERROR SUMMARY: 7 errors", ("mut.cu:309", "at index 128000 of its 128000", "names threads 115 to 123 (warp 3), of block (3,1,0); more may do it")),
        (_TEMPLATED + "========= ERROR SUMMARY: 2 errors", ("2 threads do it, 115 to 123 (warp 3), of block (3,1,0) alone",)),
        ("a.out: copy_traits_sm90_tma.hpp:969: auto make_tma_copy_desc(): Assertion `gmem_prob_stride[0] == 1 && \"Majorness of smem doesn't match majorness of gmem\"' failed.", ("breaks a limit of the hardware: gmem_prob_stride[0] == 1",)),
    ],
)  # fmt: skip
def test_a_fact_of_the_text_is_used(text: str, parts: tuple[str, ...]) -> None:
    told = said(text)
    assert all(part in told for part in parts), told


@pytest.mark.parametrize("conflicts", [400, 96])
def test_a_stride_is_told_only_where_each_request_takes_one_wavefront(conflicts: int) -> None:
    """Of wider accesses, and of parts of a conflict, the counts do not tell it."""
    assert "odd multiple" not in said(_BANKS.format(ways="2.0", requests=100, conflicts=conflicts, all=800))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("boxDim[0]=64, boxDim[1]=300", ["boxDim[1] is 300, not 1 to 256"]),
        ("boxDim[1]=300", []),
        ("boxDim[0]=300, boxDim[0]=64", []),
        ("raw globalStride[0] = 2, globalStride[1] = 64", []),
    ],
)
def test_the_fields_of_a_map_are_read_by_their_indices(text: str, values: list[str]) -> None:
    """Not where an index is missing or has two values; the stride of a single element is no pitch."""
    assert tensor_map.extents(text) == values


def test_a_map_is_judged_only_where_something_fails() -> None:
    assert spoken.numbers("TMA works with raw globalStride[0] = 2, raw globalStride[1] = 6932.") == ()


def test_a_composed_type_is_no_plain_layout() -> None:
    layout = "cute::Layout<cute::tuple<cute::_8, cute::_64>, cute::tuple<cute::_64, cute::_1>>"
    composed = f"cute::ComposedLayout<cute::Swizzle<3, 3, 3>, cute::C<0>, {layout}>"
    assert [text for _, text, _ in symptoms.placed(f"{composed} and then {layout}")] == ["(8,64):(64,1)"]


@pytest.mark.parametrize(
    "text",
    [
        "IKET profiling notes: run-iket collects events; an illegal memory access inside the instrumented region is reported by compute-sanitizer as before.",
        "Integration notes for local barriers: accessing the remote barrier after the peer has exited is an illegal memory access, so keep a cluster barrier at the end.",
        "Docs: how the attention mismatch test in the example works: it compares the output with PyTorch and prints the max error.",
    ],
)
def test_a_document_reports_no_error(text: str) -> None:
    assert all(answer.entry.level == "unknown" for answer in answers(text))
    assert answers(f"We get this with the new kernel. {text}")[0].entry.level == "wrong"


_SEGFAULT = "The {code} generates SegFault during compilation, and returns fine if it is commented out."


@pytest.mark.parametrize(
    ("code", "entry"),
    [
        ("cute::copy(tiled, tOrO, tOsO); line", "cpp.compiler-died"),
        ("call of cute.copy(tiled, tOrO, tOsO) in my @cute.jit function", "dsl.compiler-died"),
    ],
)
def test_a_crash_is_of_the_compiler_whose_code_the_text_has(code: str, entry: str) -> None:
    assert answers(_SEGFAULT.format(code=code))[0].entry.name == entry


_OPERAND = "========= Invalid __shared__ ? of size 2048 bytes\n=========     at 0x2570 in k.py:223:kernel\n=========     by thread (224,0,0) in block (4,0,0)\n=========     Address {} is out of bounds\nIt is wgmma.mma_async.m64n256k16, 114688 bytes of shared memory are allocated and the base address is 0x400."


@pytest.mark.parametrize(
    ("before", "address", "entry", "part"),
    [
        ("The results are right.", "0x1bc20", "sanitizer.of-tensor-core", "end at 0x1c420, 32 B behind it; the 512 B of one warp of four end at 0x1be20, inside"),
        ("The results are right.", "0x1c300", "sanitizer.of-tensor-core", "the 512 B of one warp of four end at 0x1c500"),
        ("The results are wrong.", "0x1bc20", "sanitizer.out-of-bounds", "ends at 0x1c400"),
    ],
)  # fmt: skip
def test_a_report_on_an_operand_is_false_only_beside_right_results(
    before: str, address: str, entry: str, part: str
) -> None:
    (answer, *_) = answers(f"{before}\n{_OPERAND.format(address)}")
    assert answer.entry.name == entry
    assert any(part in fact for fact in answer.facts)
    assert ("known false report" in answer.title) == (entry == "sanitizer.of-tensor-core")


def test_accesses_that_race_are_named_with_their_counts() -> None:
    race = "========= Error: Race reported between Write access at k(cg::thread_block_tile<(unsigned int)32> &)+0xd790 in d.cuh:324\n=========     and Read access at k()+0xd5c0 in d.cuh:312 [16 hazards]\n=========     and Read access at k()+0xd5e0 in d.cuh:313 [32 hazards]"
    told = said(race)
    assert (
        "the write at d.cuh:324 races with the read at d.cuh:312 (16 hazards), the read at d.cuh:313 (32 hazards)"
        in told
    )
    assert "__syncwarp(), is enough" in told
    assert "is enough" not in said(race.replace("thread_block_tile", "thread_block"))


@pytest.mark.parametrize(
    ("what", "target", "suffix"),
    [("wgmma.fence", "sm_120", False), ("mma with block scale", "sm_120", True), ("wgmma.fence", "sm_90", True), ("setmaxnreg", "sm_100", True)],
)  # fmt: skip
def test_the_suffix_of_a_target_is_offered_only_where_it_helps(what: str, target: str, suffix: bool) -> None:
    (answer,) = answers(
        f"ptxas a.ptx, line 9; error   : Instruction '{what}' not supported on .target '{target}'"
    )
    assert (f"Name the target {target}a" in answer.remedy) == suffix
    assert ("Leave the file out" in answer.remedy) == (not suffix)


def test_targets_without_more_than_the_default_are_named() -> None:
    text = "CUDA_ARCH=\"60;70;75\"\nptxas error : Entry function 'k' uses too much shared data (0xc400 bytes, 0xc000 max)"
    assert "48 KiB on sm_60, 96 KiB on sm_70, 64 KiB on sm_75" in said(text)
    assert "on sm_75" not in said(text.replace("60;70;75", "75"))


@pytest.mark.parametrize(
    ("said", "differs"), [("attention mismatch", True), ("head_dim mismatch: q has 128, k has 64", False)]
)
def test_a_bare_mismatch_of_results_is_no_demand_on_extents(said: str, differs: bool) -> None:
    assert answers(said)[0].cause.startswith("A test compares a result") == differs
