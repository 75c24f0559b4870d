"""Copies that a text states by the tensors it prints and an instruction it names."""

import pytest

from layoutcheck.catalogue.snippets import tiled
from layoutcheck.check import Report
from layoutcheck.cli.explain import _pasted
from layoutcheck.errors import InputError
from layoutcheck.sources.written import find

SRC = "tensor<ptr<f16, gmem, align<16>> o ((8,1),4,2):((1,0),?{div=8},32)>"
DST = "tensor<ptr<f16, smem, align<16>> o ((8,1),4,2):((1,0),2048,32)>"
REGISTERS = "tensor<ptr<f16, rmem, align<32>> o ((8,1),4,2):((1,0),8,32)>"


@pytest.mark.parametrize(
    "instruction",
    [
        "cp.async of 128 bits",
        "CopyG2SOp, num_bits_per_copy=128",
        "SM80_CP_ASYNC_CACHEALWAYS<uint128_t>",
        "cp.async, 16 bytes",
    ],
)
@pytest.mark.parametrize("order", [(SRC, DST), (DST, SRC)])
def test_the_spaces_say_which_tensor_is_the_source(order: tuple[str, str], instruction: str) -> None:
    found = find(f"tA = {order[0]}\ntB = {order[1]}\nwith {instruction}")
    assert found is not None
    assert (found.src, found.dst) == (SRC, DST)
    assert (found.atom.family, found.atom.width_bits) == ("cp_async", 128)


def test_of_two_widths_none_is_taken() -> None:
    found, plain = find(f"{SRC} {DST} cp.async of 32 bits or 64 bits"), find(f"{SRC} {DST} cp.async")
    assert found is not None and found == plain


def test_of_three_tensors_the_call_says_which() -> None:
    printed = f"tAgA: {SRC}\ntAsA: {DST}\ntArA: {REGISTERS}"
    text = f"{printed}\ncute.copy(atom, tAsA[None, None, 0], tArA) by SM75_U32x4_LDSM_N"
    found = find(text)
    assert found is not None
    assert (found.src, found.dst) == (DST, REGISTERS)
    assert find(text.replace("tAsA[", "other[")) is None


def test_cpp_prints_are_read() -> None:
    text = """print(tAgA): gmem_ptr[16b](0x7f2a4c000000) o ((_8,_1),_4):((_1,_0),_2048)
print(tAsA): smem_ptr[16b](0x400) o ((_8,_1),_4):((_64,_0),_8)
SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>"""
    found = find(text)
    assert found is not None
    assert found.dst == "smem_ptr[16b](0x400) o ((_8,_1),_4):((_64,_0),_8)"


@pytest.mark.parametrize(
    "text",
    [
        f"{SRC} and {DST}",  # no instruction
        f"{SRC} with cp.async of 128 bits",  # one tensor
        f"{SRC} {DST} ldmatrix.x4",  # between other spaces
        f"{SRC} {DST} cp.async 128 bits{' ' * 20_000}",  # longer than is read
        f"{SRC} {DST} cp.async 128 bits".replace("((8,1),4,2):((1,0)", "(64,4,2):(1"),  # a whole tile
    ],
)
def test_what_is_not_said_is_not_guessed(text: str) -> None:
    assert find(text) is None


def verdicts(text: str) -> list[str]:
    return [outcome.verdict for outcome in _pasted(text, None, [])]


MISALIGNED = f"tA = {SRC.replace('?{div=8}', '?')}\ntB = {DST}"
REFUSED = (
    "error: 'cute.copy' op src ptr alignment (32 bits) does not meet requirement (128 bits) of atom "
    "'!cute_nvgpu.atom.simt_async_copy<f16, cache = global, 128 b>'"
)


def test_a_question_is_answered_by_the_copy_that_it_prints() -> None:
    (report,) = _pasted(f"I print my tensors: {MISALIGNED} and use cp.async 128. Any idea?", None, [])
    assert report.findings[0].code == "LC202"
    assert "the copy is of the two tensors that the text prints" in report.assumptions[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{MISALIGNED}\ncp.async of 128 bits gives wrong results", ["wrong", "wrong"]),
        (f"{SRC} {DST}\ncp.async of 128 bits gives wrong results", ["wrong", "legal"]),
        (
            f"{REFUSED}\n{MISALIGNED}",
            ["rejected", "wrong"],
        ),  # of a slice: the compiler takes the types printed
        (f"{REFUSED}\n{SRC.replace('align<16>', 'align<4>')} {DST}", ["rejected"]),
        (f"RuntimeError: my library says no\n{MISALIGNED} cp.async 128 bits", ["wrong"]),
    ],
)
def test_what_is_said_of_the_error_and_of_the_copy(text: str, expected: list[str]) -> None:
    assert verdicts(text) == expected


def test_an_error_of_others_stays_one_where_the_copy_is_right() -> None:
    with pytest.raises(InputError):
        verdicts(
            f"RuntimeError: my own library says no: 3 is not divisible by 2\n{SRC} {DST} cp.async 128 bits"
        )


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (
            "align<16>> o ((8,1),4,2):((1,0),?,32)>",
            "the stride ? of mode 1 is no multiple of 8 and is not known",
        ),
        ("align<16>> o ((8,1),4,2):((1,0),12,32)>", "the stride 12 of mode 1 is no multiple of 8"),
        ("align<4>> o ((8,1),4,2):((1,0),64,32)>", "its pointer is align<4>"),
    ],
)
def test_the_one_tensor_of_a_text_says_what_its_alignment_lacks(printed: str, told: str) -> None:
    (message,) = _pasted(f"{REFUSED}\nsrc: tensor<ptr<f16, gmem, {printed}", None, [])
    assert told in message.missing
    (message,) = _pasted(f"{REFUSED}\ndst: {DST}", None, [])  # the side that the message is not about
    assert "The operand types are missing" in message.missing


TILED = "make_tiled_copy_tv(atom, thr (16,8):(8,1), val (1,8)), cp.async of 128 bits; wrong results"
TILES = "gA: tensor<ptr<f16, gmem, align<16>> o {}>, sA: tensor<ptr<f16, smem, align<16>> o {}>"


@pytest.mark.parametrize(
    ("global_", "shared", "told"),
    [
        ("(120,64):(64,1)", "(120,64):(64,1)", "wrong[LC211]"),
        ("(128,64):(1,128)", "(128,64):(64,1)", ""),  # which the compiler refuses, and these results were run
        ("(128,64):(64,1)", "(128,64):(64,1)", ""),
        ("(1024,64):(64,1)", "(128,64):(64,1)", ""),  # the whole of which the text has a tile
    ],
)
def test_whole_tiles_are_checked_with_the_tiled_copy_of_the_text(
    global_: str, shared: str, told: str
) -> None:
    texts = TILES.format(global_, shared)
    first, *_ = _pasted(f"{TILED}: {texts}", None, [])
    led = f"{first.verdict}[{first.findings[0].code}]" if isinstance(first, Report) and first.findings else ""
    assert led == told
    stated = find(texts + TILED, tiling=tiled(TILED))
    assert (stated is not None) == (global_.partition(":")[0] == shared.partition(":")[0])
    assert find(texts + TILED) is None
