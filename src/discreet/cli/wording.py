"""Arguments of the library as options of the command line: ``missing="drop"`` is ``--missing drop`` there.

An error holds the arguments that it names as pieces of their own (:class:`discreet.errors.Argument`). They alone are
written as options; no other text, which may quote labels, titles and names of columns, is ever changed.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, get_type_hints

from typer.models import OptionInfo

from discreet.errors import Argument, Worded

#: The command that is running.
running: ContextVar[Callable[..., Any] | None] = ContextVar("running", default=None)

#: Arguments whose option has another name, as (argument, value): the parameter of the command, and what it is given.
#: A value of None stands for any value, and is passed on.
_ELSEWHERE: tuple[tuple[str, str | None, str, str | None], ...] = (
    ("ledger", "None", "no_ledger", "True"),
    ("create", "True", "new_memoise_key", "True"),
    ("randomness", "Randomness.memoised(key)", "memoise_key", "KEY"),
    ("signing_key", None, "sign", None),
    ("method", "bootstrap", "errors", None),
    ("method", "jackknife", "errors", None),
)
#: Arguments that another command has as options, named where the running one has none.
_OF_OTHERS = {"encoding": "discreet plan --encoding", "delimiter": "discreet plan --delimiter"}


def options_of(function: Callable[..., Any]) -> dict[str, str]:
    """The options of a command by the names of its parameters."""
    hints = get_type_hints(function, include_extras=True)
    options = {}
    for name in inspect.signature(function).parameters:
        info = next((one for one in getattr(hints[name], "__metadata__", ()) if isinstance(one, OptionInfo)), None)
        if info is not None:
            words = (info.default, *(info.param_decls or ()))  # of Option("--json") the first is the default to be
            given = [word for word in words if isinstance(word, str) and word.startswith("--")]
            options[name] = given[0] if given else "--" + name.replace("_", "-")
    return options


def in_options(message: object) -> str:
    """An error or a warning in the words of the command that is running."""
    function = running.get()
    if function is None or not isinstance(message, Worded):
        return str(message)
    options = options_of(function)
    return message.worded(lambda argument: as_option(argument, options))


def as_option(argument: Argument, options: Mapping[str, str]) -> str:
    """An argument as the option that stands for it, or as Python writes it where there is none.

    >>> as_option(Argument('missing="drop"'), {"missing": "--missing"})
    '--missing drop'
    """
    name, value = argument.name, argument.value
    if value is None:
        return options.get(name, name)
    for other, when, parameter, given in _ELSEWHERE:
        if name == other and when in (None, value) and parameter in options:
            return _written(options[parameter], given or value)
    known = options.get(name, _OF_OTHERS.get(name))
    return argument if known is None else _written(known, value)


def _written(option: str, value: str) -> str:
    if value == "True":
        return option
    value = "tab" if value == r"\t" else value
    return f"{option} {shlex.quote(value)}" if value.isascii() else f"{option} {value}"
