"""Making pasted terminal output readable: escapes, colours, line prefixes and wrapped lines undone.

Wrapping cannot be undone with certainty, so `readings` yields several versions of a text, the most faithful
first; whoever looks for something in them keeps the version in which most of it is found.
"""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Iterator

from layoutcheck.errors import InputError

MAX_PASTE = 1 << 26  # characters: 64 MiB, more than any log that is pasted by hand
_WINDOW_LINES = 80  # lines kept on each side of a line of interest in long pastes
_MAX_WINDOWS = 100
_MAX_WINDOW = 1 << 14  # characters on each side
LONG = 1 << 17  # characters: of a longer text only a part is read

_ANSI = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\ufeff]")
# how an error begins, which comes before what the compiler's printed code holds
_TOLD = (
    *("error:", "Error:", "ERROR:", "rror [", "error   :", "fatal   :"),
    *("Exception:", "Assertion", "unable to ", "nrecoverable"),
)
_INTEREST = (
    "cute.copy", "cute_nvgpu", "cute.memref", "erification failed", "static assertion failed",
    "static_assert", "Invalid __", "hazard detected", "Barrier error", "CUDA_ERROR_", "CUDA error", "OpError",
    "Failed to infer", "TMA Desc Addr", "bank conflict", "excessive sectors", "Performance Loss",
)  # fmt: skip

# Text as JSON, a log's field or Python's repr hold it. A path of Windows, C:\\new, is written so elsewhere.
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|0?33(?=\[)|(.))")
_ESCAPED = re.compile(r"\\n(?![a-z]{2})|\\[\"']|\\u00[0-9a-fA-F]{2}|\\x1b\[|\\033\[")
_DRIVE = re.compile(r"\b[A-Za-z]:\\(?!\\)")
_MEANT = {"n": "\n", "t": "\t", "r": ""}
_ENTITY = re.compile(r"&(?:[lg]t|amp|quot|apos|nbsp|#x?[0-9a-fA-F]{1,5});")
_TAGS = "a|b|br|code|details|div|em|font|i|li|p|pre|samp|span|strong|summary|td|tr|tt"
_TAG = re.compile(rf"</?(?:{_TAGS})(?: [^<>]{{0,200}})?/?>")
_BREAK = re.compile(r"<(?:br|/p|/div|/li|/tr)\b[^<>]*>")
# What people write around an error: "When I run it I get this:", "Any ideas? Thanks!"
_COURTESY = re.compile(
    r"(?i)\A\s*(?:when|if|after|running|i|we)\b[^\n:]{0,60}\b(?:get|see|gives?|following|this)\b[^\n:]{0,20}:"
    r"[ \t]*\n\s*\n"
    r"|\n\s*\n\s*(?:any (?:ideas?|help|hints?|suggestions?)|thanks?|thank you)\b[^\n]{0,60}\s*\Z"
)
_QUOTE = re.compile(r"(?:> ?)+(?!>)")  # of mail and GitHub, where nearly every line has it
_QUOTED = re.compile(r"> *[\w\[({=:'\"/*+-]")
_LOGGER = r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)"

