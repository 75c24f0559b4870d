"""Kernels as users write them, compiled: the error that reaches the user is the one predicted."""

from __future__ import annotations

import json
import re

import pytest

cutlass = pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")

from layoutcheck.atoms.compiler import predict  # noqa: E402
from layoutcheck.atoms.cp_async import CpAsync  # noqa: E402
from layoutcheck.atoms.matrix import LdMatrix  # noqa: E402
from layoutcheck.atoms.register import RegisterCopy  # noqa: E402
from layoutcheck.atoms.universal import UniversalCopy  # noqa: E402
from layoutcheck.copies.copy import Copy  # noqa: E402
from layoutcheck.machine.dtypes import dtype  # noqa: E402
from tests.forking import printed  # noqa: E402
from tests.miscompiles import memref  # noqa: E402

BF16 = dtype("bf16")
U128 = UniversalCopy(BF16, 128)
CP128 = CpAsync(BF16, 128)
G = "bf16 gmem align<16> "
S = "bf16 smem align<16> "
R = "bf16 rmem align<32> "
PAIR = "((8,1),2):((1,0),8)"

# What each kernel of `compiled_kernels` copies.
COPIES = {
    "element_width": Copy(U128, memref(G + "(8):(1)"), memref("f32 rmem align<32> (8):(1)")),
    "rank": Copy(U128, memref(G + "(8,2):(1,8)"), memref(R + "(16):(1)")),
    "mode_1_size": Copy(U128, memref(G + "(8,2):(1,8)"), memref(R + "(8,4):(1,8)")),
    "grouped_rest": Copy(U128, memref(G + "(8,2,3):(1,8,16)"), memref(S + "(8,3,2):(1,8,24)")),
    "dynamic_rest": Copy(U128, memref(G + "(8,?):(1,8)"), memref(G + "(8,?):(1,8)")),
    "source_alignment": Copy(CP128, memref("bf16 gmem align<2> (8):(1)"), memref(S + "(8):(1)")),
    "not_contiguous": Copy(U128, memref(G + "(8):(64)"), memref(R + "(8):(1)")),
    "v_shorter_than_the_vector": Copy(U128, memref(G + "(4):(1)"), memref("bf16 rmem align<8> (4):(1)")),
    "cp_async_width": Copy(CpAsync(BF16, 16), memref(G + "(8):(1)"), memref(S + "(8):(1)")),
    "cp_async_to_registers": Copy(CP128, memref(G + "(8):(1)"), memref(R + "(8):(1)")),
    "dynamic_stride_of_g2r": Copy(
        RegisterCopy("g2r", BF16, 128), memref(G + "(8):(?)"), memref(R + "(8):(1)")
    ),
    "ldmatrix_from_global": Copy(LdMatrix(BF16, 4), memref(G + "(8):(1)"), memref(R + "(8):(1)")),
    "predicate_shape": Copy(
        CP128, memref(G + PAIR), memref(S + PAIR), memref("i8 rmem align<32> (2,2):(1,2)")
    ),
    "nested_v_under_unroll_factor": Copy(
        U128,
        memref(G + "((8,1,1),2):((1,0,0),8)"),
        memref(S + "((8,1,1),2):((1,0,0),8)"),
        op="copy_atom_call",
    ),
    "autovec_of_another_size": Copy(None, memref(G + "(16):(1)"), memref(R + "(8):(1)"), op="autovec_copy"),
    "unroll_factor_checks_nothing_else": Copy(
        U128, memref(G + "(8,2):(2,16)"), memref(S + "(8,2):(1,8)"), op="copy_atom_call"
    ),
}


@pytest.fixture(scope="module")
def said() -> dict[str, str | None]:
    lines = printed("-m", "tests.conformance.compiled_kernels", arch="sm_90a").splitlines()
    return dict(json.loads(line) for line in lines)


def test_every_kernel_has_its_copy(said: dict[str, str | None]) -> None:
    assert set(said) == set(COPIES)


@pytest.mark.parametrize("name", COPIES)
def test_the_error_that_reaches_the_user(said: dict[str, str | None], name: str) -> None:
    ours, theirs = predict(COPIES[name]), said[name]
    if theirs is None:
        assert ours.accepted
    else:
        assert ours.outcome == "rejected"
        plain = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", theirs).split())
        assert ours.message in plain
