"""Resources: the figures of FlashInfer issue 703, limits, and registers read from a cubin."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import pytest

from benchmarks.occupancy_header import INCLUDES, ask_header, launches
from layoutcheck.errors import InputError
from layoutcheck.machine.cubin import registers
from layoutcheck.numerics.resources import DEVICES, decode_attention, gemm, occupancy, resources


def _issue_703(tensor_cores: bool, device: str = "A100") -> dict[str, object]:
    counted = 182 if tensor_cores else 66
    kernel = decode_attention(batch=57, kv_heads=8, tensor_cores=tensor_cores, registers=counted)
    return resources(kernel, device)


def test_issue_703_shared_memory_and_waves() -> None:
    prefill, decode = _issue_703(True), _issue_703(False)
    assert (prefill["smem_bytes"], decode["smem_bytes"]) == (69632, 9216)  # 69.63 and 9.22 KB
    assert (prefill["ctas_per_multiprocessor"], decode["ctas_per_multiprocessor"]) == (2, 7)
    assert prefill["limited_by"] == decode["limited_by"] == "registers"
    assert round(float(str(prefill["waves"])), 2) == 2.11
    assert round(float(str(decode["waves"])), 2) == 0.60


def test_issue_703_ran_on_108_multiprocessors() -> None:
    """The waves it reports identify the device: 132 multiprocessors would give 1.73 and 0.49."""
    assert round(float(str(_issue_703(True, "H200")["waves"])), 2) == 1.73
    assert round(float(str(_issue_703(False, "H200")["waves"])), 2) == 0.49


def test_fragments_are_a_lower_bound() -> None:
    prefill = _issue_703(True)
    assert prefill["registers_lower_bound"] == 80
    assert int(str(prefill["registers_lower_bound"])) <= 182


def test_shared_memory_limits_a_deep_pipeline() -> None:
    found = resources(gemm(tile=(128, 128, 64), inputs="f16", stages=4, threads=256, ctas=132), "H200")
    assert found["smem_bytes"] == 4 * 2 * 128 * 64 * 2
    assert (found["limited_by"], found["ctas_per_multiprocessor"]) == ("shared memory", 1)


def test_threads_and_ctas_limit_small_kernels() -> None:
    small = gemm(tile=(16, 8, 16), inputs="f16", stages=1, threads=32, ctas=100)
    assert resources(small, "H200")["limited_by"] == "CTAs"
    wide = gemm(tile=(64, 64, 16), inputs="f16", stages=1, threads=1024, ctas=100, registers=32)
    assert resources(wide, "A100")["ctas_per_multiprocessor"] == 2
    assert resources(wide, "L40S")["ctas_per_multiprocessor"] == 1


def test_what_does_not_fit_is_an_input_error() -> None:
    with pytest.raises(InputError, match="does not fit"):
        resources(gemm(tile=(256, 256, 64), inputs="f16", stages=4, threads=256, ctas=1), "H200")
    with pytest.raises(InputError, match="does not fit"):
        resources(gemm(tile=(256, 256, 16), inputs="f16", stages=1, threads=128, ctas=1), "H200")
    with pytest.raises(InputError, match="no device"):
        resources(gemm(tile=(64, 64, 16), inputs="f16", stages=1, threads=128, ctas=1), "GTX 280")
    with pytest.raises(InputError, match="positive"):
        resources(gemm(tile=(0, 64, 16), inputs="f16", stages=1, threads=128, ctas=1))
    assert DEVICES["H200"].multiprocessors == 132


RECORDED = json.loads((Path(__file__).parent / "occupancy_header.json").read_text())["launches"]


def test_occupancy_is_what_nvidias_header_said() -> None:
    """1,000 of the 60,000 launches that benchmarks/occupancy_header.py compared: 0 differed."""
    assert {row[0] for row in RECORDED} == set(DEVICES)
    assert sum(row[-1] == 0 for row in RECORDED) > 100
    for name, *launch, said in RECORDED:
        assert occupancy(DEVICES[name], *launch).ctas == said, (name, launch)


@pytest.mark.skipif(
    not (Path(INCLUDES[0], "cuda_occupancy.h").exists() and shutil.which("g++")), reason="no CUDA header here"
)
def test_occupancy_is_what_nvidias_header_says() -> None:
    asked = launches(4000, 5)
    for (name, *launch), said in zip(asked, ask_header(Path(INCLUDES[0]), asked), strict=True):
        assert occupancy(DEVICES[name], *launch).ctas == said, (name, launch)


@pytest.mark.parametrize(
    ("launch", "ctas", "limit"),
    [
        ((96, 168, 0), 4, "registers"),  # 3 warps: 12 of the 16 that the partitions hold
        ((1024, 65, 0), 0, "registers"),  # the launch fails
        ((1056, 16, 0), 0, "threads"),
        ((32, 16, 227 * 1024 + 1), 0, "shared memory"),
        ((64, 16, 0, 16), 4, "barriers"),
    ],
)
def test_each_limit(launch: tuple[int, ...], ctas: int, limit: str) -> None:
    found = occupancy(DEVICES["H200"], *launch)
    assert (found.ctas, found.limited_by) == (ctas, (limit,))


def _cubin(name: str, count: int) -> bytes:
    """The smallest ELF file that says a kernel of that name has that many registers a thread."""
    names = b"\0.shstrtab\0.symtab\0.strtab\0.nv.info\0"
    strings = b"\0" + name.encode() + b"\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 0, 0, 0)
    info = struct.pack("<BBH", 0x03, 0x50, 7) + struct.pack("<BBHII", 0x04, 0x2F, 8, 1, count)
    bodies = [b"", names, symbols, strings, info]
    offsets, at = [], 64
    for body in bodies:
        offsets.append(at)
        at += len(body)
    labels = [0, 1, 11, 19, 27]
    headers = b"".join(
        struct.pack("<IIQQQQIIQQ", label, 0, 0, 0, offset, len(body), 3, 0, 0, 0)
        for label, offset, body in zip(labels, offsets, bodies, strict=True)
    )
    head = b"\x7fELF\x02\x01".ljust(0x28, b"\0") + struct.pack("<Q", at)
    head = head.ljust(0x3A, b"\0") + struct.pack("<HHH", 64, len(bodies), 1)
    return head + b"".join(bodies) + headers


def test_registers_are_read_from_a_cubin() -> None:
    assert registers(_cubin("my_kernel", 182)) == {"my_kernel": 182}


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x02\x01", b"not an ELF file at all", _cubin("k", 1)[:90]])
def test_what_is_no_cubin_is_an_input_error(data: bytes) -> None:
    with pytest.raises(InputError, match="no cubin"):
        registers(data)


def test_registers_that_no_compiler_gives_are_refused_before_the_launch() -> None:
    """The header's occupancy knows 256 a thread."""
    asked = {"inputs": "f16", "stages": 1, "threads": 128, "ctas": 1}
    assert resources(gemm(tile=(128, 255, 64), **asked))["registers_lower_bound"] == 255
    with pytest.raises(InputError, match=r"does not fit on H200 \(registers\): 128 threads of 256 registers"):
        resources(gemm(tile=(128, 256, 64), **asked))
