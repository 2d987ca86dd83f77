"""What a fitted model promises, and to whom, in figures and in words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.privacy import Guarantee
from discreet.privacy.bounds import exp_bounds, round_up

CENTRAL_CAVEATS = (
    "whoever fits the model sees the records; the promise is about everybody who sees the fitted model",
    "it compares fits with and without a row; two values of the same row are told apart by up to twice this ε",
)


def central_guarantee(epsilon: Fraction) -> Guarantee:
    """About one record, added or removed, δ = 0."""
    return Guarantee(round_up(epsilon), unit="record", caveats=CENTRAL_CAVEATS)


def central_words(name: str, guarantee: Guarantee, details: Sequence[str], *, secure: bool) -> str:
    """A central promise for people."""
    factor = (
        f"{round_up(exp_bounds(guarantee.epsilon)[1]):.4g}" if guarantee.epsilon < 30 else f"e^{guarantee.epsilon:g}"
    )
    lines = [
        f"{name}: a central promise about one record (ε = {guarantee.epsilon:.6g}, δ = 0).",
        "Whoever fits the model sees the records. For everybody who sees the fitted model, its predictions or "
        "anything made of them:",
        f"no fitted model is more than {factor} times as likely with a record in the training table as without it,",
        "whatever the record and all others are; how many records there were is protected as well.",
        "Two different values of the same record are told apart by up to twice this ε.",
        *details,
        randomness_words(secure=secure),
    ]
    return "\n".join(lines)


def local_words(name: str, guarantee: Guarantee, whose: str, details: Sequence[str]) -> str:
    """A local promise for people.

    Parameters
    ----------
    whose : str
        What of a person was randomised before anybody else saw it.
    """
    lines = [
        f"{name}: a local promise ({guarantee.summary()}).",
        f"Each person's contribution was randomised before anybody saw {whose}; the model is made of reports alone,",
        "and so is everything that is made of the model.",
        guarantee.explain(),
        *details,
    ]
    return "\n".join(lines)


def randomness_words(*, secure: bool) -> str:
    """Where chance came from."""
    if secure:
        return "Randomness: the operating system's secure generator."
    return "Randomness: SEEDED, for simulation only; whoever knows the seed can undo it, and the promise does not hold."
