"""A table in, a private table out."""

from discreet.publish.api import release
from discreet.publish.checking import check
from discreet.publish.commit import ReplacedWarning
from discreet.publish.ledger import Ledger, LedgerWarning
from discreet.publish.plan import Budget, Plan
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
