"""Gradient-boosted trees with a central promise: public bounds, each record in one tree, noise on whole numbers.

Reading order: ``budget`` (how ε is shared), ``gradients`` (losses, the whole-number grid), ``split_scores`` and
``leaves`` (the two things that are randomised, each with its proof), ``tree``, ``ensemble`` (who goes to which tree),
``bounds`` (public bounds and bins), ``estimators``. The formulas are in ``docs/mathematics/learning.md``.
"""
