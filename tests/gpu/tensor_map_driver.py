"""Tensor maps as NVIDIA's own driver writes them: `cuTensorMapEncodeIm2col`, beside `atoms.tma.words`."""

from __future__ import annotations

import ctypes
from typing import Any

from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.atoms.tma.words import WORDS

# CUtensorMapDataType and CUtensorMapSwizzle (CUDA Driver API), as far as im2col copies here use them.
_TYPES = {"U8": 0, "U16": 1, "U32": 2, "U64": 4, "F16_RN": 6, "F32_RN": 7, "F64_RN": 8, "BF16_RN": 9}
_INVALID_VALUE = 1  # CUDA_ERROR_INVALID_VALUE
_SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}


def device_address() -> int:
    """The address of some memory on the device, a multiple of 256. Raises OSError where there is none."""
    cuda, address = _driver(), ctypes.c_uint64()
    if cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 24)):
        raise OSError("no memory")
    return address.value


def _driver() -> Any:
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    if cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0):
        raise OSError("no device")
    cuda.cuCtxSetCurrent(context)
    return cuda


def im2col_words(map_: Descriptor) -> tuple[int, ...] | None:
    """The words that the driver writes for an im2col map; None where it refuses it.

    Without L2 promotion, and zeros outside the tensor. Raises OSError where there is no driver.
    """
    assert map_.corners is not None
    cuda = _driver()
    buffer = (ctypes.c_uint64 * 32)()
    start = (ctypes.addressof(buffer) + 63) // 64 * 64

    def array(kind: Any, values: tuple[int, ...]) -> Any:
        return (kind * len(values))(*values)

    said = cuda.cuTensorMapEncodeIm2col(
        ctypes.c_void_p(start),
        _TYPES[map_.format],
        ctypes.c_uint32(map_.rank),
        ctypes.c_void_p(map_.base),
        array(ctypes.c_uint64, map_.dims),
        array(ctypes.c_uint64, map_.strides_bytes),
        array(ctypes.c_int, map_.corners.lower),
        array(ctypes.c_int, map_.corners.upper),
        ctypes.c_uint32(map_.box[0]),
        ctypes.c_uint32(map_.box[1]),
        array(ctypes.c_uint32, map_.element_strides),
        0,
        _SWIZZLES[map_.swizzle],
        0,
        0,
    )
    if said == _INVALID_VALUE:
        return None
    if said:
        raise OSError(f"cuTensorMapEncodeIm2col says {said}")
    return tuple((ctypes.c_uint64 * WORDS).from_address(start))
