"""Expressions inside a formula, such as ``log(income + 1)``: read into a small tree, never run as code.

The text is parsed by Python's own parser, which executes nothing, and every node is then translated into one of the
five below or refused by name. Evaluation walks these nodes with numpy; there is no ``eval``, no attribute, no
subscript and no name that is not a column or one of the functions listed here.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from discreet import limits
from discreet.errors import EstimationError
from discreet.plain_text import shortened

#: Functions of numbers, one number in and one out.
NUMERIC = ("log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "abs")
#: Transforms whose numbers depend on all rows. The first two give one column and may stand inside an expression.
STATEFUL = ("center", "scale", "poly", "bs", "cs")
CONTRASTS = ("Treatment", "Sum", "Poly", "Helmert", "Diff")
#: R's and formulaic's names of the same contrasts.
CONTRAST_NAMES = {f"contr.{name.lower()}": name for name in CONTRASTS} | {name: name for name in CONTRASTS}
FUNCTIONS = ("C", "I", *NUMERIC, *STATEFUL)
#: numpy's names of the same functions, as formulas for other libraries write them. They are words, not attributes.
_NUMPY_NAMES = {f"np.{name}": name for name in NUMERIC}

#: Arguments after the first, in order.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "I": (),
    "center": (),
    "scale": (),
    "C": ("contrasts", "levels"),
    "poly": ("degree", "raw"),
    "bs": ("df", "knots", "degree"),
    "cs": ("df", "knots"),
} | dict.fromkeys(NUMERIC, ())

_ARITHMETIC: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.Mod: "%",
    ast.FloorDiv: "//",
}
_COMPARISON: dict[type[ast.AST], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_OTHER_OPERATORS: dict[type[ast.AST], str] = {
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
#: What a piece of Python that has no place in a formula is called.
_REFUSED: dict[type[ast.AST], str] = {
    ast.Attribute: "an attribute",
    ast.Subscript: "a subscript",
    ast.Lambda: "a lambda",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: "an assignment",
    ast.IfExp: "a condition",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Starred: "a starred argument",
    ast.Dict: "a dictionary",
    ast.Set: "a set",
    ast.BoolOp: "and/or",
    ast.List: "a list",
    ast.Tuple: "a tuple",
}

#: A name: R's dots belong to it, as in ``cov.female``. Anything between backticks is the name of a column.
NAME = r"[^\W\d][\w.]*"
_WORDS = re.compile(rf"`(?P<quoted>[^`]*)`|(?P<text>'[^'\\]*'|\"[^\"\\]*\")|(?P<number>\d[\w.]*)|(?P<name>{NAME})")
_PLAIN = re.compile(rf"{NAME}\Z")


@dataclass(frozen=True)
class Column:
    """A column of the table."""

    name: str


@dataclass(frozen=True)
class Constant:
    """A number, a text or a list of them."""

    value: float | str | bool | tuple[float | str, ...] | None


@dataclass(frozen=True)
class Operation:
    """Arithmetic, a comparison, or a sign (then with one operand)."""

    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Call:
    """One of the allowed functions; ``text`` is how the call is written, in one form whatever its spacing."""

    function: str
    argument: Node
    options: tuple[tuple[str, Any], ...]
    text: str

    def option(self, name: str, default: Any = None) -> Any:
        """The value of an option."""
        return dict(self.options).get(name, default)


Node = Column | Constant | Operation | Call


def columns_of(node: Node) -> Iterator[str]:
    """Every column that an expression names."""
    if isinstance(node, Column):
        yield node.name
    elif isinstance(node, Operation):
        for operand in node.operands:
            yield from columns_of(operand)
    elif isinstance(node, Call):
        yield from columns_of(node.argument)


def calls_of(node: Node) -> Iterator[Call]:
    """Every call inside an expression, inner ones first."""
    if isinstance(node, Operation):
        for operand in node.operands:
            yield from calls_of(operand)
    elif isinstance(node, Call):
        yield from calls_of(node.argument)
        yield node


def quoted(name: str) -> str:
    """The name of a column as a formula writes it."""
    return name if _PLAIN.match(name) and not keyword.iskeyword(name) else f"`{name}`"


def read_call(source: str) -> Call:
    """The tree of one call, ``function(argument, …)``."""
    names: dict[str, str] = {}
    try:
        tree = ast.parse(_with_placeholders(source, names), mode="eval").body
        node = _Reader(names).node(tree, 0)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        if isinstance(error, EstimationError):
            raise
        raise EstimationError(f'the formula cannot be read at "{shortened(source)}"') from None
    if not isinstance(node, Call):
        raise EstimationError(f'the formula cannot be read at "{shortened(source)}"')
    if not any(True for _ in columns_of(node)):
        raise EstimationError(f'"{shortened(source)}" in the formula names no column')
    return node


def _with_placeholders(source: str, names: dict[str, str]) -> str:
    """The text with every name replaced by one that cannot mean anything to Python."""

    def replace(found: re.Match[str]) -> str:
        if found["text"] is not None or found["number"] is not None:
            return found[0]
        name = found["name"] if found["quoted"] is None else found["quoted"]
        if found["quoted"] is None and keyword.iskeyword(name):
            return name
        placeholder = f"name{len(names)}_"
        # A quoted name is a column whatever it is called; a bare one may also be a function or an option.
        names[placeholder] = name if found["quoted"] is None else f"`{name}`"
        return f" {placeholder} "  # two names that touch are not one

    return _WORDS.sub(replace, source).strip()


class _Reader:
    """Translates Python's tree; whatever is not expected is refused by name."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def node(self, tree: ast.expr, depth: int) -> Node:
        if depth > limits.FORMULA_NESTING:
            raise EstimationError(f"the formula is nested deeper than {limits.FORMULA_NESTING} levels")
        if isinstance(tree, ast.Name):
            return Column(self._column(tree))
        if isinstance(tree, ast.Constant):
            return Constant(_constant(tree.value))
        if isinstance(tree, ast.BinOp):
            return self._binary(tree, depth)
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, (ast.USub, ast.UAdd)):
            sign = "-" if isinstance(tree.op, ast.USub) else "+"
            return Operation(sign, (self.node(tree.operand, depth + 1),))
        if isinstance(tree, ast.Compare):
            return self._comparison(tree, depth)
        if isinstance(tree, ast.Call):
            return self._call(tree, depth)
        raise _no_place(tree)

    def _column(self, tree: ast.Name) -> str:
        name = self._names[tree.id]
        return name[1:-1] if name.startswith("`") else name

    def _binary(self, tree: ast.BinOp, depth: int) -> Node:
        if isinstance(tree.op, ast.BitXor):
            raise EstimationError('"^" inside a function of a formula is not a power; write ** instead')
        operator = _ARITHMETIC.get(type(tree.op))
        if operator is None:
            raise EstimationError(f'the operator "{_symbol(tree.op)}" has no place in a formula')
        return Operation(operator, (self.node(tree.left, depth + 1), self.node(tree.right, depth + 1)))

    def _comparison(self, tree: ast.Compare, depth: int) -> Node:
        operator = _COMPARISON.get(type(tree.ops[0]))
        if operator is None or len(tree.ops) > 1:
            raise EstimationError(f"in a formula two values are compared by one of {', '.join(_COMPARISON.values())}")
        return Operation(operator, (self.node(tree.left, depth + 1), self.node(tree.comparators[0], depth + 1)))

    def _call(self, tree: ast.Call, depth: int) -> Call:
        written = self._names.get(tree.func.id, "") if isinstance(tree.func, ast.Name) else ""
        name = _NUMPY_NAMES.get(written, written)
        if name not in FUNCTIONS:
            raise _unknown_function(name or _no_name(tree.func))
        if not tree.args:
            raise EstimationError(f"{name}() in the formula needs an argument")
        argument = self.node(tree.args[0], depth + 1)
        options = self._options(name, tree)
        call = Call(name, argument, tuple(options), self._text(tree))
        _check_place(call, depth)
        return call

    def _options(self, name: str, tree: ast.Call) -> list[tuple[str, Any]]:
        known = ARGUMENTS[name]
        given = list(zip(known, tree.args[1:], strict=False))
        if len(tree.args) - 1 > len(known):
            raise EstimationError(f"{name}() in the formula takes {_listed(known)}, not {len(tree.args)} arguments")
        given += [(self._names.get(one.arg or "", one.arg or "**"), one.value) for one in tree.keywords]
        options: dict[str, Any] = {}
        for key, value in given:
            if key not in known or key in options:
                raise EstimationError(f'{name}() in the formula has no option "{key}"; it takes {_listed(known)}')
            options[key] = self._value(name, key, value)
        return list(options.items())

    def _value(self, function: str, key: str, tree: ast.expr) -> Any:
        """The value of an option: a constant, a list of constants, or a contrast."""
        if key == "contrasts":
            return self._contrast(tree)
        if isinstance(tree, (ast.List, ast.Tuple)):
            return tuple(self._value(function, key, one) for one in tree.elts)
        sign = -1 if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub) else 1
        inner = tree.operand if isinstance(tree, ast.UnaryOp) and sign < 0 else tree
        if not isinstance(inner, ast.Constant):
            raise EstimationError(f"{function}({key}=…) in the formula must be written out, not computed")
        value = _constant(inner.value)
        return -value if sign < 0 and isinstance(value, float) else value

    def _contrast(self, tree: ast.expr) -> tuple[str, Any]:
        """``Treatment("base")``, ``Sum``, ``contr.poly()`` and their kin; a base is the only option."""
        call = tree if isinstance(tree, ast.Call) else None
        function = tree.func if isinstance(tree, ast.Call) else tree
        name = self._names.get(function.id, "") if isinstance(function, ast.Name) else _no_name(function)
        if name not in CONTRAST_NAMES:
            raise EstimationError(f'"{shortened(name)}" is not a contrast; there are {", ".join(CONTRASTS)}')
        arguments = [] if call is None else [*call.args, *(one.value for one in call.keywords)]
        bases = [] if call is None else [self._names.get(one.arg or "", "") for one in call.keywords]
        if len(arguments) > 1 or any(base not in ("base", "reference") for base in bases):
            raise EstimationError(f"{name} takes one option, its base")
        if arguments and CONTRAST_NAMES[name] != "Treatment":
            raise EstimationError(f"{name} takes no base; Treatment does")
        return CONTRAST_NAMES[name], self._value(name, "base", arguments[0]) if arguments else None

    def _text(self, tree: ast.expr) -> str:
        """The expression in one spelling, with the names of the columns put back."""
        text = ast.unparse(tree)
        return re.sub(r"name\d+_", lambda found: self._names.get(found[0], found[0]), text)


