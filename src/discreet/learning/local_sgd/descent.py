"""What a person reports about their gradient, and descent by means of reports.

A person draws one of the d coordinates uniformly, independently of their record, clips that coordinate of their own
gradient to [−C, C], and sends it through an unbiased mechanism (``design.mean``): the report v has mean ``g_J/C`` and
is ε-private whatever the record. ``d·C·v`` in place J is an unbiased estimate of the clipped gradient, so that the
mean over a batch is one of the batch's gradient; its variance per coordinate is about ``d C² Var(v)/m`` for m people.

Nobody is asked twice, so nothing is added up over steps: each person's ε is that of one report. A bound C that is
read off the batch, or an interval that is chosen by the sign of the gradient (brr2026, appendix B.2), would publish
what it was read from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.learning.local_sgd.model import Model
from discreet.mechanisms import UnbiasedResponse
from discreet.randomness import Randomness, uniform


@dataclass(eq=False)
class Descent:
    """Parameters on their way: the current ones, their weighted mean, and the number of steps.

    Step t goes ``learning_rate/√t`` times the estimated gradient. What predicts is the mean of all iterates with
    weights in proportion to t (Shamir and Zhang 2013), which forgets where it started.
    """

    parameters: Floats
    mean: Floats
    steps: int = 0
    people: int = 0

    @classmethod
    def begin(cls, model: Model) -> Descent:
        """At the start of a model."""
        start = model.start()
        return cls(start, start.copy())

    def step(self, gradient: Floats, learning_rate: float, people: int) -> None:
        """One step down."""
        self.steps += 1
        self.people += people
        self.parameters = self.parameters - learning_rate / np.sqrt(self.steps) * gradient
        self.mean = self.mean + 2 / (self.steps + 1) * (self.parameters - self.mean)


def report(
    model: Model,
    parameters: Floats,
    X: Floats,
    slopes: Floats,
    clip: float,
    mechanism: UnbiasedResponse,
    randomness: Randomness,
) -> tuple[NDArray[np.intp], Floats]:
    """Coordinates and reported values (in units of C) of people; what happens on their devices."""
    which = uniform(model.size, len(X), randomness, np.intp)
    gradient = np.clip(model.gradients(parameters, X, slopes, which) / clip, -1.0, 1.0)
    codes = mechanism.privatize(mechanism.round(gradient, randomness), randomness)
    return which, mechanism.values[codes]


def estimated_gradient(model: Model, which: NDArray[np.intp], values: Floats, clip: float) -> Floats:
    """The mean of ``d·C·v`` in the reported places."""
    return np.asarray(np.bincount(which, values, model.size) * (model.size * clip / len(which)), np.float64)
