"""Every variant as a registered case: `layoutcheck lint kernels` and `layoutcheck confirm kernels` find them here.

What each is expected to be stands in `VARIANTS`; a test holds the two together.
"""

import layoutcheck
from kernels.transpose import VARIANTS


@layoutcheck.case(arch=["sm_80", "sm_90a"], expect="rejected", name="broken")
def broken():
    return VARIANTS["broken"].builder()
