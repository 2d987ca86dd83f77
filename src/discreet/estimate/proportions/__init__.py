"""Frequencies of true values, and what follows from them: totals, most frequent values, distribution and quantiles."""
