"""How a pattern of the catalogue meets other wordings of its message, and which words a text must hold for it.

A pattern is written as the program prints the message. What people change when they retype, quote or translate one does not
count: the case of letters, a hyphen for a space or none, an article, quotation marks of another kind or none. Other character
classes, and what stands in `(?-i:...)`, are as they are written. What stands in quotation marks is, where the text has none, the
first word there, or all until what follows it. Each alternative of a pattern has some run of plain letters that no match can lack: where `plain` of the
text has none of these, the pattern is neither compiled nor searched, which costs a hundredth of the search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_FEWEST, _ANY = 3, 1000  # letters of a run worth looking for; more than any run has
_PLAIN = r"[\w ,;:'\"`=<>/!#%&@~-]|\\[^\w]"
# A group's begin, its end with what makes it optional, a run of letters that all stand in a match; else one item.
_TOKEN = re.compile(
    rf"\((?!\?(?:[a-z]+\)|P=))(?P<open>\?(?:P<\w+>|<?[=!]|[a-z-]*:|\(\w+\)))?|(?P<end>\||\)(?:[*?]|\{{[0,][0-9,]*\}})?)|(?P<run>(?:{_PLAIN})+(?![*?+{{]))"
    r"|\{[0-9,]+\}|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^)]*\)|\\.|."
)
_ESCAPE = re.compile(r"\\(.)")
_PART = re.compile(
    r"(?P<article>(?<![^ ])(?:[Tt]he|[Aa]n?) )|(?P<space>(?<![^A-Za-z]) (?![^A-Za-z]))|(?P<hyphen>(?<=[A-Za-z])-(?=[A-Za-z]))"
    r"|(?P<quote>['\"`])|[^ '\"`-]+|."
)
_QUOTES = "'\"`"
_ANY_QUOTE = f"[{_QUOTES}]"
_OPEN = {"article": "(?:(?:the|an?) )?", "space": "[- ]", "hyphen": "[- ]?"}
_CHOSEN = r"\[(?:\\?['\"`])+\](?![*+?{])"
_CHOICE, _ONE_QUOTE = re.compile(_CHOSEN), rf"['\"`]|{_CHOSEN}"
_IN_QUOTES = re.compile(
    rf"(?:(?<=[\w:=)] )|(?<=\)))(?P<begin>(?:{_ONE_QUOTE})(?:\((?:\?P<\w+>|\?:)?)?)\[\^(?P<but>(?:\\.|[^\]\\])*)\](?P<many>\{{[0-9,]+\}}|[+*])(?P<lazy>\??)(?P<end>\)?(?:{_ONE_QUOTE}))"
)
_FIRST, _LAST = rf"(?:{_ANY_QUOTE}|(?<![\w.]))", rf"(?:{_ANY_QUOTE}|(?!\w))"  # before a name, and behind one
_WITHOUT_QUOTES = str.maketrans("-", " ", _QUOTES)
_ARTICLES = ("the", "a", "an")
_AROUND = ("(?=", "(?!", "(?<=", "(?<!")  # how a group begins that only looks at what stands around a match
_EXACT = "(?-i:"
_Tokens = Iterator[re.Match[str]]


def plain(text: str) -> str:
    """A folded text in lower case without hyphens, articles and quotation marks, in which the words that a pattern needs are looked for."""
    plain = text.lower().translate(_WITHOUT_QUOTES)
    for article in _ARTICLES:
        plain = plain.replace(f" {article} ", " ")
    return plain


@dataclass(frozen=True, eq=False)
class Words:
    """A pattern, which is compiled when a text may match it."""

    text: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is first asked for, so that it meets other wordings as well."""
        return re.compile(loose(self.text))

    @cached_property
    def needed(self) -> frozenset[str]:
        """Runs of letters as `plain` has them, one of which every match holds; none where there are no such."""
        return frozenset(_of_group(_TOKEN.finditer(f"{self.text})"))[1])

    def may_match(self, said: str) -> bool:
        """Whether a text can match, which is given `plain`."""
        for word in self.needed:  # a loop: this is asked of hundreds of patterns for each text
            if word in said:
                return True
        return not self.needed

    def search(self, text: str, said: str | None = None) -> re.Match[str] | None:
        """The first match in a text; `said` is the text made `plain`, where it is at hand."""
        may = self.may_match(plain(text) if said is None else said)
        return self.pattern.search(text) if may else None


