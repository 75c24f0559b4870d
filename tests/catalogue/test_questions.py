# ruff: noqa: E501 (texts as people write them)
"""Questions that state no error: what the model works out, which passage answers, and when nothing does."""

from __future__ import annotations

import pytest

from layoutcheck.algebra import parse_layout
from layoutcheck.catalogue import answers, laws, questions
from layoutcheck.catalogue.questions import asking
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from layoutcheck.machine.mma import MmaAtom
from layoutcheck.sources.diagnostics import read_errors


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("what is the swizzle for ldmatrix.trans", ("64 bytes (32 elements) S<2,4,3>", "128 bytes (64 elements) S<3,4,3> in bytes, <3,3,3>")),
        ("What is the correct swizzle for ldmatrix.trans when the smem tile is 64x64 bf16 row major?", ("for ldmatrix.trans: rows of 128 bytes (64 elements) S<3,4,3> in bytes, <3,3,3> in elements of 16 bits. What",)),
        ("which swizzle is right for ldmatrix with a 64 x 32 fp16 tile that is column-major?", ("rows of 128 bytes (64 elements) S<3,4,3>",)),
        ("which swizzle is right for ldmatrix with a 64 x 32 fp16 tile?", ("rows of 64 bytes (32 elements) S<2,4,3>",)),
        ("which thread holds which element of the m16n8k16 accumulator", ("4 values in 4 registers", "n = 2 (l % 4) + v % 2", "((4,8),(2,2)):((32,1),(16,8))")),
        ("why has operand A of mma.sync m16n8k32 int8 4 registers a lane?", ("16 values in 4 registers",)),
        ("does cp.async support 2 bytes", ("cp.async: one cp.async moves 4, 8 or 16 adjacent bytes", "takes a plain load and store")),
        ("does cp.async support 64 bits?", ("cp.async: one cp.async moves 4, 8 or 16 adjacent bytes", "num_bits_per_copy 32, 64, 128")),
        ("Why Does CUTLASS Use 3-4-3 Swizzle?", ("XORs bits 4 to 6 of an offset with its bits 7 to 9", "repeats after 1024")),
        ("why is my layout printed as ((8,1),4):((1,0),8)", ("8 adjacent elements by 1", "as a function of one index it is 32:1")),
        ("I have a (64,32):(32,1) fp16 tile and read it by ldmatrix.trans; which swizzle is free of bank conflicts?", ("S<2,4,3> on the pointer",)),
        ("How do I predicate a TMA store?", ("TMA takes no predicate for each element",)),
        ("How to understand tiled_product?", ("the zipped product, its second half unpacked",)),
        ("what does make_fragment_like do", ("((1,2),16,8)",)),
        ("difference of tile_to_shape and logical_divide", ("The block repeated until it has the shape", "logical_divide: ")),
        ("what alignment does TMA need?", ("a shared address of 128",)),
        ("how many bytes can a box have", ("each of its extents is 1 to 256",)),
        ("[QST]What is the meaning of stride in DescriptorIterator?\ntCrA: GMMA::DescriptorIterator o (_1,_2):(_0,_1024)\nI'm unclear about it.", ("what the strides of a descriptor iterator count",)),
        ("[QST] PermuationsMNK in TiledMMA\nCould you please explain in what sense PermutationMNK is a permutation?", ("repeats the atom in values of the same warps",)),
        ("[QST] How to skip a TMA copy\nI want to skip some TMA copy in runtime. Any suggestions for me?", ("still has to complete the stage's full barrier",)),
        ("layoutcheck says LC501 in my kernel but results are right; is this alarm real?", ("Right results prove nothing", "layoutcheck confirm --order")),
        ("In my kernel M*lda overflows int32 for large matrices. What should I do?", ("wraps beyond 2^31",)),
        ("[DOC]How to understand Swizzle in CuTe\nIt appears that BBits, MBase, and SShift can have different values.", ("XORs B bits of the offset",)),
        ("Why is the mbarrier's expected arrival set to 1, but all of a warp's threads do mbarrier_arrive?", ("is the number of arrivals in one phase", "1, where 32 lanes arrive")),
        ("Why does the producer's first wait use parity 1? It blocks until the phase of its mbarrier flips, so shouldn't it block forever?", ("a first wait for parity 1 returns at once",)),
        ("cute.right_inverse raises an exception that states that it refuses dynamic layouts. I expected a result of\ncute.right_inverse(torch.empty(4))", ("the DSL refuses a dynamic layout",)),
        ("The manual says little of the matrix start address in bits 0 to 13 of a wgmma matrix descriptor. Which state space is it in?", ("(address & 0x3FFFF) >> 4",)),
        ("question about tmem barrier\nTMEM is consumed by both CTAs: shouldn't the leader's epilogue barrier arrive at all CTAs?", ("Its tcgen05.commit with multicast",)),
        ("why does each thread of ldmatrix hold fragments of 8x8 matrices and no continuous one for store.v4?", ("stmatrix (sm_90 on)",)),
        ("Do we need wgmma.fence at every iteration, or is once before the loop enough?", ("and not in each turn",)),
        ("I understand the MMA tile is the size you mentioned. Let's say we have a shared memory A of 128x8.\nWould my AtomLayout of the TiledMMA be make_shape(8,16,1)?", ("Its atom layout spreads the instruction over warps",)),
        ("Why do I need fence.proxy.async before a TMA store? I already have a __syncthreads after writing to shared memory.", ("fence.proxy.async",)),
    ],
)  # fmt: skip
def test_a_question_is_answered_by_its_subject(text: str, parts: tuple[str, ...]) -> None:
    (answer,) = answers(text)
    assert answer.entry.name == "question"
    said = " ".join((answer.cause, *answer.facts, answer.remedy))
    assert all(part in said for part in parts), said
    assert len(answer.facts) <= 2


