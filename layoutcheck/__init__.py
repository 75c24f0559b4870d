"""layoutcheck: is this CuTe copy legal, correct and fast, why not, and how to repair it."""
