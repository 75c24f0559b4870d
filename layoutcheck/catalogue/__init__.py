"""The errors that users of CuTe meet, each with its cause and its repair; `answers` finds them in a pasted text.

An entry is data (`entry.Known`); `tables` hold them by who prints the error.
The verifier's messages about `cute.copy`, which name operands, are read by `sources.diagnostics` instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from layoutcheck.brackets import closing
from layoutcheck.catalogue import (
    coded,
    codes,
    conditions,
    context,
    cpp_types,
    demands,
    dsl_names,
    folding,
    frames,
    installed,
    libraries,
    literals,
    named,
    owners,
    ptx_words,
    raised,
    reasons,
    refused,
    tables,
    telling,
    whose,
)
from layoutcheck.catalogue.entry import CLEAN, ELSEWHERE, Known
from layoutcheck.catalogue.tables import (
    ENTRIES,
    builds,
    calls,
    clean,
    compiler,
    cpp_templates,
    cuda_codes,
    driver,
    elsewhere,
    linking,
    profilers,
)
from layoutcheck.errors import InputError

MOST_ANSWERS = 3
_CODED = next(entry for entry in tables.DSL if entry.name == "dsl.coded")
_CODE_ALONE = next(entry for entry in tables.DSL if entry.name == "dsl.code-alone")
_PORT = next(
    entry for entry in tables.CPP if entry.name == "cpp.canonical-port"
)  # which other compilers print
_OTHER = next(entry for entry in tables.DSL if entry.name == "dsl.other-exception")
_NAME = next(entry for entry in tables.DSL if entry.name == "dsl.name-undefined")
_VERIFIER = next(entry for entry in tables.DSL if entry.name == "dsl.other-verifier")
_COMPANION = next(entry for entry in tables.DSL if entry.name == "dsl.companion-version")
_FEW_CONFLICTS = next(entry for entry in profilers.ENTRIES if entry.name == "ncu.few-conflicts")
_NOTICED = 0.02  # of the wavefronts
_ERROR_TYPE = next(entry for entry in tables.CPP if entry.name == "cpp.error-type")
_OF_THE_DSL = (
    compiler.RAISED,
    compiler.ASSERTED,
    elsewhere.RAISED,
    _CODED,
    _CODE_ALONE,
    _VERIFIER,
)  # which no library raises
_OF_COUNTERS = ("ncu.uncoalesced-shared", "ncu.wavefronts")
_AT_RUN_TIME = (*driver.ENTRIES, *cuda_codes.ENTRIES)
_STATIC = re.compile(r"static assertion failed.{0,400}?static_assert ?\((?P<condition>[^\"]{3,300}?), ?\"")
_SOURCE_FILE = re.compile(
    r"(?P<file>[\w./+~-]{1,300}\.(?:cuh?|hpp|h|inl|cpp|cc)) ?(?:\([0-9]+|:[0-9]+:[0-9]+: )"
)
_SEARCHED = 1 << 12  # characters up to which every pattern is searched at once
_MOST_LAYOUTS = 6
_MOST_TOLD = 3  # lines of a log
_MOST_QUOTED = 300  # characters
_SAID = re.compile(r"\b(?:error|warning): (?:unknown: )?|\bop ")
_WORDS = re.compile(
    r"(?i)\b(?:[tsgr]mem|tma|im2col|gather4|scatter4|k-major|num_cta|vec_size|sf_?\w*|shape_?[mnk]|s2t|[ug]?mma\w*|ldsm|stsm|utccp|memref|copy_bits|swizzle|coord\w*|tiler|layouts?|fragments?|cluster"
    r"|multimem\S*|mbarrier\S*|tcgen05\S*|pred|smem_desc\w*|atom|composition|scale|rank)\b|\[C[0-9]+\]|[A-D] to have rank|expects A/B"
)  # of CuTe's compiler
_MARGIN = re.compile(r" ?={5,}(?: ?={5,})* ?")  # of compute-sanitizer's lines
_GROUP = re.compile(r"\{(\w+)\}")
_OTHER_FILE = (
    "A missing name that begins with cu, CU_ or cuda is of a newer CUDA toolkit than the one at hand."
)
_FALSE = "The condition is false where the library tests it: most often a shape, a type, an alignment or a GPU that it does not take."
_STATED = "The message states what the program needs; it is none of CuTe's, CUDA's or their tools'."


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


def answers(text: str, place: str | None = None) -> list[Answer]:
    """The answers to the errors in the text, most specific first; none where the text is not known.

    Errors that another tool answers come only where nothing else is found.
    """
    folded = folding.fold(text)
    read = filter(None, (list(_matches(text)) for text in _readings(folded)))
    found = next(read, [])
    if [entry.name for entry, _ in found] == [_OTHER.name]:
        found = next(read, found)
    other = None if folding.OF_DSL.search(folded) else owners.another_compiler(folded)
    own = frames.raises_itself(folded)
    if other:
        machine = tables.MACHINE if other.name == owners.AMD else ()
        hidden = (*tables.CALLS, *tables.DSL, *tables.CPP, *machine)
        found = [match for match in found if match[0] not in hidden or match[0] is _PORT]
    elif own:
        found = [match for match in found if match[0] not in tables.CALLS and match[0] not in tables.DSL]
    better = {name for entry, _ in found for name in entry.instead_of}
    found = [match for match in found if match[0].name not in better]
    if folding.COMPILES.search(folded):  # source lines name the driver's calls and codes, and none has run
        found = [match for match in found if match[0] not in _AT_RUN_TIME] or found
    kept = [match for match in found if not match[0].general]
    kept = kept or [match for match in found if match[0].level == CLEAN]
    if not kept and not any(entry is _CODED for entry, _ in found):
        others = own or _anothers(folded)
        statement = None if others else raised.find(folded)
        statement = statement or (None if own else raised.in_lines(_told(text)))
        if statement:
            return [_of_statement(statement, folded, place)]
        uncoded = None if others else coded.find(folded)
        if uncoded:
            return [_of_parts(_CODED, _of_code(uncoded), uncoded.said, folded, place)]
    verified = None if found else _verified(folded)
    if verified:
        cause, helps = refused.answer(verified)
        parts = {"said": verified, "cause": cause, "help": helps}
        return [_of_parts(_VERIFIER, parts, verified, folded, place)]
    traceback = None if found else frames.find(folded)
    if traceback and traceback.at:
        return [_of_assertion(traceback, folded, place)]
    if traceback:
        return [_of_traceback(traceback, folded, place)]
    part = None if found else frames.cut(folded)
    if part:
        return [_of_traceback(part, folded, place, elsewhere.CUT)]
    owner = None if found or not folding.WRONG.search(folded) else owners.find(folded)
    if owner:
        return [_of_owned(owner, text, folded, place)]
    kept = kept or found
    ours = [match for match in kept if match[0].level != ELSEWHERE] or kept
    ordered = sorted(ours, key=lambda match: match[1].start())
    return [_answer(entry, match, folded, place) for entry, match in ordered[:MOST_ANSWERS]]


def in_sources(found: list[Answer], text: str, sources: Sequence[Path] = ()) -> list[Answer]:
    """The answers with what the sources of libraries say: which statement raises the message, on which condition.

    `sources` are folders that the user names; installed libraries are read where the text is none of the DSL's.
    """
    if found and (found[0].entry.level not in (ELSEWHERE, "rejected") or found[0].entry in _OF_THE_DSL):
        return found
    folded = folding.fold(text)
    if not folding.WRONG.search(folded) and not sources:
        return found
    statement = libraries.find(folded, _told(text), sources)
    if statement is None:
        return found
    said = statement.raised
    library = " ".join(filter(None, (statement.package, statement.version)))
    if found and not (found[0].entry.general and found[0].entry.level == ELSEWHERE):
        fact = f"{library} raises it at {said.place}{_when(said)}"
        return [replace(found[0], facts=(*found[0].facts, fact)), *found[1:]]
    return [_of_library(statement, library, folded)]


def _of_library(statement: libraries.Statement, library: str, folded: str) -> Answer:
    """The answer to a message that a statement of a library raises."""
    said, owner = statement.raised, libraries.project(statement)
    demand = None if said.told or said.condition else demands.demand(said.said)
    helps = (
        f"Call it so that {said.asked}"
        if said.asked
        else demand.helps
        if demand
        else conditions.met_by(said.condition)
    )
    traceback = frames.find(folded)
    calls = traceback.place if traceback else ""
    parts = {
        "library": library,
        "said": said.said,
        "function": said.called or "A check",
        "at": said.place,
        "when": _when(said),
        "cause": f" {demand.cause}" if demand else "",
        "help": helps or "Read the statement: its branch says what leads to it",
        "whose": f"{calls}report to {owner.project} what stays"
        if owner and calls
        else f"Report to {owner.project} what stays"
        if owner
        else calls.rstrip("; "),
    }
    answer = _of_parts(elsewhere.LIBRARY, parts, said.said, folded, None)
    return replace(answer, facts=(*said.described, *answer.facts))


def _readings(folded: str) -> tuple[str, ...]:
    """The text, and the same without the quotes that pages add to a message or take from it."""
    bare = folded.replace("`", "")
    other = (bare, bare.replace("'", "")) if folding.WRONG.search(folded) else ()
    return tuple(dict.fromkeys((folded, *other)))


def _told(text: str) -> list[str]:
    """The last lines of a text that tell an error, each with its white space folded."""
    lines = text.splitlines() if len(text) < folding.HEAD else []
    told = [folding.SPACE.sub(" ", line).strip() for line in lines if folding.WRONG.search(line)]
    return told[-_MOST_TOLD:]


def _anothers(folded: str) -> bool:
    """Whether the text names another library and not the DSL: both print some messages alike."""
    return owners.is_named(folded) and not folding.OF_DSL.search(folded)


def _of_statement(statement: raised.Raised, folded: str, place: str | None) -> Answer:
    """The answer to a message that a statement of the installed DSL raises."""
    said, where = refused.message(statement.said), f"{statement.place} {statement.function}"
    known = reasons.find(said, where)
    entry = compiler.RAISED if statement.kernel or known else elsewhere.RAISED
    parts = {"said": said, "function": statement.called, "place": statement.place}
    parts["when"] = _when(statement)
    parts["cause"], parts["help"] = refused.answer(said, where)
    if known is None and statement.asked:
        parts["help"] = f"Call it so that {statement.asked}. {parts['help']}"
    answer = _of_parts(entry, parts, said, folded, place)
    return replace(answer, facts=(*statement.described, *answer.facts))


def _verified(folded: str) -> str | None:
    """The message of a verifier of the DSL's library that stands in the text by itself; None where there is none."""
    if _anothers(folded) or owners.another_compiler(folded):
        return None
    for start in (0, *(match.end() for match in _SAID.finditer(folded))):
        said = refused.message(folded[start : start + _MOST_QUOTED])
        family = next((one for one in reasons.OF_LIBRARY if one.begins(said)), None)
        if family and (folding.OF_DSL.search(folded) or _WORDS.search(said)):
            return said
    return None


