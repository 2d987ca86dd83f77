"""Pictures of channels, errors and places: written, and refused in one sentence when they make no sense."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

from discreet import Box, InputError, Metric, Ordinal, design
from discreet.mechanisms import BinaryResponse, BipartiteResponse, GeneralizedResponse
from discreet.plots import (
    Series,
    plot_channel,
    plot_curves,
    plot_forest,
    plot_place,
    plot_shades,
    plot_trade_off,
    save_picture,
)

mpl.use("agg")

PLACES = Metric.points(range(20), np.random.default_rng(0).uniform([40, -100], [41, -99], (20, 2)), "haversine")


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


def drawn(axes):
    """The picture as it is seen: positions are known after drawing."""
    axes.figure.canvas.draw()
    return axes


def test_an_interval_without_an_end_reaches_the_edge():
    """As a line with an arrow; without both ends there is a hollow point, and no line."""
    ends = np.array([[0.2, 0.4], [0.3, np.inf], [-np.inf, np.inf], [np.nan, np.nan]])
    axes = drawn(plot_forest(list("abcd"), [Series("x", np.array([0.3, 0.5, 0.4, 0.6]), ends)]))
    low, high = axes.get_xlim()
    spans = sorted((segment[0, 1], *segment[:, 0]) for lines in axes.collections[0:] for segment in _segments(lines))
    assert spans == [(1.0, low, high), (2.0, 0.3, high), (3.0, 0.2, 0.4)]
    arrows = [line for line in axes.get_lines() if line.get_marker() in "<>" and line.get_marker()]
    assert sorted((line.get_marker(), *line.get_xydata()[0]) for line in arrows) == [
        ("<", low, 1.0), (">", high, 1.0), (">", high, 2.0)
    ]  # fmt: skip
    (hollow,) = [line for line in axes.get_lines() if line.get_markerfacecolor() == "none"]
    assert hollow.get_xydata().tolist() == [[0.6, 0.0]]


def _segments(lines):
    return lines.get_segments() if hasattr(lines, "get_segments") else []


def test_a_range_has_no_point_and_marked_ends():
    """No line leads from one range to the next, and a range without length is seen."""
    series = Series("range", np.full(2, np.nan), np.array([[0.1, 0.5], [0.2, 0.2]]), "")
    axes = plot_forest(["a", "b"], [series])
    seen = [line for line in axes.get_lines() if np.isfinite(line.get_xdata()).any()]
    assert [line.get_marker() for line in seen] == ["|"]
    assert seen[0].get_linestyle() == "None"
    assert seen[0].get_xdata().tolist() == [0.1, 0.5, 0.2, 0.2]


def test_curves_on_logarithmic_axes_have_plain_numbers():
    """Decades in full or as a power, no formula; within one decade some numbers of it."""
    axes = drawn(plot_curves({"x": [1e-5, 10.0]}, [10, 10**6], log=True))
    assert {"10", "1,000", "10⁴", "10⁶"} <= {label.get_text() for label in axes.get_xticklabels()}
    assert {"10⁻⁵", "0.001", "1", "10"} <= {label.get_text() for label in axes.get_yticklabels()}
    axes = drawn(plot_curves({"x": [2.0, 6.0]}, [0.3, 0.7], log=True))
    for labels in (axes.get_xticklabels(which="both"), axes.get_yticklabels(which="both")):
        shown = [label.get_text() for label in labels if label.get_text()]
        assert len(shown) >= 2
        assert not any("$" in text for text in shown)


def test_ratios_stand_on_a_logarithmic_axis():
    """A half and twice are equally far from 1; an interval down to 0 reaches the edge."""
    ends = np.array([[0.0, 0.8], [1.2, 4.0]])
    axes = drawn(plot_forest(["a", "b"], [Series("x", np.array([0.5, 2.0]), ends)], log=True, reference=1.0))
    assert axes.get_xscale() == "log"
    assert {"0.5", "1", "2"} <= {label.get_text() for label in axes.get_xticklabels()}
    assert [line.get_marker() for line in axes.get_lines() if line.get_marker() in ("<", ">")] == ["<"]


@pytest.mark.parametrize(
    "labels", [["an answer of many words " * 6] * 5, ["Donaudampfschifffahrtsgesellschaft" * 4] * 5]
)
def test_long_names_leave_room_for_the_picture(labels):
    """They are broken into two lines and cut; the axes keep a third of the figure."""
    series = Series("95 % interval", np.linspace(0.1, 0.5, 5), np.array([[0.05, 0.6]] * 5))
    axes = drawn(plot_forest(labels, [series], title="Frequencies of a question with a long name, n = 1,000"))
    assert all(label.get_text().count("\n") <= 1 for label in axes.get_yticklabels())
    assert all(label.get_text().endswith("…") for label in axes.get_yticklabels())
    width = axes.figure.bbox.width
    assert axes.get_window_extent().width > width / 3
    assert axes.title.get_window_extent().x1 <= width
    assert axes._left_title.get_window_extent().x1 <= width


@pytest.mark.parametrize("shape", [(2, 2), (7, 9), (2, 9), (12, 3)])
def test_what_is_written_into_cells_stays_in_them(shape):
    """Estimate and interval where both fit; the picture grows with the table."""
    values = np.random.default_rng(1).random(shape)
    cells = [[f"{value:.1%}\n{value - 0.1:.1%} to {value + 0.1:.1%}" for value in row] for row in values]
    names = [[f"category {i}" for i in range(size)] for size in shape]
    axes = drawn(plot_shades(values, *names, cells=cells, title="Joint frequencies of two columns, n = 1,000"))
    across, down = (axes.get_window_extent().width / shape[1], axes.get_window_extent().height / shape[0])
    assert len(axes.texts) == values.size
    for text in axes.texts:
        assert text.get_text().count("\n") == 1
        assert text.get_window_extent().width < across
        assert text.get_window_extent().height < down


def test_cells_that_are_too_small_hold_the_estimate_or_nothing():
    """On axes that somebody else made."""
    values, long = np.full((4, 6), 0.25), [["25.0%\n20.0% to 30.0%"] * 6] * 4
    for width, lines in ((4.0, 1), (1.2, 0)):
        axes = pyplot.subplots(figsize=(width, 3.0))[1]
        plot_shades(values, cells=long, ax=axes)
        assert {text.get_text() for text in axes.texts} == ({"25.0%"} if lines else set())
