"""What a GPU's limits and an instruction's demands say to a question that names them: the rows of limits.txt and instructions.txt.

A row is found by its subject and the aspect that is asked for, and not by how a text is worded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from layoutcheck.catalogue import devices
from layoutcheck.catalogue.law import NAME
from layoutcheck.catalogue.questions.asking import Asked, is_bare
from layoutcheck.catalogue.rows import Row, rows
from layoutcheck.machine.arch import Arch, numbers
from layoutcheck.numerics.resources import MOST_REGISTERS, REGISTERS, most_registers, most_threads

_MOST = 2  # rows
_SHORT = 3  # letters
_WHOLE = 200  # characters of a question whose sentences may be read as one
_WORKED = "{registers}"  # where the arithmetic of a question's numbers stands
_LIMIT = re.compile(
    r"(?i)\bhow (?:many|much|large|big|long|wide|high)\b|\bmax\w*|\bmost\b|\blimit\w*|\b(?:larg|bigg|high|small)est\b|\bgranularity|\bunits?\b|\bup to\b|\bmin(?:imum)?\b|\b(?:which|what) (?:\w+ )?(?:align\w*|sizes?|numbers?|ids?)\b|\balign\w*|\bsteps\b|\b(?:possible|allowed|legal)\b"
)
_ELSE = re.compile(
    r"(?i)\bwhy\b|\bdifferences?\b|\bversus\b|\bvs\b|\bhow (?:do|can|could|should|to)\b(?! (?:\w+ ){0,2}(?:align|aligned)\b)|\b(?:does|do|did) (?:my|our|this) \w+ (?:use|need|take)|\bmy (?:kernel )?(?:uses?|takes?)\b|\bfaults?\b|\bcrash\w*|\bhangs?\b|\bwrong\b|\billegal\b|\bconflicts?\b"
)  # what asks for a reason, a way or a measurement, or tells a fault
# what needs a resource, of which no limit says how much it takes
_TAKEN = re.compile(r"(?i)\b(?:tiles?|stages?|accumulators?|fragments?)\b")
_ASPECTS = {
    "align": r"\b(?:mis)?align\w*|(?-i:(?<![MNK] be a )(?<![MNK] a ))\bmultiples? of\b|\bboundar(?:y|ies)\b",
    "size": r"(?-i:\b[MNK]\b)|\bsizes?\b|\bbytes?\b|\bbits?\b|\bhow (?:many|much|large|big|wide)\b(?! (?:lanes|threads|warps))|\bwidths?\b|\bshapes?\b|\b(?:values?|counts?|numbers?|types?|dtypes?|columns)\b|\bfloats?\b|\b[fsu](?:32|64)\b",
    "who": r"\bwho\b|\b(?:lanes?|threads?|warps?|warpgroups?)\b|\belect\w*|\bissue[sd]?\b|\bparticipat\w+|\bcollective\w*",
    "does": r"\bneed(?:s|ed)?\b|\bnecessary\b|\bpurpose\b|\brole\b|\bmean(?:s|ing)?\b",
    "when": r"\bfence\w*|\bwait\w*|\bbefore\b|\bafter(?:wards)?\b|\bpreced\w+|\bfollow\w*|\bsync\w*|\border\w*|\bcommit\w*|\bvisible|\bneed(?:s|ed)?\b|\bnecessary\b|\bwhen (?:do|does|must|should|is|are|to)\b",
    "arch": r"\bGPUs?\b|\barch\w*|\bsm_?[0-9]{2,3}\w?\b|\bcompute capabilit\w+|\btargets?\b|\bhardware\b|\bgenerations?\b|\bHopper|\bAmpere|\bTuring|\bAda\b|\bBlackwell|\b[ABHTL][0-9]{1,3}0S?\b|\bGeForce|\bRTX\b",
}
_EVERY = ("does", "who", "when", "align", "size", "arch")
_OF_IT = re.compile(r"(?i)\bneed it\b|\bis it (?:needed|necessary)\?")
_THREADS = re.compile(
    r"(?i)\b([0-9][0-9,]{1,4})[- ]threads?\b|(?:\bblock ?(?:size|dim)\w*(?: of| is| =)? ?|launch_bounds__\()([0-9]{2,4})\b"
)
_EACH = re.compile(r"(?i)\b([0-9]{2,3}) reg(?:ister)?s?\b")
_BLOCKS = re.compile(
    r"(?i)\b([2-9]|[12][0-9]|3[0-2]) (?:resident )?(?:blocks|CTAs)\b[^.?]{0,20}\b(?:SM|multiprocessor)\b|launch_bounds__\([0-9]+, ?([0-9]{1,2})\)"
)


class Demand(NamedTuple):
    """The row of an instruction that a question names, and the aspects of it that are asked for."""

    row: Row
    asked: tuple[str, ...]

    def said(self, aspects: Iterable[str], between: str = ": ") -> str:
        """What the row says of some aspects, each as a sentence; "" where it has none of them."""
        told = [one.rstrip(".") for one in dict.fromkeys(map(self.row.field, aspects)) if one]
        begun = (one[:1].upper() + one[1:] if one.split()[0].isalpha() else one for one in told[1:])
        said = ". ".join((*told[:1], *begun))
        return f"{self.row.name}{between}{said} ({self.row.field('source')})" if said else ""


def told(asked: Asked) -> tuple[str, ...]:
    """The demands and limits that the sentences of a text ask for; none where they name none, or ask for something else."""
    told, plain = list[str](), list[str]()
    for sentence in _sentences(asked):
        demands = [one.said(one.asked) for one in _demands(sentence) if one.asked]
        if not _ELSE.search(sentence):
            plain.append(sentence)
            demands = demands or list(_limits(sentence, asked))
        told += demands
    if not told and len(plain) > 1 and len(asked.subject) < _WHOLE:
        told += _limits(asked.subject, asked)
    return tuple(dict.fromkeys(told))[:_MOST]


def besides(asked: Asked) -> tuple[str, ...]:
    """What the rows of the instructions that a question names say beyond what it asks for."""
    demands = [one for sentence in _sentences(asked) for one in _demands(sentence)]
    told = {(row.name, aspect) for row, aspects in demands for aspect in aspects}
    every = (
        one.said((aspect for aspect in _EVERY if (one.row.name, aspect) not in told), " besides: ")
        for one in demands
    )
    return tuple(dict.fromkeys(filter(None, every)))


def _sentences(asked: Asked) -> list[str]:
    """The title and the sentences that ask, with the instruction that "it" means."""
    sentences = (one for one in dict.fromkeys((asked.title, *asked.asking)) if one)
    return [f"{_meant(asked.prose)} {one}" if _OF_IT.search(one) else one for one in sentences]


def _meant(prose: str) -> str:
    """The instruction that a text names before it asks for "it"; "" for none."""
    named = (re.search(row.field("name"), prose, re.IGNORECASE) for row in _rows("instructions"))
    return min(((one.start(), one[0]) for one in named if one), default=(0, ""))[1]


@cache
def _rows(name: str) -> tuple[Row, ...]:
    return tuple(rows(f"questions/{name}.txt"))


def _demands(sentence: str) -> Iterator[Demand]:
    """Each instruction that a sentence names, with the aspects that it asks for: what it does and when, where it asks for nothing else."""
    rest, named = sentence, list[Row]()
    for row in _rows("instructions"):
        name = re.compile(row.field("name"), re.IGNORECASE)
        if name.search(rest):
            named.append(row)
            rest = name.sub(" ", rest)
    bare = bool(named) and is_bare(NAME.sub(" ", rest))
    for row in named:
        other = _ELSE.search(sentence) and not bare
        aspects = (one for one, words in _ASPECTS.items() if re.search(words, rest, re.IGNORECASE))
        asked = () if other else tuple(one for one in aspects if row.field(one))
        yield Demand(row, asked or ("does", "when") * bare)


def _limits(sentence: str, asked: Asked) -> Iterator[str]:
    """The first limit whose words a sentence has, on the GPUs that it names; of an instruction's name only one that is marked so."""
    if not _LIMIT.search(sentence) or _TAKEN.search(sentence):
        return
    named = any(re.search(row.field("name"), sentence, re.IGNORECASE) for row in _rows("instructions"))
    each = {row.name: row for row in _rows("limits")}
    fits = {
        row.name: min(places)
        for row in each.values()
        if (row.traits or not named)
        and not _places(row.field("without"), sentence)
        and all(_places(one, sentence) for one in row.fields["about"])
        and (places := _places(row.field("about"), sentence))
    }
    if fits:  # the subject comes first
        first = each[min(fits, key=fits.__getitem__)]
        for row in (first, *(each[one] for one in first.fields.get("also", ()))):
            yield f"{_said(row, sentence, asked.subject)} ({row.field('source')})"


