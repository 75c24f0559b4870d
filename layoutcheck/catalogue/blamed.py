"""Which argument of the user's own call an error is about: by its name, its kind or its value in the message.

An answer of the catalogue says what a message means; the traceback, with the user's line, says of what.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.catalogue import dsl_names, failing, installed, meanings, quoted, raised
from layoutcheck.catalogue.answering import Answer
from layoutcheck.catalogue.entry import CLEAN
from layoutcheck.catalogue.quoted import Bound, Quoted, written

_PARAMETERS = re.compile(
    r"(?P<function>\w+)\(\) (?P<said>(?:takes|got an unexpected|got multiple|missing) .{3,300}?)(?= -->| Traceback| File \"|$)"
)
_PRINTED = re.compile(
    r"bind arguments to function [`'](?P<function>\w+)[`'] with signature [`'](?P<signature>\([^`']{0,1000}\))[`']"
)
_WHY = re.compile(
    r"Caused exception: (?:got )?(?P<said>too many positional arguments|missing a required \S+ '\w+'|an unexpected keyword argument '\w+')"
)
_ABSENT = re.compile(
    r"(?:module '(?P<module>[\w.]+)'|(?:type object )?'_?(?P<owner>\w+)'(?: object)?) has no attribute '(?P<name>\w+)'(?:\. Did you mean: '(?P<near>\w+)')?"
)
_STAGED, _STAGED_ENTRY = meanings.read("staged"), "dsl.dynamic-condition"
_LAUNCH = re.compile(r"'NoneType' object has no attribute 'launch'")
_KINDS = re.compile(
    r"(?:'|class '|\bgot:? |\bwith types: [^\n]*\b|\bobject of type '|must be [\w ]+, not |\btype )(?P<kind>NoneType|None|float|int|tuple|list|str|bool|dict|function|ellipsis)\b"
)
_INVOKED = re.compile(
    r"(?P<name>\w+)\((?P<taken>[^()]*(?:\([^()]*\)[^()]*)*)\) -> [^\n]{1,200}?\s+Invoked with types: (?P<given>[^\n]{1,600})"
)
_OPERAND = re.compile(r'Operand (?P<number>[0-9]+) of operation "[\w.]*?(?P<name>\w+)" must be')
_GOT = re.compile(
    r"\b(?:got|found|is|was|to|vs\.?|given|value:?|=) ?:?(?P<value>\([-0-9, ()]+\)|-?[0-9]+(?:\.[0-9]+)?(?:e\+?[0-9]+)?)(?![\w.]*['\"<:x])"
)
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_COMMON = {"self", "value", "name", "type", "size", "shape", "layout", "tensor", "mode", "other", "args", "and", "the", "input"}  # which messages use as words  # fmt: skip
_NAMED_KIND = {"None": "NoneType"}
_SAID_KIND = {"NoneType": "None", "tuple": "a tuple", "float": "a float", "int": "a Python int", "str": "a string", "list": "a list", "bool": "a bool", "function": "a function"}  # fmt: skip
_MOST_NAMED, _MOST_ALIKE, _MOST_PLACES, _MOST_LINES, _MOST_OPERANDS = 2, 3, 3, 3, 4


def led(answer: Answer, text: str, folded: str) -> Answer:
    """The answer with what the user's own call says of it; the same where the text quotes no such call."""
    if answer.entry.level == CLEAN:
        return answer
    message = _message(folded)
    misspelt = _misspelt(message)
    if misspelt:
        return replace(answer, cause=misspelt[0], remedy=misspelt[1], facts=())
    calls = quoted.calls(text)
    absent = _ABSENT.search(message)
    if (
        absent
        and f"self.{absent['name']}" in quoted.last_line(text)
        and not installed.knows(absent["owner"] or "")
    ):
        owner, name = absent["owner"], absent["name"]
        cause = f"self is a {owner}, a class of the program, and nothing has set .{name} of it before this line: it is misspelt, or set later or on another path."
        return replace(
            answer,
            cause=cause,
            remedy=f"Set self.{name} in {owner}.__init__, or before the kernel is launched",
        )
    if _LAUNCH.search(message):
        return _of_launch(answer, calls)
    if answer.entry.name == _STAGED_ENTRY and (
        staged := meanings.first(_STAGED, quoted.underlined(text) or message)
    ):
        return replace(answer, cause=staged.cause, remedy=staged.helps)
    parameters = _of_parameters(answer, calls, message, folded) or _of_signature(answer, folded)
    return parameters or _named(answer, calls, message, text, folded)


