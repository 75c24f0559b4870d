"""Whole vocabularies: what CUDA's codes, the DSL's Python and CuTe's headers can print is answered.

CUDA's codes are those of the installed cuda.bindings. CUTLASS' headers are in the folder that $CUTLASS names.
"""

from __future__ import annotations

import ast
import collections
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutcheck.catalogue import answers, installed, raising, reasons, refused

UNNAMED = {"", "cuda.other", "elsewhere.python", "elsewhere.named"}  # answers that name no cause


def answered(text: str) -> str:
    """The name of the first entry that answers."""
    found = answers(text)
    return found[0].entry.name if found else ""


def shares(texts: list[str], unnamed: set[str] = UNNAMED) -> tuple[float, list[str]]:
    """The share of the texts whose answer names a cause, printed, and the texts whose does not."""
    names = {text: answered(text) for text in dict.fromkeys(texts)}
    missed = [text for text, name in names.items() if name in unnamed]
    share = 1 - len(missed) / len(names)
    most = collections.Counter(names.values()).most_common(12)
    print(f"{len(names)} messages, {share:.1%} with a cause: {most}")
    return share, missed


def codes() -> list[tuple[str, int, str]]:
    """(name, number, words) of every error of the installed CUDA bindings; the driver's have no words."""
    runtime = pytest.importorskip("cuda.bindings.runtime", reason="needs cuda-python")
    driver = pytest.importorskip("cuda.bindings.driver", reason="needs cuda-python")
    said = [(one, runtime.cudaGetErrorString(one)[1].decode()) for one in runtime.cudaError_t]
    said += [(one, "") for one in driver.CUresult]
    return [(one.name, int(one), words) for one, words in said if int(one)]


def test_every_name_of_cuda_has_a_cause() -> None:
    assert shares([name for name, _, _ in codes()]) == (1, [])


def test_a_code_of_cuda_has_one_cause_by_name_number_and_words() -> None:
    """Numbers alone are the runtime's, which the driver uses alike but for a few."""
    differing = [
        (name, form)
        for name, number, words in codes()
        for form in (f"CUDA error: {words}", f"CUDA error {number} at k.cu:604")
        if words and answered(form) != answered(name)
    ]
    assert not differing


def of_python() -> Iterator[str]:
    """What the installed DSL raises, as Python prints it; "(4,8)" stands for what is computed."""
    for _, text in installed.files():
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        bound = raising.bound_in(tree)
        for node, _, _ in raising.walk(tree):
            template = raising.template_of(node, bound)
            made = node.exc.func if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) else None
            kind = (
                made.id
                if isinstance(made, ast.Name)
                else made.attr
                if isinstance(made, ast.Attribute)
                else ""
            )
            if template:
                message = "".join("(4,8)" if part is None else part for part in template)
                yield f"{kind or 'AssertionError'}: {message}"


@pytest.mark.sweep
def test_nearly_every_message_of_the_dsl_has_a_cause() -> None:
    texts = list(of_python())
    if not texts:
        pytest.skip("needs nvidia-cutlass-dsl")
    assert len(texts) > 1500
    share, missed = shares(texts)
    assert share > 0.96, missed[:20]


@pytest.mark.sweep
def test_nearly_every_statement_of_the_dsl_has_an_entry_or_a_family() -> None:
    """A message that only the statement answers has the kind of its words, which names no cause."""
    general = {"dsl.raised", "elsewhere.raised", "dsl.expectation", "dsl.other-exception", *UNNAMED}
    missed, seen = [], 0
    for path, text in installed.files():
        if "/iket/" in path:  # a profiler of its own
            continue
        for statement in raising.of_file(path, text):
            said = "".join("(4,8)" if part is None else part for part in statement.template)
            seen += 1
            if reasons.find(said, f"{installed.short(path)}:{statement.line} {statement.function}") is None:
                missed += [said] if answered(f"ValueError: {said}") in general else []
    if not seen:
        pytest.skip("needs nvidia-cutlass-dsl")
    print(f"{seen} statements, {1 - len(missed) / seen:.1%} with an entry or a family")
    assert len(missed) < 0.06 * seen, missed[:20]


def of_headers(folder: Path) -> Iterator[str]:
    """What nvcc prints for every static_assert of the headers that has a message."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".hpp", ".h", ".inl", ".cuh"):
            continue
        text = path.read_text(errors="replace")
        for found in re.finditer(
            r"static_assert\s*\(([^;\"]{0,600}?)((?:\"(?:[^\"\\]|\\.)*\"\s*)+)\)\s*;", text
        ):
            message = "".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", found[2]))
            line = text.count("\n", 0, found.start()) + 1
            yield (
                f"/x/include/{path.relative_to(folder)}({line}): error: static assertion failed "
                f'with "{message}"\n'
                f'      static_assert({" ".join(found[1].split())} "{message}");\n detected during: '
                'instantiation of "auto cute::f(const cute::Layout<cute::_1, cute::_0>&)" at line 3 of k.cu'
            )


@pytest.mark.sweep
@pytest.mark.skipif("CUTLASS" not in os.environ, reason="needs CUTLASS: its folder in $CUTLASS")
@pytest.mark.parametrize("room", ["cute", "cutlass"])
def test_every_static_assertion_has_a_cause(room: str) -> None:
    texts = [
        text for text in of_headers(Path(os.environ["CUTLASS"]) / "include") if f"/include/{room}/" in text
    ]
    assert len(texts) > 100
    share, missed = shares(texts, UNNAMED | {"cpp.other-error", "cpp.instantiation", "elsewhere.compile"})
    assert share > 0.98, missed[:20]


_OF_CUTE = re.compile(
    r"\b(?:tiler?|swizzle|tma|[tsrg]mem|atom|modes?|coord\w*|mma|mbarrier|cluster|congruent|profile|divisib\w*"
    r"|cosize|tcgen05|multicast|cute\w*)\b",
    re.I,
)
_REFUSES = re.compile(
    r"\b(?:expect(?:s|ed)?|must|should|cannot|unable|invalid|failed|unsupported|not supported|only supports?"
    r"|mismatch|requires?|illegal)\b",
    re.I,
)
_OTHERS = re.compile(
    r"LLVM|DW_|openmp|linalg|tosa|amdgpu|spirv|sparse|SME|SVE|x86|XeGPU|affine|%[sd]|::|opcode|register|keyword"
    r"|EFLAGS|tensor\.|memref\.|private|rematerial|[Ll]oop|tile (?:op|cons|prod|using|size)|'[<>,]' "
    r"|data layout|jobserver|addressing|texture|XCOFF|64-bit mode"
)  # other dialects, LLVM's targets, parsers


@pytest.mark.sweep
def test_nearly_every_verifier_message_of_the_library_has_a_kind() -> None:
    """The sentences of the DSL's compiled library that speak of CuTe's objects."""
    found = importlib.util.find_spec("nvidia_cutlass_dsl")
    if found is None or not found.submodule_search_locations:
        pytest.skip("needs nvidia-cutlass-dsl")
    (library,) = Path(found.submodule_search_locations[0]).rglob("_cutlass_ir*.so")
    texts = {text.decode() for text in re.findall(rb"[ -~]{20,260}", library.read_bytes())}
    said = {
        text
        for text in texts
        if text.count(" ") >= 3
        and _OF_CUTE.search(text)
        and _REFUSES.search(text)
        and not _OTHERS.search(text)
    }
    missed = sorted(text for text in said if refused.kind(text) is None)
    print(f"{len(said)} messages, {1 - len(missed) / len(said):.1%} with a kind")
    assert len(said) > 400
    assert len(missed) < 0.06 * len(said), missed
