"""Stochastic gradient descent in which everybody contributes once, one randomised coordinate of their gradient.

Reading order: ``model`` (scores and single coordinates of gradients), ``descent`` (what a person reports, and the
steps made of reports), ``estimators``.
"""
