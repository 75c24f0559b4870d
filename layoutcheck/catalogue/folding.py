"""A pasted text as the entries read it: white space folded, long ones cut around their errors; and where its user's code is."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

# characters of a long log that are searched: around its first errors, and its end
HEAD, _TAIL = 1 << 15, 1 << 14
_AROUND = 3000  # characters on each side of an error
_TELLS = 24  # characters of a message by which its line is found
SPACE = re.compile(r"\s+")
WRONGS = (
    "error", "fail", "exception", "fault", "abort", "fatal", "crash", "segfault", "assert", "unable", "cannot", "unsupported", "not support", "only support",
    "invalid", "illegal", "unreachable", "can't", "could not", "not found", "not installed", "unavailable",
    "not available", "not divisible", "no suitable", "no such", "mismatch", "undefined", "undeclared", "报错", "错误", "失败", "异常", "无法", "崩溃",
)  # fmt: skip
WRONG = re.compile(f"(?i){'|'.join(WRONGS)}".replace("|fault", "|(?<!de)fault"))
OF_DSL = re.compile(r"cutlass|\bcute|\bDSL|\bmark_layout_dynamic\b")
OF_CPP = re.compile(r"(?i)cutlass|\bcute")
# a name of a library's namespace
FOREIGN = re.compile(r"\"(?:[\w<>,&*]+ )?(?!std::|cuda::|detail::|flash::|__)[a-z]\w+::\w")
COMPILES = re.compile(
    r"\.(?:cuh?|hpp|h|inl|cpp|cc)(?:\([0-9]+(?:,[0-9]+)?\)|:[0-9]+:[0-9]+) ?: (?:fatal )?error\b"
)
_OF_MSBUILD = re.compile(r"(\) ?: (?:fatal )?error) : ")  # nvcc's errors, as Visual Studio prints them
_PLAIN = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")  # quotes as a web page prints them


# Where the user's own code is: a Python frame, MLIR's location, the DSL's arrow, nvcc's instantiation stack, compute-sanitizer's
# "in FILE:LINE".
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_PLACES = (
    re.compile(r'File "(?P<file>[^"]{1,400})", line (?P<line>[0-9]+)'),
    re.compile(r'\("(?P<file>[^"\s]{1,400}\.py)":(?P<line>[0-9]+):[0-9]+'),
    re.compile(r"--> (?P<file>[^\s:]{1,400}):(?P<line>[0-9]+)"),
    re.compile(r"at line (?P<line>[0-9]+) of (?P<file>[^\s\")]{1,400})"),
    re.compile(r" in (?P<file>[^\s\"]{1,400}?\.cuh?):(?P<line>[0-9]+)"),
    re.compile(r" in (?P<file>[^\s\"]{1,400}?):(?P<line>[0-9]+)"),
    re.compile(
        r"(?<![\w./~+-])(?P<file>/?[\w./~+-]{1,400}\.(?:cu|cuh|hpp|h|inl|py))\((?P<line>[0-9]+)\): error"
    ),
    re.compile(r"\bfile: +(?P<file>[^\s\"]{1,400}) line: +(?P<line>[0-9]+)"),
    re.compile(
        r"(?<![\w./~+-])(?<!from )(?P<file>/?[\w./~+-]{1,300}\.(?:cuh?|cc|cpp|cxx|hpp|h|inl)):(?P<line>[0-9]+)\b"
    ),
)
_LIBRARY = (
    "/include/cute/",
    "/include/cutlass/",
    "nvidia_cutlass_dsl",
    "site-packages",
    "dist-packages",
    "<unknown>",
    "/lib/python3.",
    "/src/conda/python-3",  # CPython itself
)
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


def place(folded: str, at: int) -> str | None:
    """The innermost place in the user's own code: behind the error for C++ and the sanitizer, before it for Python."""
    for pattern in _PLACES:
        for found in pattern.finditer(folded, max(0, at - HEAD)):
            if not any(part in found["file"] for part in _LIBRARY):
                last = [
                    f for f in pattern.finditer(folded, 0, at) if not any(p in f["file"] for p in _LIBRARY)
                ]
                chosen = last[-1] if pattern is _PLACES[0] and last else found
                return f"{chosen['file']}:{chosen['line']}"
    return None


# What a server's log prints before each line of a message; the first line keeps it.
_LOGGED = re.compile(
    r"(?<=\n)[ \t]*(?:\((?:\w+ )?\w+ pid=[0-9]+[^)\n]*\)[ \t]*)+(?:(?:ERROR|WARNING|INFO|DEBUG) [0-9]{2}-[0-9]{2} [0-9:]{8} \[\w+\.py:[0-9]+\][ \t]?)?"
    r"|(?<=\n)[ \t]*\[rank[0-9]+\]:[ \t]?"
)


# Lines of a run in which nothing is wrong: a log's progress, a build's steps, tests that pass, what ptxas counts, numbered warnings.
_ORDINARY = re.compile(
    r"^.{0,60}\b(?:INFO|DEBUG)\b|[0-9]%\|| PASSED(?: +\[ *[0-9]+%\])?$|^\[ *[0-9]+(?:/[0-9]+|%)\] (?:Building|Linking|Compiling|Generating|Built)\b"
    r"|^ptxas info *: (?:Used|Compiling|Function properties|[0-9]+ bytes)|[):] ?warning #[0-9]+-D: "
)


