"""Whose line a pasted error is, decided once and before any cause is looked for.

A program shows who it is by more than words: the file of the innermost frame or of the compiler's error, the module of the
exception's class, the dialect of an operation, a form of its own. Only where a text has none of these is a name in it asked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from layoutcheck.catalogue import folding, owners, symbols, tables
from layoutcheck.catalogue.entry import Known
from layoutcheck.catalogue.owners import Owner

# Worlds: who prints.
FOREIGN = "foreign"  # no program of GPUs
COMPILER = "compiler"  # of kernels, and not CuTe's
LIBRARY = "library"  # its own statement raises, or the user's
CPP = "cpp"  # a C++ compiler
HOST = "host"  # a C++ compiler on the templates of another library
DSL = "dsl"
NAMED = "named"  # the text names a library, and shows no more
OPEN = ""

_AT_RUN_TIME = tables.of("driver", "cuda_codes")
_EXPORT = "dsl.dlpack-export"  # PyTorch's words, of a tensor that the DSL is given
_OF_DSL = tuple(entry for entry in (*tables.CALLS, *tables.DSL) if entry.name != _EXPORT)
_OF_CUDA = (*tables.MACHINE, tables.called("elsewhere.driver"), tables.called("elsewhere.no-gpu"))
_OF_NVCC = ("cpp.host-function", "cpp.shared-variable", "cpp.generic-architecture", "cpp.intrinsic-target")
# Of each world the entries that it does not print, and whether it may where it prints no other.
_NOT_OF: dict[str, tuple[tuple[Known, ...], bool]] = {
    FOREIGN: ((*tables.ENTRIES, *tables.SYMPTOMS), False),
    COMPILER: ((*_OF_DSL, *(entry for entry in tables.CPP if entry.name != "cpp.canonical-port")), False),
    LIBRARY: (_OF_DSL, False),
    HOST: ((*(entry for entry in tables.CPP if entry.name not in _OF_NVCC), *_AT_RUN_TIME), True),
    CPP: (_AT_RUN_TIME, True),
    owners.AMD: (_OF_CUDA, False),  # whose runtime words the same errors
    owners.AMD_TRITON: (_OF_CUDA, False),
}

# A frame as CPython prints it, as IPython does (File ~/a.py:181, in f(x)) and as pytest does (a.py:181: in f).
FRAME = re.compile(
    r'File "(?P<file>[^"\n]{1,400})", line (?P<line>[0-9]+)(?:, in (?P<function>[\w.<>]+))?'
    r"|File (?P<shell>[\w~./+-]{1,400}\.pyx?i?):(?P<at>[0-9]+), in (?P<called>[\w.<>]+)"
    r"|(?<![\w./~+-])(?P<test>[\w~./+-]{1,400}\.py):(?P<row>[0-9]+): in (?P<run>[\w.<>]+)"
    r"|(?<![\w./~+-])(?P<old>[\w~./+-]{1,400}\.py) in (?P<entered>[\w.<>]+)\("
)
RAISED = re.compile(
    r"(?:^|[ (\"'>`\[])(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt)|(?:[a-z_]\w*\.)+(?:exc|exceptions?|errors?)\.[A-Z]\w+): (?:(?P=kind): )?(?P<said>\S.{0,160})"
)
_PACKAGE = re.compile(
    r"(?:site|dist)-packages/(?:[\w.+-]+\.egg/)?(\w+)|/CuTeDSL/(cutlass)/|python/(\w+)/cython/|[Ll]ib\\\\?site-packages\\\\?(\w+)"
)
OF_DSL = re.compile(
    r"(?:(?:nvidia_cutlass_dsl|(?:site|dist)-packages)/(?:\w+/)?|CuTeDSL/|\"(?:\.\.\.|…)/)cutlass/([\w/]+\.py)"
)  # the part of the path that every version has
_DSL_PACKAGES = ("nvidia_cutlass_dsl", "cutlass")
_DSL_CLASS = re.compile(r"(?:^|\.)(?:DSL\w*|Op|MLIR|CUDADialect)Error$")
_OF_MLIR = re.compile(r"(?:\w*mlir\w*\.)*MLIRError")  # of each program with MLIR's Python bindings
_OF_CUTE = re.compile(r"(?i)cute|cutlass")
_CUTE = Owner("the CuTe DSL", "NVIDIA/cutlass")
_HUB = re.compile(r"huggingface/modules/|transformers_modules")
_MODEL = Owner("the model's own code", "the page of the model, with which that file was downloaded")
_GENERATED = re.compile(r"torchinductor|torch_compile_cache|inductor_cache")
_INDUCTOR = Owner("PyTorch (code that Inductor wrote)", "pytorch/pytorch")
_CALLED = re.compile(r"torch\.ops\.(\w+\.\w+)")
# Frames that call and do not compute: torch's dispatch, Python's own machinery.
_PLUMBING = re.compile(
    r"tvm_ffi/|torch/(?:_ops|cuda/(?:__init__|streams|graphs)|utils/cpp_extension|nn/modules/module|utils/_contextlib|autograd/function|_dynamo/eval_frame|fx/\w+|_compile)\.py|multiprocessing/|concurrent/|threading\.py"
    r"|/lib/python3\.[0-9]+/(?!site-packages|dist-packages)|contextlib\.py|functools\.py|importlib/|runpy|asyncio/|<frozen|subprocess\.py|_pytest/|pluggy/|setuptools/|distutils/"
)
# The statement below a frame, where the frame itself raises.
_ITSELF = re.compile(r"[^\"\n]{0,8} (?:raise [\w.]+|assert )")
_DIALECT = re.compile(
    r"'(?P<op>\w+\.[\w.]+)' op\b|legalize operation '(?P<illegal>\w+\.[\w.]+)'|[<!# ,][!#](?P<type>\w+\.\w+)<|Building op `(?P<built>[\w.]+)`|custom op '(?P<custom>\w+\.\w+)'"
)
_INSTALLED = re.compile(
    r"(?:^|[(\"' ])(?P<file>[^\s()\"']{0,300}?(?:(?:site|dist)-packages/\w+/|torchinductor)[^\s()\"':,]{0,200})"
    r"|[( ](?P<source>[.~]*/[^\s()\"':,]{1,300}\.(?:cuh?|h|hpp|cc|cpp))[:(][0-9]+"
    r"|, file (?P<asserted>\S[^\n\"',]{2,300}?\.(?:cuh?|h|hpp|cc|cpp)), line [0-9]+"
)
_SOURCE = re.compile(
    r"(?P<file>[\w./\\+~-]{1,300}\.(?:cuh?|hpp|h|inl|cpp|cc)) ?(?:\([0-9]+|:[0-9]+:[0-9]+: )"
)
BY_WORDS = "its words are in the text"
# A line that a library's own log begins, a frame of the host below a report of compute-sanitizer, a name that is not linked.
_LOG = re.compile(
    r"\b(?P<name>[A-Z]\w{2,20}) (?:WARN|ERROR|FATAL)\b|\[(?P<tag>(?!CUDA|GPU|FATAL|Memory)[A-Z][a-z]\w{2,20})(?: CUDA)? (?:ERROR|FATAL|Error)\]|\bError in (?P<module>[a-z]\w{2,30})\.\w+:"
)
_HOST_FRAME = re.compile(
    r"Host Frame: ?(?P<function>[^\[=]{0,300}?)(?: in (?P<file>\S+\.\w+:[0-9]+))? ?\[0x[0-9a-f]+\](?: in (?P<library>[^\s=]+))?"
)
_OF_CUDA_ITSELF = re.compile(
    r"\blib(?:cuda|cudart|c|stdc\+\+|pthread|python\S*)\b|libcuda|libcudart|^cu(?:da)?[A-Z]\w+$"
)
_UNLINKED = re.compile(
    r"(?:(?P<source>[\w./+-]{3,300}\.(?:cuh?|c|cc|cpp|h|hpp)):(?:[0-9]+:)?(?:\([^)\n]{1,80}\):)? )?(?:[Uu]ndefined (?:reference to|symbol ?:)|[Uu]nresolved extern\w* (?:function|variable|symbol))[^\w]{0,4}(?P<symbol>[\w:~@?$]{1,100})(?:' in '(?P<file>[^'\n]{1,200})')?"
)
_SPACE = re.compile(
    r"(?<![\w:.])(?!(?:std|cuda|cute|cutlass|thrust|cub|cg|detail|impl|internal|mlir|llvm|c10|at|torch|caffe2|nvcuda|boost|testing|__\w+|_\w*)::)(?P<space>[a-z]\w{2,40})::(?:\w+::)*~?[A-Za-z_]\w*[(<]"
)
_BLAMED = re.compile(
    r"(?i)\b(?:traced to|located (?:in|at)|comes? from|happens in|(?:bug|fault|crash|race|error) (?:is )?in)\W{1,4}(?P<file>(?P<tree>[a-z][\w-]{2,40})/(?:[\w-]{1,40}/){1,8}\w{1,60}\.(?:py|cuh?|hpp|h|cc|cpp)\b)"
)
# choices, which say nothing of whose message it is
_LISTED = re.compile(r"[{\[(]'[^{}\[\]()]{1,300}'[}\])]|\b\w*backend ?= ?\w+")


Matched = tuple[Known, re.Match[str]]


class Frame(NamedTuple):
    """One frame of a Python traceback."""

    file: str
    line: str
    function: str


class Origin(NamedTuple):
    """Who printed a text: in which `world`, `owner` who answers for it, `evidence` by what that is known."""

    world: str
    owner: Owner | None = None
    evidence: str = ""

    def own(self, found: Sequence[Matched]) -> list[Matched]:
        """The entries that match and whose message such a program prints."""
        own = list(found)
        for of in (self.world, self.owner.name if self.owner else ""):
            others, at_need = _NOT_OF.get(of, ((), False))
            own = [match for match in own if match[0] not in others] or (own if at_need else [])
        return own

    @property
    def maker(self) -> Owner | None:
        """The library or compiler whose own kernels the text is about; not the DSL, nor one that every program calls."""
        if self.owner is None or self.owner is _CUTE:
            return None
        common = owners.is_common(self.owner) and self.world not in (CPP, HOST)
        return (
            None
            if common and (self.owner.name not in owners.CALLED or self.evidence == BY_WORDS)
            else self.owner
        )

    @property
    def project(self) -> str:
        """Who takes a report, and what says so; "" where nothing does."""
        told = f" ({self.evidence})" if self.evidence else ""
        return f"{self.owner.project}{told}" if self.owner else ""


@lru_cache(maxsize=8)
def find(folded: str) -> Origin:
    """The origin of a text, by the first of its traits that tells it."""
    return next(filter(None, (trait(folded) for trait in _TRAITS)), Origin(OPEN))


def traceback(folded: str) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """The matches of FRAME, and those of RAISED behind the last of them."""
    matches = list(FRAME.finditer(folded))
    return matches, list(RAISED.finditer(folded, matches[-1].end() if matches else 0))


def frames(folded: str) -> list[Frame]:
    """The frames of Python that the text prints."""
    return [frame_of(match) for match in FRAME.finditer(folded)]


def deciding(every: list[Frame]) -> Frame:
    """The innermost frame that computes, and does not only call another."""
    return next((frame for frame in reversed(every) if not _PLUMBING.search(frame.file)), every[-1])


def computes(file: str) -> bool:
    """Whether a file is one whose code does the work, and not Python's or a dispatcher's."""
    return not _PLUMBING.search(file) and "<" not in file


def is_own(file: str) -> bool:
    """Whether a file is of the user's program, and of no package."""
    return computes(file) and not _PACKAGE.search(file)


