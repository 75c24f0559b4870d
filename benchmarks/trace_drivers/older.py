"""Run a program of an older DSL: `python older.py PROGRAM ARGUMENT ...`.

Names that the DSL has since renamed are put back, each as the name of today, and `typing.override` where
Python has none. No kernel's meaning changes.
"""

import runpy
import sys
import types
import typing

import cutlass.cute as cute
from cutlass._mlir import ir
from cutlass._mlir.dialects import nvvm
from cutlass.cute import arch

RENAMED = {  # until DSL 4.4, today
    "make_fragment": "make_rmem_tensor",
    "make_fragment_like": "make_rmem_tensor_like",
}
RENAMED_ARCH = {
    "warpgroup_reg_alloc": "setmaxregister_increase",
    "warpgroup_reg_dealloc": "setmaxregister_decrease",
}
RENAMED_NVVM = {"cp_async_mbarrier_arrive_shared": "cp_async_mbarrier_arrive"}
# Enumerations that have become words (https://github.com/NVIDIA/cutlass, CHANGELOG of 4.4).
KINDS = {
    "ProxyKind": {
        "async_shared": "async.shared",
        "alias": "alias",
        "async_": "async",
        "async_global": "async.global",
    },
    "SharedSpace": {"shared_cta": "cta", "shared_cluster": "cluster"},
}

MOVED = ("ThrCopy", "ThrMma", "TiledCopy", "TiledMma")  # from cute.core to cute
UNTYPED = ("fmax", "fmin")  # operations of nvvm that took the type of their result before their operands


def untyped(operation):
    """The operation of today, which infers the type of its result, also where that is given first."""
    return lambda *given, **named: operation(*given[bool(given) and isinstance(given[0], ir.Type) :], **named)


def put_back() -> None:
    if not hasattr(typing, "override"):
        typing.override = lambda method: method
    for module, names in ((cute, RENAMED), (arch, RENAMED_ARCH), (nvvm, RENAMED_NVVM)):
        for old, new in names.items():
            if not hasattr(module, old) and hasattr(module, new):
                setattr(module, old, getattr(module, new))
    for name in MOVED:
        if not hasattr(cute.core, name):
            setattr(cute.core, name, getattr(cute, name))
    for name in UNTYPED:
        setattr(nvvm, name, untyped(getattr(nvvm, name)))
    for name, words in KINDS.items():
        if not hasattr(arch, name):
            setattr(arch, name, types.SimpleNamespace(**words))


if __name__ == "__main__":
    put_back()
    sys.argv = sys.argv[1:]
    if sys.argv[0] == "-m":
        sys.argv = sys.argv[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = sys.argv[0].rpartition("/")[0]
        runpy.run_path(sys.argv[0], run_name="__main__")
