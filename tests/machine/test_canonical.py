"""Canonical operand layouts: what is one, what is nearest, and what the compiler accepts and the hardware
reads otherwise."""

from __future__ import annotations

import json

import numpy as np
import pytest

import layoutcheck as lc
from layoutcheck import cli
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine.canonical import canonical
from layoutcheck.machine.canonical.decide import Decision
from layoutcheck.machine.canonical.described import atom_tile, described
from layoutcheck.machine.dtypes import dtype as read_dtype
from layoutcheck.machine.tiles import in_bytes
from layoutcheck.reports.banks import analyse, read_as


def test_cutlass_3078() -> None:
    """make_ordered_layout (64,128) as operand A of wgmma: "failed to legalize make_gmma_smem_desc"."""
    found = lc.canonical("(64,128):(128,1)", "f16")
    assert found.verdict == "rejected"
    assert "Expected stride failure" in found.decision.message
    assert found.nearest_name == "K_SW128"
    assert (found.nearest, found.nearest_swizzle) == ("((8,8),(64,2)):((64,512),(1,4096))", "S<3,4,3>")


@pytest.mark.parametrize("unit", ["wgmma", "tcgen05"])
@pytest.mark.parametrize("name", ["f16", "tf32", "f8E4M3FN"])
@pytest.mark.parametrize("major", ["K", "MN"])
@pytest.mark.parametrize("bits", [0, 1, 2, 3])
def test_every_atom_tiled_is_canonical(unit: str, name: str, major: str, bits: int) -> None:
    width = lc.Swizzle(bits, 4, 3)
    tile = atom_tile((128, 128), {"f16": 16, "tf32": 32, "f8E4M3FN": 8}[name], major, width)
    assert tile is not None
    found = canonical(tile, name, major, width, unit)
    assert (found.verdict, found.name) == ("legal", f"{major}_{('INTER', 'SW32', 'SW64', 'SW128')[bits]}")


@pytest.mark.parametrize(
    ("layout", "swizzle", "at"),
    [
        ("(64,16):(60,1)", "S<3,4,3>", (1, 0)),  # 120 B a row are taken for 128
        ("(64,16):(64,2)", "S<3,4,3>", (0, 1)),  # every other element
        ("(64,16):(7,1)", None, (1, 0)),
    ],
)
def test_what_the_compiler_rounds_is_wrong(layout: str, swizzle: str | None, at: tuple[int, int]) -> None:
    found = canonical(layout, "bf16", "K", swizzle)
    assert found.verdict == "wrong"
    assert (found.evidence["mn"], found.evidence["k"]) == at


def test_the_same_layout_under_another_swizzle_is_nearest() -> None:
    found = canonical("(64,64):(64,1)", "bf16")
    assert (found.nearest, found.nearest_swizzle) == ("(64,64):(64,1)", "S<3,4,3>")
    assert canonical("(64,64):(1,64)", "bf16", "K", "S<3,4,3>").nearest_name == "MN_SW128"


@pytest.mark.parametrize(
    ("layout", "major", "order"),
    [  # as the DSL 4.8.1 prints tile_to_shape of the atom in that order
        ("((64,2),(8,16)):((1,512),(64,1024))", "K", "(0, 1)"),
        ("((64,2),(8,16)):((1,8192),(64,512))", "K", "(1, 0)"),
        ("((8,16),(64,2)):((64,512),(1,8192))", "MN", "(0, 1)"),
        ("((8,16),(64,2)):((64,1024),(1,512))", "MN", "(1, 0)"),
    ],
)
def test_the_code_makes_the_layout_that_is_named(layout: str, major: str, order: str) -> None:
    found = canonical(layout, "f16", major, "S<3,4,3>")
    other = "MN" if major == "K" else "K"
    assert found.nearest == layout and found.code.endswith(f"tile_to_shape(atom, (128, 128), order={order})")
    assert found.reason.endswith(f"With major {other} it is canonical")


def test_a_layout_that_no_order_of_tiles_gives_is_written_out() -> None:
    found = canonical("(128,64):(64,1)", "f16", "K", "S<2,4,3>")
    assert found.nearest_swizzle == "S<3,4,3>" and "tile_to_shape" in found.code
    found = canonical("((8,8),(64,2)):((64,2048),(1,512))", "f16")
    assert found.nearest == "((8,8),(64,2)):((64,2048),(1,512))"
    assert found.code.splitlines()[0].startswith(
        "layout = cute.make_layout(((8, 8), (64, 2)), stride=((64, 2048)"
    )
    assert "make_swizzle(3, 4, 3)" in found.code and "With major" not in found.reason


