"""Check what was promised: recompute it from the integers and the cells, and attack it."""

from discreet.audit.attack import AttackResult, attack
from discreet.audit.audit import audit
from discreet.audit.findings import Audit, Finding
from discreet.audit.targets import Target, attackable

__all__ = ["AttackResult", "Audit", "Finding", "Target", "attack", "attackable", "audit"]