# What terminals, test runners, loggers and CI systems put before a line; tried again until none fits.
_PREFIXES = (
    re.compile(r"[│┃║▏]\s?"),  # tmux and rich borders
    re.compile(
        r"\[?[0-9]{4}(?:-[0-9]{2}){2}[T ][0-9]{2}(?::[0-9]{2}){2}(?:[.,][0-9]+)?"
        r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?\]?\s?"
    ),  # CI time stamps
    re.compile(r"\[(?:default|rank)?[0-9]+\]:?\s?"),  # torchrun ranks
    re.compile(r"\([\w-]{1,60}(?: \w{1,12})? (?:pid|rank|ip)=[\w., =]{1,60}\) ?"),  # Ray, vLLM
    re.compile(rf"{_LOGGER}:? [0-9]{{2}}-[0-9]{{2}} [0-9:.]{{8,15}} \[[\w./]{{1,60}}:[0-9]+\] ?"),  # vLLM
    re.compile(rf"-? ?[\w.]{{1,60}} - {_LOGGER} - ?|{_LOGGER}:[\w.]{{1,60}}:"),  # Python's logging
    re.compile(r"std(?:err|out) [FP] "),  # Kubernetes
    re.compile(r"E\s{2,}(?=\S)|E\s+$"),  # pytest
    re.compile(
        r"[a-z][\w.-]{0,40}-[0-9]+ +\| |#[0-9]+ [0-9]+\.[0-9]+ |\[[0-9]+,[0-9]+\]<std\w+>: ?"
    ),  # compose, docker build, mpirun
    re.compile(r"[0-9]{1,4}: |\+(?![-=+]| +where )"),  # srun; a diff, and not pytest's "+  where"
    re.compile(r"##\[error\]|::error::"),  # GitHub, Azure
)
# What all lines begin with alike, but for its digits: "worker-1  | ", "#12 103.4 ", "[1,0]<stderr>: ".
_DIGITS, _BLANKS = re.compile(r"[0-9]+"), re.compile(r" +")
_LEAD = re.compile(r"(?:(?=.*[#\[|>:])(?=.*\w).*(?:[\]|>):]|0 )|[+*-]| ?0\t) ?")
_MESSAGE = re.compile(
    r"(?i)error|fail|fatal|warning|\bfile\b|traceback|ptxas|nvcc|\.(?:py|cuh?|cpp|hpp|h|ptx)\b|cute|tensor|layout"
)
_LONGEST_LEAD, _FEWEST_WORDS = 70, 5  # characters; letters behind it
_MOST_LINES = 0.8  # of them have it
# as web pages and office programs print them
_PLAIN = str.maketrans("\xa0\u2018\u2019\u201c\u201d", " ''\"\"")
_MARKED = re.compile(r"(?<!\\)\\([_*\[\]<>])")
_PROGRESS = re.compile(r"[0-9]%\|.*\||[0-9]it/s\]|[0-9]s/it\]|%\s+Completed \|")
_RETURNS = re.compile(r"\r*\n")
_COUNTED = re.compile(r"\b[0-9]+ ?(?:%|/ ?[0-9]+\b)")
_ENDLESS = re.compile(r"(?<![\w+/=-])([\w+/=-]{200})[\w+/=-]{2000,}")  # data in a line of text
_NO_LETTERS = re.compile(r"[^A-Za-z]+")
_RANK = re.compile(r"\[(?:default|rank)?[0-9]+\]:")
_TERMINALS = (72, 78, 79, 80, 100, 120, 132)  # columns
_BOLD = re.compile(r"\*\*(.*)\*\*$")
_HYPHEN = re.compile(r"(?<=\w)-\n(?=\w)")  # at which mail breaks a line, "site-" of "site-packages"
_BORDERS = "│┃║"  # of tmux and rich, at the end of a line
_FRESH = re.compile(
    r"\s*(?:error\b|note:|suggestion:|Traceback|File \"|During handling|Caused exception|-->|=====)"
    r"|\s*(?:[0-9]+ )?\|"
    r"|\s*[\w.]+(?:Error|Exception)\b|\s*$"
)


def readings(text: str) -> Iterator[str]:
    """The text without colours and prefixes: as it stands, then with hard-wrapped lines joined.

    A text of more than 128 KB is a log, which nobody's terminal wrapped.
    """
    if len(text) > MAX_PASTE:
        raise InputError(f"{len(text)} characters are too many", expected="the part around the error")
    lines = [_unmarked(line) for line in _unescaped(_interesting(shown(text))).split("\n")]
    lines = _unquoted([line.translate(_PLAIN) for line in lines])
    widths = [len(plain(line)) for line in lines]
    stripped = [_strip(line) for line in lines]
    pairs = [one for one in zip(stripped, widths, strict=True) if not _PROGRESS.search(one[0])]
    cleaned = _unled(_of_one_rank(lines, [line for line, _ in pairs]))
    as_printed = _HYPHEN.sub("-", "\n".join(cleaned))
    if len(text) > LONG or len(cleaned) != len(lines):
        yield as_printed
        return
    widest = max(widths)
    joined = _joined(cleaned, [width >= widest - 2 for width in widths])
    wrapped = widest in _TERMINALS and widths.count(widest) > 1
    yield from (joined, as_printed) if wrapped else (as_printed, joined)
    yield _joined(cleaned, [True] * len(cleaned))


