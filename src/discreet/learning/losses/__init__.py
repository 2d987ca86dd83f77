"""Losses of reports for networks: corrected so that training on a release aims at what training on the truth would.

``rows`` makes corrected rows and tables with numpy alone; ``pytorch`` and ``jax_numpy`` make losses of logits and
reports (``pip install 'discreet[torch]'``, ``pip install 'discreet[autodiff]'``). None of them needs scikit-learn.
"""
