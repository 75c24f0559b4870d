"""What an answer says: the parts of its entry, filled with what the text holds."""

from __future__ import annotations

import re
from dataclasses import dataclass

from layoutcheck.brackets import closing
from layoutcheck.catalogue import (
    context,
    cpp_stack,
    cpp_types,
    demands,
    devices,
    filling,
    folding,
    named,
    refused,
    results,
    symptoms,
    tables,
    telling,
    whose,
)
from layoutcheck.catalogue.entry import ELSEWHERE, UNKNOWN, Known
from layoutcheck.errors import InputError

CODED = tables.called("dsl.coded")
CODE_ALONE = tables.called("dsl.code-alone")
COMPANION = tables.called("dsl.companion-version")
FEW_CONFLICTS = tables.called("ncu.few-conflicts")
# whose line tells little
_OF_LITTLE = "cpp.launch-refused", "cuda.", "elsewhere.build", "results-differ", "elsewhere.driver"
OF_COMPILERS = ("elsewhere.compile", "cpp.other-error")
_OF_COUNTERS = ("ncu.uncoalesced-shared", "ncu.wavefronts")
_SECTORS = re.compile(
    r"total of (?P<excess>[0-9,]+) excessive sectors \([0-9]+% of the total (?P<all>[0-9,]+) sectors"
)
_WAYS = re.compile(
    r"across all (?P<requests>[0-9,]+) shared (?P<way>load|store) requests\. ?This results in (?P<conflicts>[0-9,]+) bank conflicts, +which represent [0-9.]+% of the overall (?P<all>[0-9,]+) wavefronts"
)
_MOST_LAYOUTS = 6
_SECTOR = 32  # bytes
MOST_QUOTED = 300  # characters
_MARGIN = re.compile(r" ?={5,}(?: ?={5,})* ?")  # of compute-sanitizer's lines
_FENCE = " ```"  # of Markdown, where the paste of a message ends
_UNFILLED = re.compile(r" \(\)|[:,] ?$")  # what a group that did not match leaves
_OTHERWISE = re.compile(r"(?=, or |; |\. )")
_REPORTED = re.compile(r"[.,;] (?:[Rr]eport it|and report it) to \{project\}(?=$|\.| where the line)[^.]*")
_CALL = re.compile(r"(?<![\w./])(?:cutlass|cute|T|tl)\.(?!py\b)[A-Za-z]\w+\b")
_GROUP = re.compile(r"\{(\w+)\}")
# Words at the end of what is recognised of a sentence that say nothing without the next one.
_DANGLING = re.compile(
    r"(?:,? (?:the|an?|its|this|that|of|in|on|at|by|with|for|to|from|into|and|or|but|is|are|was|were))+$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a pasted error means.

    `title`, `cause` and `remedy` are the entry's, with the numbers of the text; `quote` is what was recognised;
    `place` "file:line" in the user's code, where it is given; `facts` what the text itself holds of the cause:
    layouts, and fields of a tensor map that the driver refuses.
    """

    entry: Known
    title: str
    cause: str
    remedy: str
    quote: str
    place: str | None = None
    facts: tuple[str, ...] = ()


def of_parts(entry: Known, parts: dict[str, str], said: str, folded: str, place: str | None) -> Answer:
    """The answer of an entry that is found by other means than its pattern."""
    where = place or _place(folded, max(folded.find(said), 0))
    title, cause, remedy = (_filled(part, parts) for part in (entry.title, entry.cause, entry.remedy))
    reason = refused.reason(folded)
    return Answer(
        entry,
        title.partition(_FENCE)[0],
        _reasoned(reason, cause),
        _of_script(_untried(remedy.removeprefix(". ").rstrip(". "), folded), where),
        _quoted(said),
        where,
        (
            *refused.product(folded),
            *_tensors(folded),
            *context.refusals(folded),
            *demands.broken(refused.message(said)),
        ),
    )


def _place(folded: str, at: int, end: int = 0) -> str | None:
    """The innermost place in the user's own code that the text has for an error."""
    return cpp_stack.place(folded, end or at + 1) or folding.place(folded, at)


def _reasoned(reason: str | None, cause: str) -> str:
    """The cause behind which mode of the text's own operands is in the way, where that is known."""
    return f"{reason[0].upper()}{reason[1:]}. {cause}".rstrip() if reason else cause


def share(match: re.Match[str]) -> float:
    """The part of the wavefronts that are bank conflicts."""
    conflicts, all_ = match["conflicts"] or match["few"], match["all"] or match["every"]
    return int(conflicts.replace(",", "") or 0) / max(int(all_.replace(",", "") or 0), 1)


def _of_shares(folded: str) -> tuple[str, ...]:
    """How many of the wavefronts that a text counts are bank conflicts."""
    found = FEW_CONFLICTS.words.search(folded)
    part = share(found) if found else 0
    return (f"{part:.0%} of the wavefronts are bank conflicts",) if 0 < part <= 1 else ()


def _of_nsight(folded: str) -> tuple[str, ...]:
    """What the counts come to that Nsight Compute's rules print: the bytes of a sector that are used, the stride that makes such conflicts."""
    sectors, told = _SECTORS.search(folded), list[str]()
    if sectors:
        all_, excess = (int(sectors[name].replace(",", "")) for name in ("all", "excess"))
        used = _SECTOR * (all_ - excess) / max(all_, 1)
        told.append(
            f"of each sector of {_SECTOR} B {used:.3g} B are needed: {all_ - excess:,} of the {all_:,} sectors would do"
        )
    for ways in _WAYS.finditer(folded):
        requests, conflicts, all_ = (
            int(ways[name].replace(",", "")) for name in ("requests", "conflicts", "all")
        )
        least = max(all_ - conflicts, 1)
        said = f"{ways['way']}s: {all_:,} wavefronts for {requests:,} requests, {all_ / max(requests, 1):.2g} each; without the conflicts {least:,} of the {all_:,} wavefronts remain"
        each, rest = divmod(all_, least)
        if least == requests and rest == 0 and each in (2, 4, 8, 16, 32):
            said += f"; if each lane moves one word and all are one stride apart, the stride is an odd multiple of {each} words ({4 * each} B): a pitch that is one word longer has no conflict"
        told.append(said)
    return tuple(told)


def of_entry(entry: Known, match: re.Match[str], folded: str, place: str | None, text: str = "") -> Answer:
    """The answer of an entry whose pattern matches the folded text; `text` is the same with its lines."""
    groups = {key: value for key, value in match.groupdict().items() if value}
    if entry.name in OF_COMPILERS:
        groups = {key: folding.without_source(text, value) for key, value in groups.items()}
    facts = _facts(entry, match, groups, folded)
    if entry.name.startswith(_OF_LITTLE):
        facts += tuple(f"beside it: {line}" for line in telling.beside(text, match[0]))
    filling.fill(entry, groups, facts, folded)
    if "said" in groups and (entry.general or entry.level == UNKNOWN):
        groups["said"] = _DANGLING.sub("", groups["said"])
    helps = entry.remedy if "project" in groups else _REPORTED.sub("", entry.remedy)
    title, cause, remedy = (_filled(part, groups) for part in (entry.title, entry.cause, helps))
    cause, remedy = whose.outside(entry, folded) or (cause, remedy)
    if entry in tables.DSL:
        cause = _reasoned(refused.reason(folded[match.start() : match.end() + MOST_QUOTED]), cause)
    earlier = telling.before(text, match[0]) if entry.name in whose.FAULTS else ""
    cause = f"{whose.ECHO.format(earlier=earlier)} {cause}" if earlier else cause
    where = place or _place(folded, match.start(), match.end())
    if entry.name in whose.FAULTS and where and not place and whose.only_notices(where, folded):
        where = None
    remedy = whose.for_kernel(entry, whose.for_builder(entry, remedy, folded), folded)
    cause, remedy = (whose.without_cute(entry, one, folded) for one in (cause, remedy))
    remedy = _of_script(_untried(remedy.rstrip(". "), folded), where)
    quote = refused.message(match[0]) if "said" in groups and entry in tables.DSL else match[0].strip()
    return Answer(entry, _headed(title), cause, remedy, _quoted(quote), where, facts)


def _facts(entry: Known, match: re.Match[str], groups: dict[str, str], folded: str) -> tuple[str, ...]:
    """What the text itself holds of the error's cause: layouts, fields of a tensor map, sizes, owners."""
    have = groups.get("have") or groups.get("needed") or groups.get("allocated")
    most = groups.get("most") or groups.get("limit") or groups.get("maximum")
    if have and most:
        return (devices.excess(int(have, 0), int(most, 0)), *devices.listed(folded))
    if entry.name == "cuda.shared-capacity":
        return devices.sizes(folded[match.start() : match.end() + MOST_QUOTED])
    facts: tuple[str, ...] = ()
    if entry.name == "driver.tensor-map":
        from layoutcheck.catalogue import tensor_map  # of TMA's limits, which other errors do not need

        facts = tuple(tensor_map.faults(folded) or tensor_map.extents(folded))
    else:
        if entry.level != ELSEWHERE:  # where no layout is at fault, none is shown
            facts = (
                _of_cpp(folded, match, entry.fill == "assertion")
                if entry in tables.CPP
                else _tensors(folded)
                if entry in tables.DSL
                else ()
            )
        worked = context.facts(entry.name, folded)
        if worked and entry in tables.CPP:  # the condition in numbers
            facts = tuple(one for one in facts if not one.startswith("the condition is "))
        facts = (*worked, *facts) if entry in tables.CPP else (*facts, *worked)
        facts += whose.of_owner(entry, folded)
    if entry.name == "results-differ":
        facts = (*results.rounding(folded), *facts, *symptoms.layouts(folded))
    if entry.name in _OF_COUNTERS:
        facts += _of_shares(folded)
    if entry.name.startswith("ncu."):
        facts += _of_nsight(folded)
    facts += named.of_names(entry, groups)
    if entry in tables.DSL:
        facts += devices.too_old(folded)
        facts = (*refused.product(folded[match.start() :]), *facts)
    return facts


def _quoted(said: str) -> str:
    """What is recognised, without the margins of compute-sanitizer, cut at a word where it is long."""
    plain = _MARGIN.sub("; ", said.partition(_FENCE)[0]).strip("=; ")
    return shortened(plain, MOST_QUOTED)


def shortened(said: str, most: int) -> str:
    """A text, cut at a word where it has more than `most` characters."""
    return said if len(said) <= most else f"{said[:most].rpartition(' ')[0]} ..."


def _untried(remedy: str, folded: str) -> str:
    """The remedy without the alternatives that name a call which stands in the text: that one is what failed."""
    first, *others = _OTHERWISE.split(remedy)
    kept = (
        one
        for one in others
        if one.startswith(". ") or not any(call in folded for call in _CALL.findall(one))
    )
    return f"{first}{''.join(kept)}"


def _headed(title: str) -> str:
    """The title without what stands behind a fence of code, and the template arguments that it was cut in: `GemmUniversal<...>`."""
    title = title.partition(_FENCE)[0]
    opened: list[int] = []
    for at, letter in enumerate(title):
        if letter == "<" and at and (title[at - 1].isalnum() or title[at - 1] == "_"):
            opened.append(at)
        elif letter == ">" and opened:
            opened.pop()
    if not opened:
        return title
    head = title[: opened[0]]
    return f"{head}<...>" + ('"' if head.count('"') % 2 else "'" if head.count("'") % 2 else "")


def _of_script(remedy: str, place: str | None) -> str:
    """The remedy with the user's own script in its commands, where the text names it."""
    script = place.rpartition(":")[0] if place else ""
    return remedy.replace("SCRIPT", script) if script.endswith(".py") else remedy


def _filled(text: str, groups: dict[str, str]) -> str:
    """The text with every `{group}` replaced; a group that did not match leaves nothing."""
    ways, got = groups.get("ways") or groups.get("average"), groups.get("got") or groups.get("has")
    shown = {
        **groups,
        "ways": f", {ways} ways on average" if ways else "",
        "instead": f", and not {got}" if got else "",
    }
    told = " ".join(_GROUP.sub(lambda found: shown.get(found[1], ""), text).split())
    return _UNFILLED.sub("", told) if _UNFILLED.search(told) else told


def _of_cpp(folded: str, match: re.Match[str], is_told: bool) -> tuple[str, ...]:
    """What the failed condition has, unless the cause has told it, and the layouts of a C++ text; else the arguments that it names."""
    failure = cpp_stack.asserted(folded, match.end())
    bound = [(name, one.shown(name)) for one in failure.frames for name in one.given] if failure else []
    bound += [("", layout) for _, layout in cpp_types.placed(folded)]
    false, call = filling.broken(failure, folded), failure.call if failure else ""
    told: dict[str, str] = {}
    for name, layout in bound:
        if ":" in layout and f"= {layout}" not in call:
            told.setdefault(layout, f"{name} = {layout}" if name else layout)
    asked = failure.named[: 1 if told else _MOST_LAYOUTS] if failure else ()
    told_here = false.endswith(filling.OF_NUMBERS) or filling.HERE in false
    here = () if is_told and false else (false,) if told_here else asked
    here += (f"the call is {call}",) if call else ()
    return (*here, *list(told.values())[:_MOST_LAYOUTS])


_TENSOR = re.compile(r"(?:\b(\w{1,40}): ?)?((?:\btensor(?=<(?:raw_)?ptr)|!cute\.(?:memref|layout|ptr))<)")


def _tensors(folded: str) -> tuple[str, ...]:
    """The DSL's printed tensors, each with the name that stands before it."""
    found: dict[str, None] = {}
    for match in _TENSOR.finditer(folded):
        printed = folded[match.start(2) : _closed(folded, match.start(2))]
        found.setdefault(f"{match[1]}: {printed}" if match[1] else printed)
        if len(found) == _MOST_LAYOUTS:
            break
    return tuple(found)


def _closed(folded: str, start: int) -> int:
    """Behind the bracket that closes the first one after `start`; the end of what is quoted where none does."""
    end = min(len(folded), start + MOST_QUOTED)
    try:
        return closing(folded, folded.index("<", start), end)
    except InputError:
        return end
