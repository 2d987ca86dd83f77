"""Tables as people read them: one notation in a column, grids that fit, and a word where a figure looks wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest

from discreet import Randomness, estimate
from discreet.estimate.reporting import display
from discreet.estimate.reporting.table import Column, Ends, ResultTable, labels
from discreet.mechanisms import BinaryResponse, GeneralizedResponse

from .catalogue_of_results import RESULTS, result


def column(text: str, name: str) -> list[str]:
    """The figures below a heading, whose right ends stand below each other."""
    lines = text.splitlines()
    head = next(line for line in lines if name in line)
    end, first = head.index(name) + len(name), lines.index(head) + 1
    return [row[:end].split()[-1] for row in lines[first : first + len(result_rows(lines[first:]))]]


def result_rows(lines: list[str]) -> list[str]:
    """Rows of a table: what stands above notes, facts and what was left out."""
    return [line for line in lines if " to " in line and not line.startswith(("Note", "…"))]


@pytest.mark.parametrize("name", [name for name in RESULTS if "std. error" in result(name).summary()])
def test_a_column_has_one_notation(name):
    """The same number of places in every row, and no exponent beside a decimal."""
    text = result(name).summary()
    if "\n" not in text:
        return  # a sentence
    for found in (column(text, "std. error"), column(text, "estimate") if "estimate" in text else []):
        assert not any("e" in figure for figure in found)
        assert len({len(figure.partition(".")[2]) for figure in found}) <= 1, found


def test_small_shares_keep_two_figures_of_their_errors():
    """Four places say nothing where the error is a hundredth of them."""
    counts = np.full(1000, 10_000)
    text = estimate.frequencies(counts=counts, mechanism=GeneralizedResponse(1000, 8.0)).summary()
    (shown,) = set(column(text, "std. error"))
    assert len(shown.lstrip("0.")) == 2
    assert set(column(text, "estimate")) == {"0.001000"}


def test_places_follow_the_smallest_error():
    """Three figures of it; without an error those of the values."""
    assert display.measured_places([0.788, 0.556], [36.744, 42.7614]) == 3
    assert display.measured_places([41.2], [216.9]) == 1
    assert display.measured_places([4_120.0], [21_690.0]) == 0
    assert display.measured_places([np.nan, 0.0, np.inf], [40.0, 42.5]) == 1
    assert display.measured_places([], []) == 0
    assert display.figure(-0.00001, 4) == "0.0000"
    assert display.figure(1234567.891, 1) == "1,234,567.9"
    assert [display.figure(value, 2) for value in (np.nan, np.inf, -np.inf)] == ["–", "∞", "-∞"]


def test_whole_numbers_have_no_point():
    """The points of a grid are numbers with a point in Python, and 17 hours to people."""
    assert [display.label_text(one) for one in (17.0, 0.5, None, "17.0", (1.0, "a"))] == [
        "17", "0.5", "(blank)", "17.0", "1, a"
    ]  # fmt: skip


def test_a_point_outside_its_interval_is_explained_where_it_happens():
    """Below the table, in a terminal and in a notebook; and only there."""
    rare = estimate.frequencies(counts=[760, 240], mechanism=BinaryResponse.warner("3/4"))
    assert rare.estimate[1] < 0 == rare.interval()[1, 0]
    for shown in (rare.summary(), rare._repr_html_(), rare.top(2).summary()):
        assert "can fall below 0 or above 1 by chance" in shown
    common = estimate.frequencies(counts=[600, 400], mechanism=BinaryResponse.warner("3/4"))
    assert "by chance" not in common.summary()
    groups = np.repeat(["a", "b"], 500)
    reports = np.tile([0] * 19 + [1] * 6, 40)
    grouped = estimate.frequencies(reports, BinaryResponse.warner("3/4"), by=groups)
    assert "by chance" in grouped.summary()
    assert "by chance" in estimate.mean(reports, BinaryResponse.warner("3/4"), by=groups).summary()


def test_a_point_and_an_interval_of_two_methods_are_explained():
    """A number that is possible, and not in its interval."""
    table = ResultTable(
        title="t",
        columns=(
            labels("value", ["a"]),
            Column("estimate", np.array([0.3])),
            Column("std_error", np.array([0.01])),
            Ends("95 % interval", np.array([[0.1, 0.2]])),
        ),
        rows=1,
    )
    assert "another method" in table.text()


def test_a_table_with_many_columns_is_turned():
    """Two rows and twelve columns stand as twelve rows and two columns; the figures are the same."""
    rng = np.random.default_rng(5)
    two, twelve = BinaryResponse.warner("3/4"), GeneralizedResponse(12, 3.0)
    reports = two.privatize(rng.integers(0, 2, 900), Randomness.seeded(1)), twelve.privatize(
        rng.integers(0, 12, 900), Randomness.seeded(2)
    )  # fmt: skip
    crossed = estimate.crosstab_of_reports(*reports, two, twelve)
    text = crossed.summary()
    assert "rows = 0" in text
    assert "columns = " not in text
    assert max(map(len, text.splitlines())) <= display.WIDTH
    for column, row in enumerate(text.splitlines()[3:15]):
        assert row.split()[0] == str(column)
        found = re.findall(r"(-?[\d.]+) \(", row)
        np.testing.assert_allclose([float(one) for one in found], crossed.estimate[:, column], atol=5e-5)


def test_a_wide_grid_goes_on_below():
    """Seven rows and nine columns, in parts that fit a terminal, each with the names of its rows."""
    rng = np.random.default_rng(6)
    seven, nine = GeneralizedResponse(7, 3.0), GeneralizedResponse(9, 3.0)
    reports = seven.privatize(rng.integers(0, 7, 900), Randomness.seeded(1)), nine.privatize(
        rng.integers(0, 9, 900), Randomness.seeded(2)
    )  # fmt: skip
    crossed = estimate.crosstab_of_reports(*reports, seven, nine, row_labels=[f"row {i}" for i in range(7)])
    text = crossed.summary()
    assert max(map(len, text.splitlines()[2:])) <= display.WIDTH
    assert text.count("row 3") == 3
    assert [text.count(f"columns = {i}") for i in range(9)] == [1] * 9
    assert text.count(" to ") == 63
    assert crossed._repr_html_().count("<th ") == 10  # a page scrolls: one table


def test_more_cells_than_a_grid_holds_are_a_list():
    """With the number of those that are not shown."""
    mechanism = GeneralizedResponse(12, 3.0)
    text = estimate.crosstab_of_reports(np.arange(300) % 12, np.arange(300) % 11, mechanism, mechanism).summary()
    assert "std. error" in text
    assert "… and 104 more cells" in text


def test_a_comparison_says_what_its_fits_say():
    """A fit that did not converge is named; so is what a reader should know about each."""
    fit = result("BinaryRegression")
    X = np.column_stack([np.ones(60), np.arange(60) % 2])
    apart = estimate.binary_regression(X, np.arange(60) % 2, 1, 1, names=fit.names)
    assert apart.notes or not apart.converged
    both = estimate.compare({"one": fit, "other": apart})
    assert both.summary().startswith("2 fits side by side\n")
    assert "Note: other: " in both.summary()
    assert "Note: other: " in both._repr_html_()
    assert both.to_dict()["notes"] == list(both.notes)
    assert estimate.compare({"one": fit, "naive": fit.naive()}).heading() == "2 fits side by side, n = 600"


def test_effects_say_what_they_are_effects_in():
    """Formula, what was modelled, and rows, as for the fit; and a journal table shows them."""
    effects = result("CorrectedRegression").marginal_effects()
    assert (effects.formula, effects.modelled, effects.n) == (
        result("CorrectedRegression").formula, 'P(cheated = "yes")', 4_000
    )  # fmt: skip
    text = effects.summary()
    for words in ("Formula:", "Modelled:", "4,000", "effect"):
        assert words in text
    assert "4,000" in estimate.table(effects).to_markdown()
    for name in ("BinaryRegression", "MultinomialRegression", "PredictorRegression", "RandomInterceptRegression"):
        assert result(name).marginal_effects().n == result(name).n


def test_a_journal_table_has_a_line_above_its_statistics_and_says_what_brackets_mean():
    """In print too, where nothing else says it."""
    table = estimate.table(result("BinaryRegression"), stars=True)
    latex = table.to_latex().splitlines()
    assert latex.count(r"\midrule") == 2
    assert latex[latex.index(r"\bottomrule") + 1].startswith(r"\multicolumn{2}{l}{\footnotesize In brackets: standard")
    assert "* p \\textless{} 0.05" in table.to_latex()
    assert re.search(r"\n-{20,}\nObservations", table.summary())
    assert "</tbody><tbody>" in table._repr_html_()


def test_latex_prints_signs_as_they_are():
    """Signs that old encodings print as others, a minus before a figure, a bracket at the start of a line."""
    names = ["[0, 10)", "≥10 | <20", "-"]
    latex = estimate.frequencies(counts=[760, 100, 140], mechanism=GeneralizedResponse(3, 0.5), labels=names).to_latex()
    lines = latex.splitlines()
    assert lines[4].startswith("{[}0, 10) & ")
    assert lines[5].startswith(r"$\geq$10 \textbar{} \textless{}20 & $-$0.")
    assert lines[6].startswith("- & $-$0.")


def test_coefficients_have_one_notation():
    """An end of an interval near 0 is a decimal like the others; a small standard error gives all more places."""
    rng = np.random.default_rng(8)
    X = np.column_stack([np.ones(4_000), rng.normal(size=4_000) * 10_000])
    fit = estimate.binary_regression(X, rng.random(4_000) < 0.4, 1, 1, names=["one", "income"])
    assert fit.std_error[1] < 1e-5
    for text in (fit.summary(), estimate.compare({"a": fit}).summary(), fit.to_markdown(), fit._repr_html_()):
        assert not re.search(r"\d\.\d+e[-+]\d", text)
        assert f"{fit.coefficients[1]:.7f}".lstrip("-") in text
    assert f"({fit.std_error[1]:.6f})" in estimate.table(fit).summary()
    assert "-0.000\n" not in fit.summary()
