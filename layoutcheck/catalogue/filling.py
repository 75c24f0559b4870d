"""What the sentences of an entry name beside its pattern's groups: cause and help of a message, owners, a code's meaning.

An entry names its way in its row (`Known.fill`); without one, what its sentences ask for tells: `{cause}`, `{project}`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from layoutcheck.catalogue import (
    asserted,
    codes,
    cpp_conditions,
    cpp_stack,
    demands,
    devices,
    dsl_names,
    guards,
    installed,
    machines,
    meanings,
    origin,
    owners,
    ptx_words,
    refused,
    steps,
    symbols,
    tables,
)
from layoutcheck.catalogue.cpp_stack import Failure
from layoutcheck.catalogue.entry import ELSEWHERE, Known
from layoutcheck.catalogue.rows import SENTENCES, rows
from layoutcheck.machine import arch

Groups = dict[str, str]
_WAYS = {row.name: (row.field("cause"), row.field("helps")) for row in rows("meanings/ways.txt")}
_MEMBERS = meanings.named("members")
_METHOD = re.compile(r"the installed DSL has [A-Z]\w*\.\w+\(")
_OF_A_STEP = re.compile(
    r"Check failed.{0,300}?(?:CanProve|\bAST\b|\b[Ll]oops?\b|[Ll]ower|PrimFunc|[Ss]chedule|\bIR\b|[Rr]eplac|[Ll]ayout)"
)  # of a compiler of kernels
_EQUAL = re.compile(r"(\w+) ?== ?([0-9]+|true|false)")
_FAILED = re.compile(r"static.assert\w* failed")
_KILLED = re.compile(r"signal 9\b|\bKilled\b")
_REDUCED = re.compile(r"(?:reduces|evaluates) to '\(?(?P<values>[^'\n]{3,60}?)\)?'")  # as gcc and clang add
_OF_CUDA = re.compile(r"(?:^|[\"'` ])(?:cu[A-Z]|CU_|cuda)\w")
_FALSE = "The condition is false where the library tests it: most often a shape, a type, an alignment or a GPU that it does not take."
_NO_CASE = "The assertion stands where none of the cases applies that the code has: it does not know these template arguments."
HERE, OF_NUMBERS = "; here ", ", which is false."
_STEPS = ("raised", "said", "condition", "llvm", "option", "illegal", "manager", "pass", "file")
_CODE = re.compile(r"\w(?:<\w+>)?\([\w.]|::|&&")  # a condition as it stands in a source, and no message
_CONDITIONS = ("condition", "static", "check", "expected", "native", "before", "quoted", "said")
_HEADERS = meanings.read(
    "headers"
)  # what each part of CUTLASS asks of its template arguments, by the paths of its headers
_VAGUE = (
    "choice",
    "argument",
    "size",
    "unhandled",
    "division",
    "architecture",
)  # kinds that say less than the header
_INNERMOST = "The innermost instantiation in your own file has the layouts and types that cause it"


def fix(code: str) -> str:
    """What helps against an error of the DSL with this code, where the text has no suggestion."""
    told = codes.meaning(code)
    return told.helps.rstrip(".") if told and told.helps else "The message names the statement"


def fill(entry: Known, groups: Groups, facts: tuple[str, ...], folded: str) -> None:
    """Adds to the pattern's groups what else the entry's sentences name."""
    if "said" in groups and entry in tables.DSL:
        groups["said"] = refused.message(groups["said"])
        groups["help"] = refused.answer(groups["said"], groups.get("op", ""))[1]
    if entry.fill:
        groups.update(WAYS[entry.fill](groups, facts, folded))
    elif "{cause}" in entry.cause:
        groups["cause"] = refused.answer(groups.get("said", ""), groups.get("op", ""))[0]
    if "code" in groups and "{fix}" in entry.remedy:
        groups["fix"] = (groups.get("fix") or fix(groups["code"])).rstrip(". ")
    if "{project}" in entry.remedy and (named := _project(entry, folded)).project:
        groups["project"] = named.project
        if "tool" in groups and named.name:
            groups["tool"] = named.name


_FOREIGN = re.compile(
    r"'(?!cute|nvvm|nvgpu|gpu|llvm|arith|memref|vector|scf|cf|func|builtin)([a-z]\w*)\.[\w.]+'(?: op\b|$| that was)"
)
_CLASS = re.compile(r"_?([A-Z]\w+|tuple|sequence)")
_MESSAGE = re.compile(r' && "[^"]*"$')
_LOWERS = re.compile(r"(?i)legali[sz]|lower|translat|unsupported|not supported|marked illegal|pass pipeline")
_EACH_TARGET = "Compile for the architecture that the instruction's or the macro's name has, if it is the GPU's: -gencode arch=compute_89,code=sm_89 for SM89, and with the suffix a from SM90 on: compute_90a,sm_90a (H100), 100a (B200), 120a (RTX 50 and PRO, which have SM90's TMA)"


def _moved(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """Why a name is not there: by what is known of it."""
    absent = any(one.startswith(dsl_names.NEVER) for one in facts)
    method = absent and any(_METHOD.match(one) for one in facts)
    listed = any(dsl_names.LISTED in one for one in facts)
    package = any(one.startswith(dsl_names.CUDA13) for one in facts)
    why, do = dsl_names.ABSENT[
        "package"
        if package
        else "module"
        if listed
        else "method"
        if method
        else "no version"
        if absent
        else "version"
    ]
    return {"why": why, "do": do}


def _of_member(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """What alone has the member that a function of the DSL asks an argument for."""
    wanted = _MEMBERS.get(groups["what"], "")
    return {"wanted": f"What is taken there has .{groups['what']}: {wanted}. " if wanted else ""}


def _of_objects(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """What the objects are that Python was asked to compute with."""
    told = dict.fromkeys(filter(None, (dsl_names.TYPES.get(name) for name in _CLASS.findall(groups["said"]))))
    return {"cause": f"An operand is {'; another is '.join(told)}." if told else _WAYS["python types"][0]}


def _of_operand(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """Which argument an operand of an operation is."""
    name, each = installed.operand(groups["op"], int(groups["number"]))
    told = f"The operation takes {', '.join(each)}, in this order." if each else ""
    return {
        "name": f", `{name}`," if name else "",
        "which": f"`{name}`" if name else "the call's arguments",
        "cause": told,
    }


def _of_code_alone(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    code = groups.pop("named", "") or groups["code"]
    told = codes.meaning(code)
    named = re.search(
        rf"{code}\]?[`'\"]? (?:on|of|for|in) [`'\"]?(?P<var>[a-z_]\w*_\w+|[a-z]+[A-Z]\w*)", folded
    )
    return {
        "code": code,
        "meaning": told.said.replace("a variable", named["var"] if named else "a variable", 1)
        if told
        else "",
        "fix": told.helps if told else fix(code),
        "family": codes.cause(code),
    }


def _of_target(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """Of an instruction that the target lacks: whether its form with the suffix a has it."""
    named = groups.get("arch", "").rstrip("af")
    found = machines.needed(groups["what"])
    if found is None or not named:
        return _told(*_WAYS["no target"])
    target = arch.parse_arch(named)
    cause = machines.lacks(target, *found)
    if arch.has(arch.Arch(target.number, "a"), found[1]):
        plain = target.number
        return _told(
            f"{cause} (PTX ISA, its target notes).",
            f"Name the target {target}a: CUTE_DSL_ARCH={target}a, -gencode arch=compute_{plain}a,code=sm_{plain}a",
        )
    return _told(
        f"{cause}; no suffix of {target} changes that (PTX ISA, its target notes).",
        f"Leave the file out of the build for {target}, and on such a GPU take a kernel that is written for it (mma.sync runs on all from sm_80 on)",
    )


def _of_tensor_map(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """What a code of CUDA means where a call about a tensor map returns it."""
    number = int(groups["number"])
    meaning = tables.meaning(number)
    cause = "The call only reports the state of the context, or what an earlier kernel did to it."
    helps = "Restart the process, run it with CUDA_LAUNCH_BLOCKING=1 or under compute-sanitizer to see whether an earlier kernel faults, and look the number up in the CUDA driver API (CUresult)"
    if number == 999:
        cause += " 999 (CUDA_ERROR_UNKNOWN) comes of an earlier fault, or of a driver that is older than the CUDA of the library that makes the map."
        helps += "; compare the CUDA of `nvidia-smi` with the one that the library was built with. Until then take another back end of the library (vLLM and SGLang: Triton's)"
    return {"meaning": f": {meaning}" if meaning else "", "cause": cause, "help": helps}


def _of_file(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """Of a C++ file that does not compile: by its assertion's condition, else by the compiler's words."""
    false = broken(cpp_stack.asserted(folded), folded) if _FAILED.search(folded) else ""
    if false:
        return _told(
            false,
            "The library's own code makes this instance: leave it out, or take compiler and commit that its build pins",
        )
    message = groups.get("said") or groups.get("message") or groups.get("alone") or ""
    found = demands.compiled(f"{_code(folded)} {' '.join(groups.values())}") or demands.demand(message)
    if found:
        return _told(found.cause, found.helps)
    return _told(*_WAYS["other file" if _OF_CUDA.search(" ".join(groups.values())) else "first error"])


def _of_template(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """Of a compiler's words about a file of CuTe or CUTLASS."""
    found = demands.compiled(f"{_code(folded)} {groups['said']}")
    if found:
        return _told(found.cause, f"{found.helps}. {_INNERMOST}")
    return _told(
        "A template of CuTe or CUTLASS does not compile for its template arguments.",
        f"{_INNERMOST}. {SENTENCES['CHECK']}",
    )


