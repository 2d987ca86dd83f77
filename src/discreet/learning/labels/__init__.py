"""Any classifier from private labels: trained on reports, its probabilities undone through the channel.

Reading order: ``designs`` (channels, and which row has which), ``undoing`` (from probabilities of reports to those of
classes), ``calibration`` (maximum likelihood through the channel), ``estimator``, ``from_release``.
"""
