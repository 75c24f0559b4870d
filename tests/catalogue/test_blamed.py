"""What the user's own call says of an error, with the file that a traceback names and without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.catalogue import answers, installed, quoted

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl")

HERE = "/v/site-packages/nvidia_cutlass_dsl/dsl_packages/cutlass/cute/core.py"
DSL = f'  File "{HERE}", line 9, in inner\n    atom._unpack(x)\n'
PROGRAM = """import cutlass.cute as cute

@cute.jit
def work(x): ...

@cute.jit
def host(a, tiler):
    op = cute.nvgpu.CopyUniversalOp()
    atom = cute.make_copy_atom(op, a.element_type, num_bits_per_copy=24)
    cute.local_tile(
        a, tiler)
    smem.allocate_tensor(t, layout, byte_alignment=16.5)
    work(a).launch(grid=(1, 1, 1))
    cute.copy(atom, a, a)
    cute.make_layout(4, strides=2)
    cute.make_layout(4, 2)

host(from_dlpack(a, assumed_align=3), 4)
"""


def text(file: str, line: int, code: str, said: str) -> str:
    frame = f'  File "{file}", line {line}, in host\n    {code}\n'
    return f"Traceback (most recent call last):\n{frame}{DSL}{said}\n"


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "kernel.py").write_text(PROGRAM)
    return str(tmp_path / "kernel.py")


NANOBIND = (
    "TypeError: get(): incompatible function arguments. The following argument types are supported:\n"
    "    1. get(cls: object, space: int, alignment: int, swizzle: object | None = None) -> object\n\n"
    "Invoked with types: nanobind.nb_type_0, int, float, NoneType"
)
CASES = {
    "missing": (
        10, "TypeError: local_tile() missing 1 required positional argument: 'coord'",
        "is given input = a, tiler = tiler; nothing for coord", "local_tile(input=a, tiler=tiler, coord=...)",
    ),
    "keyword": (
        15, "TypeError: make_layout() got an unexpected keyword argument 'strides'",
        "make_layout(shape, *, stride) has no parameter strides", "Write stride= for strides=",
    ),
    "surplus": (
        16, "TypeError: make_layout() takes 1 positional argument but 2 were given",
        "2 beyond the parameters of make_layout(shape, *, stride)", "give it by keyword (stride)",
    ),
    "float": (
        12, NANOBIND,
        "byte_alignment = 16.5, a float, where alignment takes an int", "Give byte_alignment an int",
    ),
    "launch": (
        13, "AttributeError: 'NoneType' object has no attribute 'launch'",
        "work returns None", "in the place of @cute.jit",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_call_is_bound_to_the_parameters(program: str, name: str) -> None:
    line, said, cause, remedy = CASES[name]
    code = PROGRAM.splitlines()[line - 1].strip()
    (first, *_) = answers(text(program, line, code, said))
    assert cause in first.cause
    assert remedy in first.remedy
    assert f"{program}:{line}" in first.cause


def test_a_line_that_is_not_the_files_is_read_alone(program: str) -> None:
    """The program was changed since, or its file is another's: what the text quotes counts."""
    said = "TypeError: slice_() missing 1 required positional argument: 'src'"
    (first, *_) = answers(text(program, 9, "s = cute.slice_(coord=(1, None))", said))
    assert "given coord = (1, None); nothing for src" in first.cause
    assert "cute.slice_(src=..., coord=(1, None))" in first.remedy
    (absent, *_) = answers(text("/no/such/kernel.py", 9, "s = cute.slice_(coord=(1, None))", said))
    assert absent.remedy == first.remedy


def test_what_the_dsls_own_line_asks_is_the_argument_of_that_name(program: str) -> None:
    said = "AttributeError: '_Tensor' object has no attribute '_unpack'"
    (first, *_) = answers(text(program, 14, "cute.copy(atom, a, a)", said))
    assert first.facts[0] == f"{program}:14: cute.copy is given atom = atom"


def failing(path: str, line: str, function: str, said: str, user: str = "made = cute.something(") -> str:
    """A traceback whose last frame is that line of the installed DSL, underlined between the bars."""
    head, marked, tail = line.split("|")
    plain, source = (
        head + marked + tail,
        next(one for name, one in installed.files() if installed.short(name) == path),
    )
    at = next(at for at, one in enumerate(source.split("\n"), 1) if one.strip() == plain)
    frame = f'  File "{HERE.partition("cute/")[0]}{path}", line {at}, in {function}\n'
    marks = " " * (4 + len(head)) + "~" * (len(marked) - 3) + "^^^"
    own = f'  File "/u/k.py", line 9, in host\n    {user}\n'
    return f"Traceback (most recent call last):\n{own}{frame}    {plain}\n{marks}\n{said}\n"


