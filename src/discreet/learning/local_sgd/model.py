"""Linear models and networks with one hidden layer, and single coordinates of their gradients.

Parameters are one vector. With a column of ones appended to the features x, and hidden units ``a = (tanh(x W), 1)``,
scores are ``z = x V`` (linear) or ``z = a V``. With ``s = ∂loss/∂z`` of a person,

    ∂loss/∂V[i, k] = x_i s_k  or  a_i s_k,     ∂loss/∂W[i, h] = x_i (1 − a_h²) Σ_k V[h, k] s_k.

A person computes one of these numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats


@dataclass(frozen=True)
class Model:
    """Sizes of a linear model (``hidden`` 0) or a network.

    Attributes
    ----------
    features, outputs : int
    hidden : int
        Units of the hidden layer.
    """

    features: int
    outputs: int
    hidden: int = 0

    @property
    def _inner(self) -> int:
        return (self.features + 1) * self.hidden

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self._inner + ((self.hidden or self.features) + 1) * self.outputs

    def start(self) -> Floats:
        """Zeros; first weights of a network are spread by public, fixed numbers, so that its units differ."""
        parameters = np.zeros(self.size)
        if self.hidden:
            parameters[:] = np.random.default_rng(0).normal(0, 1, self.size)
            parameters[: self._inner] *= 1.5 / np.sqrt(self.features + 1)
            parameters[self._inner :] *= 0.5 / np.sqrt(self.hidden + 1)
        return parameters

    def scores(self, parameters: Floats, X: Floats) -> Floats:
        """Z of every row."""
        top, outer = self._parts(parameters, X)[1:]
        return np.asarray(top @ outer)

    def _parts(self, parameters: Floats, X: Floats) -> tuple[Floats, Floats, Floats]:
        """Features with a one, what the last layer sees, and its weights."""
        ones = np.ones((len(X), 1))
        inputs = np.hstack([X, ones])
        outer = parameters[self._inner :].reshape(-1, self.outputs)
        if not self.hidden:
            return inputs, inputs, outer
        units = np.tanh(inputs @ parameters[: self._inner].reshape(-1, self.hidden))
        return inputs, np.hstack([units, ones]), outer

    def gradients(self, parameters: Floats, X: Floats, slopes: Floats, which: NDArray[np.intp]) -> Floats:
        """``∂loss/∂parameter[which]`` of every row, one number each.

        Parameters
        ----------
        slopes : array (rows, outputs)
            ∂loss/∂z.
        which : array of int
            The coordinate of every row.
        """
        inputs, top, outer = self._parts(parameters, X)
        rows = np.arange(len(X))
        last = which >= self._inner
        row, column = np.divmod(np.where(last, which - self._inner, 0), self.outputs)
        found = top[rows, row] * slopes[rows, column]
        if self.hidden:
            row, unit = np.divmod(np.where(last, 0, which), self.hidden)
            back = (slopes * outer[unit]).sum(axis=1)
            found = np.where(last, found, inputs[rows, row] * (1 - top[rows, unit] ** 2) * back)
        return np.asarray(found)
