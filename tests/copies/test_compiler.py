"""What the compiler says, as the DSL said it: one copy a rule, and every disagreement ever found.

tests/conformance/test_verifier.py asks the installed DSL about the same tables.
"""

from __future__ import annotations

import time
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.algebra.notation import parse_layout
from layoutcheck.atoms.compiler import predict, predict_verifier
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.other import OtherAtom
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.compiler.vectors import Inadmissible, contiguous_run, text, vector_strides
from layoutcheck.copies.copy import OPS, Copy
from layoutcheck.copies.opaque import other_operand
from layoutcheck.copies.tiled import TiledCopy
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from tests.conformance.generate import random_copy
from tests.miscompiles import memref

BF16 = dtype("bf16")
TF32 = dtype("tf32")
INDEX = dtype("index")
U128 = UniversalCopy(BF16, 128)
CP128 = CpAsync(BF16, 128)
G2R = RegisterCopy("g2r", BF16, 128)
LDSM = LdMatrix(BF16, 4)


def copy(atom: Atom | None, src: str, dst: str, pred: str | None = None, op: str = "copy") -> Copy:
    """Operands in the words of `tests.miscompiles.memref`."""
    return Copy(atom, memref(src), memref(dst), None if pred is None else memref(pred), op=op)


def g(layout: str, align: int = 16, name: str = "bf16") -> str:
    return f"{name} gmem align<{align}> {layout}"


def s(layout: str, align: int = 16, name: str = "bf16") -> str:
    return f"{name} smem align<{align}> {layout}"


def r(layout: str, align: int = 16, name: str = "bf16") -> str:
    return f"{name} rmem align<{align}> {layout}"


P = "i8 rmem align<1> "

