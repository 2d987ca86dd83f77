"""Messages of the library in the words of the command line: ``missing="drop"`` is ``--missing drop`` there.

The library speaks to Python users and names its arguments. Whatever a command prints goes through here: an argument for
which the running command has an option is written as that option.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, get_type_hints

from typer.models import OptionInfo

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
_VALUE = r"(?:\"(?P<quoted>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>Randomness\.memoised\(key\)|[\w.…-]+))"
_ARGUMENT = re.compile(rf"\b(?P<name>[a-z][a-z_]*)={_VALUE}")
_INTERVAL = re.compile(rf"\b(?:result\.)?interval\(method={_VALUE}\)")
_CALL = re.compile(r"\bestimate\.(?P<name>[a-z_]+)\(…, (?P<rest>[^()]*)\)")
_LEADING = re.compile(
    r"^(?P<name>[a-z][a-z_]*)(?=(?: and [a-z_]+)? (?:must|needs?|is|are|goes|go|has|belongs?|cannot)\b|: )"
)


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


def in_options(text: str) -> str:
    """A text in the words of the command that is running."""
    function = running.get()
    if function is None or ("=" not in text and not _LEADING.match(text)):
        return text
    return rewritten(text, options_of(function))


def rewritten(text: str, options: Mapping[str, str]) -> str:
    """A text with the options in place of the arguments that they stand for.

    >>> rewritten('missing="drop" leaves such rows out', {"missing": "--missing"})
    '--missing drop leaves such rows out'
    """

    def option(found: re.Match[str]) -> str:
        name = found["name"]
        value = next(group for group in (found["quoted"], found["single"], found["bare"]) if group is not None)
        for argument, when, parameter, given in _ELSEWHERE:
            if name == argument and when in (None, value) and parameter in options:
                return _written(options[parameter], given or value)
        known = options.get(name, _OF_OTHERS.get(name))
        return found[0] if known is None else _written(known, value)

    def interval(found: re.Match[str]) -> str:
        value = found["quoted"] or found["single"] or found["bare"]
        return _written(options["interval"], value) if "interval" in options else found[0]

    def leading(found: re.Match[str]) -> str:
        return options.get(found["name"], found["name"])

    def call(found: re.Match[str]) -> str:
        return f"discreet estimate {found['name']} … {_ARGUMENT.sub(anywhere, found['rest'])}"

    def anywhere(found: re.Match[str]) -> str:
        value = next(group for group in (found["quoted"], found["single"], found["bare"]) if group is not None)
        return _written("--" + found["name"].replace("_", "-"), value)

    text = _CALL.sub(call, _INTERVAL.sub(interval, text))
    return _LEADING.sub(leading, _ARGUMENT.sub(option, text))


def _written(option: str, value: str) -> str:
    if value == "True":
        return option
    value = "tab" if value == r"\t" else value
    return f"{option} {shlex.quote(value)}" if value.isascii() else f"{option} {value}"
