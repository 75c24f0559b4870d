"""Compile every variant for CUTE_DSL_ARCH; print {name: {"ptx": text} or {"error": text}} as JSON.

Those that may start early (programmatic dependent launch) do where the architecture has it.

A process of its own: the DSL fixes its architecture when it is first used.
"""

import inspect
import json
import os
import re
import tempfile
from pathlib import Path

dump = tempfile.TemporaryDirectory()
os.environ.update(CUTE_DSL_KEEP="ptx", CUTE_DSL_DUMP_DIR=dump.name, CUTE_DSL_DISABLE_FILE_CACHING="1")

from kernels.transpose import VARIANTS  # noqa: E402


def plain(error: BaseException) -> str:
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split())


found = {}
for name, variant in VARIANTS.items():
    if variant.arch > os.environ["CUTE_DSL_ARCH"]:
        continue
    early = (
        os.environ["CUTE_DSL_ARCH"] >= "sm_90" and "early" in inspect.signature(variant.builder).parameters
    )
    try:
        (variant.builder(early=True) if early else variant.builder()).compile()
        (ptx,) = Path(dump.name).glob("*.ptx")
        found[name] = {"ptx": ptx.read_text()}
        ptx.unlink()
    except Exception as error:
        found[name] = {"error": plain(error)}
print(json.dumps(found))
