"""A formula, ``outcome ~ terms``, in the notation of Wilkinson and Rogers (1973) as R writes it.

========  ============================================================
``a + b``  both terms; ``- a`` leaves one out, ``0`` or ``- 1`` the intercept
``a:b``    the interaction
``a * b``  ``a + b + a:b``
``a / b``  ``a + a:b``
``(…)^k``  all interactions of up to k terms; also ``(…)**k``
========  ============================================================

A term is a set of factors; a factor is a column or one of the calls of :mod:`.expression`. Products are multiplied out
here, under a bound, before any library sees them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from discreet import limits
from discreet.errors import EstimationError
from discreet.estimate.formulas.expression import NAME, Call, Column, columns_of, quoted, read_call
from discreet.plain_text import shortened

Factor = Column | Call
#: Factors in the order in which they were written.
Term = tuple[Factor, ...]

_TOKEN = re.compile(
    rf"\s*(?:`(?P<quoted>[^`]+)`|(?P<name>{NAME})|(?P<number>\d[\w.]*)|(?P<operator>\*\*|%in%|[-+*/:^()~|.{{}}\[\]]))"
)


@dataclass(frozen=True)
class Terms:
    """One side of a formula, multiplied out; the empty term is the intercept."""

    terms: tuple[Term, ...]

    @property
    def intercept(self) -> bool:
        """Whether there is one."""
        return () in self.terms

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is named, sorted."""
        return tuple(sorted({name for term in self.terms for factor in term for name in columns_of(factor)}))

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Every factor, once."""
        return tuple(dict.fromkeys(factor for term in self.terms for factor in term))

    def own(self, column: str) -> Factor:
        """The factor of the term that is this column alone; ``C(column)`` is the column itself."""
        own = next((term for term in self.terms if len(term) == 1 and _is_plain(term[0], column)), None)
        if own is None:
            raise EstimationError(
                f'the randomised column "{column}" must be a term of its own in the formula; inside a function or an '
                "interaction its correction is not known"
            )
        return own[0]

    def without(self, column: str) -> Terms:
        """The terms without one column, which must be a term of its own."""
        own = (self.own(column),)
        kept = Terms(tuple(term for term in self.terms if term != own))
        if column in kept.columns:
            raise EstimationError(f'the randomised column "{column}" may stand in one term of the formula only')
        return kept

    def __str__(self) -> str:
        written = [":".join(factor_text(factor) for factor in term) for term in self.terms if term]
        return " + ".join([str(int(self.intercept)), *written])


def _is_plain(factor: Factor, column: str) -> bool:
    """Whether a factor is a column, or the column as a category without further options."""
    if isinstance(factor, Call) and factor.function == "C" and not factor.options:
        return factor.argument == Column(column)
    return factor == Column(column)


def factor_text(factor: Factor) -> str:
    """A factor as a formula writes it."""
    return quoted(factor.name) if isinstance(factor, Column) else factor.text


@dataclass(frozen=True)
class Sides:
    """The two sides of a formula: the outcome's column, and the terms of the predictors."""

    outcome: str
    predictors: str
    variables: tuple[str, ...]

    def without(self, column: str) -> str:
        """The predictors without one column, which must be a term of its own."""
        return str(read_terms(self.predictors).without(column))


def read_formula(formula: str) -> Sides:
    """Split "outcome ~ predictors" and name every column that it uses."""
    if not isinstance(formula, str):
        raise EstimationError('a formula has the form "outcome ~ predictor + predictor"')
    _check_text(formula)
    sides = _split(formula)
    if len(sides) != 2:
        raise EstimationError('a formula has the form "outcome ~ predictor + predictor"')
    left, right = sides
    outcome = re.fullmatch(rf"\s*(?:`([^`]+)`|({NAME}))\s*", left)
    if outcome is None:
        raise EstimationError(f'the left side of a formula is the name of one column, not "{shortened(left.strip())}"')
    terms = read_terms(right)
    return Sides(outcome[1] or outcome[2], right.strip(), terms.columns)


def read_terms(text: str) -> Terms:
    """The right side of a formula."""
    _check_text(text)
    parser = _Parser(text)
    found = parser.sum(intercept=True)
    parser.expect_end()
    # Lower orders first, as R and formulaic list them.
    return Terms(tuple(sorted(found, key=len)))


def _check_text(text: str) -> None:
    if len(text) > limits.FORMULA_CHARACTERS:
        raise EstimationError(f"the formula is longer than {limits.FORMULA_CHARACTERS:,} characters")
    if "\\" in text or any(ord(character) < 32 and character not in "\t\n\r" for character in text):
        raise EstimationError("a formula holds no backslash and no control character")


def _split(formula: str) -> list[str]:
    """The parts between tildes that are not part of a quoted name."""
    parts = [""]
    for piece in re.split(r"(`[^`]*`|~)", formula):
        if piece == "~":
            parts.append("")
        else:
            parts[-1] += piece
    return parts


