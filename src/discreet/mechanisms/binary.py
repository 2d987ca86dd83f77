"""Randomised response for a yes/no answer, with the classic survey procedures as constructors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms.base import stated_epsilon, stored_epsilon, stored_int, stored_rows
from discreet.mechanisms.finite import FiniteMechanism
from discreet.mechanisms.procedures import Procedure, procedure
from discreet.privacy.exact import Rows, probability
from discreet.randomness import Coins, Randomness


@dataclass(frozen=True, init=False, repr=False)
class BinaryResponse(FiniteMechanism):
    """A yes/no answer reported truthfully with probability p00 ("no") or p11 ("yes").

    The channel is ``[[p00, 1 − p00], [1 − p11, p11]]`` (Holohan, Leith and Mason 2017, Definition 1).

    Parameters
    ----------
    p00, p11 : float, Fraction or str
        Exact probabilities: "5/6" is five sixths, a float is its exact binary value.
    epsilon : float, optional
        State the guarantee as (ε, δ(ε)) at this ε. Default: the pure guarantee, which may be infinite.

    Examples
    --------
    >>> BinaryResponse("3/4", "3/4").guarantee.epsilon          # ln 3
    1.0986122886681098
    >>> BinaryResponse.forced("1/6", "1/6").matrix().round(3)
    array([[0.833, 0.167],
           [0.167, 0.833]])
    """

    p00: Fraction
    p11: Fraction
    epsilon: float | None
    procedure: Procedure | None

    kind: ClassVar[str] = "binary"
    chunk: ClassVar[int] = 1 << 22  # coins go through it in steps of their own

    def __init__(
        self,
        p00: float | str | Fraction,
        p11: float | str | Fraction,
        epsilon: float | None = None,
        *,
        procedure: Procedure | None = None,
    ) -> None:
        object.__setattr__(self, "p00", probability(p00, "p00"))
        object.__setattr__(self, "p11", probability(p11, "p11"))
        object.__setattr__(self, "epsilon", stated_epsilon(epsilon))
        object.__setattr__(self, "procedure", procedure)
        if procedure is not None and procedure.probabilities() != (self.p00, self.p11):
            raise MechanismError(f"p00 and p11 are not those of the procedure {procedure.name!r}")

    @classmethod
    def _by(cls, name: str, *values: Any) -> Self:
        how = procedure(name, *values)
        return cls(*how.probabilities(), procedure=how)

    @classmethod
    def direct(cls) -> Self:
        """The question asked directly: no randomisation, no protection."""
        return cls._by("direct")

    @classmethod
    def warner(cls, p: float | str | Fraction) -> Self:
        """Warner (1965): with probability p the statement is answered, otherwise its opposite."""
        return cls._by("warner", p)

    @classmethod
    def forced(cls, yes: float | str | Fraction, no: float | str | Fraction) -> Self:
        """Forced response (Boruch 1971): "yes" and "no" are forced with these probabilities, else the truth."""
        return cls._by("forced", yes, no)

    @classmethod
    def crosswise(cls, p: float | str | Fraction) -> Self:
        """Crosswise model (Yu, Tian and Tang 2008): report 1 = the answers to both statements are the same.

        p is the share of people for whom the harmless statement holds. p00 + p11 = 2p is below one for
        p < ½, and every estimator knows what to do.
        """
        return cls._by("crosswise", p)

    @classmethod
    def unrelated(cls, p: float | str | Fraction, prevalence: float | str | Fraction) -> Self:
        """Unrelated question (Greenberg et al. 1969): with probability p the sensitive one, else a harmless one."""
        return cls._by("unrelated", p, prevalence)

    @classmethod
    def mangat(cls, p: float | str | Fraction) -> Self:
        """Mangat (1994): "yes" people say yes; the others say "no" with probability p. A "no" proves "no"."""
        return cls._by("mangat", p)

    @classmethod
    def kuk(cls, yes: float | str | Fraction, no: float | str | Fraction) -> Self:
        """Kuk (1990): the share of red cards in the pack of the "yes" people and in that of the others."""
        return cls._by("kuk", yes, no)

    @classmethod
    def triangular(cls, p: float | str | Fraction) -> Self:
        """Triangular model (Yu, Tian and Tang 2008): report 1 = at least one of the two statements is true.

        p is the share of people for whom the harmless statement holds. A report of 0 proves "no".
        """
        return cls._by("triangular", p)

    @classmethod
    def devore(cls, p: float | str | Fraction) -> Self:
        """Devore (1977): with probability p the sensitive question, else "yes" is said. A "no" proves "no"."""
        return cls._by("devore", p)

    @classmethod
    def mangat_singh(cls, first: float | str | Fraction, p: float | str | Fraction) -> Self:
        """Mangat and Singh (1990), two stages: with probability ``first`` the truth, else Warner's procedure."""
        return cls._by("mangat_singh", first, p)

    @classmethod
    def mangat_singh_singh(cls, p: float | str | Fraction, prevalence: float | str | Fraction) -> Self:
        """Mangat, Singh and Singh (1992): "yes" people say so; others "no" with probability p, else a harmless one."""
        return cls._by("mangat_singh_singh", p, prevalence)

    @classmethod
    def two_stage_unrelated(
        cls, first: float | str | Fraction, p: float | str | Fraction, prevalence: float | str | Fraction
    ) -> Self:
        """Mangat (1992), two stages: with probability ``first`` the truth, else the unrelated-question procedure."""
        return cls._by("two_stage_unrelated", first, p, prevalence)

    @classmethod
    def singh_joarder(cls, p: float | str | Fraction) -> Self:
        """Singh and Joarder (1997): Warner's procedure, repeated once by "yes" people who would have to say "no"."""
        return cls._by("singh_joarder", p)

    @classmethod
    def extended_crosswise(cls, p: float | str | Fraction) -> tuple[Self, Self]:
        """Extended crosswise model (Heck, Hoffmann and Moshagen 2018): the designs of its two groups.

        In one group the harmless statement holds for a share p of people, in the other for 1 − p. The promise is the
        same; that both give one prevalence is tested by ``estimate.noncompliance(…, model="extended-crosswise")``.
        """
        return cls.crosswise(p), cls.crosswise(1 - probability(p, "extended_crosswise: p"))

    @property
    def title(self) -> str:
        """The procedure, where one is followed."""
        return super().title if self.procedure is None else self.procedure.name

    def __repr__(self) -> str:
        if self.procedure is not None:
            values = ", ".join(repr(str(value)) for _, value in self.procedure.parameters)
            return f"BinaryResponse.{self.procedure.name}({values})"
        stated = "" if self.epsilon is None else f", epsilon={self.epsilon!r}"
        return f"BinaryResponse({str(self.p00)!r}, {str(self.p11)!r}{stated})"

    @property
    def shape(self) -> tuple[int, int]:
        """(2, 2)."""
        return 2, 2

    @cached_property
    def denominator(self) -> int:
        """The least common denominator of p00 and p11."""
        return math.lcm(self.p00.denominator, self.p11.denominator)

    def _rows(self) -> Rows:
        d = self.denominator
        no, yes = int(self.p00 * d), int(self.p11 * d)
        return (no, d - no), (d - yes, yes)

    @cached_property
    def _coins(self) -> Coins:
        """Symmetric: the chance of a flip. Otherwise: the chance of report 1 under each truth."""
        (_, wrong), (_, right) = self._rows()
        return Coins([wrong] if self.p00 == self.p11 else [wrong, right], self.denominator)

    def _sample(self, codes: NDArray[Any], randomness: Randomness) -> NDArray[Any]:
        reports = np.empty(codes.size, np.uint8)
        self._sample_into(reports, codes, randomness)
        return reports

    def _sample_into(self, out: NDArray[Any], codes: NDArray[Any], randomness: Randomness) -> None:
        codes = codes.astype(np.uint8, copy=False)
        if self.p00 == self.p11:
            self._coins.turn(codes, randomness, out)
        else:
            self._coins.toss_each(codes, randomness, out.view(np.bool_))

    def instructions(self) -> str:
        """The rule that a respondent follows."""
        return self.procedure.instructions() if self.procedure else super().instructions()

    def by_hand(self) -> FiniteMechanism:
        """The mechanism of the procedure as printed, or of the spinner."""
        if self.procedure is None:
            return super().by_hand()
        how = self.procedure.printed()
        return self if how == self.procedure else BinaryResponse(*how.probabilities(), self.epsilon, procedure=how)

    def to_dict(self) -> dict[str, Any]:
        """Full integer rows, and the survey procedure if there is one."""
        data: dict[str, Any] = {
            "kind": self.kind,
            "denominator": str(self.denominator),
            "rows": [[str(weight) for weight in row] for row in self._rows()],
        }
        if self.epsilon is not None:
            data["epsilon"] = self.epsilon
        if self.procedure is not None:
            data["procedure"] = self.procedure.to_dict()
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from the integers."""
        d = stored_int(data, "denominator")
        try:
            (no, lie), (deny, yes) = stored_rows(data)
        except (TypeError, ValueError) as error:
            if isinstance(error, ManifestError):
                raise
            raise ManifestError("a binary response in the manifest is damaged: it needs two rows of two") from None
        if d < 1 or no + lie != d or deny + yes != d or min(no, lie, deny, yes) < 0:
            raise ManifestError(
                "a binary response in the manifest is damaged: its weights do not sum to the denominator"
            )
        how = Procedure.from_dict(data["procedure"]) if "procedure" in data else None
        try:
            return cls(Fraction(no, d), Fraction(yes, d), stored_epsilon(data), procedure=how)
        except MechanismError as error:
            raise ManifestError(f"a binary response in the manifest is damaged ({error})") from None
