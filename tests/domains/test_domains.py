"""Domains: codes, labels, every kind of column, and errors that never show a private value."""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet import Binary, Categorical, DomainError, Grid, Ordinal, domains
from discreet.domains import WithBlank
from discreet.domains.columns import without_dictionary

ALL = [
    Binary(),
    Binary("0", "1"),
    Binary(0, 1),
    Binary(False, True),
    Categorical(["n", "s", "e", "w"]),
    Categorical([3, 1, 2]),
    Categorical([0.5, 2.25]),
    Categorical(range(5, 500, 5)),
    Categorical(range(9, 0, -1)),
    Ordinal(["low", "middle", "high"]),
    Ordinal([1, 2, 4], positions=[1.0, 2.0, 4.0]),
    Grid(-1.0, 1.0, 11),
    WithBlank(Binary()),
    WithBlank(Categorical(range(10))),
    WithBlank(Binary(False, True)),
]
each = pytest.mark.parametrize("domain", ALL, ids=repr)


@each
def test_codes_and_labels_are_inverse(domain):
    """Decoding all codes and encoding the labels gives the codes back, in numpy and in Arrow."""
    codes = np.arange(domain.size)
    assert np.array_equal(domain.encode(domain.decode(codes)), codes)
    arrow = domain.decode_arrow(codes.astype(domain.code_dtype))
    assert arrow.type == domain.arrow_type
    assert np.array_equal(domain.encode(arrow), codes)
    assert arrow.to_pylist() == domain.labels
    assert domain.encode(domain.decode(codes)).dtype == domain.code_dtype


@each
def test_round_trip_through_plain_data(domain):
    """A domain survives JSON."""
    assert domains.from_dict(json.loads(json.dumps(domain.to_dict()))) == domain
    assert hash(domain) == hash(domains.from_dict(domain.to_dict()))


@each
def test_domains_are_frozen(domain):
    """A domain cannot be edited."""
    with pytest.raises(AttributeError):
        domain.size = 3


@each
def test_text_cells_are_read_in_the_type_of_the_domain(domain):
    """What a CSV file writes is what was declared."""
    labels = [label for label in domain.labels if label is not None]
    text = pa.array([str(v).lower() if isinstance(v, bool) else str(v) for v in labels])
    assert np.array_equal(domain.encode(domain.parse(text)), np.arange(len(labels)))


@pytest.mark.parametrize(
    "column",
    [
        ["w", "n", "e"],
        ("w", "n", "e"),
        np.array(["w", "n", "e"]),
        np.array(["w", "n", "e"], dtype=object),
        pa.array(["w", "n", "e"]),
        pa.array(["w", "n", "e"], pa.large_string()),
        pa.array(["w", "n", "e"]).dictionary_encode(),
        pa.chunked_array([["w"], ["n", "e"]]),
        pa.chunked_array([pa.array(["w"]).dictionary_encode(), pa.array(["n", "e"]).dictionary_encode()]),
        pl.Series(["w", "n", "e"]),
        pl.Series(["w", "n", "e"], dtype=pl.Categorical),
    ],
    ids=lambda c: type(c).__name__,
)
def test_every_kind_of_text_column(column):
    """Lists, numpy, Arrow with and without dictionaries, chunks, polars."""
    assert Categorical(["n", "s", "e", "w"]).encode(column).tolist() == [3, 0, 2]


def test_pandas_columns():
    """Series of text, of categories and of numbers with gaps."""
    import pandas as pd

    domain = Categorical(["n", "s", "e", "w"])
    assert domain.encode(pd.Series(["w", "n"])).tolist() == [3, 0]
    assert domain.encode(pd.Series(["w", "n"], dtype="category")).tolist() == [3, 0]
    codes, missing = Categorical([1, 2]).encode_with_missing(pd.Series([1.0, None, 2.0]))
    assert codes.tolist() == [0, 0, 1]
    assert missing.tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64", "uint64", "float32", "float64"])