def _of_code(found: coded.Coded) -> dict[str, str]:
    """The parts of the answer to a coded error whose text lacks its code."""
    fix = found.fix or _fix(found.code)
    return {**found._asdict(), "fix": fix, "cause": coded.cause(found.code)}


def _known_code(code: str) -> bool:
    """Whether this is a code of the DSL, by the table or by the installed DSL."""
    return codes.meaning(code) is not None or bool(installed.advice(code))


def _fix(code: str) -> str:
    """What helps against an error of the DSL with this code, where the text has no suggestion."""
    told = codes.meaning(code)
    return installed.advice(code) or (told.helps if told else "The message names the statement")


def _when(statement: raised.Raised) -> str:
    """On which condition a statement is reached, with what the message prints of it."""
    told = statement.told or (f"`{statement.condition}`" if statement.condition else "")
    values = ", ".join(statement.values)
    return (f" where {told}" if told else "") + (f". Here {values}" if values else "")


def _of_assertion(found: frames.Frames, folded: str, place: str | None) -> Answer:
    """The answer to an assertion of the DSL's Python that has no message."""
    parts = {"said": found.said, "function": found.function, "at": found.at, "place": found.place}
    where = f"{found.at} {found.function}"
    parts["cause"], parts["help"] = refused.answer(found.said, where)
    return _of_parts(compiler.ASSERTED, parts, found.said, folded, place)


