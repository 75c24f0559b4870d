"""An exception of Python of which nothing else is known: who raised it, what must hold, and where the user's own line is."""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.catalogue import demands, guards, origin, owners, steps
from layoutcheck.catalogue.origin import Origin

_ASSERTED = re.compile(
    r"\bassert (?P<condition>\S.{0,160}?)(?: \^[\^~ ]*)? (?:\[\S{1,12} )?AssertionError(?:: (?P<said>.{1,160}))?"
)
_BARE = re.compile(r"AssertionError: assert (?P<condition>\S.{0,160}?)(?= \+ where| File |$)")
_SOURCE = re.compile(r"\bassert (?P<condition>[^,\n]{3,160}), f?[\"']")  # the statement above the exception
_BARE_NAME = re.compile(r"`\w+` is (?:true|false)")  # which says less than the message
_LONGEST = 200  # characters of a message that are quoted
_UNKNOWN = (
    "the message alone does not say which library raises it: the last frame of the whole traceback does, "
    "and its project answers"
)
_CHECK = "the last frame of the whole traceback says whose check it is, and its project answers"
# What PyTorch prints below the message of a C++ exception.
_NATIVE = re.compile(
    r"Exception raised from (?P<function>\S{1,200}) at (?P<file>\S{1,300}?):(?P<line>[0-9]+)"
)
_STACK = re.compile(
    r"frame #[0-9]+: (?P<what>c10::cuda::c10_cuda_check\w*|c10::detail::torch\w*Fail|c10::Error::Error)(?!.{0,2000}c10_cuda_check)"
)
_CUT_NATIVE = "The text has the C++ stack of an exception and not its message, which stands above it: a condition that the library tests (TORCH_CHECK) is false."
_CUT_CUDA = "The text has PyTorch's C++ stack and not its message, which stands above it. A call of CUDA returned an error: most often that of a kernel which ran before, and none of the functions of the stack is at fault."
_PASTE_STACK = "Paste the lines above the stack, which have the error's name, and run with CUDA_LAUNCH_BLOCKING=1 or under compute-sanitizer, which name the kernel"
_STACKS = "whose kernel it is takes the report"
_PASTE_ABOVE = "Paste the line above 'Exception raised from', which says what must hold; the stack below it only says where"
# What servers print above the traceback of an exception.
_ABOVE = re.compile(
    r"(?:[Ee]xception during processing !!!|hit an exception:|raised an exception:) (?P<said>(?!Traceback)\S.{5,900}?) Traceback \(most"
)
_BY_INDUCTOR = re.compile(r"_inductor\b|backend='inductor'|BackendCompilerFailed")  # which calls Triton
_ROOT = re.compile(
    r"(?i:root cause|caused by|reason|not supported because): (?P<said>\S.{0,160}?)(?= - | File |$)"
)
_BEHIND = re.compile(
    r" (?:\[[0-9]+/[0-9]+\] |FAILED \S+::|During handling of|The above exception|Traceback \(most|File \S+:[0-9]|Process \w+:|Error trace:|```|={8,}).*$"
)
_CUT = "The text has the frames of a traceback and not its last line, the one that names the exception."


# An exception whose class does not end in Error.
_CUSTOM = re.compile(r" (?P<kind>(?:[a-z_]\w{0,60}\.){0,6}[A-Z]\w{3,60}): (?P<said>\S.{0,160})")


_PLAIN = ("", *(cause for cause, _ in demands.EXCEPTIONS.values()))  # which say nothing of the message
_INDUCTOR = (
    "PyTorch's Inductor stops while it writes a kernel, by a check of its own: no argument of the call is at fault by itself.",
    'Take another back end of it (max_autotune_gemm_backends = "ATEN,TRITON"; of flex_attention kernel_options with BACKEND "TRITON"), or compile without that fusion; TORCH_LOGS=output_code prints what it wrote',
)


class Frames(NamedTuple):
    """`package` that raised it ("your program" for the user's own file), what it `said`, the user's `place`, `whose`.

    `whose` says who answers such an error; `why` and `help` why it is raised and what helps, as far as words and condition
    tell. `function` and `at` ("cute/core.py:17") are of the last frame, where that is the DSL's and its assertion has no message;
    else "".
    """

    package: str
    said: str
    place: str
    whose: str
    function: str = ""
    at: str = ""
    why: str = ""
    help: str = ""


