"""What tools print where nothing is wrong: counts of zero, tests that pass, resources that fit.

Each stands alone: an entry of this table answers only where the text has no other sign of an error.
"""

from __future__ import annotations

import re

from layoutcheck.catalogue.entry import CLEAN, known

_NOTHING = "nothing in this text is an error: "
# Words of an error that tell of none: counts of zero, the names of tests that pass, what a result is compared with.
_OF_NONE = re.compile(
    r"\b(?:ERROR|RACECHECK|LEAK) SUMMARY: 0 \w+|\bcuda error: no error\b"
    r"|\b0 (?:errors?|hazards?|tests? failed|failed|failures?|warnings?|mismatch\w*|invalid|races?)\b(?: detected| found| displayed)?"
    r"|\b(?:no|without|zero) (?:\w+ )?(?:errors?|failures?|hazards?|mismatch\w*|issues?|exceptions?|races?)\b(?: (?:detected|found|reported))?"
    r"|\b(?:errors?|failed|failures?|mismatch\w*|exceptions?|ERROR SUMMARY) ?[:=] ?0+(?:\.0+)?(?:%|\b)"
    r"|(?<![\w./-])[\w./-]{0,200}\btest_\w{1,100}\.py(?= [.sxX]+ *\[)"
    r"|(?<!\S)\S{1,200}::\S{1,200} (?:\[gw[0-9]+\] )?(?:PASSED|SKIPPED|XFAIL)|PASSED \S{1,200}::\S{1,200}|\b[0-9]+ xfailed"
    r"|\[ (?:RUN|OK|PASSED) +\] ?[\w./<>, ]*(?:\([0-9]+ ms\))?|(?i:\b(?:max|mean|abs(?:olute)?|rel(?:ative)?|rms|l2)[\w ]{0,20}error\b ?[:=]? ?[0-9.e+-]*)"
    r"|(?:nvcc |nvlink |[):] ?)warning(?: ?#?[\w-]+)? ?: .{5,600}?(?= \S+\.\w{1,4}[(:][0-9]|$)"
    r"|cuda ?(?:Success|_success)\b|\bno error\b|[\"']errors?[\"']: ?(?:null|None|false|\[\]|\{\}|[\"']{2})",
    re.IGNORECASE,
)


def without_zeros(folded: str) -> str:
    """The text without the words of errors that tell of none."""
    return _OF_NONE.sub(" ", folded)


