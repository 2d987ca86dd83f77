"""The section ``[survey]`` of a plan: how people were sampled."""

from __future__ import annotations

from discreet.errors import PlanError
from discreet.manifest import Survey
from discreet.manifest.document import REPLICATIONS
from discreet.publish.plan.grammar import SURVEY, Section


def read_survey(top: Section) -> Survey:
    """The columns that describe the sampling, all public."""
    section = top.section("survey", SURVEY)
    weight, strata, cluster, fpc = (section.text(key) for key in ("weight", "strata", "cluster", "fpc"))
    replicates: tuple[str, ...] = ()
    replication = section.choice("replication", REPLICATIONS)
    if "replicates" in section:
        replicates = section.columns("replicates")
        if len(replicates) < 2 or replication is None or weight is None:
            raise PlanError(
                "survey.replicates needs two columns at least, survey.weight for the full sample, and "
                'survey.replication: "bootstrap", "jackknife" or "brr"'
            )
    scale = section.number("replicate_scale")
    if not replicates and (replication is not None or scale is not None):
        raise PlanError("survey.replication and survey.replicate_scale go with survey.replicates")
    if scale is not None and scale <= 0:
        raise PlanError(f"survey.replicate_scale must be above 0, not {scale:g}")
    survey = Survey(weight, strata, cluster, fpc, replicates, replication, scale)
    if len(set(survey.columns)) != len(survey.columns):
        raise PlanError("survey uses one column for two purposes")
    return survey
