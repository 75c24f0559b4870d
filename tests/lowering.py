"""`SharedLowering`: a `Lowering` that asks one process of the DSL, which the tests of this process share."""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.dsl.lowered import Lowered, of_answer, passes
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.session import Session

_sessions: list[Session] = []


class SharedLowering(Lowering):
    """Starts a process only where there is none, or the last one has ended."""

    def _started(self) -> Session:
        if not _sessions or _sessions[-1].pid is None:
            _sessions.append(super()._started())
        return _sessions[-1]

    def close(self) -> None:
        """Leave the process to the next test."""
        self._session = None


def lower(
    modules: Sequence[str], timeout: float | None = None, session: Session | None = None
) -> list[Lowered]:
    """Each traced module, printed in generic form, lowered and evaluated; about 0.2 s each.

    Raises DslUnavailable where the DSL cannot be asked, or `timeout` seconds have passed.
    """
    if session is None:
        with Session() as session:
            return lower(modules, timeout, session)
    return [of_answer(passes(text, timeout, session), text) for text in modules]
