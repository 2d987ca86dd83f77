"""Means, totals and expectations of a column, their comparisons, and correlations of two columns."""
