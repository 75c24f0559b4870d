"""Registers that are written again before they are read: what the compiler loads for them, by its PTX."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layoutcheck.check import check
from layoutcheck.dsl.lowered import Lowered, resolve
from layoutcheck.dsl.lowered.spaces import in_object
from layoutcheck.sources.traced import Trace
from layoutcheck.tracing import Script, traced
from tests.forking import printed

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")

PROGRAM = """
import glob, json, os, sys
import cutlass
from cutlass import cute

TYPES = {"i32": cutlass.Uint32, "f32": cutlass.Float32, "bf16": cutlass.BFloat16, "f16": cutlass.Float16}

@cute.jit
def do(ops: cutlass.Constexpr, r: cute.Tensor, given: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
    for op in ops:
        if cutlass.const_expr(op[0] == "copy"):
            _, bits, v, rest, src, dst = op
            layout = cute.make_layout((v, rest), stride=(1, v))
            universal, kind = cute.nvgpu.CopyUniversalOp(), given.element_type
            atom = cute.make_copy_atom(universal, kind, num_bits_per_copy=bits)
            source, target = given.iterator + src, r.iterator + dst
            cute.copy(atom, cute.make_tensor(source, layout), cute.make_tensor(target, layout))
        elif cutlass.const_expr(op[0] == "set"):
            r[op[1]] = out[op[1]]
        elif cutlass.const_expr(op[0] == "read"):
            out[512 + op[1]] = r[op[1]]
        elif cutlass.const_expr(op[0] == "at"):
            out[600] = r[n]
        elif cutlass.const_expr(op[0] == "if"):
            if n > 2:
                do(op[1], r, given, out, n)
            else:
                do(op[2], r, given, out, n)
        elif cutlass.const_expr(op[0] == "for"):
            for _ in cutlass.range(n):
                do(op[1], r, given, out, n)
        else:
            for _ in cutlass.range(op[2], unroll_full=True):
                do(op[1], r, given, out, n)

@cute.kernel
def kernel(given: cute.Tensor, out: cute.Tensor, n: cutlass.Int32, case: cutlass.Constexpr):
    do(case[2], cute.make_rmem_tensor(case[1], given.element_type), given, out, n)

@cute.jit
def host(given: cute.Tensor, out: cute.Tensor, n: cutlass.Int32, case: cutlass.Constexpr):
    kernel(given, out, n, case).launch(grid=(1, 1, 1), block=(1, 1, 1))

found = []
for case in json.loads(sys.argv[1]):
    kind = TYPES[case[0]]
    tensors = [cute.runtime.make_fake_compact_tensor(kind, (65536,), assumed_align=16) for _ in "ab"]
    cute.compile(host, *tensors, cutlass.Int32(3), case)
    for ptx in glob.glob(os.environ.get("CUTE_DSL_DUMP_DIR", "/dev/null") + "/*.ptx"):
        found.append(open(ptx).read())
        os.remove(ptx)
print(json.dumps(found))
"""
FIRST, SECOND = ["copy", 128, 1, 4, 0, 0], ["copy", 128, 1, 4, 64, 4]  # 4 words each, by vectors of 4
ALL: list[Any] = [["read", i] for i in range(8)]
CASES: dict[str, tuple[list[Any], bool, int | None]] = {  # whether LC204 is told; words that the PTX reads
    "the next copy": ([FIRST, SECOND, *ALL], False, 8),
    "unread": ([FIRST, *ALL[:4]], False, 4),
    "read": ([FIRST, *ALL], True, 7),
    "read between": ([FIRST, ALL[5], SECOND, *ALL], True, None),
    "within a turn": ([["for", [FIRST, SECOND, *ALL]]], False, 8),
    "on one way alone": ([FIRST, ["if", [SECOND], []], *ALL], True, None),
    "another index": ([FIRST, ["at"], SECOND, *ALL], True, None),
}
_LOAD = re.compile(r"ld\.global(?:\.v(\d))?\.b(\d+)\s+[^;]*\[(%rd\d+)(?:\+(\d+))?\];")
_FIRST_ARGUMENT = re.compile(r"ld\.param\.b64\s+(%rd\d+), \[\w+_param_0\]")
Program = list[Any]


def judged(programs: list[Program], folder: Path) -> tuple[Trace, list[Lowered], list[set[int]]]:
    """The trace of these programs, their kernels lowered, and the bytes that the PTX of each reads."""
    script, given = folder / "program.py", json.dumps(programs)
    script.write_text(PROGRAM)
    lowered: list[Lowered] = []
    read = resolve.of_answer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolve, "of_answer", lambda *args: (lowered.append(read(*args)), lowered[-1])[1])
        trace = traced(Script(str(script), (given,), launch=False, arch="sm_90a")).trace
    env = {"CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": str(folder)}
    texts = json.loads(printed(str(script), given, arch="sm_90a", env=env).split("\n")[-2])
    assert len(lowered) == len(texts) == len(programs)
    return trace, lowered, [read_by(text) for text in texts]


def read_by(ptx: str) -> set[int]:
    """The bytes that are read of the kernel's first tensor."""
    found = _FIRST_ARGUMENT.search(ptx)
    if found is None:
        return set()
    bases = {found[1], *re.findall(rf"cvta\.to\.global\.u64\s+(%rd\d+), {found[1]};", ptx)}
    return {
        int(at or 0) + i
        for count, bits, base, at in _LOAD.findall(ptx)
        if base in bases
        for i in range(int(count or 1) * int(bits) // 8)
    }


def evaluated(lowered: Lowered) -> set[int]:
    """The bytes that the copies read, as they are evaluated."""
    found: set[int] = set()
    for tag, op in lowered.kernels[0].lowered_ops.items():
        for one in op.accesses if tag.startswith("cute.copy") else ():
            if one.op == "ld" and one.space == "gmem":
                at = int(np.asarray(in_object("gmem", one.address)[1]).flat[0])
                found.update(range(at, at + one.size))
    return found


def test_what_is_told_and_what_is_read(tmp_path: Path) -> None:
    trace, lowered, read = judged([["i32", 8, ops] for ops, _, _ in CASES.values()], tmp_path)
    copies = iter(trace.copies)
    for (name, (ops, told, words)), module, bytes_ in zip(CASES.items(), lowered, read, strict=True):
        mine = [next(copies) for _ in range(json.dumps(ops).count("copy"))]
        codes = [{one.code for one in check(each.copy).findings} for each in mine if each.copy is not None]
        assert any("LC204" in found for found in codes) == told, name
        assert words is None or len(bytes_) == 4 * words, name
        assert bytes_ <= evaluated(module), name
        assert words is None or bytes_ == evaluated(module), name


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(8))
def test_no_byte_is_read_beside_what_is_evaluated(seed: int, tmp_path: Path) -> None:
    """But within the same 16 bytes: of one aligned access some may be of registers that nothing reads."""
    programs = list(drawn(random.Random(seed), 40))
    _, lowered, read = judged(programs, tmp_path)
    for program, module, bytes_ in zip(programs, lowered, read, strict=True):
        near = {16 * (at // 16) + i for at in evaluated(module) for i in range(16)}
        assert bytes_ <= near, program


def drawn(rng: random.Random, count: int) -> Iterator[Program]:
    """Programs that copy into one array of registers, and read some of it."""
    while count:
        size = rng.choice((4, 8, 12, 16, 24))
        ops = _some(rng, size, 2)
        if rng.random() < 0.7:
            ops += [["read", i] for i in range(size) if rng.random() < 0.6]
        if "copy" in json.dumps(ops):
            yield [rng.choice(("i32", "f32", "bf16", "f16")), size, ops]
            count -= 1


def _some(rng: random.Random, size: int, depth: int) -> list[Any]:
    ops: list[Any] = []
    for _ in range(rng.randint(1, 4)):
        what = rng.random()
        v, rest = rng.choice((1, 1, 2, 3, 4, 6)), rng.choice((1, 2, 4))
        if what < 0.5 and v * rest <= size:
            step = 4 if rng.random() < 0.7 else 1
            target = rng.randrange(0, size - v * rest + 1, step)
            ops.append(["copy", rng.choice((64, 128)), v, rest, 8 * rng.randint(0, 40), target])
        elif what < 0.62:
            ops.append(["set", rng.randrange(size)])
        elif what < 0.75 or not depth:
            ops.append(["read", rng.randrange(size)])
        elif what < 0.78:
            ops.append(["at"])
        elif what < 0.89:
            ops.append(["if", _some(rng, size, depth - 1), _some(rng, size, depth - 1)])
        elif what < 0.96:
            ops.append(["for", _some(rng, size, depth - 1)])
        else:
            ops.append(["full", _some(rng, size, depth - 1), rng.randint(1, 3)])
    return ops
