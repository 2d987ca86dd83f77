"""The variance of survey sampling: unit totals, linearisation, degrees of freedom, finite populations.

Every estimator has a score for each row, whose weighted sum moves with the estimate. Its variance is that of the totals
of primary sampling units within strata: :mod:`.unit_totals` adds the scores up, :mod:`.linearization` gives covariance
and degrees of freedom, :mod:`.share_covariance` the same for shares of reports without a matrix,
:mod:`.finite_population` the correction for samples without replacement.
"""
