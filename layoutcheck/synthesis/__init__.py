"""Synthesis: the best copies for a tile, out of a stated space, each with its proof.

    request.py     what a user says: one list of arguments
    reading.py     the request, checked
    wanted.py      what is asked for: tile, element type, global tensors, consumers, threads, stages
    shared.py      the layouts of the tile in shared memory that are considered
    deals.py       how blocks of the tile are dealt to threads, and the accesses that follow
    moves.py       the ways into and out of shared memory, with what each asks of the machine; threads.py,
                   matrix.py, tma.py: their kinds; conflicts.py: their wavefronts
    search.py      branch and bound over all of them: the best plan of each kind
    copies.py      a plan as copies, judged by `check`
    plans.py       what is returned: plans, best first; words.py: the reasons, and the space that was searched
    program.py     a plan as a CuTe DSL program; compiled.py: programs for the compiler, and its answers
    pace.py        the predicted time of a plan
    optimum.py     what a given copy could cost: `trace --advise`
    exchange.py    registers to registers through shared memory, and its statements

Nothing outside of the space is guessed: what is best is best within `Synthesis.space`, which says what
that is.
The cost is that of `machine.cost`; `check` decides whether a plan works, and a plan that it refuses is
dropped.
"""