def _said(row: Row, sentence: str, subject: str) -> str:
    """A limit, with its values on the GPUs of a sentence and what the numbers of a question come to."""
    says = row.field("says")
    if values := row.field("each"):
        says = says.replace("{each}", _each(values, sentence))
    return says.removesuffix(_WORKED) + (_registers(subject) if says.endswith(_WORKED) else "")


def _places(words: str, sentence: str) -> list[int]:
    """Where a sentence has one of some words, each how a word begins; a short one is the whole word."""
    each = (one.replace("_", "[ _-]?") + r"\b" * (len(one) <= _SHORT) for one in words.split())
    pattern = rf"(?i)(?<![a-z0-9])(?:{'|'.join(each)})"
    return [one.start() for one in re.finditer(pattern, sentence)] if words else []


def _each(values: str, sentence: str) -> str:
    """The values of the GPUs that a sentence names; of all, by value, where it names none."""
    table = {} if values[0] == "@" else dict(one.split() for one in values.split(", "))
    of = {n: _value(n, values, table) for n in numbers() if n >= 75 and (not table or str(n) in table)}
    named = [(name, number) for name, number in devices.named(sentence) if number in of]
    if named:
        return ", ".join(f"{name} {of[number]}" for name, number in named)
    groups: dict[str, list[str]] = {}
    for number, value in of.items():
        groups.setdefault(value, []).append(f"sm_{number}")
    return "; ".join(f"{value} on {', '.join(names)}" for value, names in groups.items())


