"""The command line: parse options, make copies, check them, render the outcomes. A command a module.

Exit status: 0 nothing wrong, 1 something `rejected` or `wrong` (with --strict also `slow` and `unknown`),
2 unusable input. One error message on stderr, never a traceback.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from layoutcheck.cli import arguments
from layoutcheck.cli.arguments import WHICH, Command
from layoutcheck.cli.output import complain, drop
from layoutcheck.digits import only_python_reads
from layoutcheck.errors import InputError, LayoutcheckError

if TYPE_CHECKING:
    import typer

_BROKEN_PIPE = 141  # what a shell reports of a process that SIGPIPE ended
_SIGNALLED = 128  # and the number of the signal: what a shell reports of a process that one ended
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # of a disk, a quota, a file, a broken device

_HELP = "Is this CuTe copy legal, correct and fast? Why not, and how to repair it."

# In the order of --help, each with its line there, of at most 60 characters.
_COMMANDS = {
    "explain": "Explain one copy, a named case or a pasted error",
    "check": "Check many copies: one JSON object a line",
    "lint": "Read Python source, and check its registered kernels",
    "ci": "Run a repository's tests and scripts, check their copies",
    "init": "Write the settings, workflow and hook that ci needs",
    "confirm": "Run copies on a GPU, or simulate them, and compare",
    "draw": "Draw a layout, a tiled copy or an MMA's fragments",
    "trace": "Run a script, and check every copy of its kernels",
    "banks": "Count the shared-memory wavefronts of a tile's accesses",
    "canonical": "Test a shared layout as an operand of wgmma or tcgen05",
    "synth": "Find the best copies for a tile, and print their program",
    "rule": "Print what a finding means; without a code, all rules",
    "server": "Start the language server, for an editor",
    "resources": "Count what a tile shape needs: registers, shared memory, CTAs",
}


# Commands that run no program of the user's, whose environment is then this one.
_ALONE = ("explain", "check", "draw", "banks", "canonical", "synth", "rule")


class Interrupted(BaseException):
    """A signal ended the command. It is no KeyboardInterrupt, which typer and pygls would keep."""


class _Interrupt:
    """What a signal does in the command line's own process, which ends with its report."""

    ends_the_process = True

    def __call__(self, number: int, _: object) -> None:
        raise Interrupted(number)


def run(words: Sequence[str] | None = None) -> int:
    """The exit status of a command line; all messages are printed."""
    words = list(sys.argv[1:] if words is None else words)
    for position, word in enumerate(words):
        if word == "--case" and next(iter(words[position + 1 :]), "--").startswith("--"):
            words.insert(position + 1, WHICH)
            break
    try:
        status = _dispatch(words)
        sys.stdout.flush()
    except LayoutcheckError as error:
        complain(str(error))
        return 2
    except BrokenPipeError:
        drop(sys.stdout)
        return _BROKEN_PIPE
    except OSError as error:
        if error.errno in _FULL:
            drop(sys.stdout)
            complain(f"cannot write the report: {error.strerror}")
        elif error.filename is not None:
            complain(f"cannot use '{str(error.filename)[:200]}': {error.strerror}")
        elif error.errno == errno.ENOENT:  # of `os.getcwd`, or of `tempfile`, in words of its own
            gone = error.strerror == os.strerror(errno.ENOENT)
            complain("the current folder is gone; expected one that exists" if gone else str(error.strerror))
        else:
            raise
        return 2
    except (Interrupted, KeyboardInterrupt) as interrupt:
        number = signal.Signals((*interrupt.args, signal.SIGINT)[0])
        try:
            sys.stdout.flush()
        except OSError:  # the program that read it was interrupted as well
            drop(sys.stdout)
        complain(f"ended by {number.name}")
        return _SIGNALLED + number
    return status


def _command(name: str) -> Command:
    """The command `name`: the function of that name in the module of that name, which alone is imported."""
    found: Command = getattr(import_module(f"layoutcheck.cli.{name}"), name)
    return found