def _message(folded: str) -> str:
    """What the last exception of the text says."""
    said = raised.messages(folded)
    return min(said, key=len) if said else folded[-600:]


def _of_parameters(answer: Answer, calls: list[Quoted], message: str, folded: str) -> Answer | None:
    """A call that does not fit its function: which argument is which parameter, and the one that has none."""
    said, printed = _PARAMETERS.search(message), _PRINTED.search(folded)
    if printed:
        call = next((one for one in calls if one.name in ("compile", printed["function"])), None)
        bound = quoted.bind_printed(call, printed["function"], printed["signature"]) if call else None
    elif said:
        call = next((one for one in calls if one.name == said["function"]), None)
        bound = quoted.bind(call, said["said"]) if call else None
    else:
        return None
    if call is None or bound is None or call.cut or not (bound.missing or bound.surplus or bound.unknown):
        return None
    code, signature = written(call.node.func), bound.signature.call
    gives = ", ".join(f"{name} = {written(node)}" for name, node in bound.given.items())
    lacking, beyond = ", ".join(bound.missing), ", ".join(map(written, bound.surplus))
    lacks, helps = [], []
    if bound.unknown:
        for name in bound.unknown:
            free = [one for one in bound.signature.names if one not in bound.given]
            near = difflib.get_close_matches(name, free, n=1, cutoff=0.6)
            lacks.append(f"{signature} has no parameter {name}")
            helps.append(
                f"Write {near[0]}= for {name}="
                if near
                else f"Leave {name} out, or give it as one of {', '.join(free) or 'its parameters'}"
            )
    elif bound.missing:
        lacks.append(f"nothing for {lacking} of {signature}")
        helps.append(f"Add {lacking}: {_completed(call, bound)}")
        if call.node.args:
            helps.append(
                "If one of those values is meant for another parameter, the one that was left out stands before it"
            )
    else:
        lacks.append(f"{beyond} beyond the parameters of {signature}")
        only = [one for one in bound.signature.names if one in bound.signature.keyword_only]
        helps.append(f"Leave it out, or give it by keyword ({', '.join(only)})" if only else "Leave it out")
    cause = f"{call.place}: {code} is given {gives or 'no argument that fits'}; {'; '.join(lacks)}."
    return replace(answer, cause=cause, remedy=". ".join(helps))


def _of_signature(answer: Answer, folded: str) -> Answer | None:
    """A call that is not in the text, by the signature that is."""
    printed = _PRINTED.search(folded)
    why = _WHY.search(folded, printed.end() if printed else 0)
    if why is None:
        return None
    if printed is None:
        return replace(answer, cause=f"Python says of the call: {why['said']}. {answer.cause}")
    cause = f"{printed['function']} takes {printed['signature']}, and the call has {why['said']}."
    helps = f"Give {printed['function']} one argument for each of these parameters; cute.compile passes on what stands behind the function"
    return replace(answer, cause=cause, remedy=helps)


def _completed(call: Quoted, bound: Bound) -> str:
    """The call with the names of missing parameters in their places."""
    parts = []
    for name in bound.signature.names:
        if name in bound.missing:
            parts.append(f"{name}=...")
        elif name in bound.given:
            parts.append(f"{name}={written(bound.given[name])}")
    return f"{written(call.node.func)}({', '.join(parts)})"