def _of_traceback(
    found: frames.Frames, folded: str, place: str | None, entry: Known = elsewhere.PYTHON
) -> Answer:
    """The answer to an exception of Python of which nothing else is known, or to a traceback without its end."""
    parts = found._asdict()
    if not found.place:
        parts["whose"] = found.whose[:1].upper() + found.whose[1:]
    parts["cause"] = found.why or _STATED
    return _of_parts(entry, parts, found.said, folded, place)


def _of_owned(owner: owners.Owner, text: str, folded: str, place: str | None) -> Answer:
    """The answer to a text that names a library: the line that tells most, and what such words mean."""
    said = telling.line(text) or folded[:_MOST_QUOTED]
    found = demands.demand(said)
    parts = {**owner._asdict(), "said": said, "cause": found.cause if found else _STATED}
    parts["help"] = found.helps if found else ""
    return _of_parts(elsewhere.NAMED, parts, said, folded, place)


def _of_parts(entry: Known, parts: dict[str, str], said: str, folded: str, place: str | None) -> Answer:
    """The answer of an entry that is found by other means than its pattern."""
    where = place or folding.place(folded, max(folded.find(said), 0))
    title, cause, remedy = (_filled(part, parts) for part in (entry.title, entry.cause, entry.remedy))
    return Answer(
        entry,
        title,
        cause,
        _of_script(remedy.removeprefix(". ").rstrip(". "), where),
        _quoted(said),
        where,
        _tensors(folded),
    )