def of_exception(folded: str, every: list[Frame], kind: str) -> Origin:
    """The origin of an exception of this kind below these frames; without an owner for the user's own program."""
    if _DSL_CLASS.search(kind) and (not _OF_MLIR.fullmatch(kind) or _OF_CUTE.search(folded)):
        # which it raises through the frames of others' kernels
        return Origin(DSL, _CUTE, f"its class is {kind}")
    last = deciding(every).file if every else ""
    called = _CALLED.findall(folded) if _GENERATED.search(last) else []
    owner = owners.of_words(called[-1]) if called else None  # the operator that Inductor's code calls
    if owner:
        return Origin(LIBRARY, owner, f"the code that Inductor wrote calls {called[-1]}")
    found = of_file(last) if last else Origin(OPEN)
    if found.owner or _PLUMBING.search(last):
        return found
    if "." in kind and not kind.startswith(("tvm.error.", "torch.AcceleratorError")):
        return _of_package(kind, f"its class is {kind}")
    if last and computes(last):
        return found
    return _of_names(_LISTED.sub("", folded), below=kind != "AssertionError") or found


def of_file(file: str) -> Origin:
    """The origin of what a source file raises; without an owner for the user's own, and for one that only calls."""
    if _PLUMBING.search(file):
        return Origin(OPEN)
    if _HUB.search(file):
        return Origin(LIBRARY, _MODEL, f"{_short(file)} is its file")
    if _GENERATED.search(file):
        return Origin(LIBRARY, _INDUCTOR, f"{_short(file)} is its file")
    inside = _PACKAGE.search(file)
    evidence = f"{_short(file)} is its file"
    if inside:
        return _of_package(next(filter(None, inside.groups())), evidence, file[inside.end() :])
    owner = owners.of_path(file)
    return Origin(LIBRARY, owner, evidence) if owner else Origin(OPEN)


