"""Command-line arguments, declared once in the signatures of the commands.

A command is a function whose parameters are annotated `Annotated[TYPE, Option("what it is")]`. Command lines
that are plainly right are read here; everything else (help, mistakes) goes to the typer app made of the same
signatures. Loading typer takes longer than checking a copy, and most command lines do not need it.

A parameter annotated `Annotated[dict[str, Any], Group(...)]` stands for several options, and gets those that
were given, by their names.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

from layoutcheck.digits import decimal
from layoutcheck.errors import InputError, option_of

if TYPE_CHECKING:
    import typer
from pkgutil import resolve_name

Command = Callable[..., int]

WHICH = "?"  # of `--case` alone, which asks what cases there are

_WHOLE = re.compile(r"-?[0-9]{1,18}\Z")


class Option(NamedTuple):
    """An option and its help; `flag` where it is not the parameter's name, `positional` for an argument.

    With `rest` an argument takes all the words after those before it, options or not. A shell completes
    `values`. An option that is `joined` by some text may be given several times.
    """

    help: str
    flag: str = ""
    positional: bool = False
    rest: bool = False
    values: tuple[str, ...] = ()
    joined: str = ""

    def name(self, parameter: str) -> str:
        """The option as typed: `--src-space` for the parameter `src_space`."""
        return self.flag or option_of(parameter)


class Group(NamedTuple):
    """Options that one parameter gets together: type, option and default by name."""

    options: Mapping[str, tuple[Any, Option, Any]]


def read(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments of `command` in these words; None where typer had better look at them.

    Raises InputError for an option that is given twice: one of its values would be ignored. An empty word,
    such as a shell's variable that is not set, is no value either.
    """
    options = _options(command)
    flags = {option.name(name): name for name, (_, option) in options.items() if not option.positional}
    free = [name for name, (_, option) in options.items() if option.positional]
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            if not free:
                return None
            if _is_list(options[free[0]][0]):
                if not word:
                    raise InputError(f"one of {free[0]} is empty", expected=options[free[0]][1].help)
                given.setdefault(free[0], []).append(word)
            else:
                given[free.pop(0)] = word
            if free and options[free[0]][1].rest:
                given[free.pop(0)] = list(rest)
            continue
        flag, equals, text = word.partition("=")
        name = flags.get(flag)
        if name is None:
            return None
        kind = _kind(options[name][0])
        joined = options[name][1].joined
        if name in given and kind is not bool and not joined:
            raise InputError(f"{flag} is given twice", expected="it once")
        if kind is bool:
            value: Any = None if equals else True
        else:
            word = text if equals else next(rest, None)
            if word == "":
                raise InputError(f"{flag} is empty", expected=f"a value: {options[name][1].help}")
            value = _value(kind, word)
        if value is None:
            return None
        given[name] = f"{given[name]}{joined}{value}" if joined and name in given else value
    gathered = _gathered(command, given)
    return gathered if all(name in gathered for name in _required(command)) else None


def misplaced(command: Command, words: Sequence[str]) -> list[str]:
    """The command's own options among the words that it hands on; those behind `--` are meant so."""
    flags = {option.name(name) for name, (_, option) in _options(command).items() if not option.positional}
    before = words[: words.index("--")] if "--" in words else words
    return [word for word in before if word.partition("=")[0] in flags]


def has_option(command: Command, flag: str) -> bool:
    """Whether a command has an option of that name."""
    return bool(misplaced(command, [flag]))


_HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


def app(commands: Mapping[str, tuple[Command, str]], text: str) -> typer.Typer:
    """The typer app of the commands, and `--version`."""
    import typer

    made = group(commands, text)
    version = typer.Option("--version", help="print the version", is_eager=True, callback=_print_version)

    def root(version: bool = False) -> None:
        """What stands before the command; without it a single command would be none."""

    root.__annotations__["version"] = Annotated[bool, version]
    made.callback(help=text)(root)
    return made