def _matches(folded: str) -> Iterator[tuple[Known, re.Match[str]]]:
    lowered = folded.lower() if len(folded) > _SEARCHED else ""
    for entry in ENTRIES:
        if lowered and not literals.may_match(entry.pattern, lowered):
            continue
        match = entry.pattern.search(folded)
        if not match or not all(installed.knows(name) for name in _asked(entry, match)):
            continue
        if entry is _CODE_ALONE and match["named"] and not _known_code(match["named"]):
            continue  # a name in capitals of another program
        if entry is _NAME and not folding.OF_DSL.search(folded):
            continue  # Python's own words, which say nothing of a compiled function
        if entry is _FEW_CONFLICTS and not 0 < _share(match) < _NOTICED:
            continue
        if entry.level == CLEAN and entry.general and folding.WRONG.search(clean.without_zeros(folded)):
            continue  # lines of a log whose error is another one
        if entry is _ERROR_TYPE and folding.COMPILES.search(folded, 0, match.start()):
            continue  # the error that it follows from stands before it
        if entry is _COMPANION and not installed.imported(match["function"]):
            continue
        yield entry, match


def _share(match: re.Match[str]) -> float:
    """The part of the wavefronts that are bank conflicts."""
    conflicts, all_ = match["conflicts"] or match["few"], match["all"] or match["every"]
    return int(conflicts.replace(",", "") or 0) / max(int(all_.replace(",", "") or 0), 1)


def _of_shares(folded: str) -> tuple[str, ...]:
    """How many of the wavefronts that a text counts are bank conflicts."""
    found = _FEW_CONFLICTS.pattern.search(folded)
    share = _share(found) if found else 0
    return (f"{share:.0%} of the wavefronts are bank conflicts",) if 0 < share <= 1 else ()


def _asked(entry: Known, match: re.Match[str]) -> list[str]:
    """The names that the installed DSL must define for the entry to answer."""
    return [match[group] for group in entry.defined.split() if match[group]]