def test_whole_numbers_of_every_width(dtype):
    """Codes do not depend on how numbers are stored."""
    values = np.array([3, 1, 2], dtype=dtype)
    assert Categorical([3, 1, 2]).encode(values).tolist() == [0, 1, 2]
    assert Categorical(range(1, 4)).encode(values).tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (range(10), "a whole number from 0 to 9"),
        (list(range(1, 17)), "a whole number from 1 to 16"),
        (range(0, 20, 2), "one of 10 declared values"),
        ([2, 1, *range(3, 12)], "one of 11 declared values"),
        (range(4), "one of 0, 1, 2, 3"),
    ],
)
def test_a_range_is_shown_as_a_range(values, words):
    """What is accepted is said so that it helps; a short list is a list."""
    assert Categorical(values).describe() == words


def test_ten_million_values_stay_compact():
    """A range takes no memory and encodes by arithmetic."""
    domain = Categorical(range(10**7))
    assert domain.size == 10**7
    assert domain.encode(np.array([0, 9_999_999])).tolist() == [0, 9_999_999]
    assert domain.encode(np.array([5])).dtype == np.uint32
    assert domain.label(7) == 7
    assert len(json.dumps(domain.to_dict())) < 200
    with pytest.raises(DomainError, match="a whole number from 0 to 9999999"):
        domain.encode(np.array([10**7]))


@pytest.mark.parametrize(
    ("domain", "column", "row"),
    [
        (Binary(), ["no", "yes", "SECRET"], 2),
        (Categorical(["a", "b"]), pa.array(["a", "SECRET"]).dictionary_encode(), 1),
        (Categorical([1, 2]), [1, 777777], 1),
        (Categorical([1, 2]), [1.0, 1.777777], 1),
        (Categorical(range(10)), np.array([3, 777777]), 1),
        (Categorical(range(0, 10, 2)), np.array([2, 3]), 1),
        (Grid(0, 1, 5), [0.5, 777777.0], 1),
        (Grid(0, 1, 5), [0.5, -777777.0], 1),
        (Binary(), ["no", None], 1),
        (Grid(0, 1, 5), [0.5, math.nan], 1),
        (Grid(0, 1, 5), [0.5, math.inf], 1),
    ],
)
def test_errors_name_column_and_row_but_never_the_value(domain, column, row):
    """The value is in .value for the steward, never in the message."""
    with pytest.raises(DomainError, match='column "income"') as caught:
        domain.encode(column, column="income", first_row=100)
    error = caught.value
    assert error.row == 100 + row
    assert f"row {100 + row}" in str(error)
    assert "expected" in str(error)
    assert "SECRET" not in str(error)
    assert "777777" not in str(error)
    assert error.__cause__ is None


def test_the_offending_value_is_kept_for_the_steward():
    """It is in the attribute only."""
    with pytest.raises(DomainError) as caught:
        Binary().encode(["SECRET"])
    assert caught.value.value == "SECRET"
    assert "SECRET" not in repr(caught.value)


@pytest.mark.parametrize(
    ("domain", "column"),
    [
        (Binary(), [1, 2]),
        (Binary(0, 1), ["SECRET"]),
        (Binary(False, True), [0, 1]),
        (Grid(0, 1, 5), ["SECRET"]),
        (Binary(), [["SECRET"]]),
        (Binary(), ["no", 3]),
        (Binary(), "SECRET"),
        (Binary(), 3),
        (Categorical([1, 2]), [object()]),
    ],
)
def test_columns_of_the_wrong_type_are_refused(domain, column):
    """Numbers never become text, text never becomes numbers."""
    with pytest.raises(DomainError) as caught:
        domain.encode(column)
    assert "SECRET" not in str(caught.value)


def test_dictionary_entries_that_no_row_uses_need_not_be_valid():
    """An Arrow dictionary may list more than the column holds."""
    column = pa.DictionaryArray.from_arrays(pa.array([1, 1]), pa.array(["unused", "yes"]))
    assert Binary().encode(column).tolist() == [1, 1]


def test_released_text_is_a_dictionary_in_declared_order():
    """The dictionary says nothing about the order of appearance."""
    arrow = Categorical(["n", "s", "e", "w"]).decode_arrow(np.array([3, 3, 0]))
    assert arrow.dictionary.to_pylist() == ["n", "s", "e", "w"]


