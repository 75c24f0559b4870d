"""Every variant as a registered case, found by `layoutcheck lint kernels` and `confirm kernels`.

What each is expected to be stands in `VARIANTS`; a test holds the two together.
"""

import cutlass
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

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
    """At a pitch that is known: with a run-time one nothing says how far apart the sectors of a warp are."""
    x = make_fake_tensor(cutlass.Float32, (1024, 2048), (2048, 1), assumed_align=16)
    y = make_fake_tensor(cutlass.Float32, (2048, 1024), (1024, 1), assumed_align=16)
    return VARIANTS["fp32_elementwise"].builder().host, (x, y, make_fake_stream())


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
def exchange_async():
    return VARIANTS["exchange_async"].builder()


@layoutcheck.case(expect="legal")
def shifted():
    return VARIANTS["shifted"].builder()


@layoutcheck.case(expect="slow")
def few_rows():
    return VARIANTS["few_rows"].builder()


@layoutcheck.case(expect="slow")
def padded():
    return VARIANTS["padded"].builder()


@layoutcheck.case(expect="legal")
def few_columns():
    return VARIANTS["few_columns"].builder()


@layoutcheck.case(expect="slow")
def whole():
    return VARIANTS["whole"].builder()


@layoutcheck.case(expect="legal")
def blocks():
    return VARIANTS["blocks"].builder()


@layoutcheck.case(expect="legal")
def flat():
    return VARIANTS["flat"].builder()


@layoutcheck.case(expect="legal")
def runs():
    return VARIANTS["runs"].builder()
