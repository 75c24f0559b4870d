"""Every variant as a registered case, found by `layoutcheck lint kernels` and `confirm kernels`.

What each is expected to be stands in `VARIANTS`; a test holds the two together.
"""

import layoutcheck
from kernels.transpose import VARIANTS


@layoutcheck.case(expect="rejected")
def broken():
    return VARIANTS["broken"].builder()


@layoutcheck.case(expect="wrong")
def broken_silently():
    return VARIANTS["broken_silently"].builder()


@layoutcheck.case(expect="wrong")
def broken_at_run_time():
    return VARIANTS["broken_at_run_time"].builder()


@layoutcheck.case(expect="slow")
def match_layout():
    return VARIANTS["match_layout"].builder()


@layoutcheck.case(expect="slow")
def fp32_elementwise():
    return VARIANTS["fp32_elementwise"].builder()


@layoutcheck.case(expect="slow")
def staged():
    return VARIANTS["staged"].builder()


@layoutcheck.case(expect="slow")
def ldmatrix_trans():
    return VARIANTS["ldmatrix_trans"].builder()


@layoutcheck.case(expect="legal")
def swizzled():
    return VARIANTS["swizzled"].builder()


@layoutcheck.case(expect="legal")
def tma():
    return VARIANTS["tma"].builder()


@layoutcheck.case(expect="slow")
def narrow():
    return VARIANTS["narrow"].builder()


@layoutcheck.case(expect="legal")
def registers():
    return VARIANTS["registers"].builder()


@layoutcheck.case(expect="legal")
def exchange():
    return VARIANTS["exchange"].builder()


@layoutcheck.case(expect="legal")
def fastest():
    return VARIANTS["fastest"].builder()
