"""Corrected losses of networks: unbiased by enumeration, alike in both frameworks, and able to train."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from discreet import Box, InputError, Randomness
from discreet.learning.losses import jax_numpy, pytorch
from discreet.learning.losses.rows import box_rows, category_rows, likelihood_table, undoing_table
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse, ZeroInflatedLaplace

CHANNELS = [GeneralizedResponse(3, 1.0), BinaryResponse(0.9, 0.6), ChannelResponse([[5, 3, 1, 1], [1, 6, 2, 1]])]
DATA = Path(os.environ.get("DISCREET_DATA", "/nowhere"))


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: type(channel).__name__)
def test_corrected_categories_are_unbiased(channel):
    """For every truth and any function, by enumeration of the reports."""
    values = np.random.default_rng(0).normal(size=channel.shape[0])
    rows = category_rows(np.arange(channel.shape[1]), channel)
    corrected = np.bincount(rows.record, rows.weights * values[rows.rows])
    assert np.allclose(channel.matrix() @ corrected, values)
    assert np.allclose(likelihood_table(channel) @ np.ones(channel.shape[0]), channel.matrix().sum(axis=0))


def test_corrected_vectors_are_unbiased():
    """Two coordinates, a function that is no polynomial; means over many reports, against an uncorrected mean."""
    mechanism = ZeroInflatedLaplace(Box([-1, -1], [1, 1]), [0.7, 1.2], 0.3)
    for truth in ((0.2, -0.5), (1.0, 1.0)):
        reports = mechanism.privatize(np.tile(truth, (40_000, 1)), Randomness.seeded(3))
        rows = box_rows(reports, mechanism, 10)
        f = np.cos(3 * rows.rows[:, 0]) + rows.rows[:, 1] ** 2
        each = np.bincount(rows.record, rows.weights * f, rows.records)
        expected = np.cos(3 * truth[0]) + truth[1] ** 2
        error = each.std() / 200
        assert abs(each.mean() - expected) < 6 * error
        naive = np.cos(3 * reports[:, 0]) + reports[:, 1] ** 2
        assert abs(naive.mean() - expected) > 6 * error
        assert np.abs(rows.rows).max() <= 1 + max(mechanism.grid)


def logits_and_reports(channel, n=12):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, channel.shape[0])), rng.integers(0, channel.shape[1], n)


def reference(channel, method, logits, reports):
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    if method == "likelihood":
        return -np.log((p * channel.matrix()[:, reports].T).sum(axis=1)).mean()
    return -(undoing_table(channel)[reports] * np.log(p)).sum(axis=1).mean()


@pytest.mark.parametrize("method", pytorch.METHODS)
@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: type(channel).__name__)
def test_pytorch_agrees_with_the_formula(channel, method):
    """Values, and gradients by differences."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (discreet[torch])")
    logits, reports = logits_and_reports(channel)
    given = torch.tensor(logits, requires_grad=True)
    loss = pytorch.label_loss(channel, method)(given, torch.tensor(reports))
    assert float(loss.detach()) == pytest.approx(reference(channel, method, logits, reports))
    loss.backward()
    step = np.zeros_like(logits)
    step[2, 1] = 1e-6
    ends = [reference(channel, method, logits + sign * step, reports) for sign in (1, -1)]
    assert float(given.grad[2, 1]) == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("method", jax_numpy.METHODS)
@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: type(channel).__name__)
def test_jax_agrees_with_the_formula(channel, method):
    """Values under jit, and gradients by differences."""
    jax = pytest.importorskip("jax", reason="JAX is not installed (discreet[autodiff])")
    jax.config.update("jax_enable_x64", True)
    logits, reports = logits_and_reports(channel)
    loss = jax_numpy.label_loss(channel, method)
    assert float(jax.jit(loss)(jax.numpy.asarray(logits), reports)) == pytest.approx(
        reference(channel, method, logits, reports), abs=1e-9
    )
    slope = jax.grad(loss)(jax.numpy.asarray(logits), reports)
    step = np.zeros_like(logits)
    step[2, 1] = 1e-6
    ends = [reference(channel, method, logits + sign * step, reports) for sign in (1, -1)]
    assert float(slope[2, 1]) == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)


def test_a_network_learns_from_private_labels():
    """Exclusive or from labels at ε = 1: the likelihood finds the true probabilities, an uncorrected network half
    of them.
    """
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (discreet[torch])")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (8000, 2))
    truth = rng.random(8000) < np.where(X[:, 0] * X[:, 1] > 0, 0.95, 0.05)
    channel = GeneralizedResponse(2, 1.0)
    reports = torch.tensor(channel.privatize(truth.astype(int), Randomness.seeded(1)).astype(np.int64))
    features = torch.tensor(X, dtype=torch.float32)
    found = {}
    for name, loss in (("corrected", pytorch.label_loss(channel)), ("naive", torch.nn.functional.cross_entropy)):
        network = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
        steps = torch.optim.Adam(network.parameters(), 0.02, weight_decay=1e-4)
        for _ in range(250):
            steps.zero_grad()
            loss(network(features), reports).backward()
            steps.step()
        found[name] = torch.softmax(network(features), 1)[:, 1].detach().numpy()
    right = np.where(X[:, 0] * X[:, 1] > 0, 0.95, 0.05)
    assert np.abs(found["corrected"] - right).mean() < 0.12
    assert np.abs(found["naive"] - right).mean() > 0.2


def test_corrected_means_weigh_rows():
    """The same in both frameworks."""
    rows = category_rows(np.array([0, 1, 1]), GeneralizedResponse(2, 1.0))
    losses = np.arange(6.0)
    expected = (losses * rows.weights).sum() / 3
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (discreet[torch])")
    assert float(pytorch.corrected_mean(torch.tensor(losses), rows)) == pytest.approx(expected)


def test_wrong_arguments_are_refused():
    """One sentence each; a framework that is missing is named with how to get it."""
    noise = ZeroInflatedLaplace(Box([-1], [1]), [1.0], 0.0)
    for call, words in (
        (lambda: category_rows([5], CHANNELS[0]), "from 0 to 2"),
        (lambda: category_rows([0.5], CHANNELS[0]), "whole numbers"),
        (lambda: undoing_table(3), "finitely many"),
        (lambda: box_rows([[0.0]], CHANNELS[0]), "ZeroInflatedLaplace"),
        (lambda: box_rows([[0.0]], noise), "above 0"),
        (lambda: box_rows([[0.0, 1.0]], ZeroInflatedLaplace(Box([-1], [1]), [1.0], 0.2)), "1 coordinates"),
    ):
        with pytest.raises(InputError, match=words):
            call()


def test_a_missing_framework_is_named(monkeypatch):
    """Without PyTorch or JAX, one sentence says how to get it."""
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    with pytest.raises(InputError, match=r"discreet\[torch\]"):
        pytorch.label_loss(CHANNELS[0])
    with pytest.raises(InputError, match=r"discreet\[autodiff\]"):
        jax_numpy.label_loss(CHANNELS[0])
