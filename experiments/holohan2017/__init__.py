"""Holohan, Leith and Mason (2017), Optimal Differentially Private Mechanisms for Randomised Response.

IEEE Transactions on Information Forensics and Security 12(11), doi:10.1109/TIFS.2017.2718487.
Run ``python -m experiments.holohan2017``; ``--quick`` for a look in seconds.
"""