# (copy, operand, kind, message): what the MLIR verifier says of the operands as they stand.
REJECTED: list[tuple[Copy, str | None, str, str]] = [
    # shapes: static before rank, rest modes before V
    (copy(U128, g("(8,?):(1,8)"), s("8:1")), "src", "dynamic_shape",
     "expects src and dst to have static shape"),
    (copy(U128, g("(8,2):(1,8)"), s("8:1")), None, "rank", "`src.rank() = 2` != `dst.rank() = 1`"),
    (copy(U128, g("8:1"), s("(4):(1)")), None, "mode_size",
     "expects same size in rank 0 but got srcShape: 8 and dstShape: (4)"),
    (copy(U128, g("(8,2,3):(1,8,1)"), s("(4,3,2):(1,8,1)")), None, "mode_size",
     "expects same size in rank 1 but got srcShape: (8,2,3) and dstShape: (4,3,2)"),
    (copy(U128, g("((8,2),2):((1,8),8)"), s("((8,4),2):((1,4),8)")), None, "rest_v_size",
     "expects same size in restAtomVRank, but got srcShape: ((8,2),2) and dstShape: ((8,4),2)"),
    # universal_copy
    (copy(U128, "bf16 tmem align<16> (8):(1)", s("(8):(1)")), "src", "space",
     f"'{U128}' src and dst need be non-tmem based memref"),
    (copy(U128, g("(8):(1)"), s("(8):(1)", name="f32")), None, "element_width",
     f"'{U128}' src and dst need to have the same element size"),
    (copy(U128, g("(8):(1)", name="f6E2M3FN"), s("(8):(1)")), "src", "npow2_sub_byte",
     f"'{U128}' doesn't support npow2 sub-byte type"),
    (copy(UniversalCopy(BF16, 16), g("(8):(1)", name="f32"), s("(8):(1)", name="f32")), "atom", "width",
     f"'{UniversalCopy(BF16, 16)}' expected copy_bits > bits_per_element(32), but got 16"),
    (copy(U128, g("(8):(1)", 8), s("(8):(2)", 2)), "dst", "static_strides_one",
     f"'{U128}' cannot vectorize copy to 8 elements (static strides must be 1)"),
    (copy(U128, g("((4,2)):((1,1))"), s("(8):(1)")), None, "static_strides_match",
     f"'{U128}' cannot vectorize copy to 8 elements (static strides must match)"),
    (copy(U128, g("(12,4):(1,?)", 2), s("(12,4):(1,24)")), "src", "src_alignment",
     f"S ptr alignment (16 bits) does not meet requirement (128 bits) of atom '{U128}'"),
    (copy(U128, r("(8):(1)", 2), g("(8):(?)", 1)), "dst", "dst_alignment",
     f"D ptr alignment (8 bits) does not meet requirement (16 bits) of atom '{U128}'"),
    (copy(U128, r("(8):(1)", 2), r("(8):(1)", 1)), "dst", "dst_alignment",
     f"D ptr alignment (8 bits) does not meet requirement (128 bits) of atom '{U128}'"),
    # of two registers the destination is looked at, and called S where both types are one
    (copy(U128, r("(8):(1)", 2), r("(8):(1)", 2)), "dst", "dst_alignment",
     f"S ptr alignment (16 bits) does not meet requirement (128 bits) of atom '{U128}'"),
    (copy(U128, r("(8):(1)", 2), r("8:1", 2)), "dst", "dst_alignment",
     f"D ptr alignment (16 bits) does not meet requirement (128 bits) of atom '{U128}'"),
    # width 0 asks for the run that both layouts have, as far as the pointer bears whole elements
    (copy(UniversalCopy(BF16), g("((12,2,1)):((1,16,0))", 1), s("((8,3)):((1,16))")), "src", "src_alignment",
     f"S ptr alignment (8 bits) does not meet requirement (64 bits) of atom '{UniversalCopy(BF16)}'"),
    (copy(UniversalCopy(BF16), g("(6):(1)", 5), s("(6):(1)")), "src", "src_alignment",
     f"S ptr alignment (40 bits) does not meet requirement (32 bits) of atom '{UniversalCopy(BF16)}'"),
    # cp.async
    (copy(CP128, "bf16 generic (8):(1)", g("(8):(1)")), "src", "space",
     "src expects global based memref, but got generic"),
    (copy(CP128, g("(8):(1)"), g("(8):(1)")), "dst", "space",
     "dst expects shared based memref, but got gmem"),
    (copy(CpAsync(BF16, 16, "global"), g("(8):(1)", 1), s("(8):(1)")), "atom", "width",
     f"'{CpAsync(BF16, 16, 'global')}' 'cp_size' only supports (32, 64, 128), but got 16."),
    (copy(CpAsync(BF16, 64, "global"), g("(8):(1)", 1), s("(8):(1)")), "atom", "width",
     f"'{CpAsync(BF16, 64, 'global')}' 'cp_size' only supports (128), but got 64."),
    (copy(CpAsync(BF16, 0), g("(8):(1)"), s("(8):(1)")), "atom", "width",
     f"'{CpAsync(BF16, 16)}' 'cp_size' only supports (32, 64, 128), but got 16."),
    (copy(CP128, g("(8):(1)", 12), s("(8):(1)")), "src", "src_alignment",
     f"src ptr alignment (96 bits) does not meet requirement (128 bits) of atom '{CP128}'"),
    (copy(CP128, g("(8):(1)"), s("(8):(1)", 8)), "dst", "dst_alignment",
     f"dst ptr alignment (64 bits) does not meet requirement (128 bits) of atom '{CP128}'"),
    # g2r, r2g, s2r, r2s: element before space before width
    (copy(G2R, g("(8):(1)", 1, "f6E2M3FN"), r("(8):(1)")), "src", "npow2_sub_byte",
     "expects src and dst element not to be non-pow2 sub-byte type, but got f6E2M3FN and bf16"),
    (copy(G2R, s("(8):(1)"), r("(8):(1)", name="f32")), None, "element_width",
     "expects src and dst element to have size equal to 16, but got bf16 and f32"),
    (copy(RegisterCopy("g2r", BF16, 16), s("(8):(1)", name="f32"), r("(8):(1)", name="f32")), "src", "space",
     "expects src to be gmem-based or generic memref, but got smem"),
    (copy(RegisterCopy("g2r", BF16, 16), g("(8):(1)", name="f32"), r("(8):(1)", name="f32")), "atom", "width",
     "expects copy_bits to be a multiple of bits_per_elt(32), but got 16"),
    (copy(G2R, g("(8):(2)"), r("(8):(?)")), "dst", "dynamic_strides",
     "expects atom strides of src and dst to be static and equal to 1, but got 2 and ?"),
    (copy(G2R, g("(2,4):(1,8)"), r("(2,4):(1,2)")), "src", "static_strides_one",
     "expects atom strides of src and dst to be static and equal to 1, but got (1,8) and 1"),
    (copy(G2R, g("(6):(2)"), r("((6,1)):((1,0))")), "src", "static_strides_one",
     "expects atom strides of src and dst to be static and equal to 1, but got 2 and x"),
    (copy(G2R, "bf16 generic align<8> (8):(1)", r("(8):(1)", 2)), "src", "src_alignment",
     "expects src ptr bit alignment to be divisible by copy_bits(128), but got 64"),
    # ldmatrix, stmatrix: the message counts the atom's bits, the check the tensor's
    (copy(LDSM, g("(8):(1)"), r("(8):(1)")), "src", "space",
     f"'{LDSM}' src needs be shared based memref and dst needs be reg based memref"),
    (copy(LDSM, s("((2,4),2):((1,2),8)", 2), r("((8,4),2):((1,2),8)")), "src", "src_alignment",
     f"src ptr alignment (16 bits) does not meet requirement (32 bits) of atom '{LDSM}'"),
    (copy(LDSM, s("(8):(1)", 16, "f32"), r("(8):(1)")), "src", "src_alignment",
     f"src ptr alignment (128 bits) does not meet requirement (128 bits) of atom '{LDSM}'"),
    (copy(StMatrix(BF16, 4), s("(8):(1)"), r("(8):(1)")), "src", "space",
     f"'{StMatrix(BF16, 4)}' src needs be reg based memref and dst needs be shared based memref"),
    (copy(StMatrix(BF16, 4), r("(8):(1)"), s("(8):(1)", 8)), "dst", "dst_alignment",
     f"dst ptr alignment (64 bits) does not meet requirement (128 bits) of atom '{StMatrix(BF16, 4)}'"),
    # predicates: before the atom's own checks
    (copy(CP128, g("((8,1),2):((1,0),8)", 2), s("((8,1),2):((1,0),8)"), "i8 tmem (1,?):(0,1)"), "pred",
     "pred_space", "expects pred's address space to be rmem/smem/gmem/generic"),
    (copy(CP128, g("((8,1),2):((1,0),8)"), s("((8,1),2):((1,0),8)"), P + "(?):(0)"), "pred",
     "pred_dynamic_shape", "expects pred to have static shape"),
    (copy(CP128, g("((8,1),2):((1,0),8)"), s("((8,1),2):((1,0),8)"), P + "(1):(0)"), "pred", "pred_rank",
     "`pred rank = 1` != `src rank = 2`"),
    (copy(CP128, g("((8,(2,2)),2):((1,(0,0)),8)"), s("((8,4),2):((1,0),8)"), P + "(4,3):(0,1)"), "pred",
     "pred_shape", "expects pred to have compatible shape with: ((2,2),2) but got actual predShape: (4,3)"),
    (copy(CP128, g("((8,1),2):((1,0),8)"), s("(8,2):(1,8)"), P + "(1,2):(0,1)"), "pred", "pred_shape",
     "expects pred to have compatible shape with: ((8,1),2) but got actual predShape: (1,2)"),
    (copy(U128, g("(8,2):(1,8)"), s("(8,2):(1,8)"), P + "(8,5):(0,1)"), "atom", "pred_width",
     "expects copy_bits to be : 16 but got : 128"),
    (copy(UniversalCopy(TF32, 32), g("(8):(1)", name="tf32"), s("(8):(1)", name="tf32"), P + "(8):(1)"),
     "atom", "pred_width", "expects copy_bits to be : 19 but got : 32"),
    # types
    (copy(UniversalCopy(BF16, 96), g("(8):(1)"), s("(8):(1)")), "atom", "atom_width",
     "expected copy_bits to be 0 (auto) or a power of 2 (>= 8), but got 96"),
    (copy(RegisterCopy("g2r", BF16, 96), g("(8):(1)"), r("(8):(1)")), "atom", "atom_width",
     "expects copy_bits to be a power of 2 (>= 8), but got 96"),
    (copy(RegisterCopy("g2r", BF16, 8), g("(8):(1)"), r("(8):(1)")), "atom", "atom_width",
     "expects copy_bits to be a multiple of bits_per_elt(16), but got 8"),
    (copy(RegisterCopy("g2r", BF16, 128, (("mem_order", "relaxed"), ("load_cache_mode", "streaming"))),
          g("(8):(1)"), r("(8):(1)")), "atom", "atom_options",
     "expects load_cache_mode to be 'always' when mem_order is not 'weak', "
     "but got 'streaming' and 'relaxed'"),
    (copy(LdMatrix(BF16, 3), s("(8):(1)"), r("(8):(1)")), "atom", "atom_form",
     "LDSM is not supported with this config."),
    (copy(StMatrix(BF16, 4, False, (16, 8)), r("(8):(1)"), s("(8):(1)")), "atom", "atom_form",
     "STSM is not supported with this config."),
    (copy(U128, "bf16 tmem align<16> S<3,4,3> (8):(1)", s("(8):(1)")), "src", "pointer_type",
     "tmem pointer does not support non-identity swizzle"),
    (copy(U128, g("(8):(1)"), s("(8):(1)"), "i24 tmem (8):(1)"), "pred", "pointer_type",
     "tmem pointer only supports 32 bit chunks that is a power of 2, got 96"),
    (copy(U128, "bf16 gmem align<2> S<3,4,3> (8,2):(1,1@1)", s("(8,2):(1,8)")), "src", "codomain",
     "expected iterator and layout codomain to have congruent profiles, but got iterator "
     "'!cute.ptr<bf16, gmem, S<3,4,3>>' and layout layout: (8,2):(1,1@1) with co-domain profile (1,1)"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "operand", "kind", "message"), REJECTED)