class _Parser:
    """Recursive descent over the operators, loosest first: ``+ -``, ``* /``, ``: %in%``, ``^ **``."""

    def __init__(self, text: str) -> None:
        self.text, self.position, self.depth = text, 0, 0
        self.token: str | None = None
        self.kind = ""
        self._next()

    def _next(self) -> None:
        found = _TOKEN.match(self.text, self.position)
        if found is None:
            rest = self.text[self.position :].strip()
            if rest:
                raise _refused(rest)
            self.token, self.kind = None, "end"
            return
        self.start, self.position = found.start(), found.end()
        self.kind = str(found.lastgroup)
        self.token = found[self.kind]

    def _is(self, *operators: str) -> bool:
        return self.kind == "operator" and self.token in operators

    def expect_end(self) -> None:
        if self.kind != "end":
            raise _refused(self.text[self.start :].strip())

    def sum(self, *, intercept: bool = False) -> list[Term]:
        terms: list[Term] = [()] if intercept else []
        minus = False
        if self._is("+", "-"):
            minus = self.token == "-"
            self._next()
        while True:
            if self.kind == "number" and self.token == "0" and intercept:
                self._next()
                terms = _union(terms, [()]) if minus else [term for term in terms if term]
            else:
                found = self._product()
                terms = [term for term in terms if term not in found] if minus else _union(terms, found)
            if not self._is("+", "-"):
                return terms
            minus = self.token == "-"
            self._next()

    def _product(self) -> list[Term]:
        left = self._interaction()
        while self._is("*", "/"):
            nested = self.token == "/"
            self._next()
            right = self._interaction()
            if nested:
                left = _union(left, _crossed([_joined(left)], right))
            else:
                left = _union(_union(left, right), _crossed(left, right))
        return left

    def _interaction(self) -> list[Term]:
        left = self._power()
        while self._is(":", "%in%"):
            self._next()
            left = _crossed(left, self._power())
        return left

    def _power(self) -> list[Term]:
        base = self._operand()
        while self._is("^", "**"):
            self._next()
            if self.kind != "number" or not re.fullmatch("[1-9]", str(self.token)):
                raise EstimationError("a power in a formula is a whole number from 2 to 9, written out")
            power = int(str(self.token))
            self._next()
            if len(base) < 2 or power < 2:
                raise EstimationError(
                    "a power of one term is the term itself; write I(column ** 2) for the square of a column"
                )
            result = base
            for _ in range(power - 1):
                grown = _union(result, _crossed(result, base))
                if len(grown) == len(result):
                    break
                result = grown
            base = result
        return base

    def _operand(self) -> list[Term]:
        if self.kind == "number":
            if self.token != "1":
                raise EstimationError(f'"{self.token}" has no place in a formula; the only numbers are 0 and 1')
            self._next()
            return [()]
        if self._is("("):
            return self._group()
        if self.kind not in ("name", "quoted"):
            raise _refused(self.text[self.start :].strip() if self.kind != "end" else "")
        name = str(self.token)
        if self.kind == "name" and re.match(r"\s*\(", self.text[self.position :]):
            return [(self._call(),)]
        self._next()
        return [(Column(name),)]

    def _group(self) -> list[Term]:
        self.depth += 1
        if self.depth > limits.FORMULA_NESTING:
            raise EstimationError(f"the formula is nested deeper than {limits.FORMULA_NESTING} levels")
        self._next()
        inside = self.sum()
        if self._is("|"):
            raise EstimationError(
                "random effects other than one intercept per group, (1 | group), are not available; name the group as "
                "cluster in the plan, and the standard errors allow for it"
            )
        if not self._is(")"):
            raise EstimationError("a parenthesis of the formula is not closed")
        self.depth -= 1
        self._next()
        return inside

    def _call(self) -> Call:
        """Everything up to the parenthesis that closes the call."""
        begin = self.text.index(str(self.token), self.start)
        depth = 0
        for found in re.finditer(r"`[^`]*`|'[^']*'|\"[^\"]*\"|[()]", self.text[begin:]):
            depth += {"(": 1, ")": -1}.get(found[0], 0)
            if depth > limits.FORMULA_NESTING:
                raise EstimationError(f"the formula is nested deeper than {limits.FORMULA_NESTING} levels")
            if depth == 0 and found[0] == ")":
                self.position = begin + found.end()
                call = read_call(self.text[begin : self.position])
                self._next()
                return call
        raise EstimationError("a parenthesis of the formula is not closed")


def _union(first: list[Term], second: list[Term]) -> list[Term]:
    """Terms of both, each once: a term is a set, however it is ordered."""
    known = {frozenset(term): term for term in first}
    for term in second:
        known.setdefault(frozenset(term), term)
    return _bounded(list(known.values()))


def _crossed(first: list[Term], second: list[Term]) -> list[Term]:
    """Every term of one with every term of the other."""
    if len(first) * len(second) > limits.FORMULA_TERMS * 4:
        raise _too_many()
    made: dict[frozenset[Factor], Term] = {}
    for one in first:
        for other in second:
            term = tuple(dict.fromkeys((*one, *other)))
            made.setdefault(frozenset(term), term)
    return _bounded(list(made.values()))


def _joined(terms: list[Term]) -> Term:
    return tuple(dict.fromkeys(factor for term in terms for factor in term))


def _bounded(terms: list[Term]) -> list[Term]:
    if len(terms) > limits.FORMULA_TERMS:
        raise _too_many()
    return terms


def _too_many() -> EstimationError:
    return EstimationError(f"the formula has more than {limits.FORMULA_TERMS} terms when it is multiplied out")


def _refused(rest: str) -> EstimationError:
    """Say what is wrong with the text that cannot be read."""
    first = rest[:1]
    reasons = {
        "": "the formula cannot be read: it ends too early",
        ".": '"." for all other columns is not available; name the predictors',
        "|": '"|" stands only in (1 | group); other random effects are not available',
        "{": "{…} has no place in a formula; write I(…) for arithmetic",
        "[": "a subscript has no place in a formula",
        "~": 'a formula has one "~"',
    }
    comparison = re.match(r"[<>=!]=?", rest)
    if comparison is not None:
        return EstimationError(f'"{comparison[0]}" compares inside a function only; write I(column {comparison[0]} …)')
    return EstimationError(reasons.get(first, f'the formula cannot be read at "{shortened(rest)}"'))
