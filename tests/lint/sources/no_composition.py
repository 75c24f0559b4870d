"""A composition that does not exist (NVIDIA/cutlass#3177)."""

from cutlass import cute


@cute.jit
def host():
    whole = cute.make_layout((4, 6, 8), stride=(2, 3, 5))
    print(cute.composition(whole, cute.make_layout(6, stride=3)))  # LC268
