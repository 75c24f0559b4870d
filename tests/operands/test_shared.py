"""Shared operands of wgmma and tcgen05 in traced modules, against what a descriptor can say (LC607)."""

from __future__ import annotations

import pytest

from layoutcheck.operands import check_operands
from layoutcheck.rulebook import rule
from layoutcheck.sources.traced import KernelFinding
from layoutcheck.sources.traced_module import TracedModule

WGMMA = "sm90.mma<64x128x16, ab_major = ({}), elem_type = (f16, f16, f32), frag_kind = ss>"
TCGEN05 = (
    "sm100.mma<128x128x16, num_cta = 1, ab_major = ({}), elem_type = (f16, f16, f32), frag_kind = ss, "
    "c_scale_exp = 0>"
)
MADE = (
    '  %1 = "cute.mma.make_fragment"(%a, %b) <{{operand_id = {operand} : i32}}> : '
    '(!cute.tiled_mma<!cute_nvgpu.{atom}, atom_layout_MNK = <"(1,1,1):(0,0,0)">, '
    'permutation_MNK = <"[_;_;_]">>, !cute.memref<{element}, smem, align<1024>, {view}>) -> '
    '!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,2,4):(0,512,2)">\n'
)


def findings(atom: str, view: str, operand: int = 0, element: str = "f16") -> tuple[KernelFinding, ...]:
    return report(MADE.format(operand=operand, atom=atom, view=view, element=element))[0]


def report(text: str) -> tuple[tuple[KernelFinding, ...], tuple[str, ...]]:
    found = check_operands(TracedModule(text, "k", "sm_90a", {}, ()))
    return found.findings, found.unchecked


@pytest.mark.parametrize("atom", [WGMMA, TCGEN05])
@pytest.mark.parametrize(
    ("majors", "view"),
    [
        ("k, k", 'S<3,4,3>, "((64,16),2,4,(1,7)):((64,1),4096,16,(0,8192))"'),
        ("k, k", 'S<2,4,3>, "((64,16),2,4):((32,1),2048,(16,4096))"'.replace("(16,4096)", "16")),
        ("mn, k", 'S<3,4,3>, "((64,16),2,4):((1,64),4096,1024)"'),
        ("k, k", '"((64,(8,2)),2,4):((8,(1,512)),1024,2048)"'),
    ],
)
def test_canonical_tiles_are_left_alone(atom: str, majors: str, view: str) -> None:
    assert findings(atom.format(majors), view) == ()


@pytest.mark.parametrize("atom", [WGMMA, TCGEN05])
def test_a_tile_without_its_swizzle_is_rejected_with_the_atom_that_fits(atom: str) -> None:
    (one,) = findings(atom.format("k, k"), '"((64,16),2,4):((64,1),4096,16)"')
    assert (one.code, one.severity, one.evidence["operand"]) == ("LC607", "rejected", "A")
    assert "SmemLayoutAtomKind.K_SW128" in one.message and "tile_to_shape(atom, (128, 64)" in one.message
    assert one.places[0].what == "the fragment of A"


def test_the_other_major_is_told_as_that() -> None:
    (one,) = findings(WGMMA.format("k, mn"), 'S<3,4,3>, "((128,16),1,4):((64,1),0,16)"', operand=1)
    assert "is K-major (K_SW128), and the MMA reads it MN-major" in one.title
    assert "b_major_mode=OperandMajorMode.K" in one.message


def test_a_stride_that_is_rounded_is_wrong() -> None:
    (one,) = findings(WGMMA.format("k, k"), 'S<3,4,3>, "((64,16),2,4):((60,1),4096,16)"')
    assert one.severity == "wrong" and "rounded" in one.message


@pytest.mark.parametrize(
    ("atom", "element", "why"),
    [
        (TCGEN05.replace("mma<", "mma_sp<").format("k, k"), "f16", "sparse MMAs"),
        (TCGEN05.format("k, k"), "f32", "f16 that lie in memory as f32"),
        (TCGEN05.replace("x16,", "x32,").format("k, k"), "f16", "an instruction that takes 32 k of f16"),
    ],
)
def test_what_is_not_modelled_is_said(atom: str, element: str, why: str) -> None:
    found, unchecked = report(
        MADE.format(operand=0, atom=atom, view='"((64,16),2,4):((64,1),1,16)"', element=element)
    )
    assert found == ()
    assert unchecked == (f"descriptors of 1 operands in shared memory: {why}",)


def test_the_rule_has_its_page() -> None:
    assert "make_smem_layout_atom" in rule("LC607").page()


def test_bytes_of_an_integer_tensor_are_what_a_signed_or_unsigned_mma_reads() -> None:
    """A tensor of Int8 or Uint8 is i8 in memory; the DSL compiles it as an operand of s8 and u8."""
    atom = WGMMA.format("k, k").replace("x16", "x32").replace("f16, f16, f32", "si8, si8, i32")
    assert findings(atom, 'S<3,4,3>, "((64,32),1,4):((128,1),0,32)"', element="i8") == ()
    assert findings(atom, '"((64,32),1,4):((128,1),0,32)"', element="i8")[0].code == "LC607"
    assert report(MADE.format(operand=0, atom=atom, view='"((64,32),1,4):((128,1),0,32)"', element="f16"))[1]
