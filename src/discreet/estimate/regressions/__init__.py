"""Regressions on randomised columns: one engine.

A request (``request``) names a formula and a release. Its rows are read (``reading``, ``first_look``), the formula is
evaluated at every truth (``evaluation``, ``model_matrix``), and the loss of a family (``families``, ``classes``,
``robust``, ``losses``) is corrected: over cells by the right inverse of the channels (``cells``, ``objective``), by
moments (``linear_moments``), over copies inside the box (``over_copies``), or exactly for Laplace noise
(``laplace_exact``). One optimiser (``optimise``) finds the minimum nearest to a start (``search``), one sandwich
(``sandwich``) gives its errors, one result (``result``) tests, predicts and averages effects.
"""
