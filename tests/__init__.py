"""The tests. What pytest rewrites, of these and of hypothesis, is kept as bytecode in any environment."""

import sys

sys.dont_write_bytecode = False
