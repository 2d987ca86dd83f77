"""``parameters`` of a collected block: columns of the table that say by which design each row was asked.

R's ``RRglm`` takes the model and its parameters p1 and p2 as columns; so does a plan. The designs are known once those
columns are read, and the release gets a column that names them: from there on it is a block with ``by``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.blocks import Block, DesignsByRow, Missing
from discreet.domains import Binary, FiniteDomain
from discreet.errors import MechanismError, PlanError
from discreet.mechanisms import BinaryResponse
from discreet.mechanisms.procedures import PARAMETERS
from discreet.plain_text import one_line
from discreet.privacy.exact import probability
from discreet.publish.plan.grammar import Section, at
from discreet.publish.plan.sections import Budget

#: Digits after the point up to which a parameter is shown as a decimal; a float has 17 that count.
_DECIMALS = 30

#: Keys of the table ``parameters``: a column with models and GLMMRR's two parameters, or one design with its own.
_BY_MODEL = ("model", "p1", "p2")
KEYS = tuple(dict.fromkeys((*_BY_MODEL, "design", *(key for names in PARAMETERS.values() for key in names))))

#: The models of GLMMRR (Fox, Klotzke and Veen 2018) by name: how many of p1, p2 each reads, and its design. The
#: chance of a "yes" is c + d·prevalence with their c and d.
_MODELS: dict[str, tuple[int, Callable[..., BinaryResponse]]] = {
    "DQ": (0, BinaryResponse.direct),
    "Warner": (1, BinaryResponse.warner),
    "Forced": (2, lambda p1, p2: BinaryResponse.forced((1 - p1) * p2, (1 - p1) * (1 - p2))),
    "UQM": (2, BinaryResponse.unrelated),
    "Crosswise": (1, BinaryResponse.crosswise),
    "Triangular": (1, BinaryResponse.triangular),
    "Kuk": (2, BinaryResponse.kuk),
}
_KNOWN = {name.casefold(): pair for name, pair in _MODELS.items()}


@dataclass(frozen=True)
class RowDesigns:
    """Where the designs of the rows stand.

    Attributes
    ----------
    by : str
        The column that is added to the release and names the design of each row.
    design : str or None
        The procedure that all rows share; None where a column names it.
    sources : tuple of (str, str)
        For every parameter (and for "model") the column that holds it.
    """

    path: str
    by: str
    design: str | None
    sources: tuple[tuple[str, str], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(column for _, column in self.sources)

    def mechanism(self, cells: Sequence[str | None]) -> BinaryResponse:
        """The design of a row with these cells, one for every source."""
        given = dict(zip((key for key, _ in self.sources), cells, strict=True))
        if self.design is not None:
            values = [self._value(given, key) for key in PARAMETERS[self.design]]
            shared: BinaryResponse = getattr(BinaryResponse, self.design)(*values)
            return shared
        model = given["model"]
        if model is None:
            raise MechanismError(f'"{self._column("model")}" is blank, so the design of the row is not known')
        if model.strip().casefold() not in _KNOWN:
            raise MechanismError(f'"{one_line(model)}" is no model; known are {", ".join(_MODELS)}')
        count, make = _KNOWN[model.strip().casefold()]
        made: BinaryResponse = make(*(self._value(given, key) for key in _BY_MODEL[1 : count + 1]))
        return made

    def _column(self, key: str) -> str:
        return one_line(dict(self.sources)[key])

    def _value(self, given: Mapping[str, str | None], key: str) -> Fraction:
        if key not in given:
            raise MechanismError(f"its model needs {key}, for which {self.path} names no column")
        cell = given[key]
        if cell is None:
            raise MechanismError(f'"{self._column(key)}" is blank, and the design of the row needs it')
        return probability(cell.strip(), f'"{self._column(key)}"')

    def summary(self) -> str:
        """One line for people."""
        return (
            f"The designs are read from the columns {', '.join(f'{one_line(name)}' for name in self.columns)} when the "
            f'answers are, and named in the column "{one_line(self.by)}"; until then nothing is promised.'
        )


def design_text(mechanism: BinaryResponse) -> str:
    """What the added column holds: the procedure with its exact parameters, such as ``warner p=3/4``."""
    how = mechanism.procedure
    assert how is not None  # every design of a row is a procedure
    return " ".join([how.name, *(f"{key}={_exact(value)}" for key, value in how.parameters)])


def _exact(value: Fraction) -> str:
    """A short fraction as it is; a long decimal as a decimal, which is how it was written."""
    if value.denominator <= 1000:
        return str(value)
    scaled, places = value, 0
    while scaled.denominator != 1 and places < _DECIMALS:
        scaled, places = scaled * 10, places + 1
    return str(value) if scaled.denominator != 1 else f"0.{scaled.numerator:0{places}d}"


def read_row_designs(sections: Sequence[Section]) -> tuple[tuple[int, RowDesigns], ...]:
    """The ``parameters`` of the private blocks that have them, by position."""
    return tuple((place, _read(section)) for place, section in enumerate(sections) if "parameters" in section)


def check_row_designs(
    found: Sequence[tuple[int, RowDesigns]],
    public: Sequence[str],
    blocks: Sequence[Block],
    budget: Budget,
    *,
    asked: bool,
) -> None:
    """Names of the columns that are added must be free, and what is read for them must not be private."""
    if found and asked:
        raise PlanError("parameters is for answers that were collected already, not for questions that are still asked")
    private = {name for block in blocks for name in block.columns} | {budget.person}
    taken = set(public)
    for _, spec in found:
        for name in spec.columns:
            if name in private:
                raise PlanError(f'{spec.path} names "{one_line(name)}", which is private: a design is public')
        if spec.by in taken:
            raise PlanError(
                f'{spec.path}: the column "{one_line(spec.by)}", which is to name the designs, is there already; give '
                'another name with by = "…"'
            )
        taken.add(spec.by)


def _read(section: Section) -> RowDesigns:
    table = Section(section.get("parameters"), section.at("parameters"), KEYS)
    design = table.text("design")
    if design is not None and design not in PARAMETERS:
        raise PlanError(f'{table.at("design")} must be one of {", ".join(PARAMETERS)}, not "{one_line(design)}"')
    if design is None and "model" not in table:
        raise PlanError(
            f'{table.path} needs model = "…", the column that names the design of each row, or design = "…", the one '
            "that all rows share"
        )
    allowed = _BY_MODEL if design is None else ("design", *PARAMETERS[design])
    sources = []
    for key in table.keys():  # noqa: SIM118  # a section is no mapping
        if key not in allowed:
            raise PlanError(f"{table.at(key)} does not go with {'model' if design is None else f'design = {design}'}")
        if key != "design":
            sources.append((key, table.text(key) or ""))
    missing = [] if design is None else [key for key in PARAMETERS[design] if key not in table]
    if missing:
        raise PlanError(f"{table.at(missing[0])} is missing: the column that holds it")
    if not sources:
        raise PlanError(f"{table.path}: design = {design} has no parameters; write {design} = true")
    by = section.text("by") or f"{section.columns()[0]}.design"
    return RowDesigns(table.path, by, design, tuple(sources))


def waiting_block(
    section: Section, columns: tuple[str, ...], domain: FiniteDomain, reports: FiniteDomain, missing: Missing
) -> DesignsByRow:
    """The block before its designs are read. It promises nothing, which no row can fall short of."""
    spec = _read(section)
    if not isinstance(domain, Binary):
        raise PlanError(f"{spec.path} is for designs of a yes/no domain without blanks")
    with at(section.path):
        return DesignsByRow(
            columns=columns,
            domain=domain,
            reports=reports,
            by=spec.by,
            designs={"direct": BinaryResponse.direct()},
            missing=missing,
            collected=True,
        )
