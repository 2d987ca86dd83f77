"""Functions of a record that are not losses of an index: expectations, and losses written in JAX."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError


@dataclass(frozen=True)
class Expectation:
    """The mean of any function of a record: ``θ = E f(x)``.

    Parameters
    ----------
    function : callable
        Takes an n × d array, returns n numbers or n × k.
    laplacian : callable, optional
        ``Σ ∂²f/∂x_j²``, needed by the methods "sdrcl" and "sl", and by "exact" at zero probability 0.
    draws : int, optional
        In more than one dimension, how many draws of S the average is taken over; by default as many as bring the
        Monte Carlo part of the variance below 5 %. What is left is part of the standard error, and stated in a note.
    """

    function: Callable[[Floats], Any]
    laplacian: Callable[[Floats], Any] | None = None
    draws: int | None = None
    name: ClassVar[str] = "expectation"

    def __post_init__(self) -> None:
        for what, given in (("function", self.function), ("laplacian", self.laplacian)):
            if not callable(given) and not (what == "laplacian" and given is None):
                raise EstimationError(f"the {what} of an expectation must be callable, not {type(given).__name__}")
        draws = self.draws
        if draws is None:
            return
        if isinstance(draws, bool) or not isinstance(draws, numbers.Integral) or draws < 1:
            raise EstimationError(f"draws must be a whole number of at least 1, not {draws!r}")


@dataclass(frozen=True)
class Autodiff:
    """A loss written in JAX (extra ``autodiff``): ``function(theta, x, y)`` for *one* record, returning one number.

    Gradients in θ and Laplacians in x are then exact instead of numerical.
    """

    function: Callable[..., Any]
    name: ClassVar[str] = "autodiff"

    def compiled(self, with_outcome: bool) -> tuple[Callable[..., Floats], Callable[..., Floats]]:
        """Values and gradients for all rows at once."""
        try:
            import jax  # type: ignore[import-not-found, unused-ignore]  # an optional extra
        except ImportError:
            raise EstimationError(
                "a loss for automatic differentiation needs JAX: pip install 'discreet[autodiff]'"
            ) from None
        jax.config.update("jax_enable_x64", True)
        axes = (None, 0, 0) if with_outcome else (None, 0)
        value = jax.jit(jax.vmap(self.function, axes))
        gradient = jax.jit(jax.vmap(jax.grad(self.function), axes))
        return (lambda *a: np.asarray(value(*a), float)), (lambda *a: np.asarray(gradient(*a), float))

    def laplacian(self, weights: Floats) -> Callable[..., Any]:
        """``Σ w_j ∂²ℓ/∂x_j²`` of one record, again a JAX function."""
        import jax
        import jax.numpy as jnp  # type: ignore[import-not-found, unused-ignore]  # an optional extra

        function = self.function
        scale = jnp.asarray(weights)

        def trace(theta: Any, x: Any, *y: Any) -> Any:
            return jnp.sum(scale * jnp.diagonal(jax.hessian(function, argnums=1)(theta, x, *y)))

        return trace
