"""The models by name."""

from __future__ import annotations

from typing import Any

from discreet import arguments
from discreet.errors import EstimationError
from discreet.estimate.compliance.cheating_detection import CheatingDetection
from discreet.estimate.compliance.extended_crosswise import ExtendedCrosswise
from discreet.estimate.compliance.model import Model
from discreet.estimate.compliance.stochastic_lie import StochasticLie
from discreet.estimate.compliance.unrelated_question import UnrelatedQuestion

#: The models of non-compliance by name.
MODELS: dict[str, Model] = {
    model.name: model for model in (CheatingDetection(), StochasticLie(), ExtendedCrosswise(), UnrelatedQuestion())
}


def model_named(name: Any) -> Model:
    """The model of this name."""
    return MODELS[arguments.choice(name, "model", tuple(MODELS), EstimationError)]


def checked_evasive(evasive: Any, model: Model) -> int:
    """The code of the report that cheaters give; other than "no" only where a model has cheaters."""
    code = arguments.whole(evasive, "evasive", EstimationError)
    if code != 0 and model.honest is None:
        raise EstimationError(f'evasive has no meaning for the model "{model.name}", in which everybody complies')
    return code