def test_the_descriptor_of_the_128_byte_swizzle() -> None:
    found = canonical("S<3,3,3> o 0 o (64,64):(64,1)", "bf16")
    assert (found.decision.leading_bytes, found.decision.stride_bytes, found.align_bytes) == (16, 1024, 1024)
    at = described((64, 16), 16, "K", lc.Swizzle(3, 4, 3), Decision(leading_bytes=16, stride_bytes=1024))
    expected = Layout((64, 16), (64, 1))
    assert np.array_equal(at, np.array([[expected((m, k)) * 16 for k in range(16)] for m in range(64)]))


@pytest.mark.parametrize(
    "arguments",
    [
        ("64:1",), ("(64,?):(64,1)",), ("(64,64):(64,1)", "f6E2M3FN"), ("(64,64):(64,1)", "bf16", "row"),
        ("(64,64):(64,1)", "bf16", "K", None, "mma.sync"), ("S<3,4,3> o 3 o (64,64):(64,1)",),
        ("(64,64):(1@0,1@1)",),
    ],
)  # fmt: skip
def test_unusable_input(arguments: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        canonical(*arguments)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["canonical", "(64,128):(128,1)", "--dtype", "f16"]) == 1
    text = capsys.readouterr().out
    assert "nearest  K_SW128" in text
    assert "make_smem_layout_atom" in text
    assert (
        cli.run(["canonical", "S<3,3,3> o 0 o (64,64):(64,1)", "--unit", "tcgen05", "--format", "json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["name"] == "K_SW128"


@pytest.mark.parametrize(("unit", "module"), [("wgmma", "warpgroup"), ("tcgen05", "tcgen05")])
def test_the_answer_as_json_and_its_code(unit: str, module: str) -> None:
    found = canonical("(64,128):(128,1)", "f16", unit=unit)
    assert found.to_dict() == {
        "verdict": "rejected",
        "name": "",
        "reason": found.reason,
        "compiler": found.decision.message,
        "leading_bytes": found.decision.leading_bytes,
        "stride_bytes": found.decision.stride_bytes,
        "align_bytes": 128,
        "swizzle": "S<0,4,3>",
        "read_as": "",
        "nearest": "((8,8),(64,2)):((64,512),(1,4096))",
        "nearest_swizzle": "S<3,4,3>",
        "nearest_name": "K_SW128",
        "code": found.code,
        "evidence": {},
    }
    assert f"cute.nvgpu.{module}.make_smem_layout_atom" in found.code


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i8"])
@pytest.mark.parametrize("base", [2, 3, 4, 5])
def test_a_composed_layout_counts_elements_here_as_in_banks(dtype: str, base: int) -> None:
    """One notation, one meaning: both commands read what the same swizzle in bytes on the pointer says."""
    run = 128 // (read_dtype(dtype).bits // 8)
    outer, inner = f"(64,{run}):({run},1)", Swizzle(3, base, 3)
    pointer = str(in_bytes(inner, read_dtype(dtype).bits))
    composed = f"{inner} o 0 o {outer}"
    a, b = canonical(composed, dtype), canonical(outer, dtype, "K", pointer)
    assert (a.verdict, a.name, a.swizzle) == (b.verdict, b.name, pointer)
    assert "counts elements" in a.read_as and "bytes" in b.read_as
    access = f"st 32 (8,4):(4,1) (1,{32 // read_dtype(dtype).bits})"
    assert analyse(composed, access, dtype)[0] == analyse(outer, access, dtype, pointer)[0]
    assert "counts elements" in read_as(composed, dtype, None)


def test_the_dsls_printed_atom_is_told_from_a_composed_layout() -> None:
    found = canonical("S<3,4,3> o 0 o ((8,8),(64,1)):((64,512),(1,0))", "bf16")
    assert found.verdict == "rejected" and "S<3,4,3> as `swizzle`, the pointer's" in found.reason
    assert canonical("((8,8),(64,1)):((64,512),(1,0))", "bf16", "K", "S<3,4,3>").name == "K_SW128"


def test_bytes_without_a_sign_are_int8_s_and_uint8_s() -> None:
    """The DSL prints both as i8, and its MMA of either makes a descriptor of it."""
    found = canonical("(128,64):(64,1)", "i8", swizzle="S<2,4,3>")
    assert (found.verdict, found.name) == ("legal", "K_SW64")
    assert canonical("(128,64):(64,1)", "i16", swizzle="S<2,4,3>").verdict == "rejected"


@pytest.mark.parametrize("name", ["i8", "int8", "uint8", "s8", "u8", "si8"])
def test_a_tensor_of_bytes_is_an_integer_operand(name: str) -> None:
    """The DSL compiles a wgmma of s8 from tensors of i8 (m64n64k32.s32.s8.s8 in its PTX)."""
    assert canonical("(64,128):(128,1)", name, swizzle="S<3,4,3>").name == "K_SW128"
    with pytest.raises(InputError, match="5 is not an element type"):
        canonical("(64,128):(128,1)", 5)  # type: ignore[arg-type]