# What a program prints because of an error, and warnings of its packages: neither says what is wrong.
_WRAPPED = re.compile(
    r"(?:[^\w\s:]{1,6} )?Error during runtime code generation for function \W?\w+\W?(?: [^\w\s]{1,6})?\s*Caused exception: (?=\S)"
)  # of the DSL, around what was raised
_LEFT_OPEN = re.compile(r"(?m)^[^\n]{0,200}\bdestroy_process_group\(\) was not called[^\n]*$")
_BESIDE = re.compile(
    r"(?m)^[^\s:]+\.py:[0-9]+: (?:Future|Deprecation|User|Runtime|Pending\w+)Warning: [^\n]*(?:\n[ \t]+[^\n]*)?$"
    r"|^(?:=+ short test summary info =+|FAILED \S+::\S+(?: - \w+)?|=* ?[0-9]+ (?:failed|passed)\b[^\n]*)$"
    r"|^terminate called after throwing an instance of '[^'\n]*'\n\s*what\(\):\s+CUDA error$|^Aborted(?: \(core dumped\))?$"
)
_OF_A_BUILD = re.compile(
    r"(?m)^(?:ninja: build stopped[^\n]*|subprocess\.CalledProcessError: [^\n]*|RuntimeError: Error compiling objects for extension)$"
)
_BUILDS = re.compile(r"(?i)\bbuil[dt]\w*|\bcompil\w+|\binstall\w*|\bpip\b|\bsetup\.py|Traceback")
_FEWEST = 8  # words of a line that says something by itself
_SAYING = re.compile(
    rf"(?m)^(?!\s*(?:File \"|Traceback|FAILED|\S+/))(?:[^\n]*?\b[A-Za-z]{{2,}}\b){{{_FEWEST}}}"
)
_FRAMES = re.compile(r"(?m)^Traceback [^\n]*\n(?:[ \t]+[^\n]*\n)+(?=[a-zA-Z])")
_RAISED = re.compile(r"(?m)^[\w.]*(?:Error|Exception|Interrupt|Exit|Warning)\b")


def alone(text: str) -> str:
    """A short text without what only follows from its error, and warnings beside it, where it says something by itself."""
    if len(text) >= HEAD:
        return text
    text = _WRAPPED.sub("", text)
    text = rest if WRONG.search(rest := _LEFT_OPEN.sub("", text)) or _SAYING.search(rest) else text
    rest = _BESIDE.sub("", text)
    rest = rest if _BUILDS.search(without := _OF_A_BUILD.sub("", rest)) else without
    rest = rest if _RAISED.search(rest) else _FRAMES.sub("", rest)  # above a person's sentence
    return rest if _SAYING.search(rest) else text


def quiet(text: str) -> str:
    """A log without its ordinary lines, where others of it tell an error; a short text as it is."""
    lines = text.splitlines()
    kept = [line for line in lines if not _ORDINARY.search(line) or WRONG.search(line)]
    rest = "\n".join(kept)
    return rest if 2 * len(kept) < len(lines) and WRONG.search(rest) else text


def is_binary(text: str) -> bool:
    """Whether an eighth or more of the characters are none of a text: control codes, or bytes that are not UTF-8."""
    return 8 * len(_NO_TEXT.findall(text)) > len(text)


def unlogged(text: str) -> str:
    """The text without what a server's log prints before each line of a message but the first."""
    return _LOGGED.sub("", text)


# A function of CuTe in a line of compute-sanitizer: of its template arguments the first ones tell what it is.
_TEMPLATED = re.compile(r"(?m)^(=========[^\n<]*<[^\n]{100})[^\n]{100,}>")


def fold(text: str) -> str:
    """The text with every run of white space as one space; of a long one, what is around its errors, and its end."""
    text = _TEMPLATED.sub(r"\1...>", unlogged(text))
    if len(text) > HEAD + _TAIL:
        text = f"{_around_errors(text[:-_TAIL])} {text[-_TAIL:]}"
    return _OF_MSBUILD.sub(r"\1: ", SPACE.sub(" ", text.translate(_PLAIN)))


_PLACED = re.compile(
    r"\S.{0,300}(?:\([0-9]+\)|:[0-9]+:[0-9]+) ?: (?:note|error|warning|remark)\b"
)  # of a compiler


def without_source(text: str, said: str) -> str:
    """A message without what the folded text runs on with: an empty or indented line below it, or another message."""
    at = text.find(said[:_TELLS]) if len(text) >= HEAD else 0
    near = text[max(0, at - _AROUND) : at + _AROUND] if len(text) >= HEAD else text
    lines = near.translate(_PLAIN).splitlines()
    for line, below in itertools.pairwise([*lines, ""]):
        folded = SPACE.sub(" ", line).strip()
        at = folded.find(said[:_TELLS])
        if at >= 0 and (not below.strip() or below.startswith("  ") or _PLACED.match(below)):
            return said[: len(folded) - at]
    return said


def _wrongs(text: str) -> Iterator[int]:
    """Where the words that tell an error stand, in order."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a letter whose lower case is two
        yield from (match.start() for match in WRONG.finditer(text))
        return
    following = {word: lowered.find(word) for word in WRONGS}
    while found := [at for at in following.values() if at >= 0]:
        at = min(found)
        yield at
        following = {
            word: lowered.find(word, at + 1) if hit == at else hit for word, hit in following.items()
        }


def _around_errors(text: str) -> str:
    """The neighbourhoods of the first words that tell an error; the beginning where there is none."""
    parts: list[str] = []
    kept, behind = 0, 0
    for at in _wrongs(text):
        start, end = max(behind, at - _AROUND), at + _AROUND
        if kept >= HEAD:
            break
        if end > behind:
            parts.append(text[start:end])
            kept, behind = kept + end - start, end
    return " ".join(parts)[:HEAD] or text[:HEAD]
