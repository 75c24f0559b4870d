"""What to do where another's code is at fault: who builds a library and did not write it, whose kernel it is, who takes a report."""

from __future__ import annotations

import re

from layoutcheck.catalogue import owners, tables
from layoutcheck.catalogue.entry import ELSEWHERE, TRACE, Known
from layoutcheck.catalogue.folding import COMPILES, OF_DSL
from layoutcheck.catalogue.tables import cpp_copies, cpp_kernels, cpp_templates, ptxas

_ONE_COPY = "`layoutcheck explain SRC DST --atom ATOM` judges a copy of a C++ kernel by its layouts"
_EDITED = tuple(
    entry
    for entry in (*cpp_copies.ENTRIES, *cpp_kernels.ENTRIES, *cpp_templates.ENTRIES)
    if entry.level != ELSEWHERE and "revision" not in entry.name and entry.name != "cpp.print-latex"
)  # whose remedy is a change of the source
_FAULTS = (
    "cuda.illegal-instruction",
    "cuda.illegal-access",
    "cuda.misaligned-address",
    "cuda.launch-failure",
)
_OF_CPP = re.compile(
    r"\b(?:cutlass|cute)::|\b(?:const )?(?:float|int|half|double|void|char|u?int[0-9]+_t|__half|__nv_bfloat16) ?\*|\.cuh?\b|terminate called|\bwhat\(\): |panicked at|\.rs\b|\bthrust::|\bNVRM:"
)
_RUN = ("sanitizer.", "cuda.", "driver.", "symptom.", "topic.")
_KERNEL = re.compile(r"\b[Kk]ernel(?: name)?: ?(?P<kernel>[A-Za-z_]\w{5,200})")
_BROUGHT = (
    (re.compile(r"cudnn"), "cuDNN"),
    (re.compile(r"cublas|nvjet_|sm[0-9]+_xmma_|(?:volta|turing|ampere|hopper)_\w*gemm"), "cuBLAS"),
)  # by how the names of their kernels begin
_INDUCTOR = re.compile(r"(?is)inductor.{0,400}?\bcutlass|max_autotune_gemm_backends.{0,60}?cutlass")
_WAITED = re.compile(
    r"failed to synchronize|thrust::\w*(?:::\w+)*system_error|cuda(?:Device|Stream|Event)Synchronize"
)
_FIRST = "The call that reports it only waited for earlier kernels, one of which faulted: CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer names it, and whose it is"
_INSTALLED = re.compile(r"(?:site|dist)-packages/(?P<package>\w+)/(?P<file>[\w./-]+\.py)")
_BELOW = ("nvidia_cutlass_dsl", "cutlass", "torch", "tvm_ffi")
_OWN_FRAME = re.compile(r"[\"'](?!\S*(?:site|dist)-packages/)[/\w.-]+\.py[\"'](?:, line |:)[0-9]")
_OF_PYTHON = re.compile(r"\.py\b|cutlass\.cute|\bDSL|kernel_cutlass_")


def _builds(folded: str) -> owners.Owner | None:
    """The library or compiler whose own code does not compile in the text, or runs; not one that it only calls."""
    library = owners.library(folded)
    if library is not None and library.name in owners.CALLED:
        library = None
    return library or owners.another_compiler(folded)


def for_builder(entry: Known, remedy: str, folded: str) -> str:
    """The remedy for who builds a library and did not write it: versions first, and who takes a report."""
    owner = _builds(folded) if entry in _EDITED and COMPILES.search(folded) else None
    if owner is None:
        return remedy
    if owner is owners.another_compiler(folded):
        return (
            f"{owner.name} writes such code, and its templates are part of it: take operand types, shapes and an architecture that its examples use, or a newer release, "
            f"and report what stays to {owner.project}. Where you change its templates: {remedy}"
        )
    return (
        f"Where you only build {owner.name}, change no layout: take the CUDA toolkit and the CUTLASS that this commit of it names, in a clean checkout "
        f"(git submodule update --init --recursive), a newer release, or its wheel, and report what stays to {owner.project}. Where you change its kernels: {remedy}"
    )


def for_kernel(entry: Known, remedy: str, folded: str) -> str:
    """The remedy without a trace of a Python script, where the text is about a kernel of C++ or of another compiler."""
    if not entry.name.startswith(_RUN) or OF_DSL.search(folded):
        other = None
    else:
        other = owners.another_compiler(folded)
    if other and "misaligned" in entry.name:
        return (
            f"{other.name}'s compiler places the buffers of this kernel, and no alignment of yours is in it: take a larger block, fewer stages, or loads by pointers instead of TMA in the kernel's configuration, "
            f"or a newer release, and report it to {other.project}"
        )
    if other:
        return remedy.replace(
            TRACE, f"Look at what {other.name}'s kernel is given, and report it to {other.project}"
        )
    cpp = _OF_CPP.search(folded) and not _OF_PYTHON.search(folded)
    remedy = remedy.replace(TRACE, _ONE_COPY) if cpp and entry.name.startswith(_RUN) else remedy
    return f"{_FIRST}. {remedy}" if entry.name in _FAULTS and _WAITED.search(folded) else remedy


def outside(entry: Known, folded: str) -> tuple[str, str] | None:
    """(cause, remedy) of a fault in a kernel that the text says a library brings or a compiler writes; None where it does not."""
    if entry.name not in _FAULTS:
        return None
    named = _KERNEL.search(folded)
    library = next((name for words, name in _BROUGHT if named and words.match(named["kernel"])), "")
    if named and library:
        return (
            f"The text names the kernel that faults, {named['kernel']}: it is {library}'s, and no copy of the caller's is in it.",
            f"Take a newer {library}, or another back end of the program that calls it; report what stays to NVIDIA with the shapes of the call",
        )
    if _INDUCTOR.search(folded):
        return (
            "PyTorch's Inductor writes such a kernel out of CUTLASS' templates, with its own alignments, workspace and epilogue: none of them is yours.",
            'Take another back end, max_autotune_gemm_backends = "ATEN,TRITON", or no fusion of the epilogue; compute-sanitizer names the kernel. Report it to pytorch/pytorch',
        )
    return None


def of_owner(entry: Known, folded: str) -> tuple[str, ...]:
    """Whose code it is that does not compile or faults, where the text names a library or another compiler."""
    if entry in tables.CPP:
        owner, tree = _builds(folded), owners.bundling(folded)
        if owner:
            return (
                f"the code is {owner.name}'s: it goes with the CUTLASS and CUDA that {owner.project} pins",
            )
        return (
            (
                f"the CUTLASS is the copy in the tree of {tree}: it goes with the CUDA that {tree} names, and {tree} takes the report",
            )
            if tree
            else ()
        )
    if entry.name in _FAULTS:
        library = _builds(folded)
        return (
            (
                f"the text names {library.name}: if the kernel that faults is its own, {library.project} takes the report",
            )
            if library
            else ()
        )
    if entry in tables.DSL:
        file = next(
            (one for one in reversed([*_INSTALLED.finditer(folded)]) if one["package"] not in _BELOW), None
        )
        library = None
        if file and not _OWN_FRAME.search(folded, file.end()):
            library = owners.of_package(file["package"])
        return (
            (
                f"the line is {library.name}'s own, in {file['package']}/{file['file']}: where you only call it, take a newer release or another option of it, and report it to {library.project}",
            )
            if library and file
            else ()
        )
    if entry in ptxas.ENTRIES:
        compiler_ = owners.another_compiler(folded)
        return (
            (f"the code is made by {compiler_.name}: {compiler_.project} answers for it",)
            if compiler_
            else ()
        )
    return ()