def frame_of(match: re.Match[str]) -> Frame:
    """The frame of a match of FRAME."""
    file, line, function = (
        next((match[name] for name in names if match[name]), "")
        for names in (
            ("file", "shell", "test", "old"),
            ("line", "at", "row"),
            ("function", "called", "run", "entered"),
        )
    )
    return Frame(file.replace("\\", "/"), line, function)


def _short(file: str) -> str:
    """A path from the package's folder on, or its last parts."""
    return "/".join(re.sub(r"^.*(?:site|dist)-packages/", "", file).split("/")[-4:])


def _of_package(name: str, evidence: str, path: str = "") -> Origin:
    """By the name of a package; a compiler's back ends by the folder in it."""
    first = name.partition(".")[0]
    if first in sys.stdlib_module_names:
        return Origin(OPEN)
    if first in _DSL_PACKAGES:
        return Origin(DSL, _CUTE, evidence)
    owner = owners.of_path(f"{first}{path}") or owners.of_path(name) or Owner(first, f"the project {first}")
    if not owners.compiles(owner):
        return Origin(LIBRARY, owner, evidence)
    return Origin(COMPILER, owners.another_compiler(f"{first}{path}") or owner, evidence)


def _of_program(folded: str) -> Origin | None:
    """By a form that no program of GPUs prints."""
    owner = owners.of_program(folded)
    return Origin(FOREIGN, owner) if owner else None


