"""`ON_GPU`: source of `on_gpu(array)`, a numpy array that DLPack gives out as one in GPU memory.

With `HELD` behind it, source of `held(array)`, a tensor as torch's whose integers are what they would be in a
run with a GPU. Programs that are traced need no torch for tensors with numbers. Nothing may be launched with
them.
"""

ON_GPU = """
import ctypes
import numpy as np

class on_gpu:
    def __init__(self, array):
        self.array, self.shape = array, array.shape
    def __dlpack_device__(self):
        return 2, 0  # kDLCUDA
    def __dlpack__(self, **_):
        capsule = self.array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        device = pointer(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)
        ctypes.c_int32.from_address(device).value = 2
        return capsule
"""

HELD = """
class held(on_gpu):
    dtype = "torch.int32"
    _layoutcheck_true = True
    def untyped_storage(self): return self
    def numel(self): return self.array.size
    def detach(self): return self
    def reshape(self, _): return self.array.reshape(-1)
    def is_floating_point(self): return False
    def is_contiguous(self): return True
    def element_size(self): return self.array.itemsize
"""