def _check_place(call: Call, depth: int) -> None:
    """Categories and transforms of several columns are terms of their own; C() takes a column as it is."""
    if call.function in ("C", "poly", "bs", "cs") and depth > 0:
        raise EstimationError(f"{call.function}() must be a term of its own in the formula, not inside an expression")
    if call.function == "C" and not isinstance(call.argument, Column):
        raise EstimationError("C() in the formula takes the name of one column")
    if call.function in ("poly", "bs", "cs"):
        _check_size(call)


def _check_size(call: Call) -> None:
    for key, default, most in (
        ("degree", {"poly": 1.0, "bs": 3.0}.get(call.function), limits.POLYNOMIAL_DEGREE),
        ("df", None, limits.SPLINE_DF),
    ):
        value = call.option(key, default)
        whole = isinstance(value, float) and value == int(value) and value >= 1
        if value is not None and not (whole and value <= most):
            raise EstimationError(f"{call.function}({key}=…) must be a whole number from 1 to {most}")
    knots = call.option("knots")
    if knots is not None and (
        not isinstance(knots, tuple)
        or len(knots) > limits.SPLINE_DF
        or not all(isinstance(knot, float) for knot in knots)
    ):
        raise EstimationError(f"{call.function}(knots=…) must be a list of at most {limits.SPLINE_DF} numbers")
    if call.function in ("bs", "cs") and (call.option("df") is None) == (knots is None):
        raise EstimationError(f"{call.function}() needs either df or knots")


def _constant(value: Any) -> float | str | bool | None:
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, (int, float)):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        raise EstimationError("a number in the formula is too large")
    raise EstimationError(f"a formula holds numbers and text, not {type(value).__name__}")


def _unknown_function(name: str) -> EstimationError:
    if name == "Q":
        return EstimationError("Q() is not needed in a formula; put the name of the column between backticks")
    if name == "offset":
        return EstimationError("offset() is not available in a formula")
    return EstimationError(
        f'the formula calls "{shortened(name)}", which is not one of the functions a formula may use: '
        f"{', '.join(FUNCTIONS)}"
    )


def _no_name(tree: ast.AST) -> str:
    return _REFUSED.get(type(tree), type(tree).__name__.lower())


def _no_place(tree: ast.AST) -> EstimationError:
    return EstimationError(f"{_no_name(tree)} has no place in a formula")


def _symbol(operator: ast.AST) -> str:
    return _OTHER_OPERATORS.get(type(operator), type(operator).__name__)


def _listed(names: tuple[str, ...]) -> str:
    return f"a column and {', '.join(names)}" if names else "one argument"
