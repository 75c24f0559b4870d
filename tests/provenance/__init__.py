"""Elements followed from global memory to the tensor cores, and back."""
