"""What the dashboard shows of public answers: no small group can be computed from it, at once or over time."""

from __future__ import annotations

import re
from contextlib import closing
from itertools import product

import numpy as np
import pytest

from discreet.survey import Questionnaire
from discreet.survey.dashboard import Dashboard, withheld
from discreet.survey.database import Database
from discreet.survey.simulating import fill_database
from tests.publish.conftest import block_of
from tests.survey.conftest import written
from tests.survey.test_plan import ASKED, built, survey_of

YEAR = {"column": "year", "text": "Which year?", "choices": ["first", "second", "later"]}


def tables(total, cells):
    """All tables of so many cells with a total, as rows."""
    if cells == 1:
        return np.array([[total]])
    parts = [np.insert(tables(total - first, cells - 1), 0, first, axis=1) for first in range(total + 1)]
    return np.concatenate(parts)


@pytest.mark.parametrize("cells", [2, 3, 4])
def test_no_small_count_is_computed_from_the_others_and_the_total(cells):
    """Every table of one question: what is left out can be anything from 0 to a smallest cell and beyond."""
    for total in range(21):
        every = tables(total, cells)
        for shown in {tuple(withheld(counts.tolist(), 5)) for counts in every}:
            fixed = [i for i, value in enumerate(shown) if value is not None]
            assert all(shown[i] >= 5 for i in fixed)
            agree = every[(every[:, fixed] == [shown[i] for i in fixed]).all(1)]
            hidden = [i for i in range(cells) if i not in fixed]
            assert (agree[:, hidden].min(0) == 0).all()
            assert (agree[:, hidden].max(0) >= min(5, total)).all()


@pytest.mark.parametrize(
    ("shape", "smallest", "most"),
    [((2, 2), 3, 14), ((2, 3), 3, 10), ((2, 4), 2, 8), ((3, 3), 2, 7), ((3, 4), 2, 6)],
)
def test_no_small_cell_is_computed_from_both_margins(shape, smallest, most):
    """Every table of two questions: what is shown leaves each cell and each hidden margin a smallest cell wide.

    All tables with the same total that agree with what is shown are what a reader has to reckon with.
    """
    for total in range(most + 1):
        every = tables(total, shape[0] * shape[1])
        cells = every.reshape(-1, *shape)
        margins = np.concatenate([cells.sum(2), cells.sum(1)], axis=1)
        numbers = np.concatenate([every, margins], axis=1)
        pairs = np.split(np.unique(margins, axis=0), [shape[0]], axis=1)
        for shown in {
            (*withheld(a.tolist(), smallest), *withheld(b.tolist(), smallest)) for a, b in zip(*pairs, strict=True)
        }:
            fixed = [i for i, value in enumerate(shown) if value is not None]
            agree = numbers[(margins[:, fixed] == [shown[i] for i in fixed]).all(1)]
            width = np.delete(agree.max(0) - agree.min(0), [every.shape[1] + i for i in fixed])
            assert (width >= min(smallest, total)).all(), (total, shown)


@pytest.mark.parametrize("smallest", [2, 5])
def test_margins_of_larger_tables_leave_every_cell_wide(smallest):
    """Three by four answers: Fréchet's bounds of a cell, which are sharp, are a smallest cell apart."""
    for total in range(smallest, 17):
        rows, columns = tables(total, 3), tables(total, 4)
        for row, column in product(np.unique(np.sort(rows), axis=0), np.unique(np.sort(columns), axis=0)):
            for a, b in product(withheld(row.tolist(), smallest), withheld(column.tolist(), smallest)):
                if a is not None and b is not None:
                    assert min(a, b) - max(0, a + b - total) >= smallest


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ([1, 0, 0], [None, None, None]),  # whose answer the only one is
        ([4, 4, 4], [None, None, None]),
        ([40, 1, 0], [None, None, None]),  # two that make 1 together
        ([40, 0, 12], [40, None, None]),
        ([40, 30, 4, 3], [40, 30, None, None]),
        ([20], [20]),
        ([], []),
    ],
)
def test_small_counts_take_others_with_them(counts, shown):
    """Zeros and sums that are too small are complements of small counts."""
    assert withheld(counts, 5) == shown


