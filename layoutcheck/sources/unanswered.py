"""What is said of a pasted text that nothing here answers: its line that tells most, and what tells more."""

from __future__ import annotations

import unicodedata
from textwrap import wrap
from typing import TYPE_CHECKING

from layoutcheck.errors import InputError

if TYPE_CHECKING:
    from layoutcheck.catalogue import Answer

_REPORT = 6000  # characters, more than a person writes
_SAMPLE = 4096  # characters; what is no text shows in the first of them
_NO_TEXT = ("Cc", "Cn", "Co", "Cs")
_OF_TERMINALS = "\t\n\r\f\b\x1b"
_QUESTIONS = (
    "the text states no error, and no page here speaks of what it asks; "
    "expected its layouts, types and atom in numbers, or what happens:\n"
    "  does not compile, or raises: its output from the first error on, into `layoutcheck explain -`\n"
    "  wrong or hangs: `layoutcheck trace --no-launch SCRIPT` judges copies, order and barriers\n"
    "  slow: ncu's details page into `layoutcheck explain -`; `layoutcheck banks LAYOUT` counts conflicts"
)


def unknown(text: str) -> InputError:
    """What is said of a text that nothing is known of: its line that tells most, and what would tell more."""
    from layoutcheck.catalogue import folding, questions, symptoms, telling

    head = text[:_SAMPLE]
    odd = [at for at, char in enumerate(head) if _is_no_text(char)]
    if 10 * len(odd) > len(head):
        return InputError(
            f"the input is not text: {len(odd)} of its first {len(head)} characters are none, "
            f"from character {odd[0]} on",
            expected="the output as it was printed, in UTF-8 or UTF-16",
        )
    prose = symptoms.is_prose(folding.fold(text)) and symptoms.is_of_gpu(text)
    if len(text) < _REPORT and (prose or (questions.asks(text) and not telling.line(text))):
        return InputError(_QUESTIONS)
    line = telling.line(text) or telling.of_few(text)
    if not line:
        return InputError(
            "this text has no line that reports an error",
            expected="the output as it was printed, from the first error on",
        )
    return InputError(
        f"layoutcheck does not know this message: {line}",
        expected="the lines around it as well: the command, the file of the error, a traceback's last frame",
    )


def _is_no_text(char: str) -> bool:
    """Whether a character is an unreadable byte, a control, or one that Unicode gives no meaning."""
    return char == "\ufffd" or (unicodedata.category(char) in _NO_TEXT and char not in _OF_TERMINALS)


def answered_elsewhere(answer: Answer) -> str:
    """What is said of an error that another tool answers: its name, then cause and help in lines of 80."""
    parts = (answer.cause, *(f"{fact}." for fact in answer.facts), f"what helps: {answer.remedy}.")
    lines = (
        line for part in parts for line in wrap(part, 78, break_long_words=False, break_on_hyphens=False)
    )
    head = [f"not an error of a layout: {answer.title}", *([f"  --> {answer.place}"] if answer.place else [])]
    return "\n".join([*head, *(f"  {line}" for line in lines)])
