"""Atoms that the DSL has and of which only types and operands are modelled, against its verifier."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")

import layoutcheck as lc
from layoutcheck.atoms.compiler import predict
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.verifier import verify
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.diagnostics import copies_from_error
from layoutcheck.sources.types import parse_memref

BOX = 'g_stride = <"()"> tma_gbasis = <"(64,64):(1@0,1@1)">'
LOAD = f"!cute_nvgpu.atom.tma_load<bf16, copy_bits = 65536, mode = tiled, num_cta = 1, {BOX} override = true>"
STORE = f"!cute_nvgpu.atom.tma_store<bf16, copy_bits = 65536, mode = tiled, {BOX} override = true>"
GMEM = '!cute.memref<bf16, gmem, align<16>, "((64,64),1):((1,1024),0)">'
SMEM = '!cute.memref<bf16, smem, align<128>, S<3,4,3>, "((4096),1):((1),0)">'
LEFT = '!cute.coord_tensor<"(0,0)", "((64,64),1):((-1@0,-1@1),0)">'
SPCOMPRESS = "!cute_nvgpu.atom.tmem_load_spcompress<{}, 32 DP, 32 bit, x{}, {}>"


def agree(copies: list[Copy], dsl: Session) -> list[str]:
    """The outcomes; where it is said to be known, they are the DSL's."""
    ours = [predict(copy) for copy in copies]
    for copy, said, theirs in zip(copies, ours, verify(copies, session=dsl), strict=True):
        if said.outcome != "unknown":
            known = (said.outcome, said.message) == (theirs.outcome, theirs.message)
            assert known, f"{copy}\n  predicted {said}\n  DSL {theirs}"
    return [said.outcome for said in ours]


def test_operands_of_overridden_tensor_maps(dsl: Session) -> None:
    views = [GMEM, SMEM, LEFT, GMEM.replace("gmem", "smem"), SMEM.replace("4096", "2048"),
             SMEM.replace("smem", "rmem"), GMEM.replace("bf16", "f32")]  # fmt: skip
    copies = []
    for loads, there, here, left in product((True, False), views, views[:5], (None, LEFT)):
        sides = (there, here) if loads else (here, there)
        src, dst = map(parse_memref, sides)
        index = None if left is None else parse_memref(left)
        copies.append(Copy(parse_atom(LOAD if loads else STORE), src, dst, arch="sm_107a", index=index))
    outcomes = agree(copies, dsl)
    assert outcomes.count("rejected") > 100 and outcomes.count("unknown") >= 2
    # What is unknown is not refused: the DSL takes the sound one.
    sound = Copy(parse_atom(LOAD), parse_memref(GMEM), parse_memref(SMEM), index=parse_memref(LEFT))
    assert predict(replace(sound, arch="sm_107a")).outcome == "unknown"


def test_the_second_tensor_of_an_override_is_read() -> None:
    operands = f"{LOAD}, {GMEM}, {LEFT}, {SMEM}"
    text = f'error: unknown: x\n note: "cute.copy"(%6, %21, %32, %44) <{{a = 1}}> : ({operands}) -> ()'
    ((copy, _, _),) = copies_from_error(text)
    assert (str(copy.src), str(copy.index), str(copy.dst)) == (GMEM, LEFT, SMEM) and copy.atom.override
    for name in ("tma_load.override", "tma_load.multicast.override", "tma_store.override"):
        report = lc.check("(128,128):(1,128)", "(64,64):(1,64)", name, dtype="bf16")
        assert report.verdict == "unknown" and "override" in report.compiler.message


def test_types_and_destinations_of_compressing_loads(dsl: Session) -> None:
    f32, i32 = dtype("f32"), dtype("i32")
    view = parse_memref('!cute.memref<f32, tmem, align<16>, "(((8,32),1)):(((1,65536),0))">')
    own = parse_memref('!cute.memref<f32, rmem, align<32>, "((8,1)):((1,0))">')
    aux = Memref(i32, "rmem", parse_memref('!cute.memref<i32, rmem, "((1,1)):((1,0))">').layout, 32)
    atoms = [
        parse_atom(SPCOMPRESS.format(element, repeat, rest))
        for element, repeat, rest in product(
            (f32, i32, dtype("f16")),
            (1, 2, 3, 4, 8, 128, 256),
            ("max", "minabs", "max, red", "maxabs, red, nan"),
        )
    ]
    assert [str(parse_atom(str(atom))) for atom in atoms] == list(map(str, atoms))
    outcomes = agree(
        [Copy(atom, view, own, aux=one, arch="sm_107a") for atom in atoms for one in (None, aux)], dsl
    )
    assert outcomes.count("rejected") > 50 and outcomes.count("unknown") >= 4
