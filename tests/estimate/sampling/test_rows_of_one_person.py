"""Several rows of one person widen intervals: no column links the rows, and the answers may be the same in all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet import Release, estimate
from tests.estimate.golden.releases import opened


def _declared(rows, survey="simple"):
    stored = opened("answers", survey)
    return Release.from_table(replace(stored.manifest, rows_per_person=rows), stored.to_arrow())


def _parts(column):
    """Variance of the population and of the randomisation alone, for one row of every person."""
    release = opened("answers")
    both, alone = (estimate.frequencies(release, column, target=target) for target in ("population", "table"))
    return both.std_error**2, alone.std_error**2


@pytest.mark.parametrize("column", ["cheated", "party", "health", "sex"])
def test_the_variance_is_r_times_that_of_the_truth_and_once_that_of_the_randomisation(column):
    """Standard errors are the upper end for up to four rows of a person, of frequencies and of means."""
    both, alone = _parts(column)
    found = estimate.frequencies(_declared(4), column)
    assert found.std_error**2 == pytest.approx(4 * both * 1000 / 999 - 3 * alone, rel=1e-9)
    assert any("one person may have 4 rows" in note for note in found.notes)
    if column == "cheated":
        mean = estimate.mean(_declared(4), column)
        assert mean.std_error[0] == pytest.approx(found.std_error[1], rel=1e-10)
        assert mean.interval()[0] == pytest.approx(found.interval()[1], rel=1e-10)
        assert mean.degrees_of_freedom[0] == pytest.approx(found.spread.degrees_of_freedom) == 249
        assert any("one person may have 4 rows" in note for note in mean.notes)


def test_public_numbers_have_the_whole_factor():
    """Of numbers that were not randomised nothing is taken off."""
    one, four = (estimate.mean(_declared(rows), "income") for rows in (1, 4))
    assert four.std_error[0] == pytest.approx(2 * one.std_error[0], rel=1e-9)


def test_clusters_that_hold_the_rows_of_a_person_suffice():
    """Where clusters are named, the rows of a person lie in one of them."""
    one, four = (estimate.frequencies(_declared(rows, "clustered"), "cheated") for rows in (1, 4))
    assert four.std_error == pytest.approx(one.std_error)


def test_the_table_of_those_who_reported_has_no_persons():
    """Given the table only the randomisation counts, which is independent in every row."""
    one, four = (estimate.frequencies(_declared(rows), "cheated", target="table") for rows in (1, 4))
    assert four.std_error == pytest.approx(one.std_error)
    assert not any("one person" in note for note in four.notes)


def test_tests_quantiles_and_tables_allow_for_the_rows_of_a_person():
    """χ², odds ratios, correlations, totals and quantiles are less certain too."""
    one, four = _declared(1), _declared(4)
    tables = [estimate.crosstab(release, "cheated", "drinks") for release in (one, four)]
    assert tables[1].chi_square().p_value > tables[0].chi_square().p_value
    assert tables[1].std_error.min() > tables[0].std_error.min()
    widths = [np.log(np.divide(*table.odds_ratio()[:0:-1])) for table in tables]
    assert widths[1] > 1.2 * widths[0]
    for ask in (
        lambda release: estimate.correlation(release, "cheated", "age"),
        lambda release: estimate.total(release, "cheated"),
        lambda release: estimate.frequencies(release, "cheated").totals(),
    ):
        errors = [ask(release).std_error[-1] for release in (one, four)]
        assert errors[1] > 1.1 * errors[0]
    medians = [np.diff(estimate.quantile(release, "income", 0.5).interval()[0])[0] for release in (one, four)]
    assert medians[1] > 1.5 * medians[0]
