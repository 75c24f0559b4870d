"""What an answer says: the parts of its entry, filled with what the text holds."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
    named,
    owners,
    ptx_words,
    refused,
    symptoms,
    tables,
    telling,
    whose,
)
from layoutcheck.catalogue.entry import ELSEWHERE, Known
from layoutcheck.catalogue.tables import builds, calls, cpp_templates, cuda_codes, linking
from layoutcheck.errors import InputError

CODED = tables.called("dsl.coded")
CODE_ALONE = tables.called("dsl.code-alone")
COMPANION = tables.called("dsl.companion-version")
FEW_CONFLICTS = tables.called("ncu.few-conflicts")
_OF_A_STEP = re.compile(
    r"Check failed.{0,300}?(?:CanProve|\bAST\b|\b[Ll]oops?\b|[Ll]ower|PrimFunc|[Ss]chedule|\bIR\b|[Rr]eplac|[Ll]ayout)"
)  # of a compiler of kernels
_OF_CONDITIONS = ("elsewhere.assertion", "elsewhere.assert-line", "elsewhere.native-message")
_OF_WORDS = (
    "elsewhere.triton",
    "elsewhere.llvm-says",
    "elsewhere.native-test",
    "symptom.warning",
)  # whose cause the message tells
_EQUAL = re.compile(r"(\w+) ?== ?([0-9]+|true|false)")
_OF_LITTLE = (
    "cpp.launch-refused",
    "cuda.",
    "elsewhere.build",
    "results-differ",
    "elsewhere.driver",
)  # whose line tells little
_FIRST_ERROR = "The compiler's words are all that the text says of the cause."
_OF_CUDA = re.compile(r"(?:^|[\"'` ])(?:cu[A-Z]|CU_|cuda)\w")
_OF_STEPS = ("elsewhere.triton", "elsewhere.llvm-says")  # of a compiler
_OF_COMPILERS = ("elsewhere.compile", "cpp.other-error")
_OF_COUNTERS = ("ncu.uncoalesced-shared", "ncu.wavefronts")
_STATIC = re.compile(r"static assertion failed.{0,400}?static_assert ?\((?P<condition>[^\"]{3,300}?), ?\"")
_SOURCE_FILE = re.compile(
    r"(?P<file>[\w./+~-]{1,300}\.(?:cuh?|hpp|h|inl|cpp|cc)) ?(?:\([0-9]+|:[0-9]+:[0-9]+: )"
)
_MOST_LAYOUTS = 6
MOST_QUOTED = 300  # characters
_MARGIN = re.compile(r" ?={5,}(?: ?={5,})* ?")  # of compute-sanitizer's lines
_GROUP = re.compile(r"\{(\w+)\}")
_OTHER_FILE = (
    "A missing name that begins with cu, CU_ or cuda is of a newer CUDA toolkit than the one at hand."
)
_FALSE = "The condition is false where the library tests it: most often a shape, a type, an alignment or a GPU that it does not take."


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


def fix(code: str) -> str:
    """What helps against an error of the DSL with this code, where the text has no suggestion."""
    told = codes.meaning(code)
    return installed.advice(code) or (told.helps if told else "The message names the statement")


def of_parts(entry: Known, parts: dict[str, str], said: str, folded: str, place: str | None) -> Answer:
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
        (*_tensors(folded), *context.refusals(folded)),
    )


def share(match: re.Match[str]) -> float:
    """The part of the wavefronts that are bank conflicts."""
    conflicts, all_ = match["conflicts"] or match["few"], match["all"] or match["every"]
    return int(conflicts.replace(",", "") or 0) / max(int(all_.replace(",", "") or 0), 1)


def _of_shares(folded: str) -> tuple[str, ...]:
    """How many of the wavefronts that a text counts are bank conflicts."""
    found = FEW_CONFLICTS.pattern.search(folded)
    part = share(found) if found else 0
    return (f"{part:.0%} of the wavefronts are bank conflicts",) if 0 < part <= 1 else ()


def of_entry(entry: Known, match: re.Match[str], folded: str, place: str | None, text: str = "") -> Answer:
    """The answer of an entry whose pattern matches the folded text; `text` is the same with its lines."""
    groups = {key: value for key, value in match.groupdict().items() if value}
    if entry.name in _OF_COMPILERS:
        groups = {key: folding.without_source(text, value) for key, value in groups.items()}
    facts = _facts(entry, match, groups, folded)
    if entry.name.startswith(_OF_LITTLE):
        facts += tuple(f"beside it: {line}" for line in telling.beside(text, match[0]))
    _fill(entry, groups, facts, folded)
    title, cause, remedy = (_filled(part, groups) for part in (entry.title, entry.cause, entry.remedy))
    cause, remedy = whose.outside(entry, folded) or (cause, remedy)
    where = place or folding.place(folded, match.start())
    remedy = _of_script(whose.for_kernel(entry, whose.for_builder(entry, remedy, folded), folded), where)
    quote = refused.message(match[0]) if "said" in groups and entry in tables.DSL else match[0].strip()
    return Answer(entry, _headed(title), cause, remedy, _quoted(quote), where, facts)


def _facts(entry: Known, match: re.Match[str], groups: dict[str, str], folded: str) -> tuple[str, ...]:
    """What the text itself holds of the error's cause: layouts, fields of a tensor map, sizes, owners."""
    have = groups.get("have") or groups.get("needed") or groups.get("allocated")
    most = groups.get("most") or groups.get("limit") or groups.get("maximum")
    if have and most:
        return (f"{int(have, 0):,} B are asked for, {int(most, 0):,} B allowed",)
    facts: tuple[str, ...] = ()
    if entry.name == "driver.tensor-map":
        from layoutcheck.catalogue import tensor_map  # of TMA's limits, which other errors do not need

        facts = tuple(tensor_map.faults(folded) or tensor_map.extents(folded))
    else:
        if entry.level != ELSEWHERE:  # where no layout is at fault, none is shown
            facts = (
                _of_cpp(folded) if entry in tables.CPP else _tensors(folded) if entry in tables.DSL else ()
            )
        facts += context.facts(entry.name, folded, facts) + whose.of_owner(entry, folded)
    if entry.name == "results-differ":
        facts += symptoms.layouts(folded)
    if entry.name in _OF_COUNTERS:
        facts += _of_shares(folded)
    facts += named.of_names(entry, groups)
    if entry in tables.DSL:
        reason = refused.reason(folded[match.start() : match.end() + MOST_QUOTED])
        facts = (reason, *facts) if reason else facts
    return facts


