"""Blocks: every kind answers the same questions, and nobody has to ask for its type."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet import Binary, Box, Categorical, DomainError, ManifestError, MechanismError, Randomness, blocks
from discreet.blocks import Cells, ColumnBlock, DesignsByRow, FiniteBlock, JointBlock, NumericBlock
from discreet.domains import WithBlank
from discreet.mechanisms import FiniteMechanism, GeneralizedResponse, JointResponse, ZeroInflatedLaplace
from discreet.mechanisms.joint import ProductLaw
from tests.manifest.examples import DICE, EXAMPLES, block, by_mode

EVERY = {f"{name} {i}": one for name, manifest in EXAMPLES.items() for i, one in enumerate(manifest.blocks)}
ALL = pytest.mark.parametrize("name", EVERY)
JOINT = EVERY["joint 0"]
NUMERIC = EVERY["zero-inflated-laplace-exact 0"]


@ALL
def test_every_block_survives_plain_data_and_pickling(name):
    """The reader finds the class by itself."""
    one = EVERY[name]
    again = blocks.from_dict(json.loads(json.dumps(one.to_dict())))
    assert again == one == pickle.loads(pickle.dumps(one))
    assert type(again) is type(one)


@ALL
def test_every_block_answers_for_each_of_its_columns(name):
    """Domains, channels and what one column alone went through agree with each other."""
    one = EVERY[name]
    for column in one.columns:
        alone = one.of_column(column)
        assert alone.truths_of(column) == one.truths_of(column)
        assert alone.reports_of(column) == one.reports_of(column)
        channels = one.channels_of(column)
        assert channels == alone.channels_of(column)
        assert bool(channels) == isinstance(alone, FiniteBlock)
        for channel in channels.values():
            assert isinstance(channel, FiniteMechanism)
            assert channel.shape == (one.truths_of(column).size, one.reports_of(column).size)
    assert one.realised().epsilon == pytest.approx(one.guarantee.epsilon, abs=1e-9)
    assert all(column in one.summary() for column in one.columns)


@ALL
def test_every_block_randomises_codes_of_truths_into_codes_of_reports(name):
    """As many as there were, in the domain of the reports; where respondents did it, nobody does it again."""
    one = EVERY[name]
    cells = [Cells(_truths(one.truths_of(column)), None) for column in one.columns]
    if one.by is not None:
        with pytest.raises(MechanismError, match="by the respondents"):
            one.randomize(cells, Randomness.seeded(1))
        return
    reports = one.randomize(cells, Randomness.seeded(1))
    for column, codes in zip(one.columns, reports, strict=True):
        one.check_codes(column, codes)
        back, missing = one.reports_of(column).encode_reports(one.reports_of(column).decode_arrow(codes))
        assert missing is None
        assert np.array_equal(back, codes)


def _truths(domain):
    """Thirty true codes, of a list of values or of a box."""
    low = domain.low[0] if isinstance(domain, Box) else 0
    return np.full(30, low, domain.code_dtype)


def test_collected_cells_are_read_as_reports():
    """A label that only a report has is taken in from respondents, and refused as a truth."""
    asked = block(DICE["crosswise"], reports=Categorical(["different", "same"]), collected=True)
    assert asked.encode("cheated", pa.array(["same"])).codes.tolist() == [1]
    with pytest.raises(DomainError):
        replace(asked, collected=False).encode("cheated", pa.array(["same"]))


def test_a_joint_column_that_was_collected_says_so():
    """What one column went through was done by the respondents, too."""
    assert replace(JOINT, collected=True).of_column(JOINT.columns[0]).collected


def test_pairs_have_a_channel_only_where_they_were_randomised_together():
    """Of combined codes; columns that were randomised one by one have none, nor have numbers with noise."""
    assert JOINT.channels_of(*JOINT.columns)[""].shape == (6, 6)
    assert EVERY["generalized 0"].channels_of("born", "lives") == {}
    assert NUMERIC.channels_of("income") == NUMERIC.channels_of("income", "years") == {}
    assert JOINT.together
    assert NUMERIC.together
    assert not EVERY["generalized 0"].together


def test_a_blank_in_a_row_is_randomised_as_a_value_of_the_box():
    """A row with a blank goes through the noise like any other; where it was blank nothing is read."""
    cells = [NUMERIC.encode("income", pa.array([None, 5.0])), NUMERIC.encode("years", pa.array([20.0, 30.0]))]
    outside = [cells[0]._replace(codes=np.array([-7.0, 5.0])), cells[1]]
    assert all(np.isfinite(reports).all() for reports in NUMERIC.randomize(outside, Randomness.seeded(1)))
    with pytest.raises(DomainError, match="missing"):
        replace(NUMERIC, missing="reject").encode("income", pa.array([None, 5.0]))


def test_clipping_is_counted():
    """Numbers outside are moved when the plan says so, and refused otherwise."""
    children = EVERY["zero-inflated-laplace-exact 1"]
    codes, missing, moved = children.encode("children", pa.array(["3", "14", "-1"]), text=True)
    assert (codes.tolist(), missing, moved) == ([3.0, 10.0, 0.0], None, 2)
    with pytest.raises(DomainError, match="outside"):
        replace(children, clip=False).encode("children", pa.array(["14"]), text=True)


def test_numbers_off_the_grid_are_no_reports():
    """Every column has its own grid."""
    grid = NUMERIC.mechanism.grid[1]
    NUMERIC.check_codes("years", np.array([3 * grid, 1e4 * grid]))
    with pytest.raises(DomainError, match="no report of this mechanism; expected a multiple of"):
        NUMERIC.check_codes("years", np.array([grid / 2]))


@pytest.mark.parametrize(
    "changes",
    [
        {"columns": ()},
        {"columns": ("a", "a")},
        {"missing": "category"},
        {"missing": "guess"},
        {"domain": Categorical(["a", "b", "c"])},
        {"reports": Categorical(["a", "b", "c"])},
        {"mechanism": GeneralizedResponse(3, 1.0)},
        {"mechanism": JOINT.mechanism},
        {"mechanism": None},
    ],
    ids=str,
)
def test_a_block_that_does_not_fit_together_cannot_be_made(changes):
    """An object that exists is valid."""
    with pytest.raises(MechanismError):
        replace(block(DICE["warner"]), **changes)


@pytest.mark.parametrize(
    "make",
    [
        lambda: replace(by_mode({"a": DICE["warner"]}), designs={}),
        lambda: replace(by_mode({"a": DICE["warner"]}), by=""),
        lambda: replace(by_mode({"a": DICE["warner"]}), designs={"a": GeneralizedResponse(3, 1.0)}),
        lambda: replace(JOINT, columns=("one",)),
        lambda: replace(JOINT, domains=JOINT.domains[:1]),
        lambda: replace(JOINT, domains=JOINT.domains[::-1]),
        lambda: replace(JOINT, missing="category"),
        lambda: replace(JOINT, mechanism=DICE["warner"]),
        lambda: replace(NUMERIC, columns=("one",)),
        lambda: replace(NUMERIC, missing="category"),
        lambda: replace(NUMERIC, mechanism=DICE["warner"]),
    ],
)
def test_other_blocks_that_do_not_fit_together_cannot_be_made(make):
    """Designs by row, joint columns and numbers are checked as strictly."""
    with pytest.raises(MechanismError):
        make()


def test_every_column_of_a_joint_block_has_the_blank_or_none():
    """Not only the first."""
    law = ProductLaw((3, 3), (3, 3), (1, 1))
    with pytest.raises(MechanismError, match="blank"):
        JointBlock(
            columns=("a", "b"),
            domains=(WithBlank(Binary()), Categorical(["x", "y", "z"])),
            mechanism=JointResponse(law),
            missing="category",
        )


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("binary 0", {"by": "sex"}),
        ("binary 0", {"designs": {"a": DICE["warner"].to_dict()}}),
        ("binary 0", {"domains": [Binary().to_dict()]}),
        ("binary 0", {"clip": True}),
        ("binary 0", {"domain": Box(0, 1).to_dict()}),
        ("binary 0", {"mechanism": {"kind": ["joint"]}}),
        ("by-designs 0", {"by": None}),
        ("by-designs 0", {"designs": {}}),
        ("joint 0", {"domains": []}),
        ("joint 0", {"domain": Categorical(["n", "s", "e"]).to_dict()}),
        ("joint 0", {"domains": [Box(0, 1).to_dict()] * 2}),
        ("joint 0", {"reports": Binary().to_dict()}),
        ("zero-inflated-laplace-exact 1", {"domain": Box(0, 11).to_dict()}),
        ("zero-inflated-laplace-exact 1", {"domain": Binary().to_dict()}),
    ],
)
def test_plain_data_that_does_not_fit_together_is_a_damaged_manifest(name, changes):
    """A key of another kind of block is refused, not ignored."""
    with pytest.raises(ManifestError):
        blocks.from_dict(EVERY[name].to_dict() | changes)


def test_the_promise_of_a_numeric_row_is_about_the_record():
    """Also where the mechanism is stated for single attributes."""
    mechanism = ZeroInflatedLaplace(Box([0, 0], [1, 1]), 2.0, 0.05, unit="attribute")
    one = NumericBlock(columns=("a", "b"), mechanism=mechanism)
    assert mechanism.guarantee.unit == "attribute"
    assert one.guarantee.unit == "record"
    assert one.guarantee.delta == mechanism.record_guarantee.delta > mechanism.guarantee.delta


def test_a_block_with_designs_promises_the_weakest_and_knows_each():
    """A row that was asked directly is not protected; one that was asked by dice is."""
    one = by_mode({"direct": DICE["direct"], "dice": DICE["warner"]})
    assert isinstance(one, DesignsByRow)
    assert one.guarantee.exposure == 1
    assert one.guarantee_under({"mode": "dice"}).exposure == 0
    assert EVERY["binary 0"].guarantee_under({"mode": "dice"}) == EVERY["binary 0"].guarantee
    assert isinstance(EVERY["binary 0"], ColumnBlock)
