"""What to do where another's code is at fault: who builds a library and did not write it, whose kernel it is, who takes a report."""

from __future__ import annotations

import re

from layoutcheck.catalogue import context, origin, owners, tables
from layoutcheck.catalogue.entry import ELSEWHERE, TRACE, Known
from layoutcheck.catalogue.folding import COMPILES, OF_CPP

_ONE_COPY = "`layoutcheck explain SRC DST --atom ATOM` judges a copy of a C++ kernel by its layouts"
_EDITED = tuple(
    entry
    for entry in tables.of("cpp_copies", "cpp_kernels", "cpp_templates")
    if entry.level != ELSEWHERE and "revision" not in entry.name and entry.name != "cpp.print-latex"
)  # whose remedy is a change of the source
FAULTS = (
    "cuda.illegal-instruction",
    "cuda.illegal-parameter",
    "cuda.illegal-access",
    "cuda.out-of-range",
    "cuda.misaligned-address",
    "cuda.misaligned-tma",
    "cuda.launch-failure",
)
ECHO = "Before it the text says: {earlier}. That comes first, and the fault may only follow: a kernel that waits in vain stops itself by a trap, and after an allocation that failed a pointer leads nowhere. Else:"
_OF_CPP = re.compile(
    r"\b(?:cutlass|cute)::|\b(?:const )?(?:float|int|half|double|void|char|u?int[0-9]+_t|__half|__nv_bfloat16) ?\*|\w\*[,)]|\.(?:cuh?|hpp|h|cpp|cc)\b|terminate called|\bwhat\(\): |panicked at|\.rs\b|\bthrust::|\bNVRM:"
)
_WRITTEN = re.compile(r"__(?:device|global)__ (?!read\b|write\b|atomic\b)\w")  # a kernel that the text has
_CAPACITY = tables.called("cuda.shared-capacity")
_RUN = ("sanitizer.", "cuda.", "driver.", "symptom.", "topic.", "kernel-hangs", "results-differ")
_KERNEL = re.compile(r"\b[Kk]ernel(?: name)?: ?(?P<kernel>[A-Za-z_]\w{5,200})")
_CLOSED = re.compile(
    r"\b(?:nvjet_\w+|sm[0-9]{2,3}_xmma_\w+|(?:volta|turing|ampere|hopper)_\w*gemm\w*|cublas\w*::\w+|cudnn\w*::\w+)"
)
_ALARMS = ("sanitizer.race", "sanitizer.barrier", "symptom.alarm")
_AT_FILE = re.compile(
    r"(?s)(?:Uninitialized|Invalid) __\w+__ .{0,300}?\b(?:in|at) (?P<file>/\S{3,300}\.\w{1,4}):[0-9]+"
)
_INDUCTOR = re.compile(r"(?is)inductor.{0,400}?\bcutlass|max_autotune_gemm_backends.{0,60}?cutlass")
_BY_SHAPE = re.compile(
    r"(?i)\b(?:certain|some|specific|particular|other|this|these|which|few|only for|several) (?:\w+ )?shapes?\b|\bshape[- ](?:dependent|specific|related|combination)|\bshapes? (?:fails?|that|caus\w+)\b|shape\u652f\u6301|(?<![a-z])[mnk] ?(?:=|\u7f6e\u4e3a|\u4e3a) ?[0-9]{1,6}\b|\bhead[_ ]?dim(?:ension)?s? ?(?:=|of)? ?[0-9]"
)
_WAITED = re.compile(
    r"Program hit \w+[^=]{0,120} on CUDA API call|asynchronously reported|failed to synchronize|thrust::\w*(?:::\w+)*system_error|cuda(?:Device|Stream|Event)Synchronize"
)
_FIRST = "The call that reports it only waited for earlier kernels, one of which faulted: CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer names it, and whose it is"
_ASYNCHRONOUS = "The call that reports it may only be the next after the kernel that faulted, a library's as well: CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer names that one"
_PYTHON_FILE = re.compile(r"\"([^\"\s]{1,400}\.py)\"(?:, line |:)[0-9]")
_RANKS = re.compile(r"\[rank ?[0-9]+\]|\b(?:TP|EP|DP|PP)[0-9]+\b")
_TRACED = re.compile(re.escape(TRACE) + "[^.]*")  # with what it says of the script's copies
_SENTENCES = re.compile(r"(?<=[.;]) (?=[A-Z`])")
_CUTE_ONLY = re.compile(
    r"layoutcheck|\bcute\b|\bCuTe\b|CUTLASS|\bLC[0-9]{3}|mbarrier|setmaxnreg|assumed_align|swizzle|tcgen05"
)
_OF_OURS, _OF_SCRIPTS = re.compile(r"layoutcheck"), re.compile(r"layoutcheck trace")
# Entries whose cause is one of several that the text does not tell apart.
_GUESSED = (*FAULTS, "symptom.", "cuda.other", "sanitizer.invalid-access", "sanitizer.out-of-bounds", "sanitizer.misaligned", "sanitizer.race", "sanitizer.shared", "kernel-hangs", "results-differ", "cuda.invalid-launch")  # fmt: skip
_CITED = re.compile(r" \([\w-]+/[\w-]+#[0-9]+\)|; NVIDIA/cutlass#[0-9]+(?=\))")
_ANYONES = (
    "compute-sanitizer or CUDA_LAUNCH_BLOCKING=1 names the kernel and the line; who made that kernel answers."
)
_OF_DSL = re.compile(r"cutlass\.cute|\bDSL|kernel_cutlass_")
_OF_PYTHON = re.compile(r"\.py\b|cutlass\.cute|\bDSL|kernel_cutlass_")
CUTLASS = "NVIDIA/cutlass"


