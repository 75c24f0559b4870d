"""Fields of a tensor map that a text names: each is judged as by the driver, whatever brackets it has."""

import pytest

from layoutcheck.catalogue.tensor_map import extents

RIGHT = {"globalDim": "4096,4096", "globalStrides": "8192", "boxDim": "64,128"}
TYPED = ", elem bf16, swizzle 128B"


def told(form: str = "{name} {{{values}}}", rest: str = TYPED, **changed: str) -> list[str]:
    fields = {**RIGHT, **changed}
    return extents(", ".join(form.format(name=name, values=values) for name, values in fields.items()) + rest)


@pytest.mark.parametrize("form", ["{name} {{{values}}}", "{name} = [{values}]", "{name}: ({values})"])
def test_right_fields_are_not_faulted_and_wrong_ones_are_in_any_brackets(form: str) -> None:
    assert told(form) == []
    assert told(form, globalStrides="8200") == ["globalStrides[0] is 8200, not a multiple of 16 B"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"globalStrides": "2,8200"}, "globalStrides[1] is 8200, not a multiple of 16 B"),
        ({"boxDim": "64,512"}, "boxDim[1] is 512, not 1 to 256"),
        (
            {"boxDim": "128,64"},
            "boxDim[0] x element size is 256 B, not at most the swizzle's span of 128 bytes",
        ),
        ({"boxDim": "4,64"}, "boxDim[0] x element size is 8 B, not a multiple of 16 B"),
    ],
)
def test_each_limit_of_the_driver(changed: dict[str, str], said: str) -> None:
    assert told(**changed) == [said]


def test_the_pitch_of_packed_rows_is_judged_where_no_strides_are_given() -> None:
    text = "globalDim {1001,64} boxDim {64,64} bf16"
    assert extents(text) == ["globalStrides[0] is 2002, not a multiple of 16 B"]


def test_a_box_beyond_an_extent_of_one_is_not_meant() -> None:
    assert told(globalDim="32,4096") == []
    (said,) = told(globalDim="4096,1")
    assert said.startswith("globalDim[1] is 1, and the box takes 128 there")


def test_without_a_type_only_what_no_map_has_is_told() -> None:
    assert told(rest="", boxDim="4,64") == []
    assert told(rest="", globalStrides="8200") == ["globalStrides[0] is 8200, not a multiple of 16 B"]


@pytest.mark.parametrize(
    "text", ["boxDim[0] * elementSize must be a multiple of 16", "globalDim (64,64) globalStrides (2,128)"]
)
def test_an_index_is_no_value_and_the_first_stride_may_be_an_elements(text: str) -> None:
    assert extents(text) == []
