"""Ordered or metric values: reports near the true value."""