def for_builder(entry: Known, remedy: str, folded: str) -> str:
    """The remedy for who builds a library and did not write it: versions first, and who takes a report."""
    edited = entry in _EDITED and COMPILES.search(folded) and OF_CPP.search(folded)
    owner = origin.find(folded).maker if edited else None
    if owner is None:
        return remedy
    if owners.compiles(owner):
        return (
            f"{remedy}. Where {owner.name} wrote the code, take operand types, shapes and an architecture that its examples use, or a newer release, "
            f"and report what stays to {owner.project}"
        )
    builds = (
        f"Where you only build {owner.name}, change no layout: take the CUDA toolkit and the CUTLASS that this commit of it names, in a clean checkout "
        f"(git submodule update --init --recursive), a newer release, or its wheel, and report what stays to {owner.project}"
    )
    if owner.project == CUTLASS:  # whose examples are there to be edited
        return f"{remedy}. {builds}"
    return f"{builds}. Where you change its kernels: {remedy}"


def for_kernel(entry: Known, remedy: str, folded: str) -> str:
    """The remedy without a trace of a Python script, where the text is about a kernel of C++ or of another compiler."""
    where = origin.find(folded)
    compiled = where.world == origin.COMPILER and not _WRITTEN.search(folded)
    other = where.owner if entry.name.startswith(_RUN) and compiled else None
    if other and "misaligned" in entry.name:
        return (
            f"{_named_first(folded)}{other.name} compiles a kernel for arguments whose addresses are multiples of 16 and places its buffers itself: print data_ptr() % 16 of the tensors, since a view may begin elsewhere than the first call's; take a larger block, fewer stages, or loads by pointers instead of TMA in the kernel's configuration, "
            f"or a newer release, and report it to {other.project}"
        )
    if other:
        reported = "" if "Report it to" in remedy else f", and report it to {other.project}"
        return _TRACED.sub(f"Look at what {other.name}'s kernel is given{reported}", remedy)
    if where.maker and TRACE in remedy and entry.name in FAULTS and not _OF_DSL.search(folded):
        told = f"The kernel is {where.maker.name}'s, or one before it: report it to {where.maker.project} ({where.evidence}) with the shapes of the call"
        return f"{_named_first(folded)}{_TRACED.sub(told, remedy)}"
    cpp = _OF_CPP.search(folded) and not _OF_PYTHON.search(folded)
    remedy = remedy.replace(TRACE, _ONE_COPY) if cpp and entry.name.startswith(_RUN) else remedy
    if entry.name in FAULTS and _RANKS.search(folded):
        remedy = f"{remedy}. Several processes run: the one whose log has the first error tells the cause"
    return f"{_FIRST}. {remedy}" if entry.name in FAULTS and _WAITED.search(folded) else remedy


def without_cute(entry: Known, told: str, folded: str) -> str:
    """The sentences of a cause or remedy without those about CuTe, in a text of a program that has no CuTe in it."""
    if (
        not entry.name.startswith(_RUN)
        or entry.name.startswith(("topic.", "driver."))
        or not _is_others(folded)
    ):
        return told
    slow = entry.level == "slow"  # whose commands count from a layout alone
    by_tma = entry.name == "cuda.misaligned-tma" or (
        entry.name == "cuda.illegal-instruction" and owners.library(folded) is not None
    )  # which is told of others' kernels as well
    guessed = entry.name.startswith(_GUESSED) and not by_tma
    of_cute = _OF_SCRIPTS if slow else _CUTE_ONLY if guessed else _OF_OURS
    kept = [one for one in _SENTENCES.split(_CITED.sub("", told)) if not of_cute.search(one)]
    plain = " ".join(f"{one[:-1]}." if one.endswith(";") else one for one in kept)
    return plain.rstrip(". ") + "." if plain else _ANYONES if _OF_OURS.search(told) else told


def _is_others(folded: str) -> bool:
    """Whether another program prints the text: it is known, or it is C++, and no word of it is CuTe's."""
    where = origin.find(folded)
    return (where.maker is not None or _OF_CPP.search(folded) is not None) and not (
        where.world == origin.DSL or OF_CPP.search(folded) or _OF_DSL.search(folded)
    )


