"""Calls of the layout algebra in a text come to what the algebra says, however one writes them."""

import pytest

import layoutcheck as lc
from layoutcheck.catalogue import answers, snippets

A, B = "(8,6):(6,1)", "(4,3):(2,1)"


def _cpp(layout: str) -> str:
    shape, stride = (one.strip("()").split(",") for one in layout.split(":"))
    return "make_layout(make_shape({}), make_stride({}))".format(
        *(", ".join(f"_{n}{{}}" for n in part) for part in (shape, stride))
    )


def _python(layout: str) -> str:
    shape, stride = layout.split(":")
    return f"cute.make_layout({shape}, stride={stride})"


@pytest.mark.parametrize("name", ["logical_divide", "zipped_divide", "tiled_divide", "flat_divide"])
@pytest.mark.parametrize("written", [str, _cpp, _python])
def test_a_division_comes_to_what_the_algebra_says(name, written) -> None:
    result = getattr(lc, name)(lc.parse_layout(A), lc.parse_layout("4:2"))
    found = snippets.results(f"what does {name}({written(A)}, 4:2) give?")
    assert found == [f"{name}({A}, 4:2) is {result}"]


def test_a_tile_of_layouts_is_read_and_the_first_calls_are_told() -> None:
    tile = lc.zipped_divide(lc.parse_layout(A), lc.parse_tile("[4:2;3:1]"))
    code = f"zipped_divide({A}, [4:2;3:1]) " + " ".join(f"cosize({n}:{n})" for n in range(2, 6))
    assert snippets.results(code) == [
        f"zipped_divide({A}, [4:2;3:1]) is {tile}",
        "cosize(2:2) is 3",
        "cosize(3:3) is 7",
    ]


def test_names_of_layouts_are_followed() -> None:
    code = f"A = {_python(A)}\nB = {_python('(2,3):(1,2)')}\nC = cute.logical_product(A, B)"
    result = lc.logical_product(lc.parse_layout(A), lc.parse_layout("(2,3):(1,2)"))
    assert snippets.results(code) == [f"logical_product({A}, (2,3):(1,2)) is {result}"]


@pytest.mark.parametrize(
    "text",
    [
        "sizeof(8)",
        "size(8) does not match",
        "composition(A, B)",
        "coalesce(layout)",
        "cosize(x, 3)",
        "cosize((8,6):(6,1), 3)",
    ],
)
def test_what_holds_no_layout_is_not_evaluated(text: str) -> None:
    assert snippets.results(text) == []


def test_a_call_that_has_a_result_is_answered_with_it_and_not_sent_elsewhere() -> None:
    text = 'cute.composition((128,64):(64,1), (8,16):(16,1)) raises "composition not divisible"'
    (answer,) = answers(text)
    assert answer.entry.level == "unknown"
    assert answer.title.startswith("composition((128,64):(64,1), (8,16):(16,1)) is (8,16):(1024,64)")
    (said,) = snippets.results(text)
    assert said.partition(": ")[2].startswith("where a compiler refuses it, its CuTe is older")


def test_a_call_without_a_result_names_the_mode() -> None:
    left, right = "(12,10):(59,13)", "(5,28):(7,1)"
    with pytest.raises(lc.InputError) as raised:
        lc.composition(lc.parse_layout(left), lc.parse_layout(right))
    (answer,) = answers(f"cute.composition({left}, {right}) fails")
    assert answer.entry.level == "rejected"
    assert str(raised.value.message) in answer.title


@pytest.mark.parametrize("joint", [" o ", " ∘ "])
def test_layouts_that_are_joined_are_composed(joint: str) -> None:
    left, right = "(_128,_64):(_64,_1)", "(_16,_4):(_2,_32)"
    result = lc.composition(lc.parse_layout("(128,64):(64,1)"), lc.parse_layout("(16,4):(2,32)"))
    (said,) = snippets.results(f"what is {left}{joint}{right} in CuTe")
    assert said == f"composition((128,64):(64,1), (16,4):(2,32)) is {result}"


def test_a_static_assertion_with_its_layouts_names_the_mode() -> None:
    text = 'static_assert failed: "Stride divisibility" composition of (_128,_64):(_64,_1) o (_48):(_3)'
    (answer,) = answers(text)
    assert "steps of 3 do not divide its extent 128" in answer.title
    assert answer.quote == text
