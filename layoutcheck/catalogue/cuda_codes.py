"""How a text prints an error of CUDA by its number or its name.

The names, numbers and words are those of cudaError_t and CUresult (CUDA 13 runtime and driver API). A text holds one of
the three: "cudaErrorTensorMemoryLeak", "CUDA_ERROR_TENSOR_MEMORY_LEAK", "CUDA error 721", "tensor memory not completely freed".
"""

from __future__ import annotations

import re

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