def test_rejections_of_the_verifier(what: Copy, operand: str | None, kind: str, message: str) -> None:
    said = predict_verifier(what)
    assert (said.outcome, said.kind, said.operand, said.message) == ("rejected", kind, operand, message)


ACCEPTED = [
    copy(U128, g("(8):(1)"), s("(8):(1)", 1)),  # the destination's pointer is not looked at
    copy(U128, g("((8,2),2):((1,8),8)"), s("((4,2),2):((1,4),8)")),  # nor the sizes of the atoms
    copy(U128, g("(8):(?)", 2), s("(8):(1)", 2)),
    copy(U128, g("(4,1):(1,?)"), s("(4,1):(1,?)")),
    copy(U128, g("(6):(?)"), s("((6,1)):((1,0))")),  # dynamic decides before inadmissible
    copy(U128, g("(3,4):(1,3)"), s("(3,4):(1,3)")),
    copy(U128, "bf16 smem align<16> S<3,2,3> (8):(1)", r("(8):(1)")),
    copy(UniversalCopy(BF16), r("(8):(1)", 9), r("(8):(1)", 2)),
    copy(UniversalCopy(BF16, 8), "i4 gmem align<1> (8):(1)", "i4 rmem (8):(1)"),
    copy(U128, g("(8):(1)", name="tf32"), s("(8):(1)", name="f32")),
    copy(CP128, g("(8):(64)"), s("(8):(64)")),  # cp.async never looks at strides
    copy(CpAsync(BF16, 32), g("(8):(?)", 8, "f64"), s("(8):(1)", 8)),  # nor at element types
    copy(CP128, g("(8,2):(1,8)"), s("(8,2):(1,8)"), "f6E2M3FN rmem (8,2):(0,0)"),
    copy(G2R, g("((4,2)):((1,1))"), r("(8):(1)", 2)),  # the product of the strides is what is tested
    copy(RegisterCopy("g2r", BF16, 0), g("(8):(3)", 2), r("(8):(?)")),
    copy(LDSM, s("(4):(?)", 8), r("(4):(7)", 1, "f64")),
    copy(StMatrix(BF16, 1), r("(8):(1)", 1), s("(8):(5)")),
]


