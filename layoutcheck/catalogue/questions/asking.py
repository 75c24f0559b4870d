"""What a person's text asks: its title, the sentences that ask, the rest of its prose, and its code."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

_LONGEST = 6000  # characters of a text that are read
_PLAIN = re.compile(r"(?<![\w.:])[A-Za-z][a-z]+\b(?![.:(\[])")
_NUMBER = re.compile(r"[0-9]+")
_SHORT, _OFTEN = 12, 12  # characters of a line that may come often; how often another may
_FEWEST = 5  # words of a sentence that says what it is about
_TITLE = 140  # characters of the longest title
_FENCED = re.compile(r"```.*?(?:```|\Z)|^`[^`\n]{1,200}\n[^`]{1,1500}`", re.DOTALL | re.MULTILINE)
_LABEL = re.compile(r"^(?:\s*(?:\[[A-Za-z ]{2,20}\]|#+|\*\*|Q:|title:))+\s*", re.IGNORECASE)
_LINE_OF_CODE = re.compile(
    r"[;{}]\s*(?://.*)?$|^\s*(?://|#include|@cute|@\w+\.|def |import |from \w+ import|using |template|auto |\w+(?:, \w+)* = |return\b|for ?\(|[+|=-]{5,})|<<<"
)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|https?://\S+")
_STOP = re.compile(
    r"(?<=[.!?])[\s*]+(?=[\w`*\"'(])|(?<=[\u3002\uff01\uff1f])|\n\s*\n|\n(?=\s*(?:[-*]|[0-9][.)]) )"
)
_ASKS_BY_WORD = re.compile(
    r"(?i)^(?:\W*(?:and|so|but|also|then|or|hi|hello|hey|basically|specifically|in other words|more explicitly)\W+)*(?:what|which|why|how|when|where|who|whether|is|are|does|do|can|could|should|must)\b|\bhow (?:to|does|do|can|is)\b"
    r"|\bdifferences? (?:of|between)|\bmeaning of|\bexplain|(?:n't|not|to|fail to|hard to|cannot) (?:fully )?understand|\bconfus\w+|\bunclear\b|\bwonder\w*|\bclarif\w+|\bI want to (?:know|understand)|怎么|如何|为什么|什么|不(?:太)?理解|[\uff1f]"
)
_POLITE = re.compile(
    r"(?i)^\W*(?:thanks?|thank you|any (?:help|insight|pointer)|I would (?:greatly )?appreciate|sorry|please help(?: me)?\W*$|help\W*$)"
)
_UNDERSTANDS = re.compile(
    r"(?i)\bwhat(?:'s| is| are| does| do|'re| exactly| would)|\bmean(?:s|ing)?\b|\bdifferences?\b|\bhow (?:to|does|do|is|are|can|should|many|much|would|was|were)\b|\bhow \w+ works?\b|\bwhy\b|\bwould (?:my|the|it|this|that)\b|\bunderstand|\bexplain|\bwhich\b|\bsupports?\b|^(?:is|are|can|does|do|must|should)\b|\bconfus\w+|\bpurpose\b|\brole\b|如何|为什么|什么|怎么|理解"
)

# Which ask, and say of what nothing.
_ASKS_ALONE = re.compile(
    r"(?i)\b(?:what|which|why|how|when|where|who|do|does|did|is|are|was|be|can|could|should|must|may|will|would|has|have|if|whether|I|we|you|one|any(?:one|body)?|some(?:one|body)?|it|its|this|that|these|there|an?|the|my|our|me|us|in|of|for|on|at|to|as|with|by|from|about|and|or|so|between|please|thanks|hi|hello|explain\w*|explanation|describe|understand\w*|know|tell|clarif\w+|wonder\w*|curious|confus\w+|mean\w*|purpose|role|point|sense|us(?:e[sd]?|ing|age)|need\w*|necessary|require[sd]?|work\w*|exactly|actually|really|always|ever|not|don|doesn|t|s|QST|question|differen\w+|versus|vs|better|CuTe|cutlass|DSL|PTX|CUDA|GPU|instructions?|functions?|calls?|operations?|method|documentation|docs?)\b"
)


class Asked(NamedTuple):
    """`title`: the first line of several, without its label; `asking`: the sentences that ask; `prose`: the others; `code`: the rest."""

    title: str
    asking: tuple[str, ...]
    prose: str
    code: str

    @property
    def subject(self) -> str:
        """What the text is about: its title and the sentences that ask."""
        return " ".join(dict.fromkeys((self.title, *self.asking))).strip()

    @property
    def headline(self) -> str:
        """What says best what it is about."""
        told = (one for one in self.asking if len(one.split()) >= _FEWEST)
        title = self.title if len(_PLAIN.findall(self.title)) >= 2 else ""
        return title or next(told, "") or self.subject or self.prose

    @property
    def understands(self) -> bool:
        """Whether it asks to understand something."""
        return any(_UNDERSTANDS.search(one) for one in (self.title, *self.asking))


def read(text: str) -> Asked:
    """The parts of a person's text; the whole prose is the title's where nothing asks."""
    text = text[:_LONGEST]
    code = [one[0] for one in _FENCED.finditer(text)]
    lines, kept = _LINK.sub(r" \1 ", _FENCED.sub("\n\n", text)).splitlines(), list[str]()
    for line in lines:
        is_code = _LINE_OF_CODE.search(line) and not ("? " in line or line.rstrip().endswith("?"))
        (code if is_code else kept).append(line)
    first = next((line for line in kept if line.strip()), "")
    several = sum(1 for line in kept if line.strip()) > 1
    title = _LABEL.sub("", first).strip() if several and len(first) <= _TITLE else ""
    body = "\n".join(kept).replace(first, "", 1) if title else _LABEL.sub("", "\n".join(kept).strip())
    sentences = [" ".join(one.split()) for one in _STOP.split(body) if one and one.strip()]
    sentences = [one for one in sentences if not _POLITE.search(one)]
    asking = tuple(one for one in sentences if _asks(one))
    return Asked(title, asking, " ".join(one for one in sentences if one not in asking), "\n".join(code))


def is_bare(sentence: str) -> bool:
    """Whether a sentence, without the names that it asks about, has only words that ask."""
    return not re.search(r"\w", _ASKS_ALONE.sub(" ", sentence))


def is_log(text: str) -> bool:
    """Whether a program wrote it: one line comes again and again, but for its numbers."""
    lines = (line.strip() for line in text[:_LONGEST].splitlines())
    often = Counter(_NUMBER.sub("0", line) for line in lines if len(line) > _SHORT)
    return max(often.values(), default=0) > _OFTEN


def _asks(sentence: str) -> bool:
    end = sentence.rstrip("*_ )\"'")[-1:]
    return end in ("?", "\uff1f") or _ASKS_BY_WORD.search(sentence) is not None