def _answer(entry: Known, match: re.Match[str], folded: str, place: str | None) -> Answer:
    groups = {key: value for key, value in match.groupdict().items() if value}
    facts: tuple[str, ...] = ()
    if entry.level != ELSEWHERE:  # where no layout is at fault, none is shown
        facts = _of_cpp(folded) if entry in tables.CPP else _tensors(folded) if entry in tables.DSL else ()
    facts += context.facts(entry.name, folded, facts) + whose.of_owner(entry, folded)
    if entry.name == "driver.tensor-map":
        from layoutcheck.catalogue import tensor_map  # of TMA's limits, which other errors do not need

        facts = tuple(tensor_map.faults(folded) or tensor_map.extents(folded))
    if entry.name in _OF_COUNTERS:
        facts += _of_shares(folded)
    facts += named.of_names(entry, groups)
    if entry.name == "dsl.api-moved":
        absent = any(one.startswith(dsl_names.NEVER) for one in facts)
        groups["why"], groups["do"] = calls.NO_VERSION if absent else calls.OTHER_VERSION
    if entry in tables.DSL:
        reason = refused.reason(folded[match.start() : match.end() + _MOST_QUOTED])
        facts = (reason, *facts) if reason else facts
    if "said" in groups and entry in tables.DSL:
        groups["said"] = refused.message(groups["said"])
        groups["help"] = refused.remedy(groups["said"], groups.get("op", ""))
    if entry is _CODED:
        groups["cause"] = coded.cause(groups["code"])
    if entry.name == "driver.tensor-map-code":
        groups.update(_of_code_number(int(groups["number"])))
    if entry.name == "cpp.copy-does-not-vectorize":
        groups.update(context.vectors(folded))
    if entry.name == "ptxas.other":
        groups["cause"], groups["help"] = ptx_words.meaning(groups.get("said") or groups.get("alone") or "")
    if "{cause}" in entry.cause and "cause" not in groups:
        said, path = (
            groups.get("said") or groups.get("source") or groups.get("message", ""),
            groups.get("op") or groups.get("room", ""),
        )
        groups["cause"] = (
            cpp_templates.cause(said, path) if entry in tables.CPP else refused.cause(said, path)
        )
        groups.setdefault("help", cpp_templates.helps(path))
    if entry is _CODE_ALONE:
        groups["code"] = groups.pop("named", "") or groups["code"]
        told = codes.meaning(groups["code"])
        groups["meaning"] = told.said if told else ""
        groups["fix"] = told.helps if told else _fix(groups["code"])
        groups["family"] = coded.cause(groups["code"])
    if "code" in groups and "{fix}" in entry.remedy and "fix" not in groups:
        groups["fix"] = _fix(groups["code"])
    if entry is _COMPANION:
        groups["package"] = installed.imported(groups["function"])
    if "{linked}" in entry.cause:
        groups["linked"] = linking.library(groups["symbol"])
    if entry.name == "elsewhere.compile":
        found = demands.compiled(" ".join(groups.values())) or demands.demand(
            groups.get("said") or groups.get("message") or ""
        )
        groups["cause"] = found.cause if found else _OTHER_FILE
        groups["help"] = (
            found.helps if found else "Read the first error of the log; those below follow from it"
        )
        asserted = _STATIC.search(folded)
        words = conditions.in_words(asserted["condition"]) if asserted else ""
        if words:
            groups["cause"] = f"It must hold that {words}; for these template arguments it does not."
            groups["help"] = (
                "The library's own code makes this instance: leave it out, or take compiler and commit that its build pins"
            )
    elif entry.name in ("elsewhere.assertion", "elsewhere.assert-line", "elsewhere.native-message"):
        condition = next((groups[name] for name in _CONDITIONS if name in groups), "")
        groups.update(_of_condition(condition, groups.get("said", "")))
    if "{project}" in entry.remedy:
        compiled = _SOURCE_FILE.search(folded)
        owner = (
            (owners.of_path(compiled["file"]) if compiled else None)
            or owners.library(folded)
            or owners.another_compiler(folded)
            or (None if entry in builds.ENTRIES else owners.find(folded))
        )
        groups["project"] = (
            owner.project
            if owner
            else "the project that is built"
            if entry in builds.ENTRIES
            else "the project whose command prints it"
        )
    groups = {name: said.rstrip(". ") if name == "fix" else said for name, said in groups.items()}
    have, most = groups.get("have") or groups.get("needed"), groups.get("most") or groups.get("limit")
    if have and most:
        facts = (f"{int(have, 0):,} B are asked for, {int(most, 0):,} B allowed",)
    title, cause, remedy = (_filled(part, groups) for part in (entry.title, entry.cause, entry.remedy))
    where = place or folding.place(folded, match.start())
    remedy = _of_script(whose.for_kernel(entry, whose.for_builder(entry, remedy, folded), folded), where)
    quote = refused.message(match[0]) if "said" in groups and entry in tables.DSL else match[0].strip()
    return Answer(entry, _headed(title), cause, remedy, _quoted(quote), where, facts)


