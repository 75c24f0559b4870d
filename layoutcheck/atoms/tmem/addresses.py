"""Tensor memory as byte addresses.

A tensor-memory address (PTX ISA, Tensor Memory Addressing) has the lane in its upper and the column of 32
bits in its lower 16 bits. Four times that address is a byte address: lanes lie `LANE_BYTES` apart, and the
512 columns of a lane are its first 2048 bytes. The base of a view is taken to be column 0 of the warp's
first lane.
"""

from __future__ import annotations

from layoutcheck.atoms.tmem import LANE_STEP

LANE_BYTES = LANE_STEP * 4
