"""What is told of a text in which no error is known: its symptom in words, and the layouts that it prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from layoutcheck.algebra import Layout, cosize, parse_layout, size
from layoutcheck.algebra.modes import leaves
from layoutcheck.brackets import closing
from layoutcheck.catalogue import cpp_types, edges
from layoutcheck.catalogue.entry import Known
from layoutcheck.catalogue.folding import WRONG
from layoutcheck.catalogue.literals import plain
from layoutcheck.catalogue.tables import SYMPTOMS, called
from layoutcheck.errors import InputError

DEBUGGER, NOTHING_RAN = called("symptom.debugger"), called("symptom.nothing-ran")
WARNING, SLOW = called("symptom.warning"), called("symptom.slow")
UNTOLD = called("symptom.untold")
_WARNED = re.compile(r"(?i)[):] ?warning(?: ?#?[\w-]+)? ?: $")  # of a compiler, before its message
_LONG_MESSAGE = 160  # characters, longer than any message
_SEVERITY = 60  # characters before a message in which its severity stands
_FAILED = re.compile(r"(?i)\berrors?\b|\bundefined\b|\bfatal\b|\bfailed\b|Traceback")
_RACE = called("symptom.race")
LAYOUTS = called("symptom.layouts")
_ERROR = re.compile(
    r"^\W*(?:Failed to|Cannot|Can't|Unable|Unsupported|Invalid|Could not|Expected|Unknown|Illegal|Missing|No \w+ \w+ (?:found|available))\b|\w(?:Error|Exception|NotImplemented): |\b(?:fatal )?error(?: C?[0-9]+)? ?: |[):] ?error\b|\[ERROR\]|Check failed|_STATUS_|Assertion.{0,200}failed|\bfatal\b|Traceback|\bat::|={5,}|returned (?:[-0-9]+|status)|\bFAILED\b|\bfailed: |\[rank[0-9]"
)  # as programs print one, and no one writes
_OF_GPU = re.compile(
    r"(?i)cuda|\bgpus?\b|kernel|\bwarps?\b|\blanes?\b|smem|shared[- ]memory|\bcute|cutlass|::|\btma\b|u?tma\w+|mbar|tensor|__\w+|sanitizer|racecheck|memcheck|synccheck|initcheck|range_constexpr|const_expr|gemm|mma|\bsm_?[0-9]{2,3}|cp\.async|cp_?async|[ls][dt]matrix|tile|swizzl|layout|\bptxas|\bjit\b|\bfp[48]\b|\bbf16\b|\bcublas|head_?dim|attention|coalesc|predicat|(?:producer|consumer)_|vectori[sz]|nsight|\bncu\b|tcgen05|tmem\b|epilogue|\bcta\b|\bptx\b|cubin|hopper|blackwell|main ?loop|bank conf|_(?:divide|product|inverse|copy|maxnreg|fence)|copy_|setmax|quantiz"
)
_OF_MODELS = re.compile(
    r"(?i)\btok(?:en)?s?(?:/s|(?: per |/)sec)|\bthroughput\b|\bTTFT\b|\bTPOT\b|\bserv(?:er|ing)\b|\bdecod(?:e|ing)\b|\bprefill\b|\bbatch size\b|\btraining\b|\binference\b"
)
_INSIDE = re.compile(
    r"(?i)\bcop(?:y|ies)\b|layout|swizzl|smem|shared mem|\bbanks?\b|\bwarps?\b|\bregisters?\b|\btiles?\b|mma|\btma\b|cp\.async|occupan|\bncu\b|nsight|wavefront|coalesc|vectori|\bstages?\b|\bkernels?\b|\bgemm|\bT?FLOPS|GB/s|__\w+"
)
_PERSON = re.compile(r"\b(?:I|[Ww]e|[Mm]y|[Hh]ow|[Ww]hy)\b")
_DOUBT = re.compile(
    r"(?i)(?:is (?:the|this|that|my) (?:\w+ )?(?:counter|count|metric|number|report|tool|profiler|ncu|sanitizer)|what(?:'s| is| am I| did I| went| could be| might be)?(?: \w+){0,4}|(?:some|any)thing(?: \w+)?|correct me if|am I|if I(?:'m| am)|maybe I(?:'m| am)) wrong\b"
)  # of the writer's own understanding
_TROUBLES = r"(?:hang(?:s|ing)?|hung|dead-?lock\w*|(?:seg\w*)?(?:crash|fault)\w*|segfault\w*|(?:data |memory )?(?:races?|hazards?)|errors?|nans?|(?:illegal|invalid|misaligned|mis-aligned) (?:memory )?(?:access\w*|address\w*|instruction\w*|reads?|writes?)|misalignment|bank[ -]conflicts?|wrong results?|spills?|problem|issue)"
_OVER = r"(?:fixed|resolved|solved|mended|gone|cured|no more|any ?more|vanish\w*|disappear\w*)"
_SETTLED = re.compile(
    rf"(?i)\b(?:no longer|never|not?|n't|without(?! an?\b)|0|zero|free of|instead of|fix(?:es|ed)|mend(?:s|ed)|resolv(?:es|ed)|solv(?:es|ed)|avoid(?:s|ed)?|prevent(?:s|ed)?)(?: (?:an?|the|this|that|any|more|further|such|shared|global|local|memory|smem|longer)){{0,3}} {_TROUBLES}(?! (?:message|code|is|text))\b"
    rf"|\b{_TROUBLES}(?: (?:is|are|was|were|has been|have been|being|all|now|after that)){{0,2}} {_OVER}\b|\b(?:with|after|once|now that|since) (?:the |that |this |its )?(?:\w+ )?{_TROUBLES} {_OVER}\b"
    r"|\b(?:\w*check|compute-sanitizer|memcheck) (?:reports?|finds?|shows?|is|sees?) (?:0|no|zero|clean|silent|nothing)(?: \w+)?\b"
    r"|[\u274c\u2705\u2717\u2713] ?\w+ ?:"  # a label of code
    r"|\bcu[A-Z]\w+(?:\(\))? (?:\w+ ){0,2}?(?:succeed(?:s|ed)|success\w*|CUDA_SUCCESS|passes|passed|works|is fine)\b"
    rf"|(?<!why )\b(?:should|would|could|might|will|can)(?:n't)?(?: [^\s?!]+){{1,8}}? (?:{_TROUBLES}|(?:block|wait|spin)s? forever)\b[^.!?]{{0,40}}\?"
    r"|\b(?:stuck|freezes?|stall\w*) (?:at|around|below|near) (?:about |only |~)?[0-9]"
)  # a trouble that is told to be over, or to be none
_NOTE = re.compile(
    r"(?i)^\W*(?:[\w./+-]+ ){0,3}?(?:docs?|documentation|(?:release |integration |profiling |design )?notes|guide|tutorial|read ?me|change ?log|reference)\b"
)  # how a document begins
_MET = re.compile(
    r"\b(?:I|[Ww]e) (?:\w+ ){0,2}?(?:get|got|see|saw|hit|run|ran|have|had|observe\w*|face\w*|met|encounter\w*|tried|try)\b|\b(?:my|our) \w+|\b(?:still|now|sometimes|always) (?:fails?|hangs?|crash\w*|faults?)\b|\?"
)  # what its writer does
_CHINESE = re.compile(r"[\u4e00-\u9fff]{4}")
_SENTENCE = re.compile(r"(?:\b[A-Za-z][\w'-]*\b[ ,:;(`*]+){5}")
_LITTLE_WORD = re.compile(
    r"\b(?![A-Z]{2})(?i:the|an?|is|are|was|it|to|when|with|why|how|what|do(?:es)?|of|in|on|for|and|but|i|we|my|not|can|this|that|these)\b"
)  # which tables and lists lack
_RELEASE = re.compile(
    r"(?i)(?P<said>(?:nvidia-cutlass-dsl|cute[- ]?dsl|cutlass[- ]dsl)\W{0,4}(?:version |v)?4\.[0-9]+(?:\.[0-9]+)?|\b(?:cuDNN|CUTLASS|Triton|NCCL|ptxas|nvcc)(?: Backend)? v?[0-9]+\.[0-9]+(?:\.[0-9]+)*(?![0-9.]*[0-9] ?(?:[x×%]|times|ms|us|TFLOPS)))(?!\w| ?(?:[x×%]|times\b|ms\b|us\b|TFLOPS))"
)
_NUMBER = re.compile(r"(?<![0-9.])[0-9.]+ ?(?:us|ms|ns|s|TFLOPS|GB/s|%|x)?\b")
_PASSED = re.compile(r"\W{0,4}(?:PASS|OK)\b")
_CELL = re.compile(r"(?i)(?<![\w.])(?:inf|nan|[0-9]+(?:\.[0-9]+)?)(?![\w.])")
_EMPTY = re.compile(r"(?i)inf|nan|0+\.0+")  # a cell of what nobody wrote
_FEWEST_NUMBERS = 3  # of a row
_FEWEST_ROWS = 2
_MOST = 6  # layouts
_LONGEST = 400  # characters of one
_JOINT = re.compile(r"(?i)\)(?:\s?:\s?|,? (?:and |with )?(?:an? )?strides?(?: of| is| are|[:=])? ?)\(")
_STATIC = re.compile(r"\b_(?=[0-9])")
_PLAIN = re.compile(r"[0-9(),?_{} ]*")


def find(folded: str) -> tuple[Known, re.Match[str]] | None:
    """The symptom that the text's words tell, and where; None where they tell none."""
    if is_note(folded):
        return None
    told = _DOUBT.sub(" ", unsettled(folded))
    said = plain(folded)
    found = ((entry, entry.words.search(folded if entry is WARNING else told, said)) for entry in SYMPTOMS)
    if not is_of_gpu(folded):
        found = (one for one in found if one[0] is not _RACE)
    return next(((entry, match) for entry, match in found if match), None)


