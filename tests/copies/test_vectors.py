"""The widest vector and its limit; checked against addresses enumerated one by one."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import layoutcheck as lc
from layoutcheck.algebra.image import image
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.vectors import max_vector, missing_promises
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype

WIDEST = "128 bits is the widest access"
DIV8, DIV4 = "divby=8 on the stride of mode ", "divby=4 on the stride of mode "
ALIGN16 = "assumed_align=16 on the pointer"


def memref(layout, align=16, kind="bf16", space="gmem", swizzle=None):
    return Memref(dtype(kind), space, parse_layout(layout), align, swizzle)


@pytest.mark.parametrize(
    ("src", "dst", "bits", "limit"),
    [
        (memref("((8,1),4):((1,0),64)"), memref("((8,1),4):((1,0),64)"), 128, WIDEST),
        (memref("((8,1),4):((1,0),64)"), memref("((8,1),4):((64,0),1)"), 16, "dst mode 0 stride 64"),
        (memref("(8,4):(1,64)", 4), memref("(8,4):(1,64)"), 32, "src align<4>"),
        (memref("(8,4):(1,9)"), memref("(8,4):(1,64)"), 16, "src stride 9 of mode 1"),
        (memref("(8,4):(1,64)"), memref("(8,(2,2)):(1,(12,64))"), 64, "dst stride 12 of mode 1.0"),
        (memref("(8,4):(1,?{div=4})"), memref("(8,4):(1,64)"), 64, "src stride ?{div=4} of mode 1"),
        (memref("(8,4):(?,64)"), memref("(8,4):(1,64)"), 16, "src mode 0 stride ?"),
        (
            memref("(8,4):(1,64)"),
            memref("(8,4):(1,64)", 128, space="smem", swizzle=Swizzle(3, 2, 3)),
            32,
            "dst swizzle S<3,2,3> keeps 4 B together",
        ),
        (memref("(4,4):(1,64)"), memref("(4,4):(1,64)"), 64, "V has 4 elements"),
        (memref("(1,4):(0,64)"), memref("(1,4):(0,64)"), 16, "V has 1 elements"),
        (memref("((4,2),4):((1,8),64)"), memref("(8,4):(1,64)"), 64, "src mode 0 stride 8 after 4 elements"),
        (memref("(8,4):(1,64)", space="rmem", align=2), memref("(8,4):(1,64)"), 128, WIDEST),
        (memref("(8):(1)", None), memref("(8):(1)"), 16, "src align<2>"),
        (
            memref("(32,4):(1,3)", 16, "f4E2M1FN"),
            memref("(32,4):(1,32)", 16, "f4E2M1FN"),
            4,
            "src stride 3 of mode 1",
        ),
    ],
)  # fmt: skip
def test_widest_and_limit(src, dst, bits, limit):
    found = max_vector(src, dst)
    assert (found.bits, found.limit) == (bits, limit)


def test_alignment_is_what_the_swizzle_leaves():
    found = max_vector(memref("(8):(1)", 128, space="smem", swizzle=Swizzle(3, 3, 3)), memref("(8):(1)"))
    assert (found.src_align_bytes, found.dst_align_bytes, found.common_elements) == (8, 16, 8)


def test_different_element_widths_are_an_input_error():
    with pytest.raises(InputError, match="differ in width"):
        max_vector(memref("(8):(1)"), memref("(8):(1)", kind="f32"))


extents = st.sampled_from([1, 2, 3, 4, 8])
modes = st.tuples(extents, st.sampled_from([0, 1, 2, 4, 8, 12, 16, 64, 9, -8]))
views = st.tuples(
    st.lists(modes, min_size=1, max_size=3), st.lists(modes, max_size=2), st.sampled_from([2, 4, 8, 16, 48])
)


def view(parts):
    v, rest, align = parts
    shape = (tuple(s for s, _ in v), *(s for s, _ in rest))
    stride = (tuple(d for _, d in v), *(d for _, d in rest))
    return Memref(dtype("bf16"), "gmem", Layout(shape, stride), align)


def bears(m, n):
    """Whether V falls into runs of n adjacent elements whose byte addresses are multiples of 2n."""
    v = math.prod(m.layout[0].shape)
    if v % n:
        return False
    offsets = image(m.layout).reshape(-1, n)
    adjacent = (offsets == offsets[:, :1] + range(n)).all()
    return bool(
        adjacent
        and ((m.align_bytes + 2 * offsets[:, 0]) % (2 * n) == 0).all()
        and m.align_bytes % (2 * n) == 0
    )


@settings(max_examples=200, deadline=None)
@given(views, views)
def test_the_widest_is_the_widest(src, dst):
    """Static views: the largest n for which every vector of both sides is contiguous and aligned."""
    src, dst = view(src), view(dst)
    expected = max(n for n in (1, 2, 4, 8) if n == 1 or (bears(src, n) and bears(dst, n)))
    assert max_vector(src, dst).bits == 16 * expected


@pytest.mark.parametrize(
    ("m", "width", "promises"),
    [
        (memref("(128,64):(64,1)", 16), 128, []),
        (memref("(128,64):(64,1)", None), 128, [ALIGN16]),
        (memref("(32,8):(64,1)", None, space="smem"), 128, ["byte_alignment=16 in its allocation"]),
        (memref("(128,64):(?,1)", 16), 128, [DIV8 + "0"]),
        (memref("(128,64):(?{div=4},1)", None), 128, [ALIGN16, DIV8 + "0"]),
        (memref("(128,64):(?{div=4},1)"), 64, []),
        (memref("(8,(4,4)):(1,(?,?{div=2}))"), 64, [DIV4 + "1.0", DIV4 + "1.1"]),
        (memref("(8,16):(1,9)"), 128, ["impossible: the static stride 9 of mode 1 is not a multiple of 8"]),
        (memref("(128,64):(?,2)"), 128, ["impossible: no mode has the static stride 1"]),
        (memref("(128,4):(8,1)"), 128, ["impossible: only 4 elements are contiguous, 8 are needed"]),
        (
            memref("(8,4):(1,64)", 128, space="smem", swizzle=Swizzle(3, 3, 3)),
            128,
            ["impossible: the swizzle S<3,3,3> keeps only 8 B together"],
        ),
        (memref("(8,(2,4)):(2,(1,16))", 4), 32, []),
    ],
)  # fmt: skip
def test_missing_promises(m, width, promises):
    assert list(map(str, missing_promises(m, width))) == promises


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from([1, 2, 4, 8, "?", "?2"]), min_size=1, max_size=2),
    st.sampled_from([2, 4, 16]),
    st.sampled_from([32, 64, 128]),
)
def test_promises_suffice(pitches, align, width):
    """With every promise kept, the width is provable; where nothing is missing it already was."""
    strides = [Dynamic(2) if p == "?2" else Dynamic() if p == "?" else p * 8 for p in pitches]
    m = Memref(dtype("bf16"), "gmem", Layout((8, *([4] * len(strides))), (1, *strides)), align)
    kept = {p.path: p.value for p in missing_promises(m, width)}
    fixed = [Dynamic(kept[(i + 1,)]) if (i + 1,) in kept else d for i, d in enumerate(strides)]
    whole = Memref(m.dtype, "gmem", Layout(m.layout.shape, (1, *fixed)), kept.get((), align))
    assert max_vector(whole, whole).bits >= width
    assert bool(kept) == (max_vector(m, m).bits < width)


@pytest.mark.parametrize(
    ("inner", "stores"),
    [
        ("(1,(8,4)):(0,(1,16))", {"st.shared 4 B": 4}),
        ("(1,(32,2)):(0,(1,64))", {"st.shared 8 B": 4}),
        ("(1,(32,2)):(0,(1,0))", {"st.shared 8 B": 4}),
    ],
)
def test_a_first_part_of_one_element_divides_no_byte(inner: str, stores: dict[str, int]) -> None:
    """DSL 4.8.1 compiles each; of the first its PTX has four st.shared.b32."""
    shape, stride = inner.split(":")
    layout = f"({shape},(1,1)):({stride},(0,0))"
    spaces = ("rmem, align<32>", "smem, align<16>")
    src, dst = (f'!cute.memref<f4E2M1FN, {space}, "{layout}">' for space in spaces)
    found = lc.check(src, dst, "!cute_nvgpu.atom.universal_copy<f4E2M1FN>", arch="sm_100a")
    assert found.verdict == "legal"
    assert found.to_dict()["execution"]["operations"] == stores
