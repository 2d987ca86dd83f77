"""Maximum likelihood for a model of the outcome, the law of the covariates estimated on cells of their box.

axis               places along a coordinate: cells, and values that many people share
law                their combinations, points in them, and the density of noisy reports
model              densities of reports given each cell, with derivatives in the coefficients
profile            the likelihood of the coefficients with the law at its best
efficient_score    scores that have mean zero whatever the law is
score_interval     intervals by tests of such scores
fit                what the method takes, and the result
"""
