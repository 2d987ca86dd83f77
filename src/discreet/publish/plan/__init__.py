"""What is to be done to a table: the grammar of plans, and one reader per kind of block."""

from discreet.publish.plan.plan import Plan, as_plan
from discreet.publish.plan.sections import Budget

__all__ = ["Budget", "Plan", "as_plan"]
