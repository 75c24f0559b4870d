"""A message of a library is found in its sources, which are read and never imported: place, condition."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from layoutcheck.catalogue import libraries, raising
from layoutcheck.cli import run

PYTHON = '''
import a_module_that_does_not_exist

class Forward:
    def __init__(self, head_dim, arch):
        """Makes a kernel.

        Args:
            head_dim: the elements of one head
        """
        assert arch.is_family_of(Arch.sm_100f), "Only SM 10.x and 11.x are supported"
        if head_dim % 8 != 0:
            raise ValueError(f"the head dimension {head_dim} of this kernel does not fit")
        assert head_dim <= 256
'''
CPP = """
#define TORCH_CHECK(condition, ...) something
void run(Tensor q) {
  TORCH_CHECK(q.stride(-1) == 1, "Input tensor must have a contiguous last dimension");
  TVM_FFI_ICHECK_EQ(k.ndim(), 3) << "k_rope has " << k.ndim() << " modes where three are meant";
  DG_HOST_ASSERT(mn % 4 == 0 && groups == 1);
  throw std::invalid_argument("no kernel was built for a head of this width");
}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "project" / "csrc" / "cutlass").mkdir(parents=True)
    (tmp_path / "project" / "forward.py").write_text(PYTHON)
    (tmp_path / "project" / "csrc" / "api.cpp").write_text(CPP)
    (tmp_path / "project" / "csrc" / "cutlass" / "other.cpp").write_text(CPP)
    return tmp_path / "project"


FOUND = [
    (
        "AssertionError: Only SM 10.x and 11.x are supported",
        ("forward.py:11", "arch is not of the family of Arch.sm_100f"),
        (),
    ),
    (
        "ValueError: the head dimension 20 of this kernel does not fit",
        ("forward.py:13", "head_dim is not a multiple of 8"),
        ("head_dim is 20",),
    ),
    (
        "RuntimeError: Input tensor must have a contiguous last dimension",
        ("csrc/api.cpp:4", "the elements of q are not adjacent in memory along mode -1"),
        (),
    ),
    (
        "RuntimeError: Check failed: (k.ndim() == 3) is false: k_rope has 4 modes where three are meant",
        ("csrc/api.cpp:5", "k.ndim() is not 3"),
        (),
    ),
    ("what(): no kernel was built for a head of this width", ("csrc/api.cpp:7", ""), ()),
]


@pytest.mark.parametrize(("text", "at", "values"), FOUND)
def test_a_message_is_found_in_a_checkout(
    checkout: Path, text: str, at: tuple[str, str], values: tuple[str, ...]
) -> None:
    found = libraries.find(text, [text.partition(": ")[2]], [checkout])
    assert found is not None
    assert (found.package, found.version) == ("project", "")
    assert (found.raised.place, found.raised.told) == at and found.raised.values[: len(values)] == values


def test_an_assertion_without_a_message_is_found_by_its_frame(checkout: Path) -> None:
    frame = (
        f'File "/x/y/{checkout.name}/forward.py", line 14, in __init__ assert head_dim <= 256 AssertionError'
    )
    found = libraries.find(frame, [], [checkout])
    assert found is not None and found.raised.told == "head_dim is greater than 256"
    assert found.raised.described == ("head_dim: the elements of one head",)
    assert libraries.find(frame.replace("<= 256", "<= 128").replace("head_dim", "x"), [], [checkout]) is None


@pytest.mark.parametrize(
    "text", ["AssertionError: not supported", "RuntimeError: a different head of another kernel"]
)
def test_other_words_are_not_found(checkout: Path, text: str) -> None:
    assert libraries.find(text, [text], [checkout]) is None


def test_the_command_names_place_and_condition(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pasted = tmp_path / "error.txt"
    pasted.write_text(
        'File "/home/u/train.py", line 3, in step\n'
        "ValueError: the head dimension 20 of this kernel does not fit"
    )
    assert run(["explain", str(pasted), "--sources", str(checkout)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert (
        "Forward raises it at forward.py:13 where head_dim is not a multiple of 8. Here head_dim is 20."
        in said
    )
    assert "Call it so that head_dim is a multiple of 8" in said and "/home/u/train.py:3 calls it" in said
    assert "a_module_that_does_not_exist" not in sys.modules
    assert run(["explain", str(pasted), "--sources", str(tmp_path / "none")]) == 2
    assert "is not a folder" in capsys.readouterr().err
    assert run(["explain", "--case", "issue-2320", "--sources", str(checkout)]) == 2
    assert "--sources is of a pasted error" in capsys.readouterr().err


def test_an_installed_library_is_read_without_an_import(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (checkout / "__init__.py").write_text("raise RuntimeError('imported')")
    checkout.rename(tmp_path / "quack")
    monkeypatch.syspath_prepend(str(tmp_path))
    libraries.installed.roots.cache_clear()
    text = "quack: ValueError: the head dimension 20 of this kernel does not fit"
    found = libraries.find(text, [])
    libraries.installed.roots.cache_clear()
    assert found is not None and found.raised.place == "quack/forward.py:13"
    assert "quack" not in sys.modules


def test_the_parts_of_a_check_are_read() -> None:
    condition, template, holes, line = "a < b", ["b is ", None, ", a is ", None], ["b", "a"], 2
    (found,) = raising.read('\nTORCH_CHECK(a < b, "b is ", b,\n  ", a is ", a);')
    assert (found.condition, found.template, found.holes, found.line) == (condition, template, holes, line)
    (found,) = raising.read('CHECK_GE(x, f(1, 2)) << "too small: " << x << "!";')
    assert found.condition == "x >= f(1, 2)" and found.template == ["too small: ", None, "!"]
    (found,) = raising.read('assert(0); MY_ASSERT(ok(a, "x") && "it must be so", __FILE__);')
    assert found.condition == 'ok(a, "x")'
    assert raising.read("CHECK(a);  CHECK(a") == []


def test_a_static_assertion_is_found_in_a_checkout_of_cutlass(tmp_path: Path) -> None:
    header = tmp_path / "cutlass" / "include" / "cutlass" / "gemm.hpp"
    header.parent.mkdir(parents=True)
    header.write_text(
        "namespace cutlass {\nstatic_assert(TileN % 32 == 0 && Stages >= 2,\n"
        '  "The tile does not fit the schedule of this kernel.");\n}'
    )
    said = "The tile does not fit the schedule of this kernel."
    text = f'gemm.hpp(2): error: static assertion failed with "{said}"'
    found = libraries.find(text, [], [tmp_path / "cutlass"])
    assert found is not None and found.raised.place == "include/cutlass/gemm.hpp:2"
    assert found.raised.told == "TileN is not a multiple of 32 or Stages is less than 2"


def test_an_error_of_cutlass_keeps_its_answer_and_gets_its_condition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of several assertions with the same words the one at the line that the compiler names."""
    header = tmp_path / "cutlass" / "include" / "cutlass" / "gemm.hpp"
    header.parent.mkdir(parents=True)
    words = "EpilogueTileN should be divisible by SFVecSize"
    header.write_text(f'static_assert(M % V == 0, "{words}");\nstatic_assert(N % V == 0, "{words}");\n')
    pasted = tmp_path / "error.txt"
    pasted.write_text(f'include/cutlass/gemm.hpp(2): error: static assertion failed with "{words}"')
    assert run(["explain", str(pasted), "--sources", str(tmp_path / "cutlass")]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(f"rejected: {words}")
    assert "cutlass raises it at include/cutlass/gemm.hpp:2 where N is not a multiple of V" in said
