"""A kernel repo as a user of CuTe DSL would write it: BF16 transpose loads and the transpose built from them."""
