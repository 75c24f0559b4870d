"""LC248 tma-element-stride: a convolution's stride does not fit the tensor map of an im2col copy.

## What it means

The tensor map stores the steps between pixels as elementStrides, 1 to 8, of 3 bits each. The DSL
stores a larger stride over the bits of its neighbour: both dimensions then step by other numbers.

## Why

CUDA Driver API, cuTensorMapEncodeIm2col: each of elementStrides is 1 to 8. The DSL never calls it and shifts the
strides into place without a mask (read back from the words it stores); on an H200 the copy loads other pixels
(docs/evidence/tma_im2col.json).

## How to fix it

A convolution of a larger stride reads a small part of the tensor: give it a tensor with strides that skip the
rest, and a stride of 1.

## How to silence it

Only where the fault is meant: the tensor map describes another tensor.
"""

from __future__ import annotations

from layoutcheck.atoms.tma.limits import violations
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import IM2COL, Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, whole_tma


def find(analysis: Analysis) -> Findings:
    """A step above 8, where it is met."""
    found = whole_tma(analysis)
    if found is None or analysis.effect is None:
        return
    for bad in violations(found.map):
        if bad.field != "elementStrides":
            continue
        given, kept = list(found.map.element_strides), list(found.stored.element_strides)
        yield RULE.finding(
            f"the stride of {bad.value} does not fit the tensor map",
            f"elementStrides are {given} (C first), and each must be {bad.demand}. The tensor map that the DSL stores has {kept}.",
            Where(gmem_side(analysis.copy)),
            demanded(bad.field, bad.value, bad.demand, bad.source, stored=kept),
        )
        return


RULE = make_rule(
    "wrong",
    find,
    flagged=IM2COL
    | {
        "src": '!cute.memref<bf16, gmem, align<16>, "((90,14,3),64):((64,5760,80640),1)">',
        "im2col": "filter=(3,3) padding=(1,1) stride=(9,1)",
    },
    twin={"im2col": "filter=(3,3) padding=(1,1) stride=(8,1)"},
    explains=EFFECTS,
)
