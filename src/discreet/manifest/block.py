"""A block: columns that were randomised alike, with everything needed to learn from their reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

from discreet import domains, mechanisms
from discreet.domains import Box, Categorical, Domain, WithBlank
from discreet.domains.listed import ListedDomain
from discreet.errors import ManifestError, MechanismError
from discreet.manifest.checks import damaged, mapping, names, optional_text, text
from discreet.manifest.promises import block_guarantee
from discreet.mechanisms import FiniteMechanism, JointResponse, Mechanism, ZeroInflatedLaplace
from discreet.plain_text import one_line
from discreet.privacy import Guarantee

Missing = Literal["reject", "category", "public"]


def design_name(label: Any) -> str:
    """A value of the ``by`` column as a manifest names its design: as text, booleans as in TOML."""
    return str(label).lower() if isinstance(label, bool) else str(label)


@dataclass(frozen=True, kw_only=True)
class Block:
    """One or more columns with the same domain, each randomised on its own by the same design.

    Parameters
    ----------
    columns : tuple of str
        Their names.
    domain : Domain
        What a true value can be; ``WithBlank`` when a missing value is one more value.
    reports : Domain
        What a released cell can be: the same as ``domain`` unless the channel has reports of its own.
    mechanism : Mechanism or None
        The design, when all rows share one.
    by : str or None
        The public column that says which design a row was asked under.
    designs : mapping of str to Mechanism
        The design for each value of ``by``, written as text.
    missing : {"reject", "category", "public"}
        What became of missing values.
    collected : bool
        Whether respondents randomised their answers themselves.
    guarantee : Guarantee
        What is promised about one row, all columns of the block together.
    """

    columns: tuple[str, ...]
    domain: Domain
    reports: Domain
    mechanism: Mechanism | None
    by: str | None = None
    designs: Mapping[str, Mechanism] = field(default_factory=dict, hash=False)
    missing: Missing = "reject"
    collected: bool = False
    guarantee: Guarantee
    #: The domain of every column, for columns that were randomised together; empty when they share ``domain``.
    domains: tuple[Domain, ...] = ()
    #: Whether numbers outside a box were moved to its bounds.
    clip: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "designs", MappingProxyType(dict(self.designs)))
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise MechanismError("a block needs at least one column, and each column once")
        if self.missing not in get_args(Missing):
            raise MechanismError(f"missing must be one of {', '.join(get_args(Missing))}, not {self.missing!r}")
        if (self.missing == "category") != isinstance(self.domain, WithBlank):
            raise MechanismError('a domain holds the blank exactly when missing is "category"')
        if (self.mechanism is None) != bool(self.designs) or (self.by is None) != (self.mechanism is not None):
            raise MechanismError('a block has either one mechanism, or "by" and at least one design')
        self._check_together()
        for mechanism in [self.mechanism] if self.mechanism is not None else self.designs.values():
            self._check_shape(mechanism)

    def _check_together(self) -> None:
        object.__setattr__(self, "domains", tuple(self.domains))
        if isinstance(self.mechanism, JointResponse) != bool(self.domains):
            raise MechanismError("a domain for every column is needed exactly when columns are randomised together")
        if self.domains and isinstance(self.mechanism, JointResponse):
            if tuple(domain.size for domain in self.domains) != self.mechanism.sizes:
                raise MechanismError("the joint design does not fit the sizes of the domains")
            if len(self.domains) != len(self.columns):
                raise MechanismError(f"there are {len(self.columns)} columns but {len(self.domains)} domains")

    def reports_of(self, name: str) -> Domain:
        """What a released cell of one column can be; unlike ``of_column`` it works nothing out."""
        position = self.columns.index(name)
        if self.domains:
            return self.domains[position]
        return self.reports.column(position) if isinstance(self.reports, Box) else self.reports

    def of_column(self, name: str) -> Block:
        """The block as one of its columns sees it: the same, unless columns were randomised together."""
        if not isinstance(self.mechanism, (JointResponse, ZeroInflatedLaplace)):
            return self
        position = self.columns.index(name)
        if isinstance(self.mechanism, ZeroInflatedLaplace):
            one = self.mechanism.coordinates([position])
            return replace(self, columns=(name,), domain=one.box, reports=one.box, mechanism=one)
        view = self.mechanism.view(position)
        domain = self.domains[position]
        return Block(
            columns=(name,),
            domain=domain,
            reports=domain,
            mechanism=view,
            missing=self.missing,
            guarantee=view.guarantee,
        )

    def _check_shape(self, mechanism: Mechanism) -> None:
        if isinstance(mechanism, ZeroInflatedLaplace) != isinstance(self.domain, Box):
            raise MechanismError("zero-inflated Laplace noise is for a box, and a box for nothing else")
        if isinstance(mechanism, ZeroInflatedLaplace):
            if self.domain != mechanism.box or self.reports != mechanism.box:
                raise MechanismError("the box of the block is not the one of its mechanism")
            if len(self.columns) != mechanism.dimension:
                raise MechanismError(f"a box of {mechanism.dimension} coordinates needs as many columns")
            if self.collected or self.missing == "category":
                raise MechanismError("numbers in a box are randomised here, and a blank is not one of them")
        if not isinstance(mechanism, FiniteMechanism):
            return
        truths, reports = mechanism.shape
        if truths != self.domain.size:
            raise MechanismError(f"the design is for {truths} true values, but the domain has {self.domain.size}")
        if reports != self.reports.size:
            raise MechanismError(f"the design gives {reports} reports, but {self.reports.size} are named")

    @classmethod
    def of(
        cls,
        columns: tuple[str, ...],
        domain: Domain,
        mechanism: Mechanism | None,
        *,
        reports: Domain | None = None,
        by: str | None = None,
        designs: Mapping[str, Mechanism] | None = None,
        missing: Missing = "reject",
        collected: bool = False,
        domains: tuple[Domain, ...] = (),
        clip: bool = False,
    ) -> Self:
        """A block with its guarantee worked out; reports are labelled after the truths unless said otherwise."""
        if reports is None:
            first = mechanism if mechanism is not None else next(iter((designs or {}).values()), None)
            reports = report_domain(domain, first)
        return cls(
            columns=columns,
            domain=domain,
            reports=reports,
            mechanism=mechanism,
            by=by,
            designs=designs or {},
            missing=missing,
            collected=collected,
            guarantee=block_guarantee(columns, mechanism, by=by, designs=designs, missing=missing, collected=collected),
            domains=domains,
            clip=clip,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled; the plain data can, and says the same.
        return type(self).from_dict, (self.to_dict(),)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; ``reports`` is null when they are labelled exactly like the truths."""
        together = {"domains": [domain.to_dict() for domain in self.domains]} if self.domains else {}
        moved = {"clip": True} if self.clip else {}
        return {
            **together,
            **moved,
            "columns": list(self.columns),
            "domain": self.domain.to_dict(),
            "reports": None if self.reports == self.domain else self.reports.to_dict(),
            "mechanism": None if self.mechanism is None else self.mechanism.to_dict(),
            "by": self.by,
            "designs": {value: design.to_dict() for value, design in self.designs.items()},
            "missing": self.missing,
            "collected": self.collected,
            "guarantee": self.guarantee.to_dict(),
            **self._truths_inside(),
        }

    def _truths_inside(self) -> dict[str, float]:
        """How likely a report in the box is the truth, for whoever reads the manifest; a fact about the mechanism."""
        if not isinstance(self.mechanism, ZeroInflatedLaplace) or self.mechanism.zero_probability == 0:
            return {}
        return {"truths_inside": round(self.mechanism.truths_inside, 4)}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild from plain data; anything that does not fit together is a damaged manifest."""
        data = mapping(data, "a block")
        with damaged("a block"):
            domain = _domain(data.get("domain"))
            reports, mechanism = data.get("reports"), data.get("mechanism")
            if not isinstance(data.get("collected"), bool):
                raise ManifestError('"collected" must be true or false')
            return cls(
                columns=names(data.get("columns"), "the columns of a block"),
                domain=domain,
                reports=domain if reports is None else _domain(reports),
                mechanism=None if mechanism is None else mechanisms.from_dict(mapping(mechanism, "a mechanism")),
                by=optional_text(data.get("by"), "by"),
                designs={
                    text(value, "the name of a design"): mechanisms.from_dict(mapping(design, "a design"))
                    for value, design in mapping(data.get("designs", {}), "the designs").items()
                },
                missing=data.get("missing", "reject"),
                collected=data["collected"],
                guarantee=Guarantee.from_dict(mapping(data.get("guarantee"), "a guarantee")),
                domains=tuple(_domain(one) for one in data.get("domains", ())),
                clip=data.get("clip", False) is True,
            )

    def summary(self) -> str:
        """One line for people."""
        named = one_line(", ".join(self.columns))
        how = f'design by "{one_line(str(self.by))}"' if self.mechanism is None else _design_name(self.mechanism)
        remarks = []
        if self.collected:
            remarks.append("randomised by the respondents")
        if self.missing == "category":
            more = "" if self.domains else f", so there are {self.domain.size}"
            remarks.append(f"a missing answer is one more value{more}")
        if self.missing == "public":
            remarks.append("blanks are published as they are")
        tail = f" ({'; '.join(remarks)})" if remarks else ""
        if self.domains:
            values = ", ".join(str(domain.size) for domain in self.domains)
            return f"{named}: {values} values, randomised together, {self.guarantee.summary()}{tail}"
        if isinstance(self.mechanism, ZeroInflatedLaplace):
            moved = " (numbers outside were moved to the bounds)" if self.clip else ""
            return (
                f"{named}: numbers within bounds, zero-inflated Laplace noise, {self.guarantee.summary()}{tail}{moved}"
            )
        return f"{named}: {self.domain.size} values, {how}, {self.guarantee.summary()}{tail}"

    __str__ = summary


def _domain(data: Any) -> Domain:
    domain = domains.from_dict(mapping(data, "a domain"))
    inner = domain.inner if isinstance(domain, WithBlank) else domain
    if isinstance(inner, ListedDomain):
        inner.check_printable()
    return domain


def _design_name(mechanism: Mechanism) -> str:
    procedure = getattr(mechanism, "procedure", None)
    return str(procedure.name) if procedure is not None else f"{mechanism.kind} response"


def report_domain(domain: Domain, mechanism: Mechanism | None) -> Domain:
    """The labels of the reports: those of the truths when there are as many, else made from the channel.

    A report that only one truth can give is called "yes (certain)"; any other is named after the truth under
    which it is most likely, the smaller code in a tie, and numbered when that name is taken. A mechanism whose reports
    are no answers has ``report_labels`` of its own.
    """
    own = getattr(mechanism, "report_labels", None)
    if own is not None:
        return Categorical(own)
    if not isinstance(mechanism, FiniteMechanism) or mechanism.shape[1] == domain.size:
        return domain
    labels: list[str] = []
    for column in zip(*mechanism.weights(), strict=True):
        name = _label_text(domain.label(column.index(max(column))))
        if sum(weight > 0 for weight in column) == 1:
            name += " (certain)"
        labels.append(_unused(name, labels))
    return Categorical(labels)


def _unused(name: str, taken: list[str]) -> str:
    if name not in taken:
        return name
    return next(f"{name} ({n})" for n in range(2, len(taken) + 3) if f"{name} ({n})" not in taken)


def _label_text(label: Any) -> str:
    if label is None:
        return "blank"
    return str(label).lower() if isinstance(label, bool) else str(label)