def find(folded: str) -> Frames | None:
    """The last exception of the text, below its last frame; None where the text has none."""
    matches, raised = _last(folded)
    behind = matches[-1].end() if matches else 0
    frames = [origin.frame_of(match) for match in matches]
    asserted = _ASSERTED.search(folded, behind)
    if asserted:
        said = _BEHIND.sub("", asserted["said"] or "") or f"{asserted['condition']} is false"
        condition = asserted["condition"]
    elif raised:
        said = _BEHIND.sub("", f"{raised[-1]['kind']}: {raised[-1]['said']}".strip())
        stated = _BARE.search(folded, raised[-1].start()) or _SOURCE.search(folded, behind)
        condition = stated["condition"] if stated else ""
    else:
        return None
    kind = "" if asserted else raised[-1]["kind"]
    exception = origin.of_exception(folded, frames, kind or "AssertionError")
    package, whose = _whose(exception, frames, kind or "AssertionError")
    place = _own_place(frames)
    root = _ROOT.search(folded, raised[-1].end()) if raised and not asserted else None
    if root:
        said = f"{said.partition(' at /')[0]}: {root['said']}"
    compiles = _BY_INDUCTOR.search(said) or (exception.owner and owners.compiles(exception.owner))
    why, help_ = _meaning(root["said"] if root else said, condition, kind or "AssertionError", bool(compiles))
    if frames and why in _PLAIN and "torch/_inductor/" in origin.deciding(frames).file:
        why, help_ = _INDUCTOR
    inside = origin.OF_DSL.search(frames[-1].file) if frames and asserted and not asserted["said"] else None
    if inside is None:
        return Frames(package, said, place, whose, why=why, help=help_)
    function, at = frames[-1].function or "a function", f"{inside[1]}:{frames[-1].line}"
    return Frames(package, condition, place, whose, function, at)


def _last(folded: str) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """The frames above the last exception of the text, and its exceptions."""
    matches, raised = origin.traceback(folded)
    behind = matches[-1].end() if matches else 0
    raised = raised or list(origin.RAISED.finditer(folded))
    if not raised and matches:
        raised = list(_CUSTOM.finditer(folded, behind))
    if raised and raised[-1].start() < behind:  # frames of a later exception, whose line is missing
        matches = [match for match in matches if match.end() <= raised[-1].start()] or matches
    return matches, raised


def cut(folded: str, stated: str = "") -> Frames | None:
    """What is known of a traceback whose end is missing: whose code ran last; None where the text has no frames.

    `stated` is the line outside of the frames that says what is wrong; "" where there is none.
    """
    native = _NATIVE.search(folded)
    if native:
        package, whose = _whose(origin.of_file(native["file"]), [], "")
        said = f"the exception is raised from {native['function']} at {native['file'].replace(chr(92), '/').rpartition('/')[2]}:{native['line']}"
        return Frames(package, said, "", whose, why=_CUT_NATIVE, help=_PASTE_ABOVE)
    frames = origin.frames(folded)
    stack = None if frames else _STACK.search(folded)
    if stack:
        why = _CUT_CUDA if "cuda" in stack["what"] else _CUT_NATIVE
        said = f"the C++ stack below it begins with {stack['what']}"
        return Frames("PyTorch", said, "", _STACKS, why=why, help=_PASTE_STACK)
    if not frames:
        return None
    package, whose = _whose(origin.of_exception(folded, frames, ""), frames, "")
    above = _ABOVE.search(folded)
    stated = above["said"] if above else stated
    if stated:
        named = owners.of_words(stated)
        package, whose = (named.name, f"report it to {named.project}") if named else (package, whose)
        why, helps = _meaning(stated, "", "")
        return Frames(package, stated[:_LONGEST], _own_place(frames), whose, why=why or _CUT, help=helps)
    last = origin.deciding(frames)
    place = last.file.rpartition("/")[2] + (f":{last.line}" if last.line else "")
    said = f"the last frame is {place} {last.function}".strip()
    help_ = "Paste the rest, down to the line that ends in 'Error: ...'; of several processes the one that failed first has it"
    return Frames(package, said, _own_place(frames), whose, why=_CUT, help=help_)


def _own_place(frames: list[origin.Frame]) -> str:
    own = [frame for frame in frames if origin.is_own(frame.file)]
    if own:
        place = f"{own[-1].file}:{own[-1].line}".rstrip(":")
        return f"{place} calls it; "
    return "The text has no frame of your own; " if frames else ""


def _whose(found: Origin, frames: list[origin.Frame], kind: str) -> tuple[str, str]:
    """(what raises it, who answers) of an exception of this origin and kind, below these frames."""
    if found.owner:
        return found.owner.name, f"report it to {found.project}"
    if frames and origin.computes(origin.deciding(frames).file):
        return "your program", "what that line computes raises it, or a compiled library that it calls"
    if not frames and kind == "AssertionError":
        return "a check of the program", _CHECK
    return "a Python library", _UNKNOWN


def _meaning(said: str, condition: str, kind: str, compiles: bool = False) -> tuple[str, str]:
    """(why, what helps): by the condition, by the words of the message, by the exception's kind.

    `compiles` says that a compiler of kernels raises it.
    """
    words = guards.in_words(condition)
    message = said.partition(": ")[2] if kind and said.startswith(kind) else said
    told = condition if said == f"{condition} is false" else message
    found = steps.meaning(told) if compiles else demands.demand(told)
    why, helps = (
        (found.cause, found.helps) if found else demands.EXCEPTIONS.get(kind.rpartition(".")[2], ("", ""))
    )
    if words and not (found and (found is demands.DIFFERS or _BARE_NAME.fullmatch(words))):
        why, helps = f"It must hold that {words}; here it does not.", guards.met_by(condition) or helps
    return why, helps