def _fill(entry: Known, groups: dict[str, str], facts: tuple[str, ...], folded: str) -> None:
    """Adds to the pattern's groups what else the entry's sentences name: cause and help of a message, owners."""
    if entry.name == "dsl.api-moved":
        absent = any(one.startswith(dsl_names.NEVER) for one in facts)
        listed = any(calls.LISTED in one for one in facts)
        package = any(one.startswith(dsl_names.CUDA13) for one in facts)
        groups["why"], groups["do"] = (
            calls.OTHER_PACKAGE
            if package
            else calls.OTHER_MODULE
            if listed
            else calls.NO_VERSION
            if absent
            else calls.OTHER_VERSION
        )
    if "said" in groups and entry in tables.DSL:
        groups["said"] = refused.message(groups["said"])
        groups["help"] = refused.remedy(groups["said"], groups.get("op", ""))
    if entry is CODED:
        groups["cause"] = coded.cause(groups["code"])
    if entry.name == "driver.tensor-map-code":
        groups.update(_of_code_number(int(groups["number"])))
    if entry.name == "cpp.copy-does-not-vectorize":
        groups.update(context.vectors(folded))
    if entry.name == "ptxas.other":
        groups["cause"], groups["help"] = ptx_words.meaning(groups.get("said") or groups.get("alone") or "")
    if entry.name == "elsewhere.compile":
        groups["cause"], groups["help"] = _of_compile(groups, folded)
    elif entry.name == "cpp.other-error":
        groups["cause"], groups["help"] = _of_template(groups["said"])
    elif entry.name in _OF_WORDS:
        said = groups.get("said", "")
        found = demands.INNER if said.startswith("Check failed") else demands.demand(said)
        found = found or (demands.INNER if entry.name in _OF_STEPS else None)
        groups["cause"], groups["help"] = (found.cause, found.helps) if found else ("", "")
    elif entry.name in _OF_CONDITIONS:
        condition = next((groups[name] for name in _CONDITIONS if name in groups), "")
        inner = _OF_A_STEP.search(folded) and owners.another_compiler(folded)
        step = {"cause": demands.INNER.cause, "help": demands.INNER.helps} if inner else None
        groups.update(step or _of_condition(condition, groups.get("said", "")))
    elif "{cause}" in entry.cause and "cause" not in groups:
        said = groups.get("said") or groups.get("source") or groups.get("message", "")
        path = groups.get("op") or groups.get("room", "")
        of_cpp = entry in tables.CPP
        groups["cause"] = cpp_templates.cause(said, path) if of_cpp else refused.cause(said, path)
        groups.setdefault("help", cpp_templates.helps(path))
        if entry.name == "cpp.other-assertion":
            broken, repair = _broken(folded)
            groups["cause"] = " ".join(filter(None, (broken, groups["cause"])))
            groups["help"] = ". ".join(filter(None, (repair, groups["help"])))
    if entry is CODE_ALONE:
        groups["code"] = groups.pop("named", "") or groups["code"]
        told = codes.meaning(groups["code"])
        groups["meaning"] = told.said if told else ""
        groups["fix"] = told.helps if told else fix(groups["code"])
        groups["family"] = coded.cause(groups["code"])
    if "code" in groups and "{fix}" in entry.remedy:
        groups["fix"] = (groups.get("fix") or fix(groups["code"])).rstrip(". ")
    if entry is COMPANION:
        groups["package"] = installed.imported(groups["function"])
    if "{linked}" in entry.cause:
        groups["linked"] = linking.library(groups["symbol"])
    if "{project}" in entry.remedy:
        named = _owner(entry, folded)
        groups["project"] = named.project
        if entry.name == "elsewhere.triton" and named.name:
            groups["tool"] = named.name


