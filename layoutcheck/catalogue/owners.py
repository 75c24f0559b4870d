"""Who answers an error that is not CuTe's: the library whose words are in the text, and its project."""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.catalogue import symptoms
from layoutcheck.catalogue.literals import Words, plain
from layoutcheck.catalogue.rows import rows


class Owner(NamedTuple):
    """A library and who answers its errors: "TileLang", "tile-ai/tilelang"."""

    name: str
    project: str


_Owned = tuple[Words, Owner]


def _owners(kind: str) -> tuple[_Owned, ...]:
    """Those of a kind, in order: a compiler or library stands before those that it is built on, a name in its own case."""
    return tuple(
        (Words(f"(?-i:{row.field('words')})"), Owner(row.name, row.field("project")))
        for row in rows("owners.txt")
        if row.traits == kind
    )


# named by who calls them or compares with them
CALLED = "cuBLAS", "cuDNN", "NVSHMEM", "NCCL", "CUB and Thrust"
SOME_MLIR = "another MLIR compiler"  # by dialects that several have
AMD = "AMD's ROCm"  # which words its errors as CUDA does
AMD_TRITON = "Triton's back end for AMD's GPUs"
_OF_GRAPHS = (
    "IREE",
    "Torch-MLIR",
    "TensorFlow",
    "Clang (ClangIR)",
    "IREE or another compiler of MLIR's tensors",
    SOME_MLIR,
    "an MLIR compiler",
)
_COMPILERS, _LIBRARIES, _BELOW, _CALLERS, _PROGRAMS = map(
    _owners, ("compiler", "library", "below", "caller", "program")
)
_BELOW_HOME = re.compile(
    r"(?:/?(?:home|Users)/[\w.-]+|/(?:opt|root|workspace|data|mnt))/(?:(?!(?:include|src|csrc|lib|build)/)[\w.-]+/)*?(?P<tree>[A-Z][\w.-]{2,60})/[\w.-]+\.(?:cuh?|c|cc|cpp|cxx|h|hpp)$"
)  # a file that lies in a project's own folder
_HOME = re.compile(r"^/?(?:home|Users)/[\w.-]+(?=/)")  # whose last part is a person
_INSTALLED_IN = re.compile(r".*(?:site|dist)-packages/")
_TREE = r"/(?P<tree>[A-Za-z][\w.-]{2,60}?)(?:-main|-master|-install|-build|-src)?/"
_INSIDE = re.compile(
    rf"{_TREE}(?:include|src|csrc|source|lib|kernels|examples|tests?|tools|cpp|cuda|python)/"
)
_BUNDLED = re.compile(
    rf"{_TREE}(?:third_?party|third-party|3rdparty|external|extern|dependencies|deps|submodules)/(?:[\w.-]{{1,60}}/){{0,3}}?cutlass[\w.-]*/(?:tools/\w+/)?include/"
)
_PLAIN = frozenset(("usr", "install", "system", "common", "packages", "Documents", "Downloads", "Desktop", "projects", "repos", "github", "git", "local", "opt", "home", "workspace", "build", "work", "app", "code", "data", "site-packages", "dist-packages", "third_party", "cuda", "software", "obj", "targets", "x86_64-linux", "aarch64-linux", "sbsa-linux"))  # fmt: skip


_CONDITION = re.compile(r"\bAssertion error \(?(?P<file>[\w./-]{3,200}\.(?:hpp|cuh?|cpp)):[0-9]")


_COMPARED = re.compile(
    r"(?i)\b(?:(?:slower|faster|worse|better|more|less|[a-z]+) than|vs\.?|versus|compared (?:to|with)|against|gap to|[0-9.]x (?:of|over)|match(?:es)?|mirrors?|existing|like|baselines?:?|(?:used?|works?|runs?|ran|fine|same) [\w ]{0,30}?\b(?:with|in|under))(?: the| an?| existing| our| its)* (?:llama\.cpp|triton|cublas\w*|cudnn|flash-?attention\S*|cutlass|tilelang|pytorch|torch)\b|(?<= )-m /\S+"
)
_IMPORTED = re.compile(r"\b(?:import|from) (?!torch\b)[a-z]\w+(?:\.\w+)*")
_SUBJECT = 200  # characters in which a person says what the text is about