def _misspelt(message: str) -> tuple[str, str] | None:
    """(why, what helps) of a name that is one letter from another of the same module or class, and in no version of the DSL."""
    found = _ABSENT.search(message)
    if found is None:
        return None
    name, module = found["name"], found["module"] or ""
    near = found["near"] or ""
    if not (near and _one_letter(name, near) and dsl_names.space(name) == dsl_names.space(near)):
        return None
    known = dsl_names.of_module(module, name) if module else dsl_names.of_class(found["owner"], name)
    if known:
        return None
    owner = module.removeprefix("cutlass.") or found["owner"]
    alike = [near, *(one for one in installed.beginning(name) if one != near)][:_MOST_ALIKE]
    return (
        f"{owner} has no {name}: the name is misspelt. Written alike {'are' if alike[1:] else 'is'} {', '.join(alike)}.",
        f"Write {' or '.join(f'{owner}.{one}' for one in alike)}",
    )


def _one_letter(one: str, other: str) -> bool:
    """Whether two names differ in one letter that is added, left out or another, or in case and underscores only."""
    if one.replace("_", "").lower() == other.replace("_", "").lower():
        return True
    short, long = sorted((one, other), key=len)
    same = next(
        (at for at, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short)
    )
    return len(long) > 3 and short[same + (len(short) == len(long)) :] == long[same + 1 :]


def _of_launch(answer: Answer, calls: list[Quoted]) -> Answer:
    """`.launch` of what a plain function returns."""
    call = next((one for one in calls if one.name == "launch"), None)
    made = call.node.func.value if call and isinstance(call.node.func, ast.Attribute) else None
    name = written(made.func) if isinstance(made, ast.Call) else "the function that is called before .launch"
    where = f"{call.place}: " if call else ""
    cause = f"{where}{name} returns None, so it is no kernel: only the call of a function that is decorated with @cute.kernel gives what has .launch."
    remedy = f"Decorate {name} with @cute.kernel, in the place of @cute.jit or of no decorator"
    return replace(answer, cause=cause, remedy=remedy, facts=())


def _named(answer: Answer, calls: list[Quoted], message: str, text: str, folded: str) -> Answer:
    """The answer with the arguments that the message is about, as the user's line writes them."""
    mismatch = _mismatch(message)
    statement = None if mismatch else raised.find(message)
    raised_by_python = not (mismatch or statement) and _OF_PYTHON.search(folded)
    inner = failing.find(text) if raised_by_python else None
    asked = inner.parameters if inner else ()
    condition = " ".join((statement.condition if statement else "", *asked))
    facts: list[str] = []
    for call in calls:
        bound = quoted.bind(call, message) if call.name != "compile" else None
        if bound is None:
            continue
        found = list(_blamed(call, bound, message, condition, mismatch))
        if mismatch and len(found) == 1:
            cause = f"{call.place}: {written(call.node.func)} is given {found[0]}, where {mismatch[0]} takes {mismatch[1]}."
            name = found[0].partition(" = ")[0]
            return replace(answer, cause=cause, remedy=f"Give {name} {mismatch[1]}")
        if found:
            facts += [f"{call.place}: {written(call.node.func)} is given {one}" for one in found]
            break
    if mismatch and not facts:
        cause = f"A function of the DSL takes {mismatch[1]} for {mismatch[0]}, and is given {_SAID_KIND.get(mismatch[2], mismatch[2])}."
        return replace(answer, cause=cause, remedy=f"Give {mismatch[1]} in the call at that line")
    if inner:
        only = (
            f"Look at what the call gives for {next(iter(asked))}. "
            if inner.function and len(asked) == 1
            else ""
        )
        answer = replace(answer, cause=f"{inner.told} {answer.cause}", remedy=only + answer.remedy)
    objects = (dsl_names.of_object(one[1] or one[2]) for one in _OBJECTS.finditer(message))
    facts += [*_elsewhere(text, message), *filter(None, dict.fromkeys(objects))]
    if not facts and _CREATED.search(folded):
        taken = quoted.subscript(text)
        facts = [_made(*taken)] if taken else operands(calls[0]) if calls else []
    new = [one for one in facts if one not in answer.facts]
    return replace(answer, facts=(*new, *answer.facts)) if new else answer