@pytest.mark.parametrize("what", ACCEPTED)
def test_what_the_verifier_lets_pass(what: Copy) -> None:
    assert predict_verifier(what).accepted


ABORTS = [
    (copy(U128, g("(3,4):(1,4)"), g("(3,4):(1,3)")), "src", "inadmissible_vector"),
    (copy(U128, g("(6):(1)"), s("((6,1)):((1,0))")), "dst", "inadmissible_vector"),
    (copy(G2R, g("(3,8):(1,5)"), r("(3,8):(1,5)")), "src", "inadmissible_vector"),
    (copy(UniversalCopy(BF16, 16), "i4 gmem (8):(1)", "i4 gmem align<1> (8):(1)"), "src",
     "unaligned_sub_byte"),
    (copy(LDSM, "i4 smem (8):(1)", "i4 rmem (8):(1)"), "src", "unaligned_sub_byte"),
    (copy(UniversalCopy(INDEX, 32), g("(8):(1)", name="f32"), r("(8):(1)", name="f32"), P + "(8):(1)"),
     "atom", "index_pred"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "operand", "kind"), ABORTS)
def test_what_kills_the_compiler(what: Copy, operand: str, kind: str) -> None:
    said = predict_verifier(what)
    assert (said.outcome, said.kind, said.operand) == ("aborts", kind, operand)
    assert said.message.startswith(f"the compiler dies of {said.evidence['signal']} ")


