"""As much of the CUDA driver as running one kernel takes, through cuda-bindings (which come with the DSL)."""

from __future__ import annotations

import ctypes
from typing import Any

from layoutcheck.errors import LayoutcheckError

BUFFER_BYTES = 1 << 28


class DeviceUnavailable(LayoutcheckError):
    """There is no GPU to run on, or its driver cannot be reached."""


class DeviceFault(LayoutcheckError):
    """A kernel faulted. The context is lost: nothing else runs in this process."""


class Device:
    """A context manager around one GPU's context and one buffer in its memory."""

    def __init__(self, ordinal: int = 0) -> None:
        self.ordinal = ordinal

    def __enter__(self) -> Device:
        try:
            from cuda.bindings import driver
        except ImportError as error:
            missing = "cuda-bindings is not installed (pip install 'layoutcheck[dsl]')"
            raise DeviceUnavailable(f"{missing}: {error}") from None
        self.cuda: Any = driver
        try:
            self._call(driver.cuInit(0))
            device = self._call(driver.cuDeviceGet(self.ordinal))
            self.name = self._call(driver.cuDeviceGetName(128, device)).split(b"\0")[0].decode().strip("\0")
            attribute = driver.CUdevice_attribute
            self.major, self.minor = (
                self._call(driver.cuDeviceGetAttribute(a, device))
                for a in (
                    attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                    attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                )
            )
            self.driver_version = self._call(driver.cuDriverGetVersion())
            self._call(driver.cuCtxSetCurrent(self._call(driver.cuDevicePrimaryCtxRetain(device))))
            self.buffer = int(self._call(driver.cuMemAlloc(BUFFER_BYTES)))
        except DeviceFault as error:
            raise DeviceUnavailable(f"no GPU can be used: {error}") from None
        except (RuntimeError, OSError):  # cuda-bindings looks for libcuda at the first call
            raise DeviceUnavailable("no GPU can be used: no NVIDIA driver is installed") from None
        return self

    def __exit__(self, *_: object) -> None:
        """The process ends with its context; a faulted one cannot be cleaned up."""

    def load(self, ptx: str) -> Any:
        """The kernel `harness` of a module, compiled by the driver."""
        module = self._call(self.cuda.cuModuleLoadData(ptx.encode() + b"\0"))
        return module, self._call(self.cuda.cuModuleGetFunction(module, b"harness"))

    def unload(self, module: Any) -> None:
        """Forget a module."""
        self._call(self.cuda.cuModuleUnload(module))

    def write(self, offset: int, data: bytes) -> None:
        """Copy bytes to the buffer."""
        if data:
            self._call(self.cuda.cuMemcpyHtoD(self.buffer + offset, data, len(data)))

    def read(self, offset: int, count: int) -> bytes:
        """Copy bytes from the buffer."""
        out = bytearray(count)
        if count:
            self._call(self.cuda.cuMemcpyDtoH(out, self.buffer + offset, count))
        return bytes(out)

    def launch(
        self,
        function: Any,
        threads: int,
        shared_bytes: int,
        arguments: tuple[int, int, int, int],
        blocks: int = 1,
    ) -> None:
        """Run `harness(records, image, words, report)` and wait. Raises DeviceFault.

        `blocks` are launched; the kernel itself states what is a cluster of them (`.reqnctapercluster`).
        """
        attribute = self.cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._call(self.cuda.cuFuncSetAttribute(function, attribute, shared_bytes))
        kinds = (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64)
        self._call(
            self.cuda.cuLaunchKernel(
                function, blocks, 1, 1, threads, 1, 1, shared_bytes, 0, (arguments, kinds), 0
            )
        )
        self._call(self.cuda.cuCtxSynchronize())

    def _call(self, result: tuple[Any, ...]) -> Any:
        status, *values = result
        if int(status) != 0:
            raise DeviceFault(getattr(status, "name", str(status)))
        return values[0] if len(values) == 1 else tuple(values)