def _value(number: int, values: str, table: dict[str, str]) -> str:
    if table:
        return f"{int(table[str(number)]):,}"
    size = getattr(Arch(number), values[1:])
    return f"{size:,} B ({size >> 10} KiB)"


def _registers(subject: str) -> str:
    """What the threads, the blocks or the registers of a question leave of the others."""
    threads = {int((one[1] or one[2]).replace(",", "")) for one in _THREADS.finditer(subject)}
    used = {int(one[1]) for one in _EACH.finditer(subject)}
    blocks = int(found[1] or found[2]) if (found := _BLOCKS.search(subject)) else 1
    if len(threads) == 1 and 0 < max(threads) <= 1024:
        (count,) = threads
        most = most_registers(count, blocks)
        times = f"{blocks} blocks x " if blocks > 1 else ""
        quotient = REGISTERS // (count * blocks)
        cut = (
            f", above the {MOST_REGISTERS} of a thread"
            if quotient > MOST_REGISTERS
            else ", in whole units of 8 a thread"
        )
        return f"; {times}{count:,} threads: {REGISTERS:,} / {count * blocks:,} = {quotient}{cut}: at most {most} registers a thread"
    if len(used) == 1 and not threads and max(used) <= MOST_REGISTERS:
        (each,) = used
        return f"; {each} registers a thread let a block have {most_threads(each):,} threads at the most"
    return ""
