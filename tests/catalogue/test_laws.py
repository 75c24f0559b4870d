# ruff: noqa: E501 (texts as people write them)
"""Reports in a person's words: the laws that they call for, what they say of their cause, what their code decides."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from layoutcheck.catalogue import answers, laws, snippets
from layoutcheck.catalogue.law import LAWS
from layoutcheck.cli import app
from layoutcheck.errors import InputError
from layoutcheck.sources.diagnostics import read_errors
from tests.forking import printed


def told(text: str) -> str:
    (found,) = answers(text)
    return " ".join((found.title, found.cause, *found.facts))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("my cp.async is predicated off in some threads, and they still write out of bounds of smem", "still writes zeros"),
        ("does a tiled_copy in CuTe loop internally, or must I call copy for each CPY_M?", "loops by itself"),
        ("two warpgroups consume one stage: which size has the CooperativeGroup of the consumer? 2 hangs", "counts warps"),
        ("can wgmma read an operand in the shared memory of another CTA of the cluster?", "of its own block only"),
        ("our elementwise op faults for tensors over 2^31 elements, offsets are int32", "wraps beyond 2^31"),
        ("ncu hangs on the nccl allreduce kernel, how do I profile it?", "replays each several times"),
        ("calling the @cute.jit function costs a lot, CuTe DSL launch overhead is 3 ms", "keep what it returns"),
        ("the fp8 output has a max diff of 448.0 against the reference", "E4M3 ends at 448"),
        ("racecheck is silent, but with printf the result is right and without it is wrong", "depends on timing"),
        ("what does retile_S do, I do not understand it", "move nothing"),
        ("How do I copy a 128x64 bf16 tile from global to shared memory with TMA?", "one thread initialises an mbarrier"),
        ("numba: cuda.syncthreads() does not work, other blocks race between the time steps", "not the blocks of a grid"),
        ("kernel launch failed though the number of threads per block is smaller than 1024", "exceed 65,536"),
        ("all tests fail verification, every result of the kernel is wrong on A100", "did not run"),
        ("what is the difference between producer_commit and producer_get_barrier of a pipeline?", "hands out the full barrier"),
        ("which warps does the pingpong schedule use, and what is different in the cooperative one?", "share one tile"),
        ("ncu: L1 hit rate is 81 %, L2 throughput 96 %, DRAM 34 %, slower than expected", "fetched in parts"),
        ("a for loop over range(n) in my cute jit kernel: can I break early?", "nothing leaves them early"),
        ("does tcgen05 want another value for the instruction descriptor than desc_a? I get a misaligned address", "32 bits of its own"),
        ("cute.printf prints nothing", "fills a buffer"),
        ("a dynamic offset added to an iterator loses the alignment that ldmatrix requires, range_constexpr works", "cute.assume(offset"),
        ("ncu: the top stall reason is short_scoreboard 31%", "waits for shared memory"),
        ("I pass mask 0 to the multicast TMA and the consumer hangs", "names no block"),
        ("low tensor core utilization of a SM90 warp-specialized kernel under separable compilation -dc", "build that file whole"),
        ("Why do we need a prologue mma before the mainloop of the dense gemm?", "runs without accumulation"),
        ("a captured CUDA graph: the replay reads a stale input pointer", "keeps the arguments of each launch"),
        ("swizzle of the iterator and of the layout: is the offset in bytes or elements for a pointer?", "on the address in bytes"),
        ("which alignment has AlignmentA of a CUTLASS gemm for an odd M, K a multiple of 8, row-major?", "along its contiguous mode alone"),
        ("blockwise scales: rows of the scale tensor have a pitch and pad to 16 for TMA", "which is not the extent"),
        ("the K tail of my multistage gemm is wrong, the last k tile is short", "one short tile"),
        ("CUtensorMap in a workspace faults, must the tensormap be aligned to 64?", "alignas(64)"),
        ("my sgemm_1.cu kernel with M=N=K=100 is wrong at the borders", "which have no predicates"),
    ],
)  # fmt: skip
def test_the_words_of_a_report_call_for_its_law(text: str, part: str) -> None:
    assert part in told(text)


def test_words_of_the_platform_alone_call_for_no_law() -> None:
    assert (
        laws.fits("does CuTe DSL have a cute kernel for tensors, and how do I call it from python?", "ask")
        == []
    )


def test_a_cause_that_is_denied_is_no_word_of_the_text() -> None:
    denied = "The hang of the TMA load was caused by pointer misalignment, NOT by swizzle mode or descriptor."
    assert not any("name one swizzle" in one.law.says for one in laws.fits(denied, "hang"))


def test_what_a_short_text_says_beside_its_error_calls_for_a_law() -> None:
    fault = "CUDA error: an illegal instruction was encountered\n"
    (found,) = answers(f"{fault}// CUtensorMap passed by value without __grid_constant__, alignas(16)")
    assert any("__grid_constant__ const parameter" in one for one in found.facts)
    (alone,) = answers(fault)
    assert alone.facts == ()


def test_a_name_of_the_dsl_is_told_with_its_documentation() -> None:
    pytest.importorskip("cutlass")
    (found,) = answers("what is make_identity_tensor for in CuTe?")
    assert any(
        "the DSL documents make_identity_tensor(shape): " in one for one in (found.cause, *found.facts)
    )


def test_the_symptom_decides_between_the_laws_of_one_thing() -> None:
    text = "my ldmatrix of a swizzled tile has bank conflicts"
    assert laws.fits(text, "slow") != laws.fits(text, "build")
    assert any("8 rows of 16 bytes" in one.law.says for one in laws.fits(text, "slow"))


def test_what_a_report_says_of_its_cause_is_told_first() -> None:
    text = (
        "Random results in my GEMM.\nIt is right if I add cp_async_wait<0>() and __syncthreads() at the end."
    )
    assert (
        "The text itself says: 'It is right if I add cp_async_wait<0>() and __syncthreads() at the end'."
        in told(text)
    )
    assert laws.claims("I think it is the swizzle. It turns out that the stride is 3.") == (
        "It turns out that the stride is 3.",
    )
    report = (
        "K-major A works. It should be right. One block: correct, two: NaN.\n| 2 | no error |\nNothing works."
    )
    assert laws.claims(report) == ("K-major A works.", "One block: correct, two: NaN.")
    assert laws.claims("I think it is the swizzle.") == ("I think it is the swizzle.",)
    assert laws.claims("How does it work?") == ()


@pytest.mark.parametrize(
    "text", ["hello, the weather is fine", "the race starts at ten", "We met when it rained."]
)
def test_other_prose_calls_for_no_law(text: str) -> None:
    assert laws.fits(text, "ask") == []
    assert answers(text) == []


def test_the_code_of_a_report_is_read() -> None:
    cpp = (
        "auto thr = make_layout(make_shape(Int<32>{}, Int<8>{}));\nauto val = Layout<Shape<_4,_1>>{};\n"
        "make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, thr, val); Swizzle<3,2,3>{}"
    )
    copy, swizzle = snippets.facts(cpp)
    assert "256 threads x 4 values: it covers (128,8)" in copy and "LC215" in copy
    assert "4 elements together" in swizzle and "M has to be 3 or more" in swizzle
    dsl = (
        "a = cute.make_copy_atom(op, cutlass.Float16, num_bits_per_copy=32)\n"
        "t = cute.make_layout((4, 32), stride=(32, 1))\nv = cute.make_layout((1, 4))\nc = cute.make_tiled_copy_tv(a, t, v)"
    )
    (covered,) = snippets.facts(dsl)
    assert (
        covered.removeprefix("the tiled copy has ")
        == "128 threads x 4 values: it covers (4,128); one instruction moves 2 elements"
    )
    made = "A = make_layout(make_shape(_4{}, _6{}, _8{}, _10{}), make_stride(_2{}, _3{}, _5{}, _7{})); B = make_layout(Int<6>{}, Int<12>{}); composition(A, B)"
    assert snippets.facts(made)[0].startswith("composition((4,6,8,10):(2,3,5,7), 6:12) is (2,3):(9,5)")
    assert "has no result" in snippets.facts(made.replace("Int<12>", "Int<5>"))[0]
    (traits,) = snippets.facts("using SrcLayout = Layout<Shape<_64,_4>, Stride<_128,_32>>;")
    assert traits == "SrcLayout (64,4):(128,32): 256 pairs of thread and value in 8161 bits"
    flagged = "ComposedLayout<Swizzle<3,4,3>, smem_ptr_flag_bits<16>, Layout<Shape<_8,_64>>> of half_t"
    assert snippets.facts(flagged) == (
        "Swizzle<3,4,3> of a pointer keeps 16 bytes together and repeats after 1024",
    )
    assert snippets.facts("make_tiled_copy(atom, thr, val) make_layout(M, N) Layout<Shape<_4") == ()


def test_what_is_only_compared_with_takes_no_report() -> None:
    (found,) = answers(
        "our CuTe DSL softmax is 0.6x slower than Triton on H100, vectorized loads are missing"
    )
    assert "triton-lang" not in found.remedy
    (blamed,) = answers(
        "vLLM crashes with CUDA illegal memory access. It is traced to: flag_ops/ops/index.py"
    )
    assert "flag_ops" in blamed.remedy and "vllm" not in blamed.remedy


# What stands behind a law: a rule, a page of docs/, a test of this file, or one of these documents with its section.
DOCUMENTS = (
    "PTX ISA", "CUDA Programming Guide", "CUDA Best Practices Guide", "CUDA Driver API", "CUTLASS", "CuTe DSL", "Nsight Compute",
    "compute-sanitizer", "Triton", "OCP", "ISO C++", "IEEE 754",
)  # fmt: skip
ROOT = Path(__file__).parents[2]
RULES = {path.stem.upper() for path in (ROOT / "docs" / "rules").glob("lc*.md")}


def is_source(one: str) -> bool:
    if one.startswith("test_"):
        return one in globals()
    if one.startswith("docs/"):
        return (ROOT / one).is_file()
    codes = one.split(", ")
    return set(codes) <= RULES or (codes[0] in DOCUMENTS and (len(codes) > 1 or one == "IEEE 754"))


def test_every_law_has_a_source() -> None:
    for law in LAWS:
        parts = re.sub(r"; (?=[a-z]\w*\.mma)", ", ", law.source).split("; ")
        assert [one for one in parts if not is_source(one)] == []


@pytest.mark.parametrize("source", ["", "a guess", "LC999", "PTX ISA", "docs/none.md", "test_none"])
def test_what_is_no_source(source: str) -> None:
    assert not is_source(source)


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("a stream kernel of mine hangs while it waits", "lower index"),  # "stream k" is no stream-K
        ("my swizzle is swizzled wrong", "Swizzle<3,4,3> in bytes"),  # one word, however often
        ("Due to checkboarding, the arrays only hold even numbers. My kernel is wrong.", "itself says"),
        ("My kernel is wrong. What is the root cause?", "itself says"),
        ("CUTLASS 1.58x slower than cuBLAS, my gemm kernel", "CUTLASS 1.5"),
        ("How is a cute.TensorSSA of my @cute.kernel indexed by a dynamic index?", "gather4"),
        ("CPU overhead regression with TVM-FFI: my CuTe DSL function is slow to call", "wavefronts"),
        ("Can I create a TMA atom on the device side, from a descriptor?", "one swizzle"),
    ],
)  # fmt: skip
def test_what_a_loose_word_does_not_call_for(text: str, never: str) -> None:
    assert never not in told(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("CuTe DSL, nvidia-cutlass-dsl[cu13]==4.5.0, windows", "The wheels"),  # a program and two details
        ("CuTe DSL, nvidia-cutlass-dsl[cu13]==4.5.0", ""),
        ("a cudaStream_t, and the flag is zero", "A kernel on another stream"),
        ("cudaStream_t stream", ""),  # one name, together and apart
    ],
)
def test_a_law_is_told_by_its_subject_and_another_word(text: str, says: str) -> None:
    found = [one.law.says for one in laws.fits(f"{text}. {'It is so. ' * 40}", "ask")]
    assert any(one.startswith(says) for one in found) if says else not found


def test_a_law_that_is_not_asked_for_has_three_words() -> None:
    text = f"a cudaStream_t, and the flag is zero. {'It is so. ' * 40}"
    assert laws.fits(text, "ask") and laws.fits(text, "ask", subject="Which CUDA stream?")
    assert not laws.fits(text, "ask", subject="Which swizzle?")


def test_what_fails_in_some_runs_is_a_race_first() -> None:
    text = "AssertionError: Tensor-likes are not close!\nMismatched elements: 64 / 1048576 (0.0%)\nGreatest absolute difference: 0.0234 at index (131, 64) (up to 0.01 allowed)"
    assert "if every run gives the same" in told(text) and "a race first" not in told(text)
    assert "a race first" in told(f"the test fails sometimes (every ~50th run)\n{text}")


def test_hip_is_not_composable_kernel() -> None:
    (found,) = answers("/usr/bin/ld: main.o:(.hipFatBinSegment+0x8): undefined reference to `__hip_fatbin'")
    assert "--hip-link" in found.remedy and "composable_kernel" not in found.remedy


def test_a_question_without_a_law_is_asked_what_happens() -> None:
    with pytest.raises(InputError) as raised:
        read_errors("What is the best way to use my gpu well?")
    said = str(raised.value)
    assert "does not know" not in said and said.count("\n") == 3
    assert re.findall(r"`layoutcheck (\w+)", said) == ["explain", "trace", "explain", "banks"]


def test_an_answer_shows_the_source_of_its_laws() -> None:
    assert "(LC291; PTX ISA, cp.async)" in told("my predicated cp.async writes out of bounds, pred is false")


_MMA = "mma.sync.aligned.m16n8k{}.row.col.f32.{}.{}.f32 {{%f1,%f1,%f1,%f1}},{{%r1,%r1,%r1,%r1}},{{%r1,%r1}},{{%f1,%f1,%f1,%f1}};"
ASSEMBLED = [
    ("wgmma.fence.sync.aligned;", "sm_90a", "sm_90 sm_100a sm_120a"),
    ("setmaxnreg.inc.sync.aligned.u32 232;", "sm_90a sm_100a sm_103a sm_110a sm_120a", "sm_90 sm_100 sm_120"),
    ("setmaxnreg.dec.sync.aligned.u32 36;", "", "sm_90a"),
    ("tcgen05.fence::before_thread_sync;", "sm_100a sm_103a sm_110a", "sm_90a sm_100 sm_120a"),
    ("cp.async.ca.shared.global [%r1], [%d1], 4;", "sm_80 sm_120", "sm_75"),
    ("cp.async.ca.shared.global [%r1], [%d1], 2;", "", "sm_80"),
    ("cp.async.cg.shared.global [%r1], [%d1], 8;", "", "sm_80"),
    ("barrier.cluster.arrive;", "sm_90 sm_120", "sm_80"),
    ("fence.proxy.async;", "sm_90 sm_120", "sm_80"),
    ("barrier.sync 15, 64;", "sm_90", ""),
    ("barrier.sync 16, 64;", "", "sm_90"),
    ("barrier.sync 1, 48;", "", "sm_90"),
    ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1,%r2}, [%r1];", "sm_100a sm_120a", "sm_90a sm_100"),
    (_MMA.format(16, "bf16", "bf16"), "sm_80 sm_120", "sm_75"),
    (_MMA.format(32, "e4m3", "e4m3"), "sm_89 sm_120", "sm_80"),
    ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%d1, {%r1,%r1}], [%r1], %h1;", "sm_90 sm_120", ""),
]  # fmt: skip


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas")
def test_ptxas_assembles_it(tmp_path: Path) -> None:
    wrong = []
    for instruction, takes, refuses in ASSEMBLED:
        for target in (*takes.split(), *refuses.split()):
            text = (
                f".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k() {{ .reg .b64 %d<2>; .reg .b32 %r<3>;\n"
                f".reg .b16 %h<2>; .reg .f32 %f<2>; .shared .align 128 .b8 s[512]; mov.u32 %r1, s; mov.u64 %d1, 0;\n{instruction}\nret; }}"
            )
            (tmp_path / "k.ptx").write_text(text)
            done = subprocess.run(
                ["ptxas", f"-arch={target}", "k.ptx", "-o", "k.cubin"], cwd=tmp_path, capture_output=True
            )
            if (done.returncode == 0) != (target in takes.split()):
                wrong.append((instruction, target, done.stdout + done.stderr))
    assert wrong == []


def test_the_dsl_makes_fragments_like_it(tmp_path: Path) -> None:
    """`make_fragment_like` and `make_layout_like`, as the law of them says."""
    pytest.importorskip("cutlass")
    script = tmp_path / "fragments.py"
    script.write_text(
        "import cutlass.cute as cute\n@cute.jit\ndef f():\n"
        "    l = cute.make_layout(((2, 4), 3, 2), stride=((4, 1), 40, 8))\n"
        "    print(cute.make_fragment_like(l), cute.make_layout_like(l))\ncute.compile(f)\n"
    )
    made = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        env={**os.environ, "CUTE_DSL_ARCH": "sm_90a"},
    )
    assert made.stdout.split() == ["((2,4),3,2):((1,2),16,8)", "((2,4),3,2):((4,1),16,8)"]


DECIDED = """
import cutlass, cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor as fake


