"""Check what was promised: recompute it from the integers, and attack it."""

from discreet.audit.attack import AttackResult, attack
from discreet.audit.recompute import Audit, Finding, audit
from discreet.audit.targets import Target, attackable

__all__ = ["AttackResult", "Audit", "Finding", "Target", "attack", "attackable", "audit"]