def loose(pattern: str) -> str:
    """The pattern with each of its runs of plain letters so that it meets other wordings."""
    made = list[str]()
    groups = list[str]()  # how each begins that is open
    before, lazy = "", False
    tokens = list(_TOKEN.finditer(_IN_QUOTES.sub(_unquoted, pattern)))
    for at, token in enumerate(tokens):
        text = token[0]
        exact = _EXACT in groups
        chosen = not exact and _CHOICE.match(token.string, token.start()) is not None
        if (token.lastgroup == "run" and not exact) or chosen:
            run = "'" if chosen else _ESCAPE.sub(r"\1", text)
            begins = not before or before == r"\b" or before[-1] in "(|:>"
            behind = any(one.startswith("(?<") for one in groups)  # whose width is fixed
            follows = next((one[0] for one in tokens[at + 1 :] if not _opens(one) and one[0] != ")?"), "")
            follows = "" if follows == "|" and not groups else follows
            around = any(group.startswith(_AROUND) for group in groups)
            alone = ((lazy or begins) and not any(map(str.isalpha, run))) or around
            is_kept = behind or run.strip().lower() in _ARTICLES or (chosen and alone)
            other = re.escape(run) if is_kept else _loose(run, begins, alone, follows)
            text = text if chosen and other == run else other
        elif text in tuple(_QUOTES) and not exact:
            text = _ANY_QUOTE
        if not exact and (token.lastgroup == "run" or len(text) == 1) and any(map(str.isalpha, text)):
            text = f"(?ai:{text})"
        elif _opens(token):
            groups.append(text)
        elif token.lastgroup == "end" and text != "|":
            groups.pop()
        made.append(text)
        lazy = (token[0] == "?" and before[-1:] in ("?", "*", "+", "}")) or (lazy and token[0] == ")")
        before = token[0]
    return "".join(made)


def _unquoted(found: re.Match[str]) -> str:
    """What a pattern has in quotation marks, which may also be a word, or more, that stands in none."""
    but, many = found["but"], found["many"]
    bare = rf"(?:[^\s{but}]{many}(?<![.,;:])|[^{but}]{many}?)"
    return f"{found['begin']}(?:(?<={_ANY_QUOTE})[^{but}]{many}{found['lazy']}|{bare}|(?!)){found['end']}"


def _loose(run: str, begins: bool, alone: bool, follows: str) -> str:
    """A run of plain letters as a pattern that leaves its articles, hyphens and quotation marks open.

    `begins` where its first word begins there; `alone` where only its quotation marks tell what is meant, or where it ends. Before
    what may be anything, or nothing, they tell what is meant as well.
    """
    if begins and run in _QUOTES and follows.startswith((r"\w", r"[\w")):
        return _FIRST
    kept = run[-1] in _QUOTES and (
        follows.startswith((".", "[^")) or (run[-2:-1] in (" ", "=", "(", "<") and not follows)
    )
    ways = {**_OPEN, "quote": "" if alone else f"{_ANY_QUOTE}?"}
    told = run[:-1] if kept else run
    parts = _PART.finditer(told) if begins else _PART.finditer(f"x{told}", 1)
    made = "".join(ways.get(part.lastgroup or "") or re.escape(part[0]) for part in parts)
    if made.startswith(f"{_ANY_QUOTE}?"):
        first = (_FIRST if run[1:2].isalpha() else run[0]) if begins else _LAST
        made = first + made.removeprefix(f"{_ANY_QUOTE}?")
    return made + (run[-1] if kept else "")


def _opens(token: re.Match[str]) -> bool:
    """Whether a group begins here."""
    return token[0] == "(" or token.lastgroup == "open"


def _of_group(tokens: _Tokens) -> tuple[int, list[str]]:
    """Of a group that begins here: the weight of the lightest needed word, and these words; 0 where it has none.

    Of what follows one another, the words of the item whose lightest is heaviest; of alternatives those of each.
    """
    lightest, every = _ANY, list[str]()
    heaviest, best = 0, list[str]()
    for token in tokens:
        kind, text = token.lastgroup, token[0]
        if kind == "run":
            word = _plainest(_ESCAPE.sub(r"\1", text) if "\\" in text else text)
            weight = len(word) + 2 * sum(map(str.isdigit, word))  # few texts hold a code's number
            if weight >= max(heaviest + 1, _FEWEST):
                heaviest, best = weight, [word]
        elif _opens(token):
            least, words = _of_group(tokens)
            if least > heaviest and not text.startswith(("(?!", "(?<!")):
                heaviest, best = least, words
        elif kind == "end":
            lightest, every = min(lightest, heaviest), [*every, *best]
            if text != "|":
                return (lightest, every) if lightest and text == ")" else (0, [])
            heaviest, best = 0, []
    raise ValueError("a group that does not end")


def _plainest(run: str) -> str:
    """The longest part of a run that stands in a `plain` text with whatever is before and behind it."""
    parts = [plain(part) for part in run.split("-")]
    for article in _ARTICLES:
        parts = [part.removeprefix(f"{article} ").removesuffix(f" {article}") for part in parts]
    return max(parts, key=len)
