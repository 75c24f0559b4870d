"""TMA copies: the tensor map that tensors and tiler imply, and the instructions that follow from it."""
