"""A kernel repo as a CuTe DSL user would write it: BF16 transpose loads and the transpose built from them."""