def test_grid_rounds_to_the_nearest_point_and_ties_go_down():
    """The rounding error is at most half a step."""
    grid = Grid(0, 4, 5)
    assert grid.encode([0.4, 0.5, 0.51, 3.5, 4]).tolist() == [0, 0, 1, 3, 4]
    assert grid.step == 1


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 1000), st.lists(st.floats(0, 1), min_size=1))
def test_grid_error_is_bounded(low, width, points, shares):
    """Every number of the interval comes back within half a step, up to rounding of floats."""
    grid = Grid(low, low + width, points)
    values = np.clip(np.array([low + s * width for s in shares]), grid.low, grid.high)
    back = grid.decode(grid.encode(values))
    assert np.all(np.abs(back - values) <= grid.step / 2 * (1 + 1e-6) + 1e-9 * max(1, abs(low)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Binary("a", "a"),
        lambda: Categorical(["a"]),
        lambda: Categorical([]),
        lambda: Categorical(["a", "b", "a"]),
        lambda: Categorical(["a", 1]),
        lambda: Categorical([1, None]),
        lambda: Categorical([True, 1]),
        lambda: Categorical(range(1)),
        lambda: Categorical([1.0, math.nan]),
        lambda: Ordinal(["a", "b"], positions=[1]),
        lambda: Ordinal(["a", "b"], positions=[1, 1]),
        lambda: Ordinal(["a", "b"], positions=[2, 1]),
        lambda: Ordinal(["a", "b"], positions=[0, math.inf]),
        lambda: Grid(1, 1, 5),
        lambda: Grid(0, math.inf, 5),
        lambda: Grid(0, 1, 1),
        lambda: Grid(0, 1, 2.5),
        lambda: Grid("x", 1, 5),
    ],
)
def test_domains_that_make_no_sense_are_refused(make):
    """An object that exists is valid."""
    with pytest.raises(DomainError):
        make()


def test_the_blank_is_one_more_value():
    """With the category policy a missing value has the last code and comes back as null."""
    domain = WithBlank(Binary())
    assert domain.encode(["yes", None, "no"]).tolist() == [1, 2, 0]
    assert domain.decode([2]).tolist() == [None]
    assert domain.decode_arrow(np.array([2, 0])).to_pylist() == [None, "no"]


def test_unknown_kinds_in_a_manifest_are_refused():
    """A newer domain is not guessed at."""
    from discreet import ManifestError

    for data in ({"kind": "hyperbolic"}, {}, {"kind": "binary", "values": ["a"]}, {"kind": "grid", "low": 0}):
        with pytest.raises(ManifestError):
            domains.from_dict(data)


@pytest.mark.parametrize("offset", [0, 1, 7, 8, 9, 63])
@pytest.mark.parametrize("length", [0, 1, 8, 100])
def test_boolean_arrays_are_read_from_their_bits(offset, length):
    """Slices at any bit, also empty ones, come out right."""
    rng = np.random.default_rng(1)
    values = rng.random(200) < 0.5
    column = pa.array(values)[offset : offset + length]
    codes = Binary(False, True).encode(column)
    assert codes.tolist() == values[offset : offset + length].astype(int).tolist()
    assert Binary(False, True).decode_arrow(codes).equals(pa.array(values[offset : offset + length]))


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 400))
def test_every_point_of_a_grid_comes_back_as_itself(low, width, points):
    """The last point is the upper end, whatever the rounding of floats."""
    grid = Grid(low, low + width, points)
    if grid.step > 1e-9 * max(1, abs(low)):
        assert grid.encode(grid.decode(np.arange(points))).tolist() == list(range(points))


def test_a_grid_that_floats_cannot_measure_is_refused():
    """Its step would be infinite."""
    with pytest.raises(DomainError, match="overflow"):
        Grid(-1e308, 1e308, 3)


@pytest.mark.parametrize(
    "column", [np.array([5, 2**63], np.uint64), np.array([5.0, 1e300]), np.array([5.0, np.inf]), [5, "x"]]
)
def test_numbers_beyond_the_type_of_the_domain_are_named_by_row(column):
    """Too large for 64 bits is not in the domain, like any other stranger."""
    with pytest.raises(DomainError, match="row 1"):
        Categorical(range(10)).encode(column)


