"""The errors layoutcheck raises on bad input; every one of them can show the place it speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from traceback import walk_tb

_OPTION = re.compile(r"--([a-z][a-z0-9-]*)")
_GIVEN = re.compile(_OPTION.pattern + r"(?: (?!(?:and|or|alone|with)\b)('[^']*'|[\w.]+))?")  # `--arch sm_80`
_SHOWN = 200  # characters of a word, such as the path of a file
_LONG = re.compile(r"\S{400,}")
_CONTEXT = 60  # characters of input kept on each side of the place, so that a 10 MB paste stays one line


def option_of(name: str) -> str:
    """An argument of Python as an option of the command line: `--src-space` for `src_space`."""
    return f"--{name.replace('_', '-')}"


def fault(error: Exception) -> str:
    """A failure of layoutcheck's own, by its place: Python's words for it tell a user nothing."""
    places = ((frame.f_globals.get("__name__", ""), line) for frame, line in walk_tb(error.__traceback__))
    own = [f", at {name}:{line}" for name, line in places if name.startswith("layoutcheck")]
    return f"layoutcheck itself failed on it{own[-1] if own else ''}; please report that"


class LayoutcheckError(Exception):
    """Base of all errors raised on purpose."""


class InputError(LayoutcheckError, ValueError):
    """Unusable input: what is wrong, where in the text, and what was expected. A ValueError.

    `text[start:end]` is the offending span; without `text` only the message is shown.
    `str(error)` is the message followed by the (shortened) line and a caret under the span.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str | None = None,
        start: int = 0,
        end: int | None = None,
        expected: str | None = None,
    ) -> None:
        self.message = _LONG.sub(lambda found: f"{found[0][:_SHOWN]}...", message)
        self.text = text
        self.start = start
        self.end = start + 1 if end is None else max(end, start + 1)
        self.expected = expected
        super().__init__(self._render())

    def _render(self) -> str:
        head = self.message if self.expected is None else f"{self.message}; expected {self.expected}"
        if self.text is None:
            return head
        line_start = self.text.rfind("\n", 0, self.start) + 1
        line_end = self.text.find("\n", self.start)
        line_end = len(self.text) if line_end < 0 else line_end
        first = max(line_start, self.start - _CONTEXT)
        last = min(line_end, self.start + _CONTEXT)
        shown = "".join(c if c.isprintable() else "�" for c in self.text[first:last])
        lead = "..." if first > line_start else ""
        tail = "..." if last < line_end else ""
        span = max(1, min(self.end, last) - self.start)
        caret = " " * (len(lead) + self.start - first) + "^" * span
        return f"{head}\n  {lead}{shown}{tail}\n  {caret}"

    def in_python(self) -> InputError:
        """The same error in Python's terms: `--src-space` as `src_space`, or `src_space=` if expected."""

        def argument(option: re.Match[str]) -> str:
            return f"{option[1].replace('-', '_')}={_quoted(option[2] or '')}"

        found, said = self._renamed("{}", "{}"), self.expected and _GIVEN.sub(argument, self.expected)
        return InputError(found.message, text=found.text, start=found.start, end=found.end, expected=said)

    def in_json(self) -> InputError:
        """The same error in the terms of a record: `--src-space` as `'src_space'`, its key."""
        return self._renamed("'{}'", "'{}'")

    def _renamed(self, named: str, expected: str) -> InputError:
        def renamed(part: str, name: str) -> str:
            return _OPTION.sub(lambda found: name.format(found[1].replace("-", "_")), part)

        return InputError(
            renamed(self.message, named),
            text=self.text,
            start=self.start,
            end=self.end,
            expected=self.expected and renamed(self.expected, expected),
        )

    def within(self, text: str, offset: int) -> InputError:
        """The same error, placed inside a larger `text` in which the inner one begins at `offset`."""
        return InputError(
            self.message, text=text, start=self.start + offset, end=self.end + offset, expected=self.expected
        )


def _quoted(value: str) -> str:
    """A value of an option as Python writes it: a number, or a text in quotes; nothing for none."""
    return value if re.match(r"[0-9]*\Z|'", value) else f"'{value}'"


@contextmanager
def said_of(what: str) -> Iterator[None]:
    """An InputError raised in the block names the argument or option that it is about: "--val: ..."."""
    try:
        yield
    except InputError as error:
        raise InputError(
            f"{what}: {error.message}",
            text=error.text,
            start=error.start,
            end=error.end,
            expected=error.expected,
        ) from None


def refuse_beside(why: str, **given: object) -> None:
    """Raise InputError, which says `why`, for the first option that is given: it would not be used."""
    for name, value in given.items():
        if value is not None and value is not False:
            option = option_of(name)
            raise InputError(f"{why}: {option} is not used", expected=f"the command without {option}")


def check_workers(workers: int) -> None:
    """Raise InputError for a number of processes that nobody could mean."""
    if not 0 <= workers <= 256:
        raise InputError(f"{workers} workers is out of range", expected="1 to 256, or 0 for one a processor")


def meant(name: str, known: Iterable[str]) -> str:
    """' (did you mean A or B?)' of at most three known names that begin like `name` or resemble it, or ''."""
    wanted, names = name.strip().lower(), list(known)
    near = [each for each in names if wanted and each.lower().startswith(wanted)]
    if not near:
        from difflib import get_close_matches  # no copy that is right needs it

        lower = {each.lower(): each for each in names}
        near = [lower[each] for each in get_close_matches(wanted, lower, 3, 0.6)]
    return f" (did you mean {' or '.join(near[:3])}?)" if near else ""