def _of_assertion(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """Of a static assertion of CuTe or CUTLASS: what it asks for, else the kind of its message; what its header takes."""
    said = groups.get("said") or groups.get("source") or groups.get("message", "")
    path = groups.get("op") or groups.get("room") or groups.get("plain", "")
    failure = cpp_stack.asserted(folded)
    false = broken(failure, folded)
    told, helps = of_header(said, path, alone=not false)
    told = told if said or not false else ""
    equal = _EQUAL.fullmatch(_condition(failure)) if HERE in false else None
    found = {"help": (f"Give {equal[1]} = {equal[2]}. " if equal else "") + helps}
    if not said:
        found["said"] = f"a static assertion without a message is false: {_condition(failure) or path}"
    found["check"] = "" if path.startswith("cutlass") else f". {SENTENCES['CHECK']}"
    return {**found, "cause": " ".join(filter(None, (false, told)))}


def of_header(message: str, path: str, alone: bool = True) -> tuple[str, str]:
    """(why an assertion of a header fails, what its code takes): by its path, and by the kind of a message that stands alone, without its condition."""
    kind, room = refused.kind(message), meanings.first(_HEADERS, path)
    told = refused.OTHER if kind is None else "" if room and kind.name in _VAGUE else kind.cause
    cause = " ".join(filter(None, (told if alone else "", room.cause if room else "")))
    return cause, room.helps if room else "Read the condition in the header's line"


def _of_guard(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """Of an instruction that a guard took out: the target of the GPU that the text names, else the one of each name."""
    return {"help": devices.guarded(groups.get("macro", ""), folded) or _EACH_TARGET}


def _of_words(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """Of a message that tells its cause itself."""
    said = groups.get("said", "")
    if "python" in groups:  # a class of Python's warnings, which says no more than its words
        return _told("", "Read what it names")
    found = demands.INNER if said.startswith("Check failed") else demands.demand(said)
    return _told(*((found.cause, found.helps) if found else ("", "Read what it names")))


def _of_step(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """Of another compiler of kernels, or LLVM inside of it."""
    said = next((groups[name] for name in _STEPS if name in groups), "")
    stop = steps.find(folded, said)
    owner = origin.find(folded).owner
    dialect = _FOREIGN.search(stop.said) if owner is None else None
    if dialect or (owner and owners.is_of_graphs(owner)):
        told = demands.LOWERING if _LOWERS.search(stop.said) else demands.REFUSED
        stop = stop._replace(cause=told.cause, help=told.helps)
    condition = _MESSAGE.sub("", stop.said) if "condition" in groups else ""
    words = guards.in_words(condition) if '"' not in condition and condition != "false" else ""
    if words and stop.cause == demands.INNER.cause:
        stop = stop._replace(cause=f"It must hold that {words}; here it does not. {stop.cause}")
    tool = f"another project's MLIR compiler (its dialect is {dialect[1]})" if dialect else "a compiler"
    return {"tool": tool, "reason": stop.said, "where": stop.where, **_told(stop.cause, stop.help)}


def _of_the_end(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """Of a C++ compiler that ends by itself: the system's signal, or its own fault."""
    if groups.keys() & {"system", "killed"} or _KILLED.search(folded):
        return _told(*_WAYS["compiler killed"])
    return _told(*_WAYS["compiler ends"])


def _of_condition(groups: Groups, facts: tuple[str, ...], folded: str) -> Groups:
    """Of an assertion of a library, by what its condition or its message says."""
    if _OF_A_STEP.search(folded) and origin.find(folded).world == origin.COMPILER:
        return _told(demands.INNER.cause, demands.INNER.helps)
    condition = next((groups[name] for name in _CONDITIONS if name in groups), "")
    plain = condition.strip("'\"` ").removesuffix(" is false")
    found = demands.demand(groups.get("said") or plain) or demands.demand(plain)
    words = guards.in_words(plain)
    words = "" if found is demands.DIFFERS else words
    cause = f"It must hold that {words}; here it does not." if words else found.cause if found else _FALSE
    helps = guards.met_by(plain) if words or _CODE.search(plain) else ""
    return _told(
        cause, helps or (found.helps if found else "Print the operands of the condition before the call")
    )


WAYS: dict[str, Callable[[Groups, tuple[str, ...], str], Groups]] = {
    "moved": _moved,
    "member": _of_member,
    "objects": _of_objects,
    "operand": _of_operand,
    "code": lambda groups, facts, folded: codes.told(groups["code"], groups["said"]),
    "code alone": _of_code_alone,
    "companion": lambda groups, facts, folded: {"package": installed.imported(groups["function"])},
    "ptx": lambda groups, facts, folded: _told(
        *ptx_words.meaning(next(filter(None, map(groups.get, ("said", "alone", "bare"))), ""))
    ),
    "target": _of_target,
    "tensor map": _of_tensor_map,
    "file": _of_file,
    "template": _of_template,
    "assertion": _of_assertion,
    "guard": _of_guard,
    "words": _of_words,
    "step": _of_step,
    "condition": _of_condition,
    "link": lambda groups, facts, folded: symbols.unlinked(
        groups["symbol"], bool(groups.keys() & {"device", "ptxas"})
    )._asdict(),
    "load": lambda groups, facts, folded: symbols.unloaded(groups.get("symbol", ""))._asdict(),
    "compiler ends": _of_the_end,
}  # by what a row names


def _code(folded: str) -> str:
    """The number of the first error of Microsoft's compiler; "" where it has none."""
    found = re.search(r"\berror (C[0-9]{4}) ?:", folded)
    return found[1] if found else ""


def _told(cause: str, helps: str) -> Groups:
    return {"cause": cause, "help": helps}


def _condition(failure: Failure | None) -> str:
    """The condition that is false; "" where the text has none."""
    return cpp_conditions.inner(failure.whole) if failure else ""


def broken(failure: Failure | None, folded: str) -> str:
    """What an assertion asks for, beside what the instantiation gives; "" where it is not plain."""
    condition = _condition(failure)
    if re.search(r"\bdependent_false|\balways_false|^(?:false|0)$", condition):
        return _NO_CASE
    words, tree, reduced = guards.in_words(condition), guards.read(condition), _REDUCED.search(folded)
    here = asserted.given(tree, failure.types) if failure and tree and words else []
    here += [f"it is {reduced['values']}"] if reduced else []
    plain = tree is not None and not any(isinstance(one, ast.Name) for one in ast.walk(tree))
    told = (
        f"{HERE}{' and '.join(here)}."
        if here
        else OF_NUMBERS
        if plain
        else "; for these template arguments it does not."
    )
    return f"It must hold that {words}{told}" if words else ""


def _project(entry: Known, folded: str) -> owners.Owner:
    """Who takes a report of what the entry is about, with what says so."""
    found = origin.find(folded)
    built = entry in tables.of("builds", "linking")
    owner = found.maker if built else found.owner
    if owner and not (
        entry in tables.SYMPTOMS and owner.name in owners.CALLED
    ):  # what is compared with it is another's
        return owner._replace(project=found.project)
    whose = "the project that is built" if built else "the project whose command prints it"
    if entry in tables.SYMPTOMS and entry.level != ELSEWHERE:
        whose = "NVIDIA/cutlass" * (
            entry.name == "symptom.compiler"
        )  # of the others the kernel may be the reader's own
    return owners.Owner("", whose)