def test_a_tiled_copy_is_judged_as_its_atom_but_for_the_width_under_a_predicate() -> None:
    bare = copy(U128, g("(8,2):(1,8)", 2), s("(8,2):(2,8)"), P + "(8,2):(0,1)")
    tiled = replace(bare, tiled=TiledCopy(U128, parse_layout("(32,8):(8,1)"), (parse_layout("256:1"),)))
    assert predict_verifier(bare).kind == "pred_width"
    assert predict_verifier(tiled).kind == "static_strides_one"
    assert predict_verifier(replace(tiled, pred=None)) == predict_verifier(replace(bare, pred=None))


# (copy, kind, message): through the Python functions.
THROUGH_PYTHON: list[tuple[Copy, str, str]] = [
    (copy(U128, g("8:1"), s("(8,1):(1,0)", name="f32")), "element_width",
     "`copy` currently only supports equal source and destination element type bit width"),
    (copy(U128, g("8:1"), s("(8,1):(1,0)")), "rank",
     "Expected source and destination tensors to have the same rank, but got 1 and 2"),
    (copy(U128, g("(8,2):(1,8)"), s("(8,1):(1,0)")), "mode_size",
     "Expected source and destination tensors to have the same size in mode-1, but got 2 and 1"),
    (copy(U128, g("(8,?):(1,8)"), s("(8,1):(1,0)")), "dynamic_shape",
     "expects src and dst to have static shape"),
    (copy(U128, g("(4):(1)"), s("(4):(1)")), "static_strides_one",  # (4,(1)):(1,(0)) by then
     f"'{U128}' cannot vectorize copy to 8 elements (static strides must be 1)"),
    (copy(U128, g("(8):(1)"), s("(8):(1)"), "i8 rmem (1,1,1):(0,0,0)"), "pred_width",
     "expects copy_bits to be : 16 but got : 128"),
    (copy(U128, g("((8,1,1)):((1,0,0))"), s("(8):(1)"), op="copy_atom_call"), "v_rank",
     "V-mode (mode-0) with rank > 2 is not supported yet, "
     "but got rank(src, mode=[0]) = 3 and rank(dst, mode=[0]) = 1"),
    (copy(U128, g("?:1"), s("(8):(1)"), op="copy_atom_call"), "bare_extent",
     "'Int32' object is not subscriptable"),
    (copy(U128, g("(8):(1)"), s("(8):(1)", name="f32"), op="copy_atom_call"), "element_width",
     "`copy_atom_call` currently only supports equal source and destination element type bit width"),
    (copy(U128, g("(8,?):(1,8)"), s("(8,?):(1,8)"), op="copy_atom_call"), "dynamic_shape",
     "expects src and dst to have static shape"),
    (copy(None, g("(8):(1)"), s("(8):(1)", name="f32"), op="autovec_copy"), "element_width",
     "autovec_copy only supports equal source and destination element type bit widths, "
     "got BFloat16 and Float32"),
    (copy(None, g("(?):(1)"), s("(8):(1)"), op="autovec_copy"), "dynamic_shape",
     "autovec_copy expects source and destination tensors to be statically shaped"),
    (copy(None, g("(16):(1)"), s("(8):(1)"), op="autovec_copy"), "mode_size",
     "expects same size in rank 1 but got srcShape: (8,2) and dstShape: (8,1)"),
    (copy(None, g("(8):(1)", 3), s("(8):(1)"), op="autovec_copy"), "autovec_alignment",
     "Expected size in shape to be strictly positive, but got 0"),
    (copy(None, g("(6,1):(?{i64},60)"), s("8:1"), op="autovec_copy"), "inadmissible_common",
     "unable to compute the following composition: "
     "'!cute.layout<\"(6,1):(?{i64},60)\">' o '!cute.layout<\"8:1\">'"),
    (replace(copy(None, s("(8):(1)"), r("(8):(1)"), op="autovec_copy"), evict_priority=True),
     "evict_priority",
     "CopyS2ROp._make_trait() got an unexpected keyword argument 'l1c_evict_priority'"),
    (copy(None, g("(8,2):(1,8)"), s("(16):(1)"), op="basic_copy"), "rank",
     "`src.rank() = 2` != `dst.rank() = 1`"),
    (copy(None, g("(?):(1)"), "bf16 dsmem align<4> (8):(1)", op="basic_copy"), "space",
     "tensor<ptr<bf16, dsmem, align<4>> o (8):(1)> doesn't support load and store"),
    (copy(None, g("(2):(1)"), s("(1):(1)"), P + "(8):(1)", op="basic_copy_if"), "size",
     "basic_copy expects the size of source, destination, and predicate tensors to match"),
    (copy(None, g("(2):(1)"), s("(2):(1)", name="i16"), P + "(2):(1)", op="basic_copy_if"), "element_type",
     "type mismatch, store bf16 to Int16"),
    (copy(None, g("(?):(1)", name="f32"), s("(2):(1)", name="i16"), op="basic_copy"), "element_width",
     "Type mismatch, store Float32 (-> Float32) to Tensor with element type Int16"),
    (copy(None, g("(2):(1)", name="f4E2M1FN"), s("(2):(1)", name="f4E2M1FN"), P + "(2):(1)",
          op="basic_copy_if"), "sub_byte_element",
     "Sub-byte scalar dereference not supported for type Float4E2M1FN"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "kind", "message"), THROUGH_PYTHON)
