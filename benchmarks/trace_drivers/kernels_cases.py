"""Every kernel of this repository, built as its own tests build it."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from kernels.numerics.decode import FORMS, compile_decode
from kernels.numerics.grouped_gemm import compile_grouped
from kernels.transpose import VARIANTS

for variant in VARIANTS.values():
    if variant.arch <= os.environ["CUTE_DSL_ARCH"]:
        variant.builder().compile()
for form in FORMS:
    compile_decode(form)
compile_grouped(8)