def group(commands: Mapping[str, tuple[Command, str]], text: str) -> typer.Typer:
    """The commands, each with its line in the list of commands."""
    import typer

    made = typer.Typer(
        help=text,
        context_settings=_HELP_OPTIONS,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    for name, (command, line) in commands.items():
        rest = any(option.rest for _, option in _options(command).values())
        settings = {"allow_interspersed_args": False, "ignore_unknown_options": True} if rest else {}
        made.command(name, short_help=line, context_settings=_HELP_OPTIONS | settings)(_for_typer(command))
    return made


def _print_version(asked: bool) -> None:
    """`--version`."""
    if asked:
        import typer

        from layoutcheck.versions import MODELLED, own

        sys.stdout.write(f"layoutcheck {own()} (models CuTe DSL {MODELLED})\n")
        raise typer.Exit


def _for_typer(command: Command) -> Command:
    """The command again, with typer's own annotations in place of ours."""
    import typer

    defaults = _defaults(command)

    def again(**given: Any) -> int:
        return command(**_gathered(command, given))

    parameters = []
    for name, (kind, option) in _options(command).items():
        complete = completer(name, option.values)
        info: Any = typer.Argument(help=option.help, autocompletion=complete)
        if not option.positional:
            info = typer.Option(option.name(name), help=option.help, autocompletion=complete)
        default = defaults.get(name, inspect.Parameter.empty)
        annotation: Any = Annotated[kind, info]
        again.__annotations__[name] = annotation
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    again.__doc__ = command.__doc__
    setattr(again, "__signature__", inspect.Signature(parameters))  # noqa: B010
    return again


def _gathered(command: Command, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the command is called with: options of a group, where not their defaults, together."""
    out = dict(given)
    for parameter, group in _groups(command).items():
        found = {name: out.pop(name) for name in group.options if name in out}
        out[parameter] = {name: value for name, value in found.items() if value != group.options[name][2]}
    return out


def _defaults(command: Command) -> dict[str, Any]:
    """The defaults of all options that have one."""
    found = {
        name: parameter.default
        for name, parameter in inspect.signature(command).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    for group in _groups(command).values():
        found |= {name: default for name, (_, _, default) in group.options.items()}
    return found


def _required(command: Command) -> list[str]:
    parameters = inspect.signature(command).parameters.values()
    return [one.name for one in parameters if one.default is inspect.Parameter.empty]


def _groups(command: Command) -> dict[str, Group]:
    """The parameters that stand for several options."""
    return {
        name: hint.__metadata__[0]
        for name, hint in _hints(command).items()
        if isinstance(hint.__metadata__[0], Group)
    }


def _options(command: Command) -> dict[str, tuple[Any, Option]]:
    """Every option's type and help, in order."""
    out: dict[str, tuple[Any, Option]] = {}
    for name, hint in _hints(command).items():
        said = hint.__metadata__[0]
        if isinstance(said, Group):
            out |= {one: (kind, option) for one, (kind, option, _) in said.options.items()}
        else:
            out[name] = hint.__origin__, said
    return out


def _hints(command: Command) -> dict[str, Any]:
    # Python 3.10's get_type_hints wraps what has the default None in an Optional of its own.
    hints = inspect.get_annotations(command, eval_str=True)
    hints.pop("return", None)
    return hints


def _is_list(annotation: Any) -> bool:
    """Whether it is a list, or `list | None`."""
    return any(get_origin(kind) is list for kind in (annotation, *get_args(annotation)))


def _kind(annotation: Any) -> Any:
    """The type itself of `T | None`."""
    return next((kind for kind in get_args(annotation) if kind is not type(None)), annotation)


def _value(kind: Any, text: str | None) -> Any:
    if text is None:
        return None
    if kind is int:
        return int(text) if _WHOLE.match(text) else None
    try:
        return decimal(text) if kind is float else kind(text)
    except ValueError:
        return None


def completer(parameter: str, values: Sequence[str] = ()) -> Callable[[str], list[str]] | None:
    """What a shell completes as a value of the parameter: one of `values`, or its names; None: files."""
    if not values and parameter not in _NAMES:
        return None

    def complete(incomplete: str) -> list[str]:
        found = values or resolve_name(f"layoutcheck.{_NAMES[parameter]}")
        names = found() if callable(found) else found
        before, comma, word = incomplete.rpartition(",") if parameter in _LISTS else ("", "", incomplete)
        return [f"{before}{comma}{one}" for one in names if one.startswith(word)]

    return complete


_LISTS = ("select", "ignore")
# Where the names of a parameter are, or who gives them: imported when a shell asks.
_NAMES = {
    "arch": "machine.arch:TARGETS", "atom": "sources.atoms:shown", "case": "sources.cases:case_names",
    "by": "tracing:fix_names",
    **dict.fromkeys(("code", *_LISTS), "rulebook:rules"),
    **dict.fromkeys(("dtype", "src_dtype", "dst_dtype"), "machine.dtypes:SHOWN"),
}  # fmt: skip