def _of_code_number(number: int) -> dict[str, str]:
    """What a code of CUDA means where a call about a tensor map returns it."""
    meaning = cuda_codes.meaning(number)
    cause = "The call only reports the state of the context, or what an earlier kernel did to it."
    helps = "Restart the process, run it with CUDA_LAUNCH_BLOCKING=1 or under compute-sanitizer to see whether an earlier kernel faults, and look the number up in the CUDA driver API (CUresult)"
    if number == 999:
        cause += " 999 (CUDA_ERROR_UNKNOWN) comes of an earlier fault, or of a driver that is older than the CUDA of the library that makes the map."
        helps += "; compare the CUDA of `nvidia-smi` with the one that the library was built with. Until then take another back end of the library (vLLM and SGLang: Triton's)"
    return {"meaning": f": {meaning}" if meaning else "", "cause": cause, "help": helps}


def _quoted(said: str) -> str:
    """What is recognised, without the margins of compute-sanitizer, cut at a word where it is long."""
    plain = _MARGIN.sub("; ", said).strip("=; ")
    return plain if len(plain) <= _MOST_QUOTED else f"{plain[:_MOST_QUOTED].rpartition(' ')[0]} ..."


def _headed(title: str) -> str:
    """The title without the template arguments that it was cut in: `GemmUniversal<...>`."""
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


_CONDITIONS = ("condition", "static", "check", "expected", "native", "said")


def _of_condition(condition: str, message: str = "") -> dict[str, str]:
    """Cause and help of an assertion of a library, by what its condition or its message says."""
    plain = condition.strip("'\"` ").removesuffix(" is false")
    words, found = conditions.in_words(plain), demands.demand(message or plain) or demands.demand(plain)
    cause = f"It must hold that {words}; here it does not." if words else found.cause if found else _FALSE
    helps = conditions.met_by(plain) if words else ""
    return {
        "cause": cause,
        "help": helps or (found.helps if found else "Print the operands of the condition before the call"),
    }


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
    return " ".join(_GROUP.sub(lambda found: shown.get(found[1], ""), text).split())


def _of_cpp(folded: str) -> tuple[str, ...]:
    """The layouts of a C++ text; where it has none, the template arguments that the failed condition names."""
    bound = cpp_types.layouts(folded)
    if not bound:
        return cpp_types.condition(folded)[:_MOST_LAYOUTS]
    named = {one.parameter: str(one.layout) for one in bound if one.parameter}
    shown = {f"{named['Shape']}:{named['Stride']}"} if {"Shape", "Stride"} <= named.keys() else set[str]()
    told: list[str] = []
    for one in bound:
        if str(one.layout) not in shown:
            shown.add(str(one.layout))
            told.append(f"{one.parameter} = {one.layout}" if one.parameter else str(one.layout))
    return tuple(told[:_MOST_LAYOUTS])


_TENSOR = re.compile(r"(?:\b(\w{1,40}): ?)?((?:\btensor|!cute\.(?:memref|layout|ptr))<)")


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
    end = min(len(folded), start + _MOST_QUOTED)
    try:
        return closing(folded, folded.index("<", start), end)
    except InputError:
        return end
