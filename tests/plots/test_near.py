"""Pictures of channels, errors and places: written, and refused in one sentence when they make no sense."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import InputError, Metric, Ordinal, design
from discreet.mechanisms import BipartiteResponse, GeneralizedResponse
from discreet.plots import errors_against_epsilon, plot_channel, plot_errors, plot_place

PLACES = Metric.points(range(20), np.random.default_rng(0).uniform([40, -100], [41, -99], (20, 2)), "haversine")


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_every_picture_is_written(tmp_path, ending):
    """A channel, error curves and a map."""
    plot_channel(BipartiteResponse(5, 3, 1.0), tmp_path / f"channel.{ending}", labels=list("abcde"))
    curves = errors_against_epsilon(Ordinal(range(6)), [0.5, 1.0])
    assert curves["optimum"][0] > curves["optimum"][1]
    plot_errors(curves, [0.5, 1.0], tmp_path / f"errors.{ending}", title="six values")
    plot_errors({"x": [1.0, 2.0]}, [10, 100], tmp_path / f"sizes.{ending}", against="number of values", log=True)
    plot_place(PLACES, design.bipartite(PLACES, 1.0).mechanism, 3, tmp_path / f"map.{ending}")
    flat = Metric.points(range(20), PLACES.coordinates)
    plot_place(flat, GeneralizedResponse(20, 1.0), 3, tmp_path / f"flat.{ending}", title="flat")
    assert all(path.stat().st_size > 2_000 for path in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda p: plot_channel(BipartiteResponse(600, 3, 1.0), p), "512"),
        (lambda p: plot_channel(BipartiteResponse(5, 3, 1.0), p, labels=["a"]), "labels"),
        (lambda p: plot_errors({}, [], p), "at least one"),
        (lambda p: plot_errors({"x": [1.0]}, [1, 2], p), "points"),
        (lambda p: plot_place(Metric(["a", "b"], [[0, 1], [1, 0]]), GeneralizedResponse(2, 1.0), 0, p), "coordinates"),
        (lambda p: plot_place(PLACES, GeneralizedResponse(3, 1.0), 0, p), "20 places"),
        (lambda p: plot_place(PLACES, GeneralizedResponse(20, 1.0), 20, p), "between 0 and 19"),
    ],
)
def test_pictures_that_make_no_sense_are_refused(tmp_path, draw, message):
    """Nothing is written then."""
    with pytest.raises(InputError, match=message):
        draw(tmp_path / "picture.png")
    assert not list(tmp_path.iterdir())