def unsettled(folded: str) -> str:
    """The text without the troubles that it tells to be over."""
    return _SETTLED.sub(" ", folded)


def is_prose(folded: str) -> bool:
    """Whether the text is what a person writes, a question or a note: sentences, and no line as a program prints its error."""
    return (
        _ERROR.search(folded) is None
        and (
            "not divisible by" not in folded
            or _PERSON.search(folded) is not None
            or len(folded) > _LONG_MESSAGE
        )
        and (_SENTENCE.search(folded) or _PERSON.search(folded) or _CHINESE.search(folded)) is not None
        and (_LITTLE_WORD.search(folded) or _CHINESE.search(folded)) is not None
    )


def is_note(folded: str) -> bool:
    """Whether the text is a document, by its first words, and no report: it mentions faults, and tells none that its writer met."""
    return _NOTE.search(folded) is not None and is_prose(folded) and not _MET.search(folded)


def tells_wrong(folded: str) -> bool:
    """Whether a word of the text tells an error, a wrong value or a wait."""
    tells = (called("symptom.wrong"), called("symptom.hang"))
    return bool(WRONG.search(folded)) or any(entry.words.search(folded) for entry in tells)


def is_table(text: str) -> bool:
    """Whether the lines of a text are rows of numbers, or of tests that pass."""
    rows = (
        line
        for line in text.splitlines()
        if _PASSED.match(line) or len(_NUMBER.findall(line)) >= _FEWEST_NUMBERS
    )
    return sum(1 for _ in rows) >= _FEWEST_ROWS


