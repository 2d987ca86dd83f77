"""Pictures of channels, errors and places: written, and refused in one sentence when they make no sense."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

from discreet import Box, InputError, Metric, Ordinal, design
from discreet.mechanisms import BinaryResponse, BipartiteResponse, GeneralizedResponse
from discreet.plots import plot_channel, plot_curves, plot_place, plot_trade_off, save_picture

mpl.use("agg")

PLACES = Metric.points(range(20), np.random.default_rng(0).uniform([40, -100], [41, -99], (20, 2)), "haversine")


@pytest.fixture(autouse=True)
def _no_screen():
    """Figures of a failed test do not stay open."""
    yield
    pyplot.close("all")


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_every_picture_is_written(tmp_path, ending):
    """A channel, error curves, a map and trade-off curves."""
    tables = [design.compare(Ordinal(range(6)), epsilon, 1) for epsilon in (0.5, 1.0)]
    curves = {name: [table[name].expected_error for table in tables] for name in tables[0].names}
    assert curves["optimum"][0] > curves["optimum"][1]
    flat = Metric.points(range(20), PLACES.coordinates)
    noise = design.zero_inflated_laplace(Box([0.0], [1.0]), 1.0, 0.1).mechanism
    pictures = {
        "channel": lambda: plot_channel(BipartiteResponse(5, 3, 1.0), labels=list("abcde")),
        "errors": lambda: plot_curves(curves, [0.5, 1.0], title="six values"),
        "sizes": lambda: plot_curves({"x": [1.0, 2.0]}, [10, 100], across="number of values", log=True),
        "map": lambda: plot_place(PLACES, design.bipartite(PLACES, 1.0).mechanism, 3),
        "flat": lambda: plot_place(flat, GeneralizedResponse(20, 1.0), 3, title="flat"),
        "attack": lambda: plot_trade_off(BinaryResponse(0.75, 0.75), noise, names=["Warner", "noise"]),
    }
    for name, draw in pictures.items():
        save_picture(draw(), tmp_path / f"{name}.{ending}")
    assert all(path.stat().st_size > 2_000 for path in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == len(pictures)
    assert not pyplot.get_fignums()


def test_a_picture_is_drawn_where_it_is_asked_for():
    """Axes that are given come back, and their figure is left to whoever made it."""
    _, axes = pyplot.subplots(1, 2)
    assert plot_channel(GeneralizedResponse(3, 1.0), ax=axes[0]) is axes[0]
    assert plot_curves({"x": [1.0, 2.0]}, [1, 2], ax=axes[1]) is axes[1]
    assert axes[1].get_legend_handles_labels()[1] == ["x"]
    assert len(pyplot.get_fignums()) == 1
    with pytest.raises(InputError, match="axes"):
        plot_curves({"x": [1.0]}, [1], ax="here")


def test_a_trade_off_curve_is_that_of_the_mechanism():
    """Warner's design at ¾: the curve of ε = ln 3 through (¼, ¼)."""
    axes = plot_trade_off(BinaryResponse(0.75, 0.75))
    x, y = axes.get_lines()[1].get_data()
    np.testing.assert_allclose(y[np.isclose(x, 0.25)], 0.25, atol=1e-12)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot_channel(BipartiteResponse(600, 3, 1.0)), "512"),
        (lambda: plot_channel(BipartiteResponse(5, 3, 1.0), labels=["a"]), "labels"),
        (lambda: plot_curves({}, []), "at least one"),
        (lambda: plot_curves({"x": [1.0]}, [1, 2]), "points"),
        (plot_trade_off, "at least one"),
        (lambda: plot_trade_off(BinaryResponse(0.75, 0.75), names=["a", "b"]), "2 names"),
        (lambda: plot_place(Metric(["a", "b"], [[0, 1], [1, 0]]), GeneralizedResponse(2, 1.0), 0), "coordinates"),
        (lambda: plot_place(PLACES, GeneralizedResponse(3, 1.0), 0), "20 places"),
        (lambda: plot_place(PLACES, GeneralizedResponse(20, 1.0), 20), "between 0 and 19"),
    ],
)
def test_pictures_that_make_no_sense_are_refused(draw, message):
    """In one sentence, before a figure is made."""
    with pytest.raises(InputError, match=message):
        draw()
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("name", ["picture.bmp", "nowhere/picture.png"])
def test_a_file_that_cannot_hold_a_picture_is_refused(tmp_path, name):
    """Nothing is written then."""
    with pytest.raises(InputError):
        save_picture(plot_curves({"x": [1.0]}, [1]), tmp_path / name)
    assert not list(tmp_path.iterdir())