def only_notices(where: str, folded: str) -> bool:
    """Whether a place is of the host's C++, where a check after a call notices what a kernel did before."""
    return not where.partition(":")[0].endswith((".py", ".cu", ".cuh")) and not context.kernel(folded)


def _named_first(folded: str) -> str:
    """That the kernel is to be named first, where the text does not do it."""
    return "" if context.kernel(folded) else f"{_ASYNCHRONOUS}. "


def outside(entry: Known, folded: str) -> tuple[str, str] | None:
    """(cause, remedy) of a fault in a kernel that the text says a library brings or a compiler writes; None where it does not."""
    owner = owners.another_compiler(folded) if entry is _CAPACITY else None
    if owner:
        return (
            f"{owner.name} keeps the blocks of its loads in shared memory, one for each stage of the loop; static and dynamic parts count together. A configuration that was made for a larger GPU does not fit a smaller one.",
            "Take smaller BLOCK sizes, or fewer stages (num_stages), in the kernel's configuration or in the list that it is tuned over. Where a library brings the kernel, take a release or a back end of it that knows this GPU, "
            f"and report it there; {owner.project} answers for the compiler",
        )
    if entry.name not in FAULTS:
        return None
    where = origin.find(folded)
    if entry.name == "cuda.illegal-instruction" and where.maker and _BY_SHAPE.search(folded):
        return (
            "Where the same call runs for other shapes, neither the architecture nor the instruction itself is at fault, but an operand that the shape decides: the tensor map and its box (an extent below the tile, strides or inner bytes that are no multiple of 16), a coordinate outside of it, the shared address of a stage, or the registers that setmaxnreg leaves.",
            f"{where.maker.name} chooses tile, stages and tensor maps for each shape on the host: take its newest commit, pad the extent to a shape that runs or take another back end, and report the shape, the configuration that it chose and `x/4i $errorpc` of cuda-gdb to {where.project}",
        )
    named = _KERNEL.search(folded)
    if named and (named["kernel"].startswith(("cudnn", "cublas")) or _CLOSED.match(named["kernel"])):
        library = "cuDNN" if named["kernel"].startswith("cudnn") else "cuBLAS"
        return (
            f"The text names the kernel that faults, {named['kernel']}: it is {library}'s, and no copy of the caller's is in it.",
            f"Take a newer {library}, or another back end of the program that calls it; report what stays to NVIDIA with the shapes of the call",
        )
    if _INDUCTOR.search(folded) and (where.maker is None or where.maker.project == "pytorch/pytorch"):
        return (
            "PyTorch's Inductor writes such a kernel out of CUTLASS' templates, with its own alignments, workspace and epilogue: none of them is yours.",
            'Take another back end, max_autotune_gemm_backends = "ATEN,TRITON", or no fusion of the epilogue; compute-sanitizer names the kernel. Report it to pytorch/pytorch',
        )
    return None


def of_owner(entry: Known, folded: str) -> tuple[str, ...]:
    """Whose code it is that does not compile or faults, where the text names a library or another compiler."""
    where = origin.find(folded)
    owner = where.maker
    if entry in tables.CPP and owner:
        pins = "CUTLASS and CUDA" if OF_CPP.search(folded) else "CUDA"
        return (f"the code is {owner.name}'s: it is built with the {pins} that {owner.project} names",)
    if entry.name.startswith(("cuda.", "driver.")) and owner:
        return (
            f"{owner.name} stands behind the call ({where.evidence}): if the kernel is its own, {owner.project} takes the report",
        )
    if entry in tables.DSL:
        return _of_line(folded)
    closed = _CLOSED.search(folded) if entry.name.startswith(_ALARMS) else None
    if closed:
        return (
            f"{closed[0]} is a kernel of NVIDIA's own libraries, whose code is closed: nothing in it is yours to mend; look at what your own kernels do, and report the hazard to NVIDIA if results are wrong",
        )
    of_user = entry.name.startswith("sanitizer.") and entry.name != "sanitizer.of-tensor-core"
    read = _AT_FILE.search(folded) if of_user else None
    library = read and owners.of_path(read["file"])
    if read and library:
        return (
            f"the access is {library.name}'s own ({read['file'].rpartition('/')[2]}): {library.project} answers for it",
        )
    if entry in tables.of("ptxas") and where.world == origin.COMPILER and owner:
        return (f"the code is made by {owner.name}: {owner.project} answers for it",)
    return ()


def _of_line(folded: str) -> tuple[str, ...]:
    """Whose the innermost line is that calls the DSL, where it is a library's."""
    for file in reversed(_PYTHON_FILE.findall(folded)):
        found = origin.of_file(file)
        if found.maker:
            return (
                f"the line is {found.maker.name}'s own ({found.evidence}): where you only call it, take a newer release or another option of it, and report it to {found.maker.project}",
            )
        if origin.is_own(file):
            return ()
    return ()
