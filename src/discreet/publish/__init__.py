"""A table in, a private table out."""

from discreet.publish.plan import Budget, Plan
from discreet.publish.run import saving as saving  # gives releases their way of being saved
from discreet.publish.run.checking import check
from discreet.publish.run.ledger import Ledger, LedgerWarning
from discreet.publish.run.release import release
from discreet.publish.run.targets import ReplacedWarning
from discreet.publish.skeleton import columns_of, count_rows, skeleton, write_plan
from discreet.reading import Release

__all__ = [
    "Budget",
    "Ledger",
    "LedgerWarning",
    "Plan",
    "Release",
    "ReplacedWarning",
    "check",
    "columns_of",
    "count_rows",
    "release",
    "skeleton",
    "write_plan",
]