def _called(words: Sequence[str]) -> tuple[Command | None, int]:
    """The command that the words begin with, and how many of them are its name."""
    if words[:1] == ["numerics"]:
        from layoutcheck.cli import numerics

        return (getattr(numerics, words[1]), 2) if words[1:] and words[1] in numerics.COMMANDS else (None, 1)
    return (_command(words[0]), 1) if words and words[0] in _COMMANDS else (None, 0)


def _dispatch(words: list[str]) -> int:
    """Run the command; typer reads what is not plainly right, and its complaints become InputErrors."""
    command, named = _called(words)
    given = arguments.read(command, words[named:]) if command else None
    if command and given is not None:
        return command(**given)
    for word in words:
        if only_python_reads(word.rpartition("=")[2]):  # so typer would take it for a number
            raise InputError(f"'{word}' is not a number", expected="the digits 0 to 9")
    import typer

    try:
        status = app(words[0] if named else "")(words, prog_name="layoutcheck", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as ended:
        raise ended.__context__ or ended from None  # of a broken pipe typer makes status 1
    except Exception as error:
        describe = getattr(error, "format_message", None)  # typer's usage errors have it
        if describe is None:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":  # a group of commands, without one: its help
            sys.stdout.write(f"{describe()}\n")
            return 2
        context = getattr(error, "ctx", None)
        path = context.command_path if context else " ".join(["layoutcheck", *words[:named]])
        lacks = getattr(error, "param", None) if type(error).__name__ == "MissingParameter" else None
        wanted = f"; expected {lacks.help}" if getattr(lacks, "help", None) else ""
        if flag := getattr(error, "option_name", "") if type(error).__name__ == "NoSuchOption" else "":
            having = [name for name in _COMMANDS if arguments.has_option(_command(name), flag)]
            if having:  # what typer finds alike is something else
                error.possibilities = []  # type: ignore[attr-defined]
                wanted = f"; {' and '.join(having)} {'has' if len(having) == 1 else 'have'} it"
            if len(having) == 1 and arguments.read(_command(having[0]), words[named:]) is not None:
                wanted += f": layoutcheck {shlex.join([*having, *words[named:]])}"
        raise InputError(f"{describe().removesuffix('.')}{wanted} (see '{path} --help')") from None
    return status if isinstance(status, int) else 0


def app(alone: str = "") -> typer.Typer:
    """The commands above, and those of numerics; `alone`: only this one, a fifth of the time."""
    found = {name: (_command(name), line) for name, line in _COMMANDS.items() if alone in ("", name)}
    made = arguments.app(found, _HELP)
    if alone in ("", "numerics"):
        from layoutcheck.cli import numerics

        commands = {name: (getattr(numerics, name), line) for name, line in numerics.COMMANDS.items()}
        line = "Predict, explain and bound tensor-core arithmetic"
        made.add_typer(arguments.group(commands, numerics.HELP), name="numerics", short_help=line)
    return made


def main() -> None:
    """The `layoutcheck` command."""
    alone = sys.argv[1:2] and sys.argv[1] in _ALONE
    if alone and not any(word.endswith(".py") for word in sys.argv[2:]):  # `explain FILE.py` runs it
        # Threads of numpy's BLAS wait by spinning: a tenth of `explain`.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(50_000)  # imports make many objects and no garbage: looking for it is 3 % of `explain`
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    if sys.stderr is None:  # where a shell closed it (`2>&-`): complaints go nowhere
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stdout is None:
        complain("standard output is closed; expected a terminal, a file or a pipe")
        sys.exit(2)
    if isinstance(sys.stdout, io.TextIOWrapper):  # names in a report may be none of the locale's
        sys.stdout.reconfigure(errors="backslashreplace")
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows has no SIGHUP; nohup ignores it
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _Interrupt())
    if (status := run()) > _SIGNALLED:
        os._exit(status)  # no thread is waited for: that of the server which reads its input may never end
    gc.freeze()  # what is left is the system's to take back: looking through it at exit is 5 % of `explain`
    sys.exit(status)
