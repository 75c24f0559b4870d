"""Atoms that the DSL has and of which only types and operands are modelled, against its verifier."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")

import layoutcheck as lc
from layoutcheck.atoms.compiler import predict
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.dsl.lower import lower
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


def test_ptxas_refuses_the_attributes_that_the_model_says(dsl: Session) -> None:
    """Of registers and memory; the type and the verifier take them all (444 of them once)."""
    wrong = (
        ("g2r", 32, "mem_order = release mem_scope = gpu"),
        ("r2g", 32, "mem_order = acquire mem_scope = sys"),
        ("s2r", 32, "mem_order = acq_rel mem_scope = gpu"), ("r2s", 32, "mem_order = sc mem_scope = gpu"),
        ("g2r", 32, "mem_order = mmio mem_scope = gpu"), ("g2r", 128, "mem_order = mmio mem_scope = sys"),
        ("g2r f16", 64, "mem_order = mmio mem_scope = sys"), ("s2r", 32, "mem_order = mmio mem_scope = sys"),
        ("g2r", 32, "mem_order = volatile l1_cache_evict_priority = evict_last"),
        ("g2r", 128, "l1_cache_evict_priority = evict_first load_cache_mode = streaming"),
        ("r2g", 128, "l1_cache_evict_priority = no_allocate store_cache_mode = write_through"),
        ("g2r", 32, "mem_order = mmio mem_scope = sys l2_prefetch_size = size_64b"),
    )  # fmt: skip
    right = (
        ("g2r", 32, "mem_order = acquire mem_scope = gpu"),
        ("r2g", 32, "mem_order = release mem_scope = sys"),
        ("g2r", 32, "mem_order = mmio mem_scope = sys"), ("r2s", 128, "mem_order = volatile"),
        ("g2r f16", 32, "mem_order = mmio mem_scope = sys"),
        ("g2r f64", 64, "mem_order = mmio mem_scope = sys"),
        ("g2r", 128, "mem_order = relaxed mem_scope = gpu l1_cache_evict_priority = evict_last"),
        ("g2r", 128, "l2_prefetch_size = size_256b load_cache_mode = streaming"),
        ("r2g", 128, "l1_cache_evict_priority = no_allocate store_cache_mode = none"),
    )  # fmt: skip
    copies = []
    for moves, bits, attributes in (*wrong, *right):
        kind, element = moves.split() if " " in moves else (moves, "f32")
        atom = parse_atom(f"!cute_nvgpu.atom.{kind}<{element} copy_bits = {bits} {attributes}>")
        names = {"g": "gmem", "s": "smem", "r": "rmem"}
        view = f'align<16>, "({bits // int(element[1:])}):(1)">'
        sides = (parse_memref(f"!cute.memref<{element}, {names[at]}, {view}") for at in (kind[0], kind[2]))
        copies.append(Copy(atom, *sides))
    fails = [bool(one.error) for one in lower(copies, "sm_90a", session=dsl)]
    assert fails == [True] * len(wrong) + [False] * len(right)
    assert fails == [lc.check_copy(copy).verdict == "rejected" for copy in copies]


def test_atoms_of_registers_have_the_attributes_that_the_dsl_parses(dsl: Session) -> None:
    view = {name: f'!cute.memref<f32, {name}, align<16>, "(4):(1)">' for name in ("gmem", "smem", "rmem")}
    copies = []
    for kind, attributes in (
        ("g2r", "mem_order = relaxed invariant = true"), ("g2r", "mem_scope = gpu invariant = true"),
        ("g2r", "shared_space = cluster invariant = true"),
        ("r2g", "mem_order = relaxed store_cache_mode = streaming"),
    ):  # fmt: skip
        atom = parse_atom(f"!cute_nvgpu.atom.{kind}<f32 copy_bits = 128 {attributes}>")
        sides = ("gmem", "rmem") if kind == "g2r" else ("rmem", "gmem")
        copies.append(Copy(atom, *(parse_memref(view[name]) for name in sides)))
    assert agree(copies, dsl) == ["rejected", "rejected", "accepted", "rejected"]
    for strange in (
        "g2r<f32 copy_bits = 128 mem_order = strong>",
        "s2r<f32 copy_bits = 128 load_cache_mode = none>",
    ):
        assert not isinstance(parse_atom(f"!cute_nvgpu.atom.{strange}"), RegisterCopy)
