"""Boxes: bounds are declared, numbers outside are errors that do not quote them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import domains
from discreet.domains import Binary, Box, FiniteDomain, Grid, WithBlank
from discreet.errors import DomainError


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (None, 1, "number"),
        ([], [], "number"),
        ("0", 1, "number"),
        (True, 2, "number"),
        ([0, 0], [1], "as many"),
        (1, 0, "low < high"),
        (0, 0, "low < high"),
        (0, float("inf"), "finite"),
        (float("nan"), 1, "finite"),
        (-1.7e308, 1.7e308, "too wide"),
        (0, 1e308, "too wide"),
        ([[0], [0, 1]], 1, "number"),
        ([0], [10**400], "number"),
    ],
)
def test_bounds_that_make_no_box_are_refused(low, high, says):
    """Missing, reversed and infinite bounds each get one clear sentence."""
    with pytest.raises(DomainError, match=says):
        Box(low, high)


@pytest.mark.parametrize("bad", [1.5, -0.1, np.nan, np.inf, -np.inf])
def test_a_number_outside_is_an_error_without_the_number(bad):
    """The message says column, row and bounds; the value is kept apart."""
    rows = np.full((4, 2), 0.25)
    rows[2, 1] = bad
    with pytest.raises(DomainError) as caught:
        Box([0, 0], [1, 1]).check(rows, first_row=10, columns=["a", "b"])
    message = str(caught.value)
    assert '"b"' in message
    assert "row 12" in message
    assert "from 0 to 1" in message
    assert str(bad) not in message
    assert caught.value.value is not None


def test_the_bounds_themselves_are_inside():
    """A closed box."""
    box = Box([0, -1], [1, 1])
    assert box.check([[0, -1], [1, 1]]).shape == (2, 2)


@pytest.mark.parametrize("values", [[[1.0]], [1.0, 2.0], [["a", "b"]], [[[0.5, 0.5]]], [[1.0], [1.0, 0.0]]])
def test_wrong_shapes_and_text_are_refused(values):
    """Rows × coordinates of numbers, nothing else."""
    with pytest.raises(DomainError):
        Box([0, 0], [1, 1]).check(values)


def test_clipping_counts_what_it_moves():
    """Clipping is a named step with a count; NaN is still an error."""
    rows, moved = Box([0, 0], [1, 1]).clip([[2.0, 0.5], [-1.0, 3.0]])
    assert rows.tolist() == [[1.0, 0.5], [0.0, 1.0]]
    assert moved == 3
    with pytest.raises(DomainError, match="not finite"):
        Box(0, 1).clip([np.nan])


def test_round_trip_and_no_codes():
    """Plain data and back; a box has no list of values."""
    box = Box([0, -3.5], [1, 7])
    assert Box.from_dict(box.to_dict()) == box
    assert hash(Box.from_dict(box.to_dict())) == hash(box)
    assert box.column(1) == Box(-3.5, 7)
    assert not isinstance(box, FiniteDomain)
    assert not any(hasattr(box, name) for name in ("size", "label", "labels", "codes"))
    with pytest.raises(DomainError, match="list of values, not to a Box"):
        WithBlank(box)
    with pytest.raises(DomainError, match="list of values, not to a Box"):
        domains.from_dict({"kind": "blank", "inner": box.to_dict()})


@pytest.mark.parametrize(
    ("domain", "inside", "outside"),
    [(Binary(), ["yes", "no"], None), (Grid(0, 10, 11), [0.0, 10.0], None), (Box(0, 10), [0.0, 10.0], [-3.0, 12.5])],
    ids=lambda value: type(value).__name__,
)
def test_every_domain_honours_the_same_contract(domain, inside, outside):
    """Encode and decode give values back in the declared types; reports of numbers may leave the box, truths not."""
    codes = domain.encode(inside)
    assert codes.dtype == domain.code_dtype
    assert domain.decode(codes).tolist() == domain.decode_arrow(codes).to_pylist() == inside
    assert domain.decode_arrow(codes).type == domain.arrow_type
    assert domain.encode_reports(inside)[0].tolist() == codes.tolist()
    if outside is not None:
        assert domain.encode_reports(outside)[0].tolist() == outside
        with pytest.raises(DomainError):
            domain.encode(outside)


def test_a_cell_that_is_no_number_is_told_the_bounds():
    """The range that is declared, not its two ends as if they were the only values."""
    with pytest.raises(DomainError, match="a number from 0 to 10") as caught:
        Box(0, 10).parse(pa.array(["1", "secret"]))
    assert "secret" not in str(caught.value)
    assert caught.value.row == 1
