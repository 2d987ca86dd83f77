"""Questions to people: answers are randomised on the respondent's own device, and only reports leave it."""

from discreet.survey.checking import Checked, check_survey
from discreet.survey.page import Page, build_page, sampler_source
from discreet.survey.questionnaire import Field, Questionnaire
from discreet.survey.template import TEMPLATE

__all__ = ["TEMPLATE", "Checked", "Field", "Page", "Questionnaire", "build_page", "check_survey", "sampler_source"]
