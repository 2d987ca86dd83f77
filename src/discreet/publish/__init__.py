"""A table in, a private table out."""

from discreet.publish.ledger import Ledger, LedgerWarning
from discreet.publish.plan import Budget, Plan
from discreet.publish.release import check, release
from discreet.publish.skeleton import columns_of, count_rows, skeleton

__all__ = ["Budget", "Ledger", "LedgerWarning", "Plan", "check", "columns_of", "count_rows", "release", "skeleton"]
