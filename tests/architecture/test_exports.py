"""The public names of the packages, and how the designers read: pinned, so that a change is meant."""

from __future__ import annotations

import inspect
from typing import get_args, get_type_hints

import pytest

from discreet import design, mechanisms
from discreet.design import Design

#: Which mechanism each designer returns.
RETURNS = {
    "attributes": mechanisms.JointResponse,
    "attributes_for_total": mechanisms.JointResponse,
    "binary": mechanisms.BinaryResponse | mechanisms.ChannelResponse,
    "bipartite": mechanisms.BipartiteResponse,
    "expected_error": mechanisms.ChannelResponse,
    "label": mechanisms.BinaryResponse | mechanisms.ChannelResponse,
    "zero_inflated_laplace": mechanisms.ZeroInflatedLaplace,
}


@pytest.mark.parametrize("name", RETURNS)
def test_a_designer_says_which_mechanism_it_returns(name):
    """``Design[BipartiteResponse]`` has a mechanism whose ``near`` a type checker knows; nobody needs a cast."""
    returned = get_type_hints(getattr(design, name))["return"]
    if inspect.isclass(returned):  # a design with more to say, of one mechanism
        assert issubclass(returned, Design)
        (returned,) = returned.__orig_bases__
    assert get_args(returned) == (RETURNS[name],)
