"""The term ``(1 | group)`` of a formula: an intercept of its own for every group."""

from __future__ import annotations

import re

from discreet.errors import EstimationError

_TERM = re.compile(r"(?P<sign>[+~-]?)\s*\(\s*1\s*\|\s*(?:`(?P<quoted>[^`]+)`|(?P<plain>[\w.]+))\s*\)")


def without_group(formula: str) -> tuple[str, str | None]:
    """The formula without its random intercept, and the column that names the groups.

    >>> without_group("cheated ~ age + (1 | school)")
    ('cheated ~ age', 'school')
    >>> without_group("cheated ~ (1 | school)")
    ('cheated ~ 1', 'school')
    >>> without_group("cheated ~ age")
    ('cheated ~ age', None)
    """
    found = list(_TERM.finditer(formula))
    if not found:
        return formula, None
    if len(found) > 1:
        raise EstimationError("a formula may have one random intercept, (1 | group)")
    (term,) = found
    if term["sign"] not in ("+", "~"):
        raise EstimationError("a random intercept, (1 | group), is added to the other terms with +")
    before, after = formula[: term.start()], formula[term.end() :]
    rest = f"{before}~ 1{after}" if term["sign"] == "~" else f"{before.rstrip()}{after}"
    return rest, term["quoted"] or term["plain"]
