"""The products of `program.py`, which is run by the DSL and imported by nothing."""

CASES = ("right", "n", "n_in_c", "k_of_both", "k_of_a", "b_for_a")
