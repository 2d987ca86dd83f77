"""Randomised labels for a regression: the response of most information about the coefficients."""