def shown(text: str) -> str:
    """The text as a terminal shows it: of a progress bar its last state; of an endless word its start.

    What stands behind a return and is no later state of the same is a line of its own: a traceback, or all
    lines of a text.
    """
    text = _ENDLESS.sub(r"\1...", _RETURNS.sub("\n", text))
    if "\r" not in text:
        return text
    kept: list[str] = []
    for line in text.split("\n"):
        *states, last = line.split("\r")
        letters = [_NO_LETTERS.sub("", state) for state in (*states, last)]
        behind = zip(states, itertools.pairwise(letters), strict=True)
        kept += (state for state, (said, after) in behind if said != after and not _COUNTED.search(state))
        kept.append(last)
    return "\n".join(kept)


def _unmarked(line: str) -> str:
    """The line without the backslashes of Markdown."""
    return _MARKED.sub(r"\1", line) if _MARKED.search(line) and not _DRIVE.search(line) else line


def _of_one_rank(lines: list[str], stripped: list[str]) -> list[str]:
    """The lines without those that another rank has printed just before."""
    if sum(_RANK.match(line) is not None for line in lines) < _MOST_LINES * len(lines):
        return stripped
    return [line for at, line in enumerate(stripped) if not at or line != stripped[at - 1] or not line]


def cut(text: str, most: int) -> str:
    """The text as one line; of more than `most` characters the first words, and "..." behind them."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most].rpartition(' ')[0] or line[:most]} ..."


def plain(text: str) -> str:
    """The text without colours."""
    return _ANSI.sub("", text)


def _unescaped(text: str) -> str:
    """The text without the escapes of JSON and HTML, where it is written in them."""
    if text.startswith('"') and '""' in text and "\\" not in text:  # a cell of CSV
        text = text.strip()[1:-1].replace('""', '"')
    text = _COURTESY.sub("", _of_json(text))
    if len(_ESCAPED.findall(text)) > text.count("\n") // 4 and not _DRIVE.search(text):
        text = _ESCAPE.sub(_meant, text)
    if _ENTITY.search(text) or _TAG.match(text):
        text = html.unescape(_TAG.sub("", _BREAK.sub("\n", text)))
    return text


def _of_json(text: str) -> str:
    """The text that a JSON string holds, or the longest one of an object's fields."""
    if text[:1] not in ('"', "{"):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    fields = [one for one in (value.values() if isinstance(value, dict) else [value]) if isinstance(one, str)]
    told = max(fields, key=len, default="")
    return told if " " in told else text


def _meant(escape: re.Match[str]) -> str:
    """What an escape stands for."""
    code = escape[1] or escape[2]
    if code:
        return chr(int(code, 16))
    return _MEANT.get(escape[3], escape[3]) if escape[3] else "\x1b"


def _unquoted(lines: list[str]) -> list[str]:
    """The lines without the ">" of a quotation, where nearly all have it, or some that follow one another."""
    filled = [line for line in lines if line.strip() and not line.startswith("```")]
    marked = sum(line.startswith(">") and not line.startswith(">>>") for line in filled)
    every = bool(marked) and marked >= 0.8 * len(filled)
    out: list[str] = []
    for at, line in enumerate(lines):
        beside = any(map(_QUOTED.match, (*lines[max(0, at - 1) : at], *lines[at + 1 : at + 2])))
        quoted = line.startswith(">") and (every or (beside and _QUOTED.match(line)))
        out.append(_QUOTE.sub("", line, count=1) if quoted else line)
    return out


