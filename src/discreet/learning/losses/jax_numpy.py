"""Losses of reports for JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet import arguments
from discreet.errors import InputError
from discreet.learning.losses.rows import CorrectedRows, likelihood_table, undoing_table
from discreet.mechanisms import FiniteMechanism

METHODS = ("likelihood", "unbiased")

__all__ = ["corrected_mean", "label_loss"]


def _jax() -> Any:
    try:
        import jax
    except ImportError:
        raise InputError("a loss for JAX needs it: pip install 'discreet[autodiff]'") from None
    return jax


def label_loss(mechanism: FiniteMechanism, method: str = "likelihood") -> Callable[[Any, Any], Any]:
    """The mean loss of logits (rows, classes) and reports (rows,) of randomised labels; see ``pytorch.label_loss``.

    Returns
    -------
    function of logits and reports
        For ``jax.grad`` and ``jax.jit``.
    """
    jax = _jax()
    arguments.choice(method, "method", METHODS)
    table = likelihood_table(mechanism) if method == "likelihood" else undoing_table(mechanism)

    def loss(logits: Any, reports: Any) -> Any:
        logs = jax.nn.log_softmax(logits, axis=-1)
        weights = jax.numpy.asarray(table, logits.dtype)[reports]
        if method == "unbiased":
            return -(weights * logs).sum(axis=-1).mean()
        return -jax.scipy.special.logsumexp(logs, axis=-1, b=weights).mean()

    return loss


def corrected_mean(losses: Any, rows: CorrectedRows) -> Any:
    """``Σ weights·losses/records`` of the losses of corrected rows."""
    return (losses * _jax().numpy.asarray(rows.weights, losses.dtype)).sum() / rows.records
