"""Compile every variant, and more plans if it has sm_90, for CUTE_DSL_ARCH; `rest`: the plans of the sweep.

Print {name: {"ptx": text} or {"error": text}} as JSON; the DSL writes to CUTE_DSL_DUMP_DIR, an empty folder.

Those that may start early (programmatic dependent launch) do where the architecture has it.

A process of its own: the DSL fixes its architecture when it is first used.
"""

import gc
import inspect
import json
import os
import re
import sys
from pathlib import Path

from kernels.transpose import VARIANTS
from kernels.transpose.common import SOON
from tests.kernels.more_plans import BUILDERS, QUICK


def plain(error: BaseException) -> str:
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split())


gc.set_threshold(50_000)  # what a kernel is built of stays to its end
found = {}
arch = os.environ["CUTE_DSL_ARCH"]
builders = {name: variant.builder for name, variant in VARIANTS.items() if variant.arch <= arch}
builders |= {name: BUILDERS[name] for name in QUICK} if arch >= "sm_90" else {}
if sys.argv[1:] == ["rest"]:
    builders = {name: builder for name, builder in BUILDERS.items() if name not in QUICK}
for name, builder in builders.items():
    early = arch >= "sm_90" and "early" in inspect.signature(builder).parameters
    said = "early" in getattr(builder, "keywords", {})
    try:
        kernel = builder(early=SOON) if early and not said else builder()
        kernel.compile(no_jit_engine=True)  # which would load what nobody calls
        (ptx,) = Path(os.environ["CUTE_DSL_DUMP_DIR"]).glob("*.ptx")
        found[name] = {"ptx": ptx.read_text()}
        ptx.unlink()
    except Exception as error:
        found[name] = {"error": plain(error)}
print(json.dumps(found))