def test_the_dsls_line_that_fails_leads_to_a_parameter_through_its_assignments() -> None:
    said = "TypeError: 'TiledMma' object is not subscriptable"
    line = "mma_tiler_mk = (|mma_mnk[0]|, *mma_mnk[2:])"
    (first, *_) = answers(failing("cute/nvgpu/helpers.py", line, "make_tiled_tma_atom_A", said))
    assert first.cause.startswith(
        "The DSL fails at `mma_mnk[0]`, of mma_tiler_mnk of make_tiled_tma_atom_A (cute/nvgpu/helpers.py:"
    )
    assert first.remedy.startswith("Look at what the call gives for mma_tiler_mnk. ")


def test_the_dsls_line_that_fails_leads_to_the_argument_of_a_constructor() -> None:
    said, file = "IndexError: tuple index out of range", "utils/static_persistent_tile_scheduler.py"
    user = "p = utils.PersistentTileSchedulerParams((8, 8, 4), (1, 1))"
    (first, *_) = answers(failing(file, "if |cluster_shape_mnk[2]| != 1:", "__init__", said, user))
    assert "of cluster_shape_mnk of PersistentTileSchedulerParams (" in first.cause
    assert first.facts[0].endswith("PersistentTileSchedulerParams is given cluster_shape_mnk = (1, 1)")


def test_a_frame_below_the_underlined_part_does_not_hide_it() -> None:
    """Of a call with three arguments the one that Python underlines is told."""
    code = "cute.copy(s2r, tXsA[None, None, k, 0], tXrA[None, None, k])"
    marks = " " * 43 + "~~~~^^^^^^^^^^^^^^^"
    layout, coordinate = '!cute.layout<"(8,4,2,3):(1,8,32,64)">', '!cute.coord<"(_,_,0)">'
    said = f"expects `coord` and shape of view are weakly congruent, but got '{layout}', '{coordinate}'"
    error = f"MLIRError: Operation creation failed:\nerror: unknown: {said}"
    (first, *_) = answers(text("/u/k.py", 58, f"{code}\n{marks}", error))
    assert first.facts[0] == "/u/k.py:58: tXrA[None, None, k]"


def test_a_signature_in_the_text_says_what_a_call_outside_of_it_lacks() -> None:
    said = "error: Failed to bind arguments to function `f` with signature `(mA: Tensor, mB: Tensor)`\n  "
    (first, *_) = answers(f"{said}error: Caused exception: too many positional arguments")
    assert "f takes (mA: Tensor, mB: Tensor), and the call has too many positional arguments" in first.cause


def test_a_keyword_is_found_where_the_program_gives_it(program: str) -> None:
    said = "RuntimeError: assumed_align parameter must be a power of two."
    (first, *_) = answers(text(program, 14, "cute.copy(atom, a, a)", said))
    assert f"{program}:18: from_dlpack is given assumed_align = 3" in first.facts


def test_an_operand_is_followed_to_what_makes_it(program: str) -> None:
    (call,) = quoted.calls(text(program, 14, "cute.copy(atom, a, a)", "ValueError: x"))
    bound = quoted.bind(call)
    assert bound is not None
    assert [line for line, _ in quoted.made(call.place, bound.given["atom"])] == [9, 8, 18]
    assert [line for line, _ in quoted.made(call.place, bound.given["src"])] == [18]


def test_a_name_that_is_written_alike_is_given_and_others_that_begin_so() -> None:
    (first, *_) = answers(
        "AttributeError: module 'cutlass.cute' has no attribute 'copys'. Did you mean: 'copy'?"
    )
    assert first.remedy == "Write cute.copy"
    (many, *_) = answers("AttributeError: module 'cutlass' has no attribute 'Float3'. Did you mean: 'Float'?")
    assert "cutlass.Float32" in many.remedy
    (moved, *_) = answers(
        "AttributeError: module 'cutlass.cute' has no attribute 'make_smem_tensor'."
        " Did you mean: 'make_rmem_tensor'?"
    )
    assert "make_rmem_tensor" not in moved.remedy