def _of_dialect(folded: str) -> Origin | None:
    """By the dialect of an operation or a type in a message of MLIR; arith, scf, llvm and their like are of every compiler."""
    for found in _DIALECT.finditer(folded):
        printed = next(filter(None, found.groups()))
        owner = _CUTE if printed.startswith("cute") else owners.another_compiler(f"'{printed}")
        if owner and owner.name != owners.SOME_MLIR:
            return Origin(DSL if owner is _CUTE else COMPILER, owner, f"{printed} is of its dialect")
    return None


def _of_source(folded: str) -> Origin | None:
    """By the file of a C++ compiler's error: whose it is, and whether the text has CuTe's templates."""
    cute, bundling = folding.OF_CPP.search(folded), owners.bundling(folded)
    compiles, foreign = folding.COMPILES.search(folded), folding.FOREIGN.search(folded) and not cute
    if not (compiles or foreign or bundling):
        return None
    world = HOST if foreign else CPP if compiles else OPEN
    file = _SOURCE.search(folded)
    path = file["file"].replace("\\", "/") if file else ""
    owner, tree = owners.of_path(path), bundling or owners.tree(path)
    if owner or tree:
        found = Origin(OPEN, owner or _named(tree), f"{_short(path) or tree} is its file")
    else:
        found = _of_names(folded, below=False) or Origin(OPEN)
    another = found.owner and owners.compiles(found.owner) and not cute
    return found._replace(world=COMPILER if another else world)