def test_rejections_on_the_way_through_python(what: Copy, kind: str, message: str) -> None:
    said = predict(what)
    assert (said.outcome, said.kind, said.message) == ("rejected", kind, message)


def test_rest_modes_are_compared_as_one() -> None:
    """cute.copy groups them, the bare operation does not."""
    what = copy(U128, g("(8,2,3):(1,8,16)"), s("(8,3,2):(1,8,24)"))
    assert predict(what).accepted
    assert predict_verifier(what).kind == "mode_size"


def test_unroll_factor_leaves_everything_unchecked() -> None:
    what = copy(CpAsync(BF16, 16), g("(8,2):(3,1)", 1), r("(4,2):(?,1)"), op="copy_atom_call")
    assert predict(what).accepted


def test_what_is_not_modelled_is_unknown() -> None:
    other = OtherAtom("tmem_load", "!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x4>")
    said = predict(copy(other, g("(8):(1)"), r("(8):(1)")))
    assert (said.outcome, said.kind, said.operand) == ("unknown", "unsupported_atom", "atom")
    opaque = replace(copy(U128, g("8:1"), s("8:1")), src=other_operand("cute.coord_tensor", "..."))
    said = predict(opaque)
    assert (said.outcome, said.kind, said.operand) == ("unknown", "unsupported_operand", "src")


