"""What is to be done to a table: the grammar of plans, and one reader per kind of block."""

from discreet.publish.plan.budget import Budget
from discreet.publish.plan.plan import Plan, as_plan

__all__ = ["Budget", "Plan", "as_plan"]
