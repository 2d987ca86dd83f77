"""Text that came from others and is shown to people: names, titles, labels.

A terminal obeys escape sequences, so text that holds them is refused where it is declared, and whatever still reaches a
terminal is made visible instead of obeyed. A reader trusts what looks like a line of output, so names, which in a
table may hold line ends, are shown on one line.
"""

from __future__ import annotations

import re

#: Control characters of ASCII and Latin-1 (a terminal may take U+009B for an escape), marks that turn the direction
#: of writing round, and the two line separators of Unicode.
CONTROL = "\\x00-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069\\u2028\\u2029"

_CONTROL = re.compile(f"[{CONTROL}]")
_OBEYED = re.compile(f"(?![\n\r\t])[{CONTROL}]")
_CONTROL_BUT_LINES = re.compile(f"(?![\n\t])[{CONTROL}]")


def has_control(text: str) -> bool:
    r"""Whether text holds a control character that is no line end and no tab.

    >>> has_control("income"), has_control("income\x1b[2J")
    (False, True)
    """
    return not text.isprintable() and _OBEYED.search(text) is not None  # nearly all text is known by the first test


def is_one_line(text: str) -> bool:
    r"""Whether text holds no control character at all, line ends and tabs among them.

    >>> is_one_line("income"), is_one_line("income\n")
    (True, False)
    """
    return text.isprintable() or _CONTROL.search(text) is None


def one_line(text: str) -> str:
    r"""The text with every control character written out, line ends too.

    >>> one_line("income\nAll together: ε = 0")
    'income\\nAll together: ε = 0'
    """
    return _CONTROL.sub(_written_out, text)


def shortened(text: str, most: int = 60) -> str:
    """The beginning of a long text, for a message.

    >>> shortened("a + b + c", 5)
    'a + …'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def printable(text: str) -> str:
    r"""The text with every control character but line ends and tabs written out.

    >>> printable("\x1b[31mred")
    '\\x1b[31mred'
    """
    return _CONTROL_BUT_LINES.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    if found[0] in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[found[0]]
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