def _of_compile(groups: dict[str, str], folded: str) -> tuple[str, str]:
    """(cause, help) of a C++ file that does not compile: by its assertion's condition, else by the compiler's words."""
    asserted = _STATIC.search(folded)
    words = conditions.in_words(asserted["condition"]) if asserted else ""
    if words:
        return (
            f"It must hold that {words}; for these template arguments it does not.",
            "The library's own code makes this instance: leave it out, or take compiler and commit that its build pins",
        )
    message = groups.get("said") or groups.get("message") or ""
    found = demands.compiled(" ".join(groups.values())) or demands.demand(message)
    return (
        (found.cause, found.helps)
        if found
        else (
            _OTHER_FILE if _OF_CUDA.search(" ".join(groups.values())) else _FIRST_ERROR,
            "Read the first error of the log; those below follow from it",
        )
    )


def _broken(folded: str) -> tuple[str, str]:
    """(what an assertion asks for, beside what the instantiation gives; what to give), each "" where it is not plain."""
    condition = next(iter(cpp_types.condition(folded)), "").removeprefix("the condition is ")
    words = conditions.in_words(condition)
    names = re.findall(r"\b[A-Za-z_]\w*\b", condition)
    given = {
        name: re.search(rf"\b{name} ?= ?(?P<value>-?[0-9]+U?|true|false)\b(?! ?=)", folded) for name in names
    }
    here = [f"{name} is {found['value']}" for name, found in given.items() if found]
    if not words or not here:
        return "", ""
    one = _EQUAL.fullmatch(condition)
    return (
        f"It must hold that {words}; here {' and '.join(here)}.",
        f"Give {one[1]} = {one[2]}" if one else "",
    )


def _of_template(said: str) -> tuple[str, str]:
    """(cause, help) of a compiler's words about a file of CuTe or CUTLASS."""
    found = demands.compiled(said)
    where = "The innermost instantiation in your own file has the layouts and types that cause it"
    if found:
        return found.cause, f"{found.helps}. {where}"
    return (
        "A template of CuTe or CUTLASS does not compile for its template arguments.",
        f"{where}. {cpp_templates.CHECK}",
    )


def _owner(entry: Known, folded: str) -> owners.Owner:
    """Who takes a report: by the source file that the text names, by its innermost frame, by the library that it names."""
    compiled = _SOURCE_FILE.search(folded)
    owner = owners.of_path(compiled["file"]) if compiled else None
    tree = owners.tree(compiled["file"]) if compiled and owner is None else ""
    if tree:
        return owners.Owner("", f"{tree}, the project of that file")
    last = frames.deciding_file(folded)
    owner = (
        owner
        or (owners.of_package(last) if last else None)
        or owners.library(folded)
        or owners.another_compiler(folded)
        or (None if entry in builds.ENTRIES else owners.find(folded))
    )
    whose = "the project that is built" if entry in builds.ENTRIES else "the project whose command prints it"
    return owner or owners.Owner("", whose)


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
    return plain if len(plain) <= MOST_QUOTED else f"{plain[:MOST_QUOTED].rpartition(' ')[0]} ..."


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