ENTRIES = (
    known(
        "clean.sanitizer",
        r"(?P<tool>ERROR|RACECHECK|LEAK) SUMMARY: (?P<count>0) (?:errors?|hazards?|bytes)\b(?P<of>[^=\n]{0,60}\))?",
        _NOTHING + "compute-sanitizer counts {count} ({tool} SUMMARY)",
        "memcheck (its default tool) sees accesses outside of an allocation and misaligned ones; racecheck hazards of shared memory, and not of "
        "global or distributed shared memory; initcheck global memory that nobody wrote; synccheck barriers. A tool says nothing of what the others look for, nor of kernels that this run did not launch.",
        "To look further: compute-sanitizer --tool racecheck, synccheck, initcheck; `layoutcheck trace --no-launch SCRIPT` compares every copy's bytes with its layouts and replays the order of accesses",
        ("========= ERROR SUMMARY: 0 errors", "compute-sanitizer 2025"),
        level=CLEAN,
        general=True,
    ),
    known(
        "clean.memcheck-deprecated",
        r"CUDA-MEMCHECK =+ This tool is deprecated|This tool is deprecated and will be removed",
        _NOTHING + "cuda-memcheck only says that it is deprecated",
        "Its successor is compute-sanitizer, with the same tools; CUDA 12 no longer has cuda-memcheck, which does not know newer GPUs.",
        "compute-sanitizer --tool memcheck PROGRAM (racecheck, synccheck, initcheck as well)",
        ("========= CUDA-MEMCHECK ========= This tool is deprecated and will be removed in a future release of the CUDA toolkit", "cuda-memcheck 11"),
        level=CLEAN,
        general=True,
    ),
    known(
        "clean.pytest",
        r"(?:=+ |^|\n)(?P<passed>[0-9]+) passed\b(?P<rest>(?:, [0-9]+ (?:skipped|warnings?|deselected|xfailed|xpassed|rerun|subtests passed))*)(?: in (?P<time>[0-9.]+m?s))?",
        _NOTHING + "pytest: {passed} passed{rest}",
        "No test failed. Tests that are skipped or deselected were not run: without a GPU that can be most of them (pytest -rs says why each is skipped).",
        "`layoutcheck ci` traces what the tests launch without a GPU, and judges copies whose results no test compares",
        ("======== 128 passed, 3 skipped in 12.4s ========", "pytest"),
        level=CLEAN,
        general=True,
    ),
    known(
        "clean.tests",
        r"\[ +PASSED +\] (?P<passed>[0-9]+) tests?|100% tests passed, 0 tests failed out of (?P<of>[0-9]+)|Ran (?P<ran>[0-9]+) tests? in [0-9.]+s OK",
        _NOTHING + "{passed}{of}{ran} tests passed",
        "The test program counts no failure. Tests that it leaves out (filters, SKIPPED, DISABLED) were not run.",
        "`layoutcheck ci` traces what tests launch without a GPU, and judges copies whose results no test compares",
        ("[  PASSED  ] 42 tests.", "googletest"),
        level=CLEAN,
        general=True,
    ),
    known(
        "clean.verified",
        r"(?i)\bdisposition: ?passed|\b(?:results?|output|reference check|verification|correctness(?: check)?|accuracy)\b[ :.]{0,3}(?:are |is |has )?(?:passed|verified|correct|match(?:es)?|pass|ok)\b(?! fail)|^ ?PASS(?:ED)?[.!]? ?$|\b(?:all ?close|is ?close)\b ?[:=]? ?True\b",
        _NOTHING + "a program compared its result with a reference, and they agree",
        "The comparison holds for the sizes, the seed and the tolerance of this run. Races, reads beyond a tensor and bytes that only other shapes touch do not always show in a result.",
        "`layoutcheck trace --no-launch SCRIPT` judges every copy of the script's kernels by its layouts; `layoutcheck numerics tol` says whether the tolerance is one that an error would exceed",
        ("Disposition: Passed", "cutlass_profiler"),
        level=CLEAN,
        general=True,
        instead_of=("clean.success",),
    ),
    known(
        "clean.warnings",
        r"(?:\.\w{1,4}(?:\([0-9,]+\)|:[0-9]+(?::[0-9]+)?) ?: |nvcc |nvlink |^ ?)warning(?: ?#?[\w-]+)? ?: (?P<said>(?:(?! \S+\.\w{1,4}[(:][0-9]| Remark|\[)[^\n]){5,160})",
        "no error, and a compiler's warning: {said}",
        "A compiler goes on after a warning: the file is compiled. It speaks of the source, and not of a layout.",
        "Leave it, mend the line, or switch its number off (nvcc -diag-suppress N, -Wno-NAME). If the program then fails, paste what it prints",
        ('k.cu(66): warning #177-D: variable "f" was declared but never referenced', "nvcc"),
        level=CLEAN,
        general=True,
    ),
    known(
        "clean.resources",
        r"Used (?P<registers>[0-9]+) registers(?P<rest>(?:, [^,\n]{3,40}?(?=,| ptxas|$))*)(?!.{0,400}[1-9][0-9]* bytes (?:stack frame|spill))",
        _NOTHING + "ptxas reports what a kernel uses: {registers} registers a thread{rest}",
        "It is what -Xptxas -v prints of every function. A thread has up to 255 registers, and a multiprocessor 65,536; nothing of this text says that registers are spilled.",
        "`layoutcheck resources` says how many blocks of a tile these registers and shared memory leave on a multiprocessor; for speed measure with ncu",
        ("ptxas info : Used 40 registers, used 1 barriers, 400 bytes cmem[0]", "ptxas"),
        level=CLEAN,
        general=True,
    ),
    known(
        "clean.success",
        r"\bcudaSuccess\b|\bCUDA_SUCCESS\b|(?i:\bno error\b)|\bStatus: ?Success\b|\bkSuccess\b",
        _NOTHING + "a call of CUDA or CUTLASS reports success",
        "Code 0 is success. A kernel that fails later reports it at another call: the launch returns before the kernel runs.",
        "If the program misbehaves, check the code behind cudaDeviceSynchronize as well, or run with CUDA_LAUNCH_BLOCKING=1",
        ("CUDA error: no error", "CUDA 13"),
        level=CLEAN,
        general=True,
        instead_of=("cuda.other",),
    ),
    known(
        "clean.installed",
        r"Successfully (?:installed|built|uninstalled) (?P<what>[\w.-]+)|Requirement already satisfied: (?P<have>[\w.-]+)|\[[0-9]+/[0-9]+\] (?:Linking|Built target) \S|100%\] Built target (?P<target>\S+)",
        _NOTHING + "an installation or a build reports success {what}{have}{target}",
        "No line of it tells a failure.",
        "If an import or a launch fails later, paste that message; python -c 'import cutlass; print(cutlass.__version__)' says which DSL this Python finds",
        ("Successfully installed nvidia-cutlass-dsl-4.8.1", "pip"),
        level=CLEAN,
        general=True,
    ),
    known(
        "clean.table",
        r"(?!)",  # found by catalogue.symptoms, by its rows
        _NOTHING + "rows of numbers or of tests that pass",
        "They are what a benchmark or a test prints; no row tells a failure, and none says what was expected.",
        "To compare a kernel's time with what it must move: `layoutcheck banks`, `layoutcheck resources`, and ncu's details page pasted here",
        ("8.34 23.40 9.01 1.08x\n9.14 41.05 10.25 1.12x", "a benchmark"),
        level=CLEAN,
        general=True,
    ),
    known(
        "clean.record",
        r"[\"'](?P<key>errors?)[\"']: ?(?P<none>null|None|false|\[\]|\{\}|[\"']{2})",
        _NOTHING + "a record says that it has none ({key}: {none})",
        "The rest of it is data of the program that wrote it.",
        "If something is wrong, paste what that program prints of it",
        ('{"layers": [{"layout": "NHWC"}], "error": null}', "JSON"),
        level=CLEAN,
        general=True,
    ),
)  # fmt: skip
TABLE = next(entry for entry in ENTRIES if entry.name == "clean.table")