def _unled(lines: list[str]) -> list[str]:
    """The lines without what nearly all of them begin with, where that is no part of a message."""
    shapes = [_DIGITS.sub("0", _BLANKS.sub(" ", line)) for line in lines if line.strip()]
    if len(shapes) < 2:
        return lines
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*shapes[:2], strict=False))
    alike = "".join(letter for letter, _ in same)[:_LONGEST_LEAD]
    told = _MESSAGE.search(alike)
    found = _LEAD.match(alike[: told.start()] if told else alike)
    if found is None or set(found[0]) <= set("= "):
        return lines
    mark = found[0].rstrip()
    behind = [shape[len(mark) :] for shape in shapes if shape.startswith(mark)]
    speaking = sum(sum(map(str.isalpha, rest)) >= _FEWEST_WORDS for rest in behind)
    if len(behind) < _MOST_LINES * len(shapes) or speaking < len(shapes) / 2:
        return lines
    lead = re.compile(re.escape(mark).replace("0", "[0-9]+").replace("\\ ", " +") + " ?")
    return [lead.sub("", line, count=1) if lead.match(line) else line for line in lines]


def _interesting(text: str) -> str:
    """A long paste cut down to the neighbourhood of what can matter; a short one as it is."""
    if len(text) <= LONG:
        return text
    windows = (*_windows(text, text, _TOLD, LONG // 2), *_windows(text, text, _INTEREST, LONG))
    if not windows:
        from layoutcheck.catalogue import folding  # which a trace is spared

        lowered = text.lower()
        same = len(lowered) == len(text)  # but for a letter whose lower case is two
        windows = tuple(_windows(text, lowered if same else text, folding.WRONGS, LONG))
    return "\n".join(windows)


def _windows(text: str, searched: str, words: tuple[str, ...], most: int) -> list[str]:
    """Neighbourhoods of words of `searched`, the text or its lower case, about `most` characters in all."""
    windows: list[str] = []
    at, kept = 0, 0
    following = {word: searched.find(word) for word in words}
    while len(windows) < _MAX_WINDOWS and kept < most:
        hits = {word: hit for word, hit in following.items() if hit >= 0}
        if not hits:
            break
        start, end = _window(text, at, min(hits.values()))
        windows.append(text[start:end])
        at, kept = end, kept + end - start
        following = {word: hit if hit >= at else searched.find(word, at) for word, hit in hits.items()}
    return windows


def _window(text: str, floor: int, hit: int) -> tuple[int, int]:
    """Some lines on each side of `hit`, not below `floor`; of endless lines, some characters."""
    start, end = hit, hit
    for _ in range(_WINDOW_LINES):
        start = max(floor, text.rfind("\n", floor, start))
        if start == floor:
            break
    for _ in range(_WINDOW_LINES):
        following = text.find("\n", end + 1)
        end = len(text) if following < 0 else following
        if following < 0:
            break
    return max(start, hit - _MAX_WINDOW), min(end, hit + _MAX_WINDOW)


def _strip(line: str) -> str:
    line = _CONTROL.sub("", plain(line))
    while True:
        for prefix in _PREFIXES:
            found = prefix.match(line)
            if found and found.end():
                line = line[found.end() :]
                break
        else:
            inside = line.rstrip()
            bordered = inside.endswith(tuple(_BORDERS))
            return _BOLD.sub(r"\1", inside.rstrip(_BORDERS).rstrip() if bordered else line)


def _joined(lines: list[str], full: list[bool]) -> str:
    """The lines, each full one run together with the next unless that begins a message of its own."""
    out: list[str] = []
    for number, line in enumerate(lines):
        if number and full[number - 1] and not _FRESH.match(line):
            out[-1] += line
        else:
            out.append(line)
    return "\n".join(out)
