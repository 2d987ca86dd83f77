"""The network of zil2025: its loss, its gradient, and that the experiment runs or says what it needs."""

from __future__ import annotations

import csv
import dataclasses

import numpy as np
import pytest
from experiments.reporting import Report
from experiments.zil2025 import network


def test_without_jax_one_sentence_says_what_to_install(tmp_path, capsys, monkeypatch):
    """No claim, no file, no traceback."""
    monkeypatch.setattr(network, "find_spec", lambda name: None)
    assert network.experiment(Report("zil2025", tmp_path), quick=True) == []
    assert "pip install 'discreet[autodiff]'" in capsys.readouterr().out
    assert list((tmp_path / "zil2025").iterdir()) == []


def test_the_corrected_loss_is_unbiased_at_fixed_weights():
    """Against the loss on the true covariates, record by record; the naive loss is rejected by the same test."""
    table, check = network.unbiasedness(50_000, seed=3)
    assert check.holds
    scores = {row[0]: row[-1] for row in table.rows}
    assert abs(scores["averaged"]) < 5
    assert abs(scores["one draw"]) < 5
    assert scores["naive"] > 20
    errors = {row[0]: row[3] for row in table.rows}
    assert errors["averaged"] < errors["one draw"]


def test_shares_add_up_to_one_and_draws_are_around_the_reports():
    """Whatever the method; the copies of x1 come first."""
    setting = network.QUICK
    x, reports, y = network.data(400, setting, 0)
    assert y.shape == (400,)
    for method, count in (("oracle", 1), ("naive", 1), ("one draw", 2), ("averaged", 1 + setting.draws)):
        copies, shares = network.copies_of(method, x, reports, setting, 0)
        assert copies.shape == (count, 400, 2)
        assert shares.sum() == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(copies[0], x if method == "oracle" else reports, rtol=1e-6)


def test_the_gradient_is_that_of_the_corrected_loss():
    """JAX against central differences in double precision, every weight; shares that are 1 % off are noticed."""
    jax = pytest.importorskip("jax", reason="the gradient needs JAX: pip install 'discreet[autodiff]'")
    setting = dataclasses.replace(network.QUICK, hidden=4)
    x, reports, y = network.data(300, setting, 1)
    copies, shares = network.copies_of("averaged", x, reports, setting, 1)
    weights = network.start(setting, 1)
    weights["a"] = weights["a"] * 10
    single = {name: jax.numpy.asarray(part) for name, part in weights.items()}
    slope = jax.grad(network.corrected_loss)(single, copies, shares, y.astype(np.float32))

    def difference(name, place, shares, step=1e-6):
        values = []
        for sign in (1, -1):
            moved = {key: part.astype(np.float64) for key, part in weights.items()}
            moved[name][place] += sign * step
            values.append(network.corrected_loss(moved, copies.astype(np.float64), shares.astype(np.float64), y))
        return (values[0] - values[1]) / (2 * step)

    wrong = shares * np.array([1.01] + [1.0] * (len(shares) - 1))
    noticed = 0
    for name, part in weights.items():
        for place in np.ndindex(part.shape):
            found = float(np.asarray(slope[name])[place])
            # A step may cross the kink of a few of the 900 records.
            assert found == pytest.approx(difference(name, place, shares), rel=2e-3, abs=2e-3)
            noticed += abs(found - difference(name, place, wrong)) > 4e-3
    assert noticed >= 8


def test_the_quick_run_writes_tables_and_a_figure(tmp_path, capsys):
    """Every method with finite errors; the weights stay within their set."""
    pytest.importorskip("jax", reason="the network is trained with JAX: pip install 'discreet[autodiff]'")
    checks = network.experiment(Report("zil2025", tmp_path), quick=True)
    assert checks
    assert all(check.holds for check in checks)
    folder = tmp_path / "zil2025"
    assert {path.name for path in folder.iterdir()} == {"network.csv", "network_unbiased.csv", "network.png"}
    with (folder / "network.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == list(network.METHODS)
    assert all(0 < float(row["error"]) < 1 for row in rows)
    assert "hardly private" in capsys.readouterr().out


def test_the_weights_stay_in_a_compact_set():
    """Also when the steps would carry them out of it, and the fit says that it ended on the edge."""
    pytest.importorskip("jax", reason="the network is trained with JAX: pip install 'discreet[autodiff]'")
    setting = dataclasses.replace(network.QUICK, output_bound=0.5, rate=0.1)
    drawn = network.data(500, setting, 2)
    weights, edge = network.fit("one draw", *drawn, setting, 2)
    assert edge
    assert np.abs(weights["a"]).sum() <= 0.5 * (1 + 1e-5)
    assert np.all((weights["w"] ** 2).sum(axis=0) + weights["b"] ** 2 <= 1 + 1e-5)
