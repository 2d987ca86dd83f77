"""Zhang, Han, Wang, Yan, Kong, Li and Jiang (2025), Differentially Private Analysis for Binary Response Models.

Proceedings of the 42nd International Conference on Machine Learning, PMLR 267.
Run ``python -m experiments.zhang2025``; ``--quick`` for a look in seconds, ``--only coverage`` for the long runs.
"""
