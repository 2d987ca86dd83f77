"""Numbers cross between numpy and Arrow in the memory where they lie, nulls and all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import DomainError
from discreet.domains import Categorical
from discreet.domains.buffers import array_of, array_of_list, bits_of, blanks_of, numbers_of

DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 7, 64, 1000])
def test_numbers_are_those_that_arrow_makes(dtype, size):
    """With and without something missing; also of a slice, and of every second number."""
    values = np.arange(size).astype(dtype)
    missing = np.arange(size) % 3 == 1
    assert array_of(values).equals(pa.array(values))
    assert array_of(values, missing).equals(pa.array(values, mask=missing))
    assert array_of(values[::2]).equals(pa.array(values[::2].copy()))
    assert array_of(values, missing).null_count == missing.sum()
    for cells in (array_of(values), array_of(values)[size // 3 :]):
        assert numbers_of(cells).dtype == values.dtype
        assert numbers_of(cells).tolist() == cells.to_pylist()
    assert (blanks_of(array_of(values, missing)) == missing).all()


@pytest.mark.parametrize("start", [0, 1, 7, 8, 13])
def test_booleans_are_read_from_their_bits(start):
    """Wherever a slice begins."""
    values = np.random.default_rng(1).random(50) < 0.5
    cells = pa.array(values)[start:]
    assert (bits_of(cells) == values[start:]).all()
    assert (numbers_of(cells) == values[start:]).all()
    assert numbers_of(cells).dtype == np.bool_


@pytest.mark.parametrize("values", [["a"], ["", "é", "日本", "a\0b"], [True], [False, True] * 5])
def test_lists_are_those_that_arrow_makes(values):
    """Text of any script, and booleans."""
    assert array_of_list(values).equals(pa.array(values))
    array_of_list(values).validate(full=True)


@pytest.mark.parametrize("values", [[], [1], [True, "a"], ["a", None], [np.str_("a")], [1.5, 2]])
def test_other_lists_are_left_to_arrow(values):
    """What is not all text or all booleans."""
    assert array_of_list(values) is None


def test_text_that_is_none_is_refused():
    """Half of a pair of surrogates has no UTF-8."""
    with pytest.raises(DomainError, match="cannot be read"):
        Categorical(["a", "\ud800"])
