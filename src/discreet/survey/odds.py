"""What a channel means to a respondent: "of 100 people with the same answer, about 73 send it"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.domains import Domain
from discreet.mechanisms import FiniteMechanism
from discreet.mechanisms.procedures import Procedure

#: Channels larger than this are described without their matrix.
_WRITTEN_OUT = 512


def odds(mechanism: FiniteMechanism, truths: Domain, reports: Domain) -> dict[str, str]:
    """The key of a sentence in the words of a page, and the numbers in it.

    >>> from discreet import Binary, mechanisms
    >>> odds(mechanisms.BinaryResponse("3/4", "3/4"), Binary(), Binary())
    {'say': 'odds', 'p': '75', 'q': '25'}
    >>> odds(mechanisms.BinaryResponse.forced("1/6", "1/6"), Binary(), Binary())
    {'say': 'by_forced', 'yes': '1/6', 'no': '1/6'}
    """
    exposed, how = exposure(mechanism), procedure_of(mechanism)
    if how is not None and how.name != "direct":
        found = {"say": f"by_{how.name}"} | {key: str(value) for key, value in how.parameters}
        return found | ({"exposed": of_100(exposed)} if exposed else {})
    if exposed >= 1:
        return {"say": "odds_direct"}
    if exposed > 0:
        return {"say": "odds_exposed", "p": of_100(exposed)}
    if reports != truths or max(mechanism.shape) > _WRITTEN_OUT:
        return {"say": "odds_code", "n": str(mechanism.shape[1])}
    kept = mechanism.matrix().diagonal()
    low, high = of_100(float(kept.min())), of_100(float(kept.max()))
    if low != high:
        return {"say": "odds_range", "p": low, "r": high}
    return {"say": "odds", "p": low, "q": of_100(1 - float(kept.min()))}


def sentence(found: Mapping[str, str], words: Mapping[str, str], labels: Sequence[str]) -> str:
    """The sentence of some odds in the words of a page; a procedure names the two answers."""
    said = words[found["say"]].format(**found, **dict(zip("NY", labels, strict=False)))
    return said if "exposed" not in found else f"{said} {words['odds_exposed'].format(p=found['exposed'])}"


def procedure_of(mechanism: FiniteMechanism) -> Procedure | None:
    """The classic procedure that a plan names for a question, or None."""
    return getattr(mechanism, "procedure", None)


def exposure(mechanism: FiniteMechanism) -> float:
    """The largest share of people with one answer who send a code that only this answer can give."""
    if max(mechanism.shape) > _WRITTEN_OUT:
        return float(mechanism.guarantee.exposure)
    matrix = mechanism.matrix()
    certain = (matrix > 0).sum(axis=0) == 1
    return float(matrix[:, certain].sum(axis=1).max())


def of_100(share: float) -> str:
    """A share of 100 people, rounded; what is possible is never called nobody, nor what is uncertain everybody.

    >>> of_100(0.7311), of_100(0.001), of_100(0.9999)
    ('73', '<1', '>99')
    """
    if 0 < share < 0.005:
        return "<1"
    if 0.995 <= share < 1:
        return ">99"
    return str(round(100 * share))