def test_zero_has_one_sign():
    """−0.0 and 0.0 are the same value."""
    with pytest.raises(DomainError, match="different"):
        Categorical([0.0, -0.0])
    assert Categorical([0.0, 1.0]).encode([-0.0]).tolist() == [0]


def test_ranges_beyond_64_bits_are_refused():
    """They could not be written."""
    with pytest.raises(DomainError, match="64 bits"):
        Categorical(range(2**70, 2**70 + 5))


def test_numbers_are_their_own_positions():
    """An ordinal domain of numbers has them as positions, evenly spaced or not; text and booleans have 0, 1, 2, …."""
    assert np.array_equal(Ordinal(range(1, 13)).positions, np.arange(1, 13))
    assert Ordinal(range(2, 12, 3)).step == 3
    assert Ordinal([1, 2, 3]).step == 1
    assert np.array_equal(Ordinal([0.5, 1.0, 10.0]).positions, [0.5, 1, 10])
    assert Ordinal([0.5, 1.0, 10.0]).step is None
    assert np.array_equal(Ordinal([1, 2, 10]).loss_row(1), [1, 0, 8])
    assert np.array_equal(Ordinal(["1", "2", "10"]).positions, [0, 1, 2])
    assert np.array_equal(Ordinal([False, True]).positions, [0, 1])
    assert np.array_equal(Ordinal([1, 2, 10], positions=[0, 1, 2]).positions, [0, 1, 2])


@pytest.mark.parametrize(
    "values",
    [[3, 1, 2], range(5, 0, -1), [1.0, math.inf], [2**53, 2**53 + 1]],
)
def test_numbers_out_of_order_need_positions(values):
    """Numbers that do not increase as floats are refused in a sentence, and taken with positions."""
    with pytest.raises(DomainError, match="do not increase"):
        Ordinal(values)
    assert Ordinal(values, positions=range(len(values))).size == len(values)


def test_a_manifest_with_numbers_out_of_order_still_opens():
    """Early versions wrote such a domain without positions: it keeps the order of its codes."""
    domain = domains.from_dict({"kind": "ordinal", "values": [3, 1, 2]})
    assert np.array_equal(domain.positions, [0, 1, 2])
    assert domains.from_dict(domain.to_dict()) == domain
    assert domains.from_dict({"kind": "ordinal", "values": {"from": 1, "to": 12}}) == Ordinal(range(1, 13))


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.int64()])
def test_entries_of_any_kind_come_out_of_a_dictionary(kind):
    """Views too, as polars writes its categories; what is no dictionary stays as it is."""
    plain = pa.array(["7", None, "8", "7"]).cast(kind) if kind != pa.int64() else pa.array([7, None, 8, 7])
    entries = pa.array(["7", "8"]).cast(kind) if kind != pa.int64() else pa.array([7, 8])
    coded = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 0], pa.uint32()), entries)
    assert without_dictionary(coded).to_pylist() == plain.to_pylist()
    assert without_dictionary(plain) is plain


MASKED = {"encode_reports", "encode_with_missing"}


def drops_a_mask(node):
    """Whether a statement keeps the codes and not the mask of missing values."""
    if isinstance(node, ast.Subscript):
        call = node.value
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        call, kept = node.value, node.targets[0].elts[-1]
        if not (isinstance(kept, ast.Name) and kept.id.startswith("_")):
            return False
    else:
        return False
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in MASKED


def test_no_reader_drops_the_mask_of_missing_values():
    """A missing cell has the code 0, so codes without their mask are invented reports; ``encode`` refuses them."""
    assert drops_a_mask(ast.parse("domain.encode_reports(cells)[0]").body[0].value)
    assert drops_a_mask(ast.parse("codes, _ = domain.encode_with_missing(cells)").body[0])
    for path in Path(discreet.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text())
        assert not [node.lineno for node in ast.walk(tree) if drops_a_mask(node)], path
