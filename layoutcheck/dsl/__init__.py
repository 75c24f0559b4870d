"""The installed CuTe DSL, asked in child processes: its verifier and its lowering."""
