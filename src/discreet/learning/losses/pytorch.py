"""Losses of reports for PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet import arguments
from discreet.errors import InputError
from discreet.learning.losses.rows import CorrectedRows, likelihood_table, undoing_table
from discreet.mechanisms import FiniteMechanism

__all__ = ["corrected_mean", "label_loss"]

METHODS = ("likelihood", "unbiased")


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise InputError("a loss for PyTorch needs it: pip install 'discreet[torch]'") from None
    return torch


def label_loss(mechanism: FiniteMechanism, method: str = "likelihood") -> Callable[[Any, Any], Any]:
    """The mean loss of logits (rows, classes) and reports (rows,) of randomised labels.

    Parameters
    ----------
    mechanism : FiniteMechanism
    method : {"likelihood", "unbiased"}
        ``likelihood``: ``−ln Σ_t Q[t, r] p_t``, p the softmax of the logits; bounded below, and least where
        p is the truth. ``unbiased``: ``−Σ_t A[r, t] ln p_t``, whose expectation is the log loss of the true label, for
        every p; it is not bounded below.

    Returns
    -------
    function of logits and reports
        Differentiable.
    """
    torch = _torch()
    arguments.choice(method, "method", METHODS)
    table = torch.as_tensor(likelihood_table(mechanism) if method == "likelihood" else undoing_table(mechanism))

    def loss(logits: Any, reports: Any) -> Any:
        logs = torch.log_softmax(logits, dim=-1)
        weights = table.to(logits)[reports]
        if method == "unbiased":
            return -(weights * logs).sum(dim=-1).mean()
        return -torch.logsumexp(logs + weights.log(), dim=-1).mean()

    return loss


def corrected_mean(losses: Any, rows: CorrectedRows) -> Any:
    """``Σ weights·losses/records`` of the losses of corrected rows."""
    torch = _torch()
    return (losses * torch.as_tensor(rows.weights).to(losses)).sum() / rows.records