@cute.kernel
def choose(a: cute.Tensor, b: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    b[t] = (a[t] if t < 5 else cutlass.Float32(-1)) + a.load()[t]


@cute.jit
def run(a: cute.Tensor, b: cute.Tensor):
    choose(a, b).launch(grid=(1, 1, 1), block=(32, 1, 1))


print(cute.compile(run, fake(cutlass.Float32, (8,)), fake(cutlass.Float32, (32,))).__ptx__)
"""


def test_the_dsl_compiles_it(tmp_path: Path) -> None:
    """A conditional expression is a branch, and a TensorSSA takes a run-time index."""
    pytest.importorskip("cutlass")
    (tmp_path / "decided.py").write_text(DECIDED)
    made = subprocess.run(
        [sys.executable, "decided.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "CUTE_DSL_ARCH": "sm_90a", "CUTE_DSL_KEEP": "ptx"},
    )
    assert re.search(r"setp\.gt\.u32[^;]+, 4;\s+[^@;]*;?\s*@%p[0-9]+ bra", made.stdout), made.stderr


def test_the_dsl_has_it() -> None:
    base = pytest.importorskip("cutlass.base_dsl.jit_executor")
    made = base.JitCompiledFunction
    assert all(hasattr(made, name) for name in ("__ptx__", "__cubin__", "export_to_c"))
    compiler = pytest.importorskip("cutlass.base_dsl.compiler")
    assert "enable-tvm-ffi" in {
        getattr(one, "_cli_flag", "") for one in vars(compiler).values() if isinstance(one, type)
    }


CONVERTS = """
import cutlass, cutlass.cute as cute
from cutlass import BFloat16, Float8E4M3FN, Float32, Int8
from cutlass.cute.runtime import make_fake_compact_tensor as fake


@cute.kernel
def convert(given: cute.Tensor, out: cute.Tensor, n: cutlass.Constexpr, to: cutlass.Constexpr):
    t, _, _ = cute.arch.thread_idx()
    values = cute.make_rmem_tensor(n, given.element_type)
    for i in cutlass.range_constexpr(n):
        values[i] = given[t + i]
    if cutlass.const_expr(n == 1):
        out[t] = values[0].to(to)
    else:
        turned = cute.make_rmem_tensor(n, to)
        turned.store(values.load().to(to))
        for i in cutlass.range_constexpr(n):
            out[t * n + i] = turned[i]


@cute.jit
def launch(given: cute.Tensor, out: cute.Tensor, n: cutlass.Constexpr, to: cutlass.Constexpr):
    convert(given, out, n, to).launch(grid=(1, 1, 1), block=(32, 1, 1))


for n, of, to in (CASES):
    cute.compile(launch, fake(of, (64,)), fake(to, (128,)), n, to)
"""


@pytest.mark.parametrize(
    ("arch", "cases", "cvt", "never"),
    [
        ("sm_90a", "(1, Float32, Float8E4M3FN), (2, Float32, Float8E4M3FN), (4, Float32, Float8E4M3FN)", "cvt.rn.satfinite.e4m3x2.f32", "\0"),
        ("sm_80", "(4, Int8, BFloat16),", "bf16", "cvt.rn.bf16.s8"),
    ],
)  # fmt: skip
def test_the_dsl_converts_it(tmp_path: Path, arch: str, cases: str, cvt: str, never: str) -> None:
    pytest.importorskip("cutlass.cute")
    (tmp_path / "convert.py").write_text(CONVERTS.replace("CASES", cases))
    keep = {"CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": str(tmp_path), "CUTE_DSL_NO_CACHE": "1"}
    printed(str(tmp_path / "convert.py"), arch=arch, env=keep, cwd=str(tmp_path))
    made = [one.read_text() for one in tmp_path.rglob("*.ptx")]
    assert len(made) == cases.count("(")
    assert all(cvt in one and never not in one for one in made)


CATALOGUE = ROOT / "layoutcheck" / "catalogue"
SOURCES = [*CATALOGUE.rglob("*.py"), *(ROOT / "layoutcheck" / "sources").glob("*.py")]


def test_every_command_and_rule_that_an_answer_names_exists() -> None:
    commands = typer.main.get_command(app())
    assert isinstance(commands, TyperGroup)
    wrong = set[str]()
    for path in SOURCES:
        text = re.sub(r"[\"']\s*\n\s*f?[\"']", "", path.read_text(encoding="utf-8"))  # strings that go on
        wrong |= {code for code in re.findall(r"\bLC[0-9]{3}\b", text) if code not in RULES}
        for said in re.findall(r"`layoutcheck ([^`\n]+)`", text):
            words = said.split()
            found = commands.commands.get(words[0])
            if isinstance(found, TyperGroup):
                found = found.commands.get(words[1]) if len(words) > 1 else None
            options = {option for one in found.params for option in one.opts} if found else set()
            unknown = [word for word in words if word.startswith("--") and word not in options]
            if found is None or unknown:
                wrong.add(f"{path.name}: layoutcheck {said}")
    assert wrong == set()


def test_words_among_bytes_are_no_report() -> None:
    said = "why does my GPU kernel with cp.async give a wrong result?"
    assert answers(said) and not answers("\x00\x05\ufffd" * 20 + said)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("my kernel with wgmma gives wrong results for M=100 but right for M=128, no tail predicate", "whole tiles"),
        ("my kernel hangs when there are 3 stages in the pipeline and K has only 2 tiles", "same number of turns"),
    ],
)  # fmt: skip
def test_what_a_short_report_is_about_calls_for_its_law(text: str, part: str) -> None:
    assert part in told(text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("auto a = make_layout(Shape<_10,_2>{}, Stride<_16,_4>{}); auto b = make_layout(Shape<_3,_4>{}, Stride<_1,_5>{}); composition(a, b)", "is (3,(2,2)):(16,(80,4))"),
        ("auto tile = make_layout(make_shape(Int<8>{}, _64{}), make_stride(_64{}, _1{}));", "512 coordinates in 512 elements"),
        ("if (warp_id < 4) {\n  s[threadIdx.x] = x;\n  __syncthreads();\n}", "in the branch `warp_id < 4`"),
        ("    if tidx < 32:\n        cute.arch.sync_threads()\n", "in the branch `tidx < 32`"),
    ],
)  # fmt: skip
def test_layouts_and_barriers_of_code_are_told(text: str, part: str) -> None:
    assert part in " ".join(snippets.facts(text))


@pytest.mark.parametrize(
    "text", ["if (warp_id < 4) { s = 1; }\n__syncthreads();", "if (n < 4) { __syncthreads(); }"]
)
def test_a_barrier_that_all_threads_reach_is_no_finding(text: str) -> None:
    assert snippets.facts(text) == ()


_CAST = "__device__ void move(void* to, const void* from) { *(int4*) to = *(const int4*) from; }\n"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("float buf[4]; *(float4*)buf = v;", "`float buf[]` is aligned to 4 bytes, and is accessed as float4, by 16"),
        ("__shared__ half s[64]; auto v = *reinterpret_cast<const uint2*>(&s[i]);", "`half s[]` is aligned to 2 bytes, and is accessed as uint2, by 8"),
        (f"{_CAST}float2 part[2]; move(part, p);", "`float2 part[]` is aligned to 8 bytes, and is accessed as int4, by 16"),
        (f"{_CAST}float2 part[2]; move(p, part);", "declare it alignas(16), or copy 8 bytes at a time (LC202)"),
        (f"{_CAST}float2 part[2]; other(part, p);", ""),
        ("alignas(16) float buf[4]; *(float4*)buf = v;", ""),
        ("extern __shared__ float buf[]; *(float4*)buf = v;", ""),
        ("double4 buf[4]; *(float4*)buf = v;", ""),
        ("float buf[4]; *(float4*)other = v;", ""),
    ],
)  # fmt: skip
def test_an_array_that_is_cast_to_a_wider_vector_is_the_cause_of_a_misaligned_address(
    code: str, said: str
) -> None:
    (found, *_) = answers(f"CUDA Exception: Warp Misaligned Address in the debug build of my kernel\n{code}")
    begins = "The code that stands in the text tells it: " if said else "The text does not state the cause."
    assert said in found.cause and found.cause.startswith(begins)
    assert found.entry.name == "cuda.misaligned-address"
    assert not snippets.facts(f"my kernel is slow\n{code}")


def test_a_bulk_copy_is_no_cp_async() -> None:
    text = (
        "compute-sanitizer reports a misaligned read from shared memory in cp.async.bulk.tensor, a TMA store"
    )
    (found, *_) = answers(text)
    assert found.entry.name == "cuda.misaligned-tma" and "a multiple of 128 bytes" in found.cause
    assert not any("cp_async" in law.names for law in (one.law for one in laws.fits(text, "fault")))
