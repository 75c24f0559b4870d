from __future__ import annotations

import pytest

from layoutcheck.dsl.ptx import parameters, run
from layoutcheck.errors import InputError
from tests.packed import pack

HEAD = """
.visible .entry k(
	.param .align 8 .b8 k_param_0[16],
	.param .b32 k_param_1
)
{
	.reg .b32 	%r<9>;
"""


def kernel(*lines: str) -> str:
    return HEAD + "\n".join(f"\t{line}" for line in lines) + "\n\tret;\n}\n"


def execute(*lines: str, pointer: int = 4096, stride: int = 3, shared: int = 64):
    text = kernel("ld.param.b64 %rd1, [k_param_0];", "ld.param.b32 %r8, [k_param_1];", *lines)
    return run(text, {"k_param_0": pack((pointer, 8), (stride, 4)), "k_param_1": pack((shared, 4))})


def name(space: str, address: int) -> tuple:
    return tuple((space, 8 * address + i) for i in range(8))


def test_parameters():
    assert parameters(kernel()) == ["k_param_0", "k_param_1"]
    assert pack((1, 4), (2, 8)) == b"\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
    assert pack((-1, 4)) == b"\xff\xff\xff\xff"


def test_a_vector_load_and_a_store():
    trace = execute("ld.global.v2.b32 {%r1, %r2}, [%rd1+8];", "st.shared.b32 [%r8+-4], %r2;")
    assert [(a.kind, a.space, a.width_bytes, a.address) for a in trace.accesses] == [
        ("read", "global", 8, 4104),
        ("write", "shared", 4, 60),
    ]
    assert trace.memory == {("shared", 60 + k): name("global", 4108 + k) for k in range(4)}


def test_addresses_are_computed():
    trace = execute(
        "ld.param.b32 %r1, [k_param_0+8];",
        "mul.wide.s32 %rd2, %r1, -2;",
        "add.s64 %rd3, %rd1, %rd2;",
        "ld.global.b8 %rs1, [%rd3];",
        "shr.u32 %r2, %r8, 3;",
        "and.b32 %r3, %r2, 112;",
        "xor.b32 %r4, %r3, %r8;",
        "st.shared.b8 [%r4], %rs1;",
        shared=0x380,
    )
    assert trace.accesses[0].address == 4096 - 6
    assert trace.accesses[1].address == 0x380 ^ 112
    assert trace.memory == {("shared", 0x380 ^ 112): name("global", 4090)}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["mov.b32 {%rs1, %rs2}, %r1;", "mov.b32 %r2, {%rs2, %rs1};"], [2, 3, 0, 1]),
        (["prmt.b32 %r2, %r1, %r1, 0x0123;"], [3, 2, 1, 0]),
        (["shr.u32 %r3, %r1, 16;", "shl.b32 %r4, %r1, 16;", "or.b32 %r2, %r3, %r4;"], [2, 3, 0, 1]),
        (["bfe.u32 %r3, %r1, 8, 8;", "bfi.b32 %r2, %r3, %r1, 0, 8;"], [1, 1, 2, 3]),
        (["cvt.u64.u32 %rd2, %r1;", "shr.u64 %rd3, %rd2, 8;", "cvt.u32.u64 %r2, %rd3;"], [1, 2, 3, None]),
        (["and.b32 %r2, %r1, 0xff00ff;"], [0, None, 2, None]),
    ],
)
def test_data_is_followed_through_registers(lines, expected):
    trace = execute("ld.global.b32 %r1, [%rd1];", *lines, "st.shared.b32 [%r8], %r2;")
    for k, source in enumerate(expected):
        assert trace.memory["shared", 64 + k] == (
            (0,) * 8 if source is None else name("global", 4096 + source)
        )


def test_branches_and_predicates():
    lines = (
        "ld.param.b32 %r1, [k_param_0+8];",
        "setp.ne.s32 %p1, %r1, 3;",
        "@%p1 bra $L__BB0_2;",
        "st.shared.b32 [%r8], 7;",
        "$L__BB0_2:",
        "@!%p1 st.shared.b32 [%r8+4], 8;",
    )
    assert [a.address for a in execute(*lines).accesses] == [64, 68]
    assert execute(*lines, stride=4).accesses == []


def test_cp_async_fills_with_zeros():
    trace = execute("cp.async.ca.shared.global [%r8], [%rd1], 8, 4;")
    assert [(a.kind, a.width_bytes) for a in trace.accesses] == [("read", 4), ("write", 8)]
    assert trace.memory["shared", 64 + 3] == name("global", 4099)
    assert trace.memory["shared", 64 + 4] == (0,) * 8


def test_matrices():
    trace = execute(
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r8+16];",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r8], {%r2};",
        "st.global.b32 [%rd1], %r2;",
    )
    assert [a.address for a in trace.accesses] == [80, 64, 4096]
    register = tuple(("matrix", 32 * (4 * 80 + 1) + i) for i in range(32))
    assert trace.matrix_stores == [(64, (register,))]
    assert trace.memory["global", 4096] == register[:8]


@pytest.mark.parametrize("line", ["sin.approx.f32 %r1, %r1;", "ld.global.b32 %r1, [4*%r2];"])
def test_what_is_not_understood_is_an_error(line):
    with pytest.raises(InputError):
        execute(line)


def test_data_must_not_become_an_address():
    with pytest.raises(InputError, match="depends on the data"):
        execute("ld.global.b64 %rd2, [%rd1];", "ld.global.b32 %r1, [%rd2];")


def test_endless_loops_are_stopped():
    with pytest.raises(InputError, match="too long"):
        execute("$L__BB0_1:", "bra.uni $L__BB0_1;")
