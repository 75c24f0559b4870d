"""The transposes of kernels/, compiled without a GPU: verdicts of the compiler and what the PTX shows."""

import json
import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from tests.environment import ROOT, python_path

pytest.importorskip("cutlass", reason="kernels/ needs nvidia-cutlass-dsl")

REPAIRED = [
    "match_layout",
    "staged",
    "ldmatrix_trans",
    "swizzled",
    "narrow",
    "registers",
    "exchange",
    "exchange_async",
    "shifted",
    "few_rows",
    "few_columns",
    "whole",
    "blocks",
    "flat",
    "fastest",
]


@pytest.fixture(scope="module", params=["sm_90a", "sm_80"])
def built(request):
    env = {**os.environ, "CUTE_DSL_ARCH": request.param, "PYTHONPATH": python_path()}
    command = [sys.executable, "-m", "tests.kernels.compile_all"]
    child = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=True)
    return request.param, json.loads(child.stdout.splitlines()[-1])


def memory_ops(ptx: str) -> Counter:
    """How often each memory instruction occurs."""
    return Counter(re.findall(r"^\s*(?:@!?%\w+ )?((?:ld|st|cp|ldmatrix|stmatrix)\.(?!param)\S+)", ptx, re.M))


def matching(ops: Counter, pattern: str) -> Counter:
    return Counter({op: count for op, count in ops.items() if re.match(pattern, op)})


def test_only_the_report_s_copy_is_rejected(built):
    arch, found = built
    assert [name for name, result in found.items() if "error" in result] == ["broken"]
    expected = {"fp32_elementwise", "broken_silently", "broken_at_run_time", *REPAIRED} | (
        {"tma"} if "90" in arch else set()
    )
    assert {name for name in found if name != "broken"} == expected


def test_rejected_with_the_report_s_message(built):
    assert (
        "'cute.copy' op dst ptr alignment (16 bits) does not meet requirement (128 bits) of atom "
        "'!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>'"
    ) in built[1]["broken"]["error"]


def test_the_silent_one_issues_one_aligned_copy_a_thread(built):
    ops = memory_ops(built[1]["broken_silently"]["ptx"])
    assert matching(ops, "cp.async.c[ag]") == {"cp.async.cg.shared.global": 1}


def test_the_fault_is_in_the_addresses(built):
    """64 copies of 16 bytes, each 2 bytes after the one before."""
    steps = re.findall(
        r"cp\.async\.cg\.shared\.global \[%r\d+(?:\+(\d+))?\]", built[1]["broken_at_run_time"]["ptx"]
    )
    assert [int(step or 0) for step in steps] == [2 * i for i in range(64)]


@pytest.mark.parametrize("name", ["swizzled", "ldmatrix_trans"])
def test_ldmatrix_does_the_transpose(built, name):
    ops = memory_ops(built[1][name]["ptx"])
    assert matching(ops, "cp.async.c[ag]") == {"cp.async.cg.shared.global": 4}
    assert matching(ops, "ldmatrix") == {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16": 4}
    assert matching(ops, "st.global") == {"st.global.v4.b32": 4}
    assert not matching(ops, "(ld|st).shared")


def test_tma_moves_whole_tiles(built):
    arch, found = built
    if "90" not in arch:
        pytest.skip("TMA needs sm_90")
    ops = memory_ops(found["tma"]["ptx"])
    assert not matching(ops, "(ld|st).global")
    assert sum(matching(ops, "cp.async.bulk.tensor.2d.shared").values()) == 2
    assert sum(matching(ops, "cp.async.bulk.tensor.2d.global").values()) == 1


def test_narrow_moves_single_elements(built):
    ops = memory_ops(built[1]["narrow"]["ptx"])
    assert set(ops) == {"ld.global.b16", "st.shared.b16", "ld.shared.b16", "st.global.b16"}


@pytest.mark.parametrize("name", ["registers", "exchange", "exchange_async", "fastest"])
def test_16_bytes_on_both_sides(built, name):
    """Every global access of whole blocks is 16 bytes wide; the 2-byte ones are the loop over an edge."""
    ops = memory_ops(built[1][name]["ptx"])
    wide = matching(ops, r"(ld|st)\.global.*\.v4\.b32|cp\.async\.cg")
    single = matching(ops, r"(ld|st)\.global.*\.b16")
    assert sum(single.values()) == 2
    assert matching(ops, r"(ld|st)\.global|cp\.async\.c[ag]") == wide + single
    assert sum(matching(wide, "st").values()) % 8 == 0 and sum(matching(wide, "ld|cp").values()) % 8 == 0


@pytest.mark.parametrize("name", ["shifted", "whole", "few_rows", "few_columns"])
def test_16_bytes_on_both_sides_at_any_pitch(built, name):
    """The 2-byte accesses are those of the first and the last chunk of a row or of the tensor."""
    ops = memory_ops(built[1][name]["ptx"])
    loads, stores = matching(ops, r"cp\.async\.c[ag]|ld\.global"), matching(ops, r"st\.global")
    assert set(loads) == {"cp.async.cg.shared.global", "ld.global.b16"}
    assert set(stores) == {"st.global.v4.b32", "st.global.b16"}
    assert set(matching(ops, "ld.shared")) == {"ld.shared.b16"}


@pytest.mark.parametrize("name", REPAIRED)
def test_nothing_goes_through_local_memory(built, name):
    assert ".local" not in built[1][name]["ptx"]


def test_what_starts_early_touches_no_memory_before_the_kernel_ahead_has_ended(built):
    arch, found = built
    early = {name for name, result in found.items() if "griddepcontrol" in result.get("ptx", "")}
    others = {"broken", "broken_silently", "broken_at_run_time", "match_layout", "fp32_elementwise", "staged"}
    expected = set(found) - others - {"ldmatrix_trans", "swizzled", "tma"} if "90" in arch else set()
    assert early == expected
    for name in early:
        before, after = found[name]["ptx"].split("griddepcontrol.wait;")
        # To the L2, where the writes of the kernel ahead meet, but no nearer.
        fetched = {"cp.async.bulk.prefetch.L2.global": 1} if name == "shifted" else {}
        assert matching(memory_ops(before), "(ld|st).global|cp") == fetched, name
        assert not matching(memory_ops(after), "cp.async.bulk"), name
        assert matching(memory_ops(after), "ld.global|cp") and matching(memory_ops(after), "st.global"), name
