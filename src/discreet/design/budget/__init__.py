"""A total ε, split over what is to be learned."""

from discreet.design.budget.budget import budget
from discreet.design.budget.result import BudgetSplit
from discreet.design.budget.targets import JointTarget, Target

__all__ = ["BudgetSplit", "JointTarget", "Target", "budget"]