def test_a_copy_without_an_atom_or_of_an_unknown_kind() -> None:
    with pytest.raises(InputError, match="needs an atom"):
        predict(copy(None, g("8:1"), s("8:1")))
    with pytest.raises(InputError, match="unknown kind of copy 'move'"):
        predict(copy(U128, g("8:1"), s("8:1"), op="move"))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(OPS))
def test_every_copy_gets_an_answer(seed: int, op: str) -> None:
    """No exception escapes, and what is not accepted says why."""
    what = replace(random_copy(Random(seed)), op=op)
    for said in (predict(what), predict_verifier(what)):
        assert said.outcome in ("accepted", "rejected", "aborts", "unknown")
        assert said.accepted == (said.message == "") == (said.kind == "")
        assert said.operand in (None, "src", "dst", "pred", "atom")


def test_a_layout_of_thousands_of_modes_is_answered_at_once() -> None:
    modes = ",".join(["2"] * 2000)
    strides = ",".join(str(2 * i + 1) for i in range(2000))
    long = f"({modes}):({strides})"
    what = copy(U128, g(long), s(long))
    started = time.perf_counter()
    assert predict(what).kind == "static_strides_one"
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("layout", "n", "strides"),
    [
        ("8:1", 8, "1"),
        ("(4,2):(1,4)", 8, "1"),
        ("(4,2):(1,64)", 8, "(1,64)"),
        ("(8,4):(1,?)", 8, "1"),
        ("(4):(1)", 8, "1"),  # the last mode is endless
        ("(4,1):(1,0)", 8, "(1,0)"),  # and an extent of 1 at the end counts as 2
        ("(4,1):(1,4)", 8, "1"),
        ("(12,4):(1,24)", 8, "1"),
        ("(2,1,4):(1,9,2)", 8, "1"),
        ("(3,4):(1,4)", 8, "x"),
        ("(3,4):(1,3)", 8, "1"),
        ("12:5", 1, "0"),
    ],
)
def test_the_strides_a_vector_meets(layout: str, n: int, strides: str) -> None:
    found = vector_strides(parse_layout(layout), n)
    assert text(found) == strides
    assert isinstance(found, Inadmissible) == (strides == "x")


@pytest.mark.parametrize(
    ("layout", "run"),
    [("8:1", 8), ("(4,2):(1,4)", 8), ("(4,2):(1,8)", 4), ("(2,8):(8,1)", 1), ("(1,8):(5,1)", 8), ("8:?", 1)],
)
def test_the_run_that_a_layout_begins_with(layout: str, run: int) -> None:
    assert contiguous_run(parse_layout(layout)) == run