def meant(folded: str) -> str:
    """What of a text names whose it is: not what it only compares with.

    What a person writes, and no program, names many: it is about what its code imports, or what its first words name.
    """
    folded = _COMPARED.sub(" ", folded)
    if not symptoms.is_prose(folded):
        return folded
    imported = " ".join(_IMPORTED.findall(folded))
    return imported if find(imported) else folded[:_SUBJECT]


def find(text: str) -> Owner | None:
    """The compiler or library that the text names; None where it names none."""
    return _first(text, (*_COMPILERS, *_LIBRARIES, *_BELOW))


def of_path(path: str) -> Owner | None:
    """The project that a source file is of, by the folders of its path; None where they name none.

    Of several the outermost has the file: what it bundles lies deeper. What every library builds on comes last.
    """
    path = _INSTALLED_IN.sub("", path)
    known = (*_COMPILERS, *_LIBRARIES, *_CALLERS)
    copied = _tree(_BELOW_HOME, path)  # which may have taken a file of another's, with its name
    if copied and _outermost(path.rpartition("/")[0], known) is None:
        return Owner(copied, copied)
    return _outermost(path, known) or _first(path, _BELOW)


def of_words(text: str) -> Owner | None:
    """The project that a message names, callers as well; None where it names none."""
    return _first(text, (*_COMPILERS, *_LIBRARIES, *_CALLERS, *_BELOW))


def of_condition(folded: str) -> Owner | None:
    """The library of kernels whose source file a condition that is false names; None where none is named."""
    found = _CONDITION.search(folded)
    return library(found["file"]) if found else None


def bundling(text: str) -> str:
    """The name of the source tree that holds a CUTLASS of its own, by the paths of the text; "" where none does."""
    return _tree(_BUNDLED, text)


def tree(path: str) -> str:
    """The name of the folder that a project's source tree lies in, by its usual folders; "" where the path has none."""
    found = _tree(_INSIDE, _HOME.sub("", path))
    found = found or _tree(_BELOW_HOME, path)
    return "" if found.startswith(("cuda-", "python3", "gcc", "cutlass", "v", "job_")) else found


def _tree(paths: re.Pattern[str], text: str) -> str:
    found = next((match["tree"] for match in paths.finditer(text)), "")
    return "" if found in _PLAIN or found.startswith("pip-req-build") else found


def another_compiler(text: str) -> Owner | None:
    """The compiler other than CuTe's that makes the kernels of the text; None where it names none."""
    return _first(text, _COMPILERS)


def library(text: str) -> Owner | None:
    """The library of kernels that the text names; None where it names none."""
    return _first(text, _LIBRARIES)


def of_program(text: str) -> Owner | None:
    """The program without kernels whose form of message the text has; None where it has none."""
    return _first(text, _PROGRAMS)


def is_of_graphs(owner: Owner) -> bool:
    """Whether it compiles graphs of operations, or MLIR as such, and no kernel with tiles of its writer's."""
    return owner.name in _OF_GRAPHS


def is_common(owner: Owner) -> bool:
    """Whether every program calls it, so that its name says nothing of whose kernel it is."""
    return owner.name in CALLED or any(owner is one for _, one in _BELOW)


def compiles(owner: Owner) -> bool:
    """Whether it is a compiler of kernels."""
    return any(owner is one for _, one in _COMPILERS)


def _outermost(path: str, owners: tuple[_Owned, ...]) -> Owner | None:
    said = plain(path)
    found = ((words.search(path, said), owner) for words, owner in owners)
    begun = (
        (match.start(), at, owner)
        for at, (match, owner) in enumerate(found)
        if match and not _inside(path[: match.start()], match[0])
    )
    return min(begun, default=(0, 0, None))[2]


def _inside(before: str, name: str) -> bool:
    """Whether a name is a part of a longer one, as in "dsv4tilelang"; "libnccl" is NCCL's."""
    return before[-1:].isalnum() and name[0].isalnum() and not before.endswith("lib")


def _first(text: str, owners: tuple[_Owned, ...]) -> Owner | None:
    said = plain(text)
    return next((owner for words, owner in owners if words.search(text, said)), None)
