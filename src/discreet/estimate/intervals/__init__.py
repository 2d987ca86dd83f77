"""Formulas of confidence intervals, one method a module; none of them reads data."""
