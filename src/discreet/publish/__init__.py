"""A table in, a private table out."""

from discreet.publish.ledger import Ledger, LedgerWarning
from discreet.publish.plan import Budget, Plan
from discreet.publish.release import check, release
from discreet.publish.skeleton import columns_of, count_rows, skeleton, write_plan
from discreet.publish.targets import ReplacedWarning

__all__ = [
    "Budget",
    "Ledger",
    "LedgerWarning",
    "Plan",
    "ReplacedWarning",
    "check",
    "columns_of",
    "count_rows",
    "release",
    "skeleton",
    "write_plan",
]
