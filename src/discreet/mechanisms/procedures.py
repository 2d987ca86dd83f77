"""Classic survey procedures: what the respondent does, and the two probabilities that follow from it.

Each function returns (p00, p11, procedure). Parameters are exact: "1/6" is one sixth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms.printed import in_words, printed_parameters
from discreet.privacy.exact import fraction_from_text, probability


@dataclass(frozen=True)
class Procedure:
    """The name of a survey procedure with its exact parameters."""

    name: str
    parameters: tuple[tuple[str, Fraction], ...]

    def to_dict(self) -> dict[str, str]:
        """Plain data: the name, and every parameter as a fraction in text."""
        return {"name": self.name} | {key: str(value) for key, value in self.parameters}

    @classmethod
    def from_dict(cls, data: Any) -> Procedure:
        """Read back what ``to_dict`` wrote."""
        try:
            name = data["name"]
            return cls(name, tuple((key, fraction_from_text(str(data[key]))) for key in PARAMETERS[name]))
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise ManifestError(f"a survey procedure in the manifest is damaged ({error})") from None

    def probabilities(self) -> tuple[Fraction, Fraction]:
        """(p00, p11) that follow from the procedure."""
        return _PROBABILITIES[self.name](*(value for _, value in self.parameters))

    def printed(self) -> Procedure:
        """The procedure with parameters that can be printed: short fractions, or decimals that are as private."""
        names, values = [key for key, _ in self.parameters], [value for _, value in self.parameters]
        return Procedure(
            self.name, tuple(zip(names, printed_parameters(values, _PROBABILITIES[self.name]), strict=True))
        )

    def instructions(self) -> str:
        """The rule that a respondent follows."""
        return _INSTRUCTIONS[self.name](**{key: in_words(value) for key, value in self.printed().parameters})


def procedure(name: str, *values: Any) -> Procedure:
    """A procedure by name, with its parameters checked."""
    if name not in PARAMETERS:
        raise MechanismError(f"unknown survey procedure {name!r}; known are {', '.join(PARAMETERS)}")
    names = PARAMETERS[name]
    if len(names) != len(values):
        raise MechanismError(f"{name} takes {len(names)} parameter(s) ({', '.join(names)}), not {len(values)}")
    exact = tuple((key, probability(value, f"{name}: {key}")) for key, value in zip(names, values, strict=True))
    if name == "forced" and exact[0][1] + exact[1][1] > 1:
        raise MechanismError("forced: yes + no must not exceed 1")
    return Procedure(name, exact)


#: Parameters of each procedure, in order. Names never change: manifests carry them.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "direct": (),
    "warner": ("p",),
    "crosswise": ("p",),
    "forced": ("yes", "no"),
    "unrelated": ("p", "prevalence"),
    "mangat": ("p",),
    "kuk": ("yes", "no"),
    "triangular": ("p",),
    "devore": ("p",),
    "mangat_singh": ("first", "p"),
    "mangat_singh_singh": ("p", "prevalence"),
    "two_stage_unrelated": ("first", "p", "prevalence"),
    "singh_joarder": ("p",),
}

_PROBABILITIES: dict[str, Callable[..., tuple[Fraction, Fraction]]] = {
    "direct": lambda: (Fraction(1), Fraction(1)),
    "warner": lambda p: (p, p),
    "crosswise": lambda p: (p, p),
    "forced": lambda yes, no: (1 - yes, 1 - no),
    "unrelated": lambda p, prevalence: (p + (1 - p) * (1 - prevalence), p + (1 - p) * prevalence),
    "mangat": lambda p: (p, Fraction(1)),
    "kuk": lambda yes, no: (1 - no, yes),
    "triangular": lambda p: (1 - p, Fraction(1)),
    "devore": lambda p: (p, Fraction(1)),
    "mangat_singh": lambda first, p: (first + (1 - first) * p,) * 2,
    "mangat_singh_singh": lambda p, prevalence: (1 - (1 - p) * prevalence, Fraction(1)),
    "two_stage_unrelated": lambda first, p, prevalence: (
        1 - (1 - first) * (1 - p) * prevalence,
        1 - (1 - first) * (1 - p) * (1 - prevalence),
    ),
    "singh_joarder": lambda p: (p, 1 - (1 - p) ** 2),
}


_INSTRUCTIONS: dict[str, Callable[..., str]] = {
    "direct": lambda: "Answer the question truthfully. There is no randomisation and no protection.",
    "warner": lambda p: (
        f"Use a spinner that only you see. With probability {p} it points to A: say whether the statement is "
        "true of you. Otherwise it points to B: say whether the OPPOSITE of the statement is true of you. "
        'Answer only "yes" or "no", never which statement you answered.'
    ),
    "crosswise": lambda p: (
        "You read two statements: the sensitive one, and a harmless one that holds for a share of "
        f"{p} of people (a birthday in certain months, say). Do not answer either. Report 1 "
        '("the same") if both are true of you or both are false; report 0 ("different") if exactly one is true.'
    ),
    "forced": lambda yes, no: (
        f'Roll a die or turn a spinner that only you see. With probability {yes} it tells you to say "yes", with '
        f'probability {no} to say "no", whatever the truth is. Otherwise answer truthfully.'
    ),
    "unrelated": lambda p, prevalence: (
        f"Use a spinner that only you see. With probability {p} answer the sensitive question truthfully. "
        "Otherwise answer an unrelated, harmless question truthfully, to which a known share of "
        f'{prevalence} of people says "yes". Never say which question you answered.'
    ),
    "mangat": lambda p: (
        'If the statement is true of you, say "yes". If it is not, use a spinner that only you see: say "no" with '
        f'probability {p}, otherwise say "yes".'
    ),
    "kuk": lambda yes, no: (
        "There are two packs of cards. If the statement is true of you, draw from pack A, in which a share of "
        f"{yes} is red; if it is not, draw from pack B, in which a share of {no} is red. Report only whether "
        "your card is red (1) or not (0)."
    ),
    "triangular": lambda p: (
        "You read two statements: the sensitive one, and a harmless one that holds for a share of "
        f"{p} of people (a birthday in certain months, say). Do not answer either. Report 0 "
        '("the circle") if neither is true of you; report 1 ("the triangle") if at least one is true.'
    ),
    "devore": lambda p: (
        f"Use a spinner that only you see. With probability {p} answer the sensitive question truthfully. Otherwise "
        'say "yes", whatever the truth is. Never say which it was.'
    ),
    "mangat_singh": lambda first, p: (
        f"Use a spinner that only you see. With probability {first} say whether the statement is true of you. "
        f"Otherwise turn a second spinner: with probability {p} it points to A: say whether the statement is true of "
        "you; otherwise it points to B: say whether the OPPOSITE of the statement is true of you. "
        'Answer only "yes" or "no", never what the spinners showed.'
    ),
    "mangat_singh_singh": lambda p, prevalence: (
        'If the statement is true of you, say "yes". If it is not, use a spinner that only you see: with probability '
        f'{p} say "no", otherwise answer an unrelated, harmless question truthfully, to which a known share of '
        f'{prevalence} of people says "yes".'
    ),
    "two_stage_unrelated": lambda first, p, prevalence: (
        f"Use a spinner that only you see. With probability {first} answer the sensitive question truthfully. "
        f"Otherwise turn a second spinner: with probability {p} answer the sensitive question truthfully, otherwise an "
        f'unrelated, harmless one, to which a known share of {prevalence} of people says "yes". Never say which '
        "question you answered."
    ),
    "singh_joarder": lambda p: (
        f"Use a spinner that only you see. With probability {p} it points to A: say whether the statement is true of "
        "you. Otherwise it points to B: say whether the OPPOSITE of the statement is true of you. If the statement is "
        'true of you and this would make you say "no", turn the spinner once more and answer as it then shows. '
        'Answer only "yes" or "no", never how often you turned it.'
    ),
}