def is_empty(text: str) -> bool:
    """Whether the rows of a table of results hold inf, NaN or 0.0 alone; a row of whole numbers is its head."""
    cells = (_CELL.findall(line) for line in text.splitlines())
    rows = [row for row in cells if len(row) >= _FEWEST_NUMBERS and not all(map(str.isdigit, row))]
    return len(rows) >= _FEWEST_ROWS and all(_EMPTY.fullmatch(cell) for row in rows for cell in row)


def read(folded: str, fails: bool = True) -> tuple[str, ...]:
    """What the words of a report decide: the sizes at which it fails, the release of the DSL that it names."""
    size, release = edges.depends(folded) if fails else "", _RELEASE.search(folded)
    told = list(edges.told(folded)) if fails else []
    if size:
        told.append(
            f"it depends on a size ('{size}'): where whole tiles are right, look at the offset of the second tile, at the tail's predicate, and at threads or warps that do not divide the extent"
        )
    if release:
        told.append(
            f"the text names {release['said']}: run it with its newest release; where the release alone changes the result, the fault is its own, and its project takes the report (NVIDIA/cutlass for the DSL)"
        )
    return tuple(told)


def is_of_whole_programs(folded: str) -> bool:
    """Whether a text speaks of a model's or a server's speed, and of nothing inside a kernel."""
    return _OF_MODELS.search(folded) is not None and _INSIDE.search(folded) is None


