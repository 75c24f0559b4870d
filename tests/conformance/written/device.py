"""The child that runs cubins on a GPU: `python -m tests.conformance.written.device`, one JSON object a line.

Each is {"cubin", "entry", "numbers", "written"}; the answer is {"fault"} or {"digest"}, of the
images afterwards. A fault ends the process: the context is lost.
"""

from __future__ import annotations

import base64
import ctypes
import json
import sys

SHARED_BYTES = 200 * 1024
APART = 1 << 21
_DYNAMIC_SHARED, _MOST = 8, 1 << 27  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class Fault(Exception):
    pass


def main() -> None:
    from tests.conformance.written.judge import arguments_of, digest, fresh
    from tests.conformance.written.kernels import Written

    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *arguments: object) -> None:
        status = getattr(cuda, name)(*arguments)
        if status:
            raise Fault(f"{name}: {status}")

    call("cuInit", 0)
    context, buffer = ctypes.c_void_p(), ctypes.c_uint64()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", ctypes.byref(buffer), ctypes.c_size_t(_MOST))
    for line in sys.stdin:
        item = json.loads(line)
        written = Written(**item["written"])
        numbers = tuple(item["numbers"])
        images = fresh()
        bases = {}
        for i, (name, image) in enumerate(images.items()):
            bases[name] = buffer.value + (i + 1) * APART + written.align
            call("cuMemcpyHtoD_v2", ctypes.c_uint64(bases[name]), image.ctypes.data_as(ctypes.c_void_p),
                 ctypes.c_size_t(image.nbytes))  # fmt: skip
        try:
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            call("cuModuleLoadData", ctypes.byref(module), base64.b64decode(item["cubin"]))
            name = item["entry"]
            call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
            call("cuFuncSetAttribute", function, _DYNAMIC_SHARED, SHARED_BYTES)
            held = [ctypes.create_string_buffer(a, len(a)) for a in arguments_of(written, bases, numbers)]
            given = (ctypes.c_void_p * len(held))(*(ctypes.addressof(h) for h in held))
            call("cuLaunchKernel", function, 1, 1, 1, written.threads, 1, 1, SHARED_BYTES, None, given, None)
            call("cuCtxSynchronize")
            for name_, image in images.items():
                call("cuMemcpyDtoH_v2", image.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(bases[name_]),
                     ctypes.c_size_t(image.nbytes))  # fmt: skip
            call("cuModuleUnload", module)
        except Fault as fault:
            print(json.dumps({"fault": str(fault)}), flush=True)
            return
        print(json.dumps({"digest": digest(images)}), flush=True)


if __name__ == "__main__":
    main()