_CREATED = re.compile(r"Operation creation failed|\berror: unknown: ")
_OF_PYTHON = re.compile(r"\b(?:Type|Attribute|Index|Key|ZeroDivision)Error: (?!.*Error: )")
_OBJECTS = re.compile(r"<(?:\w+\.)*_?(\w+) object at 0x|\.(\w+)\(_\w+__origin")  # that a message prints
_PARAMETER = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b")
_ALIAS = {"copy_bits": "num_bits_per_copy"}  # what the compiler calls a parameter of the DSL


def _elsewhere(text: str, message: str) -> list[str]:
    """Where the program gives the keywords that a message names."""
    found = []
    for word in dict.fromkeys(_PARAMETER.findall(message)):
        name = _ALIAS.get(word, word)
        every = quoted.keywords(text, name)
        told = [
            (place, call, next(one.value for one in call.keywords if one.arg == name))
            for place, call in every
        ]
        if len(told) > _MOST_PLACES:  # those of the value that it names
            told = [
                one for one in told if re.search(rf"(?<![\w.]){re.escape(written(one[2]))}(?![\w])", message)
            ]
        found += [
            f"{place}: {written(call.func)} is given {name} = {written(value)}"
            for place, call, value in told[:_MOST_PLACES]
        ]
    return found


def operands(call: Quoted) -> list[str]:
    """What a call is given for each parameter, with the lines that make it."""
    bound = quoted.bind(call)
    told = [_made(call.place, node, f"{name} = ") for name, node in (bound.given if bound else {}).items()]
    return told[:_MOST_OPERANDS]


def _made(place: str, node: ast.expr, name: str = "") -> str:
    """An expression of a line as it is written, with the lines that make it."""
    lines = [f"line {at}: {written(value)}" for at, value in quoted.made(place, node)[:_MOST_LINES]]
    return f"{place}: {name}{written(node)}" + (f"; assigned at {'; '.join(lines)}" if lines else "")


def _mismatch(message: str) -> tuple[str, str, str] | None:
    """(parameter, what it takes, what it got) of a binding of MLIR that refuses its arguments' types."""
    found = _INVOKED.search(message)
    if found is None:
        return None
    taken = [one.partition(": ") for one in re.split(r", (?=[\w ]+: )", found["taken"])]
    for (name, _, want), got in zip(taken, found["given"].split(", "), strict=False):
        kinds = want.partition(" = ")[0].replace("None", "NoneType").split(" | ")
        if got.strip() in _SAID_KIND and got.strip() not in kinds and want not in ("object", ""):
            takes = want.partition(" = ")[0]
            said = _SAID_KIND.get(takes, takes.rpartition(".")[2]).replace("a Python int", "an int")
            return name, said, got.strip()
    return (taken[-1][0], "a value of the operation", "NoneType") if "NoneType" in found["given"] else None


def _blamed(
    call: Quoted, bound: Bound, message: str, condition: str, mismatch: tuple[str, str, str] | None
) -> Iterator[str]:
    """The arguments of a call that a message is about, "n = None": by their kind or value, by what MLIR counts, by name."""
    kinds = (
        {mismatch[2]}
        if mismatch
        else {_NAMED_KIND.get(one["kind"], one["kind"]) for one in _KINDS.finditer(message)}
    )
    by_kind = [
        f"{name} = {written(node)}, {_SAID_KIND.get(quoted.kind(node), quoted.kind(node))}"
        for name, node in bound.given.items()
        if quoted.kind(node) in kinds
    ]
    values = {one["value"].replace(" ", "") for one in _GOT.finditer(message)}
    by_value = [
        f"{name} = {written(node)}"
        for name, node in bound.given.items()
        if written(node).replace(" ", "") in values
    ]
    operand = _OPERAND.search(message)
    if operand and operand["name"] in call.name and int(operand["number"]) < len(bound.given):
        name = [one for one in bound.signature.names if one in bound.given][int(operand["number"])]
        yield f"{name} = {written(bound.given[name])}"
    elif len(by_kind) == 1 or len(by_value) == 1:
        yield from by_value if len(by_value) == 1 else by_kind
    elif not mismatch:
        words = {*(set(_WORD.findall(message)) - _COMMON), *_WORD.findall(condition)}
        named = [f"{name} = {written(node)}" for name, node in bound.given.items() if name in words]
        yield from named[:_MOST_NAMED]