def cards(dashboard):
    """What is shown of estimates and public answers, without the number of reports that are there now."""
    return dashboard.figures("open").split("</section>", 2)[2]


def test_one_more_report_changes_nothing_and_neither_does_a_restart(tmp_path):
    """Before and after one report the figures are the same; they move when a smallest cell of reports has come in."""
    survey = Questionnaire.read(written(tmp_path, survey_of(YEAR, ASKED, public=["year"])))
    with closing(Database(tmp_path / "survey.sqlite")) as database:
        database.open(survey.design)
        fill_database(database, [f"{i % 3}{i % 2}" for i in range(60)])
        before = cards(Dashboard(survey, database))
        assert "Of 60 reports" in before
        for more in range(4):
            fill_database(database, ["20"])
            assert cards(Dashboard(survey, database)) == before, more
        fill_database(database, ["20"])
        after = cards(Dashboard(survey, database))
        assert "Of 65 reports" in after
        assert "<td>25</td>" in after


def rows(text):
    """The last table of counts."""
    return re.findall(r"<th scope=row>(.*?)</th><td>(.*?)</td>", text.rsplit('<table class="counts">', 1)[1])


def test_answers_that_were_left_out_are_a_cell_too(tmp_path):
    """Their number is the complement of the others, so it is listed and withheld like them."""
    survey = built(YEAR | {"required": False}, ASKED, public=["year"])
    with closing(Database(tmp_path / "survey.sqlite")) as database:
        database.open(survey.design)
        fill_database(database, ["00"] * 40 + ["10"] * 30 + ["20"] * 20 + ["30"] * 2)
        found = rows(cards(Dashboard(survey, database)))
    assert [name for name, _ in found] == ["first", "second", "later", "no answer"]
    assert [value.startswith("fewer") for _, value in found] == [False, False, True, True]


@pytest.mark.parametrize(("left_out", "shown"), [(0, True), (3, False), (7, True)])
def test_an_estimate_does_not_show_that_a_few_left_the_question_out(tmp_path, left_out, shown):
    """Its number of reports is the complement of theirs."""
    survey = built(ASKED, private=[block_of(missing="public")])
    with closing(Database(tmp_path / "survey.sqlite")) as database:
        database.open(survey.design)
        fill_database(database, ["0"] * 50 + ["1"] * 30 + ["2"] * left_out)
        text = cards(Dashboard(survey, database))
    assert ("From 80 reports" in text) == shown
    assert ("Withheld" in text) != shown


def test_an_estimate_under_a_design_does_not_show_the_size_of_another(tmp_path):
    """Two designs, one of them with few people: the number of the other is its complement."""
    by = {"columns": ["cheated"], "domain": {"binary": ["no", "yes"]}, "collected": True, "by": "mode"}
    by["designs"] = {"direct": {"direct": True}, "dice": {"forced": ["1/6", "1/6"]}}
    survey = built(ASKED, private=[by], public=["mode"])
    with closing(Database(tmp_path / "survey.sqlite")) as database:
        database.open(survey.design)
        fill_database(database, ["00"] * 60 + ["11"] * 3)
        text = cards(Dashboard(survey, database))
    assert "From 60 reports" not in text
    assert "Withheld" in text


@pytest.mark.parametrize(
    ("counts", "blank"), [([20, 12, 4], 16), ([20, 12, 3, 2], 5), ([20, 12, 9], 0), ([20, 4], 24), ([30, 20, 1, 1], 22)]
)
def test_a_small_group_is_not_blanked_alone(counts, blank):
    """Rows of a release without public answers are no smaller group than the others."""
    from discreet.survey.closing import _small_rows

    year = YEAR | {"choices": [f"y{i}" for i in range(len(counts))]}
    survey = built(year, ASKED, public=["year"])
    codes = np.array([(place, 0) for place, count in enumerate(counts) for _ in range(count)])
    assert _small_rows(survey, codes, blank=True).sum() == blank
    assert _small_rows(survey, codes, blank=False).sum() == sum(count for count in counts if count < 5)
