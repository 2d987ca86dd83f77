"""Golden results: estimates that a change of the code must repeat.

``python -m tests.estimate.golden`` computes all of them anew from the stored releases; names or their beginnings
restrict it to some, and ``--because`` writes down why they changed. ``--releases`` makes the releases anew too.
"""