def is_of_gpu(folded: str) -> bool:
    """Whether the text has a word of GPUs, kernels or their compilers."""
    return _OF_GPU.search(folded) is not None


def layouts(folded: str) -> tuple[str, ...]:
    """The layouts that a text prints, each with what it is: extents, and what is peculiar about it."""
    told: dict[str, None] = {}
    for text, layout in printed(folded):
        told.setdefault(f"{text}: {described(layout)}" if layout else text)
        if len(told) == _MOST:
            break
    return tuple(told)


def of_layouts(folded: str) -> tuple[Known, dict[str, str], tuple[str, ...]] | None:
    """The entry of a text that prints layouts, its parts and the layouts; None where it prints none."""
    found = layouts(folded)
    return (LAYOUTS, {"count": str(len(found))}, found) if found else None


def printed(folded: str) -> Iterator[tuple[str, Layout | None]]:
    """Each `(shape):(stride)` of the text; None for one whose strides only the run knows."""
    return ((text, layout) for _, text, layout in placed(folded))


def placed(folded: str) -> Iterator[tuple[int, str, Layout | None]]:
    """Each `(shape):(stride)` of the text, and each layout that it prints as a C++ type alone, behind the place where it begins."""
    for joint in _JOINT.finditer(folded):
        start, behind = _opened(folded, joint.start()), joint.end() - 1
        if start < 0 or not _PLAIN.fullmatch(folded, start, joint.start()):
            continue
        with suppress(InputError):
            stride = folded[behind : closing(folded, behind, behind + _LONGEST)]
            text = _STATIC.sub("", f"{folded[start : joint.start() + 1]}:{stride}".replace(" ", ""))
            yield start, text, parse_layout(text)
    inner = False  # of a composed layout, which stands by itself behind it
    for start, text in cpp_types.placed(folded) if not _ERROR.search(folded) else ():
        if not (inner or text.startswith("S<")):
            yield start, text, parse_layout(text)
        inner = text.startswith("S<")


def _opened(text: str, close: int) -> int:
    """Where the bracket opens that closes at `close`; -1 where it does not."""
    depth = 0
    for at in range(close, max(-1, close - _LONGEST), -1):
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return -1


def described(layout: Layout) -> str:
    """How many coordinates and offsets a layout has, and where its elements are adjacent."""
    modes = leaves(layout)
    adjacent = [str(at) for at, one in enumerate(modes) if one.stride == 1 and one.extent != 1]
    along = (
        f"adjacent along its mode {', '.join(adjacent)} (flattened)" if adjacent else "no adjacent elements"
    )
    if not all(isinstance(number, int) for one in modes for number in (one.extent, one.stride)):
        return f"{along}; the rest is known at run time"
    count, span = size(layout), cosize(layout)
    shared = [one for one in modes if one.stride == 0 and one.extent != 1]
    repeated = "; a stride of 0 repeats elements" if shared else ""
    sparse = not shared and isinstance(count, int) and isinstance(span, int) and span > count
    gaps = "; it has gaps, and what takes it as packed reads other elements" if sparse else ""
    return f"{count} coordinates in {span} elements, {along}{repeated}{gaps}"


def is_warned(folded: str, match: re.Match[str]) -> bool:
    """Whether a compiler prints the match as a warning, and nothing in the text is an error."""
    before = folded[max(0, match.start() - _SEVERITY) : match.start()]
    return _WARNED.search(before) is not None and not _FAILED.search(folded)