@pytest.mark.parametrize(
    "text",
    [
        "Warp Group MMA vs Warp MMA\nwhy do warp group MMA have higher performance than warp mma? since each warp has its own independent scheduler, how does all 4 warps within an SM doing a 'group' mma make it faster?",
        "[QST] `tcgen05.mma.ws`\nWhat are the use cases for `tcgen05.mma.ws`? Is there a reason why Cutlass doesn't use this instruction?",
        "what is the best recipe for bread?",
        "[QST] How do I use a pan with an oven for operand B of a cake? The recipe is confusing me",
    ],
)  # fmt: skip
def test_what_no_page_speaks_of_is_not_answered(text: str) -> None:
    """A word in passing chooses no passage."""
    assert answers(text) == []
    with pytest.raises(InputError):
        read_errors(text)


@pytest.mark.parametrize("letter", "ABC")
def test_the_formula_of_a_fragment_is_the_layout(letter: str) -> None:
    """The words that are told, evaluated for every lane and value, name the places of the thread-value layout."""
    types = (dtype("f16"), dtype("f16"), dtype("f32"))
    atom = MmaAtom("warp", (16, 8, 16), types)
    said = questions.fragments._said(atom, letter)
    down, along = (part.replace("/ ", "// ") for part in _formulas(said))
    layout, rows = (
        parse_layout(said.partition("as CuTe prints it ")[2].partition(", (thread")[0]),
        atom.extents(letter)[0],
    )
    count = rows * atom.extents(letter)[1] // 32
    for lane in range(32):
        for value in range(count):
            names = {"l": lane, "v": value}
            place = eval(down, names) + rows * eval(along, names)
            assert place == layout(lane + 32 * value)


def _formulas(said: str) -> tuple[str, str]:
    """The two formulas, as Python writes them."""
    told = said.partition("is the element ")[2].partition(" (/ without")[0]
    first, second = (one.partition(" = ")[2] for one in told.split(", "))
    plain = [
        one.replace("8 (", "8 * (").replace("2 (", "2 * (").replace("/ 8 * (", "/ 8 * (")
        for one in (first, second)
    ]
    return plain[0], plain[1]


def test_title_questions_and_code_are_told_apart() -> None:
    asked = asking.read(
        "[QST] How does X work?\n```\nauto a = b;\n```\nI use it in a loop. Why does it copy? Thanks!"
    )
    assert asked.title == "How does X work?" and asked.asking == ("Why does it copy?",)
    assert asked.prose == "I use it in a loop." and "auto a" in asked.code


def test_beside_what_is_worked_out_one_law_is_told() -> None:
    text = "which swizzle for ldmatrix has no bank conflicts?"
    told = questions.find(text, text)
    assert told and "S<3,4,3> in bytes" in told.answer
    assert len(told.others) == 1 and len(laws.fits(text, "ask")) >= 2


@pytest.mark.parametrize(
    ("text", "opens"),
    [
        ("How do I predicate a TMA store?", "The law nearest to its words, which need not answer it: "),
        ("a predicated TMA store of the last tile, bounds inside the tensor", "No error or question"),
        ("does cp.async support 2 bytes", "cp.async: one cp.async moves"),
        ("Do I need tma_store_wait?", "tma_store_wait, cp.async.bulk.wait_group: a bulk store signals no"),
        (
            "CUTLASS has tma_store_wait after a TMA store. Do I need it?",
            "tma_store_wait, cp.async.bulk.wait_group: ",
        ),
    ],
)
def test_a_law_is_no_answer_by_itself_and_says_so(text: str, opens: str) -> None:
    assert answers(text)[0].cause.startswith(opens)


def test_an_alarm_that_is_asked_about_is_no_question_of_understanding() -> None:
    text = "compute-sanitizer --tool synccheck reports 1024 errors, and the tests pass. Is it a real error?"
    assert answers(text)[0].entry.name == "symptom.alarm-barrier"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Which thread holds element C[5][3] of an m16n8k16 f32 accumulator?", "is value 1 of lane 21, in register 1"),
        ("Which lane holds A(9,4) of mma.m16n8k16 of half, in which register?", "value 2 of lane 6, in register 1, bits 0 to 15 of it"),
        ("Which thread holds element C[17][3] of an m16n8k16 f32 accumulator?", "none at (17,3)"),
        ("how many bytes do I expect_tx for a 128x64 bf16 tile and a 64x64 bf16 tile with TMA?", "16,384 (128x64 bf16) + 8,192 (64x64 bf16) = 24,576 B"),
        ("what is composition of (6,2):(8,2) with (4,3):(3,1)?", "is ((2,2),3):((24,2),8)"),
        ("what is the max shared memory per block on A100 and RTX 4090?", "A100 (sm_80) 166,912 B (163 KiB), RTX 4090 (sm_89) 101,376 B"),
        ("why is my copy 32 instructions? a thread moves 32 bf16, the tensor is from_dlpack(t)", "and 4 of 128 bits with assumed_align=16"),
    ],
)  # fmt: skip
def test_a_formula_is_answered_with_its_result(text: str, said: str) -> None:
    (answer, *_) = answers(text)
    assert said in answer.cause or said in answer.title
    assert "does not say why" not in answer.cause


def test_each_question_names_the_command_of_its_subject_alone() -> None:
    (answer,) = answers("Can cp.async move 2 bytes? I gather single fp16 elements from gmem into smem")
    assert answer.remedy.count("`layoutcheck ") == 2 and "draw" not in answer.remedy
