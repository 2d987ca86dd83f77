"""Maximum likelihood for a model of the outcome, the law of the covariates estimated on cells of their box.

axis     places along a coordinate: cells, and values that many people share
law      their combinations, points in them, and the density of noisy reports
model    the likelihood of reports, EM steps of the law, efficient scores of the coefficients
fit      coefficients by scoring, patterns of rows, and the result
"""
