"""Check what was promised: recompute it from the integers, and attack it."""
