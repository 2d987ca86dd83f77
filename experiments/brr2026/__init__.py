"""Zhang, Zhu, Chen and Hu (2026), Bipartite Randomized Response Mechanism for Local Differential Privacy.

Run ``python -m experiments.brr2026``; ``--quick`` for a look in seconds. The places of figures 8 and 12 are found
through ``DISCREET_DATA``.
"""
