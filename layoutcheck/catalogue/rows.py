"""The rows of the text files that hold the catalogue: `tables/`, `reasons/`, `meanings/` and `orders/`.

A row is a block of lines, apart from the next by an empty one. Its first line is `[name] traits`, where it has a name; each of
the others is `field: value`, and goes on in lines that begin with two spaces. A line that begins with `#` is a comment.
`{TRACE}` is the sentence of that name in `sentences.txt`, `{CODES 716 74}` the pattern of these numbers of CUDA.

A text prints an error of CUDA by number or name: those of cudaError_t and CUresult (CUDA 13 runtime and driver API). It holds
"cudaErrorTensorMemoryLeak", "CUDA_ERROR_TENSOR_MEMORY_LEAK", "CUDA error 721" or "tensor memory not completely freed".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent
_NAMED = re.compile(r"\{([A-Z]+)((?: [0-9]+)*)\}")


class Row(NamedTuple):
    """A block of a file: its name, its traits, and each field with its values in their order."""

    name: str
    traits: str
    fields: dict[str, list[str]]

    def field(self, name: str) -> str:
        """The only value of a field; "" where the row does not have it."""
        return self.fields.get(name, [""])[0]


def rows(path: str) -> Iterator[Row]:
    """The rows of a file of the catalogue ("tables/driver.txt"). Raises ValueError for a line that is no field."""
    text = _NAMED.sub(_sentence, (_HERE / path).read_text(encoding="utf-8").replace("\n  ", ""))
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        head = lines.pop(0) if lines[0].startswith("[") else "[]"
        name, _, traits = head.removeprefix("[").rpartition("]")
        fields: dict[str, list[str]] = {}
        for line in lines:
            key, colon, value = line.partition(": ")
            if not colon or not key.isalpha():
                raise ValueError(f"{path}, [{name}]: a line that is no field: {line}")
            fields.setdefault(key, []).append(value)
        yield Row(name, traits.strip(), fields)


def about(path: str) -> str:
    """What a file of the catalogue is about: its first line."""
    return (_HERE / path).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _sentence(found: re.Match[str]) -> str:
    return alone(*map(int, found[2].split())) if found[2] else SENTENCES[found[1]]


def _sentences() -> dict[str, str]:
    lines = (_HERE / "sentences.txt").read_text(encoding="utf-8").splitlines()
    return {name: said for name, _, said in (line.partition(": ") for line in lines)}


SENTENCES = _sentences()


_PREFIX = r"(?:\bCUresult[ (:=.]{1,3}|\bcu(?:da)?[A-Z]\w+ (?:failed|returned)(?: with)?(?: error)?(?: code)?:? |CUDA (?:runtime |driver )?error(?: code)?[: #=]{1,3}|invalid error code \(|\(error-code |(?-i:(?<!compilation)[( ]error |error code ?[=:] ?)(?:CU:)?|CUDA_ERROR_UNKNOWN \((?:error )?code:? ?)"


def alone(*numbers: int) -> str:
    """The pattern of these numbers where a text prints them alone: "CUDA error 9 at k.cu:604", "(error 912)"."""
    return _PREFIX + "(?:" + "|".join(map(str, numbers)) + r")\b(?!\.[0-9])"


def any_of(names: list[str], words: str, numbers: tuple[int, ...]) -> str:
    """The pattern of some errors: names of the runtime, by their beginning ("PeerAccess"), words, and numbers."""
    driver = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", one).upper() for one in names]
    # A wrapper that does not know a code calls it UNKNOWN, and prints its number behind.
    code = rf"cudaError(?:{'|'.join(names)})\w*|CUDA_ERROR_(?:{'|'.join(driver)})\w*(?! \((?:error )?code:? ?(?!999))"
    return "|".join([f"(?P<code>{code})", *([f"(?P<words>{words})"] if words else []), alone(*numbers)])
