"""Where a library other than the DSL raises a pasted message: in its installed package, or in a checkout that the user names.

The files are read and never imported. A library is looked into where the text names it; where the text names none, those of
kernels are. Checkouts that the user names are always read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from heapq import nlargest
from pathlib import Path
from typing import NamedTuple

from layoutcheck.catalogue import installed, meanings, owners, raised

# Packages, and the words that name them in a text where these are not their names. Those of kernels are read where the text names none.
_KERNELS = ("flash_attn", "quack", "cudnn", "tvm_ffi", "deep_gemm", "flash_mla", "flashinfer", "sageattention", "tilelang")  # fmt: skip
_FRAMEWORKS = ("triton", "torch", "vllm", "sglang", "transformer_engine", "xformers", "jax", "tvm", "cupy", "numba", "mamba_ssm", "fla")  # fmt: skip
_WORDS = meanings.named("packages")
_KINDS = (".py", ".cu", ".cuh", ".cpp", ".cc", ".cxx", ".h", ".hpp", ".inl")
_OTHERS = frozenset((".git", "__pycache__", "node_modules", "build", "site-packages", ".venv", "venv"))
# of other projects
_BELOW = frozenset(("cccl", "cutlass", "thrust", "cub", "3rdparty", "third_party", "thirdparty", "spdlog"))
_BEHIND = re.compile(
    r"\bis false: |static assertion failed(?: with|:)? \"?|what\(\): +|Assertion (?:error|failed)\b[^:]{0,80}: |[Rr]eason: "
)
_LONGEST = 600  # characters of a message
_LARGEST = 1 << 19  # bytes of a file
_RUNS = (4, 3, 2)  # words in a row that are looked for
_MOST_RUNS = 8  # of one message
_MOST_FILES = 6  # that are parsed: those with most of the message's words
_FEWEST_LETTERS = 20  # of a message's own words; where the text does not name the library
_FEWEST_NAMED = 12
_FEWEST_RUN = 8  # letters


class Statement(NamedTuple):
    """A statement of a library: its package, the version of it ("" for a checkout), and what it raises where."""

    package: str
    version: str
    raised: raised.Raised


def find(folded: str, told: Sequence[str], sources: Sequence[Path] = ()) -> Statement | None:
    """The statement of a library that raises a message of the text, or that stands at its last frame; None where none does."""
    behind = (folded[match.end() : match.end() + _LONGEST] for match in _BEHIND.finditer(folded))
    said = list(dict.fromkeys((*behind, *raised.messages(folded), *told)))
    for root, package, named in _candidates(folded, sources):
        lengths = _RUNS if named else _RUNS[:1]
        raising = (_raising(said, folded, root, package, length, named) for length in lengths)
        found = _at_frame(folded, root, package) or next(filter(None, raising), None)
        if found:
            return Statement(package or root.name, _version(package) if package else "", found)
    return None


def _candidates(folded: str, sources: Sequence[Path]) -> Iterator[tuple[Path, str, bool]]:
    """(folder, package or "" for a checkout, whether the text or the user names it), those that are named first."""
    yield from ((source, "", True) for source in sources)
    told = [
        one
        for one in (*_KERNELS, *_FRAMEWORKS)
        if re.search(_WORDS.get(one, rf"\b{one}\b"), folded, re.IGNORECASE)
    ]
    for one in told or _KERNELS:
        yield from ((root, one, bool(told)) for root in installed.roots(one))


def _files(root: Path) -> Iterator[str]:
    """The paths of a folder's sources, without those of other projects that it holds."""
    for folder, inside, names in os.walk(root):
        inside[:] = sorted(name for name in inside if name not in _OTHERS and not _vendored(folder, name))
        yield from (f"{folder}/{name}" for name in sorted(names) if name.endswith(_KINDS))


def _vendored(folder: str, name: str) -> bool:
    """Whether a folder is another project's: CUTLASS' own include/cutlass is none, a checkout of it beside a library's files is."""
    return name in _BELOW and (name != "cutlass" or Path(folder, name, "include").is_dir())