def _of_traceback(folded: str) -> Origin | None:
    """By the innermost frame, and the class of the exception below it."""
    matches, raised = traceback(folded)
    behind = matches[-1].end() if matches else 0
    kind = raised[-1]["kind"] if raised else ""
    if not matches and "." not in kind:
        return None
    every = [frame_of(match) for match in matches]
    found = of_exception(folded, every, kind)
    if checks := owners.of_condition(folded) or found.owner is None:
        found = Origin(OPEN, checks, BY_WORDS) if isinstance(checks, Owner) else _of_names(folded) or found
    innermost = matches and deciding(every) is every[-1] and not OF_DSL.search(matches[-1][0])
    itself = innermost and _ITSELF.match(folded, behind) and not _DSL_CLASS.search(kind)
    if found.world == COMPILER:
        return found
    return found._replace(world=LIBRARY if itself else DSL if found.world == DSL else OPEN)


def _of_installed(folded: str) -> Origin | None:
    """By the installed file that the message itself names."""
    match = _INSTALLED.search(folded)
    if match is None:
        return None
    source = (match["source"] or match["asserted"] or "").replace("\\", "/")
    found = of_file(match["file"] or source)
    if source and (found.owner is None or owners.is_common(found.owner)):
        tree = owners.tree(source)
        return Origin(OPEN, _named(tree), f"{_short(source)} is its file") if tree else None
    return found._replace(world=COMPILER if found.owner is _INDUCTOR else OPEN)


def _named(tree: str) -> Owner:
    """The project whose sources lie in a folder of this name."""
    return owners.of_words(tree) or Owner(tree, tree)


def _of_log(folded: str) -> Origin | None:
    """By the line that a library's own log begins: "NCCL WARN"."""
    found = _LOG.search(folded)
    if found is None:
        return None
    name = found["tag"] or found["module"]
    owner = _named(name) if name else owners.of_words(found["name"])
    return Origin(OPEN, owner, f"{found[0]} begins its line") if owner else None


def _of_backtrace(folded: str) -> Origin | None:
    """By the innermost frame of the host that is not CUDA's own."""
    for found in _HOST_FRAME.finditer(folded):
        library = (found["library"] or "").rpartition("/")[2]
        if not _OF_CUDA_ITSELF.search(library) and not _OF_CUDA_ITSELF.search(found["function"]):
            owner = owners.of_words(f"{found['function']} {library}")
            return Origin(OPEN, owner, f"{library or found['file']} makes the call") if owner else None
    return None


def _of_link(folded: str) -> Origin | None:
    """By the object that uses a name which is not linked, or by the name's own namespace."""
    found = _UNLINKED.search(folded)
    if found is None:
        return None
    file = found["file"] or found["source"]
    if file:
        tree = owners.tree(file)
        owner = owners.of_path(file) or (_named(tree) if tree else None)
        return Origin(OPEN, owner, f"{_short(file)} uses it") if owner else None
    plain = symbols.name(found["symbol"])
    owner = owners.of_words(plain) if "::" in plain else None
    return Origin(OPEN, owner, f"{plain} is its name") if owner else None


def _of_namespace(folded: str) -> Origin | None:
    """By the first namespace of C++ that is of no library which all use."""
    found = _SPACE.search(folded)
    space = found["space"] if found else ""
    return (
        Origin(OPEN, Owner(space, f"the project {space}"), f"{space}:: is its namespace") if space else None
    )


def _of_names(folded: str, below: bool = True) -> Origin | None:
    """By the compiler or library that the text names, which may be another than prints it."""
    folded = owners.meant(folded)
    compiler = owners.another_compiler(folded)
    library = owners.library(folded)
    owner = library if library and library.name not in owners.CALLED else compiler or library
    if owner is None:
        common = owners.find(folded) if below else None
        return Origin(OPEN, common, BY_WORDS) if common else None
    ours = folding.OF_DSL.search(folded)
    world = OPEN if ours else COMPILER if compiler else NAMED
    return Origin(world, owner, BY_WORDS)


def _of_claim(folded: str) -> Origin | None:
    """By the file in which a report says that the fault lies."""
    found = _BLAMED.search(folded)
    owner = found and (owners.of_path(found["file"]) or _named(found["tree"]))
    return Origin(OPEN, owner, f"{found['file']} is blamed") if found and owner else None


_TRAITS = (
    _of_program, _of_dialect, _of_source, _of_traceback, _of_link, _of_log, _of_installed, _of_backtrace, _of_claim,
    _of_names, _of_namespace,
)  # fmt: skip
