"""What every result promises: the same attributes, the same ways of showing it, and that nothing in it changes."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot

import discreet
from discreet import EstimationError, estimate
from discreet.estimate.reporting.result import Result, Shown
from discreet.mechanisms import GeneralizedResponse

from .catalogue_of_results import RESULTS, SCRIPT, SHOWN, result

mpl.use("agg")

#: Results whose frames have ranges in place of estimates.
BOUNDED = {"FrequencyBounds", "GroupedBounds"}


def concrete(cls: type) -> set[type]:
    """All classes below this one that can be made."""
    below = {found for child in cls.__subclasses__() for found in concrete(child)}
    return below | (set() if getattr(cls, "__abstractmethods__", None) else {cls})


def test_the_catalogue_holds_one_of_every_result():
    """A new kind of result joins the contract by being in the catalogue, and cannot stay out of it."""
    held = {type(result(name)) for name in RESULTS | SHOWN}
    ours = {cls for cls in concrete(Shown) if cls.__module__.startswith("discreet.") and dataclasses.is_dataclass(cls)}
    missing = {cls.__name__ for cls in ours - held} - {"LikelihoodFit"}  # the base of the three fits
    assert not missing


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_the_same_attributes(name):
    """Estimate and standard error have one shape; intervals add an axis of two ends."""
    one = result(name)
    assert isinstance(one, Result)
    assert one.estimate.ndim >= 1
    assert one.std_error.shape == one.estimate.shape
    assert one.interval().shape == (*one.estimate.shape, 2)
    width = one.estimate.shape[-1] if one.covariance.ndim == 3 else one.estimate.size
    assert one.covariance.shape[-2:] == (width, width)
    known = np.isfinite(one.std_error).ravel()
    variances = np.concatenate([np.diag(block) for block in one.covariance.reshape(-1, width, width)])
    np.testing.assert_allclose(variances[known], one.std_error.ravel()[known] ** 2, rtol=1e-9)


@pytest.mark.parametrize("name", RESULTS)
def test_a_frame_has_one_row_per_quantity(name):
    """Labels come first; the figures are those of the result at the level that is asked for."""
    one = result(name)
    frame = one.to_frame(level=0.8)
    assert len(frame) == one.estimate.size
    assert {"low", "high"} <= set(frame.columns)
    order = np.arange(one.estimate.size)
    if name == "Comparison":  # sorted by coefficient, so that fits stand below each other
        order = order.reshape(one.estimate.shape).T.ravel()
    if name not in BOUNDED:
        np.testing.assert_array_equal(frame["estimate"], one.estimate.ravel()[order])
    if "std_error" in frame:
        np.testing.assert_array_equal(frame["std_error"], one.std_error.ravel()[order])
    ends = one.interval(0.8).reshape(-1, 2)[order]
    np.testing.assert_array_equal(frame[["low", "high"]].to_numpy(), ends)
    assert not frame.iloc[:, 0].isna().any()
    assert not frame.duplicated(list(frame.columns[: max(1, list(frame.columns).index("low") - 2)])).any()


@pytest.mark.parametrize("name", RESULTS)
def test_plain_data_are_json_and_hold_the_intervals_at_the_asked_level(name):
    """The level is in the data, and another one gives other intervals."""
    one = result(name)
    wide, narrow = (json.loads(json.dumps(one.to_dict(level=level), allow_nan=False)) for level in (0.95, 0.5))
    grouped = name.startswith(("Grouped", "Ranges"))
    parts = zip(wide["groups"], narrow["groups"], strict=True) if grouped else [(wide, narrow)]
    for part, other in parts:
        assert "interval" in part
        level = part["interval"]["level"] if isinstance(part["interval"], dict) else part["level"]
        assert level == 0.95
        if "quantile" not in name:  # a value that both levels may agree on
            assert part["interval"] != other["interval"]


@pytest.mark.parametrize("name", RESULTS | SHOWN)
def test_a_representation_is_short_and_shows_numbers(name):
    """One or two lines; the summary is what printing gives."""
    one = result(name)
    text = repr(one)
    assert len(text) <= 200
    assert "\n" not in text
    assert any(sign.isdigit() for sign in text)
    assert str(one) == one.summary()
    assert len(str(one)) > 10
    if isinstance(one, Result) and np.isfinite(np.ravel(one.std_error)[0]):
        value = np.ravel(one.estimate)[0]
        assert f"{value:.3f}"[:4] in text or f"{value:,.1f}" in text


@pytest.mark.parametrize("name", RESULTS | SHOWN)
def test_labels_are_escaped_in_html(name):
    """A notebook shows a label, and never runs it."""
    page = result(name)._repr_html_()
    assert "<script" not in page
    assert page.startswith('<div style="overflow-x:auto"><table><caption ')
    assert page.count("<tr>") == page.count("</tr>") >= 2
    if SCRIPT in str(result(name)):
        assert "&lt;script&gt;" in page


@pytest.mark.parametrize("name", RESULTS)
def test_html_says_which_interval_was_used(name):
    """The heading names the level and, where there are several, the method."""
    page = result(name)._repr_html_()
    assert "95 % interval" in page or "95 % range" in page


@pytest.mark.parametrize("name", RESULTS)
def test_intervals_widen_with_the_level(name):
    """A level means the same everywhere: more of it never makes an interval shorter."""
    one = result(name)
    narrow, middle, wide = (one.interval(level) for level in (0.5, 0.9, 0.99))
    tiny = 1e-9 * (1 + np.abs(middle[..., 0].astype(float)))
    for inner, outer in ((narrow, middle), (middle, wide)):
        assert (outer[..., 0] <= inner[..., 0] + tiny).all()
        assert (outer[..., 1] >= inner[..., 1] - tiny).all()
    for wrong in (0.0, 1.0, 95, "0.95", float("nan")):
        with pytest.raises(EstimationError, match="level"):
            one.interval(wrong)
    with pytest.raises(EstimationError):
        one.interval(0.95, "guesswork")


@pytest.mark.parametrize("name", RESULTS | SHOWN)
def test_nothing_in_a_result_can_be_changed(name):
    """Attributes cannot be set, and arrays are read-only."""
    one = result(name)
    for field in dataclasses.fields(one):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(one, field.name, None)
    if isinstance(one, Result):
        for array in (one.estimate, one.std_error, one.covariance):
            assert not array.flags.writeable


@pytest.mark.parametrize("name", RESULTS | SHOWN)
def test_tables_for_papers(name):
    """Markdown and LaTeX have one line per row, and what LaTeX would run is escaped."""
    one = result(name)
    markdown, latex = one.to_markdown().splitlines(), one.to_latex().splitlines()
    assert len({line.replace("\\|", "").count("|") for line in markdown}) == 1
    rows = [line for line in latex if line.endswith(r"\\") and not line.startswith(r"\multicolumn")]
    assert len(markdown) == len(rows) + 1
    assert not any("%" in line.replace("\\%", "") for line in latex)


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_draws_itself(name):
    """On new axes or on given ones; a label is drawn as it is."""
    one = result(name)
    figure, axes = pyplot.subplots()
    try:
        assert one.plot(ax=axes, level=0.8) is axes
        figure.canvas.draw()
        assert one.plot(title="a title").get_title("left") == "a title"
    finally:
        pyplot.close("all")


def test_pictures_say_what_is_compared_and_how():
    """Differences and ratios are named as such, ratios stand on a logarithmic axis, ranges have no middle."""
    drawn = {name: result(name).plot() for name in ("Contrast", "Contrast, pairs", "Ratios", "FrequencyBounds")}
    named = {name: [label.get_text() for label in axes.get_yticklabels()] for name, axes in drawn.items()}
    assert named["Contrast"] == [f"{SCRIPT} − south"]
    assert named["Contrast, pairs"] == ["0 / 1", "0 / 2", "1 / 2"]
    assert [drawn[name].get_xscale() for name in drawn] == ["linear", "log", "log", "linear"]
    assert "o" not in {line.get_marker() for line in drawn["FrequencyBounds"].get_lines()}
    assert result("PredictedMeans").plot().get_xlabel() == "predicted probability"
    pyplot.close("all")


def test_more_than_a_picture_holds_is_refused_with_advice():
    """The most frequent values of a long list can be drawn instead."""
    many = estimate.frequencies(counts=np.arange(1, 101), mechanism=GeneralizedResponse(100, 3.0))
    with pytest.raises(EstimationError, match=r"top\(20\)"):
        many.plot()
    assert len(many.top(5).plot().get_yticks()) == 5
    pyplot.close("all")


@pytest.mark.parametrize("name", RESULTS | SHOWN)
def test_other_libraries_read_the_table(name):
    """Arrow, and polars through it, hold what the data frame holds."""
    one = result(name)
    table, frame = one.to_arrow(), one.to_frame()
    assert table.column_names == list(frame.columns)
    assert pl.from_arrow(table).height == table.num_rows == len(frame)
    if not isinstance(one, Mapping):  # polars takes a mapping for columns
        assert pl.DataFrame(one).shape == table.shape


def test_a_cross_table_prints_as_a_grid():
    """Rows down, columns across, the interval in brackets."""
    text = result("CrossTab").summary(level=0.9)
    assert "columns = 0" in text
    assert "columns = 1" in text
    assert "In brackets: 90 % interval" in text
    assert text.count(" to ") == 4  # one interval a cell


def test_results_are_made_by_keyword():
    """A dozen fields in the right order is more than anyone remembers."""
    for cls in concrete(Shown):
        if dataclasses.is_dataclass(cls) and cls.__module__.startswith("discreet."):
            assert all(field.kw_only or not field.init for field in dataclasses.fields(cls)), cls.__name__


def test_without_pandas_the_sentence_says_what_to_do(monkeypatch):
    """The base needs no pandas; a frame does."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(EstimationError, match="pip install pandas"):
        result("Frequencies").to_frame()


def test_groups_are_indexed_by_label_and_have_a_length():
    """A grouped result is a mapping from its labels."""
    groups = result("GroupedFrequencies")
    assert list(groups) == [SCRIPT, "south"]
    assert len(groups) == 2
    np.testing.assert_array_equal(groups["south"].estimate, groups.estimate[1])
    both = result("GroupedFrequencies, two columns")
    np.testing.assert_array_equal(both["south", 1].estimate, both.estimate[-1])


def test_the_layers_of_the_package_know_one_base():
    """What users can import from ``discreet.estimate`` with an interval is a result."""
    for name in discreet.estimate.__all__:
        thing = getattr(discreet.estimate, name)
        if isinstance(thing, type) and hasattr(thing, "interval"):
            assert issubclass(thing, Result), name
