"""Reproduction of zil2025: versatile differentially private learning for general loss functions.

Figure 1, Tables 1 to 3, Proposition 6.1, the coverage of our intervals, and the exact corrected loss beside those of
the paper.
"""