def _raising(
    said: list[str], folded: str, root: Path, package: str, length: int, named: bool
) -> raised.Raised | None:
    """The statement with the most words of its own in one of the messages, the last message first."""
    runs = {run for message in said for run in _runs(message, length)}
    if not runs:
        return None
    counted = ((sum(run in data for run in runs), path, data) for path, data in _read(root))
    best = nlargest(_MOST_FILES, (one for one in counted if one[0]), key=lambda one: one[0])
    files = [(path, data.decode(errors="replace")) for _, path, data in best]
    for message in said:
        fitting = [
            one
            for path, text in files
            for one in raised.statements(path, text, message, place=_place(path, root, package))
        ]
        most = max((weight for weight, _ in fitting), default=0)
        if most >= (_FEWEST_NAMED if named else _FEWEST_LETTERS):
            fullest = [one for weight, one in fitting if weight == most]
            return raised.chosen(_at_its_place(fullest, folded) or fullest, folded)
    return None


def _at_its_place(found: list[raised.Raised], folded: str) -> list[raised.Raised]:
    """Those whose file, and if it can be whose line, stands in the text: "gemm.hpp(72)"."""
    exact, named = [], []
    for one in found:
        path, _, line = one.place.rpartition(":")
        file = path.rpartition("/")[2]
        if file in folded:
            named.append(one)
        if re.search(rf"{re.escape(file)}(?:\(|:|\", line ){line}\b", folded):
            exact.append(one)
    return exact or named


def _runs(message: str, length: int) -> list[bytes]:
    """The runs of words of a message that are looked for: those with the most letters, which values and names have least."""
    words = message.split()[:40]
    length = min(length, len(words))
    runs = [" ".join(words[at : at + length]) for at in range(len(words) - length + 1)]
    plain = [run for run in runs if sum(letter.isalpha() for letter in run) >= _FEWEST_RUN]
    return [
        run.encode()
        for run in nlargest(_MOST_RUNS, plain, key=lambda run: sum(map(str.isalpha, run)) / len(run))
    ]


def _read(root: Path) -> Iterator[tuple[str, bytes]]:
    """(path, content) of the sources; what is larger is generated."""
    for path in _files(root):
        try:
            source = Path(path)
            data = source.read_bytes() if source.stat().st_size <= _LARGEST else b""
        except OSError:
            continue
        yield path, data


def _place(path: str, root: Path, package: str) -> str:
    """A file's path as it is told: from the package's name on, or inside the checkout."""
    inside = str(Path(path).relative_to(root))
    return f"{package}/{inside}" if package else inside


def _at_frame(folded: str, root: Path, package: str) -> raised.Raised | None:
    """The statement that the last frame of the text stands at, where its file is one of the library's and shows the same words."""
    shown = raised.standing(folded)
    if shown is None:
        return None
    inside = shown.file.rpartition(f"/{package}/")[2] if package else shown.file
    path = next((path for path in _suffixes(root, inside) if path.is_file()), None)
    if path is None or path.suffix != ".py":
        return None
    text = path.read_text(errors="replace")
    try:
        found = raised.at_line(str(path), text, shown.line, _place(str(path), root, package))
    except SyntaxError:
        return None
    return found if found and shown.is_(found) else None


def _suffixes(root: Path, file: str) -> Iterator[Path]:
    """The folder joined with the ends of a frame's path, the longest first."""
    parts = [part for part in file.split("/") if part not in ("", ".", "..", "~")]
    yield from (root.joinpath(*parts[at:]) for at in range(len(parts)))


def _version(package: str) -> str:
    """The version of the distribution that a package is of; "" where it is not known."""
    from importlib.metadata import packages_distributions, version  # a fortieth of a second

    made = packages_distributions().get(package, ())
    return next((version(one) for one in made), "")


def project(found: Statement) -> owners.Owner | None:
    """Who answers for the package, where it is known."""
    return owners.of_path(found.package)
